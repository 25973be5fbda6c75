#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Fifty jobs of two users, on the same nodes at the same time, do not disturb each other.

# bats file_tags=core
load launch

jobs=50
roles=ps,worker,worker,worker,worker,worker

setup_file ()
{
    start_cluster --nodes 3 --cpus $((2 * jobs))
}

after_test ()
{
    slurm scancel --user "$user" --quiet
    "$tests/cluster" run --user "$other_user" -- scancel --user "$other_user" --quiet
    wait "${sruns[@]}"
    nothing_left
}

# Run the I-th job, as one user or the other, with ports from a range or not. It keeps running when its tasks are ok.
job ()
{
    local -a users=("$user" "$other_user") options=()

    (($1 & 2)) && options=(--tf-ports=28000-28299)
    "$tests/cluster" run --user "${users[$1 & 1]}" -- \
        srun -Q -N3 --ntasks-per-node=2 --tf-tasks=ps,worker:5 "${options[@]}" \
        "$task_check" --roles="$roles" --timeout=120 --linger=600
}

ok_count ()
{
    cat "$SPANK_TF_CLUSTER"/work/*.out | grep -c ' ok digest=' || true
}

all_ok_or_error ()
{
    [ "$(ok_count)" -eq $((jobs * 6)) ] || grep -qv ': waiting for ' "$SPANK_TF_CLUSTER"/work/*.err
}

@test "fifty jobs of two users at the same time, on the same nodes: every port is unique, no job is refused" {
    local work=$SPANK_TF_CLUSTER/work i

    sruns=()
    for ((i = 0; i < jobs; i++)); do
        job $i > "$work/$i.out" 2> "$work/$i.err" 3>&- &
        sruns+=($!)
    done
    eventually 120 all_ok_or_error || fail "$(ok_count) tasks are ok"
    # On a busy machine a launch may take more than five seconds.
    stderr=$(cat "$work"/*.err | grep -v ': waiting for [1-6] of 6 tasks to register ' || true)
    [ -z "$stderr" ] || fail "a job reports an error"
    [ "$(slurm squeue -h -t R | wc -l)" -eq $jobs ] || fail "not every job still runs"
    output=$(cat "$work"/*.out | cut -d' ' -f7)
    [ "$(sort -u <<< "$output" | wc -l)" -eq $((jobs * 6)) ] || fail "not unique: $(sort <<< "$output" | uniq -d)"
}
