#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs that are requeued to go on: --tf-requeue (doc/guide/longer-than-the-limit.md), and doc/guide/preemption.md's recipe for
# jobs that exit with 42, where Slurm has --requeue=expedite.
#
# Slurm's limits are whole minutes, so tasks are asked to save some seconds after their start.

# bats file_tags=slow

load launch
load nodes

setup_file ()
{
    local -a expedite=()

    ! slurm_is_from 25.11 || expedite=(--conf SlurmctldParameters=enable_expedited_requeue)
    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    # Exit code 42 is Slurm's reason for a requeue, too, and so are urgent jobs.
    # A requeued job waits until its credentials have expired, by default two minutes.
    start_cluster --nodes 5 --conf RequeueExit=42 --conf "AuthInfo=socket=$SPANK_TF_CLUSTER/munge/socket,cred_expire=5" \
        --conf PreemptType=preempt/partition_prio --conf PreemptMode=REQUEUE --conf "PartitionName=low Nodes=ALL GraceTime=60" \
        --conf "PartitionName=urgent Nodes=ALL PriorityTier=9" "${expedite[@]}"
    # program HOW RUN: a training that says its steps, and saves them when it is asked to. In the job's RUN-th run it is done.
    # HOW: goes-on; forgets (it begins again at step 0); fails (it exits with 1 when it is asked).
    cat > "$SPANK_TF_CLUSTER/work/program" <<'END'
import os, signal, socket, sys, time

how, last = sys.argv[1], int(sys.argv[2])
role, run = os.environ["SLURM_TF_ROLE"], int(os.environ.get("SLURM_RESTART_COUNT", 0)) + 1
job = os.environ.get("SLURM_ARRAY_JOB_ID", "") + os.environ["SLURM_JOB_ID"]
checkpoint = "checkpoint.%s.%s" % (job, os.environ["SLURM_TF_INDEX"])
asked = []
signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.connect(os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1)) if "NOTIFY_SOCKET" in os.environ else None
step, begin = 0, time.time()
served = "checkpoint.%s.0.ps" % job
if role == "ps" and os.path.exists(served):
    os.remove(served)
if how != "forgets" and os.path.exists(checkpoint):
    step = int(open(checkpoint).read())
if role == "worker":
    print("begins at step", step, "in run", run, "on", os.environ["SLURMD_NODENAME"], flush=True)
while True:
    time.sleep(0.1)
    if asked and role == "ps":
        open(served, "w").write("the workers are gone")
        sys.exit(0)
    step += how != "forgets" or step < 5
    if "NOTIFY_SOCKET" in os.environ:
        notify.send(b"WATCHDOG=1\nSTATUS=step %d" % step)
    if run >= last and time.time() - begin > 1 and role != "ps":
        sys.exit(0)
    if asked and role != "ps":
        time.sleep(1)
        open(checkpoint, "w").write(str(step))
        sys.exit(1 if how == "fails" or os.path.exists(served) else 42)
END
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 ! -name program -delete
}

after_test ()
{
    reconnect_nodes
    site_arguments
    nothing_left
}

# Submit a job of this name, with a limit of a minute, whose srun gets the options --tf-..., and runs the program:
# job NAME HOW RUN OPTION…. $tail comes after srun; the script's own code is 1, so that no other requeue is Slurm's.
job ()
{
    local option
    local -a ours=(--tf-watchdog=600) theirs=()

    for option in "${@:4}"; do
        [[ $option == --tf-* ]] && ours+=("$option") || theirs+=("$option")
    done
    slurm sbatch --parsable -J "$1" -o "$work/$1.out" -t 1 --requeue --open-mode=append "${theirs[@]}" <<END
#!/bin/sh
srun -Q ${ours[*]} ${srun-} python3 $work/program $2 $3
${tail-exit 1}
END
}

# The job has ended; its state, and how often it was requeued: ended JOB STATE RESTARTS
ended ()
{
    job=$1
    eventually 90 job_has_ended "$1" || fail "it does not end: $(slurm scontrol show job "$1") $(tail -n 40 "$work"/*.out)"
    job_shows "JobState=$2" && job_shows "Restarts=$3 " || fail "it is $(slurm scontrol show job "$1") $(tail -n 40 "$work"/*.out)"
}

prints ()                   # NAME TEXT
{
    grep -qE -e "$2" "$work/$1.out" || fail "$1.out lacks \"$2\": $(< "$work/$1.out")"
}

prints_not ()
{
    ! grep -qE -e "$2" "$work/$1.out" || fail "$1.out has \"$2\": $(< "$work/$1.out")"
}

# bats test_tags=core,release
@test "--tf-requeue: a job goes on in three runs, the ps serves until the workers have saved, and the time report adds up" {
    tail='code=$?; [ $code != 42 ] || scontrol requeue $SLURM_JOB_ID; exit $code'
    id=$(job chain goes-on 3 -N3 -n3 --comment=mine --exclude="$(node 4)" --tf-requeue=45 --tf-tasks=ps,worker:2)
    ended "$id" COMPLETED 2
    prints chain 'begins at step 0 in run 1'
    prints chain 'begins at step [1-9][0-9]* in run 3'
    prints chain 'the job ends in 4[0-9] s, so the tasks are asked to save \(SIGTERM\), and the job is then requeued'
    prints chain 'the tasks have saved in run 2 of the job, training step [0-9]+. The job is requeued$'
    prints chain 'all 2 runs of the job: .* new training steps'
    prints chain 'all 3 runs of the job: .* new training steps'
    prints_not chain 'error: spank_tf'
    # It was asked when its workers had ended, and not before: in the last run by a stop.
    compgen -G "$work/checkpoint.*.0.ps" > /dev/null || fail "the ps was not asked"
    job_shows "Comment=mine \[spank_tf RUNS=2 STEP=" && job_shows "ExcNodeList=$(node 4)\$" || fail "it is $(slurm scontrol show job "$id")"
}

# All at once.
# bats test_tags=core
@test "... not after a task that has not saved, nor after a run that was stuck or short, nor after a signal of Slurm's" {
    fails=$(job fails fails 9 -n2 --tf-requeue=45 --tf-tasks=worker:2)
    # srun waits for a requeue that takes a while, and is tried again if Slurm does not answer: when its script has
    # ended, the job cannot be requeued any more.
    mkdir "$work/bin"
    printf '#!/bin/sh\n[ "$1" != requeue ] || { mkdir %s/silent && exec sleep 60; sleep 4; }\nexec %s "$@"\n' "$work" \
        "$(command -v scontrol)" > "$work/bin/scontrol"
    chmod 755 "$work/bin/scontrol"
    stuck=$(PATH=$work/bin:$PATH job stuck forgets 9 -n2 --tf-requeue=45 --tf-tasks=worker:2)
    short=$(job short goes-on 9 -n2 --tf-requeue=45 --tf-tasks=worker:2 --tf-watchdog=0)
    # Its time was over before all had saved.
    mkdir "$work/late"
    printf '#!/bin/sh\n[ "$1" != show ] || [ ! -e %s/checkpoint.$3.0 ] || exec sh -c "%s show job $3 | sed s/=RUNNING/=COMPLETING/"\nexec %s "$@"\n' \
        "$work" "$(command -v scontrol)" "$(command -v scontrol)" > "$work/late/scontrol"
    chmod 755 "$work/late/scontrol"
    late=$(PATH=$work/late:$PATH job late goes-on 9 -n2 --tf-requeue=45 --tf-tasks=worker:2)
    asked=$(job asked goes-on 9 -n2 --tf-requeue=30 --tf-tasks=worker:2)
    eventually 30 grep -q "begins" "$work/asked.out" || fail "it does not begin"
    slurm scancel --signal=TERM "$asked.0"
    ended "$fails" FAILED 0
    ended "$short" FAILED 0
    ended "$late" FAILED 0
    ended "$asked" FAILED 0
    ended "$stuck" FAILED 1
    prints fails 'the job is not requeued, because worker [01] \(rank [01], [^ ]*\) failed with exit code 1 after the tasks were asked to save'
    prints stuck 'the job is not requeued, because this run reached training step 5, and the run before reached 5'
    prints late 'error: spank_tf: step [0-9]*.0: the job could not be requeued: the job is COMPLETING'
    prints short 'the job is not requeued, because this run took only [0-9]+ s. Without messages a run must take'
    prints asked 'the job is not requeued by spank-tf, because Slurm asked the tasks to end before --tf-requeue=30 did'
}

# bats test_tags=core
@test "... what cannot be is said at the launch" {
    job forbids goes-on 1 -n2 --no-requeue --tf-requeue=30 --tf-tasks=worker:2
    job limit goes-on 1 -n2 --tf-requeue=90 --tf-tasks=worker:2
    job endless goes-on 1 -n2 -t UNLIMITED --tf-requeue=30 --tf-tasks=worker:2
    run slurm srun -Q -n2 --tf-requeue=30 --tf-tasks=worker:2 sleep 2
    [[ $output == *"--tf-requeue: the job will not be requeued, because it has no batch script. Use sbatch"* ]] || fail "srun prints $output"
    eventually 30 no_job_left || fail "jobs are left: $(slurm squeue)"
    prints forbids '--tf-requeue: the job will not be requeued, because Slurm may not do that. Add --requeue to sbatch'
    prints limit '--tf-requeue=90: the job will not be requeued, because it ends in [0-9]+ s already. Raise --time'
    prints endless '--tf-requeue: the job will not be requeued, because it has no time limit. Add --time to sbatch'
    # A site's value is for the jobs that can be requeued.
    site_arguments requeue=30
    run slurm srun -Q -n2 --tf-tasks=worker:2 sleep 2
    [ -z "$output" ] || fail "srun prints $output"
}

# The last job of an array has the number of the whole array.
@test "... a job of an array alone, and a heterogeneous job as a whole" {
    array=$(job array.%a goes-on 2 -n2 -t 5 -a 1-2 -o "$work/array.%a.out" --tf-requeue=45 --tf-tasks=worker:2)
    het=$(srun=--het-group=0,1 job het goes-on 2 -n1 --tf-requeue=45 --tf-tasks=worker:2 : -n1)
    job=${array}_2
    eventually 30 grep -q "begins" "$work/array.2.out" || fail "it does not begin"
    job_shows "JobId=$array " || fail "it has a number of its own: $(slurm scontrol show job "$job")"
    slurm scontrol update JobId="$job" TimeLimit=1
    ended "$job" FAILED 1
    ended "$het" FAILED 1
    job=${array}_1
    job_shows "Restarts=0 " || fail "the other one is requeued: $(slurm scontrol show job "$job")"
    slurm scancel "$job"
    prints array.2 'begins at step [1-9][0-9]* in run 2'
    prints het 'begins at step [1-9][0-9]* in run 2'
}

# With a batch script, Slurm kills the programs that it has left.
@test "... a limit that has changed counts, and a program gets the event of the end before the requeue" {
    printf '#!/bin/sh\n[ ! "$SLURM_RESTART_COUNT" ] && grep "\"end\"" > %s/end && sleep 4 && touch %s/notified\n' "$work" "$work" \
        > "$work/notify"
    chmod 755 "$work/notify"
    id=$(job later goes-on 2 -n2 -t 2 --tf-requeue=50 --tf-tasks=worker:2 --tf-notify="$work/notify")
    eventually 30 grep -q "begins" "$work/later.out" || fail "it does not begin"
    slurm scontrol update JobId="$id" TimeLimit=1
    ended "$id" FAILED 1
    prints later 'begins at step [1-9][0-9]* in run 2'
    [ -e "$work/notified" ] || fail "the program was killed"
    # Which is no failure, as the example for syslog says it. Its module is another one.
    run -0 /usr/bin/python3 -c 'import runpy, sys, types
sys.modules["syslog"] = types.SimpleNamespace(openlog=lambda name: None, syslog=print)
runpy.run_path(sys.argv[1])' "$tests/../contrib/notify/syslog" < "$work/end"
    [[ $output == *": end of run 1, requeued" ]] || fail "the example for syslog"
}

# As a file on a file system that hangs: nothing of it is ever written.
@test "... even if srun's output cannot be written" {
    mkfifo "$work/full"
    chmod 666 "$work/full"
    exec 9<> "$work/full"
    ! dd if=/dev/zero of="$work/full" oflag=nonblock bs=4096 status=none || fail "the pipe is not full"
    id=$(job hangs goes-on "2 2> $work/full" -n2 --tf-requeue=45 --tf-tasks=worker:2)
    ended "$id" FAILED 1
    exec 9>&-
    prints hangs 'begins at step [1-9][0-9]* in run 2'
}

# sbatch passes the array's variables on.
@test "... a job that a job of an array has submitted is not taken for that one" {
    array=$(job array.%a goes-on 9 -n2 -t 5 -a 1 --tf-tasks=worker:2)
    id=$(SLURM_ARRAY_JOB_ID=$array SLURM_ARRAY_TASK_ID=1 job nested goes-on 2 -n2 --tf-requeue=45 --tf-tasks=worker:2)
    ended "$id" FAILED 1
    job=${array}_1
    job_shows "Restarts=0 " || fail "the other one is requeued: $(slurm scontrol show job "$job")"
    slurm scancel "$array"
    prints nested 'begins at step [1-9][0-9]* in run 2'
}

# Slurm asks first, with --signal up to half a minute early, and requeues a job that exits with 42 itself.
@test "... nothing happens twice with RequeueExit, --signal and preemption" {
    tail='exit $?'
    signal=$(job signal goes-on 2 -n2 -t 2 -w "$(node 1)" --signal=TERM@50 --tf-requeue=15 --tf-tasks=worker:2)
    preempted=$(job preempted goes-on 2 -n2 -t 2 -w "$(node 2)" -p low --tf-requeue=15 --tf-tasks=worker:2)
    eventually 60 grep -q "begins" "$work/signal.out" || fail "it does not begin"
    eventually 60 grep -q "begins" "$work/preempted.out" || fail "it does not begin"
    slurm scontrol update JobId="$signal" TimeLimit=1
    slurm srun -Q -p urgent -w "$(node 2)" --exclusive true
    ended "$signal" COMPLETED 1
    ended "$preempted" COMPLETED 1
    for name in signal preempted; do
        prints $name 'the job is not requeued by spank-tf, because Slurm asked the tasks to end before --tf-requeue=15 did'
        prints $name 'begins at step [1-9][0-9]* in run 2'
        prints_not $name 'The job is requeued'
    done
}

# The node $lost of the second run's task that is not on the batch script's.
begins_elsewhere ()
{
    lost=$(sed -n 's/^begins at step .* in run 2 on //p' "$work/lost.out" | grep -vx "$(slurm squeue -h -j "$id" -o %B)" | tail -n 1)
    [ "$lost" ]
}

# Slurm writes the list as it got it, and later as a range.
job_excludes ()             # NODE…
{
    local list

    list=$(slurm scontrol show job "$job" | sed -n 's/.* ExcNodeList=//p')
    [ "$(slurm scontrol show hostnames "$list" | sort)" = "$(printf '%s\n' "$@" | sort)" ]
}

# Slurm has not given it up by then. After that, 22.05 without slurmdbd would not let the user change the job.
@test "... a node that was lost in the second run is left out of the third" {
    site_arguments lost_after=5
    id=$(srun=--no-kill job lost goes-on 3 -N3 -n3 --no-kill --exclude="$(node 5)" --tf-restart=3 --tf-requeue=25 --tf-tasks=worker:2,spare)
    eventually 90 begins_elsewhere || fail "there is no second run: $(< "$work/lost.out")"
    kill_node "${lost##*[a-z]}"
    eventually 60 grep -q "The job is requeued without $lost, where" "$work/lost.out" || fail "$(< "$work/lost.out")"
    prints lost "unreachable for [0-9]+ s, and replaced: worker [01] \(rank [0-2], $lost\) is now"
    job=$id
    eventually 30 job_excludes "$lost" "$(node 5)" || fail "$(cat "$work/lost.out") it is $(slurm scontrol show job "$id")"
    # Slurm waits for the end of the job there.
    reconnect_node "${lost##*[a-z]}"
    eventually 60 grep -q 'begins at step [1-9][0-9]* in run 3' "$work/lost.out" || fail "there is no third run: $(< "$work/lost.out")"
    prints_not lost "in run 3 on $lost"
}

# In a batch file: the step exits with 42 in the job's first run.
step='srun -Q --tf-tasks=worker:2 sh -c "[ \$SLURM_RESTART_COUNT ] || exit 42"'

job_is ()
{
    # shellcheck disable=SC2053  # it is a pattern
    [[ $(slurm squeue -h -j "$1" -o '%T %r') == $2 ]]
}

# bats test_tags=release
@test "a job with --requeue=expedite that exits with 42 is held" {
    slurm_is_from 25.11 || skip "this Slurm has no --requeue=expedite"
    job=$(slurm sbatch --parsable -n2 --requeue=expedite <<< "#!/bin/sh
$step")
    eventually 30 job_is "$job" '*[Hh]eld*' || fail "it is $(slurm squeue -h -j "$job" -o '%T %r')"
}

# bats test_tags=release
@test "the batch file's scontrol requeue works there, too" {
    slurm_is_from 25.11 || skip "this Slurm has no --requeue=expedite"
    job=$(slurm sbatch --parsable -n2 --requeue=expedite <<< "#!/bin/sh
$step; [ \$? != 42 ] || scontrol requeue \$SLURM_JOB_ID")
    eventually 60 job_has_ended "$job" || fail "it is $(slurm squeue -h -j "$job" -o '%T %r')"
    [[ $(slurm scontrol show job "$job") == *JobState=COMPLETED*Restarts=1* ]] || fail "it has not completed"
}
