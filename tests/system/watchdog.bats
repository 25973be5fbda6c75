#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-watchdog: a step whose tasks have no activity is ended, or restarted.
#
# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,proctrack:linuxproc,proctrack:pgid
load launch
load lives

setup_file ()
{
    start_cluster --nodes 2
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    make_lives
    write_steps
}

after_test ()
{
    site_arguments
    end_lives
}

# Write the program ./steps, which trains: in each of its STEPS steps all workers wait for each other, as in a
# collective: they sleep until all have done it, and wake up at the same moment. Rank $FIRST, by default 0, saves. Before
# a step it tells that it is alive, unless $QUIET is set, and prints the step. A worker whose file hang.RANK is there
# stays in an endless loop in its first life, which only waits if $IDLE is set. A ps waits for ever.
write_steps ()
{
    cat > "$work/steps" <<END
#!/usr/bin/python3
import os, sys, threading, time
sys.path.insert(0, "$SPANK_TF_STAGE/share/spank-tf/python")
import spank_tf_watchdog
END
    cat >> "$work/steps" <<'END'

here = os.path.dirname(os.path.abspath(__file__))
rank, life, role = int(os.environ["SLURM_PROCID"]), os.environ.get("SLURM_TF_RESTART", "0"), os.environ["SLURM_TF_ROLE"]
first = int(os.environ.get("FIRST", 0))
workers = range(first, first + int(os.environ["WORKERS"]))

def path(name):
    return os.path.join(here, name)

def write(name, text):
    with open(path(name + ".new"), "w") as f:
        f.write(text)
    os.rename(path(name + ".new"), path(name))

# What one worker tells another: a byte for each step. Each of them keeps it open, so that none is lost.
def pipe(sender, receiver):
    name = path("pipe.%s.%d.%d" % (life, sender, receiver))
    try:
        os.mkfifo(name)
    except FileExistsError:
        pass
    return os.open(name, os.O_RDWR)

def another_thread():
    time.sleep(1000)

def endless_loop():
    if os.environ.get("IDLE"):
        time.sleep(1000)
    while True:
        pass

open(os.path.join(os.environ["LIVES"], str(rank)), "a").write("%d\n" % os.getpid())
if role == "ps":
    time.sleep(1000)
others = [other for other in workers if other != rank]
to, back = [pipe(rank, other) for other in others], [pipe(other, rank) for other in others]
threading.Thread(target=another_thread, daemon=True).start()
begin = int(open(path("saved")).read()) if os.path.exists(path("saved")) else 0
print("begins at %d" % begin, flush=True)
for step in range(begin, int(sys.argv[1])):
    if not os.environ.get("QUIET"):
        spank_tf_watchdog.alive("step %d" % step)
    print("step %d" % step, flush=True)
    if life == "0" and os.path.exists(path("hang.%d" % rank)):
        endless_loop()
    write("done.%s.%d" % (life, rank), str(step))
    for fd in to:
        os.write(fd, b".")
    for fd in back:
        os.read(fd, 1)
    if rank == first and step % 5 == 0:
        write("saved", str(step))
    time.sleep(0.05)
print("done", flush=True)
END
    chmod 755 "$work/steps"
}

# Start a step in the background: begin OPTION… COMMAND…
begin ()
{
    slurm timeout 100 srun -Q -J watched --export=ALL "$@" > "$work/out" 2> "$work/err" 3>&- &
    srun=$!
}

# Wait for its end: ends CODE
ends ()
{
    wait "$srun" && status=0 || status=$?
    output=$(< "$work/out")
    stderr=$(< "$work/err")
    [ "$status" -eq "$1" ] || fail "it ends with $status, not $1"
}

# Has a worker done this step? has_done RANK STEP [LIFE]
has_done ()
{
    [ "$(cat "$work/done.${3-0}.$1" 2> /dev/null || echo -1)" -ge "$2" ]
}

# Require that it does.
does ()
{
    eventually 60 has_done "$@" || fail "rank $1 does not do step $2: $(tail "$work/out" "$work/err")"
}

# The process ID of a rank's last life.
pid_of ()
{
    tail -n 1 "$LIVES/$1"
}

# Require that the verdict is one line, which ends so: verdict PATTERN. Where it names others, none of them may have been
# silent for less than half of SECONDS: that is 3 s or more, because a test's machine may stand still for a second or two.
verdict ()
{
    [ "$(grep -c 'no activity' <<< "$stderr")" -eq 1 ] || fail "not one verdict"
    grep -qE "no activity for [0-9]+ s: $1\$" <<< "$stderr" || fail "another verdict"
}

hung ()                     # RANK…
{
    local rank

    for rank; do
        task_ends <<< "$stderr" | grep -q "^$rank .* hung$" || fail "rank $rank is not hung"
    done
}

at='since [0-9:]{8}'

# The verdict of a step of two, in which worker 1 computes, and the other waits for it: that is named $first, unless the
# line says that the other was silent before. It says so if worker 1's supervisor had no CPU time to read a sign.
names_worker_1 ()
{
    local since others

    verdict "worker [01] \\(rank [01], [^ ]+\\), $at, \"step [0-9]+\"; 1 other $at"
    read -r first since others < <(sed -nE 's/.* \(rank ([01]), .*since ([0-9:]+), .* since ([0-9:]+)$/\1 \2 \3/p' <<< "$stderr")
    [ "$first" -eq 1 ] || [[ $others > $since ]] || fail "worker 0 is named first, and both have been silent since $since"
}

# bats test_tags=core,release
@test "a worker in an endless loop is named first, all print their stacks, and the step ends with 124" {
    export WORKERS=2
    begin -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=6,60 --tf-show --tf-log-dir=logs ./steps 100000
    does 0 5
    slurm touch "$work/hang.1"
    ends 124
    names_worker_1
    hung 0 1
    [[ $stderr == *"first failure: worker $first ("*", hung. Its log is "*"/logs/worker$first.log"* ]] || fail "the first failure"
    does=('<module>' endless_loop)
    grep -qE "hung in: worker $first: steps:[0-9]+ ${does[first]}; worker $((1 - first)): steps:[0-9]+ ${does[1 - first]}\$" <<< "$stderr" ||
        fail "not where they hung"
    for rank in 0 1; do
        grep -q '^Fatal Python error: Aborted' "$work/logs/worker$rank.log" || fail "no stacks of $rank"
        [ "$(grep -cE '^(Current t|T)hread 0x' "$work/logs/worker$rank.log")" -eq 2 ] || fail "not both threads of $rank"
        grep -q 'in another_thread$' "$work/logs/worker$rank.log" || fail "not the other thread of $rank"
    done
    grep -q 'in endless_loop$' "$work/logs/worker1.log" || fail "not the endless loop"
}

# Its steps take a moment, so 60 s of silence are enough, when a life is 60 s old.
# bats test_tags=once
@test "--tf-watchdog=auto learns how long a task may be silent, and says what it has learnt" {
    export WORKERS=2 IDLE=1
    begin -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=auto,60 --tf-show ./steps 100000
    does 0 5
    slurm touch "$work/hang.1"
    ends 124
    grep -qE 'no activity for (6[0-9]|[7-9][0-9]) s \(auto: at most [0-9]\.[0-9] s before\): worker [01] \(rank [01], ' <<< "$stderr" || fail "not what it has learnt"
    grep -qE 'auto learned SECONDS 60 and FIRST 60; the longest time without activity was [0-9]\.[0-9] s$' <<< "$stderr" || fail "not at the end"
    hung 0 1
}

# bats test_tags=once
@test "--tf-watchdog=auto counts logs that have kept growing, and ignores what is printed at the start" {
    local said=$SPANK_TF_CLUSTER/work/said beside

    export WORKERS=2 IDLE=1 QUIET=1
    slurm srun -Q -N1 -n1 --tf-tasks=worker --tf-watchdog=auto,60 --tf-log-dir=beside sh -c 'echo begins; sleep 70' \
        2> "$said" 3>&- &
    beside=$!
    begin -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=auto,60 --tf-log-dir=logs --tf-show ./steps 100000
    does 0 5
    # A quarter of FIRST, and a look more.
    sleep 20
    slurm touch "$work/hang.1"
    ends 124
    grep -qE 'no activity for (6[0-9]|[7-9][0-9]) s \(auto: at most [0-9]\.[0-9] s before\): worker [01] \(rank [01], ' <<< "$stderr" || fail "no verdict by the logs"
    hung 0 1
    wait "$beside" || fail "the one that printed at its start is ended: $(< "$said")"
    grep -qE 'no heartbeat and no growing log in 60 s \(last growth: worker0.log, 6[0-9] s ago\)' "$said" || fail "$(< "$said")"
}

# bats test_tags=release
@test "a worker that is stopped is named first, and all go on from what they have saved, which is one restart" {
    export WORKERS=3
    begin -N2 -n3 --tf-tasks=worker:3 --tf-watchdog=6,60 --tf-restart=2 --tf-show ./steps 60
    does 2 12
    kill -STOP "$(pid_of 2)"
    ends 0
    verdict "worker 2 \\(rank 2, [^ ]+\\), stopped by a signal, $at, \"step [0-9]+\"; 2 others $at"
    had_lives 2 2 2
    [ "$(grep -c 'worker 2 (rank 2, .*) ended at [0-9:]*, hung. Restarting all tasks in 1 s (restarts left without progress: 1)' <<< "$stderr")" -eq 1 ] ||
        fail "another line about the restart"
    # A task may have been ended in the middle of a line.
    [ "$(grep -c 'begins at 0$' <<< "$output")" -eq 3 ] || fail "the first lives"
    [ "$(grep -cE 'begins at [1-9][0-9]*$' <<< "$output")" -eq 3 ] || fail "they do not go on from what was saved"
    [ "$(count_ends 'worker . exit 0 \(restarted 1 time\)' <<< "$stderr")" -eq 3 ] || fail "other ends"
}

@test "a ps that is stopped is named first, although it is not watched" {
    export WORKERS=2 FIRST=1
    begin -N2 -n3 --tf-tasks=ps,worker:2 --tf-watchdog=6,60 --tf-show ./steps 100000
    does 2 5
    kill -STOP "$(pid_of 0)"
    # As they would, if the variables were there.
    slurm touch "$work/hang.1" "$work/hang.2"
    ends 124
    verdict "ps 0 \\(rank 0, [^ ]+\\), stopped by a signal; 2 others $at"
    hung 0 1 2
    [[ $stderr == *'first failure: ps 0 ('*', hung'* ]] || fail "the first failure"
}

# bats test_tags=once
@test "a program that gives no signs runs to its end, and srun says that it is not watched" {
    local said=$SPANK_TF_CLUSTER/work/said line='no heartbeat and no growing log'
    local until_said='for i in $(seq 600); do ! grep -q "'$line'" said || exec sleep 2; sleep 0.1; done; exit 1'

    slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=1,2 sh -c "$until_said" 2> "$said" || fail "it fails: $(< "$said")"
    [ "$(grep -c "spank_tf: .*: --tf-watchdog: $line in 2 s. Hang detection is off until there is one\$" "$said")" -eq 1 ] ||
        fail "no such line: $(< "$said")"
    # Also if it has printed something when it began, under a site's default.
    site_arguments watchdog=1,3
    slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-log-dir=logs sh -c "sleep 0.5; echo begins; $until_said" 2> "$said" ||
        fail "it is watched: $(< "$said")"
    grep -qE "$line in 3 s \(last growth: worker[01].log, [23] s ago\)\. Hang" "$said" || fail "not when a log grew: $(< "$said")"
}

# bats test_tags=core,once
@test "a step that hangs at its start ends by its logs if FIRST is given, and a launch without logs says what is watched" {
    local without='spank_tf: --tf-watchdog: without --tf-log-dir only tasks that send heartbeats are watched'

    run --separate-stderr slurm timeout 60 srun -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=2,4 --tf-log-dir=logs \
        sh -c 'echo one; echo two; sleep 1000'
    [ "$status" -eq 124 ] || fail "it does not end"
    verdict "worker [01] \\(rank [01], [^ ]+\\), $at; 1 other $at"
    [[ $stderr != *"$without"* ]] || fail "it has logs"
    run -0 --separate-stderr slurm srun -N1 -n1 --tf-tasks=worker --tf-watchdog=2 true
    [[ $stderr == *"$without"* ]] || fail "no line at the launch"
    # A site's default is for all.
    site_arguments watchdog=2,4
    run -0 --separate-stderr slurm srun -N1 -n1 --tf-tasks=worker true
    [[ $stderr != *"$without"* ]] || fail "of a site's default"
}

# bats test_tags=release,once
@test "without messages the logs count, together" {
    export WORKERS=2 QUIET=yes
    begin -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=6,7 --tf-log-dir=logs --tf-show ./steps 100000
    does 0 100
    slurm touch "$work/hang.1"
    ends 124
    verdict "worker [01] \\(rank [01], [^ ]+\\), $at; 1 other $at"
    hung 0 1
    [[ $stderr != *'none is watched'* ]] || fail "it is not watched"
    # One whose log goes on growing is enough.
    run --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=2,3 --tf-log-dir=logs --tf-tee sh -c '
        for i in $(seq 80); do [ $SLURM_PROCID = 1 -a $i -gt 40 ] || echo $i; sleep 0.1; done'
    [ "$status" -eq 0 ] && [[ $stderr != *'no activity'* ]] || fail "it does not run to its end"
}

@test "what the user has set stays, and other tasks and steps have nothing of it" {
    local print='echo $SLURM_TF_ROLE ${NOTIFY_SOCKET%/*} $WATCHDOG_USEC $PYTHONFAULTHANDLER'
    local first="@spank_tf/JOB/0" second="@spank_tf/JOB/1"

    refuses_descriptors || first=/proc/self/fd second=/proc/self/fd
    run -0 --separate-stderr slurm srun -Q -N2 -n5 --overcommit --tf-tasks=chief,worker,ps,evaluator,+data --tf-watchdog=7 sh -c "$print"
    [ "$(sed -E 's/ @spank_tf\/[0-9.]+/ @spank_tf\/JOB/' <<< "$output" | sort)" = "$(
        printf '%s\n' "chief $first 7000000 1" data evaluator ps "worker $second 7000000 1")" ] || fail "other variables"
    run -0 --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker:2 sh -c "$print"
    [ "$(sort -u <<< "$output")" = worker ] || fail "variables without the option"
    run -0 --separate-stderr slurm env NOTIFY_SOCKET=/run/mine PYTHONFAULTHANDLER= srun -Q -N2 -n1 --tf-tasks=worker --tf-watchdog=7 \
        sh -c 'echo $NOTIFY_SOCKET ${WATCHDOG_USEC-none} ${PYTHONFAULTHANDLER-none}.'
    [ "$output" = '/run/mine none .' ] || fail "the user's variables"
    # A step in a task has a socket of its own; one that is not watched has none.
    run -0 --separate-stderr slurm salloc -Q -N1 -n1 srun -Q --overlap --tf-tasks=worker --tf-watchdog=7 sh -c '
        echo $NOTIFY_SOCKET; srun -Q --overlap --tf-tasks=worker --tf-watchdog=7 sh -c "echo \$NOTIFY_SOCKET"; srun -Q --overlap --tf-tasks=worker printenv NOTIFY_SOCKET || echo none'
    [[ $output == [@/]*/*$'\n'[@/]*/*$'\nnone' ]] || fail "an inner step"
    ! refuses_descriptors || [ "$(sort -u <<< "$output" | wc -l)" -eq 3 ] || fail "an inner step has the same socket"
}

# bats test_tags=once
@test "a site's default can be switched off" {
    site_arguments watchdog=1,2
    run -0 --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker:2 sleep 4
    [[ $stderr == *'--tf-watchdog: no heartbeat and no growing log in 2 s'* ]] || fail "the default"
    run -0 --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=0 sleep 4
    [ -z "$stderr" ] || fail "it is not switched off"
}

# --- strangers

# Write the program ./send NAME [PAUSE], which sends messages without end.
write_send ()
{
    cat > "$work/send" <<'END'
#!/usr/bin/python3
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        s.sendto(b"WATCHDOG=1\nSTATUS=forged", "\0" + sys.argv[1][1:])
    except BlockingIOError:
        pass
    except ConnectionRefusedError:
        break
    time.sleep(float(sys.argv[2]))
END
    chmod 755 "$work/send"
}

# Write the program ./attack NAME, which tries to send a descriptor to the socket: by this name, that of each socket
# which the kernel or a directory shows, and each descriptor of each process. It prints how many of them took one, how many
# messages without a descriptor, and what the name's answer was; then whether anything but itself had the descriptor.
write_attack ()
{
    cat > "$work/attack" <<'END'
#!/usr/bin/python3
import array, errno, glob, os, select, socket, sys

s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
read, write = os.pipe()

def send(name, descriptors):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [write]))] if descriptors else []
    try:
        s.sendmsg([b"WATCHDOG=1\nSTATUS=forged"], rights, 0, "\0" + name[1:] if name[0] == "@" else name)
    except OSError as e:
        return errno.errorcode[e.errno]
    return "sent"

names = {line.split()[7] for line in open("/proc/net/unix") if "spank_tf" in line}
names.update(glob.glob("/dev/shm/*spank_tf*") + glob.glob("/tmp/*spank_tf*"))
for pid in filter(str.isdigit, os.listdir("/proc")):
    names.update("/proc/%s/fd/%d" % (pid, fd) for fd in (*range(3, 11), *range(200, 210)))
names = [name for name in names | {sys.argv[1]} if not name.startswith("/proc/%d/" % os.getpid())]
taken = [name for name in names if send(name, True) == "sent"]
print(len(taken), sum(send(name, False) == "sent" for name in names), send(sys.argv[1], True))
os.close(write)
print("ours" if select.select([read], [], [], 0)[0] else "another process has it")
END
    chmod 755 "$work/attack"
}

# Set $socket to that of a rank: find_socket RANK
find_socket ()
{
    socket=$(tr '\0' '\n' < "/proc/$(pid_of "$1")/environ" | sed -n 's/^NOTIFY_SOCKET=//p')
}

# Another user attacks a step, whose own messages count as before: attacked MESSAGES ANSWER
attacked ()
{
    local socket

    write_attack
    export WORKERS=1
    begin -w "$(node 1)" -n1 --tf-tasks=worker --tf-watchdog=3,60 --tf-show ./steps 100000
    does 0 5
    find_socket 0
    run -0 "$tests/cluster" run --on "$(node 1)" --user "$other_user" -- ./attack "$socket" 3>&-
    [ "$output" = "0 $1 $2"$'\nours' ] || fail "the attack was not refused, or not so"
    does 0 10
    slurm touch "$work/hang.0"
    ends 124
    verdict "worker 0 \\(rank 0, [^ ]+\\), $at, \"step [0-9]+\""
}

# bats test_tags=core,once
@test "another user can send no descriptor to the socket" {
    refuses_descriptors || skip "this kernel has no SO_PASSRIGHTS"
    attacked 1 EPERM
}

# Plugin: another one plays the older kernel, in the process that registers.
# bats test_tags=core,once,plugin
@test "on an older kernel another user can send nothing to the socket" {
    old_kernel
    attacked 0 ENOENT
}

@test "forged messages of another user do not count" {
    local socket sender

    refuses_descriptors || skip "nobody else can send messages"
    write_send
    export WORKERS=2
    begin -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=6,60 --tf-show ./steps 100000
    does 0 5
    find_socket 1
    "$tests/cluster" run --on "$(node 2)" --user "$other_user" -- ./send "$socket" 0.1 3>&- &
    sender=$!
    slurm touch "$work/hang.1"
    ends 124
    names_worker_1
    wait "$sender" || fail "it could not send"
}

# bats test_tags=once
@test "a flood of another user changes nothing for a task that goes on" {
    local socket

    refuses_descriptors || skip "nobody else can send messages"
    write_send
    export WORKERS=2
    begin -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=2,60 ./steps 150
    does 0 5
    find_socket 1
    "$tests/cluster" run --on "$(node 2)" --user "$other_user" -- ./send "$socket" 0 3>&- &
    ends 0
    [[ $stderr != *'no activity'* ]] || fail "there is a verdict"
    "$tests/cluster" run -- pkill -u "$other_user" -f ./send || true
}

# --- a kernel before Linux 6.16

# What the socket has left on this machine, of which nodes are only a part.
names_of_socket ()
{
    find /dev/shm /tmp -maxdepth 1 -user "$user" -name '*spank_tf*'
}

# Write the program ./alive [COMMAND…], which sends a message, with how as its status, and runs the command.
write_alive ()
{
    cat > "$work/alive" <<END
#!/usr/bin/python3
import subprocess, sys
sys.path.insert(0, "$SPANK_TF_STAGE/share/spank-tf/python")
import spank_tf_watchdog
print(sys.argv[1], spank_tf_watchdog.alive(sys.argv[1]), flush=True)
if sys.argv[2:]:
    subprocess.run(sys.argv[2:])
END
    chmod 755 "$work/alive"
}

# bats test_tags=release,once
@test "on an older kernel programs reach the socket in each life, in subprocesses, and in containers with nothing of the node's" {
    local contained="bwrap --unshare-user --unshare-pid --unshare-ipc --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run"

    unshare --user true 2> /dev/null || skip "this machine does not let users create namespaces"
    old_kernel
    write_alive
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-watchdog=2,60 --tf-restart=1 sh -c "
        [ \"\$SLURM_TF_RESTART\" = 1 ] || exec ./alive first sh -c 'kill -9 \$PPID'
        ./alive second ./alive third sh -c './alive fourth'
        (exec unshare --user --map-root-user --mount --pid --fork --mount-proc ./alive fifth)
        case \$PWD in /tmp/*) set -- --bind \$PWD \$PWD;; esac
        $contained --ro-bind $SPANK_TF_STAGE $SPANK_TF_STAGE \"\$@\" ./alive contained
        sleep 100"
    [ "$status" -eq 124 ] || fail "it does not end with 124"
    [ "$output" = $'first True\nsecond True\nthird True\nfourth True\nfifth True\ncontained True' ] || fail "a message was not sent"
    verdict "worker 0 \\(rank 0, [^ ]+\\), $at, \"contained\""
}

# bats test_tags=once
@test "on an older kernel nothing of the socket is left, whatever is killed" {
    local victim

    old_kernel
    export WORKERS=1
    for victim in nothing tf-supervise tf-fork-server everything; do
        find "$work" -name 'done.*' -delete
        begin -w "$(node 1)" -n1 --tf-tasks=worker --tf-watchdog=60,60 --tf-restart=1 ./steps 100000
        does 0 2
        [ -z "$(names_of_socket)" ] || fail "it has a name"
        case $victim in
            nothing) ;;
            # SIGKILL at once.
            everything) slurm scancel "$(slurm squeue -h -n watched -o %i).0" ;;
            *) pkill -9 -u "$user" -x "$victim" ;;
        esac
        slurm scancel --quiet --name watched
        wait "$srun" || true
        nothing_left
        [ -z "$(names_of_socket)" ] || fail "a name is left when $victim was killed"
    done
}

# --- time that does not count

# The processes of the job are stopped, but for srun's.
@test "a job that is suspended is not silent" {
    local job

    export WORKERS=2
    begin -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=2,60 ./steps 100
    does 0 5
    job=$(slurm squeue -h -n watched -o %i)
    "$tests/cluster" run -- scontrol suspend "$job"
    sleep 5
    "$tests/cluster" run -- scontrol resume "$job"
    ends 0
    [[ $stderr != *'no activity'* ]] || fail "there is a verdict"
}

@test "a step whose processes are all stopped is not silent" {
    [[ $proctrack != cgroup* ]] || skip "Slurm sends this signal to the supervisors only"
    export WORKERS=2
    begin -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=2,60 ./steps 100
    does 0 5
    slurm scancel -s STOP "$(slurm squeue -h -n watched -o %i).0"
    sleep 5
    slurm scancel -s CONT "$(slurm squeue -h -n watched -o %i).0"
    ends 0
    [[ $stderr != *'no activity'* ]] || fail "there is a verdict"
}

@test "a task that waits for its restart, or whose TaskProlog runs, is not silent" {
    export WORKERS=1
    site_arguments restart_backoff=4
    printf '#!/bin/sh\nsleep 4\n' > "$work/prolog"
    chmod 755 "$work/prolog"
    run -0 --separate-stderr slurm srun -Q -N1 -n1 --tf-tasks=worker --tf-watchdog=2,2 --tf-restart=3 --task-prolog="$work/prolog" sh -c '
        ./steps 1; life=${SLURM_TF_RESTART-0}; [ $life = 3 ] || kill -9 $$'
    [ "$(grep -c 'Restarting it in' <<< "$stderr")" -eq 3 ] && [[ $stderr != *'no activity'* ]] || fail "there is a verdict"
}

@test "a task that Slurm has asked to end may take longer to save" {
    export WORKERS=1
    begin -N1 -n1 --tf-tasks=worker --tf-watchdog=2,60 sh -c 'trap "sleep 6; exit 42" TERM; ./steps 10; touch asks; while :; do sleep 0.1; done'
    eventually 30 test -e "$work/asks" || fail "it does not begin"
    slurm scancel -s TERM "$(slurm squeue -h -n watched -o %i).0"
    ends 42
    [[ $stderr != *'no activity'* ]] || fail "there is a verdict"
}

# --- the end

@test "a program that does not end by SIGABRT is killed" {
    site_arguments stop_grace=1
    run --separate-stderr slurm srun -Q -N1 -n1 --tf-tasks=worker --tf-watchdog=1,60 --tf-show /usr/bin/python3 -c '
import os, signal, sys, time
signal.signal(signal.SIGABRT, signal.SIG_IGN)
sys.path.insert(0, "'"$SPANK_TF_STAGE"'/share/spank-tf/python")
import spank_tf_watchdog
spank_tf_watchdog.alive("x")
spank_tf_watchdog.alive("x")
while True: time.sleep(1)'
    [ "$status" -eq 124 ] || fail "it does not end with 124"
    hung 0
}

@test "Keras' callback is done after fit (), and after an evaluate () or predict () of its own" {
    cat > "$work/keras" <<'END'
import os, socket, sys
import spank_tf_watchdog

class keras:
    class callbacks:
        class Callback:
            params = None

s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
s.bind("\0" + os.environ["NOTIFY_SOCKET"][1:])
alive = spank_tf_watchdog.keras_callback(keras)

def last_of(*calls):
    for name in calls:
        getattr(alive, "on_" + name, lambda *args: None)(*([0] if "_batch_" in name or "epoch" in name else []))
    message = None
    while True:
        try:
            message = s.recv(100).decode()
        except BlockingIOError:
            return message.split("\n")[0]

def status_of(name, number):
    getattr(alive, "on_" + name)(number)
    return s.recv(100).decode().split("\n")[1]

test = ["test_begin", "test_batch_begin", "test_batch_end", "test_end"]
predict = [name.replace("test", "predict") for name in test]
fit = ["train_begin", "epoch_begin", "train_batch_begin", "train_batch_end"] + test
print(last_of(*fit), last_of(*predict), last_of("epoch_end", "train_end"), last_of(*test), last_of(*test[:2]), last_of(*predict))
alive.on_epoch_begin(2)
print(status_of("train_batch_begin", 3))
alive.params = {"steps": 10}
print(status_of("train_batch_end", 3))
END
    run -0 env NOTIFY_SOCKET="@spank_tf_test/$BASHPID" PYTHONPATH="$SPANK_TF_STAGE/share/spank-tf/python" /usr/bin/python3 "$work/keras"
    diff - <<END <(echo "$output")
WATCHDOG=1 WATCHDOG=1 STOPPING=1 STOPPING=1 WATCHDOG=1 STOPPING=1
STATUS=epoch 2, batch 3
STATUS=step 24, epoch 2, batch 3 done
END
}

@test "messages come out of a container that has the node's network" {
    unshare --user true 2> /dev/null || skip "this machine does not let users create namespaces"
    export WORKERS=1
    begin -N1 -n1 --tf-tasks=worker --tf-watchdog=3,60 --tf-show bwrap --dev-bind / / --unshare-user --unshare-pid --proc /proc ./steps 100000
    does 0 5
    slurm touch "$work/hang.0"
    ends 124
    verdict "worker 0 \\(rank 0, [^ ]+\\), $at, \"step [0-9]+\""
}

# It waits until its message is read, for which it sends a descriptor.
@test "systemd-notify sends messages, too" {
    local barrier=0

    command -v systemd-notify > /dev/null || skip "systemd-notify is not installed"
    ! refuses_descriptors || barrier=1
    run --separate-stderr slurm srun -Q -N1 -n1 --tf-tasks=worker --tf-watchdog=9 sh -c 'systemd-notify --no-block WATCHDOG=1 || echo fails; systemd-notify WATCHDOG=1; echo $?'
    [ "${lines[-1]}" -eq "$barrier" ] && [[ $output != *fails* ]] || fail "it ends otherwise"
    run --separate-stderr slurm srun -Q -N1 -n1 --tf-tasks=worker --tf-watchdog=1,60 sh -c 'systemd-notify WATCHDOG=1; systemd-notify WATCHDOG=1 STATUS="by a shell"; sleep 1000'
    [ "$status" -eq 124 ] || fail "it does not end with 124"
    verdict "worker 0 \\(rank 0, [^ ]+\\), $at, \"by a shell\""
}
