#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Where a task's environment has an HTTP proxy, no_proxy and no_grpc_proxy exempt the cluster's
# hosts. tensorflow/proxy.bats shows that TensorFlow obeys them.

# bats file_tags=core
load launch

setup_file ()
{
    start_cluster --nodes 2
    # A ps exits by itself here, and must not be stopped before it has printed everything.
    site_arguments stop=never
    cat > "$SPANK_TF_CLUSTER/work/proxies" <<'END'
env | sed -nE 's/^(no_grpc_proxy|no_proxy|NO_PROXY|[a-z]+_proxy|[A-Z]+_PROXY)=/'"$SLURM_PROCID"' &/p' | LC_ALL=C sort
END
}

# Run three ranks on two nodes with these variables; $hosts is the nodes' addresses.
proxies ()
{
    local list=$1

    shift
    run --separate-stderr slurm env "$@" srun -Q -w "$(node 1),$(node 2)" -N2 -n3 --tf-tasks="$list" sh proxies
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "srun"
    output=$(LC_ALL=C sort <<< "$output")
    hosts=$(sed -nE "s/^(10[0-9.]+) ($(node 1)|$(node 2))$/\1/p" "$SPANK_TF_CLUSTER/hosts" | paste -sd,)
}

# Require that each of the three ranks has these variables and no others: each_has NAME=VALUE…
each_has ()
{
    local rank

    diff <(for rank in 0 1 2; do printf "$rank %s\n" "$@" | LC_ALL=C sort; done) - <<< "$output" || fail "other variables"
}

@test "both variables exempt the hosts" {
    proxies ps,worker:2 http_proxy=http://proxy:3128
    [[ $hosts == 10.*,10.* ]]
    each_has http_proxy=http://proxy:3128 no_grpc_proxy="$hosts" no_proxy="$hosts"
}

@test "without a proxy the variables do not change" {
    proxies ps,worker:2
    [ -z "$output" ] || fail "something is set"
    proxies ps,worker:2 no_proxy=localhost http_proxy=
    each_has http_proxy= no_proxy=localhost
}

@test "a plain step does not change" {
    proxies none http_proxy=http://proxy:3128 no_proxy=localhost
    each_has http_proxy=http://proxy:3128 no_proxy=localhost
}

# As where a profile on the compute nodes sets it.
@test "where one rank has a proxy, only its variables change" {
    run --separate-stderr slurm timeout 60 srun -Q -n1 --export=ALL --tf-tasks=ps sh proxies : -n1 \
        --export=ALL,https_proxy=http://proxy:3128 --tf-tasks=worker sh proxies
    [ "$status" -eq 0 ] || fail "srun"
    [ "$(grep -c '^1 no_grpc_proxy=10' <<< "$output")" -eq 1 ] || fail "its variables do not change"
    [ "$(grep -vc '^1 ' <<< "$output")" -eq 0 ] || fail "another rank's variables change"
}
