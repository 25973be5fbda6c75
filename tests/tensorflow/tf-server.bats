# SPDX-License-Identifier: GPL-2.0-or-later
#
# tf-server, the stock server: a ps and workers of ParameterServerStrategy without code of the
# user.

load ../common
load versions

setup_file ()
{
    start_cluster --nodes 3
    cp "$tests"/../contrib/examples/{train,parameter_server,spank_tf_watchdog}.py "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    out=$work/$BATS_TEST_NUMBER.out
    tf_server=$SPANK_TF_STAGE/bin/tf-server
}

# The variables of an activated virtual environment.
activated ()
{
    echo PATH="$(venv "$1")/bin:$SPANK_TF_STAGE/bin:$PATH" HOME="$work" TF_ENABLE_ONEDNN_OPTS=0
}

# Run a step that ends by itself: serve VERSION SRUN-ARGUMENT…
serve ()
{
    local version=$1

    shift
    # shellcheck disable=SC2046  # one word is one variable
    run timeout 100 "$tests/cluster" run --user "$user" -- env $(activated "$version") srun -N3 --tf-show "$@"
    [ "$status" -eq 0 ] || fail "srun"
    says 0 'Traceback|srun: error'
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

@test "ps and workers of ParameterServerStrategy, newest TensorFlow" {
    serve newest -n4 --tf-tasks=chief,ps,worker:2 \
        tf-exec --ps=tf-server --worker=tf-server python parameter_server.py
    says 1 '^parameter_server: ok'
    ended 1 'chief 0 exit 0'
    ended 3 '(ps|worker) [01] stopped'
}

# A ps that ran the program would fail.
@test "--default-ps: a ps without code, and TensorFlow 1's workers, TensorFlow 2.15" {
    serve 2.15.1 -n3 --tf-tasks=ps,worker:2 \
        tf-server --default-ps sh -c '[ "$SLURM_TF_ROLE" = worker ] && exec python "$@"' sh train.py
    says 2 '^worker [01]: done, [1-9][0-9]* of'
    ended 2 'worker [01] exit 0'
    ended 1 'ps 0 stopped'
}

# Start a server without Slurm, with these arguments; $server is its process id.
start_server ()
{
    port=$(free_port)
    # shellcheck disable=SC2046  # one word is one variable
    env $(activated "$1") TF_CONFIG="$(config ps)" "$tf_server" "${@:2}" > "$out" 2>&1 3>&- &
    server=$!
}

config ()
{
    echo '{"cluster":{"ps":["127.0.0.1:'"$port"'"],"worker":["127.0.0.1:1"]},"task":{"type":"'"$1"'","index":0}}'
}

free_port ()
{
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

listens ()
{
    (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null
}

ended ()
{
    ! kill -0 $server 2> /dev/null
}

ends_with_0 ()
{
    kill -TERM $server
    eventually 30 ended || { kill -KILL $server; fail "it does not exit"; }
    wait $server || fail "it returned $?"
}

serves_until_term ()
{
    start_server "$@"
    eventually 60 listens || fail "it does not listen: $(cat "$out")"
    ends_with_0
    ! listens || fail "its port is still in use"
    ! grep -q Traceback "$out" || fail "a traceback: $(cat "$out")"
}

@test "tf-server serves until SIGTERM and exits with 0, TensorFlow 2.15" {
    serves_until_term 2.15.1
    serves_until_term 2.15.1 --default-ps false
}

@test "tf-server serves until SIGTERM and exits with 0, newest TensorFlow" {
    serves_until_term newest
}

imports ()
{
    grep -q site-packages "/proc/$server/maps"
}

@test "tf-server exits with 0 on SIGTERM also while it loads TensorFlow" {
    start_server newest
    eventually 60 imports
    ends_with_0
    [ ! -s "$out" ] || fail "it prints a message: $(cat "$out")"
}

# Require exit code 1 and this message: refused MESSAGE VARIABLE=VALUE… -- ARGUMENT…
refused ()
{
    local line=$1
    local -a environment=()

    shift
    while [ "$1" != -- ]; do
        environment+=("$1")
        shift
    done
    run --separate-stderr env -u TF_CONFIG "${environment[@]}" "$tf_server" "${@:2}"
    [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$(tail -n 1 <<< "$stderr")" = "tf-server: $line" ] || fail "$line"
    [[ $stderr != *Traceback* ]] || fail "a traceback"
}

@test "a server that cannot start prints one message" {
    local path text

    path="PATH=$(venv newest)/bin:$PATH"
    port=$(free_port)
    refused 'TF_CONFIG is not set; run it under srun --tf-tasks=LIST' --
    refused 'TF_CONFIG is not set; run it under srun --tf-tasks=LIST' TF_CONFIG= -- --default-ps true
    for text in ps '[]' '{"cluster":{}}' "$(config chief)" '{"cluster":{"ps":["a:1"]},"task":{"type":"ps","index":1}}'; do
        refused 'TF_CONFIG does not name a task of a cluster' TF_CONFIG="$text" --
    done
    refused "/usr/bin/python3 has no TensorFlow (No module named 'tensorflow'); is its environment active?" \
        PATH=/usr/bin TF_CONFIG="$(config ps)" --
    refused '/nowhere: No such file or directory' TF_CONFIG="$(config worker)" -- --default-ps /nowhere
    start_server newest
    eventually 60 listens
    refused "ps 0 at 127.0.0.1:$port: Could not start gRPC server" "$path" TF_CONFIG="$(config ps)" --
    kill $server
    wait $server
}

@test "--default-ps: a task that is not a ps runs the program unchanged" {
    port=1
    run env PATH=/usr/bin TF_CONFIG="$(config worker)" "$tf_server" --default-ps printf '<%s>' --help 'a  b'
    [ "$status" -eq 0 ] && [ "$output" = '<--help><a  b>' ] || fail "the program runs otherwise"
    # Its cluster does not name an auxiliary task.
    run env PATH=/usr/bin TF_CONFIG='{"cluster": {"worker": ["n:1"]}, "task": {"type": "data", "index": 0}}' \
        "$tf_server" --default-ps echo runs
    [ "$status" -eq 0 ] && [ "$output" = runs ] || fail "an auxiliary task: $output"
}

@test "--help and invalid calls" {
    local words

    run --separate-stderr "$tf_server" --help
    [ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "${lines[0]}" = 'usage: tf-server' ] || fail "--help"
    for words in --ps python '--default-ps' '--default-ps=true'; do
        run --separate-stderr "$tf_server" $words
        [ "$status" -eq 2 ] && [ -z "$output" ] && [[ $stderr = 'usage: tf-server'* ]] || fail "$words"
    done
}

@test "--help and the manual page have every option, and the page is without errors" {
    run --separate-stderr groff -man -ww -Tutf8 -P-c "$SPANK_TF_STAGE/share/man/man1/tf-server.1"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "the page"
    [[ $output = *--default-ps* ]] || fail "no --default-ps in the page"
    grep -q -- --default-ps <("$tf_server" --help) || fail "no --default-ps in --help"
}
