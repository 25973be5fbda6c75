#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes with two InfiniBand interfaces: a task gets the one that is close to its CPUs.
# HWLOC_XMLFILE makes hwloc report that ib0 is on the socket of CPU 0, and ib1 on the socket of
# CPU 1.

# bats file_tags=core
load launch
load fabric

before_test ()
{
    { taskset -c 0 true && taskset -c 1 true; } 2> /dev/null || skip "tasks cannot be bound to CPUs 0 and 1 of this machine"
    prefix=rails
    # Also for slurmd, whatever the hardware of this machine.
    export HWLOC_XMLFILE=$BATS_TEST_TMPDIR/topology.xml HWLOC_THISSYSTEM=1
    chmod 755 "$BATS_TEST_TMPDIR"
    cp "$tests/topology/two-cpus.xml" "$HWLOC_XMLFILE"
    start_cluster_or_skip --prefix $prefix --rails 2 --nodes 2 --cpus 2 --conf TaskPlugin=task/affinity \
        --node-conf rails1:Sockets=2 --node-conf rails1:CoresPerSocket=1 \
        --node-conf rails2:Sockets=2 --node-conf rails2:CoresPerSocket=1
    work=$SPANK_TF_CLUSTER/work
}

after_test ()
{
    stop_fabric
}

# Run two ranks on each of the two nodes with this --cpu-bind, and require that the ranks, in
# their order, use these rails, 0 for ib0 and 1 for ib1: bound map_cpu:0,1 "0 1 0 1" [OPTION…]
bound ()
{
    launch worker,worker,worker,worker -N2 --ntasks-per-node=2 --tf-tasks=worker:4 --tf-ib --cpu-bind="$1" "${@:3}"
    on_rails "$2"
}

on_rails ()
{
    local rails

    rails=$(sort -n -k 3 <<< "$output" | sed -nE 's/^task-check: .* 10\.10([12])\.0\.[0-9]+:[0-9]+ ok .*/\1/p' | tr 12 01 | paste -sd' ')
    [ "$rails" = "$1" ] || fail "the ranks are on rails $rails, not on $1"
}

# Install the plugin's programs without tf-addresses; with `instead`, stdin is its replacement.
programs ()
{
    mkdir -p "$work/lib"
    cp "$SPANK_TF_STAGE"/libexec/spank-tf/* "$work/lib"
    rm "$work/lib/tf-addresses"
    if [[ ${1-} == instead ]]; then
        cat > "$work/lib/tf-addresses"
        chmod 755 "$work/lib/tf-addresses"
    fi
    site_arguments libexecdir="$work/lib"
}

# Replace tf-addresses by a script that records its node and arguments, and then runs
# tf-addresses.
record_calls ()
{
    : > "$work/calls"
    chmod 666 "$work/calls"
    programs instead <<END
#!/bin/sh
read -r node < /proc/sys/kernel/hostname
echo "\$node: \$*" >> $work/calls
exec $SPANK_TF_STAGE/libexec/spank-tf/tf-addresses "\$@"
END
}

# Require that these calls were recorded, and no others: called [LINE…]
called ()
{
    diff <(printf '%s' "${@/%/$'\n'}") <(sort "$work/calls") || fail "tf-addresses was called otherwise"
    : > "$work/calls"
}

@test "a task gets the interface close to its CPUs, by its binding and not by its rank" {
    not_by_static_file "it does not have tf-addresses, which needs hwloc"
    bound map_cpu:0,1 "0 1 0 1"
    bound map_cpu:1,0 "1 0 1 0"
    bound mask_cpu:0x1,0x1 "0 0 0 0"
    bound sockets "0 1 0 1"
}

@test "tasks that are not bound are spread over the interfaces that bound tasks do not use" {
    not_by_static_file "it does not have tf-addresses, which needs hwloc"
    bound none "0 1 0 1"
    bound mask_cpu:0x3,0x1 "1 0 1 0"
    bound mask_cpu:0x3,0x2 "0 1 0 1"
    run --separate-stderr slurm salloc -Q -N2 --exclusive srun -Q -O -n8 --cpu-bind=none --tf-tasks=worker:8 --tf-ib \
        "$task_check" --roles="$(yes worker | head -n 8 | paste -sd,)"
    all_ok "$output" 8 || fail "a task is not ok"
    on_rails "0 1 0 1 0 1 0 1"
}

@test "--tf-show prints both networks, and each rank's interface" {
    not_by_static_file "it does not have tf-addresses, which needs hwloc"
    run --separate-stderr slurm srun -Q -N2 --ntasks-per-node=2 --tf-tasks=chief,worker:3 --tf-ib --cpu-bind=map_cpu:1,0 \
        --tf-show "$task_check" --roles=chief,worker,worker,worker
    all_ok "$output" 4 || fail "a task is not ok"
    diff - <(cluster_table) <<END
spank_tf: step J.S: 4 tasks on 2 nodes, network 10.101.0.0/16 and 10.102.0.0/16 (InfiniBand)
  rank  role      node    address           interface
     0  chief 0   rails1  10.102.0.1:PORT ib1
     1  worker 0  rails1  10.101.0.1:PORT ib0
     2  worker 1  rails2  10.102.0.2:PORT ib1
     3  worker 2  rails2  10.101.0.2:PORT ib0
END
}

@test "when one node has only one of the two rails, the step uses the common one" {
    ip_on 2 link set ib0 down
    bound map_cpu:0,1 "1 1 1 1"
    ip_on 2 link set ib0 up
    ip_on 1 link del ib1
    bound map_cpu:0,1 "0 0 0 0"
}

@test "when no rail is common, all tasks use the default network" {
    ip_on 2 link set ib0 down
    pull_cable 1 ib1
    check_tasks 1,2 --tf-ib
    all_ok_on 10.98.0. 'not all nodes are on one InfiniBand network: rails2 (ib0 is down); using 10.98.0.0/16 (eth0)'
}

# Plugin: without it, tasks do not read libexecdir=.
# bats test_tags=plugin
@test "hwloc is called once on each node, and only if there is a choice" {
    record_calls
    bound map_cpu:0,1 "0 1 0 1"
    called "rails1: ib0 ib1" "rails2: ib0 ib1"
    bound none "0 1 0 1"
    called
    launch worker,worker -N2 --tf-tasks=worker:2
    launch worker,worker -N2 --tf-tasks=worker:2 --tf-network=ib1
    called
    ip_on 2 link set ib0 down
    bound map_cpu:0,1 "1 1 1 1"
    called "rails1: ib0 ib1"
    ip_on 1 link del ib0
    bound map_cpu:0,1 "1 1 1 1"
    called
}

# Plugin: without it, tasks do not read libexecdir=.
# bats test_tags=plugin
@test "without tf-addresses the launch succeeds, interfaces are used in order, and one message says so" {
    local line why

    programs
    for why in "No such file or directory" "Permission denied" "failed"; do
        case $why in
            Perm*) echo none > "$work/lib/tf-addresses" ;;
            failed) programs instead <<< $'#!/bin/sh\nexit 3' ;;
        esac
        line="rails1 and 1 more: $work/lib/tf-addresses"
        [ "$why" = failed ] && line+=" failed" || line+=": $why"
        run --separate-stderr slurm srun -Q -N2 --ntasks-per-node=2 --tf-tasks=worker:4 --tf-ib --cpu-bind=map_cpu:1,0 \
            "$task_check" --roles=worker,worker,worker,worker
        # shellcheck disable=SC2034  # for all_ok_on
        ranks=4
        all_ok_on 10.10 "$line; InfiniBand interfaces are assigned in the kernel's order, not by locality"
        on_rails "0 1 0 1"
    done
}

helpers_hang ()
{
    [ "$(pgrep -c -xu "$user" tf-addresses)" -eq 2 ]
}

# Plugin: without it, tasks do not read libexecdir=.
# bats test_tags=plugin
@test "a tf-addresses that hangs is abandoned, and ends with its step" {
    programs instead <<< $'#!/bin/sh\nread never < '"$work/nothing"
    mkfifo "$work/nothing"
    slurm srun -Q -N2 --ntasks-per-node=1 --cpu-bind=map_cpu:0 --tf-tasks=worker:2 --tf-ib touch started 3>&- &
    eventually 20 helpers_hang || fail "tf-addresses is not called"
    slurm scancel --user "$user"
    # Newer releases of Slurm wait for KillWait, 5 s, first.
    eventually 20 no_process_left || fail "a process is left: $(pgrep -a -u "$user")"
    wait $! || true
    [ ! -e "$work/started" ] || fail "a program was started"
    run --separate-stderr slurm srun -Q -N2 --ntasks-per-node=1 --cpu-bind=map_cpu:0 --tf-timeout=60 --tf-tasks=worker:2 --tf-ib "$task_check" --roles=worker,worker
    all_ok "$output" 2 || fail "a task is not ok"
    [ "$(srun_messages | tail -n 1)" = "srun: spank_tf: step J.S: rails1 and 1 more: $work/lib/tf-addresses failed; InfiniBand interfaces are assigned in the kernel's order, not by locality" ] || fail "no such message"
}
