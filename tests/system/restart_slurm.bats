#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-restart: what Slurm does around a program, it does for another life as for the first one: TaskProlog,
# standard input, job control. And programs in namespaces of their own.

# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,proctrack:linuxproc
load launch
load lives

setup_file ()
{
    # The site's prolog runs the test's own, if there is one.
    printf '%s\n' '#!/bin/sh' "export LIVES=$BATS_FILE_TMPDIR/cluster/lives" 'life=${SLURM_TF_RESTART-0}' \
        '[ ! -e $LIVES/prolog ] || . $LIVES/prolog' > "$BATS_FILE_TMPDIR/prolog"
    chmod 755 "$BATS_FILE_TMPDIR/prolog"
    start_cluster --nodes 2 --conf "TaskProlog=$BATS_FILE_TMPDIR/prolog"
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

# --- TaskProlog

# Plugin: without it, TaskProlog runs once for each task.
# bats test_tags=core,release,plugin
@test "tasks whose TaskProlog runs while another task fails are restarted with it" {
    # Rank 0 fails when rank 1 is in its first prolog, and again when rank 2 is in its second one.
    cat > "$LIVES/prolog" <<'END'
echo "$life" >> "$LIVES/prolog.$SLURM_PROCID"
case $SLURM_PROCID.$life in
    1.0 | 2.1) sleep 1000 ;;
esac
END
    run_lives 'case $SLURM_PROCID.$life in
            0.0) until [ -s $LIVES/prolog.1 ] && [ -s $LIVES/2 ]; do sleep 0.05; done; kill -9 $$ ;;
            0.1) until [ "$(cat $LIVES/prolog.2 | wc -l)" = 2 ] && [ -s $LIVES/1 ]; do sleep 0.05; done; kill -9 $$ ;;
            *.2) exit 0 ;;
        esac
        exec sleep 1000' -N2 -n3 --tf-tasks=worker:3 --tf-restart=2
    [ "$status" -eq 0 ] || fail "the step fails"
    # No program ran in the lives that ended in their prolog.
    had_lives 3 2 2
    for rank in 0 1 2; do
        [ "$(xargs < "$LIVES/prolog.$rank")" = "0 1 2" ] || fail "the prologs of rank $rank: $(xargs < "$LIVES/prolog.$rank")"
    done
    [[ $stderr != *"first failure"* && $stderr != *"Not restarted"* ]] || fail "a restart was not possible"
}

# Plugin: without it, TaskProlog runs once for each task.
# bats test_tags=release,plugin
@test "what TaskProlog prints and exports is each life's own" {
    echo 'echo "print life $life is prepared"; echo "export MINE=$life"; echo "unset NOT_WANTED"' > "$LIVES/prolog"
    export NOT_WANTED=there
    run_lives 'echo "life $life ${MINE-none} ${NOT_WANTED-unset}"; [ $life = 1 ] || exit 42' -l -n2 --tf-tasks=worker:2 --tf-restart=1
    [ "$status" -eq 0 ] || fail "the step fails"
    for rank in 0 1; do
        [ "$(grep "^$rank: " <<< "$output")" = "$(printf "$rank: life %s\n" "0 is prepared" "0 0 unset" "1 is prepared" "1 1 unset")" ] ||
            fail "rank $rank has printed something else"
    done
}

# Plugin: without it, TaskProlog runs before a task has registered.
# bats test_tags=release,plugin
@test "a TaskProlog that fails ends its task as it ends a plain one; Slurm 20.11 takes no notice" {
    local code=3 ran=0

    slurm_is_from 22.05 || code=0 ran=1
    echo 'exit 3' > "$LIVES/prolog"
    for options in '' '--tf-tasks=worker --tf-restart=5'; do
        rm -f "$LIVES/0"
        # shellcheck disable=SC2086  # several words
        run_lives '' -n1 $options
        [ "$status" -eq $code ] || fail "\"$options\": the code is not the prolog's"
        had_lives $ran
    done
    rm -f "$LIVES/0"
    echo '[ $life = 0 ] || exit 3' > "$LIVES/prolog"
    run_lives '[ $life = 1 ] || exit 42' -n1 --tf-tasks=worker --tf-restart=5
    [ "$status" -eq $code ] || fail "another life: the code is not the prolog's"
    had_lives $((ran + 1))
}

# --- input, terminals, containers

# Run a step with the caller's stdin, which succeeds, and require that its tasks have printed these lines with TRAINED,
# in this order when they are sorted: trains LINES OPTION... COMMAND...
trains ()
{
    run --separate-stderr slurm timeout 60 srun -Q --export=ALL "${@:2}"
    [ "$status" -eq 0 ] || fail "${*:2}: the step fails: $stderr"
    [ "$(grep TRAINED <<< "$output" | sort | xargs)" = "$1" ] || fail "${*:2}: $output"
}

# bats test_tags=core,release,by-run
@test "a program on standard input is read again by each life, and so is what it reads" {
    local python=/usr/bin/python3 options=(-N2 -n2 --tf-tasks=worker:2 --tf-restart=1,any)

    cat > "$work/train.py" <<'END'
import os, signal, sys
rank = os.environ["SLURM_PROCID"]
if rank == os.environ.get("FAILS", "1") and "SLURM_TF_RESTART" not in os.environ:
    sys.exit(1)
if "SLURM_TF_RESTART" in os.environ:
    print("TRAINED" + rank, flush=True)
else:
    signal.pause()
END
    printf '%s\n' 'export FAILS=1' "$python train.py" > "$work/train.sh"
    trains "TRAINED0 TRAINED1" "${options[@]}" $python - < "$work/train.py"
    trains "TRAINED0 TRAINED1" "${options[@]}" bash < "$work/train.sh"
    trains "TRAINED0 TRAINED1" "${options[@]}" --input=train.py $python -
    # srun's stdin is for rank 0 alone, and rank 1 reads /dev/null.
    FAILS=0 trains TRAINED0 "${options[@]}" --input=0 $python - < "$work/train.py"
    # One task alone, which has read a part; the ps has another one.
    trains "TRAINED:one TRAINED:three TRAINED:two" -N2 -n2 --tf-tasks=ps,worker --tf-restart=1 sh -c '
        [ $SLURM_TF_ROLE = worker ] || exec sleep 1000
        read -r line
        if [ "$SLURM_TF_RESTART" ]; then echo "TRAINED:$line"; exec sed s/^/TRAINED:/; fi
        exit 42' <<< $'one\ntwo\nthree'
    trains TRAINED -n1 --tf-tasks=worker --tf-restart=1 cat <<< TRAINED
}

@test "a program on standard input that hangs is read again" {
    run slurm timeout 60 srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-restart=1 --tf-watchdog=2,2 --tf-log-dir="$work/logs" \
        /usr/bin/python3 - <<'END'
import os, time
for _ in range(10):
    print("line", flush=True)
    time.sleep(0.2)
if "SLURM_TF_RESTART" not in os.environ:
    time.sleep(1000)
print("TRAINED", flush=True)
END
    [ "$status" -eq 0 ] || fail "the step fails"
    [ "$(cat "$work"/logs/worker?.log | grep -c TRAINED)" -eq 2 ] || fail "not all tasks have trained"
}

@test "what a life has not read comes to the next one" {
    local sum

    head -c 3000000 /dev/urandom > "$work/input"
    sum=$(cksum < "$work/input")
    trains "TRAINED0 $sum TRAINED1 $sum" -N2 -n2 --tf-tasks=worker:2 --tf-restart=1 sh -c '
        [ "$SLURM_TF_RESTART" ] || { [ $SLURM_PROCID = 0 ] || kill -9 $$; exec sleep 1000; }
        echo "TRAINED$SLURM_PROCID $(cksum)"' < "$work/input"
}

# bats test_tags=core,release
@test "after more standard input than is kept there is no restart, and the failure's code counts" {
    for tasks in worker:2 ps,worker; do
        run --separate-stderr slurm timeout 60 srun -Q -N2 -n2 --tf-tasks=$tasks --tf-restart=1 \
            sh -c 'size=$(wc -c); [ $SLURM_PROCID = 1 ] || exit 0; echo "1 has read $size"; exit 42' \
            < <(head -c 17000000 /dev/zero)
        [ "$status" -eq 42 ] || fail "$tasks: $status: $stderr"
        [ "$output" = "1 has read 17000000" ] || fail "$tasks: $output"
        [[ $stderr == *"Not restarted: more than 16 MiB arrived on its stdin, which is all that is kept for another run"* ]] ||
            fail "$tasks: $stderr"
    done
}

# Wait until srun has printed it: expect REGEX
expect ()
{
    eventually 30 grep -qE "$1" "$work/out" || fail "srun does not print \"$1\": $(< "$work/out")"
}

# A program that is stopped before it has executed another one keeps dash, which waits for that (vfork (2)), from being
# stopped itself; so there is no other program.
# bats test_tags=release
@test "--pty: an interactive shell with job control in another life" {
    cat > "$work/shell" <<'END'
[ "$SLURM_TF_RESTART" ] || kill -9 $$
TERM=dumb PS1= HISTFILE= exec bash --norc -i
END
    mkfifo "$work/keys"
    slurm timeout 60 script -qefc "srun -Q --pty --tf-tasks=worker --tf-restart=1 sh shell" /dev/null < "$work/keys" > "$work/out" 2>&1 3>&- &
    exec {keys}> "$work/keys"
    printf 'sh -c "echo one begins; exec sleep 1000"\n' >&"$keys"
    expect '^one begins'
    printf '\003' >&"$keys"
    printf 'echo one ended: $?; sh -c "echo two begins; exec sleep 1000"\n' >&"$keys"
    expect '^one ended: 130'
    expect '^two begins'
    printf '\032' >&"$keys"
    expect 'Stopped'
    printf 'bg; fg\n' >&"$keys"
    expect '^sh -c "echo two begins; exec sleep 1000"'
    printf '\003' >&"$keys"
    printf 'echo two ended: $?; exit 9\n' >&"$keys"
    wait $! && status=0 || status=$?
    exec {keys}>&-
    expect '^two ended: 130'
    [ "$status" -eq 9 ] || fail "the exit code is not the shell's: $(< "$work/out")"
}

# bats test_tags=release
@test "programs in namespaces of their own, by bubblewrap and unshare, are restarted alone and together" {
    unshare --user true 2> /dev/null || skip "this machine does not let users create namespaces"
    # Process 1 of a PID namespace survives SIGTERM.
    site_arguments stop_grace=1 restart_backoff=1
    cat > "$work/program" <<'END'
life=${SLURM_TF_RESTART-0}
echo "$TF_CONFIG" >> $LIVES/$SLURM_PROCID
case $SLURM_TF_ROLE.$life in
    worker.0) exit 42 ;;
    worker.1) touch $LIVES/again ;;
    ps.0) until [ -e $LIVES/again ]; do sleep 0.05; done; exit 42 ;;
    chief.1) until [ "$(cat $LIVES/1 | wc -l).$(cat $LIVES/2 | wc -l)" = 2.3 ]; do sleep 0.05; done; exit 0 ;;
esac
exec sleep 1000
END
    for box in 'bwrap --unshare-user --unshare-pid --bind / / --dev /dev --proc /proc' \
            'unshare --user --map-root-user --mount --pid --fork --mount-proc'; do
        make_lives
        # shellcheck disable=SC2086  # several words
        run --separate-stderr slurm timeout 60 srun -Q -N2 -n3 --tf-tasks=chief,ps,worker --tf-restart=3 $box sh ./program
        [ "$status" -eq 0 ] || fail "$box: the step fails"
        had_lives 2 2 3
        [ "$(sed 's/"task".*//' "$LIVES"/[0-2] | sort -u | wc -l)" -eq 1 ] || fail "$box: not one cluster"
    done
}
