#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes with two InfiniBand interfaces: a task has the one near to its CPUs. The tasks' hwloc
# believes (HWLOC_XMLFILE) that ib0 is on the socket of CPU 0, and ib1 on that of CPU 1.

load ../common
load launch
load fabric

setup ()
{
    { taskset -c 0 true && taskset -c 1 true; } 2> /dev/null || skip "this machine has no CPUs 0 and 1 to bind tasks to"
    prefix=rails
    # slurmd believes it as well, whatever the machine is like.
    export HWLOC_XMLFILE=$BATS_TEST_TMPDIR/topology.xml HWLOC_THISSYSTEM=1
    chmod 755 "$BATS_TEST_TMPDIR"
    cp "$tests/topology/two-cpus.xml" "$HWLOC_XMLFILE"
    start_fabric --prefix $prefix --rails 2 --nodes 2 --cpus 2 --conf TaskPlugin=task/affinity \
        --node-conf rails1:Sockets=2 --node-conf rails1:CoresPerSocket=1 \
        --node-conf rails2:Sockets=2 --node-conf rails2:CoresPerSocket=1
    work=$SPANK_TF_CLUSTER/work
}

teardown ()
{
    stop_fabric
}

# Of two ranks on each of the two nodes, bound as said, everyone is content and on its rail of
# ib0 and ib1: bound map_cpu:0,1 "0 1 0 1" [OPTIONS…]
bound ()
{
    launch worker,worker,worker,worker -N2 --ntasks-per-node=2 --tf-tasks=worker:4 --tf-ib --cpu-bind="$1" "${@:3}"
    on_rails "$2"
}

on_rails ()
{
    local rails

    rails=$(sort -n -k 3 <<< "$output" | sed -nE 's/^judge: .* 10\.10([12])\.0\.[0-9]+:[0-9]+ ok .*/\1/p' | tr 12 01 | paste -sd' ')
    [ "$rails" = "$1" ] || fail "the ranks are on rails $rails, not on $1"
}

# The programs of the plugin but tf-addresses, which is the program on stdin, if it is a file.
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

# Instead of tf-addresses, one that writes down who asked it for what.
listen ()
{
    : > "$work/asked"
    chmod 666 "$work/asked"
    programs instead <<END
#!/bin/sh
read -r node < /proc/sys/kernel/hostname
echo "\$node: \$*" >> $work/asked
exec $SPANK_TF_STAGE/libexec/spank-tf/tf-addresses "\$@"
END
}

# Nobody has asked it, or these and nobody else: asked [LINE…]
asked ()
{
    diff <(printf '%s' "${@/%/$'\n'}") <(sort "$work/asked") || fail "others have asked"
    : > "$work/asked"
}

@test "a task has the interface near to its CPUs, which follows the binding and not the rank" {
    bound map_cpu:0,1 "0 1 0 1"
    bound map_cpu:1,0 "1 0 1 0"
    bound mask_cpu:0x1,0x1 "0 0 0 0"
    bound sockets "0 1 0 1"
}

@test "tasks that are not bound are spread, and leave to the bound ones what they need" {
    bound none "0 1 0 1"
    bound mask_cpu:0x3,0x1 "1 0 1 0"
    bound mask_cpu:0x3,0x2 "0 1 0 1"
    run --separate-stderr slurm salloc -Q -N2 --exclusive srun -Q -O -n8 --cpu-bind=none --tf-tasks=worker:8 --tf-ib \
        "$judge" --roles="$(yes worker | head -n 8 | paste -sd,)"
    all_content "$output" 8 || fail "not every rank is content"
    on_rails "0 1 0 1 0 1 0 1"
}

@test "--tf-show tells both networks, and each rank's interface" {
    run --separate-stderr slurm srun -Q -N2 --ntasks-per-node=2 --tf-tasks=chief,worker:3 --tf-ib --cpu-bind=map_cpu:1,0 \
        --tf-show "$judge" --roles=chief,worker,worker,worker
    all_content "$output" 4 || fail "not every rank is content"
    diff - <(shown) <<END
spank_tf: step J.S: 4 tasks on 2 nodes, network 10.101.0.0/16 and 10.102.0.0/16 (InfiniBand)
  rank  role      node    address           interface
     0  chief 0   rails1  10.102.0.1:PORT ib1
     1  worker 0  rails1  10.101.0.1:PORT ib0
     2  worker 1  rails2  10.102.0.2:PORT ib1
     3  worker 2  rails2  10.101.0.2:PORT ib0
END
}

@test "when one node has one rail of the two, the step uses the one that is common" {
    ip_on 2 link set ib0 down
    bound map_cpu:0,1 "1 1 1 1"
    ip_on 2 link set ib0 up
    ip_on 1 link del ib1
    bound map_cpu:0,1 "0 0 0 0"
}

@test "when no rail is common, all use the default" {
    ip_on 2 link set ib0 down
    pull 1 ib1
    judges 1,2 --tf-ib
    content_on 10.98.0. 'not all nodes are on one InfiniBand network: rails2 (ib0 is down); using 10.98.0.0/16 (eth0)'
}

@test "the topology is asked for once on a node, and only where there is a choice" {
    listen
    bound map_cpu:0,1 "0 1 0 1"
    asked "rails1: ib0 ib1" "rails2: ib0 ib1"
    bound none "0 1 0 1"
    asked
    launch worker,worker -N2 --tf-tasks=worker:2
    launch worker,worker -N2 --tf-tasks=worker:2 --tf-network=ib1
    asked
    ip_on 2 link set ib0 down
    bound map_cpu:0,1 "1 1 1 1"
    asked "rails1: ib0 ib1"
    ip_on 1 link del ib0
    bound map_cpu:0,1 "1 1 1 1"
    asked
}

# From now on the kernel shows ib0 and ib1 of the N-th node on cards, near to those CPUs; an
# interface without CPUs is on none: cards N MASK [MASK]
cards ()
{
    "$tests/cluster" run --on "$(node "$1")" -- sh -c '
        mount -t tmpfs none /sys/class/net && cd /sys/class/net && mkdir -p ib0/device ib1/device
        echo "$1" > ib0/device/local_cpus
        [ -z "${2-}" ] || echo "$2" > ib1/device/local_cpus' cards "${@:2}"
}

@test "where the kernel tells of every card, nobody else is asked" {
    unset HWLOC_XMLFILE HWLOC_THISSYSTEM
    listen
    cards 1 1 2
    cards 2 00000000,00000002 00000000,00000001
    bound map_cpu:0,1 "0 1 1 0"
    bound map_cpu:1,0 "1 0 0 1"
    asked
    cards 2 2
    bound map_cpu:0,1 "0 1 0 1"
    asked "rails2: ib0 ib1"
}

@test "without tf-addresses the launch works, interfaces are taken in order, and one line says so" {
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
            "$judge" --roles=worker,worker,worker,worker
        ranks=4
        content_on 10.10 "$line; InfiniBand interfaces are taken in the kernel's order, not by nearness"
        on_rails "0 1 0 1"
    done
}

helpers_hang ()
{
    [ "$(pgrep -c -xu "$user" tf-addresses)" -eq 2 ]
}

@test "a tf-addresses that hangs is given up, and ends with its step" {
    programs instead <<< $'#!/bin/sh\nread never < '"$work/nothing"
    mkfifo "$work/nothing"
    slurm srun -Q -N2 --ntasks-per-node=1 --cpu-bind=map_cpu:0 --tf-tasks=worker:2 --tf-ib touch started 3>&- &
    eventually 20 helpers_hang || fail "nobody asks"
    slurm scancel --me
    eventually 5 no_process_left || fail "a process is left: $(pgrep -a -u "$user")"
    wait $! || true
    [ ! -e "$work/started" ] || fail "a program was started"
    run --separate-stderr slurm srun -Q -N2 --ntasks-per-node=1 --cpu-bind=map_cpu:0 --tf-timeout=60 --tf-tasks=worker:2 --tf-ib "$judge" --roles=worker,worker
    all_content "$output" 2 || fail "not every rank is content"
    [ "$(said | tail -n 1)" = "srun: spank_tf: step J.S: rails1 and 1 more: $work/lib/tf-addresses failed; InfiniBand interfaces are taken in the kernel's order, not by nearness" ] || fail "it does not say so"
}
