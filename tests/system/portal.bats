#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs that no sbatch, srun or salloc has submitted, so that no plugin has seen their options: as JSON to slurmrestd,
# as web portals do, and by scrontab. The list is in the job's environment, or in the script.

load launch

setup_file ()
{
    start_cluster --nodes 2 --conf ScronParameters=enable
}

after_test ()
{
    [[ ! -e $socket ]] || pkill -TERM -u "$user" slurmrestd || true
    rm -f "$socket"
    nothing_left
}

socket=$SPANK_TF_CLUSTER/work/rest

need_slurmrestd ()
{
    type -P slurmrestd > /dev/null || skip "slurmrestd is not installed"
    slurm_is_from 22.05 || skip "Slurm $(slurm_version) has an older JSON"
}

# Start the user's slurmrestd, which accepts no other user, and set $api to its newest interface. Up to 23.02 each has
# a plugin; then they are formats of one plugin. Those for slurmdbd do not start without it.
start_slurmrestd ()
{
    local plugins

    api=$(slurm bash -c 'slurmrestd -s list; slurmrestd -d list' 2>&1 | grep -o 'v0\.0\.[0-9]*' | sort -V | tail -n 1)
    plugins="-s openapi/$api"
    ! slurm_is_from 23.11 || plugins="-s openapi/slurmctld -d data_parser/$api"
    slurm bash -c "slurmrestd -a rest_auth/local $plugins unix:rest < /dev/null > rest.log 2>&1 &"
    eventually 20 answers || fail "slurmrestd does not answer: $(< "$SPANK_TF_CLUSTER/work/rest.log")"
}

answers ()
{
    [ -S "$socket" ] && slurm curl -sf -o /dev/null --unix-socket "$socket" "http://localhost/slurm/$api/ping"
}

# Submit the script on stdin as JSON, for two tasks on each of two nodes with these variables, and wait until the job
# has ended: rest_job [VARIABLE=VALUE…]. Sets $status, $output and $stderr, as batch does.
rest_job ()
{
    local work=$SPANK_TF_CLUSTER/work

    rm -f "$work/rest.out" "$work/rest.err"
    # The environment is an object up to v0.0.38, and then a list.
    python3 -c '
import json, sys
api, work, *environment = sys.argv[1:]
environment.insert(0, "PATH=/usr/bin:/bin")
if int(api.split(".")[-1]) <= 38:
    environment = dict(variable.split("=", 1) for variable in environment)
json.dump({"script": sys.stdin.read(),
           "job": {"name": "portal", "nodes": "2", "tasks": 4, "tasks_per_node": 2, "environment": environment,
                   "current_working_directory": work, "standard_output": work + "/rest.out",
                   "standard_error": work + "/rest.err"}}, sys.stdout, indent=2)' "$api" "$work" "$@" > "$work/job.json"
    slurm curl -s --unix-socket "$socket" -H 'Content-Type: application/json' --data-binary @job.json \
        "http://localhost/slurm/$api/job/submit" > "$work/answer.json"
    job=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["job_id"])' < "$work/answer.json") && ((job)) ||
        fail "slurmrestd refuses the job: $(< "$work/answer.json")"
    eventually 60 job_has_ended "$job" || fail "job $job does not end"
    status=$(slurm scontrol show job "$job" | sed -n 's/.* ExitCode=\([0-9]*\):.*/\1/p')
    output=$(< "$work/rest.out")
    stderr=$(< "$work/rest.err")
}

# The variable by which srun takes an option: variable --tf-tasks
variable ()
{
    local name=${1#--}

    echo "SLURM_SPANK__SLURM_SPANK_OPTION_spank_tf_${name//-/_}"
}

# Plugin: it is about variables of SPANK.
# bats test_tags=core,release,plugin
@test "slurmrestd: a list in the environment of a job is that of every srun in its script, and of nothing else" {
    need_slurmrestd
    start_slurmrestd
    rest_job "$(variable --tf-tasks)=ps,worker:3" <<END
#!/bin/bash
#SBATCH --tf-show
env | grep -E '^TF_CONFIG|^SLURM_TF_' || echo "no cluster in the script"
srun -Q $task_check --roles=ps,worker,worker,worker
srun -Q --export=NONE $task_check --roles=ps,worker,worker,worker
srun -Q --tf-tasks=worker:4 $task_check --roles=worker,worker,worker,worker
srun -Q --tf-tasks=none sh -c 'env | grep -E "^TF_CONFIG|^SLURM_TF_|SPANK_OPTION" || echo none'
srun -Q sh -c 'env | grep SPANK_OPTION || echo the task has no option'
END
    # --tf-show in a comment is sbatch's: slurmrestd reads no comments.
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a task is not ok"
    [ "$(grep -c ' ok digest=' <<< "$output")" -eq 12 ] || fail "not 12 tasks are ok"
    [ "$(sed -n 's/.* ok digest=//p' <<< "$output" | sort -u | wc -l)" -eq 3 ] || fail "not 3 dictionaries"
    [ "$(grep -cx none <<< "$output")" -eq 4 ] || fail "none does not switch the list off"
    [ "$(grep -cx "the task has no option" <<< "$output")" -eq 4 ] || fail "a task inherits the list"
    grep -qx "no cluster in the script" <<< "$output" || fail "the script has a cluster"
}

# Plugin: it is about variables of SPANK.
# bats test_tags=release,plugin
@test "slurmrestd: every other option is one in the environment, too" {
    local script option bad

    need_slurmrestd
    start_slurmrestd
    script="#!/bin/bash"
    for option in $("$SPANK_TF_PROGRAMS/print-options" | cut -f1 | grep '^--'); do
        # Neither a directory nor anything else that an option may be; an empty word is "auto" or "yes" to some.
        [[ $option == --tf-log-dir ]] && bad='' || bad=,
        script+=$'\n'"$(variable "$option")='$bad' srun -Q -n1 echo ran with a bad $option"
    done
    rest_job "$(variable --tf-tasks-per-node)=ps,worker:rest" "$(variable --tf-ports)=28000-28099" \
        "$(variable --tf-hold)=no" "$(variable --tf-show)=yes" "$(variable --tf-log-dir)=logs" \
        "$(variable --tf-timeout)=60" "$(variable --tf-network)=10.98.0.0/16" "$(variable --tf-ib)=no" \
        "$(variable --tf-stop)=workers" "$(variable --tf-restart)=1" "$(variable --tf-frameworks)=tf" <<END
$script
srun -Q $task_check --not-held --roles=ps,worker,ps,worker
END
    ! grep "ran with" <<< "$output" || fail "an option is not read"
    for option in $("$SPANK_TF_PROGRAMS/print-options" | cut -f1 | grep '^--'); do
        grep -q "^srun: error: spank_tf: $option: " <<< "$stderr" || fail "$option is not refused"
    done
    [ "$(cat "$SPANK_TF_CLUSTER"/work/logs/{ps,worker}{0,1}.log | grep -cE ':280[0-9]{2} ok digest=')" -eq 4 ] ||
        fail "not 4 tasks are ok, in log files, with these ports"
    grep -q "^spank_tf: step $job.0: 4 tasks on 2 nodes, network 10.98.0.0/16 (eth0)" <<< "$stderr" || fail "no table"
}

need_scrontab ()
{
    type -P scrontab > /dev/null || skip "scrontab is not installed"
}

# bats test_tags=release
@test "scrontab: an option in #SCRON, which the job would not have, is refused" {
    local option

    need_scrontab
    for option in --tf-tasks=ps,worker:2 --tf-show; do
        echo "#SCRON $option
* * * * * srun true" > "$SPANK_TF_CLUSTER/work/crontab"
        run slurm scrontab crontab
        [ "$status" -ne 0 ] || fail "scrontab accepts $option"
        grep -qxF "scrontab: error: spank_tf: ${option%=*}: scrontab does not pass it to the job; give it to srun, in the job's command" \
            <<< "$output" || fail "no reason"
    done
    [ -z "$(slurm squeue -h)" ] || fail "there is a job"
}

# At the next minute, and in the scheduler's next round.
# bats test_tags=release
@test "scrontab: a list behind srun" {
    local work=$SPANK_TF_CLUSTER/work

    need_scrontab
    cat > "$work/crontab" <<END
#SCRON --chdir=$work -N2 -n3 -o cron.out -e cron.err
* * * * * srun -Q --tf-tasks=ps,worker:2 $task_check --roles=ps,worker,worker; touch cron.end
END
    slurm scrontab crontab
    eventually 100 test -e "$work/cron.end" || fail "no job has run: $(slurm squeue)"
    slurm scrontab -r
    output=$(< "$work/cron.out") stderr=$(< "$work/cron.err") status=0
    all_tasks_ok ps,worker,worker
}
