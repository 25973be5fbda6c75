# SPDX-License-Identifier: GPL-2.0-or-later
#
# Where the user's environment has an HTTP proxy, TensorFlow's servers connect to each other and
# not to the proxy. The proxy here records its clients, and does not answer.

load ../common
load versions

setup_file ()
{
    start_cluster --nodes 3
    cp "$tests"/../contrib/examples/{multiworker,train,spank_tf_watchdog}.py "$SPANK_TF_CLUSTER/work"
    cat > "$SPANK_TF_CLUSTER/work/proxy.py" <<'END'
import socket
listener = socket.create_server(("", 0), backlog=64)
open("proxy.port.new", "w").write(str(listener.getsockname()[1]))
__import__("os").rename("proxy.port.new", "proxy.port")
while True:
    client, address = listener.accept()
    with open("proxy.clients", "a") as f:
        f.write(f"{address[0]} {client.recv(100)!r}\n")
    client.close()
END
    "$tests/cluster" run -- /usr/bin/python3 proxy.py < /dev/null > "$SPANK_TF_CLUSTER/work/proxy.log" 2>&1 3>&- &
    eventually 20 test -e "$SPANK_TF_CLUSTER/work/proxy.port"
}

before_test ()
{
    local url

    clients=$SPANK_TF_CLUSTER/work/proxy.clients
    out=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER.out
    url=http://$(sed -n 's/ login$//p' "$SPANK_TF_CLUSTER/hosts"):$(< "$SPANK_TF_CLUSTER/work/proxy.port")
    proxied=(env HOME="$SPANK_TF_CLUSTER/work" http_proxy="$url" https_proxy="$url" no_proxy=localhost)
    rm -f "$clients"
}

no_client ()
{
    [ ! -e "$clients" ] || fail "at the proxy: $(cat "$clients")"
}

all_reduce ()
{
    run slurm "${proxied[@]}" timeout 200 srun -N3 --tf-tasks=worker:3 "$(python "$1")" multiworker.py
    [ "$status" -eq 0 ] || fail "srun"
    [ "$(grep -c '^multiworker: replica [0-2] of 3: .* ok' <<< "$output")" -eq 3 ] || fail "sums"
    no_client
}

@test "MultiWorkerMirroredStrategy does not connect to the proxy, TensorFlow 2.15" {
    all_reduce 2.15.1
}

@test "MultiWorkerMirroredStrategy does not connect to the proxy, newest TensorFlow" {
    all_reduce newest
}

@test "a ps and two workers do not connect to the proxy, TensorFlow 2.15" {
    run slurm "${proxied[@]}" timeout 200 srun -N3 --tf-tasks=ps,worker:2 "$(python 2.15.1)" train.py
    [ "$status" -eq 0 ] || fail "srun"
    [ "$(grep -c 'worker [01]: done, [1-9][0-9]* of' <<< "$output")" -eq 2 ] || fail "no training"
    no_client
}

# Shows that the other tests would notice a connection to the proxy.
@test "without the exemption TensorFlow connects to the proxy, and does not train" {
    slurm "${proxied[@]}" timeout 200 srun -N3 --tf-tasks=worker:3 \
        env -u no_grpc_proxy -u no_proxy "$(python newest)" multiworker.py > "$out" 2>&1 3>&- &
    eventually 120 grep -qs "^10\..*CONNECT 10\." "$clients" || fail "no client: $(cat "$out")"
    run grep -c ' ok$' "$out"
    [ "$output" = 0 ] || fail "they have trained"
}
