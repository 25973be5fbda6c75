#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A job that does not use the plugin finds no trace of it: the same job, on a Slurm without the plugin and on one with
# it, has the same processes, files, ports, variables and output. privileged.bats shows that slurmstepd does the same.

load ../common

# Each of the two runs has a cluster of its own, in the same directory, so with the same names.
after_test ()
{
    [ ! -e "$SPANK_TF_CLUSTER/nodes" ] || { end_all; stop_cluster; }
}

# Those in the network namespace of the node; one of another cluster may end meanwhile.
slurmstepds ()
{
    local pid node

    node=$(readlink "/proc/$(< "$SPANK_TF_CLUSTER/$(node 1).pid")/ns/net")
    for pid in $(pgrep -x slurmstepd); do
        [ "$(readlink "/proc/$pid/ns/net")" != "$node" ] || echo "$pid"
    done
}

no_slurmstepd ()
{
    [ -z "$(slurmstepds)" ]
}

# A process and those below it, each with its user, its command line and its open files. Sockets and pipes of Slurm's
# come and go.
processes ()
{
    local pid=$1 child

    echo "$2$(ps -o user:32=,comm=,args= -p "$pid")"
    find "/proc/$pid/fd" -type l -printf "$2  %l\n" | grep -v ' \(socket\|pipe\|anon_inode\):' | sort
    for child in $(pgrep -P "$pid" | sort -n); do
        processes "$child" "$2    "
    done
}

# What each host listens on.
ports ()
{
    local -a on

    for on in "--on $(node 1)" ""; do
        # shellcheck disable=SC2068  # two words
        "$tests/cluster" run ${on[@]} -- ss -Hltup | sed 's/.*users:((//; s/,pid=.*//' | sort
    done
}

# The users' files, and those of the cluster but for what slurmctld and slurmd write at any time.
files ()
{
    find /tmp /var/tmp /dev/shm /run -xdev -user "$user" -not -path "$SPANK_TF_CLUSTER/*" 2> /dev/null | sort
    find "$SPANK_TF_CLUSTER" -mindepth 1 \( -name slurmctld -o -name log -o -name 'cred_state*' \) -prune -o \
        -printf '%P %u %m\n' | sort
}

# A job with this plugstack.conf: write what is seen of it while it runs, what it has printed, and what is left:
# job PLUGSTACK DIRECTORY
job ()
{
    local work pid

    mkdir "$2"
    start_cluster --nodes 1 --plugstack "$1"
    work=$SPANK_TF_CLUSTER/work
    cat > "$work/what" <<'END'
#!/bin/sh
env | sed -E '/^SLURM_(JOB_(START|END)_TIME|[A-Z_]*(PORT|SLUID|PID))=/s/=.*//' | sort
ulimit -a
grep -E '^(Sig[BIC]|Cap|NoNewPrivs|Threads|Seccomp)' /proc/self/status
ls /proc/$$/fd
echo "an error" >&2
: > running
# Without a child.
read -r _ < go
exit 3
END
    mkfifo -m 666 "$work/go"
    chmod 755 "$work/what"
    printf '#!/bin/sh\nexec srun -n1 ./what\n' | slurm sbatch --parsable -o out -e err > "$2/submitted"
    eventually 30 [ -e "$work/running" ]
    for pid in $(slurmstepds | sort -n); do
        processes "$pid" ""
    done > "$2/processes"
    { ports; files; } > "$2/files"
    echo > "$work/go"
    eventually 30 no_job_left
    eventually 30 no_slurmstepd
    files > "$2/left"
    slurm scontrol show job "$(< "$2/submitted")" | grep -o 'ExitCode=[0-9:]*' > "$2/code"
    cp "$work/out" "$work/err" "$2"
    nothing_left
    stop_cluster
}

# bats test_tags=core,release
@test "a job that does not use the plugin has the same processes, files, ports, variables and output as without it" {
    job /dev/null "$BATS_TEST_TMPDIR/without"
    grep -q "^ *$user *what " "$BATS_TEST_TMPDIR/without/processes" || fail "these are not the job's processes: $(cat "$BATS_TEST_TMPDIR/without/processes")"
    grep -q '^ExitCode=3' "$BATS_TEST_TMPDIR/without/code" || fail "this is not the job's code"
    cat "$SPANK_TF_STAGE"/etc/plugstack.conf.d/*.conf > "$BATS_TEST_TMPDIR/plugstack"
    job "$BATS_TEST_TMPDIR/plugstack" "$BATS_TEST_TMPDIR/with"
    diff -r "$BATS_TEST_TMPDIR/without" "$BATS_TEST_TMPDIR/with" || fail "they differ"
}
