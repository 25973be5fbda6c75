#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What can be shown of GPUs without one: harmless device files are in gres.conf. system/gpus.bats, frameworks.bats and
# pytorch.bats have the variables.

# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2

load ../system/launch
load ../system/lives
load device

setup_file ()
{
    start_gpu_cluster gpufile /dev/full /dev/zero
    site_arguments restart_backoff=1 stop_grace=1
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    make_lives
}

after_test ()
{
    rm -f "$BATS_TEST_TMPDIR/traced"
    end_lives
}

@test "with ConstrainDevices each life of a task can open its own GPU, and no other" {
    can_constrain || skip "this machine has no cgroup for devices, or --proctrack uses none"
    run_lives 'for i in 0 1; do
            ! (: < '"$BATS_FILE_TMPDIR"'/gpu$i) 2> /dev/null || echo "rank $rank, life $life: gpu$i" >> '"$work"'/opened
        done
        [ $life = 1 ]' -N1 -n2 --gpus-per-task=1 --tf-tasks=worker:2 --tf-restart=1,any
    [ "$status" -eq 0 ] || fail "srun"
    had_lives 2 2
    diff <(printf 'rank %s\n' '0, life 0: gpu0' '0, life 1: gpu0' '1, life 0: gpu1' '1, life 1: gpu1') <(sort "$work/opened") ||
        fail "other GPUs"
}

# A program that locks its "GPU" in each life, and fails if a former life has it.
write_holder ()
{
    cat > "$work/hold.py" <<END
import fcntl, os, time

here, rank, life = "$work/", os.environ["SLURM_PROCID"], os.environ.get("SLURM_TF_RESTART", "0")
device = open(here + "device" + rank, "w")
fcntl.lockf(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
with open("$LIVES/" + rank, "a") as f:
    f.write("%d\n" % os.getpid())
while life != "2" and not os.path.exists(here + "fail" + life + "." + rank):
    time.sleep(0.05)
os._exit(0 if life == "2" else 1)
END
}

# When the program of rank 1 in this life dies, it stays in the kernel's exit () until it is released: it is no zombie yet,
# and all its files are open, as if a driver took long to free its device: slow_to_die LIFE
slow_to_die ()
{
    /usr/bin/python3 "$tests/gpu/slow_death.py" "$(sed -n "$(($1 + 1))p" "$LIVES/1")" "$BATS_TEST_TMPDIR" 3>&- &
    tracer=$!
    eventually 10 test -e "$BATS_TEST_TMPDIR/traced" || fail "it is not traced"
}

# Require that no life begins while it dies, and that the next one of both ranks does then: waits_for_it LIFE
waits_for_it ()
{
    eventually 20 test -e "$BATS_TEST_TMPDIR/dying" || fail "it does not die: $(< "$work/out")"
    # More than stop_grace= and the pause between two lives.
    sleep 4
    had_lives $(($1 + 1)) $(($1 + 1))
    rm "$BATS_TEST_TMPDIR"/{traced,dying}
    wait "$tracer"
    eventually 20 has_lives 0 $(($1 + 2)) && eventually 20 has_lives 1 $(($1 + 2)) || fail "no other life: $(< "$work/out")"
}

# The kernel closes the files of a process before its parent sees it end, and a driver frees the memory of its device when
# its file is closed. So the next life finds that memory free, however long its driver took.
@test "a life begins when every former one has closed its device, however long that takes" {
    write_holder
    slurm srun -Q -N2 -n2 --export=ALL --tf-tasks=worker:2 --tf-restart=2,any /usr/bin/python3 "$work/hold.py" \
        > "$work/out" 2>&1 3>&- &
    srun=$!
    eventually 30 has_lives 0 1 && eventually 30 has_lives 1 1 || fail "no life: $(< "$work/out")"
    # Rank 0 fails, and rank 1 is stopped.
    slow_to_die 0
    touch "$work/fail0.0"
    waits_for_it 0
    # Rank 1 fails itself, and rank 0 is stopped.
    slow_to_die 1
    touch "$work/fail1.1"
    waits_for_it 1
    wait "$srun" && status=0 || status=$?
    [ "$status" -eq 0 ] || fail "srun: $(< "$work/out")"
    had_lives 3 3
}

@test "--tf-preflight=gpus: a node without the devices that Slurm has given is bad, and the user's own variable says nothing" {
    [[ ! $(device_file) ]] || skip "this machine has a GPU"
    run --separate-stderr slurm timeout 60 srun -Q -n1 --gres=gpu:1 --tf-preflight=gpus --tf-tasks=worker true
    [ "$status" -eq 125 ] && [[ $stderr == *" did not pass the preflight: gpus: 0 of the 1 GPUs of "*"_VISIBLE_DEVICES can be opened in /dev"* ]] ||
        fail "the node is good"
    run --separate-stderr slurm env CUDA_VISIBLE_DEVICES=0 timeout 60 srun -Q -n1 --tf-preflight=gpus --tf-tasks=worker true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "the user's variable makes it bad"
}
