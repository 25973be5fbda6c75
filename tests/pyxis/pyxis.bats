#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two stages of spank_tf around the real pyxis. system/stages.bats runs the same steps with a plugin that does what
# pyxis does.

load ../common
load ../fault/faults
load ../system/launch
load ../system/lives
load ../system/nodes
load ../system/stages
load ../tensorflow/resume
load nodes

setup_file ()
{
    [[ $(why_no_pyxis) ]] || start_pyxis_cluster --nodes 4 --conf SlurmdTimeout=10
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    make_lives
    between="required $SPANK_TF_PYXIS/lib/slurm/spank_pyxis.so runtime_path=$BATS_FILE_TMPDIR/local/pyxis"
    mounts=/usr:/usr:ro,$work:$work,$LIVES:$LIVES
    container=(--container-image="$BATS_FILE_TMPDIR/plain.sqsh" --container-mounts="$mounts")
    # shellcheck disable=SC2034  # for stages.bash
    torch=(--container-image="$BATS_FILE_TMPDIR/torch.sqsh" --container-mounts="$mounts")
    # shellcheck disable=SC2034
    missing=(--container-image="$BATS_FILE_TMPDIR/missing.sqsh")
    two_stages
}

after_test ()
{
    reconnect_nodes
    nothing_left
}

@test "pyxis: all tasks are restarted" {
    restart_of_all
}

@test "pyxis: one worker is restarted beside a ps, which is stopped at the end" {
    restart_of_one_beside_a_ps
}

@test "pyxis: with two tasks a node, each life has its own task's SLURM_TF_ variables" {
    two_tasks_a_node
}

@test "pyxis: the tasks of a heterogeneous step are restarted" {
    heterogeneous_step
}

@test "pyxis: all are restarted after a hang" {
    restart_after_a_hang
}

@test "pyxis: messages for --tf-watchdog arrive, also on a kernel before Linux 6.16" {
    messages_count
}

@test "pyxis: a spare takes the place of a task whose node has died" {
    spare_takes_a_place
}

@test "pyxis: nodes are checked in the container, before the tasks start" {
    nodes_are_checked
}

@test "pyxis: RANK, WORLD_SIZE and MASTER_ADDR are those of the step in an image of PyTorch's" {
    torch_variables
}

@test "pyxis: tasks that are no processes of PyTorch have no RANK in an image of PyTorch's" {
    no_torch_variables
}

@test "pyxis: an image that is missing is reported as in a plain step" {
    missing_image
}

@test "pyxis: the set-up of a container may take more than half a minute, and --tf-timeout" {
    export SLOW_SETUP=35
    run_inside "$fail_once" -N1 -n2 --tf-tasks=worker:2 --tf-restart=1,any --tf-timeout=10
    succeeds
    had_lives 2 2
}

@test "pyxis: each life is root in a container with --container-remap-root" {
    run_inside "[ \$(id -u) = 0 ] || exit 97; $fail_once" --container-remap-root -N2 -n2 --tf-tasks=worker:2 \
        --tf-restart=1,any
    succeeds
    had_lives 2 2
}

@test "pyxis: each life has what the entrypoint has exported" {
    run_inside "[ \$FROM_ENTRYPOINT = yes ] || exit 97; $fail_once" --container-entrypoint -N2 -n2 --tf-tasks=worker:2 \
        --tf-restart=1,any
    succeeds
    had_lives 2 2
}

@test "pyxis: a container with a name keeps what the lives have written, and nothing of ours for the next step" {
    run_inside "echo \$life >> /workspace/lives; $fail_once" --container-name=kept -N1 -n2 --tf-tasks=worker:2 \
        --tf-restart=1,any
    succeeds
    had_lives 2 2
    run --separate-stderr slurm srun -Q -N1 -n1 --container-name=kept --container-mounts=/usr:/usr:ro \
        sh -c 'sort /workspace/lives; env | grep -c SLURM_TF_'
    [ "$output" = $'0\n0\n1\n1\n0' ] || fail "the container has not kept it, or has kept more"
}

@test "pyxis with use_squashfuse=true: stopping a ps leaves the container of the others, and all restart" {
    between+=" use_squashfuse=true"
    two_stages
    run_inside 'case $SLURM_TF_ROLE in
            ps) echo $$ > '"$work"'/ps; exec sleep 1000 ;;
            worker) until [ -e '"$work"'/ps ]; do sleep 0.1; done ;;
            evaluator)
                until [ -e '"$work"'/ps ] && ! kill -0 "$(cat '"$work"'/ps)"; do sleep 0.1; done
                cat /etc/rc > /dev/null || exit 97 ;;
        esac' -N1 -n3 --tf-tasks=ps,worker,evaluator --tf-show
    succeeds
    [ "$(task_ends <<< "$stderr")" = $'0 ps 0 stopped\n1 worker 0 exit 0\n2 evaluator 0 exit 0' ] ||
        fail "another table"
    find "$LIVES" -type f -delete
    run_inside "cat /etc/rc > /dev/null || exit 97; $fail_once" -N1 -n2 --tf-tasks=worker:2 --tf-restart=1,any
    succeeds
    had_lives 2 2
}

@test "pyxis: a container with a network of its own is refused, because no other task would reach it" {
    # With a sysfs of its own there is no place for the cgroups that this hook mounts.
    chmod 644 "$BATS_FILE_TMPDIR/hooks/10-cgroups.sh"
    run_inside "touch $work/started" --container-unshare=net -N2 -n2 --tf-tasks=worker:2
    chmod 755 "$BATS_FILE_TMPDIR/hooks/10-cgroups.sh"
    [ "$status" -eq 1 ] || fail "srun's exit code is not 1"
    [ "$(grep -c "its container has a network of its own, in which other tasks cannot reach it" <<< "$stderr")" -eq 2 ] ||
        fail "it is not named on both nodes"
    [ ! -e "$work/started" ] || fail "a program was started"
}

@test "pyxis before spank_tf: the container is named as the reason, also where a step can do without a supervisor" {
    local ours why="the task is in a container already: spank_tf must come before whatever enters it, such as pyxis"

    ours=$(grep '^required' "$SPANK_TF_STAGE/etc/plugstack.conf.d/10-spank-tf.conf")
    plugstack "$between" "$ours"
    run_inside "touch $work/started" -N1 -n2 --tf-tasks=ps,worker
    [ "$status" -eq 1 ] && [[ $stderr == *"$why"* ]] || fail "the reason is another one"
    [ ! -e "$work/started" ] || fail "a program was started"
    run_inside true -N1 -n2 --tf-tasks=worker:2
    [ "$status" -eq 0 ] && [[ $stderr == *"$why"*"; the step runs without supervisors"* ]] || fail "no word of it"
    run -2 slurm_on "$(node 1)" "$SPANK_TF_STAGE/bin/tf-check" -q
    grep -q "^error: pyxis comes before spank_tf ($SPANK_TF_CLUSTER/plugstack.conf:1, " <<< "$output"
}

# Nothing of a restart is asked for, so one stage is enough.
@test "pyxis behind spank_tf without the second stage: each task has its own variables by enroot's hook" {
    local hook=$BATS_FILE_TMPDIR/hooks/60-spank-tf.sh

    plugstack "$(grep '^required' "$SPANK_TF_STAGE/etc/plugstack.conf.d/10-spank-tf.conf")" "$between"
    run_inside true -N1 -n2 --tf-tasks=worker:2
    [ "$status" -eq 99 ] || fail "without the hook they are right, too"
    container=("${torch[@]}")
    install -m 755 "$tests/../contrib/enroot/60-spank-tf.sh" "$hook"
    # pyxis sets SLURM_PROCID here, and the evaluator has none.
    run_inside '[ "${RANK-none}" = "$(case $SLURM_TF_ROLE in worker) echo $SLURM_TF_INDEX ;; *) echo none ;; esac)" ] || exit 97' \
        -N1 -n3 --tf-tasks=worker,evaluator,worker --tf-frameworks=tf,torch
    rm "$hook"
    succeeds
}

@test "pyxis: scancel while a container is being set up leaves nothing" {
    export SLOW_SETUP=60
    srun_output=$BATS_TEST_TMPDIR/out
    slurm srun -Q -J setup -N1 -n2 --export=ALL "${container[@]}" --tf-tasks=worker:2 --tf-restart=1,any \
        touch "$work/started" > "$srun_output" 2>&1 3>&- &
    # shellcheck disable=SC2034  # for srun_ends
    srun=$!
    eventually 30 pgrep -u "$user" -f 20-slow.sh > "$BATS_TEST_TMPDIR/pids" || fail "no set-up"
    slurm scancel --name setup
    srun_ends 20
    [ ! -e "$work/started" ] || fail "a program was started"
    ! printed 'cannot start its program' || fail "a line misleads: $(< "$srun_output")"
}

# bats test_tags=tensorflow
@test "pyxis: MultiWorkerMirroredStrategy goes on from its checkpoint when a worker is killed" {
    local venv step

    venv=$("$tests/../contrib/tensorflow-env" newest)
    cp "$tests"/../contrib/examples/{resume_multiworker,spank_tf_watchdog}.py "$work"
    container[1]+=,$venv:$venv:ro
    run --separate-stderr slurm timeout 250 srun -Q --export=ALL "${container[@]}" -N2 -n2 --tf-tasks=worker:2 \
        --tf-restart=1,any --tf-show sh -c "$own $begin"' cd '"$work"'
            [ "$SLURM_PROCID.$life" != 1.0 ] || (
                until [ -e saved/checkpoint ]; do sleep 0.5; done
                sleep 2
                kill -9 $$) &
            exec '"$venv/bin/python resume_multiworker.py $work/saved --steps=60 --pause=0.05"
    succeeds
    had_lives 2 2
    grep -q 'worker 0: starts at step 0' <<< "$output" || fail "it does not begin"
    step=$(sed -nE 's/^worker 0: starts at step ([0-9]+)/\1/p' <<< "$output" | tail -n 1)
    ((step > 0)) || fail "its second life does not go on from a checkpoint"
    [ "$(grep -c 'done, 60 steps' <<< "$output")" -eq 2 ] || fail "a worker is not done"
}
