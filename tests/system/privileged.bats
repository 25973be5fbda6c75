#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What slurmstepd does as root is the same in a step with a list as in a plain one, and in that the same as without the
# plugin: it opens, connects to and starts nothing more. Where root starts a step of a user's, nothing of it is root's.

# Plugin: it is about what slurmstepd does as root.
# bats file_tags=plugin
load launch

setup_file ()
{
    start_cluster --nodes 1
    slurm srun -Q -n1 true
}

# Print what slurmstepd does as root in a step: as_root ARGUMENTS-OF-SRUN...
as_root ()
{
    local trace=$SPANK_TF_CLUSTER/work/trace slurmd strace

    slurmd=$(< "$SPANK_TF_CLUSTER/$(node 1).pid")
    strace -f -qq -s 200 -o "$trace" \
        -e trace=socket,connect,bind,listen,open,openat,creat,mkdir,unlink,rename,execve,fork,vfork,clone,clone3,setuid,setresuid,setreuid \
        -p "$slurmd" 3>&- &
    strace=$!
    eventually 10 grep -q '^TracerPid:[[:space:]]*[1-9]' "/proc/$slurmd/status"
    slurm srun -Q "$@" > /dev/null || fail "the step fails"
    nothing_left
    kill "$strace"
    wait "$strace" || true
    python3 "$tests/system/privileged.py" "$trace"
}

@test "slurmstepd does nothing more as root in a step with a list" {
    command -v strace > /dev/null || skip "strace is not installed"
    as_root -n2 true > "$BATS_TEST_TMPDIR/plain"
    as_root -n2 --tf-tasks=ps,worker --tf-log-dir=logs --tf-restart=1 true > "$BATS_TEST_TMPDIR/list"
    grep -q 'openat(.*/spank_tf\.so' "$BATS_TEST_TMPDIR/plain" || fail "this is not what slurmstepd does"
    diff "$BATS_TEST_TMPDIR/plain" "$BATS_TEST_TMPDIR/list" || fail "it does something else"
}

@test "in a plain step slurmstepd loads the two plugins, and does nothing more as root than without it" {
    command -v strace > /dev/null || skip "strace is not installed"
    as_root -n2 true | grep -vE 'openat\(.*/spank_tf(_late)?\.so' > "$BATS_TEST_TMPDIR/with"
    : > "$SPANK_TF_CLUSTER/plugstack.conf"
    as_root -n2 true > "$BATS_TEST_TMPDIR/without"
    diff "$BATS_TEST_TMPDIR/without" "$BATS_TEST_TMPDIR/with" || fail "it does something else"
}

# Which of these files of a process may its user read: readable_of NAME
readable_of ()
{
    local pid

    pid=$(pgrep -u "$user" -x "$1") || fail "there is no $1"
    for file in environ maps mem fd; do
        "$tests/cluster" run --on "$(node 1)" --user "$user" -- sh -c "[ -d /proc/$pid/$file ] && ls /proc/$pid/$file/ || head -c 0 /proc/$pid/$file" \
            > "$BATS_TEST_TMPDIR/read" 2>&1 && echo "$file"
    done
    [ "$(stat -c %U "/proc/$pid/mem")" != root ] || echo "of root"
}

# Slurm has made it the user's process, and Linux leaves its memory to root, unless fs.suid_dumpable is 1 or another plugin
# has changed that.
# bats test_tags=core,release
@test "a fork server, which has slurmstepd's memory, lets no other process of its user read it" {
    site_arguments
    sed -i "1i required $SPANK_TF_PROGRAMS/other_plugin.so dumpable" "$SPANK_TF_CLUSTER/plugstack.conf"
    slurm srun -Q -J waits -n1 --tf-tasks=worker --tf-restart=1 sleep 1000 > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    eventually 30 pgrep -u "$user" -x sleep > "$BATS_TEST_TMPDIR/pid" || fail "$(< "$BATS_TEST_TMPDIR/out")"
    site_arguments
    [ "$(readable_of sleep)" = $'environ\nmaps\nmem\nfd' ] || fail "the program is not as any other"
    [ "$(readable_of tf-fork-server)" = 'of root' ] || fail "it can be read"
    slurm scancel --name waits
    nothing_left
}

# The names and ids of srun and of all processes of the plugin and of tasks, on this cluster's hosts.
processes_of_step ()
{
    local hosts=() host pid

    for host in login "$(node 1)"; do
        hosts+=("$(readlink "/proc/$(< "$SPANK_TF_CLUSTER/ns/$host")/ns/net")")
    done
    for pid in /proc/[0-9]*; do
        [[ " ${hosts[*]} " == *" $(readlink "$pid/ns/net") "* ]] || continue
        ids "$pid/status" || true
    done 2> /dev/null
}

# "tf-writer 1000 1000 1000 1000 1000 1000 1000 1000 1000 27": the user, the group and the other groups.
ids ()
{
    awk '/^Name:/ && $2 !~ /^(srun|tf-.*|waits)$/ { exit }
        /^(Name|Uid|Gid|Groups):/ { for (i = 2; i <= NF; i++) line = line (line ? " " : "") $i }
        END { if (line) print line }' "$1"
}

# bats test_tags=release
@test "root's srun --uid: every process of the step is the user's, with its groups, as the files are" {
    local work=$SPANK_TF_CLUSTER/work uid gid ids name names=(srun tf-rendezvous tf-keeper tf-supervise tf-fork-server tf-writer waits) pid

    "$tests/cluster" run -- srun --uid="$user" --version > /dev/null 2>&1 || skip "srun has no --uid in this release"
    uid=$(id -u "$user") gid=$(id -g "$user")
    ids="$uid $uid $uid $uid $gid $gid $gid $gid $(id -G "$user" | tr ' ' '\n' | sort -n | paste -sd' ')"
    # Each task fails in its first life, and ends in its second one when the file is there.
    cat > "$work/waits" <<'END'
#!/bin/sh
[ "$SLURM_TF_RESTART" = 1 ] || exit 1
id -u
until [ -e go ]; do sleep 0.1; done
END
    cat > "$work/notify" <<END
#!/bin/sh
cat > /dev/null
sed -n 's/^Uid:[[:space:]]*//p' /proc/self/status | tr '\t' ' ' >> $work/notified
END
    chmod 755 "$work/waits" "$work/notify"
    site_arguments notify="$work/notify"
    "$tests/cluster" run -- srun -Q --uid="$user" --gid="$(id -gn "$user")" -n2 --tf-tasks=worker:2 --tf-restart=1,any \
        --tf-log-dir="$work/logs.%u" --tf-tee --tf-show ./waits > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    pid=$!
    eventually 5 test -e "$BATS_TEST_TMPDIR/err"
    eventually 30 grep -q "worker 1: $uid" "$BATS_TEST_TMPDIR/out" || fail "task 1 has no second life: $(cat "$BATS_TEST_TMPDIR"/{out,err})"
    processes_of_step > "$BATS_TEST_TMPDIR/processes"
    touch "$work/go"
    wait "$pid" || fail "the step fails: $(< "$BATS_TEST_TMPDIR/err")"
    for name in "${names[@]}"; do
        grep -q "^$name " "$BATS_TEST_TMPDIR/processes" || fail "there is no $name: $(cat "$BATS_TEST_TMPDIR/processes")"
    done
    ! grep -vE "^[^ ]+ $ids\$" "$BATS_TEST_TMPDIR/processes" || fail "another process has not the ids $ids"
    [ "$(stat -c %u "$work/logs.$user"/{,master.log,worker0.log,worker1.log} "$work/notified" | sort -u)" = "$uid" ] ||
        fail "a file is not the user's"
    # The start, the restart and the end.
    [ "$(wc -l < "$work/notified")" -eq 3 ] && [ "$(sort -u "$work/notified")" = "$uid $uid $uid $uid" ] ||
        fail "the program of notify= is not the user's"
    nothing_left
}
