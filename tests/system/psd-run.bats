#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# psd_run: how it runs Poseidon's cluster files and commands, with a dummy tf-server.

# bats file_tags=core
load launch

setup_file ()
{
    local work i

    start_cluster
    work=$SPANK_TF_CLUSTER/work
    cp "$SPANK_TF_STAGE/bin/psd_run" "$work"
    mkdir "$work/bin"
    cat > "$work/bin/tf-server" <<'END'
#!/bin/sh
echo "serves $SLURM_TF_INDEX in ${VIRTUAL_ENV-none}"
touch "${LOGS-none}.serves.$SLURM_JOB_ID.$SLURM_STEP_ID.$SLURM_TF_INDEX"
exec sleep 600
END
    # Prints its arguments and its node when the servers of its step have started, and exits, so
    # that they are stopped. An older step may have written to the same logs.
    cat > "$work/bin/args" <<'END'
#!/bin/sh
for log in "$LOGS"/server*.log; do
    index=${log##*/server} index=${index%.log}
    until [ -e "$LOGS.serves.$SLURM_JOB_ID.$SLURM_STEP_ID.$index" ]; do sleep 0.1; done
done
printf '<%s>' "$@"
echo " on $SLURMD_NODENAME in ${VIRTUAL_ENV-none} with $(command -v python)"
END
    chmod 755 "$work"/bin/*
    for i in 1 2 3 4; do
        export "n$i=$(node $i)"
    done
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    out=out.$BATS_TEST_NUMBER
    path=$work/bin:$SPANK_TF_STAGE/bin:$PATH
}

# Write the cluster file: config LINE…
config ()
{
    printf '%s\n' "$@" > "$work/c.json"
}

# Print words as a JSON list.
list ()
{
    printf '"%s"\n' "$@" | paste -sd, | sed 's/.*/[&]/'
}

# Write the cluster file with these nodes: nodes "SERVER…" "WORKER…" [MEMBER]
nodes ()
{
    # shellcheck disable=SC2086  # one word is one node
    config "{ \"server_nodes\": $(list $1)," "  \"worker_nodes\": $(list $2)${3:+, $3} }"
}

# Run psd_run; before COMMAND, optionally, the exit code that is expected, as for `run`:
# psd_run [-127] COMMAND
psd_run ()
{
    local -a code=()

    [[ $1 != -* ]] || { code=("$1") && shift; }
    run "${code[@]}" --separate-stderr slurm env PATH="$path" LOGS="$out" timeout 60 ./psd_run -c c.json -o "$out" "$@"
}

# Require success without any message of psd_run; srun has said where the logs are.
succeeds_silently ()
{
    [ "$status" -eq 0 ] && [ -z "$output" ] && [ "$(sed -E 's/step [0-9.]+:/STEP/' <<< "$stderr")" = "srun: spank_tf: STEP logs are in $work/$out" ] || fail "it fails, or prints a message"
}

# Require these ranks in master.log's table, "ROLE INDEX NODE", and no others: placed LINE…
placed ()
{
    diff <(table | cut -d' ' -f1-3) <(printf '%s\n' "$@")
}

# Print master.log's table, "ROLE INDEX NODE ADDRESS".
table ()
{
    sed -nE '/how its tasks ended/q; s/^[0-9T:+-]{25} +[0-9]+ +([a-z]+ [0-9]+) +([^ ]+) +([^ ]+)$/\1 \2 \3/p' "$work/$out/master.log"
}

# Require these arguments, without psd_run's own, and nodes of the workers: worked LINE…
worked ()
{
    diff <(cat "$work/$out"/worker?.log | sed -E 's/<--distributed=.*> on ([^ ]+) .*/ \1/') <(printf '%s\n' "$@")
}

# --- a launch

@test "servers and workers run on the nodes of the file, in its order, also several on one node" {
    nodes "$n3 $n1" "$n4 $n1 $n3 $n1"
    psd_run args
    succeeds_silently
    placed "ps 0 $n3" "ps 1 $n1" "worker 0 $n4" "worker 1 $n1" "worker 2 $n3" "worker 3 $n1"
    worked " $n4" " $n1" " $n3" " $n1"
}

@test "each worker gets server 0's address and its own number after its own arguments" {
    local master i

    nodes "$n2 $n1" "$n1 $n2"
    psd_run "args --steps 10"
    succeeds_silently
    master=$(table | sed -n 's/^ps 0 .* //p')
    for i in 0 1; do
        [[ "$(< "$work/$out/worker$i.log")" == "<--steps><10><--distributed=True><--master_address=tcp://${master:?}><--client_id=$i> on "* ]]
    done
}

@test "each task has a log, and master.log has the launch and the end of every task" {
    nodes "$n1 $n2" "$n1 $n2"
    psd_run args
    succeeds_silently
    # shellcheck disable=SC2012  # our own names
    [ "$(ls "$work/$out" | paste -sd' ')" = "master.log ps0.log ps1.log server0.log server1.log worker0.log worker1.log" ]
    [ "$(readlink "$work/$out/server1.log")" = ps1.log ]
    diff <(cat "$work/$out"/server?.log) <(printf 'serves %s in none\n' 0 1)
    diff <(task_ends "$work/$out/master.log" | cut -d' ' -f2-) \
        <(printf '%s\n' "ps 0 stopped" "ps 1 stopped" "worker 0 exit 0" "worker 1 exit 0")
}

@test "the logs of an earlier psd_run are overwritten, and links of an older release are replaced" {
    nodes "$n1" "$n1"
    slurm mkdir "$work/$out"
    slurm sh -c "echo old > $work/$out/server0.log; ln -s server0.log $work/$out/ps0.log"
    for i in 1 2; do
        psd_run args
        succeeds_silently
        [ "$(readlink "$work/$out/server0.log")" = ps0.log ] && [ "$(< "$work/$out/server0.log")" = "serves 0 in none" ] ||
            fail "server0.log: $(< "$work/$out/server0.log")"
    done
}

@test "a ps0.log of another step is not overwritten" {
    nodes "$n1" "$n1"
    slurm mkdir "$work/$out"
    slurm sh -c "echo precious > $work/$out/ps0.log"
    psd_run args
    [ "$status" -eq 1 ] && [ "$stderr" = "psd_run: $work/$out/ps0.log is a log of another step, which was run without psd_run" ] || fail "no such message"
    [ "$(< "$work/$out/ps0.log")" = precious ] && [ ! -e "$work/$out/worker0.log" ] || fail "it is overwritten, or a program was started"
}

@test "existing logs are truncated, or appended to with SLURM_OPEN_MODE=a" {
    nodes "$n1" "$n1"
    psd_run args
    psd_run args
    succeeds_silently
    [ "$(cat "$work/$out/server0.log" "$work/$out/worker0.log" | wc -l)" -eq 2 ]
    SLURM_OPEN_MODE=a psd_run args
    succeeds_silently
    [ "$(cat "$work/$out/server0.log" "$work/$out/worker0.log" | grep -vc '^spank_tf: step ')" -eq 4 ]
}

@test "a directory that cannot be created, or whose name srun would change, is refused" {
    local name

    nodes "$n1" "$n1"
    touch "$work/$out"
    for name in "$out" "$out/a" "$out.%j" "$out.a\\b"; do
        out=$name psd_run args
        [ "$status" -eq 1 ] && [ "$(wc -l <<< "$stderr")" -eq 1 ] && [[ $stderr == "psd_run: $work/$name: "* ]] || fail "$name"
    done
}

@test "the exit code is srun's" {
    nodes "$n1" "$n1 $n2"
    psd_run "sh -c 'exit 7'"
    [ "$status" -eq 7 ] || fail "it is not 7"
    psd_run -127 /no/such/program
    grep -q /no/such/program "$work/$out/worker0.log"
}

serves ()
{
    [ -s "$work/$out/server0.log" ]
    [ -s "$work/$out/worker0.log" ]
}

# Send a signal until the process has ended; srun needs two SIGINT within a second: ended_by
# SIGNAL PID
ended_by ()
{
    kill -s "$1" "$2" 2> /dev/null || return 0
    sleep 0.2
    ! kill -0 "$2" 2> /dev/null
}

@test "psd_run becomes srun, so that SIGTERM and Ctrl-C end the step" {
    local signal psd pid

    nodes "$n1" "$n1 $n2"
    for signal in TERM INT; do
        slurm env PATH="$path" sh -c 'echo $$ > pid; exec "$@"' - ./psd_run -c c.json -o "$out" \
            "sh -c 'echo works; exec sleep 600'" 2> "$work/err" 3>&- &
        psd=$!
        eventually 30 serves || fail "the step does not start: $(cat "$work/err")"
        pid=$(< "$work/pid")
        [ "$(< "/proc/$pid/comm")" = srun ] || fail "it is $(< "/proc/$pid/comm")"
        # Python ignores 25, SIGXFSZ.
        (((0x$(sed -n 's/^SigIgn:\t//p' "/proc/$pid/status") >> 24 & 1) == 0)) || fail "srun ignores a signal"
        eventually 30 ended_by "$signal" "$pid" || fail "it does not end: $(cat "$work/err")"
        status=0
        wait "$psd" || status=$?
        [ "$status" -gt 128 ] || fail "SIG$signal: $status"
        nothing_left
        rm -r "${work:?}/$out"
    done
}

# --- commands

@test "COMMAND is split and unquoted as by a shell, and not expanded" {
    nodes "$n1" "$n1"
    psd_run "args 'a  b' \"c \\\" 'd'\" e\\ f '' \$HOME * ~ ; | && \`id\` \$(id) '\$1' {role}{index}"
    succeeds_silently
    worked "<a  b><c \" 'd'><e f><><\$HOME><*><~><;><|><&&><\`id\`><\$(id)><\$1><worker0> $n1"
}

@test "commands separated by commas are for one worker each" {
    nodes "$n1" "$n1 $n2 $n3"
    psd_run "args --data=/a, args '--data=/b, c' ,args --data=d\\,e \",\""
    succeeds_silently
    worked "<--data=/a> $n1" "<--data=/b, c> $n2" "<--data=d,e><,> $n3"
}

@test "a quoted comma is part of the command" {
    nodes "$n1" "$n1 $n2"
    psd_run "args '--layers=64,32'"
    succeeds_silently
    worked "<--layers=64,32> $n1" "<--layers=64,32> $n2"
}

# Require that psd_run prints this message only, and starts nothing: refused MESSAGE [COMMAND]
refused ()
{
    psd_run "${2-args}"
    [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$stderr" = "psd_run: $1" ] || fail "the only message is not: $1"
    [ ! -e "$work/$out" ] || fail "the step was started"
}

@test "an invalid COMMAND, and a number of commands that is not the number of workers, are refused" {
    nodes "$n1" "$n1 $n2 $n3"
    refused "COMMAND: 2 commands for 3 worker_nodes; quote a comma that is a part of one" "args --layers=64,32"
    refused "COMMAND: 4 commands for 3 worker_nodes; quote a comma that is a part of one" "args, args, args,"
    refused "COMMAND: number 2 is empty" "args, , args"
    refused "COMMAND: number 1 is empty" ""
    refused "COMMAND: No closing quotation" "args 'a"
}

# --- the cluster file

address_of ()
{
    slurm scontrol show node "$1" | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p'
}

# Run a command while Slurm has another address for the node: with_address NODE ADDRESS COMMAND…
with_address ()
{
    local address

    address=$(address_of "$1")
    "$tests/cluster" run -- scontrol update nodename="$1" nodeaddr="$2"
    "${@:3}"
    "$tests/cluster" run -- scontrol update nodename="$1" nodeaddr="$address"
}

@test "nodes may be given by address" {
    local address

    address=$(address_of "$n2")
    nodes "$address" "$n1 $address"
    psd_run args
    succeeds_silently
    placed "ps 0 $n2" "worker 0 $n1" "worker 1 $n2"
    # The node's address in Slurm may be a name.
    with_address "$n2" "$n2" psd_run args
    succeeds_silently
    placed "ps 0 $n2" "worker 0 $n1" "worker 1 $n2"
}

@test "a message names a node that Slurm does not know" {
    nodes "$n1" "$n1 n9"
    refused "c.json:2: worker_nodes: Slurm knows no node n9"
    nodes "192.0.2.1" "$n1"
    refused "c.json:1: server_nodes: Slurm knows no node 192.0.2.1"
}

@test "a message names all nodes of an ambiguous address" {
    local address

    address=$(address_of "$n2")
    nodes "$address" "$n1"
    with_address "$n3" "$address" refused "c.json:1: server_nodes: $address is the address of several nodes, $n2, $n3"
}

@test "invalid JSON is reported with file, line and what was expected" {
    config '{' '  "server_nodes": ["a"]' '  "worker_nodes": ["b"]' '}'
    refused "c.json:3: column 3: Expecting ',' delimiter"
    config '{' '  "server_nodes": ["a"],' '  5' '}'
    refused "c.json:3: column 3: Expecting property name enclosed in double quotes"
    config '{' '  "server_nodes": ' '}'
    refused "c.json:3: column 1: Expecting value"
    config '' '["a"]'
    refused 'c.json:2: an object, {...}, was expected'
    config ''
    refused "c.json:2: column 1: Expecting value"
    printf '\xff\xfe' > "$work/c.json"
    refused "c.json: this is not text; JSON was expected"
    rm "$work/c.json"
    refused "c.json: No such file or directory"
}

@test "missing and wrong members are reported with their line" {
    local expected='a list of nodes, ["NAME OR ADDRESS", ...], was expected' value

    config '' '{ "server_nodes": ["a"] }'
    refused "c.json:2: \"worker_nodes\" is missing; $expected"
    config "{ \"worker_nodes\": [\"$n1\"] }"
    refused "c.json:1: \"server_nodes\" is missing; $expected"
    for value in '"n1"' '[]' '[1]' '["n1", ""]' '{}' null; do
        config '{' '  "server_nodes": ["worker_nodes"],' "  \"worker_nodes\": $value" '}'
        refused "c.json:3: \"worker_nodes\" is something else; $expected"
    done
    config "{ \"worker_nodes\": [\"$n1\"], \"server_nodes\": [\"$n1\"]," '"virtualenv": true }'
    refused 'c.json:2: "virtualenv" is something else; its directory, "/PATH", was expected'
}

@test "members that only Poseidon needed are accepted, with a message" {
    config '{' ' "pem_file": "key.pem", "username": "ubuntu",' ' "master_node": "localhost",' ' "port": [{"a": 1}, 2],' \
        " \"server_nodes\": [\"$n1\"]," " \"worker_nodes\": [\"$n1\"]" '}'
    psd_run args
    [ "$status" -eq 0 ] || fail "it fails"
    diff <(grep -v ': logs are in ' <<< "$stderr") - <<'END'
psd_run: c.json:2: "pem_file" is not needed: Slurm starts the tasks
psd_run: c.json:2: "username" is not needed: the tasks run as you
psd_run: c.json:3: "master_node" is not needed: server 0 is the master, and master.log is written here
psd_run: c.json:4: "port" is not known, and not used
END
}

@test "servers and workers run in the virtual environment" {
    slurm mkdir -p "$work/a venv/bin"
    slurm ln -s /usr/bin/python3 "$work/a venv/bin/python"
    nodes "$n1" "$n2" "\"virtualenv\": \"$work/a venv\""
    psd_run args
    succeeds_silently
    [ "$(< "$work/$out/server0.log")" = "serves 0 in $work/a venv" ]
    [[ "$(< "$work/$out/worker0.log")" == *" in $work/a venv with $work/a venv/bin/python" ]]
}

@test "a missing virtual environment is reported by the tasks, whose programs do not start" {
    nodes "$n1" "$n2" '"virtualenv": "/nowhere"'
    psd_run args
    [ "$status" -eq 1 ] || fail "it ran"
    grep -qE "^psd_run: ($n1|$n2): there is no /nowhere/bin/python$" "$work/$out"/{server,worker}0.log
    run grep -E 'serves|distributed' "$work/$out"/{server,worker}0.log
    [ "$status" -eq 1 ] || fail "one ran"
}

# --- in a job

@test "in a job, psd_run starts a step on the job's nodes, with the CPUs that they have" {
    nodes "$n3 $n1" "$n1 $n3 $n1"
    batch -w "$n1,$n2,$n3" --ntasks-per-node=1 --tf-tasks-per-node=worker:rest --tf-log-dir=none <<END
#!/bin/bash
export PATH=$path LOGS=$out SLURM_HOSTFILE=/nowhere
./psd_run -c c.json -o $out args
END
    succeeds_silently
    placed "ps 0 $n3" "ps 1 $n1" "worker 0 $n1" "worker 1 $n3" "worker 2 $n1"
    [[ "$(undated "$work/$out/master.log")" == "spank_tf: step $job.0: "* ]] || fail "another job"
}

@test "a job may have more nodes than the file" {
    nodes "$n2" "$n2"
    run --separate-stderr slurm salloc -Q -w "$n1,$n2,$n3" env PATH="$path" LOGS="$out" ./psd_run -c c.json -o "$out" args
    succeeds_silently
    placed "ps 0 $n2" "worker 0 $n2"
}

@test "a message names a node that the job does not have" {
    nodes "$n1" "$n1 $n4"
    run --separate-stderr slurm salloc -Q -w "$n1,$n2" env PATH="$path" ./psd_run -c c.json -o "$out" args
    [ "$status" -eq 1 ] && [[ $stderr == "psd_run: c.json:2: worker_nodes: $n4 is not a node of this job, "* ]] || fail "no such message"
}

# --- psd_run itself

@test "programs that are missing in PATH are named" {
    nodes "$n1" "$n1"
    mkdir "$work/none"
    path=$work/bin:/usr/bin:/bin
    refused "tf-exec is not in PATH; it comes with spank-tf"
    ln -s "$SPANK_TF_STAGE/bin/tf-exec" "$work/none"
    path=$work/none:/usr/bin:/bin
    refused "tf-server is not in PATH; it comes with spank-tf"
}

@test "--help, the manual page, and invalid calls" {
    local option call

    # configure replaces the version and the date.
    run --separate-stderr groff -man -ww -Tutf8 -P-cbou <(sed 's/@[A-Za-z_]*@/1/g' "$tests/../contrib/psd_run.1.in")
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "the page"
    for option in -c --cluster_config -o --out; do
        [[ $output == *$option* ]] || fail "no $option in the page"
        grep -q -- "$option" <("$work/psd_run" --help) || fail "no $option in --help"
    done
    for call in "" "-c c.json args" "-o out args" "-c c.json -o out" "-c c.json -o out args more"; do
        # shellcheck disable=SC2086  # one word is one argument
        run --separate-stderr "$work/psd_run" $call
        [ "$status" -eq 2 ] && [ -z "$output" ] && [[ $stderr == "usage: psd_run "* ]] || fail "$call"
    done
}
