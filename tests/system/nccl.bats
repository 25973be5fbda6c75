#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# NCCL and Gloo use the network that --tf-ib or --tf-network has chosen, unless the user or the site
# has set something else. The second node has other names for its interfaces.

load launch
load fabric

before_test ()
{
    prefix=nccl
    start_cluster_or_skip --prefix $prefix --rails 2 --nodes 3
    rename_interface 2 ib0 ibp3s0
    work=$SPANK_TF_CLUSTER/work
    # A step prints a line for each task: its node, its interface, and what NCCL and Gloo read.
    cat > "$work/variables" <<'END'
added=$(echo "${SLURM_TF_ADDED-}" | tr , '\n' | sed "s/:.*//" | grep -E '^(NCCL|GLOO)_' | paste -sd,)
echo "${SLURMD_NODENAME#nccl} ${SLURM_TF_INTERFACE-none} ${NCCL_SOCKET_IFNAME-none} ${GLOO_SOCKET_IFNAME-none} ${added:-none}"
END
}

after_test ()
{
    stop_fabric
}

# Run a step on all nodes with these options, and require these lines: variables OPTION… < LINES
variables ()
{
    local expected

    expected=$(cat)
    srun_step 1,2,3 "$@" sh variables < /dev/null
    [ "$status" -eq 0 ] || fail "the step fails"
    diff - <(sort <<< "$output") <<< "$expected" || fail "other variables"
}

both=NCCL_SOCKET_IFNAME,GLOO_SOCKET_IFNAME

# bats test_tags=core,release
@test "with --tf-ib and --tf-network NCCL and Gloo use each task's own interface, otherwise nothing is set without torch" {
    local option

    for option in --tf-ib --tf-ib=require --tf-network=10.101.0.0/16; do
        variables $option <<END
1 ib0 ib0 ib0 $both
2 ibp3s0 ibp3s0 ibp3s0 $both
3 ib0 ib0 ib0 $both
END
    done
    for option in --tf-timeout=60 --tf-ib=no --tf-show; do
        variables $option --tf-frameworks=tf,keras,jax <<END
1 eth0 none none none
2 eth0 none none none
3 eth0 none none none
END
    done
    variables --tf-network=eth0 <<END
1 eth0 eth0 eth0 $both
2 eth0 eth0 eth0 $both
3 eth0 eth0 eth0 $both
END
}

# bats test_tags=core
@test "where the name of another interface begins with the name, NCCL gets the name behind a =" {
    ip_on 2 link add ibp3s01 type bridge
    variables --tf-ib <<END
1 ib0 ib0 ib0 $both
2 ibp3s0 =ibp3s0 ibp3s0 $both
3 ib0 ib0 ib0 $both
END
}

# bats test_tags=core,release
@test "with torch, as by default, Gloo uses the interface in every step of several nodes, and NCCL chooses by itself" {
    local option

    for option in --tf-frameworks=torch --tf-frameworks=auto; do
        variables $option <<END
1 eth0 none eth0 GLOO_SOCKET_IFNAME
2 eth0 none eth0 GLOO_SOCKET_IFNAME
3 eth0 none eth0 GLOO_SOCKET_IFNAME
END
    done
    run --separate-stderr slurm srun -Q -N1 -w nccl1 -n2 --tf-tasks=worker:2 --tf-frameworks=torch sh variables
    [ "$(sort -u <<< "$output")" = "1 eth0 none none none" ] || fail "also on one node"
}

# bats test_tags=core
@test "each task on a node with two rails has its own" {
    run --separate-stderr slurm srun -Q -N1 -w nccl2 -n2 --tf-tasks=worker:2 --tf-ib sh variables
    diff - <(sort <<< "$output") <<END || fail "other variables"
2 ib1 ib1 ib1 $both
2 ibp3s0 ibp3s0 ibp3s0 $both
END
}

@test "when --tf-ib falls back to the default address, NCCL chooses by itself" {
    ip_on 2 link set ibp3s0 down
    ip_on 2 link set ib1 down
    variables --tf-ib <<END
1 eth0 none eth0 GLOO_SOCKET_IFNAME
2 eth0 none eth0 GLOO_SOCKET_IFNAME
3 eth0 none eth0 GLOO_SOCKET_IFNAME
END
}

# bats test_tags=core
@test "what the user has set stays" {
    export NCCL_SOCKET_IFNAME=^docker0 GLOO_SOCKET_IFNAME=
    variables --tf-ib <<END
1 ib0 ^docker0  none
2 ibp3s0 ^docker0  none
3 ib0 ^docker0  none
END
}

# bats test_tags=core
@test "nccl=no: NCCL chooses by itself, and the interface is named all the same" {
    site_arguments nccl=no
    variables --tf-ib <<END
1 ib0 none none none
2 ibp3s0 none none none
3 ib0 none none none
END
    site_arguments nccl=yes ib=auto
    variables <<END
1 ib0 ib0 ib0 $both
2 ibp3s0 ibp3s0 ibp3s0 $both
3 ib0 ib0 ib0 $both
END
}

@test "in a step that a task starts, what the outer step has set is not the user's" {
    cat > "$work/inner" <<'END'
[ "$SLURM_PROCID" -eq 0 ] || exit 0
srun -Q --overlap -w nccl2,nccl3 -N2 -n2 --tf-tasks=worker:2 sh variables
echo
export GLOO_SOCKET_IFNAME=mine
srun -Q --overlap -w nccl2,nccl3 -N2 -n2 --tf-tasks=worker:2 --tf-network=10.101.0.0/16 sh variables | sort
END
    NCCL_SOCKET_IFNAME=users srun_step 1,2,3 --overlap --tf-ib sh inner
    [ "$status" -eq 0 ] || fail "the step fails"
    diff - <(sed '/^$/q' <<< "$output" | sort) <<END || fail "without --tf-network"

2 eth0 users eth0 GLOO_SOCKET_IFNAME
3 eth0 users eth0 GLOO_SOCKET_IFNAME
END
    diff - <(sed '1,/^$/d' <<< "$output") <<END || fail "with --tf-network"
2 ibp3s0 users mine none
3 ib0 users mine none
END
}
