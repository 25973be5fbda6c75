#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tf-run, on a Slurm that has no plugin.

# In `tests/run --by-run` each srun would be started twice by it.
# bats file_tags=plugin

load roles
load launch

setup_file ()
{
    export TF_RUN=${TF_RUN-$SPANK_TF_STAGE/bin/tf-run}
    start_cluster --nodes 3 --plugstack /dev/null
}

before_test ()
{
    write_by_role
    echo > "$SPANK_TF_CLUSTER/plugstack.conf"
}

tf_run ()
{
    slurm "$TF_RUN" "$@"
}

# Require that tf-run printed this line alone, and that srun was not started: refused LINE
refused ()
{
    [ "$status" -eq 1 ] && [ "$stderr" = "tf-run: error: spank_tf: $1" ] || fail "it is not refused, or otherwise"
    [ -z "$output" ] && [ ! -e "$work/mark.started" ] || fail "srun was started"
}

# bats test_tags=core,release
@test "the tasks of a list find each other, in rank order" {
    run --separate-stderr tf_run --tf-tasks=ps,worker,worker srun -Q -N3 "$task_check" --roles=ps,worker,worker
    all_tasks_ok ps,worker,worker
}

@test "the options may stand among those of srun" {
    run --separate-stderr tf_run srun -Q --tf-tasks ps,worker --nodes 2 --tf-timeout=60 "$task_check" --roles=ps,worker
    all_tasks_ok ps,worker
}

# bats test_tags=core
@test "a wrong list, a wrong option and --multi-prog are refused before srun is started" {
    run --separate-stderr tf_run --tf-tasks=ps,wroker srun -n2 ./by-role ps='mark started'
    refused '--tf-tasks: "wroker" (item 2) is not a TensorFlow role; did you mean "worker"?'
    run --separate-stderr tf_run --tf-tasks=worker:2,ps,ps:0 srun -n2 ./by-role worker='mark started'
    [ "$status" -eq 1 ]
    [ ! -e "$work/mark.started" ]
    run --separate-stderr tf_run --tf-taks=worker:2 srun -n2 ./by-role worker='mark started'
    refused '--tf-taks: unknown option; tf-run --help lists all'
    run --separate-stderr tf_run --tf-tasks=worker:2 ./by-role worker='mark started'
    refused '"./by-role" is not srun: write tf-run [--tf-OPTION...] srun [OPTIONS] PROGRAM'
    echo '0-1 touch mark.started' > "$work/programs"
    run --separate-stderr tf_run --tf-tasks=worker:2 srun -n2 --multi-prog programs
    refused '--multi-prog is not possible without the plugin: start one program, which reads SLURM_TF_ROLE'
}

@test "a list that does not fit the step ends it with a line" {
    run --separate-stderr tf_run --tf-tasks=ps,worker srun -Q -n3 ./by-role worker='mark started'
    [ "$status" -ne 0 ]
    [ ! -e "$work/mark.started" ]
    [[ $stderr == *'has 3 tasks, but --tf-tasks lists 2 (ps,worker)'* ]] || fail "no such line"
}

# bats test_tags=core
@test "without a list it is srun" {
    run --separate-stderr tf_run srun -Q -n2 sh -c 'env | grep -c SLURM_TF_; exit 4'
    [ "$status" -eq 4 ]
    [ "$output" = $'0\n0' ]
    run --separate-stderr tf_run --tf-tasks=none srun -Q -n2 sh -c 'env | grep -c SLURM_TF_; exit 4'
    [ "$status" -eq 4 ]
    [ "$output" = $'0\n0' ]
    run --separate-stderr slurm env SLURM_TF_RUN=--tf-tasks=worker:2 "$TF_RUN" --tf-tasks=none srun -Q -n2 sh -c 'env | grep -c SLURM_TF_; exit 4'
    [ "$status" -eq 4 ]
    [ "$output" = $'0\n0' ]
    run --separate-stderr tf_run --tf-show srun -lQ sh -c 'exit 5'
    [ "$status" -eq 5 ] && [[ $stderr != *spank_tf* ]] || fail "srun -Q says something"
    run --separate-stderr tf_run --tf-show srun sh -c 'exit 5'
    [ "$status" -eq 5 ]
    [ "${stderr_lines[0]}" = 'tf-run: spank_tf: --tf-show: no effect without --tf-tasks' ]
}

@test "its process is srun's, and the tasks do not see its variables" {
    run --separate-stderr tf_run --tf-tasks=worker srun -Q sh -c 'env | grep -E "^SLURM_TF_(RENDEZVOUS|RUN|LOG_DIR)="; true'
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    # shellcheck disable=SC2016  # $$ is the shell's there
    run --separate-stderr slurm sh -c 'echo $$; exec "$@"' sh "$TF_RUN" --tf-tasks=worker \
        srun -Q sh -c 'echo "$SLURM_TASK_PID $$"; ps -o ppid= -p $PPID > /dev/null'
    [ "$status" -eq 0 ]
    read -r task_pid own_pid <<< "${lines[1]}"
    [ "$task_pid" = "$own_pid" ]
}

# bats test_tags=core,release
@test "--export=NONE and --export=LIST" {
    run --separate-stderr tf_run --tf-tasks=ps,worker srun -Q -n2 --export=NONE "$task_check" --roles=ps,worker
    all_tasks_ok ps,worker
    run --separate-stderr tf_run --tf-tasks=ps,worker srun -Q -n2 --export=HOME "$task_check" --roles=ps,worker
    all_tasks_ok ps,worker
}

# bats test_tags=core,release
@test "exit codes are those of srun" {
    run --separate-stderr tf_run --tf-tasks=worker:2 srun -Q -n2 ./by-role worker0='exit 3' worker1='exit 0'
    [ "$status" -eq 3 ]
    # shellcheck disable=SC2016  # of the task's shell
    run --separate-stderr tf_run --tf-tasks=worker srun -Q ./by-role worker='kill -TERM $$'
    [ "$status" -eq 143 ]
    run --separate-stderr tf_run --tf-tasks=worker srun -Q ./no-such-program
    [ "$status" -eq 2 ]
    [[ $stderr == *'execve(): /'*'/./no-such-program: No such file or directory'* ]]
    run --separate-stderr tf_run --tf-tasks=worker srun -Q /etc/passwd
    [ "$status" -eq 13 ]
}

# bats test_tags=core
@test "a ps is stopped when the workers have ended" {
    run --separate-stderr tf_run --tf-tasks=ps,worker:2 srun -Q -N3 ./by-role worker='exit 0'
    [ "$status" -eq 0 ]
}

# bats test_tags=core,release
@test "a task that fails is restarted" {
    run --separate-stderr tf_run --tf-tasks=ps,worker:2 --tf-restart=2,any srun -Q -N3 ./by-role \
        worker0='[ "$SLURM_TF_RESTART" ] && exit 0; await failed; exit 0' worker1='[ "$SLURM_TF_RESTART" ] && exit 0; mark failed; exit 7'
    [ "$status" -eq 0 ]
    [[ $stderr == *'worker 1'*'restart'* ]] || fail "no line about a restart"
}

# bats test_tags=core
@test "--tf-log-dir: each task has its file" {
    run --separate-stderr tf_run --tf-tasks=worker:2 --tf-log-dir=logs srun -Q -N2 ./by-role \
        worker0='echo zero' worker1='echo one >&2'
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [ "$(< "$work/logs/worker0.log")" = zero ]
    [ "$(< "$work/logs/worker1.log")" = one ]
    [[ $(head -n 1 "$work/logs/master.log") =~ step\ [0-9]+\.0\ begins ]] || fail "master.log does not have the step"
}

@test "a later step of a job appends to the log files" {
    batch -N1 -n2 << END
#!/bin/sh
export SLURM_TF_RUN="--tf-tasks=worker:2 --tf-log-dir=logs"
for i in 1 2; do
    "$TF_RUN" srun -Q sh -c "echo \$i"
done
END
    [ "$status" -eq 0 ] || fail "the script fails"
    [ "$(grep -c '^[12]$' "$work/logs/worker1.log")" -eq 2 ] || fail "the second step has truncated the file"
}

# bats test_tags=core
@test "stdin goes to the tasks" {
    # shellcheck disable=SC2016  # of that shell
    run --separate-stderr slurm sh -c 'echo text | "$@"' sh "$TF_RUN" --tf-tasks=worker:2 srun -Q -n2 cat
    [ "$status" -eq 0 ]
    [ "$output" = $'text\ntext' ]
}

@test "--pty" {
    run --separate-stderr slurm script -qec "'$TF_RUN' --tf-tasks=worker srun -Q --pty tty" /dev/null
    [ "$status" -eq 0 ]
    [[ $output == */dev/pts/* ]]
}

# bats test_tags=core,release
@test "a heterogeneous step: one list for all, or one for each component" {
    run --separate-stderr tf_run --tf-tasks=ps,worker:2 srun -Q -n1 "$task_check" --roles=ps,worker,worker : \
        -n2 "$task_check" --roles=ps,worker,worker
    all_tasks_ok ps,worker,worker
    run --separate-stderr tf_run srun -Q -n1 --tf-tasks=ps "$task_check" --roles=ps,worker,worker : \
        -n2 --tf-tasks=worker:2 "$task_check" --roles=ps,worker,worker
    all_tasks_ok ps,worker,worker
    run --separate-stderr tf_run srun -Q -n1 --tf-tasks=ps ./by-role : -n2 --tf-tasks=worker:3 ./by-role
    [ "$status" -ne 0 ]
    [[ $stderr == *'component 1'*'2 tasks'* ]] || fail "no line about component 1"
    # Slurm numbers their tasks by the group.
    run --separate-stderr tf_run srun -Q --het-group=1 -n2 --tf-tasks=worker:2 ./by-role : --het-group=0 -n1 --tf-tasks=ps ./by-role
    [ "$status" -ne 0 ]
    [[ $stderr == *"the numbers of --het-group must ascend"* ]] || fail "components in another order are not refused"
    # The last one of the job's is its list.
    run --separate-stderr slurm env SLURM_TF_RUN="--tf-tasks=ps --tf-tasks=ps,worker:2" "$TF_RUN" srun -Q -n1 \
        "$task_check" --roles=ps,worker,worker : -n2 "$task_check" --roles=ps,worker,worker
    all_tasks_ok ps,worker,worker
}

# bats test_tags=core
@test "Ctrl-C and scancel end all" {
    # shellcheck disable=SC2016  # of that shell
    run --separate-stderr slurm timeout 60 sh -c '"$@" & pid=$!; until [ -e mark.started ]; do sleep 0.1; done
        kill -INT $pid; sleep 0.2; kill -INT $pid; wait $pid' sh \
        "$TF_RUN" --tf-tasks=ps,worker srun -Q -n2 ./by-role worker='mark started; sleep 1000'
    [ "$status" -ne 0 ]
    [ "$status" -ne 124 ]
}

# bats test_tags=core
@test "a job's options stand in SLURM_TF_RUN, and those of a command line win" {
    batch -N1 -n2 << END
#!/bin/sh
export SLURM_TF_RUN="--tf-tasks=ps,worker  --tf-timeout=60"
"$TF_RUN" srun -Q "$task_check" --roles=ps,worker
"$TF_RUN" --tf-tasks=worker:2 srun -Q "$task_check" --roles=worker,worker
SLURM_TF_RUN="roles=data ports=29000-29099" "$TF_RUN" --tf-tasks=data,worker srun -Q \
    sh -c 'echo \$SLURM_TF_ROLE at \${SLURM_TF_PORT%??}'
SLURM_TF_RUN=ps,worker "$TF_RUN" srun -Q true
SLURM_TF_RUN=lost_after=x "$TF_RUN" srun -Q true
END
    [ "$(grep -c ' ok ' <<< "$output")" -eq 4 ] || fail "a task is not ok"
    [ "$(grep -c '^\(data\|worker\) at 290$' <<< "$output")" -eq 2 ] || fail "an administrator's arguments do not count"
    mapfile -t lines <<< "$stderr"
    [ "${lines[0]}" = 'tf-run: error: spank_tf: SLURM_TF_RUN: "ps,worker" is not an option of tf-run' ]
    [[ ${lines[1]} == 'tf-run: error: spank_tf: SLURM_TF_RUN: lost_after: "x" '* ]]
}

# bats test_tags=core,release
@test "on nodes that do not have tf-run's directory, srun --bcast brings it there" {
    local bcast=/tmp/tf-run.$BATS_ROOT_PID node

    mkdir "$work/mine"
    cp "$TF_RUN" "$work/mine/tf-run"
    for node in 1 2; do
        "$tests/cluster" run --on "$(node $node)" mount -t tmpfs none "$work/mine"
    done
    run --separate-stderr slurm mine/tf-run --tf-tasks=worker:2 srun -Q -w "$(node 1),$(node 2)" true
    [ "$status" -eq 2 ] && [[ $stderr == *'execve(): '*/mine/tf-run': No such file or directory'* ]] || fail "nodes have it"
    run --separate-stderr slurm mine/tf-run --tf-tasks=ps,worker --tf-restart=1,any srun -Q -w "$(node 1),$(node 2)" --bcast="$bcast" \
        ./by-role worker='[ "$SLURM_TF_RESTART" ] || exit 3'
    rm -f "$bcast"
    for node in 1 2; do
        "$tests/cluster" run --on "$(node $node)" umount "$work/mine"
    done
    [ "$status" -eq 0 ] && [[ $stderr == *'exit code 3. Restarting'* ]] || fail "the step fails, or is not restarted"
}

# Leave a mark of each time that tf-run asks slurmctld: with_scontrol COMMAND...
with_scontrol ()
{
    mkdir -p "$work/bin"
    printf '%s\n' '#!/bin/sh' "touch $work/mark.asked" "exec $(command -v scontrol) \"\$@\"" > "$work/bin/scontrol"
    chmod 755 "$work/bin/scontrol"
    slurm env PATH="$work/bin:$PATH" "$@"
}

# bats test_tags=core,release
@test "in a job, tf-run reads slurm.conf as srun does, and asks slurmctld only if it cannot" {
    # Not with the path that srun was given.
    cp "$SPANK_TF_CLUSTER/slurm.conf" "$work/own.conf"
    run slurm env SLURM_CONF="$work/own.conf" srun -Q -n1 printenv SLURM_CONF
    [ "$output" = "$SPANK_TF_CLUSTER/slurm.conf" ] || fail "Slurm does not set SLURM_CONF"
    run --separate-stderr with_scontrol "$TF_RUN" --tf-tasks=ps,worker srun -Q -n2 "$task_check" --roles=ps,worker
    all_tasks_ok ps,worker
    [ ! -e "$work/mark.asked" ] || fail "slurmctld was asked"
    chmod 600 "$SPANK_TF_CLUSTER/cgroup.conf"
    run --separate-stderr with_scontrol "$TF_RUN" --tf-tasks=ps,worker srun -Q -n2 "$task_check" --roles=ps,worker
    chmod 644 "$SPANK_TF_CLUSTER/cgroup.conf"
    all_tasks_ok ps,worker
    [ -e "$work/mark.asked" ] || fail "slurmctld was not asked"
}

# bats test_tags=core
@test "where srun has the plugin, the plugin does it" {
    site_arguments
    run --separate-stderr tf_run --tf-tasks=ps,worker --tf-show srun -n2 "$task_check" --roles=ps,worker
    [ "$status" -eq 0 ]
    all_ok "$output" 2
    [[ $stderr == *'tf-run: spank_tf: srun has the plugin, which does this'* ]] || fail "tf-run does not say so"
    run --separate-stderr tf_run --tf-tasks=ps,worker srun -Q -n2 "$task_check" --roles=ps,worker
    all_tasks_ok ps,worker
    run --separate-stderr tf_run --tf-tasks=ps,worker srun -Q -n3 "$task_check"
    [ "$status" -ne 0 ]
    [[ $stderr == *'has 3 tasks'* ]]
    # Only the plugin has the site's roles.
    site_arguments roles=data
    # shellcheck disable=SC2016  # of the task's shell
    run --separate-stderr tf_run --tf-tasks=data,worker srun -Q -n2 sh -c 'echo $SLURM_TF_ROLE'
    [ "$status" -eq 0 ] && [ "$(sort <<< "$output")" = $'data\nworker' ] || fail "tf-run refuses a role of the site's"
}

# A step need not use what is meant for others.
# bats test_tags=core
@test "... and the job's options are the job's there, too" {
    site_arguments
    run --separate-stderr slurm env SLURM_TF_RUN="--tf-tasks=worker --tf-tee" "$TF_RUN" srun -Q true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "--tf-tee is refused"
    run --separate-stderr slurm env SLURM_TF_RUN=--tf-show "$TF_RUN" srun true
    [ "$status" -eq 0 ] && [[ $stderr != *'no effect'* ]] || fail "srun prints a note"
    run --separate-stderr slurm env SLURM_TF_RUN="--tf-tasks=ps,worker --tf-timeout=60" "$TF_RUN" --tf-tasks=worker \
        srun -Q "$task_check" --roles=worker
    all_tasks_ok worker
}
