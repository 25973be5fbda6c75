# SPDX-License-Identifier: GPL-2.0-or-later
#
# Steps in a container that each task enters once, as pyxis lets it, with the two stages of spank_tf around that
# plugin. A file that loads this, fault/faults, launch, lives and nodes defines
#
#     between=LINE           the line of that plugin in plugstack.conf
#     container=(OPTION…)    srun's options for a container in which nothing of ours is, but $work and $LIVES
#     torch=(OPTION…)        the same for an image that sets PYTORCH_VERSION
#     missing=(OPTION…)      the same for an image that is not there

# Write plugstack.conf: our line with these arguments, the other plugin's, and our second line.
two_stages ()
{
    local ours

    ours=$(grep '^required' "$SPANK_TF_STAGE/etc/plugstack.conf.d/10-spank-tf.conf")
    printf '%s\n' "$ours $*" "$between" "${ours/spank_tf.so/spank_tf_late.so}" > "$SPANK_TF_CLUSTER/plugstack.conf"
}

# In a script: a task ends with 98 outside of the container, and with 99 if SLURM_TF_… is another task's.
own="[ ! -e $SPANK_TF_STAGE ] || exit 98;"'
case $TF_CONFIG in
    *"\"type\":\"$SLURM_TF_ROLE\",\"index\":$SLURM_TF_INDEX}"*) ;;
    *) exit 99 ;;
esac;'

# Run a step in the container whose tasks run this script in each life: run_inside SCRIPT OPTION…
# In a heterogeneous step, the script is that of every component.
run_inside ()
{
    local script="$own $begin $1" word
    local -a words=("${container[@]}")

    shift
    for word in "$@"; do
        [[ $word != : ]] || words+=(sh -c "$script")
        words+=("$word")
        [[ $word != : ]] || words+=("${container[@]}")
    done
    run --separate-stderr slurm timeout 150 srun -Q --export=ALL "${words[@]}" sh -c "$script"
}

# In a script: rank 1 fails in its first life when all have begun, and the others are stopped then.
fail_once="$together"'[ "$life" != 0 ] || { [ "$SLURM_PROCID" != 1 ] || exit 3; exec sleep 1000; }'

succeeds ()
{
    [ "$status" -eq 0 ] || fail "srun's exit code is not 0"
}

restart_of_all ()
{
    run_inside "$fail_once" -N3 -n3 --tf-tasks=worker:3 --tf-restart=1,any
    succeeds
    had_lives 2 2 2
}

two_tasks_a_node ()
{
    run_inside "$fail_once" -N2 --ntasks-per-node=2 --tf-tasks=worker:4 --tf-restart=1,any
    succeeds
    had_lives 2 2 2 2
}

heterogeneous_step ()
{
    run_inside "$fail_once" -N1 -n1 --tf-tasks=chief --tf-restart=1,any : -N1 -n2 --tf-tasks=worker:2
    succeeds
    had_lives 2 2 2
}

restart_of_one_beside_a_ps ()
{
    run_inside 'case $SLURM_PROCID.$life in
            0.0) exec sleep 1000 ;;
            1.0) exit 3 ;;
            2.0) until [ "$(cat $LIVES/1 2> /dev/null | wc -l)" -gt 1 ]; do sleep 0.1; done ;;
        esac' -N3 -n3 --tf-tasks=ps,worker:2 --tf-restart=1,any --tf-show
    succeeds
    had_lives 1 2 1
    [ "$(task_ends <<< "$stderr")" = "0 ps 0 stopped
1 worker 0 exit 0 (restarted 1 time)
2 worker 1 exit 0" ] || fail "another table"
}

restart_after_a_hang ()
{
    # Logs are watched from five seconds on, if they grow then.
    run_inside 'for step in $(seq $((life ? 1 : 20))); do sleep 0.4; echo "life $life"; done
        [ "$life" != 0 ] || exec sleep 1000' -N2 -n2 --tf-tasks=worker:2 \
        --tf-watchdog=3,5 --tf-restart=1 --tf-log-dir="$work/logs"
    succeeds
    had_lives 2 2
    [ "$(grep -c 'no activity' <<< "$stderr")" -eq 1 ] || fail "not one verdict"
    [ "$(cat "$work"/logs/worker?.log | grep -c 'life 1')" -eq 2 ] || fail "the logs lack a life"
}

# Also with a line before ours in plugstack.conf, by which the kernel is an older one.
messages_count ()
{
    local before

    cp "$SPANK_TF_PROGRAMS/signs" "$work"
    for before in '' "required $SPANK_TF_PROGRAMS/other_plugin.so old_kernel"; do
        two_stages
        [[ ! $before ]] || sed -i "1i $before" "$SPANK_TF_CLUSTER/plugstack.conf"
        find "$LIVES" "$work" -type f ! -name signs -delete
        run_inside '[ "$life" = 0 ] || exit 0
            '"$work/signs 100 messages $work"'/alive.$SLURM_PROCID &
            until [ -e '"$work"'/alive.$SLURM_PROCID ]; do sleep 0.1; done
            [ "$SLURM_PROCID" != 1 ] || kill -USR2 $!
            exec sleep 1000' -N2 -n2 --tf-tasks=worker:2 --tf-watchdog=2,60 --tf-restart=1
        succeeds
        had_lives 2 2
        [[ $stderr == *"no activity for "*": worker 1 (rank 1, "*'"step '[0-9]* ]] || fail "not this verdict"
    done
}

# In a cluster with SlurmdTimeout=10.
spare_takes_a_place ()
{
    two_stages lost_after=5
    srun_output=$BATS_TEST_TMPDIR/srun.out
    slurm srun --no-kill --export=ALL "${container[@]}" -N4 -n4 --tf-tasks=worker:3,spare --tf-restart=1 --tf-show \
        sh -c "$own $begin"' [ "$life" != 0 ] || exec sleep 1000' > "$srun_output" 2>&1 3>&- &
    # shellcheck disable=SC2034  # for srun_ends
    srun=$!
    for rank in 0 1 2; do
        eventually 60 has_lives $rank 1 || fail "rank $rank does not begin: $(< "$srun_output")"
    done
    kill_node 3
    srun_ends 120
    # Slurm's own verdict about a step that has lost a node.
    [ "$status" -le 1 ] || fail "srun's exit code is $status: $(< "$srun_output")"
    had_lives 2 2 1 1
    [ "$(task_ends "$srun_output" | cut -d' ' -f2-)" = "worker 0 exit 0 (restarted 1 time)
worker 1 exit 0 (restarted 1 time)
worker 2 lost, now rank 3
worker 2 exit 0 (restarted 1 time)" ] || fail "another table: $(< "$srun_output")"
}

# The program of the check is in the container, too.
nodes_are_checked ()
{
    printf '#!/bin/sh\n[ ! -e %s ] || { echo outside; exit 1; }\n[ "$SLURMD_NODENAME" != %s ] || { echo inside; exit 1; }\n' \
        "$SPANK_TF_STAGE" "$(node 2)" > "$work/check"
    chmod 755 "$work/check"
    run_inside '' -N3 -n3 --tf-tasks=worker:2,spare --tf-preflight="yes,$work/check" --tf-log-dir="$work/logs"
    succeeds
    [[ $stderr == *"$(node 2) did not pass the preflight: $work/check: \"inside\". Result: worker 1 (rank 1) is now rank 2"* ]] ||
        fail "another result: $stderr"
    had_lives 1 0 1
}

torch_variables ()
{
    local -a container=("${torch[@]}")

    run_inside 'echo "$PYTORCH_VERSION $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR:$((MASTER_PORT > 0)) $life"
        '"$fail_once" -N2 --ntasks-per-node=2 --tf-frameworks=tf,torch --tf-tasks=worker:4 \
        --tf-restart=1,any
    succeeds
    [ "$(sort <<< "$output")" = "$(for rank in 0 1 2 3; do
            for life in 0 1; do
                echo "2.6.0 $rank $((rank % 2)) 4 $(address "$(node 1)"):1 $life"
            done
        done)" ] || fail "a task has other variables"
}

# The only worker, an evaluator and an auxiliary task are no processes of PyTorch.
no_torch_variables ()
{
    local -a container=("${torch[@]}")

    run_inside 'echo "$SLURM_TF_ROLE $life ${RANK-}${LOCAL_RANK-}${WORLD_SIZE-}${MASTER_ADDR-}${MASTER_PORT-}"
        [ "$SLURM_TF_ROLE.$life" != worker.0 ] || exit 3' -N2 -n3 --tf-tasks=worker,evaluator,+board --tf-restart=1,any
    succeeds
    [ "$(sort <<< "$output")" = $'board 0 \nevaluator 0 \nworker 0 \nworker 1 ' ] ||
        fail "a task has variables of PyTorch's"
    # The user's own stay, also if they count Slurm's tasks.
    RANK=7 WORLD_SIZE=3 run --separate-stderr slurm srun -Q --export=ALL -N2 -n3 --tf-tasks=worker,evaluator,+board \
        sh -c 'echo "$RANK $WORLD_SIZE"'
    [ "$output" = $'7 3\n7 3\n7 3' ] || fail "a task lacks the user's variables"
}

# The other plugin's lines, and the code, are those of plain Slurm; ours name the task that has failed, and do not
# say that something of ours is missing.
missing_image ()
{
    local options

    for options in "" --tf-restart=1,any; do
        run --separate-stderr slurm srun -Q "${missing[@]}" -N2 -n2 true
        local plain=$status
        # shellcheck disable=SC2086
        run --separate-stderr slurm srun -Q "${missing[@]}" -N2 -n2 --tf-tasks=ps,worker $options touch "$work/started"
        [ "$status" -eq "$plain" ] || fail "srun's exit code is not $plain"
        [[ $stderr == *missing* && $stderr == *'first failure: '* ]] || fail "the image, or the task, is not named"
        [[ $stderr != *'not installed'* && $stderr != *'answer'* ]] || fail "a line misleads"
        [ ! -e "$work/started" ] || fail "a program was started"
    done
}
