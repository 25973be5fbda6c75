#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A rank's port is in the range that the user or the site has chosen, and belongs to this rank
# only.

# bats file_tags=core
load launch

setup_file ()
{
    start_cluster --conf MpiParams=ports=20000-20999 --conf SrunPortRange=21000-21999
}

after_test ()
{
    slurm scancel --user "$user" --quiet
    "$tests/cluster" run --user "$other_user" -- scancel --user "$other_user" --quiet
    site_arguments
    nothing_left
}

ports ()
{
    sed -nE 's/.*:([0-9]+) ok .*/\1/p' <<< "$output" | sort -n | paste -sd' '
}

has_lines ()
{
    [ "$(grep -c '' "$2")" -eq "$1" ]
}

# Start a step of USER on the first node that sleeps; $occupied is its ports:
# occupy USER TASKS OPTION…
occupy ()
{
    local file=$SPANK_TF_CLUSTER/work/occupied

    : > "$file"
    "$tests/cluster" run --user "$1" -- srun -Q -w "$(node 1)" -n "$2" --tf-tasks="worker:$2" "${@:3}" \
        sh -c 'echo $SLURM_TF_PORT; exec sleep 600' > "$file" 2> "$file.err" 3>&- &
    eventually 20 has_lines "$2" "$file" || fail "no ports: $(cat "$file" "$file.err")"
    occupied=$(sort -n "$file" | paste -sd' ')
}

@test "--tf-ports=LOW-HIGH uses every port of the range, and no others" {
    launch ps,worker,worker,worker,worker,worker -N2 --ntasks-per-node=3 --tf-ports=28000-28002 --tf-tasks=ps,worker:5
    [ "$(ports)" = "28000 28000 28001 28001 28002 28002" ] || fail "the ports are $(ports)"
}

@test "--tf-ports=reserved uses the ports that Slurm reserved for the step" {
    launch ps,worker,worker,worker,worker -N2 -n5 --exclusive -m cyclic --tf-ports=reserved --tf-tasks=ps,worker:4 \
        sh -c 'echo "$SLURM_STEP_RESV_PORTS"; exec "$@"' -
    run -0 comm -23 <(ports | tr ' ' '\n' | sort -u) \
        <(grep -E '^20[0-9]{3}-' <<< "$output" | head -n 1 | tr - ' ' | xargs seq | sort)
    [ -z "$output" ] || fail "these are not reserved"
}

@test "the site's ports= is the default, and --tf-ports=any overrides it" {
    site_arguments ports=28000-28001
    launch ps,worker -N1 -n2 --tf-tasks=ps,worker
    [ "$(ports)" = "28000 28001" ] || fail "the ports are $(ports)"
    launch ps,worker,worker -N1 -n3 --tf-ports=any --tf-tasks=ps,worker:2
}

@test "--tf-hold=no: the port is free when the program has it, for the tasks of a node different ones" {
    launch ps,worker,worker,worker -N2 --ntasks-per-node=2 --tf-hold=no --tf-tasks=ps,worker:3 \
        sh -c 'exec "$@" --not-held' -
    launch worker,worker,worker,worker -N1 -n4 --tf-hold=no --tf-ports=28000-28003 --tf-tasks=worker:4 \
        --tf-restart=1,any sh -c 'exec "$@" --not-held' -
    [ "$(ports)" = "28000 28001 28002 28003" ] || fail "the ports are $(ports)"
}

@test "another job of any user never gets the ports of a running job" {
    local first

    for first in "$user" "$other_user"; do
        occupy "$first" 2 --tf-ports=28000-28005
        launch worker,worker,worker,worker -w "$(node 1)" -n4 --tf-ports=28000-28005 --tf-tasks=worker:4
        [ "$(tr ' ' '\n' <<< "$occupied $(ports)" | sort -u | wc -l)" -eq 6 ] || fail "$occupied and $(ports)"
        run slurm srun -Q -w "$(node 1)" -n5 --tf-ports=28000-28005 --tf-tasks=worker:5 touch started
        [[ $status -ne 0 && $output =~ srun:\ error:\ spank_tf:\ step\ [0-9.]+:\ worker\ [0-4]\ \(rank\ [0-4],\ "$(node 1)"\):\ no\ port\ of\ 28000-28005\ is\ free ]] ||
            fail "not refused, or without rank, node and range"
        "$tests/cluster" run --user "$first" -- scancel --user "$first"
        nothing_left
    done
    [ ! -e "$SPANK_TF_CLUSTER/work/started" ] || fail "a program was started"
}

rendezvous_listens ()
{
    "$tests/cluster" run -- ss -Hltnp | grep -q '"tf-rendezvous"'
}

# Set $port to the port on which the rendezvous of a launch listens, while a slurmd is stopped.
rendezvous_port ()
{
    local slurmd

    slurmd=$(< "$SPANK_TF_CLUSTER/$(node 2).pid")
    kill -STOP "$slurmd"
    slurm srun -Q -N2 -n2 --tf-tasks=ps,worker "$task_check" --roles=ps,worker > "$SPANK_TF_CLUSTER/work/slow" 2>&1 3>&- &
    eventually 10 rendezvous_listens || true
    port=$("$tests/cluster" run -- ss -Hltnp | sed -nE 's/.*:([0-9]+) .*"tf-rendezvous".*/\1/p')
    kill -CONT "$slurmd"
    wait $! && all_ok "$(< "$SPANK_TF_CLUSTER/work/slow")" 2 || fail "$(cat "$SPANK_TF_CLUSTER/work/slow")"
}

@test "the rendezvous listens in SrunPortRange" {
    rendezvous_port
    ((port >= 21000 && port <= 21999)) || fail "it listens on port $port"
}

# srun binds its ports with SO_REUSEADDR, after the plugin has chosen one.
@test "srun does not take the rendezvous' port, however few SrunPortRange has" {
    local conf=$SPANK_TF_CLUSTER/work/few.conf

    sed 's/^SrunPortRange=.*/SrunPortRange=23000-23005/' "$SPANK_TF_CLUSTER/slurm.conf" > "$conf"
    for _ in 1 2 3 4 5 6 7 8; do
        run --separate-stderr slurm env SLURM_CONF="$conf" srun -Q -N3 --tf-tasks=ps,worker:2 "$task_check" --roles=ps,worker,worker
        all_tasks_ok ps,worker,worker
    done
}

# In a loop of its own, with every combination of options; it finds the port as soon as srun listens on it.
@test "another user who wants the rendezvous' port never gets it before the rendezvous has ended" {
    local thief file=$SPANK_TF_CLUSTER/work/taken

    nice -n -19 "$tests/cluster" run --user "$other_user" -- "$SPANK_TF_PROGRAMS/take-port" "$(id -u "$user")" > "$file" 3>&- &
    thief=$!
    for _ in {1..20}; do
        run --separate-stderr slurm srun -Q -n2 --tf-tasks=ps,worker "$task_check" --roles=ps,worker
        all_tasks_ok ps,worker
    done
    kill "$thief"
    [ -s "$file" ] || fail "it has not even got a port of an srun that has ended"
}

@test "the rendezvous' port can be used again when the step has ended" {
    site_arguments rendezvous_ports=22100-22101
    for _ in 1 2 3 4 5; do
        launch ps,worker,worker -N3 --tf-tasks=ps,worker:2
    done
}

@test "the site's rendezvous_ports= overrides SrunPortRange" {
    site_arguments rendezvous_ports=22000-22009
    rendezvous_port
    ((port >= 22000 && port <= 22009)) || fail "it listens on port $port"
}
