# SPDX-License-Identifier: GPL-2.0-or-later
#
# doc/guide/first-job.md's first script, as a user pastes it, with the commands there: Keras 2 is TensorFlow 2.15's own,
# or tf_keras. What doc/guide/troubleshooting.md says of Keras 3, and doc/guide/first-job.md of a batch file
# without srun, is so.

load ../common
load versions

guide=$tests/../doc/guide/first-job.md

setup_file ()
{
    start_cluster --nodes 4 --prefix first
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    block '^import numpy' > "$work/train.py"
    grep -q 'model\.fit' "$work/train.py" || fail "doc/guide/first-job.md has no script"
}

# Print doc/guide/first-job.md's first indented block one line of which matches PATTERN, from that line on: block PATTERN
block ()
{
    awk -v pattern="$1" '
        inside && !/^(    |$)/ { exit }
        { line = substr ($0, 5) }
        !inside && /^    / && line ~ pattern { inside = 1 }
        inside { print line }' "$guide"
}

# Make the script one for parameter servers, as doc/guide/first-job.md says.
serve_parameters ()
{
    block '^cluster = tf' | sed '/^srun /d' > "$work/servers"
    grep -q 'ParameterServerStrategy(cluster)' "$work/servers" || fail "doc/guide/first-job.md has no part for parameter servers"
    sed -i -e "/^strategy = /{
        r $work/servers
        N
        d
        }" "$work/train.py"
    ! grep -q MultiWorker "$work/train.py" || fail "this is not what doc/guide/first-job.md says: $(< "$work/train.py")"
}

# Run a command with a version's Python in PATH: try VERSION COMMAND
try ()
{
    run --separate-stderr slurm env HOME="$work" PATH="$(venv "$1")/bin:$PATH" TF_CPP_MIN_LOG_LEVEL=2 \
        timeout 200 bash -c "$2" < /dev/null
}

# doc/guide/first-job.md's command with this list: command_of LIST
command_of ()
{
    block "^srun .*--tf-tasks=$1 python train.py" | head -n 1
}

# Require that so many tasks print the progress of the same training, whose loss becomes small: trained TASKS
trained ()
{
    local losses

    [ "$status" -eq 0 ] || fail "it fails"
    [ "$(grep -c '^Epoch 3/3' <<< "$output")" -eq "$1" ] || fail "not $1 tasks train"
    losses=$(grep -o 'loss: [0-9.]*' <<< "$output" | sort | uniq -c)
    [ "$(awk '{ print $1 }' <<< "$losses" | sort -u)" = "$1" ] || fail "not the same training: $losses"
    [[ $losses == *'loss: 0.'* ]] || fail "the loss stays: $losses"
}

two_workers ()              # VERSION
{
    try "$1" "$(command_of worker:2)"
    trained 2
    [ "$(grep -c '^2 replicas train together' <<< "$output")" -eq 2 ] || fail "they do not train together"
}

parameter_servers ()        # VERSION
{
    serve_parameters
    try "$1" "$(command_of chief,ps,worker:2)"
    trained 1
}

@test "the first script trains on two nodes, TensorFlow 2.15" {
    two_workers 2.15.1
}

@test "the first script trains on two nodes, newest TensorFlow with tf_keras" {
    two_workers tf_keras
}

@test "the first script for parameter servers trains, and they are stopped, TensorFlow 2.15" {
    parameter_servers 2.15.1
}

@test "the first script for parameter servers trains, and they are stopped, newest TensorFlow with tf_keras" {
    parameter_servers tf_keras
}

# Require that the script fails with one of the errors of Keras 3 that doc/guide/troubleshooting.md has: fails LIST
fails ()
{
    local error

    try newest "$(command_of "$1")"
    [ "$status" -ne 0 ] || fail "it trains"
    while read -r error; do
        [[ $stderr != *"$error"* ]] || return 0
    done < <(sed -n '/^### ValueError: /,/^### [^V]/p' "$tests/../doc/guide/troubleshooting.md" | tr '\n' ' ' |
        grep -oE 'ValueError: [^`…#]*\(PerReplica:\{|ValueError: To [^`]*|has no attribute [^`]*')
    fail "doc/guide/troubleshooting.md has another error"
}

# bats test_tags=core
@test "with Keras 3 alone, the first script fails as doc/guide/troubleshooting.md says" {
    fails worker:2
    serve_parameters
    fails chief,ps,worker:2
}

# Run tests/tensorflow/keras2.py on the newest TensorFlow with tf_keras: keras2 LEGACY LIST NODES
keras2 ()
{
    cp "$tests/tensorflow/keras2.py" "$work"
    try tf_keras "TF_USE_LEGACY_KERAS=$1 srun -Q --ntasks-per-node=1 -N$3 --tf-tasks=$2 python keras2.py"
}

@test "a script for Keras 2 runs as it is with TF_USE_LEGACY_KERAS=1 and tf_keras" {
    keras2 1 worker:2 2
    [ "$status" -eq 0 ] && [ "$(sort -u <<< "$output")" = "keras2: 2 replicas, 2 workers, loss falls: True" ] ||
        fail "the workers do not train together"
    keras2 1 chief,ps,worker:2 4
    [ "$status" -eq 0 ] && [ "$(grep '^keras2' <<< "$output")" = "keras2: 1 replicas, 2 workers, loss falls: True" ] ||
        fail "the chief does not train"
}

@test "without TF_USE_LEGACY_KERAS=1 that script fails as doc/guide/troubleshooting.md says" {
    local list error

    while IFS=$'\t' read -r list error; do
        tr '\n' ' ' < "$tests/../doc/guide/troubleshooting.md" | grep -qF "$error" ||
            fail "doc/guide/troubleshooting.md lacks $error"
        keras2 0 "$list" "$([[ $list == worker:2 ]] && echo 2 || echo 4)"
        [[ $status -ne 0 && $stderr == *"$error"* ]] || fail "with $list there is no $error"
    done <<< $'worker:2\tValueError: Attempt to convert a value (PerReplica:{
chief,ps,worker:2\tValueError: To use this dataset, you need to pass this dataset to ClusterCoordinator.create_per_worker_dataset'
}

@test "without srun the first script trains alone, and the job ends with 0" {
    local command

    command=$(command_of worker:2)
    [[ $command == 'srun '* ]] || fail "doc/guide/first-job.md has no command"
    command=${command#srun }
    try tf_keras "sbatch -Q --wait --output=alone ${command%% python *} --wrap='python ${command##* python }'"
    [ "$status" -eq 0 ] || fail "it fails"
    output=$(< "$work/alone")
    trained 1
    [ "$(grep -c '^1 replicas train together' <<< "$output")" -eq 1 ] || fail "it does not train alone"
    # ... which the script could see.
    try tf_keras "sbatch -Q --wait --output=alone ${command%% python *} --wrap='python -c \"import os; os.environ[\\\"TF_CONFIG\\\"]\"'"
    [ "$status" -ne 0 ] && grep -q '^KeyError: ' "$work/alone" || fail "it has a TF_CONFIG"
}
