#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-ib: all tasks of a step use InfiniBand, or none does. The tests change the second node.

load launch
load fabric

before_test ()
{
    local cluster=$BATS_FILE_TMPDIR/cluster

    prefix=ibn
    # As on Debian: a host resolves its own name to a loopback address.
    mkdir -p "$cluster"
    printf '%s\n' '127.0.0.1 localhost' '127.0.1.1 ibn1' '10.98.255.254 login' > "$cluster/hosts.ibn1"
    start_cluster_or_skip --prefix $prefix --rails 1
}

after_test ()
{
    stop_fabric
}

# bats test_tags=core,release
@test "--tf-ib puts all tasks on InfiniBand, wherever srun runs; without it none is" {
    local option

    for option in --tf-ib --tf-ib=auto --tf-ib=require; do
        for srun_on in '' 1 2; do
            check_tasks 1,2,3,4 $option
            all_ok_on 10.101.0.
        done
    done
    srun_on=
    check_tasks 1,2,3,4
    all_ok_on 10.98.0.
    check_tasks 1,2,3,4 --tf-ib=no
    all_ok_on 10.98.0.
}

@test "an auxiliary task is on InfiniBand, too" {
    launch worker,+data,worker -N3 --tf-ib=require --tf-tasks=worker,+data,worker
    [ "$(grep -cE '^task-check: .* 10\.101\.0\.[0-9]+:[0-9]+ ok ' <<< "$output")" -eq 3 ] || fail "not all tasks are on InfiniBand"
}

# bats test_tags=core,release
@test "--tf-show says that the network is InfiniBand" {
    check_tasks 2,3 --tf-ib --tf-show
    diff - <(cluster_table) <<END
spank_tf: step J.S: 2 tasks on 2 nodes, network 10.101.0.0/16 (InfiniBand)
  rank  role      node  address
     0  worker 0  ibn2  10.101.0.2:PORT
     1  worker 1  ibn3  10.101.0.3:PORT
END
    all_ok "$output" 2 || fail "a task is not ok"
}

# Plugin: tf-check looks for it on each node.
# bats test_tags=core,plugin
@test "tf-check in a step names the node that is not on the InfiniBand network, and why" {
    ip_on 2 link set ib0 down
    srun_step 2,3 "$SPANK_TF_STAGE/bin/tf-check"
    [ "$status" -eq 0 ] || fail "it fails"
    [[ $output == *"ibn3: ok: ib0 (InfiniBand, 10.101.0.3/16) would be used with --tf-ib"* ]] || fail "ibn3 does not use it"
    [[ $output == *"ibn2: ok: ib0 (InfiniBand) would not be used: it is down"* ]] || fail "ibn2 does not say why"
}

# --- a node without usable InfiniBand

# Require that steps with the second node use Ethernet, and that --tf-ib=require refuses them, for this REASON, with
# srun elsewhere and on that node: falls_back REASON. unit/network.golden has each other reason and each place.
falls_back ()
{
    local why="not all nodes are on one InfiniBand network: ibn2 ($1)"

    for srun_on in '' 2; do
        check_tasks 1,2,3 --tf-ib
        all_ok_on 10.98.0. "$why; using 10.98.0.0/16 (eth0)"
        refused 1,2,3 "--tf-ib=require: $why" --tf-ib=require
    done
    srun_on=
    check_tasks 1,3,4 --tf-ib=require
    all_ok_on 10.101.0.
}

@test "a node without InfiniBand" {
    ip_on 2 link del ib0
    falls_back "no InfiniBand interface"
}

# bats test_tags=core,release
@test "a node whose interface is down" {
    ip_on 2 link set ib0 down
    falls_back "ib0 is down"
}

@test "a node whose cable is pulled, while its address is still assigned" {
    pull_cable 2 ib0
    falls_back "ib0 has no carrier"
}

@test "a node whose InfiniBand interface has no address" {
    ip_on 2 addr flush dev ib0
    falls_back "ib0 has no address"
}

# bats test_tags=core,release
@test "an interface is InfiniBand by its link type, whatever its name" {
    ip_on 2 -batch - <<END
link del ib0
link add ib0 type veth peer name ib1
addr add 10.101.0.2/16 dev ib0
link set ib0 up
link set ib1 up
END
    eventually 10 running 2 ib0
    falls_back "no InfiniBand interface"
}

@test "a step on srun's own node, whose name resolves to loopback, uses InfiniBand, otherwise loopback" {
    sed -E 's/^(NodeName=([^ ]+) .*)NodeAddr=[^ ]+/\1NodeAddr=\2/' "$SPANK_TF_CLUSTER/slurm.conf" > "$SPANK_TF_CLUSTER/work/names.conf"
    # shellcheck disable=SC2034  # for check_tasks
    srun_on=1 conf=$SPANK_TF_CLUSTER/work/names.conf loopback=--loopback-ok
    check_tasks 1 --tf-ib
    all_ok_on 10.101.0.1:
    ip_on 1 link set ib0 down
    check_tasks 1 --tf-ib
    all_ok_on 127.0. 'not all nodes are on one InfiniBand network: ibn1 (ib0 is down); using the address that reaches srun'
}

# --- nodes that differ, and networks that change

# --- IPv6

# bats test_tags=core,release
@test "InfiniBand with IPv6 addresses only" {
    local i

    for i in 1 2 3 4; do
        set_address $i ib0 fd01::$i/64 nodad
    done
    check_tasks 1,2,3,4 --tf-ib=require
    all_ok_on '[fd01::'
}

# Restart Slurm with IPv6 only, on hosts without IPv4 addresses.
without_ipv4 ()
{
    local host i
    local -a hosts pids

    mapfile -t hosts < "$SPANK_TF_CLUSTER/nodes"
    mapfile -t pids < <(cat "$SPANK_TF_CLUSTER"/*.pid)
    kill "${pids[@]}"
    eventually 20 gone "${pids[@]}"
    sed -i 's/10\.98\.255\.254/fd98::ffff/; s/10\.98\.0\./fd98::/
        s/^ClusterName=.*/&\nCommunicationParameters=EnableIPv6,DisableIPv4/' "$SPANK_TF_CLUSTER/slurm.conf"
    "$tests/cluster" run -- ip addr add fd98::ffff/64 dev br0 nodad
    for i in 1 2 3 4; do
        ip_on $i addr add fd98::$i/64 dev eth0 nodad
        ip_on $i addr add fd01::$i/64 dev ib0 nodad
    done
    for host in login "${hosts[@]}"; do
        "$tests/cluster" run --on "$host" -- ip -4 addr flush scope global
        "$tests/cluster" run --on "$host" -- ip -4 addr flush dev lo
    done
    "$tests/cluster" run -- slurmctld
    for host in "${hosts[@]}"; do
        "$tests/cluster" run --on "$host" -- slurmd -N "$host"
    done
    eventually 30 all_nodes_idle
}

gone ()
{
    ! kill -0 "$@" 2> /dev/null
}

@test "a cluster without IPv4" {
    without_ipv4
    check_tasks 1,2,3,4
    all_ok_on '[fd98::'
    check_tasks 1,2,3,4 --tf-ib=require
    all_ok_on '[fd01::'
    srun_on=2 check_tasks 1,2,3,4 --tf-ib
    all_ok_on '[fd01::'
    ip_on 2 link set ib0 down
    check_tasks 1,2,3,4 --tf-ib
    all_ok_on '[fd98::' 'not all nodes are on one InfiniBand network: ibn2 (ib0 is down); using fd98::/64 (eth0)'
}

# --- components and jobs

# Run a step of two components, each with its own options: components "--tf-ib" ""
components ()
{
    ranks=3
    # shellcheck disable=SC2086
    run --separate-stderr slurm srun -Q -w ibn1 -n1 --tf-tasks=chief $1 "$task_check" --roles=chief,worker,worker : \
        -w ibn2,ibn3 -n2 --tf-tasks=worker:2 $2 "$task_check" --roles=chief,worker,worker
}

@test "a heterogeneous step uses InfiniBand as a whole, by an option on any component" {
    components --tf-ib ""
    all_ok_on 10.101.0.
    components "" --tf-ib=require
    all_ok_on 10.101.0.
    ip_on 2 link set ib0 down
    components --tf-ib=auto --tf-ib
    all_ok_on 10.98.0. 'not all nodes are on one InfiniBand network: ibn2 (ib0 is down); using 10.98.0.0/16 (eth0)'
}

@test "#SBATCH hetjob: --tf-ib on the first component is for the whole step" {
    batch <<END
#!/bin/bash
#SBATCH -w ibn1 -n1 --tf-tasks=chief,worker:2 --tf-ib=require
#SBATCH hetjob
#SBATCH -w ibn2,ibn3 -n2
srun -Q --het-group=0,1 $task_check --roles=chief,worker,worker
END
    ranks=3
    all_ok_on 10.101.0.
}

@test "components that contradict each other are refused" {
    components --tf-ib --tf-ib=require
    [ "$status" -ne 0 ] && [ -z "$output" ] || fail "not refused"
    [ "$(lines_of_spank_tf <<< "$stderr")" = 'srun: error: spank_tf: --tf-ib: "auto" on component 0, but "require" on component 1; a step has only one value' ] || fail "another message"
}

# Require that successive steps of two ranks used these networks: steps_on 10.101. 10.98.
steps_on ()
{
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a task is not ok"
    diff <(for network in "$@"; do printf '%s\n' "$network" "$network"; done) \
        <(sed -nE 's/.* (10\.[0-9]+\.)[^ ]* ok .*/\1/p' <<< "$output") || fail "the steps used other networks"
}

# bats test_tags=core,release
@test "#SBATCH --tf-ib is inherited by every srun of the script, which can override it" {
    local option

    for option in --tf-ib --tf-ib=auto --tf-ib=require; do
        batch -w ibn1,ibn2 -n2 <<END
#!/bin/bash
#SBATCH --tf-tasks=worker:2
#SBATCH $option
srun -Q $task_check --roles=worker,worker
srun -Q --export=NONE $task_check --roles=worker,worker
srun -Q --tf-ib=no $task_check --roles=worker,worker
srun -Q --tf-ib $task_check --roles=worker,worker
END
        steps_on 10.101. 10.101. 10.98. 10.101.
    done
    batch -w ibn1,ibn2 -n2 --tf-tasks=worker:2 --tf-ib <<< "#!/bin/bash
srun -Q $task_check --roles=worker,worker"
    steps_on 10.101.
}

# Plugin: it is about variables of SPANK.
# bats test_tags=plugin
@test "an inherited --tf-ib without a value means auto, however Slurm passes it on" {
    local words

    ip_on 2 link set ib0 down
    for words in '' '(null)' auto; do
        run --separate-stderr slurm env SLURM_SPANK__SLURM_SPANK_OPTION_spank_tf_tf_ib="$words" \
            srun -Q -w ibn1,ibn3 -n2 --tf-tasks=worker:2 "$task_check" --roles=worker,worker
        steps_on 10.101.
        # shellcheck disable=SC2034  # for all_ok_on
        ranks=2
        run --separate-stderr slurm env SLURM_SPANK__SLURM_SPANK_OPTION_spank_tf_tf_ib="$words" \
            srun -Q -w ibn1,ibn2 -n2 --tf-tasks=worker:2 "$task_check" --roles=worker,worker
        all_ok_on 10.98.0. 'not all nodes are on one InfiniBand network: ibn2 (ib0 is down); using 10.98.0.0/16 (eth0)'
    done
}

@test "salloc --tf-ib is inherited by every srun, which can override it" {
    run --separate-stderr slurm salloc -Q -w ibn1,ibn2 -n2 --tf-tasks=worker:2 --tf-ib bash -ec "
        srun -Q $task_check --roles=worker,worker
        srun -Q --tf-ib=no $task_check --roles=worker,worker
        srun -Q --tf-ib=require $task_check --roles=worker,worker"
    steps_on 10.101. 10.98. 10.101.
}

@test "a job whose step was refused by --tf-ib=require can run its next step without" {
    ip_on 2 link set ib0 down
    batch -w ibn1,ibn2 -n2 --tf-tasks=worker:2 --tf-ib=require <<END
#!/bin/bash
srun -Q touch started
srun -Q --tf-ib=no $task_check --roles=worker,worker
END
    [ "$(srun_messages)" = 'srun: error: spank_tf: step J.S: --tf-ib=require: not all nodes are on one InfiniBand network: ibn2 (ib0 is down)' ] || fail "another message"
    stderr='' steps_on 10.98.
    [ ! -e "$SPANK_TF_CLUSTER/work/started" ] || fail "a program was started"
}
