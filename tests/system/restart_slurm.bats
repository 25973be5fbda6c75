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

# bats test_tags=core,release
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
    [[ $stderr != *"first to fail"* && $stderr != *"not restarted"* ]] || fail "a restart was not possible"
}

# bats test_tags=release
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

# bats test_tags=release
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

# bats test_tags=core,release
@test "standard input goes on in another life, and ends" {
    run --separate-stderr slurm timeout 60 srun -Q -n1 --tf-tasks=worker --tf-restart=1 \
        sh -c 'if [ "$SLURM_TF_RESTART" ]; then echo "life 1"; exec cat; fi; read -r line; echo "$line"; exit 42' <<< $'one\ntwo\nthree'
    [ "$status" -eq 0 ] || fail "the step fails"
    [ "$output" = $'one\nlife 1\ntwo\nthree' ] || fail "the input differs"
    run slurm timeout 60 srun -Q -n1 --tf-tasks=worker --tf-restart=1 cat <<< all
    [ "$status" -eq 0 ] && [ "$output" = all ] || fail "cat does not end"
}

# Wait until srun has printed it: expect REGEX
expect ()
{
    eventually 30 grep -qE "$1" "$work/out" || fail "srun does not print \"$1\": $(< "$work/out")"
}

# bats test_tags=release
@test "--pty: an interactive shell with job control in another life" {
    cat > "$work/shell" <<'END'
[ "$SLURM_TF_RESTART" ] || kill -9 $$
TERM=dumb PS1= HISTFILE= exec bash --norc -i
END
    mkfifo "$work/keys"
    slurm timeout 60 script -qefc "srun -Q --pty --tf-tasks=worker --tf-restart=1 sh shell" /dev/null < "$work/keys" > "$work/out" 2>&1 3>&- &
    exec {keys}> "$work/keys"
    printf 'sh -c "echo one begins; sleep 1000"\n' >&"$keys"
    expect '^one begins'
    printf '\003' >&"$keys"
    printf 'echo one ended: $?; sh -c "echo two begins; sleep 1000"\n' >&"$keys"
    expect '^one ended: 130'
    expect '^two begins'
    printf '\032' >&"$keys"
    expect 'Stopped'
    printf 'bg; fg\n' >&"$keys"
    expect '^sh -c "echo two begins; sleep 1000"'
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
