# SPDX-License-Identifier: GPL-2.0-or-later
#
# Faults during the launch of a step, and after it: steps in the background, functions that stop
# daemons and cut networks, and the check afterwards that the cluster is still usable. Every step
# has six tasks on the first three nodes; the fourth node is for an srun that is not on
# slurmctld's host.
#
# A rank that has started but not received TF_CONFIG is "in the barrier": no program is started
# before every rank has registered with the rendezvous.

roles=ps,worker,worker,worker,worker,worker
step=(-N3 --ntasks-per-node=2 --tf-tasks=ps,worker:5)
# shellcheck disable=SC2034  # for the tests
program=(sh -c 'echo "$TF_CONFIG" > started.$SLURM_PROCID; exec sleep 600')

# For setup_file. The rendezvous gets ports of its own, so that the network can drop its packets
# and let srun's other packets pass.
start_fault_cluster ()
{
    start_cluster "$@" && site_arguments rendezvous_ports=25000-25999
}

# Allocate a job, $job, for the steps of the test.
before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    srun_output=$BATS_TEST_TMPDIR/srun.out
    : > "$srun_output"
    host=login
    end_leftovers
    allocate_job
}

after_test ()
{
    repair
    cluster_is_usable
}

# End what a failed test has left running.
end_leftovers ()
{
    slurm scancel --user "$user" --quiet
    pkill -KILL -u "$user,$other_user" || true
    eventually 10 no_process_left
}

allocate_job ()
{
    rm -f "$work"/started.*
    slurm salloc -Q --no-shell -N3 --ntasks-per-node=2 -w "$(node 1),$(node 2),$(node 3)"
    job=$(slurm squeue -h -o %i)
}

# --- launches

# Start srun on $host in the background; $srun is its process id: start_srun ARGUMENTS…
start_srun ()
{
    "$tests/cluster" run --on "$host" --user "$user" -- srun "$@" > "$srun_output" 2>&1 3>&- &
    srun=$!
}

# The same for a step of the test's job.
start_step ()
{
    start_srun --jobid="$job" -w "$(node 1),$(node 2),$(node 3)" "${step[@]}" "$@"
}

# Are so many ranks in the barrier, registered or not?
waiting_ranks ()
{
    [ "$(pgrep -xcu "$user" tf-rank)" -eq "$1" ]
}

# The process id of tf-rendezvous, unless it is a zombie.
rendezvous ()
{
    pgrep -r D,R,S -xu "$user" tf-rendezvous
}

# Has the rendezvous received data from so many ranks?
registered ()
{
    [ "$("$tests/cluster" run --on "$host" -- ss -HOtnpi state established |
        grep tf-rendezvous | grep -c bytes_received)" -eq "$1" ]
}

started ()
{
    [ "$(find "$work" -name 'started.*' | wc -l)" -eq "$1" ]
}

no_program_started ()
{
    started 0 || fail "a program was started: $(cd "$work" && grep '' started.*)"
}

# Require that all programs that were started have the same dictionary.
one_cluster ()
{
    [ "$(cd "$work" && cat /dev/null started.* 2> /dev/null | sed 's/,"task":.*//' | sort -u | wc -l)" -le 1 ] ||
        fail "more than one cluster: $(cd "$work" && grep '' started.*)"
}

printed ()
{
    grep -qE "$1" "$srun_output"
}

# Require that this is the plugin's only message.
prints_only ()
{
    [ "$(grep -c spank_tf "$srun_output")" -eq 1 ] && grep -qxE "srun: error: spank_tf: step $job\.[0-9]+: $1" "$srun_output" ||
        fail "the only message is not \"$1\": $(< "$srun_output")"
}

srun_ended ()
{
    [[ $(ps -o stat= -p "$srun") != [^Z]* ]]
}

# Wait for srun, so many seconds at most; $status is its exit code.
srun_ends ()
{
    eventually "$1" srun_ended || fail "srun does not end: $(< "$srun_output")"
    # shellcheck disable=SC2034  # for the tests
    wait "$srun" && status=0 || status=$?
}

# Print a measurement before the result of the test.
note ()
{
    echo "# $*" >&3
}

now_ms ()
{
    echo $((${EPOCHREALTIME//[.,]/} / 1000))
}

# Require that a command succeeds at most MS milliseconds after $since: within MS COMMAND…
within ()
{
    local ms=$1 took

    shift
    until "$@"; do
        took=$(($(now_ms) - since))
        ((took < ms + 5000)) || break
        sleep 0.02
    done
    took=$(($(now_ms) - since))
    note "$* after $took ms"
    ((took <= ms)) || fail "\"$*\" not within $ms ms, but after $took"
}

# --- faults, which repair() removes

address ()
{
    awk -v name="$1" '$2 == name { print $1 }' "$SPANK_TF_CLUSTER/hosts"
}

stop_slurmd ()
{
    kill -STOP "$(< "$SPANK_TF_CLUSTER/$(node "$1").pid")"
}

continue_slurmd ()
{
    kill -CONT "$(< "$SPANK_TF_CLUSTER/$(node "$1").pid")"
}

# Cut the N-th node off from the rendezvous alone. The packets from the rendezvous to the node are
# dropped, so that a connection neither succeeds nor is refused.
cut_rendezvous ()
{
    "$tests/cluster" run --on "$host" -- ip rule add pref 100 \
        to "$(address "$(node "$1")")" ipproto tcp sport 25000-25999 blackhole
}

restore_rendezvous ()
{
    "$tests/cluster" run --on "$host" -- ip rule del pref 100
}

# Cut the N-th node and srun's host, which is another node, off from each other; slurmctld still
# reaches both. They send to an Ethernet address that does not exist.
cut_off ()
{
    lose_packets "$host" "$(node "$1")"
    lose_packets "$(node "$1")" "$host"
}

lose_packets ()
{
    "$tests/cluster" run --on "$1" -- ip neigh replace "$(address "$2")" \
        lladdr 02:00:00:00:00:ff dev eth0 nud permanent
}

repair ()
{
    local name

    while "$tests/cluster" run --on login -- ip rule del pref 100 2> /dev/null; do :; done
    while read -r name <&4; do
        kill -CONT "$(< "$SPANK_TF_CLUSTER/$name.pid")"
        "$tests/cluster" run --on "$name" -- ip neigh flush dev eth0 nud permanent
        while "$tests/cluster" run --on "$name" -- ip rule del pref 100 2> /dev/null; do :; done
    done 4< "$SPANK_TF_CLUSTER/nodes"
}

# --- afterwards

# Require that the job's next step runs, if the job still exists; that nothing is left behind;
# and that the next job runs.
cluster_is_usable ()
{
    if slurm squeue -h -t R -o %i | grep -qx "$job"; then
        next_step_runs --jobid="$job" || return 1
        slurm scancel "$job"
    fi
    nothing_left || return 1
    eventually 10 no_zombie_left || fail "a zombie is left: $(ps -u "$user" -o pid,ppid,stat,args)" || return 1
    next_step_runs
}

next_step_runs ()
{
    local results

    results=$(timeout 30 "$tests/cluster" run --on "$host" --user "$user" -- \
        srun -Q "$@" "${step[@]}" "$task_check" --roles="$roles") && all_ok "$results" 6 ||
        fail "the next step (srun $*) fails: $results"
}

# Zombies whose parent has exited do not count: init reaps them in its own time.
no_zombie_left ()
{
    # shellcheck disable=SC2009  # pgrep shows no state
    ! ps -u "$user" -o stat=,ppid= | grep -qvE '^[^Z]| 1$'
}
