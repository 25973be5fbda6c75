#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Another SPANK plugin with a task_init of its own, before and after this plugin in
# plugstack.conf.

# bats file_tags=core,release
load launch

setup_file ()
{
    start_cluster --nodes 2
}

before_test ()
{
    ours=$(grep '^required' "$SPANK_TF_STAGE/etc/plugstack.conf.d/10-spank-tf.conf")
    other="required $SPANK_TF_PROGRAMS/other_plugin.so"
}

# Require a correct launch in which the other plugin has run, and the operator of test(1) holds
# for the directory where this plugin is installed: launch_beside OPERATOR [FIRST-ROLE]
launch_beside ()
{
    local first=${2-ps}

    launch "$first,worker,worker,worker" -N2 --ntasks-per-node=2 --tf-tasks="$first,worker:3" \
        sh -c "[ \"\$OTHER_PLUGIN\" = ran ] && [ $1 $SPANK_TF_STAGE/lib ] && exec \"\$@\"" -
}

@test "another plugin before ours" {
    plugstack "$other" "$ours"
    launch_beside -e
}

@test "another plugin after ours" {
    plugstack "$ours" "$other"
    launch_beside -e
}

@test "another plugin before ours enters a mount namespace where ours is not installed" {
    plugstack "$other hide=$SPANK_TF_STAGE" "$ours"
    local why="$SPANK_TF_STAGE/libexec/spank-tf/tf-supervise: No such file or directory; either spank-tf is not installed completely there, or the task is in a container already: spank_tf must come before whatever enters it, such as pyxis, in plugstack.conf"

    # With a ps tasks need a supervisor; a chief and workers can do without.
    run --separate-stderr slurm srun -Q -w "$(node 1)" -n2 --tf-tasks=chief,worker "$task_check" --roles=chief,worker
    [ "$status" -eq 0 ]
    [[ $stderr == "srun: spank_tf: step "*": chief 0 (rank 0, $(node 1)): $why; the step runs without supervisors, so srun does not report which task fails first" ]]
    run --separate-stderr slurm srun -Q -w "$(node 1)" -n2 --tf-tasks=ps,worker touch started
    [ "$status" -eq 1 ]
    [[ $stderr == *"ps 0 (rank 0, $(node 1)): $why"* ]]
    [ ! -e "$SPANK_TF_CLUSTER/work/started" ]
}

@test "another plugin after ours enters a mount namespace where ours is not installed" {
    plugstack "$ours" "$other hide=$SPANK_TF_STAGE"
    launch_beside '! -e'
}

@test "another plugin puts a command before every task's program" {
    slurm_is_from 23.11 || skip "Slurm $(slurm_version) has no spank_prepend_task_argv, which is new in 23.11"
    plugstack "$ours" "$other prepend"
    # Without and with supervisors.
    for stop in never auto; do
        launch chief,worker -N2 --tf-stop=$stop --tf-tasks=chief,worker sh -c '[ "$PREPENDED" = yes ] && exec "$@"' -
    done
}

# Our callbacks may be called so often, too.
@test "slurmstepd calls an option's callback twice before Slurm 24.05, and once since then" {
    local times=2

    ! slurm_is_from 24.05 || times=1
    plugstack "$ours" "$other"
    run slurm srun -Q --other=x -N2 --tf-tasks=chief,worker sh -c 'echo $OTHER_CALLBACKS'
    [ "$status" -eq 0 ]
    [ "$output" = $times$'\n'$times ] || fail "not $times in each task"
}

@test "under --export=NONE the step of a batch script knows sbatch's option since Slurm 23.11, an srun in it always" {
    local known=0

    ! slurm_is_from 23.11 || known=1
    plugstack "$ours" "$other"
    batch --export=NONE --other=x << 'END'
#!/bin/bash
echo "script $OTHER_CALLBACKS"
srun -Q -n1 /bin/sh -c 'echo "step $((OTHER_CALLBACKS > 0))"'
END
    [ "$output" = "script $known"$'\nstep 1' ] || fail "it is not so"
}

# Restart of both tasks behind a plugin that lets each through once: restart_behind_once LINE...
restart_behind_once ()
{
    local once=$SPANK_TF_CLUSTER/work/once

    rm -rf "$once"
    install -d -m 777 "$once"
    plugstack "$ours" "$other once=$once overwrite" "$@"
    run slurm srun -N2 --tf-tasks=worker:2 --tf-restart=1,any \
        sh -c 'echo "$SLURM_TF_ROLE $SLURM_TF_INDEX life ${SLURM_TF_RESTART:-0}"
               [ "$SLURM_TF_INDEX${SLURM_TF_RESTART-}" != 1 ] || exit 3'
}

@test "two stages: each life begins behind the plugin between them, which a task passes once" {
    restart_behind_once "${ours/spank_tf.so/spank_tf_late.so}"
    [ "$status" -eq 0 ]
    [[ "$output" == *"worker 0 life 0"* && "$output" == *"worker 1 life 1"* ]]
    [[ "$output" == *"worker 0 life 1"* && "$output" != *overwritten* ]]
}

@test "one stage: a plugin that a task passes once ends a restarted task" {
    restart_behind_once
    [ "$status" -ne 0 ]
    [[ "$output" == *"other_plugin: "*"File exists"* ]]
}

# Run a step of three tasks on one node behind a plugin that leaves a process beside each; alive RANK tells
# whether that lives: with_helpers SCRIPT SRUN-OPTION...
with_helpers ()
{
    local helpers=$SPANK_TF_CLUSTER/work/helpers script=$1

    shift
    rm -rf "$helpers"
    install -d -m 777 "$helpers"
    plugstack "$ours" "$other helper=$helpers" "${ours/spank_tf.so/spank_tf_late.so}"
    run slurm timeout 100 srun -N1 -n3 "$@" sh -c "alive () { kill -0 \$(cat $helpers/\$1) && echo \"\$1 lives\"; }
        $script"
    # Whether Slurm ends them with the step is its own affair (proctrack).
    cat "$helpers"/? | xargs kill 2> "$BATS_TEST_TMPDIR/ignored" || true
}

@test "two stages: a process that a plugin between them has left is not stopped with its task" {
    with_helpers 'case $SLURM_TF_ROLE in
            ps) echo $$ > ps; exec sleep 60 ;;
            worker) while [ ! -e ps ]; do sleep 0.1; done ;;
            evaluator)
                while [ ! -e ps ] || kill -0 "$(cat ps)"; do sleep 0.1; done 2> /dev/null
                alive 0; alive 2 ;;
        esac' --tf-tasks=ps,worker,evaluator --tf-show
    [ "$status" -eq 0 ]
    [[ "$output" == *"0 lives"*"2 lives"* ]] || fail "the ps' helper was stopped"
    [ "$(task_ends <<< "$output")" = $'0 ps 0 stopped\n1 worker 0 exit 0\n2 evaluator 0 exit 0' ]
}

@test "two stages: a process that a plugin between them has left is there for each life" {
    with_helpers 'alive $SLURM_PROCID; [ "$SLURM_PROCID${SLURM_TF_RESTART-}" != 1 ] || exit 3' \
        --tf-tasks=worker:3 --tf-restart=1,any
    [ "$status" -eq 0 ]
    [ "$(grep -c lives <<< "$output")" -eq 6 ] || fail "not in each of two lives of three tasks"
}

# A plugin between the stages waits for a container: in_containers SRUN-ARGUMENT... The container of rank N is there
# when $containers/N is.
in_containers ()
{
    containers=$SPANK_TF_CLUSTER/work/containers
    rm -rf "$containers"
    install -d -m 777 "$containers"
    plugstack "$ours" "$other await=$containers" "${ours/spank_tf.so/spank_tf_late.so}"
    slurm timeout 100 srun -N1 "$@" > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    srun=$!
    # They have registered.
    eventually 20 pgrep -u "$user" -x tf-supervise > "$BATS_TEST_TMPDIR/pids" || fail "no supervisor: $(< "$BATS_TEST_TMPDIR/out")"
}

@test "two stages: a ps whose container is not there yet is stopped" {
    in_containers -n2 --tf-tasks=ps,worker --tf-show sh -c 'echo runs'
    touch "$containers/1"
    wait $srun || fail "$(< "$BATS_TEST_TMPDIR/out")"
    [ "$(task_ends < "$BATS_TEST_TMPDIR/out")" = $'0 ps 0 stopped\n1 worker 0 exit 0' ] || fail "$(< "$BATS_TEST_TMPDIR/out")"
    [ "$(grep -cx runs "$BATS_TEST_TMPDIR/out")" -eq 1 ] || fail "the ps runs"
}

@test "two stages: a container that cannot be made is the plugin's to explain" {
    in_containers -n2 --tf-tasks=worker:2 --tf-restart=1,any sh -c 'echo runs'
    echo > "$containers/0"
    touch "$containers/1"
    ! wait $srun || fail "it succeeds"
    grep -q 'other_plugin: no container' "$BATS_TEST_TMPDIR/out" || fail "$(< "$BATS_TEST_TMPDIR/out")"
    grep -q 'its program was not started; slurmstepd says why' "$BATS_TEST_TMPDIR/out" || fail "$(< "$BATS_TEST_TMPDIR/out")"
    ! grep -q 'cannot start its program' "$BATS_TEST_TMPDIR/out" || fail "$(< "$BATS_TEST_TMPDIR/out")"
}

@test "two stages: a plugin between them enters a network namespace, where no other task reaches this one" {
    plugstack "$ours" "$other network" "${ours/spank_tf.so/spank_tf_late.so}"
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=ps,worker touch started
    [ "$status" -eq 1 ]
    [ "$(grep -c "its container has a network of its own, in which other tasks cannot reach it. Let it use the node's (with pyxis: no --container-unshare=net)$" <<< "$stderr")" -eq 2 ] || fail "not a line for each node"
    [ ! -e "$SPANK_TF_CLUSTER/work/started" ]
    # One that is alone needs no network.
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker true
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
}
