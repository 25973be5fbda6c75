# SPDX-License-Identifier: GPL-2.0-or-later
#
# Launches whose every rank runs the judge, and what they must come to.

# srun ARGUMENTS judge, for a step of these roles: launch ps,worker,worker -N3 --tf-tasks=…
# The judge is also the program of each component of a heterogeneous step.
launch ()
{
    local roles=$1 word
    local -a words=()

    shift
    for word in "$@"; do
        [[ $word != : ]] || words+=("$judge" --roles="$roles")
        words+=("$word")
    done
    # Quiet: that a job waits in the queue is no matter here; nor is a long wait any use.
    run --separate-stderr slurm srun -Q --tf-timeout=60 "${words[@]}" "$judge" --roles="$roles"
    everybody_content "$roles"
}

# What `run --separate-stderr` caught is the verdicts of this step's ranks, each content and
# all with the same dictionary, and not a word more from anybody.
everybody_content ()
{
    local -a roles

    IFS=, read -ra roles <<< "$1"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "not every rank is content"
    all_content "$output" ${#roles[@]} || fail "not every rank has said so"
}

# The same of any text that has the verdicts in it: of this many ranks, one step's.
all_content ()
{
    [ "$(grep -c '^judge: .* ok digest=' <<< "$1")" -eq "$2" ] &&
        [ "$(sed -n 's/^judge: .* ok digest=//p' <<< "$1" | sort -u | wc -l)" -eq 1 ]
}

# The ranks, in their order, ran on these nodes: ran_on 1 1 2
ran_on ()
{
    local nodes

    nodes=$(sort -n -k 3 <<< "$output" | sed -nE 's/^judge: .*[a-z]([0-9]+) [^ ]+ ok .*/\1/p' | paste -sd' ')
    [ "$nodes" = "$*" ] || fail "the ranks ran on nodes $nodes, not on $*"
}

# Submit the script on stdin, with these options of sbatch, and wait until $job has ended.
submit ()
{
    job=$(slurm sbatch --parsable "$@") || fail "sbatch refused it"
    eventually 60 job_has_ended "$job" || fail "job $job does not end"
}

# The same, and $status, $output and $stderr are the script's.
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

    shown=$(slurm scontrol -o show job "$1") && ! grep -qE 'JobState=(PENDING|CONFIGURING|RUNNING|COMPLETING|SUSPENDED)' <<< "$shown"
}

# Give the plugin these arguments of plugstack.conf, instead of those it had.
site_arguments ()
{
    local line

    line=$(grep '^required' "$SPANK_TF_STAGE/etc/plugstack.conf.d/10-spank-tf.conf")
    echo "$line $*" > "$SPANK_TF_CLUSTER/plugstack.conf"
}
