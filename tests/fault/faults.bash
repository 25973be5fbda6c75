# SPDX-License-Identifier: GPL-2.0-or-later
#
# A launch that something happens to: steps in the background whose barrier is kept closed,
# nodes that stop or cannot be reached, and what must be well afterwards. Every step is one of
# six tasks on the first three nodes; the fourth is for an srun that is not on slurmctld's host.

roles=ps,worker,worker,worker,worker,worker
step=(-N3 --ntasks-per-node=2 --tf-tasks=ps,worker:5)
stay=(sh -c 'echo "$TF_CONFIG" > started.$SLURM_PROCID; exec sleep 600')

# In setup_file, as start_cluster. The rendezvous has ports of its own: they can be cut off
# while srun's other traffic goes on.
start_fault_cluster ()
{
    start_cluster "$@" && site_arguments rendezvous_ports=25000-25999
}

# A job for the test's steps.
setup ()
{
    [[ ! ${no_cluster-} ]] || skip "$no_cluster"
    work=$SPANK_TF_CLUSTER/work
    words=$BATS_TEST_TMPDIR/words
    : > "$words"
    host=login
    start_clean
    take_job
}

teardown ()
{
    [[ ! ${no_cluster-} ]] || return 0
    mend
    all_is_well
}

teardown_file ()
{
    stop_cluster
}

# What a test that failed has left is not the next one's.
start_clean ()
{
    slurm scancel --me --quiet
    pkill -KILL -u "$user,$other_user" || true
    eventually 10 no_process_left
}

take_job ()
{
    rm -f "$work"/started.*
    slurm salloc -Q --no-shell -N3 --ntasks-per-node=2 -w "$(node 1),$(node 2),$(node 3)"
    job=$(slurm squeue -h -o %i)
}

# --- launches

# srun on $host in the background, its pid in $srun: begin ARGUMENTS…
begin ()
{
    "$tests/cluster" run --on "$host" --user "$user" -- srun "$@" > "$words" 2>&1 3>&- &
    srun=$!
}

# The same, of a step of the test's job.
begin_step ()
{
    begin --jobid="$job" -w "$(node 1),$(node 2),$(node 3)" "${step[@]}" "$@"
}

# So many ranks are in the barrier, registered or trying to.
ranks ()
{
    [ "$(pgrep -xcu "$user" tf-rank)" -eq "$1" ]
}

# The pid of the rendezvous; the dead are not asked for.
rendezvous ()
{
    pgrep -r D,R,S -xu "$user" tf-rendezvous
}

# It has heard so many ranks.
registered ()
{
    [ "$("$tests/cluster" run --on "$host" -- ss -HOtnpi state established |
        grep tf-rendezvous | grep -c bytes_received)" -eq "$1" ]
}

started ()
{
    [ "$(find "$work" -name 'started.*' | wc -l)" -eq "$1" ]
}

none_started ()
{
    started 0 || fail "a program was started: $(cd "$work" && grep '' started.*)"
}

# Whichever programs were started, they were given one cluster.
one_cluster ()
{
    [ "$(cd "$work" && cat /dev/null started.* 2> /dev/null | sed 's/,"task":.*//' | sort -u | wc -l)" -le 1 ] ||
        fail "more than one cluster: $(cd "$work" && grep '' started.*)"
}

said ()
{
    grep -qE "$1" "$words"
}

# srun has said just this of ours, and once.
told ()
{
    [ "$(grep -c spank_tf "$words")" -eq 1 ] && grep -qxE "srun: error: spank_tf: step $job\.[0-9]+: $1" "$words" ||
        fail "not told \"$1\" but: $(< "$words")"
}

srun_ended ()
{
    [[ $(ps -o stat= -p "$srun") != [^Z]* ]]
}

# srun ends, in so many seconds at most, and its code is in $status.
srun_ends ()
{
    eventually "$1" srun_ended || fail "srun does not end: $(< "$words")"
    wait "$srun" && status=0 || status=$?
}

# What a test has measured, before its result.
note ()
{
    echo "# $*" >&3
}

now_ms ()
{
    echo $((${EPOCHREALTIME//[.,]/} / 1000))
}

# A command succeeds, so many milliseconds after $since at most: within MS COMMAND…
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

# --- faults, until mend

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

# The rendezvous cannot be reached from a node; all others can, srun too. A packet on the
# way back is lost, so that a connection neither succeeds nor is refused.
cut_rendezvous ()
{
    "$tests/cluster" run --on "$host" -- ip rule add pref 100 \
        to "$(address "$(node "$1")")" ipproto tcp sport 25000-25999 blackhole
}

restore_rendezvous ()
{
    "$tests/cluster" run --on "$host" -- ip rule del pref 100
}

# srun's host, a node, and another node cannot reach each other; slurmctld reaches both. They
# send to an Ethernet address that nobody has.
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

mend ()
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

# The job's next step runs, if there is still a job; then nothing is left; the next job runs.
all_is_well ()
{
    if slurm squeue -h -t R -o %i | grep -qx "$job"; then
        next_runs --jobid="$job" || return 1
        slurm scancel "$job"
    fi
    nothing_left || return 1
    eventually 10 no_zombie_left || fail "not waited for: $(ps -u "$user" -o pid,ppid,stat,args)" || return 1
    next_runs
}

next_runs ()
{
    local verdicts

    verdicts=$(timeout 30 "$tests/cluster" run --on "$host" --user "$user" -- \
        srun -Q "$@" "${step[@]}" "$judge" --roles=$roles) && all_content "$verdicts" 6 ||
        fail "the next launch (srun $*) is not right: $verdicts"
}

# Whoever has lost its parent is init's, in its own time.
no_zombie_left ()
{
    ! ps -u "$user" -o stat=,ppid= | grep -qvE '^[^Z]| 1$'
}
