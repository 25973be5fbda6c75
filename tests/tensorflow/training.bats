# SPDX-License-Identifier: GPL-2.0-or-later
#
# TensorFlow trains on several nodes with scripts that do not know Slurm. Tasks that serve for
# ever (a ps, the workers of ParameterServerStrategy) are stopped when the work is done.

load ../common
load versions

setup_file ()
{
    start_cluster --nodes 3
    cp "$tests"/../contrib/examples/*.py "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    out=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER.out
}

# Run a step that ends by itself, and require that srun ends soon after its last line of output;
# $out is the output, with the time in seconds before each line.
train ()
{
    run -0 timeout 200 "$tests/cluster" run --user "$user" -- env HOME="$SPANK_TF_CLUSTER/work" \
        bash -c 'set -o pipefail; srun "$@" 2>&1 | while IFS= read -r line; do
            echo "$EPOCHSECONDS $line"; done; code=$?; echo "$EPOCHSECONDS end"; exit $code' - "$@"
    echo "$output" > "$out"
    last=$(tail -n 2 "$out" | cut -d' ' -f1 | paste -sd' ' | awk '{ print $2 - $1 }')
    # Python and TensorFlow need some seconds to exit.
    ((last <= 15)) || fail "srun ends $last s after its last output"
    # Without waiting: the step has ended.
    no_process_left || fail "a process is left: $(pgrep -a -u "$user")"
}

# Do N lines of the output match so far? printed N PATTERN
printed ()
{
    [[ -e $out && $(grep -c -- "$2" "$out") -ge $1 ]]
}

# Run an all-reduce over three nodes; each worker checks the sum.
all_reduce ()
{
    run slurm env HOME="$SPANK_TF_CLUSTER/work" \
        srun -N3 --tf-tasks=worker:3 "$(python "$1")" multiworker.py
    [ "$status" -eq 0 ] || fail "srun"
    [ "$(grep -c '^multiworker: replica [0-2] of 3: .* ok' <<< "$output")" -eq 3 ] || fail "sums"
}

@test "MultiWorkerMirroredStrategy reduces over three nodes, TensorFlow 2.15" {
    all_reduce 2.15.1
}

@test "MultiWorkerMirroredStrategy reduces over three nodes, newest TensorFlow" {
    all_reduce newest
}

# Train with TensorFlow 1's server and MonitoredTrainingSession; the loss has to fall.
monitored_session ()
{
    train -N3 --tf-tasks=ps,worker,worker "$(python "$1")" train.py
    printed 2 ' worker [01]: done, [1-9][0-9]* of' || fail "a worker is not done"
    ! printed 1 'too high' || fail "the loss"
}

@test "a ps and two workers train with MonitoredTrainingSession, TensorFlow 2.15" {
    monitored_session 2.15.1
}

# bats test_tags=core
@test "a ps and two workers train with MonitoredTrainingSession, newest TensorFlow" {
    monitored_session newest
}

parameter_server ()
{
    train -N3 -n4 --tf-tasks=chief,ps,worker:rest "$(python "$1")" parameter_server.py
    printed 1 ' parameter_server: ok' || fail "the chief"
}

@test "ParameterServerStrategy trains with a chief, a ps and workers, TensorFlow 2.15" {
    parameter_server 2.15.1
}

@test "ParameterServerStrategy trains with a chief, a ps and workers, newest TensorFlow" {
    parameter_server newest
}

# The chief needs ten seconds, and the ps and the workers, to save. The tests' KillWait is 5 s.
saves ()
{
    local srun steps checkpoint=$SPANK_TF_CLUSTER/work/checkpoint.$1

    [[ $proctrack == cgroup* ]] || skip "with proctrack/$proctrack Slurm signals every process itself"
    cp "$tests/tensorflow/saving.py" "$SPANK_TF_CLUSTER/work"
    slurm mkdir "$checkpoint"
    slurm env HOME="$SPANK_TF_CLUSTER/work" srun -J saving --tf-show -N3 -n4 --tf-tasks=chief,ps:2,worker \
        "$(python "$1")" saving.py "$checkpoint" > "$out" 2>&1 3>&- &
    srun=$!
    eventually 120 printed 1 '^saving: trains' || fail "no training: $(< "$out")"
    slurm scancel -s TERM -n saving
    eventually 60 eval "! kill -0 $srun 2> /dev/null" || fail "srun does not end: $(< "$out")"
    wait "$srun" && status=0 || status=$?
    [ "$status" -eq 42 ] || fail "not the chief's exit code, but $status: $(< "$out")"
    steps=$(sed -n 's/^saving: saved after \([0-9]*\) steps, asked 1 times$/\1/p' "$out")
    [ "$steps" ] || fail "the chief has not saved: $(< "$out")"
    [ "$(count_ends '(ps|worker) [01] stopped' "$out")" -eq 3 ] || fail "other ends: $(< "$out")"
    run -0 --separate-stderr "$(python "$1")" "$tests/tensorflow/saving.py" --check "$checkpoint"
    [ "$output" = "saved counter0 [4096] {$steps}
saved counter1 [4096] {$steps}" ] || fail "the checkpoint is not complete"
}

@test "a chief that is asked to end saves the variables of its ps, TensorFlow 2.15" {
    saves 2.15.1
}

# bats test_tags=core
@test "a chief that is asked to end saves the variables of its ps, newest TensorFlow" {
    saves newest
}

# Without the plugin, the workers would wait for the ps silently.
ps_dies ()
{
    local srun pid

    slurm env HOME="$SPANK_TF_CLUSTER/work" srun -N3 --tf-tasks=ps,worker,worker "$(python "$1")" train.py > "$out" 2>&1 3>&- &
    srun=$!
    eventually 120 printed 1 '^worker [01]: step' || fail "no training: $(< "$out")"
    # shellcheck disable=SC2046  # several files
    pid=$(grep -lz '^SLURM_TF_ROLE=ps' $(pgrep -u "$user" -f train.py | sed 's,.*,/proc/&/environ,') | cut -d/ -f3)
    kill -KILL "$pid"
    eventually 30 eval "! kill -0 $srun 2> /dev/null" || fail "srun does not end: $(< "$out")"
    wait "$srun" && status=0 || status=$?
    [ "$status" -eq 137 ] || fail "not the ps' exit code: $(< "$out")"
    printed 1 'ps 0 (rank 0, .*) failed with signal 9' || fail "no message about the ps: $(< "$out")"
}

@test "a ps that is killed ends the job, TensorFlow 2.15" {
    ps_dies 2.15.1
}

@test "a ps that is killed ends the job, newest TensorFlow" {
    ps_dies newest
}
