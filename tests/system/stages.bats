#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two stages of spank_tf around a plugin that does what pyxis does (fault/container_plugin.c): every life is a fork of
# the task as that plugin has made it. tests/pyxis runs the same steps with pyxis itself.

# Plugin: the second stage is a plugin; tf-run itself runs in a container.
# bats file_tags=plugin
load ../common
load ../fault/faults
load launch
load lives
load nodes
load stages

setup_file ()
{
    start_cluster --nodes 4 --conf SlurmdTimeout=10
}

before_test ()
{
    unshare --user true 2> /dev/null || skip "this machine does not let users create namespaces"
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    make_lives
    # shellcheck disable=SC2034  # for stages.bash
    between="required $SPANK_TF_PROGRAMS/container_plugin.so hide=$(dirname "$SPANK_TF_STAGE")"
    container=(--container-image=plain)
    # shellcheck disable=SC2034
    torch=(--container-image=torch)
    # shellcheck disable=SC2034
    missing=(--container-image=missing)
    two_stages
}

after_test ()
{
    reconnect_nodes
    nothing_left
}

# bats test_tags=core,release
@test "in a container: all tasks are restarted" {
    restart_of_all
}

# bats test_tags=release
@test "in a container: one worker is restarted beside a ps, which is stopped at the end" {
    restart_of_one_beside_a_ps
}

# bats test_tags=core,release
@test "in a container: with two tasks a node, each life has its own task's SLURM_TF_ variables" {
    two_tasks_a_node
}

@test "in a container: the tasks of a heterogeneous step are restarted" {
    heterogeneous_step
}

@test "in a container: all are restarted after a hang" {
    restart_after_a_hang
}

@test "in a container: messages for --tf-watchdog arrive, also on a kernel before Linux 6.16" {
    messages_count
}

@test "in a container: a spare takes the place of a task whose node has died" {
    spare_takes_a_place
}

@test "in a container: nodes are checked there, before the tasks start" {
    nodes_are_checked
}

@test "in a container: RANK, WORLD_SIZE and MASTER_ADDR are those of the step, not of the image's plugin" {
    torch_variables
}

@test "in a container: tasks that are no processes of PyTorch have no RANK in an image of PyTorch's" {
    no_torch_variables
}

@test "in a container: an image that is missing is reported as in a plain step" {
    missing_image
}

# Longer than tf-supervise waits for an answer.
@test "in a container: its set-up may take more than half a minute" {
    container=(--container-image=slow)
    run_inside "$fail_once" -N1 -n2 --tf-tasks=worker:2 --tf-restart=1,any --tf-timeout=10
    succeeds
    had_lives 2 2
}

@test "in a container: a job whose container is being set up is cancelled at once" {
    container=(--container-image=slow)
    slurm srun -Q -J setup -N1 -n2 "${container[@]}" --tf-tasks=worker:2 --tf-restart=1,any touch "$work/started" \
        > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    # shellcheck disable=SC2034  # for srun_ends
    srun=$!
    srun_output=$BATS_TEST_TMPDIR/out
    eventually 30 pgrep -u "$user" -x tf-supervise > "$BATS_TEST_TMPDIR/pids" || fail "no supervisor"
    slurm scancel --name setup
    srun_ends 20
    [ "$status" -ne 0 ]
    [ ! -e "$work/started" ] || fail "a program was started"
    ! printed 'cannot start its program' || fail "a line misleads: $(< "$srun_output")"
}

# What looks for pyxis knows it by its name.
# bats test_tags=core
@test "a restart that cannot work in a container of pyxis is refused at the launch, with what to do" {
    local ours why="srun: error: spank_tf: --tf-restart: in a container of pyxis, tasks are restarted by spank_tf_late.so, which must come after pyxis in plugstack.conf; see tf-check"
    local pyxis=$SPANK_TF_CLUSTER/spank_pyxis.so

    cp "$SPANK_TF_PROGRAMS/container_plugin.so" "$pyxis"
    # shellcheck disable=SC2034  # for stages.bash
    between="required $pyxis hide=$(dirname "$SPANK_TF_STAGE")"
    two_stages
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=worker:2 --tf-restart=1 "${container[@]}" true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "behind pyxis it works"
    # A task without a container can be restarted.
    sed -i /late/d "$SPANK_TF_CLUSTER/plugstack.conf"
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=worker:2 --tf-restart=1 true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "without a container it works"
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=worker:2 "${container[@]}" true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "without a restart it works"
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=worker:2 --tf-restart=1 "${container[@]}" true
    [ "$status" -eq 1 ] && [ "$stderr" = "$why" ] || fail "no second stage: not refused, or not so"
    run --separate-stderr slurm env PYXIS_CONTAINER_IMAGE=plain srun -Q -N2 --tf-tasks=worker:2 --tf-restart=1 true
    [ "$status" -eq 1 ] && [ "$stderr" = "$why" ] || fail "an image in the environment"
    ours=$(sed -n 's/^required \(.*spank_tf.so\).*/\1/p' "$SPANK_TF_CLUSTER/plugstack.conf")
    sed -i "1i optional ${ours/spank_tf.so/spank_tf_late.so}" "$SPANK_TF_CLUSTER/plugstack.conf"
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=worker:2 --tf-restart=1 "${container[@]}" true
    [ "$status" -eq 1 ] && [ "$stderr" = "$why" ] || fail "it stands before pyxis"
    # The site's default does not count.
    sed -i "s|spank_tf.so.*|& restart=1|" "$SPANK_TF_CLUSTER/plugstack.conf"
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=worker:2 "${container[@]}" true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a site's default"
}
