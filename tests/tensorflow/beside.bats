# SPDX-License-Identifier: GPL-2.0-or-later
#
# Auxiliary tasks: tf.data service, TensorBoard and a profiler.

load ../common
load versions

setup_file ()
{
    start_cluster --nodes 3
    cp "$tests"/../contrib/examples/*.py "$tests/tensorflow/profile_cluster.py" "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    out=$work/$BATS_TEST_NUMBER.out
}

# Start a step in the background. Its process is $srun, its output $out: start OPTION…
start ()
{
    slurm env HOME="$work" PATH="$SPANK_TF_STAGE/bin:$PATH" srun -Q "$@" > "$out" 2>&1 3>&- &
    srun=$!
}

# Require that it ends with this code: ends CODE
ends ()
{
    eventually 90 eval "! kill -0 $srun 2> /dev/null" || fail "srun does not end: $(< "$out")"
    wait "$srun" && status=0 || status=$?
    [ "$status" -eq "$1" ] || fail "srun's exit code is $status: $(< "$out")"
}

# Do N lines of the output match so far? printed N PATTERN
printed ()
{
    [[ -e $out && $(grep -c -- "$2" "$out") -ge $1 ]]
}

# Two workers on the first node read from data tasks on the others.
data_service ()
{
    start --tf-show -N3 -n5 --tf-tasks=worker:2,+dispatcher,+data:2 "$(python "$1")" data_service.py
    ends 0
    printed 2 '^data_service: worker [01]: 100 batches of 2 data tasks, .* ok$' || fail "no training: $(< "$out")"
    printed 2 ' worker [01]  *[a-z]*1  .*:[0-9]*$' && printed 1 ' +data 0  *[a-z]*2  .*:[0-9]*$' &&
        printed 1 ' +data 1  *[a-z]*3  .*:[0-9]*$' ||
        fail "they are not on nodes of their own: $(< "$out")"
    [ "$(count_ends '\+(dispatcher|data) [01] stopped' "$out")" -eq 3 ] || fail "the service was not stopped: $(< "$out")"
}

@test "workers train with data from tf.data service on other nodes, TensorFlow 2.15" {
    data_service 2.15.1
}

# bats test_tags=core
@test "workers train with data from tf.data service on other nodes, newest TensorFlow" {
    data_service newest
}

# What TensorBoard, at the address that srun has printed, answers on the login host: fetch PATH
fetch ()
{
    local address

    address=$(sed -n 's/^ .* +tensorboard 0 .* \([0-9.]*:[0-9]*\)$/\1/p' "$out")
    [ "$address" ] || return
    slurm /usr/bin/python3 -c 'import sys, urllib.request as u
print(u.urlopen("http://%s%s" % tuple(sys.argv[1:]), timeout=10).read().decode())' "$address" "$1" 2> /dev/null
}

shows_loss ()
{
    fetch /data/plugin/scalars/tags | grep -q '"loss"'
}

# The page is fetched while the training runs.
tensorboard ()
{
    start --tf-show -N3 --tf-tasks=worker:2,+tensorboard tf-exec \
        --tensorboard="$(venv "$1")/bin/tensorboard --logdir=events.$1 --host={address} --port={port}" \
        bash -c "$(python "$1") multiworker.py --steps=200 --summaries=events.$1 && until [ -e fetched.$1 ]; do sleep 0.1; done"
    eventually 120 shows_loss || fail "TensorBoard shows no loss: $(< "$out")"
    fetch / | grep -q '<title>TensorBoard</title>' || fail "it has no page"
    touch "$work/fetched.$1"
    ends 0
    [ "$(count_ends '\+tensorboard 0 stopped' "$out")" -eq 1 ] || fail "TensorBoard was not stopped: $(< "$out")"
}

@test "TensorBoard as an auxiliary task shows a training that runs, TensorFlow 2.15" {
    tensorboard 2.15.1
}

@test "TensorBoard as an auxiliary task shows a training that runs, newest TensorFlow" {
    tensorboard newest
}

# One trace of each task of the cluster, while they train: profile VERSION TASKS LIST TRAINING…
profile ()
{
    start -N3 -n"$2" --tf-tasks="$3,+profiler" \
        tf-exec --profiler="$(python "$1") profile_cluster.py profile.$BATS_TEST_NUMBER" "$(python "$1")" "${@:4}"
    eventually 200 eval "printed 1 '^profile_cluster: ' || ! kill -0 $srun 2> /dev/null" || fail "no profile: $(< "$out")"
    printed 1 '^profile_cluster: [0-9]* traces, ok$' || fail "no profile: $(< "$out")"
    [ "$(find "$work/profile.$BATS_TEST_NUMBER" -name '*.xplane.pb' -size +0 | wc -l)" -eq $(($2 - 1)) ] ||
        fail "not one trace for each task: $(find "$work/profile.$BATS_TEST_NUMBER")"
}

@test "an auxiliary task profiles every worker by the addresses of TF_CONFIG, TensorFlow 2.15" {
    profile 2.15.1 3 worker:2 multiworker.py --steps=100000000
}

# In TensorFlow 2.19 to 2.21, a worker that sums up with others often crashes when it is profiled,
# without spank-tf as well (in TraceMeRecorder). Servers of ParameterServerStrategy do not.

@test "an auxiliary task profiles chief, ps and workers by the addresses of TF_CONFIG, TensorFlow 2.15" {
    profile 2.15.1 5 chief,ps,worker:2 parameter_server.py --steps=100000000
}

# bats test_tags=core
@test "an auxiliary task profiles chief, ps and workers by the addresses of TF_CONFIG, newest TensorFlow" {
    profile newest 5 chief,ps,worker:2 parameter_server.py --steps=100000000
}
