# SPDX-License-Identifier: GPL-2.0-or-later
#
# psd_run with TensorFlow: stock servers, and workers that read their flags, in the virtual
# environment of the cluster file.

load ../common
load versions

setup_file ()
{
    start_cluster --nodes 2
    cp "$SPANK_TF_STAGE/bin/psd_run" "$tests/tensorflow/poseidon.py" "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
}

# Train with two servers and two workers on two nodes: train VERSION
train ()
{
    local venv i

    venv=$(venv "$1")
    cat > "$work/c.json" <<END
{ "server_nodes": ["$(node 1)", "$(node 2)"], "worker_nodes": ["$(node 2)", "$(node 1)"], "virtualenv": "$venv" }
END
    run --separate-stderr slurm env PATH="$SPANK_TF_STAGE/bin:$PATH" HOME="$work" TF_ENABLE_ONEDNN_OPTS=0 \
        timeout 200 ./psd_run -c c.json -o "out-$1" "python poseidon.py --steps 200, python poseidon.py --steps=300"
    [ "$status" -eq 0 ] && [ -z "$output" ] && [[ $stderr == *": logs are in $work/out-$1" ]] || fail "it fails: $(tail -n 20 "$work/out-$1"/*.log)"
    for i in 0 1; do
        grep -q "^poseidon: worker $i in $venv: x = 3.000 after .*, variables on /job:ps/task:0, /job:ps/task:1$" \
            "$work/out-$1/worker$i.log" || fail "worker $i: $(< "$work/out-$1/worker$i.log")"
    done
    # Both workers use the same variables. Two that count at the same moment may count one step: TensorFlow 1 has no lock there.
    grep -qE 'after (500|4[0-9]{2}) steps of all' "$work/out-$1"/worker?.log || fail "$(cat "$work/out-$1"/worker?.log)"
    [ "$(count_ends 'ps [01] stopped|worker [01] exit 0' "$work/out-$1/master.log")" -eq 4 ]
}

@test "psd_run: two servers and two workers train, TensorFlow 2.15" {
    train 2.15.1
}

@test "psd_run: two servers and two workers train, newest TensorFlow" {
    train newest
}
