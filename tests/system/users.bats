#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two users, fifty jobs on the same nodes at the same time: nobody is in anybody's way.

load ../common
load launch

jobs=50
roles=ps,worker,worker,worker,worker,worker

setup_file ()
{
    start_cluster --nodes 3 --cpus $((2 * jobs))
}

teardown ()
{
    slurm scancel --me --quiet
    "$tests/cluster" run --user "$other_user" -- scancel --me --quiet
    wait "${sruns[@]}"
    nothing_left
}

teardown_file ()
{
    stop_cluster
}

# The I-th job, of one user or the other, with ports of one kind or the other. It stays
# when its ranks are content.
job ()
{
    local -a users=("$user" "$other_user") options=(--tf-hold=yes)
    local -a judged=("$judge" --roles=$roles --timeout=120 --hold=600)

    (($1 & 2)) && options=(--tf-hold=no) judged+=(--hold-no)
    (($1 & 4)) && options+=(--tf-ports=28000-28299)
    "$tests/cluster" run --user "${users[$1 & 1]}" -- \
        srun -Q -N3 --ntasks-per-node=2 --tf-tasks=ps,worker:5 "${options[@]}" "${judged[@]}"
}

content ()
{
    cat "$SPANK_TF_CLUSTER"/work/*.out | grep -c ' ok digest=' || true
}

all_content_or_trouble ()
{
    [ "$(content)" -eq $((jobs * 6)) ] || [ -n "$(cat "$SPANK_TF_CLUSTER"/work/*.err)" ]
}

@test "fifty jobs of two users at the same time, on the same nodes: no port twice, no refusal" {
    local work=$SPANK_TF_CLUSTER/work i

    sruns=()
    for ((i = 0; i < jobs; i++)); do
        job $i > "$work/$i.out" 2> "$work/$i.err" 3>&- &
        sruns+=($!)
    done
    eventually 120 all_content_or_trouble || fail "$(content) ranks are content"
    stderr=$(cat "$work"/*.err)
    [ -z "$stderr" ] || fail "there is trouble"
    [ "$(slurm squeue -h -t R | wc -l)" -eq $jobs ] || fail "not all jobs are still there"
    output=$(cat "$work"/*.out | cut -d' ' -f7)
    [ "$(sort -u <<< "$output" | wc -l)" -eq $((jobs * 6)) ] || fail "twice: $(sort <<< "$output" | uniq -d)"
}
