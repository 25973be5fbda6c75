#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tf-status: what a job does now, from wherever it is called; and askers who want to disturb it.

load launch

setup_file ()
{
    start_cluster --nodes 3
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    tf_status=$SPANK_TF_STAGE/bin/tf-status
    write_train
    sed -n 's/#define FRAME_VERSION //p' "$tests/../util/protocol/frame.h" > "$work/version"
}

after_test ()
{
    end_all
    nothing_left
}

# Write the program ./train.py, which tells a step each tenth of a second. A ps waits. Rank $SLOW takes ten times as long,
# and rank $DIES kills itself at its step 10, in its first run.
write_train ()
{
    cat > "$work/train.py" <<END
#!/usr/bin/python3
import os, signal, sys, time
sys.path.insert(0, "$SPANK_TF_STAGE/share/spank-tf/python")
import spank_tf_watchdog
END
    cat >> "$work/train.py" <<'END'

rank = os.environ["SLURM_PROCID"]
pause = 1 if os.environ.get("SLOW") == rank else 0.1
def train_step(step):
    if step == 10 and os.environ.get("DIES") == rank and "SLURM_TF_RESTART" not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(pause)

def main():
    while os.environ["SLURM_TF_ROLE"] == "ps":
        time.sleep(1)
    for step in range(1, 1000):
        spank_tf_watchdog.alive("step %d" % step)
        train_step(step)

main()
END
    chmod 755 "$work/train.py"
}

# Submit a job whose script has these lines, with these options of sbatch, and set $job: submit_lines LINES OPTION…
submit_lines ()
{
    printf '#!/bin/sh\n%s\n' "$1" > "$work/script"
    job=$(slurm sbatch --parsable -o out.%j "${@:2}" script) || fail "sbatch fails"
}

# tf-status of this job prints a line that matches: shows PATTERN [ARGUMENT…]
shows ()
{
    slurm "$tf_status" "${@:2}" 2>&1 | grep -qE -- "$1"
}

trains ()
{
    eventually 60 shows ': training, step .* steps/s' "$1" || fail "it does not train: $(slurm "$tf_status" "$1" 2>&1)"
}

# $output without what differs from one run to the next.
fixed ()
{
    sed -E 's/job [0-9]+/job J/; s/\([0-9]+_/(J_/; s/step [0-9]+\.[0-9]+/step J.S/; s/sacct -j [0-9+_]+/sacct -j J/
        s/, [0-9]+ s: /, TIME: /; s/^time: .*/time: …/; s/step ([0-9]+,)*[0-9]+/step N/; s/[0-9.]+ steps\/s/N steps\/s/
        s/  [a-z]+([1-3])  /  n\1  /; s/  [0-9,]+ +[0-9]+ s ago +([0-9]+)$/  N  \1/; s/  +/  /g' <<< "$output"
}

# Require that tf-status, by this command, exits so and prints these lines: prints CODE COMMAND… < LINES
prints ()
{
    local expected

    expected=$(cat)
    run "${@:2}" < /dev/null
    [ "$status" -eq "$1" ] || fail "not $1: $status"
    diff <(fixed) - <<< "$expected" || fail "other lines"
}

# So many lines of tf-status have these words. A program may also be asked while it is in another line; mostly it sleeps.
stacks_are ()
{
    run -0 slurm "$tf_status" "${@:3}"
    [ "$(tr -s ' ' <<< "$output" | grep -cxF "$(tr -s ' ' <<< "$2")")" -eq "$1" ]
}

# bats test_tags=core,release
@test "a job from a login host, each node, and inside: each task, and where its Python is" {
    submit_lines 'srun --tf-tasks=ps,worker:rest --tf-watchdog=60 --tf-restart=3 ./train.py' -N3 -n4 -J resnet
    trains "$job"
    cat > "$work/expected" <<'LINES'
job J "resnet", step J.S, TIME: training, step N, N steps/s; 0 restarts, 3 left
time: …
  rank  role  node  state  step  activity  restarts
  0  ps 0  n1  running  -  -  0
  1  worker 0  n1  running  N  0
  2  worker 1  n2  running  N  0
  3  worker 2  n3  running  N  0
LINES
    prints 0 slurm "$tf_status" "$job" < "$work/expected"
    prints 0 slurm "$tf_status" "$job.$(slurm "$tf_status" "$job" | sed -nE 's/.*step [0-9]+\.([0-9]+),.*/\1/p')" < "$work/expected"
    prints 0 slurm_on "$(node 1)" "$tf_status" "$job" < "$work/expected"
    prints 0 slurm_on "$(node 2)" "$tf_status" "$job" < "$work/expected"
    prints 0 slurm srun -Q --overlap --jobid="$job" -N1 -n1 -w "$(node 2)" "$tf_status" "$job" < "$work/expected"
    prints 0 "$tests/cluster" run -- "$tf_status" "$job" < "$work/expected"
    head -n 1 "$work/expected" | prints 0 slurm "$tf_status"
    eventually 20 stacks_are 1 ' 3  worker 0, worker 1, worker 2  train.py:11 train_step' --stacks=worker "$job" || fail "$output"
    [[ ${lines[0]} == *", step $job."* && ${lines[1]} == *which*"where their Python is" && ${#lines[@]} -eq 3 ]] || fail "$output"
    # Nothing of it is in their output, and they go on.
    grep -vE 'spank_tf: --tf-watchdog|step creation temporarily disabled|Step created for' "$work/out.$job" > "$work/rest" || true
    [ ! -s "$work/rest" ] || fail "$(< "$work/rest")"
    slurm "$tf_status" --json "$job" > "$work/json"
    /usr/bin/python3 - "$tests/../doc/status.schema.json" "$work/json" <<'PYTHON'
import json, sys
schema, value = (json.load(open(name)) for name in sys.argv[1:])
def check(v, s, at):
    if isinstance(v, dict) and "properties" in s:
        assert set(s["required"]) <= v.keys() <= s["properties"].keys(), (at, v.keys() ^ s["properties"].keys())
        for key in v:
            check(v[key], s["properties"][key], at + "." + key)
    for i in v if isinstance(v, list) else []:
        check(i, s["items"], at + "[]")
    assert v in s.get("enum", [v]), (at, v)
check(value, schema, "")
step = value["steps"][0]
assert step["phase"] == "training" and [t["state"] for t in step["tasks"]] == ["running"] * 4, step
PYTHON
}

# bats test_tags=core
@test "a line with the reason where there is no answer" {
    local salloc

    submit_lines 'exit 0' -n1 -J over
    eventually 60 job_has_ended "$job"
    prints 1 slurm "$tf_status" "$job" <<< 'tf-status: job J "over": it is over: COMPLETED (sacct -j J)'
    prints 1 slurm "$tf_status" 999 <<< 'tf-status: job J is over, or never was there (sacct -j J)'
    submit_lines 'exit 0' -n1 -J later --begin=now+1hour
    prints 1 slurm "$tf_status" "$job" <<< 'tf-status: job J "later": it does not run yet: PENDING'
    submit_lines 'exec srun sleep 1000' -n1 -J prep
    eventually 30 shows 'no job step' "$job"
    prints 1 slurm "$tf_status" "$job" <<< 'tf-status: job J "prep": no job step with --tf-tasks now'
    prints 1 "$tests/cluster" run --user "$other_user" -- "$tf_status" "$job" <<< 'tf-status: job J "prep": it is another user'\''s'
    prints 0 slurm "$tf_status" <<'LINES'
job J "later": it does not run yet: PENDING
job J "prep": no job step with --tf-tasks now
LINES
    run -2 slurm "$tf_status" x
    run -2 slurm "$tf_status" --watch
    end_all
    # srun runs on the login host: from there it is found, elsewhere the line names the host.
    slurm salloc -Q -N1 -J shell srun -Q --tf-tasks=worker --tf-watchdog=60 ./train.py > "$work/out" 2>&1 &
    salloc=$!
    eventually 30 shows ': training' || fail "it does not train"
    job=$(slurm squeue -h -n shell -o %i)
    head -n 1 <<< "$(slurm "$tf_status" "$job")" | grep -q '"shell".*: training' || fail "not from its host"
    prints 1 slurm_on "$(node 2)" "$tf_status" "$job" <<< 'tf-status: job J "shell": no job step with --tf-tasks on its first node; its salloc or srun runs on login: call tf-status there'
    slurm scancel "$job"
    wait $salloc || true
}

# tf-status has itself a job step, which takes a number.
have_steps ()
{
    mapfile -t names < <(slurm "$tf_status" "$job" | grep -oE "step $job\.[0-9]+" | cut -d ' ' -f 2)
    [ ${#names[@]} -eq "$1" ]
}

@test "arrays, several steps and heterogeneous jobs" {
    local array

    submit_lines 'srun --tf-tasks=worker,+data --tf-watchdog=60 ./train.py' -n2 -J sweep --array=3-4
    array=$job
    trains "${array}_3" && trains "${array}_4"
    run -0 slurm "$tf_status" "$array"
    diff <(fixed | sort) - <<'LINES'
job J (J_3) "sweep", step J.S, TIME: training, step N, N steps/s
job J (J_4) "sweep", step J.S, TIME: training, step N, N steps/s
LINES
    eventually 20 stacks_are 2 ' 2  worker 0, +data 0  train.py:11 train_step' --stacks "$array" || fail "not the stacks of both: $output"
    eventually 20 stacks_are 2 ' 1  +data 0  train.py:11 train_step' --stacks=+data "$array" || fail "not of the auxiliary task: $output"
    run -0 slurm "$tf_status" --stacks=wrker "${array}_4"
    [[ ${lines[-1]} == *" 0  wrker  no such task runs now" ]] || fail "no word of the role"
    # squeue has filters of the user's.
    run -0 slurm env SQUEUE_PARTITION=none SQUEUE_NAMES=none "$tf_status" "${array}_4"
    [[ $output == *"(${array}_4)"* && $output != *"(${array}_3)"* ]] || fail "another task of the array"
    end_all
    submit_lines 'for i in 0 1; do srun --exact -n1 --mem=1 --tf-tasks=worker --tf-watchdog=60 ./train.py & done; wait' -n2
    eventually 60 have_steps 2 || fail "not both steps"
    for name in "${names[@]}"; do
        run -0 slurm "$tf_status" "$name"
        [[ ${lines[0]} == *" step $name, "* && $(grep -c '^job ' <<< "$output") -eq 1 ]] || fail "another step"
    done
    prints 1 slurm "$tf_status" "$job.77" <<< 'tf-status: job J.77 "script": no job step with --tf-tasks now'
    end_all
    submit_lines $'#SBATCH -N1 -n1\n#SBATCH hetjob\n#SBATCH -N2 -n2\nsrun --het-group=0,1 --tf-tasks=ps,worker:rest --tf-watchdog=60 ./train.py'
    trains "$job"
    for name in "$job" "$job+1" $((job + 1)); do
        eventually 20 stacks_are 1 ' 2  worker 0, worker 1  train.py:11 train_step' --stacks "$name" || fail "$name: $output"
        [[ $output == *"1  ps 0 "*"train.py:15 main"* ]] || fail "$name"
    done
}

@test "--watch goes on until the job is over; --stacks says what is missing" {
    submit_lines $'srun --tf-tasks=worker:2 --tf-watchdog=60 timeout 4 ./train.py\nsrun --tf-tasks=worker:2 sleep 4' -n2 -J two
    eventually 60 have_steps 1 || fail "there is no step"
    run -0 slurm timeout 60 "$tf_status" --watch=1 "$job"
    [ "$(grep -oE "step $job\.[0-9]+" <<< "$output" | sort -u | wc -l)" -eq 2 ] || fail "not both steps"
    [[ ${lines[-1]} == "job $job \"two\": it is over: COMPLETED (sacct -j $job)" ]] || fail "another last line"
    submit_lines "srun --tf-tasks=chief,worker sh -c '[ \$SLURM_TF_ROLE != chief ] || exec sleep 1000; exec /usr/bin/python3 -c \"import time; time.sleep(1000)\"'" -n2
    eventually 30 shows 'is not Python' --stacks "$job"
    run -0 slurm env PATH=/usr/bin:/bin "$tf_status" --stacks "$job"
    [[ $output == *"chief 0   not known: sleep is not Python"* ]] || fail "no reason of the chief"
    [[ $output == *"worker 0  not known: its program does not import spank_tf_watchdog, and py-spy is not in PATH"* ]] || fail "no reason of the worker"
}

@test "tasks in containers, from outside" {
    unshare --user true 2> /dev/null || skip "this machine does not let users create namespaces"
    submit_lines 'srun --tf-tasks=worker:2 --tf-watchdog=60 bwrap --unshare-user --unshare-pid --unshare-ipc --bind / / --proc /proc --dev /dev ./train.py' -n2
    trains "$job"
    run -0 slurm "$tf_status" --stacks "$job"
    [[ $output == *" 2  worker 0, worker 1  train.py:11 train_step"* ]] || fail "not both tasks"
}

# The child of tf-rendezvous that answers keeps only the askers waiting. Strangers get no byte.
@test "askers who hang, flood and lie, and strangers, change nothing of a step that restarts" {
    local askers

    cat > "$work/flood.py" <<'END'
#!/usr/bin/python3
import array, os, re, select, socket, sys, time
own = "@spank_tf/overview/%s/" % sys.argv[1]
question = b"SpTF\0" + bytes([int(open("version").read())]) + b"\0\0\0\0\0\12ASKS=ranks\0"
names = {l.split()[-1] for l in open("/proc/net/unix") if own in l}
end, answers, held = time.monotonic() + float(sys.argv[2]), 0, []
while time.monotonic() < end and names:
    for name in names:
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try:
            s.connect("\0" + name[1:])
            s.send([b"", b"SpTF", os.urandom(500), question][len(held) % 4])
            if len(held) % 3 == 0:
                s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 200))])
        except OSError:
            pass
        held.append(s)
    held = held[-50:]
    for s in held:
        try:
            answers += len(s.recv(65536)) > 0
        except OSError:
            pass
    time.sleep(0.001)
print(answers)
END
    chmod 755 "$work/flood.py"
    DIES=1 submit_lines 'srun --tf-tasks=ps,worker:rest --tf-watchdog=60 --tf-restart=3,any ./train.py' -N3 -n4
    eventually 60 shows ': (training|starting)' "$job" || fail "it does not begin"
    for who in "$user" "$other_user"; do
        "$tests/cluster" run --on "$(node 1)" --user "$who" -- ./flood.py "$(id -u "$user")" 12 > "$work/answers.$who" &
        askers+=" $!"
    done
    eventually 60 grep -q 'worker 0 .*restart' "$work/out.$job" || fail "no restart: $(< "$work/out.$job")"
    # shellcheck disable=SC2086  # one word a process
    wait $askers
    [ "$(< "$work/answers.$other_user")" = 0 ] || fail "a stranger got an answer"
    trains "$job"
    run -0 slurm "$tf_status" "$job"
    [[ $output == *"; 1 restart, "* ]] || fail "not one restart"
    [ "$(pgrep -c -u "$user" -x tf-asked || true)" -le 1 ] || fail "children are left"
    slurm scancel "$job"
    eventually 30 job_has_ended "$job"
    [ "$(grep -c 'spank_tf: step .*lost\|error: spank_tf' "$work/out.$job" || true)" -eq 0 ] || fail "$(< "$work/out.$job")"
}

# listeners.py full|silent|liar|newer|late|fat UID COUNT JOB.STEP: as many listeners in the name of that user
write_listeners ()
{
    cat > "$work/listeners.py" <<'END'
#!/usr/bin/python3
import socket, sys, time
kind, uid, count, step = sys.argv[1:]
now = int(open("version").read())
def frame(version, *words):
    strings = "".join(s + "\0" for s in words).encode()
    return b"SpTF\0" + bytes([version]) + b"\0\0" + len(strings).to_bytes(4, "big") + strings
answers = frame(now, "JOB_STEP=" + step, "JOB_NAME=forged", "PHASE=ending", "ROWS=" + str(int(kind == "newer")))
if kind == "newer":
    answers += frame(now + 1, "RANK=0")
if kind == "fat":
    answers = frame(now, "JOB_STEP=" + step, "PHASE=ending", "ROWS=65535") + 20000 * frame(now, "RANK=0", "STATE=running", "X=" + 8000 * "x")
listeners, askers = [], []
for i in range(int(count)):
    name = "\0spank_tf/overview/%s/%016x" % (uid, i)
    s = socket.socket(socket.AF_UNIX)
    s.bind(name)
    s.listen(0 if kind == "full" else 100)
    s.setblocking(False)
    listeners.append(s)
    if kind == "full":
        askers.append(socket.socket(socket.AF_UNIX))
        askers[-1].connect(name)
print(kind, flush=True)
while True:
    time.sleep(0.01)
    for s in listeners if kind not in ("full", "silent") else []:
        try:
            asker = s.accept()[0]
            if kind == "late":
                time.sleep(4.5)
                asker.close()
                continue
            asker.sendall(answers)
            askers.append(asker)
        except OSError:
            pass
END
    chmod 755 "$work/listeners.py"
}

# Who listens in a name is known only when the connection stands. Root asks all users.
@test "listeners of another user, in any name, neither delay an answer, nor answer for a job" {
    local kind

    write_listeners
    submit_lines 'srun --tf-tasks=worker --tf-watchdog=60 ./train.py' -n1 -w "$(node 1)"
    trains "$job"
    for kind in "full $(id -u "$user")" "liar $(id -u "$other_user")"; do
        # shellcheck disable=SC2086  # two words
        "$tests/cluster" run --on "$(node 1)" --user "$other_user" -- ./listeners.py $kind 40 "$job.0" > "$work/${kind% *}" &
        eventually 20 test -s "$work/${kind% *}" || fail "$kind"
    done
    run -0 slurm_on "$(node 1)" timeout 20 "$tf_status" "$job"
    [[ $output == *": training, "* && $output != *forged* ]] || fail "the user: $output"
    run -0 slurm timeout 40 "$tf_status" "$job"
    [[ $output == *": training, "* && $output != *forged* ]] || fail "from another host: $output"
    run -0 "$tests/cluster" run --on "$(node 1)" -- timeout 20 "$tf_status" "$job"
    [[ $output == *": training, "* && $output != *forged* ]] || fail "root: $output"
    [[ $output == *"user $(id -u "$other_user") answers for another user's job"* ]] || fail "root: $output"
    for kind in silent newer late fat; do
        pkill -KILL -u "$other_user"
        "$tests/cluster" run --on "$(node 1)" --user "$other_user" -- ./listeners.py $kind "$(id -u "$other_user")" 40 "$job.0" > "$work/$kind" &
        eventually 20 test -s "$work/$kind" || fail "$kind"
        run -0 "$tests/cluster" run --on "$(node 1)" -- timeout 30 "$tf_status" "$job"
        [[ $output == *": training, "* ]] || fail "root, $kind: $output"
        [[ $kind != fat || $output == *"its answer is too long"* ]] || fail "$kind: $output"
    done
}

no_srun ()
{
    ! pgrep -u "$user" -f 'sleep 1234' > /dev/null
}

@test "root's tf-status gives the user's srun neither its token nor its directory, and ends it" {
    local name root

    submit_lines 'srun --tf-tasks=worker --tf-watchdog=60 ./train.py' -n1
    trains "$job"
    mkdir "$work/bin"
    # With a token, Slurm's commands do not use munge.
    for name in 'squeue:exec env -u SLURM_JWT squeue "$@"' 'srun:{ id -u; pwd; env; } > '"$work"'/srun.new; mv '"$work/srun.new $work/srun"'; exec sleep 1234'; do
        printf '#!/bin/sh\nPATH=%s\n%s\n' "$PATH" "${name#*:}" > "$work/bin/${name%%:*}"
    done
    chmod 755 "$work/bin"/*
    "$tests/cluster" run -- env PATH="$work/bin:$PATH" SLURM_JWT=secret "$tf_status" "$job" > "$work/root" 2>&1 &
    root=$!
    eventually 20 test -e "$work/srun" || fail "there is no srun: $(< "$work/root")"
    [ "$(head -n 2 "$work/srun" | xargs)" = "$(id -u "$user") /" ] || fail "$(< "$work/srun")"
    ! grep -q secret "$work/srun" || fail "it has root's token"
    kill -KILL "$root"
    eventually 10 no_srun || { pkill -KILL -u "$user" -f 'sleep 1234'; fail "it is left"; }
}

# Programs that play Slurm's: squeue has the jobs 4711 and 4712 of this user on another host, and srun is the script on stdin.
play_slurm ()
{
    mkdir -p "$work/bin"
    cat > "$work/bin/squeue" <<END
#!/bin/sh
case "\$*" in *--jobs=4711*) jobs=4711 ;; *) jobs='4711 4712' ;; esac
for job in \$jobs; do
    printf '%-39s%-15s%-15s%-15s%-15s%-15s%-15s%-23s%-7s%-127s%-63s\\n' \$job \$job 0 N/A 1 $(id -u "$user") $(id -g "$user") RUNNING 1 elsewhere train
done
END
    { echo '#!/bin/sh'; cat; } > "$work/bin/srun"
    chmod 755 "$work/bin"/*
}

played_status ()            # TIMEOUT ARGUMENT…
{
    slurm env PATH="$work/bin:$PATH" timeout "$1" "$tf_status" "${@:2}"
}

@test "hosts that do not answer are awaited together; old rounds, and what a TaskProlog prints, are no answers" {
    play_slurm <<< 'exec sleep 1000'
    prints 0 played_status 55 <<'LINES'
job J "train": its first node does not answer
job J "train": its first node does not answer
LINES
    play_slurm <<END
echo welcome
while [ "\${1#--relay}" = "\$1" ]; do shift; done
exec $tf_status "\$@"
END
    run -1 --separate-stderr played_status 20 --json 4711
    [[ $output == *'"steps": []'* && $stderr == *'no job step with --tf-tasks now' ]] || fail "$output $stderr"
    # As if tf-status had been stopped meanwhile.
    play_slurm <<'END'
printf '\f\n'
for round in $(seq 50); do printf 'round %d\n\f\n' "$round"; done
exec sleep 1000
END
    played_status 60 --watch=1 4711 > "$work/rounds" 3>&- &
    eventually 15 grep -q 'round 50' "$work/rounds" || fail "$(< "$work/rounds")"
    pkill -TERM -u "$user" -x tf-status
    wait $! || true
}
