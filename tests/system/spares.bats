#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Spare tasks: nodes that die, are cut off, or lose their slurmd, and who has which place then.

load ../common
load ../fault/faults
load launch
load lives
load nodes

# slurmctld gives a node up ten seconds after it has become silent, or a little later; spank-tf after eight.
setup_file ()
{
    start_cluster --nodes 5 --conf SlurmdTimeout=10
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    srun_output=$BATS_TEST_TMPDIR/srun.out
    : > "$srun_output"
    find "$work" -mindepth 1 -delete
    make_lives
    site_arguments lost_after=5
}

after_test ()
{
    accept_nodes
    reconnect_nodes
    site_arguments
    nothing_left
}

# --- steps

# In the background; its program runs this script in each life: start_lives SCRIPT OPTION…
start_lives ()
{
    slurm srun --no-kill --export=ALL --tf-restart=3 "${@:2}" sh -c "$begin $1" > "$srun_output" 2>&1 3>&- &
    # shellcheck disable=SC2034  # for srun_ends
    srun=$!
}

# Wait until these ranks have begun so many lives: await_lives N RANK…
await_lives ()
{
    local rank

    for rank in "${@:2}"; do
        eventually 60 has_lives "$rank" "$1" || fail "rank $rank has no life $1: $(< "$srun_output")"
    done
}

# Require that these ranks began their last life with one dictionary, in which this many addresses are, none of these
# nodes': one_dictionary TASKS "NODE…" RANK…
one_dictionary ()
{
    local rank lost seen

    seen=$(for rank in "${@:3}"; do tail -n 1 "$LIVES/$rank"; done | sed 's/,"task":.*//' | sort -u)
    [ "$(wc -l <<< "$seen")" -eq 1 ] || fail "several dictionaries: $seen"
    [ "$(grep -o ':[0-9]*"' <<< "$seen" | wc -l)" -eq "$1" ] || fail "not $1 addresses: $seen"
    for lost in $2; do
        [[ $seen != *"\"$(address "$(node "$lost")"):"* ]] || fail "the address of a dead node: $seen"
    done
}

# The role and index of a rank's last life.
place_of ()
{
    tail -n 1 "$LIVES/$1" | sed -E 's/.*"type":"([^"]*)","index":([0-9]*).*/\1 \2/'
}

# --- tests

# Its program is on stdin: the spare begins it, and the others begin it again.
# bats test_tags=core,release
@test "a node dies: a spare takes the place of its task, and all begin again with a new dictionary" {
    slurm srun --no-kill --export=ALL --tf-restart=3 -N4 -n4 --tf-tasks=worker:3,spare --tf-show --tf-log-dir="$work/log" sh \
        <<< "$begin"' case $life in 0) exec sleep 1000;; *) exit 0;; esac' > "$srun_output" 2>&1 3>&- &
    # shellcheck disable=SC2034  # for srun_ends
    srun=$!
    await_lives 1 0 1 2
    [ ! -e "$LIVES/3" ] || fail "the spare has started its program"
    kill_node 3
    await_lives 2 0 1
    await_lives 1 3
    one_dictionary 3 3 0 1 3
    [ "$(place_of 3)" = "worker 2" ] || fail "the spare is $(place_of 3)"
    srun_ends 90
    printed "unreachable for [89] s, and replaced: worker 2 \(rank 2, $(node 3)\) is now rank 3 on $(node 4). Restarting all tasks in 1 s \(restarts left without progress: 2\)" ||
        fail "no line says who was replaced: $(< "$srun_output")"
    printed "all tasks restarted, [0-9]+ s after the last answer of a lost task" || fail "no line says that all begin: $(< "$srun_output")"
    printed "the training has finished. 1 task was replaced" || fail "no line says that the work is done: $(< "$srun_output")"
    [ "$(task_ends "$srun_output" | cut -d' ' -f2-)" = "worker 0 exit 0 (restarted 1 time)
worker 1 exit 0 (restarted 1 time)
worker 2 lost, now rank 3
worker 2 exit 0 (restarted 1 time)" ] || fail "another table: $(< "$srun_output")"
    grep -q 'is now rank 3 on' "$work/log/master.log" || fail "master.log lacks it"
    [ -e "$work/log/spare0.log" ] || fail "the spare has no log file"
    # Slurm's own verdict about a step that has lost a node.
    if slurm_is_from 23.11; then
        [ "$status" -le 1 ]
    else
        [ "$status" -eq 0 ] || fail "srun's exit code is $status: $(< "$srun_output")"
    fi
}

# bats test_tags=release
@test "a node that is cut off for less than lost_after goes on as if nothing had been" {
    site_arguments lost_after=20
    start_lives 'until [ -e '"$work"'/end ]; do sleep 0.1; done' -N4 -n4 --tf-tasks=worker:3,spare
    await_lives 1 0 1 2
    disconnect_node 3
    sleep 10
    reconnect_node 3
    # By then it would be lost.
    sleep 20
    touch "$work/end"
    srun_ends 60
    [ "$status" -eq 0 ] || fail "srun's exit code is $status: $(< "$srun_output")"
    had_lives 1 1 1
    # That it was silent, and answers again, is all that is said.
    ! grep spank_tf "$srun_output" | grep -vE ': no answer for [0-9]+ s from |: .* answers? again' \
        || fail "something else is printed: $(< "$srun_output")"
}

# The N-th node's connections to the rendezvous are refused, as by a firewall.
reject_node ()
{
    "$tests/cluster" run -- iptables -I INPUT -s "$(address "$(node "$1")")" -p tcp --dport 25000:25999 -j REJECT
}

accept_nodes ()
{
    "$tests/cluster" run -- iptables -F INPUT
}

# What the tasks note while they run: the nodes on which worker 2 runs. It must not be two at any moment.
comes_back_too_late ()              # CUT RESTORE
{
    local began supervisor

    start_lives 'case $rank.$life in
            2.*) echo $$ > $LIVES/pid; exec sleep 1000;;
            *.0) exec sleep 1000;;
            3.1) ! kill -0 $(cat $LIVES/pid) 2> /dev/null || touch $LIVES/two;;
        esac
        until [ -e '"$work"'/end ]; do sleep 0.1; done' -N4 -n4 --tf-tasks=worker:3,spare
    await_lives 1 0 1 2
    supervisor=$(supervisor_of "$(< "$LIVES/pid")")
    "$1" 3
    await_lives 1 3
    await_lives 2 0
    [ ! -e "$LIVES/two" ] || fail "the former worker 2 runs"
    began=$(lives 0)
    "$2" 3
    eventually 60 eval "! kill -0 $supervisor" 2> "$BATS_TEST_TMPDIR/ignored" || fail "the supervisor of rank 2 stays: $(pgrep -a -u "$user")"
    [ "$(lives 0)" -eq "$began" ] || fail "its return has begun another life"
    touch "$work/end"
    srun_ends 60
    [ "$status" -eq 0 ] || slurm_is_from 23.11 || fail "srun's exit code is $status: $(< "$srun_output")"
    had_lives 2 2 1 1
}

@test "a node that is cut off for longer ends its task before the place is given away, and stays out when it is back" {
    comes_back_too_late disconnect_node reconnect_node
}

@test "... also one whose connections to the rendezvous are refused" {
    site_arguments lost_after=5 rendezvous_ports=25000-25999
    comes_back_too_late reject_node accept_nodes
}

@test "a step goes on while a slurmd is stopped, which Slurm takes for the loss of its node" {
    start_lives 'until [ -e '"$work"'/end ]; do sleep 0.1; done' -N4 -n4 --tf-tasks=worker:3,spare
    await_lives 1 0 1 2
    stop_slurmd 3
    eventually 60 printed "Node failure on $(node 3)" || fail "Slurm does not notice it: $(< "$srun_output")"
    [ "$(slurm squeue -h -o %t)" = R ] || fail "the job does not run"
    had_lives 1 1 1
    touch "$work/end"
    srun_ends 60
    ! printed 'spank_tf: .*(lost|unreachable|error)' || fail "a message: $(< "$srun_output")"
}

@test "a node with the chief and an auxiliary task dies: spares that are a whole node have their places" {
    start_lives 'case $SLURM_TF_ROLE.$life in chief.1 | evaluator.1) exit 0;; *) exec sleep 1000;; esac' \
        -N5 --ntasks-per-node=2 -m block --tf-tasks=worker:4,ps,evaluator,chief,+data,spare:2 --tf-show
    await_lives 1 0 1 2 3 4 5 6 7
    kill_node 4
    await_lives 2 0 1 2 3 4 5
    await_lives 1 8 9
    # An evaluator's dictionary has itself, too.
    one_dictionary 6 4 0 1 2 3 4 8 9
    [ "$(place_of 8), $(place_of 9)" = "chief 0, data 0" ] || fail "the spares are $(place_of 8), $(place_of 9)"
    srun_ends 90
    printed 'restarts left without progress: 2' || fail "it used more than one restart: $(< "$srun_output")"
}

@test "--no-kill of each component of a heterogeneous step counts for its own spares" {
    run -0 slurm srun -Q -N1 -n1 --tf-tasks=worker --tf-restart=3 --no-kill true : --no-kill -N2 -n2 --tf-tasks=worker,spare true
    # Slurm keeps it for later components.
    run -0 slurm srun -Q --no-kill -N1 -n1 --tf-tasks=worker --tf-restart=3 true : -N2 -n2 --tf-tasks=worker,spare true
    run slurm srun -Q --no-kill -N1 -n1 --tf-tasks=worker --tf-restart=3 true : --no-kill=off -N2 -n2 --tf-tasks=worker,spare true
    [ "$status" -ne 0 ] && [[ $output == *"Add --no-kill to srun"* ]] || fail "not refused"
    # A spare replaces tasks of all components, and any of them may have the step's list and options.
    run slurm srun -Q -N1 -n1 --tf-tasks=worker true : --no-kill -N2 -n2 --tf-restart=3 --tf-tasks=worker,spare true
    [ "$status" -ne 0 ] && [[ $output == *"Add --no-kill to srun"* ]] || fail "the first one has none"
    run -0 slurm srun -Q -N1 -n1 --tf-restart=3 --no-kill true : --no-kill -N2 -n3 --tf-tasks=worker:3,spare true
    run -0 slurm srun -Q -N2 -n2 --no-kill --tf-tasks=worker,spare true : --no-kill -N1 -n1 --tf-tasks=worker --tf-restart=3 true
    run -0 slurm srun -Q -N1 -n1 --tf-tasks=ps --wait=600 true --wait 5 : -N1 -n1 --tf-tasks=worker true --wait 5
    [ -z "$output" ] || fail "$output"
}

# In an srun without an allocation, each component of the first step is a job of its own, with nodes of its own.
@test "a node dies in a heterogeneous step, and one in a step with a list for each node" {
    local script='case $life in 0) exec sleep 1000;; *) exit 0;; esac'

    start_lives "$script" -N2 -n2 --tf-tasks=worker:2 sh -c "$begin $script" \
        : --export=ALL -N2 -n2 --tf-tasks=worker,spare
    await_lives 1 0 1 2
    kill_node 2
    await_lives 2 0 2
    await_lives 1 3
    one_dictionary 3 2 0 2 3
    [ "$(place_of 3)" = "worker 1" ] || fail "the spare is $(place_of 3)"
    srun_ends 90
    printed "the training has finished. 1 task was replaced" || fail "no line says that the work is done: $(< "$srun_output")"
    reconnect_nodes
    make_lives
    start_lives "$script" -N3 --ntasks-per-node=2 -m block --tf-tasks-per-node=worker,spare
    await_lives 1 0 2 4
    kill_node 2
    await_lives 2 0 4
    eventually 60 eval 'has_lives 1 1 || has_lives 5 1' || fail "no spare of another node has begun: $(< "$srun_output")"
    srun_ends 90
    printed "the training has finished. 1 task was replaced" || fail "no line says that the work is done: $(< "$srun_output")"
    had_lives 2 1 1 0 2 0
}

# In a script: this task cannot be restarted on its node. The fork server and the program are children of tf-supervise.
cannot_go_on='kill -9 $PPID; kill -9 $$'

@test "a spare is watched as its place is" {
    cat > "$work/alive" <<END
#!/usr/bin/python3
import os, sys, time
sys.path.insert(0, "$SPANK_TF_STAGE/share/spank-tf/python")
import spank_tf_watchdog
for i in range(2 if os.environ["rank"] == "2" else 1000):
    spank_tf_watchdog.alive("sign %d" % i)
    time.sleep(0.1)
time.sleep(1000)
END
    chmod 755 "$work/alive"
    run_lives "case \$rank.\$life in 1.0) $cannot_go_on;; ?.2) exit 0;; esac; exec env rank=\$rank $work/alive" \
        --no-kill -N3 -n3 --tf-tasks=worker:2,spare --tf-restart=2 --tf-watchdog=2,60
    [ "$status" -eq 0 ] || fail "the exit code is not 0"
    [[ $stderr == *'cannot be restarted where it is, and replaced: worker 1 (rank 1, '*') is now rank 2 on '* ]] || fail "no spare"
    [ "$(grep -c 'no activity for [0-9]* s: worker 1 (rank 2, .*"sign 1"' <<< "$stderr")" -eq 1 ] || fail "it is not watched"
    had_lives 3 1 2
    make_lives
    run_lives "case \$rank.\$life in 0.0) $cannot_go_on;; 2.1) echo \${NOTIFY_SOCKET-none} > \$LIVES/socket; exec sleep 1000;; 1.1)
        until [ -s \$LIVES/socket ]; do sleep 0.1; done; exit 0;; esac; exec sleep 1000" \
        --no-kill -N3 -n3 --tf-tasks=ps,worker,spare --tf-restart=2 --tf-watchdog=2,60
    [ "$status" -eq 0 ] && [ "$(< "$LIVES/socket")" = none ] || fail "a spare in the place of a ps has a socket for heartbeats"
}

# Its number may be that of a file that the supervisor has opened since, which is always ready.
@test "a supervisor has no socket of its own for heartbeats where the user has one" {
    local is_idle='supervisor=$PPID; until [ "$(cat /proc/$supervisor/comm)" = tf-supervise ]; do
        supervisor=$(sed "s/.*) . \([0-9]*\) .*/\1/" /proc/$supervisor/stat); done
        used () { sed "s/.*) //" /proc/$supervisor/stat | cut -d" " -f12,13 | tr " " +; }
        before=$(($(used))); sleep 3; echo "$(ls /proc/$supervisor/task | wc -l) $(($(used) - before < 50))" > $LIVES/has;'
    local log

    for log in "$work/logs" ''; do
        make_lives
        run_lives "case \$rank.\$life in 0.0) $cannot_go_on;; 2.1) $is_idle exit 0;; 1.1) exit 0;; esac; exec sleep 1000" \
            --no-kill -N3 -n3 --tf-tasks=worker:2,spare --tf-restart=2 --tf-watchdog=30 ${log:+--tf-log-dir="$log"} \
            --export=ALL,NOTIFY_SOCKET=/run/mine
        [ "$status" -eq 0 ] || fail "the exit code is not 0"
        # A thread looks at the log.
        [ "$(< "$LIVES/has")" = "$([[ $log ]] && echo 2 || echo 1) 1" ] || fail "it has threads, and waits: $(< "$LIVES/has")"
    done
}

# bats test_tags=by-run
@test "a task that fails three times without progress is replaced by a spare on another node" {
    run_lives 'case $rank.$life in 0.*) kill -9 $$;; ?.3) exit 0;; esac; exec sleep 1000' \
        --no-kill -w "$(node 1),$(node 2)" --ntasks-per-node=2 -m block --tf-tasks=worker,spare,worker,spare --tf-restart=3
    [ "$status" -eq 0 ] || fail "the exit code is not 0"
    [[ $stderr == *"failed first three times without progress, and replaced: worker 0 (rank 0, $(node 1)) is now rank 3 on $(node 2). "* ]] ||
        fail "no spare on another node"
    had_lives 3 0 4 1
}

@test "when all spares have places a node may be cut off for longer" {
    start_lives "case \$rank.\$life in 1.0) $cannot_go_on;; esac; until [ -e $work/end ]; do sleep 0.1; done" \
        -N3 -n3 --tf-tasks=worker:2,spare
    await_lives 2 0
    await_lives 1 2
    disconnect_node 3
    # Six seconds would end the task.
    sleep 12
    reconnect_node 3
    touch "$work/end"
    srun_ends 60
    [ "$status" -eq 0 ] || slurm_is_from 23.11 || fail "srun's exit code is $status: $(< "$srun_output")"
    had_lives 2 1 1
}

# bats test_tags=core,release
@test "a spare that is not needed is stopped when the work is done, under never too" {
    local stop

    for stop in auto never; do
        make_lives
        run_lives '' --no-kill -N3 -n3 --tf-tasks=worker:2,spare --tf-restart=1 --tf-stop=$stop --tf-show
        [ "$status" -eq 0 ] || fail "the exit code is not 0"
        [ "$(task_ends <<< "$stderr" | cut -d' ' -f2-)" = "worker 0 exit 0
worker 1 exit 0
spare 0 stopped" ] || fail "the tasks do not end so with $stop"
        had_lives 1 1 0
    done
}

@test "a spare that is alone with a site's role, per node and in a heterogeneous step" {
    run_lives '' --no-kill -N2 --ntasks-per-node=3 --tf-tasks-per-node=worker:2,spare --tf-restart=1 --tf-show
    [ "$status" -eq 0 ] && [ "$(task_ends <<< "$stderr" | grep -c 'spare . stopped')" -eq 2 ] || fail "not two spares"
    make_lives
    run --separate-stderr slurm timeout 60 srun -Q --export=ALL --no-kill -N1 --tf-tasks=worker --tf-restart=1 --tf-show sh -c "$begin" \
        : -N1 --tf-tasks=worker,spare -n2 sh -c "$begin"
    [ "$status" -eq 0 ]
    [ "$(task_ends <<< "$stderr" | cut -d' ' -f2-)" = "worker 0 exit 0
worker 1 exit 0
spare 0 stopped" ] || fail "not a spare"
}

# Plugin: it is about sbatch, too.
# bats test_tags=core,plugin
@test "refused: spares without --tf-restart, without --no-kill, and more than tasks" {
    run --separate-stderr slurm srun --no-kill -n3 --tf-tasks=worker:2,spare true
    [ "$status" -ne 0 ] && [[ $stderr == *"a spare replaces a lost task when all tasks are restarted. Add --tf-restart=N to srun" ]] ||
        fail "not refused without --tf-restart"
    run --separate-stderr slurm srun -n3 --tf-tasks=worker:2,spare --tf-restart=1 true
    [ "$status" -ne 0 ] && [[ $stderr == *"Add --no-kill to srun, and to sbatch or salloc" ]] || fail "not refused without --no-kill"
    run --separate-stderr slurm srun --no-kill=off -n3 --tf-tasks=worker:2,spare --tf-restart=1 true
    [ "$status" -ne 0 ] || fail "not refused with --no-kill=off"
    run --separate-stderr slurm srun -Jkeras -n3 --tf-tasks=worker:2,spare --tf-restart=1 true
    [ "$status" -ne 0 ] || fail "the k of another option is taken for -k"
    run --separate-stderr slurm srun --no-kill -n3 --tf-tasks=worker,spare:2 --tf-restart=1 true
    [ "$status" -ne 0 ] && [[ $stderr == *"2 spares for 1 task; write spare, one for each of them at most"* ]] || fail "not refused: too many"
    run --separate-stderr slurm sbatch --test-only -n3 --tf-tasks=worker:2,spare --wrap 'srun true'
    [ "$status" -eq 0 ] && [[ $stderr == *"Add --no-kill to it, and to its srun"* ]] || fail "sbatch does not say that the job dies"
    run --separate-stderr slurm env SBATCH_NO_KILL=set sbatch --test-only -n3 --tf-tasks=worker:2,spare --wrap 'srun true'
    [ "$status" -eq 0 ] && [[ $stderr != *spank_tf* ]] || fail "sbatch says something with SBATCH_NO_KILL=set"
    run -0 slurm srun -Q -k -n3 --tf-tasks=worker:2,spare --tf-restart=1 true
    run -0 slurm srun -Qk -n3 --tf-tasks=worker:2,spare --tf-restart=1 true
    run -0 slurm env SLURM_NO_KILL=set srun -Q -n3 --tf-tasks=worker:2,spare --tf-restart=1 true
}

# The batch script runs on the first node. Its next srun would wait for the lost node without --overlap if the first step
# ended before Slurm has given the node up.
@test "in a batch job with --no-kill a node dies: the script learns that the work is done, and goes on with its next step" {
    local out=$work/batch.out

    job=$(slurm sbatch --parsable --no-kill -N4 -n4 -o "$out" --tf-tasks=worker:3,spare --tf-restart=3 --export=ALL <<END
#!/bin/sh
srun --no-kill sh -c '$begin [ \$life != 0 ] || exec sleep 1000
    until grep -q "Node failure" $work/srun.out; do sleep 0.1; done' > $work/srun.out 2>&1
! grep -q 'the training has finished' $work/srun.out || echo done
srun --no-kill -N1 -n1 --tf-tasks=none echo next
END
    ) || fail "sbatch fails"
    srun_output=$work/srun.out
    await_lives 1 0 1 2
    kill_node 3
    await_lives 2 0 1
    await_lives 1 3
    one_dictionary 3 3 0 1 3
    eventually 90 job_has_ended "$job" || fail "the job does not end: $(< "$srun_output")"
    [ "$(grep -v error "$out")" = $'done\nnext' ] || fail "the batch script does not go on: $(< "$out") $(< "$srun_output")"
}

@test "the batch script that starts srun again without a lost node fails if squeue does" {
    printf '#!/bin/sh\nexit 1\n' > "$work/squeue"
    chmod 755 "$work/squeue"
    run env SLURM_JOB_ID=1 PATH="$work:$PATH" bash "$tests/../contrib/examples/resume_lost_node.sbatch"
    [ "$status" -eq 1 ] && [[ $output == *"how many nodes the job has" ]] || fail "the job would seem to have ended well"
}
