# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes that die, are cut off, and come back.

# A cluster of which Slurm gives up a node that does not answer for 20 s: start_mortal_cluster OPTION…
start_mortal_cluster ()
{
    # A requeued job waits until its credentials have expired, by default two minutes.
    start_cluster --conf SlurmdTimeout=20 --conf "AuthInfo=socket=$SPANK_TF_CLUSTER/munge/socket,cred_expire=5" "$@"
}

# Seen from outside, the N-th node has no power: its link is down, and all its processes are dead. slurmd is stopped, so
# that the cluster does not report its death.
kill_node ()
{
    local name namespace keeper slurmd pid freezer

    name=$(node "$1")
    disconnect_node "$1"
    keeper=$(< "$SPANK_TF_CLUSTER/ns/$name")
    slurmd=$(< "$SPANK_TF_CLUSTER/$name.pid")
    kill -STOP "$slurmd"
    namespace=$(readlink "/proc/$keeper/ns/net")
    # A slurmstepd that sees its task die freezes what is left, to kill it; without it that stays frozen. And a process
    # may be forked meanwhile.
    for pid in $(pgrep -x slurmstepd || true) $(cd /proc && echo [0-9]*) again $(cd /proc && echo [0-9]*); do
        [ "$pid" != again ] || { sleep 0.2; continue; }
        [ "$pid" != "$keeper" ] && [ "$pid" != "$slurmd" ] || continue
        [ "$(readlink "/proc/$pid/ns/net")" = "$namespace" ] || continue
        freezer=/sys/fs/cgroup/freezer$(sed -n 's/^[0-9]*:freezer://p' "/proc/$pid/cgroup")/freezer.state
        kill -9 "$pid" || true
        [ ! -w "$freezer" ] || echo THAWED > "$freezer" || true
    done 2> /dev/null
}

disconnect_node ()
{
    "$tests/cluster" run --on "$(node "$1")" -- ip link set eth0 down
}

# Also from the dead.
reconnect_node ()
{
    "$tests/cluster" run --on "$(node "$1")" -- ip link set eth0 up
    kill -CONT "$(< "$SPANK_TF_CLUSTER/$(node "$1").pid")"
}

is_given_up ()              # N
{
    slurm scontrol show node "$(node "$1")" | grep -q 'State=DOWN'
}

# Does Slurm show this of the job $job, as in Restarts=1?
job_shows ()
{
    slurm scontrol show job "$job" | grep -q "$1"
}

# For after_test: all nodes, and what Slurm thinks of them.
reconnect_nodes ()
{
    local i name

    for i in $(seq "$(wc -l < "$SPANK_TF_CLUSTER/nodes")"); do
        reconnect_node "$i"
    done
    slurm scancel --user "$user" --quiet
    for name in $(slurm sinfo -h -N -t down,drain -o %N); do
        "$tests/cluster" run -- scontrol update nodename="$name" state=resume || true
    done
    eventually 60 all_nodes_idle
}
