# SPDX-License-Identifier: GPL-2.0-or-later
#
# Steps, in each variant, whose programs and their children record the signals that they receive.

# All signals that scancel can send and a program can receive.
# shellcheck disable=SC2034  # for the tests
signals=(HUP INT QUIT USR1 USR2 ALRM TERM URG TSTP CONT 40)

# For before_test. $receivers are the processes of a task to which Slurm sends signals.
make_recorders ()
{
    make_variants
    write_record_signals
    receivers=(program child)
}

# Write the program ../record-signals: a task and its child, which append every signal that they
# receive to the file "received", until the file "enough" exists. Then they exit with 3, when all
# tasks have stopped recording: signals that are sent because a task has exited do not count.
write_record_signals ()
{
    cat > "$work/record-signals" <<'END'
#!/usr/bin/python3
import os, signal, threading, time

LAST = signal.SIGRTMAX
rank, process = os.environ["SLURM_PROCID"], "program"
# Blocked, and read by sigwaitinfo() one by one: a handler in Python would merge two signals.
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - {signal.SIGCHLD})

def record(name, text):
    with open(name, "ab", 0) as file:
        file.write(f"{rank} {process} {text}\n".encode())

def await_files(*names):
    while not all(os.path.exists(name) for name in names):
        time.sleep(0.05)

def await_enough():
    await_files("enough")
    os.kill(os.getpid(), LAST)

child = os.fork()
if not child:
    process = "child"
record("parents", open(f"/proc/{os.getppid()}/comm").read().strip())
threading.Thread(target=await_enough, daemon=True).start()
while (number := signal.sigwaitinfo(signal.valid_signals()).si_signo) != LAST:
    record("received", signal.Signals(number).name[3:] if number < 32 else number)
if not child:
    os._exit(0)
os.waitpid(child, 0)
record(f"finished.{rank}", "")
await_files(*(f"finished.{i}" for i in range(int(os.environ["SLURM_STEP_NUM_TASKS"]))))
os._exit(3)
END
    chmod 755 "$work/record-signals"
}

# --- steps that record signals

# Wait until every task and child records signals, and require the correct parents.
all_recording ()
{
    every_variant recording
    [ "$(parents plain)" = slurmstepd ] && [ "$(parents unsupervised)" = slurmstepd ] || fail "a task has another parent than slurmstepd"
    [ "$(parents supervised)" = tf-supervise ] || fail "a task has another parent than tf-supervise"
}

recording ()
{
    [ -e "$work/$1/parents" ] && [ "$(wc -l < "$work/$1/parents")" -eq 6 ]
}

parents ()
{
    sed -n 's/.* program //p' "$work/$1/parents" | sort -u
}

# Run a command as root for each variant, with its job id, or step id, appended: for_every_job
# COMMAND…
for_every_job ()
{
    local variant

    for variant in "${variants[@]}"; do
        "$tests/cluster" run -- "$@" "$(job_of "$variant")"
    done
}

for_every_step ()
{
    local variant

    for variant in "${variants[@]}"; do
        "$tests/cluster" run -- "$@" "$(job_of "$variant").0"
    done
}

# Wait until N programs of every step have received SIGNAL, and their children, where it is sent
# to them, too: programs_receive N SIGNAL
programs_receive ()
{
    every_variant programs_received "$@"
}

programs_received ()
{
    local process

    for process in "${receivers[@]}"; do
        [ "$(sort -u "$work/$3/received" 2> /dev/null | grep -c " $process $2$")" -eq "$1" ] || return 1
    done
}

# The signals that a variant has received, each with its number.
received ()
{
    sort "$work/$1/received" 2> /dev/null | uniq -c
}

received_except ()
{
    received "$2" | grep -v " $1\$"
}

enough ()
{
    local variant

    for variant in "${variants[@]}"; do
        touch "$work/$variant/enough"
    done
}

# End the recording, and require that every program has received each of these signals once, and
# no others, and the children what a plain program's child receives: received_once SIGNAL…
received_once ()
{
    end_recording
    diff <(grep ' program ' "$work/plain/received" | sort) <(printf '%s\n' "$@" | sed 's/.*/0 program &\n1 program &\n2 program &/' | sort) ||
        fail "a plain program has received other signals"
    same_as_plain received
}

end_recording ()
{
    enough
    all_end 3
}
