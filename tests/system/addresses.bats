#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Without options about networks, a rank's address is the one by which its node reaches srun,
# wherever srun runs.

# bats file_tags=core
load launch

roles=ps,worker,worker,worker

setup_file ()
{
    local cluster=$BATS_FILE_TMPDIR/cluster

    # As on Debian: a host resolves its own name to a loopback address.
    mkdir "$cluster"
    printf '%s\n' '127.0.0.1 localhost' '127.0.1.1 addr1' '10.98.0.2 addr2' '10.98.0.3 addr3' \
        '10.98.0.4 addr4' '10.98.255.254 login' > "$cluster/hosts.addr1"
    start_cluster --prefix addr
    # A configuration for srun in which a node's address is its name, as at most sites.
    sed -E 's/^(NodeName=([^ ]+) .*)NodeAddr=[^ ]+/\1NodeAddr=\2/' "$cluster/slurm.conf" > "$cluster/work/names.conf"
}

# Some tests start a cluster of their own.
before_test ()
{
    own_cluster=$BATS_TEST_TMPDIR/cluster
    chmod 755 "$BATS_TEST_TMPDIR"
}

after_test ()
{
    [[ ! -e $own_cluster ]] || "$tests/cluster" stop --dir "$own_cluster"
    nothing_left
}

# As `launch`, with srun on this node: launch_on NODE OPTION…
launch_on ()
{
    run --separate-stderr slurm_on "$1" env SLURM_CONF="$SPANK_TF_CLUSTER/work/names.conf" \
        srun -Q "${@:2}" --tf-tasks=ps,worker:3 sh -c 'echo "srun is $SLURM_SRUN_COMM_HOST"; exec "$@"' - \
        "$task_check" --roles="$roles" ${loopback:+"$loopback"}
    all_tasks_ok $roles
}

@test "srun on a node that resolves its own name to 127.0.1.1: the ranks there have an address that other nodes reach" {
    launch_on addr1 -N3 --exclusive -n4 -m cyclic
    ran_on 1 2 3 1
    [ "$(grep -c '^srun is 127.0.0.1$' <<< "$output")" -eq 2 ] || fail "no rank reached srun by loopback"
}

@test "srun on such a node, with no rank on it" {
    launch_on addr1 -w addr2,addr4 -N2 --ntasks-per-node=2
    ran_on 2 2 4 4
}

@test "srun on such a node, with all ranks on it: they may have loopback addresses" {
    loopback=--loopback-ok launch_on addr1 -w addr1 -n4
    ran_on 1 1 1 1
}

@test "srun on another node, with ranks on every node" {
    launch_on addr2 -N4
    ran_on 1 2 3 4
}

@test "srun on another node, with all ranks on it" {
    launch_on addr2 -w addr2 -n4
    ran_on 2 2 2 2
}

@test "a script's srun, on the first node of its job" {
    batch -w addr1,addr3 -N2 --ntasks-per-node=2 --tf-tasks=ps,worker:3 <<END
#!/bin/bash
export SLURM_CONF=$SPANK_TF_CLUSTER/work/names.conf
srun $task_check --roles=$roles
END
    all_tasks_ok $roles
    ran_on 1 1 3 3
}

@test "an address that every node has, as docker0 does, is not used" {
    local i

    for i in 1 2 3 4; do
        "$tests/cluster" run --on "addr$i" -- ip -batch - <<END
link add docker0 type bridge
addr add 172.17.0.1/16 dev docker0
link add veth1 up master docker0 type veth peer name veth2
link set veth2 up
link set docker0 up
END
    done
    launch $roles -N4 --tf-tasks=ps,worker:3
    [ "$(grep -cE ' 10\.98\.0\.[1-4]:' <<< "$output")" -eq 4 ] || fail "an address is docker0's"
}

@test "a node without IPv6, and one whose IPv6 sockets accept no IPv4" {
    "$tests/cluster" run --on addr2 -- sysctl -q net.ipv6.conf.all.disable_ipv6=1
    "$tests/cluster" run --on addr3 -- sysctl -q net.ipv6.bindv6only=1
    launch $roles -N4 --tf-tasks=ps,worker:3
}

@test "nodes that srun reaches by IPv6 have IPv6 addresses" {
    local i

    "$tests/cluster" start --dir "$own_cluster" --plugstack "$SPANK_TF_CLUSTER/plugstack.conf" \
        --nodes 2 --prefix six --conf CommunicationParameters=EnableIPv6
    local -x SPANK_TF_CLUSTER=$own_cluster
    "$tests/cluster" run -- ip addr add fd98::ffff/64 dev br0 nodad
    for i in 1 2; do
        "$tests/cluster" run --on "six$i" -- ip addr add "fd98::$i/64" dev eth0 nodad
    done
    sed 's/NodeAddr=10.98.0./NodeAddr=fd98::/' "$own_cluster/slurm.conf" > "$own_cluster/work/ipv6.conf"
    run --separate-stderr slurm env SLURM_CONF="$own_cluster/work/ipv6.conf" \
        srun -N2 --ntasks-per-node=2 --tf-tasks=ps,worker:3 "$task_check" --roles=$roles
    all_tasks_ok $roles
    [ "$(grep -cE ' \[fd98::[12]\]:' <<< "$output")" -eq 4 ] || fail "an address is not an IPv6 address"
}

# Run a step on a cluster in one network namespace, which COMMANDS set up: on_one_host COMMANDS
# OPTION…
on_one_host ()
{
    run --separate-stderr unshare --net bash -euc "
        $1
        trap '$tests/cluster stop --dir $own_cluster' EXIT
        $tests/cluster start --dir $own_cluster --flat --nodes 2 --plugstack $SPANK_TF_CLUSTER/plugstack.conf ${*:2}
        $tests/cluster run --dir $own_cluster --user $user -- srun -N2 --ntasks-per-node=2 \
            --tf-tasks=ps,worker:3 $task_check --roles=$roles --loopback-ok"
    all_tasks_ok $roles
}

@test "a machine that has only loopback runs a step" {
    # The C library resolves 127.0.0.1 there only if IPv6 addresses are requested, too.
    on_one_host "ip link set lo up" --conf CommunicationParameters=EnableIPv6
}

@test "a machine whose network is down runs a step" {
    on_one_host "ip link set lo up; ip link add eth0 type bridge; ip addr add 192.0.2.1/24 dev eth0"
}
