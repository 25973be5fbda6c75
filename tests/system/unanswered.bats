#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes that do not reach each other: after a minute srun says which.

# bats file_tags=slow
load launch

setup_file ()
{
    start_cluster --nodes 3
    # Connect to TARGET again and again, and hold the connection that there is: connect HOST:PORT SECONDS
    cat > "$SPANK_TF_CLUSTER/work/connect" <<'END'
import socket, sys, time
host, port = sys.argv[1].rsplit (":", 1)
end = time.monotonic () + float (sys.argv[2])
while time.monotonic () < end:
    try:
        held = socket.create_connection ((host, int (port)), timeout=20)
        time.sleep (max (0, end - time.monotonic ()))
    except OSError:
        time.sleep (0.2)
END
    cat > "$SPANK_TF_CLUSTER/work/member" <<'END'
# Task 0 serves, or does not; the others connect to it, or to port 41999 of its host: member serves|rests [other]
first=$(python3 -c 'import json, os; print (json.loads (os.environ["TF_CONFIG"])["cluster"]["worker"][0])')
[ ! "$2" ] || first=${first%:*}:41999
if [ "$SLURM_PROCID" != 0 ]; then exec python3 connect "$first" 85; fi
[ $1 = serves ] || exec sleep 85
exec timeout --preserve-status -s INT 85 python3 -c '
import os, socket, sys
server = socket.socket ()
server.setsockopt (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind (("0.0.0.0", int (os.environ["SLURM_TF_PORT"])))
server.listen ()
held = []
sys.excepthook = lambda *failure: os._exit (0)
while True:
    held.append (server.accept ())'
END
}

after_test ()
{
    "$tests/cluster" run --on "$(node 1)" -- iptables -F INPUT
    nothing_left
}

# A step in the background, whose stderr is NAME.err: step NAME OPTION… -- ARGUMENT… of member
step ()
{
    slurm srun -Q --overlap --tf-ports=41000-41999 --tf-show=quiet "${@:2}" \
        > "$BATS_TEST_TMPDIR/$1.out" 2> "$BATS_TEST_TMPDIR/$1.err" < /dev/null 3>&- &
    steps+=($!)
}

@test "after a minute a line names the nodes that get no answer from a task, and only those" {
    local n2 pid
    local -a steps=()

    n2=$(address "$(node 2)")
    "$tests/cluster" run --on "$(node 1)" -- iptables -A INPUT -s "$n2" -p tcp --dport 41000:41999 -j DROP
    step cut -N3 --tf-tasks=worker:3 sh member serves
    step packed -N2 -n4 --tf-tasks=worker:4 sh member serves
    step refused -w "$(node 1),$(node 3)" --tf-tasks=worker:2 sh member rests
    step elsewhere -N2 --tf-tasks=worker:2 sh member rests other
    step never -N2 --tf-tasks=worker:2 --tf-stop=never sh member serves
    for pid in "${steps[@]}"; do
        wait "$pid" || true
    done
    cat "$BATS_TEST_TMPDIR/cut.err"
    grep -qE "^srun: spank_tf: step [0-9.]+: no answer to connections for a minute: from $(node 2) to worker 0 \(rank 0, $(node 1)\), [0-9.]+:41[0-9]{3}. Check whether these nodes can reach each other, for example with --tf-preflight\$" \
        "$BATS_TEST_TMPDIR/cut.err" || fail "no line"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/cut.err")" -eq 1 ] || fail "more than that line"
    [ "$(grep -c "from $(node 2) to worker 0 (rank 0, " "$BATS_TEST_TMPDIR/packed.err")" -eq 1 ] || fail "two tasks of a node"
    for pid in refused elsewhere never; do
        [ ! -s "$BATS_TEST_TMPDIR/$pid.err" ] || fail "$pid: $(< "$BATS_TEST_TMPDIR/$pid.err")"
    done
}
