# SPDX-License-Identifier: GPL-2.0-or-later
#
# On a site with an HTTP proxy, whose variables every login shell has, TensorFlow's servers
# speak with each other and not with the proxy: one that notes who comes, and answers nobody.

load ../common.bash
load versions

setup_file ()
{
    install_versions
    start_cluster --nodes 3
    cp "$tests"/../contrib/examples/{multiworker,train}.py "$SPANK_TF_CLUSTER/work"
    cat > "$SPANK_TF_CLUSTER/work/proxy.py" <<'END'
import socket
listener = socket.create_server(("", 0), backlog=64)
open("proxy.port.new", "w").write(str(listener.getsockname()[1]))
__import__("os").rename("proxy.port.new", "proxy.port")
while True:
    guest, address = listener.accept()
    with open("proxy.guests", "a") as f:
        f.write(f"{address[0]} {guest.recv(100)!r}\n")
    guest.close()
END
    "$tests/cluster" run -- /usr/bin/python3 proxy.py < /dev/null > "$SPANK_TF_CLUSTER/work/proxy.log" 2>&1 3>&- &
    eventually 20 test -e "$SPANK_TF_CLUSTER/work/proxy.port"
}

setup ()
{
    local url

    guests=$SPANK_TF_CLUSTER/work/proxy.guests
    out=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER.out
    url=http://$(sed -n 's/ login$//p' "$SPANK_TF_CLUSTER/hosts"):$(< "$SPANK_TF_CLUSTER/work/proxy.port")
    proxied=(env HOME="$SPANK_TF_CLUSTER/work" http_proxy="$url" https_proxy="$url" no_proxy=localhost)
    rm -f "$guests"
}

teardown ()
{
    slurm scancel --quiet --user "$user"
    nothing_left
}

teardown_file ()
{
    stop_cluster
}

nobody_came ()
{
    [ ! -e "$guests" ] || fail "at the proxy: $(cat "$guests")"
}

all_reduce ()
{
    run slurm "${proxied[@]}" timeout 200 srun -N3 --tf-tasks=worker:3 "$(python "$1")" multiworker.py
    [ "$status" -eq 0 ] || fail "srun"
    [ "$(grep -c '^multiworker: replica [0-2] of 3: .* ok' <<< "$output")" -eq 3 ] || fail "sums"
    nobody_came
}

@test "MultiWorkerMirroredStrategy does not dial the proxy, TensorFlow 2.15" {
    all_reduce 2.15.1
}

@test "MultiWorkerMirroredStrategy does not dial the proxy, newest TensorFlow" {
    all_reduce newest
}

@test "a ps and two workers do not dial the proxy, TensorFlow 2.15" {
    run slurm "${proxied[@]}" timeout 200 srun -N3 --tf-tasks=ps,worker:2 "$(python 2.15.1)" train.py
    [ "$status" -eq 0 ] || fail "srun"
    [ "$(grep -c 'worker [01]: done, [1-9][0-9]* of' <<< "$output")" -eq 2 ] || fail "no training"
    nobody_came
}

# What the others would see if nobody were exempt: this proxy is one to TensorFlow.
@test "without the exemption TensorFlow dials the proxy, and does not train" {
    slurm "${proxied[@]}" timeout 200 srun -N3 --tf-tasks=worker:3 \
        env -u no_grpc_proxy -u no_proxy "$(python newest)" multiworker.py > "$out" 2>&1 3>&- &
    eventually 120 grep -qs "^10\..*CONNECT 10\." "$guests" || fail "nobody came: $(cat "$out")"
    run grep -c ' ok$' "$out"
    [ "$output" = 0 ] || fail "they have trained"
}
