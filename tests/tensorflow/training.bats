# SPDX-License-Identifier: GPL-2.0-or-later
#
# A training of TensorFlow that is asked to end, or whose ps dies. examples.bats has those that end by themselves.

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

# Do N lines of the output match so far? printed N PATTERN
printed ()
{
    [[ -e $out && $(grep -c -- "$2" "$out") -ge $1 ]]
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
