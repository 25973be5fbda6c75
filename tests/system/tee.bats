#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-tee: what srun and the log files get of the output of tasks.

load launch

setup_file ()
{
    start_cluster --nodes 2
    cat > "$SPANK_TF_CLUSTER/work/talk" <<'END'
#!/bin/sh
i=0
while [ $i -lt 200 ]; do
    echo "out $i"
    echo "err $i" >&2
    i=$((i + 1))
done
END
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    logs=logs.$BATS_TEST_NUMBER
}

after_test ()
{
    site_arguments
    nothing_left
}

# Remove the plugin's last line, which says where the logs are.
without_logs ()
{
    sed '/^srun: spank_tf: step [0-9.]*: logs are in /d'
}

# bats test_tags=core
@test "a million lines, as fast as one task writes them, all arrive in order at srun and in the log" {
    slurm sh -c "srun -Q -n1 --tf-tasks=worker --tf-log-dir=$logs --tf-tee seq 1000000 > $logs.out 2> $logs.err" ||
        fail "srun"
    [ -z "$(without_logs < "$work/$logs.err")" ] || fail "$(head "$work/$logs.err")"
    cmp "$work/$logs.out" <(seq 1000000 | sed 's/^/worker 0: /') || fail "srun's output"
    cmp "$work/$logs/worker0.log" <(seq 1000000) || fail "the log"
}

# bats test_tags=core
@test "every line is whole and begins with its task, and stdout and stderr are apart" {
    local task stream

    run --separate-stderr slurm srun -Q -N2 -n3 --tf-tasks=worker:3 --tf-log-dir="$logs" --tf-tee sh talk
    [ "$status" -eq 0 ] || fail "srun"
    for task in 0 1 2; do
        diff <(grep "^worker $task: " <<< "$output") <(seq 0 199 | sed "s/^/worker $task: out /")
        diff <(grep "^worker $task: " <<< "$stderr") <(seq 0 199 | sed "s/^/worker $task: err /")
        for stream in out err; do
            diff <(grep "^$stream" "$work/$logs/worker$task.log") <(seq 0 199 | sed "s/^/$stream /")
        done
    done
    [ "$(wc -l <<< "$output")" -eq 600 ] && [ "$(without_logs <<< "$stderr" | wc -l)" -eq 600 ] || fail "there are other lines"
}

@test "what a task printed before it was stopped, and a last line without a newline, arrive" {
    run --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=ps,worker --tf-log-dir="$logs" --tf-tee sh -c '
        printf "%s is up" "$SLURM_TF_ROLE"
        [ $SLURM_TF_ROLE = ps ] || exec sleep 1.5
        exec 2> /dev/null
        trap "echo; echo asked; exit" TERM
        while :; do sleep 0.1; done'
    [ "$status" -eq 0 ] || fail "srun"
    [ "$(sort <<< "$output")" = $'ps 0: asked\nps 0: ps is up\nworker 0: worker is up' ] || fail "lost"
    [ "$(< "$work/$logs/ps0.log")" = $'ps is up\nasked' ] && [ "$(< "$work/$logs/worker0.log")" = "worker is up" ] ||
        fail "the log"
}

# Sets `took` to the seconds for which srun waits while a process in the background has its task's stdout.
in_background ()
{
    SECONDS=0
    run --separate-stderr slurm srun -Q -n1 "$@" sh -c 'sleep 20 & echo done'
    took=$SECONDS
    [ "$status" -eq 0 ] && [[ $output == *done ]] || fail "srun"
}

@test "a process in the background that has stdout open keeps srun no longer than without the plugin" {
    local took plain

    in_background
    plain=$took
    in_background --tf-tasks=worker --tf-log-dir="$logs" --tf-tee
    ((took <= plain + 3)) || fail "$took s and not $plain s"
}

@test "what a process in the background prints while other tasks run arrives" {
    run --separate-stderr slurm srun -Q -N1 -n2 --tf-tasks=worker:2 --tf-log-dir="$logs" --tf-tee sh -c '
        [ $SLURM_TF_INDEX = 0 ] || exec sleep 5
        { sleep 2; echo late; } &
        echo early'
    [ "$status" -eq 0 ] || fail "srun"
    [ "$output" = $'worker 0: early\nworker 0: late' ] && [ "$(< "$work/$logs/worker0.log")" = $'early\nlate' ] ||
        fail "lost"
}

@test "a program has pipes, and no descriptor more than without it" {
    local descriptors='ls -l /proc/$$/fd >&2'

    slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" sh -c "$descriptors"
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs.tee" --tf-tee sh -c "$descriptors"
    diff <(grep -o '[0-9]* ->' "$work/$logs/worker0.log") <(grep -o '[0-9]* ->' "$work/$logs.tee/worker0.log")
    [ "$(grep -c ' [12] -> pipe:' "$work/$logs.tee/worker0.log")" -eq 2 ] || fail "stdout and stderr are no pipes"
}

@test "it needs --tf-log-dir; a job, or a site, that has it does not" {
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-tee touch started
    [ "$status" -ne 0 ] && [[ $stderr == *"spank_tf: --tf-tee needs --tf-log-dir"* ]] || fail "it is not refused"
    [ ! -e "$work/started" ]
    site_arguments tee=yes
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker echo here
    [ "$status" -eq 0 ] && [ "$output" = here ] && [ -z "$stderr" ] || fail "a site's tee= needs a log directory"
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" echo here
    [ "$output" = "worker 0: here" ] || fail "a site's tee= has no effect"
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" --tf-tee=no echo here
    [ "$status" -eq 0 ] && [ -z "$output" ] || fail "it cannot be switched off"
    site_arguments
    batch -n1 --tf-tasks=worker --tf-tee <<END
#!/bin/bash
srun -Q echo one
srun -Q --tf-log-dir=$logs echo two
END
    [ "$status" -eq 0 ] && [ "$output" = $'one\nworker 0: two' ] && [ -z "$(without_logs <<< "$stderr")" ] || fail "a job's --tf-tee"
}

@test "a file of srun's own --output has the output" {
    run --separate-stderr slurm srun -n1 --tf-tasks=worker --tf-log-dir="$logs" --tf-tee -o "$logs.out" echo here
    [ "$status" -eq 0 ] || fail "srun"
    [ "$(< "$work/$logs.out")" = "worker 0: here" ]
}

@test "--pty: the output of the first task is on the terminal, too" {
    run slurm script -qec "srun --pty -n1 --tf-tasks=worker --tf-log-dir=$logs --tf-tee echo here" /dev/null
    [ "$status" -eq 0 ] && [[ $output == *"worker 0: here"* ]] || fail "it is not"
    [ "$(< "$work/$logs/worker0.log")" = here ]
}
