# SPDX-License-Identifier: GPL-2.0-or-later
#
# Steps on a cluster with InfiniBand, which each test has for itself, because it changes the
# network.

# For after_test.
stop_fabric ()
{
    local left=0

    [[ -e $SPANK_TF_CLUSTER/nodes ]] || return 0
    nothing_left || left=1
    stop_cluster && return $left
}

# --- the network

# Run ip on the N-th node: ip_on N ARGUMENTS… With -batch - it reads commands from stdin.
ip_on ()
{
    "$tests/cluster" run --on "$(node "$1")" -- ip "${@:2}"
}

running ()
{
    ip_on "$1" -o link show "$2" | grep -q '[<,]LOWER_UP[,>]'
}

without_carrier ()
{
    ip_on "$1" -o link show "$2" | grep -q '<NO-CARRIER,.*,UP'
}

# Pull or plug in the cable of an interface, and wait until the kernel has noticed: pull_cable N
# ib0
pull_cable ()
{
    ip_on "$1" link set "$2" carrier off
    eventually 10 without_carrier "$1" "$2"
}

plug_cable ()
{
    ip_on "$1" link set "$2" carrier on
    eventually 10 running "$1" "$2"
}

# Give an interface another name: rename_interface N ib0 ibp3s0
rename_interface ()
{
    ip_on "$1" -batch - <<END
link set $2 down
link set $2 name $3
link set $3 up
END
    eventually 10 running "$1" "$3"
}

# Replace all addresses of an interface by this one: set_address N ib0 10.109.0.2/16
set_address ()
{
    ip_on "$1" addr flush dev "$2"
    ip_on "$1" addr add "$3" dev "$2" ${4:+"$4"}
}

# --- steps

# Run a step with one worker on each of these nodes: srun_step 1,2,4 --tf-ib PROGRAM. srun runs
# on the login host, which has no InfiniBand, or on the node with the number $srun_on.
srun_step ()
{
    local conf=${conf:-$SPANK_TF_CLUSTER/slurm.conf} host=login

    [[ ! ${srun_on-} ]] || host=$(node "$srun_on")
    ranks=$(tr , '\n' <<< "$1" | wc -l)
    # -Q: srun must not report that the job waits in the queue.
    run --separate-stderr slurm_on "$host" env SLURM_CONF="$conf" srun -Q -n "$ranks" --ntasks-per-node=1 \
        -w "$(sed -E "s/[0-9]+/$prefix&/g" <<< "$1")" --tf-timeout=60 --tf-tasks=worker:rest "${@:2}"
}

# The same with task-check as the program: check_tasks 1,2,4 --tf-ib
check_tasks ()
{
    srun_step "$@" "$task_check" --roles="$(sed -E 's/[0-9]+/worker/g' <<< "$1")" ${loopback:+"$loopback"}
}

# The messages of srun and the plugin in $stderr, with a fixed step name, and without Slurm's own
# line about a task that was refused.
srun_messages ()
{
    sed -E 's/\bstep [0-9]+\.[0-9]+/step J.S/
        /: error: [^ ]+: tasks? [0-9,-]+: Exited with exit code 1$/d' <<< "$stderr"
}

# Require that every task is ok, that all addresses begin with PREFIX, and that NOTICE, or
# nothing, was the only message: all_ok_on PREFIX [NOTICE]
all_ok_on ()
{
    [ "$status" -eq 0 ] && all_ok "$output" "$ranks" || fail "a task is not ok"
    [ "$(grep -cF " $1" <<< "$output")" -eq "$ranks" ] || fail "not every address begins with $1"
    [ "$(srun_messages)" = "${2:+srun: spank_tf: step J.S: $2}" ] || fail "the only message is not: ${2-none}"
}

# The table of the cluster that --tf-show prints, without the ports.
cluster_table ()
{
    sed -E 's/\bstep [0-9]+\.[0-9]+/step J.S/; s/:[0-9]+ */:PORT /; s/ *$//; / how its tasks ended$/,$d' <<< "$stderr"
}

# Require that a step on these nodes with these options is refused by this message, and that no
# program is started: refused 1,2 MESSAGE OPTION…
refused ()
{
    local message

    srun_step "$1" "${@:3}" touch started
    [ "$status" -eq 1 ] && [ -z "$output" ] || fail "the step is not refused"
    message=$(srun_messages)
    # Behind the reasons stands what can be written instead, if there is something.
    [[ $2 == *'; '* ]] || message=${message%%; all nodes are on *}
    [ "$message" = "srun: error: spank_tf: step J.S: $2" ] || fail "the only message is not: $2"
    [ ! -e "$SPANK_TF_CLUSTER/work/started" ] || fail "a program was started"
}
