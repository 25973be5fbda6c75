# SPDX-License-Identifier: GPL-2.0-or-later
#
# What stands around people's programs: a script on stdin, a wrapper that passes nothing on, signals that are blocked or
# ignored, descriptors that are closed, values that are no text, limits, a /proc that hides others' processes.

load launch
load roles

setup_file ()
{
    start_cluster --nodes 2 --prefix prog
}

before_test ()
{
    write_by_role
    chown "$user" "$work"
}

after_test ()
{
    ! mounted || slurm_as_root umount /proc
    nothing_left
}

# bats test_tags=core
@test "srun bash with a script on stdin: every task reads all of it, and the ps is stopped" {
    run --separate-stderr slurm bash -c 'timeout 60 srun -Q -N2 -n3 --tf-tasks=worker:2,ps --tf-show bash <<"EOF"
[ $SLURM_TF_ROLE != ps ] || exec sleep 1000
read -r line
the line of input
echo "$SLURM_TF_ROLE $SLURM_TF_INDEX has read $line"
EOF'
    [ "$status" -eq 0 ] || fail "it fails"
    [ "$(sort <<< "$output")" = $'worker 0 has read the line of input\nworker 1 has read the line of input' ] ||
        fail "the tasks read something else"
}

# As `conda run`: Python that starts the program, closes all descriptors but 0, 1 and 2, and forwards no signal.
# bats test_tags=core
@test "a wrapper that passes on neither SIGTERM nor descriptors: the port is held, and nothing stays" {
    cat > "$work/wrapper" <<'END'
#!/usr/bin/python3
import signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: None)
sys.exit(subprocess.run(sys.argv[1:], close_fds=True).returncode)
END
    chmod 755 "$work/wrapper"
    run_and_show -N2 --tf-tasks=ps,worker ./wrapper ./by-role ps='echo $$ > pid; mark begun; sleep 1000' \
        worker='await begun; exit 0'
    [ "$status" -eq 0 ] || fail "it fails"
    [ "$(task_ends <<< "$stderr")" = $'0 ps 0 stopped\n1 worker 0 exit 0' ] || fail "it ends otherwise"
    ! kill -0 "$(cat "$work/pid")" 2> /dev/null || fail "the wrapper's child lives"
    run_step -N2 --tf-tasks=ps,worker ./wrapper sh -c '"$0" $SLURM_TF_PORT && exit 1; exit 0' "$SPANK_TF_PROGRAMS/bind-port"
    [ "$status" -eq 0 ] || fail "the port is not held"
}

# bats test_tags=core
@test "signals that srun or a program ignores or blocks are so in the tasks as in a plain step, and such a ps is killed" {
    local block plain mask='grep -E "^Sig(Blk|Ign)" /proc/self/status'

    # In srun: the tasks begin with the same sets.
    for block in 'trap "" HUP INT QUIT TERM USR1 USR2 PIPE ALRM' :; do
        run --separate-stderr slurm bash -c "$block"'; exec timeout 60 srun -Q -n2 sh -c '\'"$mask"\'
        plain=$(sort <<< "$output")
        run --separate-stderr slurm bash -c "$block"'; exec timeout 60 srun -Q -n2 --tf-tasks=worker:2 sh -c '\'"$mask"\'
        [ "$status" -eq 0 ] && [ "$(sort <<< "$output")" = "$plain" ] || fail "not as a plain step: $plain"
    done
    # In a program: SIGKILL is all that it gets.
    run_step -N2 --tf-tasks=ps,worker --tf-grace=1 --tf-show python3 -c '
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for number in range(1, 65):
    if number not in (9, 19, 32, 33):
        signal.signal(number, signal.SIG_IGN)
if os.environ["SLURM_TF_ROLE"] == "ps":
    open("mark.begun", "w")
    time.sleep(1000)
while not os.path.exists("mark.begun"):
    time.sleep(0.05)
'
    [ "$status" -eq 0 ] && ((took < 20)) || fail "it fails, or takes $took s"
    [ "$(task_ends <<< "$stderr")" = $'0 ps 0 killed after 1 s\n1 worker 0 exit 0' ] || fail "it ends otherwise"
}

# bats test_tags=core
@test "stdin, stdout and stderr of srun or of a program are closed" {
    local closed

    for closed in '>&-' '<&- >&- 2>&-'; do
        rm -f "$work"/mark.*
        run slurm bash -c 'exec timeout 60 srun -Q -N2 -n2 --tf-tasks=ps,worker ./by-role ps="mark ps; sleep 1000" worker="await ps; exit 3" '"$closed"
        [ "$status" -eq 3 ] || fail "srun $closed"
        rm -f "$work"/mark.*
        run_and_show -N2 --tf-tasks=ps,worker sh -c 'exec ./by-role ps="mark ps; sleep 1000" worker="await ps; exit 3" '"$closed"
        [ "$status" -eq 3 ] && [ "$(task_ends <<< "$stderr")" = $'0 ps 0 stopped\n1 worker 0 exit 3' ] || fail "a program with $closed"
    done
}

# bats test_tags=core
@test "values with newlines and Latin-1 are the same in each life" {
    local value=$'two\nlines, \xe9\xff' name

    run --separate-stderr slurm env "VALUE=$value" "EMPTY=" timeout 60 srun -Q -N2 --tf-tasks=worker:2 --tf-restart=1,any sh -c '
        env -0 | grep -azE "^(VALUE|EMPTY)=" > env.$SLURM_PROCID.${SLURM_TF_RESTART-0}
        [ "${SLURM_TF_RESTART-0}" = 1 ] || exit 3'
    [ "$status" -eq 0 ] || fail "it fails"
    for name in 0.0 0.1 1.0 1.1; do
        LC_ALL=C sort -z "$work/env.$name" | cmp - <(printf 'EMPTY=\0VALUE=%s\0' "$value") || fail "life $name has another value"
    done
}

@test "ulimit -v, -n and -s of srun: tasks, restarted ones too, have those of a plain step" {
    local limits='echo $(ulimit -Sv) $(ulimit -Sn) $(ulimit -Ss)'

    run --separate-stderr slurm bash -c "ulimit -Sv 4000000; ulimit -Sn 256; ulimit -Ss 4096
        exec timeout 60 srun -Q --propagate=ALL -n2 bash -c '$limits'"
    [ "$(sort -u <<< "$output")" = '4000000 256 4096' ] || fail "Slurm does not pass them on"
    run --separate-stderr slurm bash -c "ulimit -Sv 4000000; ulimit -Sn 256; ulimit -Ss 4096
        exec timeout 60 srun -Q --propagate=ALL -n2 --tf-tasks=worker:2 --tf-restart=1,any bash -c '
            $limits; [ "'"${SLURM_TF_RESTART-0}"'" = 1 ] || exit 3'"
    [ "$status" -eq 0 ] && [ "$(sort -u <<< "$output")" = '4000000 256 4096' ] || fail "others"
    [ "$(grep -c . <<< "$output")" -eq 4 ] || fail "not two lives of two tasks"
}

slurm_as_root ()
{
    "$tests/cluster" run --on prog1 -- "$@"
}

mounted ()
{
    slurm_as_root grep -q hidepid=2 /proc/self/mounts || slurm_as_root grep -q hidepid=invisible /proc/self/mounts
}

# bats test_tags=core
@test "with hidepid=2 a ps and all its processes are stopped, and tasks are restarted" {
    slurm_as_root mount -t proc -o hidepid=2 proc /proc || skip "this kernel has no hidepid for a mount of its own"
    mounted || fail "it is not mounted"
    run_and_show -w prog1 -n3 --tf-tasks=ps,worker:2 --tf-restart=1,any ./by-role \
        ps='setsid sleep 1000 & echo $! > child; mark begun; sleep 1000' \
        worker='await begun; [ "${SLURM_TF_RESTART-0}" = 1 ] || [ $SLURM_TF_INDEX = 0 ] || exit 3; exit 0'
    [ "$status" -eq 0 ] || fail "it fails"
    [ "$(task_ends <<< "$stderr" | sed 's/ (.*//')" = $'0 ps 0 stopped\n1 worker 0 exit 0\n2 worker 1 exit 0' ] || fail "it ends otherwise"
    ! kill -0 "$(cat "$work/child")" 2> /dev/null || fail "a process is left"
}
