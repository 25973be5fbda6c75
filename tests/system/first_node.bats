#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The node of the batch script, and so of srun and its rendezvous, dies or is cut off: doc/guide/lost-nodes.md, "The first node".
#
# bats file_tags=slow

load ../common
load launch
load lives
load nodes

setup_file ()
{
    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    start_mortal_cluster --nodes 4
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    make_lives
    # A program that runs until the test ends. Each life leaves its number and a mark, and as long as it lives, a beat.
    cat > "$work/program" <<END
#!/bin/sh
echo \$\$ > $work/pid.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}
echo > $work/mark.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}.\${SLURM_RESTART_COUNT-0}.\${SLURM_TF_RESTART-0}
while sleep 0.2; do date > $work/beat.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}; done
END
    chmod 755 "$work/program"
}

after_test ()
{
    reconnect_nodes
    site_arguments
    nothing_left
}

# A batch job on three nodes, whose script does $before first; $job: submit LIST OPTION…
submit ()
{
    job=$(slurm sbatch --parsable -N3 -n3 -o "$work/out" --tf-tasks="$1" --tf-restart=3,any \
        --tf-log-dir="$work/log" "${@:2}" <<END
#!/bin/sh
${before-}
exec srun --no-kill $work/program
END
    )
    eventually 60 runs 0 0 && eventually 5 [ -e "$work/beat.0" ] || fail "it does not start: $(cat "$work/out")"
}

# Ranks 0 and 1 have begun in this run of the job, this life.
runs ()
{
    [ -e "$work/mark.0.$1.$2" ] && [ -e "$work/mark.1.$1.$2" ]
}

# No life of the rank has lived for two seconds.
is_dead ()
{
    [ $(($(date +%s) - $(stat -c %Y "$work/beat.$1"))) -ge 2 ]
}

# After Slurm has given node 1 up; it has its own 30 s (KillWait) for what is left on the others. How long that takes is told.
takes ()                    # WHAT COMMAND…
{
    local begin=$SECONDS given_up

    eventually 90 is_given_up 1 || fail "Slurm does not give it up"
    given_up=$SECONDS
    eventually 60 "${@:2}" || fail "it is not $1: $(slurm scontrol show job "$job") $(cat "$work/log/"*master.log)"
    echo "# given up after $((given_up - begin)) s, $1 $((SECONDS - given_up)) s later" >&3
}

@test "the first node dies: the job is requeued as soon as Slurm has given it up, and runs on the others" {
    site_arguments lost_after=5
    # After the requeue Slurm ends the step, which does not wait for the line of master.log by itself.
    mkdir "$work/bin"
    printf '#!/bin/sh\n%s "$@" || exit\n[ "$1" != requeue ] || { sleep 2; echo > %s/slow; }\n' "$(command -v scontrol)" "$work" > "$work/bin/scontrol"
    chmod 755 "$work/bin/scontrol"
    PATH=$work/bin:$PATH submit worker:2,spare --no-kill --requeue
    kill_node 1
    takes requeued job_shows Restarts=1
    eventually 10 [ -e "$work/slow" ] || fail "tf-abandoned has not ended, or has not used this scontrol"
    # By one of the nodes, after it has requeued the job.
    eventually 10 grep -q 'Slurm has given up .*; the job is requeued' "$work/log/"*master.log || fail "master.log: $(cat "$work/log/"*)"
    [ "$(cat "$work/log/"*master.log | grep -c 'Slurm has given up')" -eq 1 ] || fail "not one line: $(cat "$work/log/"*master.log)"
    eventually 60 runs 1 0 || fail "it does not run again: $(slurm scontrol show job "$job")"
}

@test "... cancelled if it may not be requeued, or the user or the site wants that" {
    local more

    for more in --no-requeue "--requeue --tf-if-abandoned=cancel" "--requeue "; do
        site_arguments lost_after=5 "$([[ $more != *' ' ]] || echo if_abandoned=cancel)"
        # shellcheck disable=SC2086  # options
        submit worker:2,spare --no-kill $more
        kill_node 1
        takes cancelled job_shows JobState=CANCELLED
        eventually 10 grep -q 'Slurm has given up .*; the job is cancelled' "$work/log/master.log" || fail "$(cat "$work/log/master.log")"
        reconnect_nodes
        rm -rf "$work"/mark.* "$work/log"
    done
}

# In the nodes that are left, each of which has its own mounts.
kill_mount ()
{
    local n

    cp -p "$log.before" "$log"
    for n in 2 3; do
        "$tests/cluster" run --on "$(node $n)" -- "$tests/system/dead-mount" "$log" > "$BATS_TEST_TMPDIR/mount.$n" 3>&- &
        mounts+=($!)
        eventually 10 [ -s "$BATS_TEST_TMPDIR/mount.$n" ] || fail "no mount: $(cat "$BATS_TEST_TMPDIR/mount.$n")"
    done
}

nothing_asks ()
{
    ! pgrep -x -u "$user" tf-abandoned > "$BATS_TEST_TMPDIR/left"
}

# check-abandoned has the other files to which nothing can be written.
@test "... requeued though the file system of master.log does not answer" {
    local log=$work/log/master.log mounts=() seen

    [ -c /dev/fuse ] || skip "this machine has no /dev/fuse, so that no file system hangs"
    site_arguments lost_after=5
    submit worker:2,spare --no-kill --requeue
    mv "$log" "$log.before"
    kill_mount
    kill_node 1
    takes "requeued" job_shows Restarts=1
    # No more of them than nodes are left, each with one that writes, and soon none.
    seen=$(pgrep -c -x -u "$user" tf-abandoned) || true
    [ "$seen" -le 4 ] || fail "$seen processes tf-abandoned"
    eventually 20 nothing_asks || fail "one is left"
    kill "${mounts[@]}"
    rm -rf "$log"
    eventually 60 runs 1 0 || fail "it does not run again: $(slurm scontrol show job "$job")"
}

@test "... and left alone with --tf-if-abandoned=no" {
    site_arguments lost_after=5
    submit worker:2,spare --no-kill --requeue --tf-if-abandoned=no
    kill_node 1
    eventually 90 is_given_up 1 || fail "Slurm does not give it up"
    sleep 32
    job_shows JobState=RUNNING || fail "something has ended it"
}

@test "a first node that is cut off for a short while, and is back before Slurm has given it up, goes on" {
    site_arguments lost_after=5
    submit worker:2,spare --no-kill --requeue
    disconnect_node 1
    eventually 15 is_dead 1 || fail "the other node's task lives"
    eventually 5 is_dead 0 || fail "the first node's task lives"
    reconnect_node 1
    eventually 30 runs 0 1 || fail "they do not begin again: $(cat "$work/out")"
    job_shows Restarts=0 || fail "it was requeued"
}

@test "another node that is cut off does nothing to the job" {
    site_arguments lost_after=5
    submit worker:2,spare --no-kill --requeue
    disconnect_node 2
    eventually 90 is_given_up 2 || fail "Slurm does not give it up"
    sleep 20
    job_shows Restarts=0 && job_shows JobState=RUNNING || fail "it was requeued"
    is_dead 0 && fail "its first task has ended"
    [ -e "$work/mark.2.0.1" ] || fail "the spare has no place"
}

# Recipes.

@test "srun on a login host, from salloc: the first node of the job is replaced like any other" {
    site_arguments lost_after=5
    slurm salloc -Q -N3 -n3 --no-kill srun --no-kill --tf-tasks=worker:2,spare --tf-restart=3,any "$work/program" \
        > "$work/out" 2>&1 &
    eventually 30 runs 0 0 || fail "it does not start"
    kill_node 1
    eventually 30 [ -e "$work/mark.2.0.1" ] || fail "the spare has no place: $(cat "$work/out")"
    job=$(slurm squeue -h -o %A)
    slurm scancel "$job"
    wait $! || true
}

@test "--requeue without --no-kill: Slurm begins the job again when any node dies" {
    submit worker:3 --requeue
    kill_node 1
    takes requeued job_shows Restarts=1
    eventually 60 runs 1 0 || fail "it does not run again: $(slurm scontrol show job "$job")"
}

@test "the guard step requeues a job without spares" {
    cp "$tests/../contrib/examples/first_node_guard.sh" "$work"
    before="srun --overlap --no-kill --tf-tasks=none -N2 -n2 -x \$SLURMD_NODENAME \
        $work/first_node_guard.sh requeue \$SLURMD_NODENAME &" submit worker:3 --no-kill --requeue
    kill_node 1
    takes requeued job_shows Restarts=1
    eventually 60 runs 1 0 || fail "it does not run again: $(slurm scontrol show job "$job")"
}

@test "the guard step starts srun again on the nodes that are left, and then ends the job" {
    cp "$tests/../contrib/examples/first_node_guard.sh" "$work"
    cat > "$work/second" <<END
#!/bin/sh
echo \$SLURM_TF_ROLE \$SLURM_TF_INDEX of \$SLURM_NTASKS > $work/second.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}
find $work -name 'beat.*' -newermt '-2 seconds' > $work/beside.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}
END
    chmod 755 "$work/second"
    before="cd $work; srun --overlap --no-kill --tf-tasks=none -N1 -n1 -x \$SLURMD_NODENAME \
        $work/first_node_guard.sh again \$SLURMD_NODENAME --tf-tasks=worker:rest $work/second &" \
        submit worker:3 --no-kill --no-requeue
    kill_node 1
    takes "ended by the guard" job_shows JobState=CANCELLED
    [ "$(cat "$work"/second.* | sort)" = $'worker 0 of 2\nworker 1 of 2' ] || fail "$(cat "$work"/second.* "$work"/guard-*)"
    [ ! "$(cat "$work"/beside.*)" ] || fail "a task of the first step runs beside them"
    grep -q 'srun has ended with 0' "$work/guard-$job.out" || fail "$(cat "$work/guard-$job.out")"
}

# Of a rank whose program has printed nothing for three seconds.
is_stuck ()
{
    [ $(($(date +%s) - $(stat -c %Y "$work/printed.$1"))) -ge 3 ]
}

@test "a task whose srun is gone stops when it has printed about a megabyte; with --tf-log-dir it goes on" {
    local more printed

    cat > "$work/program" <<END
#!/bin/sh
echo > $work/mark.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}.0.0
for i in \$(seq 1500); do
    head -c 10000 /dev/zero | tr '\\0' x && echo && echo \$i > $work/printed.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}
    sleep 0.02
done
echo > $work/done.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}
END
    for more in none "$work/log"; do
        job=$(slurm sbatch --parsable -N3 -n3 --no-kill -o "$work/out" --tf-tasks=worker:3 --tf-log-dir="$more" <<END
#!/bin/sh
exec srun --no-kill $work/program
END
        )
        eventually 60 runs 0 0 && eventually 5 [ -e "$work/printed.1" ] || fail "it does not start: $(cat "$work/out")"
        printed=$(< "$work/printed.1")
        kill_node 1
        if [ "$more" = none ]; then
            eventually 60 is_stuck 1 || fail "it goes on"
            printed=$(($(< "$work/printed.1") - printed))
            echo "# it stopped after ${printed}0000 bytes more" >&3
            ((printed < 500)) && [ ! -e "$work/done.1" ] || fail "it has gone on"
        else
            eventually 120 [ -e "$work/done.1" ] || fail "it has stopped after $(cat "$work/printed.1")"
        fi
        reconnect_nodes
        rm -rf "$work"/mark.* "$work"/printed.*
    done
}

# What a run of the job has left begins again in the next one.
@test "a job that is requeued: its restarts and spares begin again, SLURM_RESTART_COUNT counts on" {
    submit worker:2,spare --no-kill --requeue
    # A restart is used.
    kill -9 "$(< "$work/pid.0")"
    eventually 30 runs 0 1 || fail "it is not restarted: $(cat "$work/out")"
    grep -q 'restarts left without progress: 2' "$work/out" || fail "$(cat "$work/out")"
    "$tests/cluster" run -- scontrol requeue "$job"
    eventually 90 runs 1 0 || fail "it does not run again: $(slurm scontrol show job "$job")"
    grep -q 'in attempt 2 of its job' "$work/log/master.log" || fail "$(cat "$work/log/master.log")"
    kill -9 "$(< "$work/pid.0")"
    eventually 30 runs 1 1 || fail "it is not restarted: $(cat "$work/out")"
    grep -q 'restarts left without progress: 2' "$work/out" || fail "$(cat "$work/out")"
}
