#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-network: every task uses the network that the user names, or the step is refused; and the
# site's defaults, network= and ib=. Every node is on Ethernet and on two InfiniBand networks. The
# tests change the second node.

load launch
load fabric

before_test ()
{
    prefix=nets
    start_cluster_or_skip --prefix $prefix --rails 2 --nodes 3
}

after_test ()
{
    stop_fabric
}

# --- the user's option

# bats test_tags=core
@test "--tf-network=CIDR: the network of every address" {
    local i

    for i in 1 2 3; do
        ip_on $i addr add fd01::$i/64 dev ib0 nodad
    done
    check_tasks 1,2,3 --tf-network=10.102.0.0/16
    all_ok_on 10.102.0.
    check_tasks 1,2,3 --tf-network=10.98.7.7/16
    all_ok_on 10.98.0.
    check_tasks 1,2,3 --tf-network=10.101.0.0/24
    all_ok_on 10.101.0.
    check_tasks 1,2,3 --tf-network=fd01::/64
    all_ok_on '[fd01::'
}

@test "--tf-network=INTERFACE: every address is of the interface of that name" {
    check_tasks 1,2,3 --tf-network=ib1
    all_ok_on 10.102.0.
    check_tasks 1,2,3 --tf-network=eth0
    all_ok_on 10.98.0.
    # An interface with different names on the nodes is given by its prefix.
    rename_interface 2 ib0 ibp3s0
    refused 1,2,3 '--tf-network: not all nodes are on ib0: nets2 (no such interface); all nodes are on 10.98.0.0/16 (eth0), 10.101.0.0/16, 10.102.0.0/16 (ib1)' --tf-network=ib0
    check_tasks 1,2,3 --tf-network=10.101.0.0/16
    all_ok_on 10.101.0.
}

# bats test_tags=core
@test "--tf-network=LIST: the first network that every node is on" {
    check_tasks 1,2,3 --tf-network=10.77.0.0/16,ib1,10.101.0.0/16
    all_ok_on 10.102.0.
    ip_on 2 link set ib1 down
    check_tasks 1,2,3 --tf-network=10.77.0.0/16,ib1,10.101.0.0/16
    all_ok_on 10.101.0.
    check_tasks 1,3 --tf-network=10.77.0.0/16,ib1,10.101.0.0/16
    all_ok_on 10.102.0.
}

# bats test_tags=core
# As hsn0 of a fabric with routers.
# bats test_tags=core
@test "an interface may have a network of its own on each node, with routes between them" {
    local i j

    for i in 1 2 3; do
        ip_on $i link add hsn0 type veth peer name hsn0peer
        ip_on $i link set hsn0peer up
        ip_on $i link set hsn0 up
        ip_on $i addr add 10.50.0.$i/32 dev hsn0
        for j in 1 2 3; do
            ((i == j)) || ip_on $i route add 10.50.0.$j/32 via 10.98.0.$j dev eth0 src 10.50.0.$i
        done
    done
    check_tasks 1,2,3 --tf-network=hsn0 --tf-show
    all_ok "$output" 3 || fail "a task is not ok"
    diff - <(cluster_table) <<END
spank_tf: step J.S: 3 tasks on 3 nodes, network hsn0
  rank  role      node   address
     0  worker 0  nets1  10.50.0.1:PORT
     1  worker 1  nets2  10.50.0.2:PORT
     2  worker 2  nets3  10.50.0.3:PORT
END
    # Where a node has it on a network with others, it is no such interface.
    ip_on 3 addr del 10.50.0.3/32 dev hsn0
    ip_on 3 addr add 10.51.0.3/24 dev hsn0
    refused 1,2,3 '--tf-network: not all nodes are on hsn0: nets3 (hsn0 is on 10.51.0.0/24)' --tf-network=hsn0
}

@test "a node that is not on the network is named with the reason, and no program is started" {
    refused 1,2,3 '--tf-network: not all nodes are on 10.77.0.0/16: nets1 (no address there), nets2 (no address there), nets3 (no address there); all nodes are on 10.98.0.0/16 (eth0), 10.101.0.0/16 (ib0), 10.102.0.0/16 (ib1)' --tf-network=10.77.0.0/16
    refused 1,2,3 '--tf-network: not all nodes are on lo: nets1 (no such interface), nets2 (no such interface), nets3 (no such interface)' --tf-network=lo
    ip_on 2 link set ib1 down
    refused 1,2,3 '--tf-network: not all nodes are on ib1: nets2 (ib1 is down)' --tf-network=ib1
    # shellcheck disable=SC2034  # for refused
    srun_on=2
    pull_cable 3 ib0
    refused 2,3 '--tf-network: not all nodes are on ib0: nets3 (ib0 has no carrier)' --tf-network=ib0
}

@test "together with --tf-ib, the network selects among the InfiniBand interfaces" {
    check_tasks 1,2,3 --tf-ib --tf-network=10.102.0.0/16
    all_ok_on 10.102.0.
    ip_on 2 link set ib1 down
    refused 1,2,3 '--tf-network: not all nodes are on ib1: nets2 (ib1 is down); all nodes are on 10.98.0.0/16 (eth0), 10.101.0.0/16 (ib0)' --tf-ib --tf-network=ib1
    check_tasks 1,2,3 --tf-ib --tf-network=ib1,eth0
    all_ok_on 10.98.0. 'not all nodes are on one InfiniBand network of ib1 or eth0: nets2 (ib1 is down); using 10.98.0.0/16 (eth0)'
}

# Add the bridge of a container engine, with the same address on every node, and one container.
add_docker0 ()
{
    ip_on "$1" -batch - <<END
link add docker0 type bridge forward_delay 0
addr add 172.17.0.1/16 dev docker0
link add veth1 up master docker0 type veth peer name veth2
link set veth2 up
link set docker0 up
END
    eventually 10 running "$1" docker0
}

# bats test_tags=core
@test "docker0, which has the same address on every node, is never used" {
    local i why='(docker0 is on 172.17.0.0/16, where two nodes have the same address)' option

    for i in 1 2 3; do
        add_docker0 $i
    done
    for option in '' --tf-ib=auto --tf-network=any --tf-network=docker0,eth0 --tf-network=172.16.0.0/12,10.98.0.0/16; do
        check_tasks 1,2,3 $option
        ! grep -qF ' 172.17.' <<< "$output" && all_ok "$output" 3 || fail "$option: an address is docker0's"
    done
    refused 1,2,3 "--tf-network: not all nodes are on docker0: nets1 $why, nets2 $why, nets3 $why; all nodes are on 10.98.0.0/16 (eth0), 10.101.0.0/16 (ib0), 10.102.0.0/16 (ib1)" --tf-network=docker0
    # It is usable within one node.
    check_tasks 2 --tf-network=docker0
    all_ok_on 172.17.0.1:
}

@test "a job's network is inherited by every srun of the script, which can override it" {
    batch -w nets1,nets2 -n2 <<END
#!/bin/bash
#SBATCH --tf-tasks=worker:2 --tf-network=ib1
srun -Q $task_check --roles=worker,worker
srun -Q --tf-network=any $task_check --roles=worker,worker
srun -Q --tf-network=10.101.0.0/16 $task_check --roles=worker,worker
srun -Q --tf-network=10.77.0.0/16 touch started
END
    ranks=2
    [ "$(srun_messages)" = 'srun: error: spank_tf: step J.S: --tf-network: not all nodes are on 10.77.0.0/16: nets1 (no address there), nets2 (no address there); all nodes are on 10.98.0.0/16 (eth0), 10.101.0.0/16 (ib0), 10.102.0.0/16 (ib1)' ] || fail "another message"
    [ ! -e "$SPANK_TF_CLUSTER/work/started" ] || fail "a program was started"
    diff <(printf '%s\n' 102 102 98 98 101 101) <(sed -nE 's/.* 10\.([0-9]+)\..* ok .*/\1/p' <<< "$output") || fail "the steps used other networks"
}

@test "all components of a step have one network" {
    run --separate-stderr slurm srun -Q -w nets1 -n1 --tf-tasks=chief "$task_check" --roles=chief,worker,worker : \
        -w nets2,nets3 -n2 --tf-tasks=worker:2 --tf-network=ib1 "$task_check" --roles=chief,worker,worker
    # shellcheck disable=SC2034  # for all_ok_on
    ranks=3
    all_ok_on 10.102.0.
    run slurm srun -Q -w nets1 -n1 --tf-tasks=chief --tf-network=ib0 touch started : \
        -w nets2 -n1 --tf-tasks=worker --tf-network=ib1 touch started
    [ "$status" -ne 0 ] && [ ! -e "$SPANK_TF_CLUSTER/work/started" ] || fail "not refused"
    [ "$(lines_of_spank_tf <<< "$output")" = 'srun: error: spank_tf: --tf-network: "ib0" on component 0, but "ib1" on component 1; a step has only one value' ] || fail "another message"
}

# --- invalid values

# Require that a command fails with this code and this message of the plugin: fails CODE MESSAGE
# COMMAND…
fails ()
{
    run --separate-stderr slurm "${@:3}"
    [ "$status" -eq "$1" ] && [ -z "$output" ] || fail "not refused, or another exit code: ${*:3}"
    [ "$(lines_of_spank_tf <<< "$stderr")" = "$3: error: spank_tf: $2" ] || fail "the message is not: $2"
}

# Require that srun, salloc, sbatch and #SBATCH refuse an option: bad OPTION MESSAGE
bad ()
{
    printf '#!/bin/sh\n#SBATCH --tf-tasks=worker:2\ntouch started\n' > "$SPANK_TF_CLUSTER/work/script"
    if [[ ${SPANK_TF_BY_RUN-} ]]; then
        fails 1 "$2" srun -n2 --tf-tasks=worker:2 "$1" touch started
        return
    fi
    fails 255 "$2" srun -n2 --tf-tasks=worker:2 "$1" touch started
    fails 255 "$2" salloc -n2 --tf-tasks=worker:2 "$1" touch started
    fails 255 "$2" sbatch "$1" script
    sed -i "2a #SBATCH $1" "$SPANK_TF_CLUSTER/work/script"
    fails 255 "$2" sbatch script
}

@test "an invalid network or mode is refused at once, and the message says what is valid" {
    local why='is neither a network, as in 10.1.0.0/16, nor the name of an interface'

    bad --tf-ib=maybe '--tf-ib: "maybe" is not one of auto, require, no'
    # unit/parse.golden has the others.
    bad --tf-network=10.1.0.0 '--tf-network: "10.1.0.0" is an address; a network has a prefix length, as in 10.1.0.0/16'
    bad --tf-network=ib0,10.1.0.0/33 "--tf-network: \"10.1.0.0/33\" $why"
    bad --tf-network= '--tf-network: a network is missing; a network is CIDR, as in 10.1.0.0/16, or the name of an interface'
    bad --tf-network=$'ib\e[2J' "--tf-network: \"ib\\x1b[2J\" $why"
}

# --- the site's defaults

@test "ib=auto: InfiniBand if every node has it, unless the user says no" {
    site_arguments ib=auto
    check_tasks 1,2,3
    all_ok_on 10.101.0.
    check_tasks 1,2,3 --tf-ib=no
    all_ok_on 10.98.0.
    ip_on 2 link set ib0 down
    ip_on 2 link set ib1 down
    check_tasks 1,2,3
    all_ok_on 10.98.0. 'not all nodes are on one InfiniBand network: nets2 (ib0 is down); using 10.98.0.0/16 (eth0)'
    refused 1,2,3 '--tf-ib=require: not all nodes are on one InfiniBand network: nets2 (ib0 is down)' --tf-ib=require
    check_tasks 1,2,3 --tf-ib=no
    all_ok_on 10.98.0.
}

# bats test_tags=core
@test "network= is a preference, which --tf-network overrides" {
    site_arguments network=10.77.0.0/16,ib1,10.101.0.0/16
    check_tasks 1,2,3
    all_ok_on 10.102.0.
    check_tasks 1,2,3 --tf-network=any
    all_ok_on 10.98.0.
    check_tasks 1,2,3 --tf-network=10.101.0.0/16
    all_ok_on 10.101.0.
    ip_on 2 link del ib1
    check_tasks 1,2,3
    all_ok_on 10.101.0.
    refused 1,2,3 '--tf-network: not all nodes are on ib1: nets2 (no such interface); all nodes are on 10.98.0.0/16 (eth0), 10.101.0.0/16 (ib0)' --tf-network=ib1
    ip_on 2 link set ib0 down
    check_tasks 1,2,3
    all_ok_on 10.98.0. 'not all nodes are on 10.77.0.0/16 or ib1 or 10.101.0.0/16: nets2 (no such interface); using 10.98.0.0/16 (eth0)'
    check_tasks 1,2,3 --tf-network=any
    all_ok_on 10.98.0.
}

# Plugin: it is about plugstack.conf.
# bats test_tags=plugin
@test "an invalid ib= or network= is reported to jobs that use the plugin, and in slurmd's log" {
    local log=$SPANK_TF_CLUSTER/log/nets3.log pid
    site_arguments ib=maybe
    fails 1 'plugstack.conf: ib: "maybe" is not one of auto, require, no' srun -n1 --tf-tasks=worker touch started
    run slurm srun -n1 echo runs
    [ "$status" -eq 0 ] && [ "$output" = runs ] || fail "a plain step is affected"
    site_arguments network=10.1.0.0
    fails 1 'plugstack.conf: network: "10.1.0.0" is an address; a network has a prefix length, as in 10.1.0.0/16' \
        srun -n1 --tf-tasks=worker touch started
    pid=$(< "$SPANK_TF_CLUSTER/nets3.pid")
    kill "$pid"
    eventually 10 gone "$pid"
    "$tests/cluster" run --on nets3 slurmd -N nets3
    eventually 10 grep -q 'error: spank_tf: plugstack.conf: network: "10.1.0.0" is an address; ' "$log" || fail "no such message: $(tail "$log")"
    eventually 10 all_nodes_idle
}

gone ()
{
    ! kill -0 "$1" 2> /dev/null
}
