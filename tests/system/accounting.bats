#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Slurm's database records the same for a step with the plugin as for a plain step, whether its
# tasks end by themselves or are supervised. A task that the plugin stops counts as exit 0.

load launch

# Debian 13 has an slurmdbd that ends at once with the library of its MariaDB 11.8.9: error 5027, no column is allowed.
cannot_query='_check_mysql_concat_is_sane: null result from query'

setup_file ()
{
    if ! start_cluster --accounting --nodes 2 2> "$BATS_FILE_TMPDIR/start"; then
        cat "$BATS_FILE_TMPDIR/start" >&2
        grep -q "$cannot_query" "$BATS_FILE_TMPDIR/start" || return
        stop_cluster
        unset SPANK_TF_CLUSTER
        export why_no_database="this slurmdbd cannot query this MariaDB: $cannot_query"
        return
    fi
    # task LAST OTHERS: the last rank runs LAST when all other ranks are running; the other ranks
    # run OTHERS, in which `here` says that they are running.
    cat > "$SPANK_TF_CLUSTER/work/task" <<'END'
ulimit -c 0
last=$((SLURM_STEP_NUM_TASKS - 1))
here () { : > "here.$SLURM_JOB_ID.$SLURM_PROCID"; }
[ "$SLURM_PROCID" -eq $last ] || eval "$2"
until [ "$(ls | grep -c "^here\.$SLURM_JOB_ID\.")" -eq $last ]; do sleep 0.1; done
eval "$1"
END
    # Uses 200 MB, and 2 s of CPU time.
    cat > "$SPANK_TF_CLUSTER/work/busy" <<'END'
import os, time
block = b"x" * (200 << 20)
while time.process_time() < 2:
    pass
while not os.path.exists("seen"):
    time.sleep(0.1)
END
}

# OTHERS that exit by themselves, and OTHERS that the plugin has to stop.
leave='here; exit 0'
stay='here; exec sleep 600'

before_test ()
{
    [[ ! ${why_no_database-} ]] || skip "$why_no_database"
}

after_test ()
{
    [[ ! ${why_no_database-} ]] || return 0
    slurm scancel --user "$user" --quiet
    site_arguments
    nothing_left
}

# --- what sacct prints

# Print the script of a job with one step: step_of ROLES LAST OTHERS OPTION… Without options of
# the plugin, ROLES only gives the number of tasks.
step_of ()
{
    local roles=${1//[^,]/}

    printf '%s\n' '#!/bin/bash' "srun -Q -n$((${#roles} + 1)) ${*:4} sh task '$2' '$3'"
}

# Are the job, its batch script and its step recorded with their final states?
all_recorded ()
{
    local states

    states=$(slurm sacct -n -X -P -j "$job" -o State; slurm sacct -n -P -j "$job.batch,$job.0" -o State)
    [ "$(grep -cvE '^(PENDING|RUNNING|COMPLETING)' <<< "$states")" -eq 3 ]
}

# Run the job that step_of prints; $record is what sacct prints of the job, its script and its
# step.
account ()
{
    batch -N2 -n4 < <(step_of "$@")
    eventually 60 all_recorded || fail "the record is incomplete: $(slurm sacct -P -j "$job")"
    record=$(slurm sacct -n -P -j "$job" -o JobID,State,ExitCode,NTasks,NNodes | sed "s/^$job//")
}

# Require that a step with these roles is recorded like a plain step whose other ranks exit by
# themselves, with the exit code EXPECTED: as_plain EXPECTED ROLES LAST OTHERS
as_plain ()
{
    local plain

    account "$2" "$3" "$leave"
    plain=$record
    account "$2" "$3" "$4" --tf-tasks="$2"
    grep -qxE "\.0\|[^|]*\|$1\|.*" <<< "$record" || fail "the step's exit code is not $1: $record"
    [ "$record" = "$plain" ] || fail "recorded is $record; of a plain step, $plain"
}

# --- the resources that tasks use

number ()
{
    [[ $1 =~ ^[0-9]+$ ]]
}

# Does sstat show the memory of the job's step while it runs?
memory_seen ()
{
    local bytes

    bytes=$(slurm sstat -n -P --noconvert -j "$job.0" -o MaxRSS 2> /dev/null)
    number "$bytes" && ((bytes >= 200 << 20))
}

# Require that sstat, and later sacct, show what the busy last rank uses, and count it once:
# usage_is_recorded ROLES OTHERS
usage_is_recorded ()
{
    local -a used

    rm -f "$SPANK_TF_CLUSTER/work/seen"
    job=$(step_of "$1" "/usr/bin/python3 busy" "$2" --tf-tasks="$1" |
        slurm sbatch --parsable -N2 -n4 -o busy.%j)
    eventually 60 memory_seen || fail "sstat: $(slurm sstat -P -j "$job.0" -o MaxRSS)"
    touch "$SPANK_TF_CLUSTER/work/seen"
    eventually 60 job_has_ended "$job" || fail "job $job does not end"
    eventually 60 all_recorded || fail "the record is incomplete: $(slurm sacct -P -j "$job")"
    output=$(slurm sacct -n -P --noconvert -j "$job.0" -o MaxRSS,MaxRSSTask,TotalCPU)
    IFS='|:' read -ra used <<< "$output"
    number "${used[0]}" && ((used[0] >= 200 << 20 && used[0] < 250 << 20)) || fail "memory is not 200 MB"
    [ "${used[1]}" = 1 ] || fail "not the memory of rank 1"
    [ "${used[2]}" = 00 ] && [[ ${used[3]} == 0[23].* ]] || fail "CPU time is not 2 s"
}

# --- tasks that end by themselves

# bats test_tags=core
@test "workers that exit with 0" {
    as_plain 0:0 worker,worker true "$leave"
}

@test "memory and CPU time of a worker" {
    usage_is_recorded worker,worker 'here; until [ -e seen ]; do sleep 0.1; done; exit 0'
}

# --- tasks that are supervised

# bats test_tags=core
@test "a ps is stopped when the worker exits with 0" {
    as_plain 0:0 ps,worker true "$stay"
}

# bats test_tags=core
@test "a ps and a worker are stopped when the chief fails" {
    as_plain 3:0 ps,worker,chief 'exit 3' "$stay"
}

@test "a worker is stopped when the ps fails" {
    as_plain 3:0 worker,ps 'exit 3' "$stay"
}

@test "a ps exits with a code of its own when it is stopped" {
    as_plain 0:0 ps,worker true 'trap "exit 5" TERM; sleep 600 & here; wait'
}

@test "a ps that has to be killed" {
    site_arguments stop_grace=1
    as_plain 0:0 ps,worker true 'trap "" TERM; here; while true; do sleep 1; done'
}

@test "memory and CPU time of a supervised worker" {
    usage_is_recorded ps,worker "$stay"
}
