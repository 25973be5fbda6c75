# SPDX-License-Identifier: GPL-2.0-or-later
#
# Steps whose tasks run task-check, batch jobs, and the site's arguments in plugstack.conf.

# A file that has loaded it may have replaced its before_test.
declare -F start_cluster > /dev/null || load ../common

# Run a step with these roles and arguments of srun, and require that every task is ok:
# launch ps,worker,worker -N3 --tf-tasks=… In a heterogeneous step, task-check is the program of
# every component.
launch ()
{
    local roles=$1 word
    local -a words=()

    shift
    for word in "$@"; do
        [[ $word != : ]] || words+=("$task_check" --roles="$roles")
        words+=("$word")
    done
    # -Q: srun must not report that the job waits in the queue.
    run --separate-stderr slurm srun -Q --tf-timeout=60 "${words[@]}" "$task_check" --roles="$roles"
    all_tasks_ok "$roles"
}

# Require that the step succeeded with an empty stderr, and that every task of these roles
# reported ok with the same dictionary. For the output of `run --separate-stderr`.
all_tasks_ok ()
{
    local -a roles

    IFS=, read -ra roles <<< "$1"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a task is not ok"
    all_ok "$output" ${#roles[@]} || fail "a task is missing"
}

# Succeeds if TEXT contains the ok lines of N tasks, all with the same dictionary: all_ok TEXT N
all_ok ()
{
    [ "$(grep -c '^task-check: .* ok digest=' <<< "$1")" -eq "$2" ] &&
        [ "$(sed -n 's/^task-check: .* ok digest=//p' <<< "$1" | sort -u | wc -l)" -eq 1 ]
}

# Require that the ranks, in their order, ran on these nodes: ran_on 1 1 2
ran_on ()
{
    local nodes

    nodes=$(sort -n -k 3 <<< "$output" | sed -nE 's/^task-check: .*[a-z]([0-9]+) [^ ]+ ok .*/\1/p' | paste -sd' ')
    [ "$nodes" = "$*" ] || fail "the ranks ran on nodes $nodes, not on $*"
}

# Submit the script on stdin with these options of sbatch, and wait until the job, $job, has
# ended.
submit ()
{
    job=$(slurm sbatch --parsable "$@") || fail "sbatch fails"
    eventually 60 job_has_ended "$job" || fail "job $job does not end"
}

# The same; sets $status, $output and $stderr to those of the script.
batch ()
{
    local work=$SPANK_TF_CLUSTER/work

    submit -o batch.%j.out -e batch.%j.err "$@"
    status=$(slurm scontrol show job "$job" | sed -n 's/.* ExitCode=\([0-9]*\):.*/\1/p' | sort -n | tail -n 1)
    output=$(< "$work/batch.$job.out")
    stderr=$(< "$work/batch.$job.err")
}

job_has_ended ()
{
    local shown

    shown=$(slurm scontrol -o show job "$1") && ! grep -qE 'JobState=(PENDING|CONFIGURING|RUNNING|COMPLETING|REQUEUED|SIGNALING|SUSPENDED)' <<< "$shown"
}

# Replace the plugin's arguments in plugstack.conf by these.
# shellcheck disable=SC2119,SC2120  # bats files have arguments
site_arguments ()
{
    local line

    if [[ ${SPANK_TF_BY_RUN-} ]]; then
        export SLURM_TF_RUN=$*
        return
    fi
    line=$(grep '^required' "$SPANK_TF_STAGE/etc/plugstack.conf.d/10-spank-tf.conf")
    echo "$line $*" > "$SPANK_TF_CLUSTER/plugstack.conf"
}

# Linux 6.16 and later: the socket for heartbeats refuses descriptors.
refuses_descriptors ()
{
    /usr/bin/python3 -c '
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).setsockopt(socket.SOL_SOCKET, 83, 0)' 2> /dev/null
}

# The next steps are as on a kernel before Linux 6.16.
old_kernel ()
{
    site_arguments
    sed -i "1i required $SPANK_TF_PROGRAMS/other_plugin.so old_kernel" "$SPANK_TF_CLUSTER/plugstack.conf"
}
