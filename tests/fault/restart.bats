#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-restart, while a task waits for its next life: its port is taken by no other program, and what
# the task does when tf-rendezvous or srun ends.

load ../system/launch

setup_file ()
{
    start_cluster --nodes 2
}

before_test ()
{
    lives=$SPANK_TF_CLUSTER/work/lives
    rm -rf "$lives"
    install -d -o "$user" "$lives"
    export LIVES=$lives
    out=$BATS_TEST_TMPDIR/srun.out
    : > "$out"
}

after_test ()
{
    slurm scancel --user "$user" --quiet
    nothing_left
}

# Each life of a rank adds a line with its process ID and its port to a file of the rank; it may use
# $life, its number from 0: start_step LIST SCRIPT [OPTION…]. $srun is the process ID of srun.
start_step ()
{
    slurm srun -N2 --export=ALL --tf-tasks="$1" "${@:3}" sh -c "
        echo \"\$\$ \$SLURM_TF_PORT\" >> \$LIVES/\$SLURM_PROCID
        life=\${SLURM_TF_RESTART-0}
        $2" > "$out" 2>&1 3>&- &
    srun=$!
}

lives ()                    # RANK NUMBER
{
    # shellcheck disable=SC2002  # the file may be missing
    [ "$(cat "$lives/$1" 2> /dev/null | wc -l)" -ge "$2" ]
}

# Kill the present life of a rank.
kill_life ()                # RANK
{
    kill -9 "$(tail -n 1 "$lives/$1" | cut -d' ' -f1)"
}

printed ()
{
    grep -qF "$1" "$out"
}

# A supervisor whose task has ended waits a minute for a rendezvous that does not answer.
step_ends ()
{
    eventually 90 srun_ended || fail "srun does not end: $(< "$out")"
    wait "$srun" && status=0 || status=$?
    cat "$out"
}

srun_ended ()
{
    [[ $(ps -o stat= -p "$srun") != [^Z]* ]]
}

# The third restart comes after four seconds.
# bats test_tags=core
@test "between two lives no program can bind the task's port, unless it asks for it with SO_REUSEADDR" {
    local port who

    start_step chief,ps,worker 'case $SLURM_TF_ROLE$life in
        worker[0-2]) kill -9 $$;;
        chief*) until [ -e $LIVES/end ]; do sleep 0.1; done;;
        *) sleep 600;;
        esac' -n3 -m cyclic -w "$(node 1),$(node 2)" --tf-restart=3
    eventually 60 printed 'Restarting it in 4 s' || fail "the worker is not restarted"
    port=$(tail -n 1 "$lives/2" | cut -d' ' -f2)
    for who in "$user" "$other_user"; do
        ! "$tests/cluster" run --on "$(node 1)" --user "$who" -- "$SPANK_TF_PROGRAMS/bind-port" exclusive "$port" ||
            fail "$who binds the port"
    done
    ! lives 2 4 || fail "the worker was restarted before its port was tried"
    eventually 30 lives 2 4 || fail "the worker is not restarted"
    [ "$(cut -d' ' -f2 "$lives/2" | sort -u)" = "$port" ] || fail "the port has changed"
    touch "$lives/end"
    step_ends
    [ "$status" -eq 0 ]
    run -0 "$tests/cluster" run --on "$(node 1)" --user "$other_user" -- "$SPANK_TF_PROGRAMS/bind-port" exclusive "$port"
}

end_rendezvous ()
{
    kill -9 "$(pgrep -r D,R,S -xu "$user" tf-rendezvous)"
}

@test "when tf-rendezvous has been killed, a worker that fails is restarted all the same" {
    start_step chief,ps,worker 'case $SLURM_TF_ROLE$SLURM_TF_INDEX$SLURM_TF_RESTART in
        worker0 | worker00) until [ -e $LIVES/fail ]; do sleep 0.1; done; exit 3;;
        chief0*) until [ -e $LIVES/end ]; do sleep 0.1; done;;
        *) sleep 600 & trap "kill $!; exit 0" TERM; wait;;
        esac' -n3 -m block -w "$(node 1)" --tf-restart=1,any
    for rank in 0 1 2; do
        eventually 20 lives $rank 1
    done
    end_rendezvous
    touch "$lives/fail"
    eventually 60 lives 2 2 || fail "the worker is not restarted: $(< "$out")"
    touch "$lives/end"
    step_ends
    [ "$status" -eq 0 ]
}

@test "when tf-rendezvous and its keeper have been killed, a worker that fails is not restarted, a line says so, and the step ends" {
    start_step chief,ps,worker:2 'case $SLURM_TF_ROLE$SLURM_TF_INDEX in
        worker0) until [ -e $LIVES/fail ]; do sleep 0.1; done; exit 3;;
        chief0) until [ -e $LIVES/end ]; do sleep 0.1; done; kill $(cut -d" " -f1 $LIVES/1 $LIVES/3);;
        *) sleep 600 & trap "kill $!; exit 0" TERM; wait;;
        esac' -n4 -m block -w "$(node 1)" --tf-restart=1,any
    for rank in 0 1 2 3; do
        eventually 20 lives $rank 1
    done
    kill -9 "$(pgrep -r D,R,S -xu "$user" tf-keeper)"
    end_rendezvous
    touch "$lives/fail"
    eventually 75 worker_has_no_supervisor || fail "the worker's supervisor waits"
    eventually 20 printed 'tf-rendezvous does not answer. Its tasks will not be stopped when training has finished, or restarted' ||
        fail "no line says that"
    touch "$lives/end"
    step_ends
    [ "$status" -eq 3 ]
    ! lives 2 2 || fail "the worker was restarted"
    [ "$(grep -c spank_tf "$out")" -eq 1 ] || fail "that is not the only line"
}

worker_has_no_supervisor ()
{
    [ "$(pgrep -xcu "$user" tf-supervise)" -eq 3 ]
}

# The ps has failed, one worker has ended, and the other one goes on until the test says so.
# bats test_tags=core
@test "a supervisor is killed while its task waits for the others: none is restarted, and a line says so" {
    local barrier

    start_step ps,worker:2 'case $SLURM_TF_ROLE$SLURM_TF_INDEX in
        ps0) until [ -s $LIVES/1 ] && [ -s $LIVES/2 ]; do sleep 0.1; done; kill -9 $$;;
        worker0) exec sleep 600;;
        worker1) trap "" TERM; until [ -e $LIVES/end ]; do sleep 0.1; done; exit 0;;
        esac' -n3 --tf-restart=2
    for rank in 0 1 2; do
        eventually 30 lives $rank 1
    done
    barrier=$(supervisor_of "$(cut -d' ' -f1 "$lives/1")")
    eventually 30 printed 'Restarting all tasks in 1 s (restarts left without progress: 1)'
    eventually 30 worker_ended
    kill -9 "$barrier"
    touch "$lives/end"
    step_ends
    printed 'these tasks are treated as lost, because there is no connection to their supervisors: worker 0 (rank 1, ' &&
        printed '; the restart of all tasks is given up' || fail "no line says that"
    ! lives 0 2 && ! lives 2 2 || fail "the others were restarted"
}

worker_ended ()
{
    ! kill -0 "$(cut -d' ' -f1 "$lives/1")" 2> /dev/null
}

# bats test_tags=core
@test "a task whose fork server is killed while it waits is not restarted, and the step goes on" {
    start_step chief,ps,worker 'case $SLURM_TF_ROLE$life in
        worker[0-2]) kill -9 $$;;
        chief*) until [ -e $LIVES/end ]; do sleep 0.1; done;;
        *) sleep 600;;
        esac' -n3 -m cyclic -w "$(node 1),$(node 2)" --tf-restart=9
    eventually 60 printed 'Restarting it in 4 s'
    # Of the two tasks on its node, the ps has a program.
    for server in $(pgrep -xu "$user" tf-fork-server); do
        pgrep -P "$server" > /dev/null || kill -9 "$server"
    done
    eventually 30 printed 'signal 9. Not restarted: tf-fork-server, which starts it, was killed' || fail "no line says that: $(< "$out")"
    touch "$lives/end"
    step_ends
    [ "$status" -eq 137 ]
    ! lives 2 4 || fail "the worker was restarted"
}

# bats test_tags=core
@test "srun is killed while a task waits for its next life: nothing is left behind, and there is none" {
    start_step chief,ps,worker 'case $SLURM_TF_ROLE$life in
        worker[0-2]) kill -9 $$;;
        *) sleep 600;;
        esac' -n3 --tf-restart=9
    eventually 60 printed 'Restarting it in 4 s'
    kill -9 "$(pgrep -r D,R,S -xu "$user" srun | head -n 1)"
    eventually 20 no_process_left || fail "processes are left: $(ps -u "$user" -f)"
    ! lives 2 4 || fail "the worker was restarted"
}
