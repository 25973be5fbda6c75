# SPDX-License-Identifier: GPL-2.0-or-later
#
# TensorFlow's workers send their data over InfiniBand with --tf-ib, and over Ethernet without,
# as the byte counters of the interfaces show.

load ../common
load versions
load ../system/fabric

# In an all-reduce of three workers each sends two thirds of the data twice. Slurm's own
# messages, always over Ethernet, are a few thousand bytes.
megabytes=32
much=$((megabytes * 1000000))
little=$((much / 32))

before_test ()
{
    start_cluster_or_skip --rails 1 --nodes 3
    cp "$tests"/../contrib/examples/{multiworker,spank_tf_watchdog}.py "$SPANK_TF_CLUSTER/work"
}

after_test ()
{
    stop_fabric
}

# The bytes that the N-th node has sent over an interface: sent N ib0
sent ()
{
    "$tests/cluster" run --on "$(node "$1")" -- cat "/sys/class/net/$2/statistics/tx_bytes"
}

# Run an all-reduce, and require that every node sends its data over the first interface and not
# over the second: reduces VERSION ib0 eth0 OPTION…
reduces ()
{
    local python i busy still
    local -a before

    python=$(python "$1")
    for i in 1 2 3; do
        before[i]="$(sent $i "$2") $(sent $i "$3")"
    done
    run slurm env HOME="$SPANK_TF_CLUSTER/work" \
        srun -N3 --tf-tasks=worker:3 "${@:4}" "$python" multiworker.py --megabytes=$megabytes
    [ "$status" -eq 0 ] && [ "$(grep -c '^multiworker: replica [0-2] of 3: .* ok' <<< "$output")" -eq 3 ] || fail "the sums are wrong"
    for i in 1 2 3; do
        read -r busy still <<< "${before[i]}"
        busy=$(($(sent $i "$2") - busy)) still=$(($(sent $i "$3") - still))
        ((busy >= much && still <= little)) || fail "node $i sent $busy bytes by $2, $still by $3"
    done
}

@test "an all-reduce goes over InfiniBand with --tf-ib and over Ethernet without, TensorFlow 2.15" {
    reduces 2.15.1 ib0 eth0 --tf-ib
    reduces 2.15.1 eth0 ib0
}

@test "an all-reduce goes over InfiniBand with --tf-ib and over Ethernet without, newest TensorFlow" {
    reduces newest ib0 eth0 --tf-ib
    reduces newest eth0 ib0
}

@test "an all-reduce goes over InfiniBand with IPv6 addresses only, both versions" {
    local i

    for i in 1 2 3; do
        set_address $i ib0 fd01::$i/64 nodad
    done
    reduces 2.15.1 ib0 eth0 --tf-ib=require
    reduces newest ib0 eth0 --tf-ib=require
}
