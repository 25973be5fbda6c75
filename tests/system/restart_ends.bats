#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-restart: a step that Slurm or its user ends is not restarted, and ends as a plain step; what
# happens to a step while its task waits for the next life; and where the option comes from.

# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,proctrack:linuxproc,proctrack:pgid
load launch
load variants
load lives

setup_file ()
{
    start_cluster --nodes 2 --cpus 64
}

before_test ()
{
    variants=(plain)
    make_variants
    make_lives
}

after_test ()
{
    site_arguments
    end_variants
}

# --- ends from outside

# For each of these ways to end a step, a plain one and one with restarts: make_ways WAY…
make_ways ()
{
    ways=("$@")
    variants=("${ways[@]/#/plain-}" "${ways[@]/#/restarting-}")
    for way in "${ways[@]}"; do
        options["plain-$way"]=
        options["restarting-$way"]='--tf-tasks=worker:rest --tf-restart=9'
    done
    make_variants
    # Rank 2 ends as programs do that have saved their work, the others by the signal.
    cat > "$work/program" <<'END'
echo life >> "lives.$SLURM_PROCID"
case $PWD$SLURM_PROCID in
    *fails0) until [ -e ../fail ]; do sleep 0.1; done; exit 3 ;;
    *-W-ends0) until [ -e ../fail ]; do sleep 0.1; done; exit 0 ;;
    *2) trap 'exit 143' TERM; while :; do sleep 0.1; done ;;
esac
exec sleep 1000
END
}

# To both steps of a way: add_options WAY OPTION…
add_options ()
{
    options[plain-$1]+=" ${*:2}"
    options[restarting-$1]+=" ${*:2}"
}

all_begun ()
{
    [ "$(cat "$work/$1"/lives.* 2> /dev/null | wc -l)" -eq 3 ]
}

# Slurm 20.11 sometimes leaves a process of a plain step behind.
end_plain_leftovers ()
{
    local pid

    for pid in $(pgrep -u "$user" -f '\.\./program'); do
        [[ $(readlink "/proc/$pid/cwd") != */plain-* ]] || kill -KILL "$pid" || true
    done
}

# Require that each step with restarts ends as the plain one, and that none had another life.
all_end_like_plain ()
{
    local way

    timeout=60 all_end
    end_plain_leftovers
    for way in "${ways[@]}"; do
        # With -W the others are stopped before srun kills them, if there is time for that.
        [ "${code[plain-$way]}" -eq "${code[restarting-$way]}" ] || [ "$way${code[restarting-$way]}" = -W-fails3 ] ||
            fail "$way: a plain step exits with ${code[plain-$way]}, with restarts ${code[restarting-$way]}: $(output_of "restarting-$way")"
        all_begun "restarting-$way" || fail "$way: there was another life: $(output_of "restarting-$way")"
    done
}

# bats test_tags=core,release
@test "a step that is cancelled, killed or interrupted, also by -K and -W, is not restarted" {
    local kind

    make_ways job step TERM INT KILL srun -K-fails -W-fails -W-ends
    add_options -K-fails -K
    add_options -W-fails -W 1
    add_options -W-ends -W1
    start_steps -Q sh ../program
    every_variant all_begun
    for kind in plain restarting; do
        slurm scancel "$(job_of $kind-job)"
        slurm scancel "$(job_of $kind-step).0"
        slurm scancel -s TERM "$(job_of $kind-TERM)"
        slurm scancel -s INT "$(job_of $kind-INT)"
        slurm scancel -s KILL "$(job_of $kind-KILL)"
        kill -TERM "${srun[$kind-srun]}"
    done
    touch "$work/fail"
    all_end_like_plain
}

# bats test_tags=release
@test "a step at its time limit, or warned by --signal=TERM@600, is not restarted" {
    local kind

    make_ways limit warned
    add_options warned --signal=TERM@600
    start_steps -Q -t 60 sh ../program
    every_variant all_begun
    for kind in plain restarting; do
        # slurmctld refuses a time that is over when it hears of it.
        "$tests/cluster" run -- scontrol update EndTime=now+5 "jobid=$(job_of $kind-limit)"
        "$tests/cluster" run -- scontrol update EndTime=now+600 "jobid=$(job_of $kind-warned)"
    done
    # The program that gets no SIGKILL may outlive KillWait by far.
    all_end_like_plain
}

# bats test_tags=core,release
@test "a step whose tasks save on a SIGUSR1 of Slurm's, and exit with 42, is not restarted" {
    local kind

    make_ways USR1
    cat > "$work/program" <<'END'
trap 'exit 42' USR1
echo life >> "lives.$SLURM_PROCID"
while :; do sleep 0.1; done
END
    start_steps -Q sh ../program
    every_variant all_begun
    for kind in plain restarting; do
        slurm scancel -s USR1 "$(job_of $kind-USR1).0"
    done
    all_end_like_plain
    [ "${code[plain-USR1]}" -eq 42 ] || fail "a plain step does not exit with 42"
}

# Submit a batch job for each variant, which runs the program.
submit_ways ()
{
    local variant

    for variant in "${variants[@]}"; do
        # shellcheck disable=SC2086  # several words
        slurm sbatch -Q --requeue -J "$(name_of "$variant")" -D "$work/$variant" -o "$work/$variant.out" -e "$work/$variant.err" -N2 -n3 ${options[$variant]} << 'END'
#!/bin/sh
srun sh ../program
END
    done
}

is_pending_or_gone ()
{
    [ -z "$(slurm squeue -h -n "$(name_of "$1")" -t RUNNING,COMPLETING -o %i)" ]
}

# bats test_tags=core
@test "a job whose batch script is cancelled (-b, --full), or that is requeued, is not restarted in place" {
    local kind

    make_ways script full requeue
    submit_ways
    every_variant all_begun
    for kind in plain restarting; do
        slurm scancel -b -s TERM "$(job_of $kind-script)"
        slurm scancel --full "$(job_of $kind-full)"
        slurm scontrol requeue "$(job_of $kind-requeue)"
    done
    timeout=60 every_variant is_pending_or_gone
    every_variant all_begun
    slurm scancel --user "$user" --quiet
}

# --- while a task waits for its next life

# Rank 0 waits as long as rank 1, which is asked to stop, does not end.
# bats test_tags=core,release
@test "while a task waits, its job is suspended and its node's slurmd is restarted" {
    local job slurmd

    site_arguments stop_grace=60
    slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-restart=1 sh -c "$begin"'
        case $SLURM_PROCID$life in
            00) until [ -e $LIVES/1 ]; do sleep 0.1; done; kill -9 $$ ;;
            10) trap "touch $LIVES/asked" TERM; until [ -e $LIVES/go ]; do sleep 0.1; done ;;
        esac' > "$work/out" 2>&1 3>&- &
    eventually 30 [ -e "$LIVES/asked" ]
    job=$(slurm squeue -h -u "$user" -o %i)
    "$tests/cluster" run -- scontrol suspend "$job"
    eventually 30 all_stopped
    slurmd=$(< "$SPANK_TF_CLUSTER/$(node 1).pid")
    kill "$slurmd"
    eventually 30 slurmd_has_ended
    "$tests/cluster" check || true
    "$tests/cluster" run -- scontrol resume "$job"
    touch "$LIVES/go"
    wait $! || fail "$(< "$work/out")"
    had_lives 2 2
}

# As ps shows them; one that cgroup v2 has frozen is asleep.
all_stopped ()
{
    [[ $proctrack = cgroup-v2 ]] || [ "$(ps -o stat= -p "$(pgrep -u "$user" -xd, tf-supervise)" | grep -c '^[TD]')" -eq 2 ]
}

slurmd_has_ended ()
{
    [[ $(ps -o stat= -p "$slurmd") != [^Z]* ]]
}

# --- options

# bats test_tags=core,release
@test "the value of a job counts in its steps, an option of srun before it, and the site's last" {
    cat > "$work/fails" <<'END'
echo life >> $LIVES/$1
[ ! "$SLURM_TF_RESTART" ] || [ $1 != inherited ] ||
    srun --overlap -n1 --tf-tasks=worker sh -c 'echo "$SLURM_TF_RESTART" > $LIVES/nested'
exit ${2-143}
END
    batch -N1 -n4 << 'END'
#!/bin/sh
#SBATCH --tf-tasks=worker --tf-restart=1
srun -n1 --exact sh ./fails inherited &
srun -n1 --exact --tf-restart=0 sh ./fails off &
srun -n1 --exact --tf-restart=1,any sh ./fails any 5 &
srun -n1 --exact --tf-tasks=none sh ./fails none &
wait
END
    [ "$(lives_of inherited off any none)" = "2 1 2 1" ] || fail "lives"
    [ "$(< "$LIVES/nested")" = "" ] || fail "the first life of a step inside of another life is a restart"
    run slurm salloc -Q -n1 --tf-restart=1 srun --tf-tasks=worker sh ./fails allocated
    site_arguments restart=2,any restart_backoff=1
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker \
        sh -c 'sh ./fails site || exit $((5 + ${SLURM_TF_RESTART-0}))'
    [ "$(grep -c 'Restarting .* in 1 s' <<< "$stderr")" -eq 2 ]
    run slurm srun -Q -n1 --tf-restart=0 --tf-tasks=worker sh ./fails site_off 5
    [ "$(lives_of allocated site site_off)" = "2 3 1" ] || fail "lives"
}

lives_of ()
{
    (cd "$LIVES" && wc -l "$@" | awk '$2 != "total" { print $1 }' | xargs)
}
