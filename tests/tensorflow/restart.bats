# SPDX-License-Identifier: GPL-2.0-or-later
#
# TensorFlow goes on training when tasks are killed, with --tf-restart.
#
# bats file_tags=slow

load ../system/launch
load versions
load resume

setup_file ()
{
    start_cluster --nodes 3
    site_arguments restart_backoff=1 stop_grace=3
    cp "$tests"/../contrib/examples/{resume_*,spank_tf_watchdog}.py "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    out=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER.out
    saved=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER/saved
}

# Start a step with a version's python: begin VERSION ARGUMENT-OF-SRUN…
begin ()
{
    slurm env HOME="$SPANK_TF_CLUSTER/work" PATH="$(venv "$1")/bin:$PATH" \
        srun --tf-show "${@:2}" > "$out" 2>&1 3>&- &
    srun=$!
}

# Require that the step ends, with this exit code.
ends ()
{
    eventually 120 eval "! kill -0 $srun 2> /dev/null" || fail "srun does not end: $(tail -n 40 "$out")"
    wait "$srun" && status=0 || status=$?
    [ "$status" -eq "$1" ] || fail "not $1, but $status: $(tail -n 40 "$out")"
}

# Require that the task does a step after STEP: goes_on TASK STEP
goes_on ()
{
    eventually 100 has_done "$1" $(($2 + 1)) "$out" || fail "$1 does not go on after step $2: $(tail -n 40 "$out")"
}

# Require that these lines of srun appear: reports N PATTERN
reports ()
{
    eventually 100 printed "$1" "$2" "$out" || fail "not $1 times \"$2\": $(tail -n 40 "$out")"
}

# Set $pid to the task's program: program ROLE INDEX
program ()
{
    for pid in $(pgrep -u "$user" python); do
        [ "$(grep -czxE "SLURM_TF_(ROLE=$1|INDEX=$2)" "/proc/$pid/environ")" -ne 2 ] || return 0
    done 2> /dev/null
    return 1
}

# Kill it, at any moment of a step: lose ROLE INDEX
lose ()
{
    sleep "0.$RANDOM"
    eventually 30 program "$@" || fail "there is no $1 $2"
    kill -KILL "$pid"
}

# Require that the task has restarted where the last checkpoint was, which is of a step that it
# has printed, or of the next one that it would have printed: resumes TASK STEP
resumes ()
{
    local at

    at=$(last "$1: starts at step " "$out")
    ((at == $2 || at == $2 + 10)) || fail "after step $2, $1 starts again at step $at"
}

# Workers of ParameterServerStrategy, killed so many times, and their ps: parameter_server VERSION TIMES
parameter_server ()
{
    local i step

    begin "$1" -N3 -n3 --tf-tasks=chief,ps,worker --tf-restart=$(($2 + 1)) \
        python resume_parameter_server.py "$saved" --steps=$(($2 * 60 + 60)) --pause=0.05
    goes_on 'chief 0' 10
    for ((i = 1; i <= $2; i++)); do
        lose worker 0
        reports "$i" 'worker 0 \(rank .* ended at [0-9:]*, signal 9. Restarting it in'
        step=$(last 'chief 0: step ' "$out")
        goes_on 'chief 0' "$step"
    done
    # The checkpoint was not needed.
    printed 1 'chief 0: starts' "$out" && ! printed 2 'chief 0: starts' "$out" || fail "the chief has restarted"
    lose ps 0
    reports 1 'ps 0 \(rank .* ended at [0-9:]*, signal 9. Restarting all tasks'
    step=$(last 'chief 0: step ' "$out")
    reports 2 '^chief 0: starts'
    resumes 'chief 0' "$step"
    ends 0
    printed 1 '^chief 0: done' "$out" || fail "the chief is not done"
    loss_falls 100 'chief 0' "$out"
    [ "$(count_ends "worker 0 stopped \(restarted $(($2 + 1)) times\)" "$out")" -eq 1 ] || fail "other ends"
}

@test "ParameterServerStrategy goes on without killed workers, and resumes without a killed ps, TensorFlow 2.15" {
    parameter_server 2.15.1 5
}

@test "ParameterServerStrategy goes on without killed workers, and resumes without a killed ps, newest TensorFlow" {
    parameter_server newest 5
}

# bats test_tags=core
@test "ParameterServerStrategy goes on without a worker that is killed once, and resumes without its ps, newest TensorFlow" {
    parameter_server newest 1
}

# A worker of MultiWorkerMirroredStrategy, killed: mirrored VERSION SCRIPT
mirrored ()
{
    local step

    begin "$1" -N2 -n2 --tf-tasks=worker:2 --tf-restart=1 python "$2" "$saved" --steps=100 --pause=0.05
    goes_on 'worker 0' 19
    lose worker 1
    reports 1 'worker 1 \(rank .* Restarting all tasks|worker 0 \(rank .* Restarting all tasks'
    reports 2 '^worker 0: starts'
    step=$(sed '1,/Restarting all tasks/!d' "$out" | last 'worker 0: step ' -)
    resumes 'worker 0' "$step"
    ends 0
    printed 2 '^worker [01]: done, 100 steps' "$out" || fail "a worker is not done"
    loss_falls 4 'worker 0' "$out"
    [ "$(count_ends 'worker [01] exit 0 \(restarted 1 time\)' "$out")" -eq 2 ] || fail "other ends"
}

@test "MultiWorkerMirroredStrategy resumes when a worker is killed, TensorFlow 2.15" {
    mirrored 2.15.1 resume_multiworker.py
}

# bats test_tags=core
@test "MultiWorkerMirroredStrategy resumes when a worker is killed, newest TensorFlow" {
    mirrored newest resume_multiworker.py
}

# The newest TensorFlow needs tf_keras for it.
@test "Keras 2's BackupAndRestore resumes when a worker is killed" {
    mirrored 2.15.1 resume_keras.py
}

# Worker 1 and the ps of MonitoredTrainingSession, killed: monitored VERSION. While worker 1 comes
# back, worker 0 trains alone, for a minute at most.
monitored ()
{
    local step

    begin "$1" -N3 -n3 --tf-tasks=ps,worker:2 --tf-restart=2 \
        python resume_monitored.py "$saved" --steps=300 --pause=0.2
    goes_on 'worker 1' 30
    lose worker 1
    reports 1 'worker 1 \(rank .* Restarting it in'
    goes_on 'worker 0' "$(last 'worker 0: step ' "$out")"
    goes_on 'worker 1' "$(last 'worker 0: step ' "$out")"
    lose ps 0
    reports 1 'ps 0 \(rank .* Restarting all tasks'
    step=$(last 'worker 0: step ' "$out")
    reports 2 '^worker 0: starts'
    # It saves every 20 steps, and prints after 10.
    (($(last 'worker 0: starts at step ' "$out") >= step - 30)) || fail "it does not resume at step $step: $(< "$out")"
    ends 0
    printed 2 '^worker [01]: done, 300 steps' "$out" || fail "a worker is not done"
    loss_falls 10 'worker 0' "$out"
    [ "$(count_ends 'worker 1 exit 0 \(restarted 2 times\)' "$out")" -eq 1 ] || fail "other ends"
}

@test "MonitoredTrainingSession goes on without a killed worker, and resumes without a killed ps, TensorFlow 2.15" {
    monitored 2.15.1
}

# bats test_tags=core
@test "MonitoredTrainingSession goes on without a killed worker, and resumes without a killed ps, newest TensorFlow" {
    monitored newest
}

# bats test_tags=core
@test "a program that cannot be imported is tried once, and its message is srun's" {
    begin newest -N2 -n2 --tf-tasks=worker:2 --tf-restart=5 python -c 'import tensorfow'
    ends 1
    [ "$(grep -c "^ModuleNotFoundError: No module named 'tensorfow'" "$out")" -eq 2 ] || fail "other messages: $(< "$out")"
    ! printed 1 'Restarting |\(restarted' "$out" || fail "it is tried again: $(< "$out")"
    printed 1 'Not restarted: exit code 1 is restarted only with --tf-restart=5,any' "$out" || fail "no line says why: $(< "$out")"
}
