#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What breaks while a step is launched: nodes, the network, the rendezvous, strangers, limits.
# The launch then succeeds as if nothing had been, or every rank ends by its deadline and one
# line says who was missing.

load ../common
load ../system/launch
load faults

setup_file ()
{
    start_fault_cluster
}

# --- who is missing

@test "a node whose slurmd is stopped: the others end by the deadline, and rank, role and node are told" {
    stop_slurmd 2
    since=$(now_ms)
    begin_step --tf-timeout=4 "${stay[@]}"
    eventually 20 ranks 4
    within 6000 ranks 0
    told "2 of 6 ranks did not register within 4 s: rank 2 \(worker 1\) on $(node 2), rank 3 \(worker 2\) on $(node 2)"
    continue_slurmd 2
    srun_ends 20
    [ "$status" -ne 0 ] || fail "srun succeeds"
    none_started
}

@test "a node that srun cannot reach: the others end by the deadline, and rank, role and node are told" {
    host=$(node 4)
    cut_off 2
    since=$(now_ms)
    begin_step --tf-timeout=4 "${stay[@]}"
    eventually 20 ranks 4
    within 6000 ranks 0
    told "2 of 6 ranks did not register within 4 s: rank 2 \(worker 1\) on $(node 2), rank 3 \(worker 2\) on $(node 2)"
    # Slurm itself waits for as long as a message may take.
    srun_ends 30
    [ "$status" -ne 0 ] || fail "srun succeeds"
    none_started
    step=(-w "$(node 1),$(node 3)" -N2 --ntasks-per-node=3 -O --tf-tasks=ps,worker:5)
    next_runs --jobid="$job"
}

@test "a node that reaches srun but not the rendezvous: all end by the deadline, and rank, role and node are told" {
    cut_rendezvous 3
    since=$(now_ms)
    begin_step --tf-timeout=2 "${stay[@]}"
    eventually 20 ranks 6
    # Those whom no answer reaches have 5 s more, for an answer that is late.
    within 9000 srun_ended
    srun_ends 0
    [ "$status" -ne 0 ] || fail "srun succeeds"
    said "error: spank_tf: step $job\.[0-9]+: 2 of 6 ranks did not register within 2 s: rank 4 \(worker 3\) on $(node 3), rank 5 \(worker 4\) on $(node 3)$"
    said "error: spank_tf: $(node 3): the rendezvous, .*, could not be reached: Connection timed out"
    none_started
}

@test "a node that is cut off once its ranks have registered: they end too, and so does srun" {
    host=$(node 4)
    stop_slurmd 3
    since=$(now_ms)
    begin_step --tf-timeout=4 "${stay[@]}"
    eventually 20 registered 4
    cut_off 2
    within 11000 ranks 0
    told "2 of 6 ranks did not register within 4 s: rank 4 \(worker 3\) on $(node 3), rank 5 \(worker 4\) on $(node 3)"
    continue_slurmd 3
    srun_ends 30
    [ "$status" -ne 0 ] || fail "srun succeeds"
    none_started
}

@test "a long wait: after 10 s one line says how many ranks are missing, and on which nodes" {
    stop_slurmd 2
    stop_slurmd 3
    since=$(now_ms)
    begin_step "$judge" --roles=$roles
    eventually 20 said spank_tf
    (($(now_ms) - since >= 10000)) || fail "told too early"
    [ "$(grep spank_tf "$words" | sed "s/step $job\.[0-9]*/STEP/")" = "srun: spank_tf: STEP: waiting for 4 of 6 ranks, on $(node 2), $(node 3)" ] ||
        fail "told $(< "$words")"
    continue_slurmd 2
    continue_slurmd 3
    srun_ends 20
    all_content "$(< "$words")" 6 || fail "the launch is not right: $(< "$words")"
    [ "$(grep -c spank_tf "$words")" -eq 1 ] || fail "told more than once: $(< "$words")"
}

# --- the rendezvous

@test "strangers at the rendezvous while a launch waits: it stays small, and the launch is right and not late" {
    stop_slurmd 2
    begin_step "$judge" --roles=$roles
    eventually 20 registered 4
    port=$("$tests/cluster" run -- ss -Hltnp | sed -nE 's/.*:(25[0-9]{3}) .*tf-rendezvous.*/\1/p')
    answers=$BATS_TEST_TMPDIR/answers
    "$tests/cluster" run --on "$(node 4)" --user "$other_user" -- \
        bash -c "$(declare -f strangers stranger header frame); strangers $(address login) $port" > "$answers" 3>&- &
    strangers=$!
    eventually 60 grep -qs 'are in' "$answers"
    memory=$(awk '/^VmHWM/ { print $2 }' "/proc/$(rendezvous)/status")
    note "$memory KiB"
    ((memory <= 32768)) || fail "tf-rendezvous has taken $memory KiB"

    since=$(now_ms)
    continue_slurmd 2
    within 5000 srun_ended
    srun_ends 0
    all_content "$(< "$words")" 6 || fail "the launch is not right: $(< "$words")"
    ! grep -qv '^judge: ' "$words" || fail "srun had something to say: $(< "$words")"
    wait "$strangers"
    [ "$(< "$answers")" = '480 are in' ] || fail "a stranger was answered: $(< "$answers")"
}

# Hundreds of connections that all stay open; then what they were answered, if anything.
strangers ()
{
    local address=$1 port=$2 fd i
    local -a fds=()

    for ((i = 0; i < 480; i++)); do
        exec {fd}<> "/dev/tcp/$address/$port"
        fds+=("$fd")
        # Closed before it has all is what most deserve.
        stranger $((i % 6)) 2> /dev/null >&"$fd" || true
    done
    echo "${#fds[@]} are in"
    for fd in "${fds[@]}"; do
        cat <&"$fd" 2> /dev/null || true
    done
}

stranger ()
{
    case $1 in
        0) head -c 20000 /dev/urandom ;;
        1) printf "$(header 4294967295)" ;;
        2) frame TOKEN=00000000000000000000000000000000 RELEASE=1 NODE=x HOST=x ADDRESS=10.98.0.4 PORT=1025 \
            NODE_INDEX=1 RANK=2 TASKS=6 COMPONENT_FIRST=0 COMPONENT_TASKS=6 ;;
        *) printf "$(header 16000)%8000s" x ;;
    esac
}

# For printf: SpTF, version 1, zero, and the length of what follows.
header ()
{
    printf 'SpTF\\0\\1\\0\\0'
    printf '\\x%02x' $(($1 >> 24)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255))
}

frame ()
{
    local strings

    strings=$(printf '%s\n' "$@")
    printf "$(header $((${#strings} + 1)))"
    tr '\n' '\0' <<< "$strings"
}

@test "tf-rendezvous killed in the barrier: every rank ends at once, and it is said" {
    stop_slurmd 3
    begin_step "${stay[@]}"
    eventually 20 registered 4
    since=$(now_ms)
    kill -KILL "$(rendezvous)"
    within 2000 ranks 0
    continue_slurmd 3
    srun_ends 20
    [ "$status" -ne 0 ] || fail "srun succeeds"
    [ "$(grep -c spank_tf "$words")" -eq 1 ] && said 'error: spank_tf: nobody is at the rendezvous, ' ||
        fail "not told who is gone: $(< "$words")"
    none_started
}

# --- limits

@test "a limit of open files that the step does not fit into is told, with both numbers" {
    run slurm bash -c 'ulimit -n 40; exec "$@"' - srun -Q --jobid="$job" -N3 -n12 -O --tf-tasks=ps,worker:11 \
        sh -c 'echo "$TF_CONFIG" > started.$SLURM_PROCID'
    [ "$status" -ne 0 ] || fail "srun succeeds"
    [[ $(grep spank_tf <<< "$output") =~ ^"srun: error: spank_tf: step $job."[0-9]+" runs 12 tasks, srun may have 40 open files, which do for "([0-9]+)"; see \`ulimit -Hn\`"$ ]] ||
        fail "not told so"
    none_started
    # As many as it says do fit, also when the limit has to be raised for them.
    fit=${BASH_REMATCH[1]}
    run slurm bash -c 'ulimit -Hn 40; ulimit -Sn 24; exec "$@"' - srun -Q --jobid="$job" -N3 -n"$fit" -O \
        --tf-tasks="worker:$fit" "$judge" --roles="worker$(printf ',worker%.0s' $(seq 2 "$fit"))"
    all_content "$output" "$fit" || fail "$fit tasks do not fit"
}

# --- the terminal

@test "Ctrl-C reaches srun alone: one asks, and the launch goes on; two end it" {
    cut_rendezvous 2
    begin_in_terminal --tf-timeout=60 "${stay[@]}"
    eventually 20 registered 4
    eventually 20 ranks 6
    printf '\003' >&5
    eventually 10 said 'interrupt \(one more within 1 sec to abort\)'
    restore_rendezvous
    eventually 30 started 6
    one_cluster

    printf '\003' >&5
    sleep 0.3
    printf '\003' >&5
    srun_ends 20
    exec 5>&-
}

# srun as begin_step, in the foreground of a terminal whose keys are pressed on descriptor 5.
begin_in_terminal ()
{
    local keys=$BATS_TEST_TMPDIR/keys command

    command=$(printf '%q ' "$tests/cluster" run --user "$user" -- srun --jobid="$job" "${step[@]}" "$@")
    mkfifo "$keys"
    exec 5<> "$keys"
    script -qefc "exec $command" /dev/null < "$keys" > "$words" 2>&1 3>&- &
    srun=$!
}
