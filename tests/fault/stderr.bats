#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# srun's stderr hangs while tasks are restarted: a pipe that is not read (as a terminal after
# Ctrl-S), a file on a frozen file system. Nothing waits for it, and nothing is lost.

load ../system/launch
load ../system/lives

workers=4

setup_file ()
{
    start_cluster --nodes 2
}

before_test ()
{
    make_lives
    err=$BATS_TEST_TMPDIR/err
    mount=$BATS_TEST_TMPDIR/mount
    loop='' reader=''
}

after_test ()
{
    [[ ! -e $BATS_TEST_TMPDIR/frozen ]] || thaw
    exec 9>&-
    [[ ! $reader ]] || kill "$reader"
    end_lives
    if [[ $loop ]]; then
        umount "$mount" || true
        losetup --detach "$loop"
    fi
}

# Start a step with this stderr, whose workers all fail in their first life. Each ends when $LIVES/end
# exists, and before it fails, waits for $LIVES/fail.
start_workers ()            # FILE
{
    slurm srun -Q --export=ALL -N2 -n$((workers + 1)) --overcommit --tf-tasks=ps,worker:$workers \
        --tf-restart=$workers,any sh -c "$begin
            [ \$SLURM_TF_ROLE != ps ] || exec sleep 600
            until [ -e \$LIVES/fail ]; do sleep 0.1; done
            [ \$life -gt 0 ] || exit 3
            until [ -e \$LIVES/end ]; do sleep 0.1; done" > /dev/null 2> "$1" 3>&- 9>&- &
    srun=$!
    eventually 30 all_workers_have 1 || fail "not every worker has started"
}

all_workers_have ()         # LIVES
{
    local rank

    for ((rank = 1; rank <= workers; rank++)); do
        has_lives "$rank" "$1" || return 1
    done
}

all_workers_fail_and_come_back ()
{
    touch "$LIVES/fail"
    eventually 60 all_workers_have 2 ||
        fail "not every worker is restarted: $(wc -l "$LIVES"/*)"
}

# $err has a line about each of them, and nothing else.
step_ends_and_said_so ()
{
    eventually 20 every_restart_is_in_err || fail "lines are missing: $(< "$err")"
    touch "$LIVES/end"
    wait "$srun" || fail "srun fails: $(< "$err")"
    # A full pipe had zeros in it.
    run grep -vE '^srun: spank_tf: .* (Restarting (it|them|all tasks) in|restarts? cost) ' <(tr -d '\0' < "$err")
    [ -z "$output" ] || fail "unexpected lines"
}

every_restart_is_in_err ()
{
    local worker

    for ((worker = 0; worker < workers; worker++)); do
        grep -qaF "worker $worker (rank " "$err" || return 1
    done
}

# bats test_tags=core
@test "a pipe that is not read: workers that fail together are all restarted, and the lines come later" {
    mkfifo "$err.fifo"
    exec 9<> "$err.fifo"
    ! dd if=/dev/zero of="$err.fifo" oflag=nonblock bs=4096 status=none || fail "the pipe is not full"
    start_workers "$err.fifo"
    all_workers_fail_and_come_back
    cat <&9 > "$err" 3>&- 9>&- &
    reader=$!
    step_ends_and_said_so
}

freeze ()
{
    touch "$BATS_TEST_TMPDIR/frozen"
    fsfreeze --freeze "$mount"
}

thaw ()
{
    fsfreeze --unfreeze "$mount"
    rm "$BATS_TEST_TMPDIR/frozen"
}

# A small file system of its own, at $mount.
make_file_system ()
{
    truncate -s 16M "$BATS_TEST_TMPDIR/image"
    loop=$(losetup --find --show "$BATS_TEST_TMPDIR/image" 2>&1) || { loop=; skip "no loop device can be made"; }
    mkfs.ext4 -q "$loop" || skip "no mkfs.ext4"
    mkdir "$mount"
    mount "$loop" "$mount" || skip "an image cannot be mounted"
}

@test "a file on a frozen file system: workers that fail together are all restarted, and the lines come later" {
    make_file_system
    err=$mount/err
    start_workers "$err"
    freeze
    all_workers_fail_and_come_back
    [ ! -s "$err" ] || fail "the file system is not frozen"
    thaw
    step_ends_and_said_so
}
