#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tasks that train alone, with exit 0: what srun asks at the end of a long step, and what sbatch says of a batch file
# without srun. tests/tensorflow/alone.bats has real scripts.

# bats file_tags=slow
load launch

setup_file ()
{
    start_cluster --nodes 4
    work=$SPANK_TF_CLUSTER/work
    # Listens on the task's own port, or on another one: listen VARIABLE SECONDS
    cat > "$work/listen" <<'END'
import os, socket, sys, time
server = socket.socket ()
server.setsockopt (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind (("0.0.0.0", int (os.environ[sys.argv[1]])))
server.listen ()
time.sleep (float (sys.argv[2]))
END
    # Has its own port: connect MODE PEER. "ring": each task connects to the next one; "self": to itself; else to PEER.
    cat > "$work/connect" <<'END'
import os, socket, sys, time
mode, peer, rank = sys.argv[1], sys.argv[2], int (os.environ["SLURM_PROCID"])
port = 47200 + int (os.environ["SLURM_JOB_ID"]) % 100 * 2
server = socket.create_server (("0.0.0.0", port + rank))
hosts = peer.split (",")
if mode == "ring":
    address = hosts[1 - rank if len (hosts) > 1 else 0], port + 1 - rank
elif mode == "self":
    address = hosts[0], port + rank
else:
    address = hosts[0], 47199
for _ in range (100):
    try:
        connection = socket.create_connection (address)
        break
    except OSError:
        time.sleep (0.2)
else:
    sys.exit ("no connection")
if mode != "out":
    accepted = server.accept ()
time.sleep (62)
END
    # Its second life ends.
    cat > "$work/restarted" <<'END'
[ ! "$SLURM_TF_RESTART" ] || exec sleep 62
[ $SLURM_PROCID = 0 ] || exec sleep 5
timeout 3 python3 listen SLURM_TF_PORT 99
kill -KILL $$
END
}

after_test ()
{
    site_arguments ''
    nothing_left
}

# A step in the background, whose stderr is NAME.err: step NAME OPTION… PROGRAM…. With $conf srun has this slurm.conf.
step ()
{
    slurm ${conf:+env SLURM_CONF="$conf"} srun -Q --overlap -N2 "${@:2}" > "$BATS_TEST_TMPDIR/$1.out" 2> "$BATS_TEST_TMPDIR/$1.err" < /dev/null 3>&- &
    steps+=($!)
}

# Require that this step has asked, or not, and that stderr has nothing else but a table: asks NAME | silent NAME
asks ()
{
    [ "$(grep -c 'srun: spank_tf: step [0-9.]*: no task listened on its assigned port, so each may have trained a model of its own. See spank-tf-messages(7)$' "$BATS_TEST_TMPDIR/$1.err")" -eq 1 ] ||
        fail "$1 does not ask: $(< "$BATS_TEST_TMPDIR/$1.err")"
}

silent ()
{
    ! grep -q "assigned port" "$BATS_TEST_TMPDIR/$1.err" || fail "$1 asks: $(< "$BATS_TEST_TMPDIR/$1.err")"
}

# Plugin: it is about a site's plugstack.conf, too.
# bats test_tags=plugin
@test "a long step of which no task has used its address asks whether each has trained alone; no other one does" {
    local name
    local -a steps=()
    local conf=
    local listen="python3 $SPANK_TF_CLUSTER/work/listen"

    # Of a site with show=quiet.
    site_arguments show=quiet
    mv "$SPANK_TF_CLUSTER/plugstack.conf" "$SPANK_TF_CLUSTER/work/site.plugstack"
    site_arguments
    sed "s|^PlugStackConfig=.*|PlugStackConfig=$SPANK_TF_CLUSTER/work/site.plugstack|" "$SPANK_TF_CLUSTER/slurm.conf" > "$SPANK_TF_CLUSTER/work/site.conf"
    step sleeps --tf-tasks=worker:2 --tf-show sleep 62
    step json --tf-tasks=worker:2 --tf-show=json sleep 62
    step ps -n3 --tf-tasks=ps,worker:2 sh -c '[ $SLURM_TF_ROLE = ps ] && exec sleep 99; exec sleep 62'
    step free --tf-tasks=worker:2 --tf-hold=no sleep 62
    step torch --tf-tasks=worker:2 --tf-frameworks=torch sleep 62
    # Its own port, and not that of others.
    step elsewhere --tf-tasks=worker:2 sh -c "OTHER=47113 exec $listen OTHER 62"
    step quiet --tf-tasks=worker:2 --tf-show=quiet sleep 62
    conf=$SPANK_TF_CLUSTER/work/site.conf step site --tf-tasks=worker:2 sleep 62
    conf=$SPANK_TF_CLUSTER/work/site.conf step other --tf-tasks=worker:2 --tf-show=no sleep 62
    step none --tf-tasks=worker:2 --tf-frameworks=none sleep 62
    step never --tf-tasks=worker:2 --tf-stop=never sleep 62
    step short --tf-tasks=worker:2 sleep 58
    step one -N1 --tf-tasks=worker sleep 62
    step evaluator --tf-tasks=worker,evaluator sleep 62
    step board -n3 --tf-tasks=worker:2,+board sh -c "[ \$SLURM_TF_ROLE = board ] && exec $listen SLURM_TF_PORT 99; exec sleep 62"
    step fails --tf-tasks=worker:2 sh -c 'sleep 62; exit $SLURM_PROCID'
    # As process 0 of JAX, for a while; as that of PyTorch.
    step first --tf-tasks=worker:2 sh -c "[ \$SLURM_PROCID = 1 ] || timeout 40 $listen SLURM_TF_PORT 62; sleep 62"
    # It needs most of a minute to start, and then works for some seconds.
    step late --tf-tasks=worker:2 sh -c "[ \$SLURM_PROCID = 1 ] || { sleep 46; timeout 12 $listen SLURM_TF_PORT 62; exec sleep 4; }; sleep 62"
    step master --tf-tasks=worker:2 --tf-frameworks=torch sh -c "[ \$SLURM_PROCID = 0 ] && exec $listen MASTER_PORT 62; exec sleep 62"
    step restarted --tf-tasks=worker:2 --tf-restart=2,any sh restarted
    # With a port of their own: over two nodes, on one; and with themselves, or another host, alone.
    step ring --tf-tasks=worker:2 -w "$(node 1),$(node 2)" python3 connect ring "$(node 1),$(node 2)"
    step here -N1 -n2 -w "$(node 3)" --tf-tasks=worker:2 python3 connect ring 127.0.0.1
    step self --tf-tasks=worker:2 -w "$(node 3),$(node 4)" sh -c "exec python3 connect self 127.0.0.1"
    slurm env python3 -c 'import socket, time
server = socket.create_server (("0.0.0.0", 47199))
time.sleep (80)' 3>&- &
    step outside --tf-tasks=worker:2 -w "$(node 1),$(node 4)" sh -c "exec python3 connect out login"
    step netns --tf-tasks=worker:2 unshare -rn sleep 62
    for name in "${steps[@]}"; do
        wait "$name" || true
    done
    for name in sleeps json ps free torch elsewhere board other self outside; do asks "$name"; done
    for name in quiet site none never short one evaluator fails first late master restarted netns ring here; do silent "$name"; done
    grep -q 'Restarting' "$BATS_TEST_TMPDIR/restarted.err" || fail "it was not restarted"
    [ "$(grep -c '  exit 0, its address was not used$' "$BATS_TEST_TMPDIR/sleeps.err")" -eq 2 ] || fail "the table"
    [ "$(grep -o '"address_used":false' "$BATS_TEST_TMPDIR/json.err" | wc -l)" -eq 2 ] || fail "JSON"
}

# sbatch OPTION… says nothing of this job.
not_said ()
{
    run --separate-stderr slurm sbatch --parsable -o /dev/null "$@"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "it says something"
}

# Plugin: it is about sbatch.
# bats test_tags=plugin
@test "sbatch says that python runs once, but nothing without a list, or with --quiet" {
    cd "$SPANK_TF_CLUSTER/work"
    : > once.py
    printf '#!/bin/sh\n#SBATCH --tf-tasks=worker:2\npython3 once.py\n' > alone.sh
    run --separate-stderr slurm sbatch --parsable -o /dev/null -N2 alone.sh
    [[ $stderr == *'Write "srun python ..." to start one process for each task' ]] || fail "#SBATCH --tf-tasks"
    not_said -N2 --tf-tasks=none alone.sh
    not_said -N2 --wrap "python3 once.py"
    not_said -N2 --quiet alone.sh
    eventually 60 none_left
}

none_left ()
{
    [ -z "$(slurm squeue --noheader --user "$user")" ]
}
