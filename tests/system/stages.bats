#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two stages of spank_tf around a plugin that does what pyxis does (fault/container_plugin.c): every life is a fork of
# the task as that plugin has made it. tests/pyxis runs the same steps with pyxis itself.

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

@test "in a container: a spare takes the place of a task whose node has died" {
    spare_takes_a_place
}

@test "in a container: RANK, WORLD_SIZE and MASTER_ADDR are those of the step, not of the image's plugin" {
    torch_variables
}
