# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every batch file of contrib/examples, unchanged (preempted.bats has resume_*): each is a job that
# trains on at least two nodes, ends by itself with exit code 0, and has its result, and the end of
# every task, in its logs. The versions of TensorFlow run at the same time, so that one computes
# while the other waits.
#
# bats file_tags=slow

load ../common
load versions

setup_file ()
{
    local version i

    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    mkdir "$SPANK_TF_CLUSTER"
    # GPUs are device files, which is all that Slurm checks. Jobs without GPUs run on other nodes.
    for i in 0 1; do
        mknod -m 666 "$BATS_FILE_TMPDIR/gpu$i" c 1 3
    done
    echo "Name=gpu File=$BATS_FILE_TMPDIR/gpu[0-1]" > "$SPANK_TF_CLUSTER/gres.conf"
    start_cluster --nodes 3 --prefix example --conf GresTypes=gpu \
        --node-conf example2:"Gres=gpu:2 Weight=2" --node-conf example3:"Gres=gpu:2 Weight=2"
    for version in "${versions[@]}"; do
        mkdir "$SPANK_TF_CLUSTER/work/$version"
        cp -r "$tests/../contrib/examples" "$tests/../contrib/python" "$SPANK_TF_CLUSTER/work/$version"
        chown -R "$user" "$SPANK_TF_CLUSTER/work/$version"
    done
}

before_test ()
{
    declare -gA job=()
    path=
}

# The directory with a version's copy of the examples.
examples ()
{
    echo "$SPANK_TF_CLUSTER/work/$1/examples"
}

# Submit a batch file in its directory, with the virtual environment activated: submit VERSION
# FILE
submit ()
{
    slurm env -C "$(examples "$1")/$(dirname "$2")" HOME="$SPANK_TF_CLUSTER/work/$1" \
        PATH="$path$(venv "$1")/bin:$SPANK_TF_STAGE/bin:$PATH" \
        sbatch --parsable "$(basename "$2")"
}

# Run an example with each of these versions, and require success: runs EXAMPLE VERSION…
runs ()
{
    local version

    example=$1
    for version in "${@:2}"; do
        job[$version]=$(submit "$version" "$example.sbatch") || fail "sbatch"
    done
    # Not sbatch --wait, which polls after 2, 10 and 42 seconds.
    for version in "${@:2}"; do
        eventually 200 has_ended "${job[$version]}" || fail "it does not end: $(log_ends "$version")"
        [ "$(codes "${job[$version]}")" = 0:0 ] || fail "it fails: $(log_ends "$version")"
    done
    no_process_left || fail "a process is left: $(pgrep -a -u "$user")"
}

has_ended ()
{
    local shown

    shown=$(slurm scontrol -o show job "$1") &&
        ! grep -qE 'JobState=(PENDING|CONFIGURING|RUNNING|COMPLETING)' <<< "$shown"
}

# The exit codes of a job, its components and its array members.
codes ()
{
    slurm scontrol -o show job "$1" | sed 's/.* ExitCode=\([^ ]*\) .*/\1/' | sort -u
}

# The directory of the logs of a version's job.
logs ()
{
    echo "$(examples "$1")/$example-${job[$1]}"
}

# The ends of these logs.
log_ends ()
{
    find "$(examples "$1")" -path "$(logs "$1")*" -type f -regex '.*\.\(out\|log\)' -exec tail -v -n 20 {} +
}

# Require that N lines of these logs match: logged N PATTERN LOG…
logged ()
{
    [ "$(cat "${@:3}" | grep -cE -- "$2")" -eq "$1" ] || fail "not $1 times \"$2\": $(tail -n 20 "${@:3}")"
}

# Require that the directory has a log for each of these tasks, which ended so, and master.log:
# ended DIRECTORY 'ps 0 stopped' 'worker 0 exit 0' …
ended ()
{
    local directory=$1

    shift
    diff <(printf '%s\n' "$@") \
        <(task_ends "$directory/master.log" | cut -d' ' -f2-) ||
        fail "the tasks end otherwise"
    diff <(printf '%s\n' "$@" master | awk '{ print $1 $2 ".log" }' | tr -d + | sort) \
        <(cd "$directory" && printf '%s\n' *.log | sort) || fail "other logs"
}

# Print the numbers after PREFIX in these logs: numbers PREFIX LOG…
numbers ()
{
    sed -nE "s/.*$1([0-9.e+-]+).*/\1/p" "${@:2}"
}

# Require that the sum of the workers' numbers after PREFIX is in a range: sums_up LOW HIGH
# PREFIX DIRECTORY
sums_up ()
{
    local sum

    sum=$(($(numbers "$3" "$4"/worker*.log | paste -sd+)))
    ((sum >= $1 && sum <= $2)) || fail "all workers together: $sum"
}

# Require that train.py did all its steps with so many workers: trained WORKERS DIRECTORY
trained ()
{
    logged "$1" '^worker [0-9]: done, [1-9][0-9]* of 3000 steps were mine, loss 0\.[012]' "$2"/worker*.log
    sums_up 3000 3010 'done, ' "$2"
}

@test "train: a ps and two workers of TensorFlow 1, asynchronously" {
    local version

    runs train "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'ps 0 stopped' 'worker 0 exit 0' 'worker 1 exit 0'
        trained 2 "$(logs "$version")"
    done
}

@test "multiworker: MultiWorkerMirroredStrategy with a custom loop" {
    local version

    runs multiworker "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'worker '{0..2}' exit 0'
        logged 3 '^multiworker: replica [012] of 3: sum 7, .* ok$' "$(logs "$version")"/worker*.log
    done
}

# The newest TensorFlow needs tf_keras for it.
@test "multiworker_keras: Keras 2's model.fit() on two workers" {
    runs multiworker_keras 2.15.1
    ended "$(logs 2.15.1)" 'worker 0 exit 0' 'worker 1 exit 0'
    logged 2 '^worker [01]: loss 0\.[3-9].* to 0\.[01].*, accuracy 0\.9' "$(logs 2.15.1)"/worker*.log
}

@test "parameter_server: ParameterServerStrategy" {
    local version

    runs parameter_server "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'chief 0 exit 0' 'ps 0 stopped' 'worker 0 stopped' 'worker 1 stopped'
        logged 1 '^parameter_server: ok, 200 steps on 2 workers' "$(logs "$version")/chief0.log"
    done
}

@test "data_service: tf.data service as auxiliary tasks" {
    local version

    runs data_service "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'worker 0 exit 0' 'worker 1 exit 0' '+dispatcher 0 stopped' '+data 0 stopped' '+data 1 stopped'
        logged 2 '^data_service: worker [01]: 100 batches of 2 data tasks, .* ok$' "$(logs "$version")"/worker*.log
    done
}

@test "tensorboard: TensorBoard as an auxiliary task" {
    runs tensorboard "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'worker 0 exit 0' 'worker 1 exit 0' '+tensorboard 0 stopped'
        logged 1 ' \+tensorboard 0 .*:[0-9]+$' "$(logs "$version").out"
        compgen -G "$(logs "$version")/events/events.out.tfevents.*" || fail "no events"
    done
}

# TensorFlow 2.15 is the last with Estimator.
@test "estimator: a chief, a ps, a worker and an evaluator" {
    local end=stopped

    runs estimator 2.15.1
    # Chief and worker end at the same time, in any order.
    [ "$(count_ends 'worker 0 exit 0' "$(logs 2.15.1)/master.log")" -eq 0 ] || end='exit 0'
    ended "$(logs 2.15.1)" 'chief 0 exit 0' 'ps 0 stopped' "worker 0 $end" 'evaluator 0 exit 0'
    logged 1 '^estimator: chief 0: ok' "$(logs 2.15.1)/chief0.log"
    logged 1 '^estimator: evaluator 0: ok' "$(logs 2.15.1)/evaluator0.log"
    # The last task to see step 1000 may have done one more.
    compgen -G "$(logs 2.15.1)/model/model.ckpt-100[0-9].index" || fail "not trained to the end: $(ls "$(logs 2.15.1)/model")"
}

@test "tfjob: a script that reads TfJob's TF_CONFIG" {
    local version

    runs tfjob "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'master 0 exit 0' 'ps 0 stopped' 'worker 0 stopped' 'worker 1 stopped'
        logged 4 '^tfjob: (master 0|ps 0|worker 0|worker 1) has multiplied$' "$(logs "$version")/master0.log"
    done
}

# Synchronously, each of the 200 steps takes two gradients; a few more are started.
@test "tf1_flags: a script that takes flags, synchronously without tf4slurm's hook" {
    local version

    runs tf1_flags "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'ps 0 stopped' 'worker 0 exit 0' 'worker 1 exit 0'
        # TensorFlow's thread that fills a queue may die at this moment, and its message end in the middle of the line.
        logged 2 'worker [01]: done at step (19[0-9]|200) of 200, ' "$(logs "$version")"/worker*.log
        sums_up 398 410 ' of 200, ' "$(logs "$version")"
    done
}

@test "custom_conf: a script that takes a JSON file" {
    local version

    runs custom_conf "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'ps 0 stopped' 'worker 0 exit 0' 'worker 1 exit 0'
        logged 2 '^worker [01]: 100 of 200 were mine$' "$(logs "$version")"/worker*.log
    done
}

# Each task prints its GPUs, and continues.
@test "gpu_workers: workers with GPUs and a ps without, in a heterogeneous job" {
    local version

    mkdir "$BATS_TEST_TMPDIR/bin"
    cat > "$BATS_TEST_TMPDIR/bin/python" <<'SCRIPT'
#!/bin/bash
echo "on $SLURMD_NODENAME: GPU <${CUDA_VISIBLE_DEVICES-any}>"
PATH=${PATH#*:} exec python "$@"
SCRIPT
    chmod -R a+rx "$BATS_TEST_TMPDIR"
    path=$BATS_TEST_TMPDIR/bin:
    runs gpu_workers "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'ps 0 stopped' 'worker 0 exit 0' 'worker 1 exit 0'
        trained 2 "$(logs "$version")"
        logged 1 '^on example1: GPU <>$' "$(logs "$version")/ps0.log"
        logged 1 '^on example[23]: GPU <0>$' "$(logs "$version")"/worker*.log
        logged 1 '^on example[23]: GPU <1>$' "$(logs "$version")"/worker*.log
    done
}

@test "ps_on_every_node: the list distributes the ps" {
    local version

    runs ps_on_every_node "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'ps 0 stopped' 'worker 0 exit 0' 'ps 1 stopped' 'worker 1 exit 0'
        trained 2 "$(logs "$version")"
        [ "$(nodes "$(logs "$version")" ps | sort -u | wc -l)" -eq 2 ] || fail "both ps on one node"
        diff <(nodes "$(logs "$version")" ps) <(nodes "$(logs "$version")" worker) || fail "a ps without a worker beside it"
    done
}

# Print the nodes of a role's tasks from master.log: nodes DIRECTORY ROLE
nodes ()
{
    undated "$1/master.log" | sed '/how its tasks ended$/,$d' | awk -v role="$2" '$2 == role { print $4 }'
}

@test "many_workers: the list fits the size of the job" {
    local version

    runs many_workers "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" 'worker '{0..5}' exit 0'
        [ "$(nodes "$(logs "$version")" worker | sort -u | wc -l)" -eq 3 ] || fail "not on three nodes"
        logged 6 '^multiworker: replica [0-5] of 6: sum 63, .* ok$' "$(logs "$version")"/worker*.log
    done
}

@test "rates: a cluster for each member of an array" {
    local version i
    local -a rates=(0.02 0.05 0.1)

    runs rates "${versions[@]}"
    for version in "${versions[@]}"; do
        for i in 0 1 2; do
            ended "$(logs "$version")/$i" 'worker 0 exit 0' 'worker 1 exit 0'
            logged 2 "^multiworker: replica [01] of 2: sum 3, rate ${rates[i]}, .* ok$" "$(logs "$version")/$i"/worker*.log
        done
        # Each has its own addresses, and a greater rate leads to a smaller loss.
        [ "$(awk '$6 ~ /[.].*:/ { print $6 }' "$(logs "$version")"/*/master.log | sort -u | wc -l)" -eq 6 ] ||
            fail "they share addresses"
        numbers ' to ' "$(logs "$version")"/{0,1,2}/worker0.log | sort -grcu || fail "not the losses of three rates"
    done
}

# tf4slurm's scripts import the module from contrib/python.
tf4slurm ()
{
    local version

    runs tf4slurm/"$1" "${versions[@]}"
    for version in "${versions[@]}"; do
        ended "$(logs "$version")" "ps 0 $2" 'worker 0 exit 0' 'worker 1 exit 0'
    done
}

# Require that each worker of all versions logs a matching line: workers PATTERN
workers ()
{
    local version

    for version in "${versions[@]}"; do
        logged 2 "^worker [01]: done, $1" "$(logs "$version")"/worker[01].log
    done
}

@test "tf4slurm: a ps that exits by tf4slurm's hook" {
    tf4slurm LaunchServer_with_hooks 'exit 0'
    workers '[1-9][0-9]* steps were mine$'
}

@test "tf4slurm: a ps that serves for ever" {
    tf4slurm LaunchServer_no_hooks stopped
    workers 'the total is 600$'
}

@test "tf4slurm: data of the shape of MNIST, asynchronously" {
    tf4slurm mnist_async 'exit 0'
    workers '[1-9][0-9]* of 300 steps were mine, accuracy (0\.9|1\.0)'
}

@test "tf4slurm: data of the shape of MNIST, synchronously" {
    tf4slurm mnist_sync 'exit 0'
    workers '[1-9][0-9]* gradients for 100 steps were mine, accuracy (0\.9|1\.0)'
    sums_up 198 210 'done, ' "$(logs 2.15.1)"
    sums_up 198 210 'done, ' "$(logs newest)"
}
