#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-restart: what another life of a task has, in all kinds of steps, what it does not meet of the
# former one, and programs that cannot have one.

# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,proctrack:linuxproc,proctrack:pgid
load launch
load lives

setup_file ()
{
    printf '%s\n' '#!/bin/sh' 'echo "export PROLOG=$SLURM_TASK_PID"' > "$BATS_FILE_TMPDIR/prolog"
    chmod 755 "$BATS_FILE_TMPDIR/prolog"
    start_cluster --nodes 2 --conf "TaskProlog=$BATS_FILE_TMPDIR/prolog" \
        --conf TaskPlugin=task/affinity --conf TaskPluginParam=none
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    make_lives
}

after_test ()
{
    site_arguments
    end_lives
}

# Plugin: tf-run refuses --multi-prog.
# bats test_tags=core,release,plugin
@test "--multi-prog: another life has the program, environment, directory, limits, CPUs, umask and files of the first" {
    cat > "$work/tell" <<'END'
life=${SLURM_TF_RESTART-0}
{
    tr '\0' '\n' < /proc/$$/cmdline
    tr '\0' '\n' < /proc/$$/environ | grep -v '^SLURM_TF_RESTART=\|^SLURM_TASK_PID=\|^PROLOG=' |
        sed '/^SLURM_TF_ADDED=/s/SLURM_TF_RESTART:[0-9a-f]*,//'
    echo "SLURM_TASK_PID is its number: $((SLURM_TASK_PID == $$))"
    echo "and TaskProlog ran for this life: $((PROLOG == $$))"
    ulimit -S -a
    ulimit -H -a
    while read -r line; do
        case $line in
            Tgid* | TracerPid* | Uid* | Gid* | Groups* | Sig[BIC]* | Cap* | NoNewPrivs* | Seccomp* | Cpus_allowed_list* | Mems_allowed_list* | Umask* | Threads*)
                echo "$line" ;;
        esac
    done < /proc/$$/status > "status.$SLURM_PROCID"
    sed "s/\<$$\>/PID/" "status.$SLURM_PROCID"
    cat /proc/$$/oom_score_adj /proc/$$/cgroup
    ps -o ppid=,pgid=,sid=,ni=,cls=,tty= -p $$
    readlink /proc/$$/cwd
    for fd in /proc/$$/fd/*; do
        echo "${fd##*/}"
        # Each life has a pipe of its own for its input.
        if [ "$fd" = /proc/$$/fd/0 ] && [ -p "$fd" ]; then echo pipe; else readlink "$fd"; fi
    done
} > "tell.$SLURM_PROCID"
mv "tell.$SLURM_PROCID" "tell.$SLURM_PROCID.$life"
echo "life $life of $SLURM_PROCID"
# A task that fails stops the other one.
touch "told.$SLURM_PROCID.$life"
until [ -e "told.0.$life" ] && [ -e "told.1.$life" ]; do sleep 0.1; done
[ $life = 1 ] || exit 143
END
    printf '%s\n' '0 sh ../tell rank %t' '1 sh ../tell another program' > "$work/programs"
    umask 027
    ulimit -S -c 4096
    ulimit -S -n 321
    install -d -o "$user" "$work/inner"
    run --separate-stderr slurm srun -Q -N1 -n2 --exclusive -D "$work/inner" --cpu-bind=map_cpu:1 -o out.%t --tf-tasks=worker:2 \
        --tf-restart=1 --multi-prog "$work/programs"
    [ "$status" -eq 0 ] || fail "the step fails"
    cd "$work/inner"
    for rank in 0 1; do
        # Which life it is, PyTorch's programs read in a variable of torchrun's.
        diff <(grep -v '^\(TORCHELASTIC_RESTART_COUNT\|SLURM_TF_ADDED\)=' "tell.$rank.0") \
            <(grep -v '^\(TORCHELASTIC_RESTART_COUNT\|SLURM_TF_ADDED\)=' "tell.$rank.1") || fail "the lives of rank $rank differ"
        [ "$(< "out.$rank")" = "life 0 of $rank"$'\n'"life 1 of $rank" ] || fail "its output: $(< "out.$rank")"
    done
    grep -qx 'nofiles *321\|open files *(-n) 321\|.*(-n) 321' tell.1.1
    grep -qx another tell.1.1
    grep -qx $'Cpus_allowed_list:\t1' tell.1.1
    grep -qx $'Umask:\t0027' tell.1.1
    grep -qx 'SLURM_TASK_PID is its number: 1' tell.1.1
    grep -qx 'and TaskProlog ran for this life: 1' tell.1.1
}

# bats test_tags=core,release
@test "--pty: another life owns the terminal, in the modes of the beginning" {
    cat > "$work/owner" <<'END'
import os, signal, termios, tty

def modes():
    attributes = termios.tcgetattr(0)
    return [flags & ~termios.PENDIN for flags in attributes[:4]]

if "SLURM_TF_RESTART" in os.environ:
    with open("owns", "w", 1) as owns:
        print("foreground:", os.tcgetpgrp(0) == os.getpgrp(), "modes:", str(modes()) == open("modes").read(), file=owns)
        print(input(), file=owns)
    raise SystemExit(3)
open("modes", "w").write(str(modes()))
if not os.fork():
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, os.getpgrp())
    tty.setraw(0)
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()
signal.pause()
END
    mkfifo "$work/keys"
    slurm timeout 60 script -qefc "srun -Q --pty --tf-tasks=worker --tf-restart=1 python3 owner" /dev/null < "$work/keys" > "$work/out" 2>&1 3>&- &
    exec {keys}> "$work/keys"
    eventually 30 grep -qs foreground "$work/owns" || fail "$(< "$work/out")"
    printf 'hello\n' >&"$keys"
    wait $! && status=0 || status=$?
    exec {keys}>&-
    output=$(< "$work/out")
    [ "$status" -eq 3 ] || fail "the exit code is not the last life's"
    [ "$(< "$work/owns")" = $'foreground: True modes: True\nhello' ] || fail "it does not own the terminal: $(< "$work/owns")"
}

# bats test_tags=core,release
@test "a heterogeneous step with labels, seen by sattach, and an auxiliary task" {
    local sattach step

    site_arguments restart_backoff=1
    cat > "$work/program" <<'END'
life=${SLURM_TF_RESTART-0}
echo "$TF_CONFIG" >> $LIVES/$SLURM_PROCID
echo "life $life $*"
until [ -e end ]; do
    case $SLURM_TF_ROLE$life in
        worker0 | board0) [ ! -e fail ] || kill -9 $$ ;;
    esac
    echo "waits $*"
    sleep 0.1
done
END
    slurm srun -Q -l -N1 -n3 --tf-tasks=chief,ps,worker --tf-restart=2 sh ./program first : -N1 -n1 --tf-tasks=+board sh ./program second \
        > "$work/out" 2>&1 3>&- &
    step=$!
    eventually 30 has_lives 2 1
    eventually 30 has_lives 3 1
    slurm sattach -l "$(slurm squeue -h -u "$user" -o %A | sort -n | tail -n 1).0" > "$work/seen" 2>&1 3>&- &
    sattach=$!
    eventually 30 grep -q waits "$work/seen"
    touch "$work/fail"
    eventually 30 grep -qx '2: life 1 first' "$work/out"
    eventually 30 grep -qx '3: life 1 second' "$work/out"
    eventually 30 grep -q 'life 1 second' "$work/seen" || fail "$(uniq "$work/seen")"
    touch "$work/end"
    wait $step || fail "$(grep -v waits "$work/out")"
    wait $sattach || fail "$(grep -v waits "$work/seen")"
    had_lives 1 1 2 2
    [ "$(sed 's/"task".*//' "$LIVES"/? | sort -u | wc -l)" -eq 1 ]
}

# bats test_tags=core,release
@test "a life begins when every process of the former one is dead: children, sessions, daemons, stopped ones" {
    site_arguments stop_grace=1 restart_backoff=1
    # The arguments of the sleeps of each life are unique among those of the user. The last lives leave none.
    run_lives 'own="sleep 1000.$SLURM_JOB_ID$SLURM_PROCID"
        ! pgrep -u "$(id -u)" -af "^$own" >> $LIVES/left || exit 9
        touch $LIVES/begun.$SLURM_TF_ROLE$life
        case $SLURM_TF_ROLE$life in
            chief1) until [ -e $LIVES/begun.ps1 ] && [ -e $LIVES/begun.worker2 ]; do sleep 0.05; done; exit 0 ;;
            ps1 | worker2) exec sleep 100 ;;
        esac
        own=$own$life
        $own &
        sh -c "$own & wait" &
        setsid sh -c "trap \"\" TERM HUP; $own & $own" &
        (setsid sh -c "$own &" &)
        $own &
        until [ "$(pgrep -u "$(id -u)" -fc "^$own$")" = 6 ]; do sleep 0.05; done
        kill -STOP $!
        touch $LIVES/left_by.$SLURM_TF_ROLE$life
        case $SLURM_TF_ROLE$life in
            worker0) kill -9 $$ ;;
            ps0) until [ -e $LIVES/left_by.chief0 ] && [ -e $LIVES/left_by.worker1 ]; do sleep 0.05; done; kill -9 $$ ;;
        esac
        wait' -N2 -n3 --tf-tasks=chief,ps,worker --tf-restart=2
    [ "$status" -eq 0 ] && [ ! -s "$LIVES/left" ] || fail "processes of a former life: $(cat "$LIVES/left")"
    had_lives 2 2 3
}

# bats test_tags=core,release
@test "programs that are setuid, or that their user may not read, have another life with the same rights" {
    install -o root -m 4755 "$(command -v id)" "$work/setuid"
    install -m 711 "$(command -v id)" "$work/unreadable"
    # The shell, which waits for the program, notes the life and fails in the first one.
    for program in setuid unreadable; do
        make_lives
        run_lives "./$program -u; exit \$((life ? 0 : 42))" -n1 --tf-tasks=worker --tf-restart=1
        [ "$status" -eq 0 ] || fail "$program"
        had_lives 2
        [ "$(sort -u <<< "$output" | wc -l)" -eq 1 ] || fail "its rights: $output"
    done
    run slurm srun -Q -n1 --tf-tasks=worker --tf-restart=1 ./setuid -u
    [ "$status" -eq 0 ] && [ "$output" = 0 ] || fail "it has not the rights of its file"
    run slurm srun -Q -n1 --tf-tasks=worker --tf-restart=1 ./unreadable -u
    [ "$status" -eq 0 ] && [ "$output" = "$(id -u "$user")" ] || fail "it does not run"
}

# bats test_tags=release
@test "--mpi=pmi2: the first life can use PMI, and srun says at the launch that no other one can" {
    [ -x "$SPANK_TF_PROGRAMS/pmi2" ] || skip "libpmi2 is not installed"
    run_lives "[ \$life = 1 ] || { $SPANK_TF_PROGRAMS/pmi2; echo pmi \$?; exit 42; }" -n2 --mpi=pmi2 --tf-tasks=worker:2 \
        --tf-restart=1
    [ "$status" -eq 0 ] || fail "the restart fails"
    had_lives 2 2
    [ "$output" = $'pmi 0\npmi 0' ] || fail "the first life cannot use PMI: $output"
    [ "$(grep -c 'a restarted program cannot use PMI (--mpi) again' <<< "$stderr")" -eq 1 ]
}
