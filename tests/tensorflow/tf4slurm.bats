# SPDX-License-Identifier: GPL-2.0-or-later
#
# Scripts for tf4slurm, modelled on its tutorials: they import tensorflow, were written for
# TensorFlow 1, and need only contrib/python on PYTHONPATH.

load ../common
load versions

setup_file ()
{
    start_cluster --nodes 3
    cp -r "$tests/../contrib/python" "$tests/../contrib/examples/tf4slurm/." "$SPANK_TF_CLUSTER/work"
    cat > "$SPANK_TF_CLUSTER/work/late" <<'END'
#!/bin/sh
# late TASKS FILE COMMAND…: run the command; the tasks TASKS wait until the file exists.
case $SLURM_TF_ROLE$SLURM_TF_INDEX in $1) until [ -e "$2" ]; do sleep 0.1; done ;; esac
shift 2
exec "$@"
END
    chmod 755 "$SPANK_TF_CLUSTER/work/late"
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    out=$work/$BATS_TEST_NUMBER.out
    late=()
}

# Run a file of Python's unit tests: unit VERSION NAME
unit ()
{
    local program=/usr/bin/python3

    [ "$1" = none ] || program=$(python "$1")
    run env -C "$tests/tensorflow/tf4slurm" PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$tests/../contrib/python" \
        "$program" -m unittest "$2"
    [ "$status" -eq 0 ] || fail "$2"
    grep -qE '^Ran [1-9][0-9]* tests' <<< "$output" && grep -qE '^OK' <<< "$output" || fail "$2 ran no tests"
}

@test "unit tests without TensorFlow: the dictionary, error messages, names and the runner" {
    unit none test_module
}

@test "unit tests of the queues and the hook on TensorFlow's servers, TensorFlow 2.15" {
    unit 2.15.1 test_queues
}

@test "unit tests of the queues and the hook on TensorFlow's servers, newest TensorFlow" {
    unit newest test_queues
}

# Run a script by python -m tf4slurm: train VERSION SRUN-ARGUMENT… -- SCRIPT ARGUMENT…
train ()
{
    local version=$1
    local -a options=()

    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    timeout 100 "$tests/cluster" run --user "$user" -- \
        env HOME="$work" PYTHONPATH="$work/python" TF_CPP_MIN_LOG_LEVEL=2 TF_ENABLE_ONEDNN_OPTS=0 \
        srun "${options[@]}" "${late[@]}" "$(python "$version")" -m tf4slurm "$@"
}

# Require that N lines of $output match: says N PATTERN
says ()
{
    [ "$(grep -cE -- "$2" <<< "$output")" -eq "$1" ] || fail "not $1 times: $2"
}

# Require that so many tasks ended so: ended N PATTERN
ended ()
{
    [ "$(count_ends "$2" <<< "$output")" -eq "$1" ] || fail "not $1 times: $2"
}

# Require that all ps and workers ended by themselves, and none was stopped: all_ended PS WORKERS
all_ended ()
{
    [ "$status" -eq 0 ] || fail "srun"
    says 0 'Traceback|srun: error|^tf4slurm:'
    says "$1" "^ps [0-9]: all $2 workers are done$"
    ended "$1" 'ps [0-9] exit 0'
    says "$2" '^worker [0-9]: done, [1-9][0-9]* '
    ended "$2" 'worker [0-9] exit 0'
}

# Does this task, of the table in $out, listen at its address?
serves ()
{
    local host port

    read -r host port < <(sed -nE "s/^ +[0-9]+ +$1 .* ([0-9.]+):([0-9]+)\$/\1 \2/p" "$out") || return
    slurm bash -c ": < /dev/tcp/$host/$port" 2> /dev/null
}

# Start one task when the others have been serving for a while: starts_late VERSION TASK OTHERS…
starts_late ()
{
    local srun other

    late=(./late "${2/ /}" "go.$BATS_TEST_NUMBER")
    train "$1" -N3 --tf-tasks=ps,worker:2 --tf-show -- mnist_async.py -ps 1 -workers 2 > "$out" 2>&1 3>&- &
    srun=$!
    for other in "${@:3}"; do
        eventually 60 serves "$other" || fail "$other does not serve: $(< "$out")"
    done
    sleep 2
    ! serves "$2" || fail "it is not late"
    kill -0 $srun || fail "the others do not wait: $(< "$out")"
    ! grep -E 'done|Traceback' "$out" || fail "the others do not wait"
    touch "$work/go.$BATS_TEST_NUMBER"
    wait $srun && status=0 || status=$?
    output=$(< "$out")
    all_ended 1 2
}

@test "workers wait for a ps that starts late, TensorFlow 2.15" {
    starts_late 2.15.1 'ps 0' 'worker 0' 'worker 1'
}

@test "a ps and a worker wait for a worker that starts late, newest TensorFlow" {
    starts_late newest 'worker 1' 'ps 0' 'worker 0'
}

both_run ()
{
    [ "$(slurm squeue -h -t running -w "$(node 1)" | wc -l)" -eq 2 ]
}

@test "two jobs on one node at the same time do not disturb each other, TensorFlow 2.15" {
    local workers pid
    local -a jobs=()

    late=(./late '*' go.both)
    for workers in 1 2; do
        train 2.15.1 -w "$(node 1)" -n$((workers + 1)) --tf-tasks=ps,worker:rest --tf-show -- \
            LaunchServer_no_hooks.py -workers $workers > "$out.$workers" 2>&1 3>&- &
        jobs+=($!)
    done
    eventually 30 both_run || fail "not both run: $(slurm squeue)"
    touch "$work/go.both"
    for pid in "${jobs[@]}"; do
        wait "$pid" || fail "srun: $(cat "$out".[12])"
    done
    output=$(cat "$out".[12])
    says 1 '^worker 0: done, the total is 200$'
    says 2 '^worker [01]: done, the total is 600$'
    says 0 'Traceback|srun: error|^tf4slurm:'
}

# Require that every rank prints this message, and only srun prints others:
# refused MESSAGE SRUN-ARGUMENT… -- SCRIPT ARGUMENT…
# Without --tf-stop=never a ps that has failed would stop the others before they print it.
refused ()
{
    local line=$1

    shift
    run --separate-stderr train newest -N3 "$@"
    [ "$status" -ne 0 ] && [ -z "$output" ] || fail "it is not refused"
    [ "$(grep -cxF "tf4slurm: $line" <<< "$stderr")" -eq 3 ] || fail "not printed by every rank: $line"
    ! grep -qvE '^(tf4slurm|srun: error): |absl::InitializeLog' <<< "$stderr" || fail "other messages"
}

@test "a list that is longer than --tf-tasks is refused, with the option that would fit" {
    refused 'the script lists 4 tasks (ps, worker:3), the step has 3 tasks (ps, worker:2); srun -n4 --tf-tasks=ps,worker:3 would fit' \
        --tf-tasks=ps,worker:2 --tf-stop=never -- LaunchServer_with_hooks.py -ps 1 -workers 3
}

@test "a list that is shorter than --tf-tasks is refused, with the option that would fit" {
    refused 'the script lists 2 tasks (ps, worker), the step has 3 tasks (ps, worker:2); srun -n2 --tf-tasks=ps,worker would fit' \
        --tf-tasks=ps,worker:2 --tf-stop=never -- LaunchServer_no_hooks.py -ps 1 -workers 1
}

@test "a step without --tf-tasks is refused, with the option that would fit" {
    refused 'this is not a task of srun --tf-tasks (TF_CONFIG is not set); srun -n3 --tf-tasks=ps,worker:2 would fit' \
        -- LaunchServer_with_hooks.py -ps 1 -workers 2
}

@test "a list that fits the script but not the step is refused before the script starts" {
    run --separate-stderr train newest -N3 --tf-tasks=ps,worker:3 -- LaunchServer_with_hooks.py -ps 1 -workers 3
    [ "$status" -ne 0 ] && [ -z "$output" ] || fail "it is not refused"
    [[ $stderr = *' has 3 tasks, but --tf-tasks lists 4 (ps,worker:3)'* && $stderr != *tf4slurm:* ]] || fail "not refused by srun"
}

@test "a list in another order is refused with the first difference, and the step ends" {
    # When the ps has failed, the others are stopped, perhaps before they print the message.
    run --separate-stderr train newest -N3 --tf-tasks=worker,ps,worker -- LaunchServer_with_hooks.py -ps 1 -workers 2
    [ "$status" -eq 1 ] || fail "it is not refused"
    grep -qxF "tf4slurm: rank 1 is worker 0 in the script's list and ps 0 in the step; srun -n3 --tf-tasks=ps,worker:2 would fit" <<< "$stderr" ||
        fail "rank 1 prints no such message"
    [[ $stderr != *Traceback* ]] || fail "a traceback"
}
