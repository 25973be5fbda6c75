#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# notify=: the site's program gets the events of a step, which does not wait for it.

load launch
load lives

setup_file ()
{
    start_cluster --nodes 2
}

before_test ()
{
    make_lives
    work=$SPANK_TF_CLUSTER/work
    rm -rf "$work/events" "$work"/out.*
    slurm mkdir "$work/events"
}

after_test ()
{
    [[ ! ${prometheus-} ]] || end_prometheus
    site_arguments
    end_lives
}

# The site's program is this script, in which $E is a directory of the user's: notify SCRIPT [ARGUMENT…]
notify ()
{
    printf '#!/bin/sh\nE=%s/events\n%s\n' "$work" "$1" > "$work/notify"
    chmod 755 "$work/notify"
    site_arguments "notify=$work/notify" "${@:2}"
}

# All processes of events have ended, within so many seconds. They are named tf-notify.
notifiers_end ()
{
    eventually "$1" no_notifier || fail "a tf-notify is left"
}

no_notifier ()
{
    ! pgrep -x -u "$user" tf-notify > "$BATS_TEST_TMPDIR/left"
}

# Each line of the files is an event that doc/event.schema.json describes. Print, for each, these expressions:
# events EXPRESSION FILE…
events ()
{
    /usr/bin/python3 - "$tests/../doc/event.schema.json" "$@" <<'PYTHON'
import json, sys

schema = json.load(open(sys.argv[1]))
types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
         "null": type(None)}
known = {"$schema", "$defs", "$ref", "title", "description", "type", "required", "properties", "minimum", "enum",
         "const", "items", "additionalProperties", "allOf", "if", "then"}

def is_type(value, name):
    return isinstance(value, types[name]) and not (name == "integer" and isinstance(value, bool))

def check(value, s, at="event"):
    assert not s.keys() - known, s.keys() - known
    if "$ref" in s:
        check(value, schema["$defs"][s["$ref"].split("/")[-1]], at)
    names = s.get("type", [])
    names = [names] if isinstance(names, str) else names
    assert not names or any(is_type(value, n) for n in names), (at, value)
    assert value == s.get("const", value) and value in s.get("enum", [value]), (at, value)
    assert "minimum" not in s or value is None or value >= s["minimum"], (at, value)
    if isinstance(value, dict):
        assert set(s.get("required", [])) <= value.keys(), (at, set(s["required"]) - value.keys())
        for key, v in value.items():
            rest = s.get("additionalProperties", {})
            check(v, s.get("properties", {}).get(key, rest), f"{at}.{key}")
    if isinstance(value, list):
        for v in value:
            check(v, s.get("items", {}), at + "[]")
    for part in s.get("allOf", []):
        check(value, part, at)
    if "if" in s:
        try:
            check(value, s["if"], at)
        except AssertionError:
            return
        check(value, s["then"], at)

for name in sys.argv[3:]:
    for line in open(name):
        e = json.loads(line)
        check(e, schema)
        extra = e.keys() - schema["properties"].keys() - {k for p in schema["allOf"] for k in p["then"]["properties"]}
        assert not extra, f"the schema lacks {extra}"
        for t in e["tasks"]:
            assert not t.keys() - schema["$defs"]["task"]["properties"].keys(), t.keys()
        print(eval(sys.argv[2]))
PYTHON
}

# Plugin: tf-run begins before srun has a job, of which events have the name.
# bats test_tags=core,release,plugin
@test "the program gets the start, a restart and the end, as the schema says, and as --tf-show=json" {
    notify 'id -u >> $E/uid; cat >> $E/all'
    run -0 --separate-stderr slurm srun -Q -J train -N2 -n3 --tf-tasks=chief,ps,worker --tf-restart=2 --tf-show=json sh -c '
        [ $SLURM_TF_ROLE$SLURM_TF_RESTART != worker ] || kill -9 $$
        [ $SLURM_TF_ROLE != ps ] || exec sleep 60
        [ $SLURM_TF_ROLE != chief ] || until [ -e '"$work"'/events/worker ]; do sleep 0.1; done
        [ $SLURM_TF_ROLE != worker ] || touch '"$work"'/events/worker'
    notifiers_end 10
    diff <(events '{**e, "time": 0}' "$work/events/all") \
        <(grep '^{' <<< "$stderr" > "$work/out.shown"; events '{**e, "time": 0}' "$work/out.shown") || fail "other objects are shown"
    diff <(events '[e["event"], e["ranks"], e["nodes"], e["roles"], e["max_restarts"], e["restarts_left"]]' "$work/events/all") - <<'EVENTS'
['start', 3, 2, {'chief': 1, 'ps': 1, 'worker': 1}, 2, 2]
['restart', 3, 2, {'chief': 1, 'ps': 1, 'worker': 1}, 2, 1]
['end', 3, 2, {'chief': 1, 'ps': 1, 'worker': 1}, 2, 1]
EVENTS
    diff <(events '[[t["rank"], t.get("end"), t.get("number"), t.get("restarts")] for t in e["tasks"]]' "$work/events/all") - <<'EVENTS'
[[0, None, None, None], [1, None, None, None], [2, None, None, None]]
[[2, 'signal', 9, None]]
[[0, 'exit', 0, 0], [1, 'stopped', None, 0], [2, 'exit', 0, 1]]
EVENTS
    [ "$(events 'str(e["job"]) + ".0" == e["step"]' "$work/events/all" | sort -u)" = True ] || fail "another job"
    [ "$(events '[e[k] for k in ("user", "job_name", "partition", "cluster", "srun_host")] + [e.get("array")]' "$work/events/all" | sort -u)" = \
        "['$user', 'train', 'all', 'private', 'login', None]" ] || fail "another job is named"
    [ "$(sort -u "$work/events/uid")" = "$(slurm id -u)" ] || fail "it runs as another user"
}

@test "a task whose supervisor is lost is an event" {
    notify 'cat >> $E/all'
    run slurm srun -Q -N2 -n3 --tf-tasks=ps,worker:2 --tf-show=json sh -c '
        [ $SLURM_TF_ROLE != ps ] || exec sleep 60
        [ $SLURM_TF_INDEX != 1 ] || kill -KILL $PPID
        until grep -q "\"event\":\"lost\"" '"$work"'/events/all; do sleep 0.1; done'
    [ "$status" -eq 137 ] || fail "another exit code"
    [ "$(grep -c '^{.*"event":"lost"' <<< "$output")" -eq 1 ] || fail "it is not shown"
    notifiers_end 10
    diff <(events '[e["event"]] + [[t["rank"], t.get("end")] for t in e["tasks"]]' "$work/events/all") - <<'EVENTS'
['start', [0, None], [1, None], [2, None]]
['lost', [2, 'lost']]
['end', [0, 'stopped'], [1, 'exit'], [2, 'lost']]
EVENTS
}

@test "a restart of all is one event, and a single task has an end" {
    notify 'cat >> $E/all'
    run -0 --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-restart=2 sh -c '
        [ $SLURM_PROCID$SLURM_TF_RESTART != 1 ] || kill -9 $$'
    run -0 slurm srun -Q -n1 --tf-tasks=worker --tf-stop=never true
    notifiers_end 10
    diff <(events '[e["event"], e.get("all"), e["restarts_left"], len(e["tasks"])]' "$work/events/all") - <<'EVENTS'
['start', None, 2, 2]
['restart', True, 1, 1]
['end', None, 1, 2]
['start', None, 0, 1]
['end', None, 0, 1]
EVENTS
}

@test "a hang is an event, as the schema says, and how its tasks end" {
    command -v systemd-notify > /dev/null || skip "systemd-notify is not installed"
    notify 'cat >> $E/all'
    run --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=1,60 --tf-show=json sh -c '
        for i in 1 2; do systemd-notify WATCHDOG=1 STATUS="step $i"; done; kill -STOP $$; sleep 60'
    [ "$status" -eq 124 ] || fail "it does not end with 124"
    notifiers_end 10
    diff <(events '{**e, "time": 0}' "$work/events/all") \
        <(grep '^{' <<< "$stderr" > "$work/out.shown"; events '{**e, "time": 0}' "$work/out.shown") || fail "other objects are shown"
    diff <(events '[e["event"], e.get("seconds"), sorted([t["rank"], t.get("status"), t.get("stopped"), t.get("end"), "since" in t] for t in e["tasks"])]' \
        "$work/events/all") - <<'EVENTS'
['start', None, [[0, None, None, None, False], [1, None, None, None, False]]]
['hang', 1, [[0, 'step 2', True, None, True], [1, 'step 2', True, None, True]]]
['end', None, [[0, None, None, 'hung', False], [1, None, None, 'hung', False]]]
EVENTS
}

# bats test_tags=core,by-run
@test "--tf-notify: the user's program gets the same, with srun's variables and directory; it is found in PATH" {
    local bin=$work/bin options

    mkdir -p "$bin"
    printf '#!/bin/sh\n{ cat; echo "$SLURM_JOB_ID.$SLURM_STEP_ID $COLOR $(pwd)" >&2; } >> events/own 2>> events/variables\n' > "$bin/tell"
    chmod 755 "$bin/tell"
    notify 'cat >> $E/all'
    for options in --tf-notify=bin/tell --tf-notify=tell "--tf-notify=$bin/tell"; do
        rm -f "$work"/events/*
        # shellcheck disable=SC2086  # without quotes, as a user writes it
        run -0 --separate-stderr slurm env COLOR=green PATH="$bin:$PATH" srun -Q -n2 --tf-tasks=worker:2 $options true
        [ -z "$output$stderr" ] || fail "the step says something"
        notifiers_end 10
        [ "$(events 'e["event"]' "$work/events/own" | xargs)" = "start end" ] || fail "an event is missing with $options"
        [[ ${SPANK_TF_BY_RUN-} ]] || cmp "$work/events/own" "$work/events/all" || fail "the site's program gets others"
        run sort -u "$work/events/variables"
        [[ $output =~ ^[0-9]+\.0\ green\ $work$ ]] || fail "other variables"
    done
    run -1 --separate-stderr slurm srun -Q -n2 --tf-tasks=worker:2 --tf-notify=bin/none true
    [[ $stderr == *'--tf-notify: bin/none is not a program on this host; give its path'* ]] || fail "it is not refused"
    run -0 --separate-stderr slurm env SLURM_TF_RUN= srun -Q -n2 --tf-tasks=worker:2 --tf-notify=none true
}

@test "... and the example for a chat posts what happens" {
    cat > "$work/chat.py" <<'PYTHON'
import http.server
class Chat(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        open("posted", "ab").write(body + b"\n")
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", 8065), Chat).serve_forever()
PYTHON
    cp "$tests/../contrib/notify/chat" "$work/chat"
    slurm /usr/bin/python3 chat.py 3>&- &
    eventually 20 slurm /usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8065))' || fail "the chat does not begin"
    run -3 slurm env CHAT_URL=http://127.0.0.1:8065/hook srun -Q -N2 -n2 -J train --tf-tasks=worker:2 --tf-restart=1 --tf-notify=./chat sh -c '
        [ $SLURM_PROCID$SLURM_TF_RESTART != 1 ] || kill -9 $$
        [ "$SLURM_TF_RESTART" ] || exec sleep 60
        [ $SLURM_PROCID = 1 ] || exit 3'
    notifiers_end 20
    # Its own choice of events.
    for events in failure end; do
        for code in 0 4; do
            run -$code slurm env CHAT_URL=http://127.0.0.1:8065/hook CHAT_EVENTS=$events srun -Q -n1 -J $events --tf-tasks=worker \
                --tf-notify=./chat sh -c "exit $code"
            notifiers_end 20
        done
    done
    pkill -f -u "$user" chat.py
    diff <(sed -E 's/Job [0-9]+/Job J/; s/ on [a-z]+([12]):/ on n\1:/' "$work/posted") - <<'POSTED'
{"text": "Job J \"train\": start, worker:2"}
{"text": "Job J \"train\": restart, worker 1 on n2: signal 9 (0 restarts left)"}
{"text": "Job J \"train\": end, first worker 0 on n1: exit code 3"}
{"text": "Job J \"failure\": end, first worker 0 on n1: exit code 4"}
{"text": "Job J \"end\": end, training has finished"}
{"text": "Job J \"end\": end, first worker 0 on n1: exit code 4"}
POSTED
}

# What plain Slurm ends with 0.
@test "a slow program does not keep a task from ending within srun --wait" {
    notify 'cat >> $E/all; sleep 5'
    for options in '' --tf-tasks=worker:2; do
        run -0 --separate-stderr slurm srun -Q -N2 -n2 --wait=1 $options sh -c 'sleep 0.$SLURM_PROCID'
        [ -z "$output$stderr" ] || fail "the step with '$options' says something"
    done
    notifiers_end 25
    [ "$(events 'e["event"]' "$work/events/all" | xargs)" = "start end" ] || fail "an event is missing"
}

# Plugin: tf-check looks for it.
# bats test_tags=plugin
@test "a program that fails, or cannot be executed, harms nothing" {
    notify 'echo out; echo err >&2; exit 3'
    run -0 --separate-stderr slurm srun -Q -n2 --tf-tasks=worker:2 true
    [ -z "$output$stderr" ] || fail "the step says something"
    chmod 644 "$work/notify"
    run -0 --separate-stderr slurm srun -Q -n2 --tf-tasks=worker:2 true
    [ -z "$output$stderr" ] || fail "the step says something"
    run -1 --separate-stderr slurm_on "$(node 1)" "$SPANK_TF_STAGE/bin/tf-check"
    [[ $output == *"warning: $work/notify, which notify= names, cannot be executed here: Permission denied; "* ]] ||
        fail "tf-check does not say so"
    site_arguments "notify=$work/events"
    run -0 --separate-stderr slurm srun -Q -n2 --tf-tasks=worker:2 true
    run -1 --separate-stderr slurm_on "$(node 1)" "$SPANK_TF_STAGE/bin/tf-check"
    [[ $output == *"warning: $work/events, which notify= names, cannot be executed here: it is not a file; "* ]] ||
        fail "tf-check takes a directory for a program"
    notifiers_end 10
}

@test "who reads srun's output does not wait for the program" {
    notify 'sleep 1000'
    SECONDS=0
    [ -z "$(slurm srun -Q -n2 --tf-tasks=worker:2 true 2>&1)" ] || fail "the step says something"
    ((SECONDS <= 5)) || fail "it took $SECONDS s"
    notifiers_end 25
}

@test "each minute a heartbeat has the last step and its age, and srun prints none" {
    command -v systemd-notify > /dev/null || skip "systemd-notify is not installed"
    notify 'cat >> $E/all'
    cat > "$work/script" <<SCRIPT
#!/bin/sh
srun -Q --tf-tasks=worker:2 --tf-watchdog=300 --tf-show=json sh -c '
    systemd-notify WATCHDOG=1 STATUS="step 7"; until grep -q heartbeat $work/events/all; do sleep 0.5; done'
SCRIPT
    # It lasts longer than batch () waits.
    run -0 slurm sbatch -Q -W -n2 --array=3 -o out.heartbeat script
    output=$(< "$work/out.heartbeat")
    [[ $output == *'"event":"end"'* ]] || fail "nothing is printed"
    ! grep heartbeat <<< "$output" || fail "it is printed"
    notifiers_end 10
    diff <(events '[e["event"], e["array"].split("_")[1], e.get("last_step"), e.get("age", 0) > 0, len(e["tasks"])]' "$work/events/all") - <<'EVENTS' ||
['start', '3', None, False, 2]
['heartbeat', '3', 7, True, 0]
['end', '3', None, False, 2]
EVENTS
        fail "other events"
}

# The batch script ends at once, and Slurm kills what it has left.
@test "in a batch job a program that needs half a second gets the end" {
    notify 'cat > $E/one; ! grep -q event...end $E/one || sleep 0.5; cat $E/one >> $E/all'
    batch -n2 <<'SCRIPT'
#!/bin/sh
srun -Q --tf-tasks=worker:2 true
SCRIPT
    [ "$status" -eq 0 ] || fail "the job"
    notifiers_end 10
    [ "$(events 'e["event"]' "$work/events/all" | xargs)" = "start end" ] || fail "an event is missing"
}

# Run a step of two tasks that would go on for long; do this with it, and expect its end: is_lost COMMAND…
is_lost ()
{
    rm -rf "$work"/events/*
    slurm srun -Q -N2 -n2 --tf-tasks=worker:2 sh -c "touch $work/events/\$SLURM_PROCID; exec sleep 60" &
    eventually 20 [ -e "$work/events/0" -a -e "$work/events/1" ] || fail "it does not run"
    "$@"
    wait $! || true
    eventually 10 grep -q '"event":"end"' "$work/events/all" || fail "there is no end"
    notifiers_end 10
    # A supervisor that lives longer than its task tells the signal.
    diff <(events '[e["event"], e.get("cancelled"), [t.get("end") in ("lost", "signal") for t in e["tasks"]]]' \
        "$work/events/all") - <<'EVENTS'
['start', None, [False, False]]
['end', False, [True, True]]
EVENTS
}

kill_step ()
{
    slurm scancel -s KILL "$(slurm squeue -h -u "$user" -o %i).0"
}

@test "a step that is killed, or whose srun is, has an end, too" {
    notify 'cat >> $E/all'
    is_lost kill_step
    is_lost pkill -KILL -x -u "$user" srun
}

# The login host gets a journald of its own, and node_exporter. Both end with the test.
start_prometheus ()
{
    textfile=$SPANK_TF_CLUSTER/textfile
    rm -rf "$textfile" "$SPANK_TF_CLUSTER/state"
    mkdir "$textfile" "$SPANK_TF_CLUSTER/state"
    cp "$tests/../contrib/notify/prometheus" "$work/prometheus"
    "$tests/cluster" run -- mount -t tmpfs tmpfs /run
    "$tests/cluster" run -- sh -c 'mkdir -p /run/systemd/journal /run/log/journal; exec /lib/systemd/systemd-journald' \
        > "$BATS_TEST_TMPDIR/journald" 2>&1 3>&- &
    prometheus=$!
    "$tests/cluster" run --user "$user" -- prometheus-node-exporter --web.listen-address=127.0.0.1:9100 \
        --collector.disable-defaults --collector.textfile --collector.textfile.directory="$textfile" \
        > "$BATS_TEST_TMPDIR/exporter" 2>&1 3>&- &
    prometheus+=" $!"
    eventually 20 "$tests/cluster" run -- test -S /run/systemd/journal/socket || fail "$(cat "$BATS_TEST_TMPDIR/journald")"
    eventually 20 scrape || fail "$(cat "$BATS_TEST_TMPDIR/exporter")"
}

# As the timer does; then print what node_exporter says.
collect ()
{
    "$tests/cluster" run -- journalctl --sync
    "$tests/cluster" run -- env STATE_DIRECTORY="$SPANK_TF_CLUSTER/state" "$tests/../contrib/notify/prometheus-collector" "$textfile" || return
    # Nothing else is left there.
    [ "$(ls -A "$textfile")" = spank_tf.prom ] || fail "$(ls -lA "$textfile")"
    scrape
}

scrape ()
{
    "$tests/cluster" run -- curl -sS -m 10 http://127.0.0.1:9100/metrics > "$BATS_TEST_TMPDIR/metrics" &&
        grep -E '^(spank_tf|node_textfile_scrape_error|node_load)' "$BATS_TEST_TMPDIR/metrics"
}

end_prometheus ()
{
    # shellcheck disable=SC2086  # one word a process
    kill $prometheus && wait $prometheus || true
    "$tests/cluster" run -- umount -l /run
}

# As this user, send events, each a line of stdin, as contrib/notify/prometheus does: sends USER
sends ()
{
    "$tests/cluster" run --user "$1" -- /usr/bin/python3 -c '
import socket, sys
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for line in sys.stdin:
    journal.sendto(b"SYSLOG_IDENTIFIER=spank_tf_event\n_UID=0\nMESSAGE=" + line.encode(), "/run/systemd/journal/socket")'
}

@test "the example for Prometheus: what node_exporter says of a step" {
    local event

    start_prometheus
    notify "exec /usr/bin/python3 $work/prometheus"
    run -3 slurm srun -Q -N2 -n3 --tf-tasks=ps,worker:2 sh -c '[ $SLURM_TF_ROLE = worker ] || sleep 60; exit 3'
    notifiers_end 10
    diff <(collect | sed -E "s/step=\"[0-9]+\.0\",user=\"$(id -u "$user")\"/STEP/; s/ [0-9.]+e\+09$/ TIME/; s/(account.*|idle.*) [0-9].*/\1 N/") - <<'METRICS' ||
node_textfile_scrape_error 0
spank_tf_failed_tasks{STEP} 2
spank_tf_idle_spare_seconds{STEP} N
spank_tf_last_event_seconds{event="end",STEP} TIME
spank_tf_ledger_seconds{account="launch",STEP} N
spank_tf_ledger_seconds{account="noticing",STEP} N
spank_tf_ledger_seconds{account="pausing",STEP} N
spank_tf_ledger_seconds{account="preflight",STEP} N
spank_tf_ledger_seconds{account="running",STEP} N
spank_tf_ledger_seconds{account="suspended",STEP} N
spank_tf_nodes{STEP} 2
spank_tf_replaced{STEP} 0
spank_tf_restarts{STEP} 0
spank_tf_restarts_left{STEP} 0
spank_tf_running{STEP} 0
spank_tf_tasks{role="ps",STEP} 1
spank_tf_tasks{role="worker",STEP} 2
METRICS
        fail "other metrics"
    # A job that is requeued has the same steps again.
    for event in start end start; do
        echo "{\"event\":\"$event\",\"step\":\"99.0\",\"roles\":{\"worker\":1},\"nodes\":1,\"restarts_left\":0}" | sends "$user"
        collect | sed -n 's/^spank_tf_running{step="99.0".* //p'
    done > "$BATS_TEST_TMPDIR/running"
    [ "$(xargs < "$BATS_TEST_TMPDIR/running")" = "1 0 1" ] || fail "$(cat "$BATS_TEST_TMPDIR/running")"
}

@test "... another user changes nothing of it, claims no step, and neither stops nor swells it" {
    local own valid='{"event":"start","step":"7.0","roles":{"worker":1,"+data":1},"nodes":1,"restarts_left":0}' text

    start_prometheus
    for text in "touch $textfile/own.prom" "mkfifo $textfile/own.prom" "ln -s /etc/shadow $textfile/own.prom" \
        "ln -sf /etc/passwd $textfile/spank_tf.prom.new" "touch $SPANK_TF_CLUSTER/state/own"; do
        # shellcheck disable=SC2086  # a command
        run "$tests/cluster" run --user "$other_user" -- $text
        [ "$status" -ne 0 ] || fail "$text"
    done
    sends "$user" <<< "$valid"
    own=$(collect)
    # The same step, with other numbers; the user's own step of that name.
    sends "$other_user" <<< "${valid/'"nodes":1'/'"nodes":77'}"
    [ "$(collect | grep "user=\"$(id -u "$user")\"")" = "$(grep 'user=' <<< "$own")" ] || fail "it is changed"
    collect | grep -qx "spank_tf_nodes{step=\"7.0\",user=\"$(id -u "$other_user")\"} 77" || fail "it is not the other user's"
    # What is not an event: each would break the file, or be a metric of another name.
    own=$(collect)
    {
        for text in '"nodes":1e999' '"nodes":NaN' '"nodes":"1"' '"nodes":true' '"nodes":null' '"nodes":[1]' '"x":0' \
            '"nodes":1,"ledger":{"a\n_s":1}' '"nodes":1,"ledger":{"\"} 1\nnode_load1 9\n#_s":1}' '"nodes":1,"ledger":[]' \
            '"nodes":1,"step":"7\"} 1\nnode_load1 9\n#"' '"nodes":1,"event":"a b"' '"nodes":1,"step":7' \
            '"nodes":1,"roles":{"a\"b":1}' '"nodes":1,"roles":7' '"nodes":1,"failed_tasks":{}'; do
            echo "${valid/'"nodes":1'/$text}"
        done
        echo "not JSON"
        echo '[]'
        printf '%0*d\n' 3000 0 | tr 0 '['
        printf '%s%*s\n' "$valid" 60000 ''
    } | sends "$other_user"
    [ "$(collect)" = "$own" ] || fail "$(diff <(collect) - <<< "$own")"
    # With more in it, as deep as a reader can read and no writer can write.
    /usr/bin/python3 -c 'import sys
for n in range(1, 1001):
    print(sys.argv[1].replace("7.0", f"{n}.0")[:-1] + ",\"x\":" + n * "[" + n * "]" + "}")' "$valid" | sends "$other_user"
    [ "$(collect | grep -c "^spank_tf_nodes{.*user=\"$(id -u "$other_user")\"")" -eq 64 ] || fail "not the last 64 steps"
    [ "$(collect | grep "user=\"$(id -u "$user")\"")" = "$(grep "user=\"$(id -u "$user")\"" <<< "$own")" ] || fail "it is changed"
    collect | grep -qx 'node_textfile_scrape_error 0' || fail "$(cat "$BATS_TEST_TMPDIR/metrics")"
}

# The nodes have no syslog: its module is another one.
@test "the example for syslog logs a line for each event" {
    cp "$tests/../contrib/notify/syslog" "$work/to-syslog"
    cat > "$work/with-log.py" <<'PYTHON'
import runpy, sys, types
log = sys.modules["syslog"] = types.ModuleType("syslog")
log.openlog = lambda name: None
log.syslog = lambda line: print(line, file=open(sys.argv[2], "a"))
runpy.run_path(sys.argv[1])
PYTHON
    notify "exec /usr/bin/python3 $work/with-log.py $work/to-syslog \$E/log"
    run -3 slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-restart=1 sh -c '
        [ $SLURM_PROCID$SLURM_TF_RESTART != 1 ] || kill -9 $$
        [ "$SLURM_TF_RESTART" ] || exec sleep 60
        [ $SLURM_PROCID = 1 ] || exit 3'
    notifiers_end 10
    diff <(sed -E 's/step [0-9]+\.0 of user [^ :]+/STEP/; s/(\(rank [0-9], )[^)]+\)/\1NODE)/' "$work/events/log") - <<'LOG'
STEP: start, worker:2 on 2 nodes
STEP: restart of all tasks, restarts left: 0: worker 1 (rank 1, NODE), signal 9
STEP: end, first failure: worker 0 (rank 0, NODE), exit code 3
LOG
}
