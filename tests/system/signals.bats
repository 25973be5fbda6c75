#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every signal that is sent to a step, or to srun, reaches the programs exactly as in a plain
# step: the same signals, as often, and with a supervisor between slurmstepd and the program,
# too.

# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,proctrack:linuxproc,proctrack:pgid
load launch
load variants
load signals

# A list with supervisors that stops no task. From a task that only serves, SIGTERM is withheld: see
# ending.bats.
options[supervised]=--tf-tasks=worker:rest,evaluator
# A step that is signalled is not restarted.
variants+=(restarting)
options[restarting]='--tf-tasks=worker:rest,evaluator --tf-restart=9'

setup_file ()
{
    start_cluster --nodes 2 --cpus 32 --conf PreemptType=preempt/partition_prio \
        --conf PreemptMode=CANCEL --conf "PartitionName=urgent Nodes=ALL PriorityTier=9" \
        --conf "PartitionName=patient Nodes=ALL PriorityTier=1 GraceTime=600"
}

before_test ()
{
    make_recorders
    # proctrack/cgroup sends signals, except KILL and STOP, only to the first process of a task.
    [[ $proctrack != cgroup* ]] || receivers=(program)
}

after_test ()
{
    site_arguments
    end_variants
}

# bats test_tags=core,release
@test "every signal that is sent to a step is received once" {
    local signal

    start_steps ../record-signals
    all_recording
    for signal in "${signals[@]}"; do
        for_every_step scancel -s "$signal"
        programs_receive 3 "$signal"
    done
    received_once "${signals[@]}"
}

@test "every signal that is sent to a job is received once" {
    local signal

    start_steps ../record-signals
    all_recording
    for signal in USR1 TERM INT CONT 40; do
        for_every_job scancel -s "$signal"
        programs_receive 3 "$signal"
    done
    received_once USR1 TERM INT CONT 40
}

# bats test_tags=core,release
@test "signals in quick succession: none is lost, none is received twice" {
    start_steps ../record-signals
    all_recording
    for variant in "${variants[@]}"; do
        slurm sh -c 'for signal in HUP USR1 40 40 USR2 40 URG 40 TERM; do scancel -s $signal $1; done' - "$(job_of "$variant").0"
    done
    for signal in HUP USR1 USR2 URG TERM; do
        programs_receive 3 $signal
    done
    every_variant received_40 $((12 * ${#receivers[@]}))
    received_once HUP USR1 40 40 USR2 40 URG 40 TERM
}

received_40 ()
{
    [ "$(grep -c ' 40$' "$work/$2/received")" -ge "$1" ]
}

# bats test_tags=core,release,by-run
@test "signals that srun forwards are received once" {
    start_steps -v ../record-signals
    all_recording
    all_tasks_started
    for signal in USR1 USR2; do
        kill -$signal "${srun[@]}"
        programs_receive 3 $signal
    done
    received_once USR1 USR2
}

# As "kill 0" in a shell does; the sender has exited before its process id can be looked up.
# bats test_tags=core,release
@test "a signal from a process to its own process group is received once by every member" {
    cat > "$work/signal-group" <<'END'
import os, signal

signal.pthread_sigmask(signal.SIG_BLOCK, [40])
for i in range(20):
    if not os.fork():
        os.kill(0, 40)
        os._exit(0)
    os.wait()
END
    start_steps sh -c '
        if [ $SLURM_PROCID = 0 ]; then
            until [ "$(cat parents | wc -l)" = 6 ]; do sleep 0.1; done
            python3 ../signal-group
        fi & exec ../record-signals'
    all_recording
    every_variant received_40 80
    end_recording
    same_as_plain received
    [ "$(grep -c " 40$" "$work/plain/received")" -eq 80 ]
}

@test "a signal from another process to a process group is received once by every member" {
    local recorder

    receivers=(program child)
    start_steps ../record-signals
    all_recording
    # The tasks of a step on one node are one process group.
    for recorder in $(pgrep -u "$user" -x record-signals); do
        ps -o pgid= -p "$recorder"
    done | sort -u > "$work/groups"
    [ "$(wc -l < "$work/groups")" -eq $((2 * ${#variants[@]})) ] || fail "groups: $(ps -u "$user" -o pid,ppid,pgid,comm)"
    slurm sh -c 'while read -r group; do env kill -USR1 -- -$group; done < groups'
    programs_receive 3 USR1
    received_once USR1
}

# --- SIGSTOP and SIGCONT

# Are so many programs and children, of all steps, stopped or frozen?
stopped_processes ()
{
    local pid

    [ "$(for pid in $(pgrep -u "$user" -x record-signals); do state_of "$pid"; done | grep -c '^[TD]')" -eq "$1" ]
}

# As ps, which shows a process that cgroup v2 has frozen as sleeping; it is D here.
state_of ()
{
    local cgroup

    cgroup=$(sed -n 's/^0:://p' "/proc/$1/cgroup")
    if cat /sys/fs/cgroup/{,unified/}"$cgroup/cgroup.events" 2> /dev/null | grep -q '^frozen 1'; then
        echo D
    else
        ps -o stat= -p "$1"
    fi
}

# bats test_tags=core,release
@test "STOP stops every program, and CONT continues it" {
    start_steps ../record-signals
    all_recording
    for_every_job scancel -s STOP
    eventually 30 stopped_processes $((6 * ${#variants[@]}))
    for_every_job scancel -s CONT
    eventually 30 stopped_processes 0
    programs_receive 3 CONT
    received_once CONT
}

# bats test_tags=core,release
@test "a job is suspended and resumed" {
    start_steps ../record-signals
    all_recording
    for_every_job scontrol suspend
    eventually 30 stopped_processes $((6 * ${#variants[@]}))
    for_every_job scontrol resume
    eventually 30 stopped_processes 0
    programs_receive 3 CONT
    end_recording
    same_as_plain received
}

# --- scancel

# bats test_tags=core,release
@test "scancel of a step: its programs are killed" {
    start_steps ../record-signals
    all_recording
    for_every_step scancel
    all_end 137
}

@test "scancel of a job: a program that ignores TERM is killed" {
    start_steps ../record-signals
    all_recording
    slurm scancel --user "$user"
    all_end
    grep -q ' program TERM$' "$work/plain/received"
    same_as_plain received
}

# --- batch jobs

# Submit a batch job for each variant, in the directory $work and with these options of sbatch,
# whose step and script record signals.
submit_variants ()
{
    local variant

    for variant in "${variants[@]}"; do
        install -d -o "$user" "$work" "$work/$variant"
        # shellcheck disable=SC2086  # several words
        slurm sbatch -Q -J "$(name_of "$variant")" -D "$work/$variant" -o "$work/$variant.out" -e "$work/$variant.err" -N2 -n3 ${options[$variant]} "$@" << END
#!/bin/bash
trap 'echo script received USR1 >> received' USR1
srun $SPANK_TF_CLUSTER/work/record-signals &
while kill -0 \$!; do wait \$!; done
END
    done
}

script_received ()
{
    grep -q script "$work/$1/received" 2> /dev/null
}

# bats test_tags=core,release
@test "scancel -b signals the batch script; without it, the steps are signalled" {
    submit_variants
    all_recording
    for_every_job scancel -b -s USR1
    every_variant script_received
    for_every_job scancel -s USR2
    programs_receive 3 USR2
    enough
    eventually 30 no_job_left
    [ "$(sort "$work/plain/received" | grep -v child)" = $'0 program USR2\n1 program USR2\n2 program USR2\nscript received USR1' ]
    same_as_plain received
}

# At a time limit or a preemption Slurm sends TERM, CONT and TERM so quickly that a program may
# receive TERM once or twice. Require that, and every other signal once.
asked_to_end ()
{
    local variant

    programs_receive 3 TERM
    programs_receive 3 CONT
    enough
    all_end
    for variant in "${variants[@]}"; do
        [ "$(received "$variant" | grep TERM$ | awk '$1 > 2')" = "" ] || fail "$variant: $(received "$variant")"
    done
    same_as_plain received_except TERM
    [ "$(received_except TERM plain | grep program | xargs)" = "1 0 program CONT 1 1 program CONT 1 2 program CONT" ]
}

# Wait until the jobs in $work have ended in this state: jobs_end_as STATE
jobs_end_as ()
{
    every_variant job_ends_as "$1"
}

job_ends_as ()
{
    slurm squeue -h -t "$1" -o %j | grep -qx "$(name_of "$2")"
}

end_times ()
{
    local variant

    for variant in "${variants[@]}"; do
        "$tests/cluster" run -- scontrol update "EndTime=$1" "jobid=$(job_of "$variant")"
    done
}

# Slurm checks time limits every 30 seconds, so one test covers all of them.
@test "time limits, and sbatch --signal with and without B:" {
    local all=$work timeout=90

    work=$all/step submit_variants -t 60 --signal=USR1@600
    work=$all/script submit_variants -t 60 --signal=B:USR1@600
    mkdir "$all/limit" && install -d -o "$user" "${variants[@]/#/$all/limit/}"
    work=$all/limit start_steps -t 60 "$all/record-signals"
    for work in "$all"/{step,script,limit}; do
        all_recording
    done
    work=$all/step end_times now+600
    work=$all/script end_times now+600
    # slurmctld refuses a time that is over when it hears of it.
    work=$all/limit end_times now+5

    # First the jobs that Slurm kills soon.
    work=$all/limit
    asked_to_end
    jobs_end_as TIMEOUT
    work=$all/step
    programs_receive 3 USR1
    work=$all/script
    every_variant script_received
    for work in "$all"/{step,script}; do
        enough
    done
    eventually 30 no_job_left
    [ "$(< "$work/plain/received")" = "script received USR1" ]
    for work in "$all"/{step,script}; do
        same_as_plain received
    done
    work=$all/step
    [ "$(received plain | grep -E 'USR1|script' | grep -v child | xargs)" = "1 0 program USR1 1 1 program USR1 1 2 program USR1" ]
}

# --- ends that are announced by SIGTERM

@test "preemption of a job: its programs receive TERM" {
    local urgent

    start_steps ../record-signals
    all_recording
    slurm srun -Q -p urgent -N2 --exclusive true 3>&- &
    urgent=$!
    asked_to_end
    jobs_end_as PREEMPTED
    wait $urgent
}

# --- what the logs have of such an end

# Submit a job, $job, whose step has log files in $work/logs.JOB, and wait until its tasks run.
submit_logged ()
{
    cat > "$work/logged" <<'END'
#!/bin/sh
srun -Q --tf-log-dir=logs.%j --tf-tasks=worker:2 sh -c 'trap "exit 143" TERM; echo begins; while :; do sleep 0.1; done'
END
    job=$(slurm sbatch --parsable -D "$work" -N2 -n2 -o "out.%j" "$@" "$work/logged")
    eventually 30 logged_begins || fail "job $job does not begin: $(cat "$work"/out.*)"
}

logged_begins ()
{
    [ "$(cat "$work/logs.$job"/worker[01].log 2> /dev/null | grep -c begins)" -eq 2 ]
}

# Wait until the logs of $job have their end, and require that it is right.
logs_end ()
{
    local log=$work/logs.$job wrong='lost|goes on'

    eventually 60 tasks_end "$log" || fail "$1: the logs have no end: $(cat "$log"/*.log "$work/out.$job")"
    # With other types Slurm kills srun, and tf-rendezvous, when it has killed the batch script.
    if [[ $proctrack = linuxproc ]]; then
        eventually 10 grep -q 'step .* was cancelled' "$log/master.log" || fail "$1: master.log has no end: $(cat "$log/master.log")"
        wrong+='|not known'
    fi
    ! grep -E "$wrong" "$log/master.log" "$work/out.$job" || fail "$1: something is lost"
}

# Each task's log in the directory says once that it was asked to end.
tasks_end ()
{
    [ "$(grep -cE '^spank_tf: step [0-9.]+: asked to end \(SIGTERM\) at [0-9T:+-]{25}$' "$1"/worker[01].log | sed 's/.*://' | xargs)" = "1 1" ]
}

# bats test_tags=core
@test "master.log and each task's log say how a batch job ends that is cancelled" {
    submit_logged
    slurm scancel "$job"
    logs_end cancelled
}

@test "... that is requeued or preempted" {
    local urgent

    submit_logged --requeue
    slurm scontrol requeue "$job"
    logs_end requeued
    slurm scancel "$job"
    submit_logged
    slurm srun -Q -p urgent -N2 --exclusive true 3>&- &
    urgent=$!
    logs_end preempted
    wait $urgent
}

@test "... that reaches its time limit" {
    submit_logged -t 60
    "$tests/cluster" run -- scontrol update EndTime=now+5 "jobid=$job"
    logs_end limited
}

set_kill_wait ()
{
    sed -i "s/^KillWait=.*/KillWait=$1/" "$SPANK_TF_CLUSTER/slurm.conf"
    "$tests/cluster" run -- scontrol reconfigure
}

# With most types Slurm kills srun, and tf-rendezvous, as soon as the script has ended.
@test "a batch job that is cancelled leaves its nodes when its programs have ended, and not after KillWait" {
    set_kill_wait 60
    submit_logged
    slurm scancel "$job"
    eventually 30 job_has_ended "$job" || fail "$(slurm squeue)"
    set_kill_wait 5
}

# bats test_tags=core
@test "Ctrl-C interrupts a step, which says where its logs are; none of its tasks is lost" {
    local program='trap "" INT; echo begins; while :; do sleep 0.1; done'

    job=interrupted
    mkfifo "$work/keys"
    slurm timeout 60 script -qefc "srun -N2 -n2 --tf-tasks=worker:2 --tf-show --tf-log-dir=$work/logs.$job sh -c '$program'" /dev/null \
        < "$work/keys" > "$work/out" 2>&1 3>&- &
    exec {keys}> "$work/keys"
    eventually 30 logged_begins || fail "it does not begin: $(< "$work/out")"
    printf '\003' >&"$keys"
    eventually 10 grep -q 'interrupt (one more' "$work/out" || fail "srun does not hear of it: $(< "$work/out")"
    printf '\003' >&"$keys"
    wait $! || true
    exec {keys}>&-
    eventually 10 grep -q "logs are in $work/logs.$job" "$work/out" || fail "not where the logs are: $(< "$work/out")"
    grep -q 'spank_tf: step .* was interrupted' "$work/out" || fail "not that it was interrupted: $(< "$work/out")"
    [ "$(grep -c 'worker [01] .* signal 9' "$work/logs.$job/master.log")" -eq 2 ] || fail "another table: $(< "$work/logs.$job/master.log")"
    ! grep -E 'lost|not known' "$work/out" "$work/logs.$job/master.log" || fail "something is lost"
}

# --- more

# Write a program that records each SIGTERM, and exits EXIT_AFTER seconds after the first. Rank 0
# runs the commands RANK_0 instead, if there are any.
write_exits_later ()
{
    cat > "$work/exits-later" <<'END'
trap 'echo TERM >> term.$SLURM_PROCID' TERM
: > ready.$SLURM_PROCID
[ $SLURM_PROCID != 0 ] || eval "$RANK_0"
until [ -e term.$SLURM_PROCID ]; do sleep 0.1; done
for i in $(seq "${EXIT_AFTER}0"); do sleep 0.1; done
echo exit > exit.$SLURM_PROCID
exit 5
END
}

ready ()
{
    [ "$(find "$work/$1" -name 'ready.*' | wc -l)" -eq 3 ]
}

# How often each rank has received SIGTERM, and which ranks have exited by themselves.
terms_and_exits ()
{
    (cd "$work/$1" && grep . term.* exit.* | sort)
}

# bats test_tags=core,release
@test "scancel of a job: programs receive TERM once, and can exit in their own time" {
    write_exits_later
    EXIT_AFTER=1 start_steps sh ../exits-later
    every_variant ready
    slurm scancel --user "$user"
    all_end 5
    [ "$(terms_and_exits plain | wc -l)" -eq 6 ]
    same_as_plain terms_and_exits
}

# RANK_0 waits for the others' SIGTERM: Slurm may send it after the ps has exited.
@test "scancel of a job: workers can exit in their own time, also when their ps has ended before" {
    options[supervised]=--tf-tasks=ps,worker:rest
    options[restarting]="--tf-tasks=ps,worker:rest --tf-restart=9"
    write_exits_later
    site_arguments stop_grace=0
    EXIT_AFTER=2 RANK_0='until [ -e term.1 ] && [ -e term.2 ]; do sleep 0.1; done
        sleep 0.5; trap - TERM; kill -TERM $$' start_steps sh ../exits-later
    every_variant ready
    slurm scancel --user "$user"
    all_end 143
    # A ps does not get SIGTERM before its workers have ended.
    rm -f "$work"/*/term.0
    [ "$(terms_and_exits plain | xargs)" = "exit.1:exit exit.2:exit term.1:TERM term.2:TERM" ]
    same_as_plain terms_and_exits
}

# --- SIGTERM as a warning

# Start a step for each variant, whose programs survive SIGTERM. When all three tasks have had it, rank 1
# saves its work for longer than KillWait, and at the end needs an answer from each of the others. Where
# that takes a ps, rank 0 is one: start_saving OPTION…
start_saving ()
{
    variants=(plain supervised restarting with_chief)
    options[supervised]=--tf-tasks=ps,worker:rest
    options[restarting]='--tf-tasks=ps,worker:rest --tf-restart=9'
    options[with_chief]=--tf-tasks=ps,chief,worker
    install -d -o "$user" "${variants[@]/#/$work/}"
    site_arguments stop_grace=0
    cat > "$work/saves" <<'END'
await () { until [ -e "$1" ]; do sleep 0.1; done; }
trap 'echo TERM >> term.$SLURM_PROCID' TERM
: > ready.$SLURM_PROCID
if [ $SLURM_PROCID = 1 ]; then
    for rank in 0 1 2; do await term.$rank; done
    for i in $(seq 60); do sleep 0.1; done
    : > ask
    await answer.0
    await answer.2
    : > saved
    exit 42
fi
await ask
: > answer.$SLURM_PROCID
await saved
END
    start_steps "$@" sh ../saves
    every_variant ready
}

# bats test_tags=core,release
@test "scancel -s TERM: a task that survives it saves with the help of all others, for as long as it needs" {
    start_saving
    for_every_step scancel -s TERM
    all_end 42
}

@test "--signal=TERM@600: the same" {
    # shellcheck disable=SC2034  # for every_variant
    local timeout=90

    start_saving -t 60 --signal=TERM@600
    end_times now+600
    all_end 42
}

@test "preemption with GraceTime: the same" {
    local urgent

    start_saving -p patient
    slurm srun -Q -p urgent -N2 --exclusive true 3>&- &
    urgent=$!
    all_end 42
    wait $urgent
}

# --- ends of srun

@test "srun receives TERM: the step ends" {
    start_steps -v ../record-signals
    all_recording
    all_tasks_started
    kill -TERM "${srun[@]}"
    all_end 137
}

# bats test_tags=core,release
@test "srun is killed: the step ends" {
    start_steps ../record-signals
    all_recording
    kill -KILL "${srun[@]}"
    eventually 30 no_process_left
    all_end 137
}

# --- Ctrl-C

record_on_terminals ()
{
    start_on_terminals -v "$@" ../record-signals
    all_recording
    all_tasks_started
}

# Plugin: tf-run does not know the step's number, which the command line of tf-rendezvous has here.
# bats test_tags=core,release,plugin
@test "Ctrl-C once: srun prints the state of the tasks, which receive no signal" {
    local variant

    record_on_terminals
    type_in '\003'
    every_variant printed 'srun: interrupt \(one more within 1 sec to abort\)'
    every_variant printed 'srun: StepId=[0-9]+\.0 tasks 0-2: running'
    for variant in supervised restarting; do
        pgrep -r D,R,S -u "$user" -xf "tf-rendezvous $(job_of $variant).0" > /dev/null || fail "$variant: tf-rendezvous has ended"
    done
    end_recording
    same_as_plain received
    [ ! -e "$work/plain/received" ]
}

# bats test_tags=core,release
@test "-X: one Ctrl-C is received once" {
    record_on_terminals -X
    type_in '\003'
    programs_receive 3 INT
    received_once INT
}

# Slurm may send WINCH more than once.
# bats test_tags=core,release
@test "--pty: Ctrl-C, Ctrl-\\, Ctrl-Z and a change of size reach the task on the terminal" {
    local variant

    record_on_terminals --pty
    receivers=(program child)
    type_in '\003'
    programs_receive 1 INT
    type_in '\034'
    programs_receive 1 QUIT
    type_in '\032'
    programs_receive 1 TSTP
    for variant in "${variants[@]}"; do
        slurm stty -F "$(< "$work/$variant/tty")" rows 33
    done
    programs_receive 1 WINCH
    end_recording
    same_as_plain received_except WINCH
    [ "$(received_except WINCH plain | xargs)" = "1 0 child INT 1 0 child QUIT 1 0 child TSTP 1 0 program INT 1 0 program QUIT 1 0 program TSTP" ]
}

# Require that all programs were killed; before that, some may have received INT, once.
interrupted_and_killed ()
{
    local variant

    all_end 137
    for variant in "${variants[@]}"; do
        [ "$(received "$variant" | grep -vE '^ *1 [0-2] (program|child) INT$')" = "" ] || fail "$variant: $(received "$variant")"
    done
}

ctrl_c_twice ()
{
    printed 'srun: sending Ctrl-C to StepId=[0-9]+\.0' "$1" || { printf '\003' >&"${keys[$1]}" && false; }
}

@test "Ctrl-C twice within a second: the step ends" {
    record_on_terminals
    every_variant ctrl_c_twice
    interrupted_and_killed
}

@test "--quit-on-interrupt: the first Ctrl-C ends the step" {
    record_on_terminals --quit-on-interrupt
    type_in '\003'
    interrupted_and_killed
}
