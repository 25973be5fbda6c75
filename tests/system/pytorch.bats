#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The variables of PyTorch, and the second held port of process 0. PyTorch itself is in tests/tensorflow/torch.bats.

load launch

setup_file ()
{
    make_gpus
    start_cluster --nodes 3 --prefix pyt --conf MpiParams=ports=20000-20999 --conf GresTypes=gpu --node-conf pyt1:Gres=gpu:4 \
        --node-conf pyt2:Gres=gpu:4
    cp "$tests/system/meet.py" "$SPANK_TF_CLUSTER/work"
    # A task prints its rank and its variables: MASTER_ADDR and MASTER_PORT only as names.
    cat > "$SPANK_TF_CLUSTER/work/variables" <<'END'
names='RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK TORCHELASTIC_RESTART_COUNT'
echo ${SPANK_TF_FORMER_SLURM_PROCID-$SLURM_PROCID}: ${MASTER_ADDR:+addr} ${MASTER_PORT:+port} $(for name in $names; do printenv $name || echo -; done)
END
    export PYTHONDONTWRITEBYTECODE=1
}

after_test ()
{
    slurm scancel --user "$user" --quiet
    site_arguments
    nothing_left
}

# Run a step, and require these variables: variables SRUN-ARGUMENT… < LINES
variables ()
{
    local expected

    expected=$(cat)
    run --separate-stderr slurm srun -Q --tf-frameworks=torch "$@" sh variables < /dev/null
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "srun"
    diff - <(sort -n <<< "$output") <<< "$expected" || fail "other variables"
}

# Require that N processes have met, in this life: met N LIFE [TIMES]
met ()
{
    local -a expected

    mapfile -t expected < <(for ((i = 0; i < $1; i++)); do yes "meet: $i of $1, life $2" | head -n "${3-1}"; done)
    [ "$status" -eq 0 ] || fail "the step fails"
    diff <(printf '%s\n' "${expected[@]}") <(grep ^meet: <<< "$output" | sort -V) || fail "they did not meet"
}

# bats test_tags=core,release
@test "processes have the numbers that torchrun gives, in the whole step and on each node" {
    variables -N3 -n6 --ntasks-per-node=2 -m cyclic --tf-tasks=worker:rest <<END
0: addr port 0 6 0 2 0 0
1: addr port 1 6 0 2 1 0
2: addr port 2 6 0 2 2 0
3: addr port 3 6 1 2 0 0
4: addr port 4 6 1 2 1 0
5: addr port 5 6 1 2 2 0
END
    variables -N3 -n6 --ntasks-per-node=2 -m block --tf-stop=never --tf-tasks=+data,worker:2,evaluator,worker,chief <<END
0: - - - - - -
1: addr port 1 4 0 1 1 0
2: addr port 2 4 0 1 2 0
3: - - - - - -
4: addr port 3 4 1 2 0 0
5: addr port 0 4 0 2 0 0
END
}

# bats test_tags=core
@test "with a ps, and without torch among the frameworks, none of them is set" {
    variables -n2 --tf-tasks=ps,worker --tf-stop=never <<END
0: - - - - - -
1: - - - - - -
END
    variables -n2 --tf-tasks=worker:2 --tf-frameworks=tf,keras,jax <<END
0: - - - - - -
1: - - - - - -
END
    site_arguments frameworks=tf,torch
    run -0 slurm srun -Q -n1 --tf-tasks=worker sh -c 'sh variables; echo ${TF_CONFIG:+tf}'
    [ "$output" = $'0: addr port 0 1 0 1 0 0\ntf' ] || fail "a site cannot choose them"
}

# bats test_tags=core,release
@test "by default several workers without a ps have them, and one port is enough for each" {
    local ports one_port=''

    for ports in any 28000-28001; do
        [ $ports = any ] || one_port=--one-port
        variables -N1 -n2 --tf-ports=$ports --tf-frameworks=auto --tf-tasks=worker:2 <<END
0: addr port 0 2 0 2 0 0
1: addr port 1 2 1 2 0 0
END
        run --separate-stderr slurm srun -Q -N1 -n2 --tf-ports=$ports --tf-tasks=worker:2 python3 meet.py $one_port
        met 2 0
    done
    run --separate-stderr slurm srun -Q -N3 --no-kill --tf-tasks=worker,spare,worker --tf-restart=1,any python3 meet.py --fail
    met 2 1
    variables -n2 --tf-frameworks=auto --tf-tasks=ps,worker --tf-stop=never <<END
0: - - - - - -
1: - - - - - -
END
    variables -n2 --tf-frameworks=auto --tf-tasks=worker,evaluator --tf-stop=never <<END
0: - - - - - -
1: - - - - - -
END
}

# bats test_tags=core
@test "with variables of another cluster in the environment processes meet all the same, and one line names them" {
    run --separate-stderr slurm env RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 GROUP_RANK=0 srun -Q -N3 --export=ALL,MASTER_ADDR=127.0.0.1,MASTER_PORT=1 \
        --tf-frameworks=torch --tf-tasks=worker:3 python3 meet.py
    met 3 0
    # LOCAL_RANK is 0 in every task of this step.
    [[ $stderr =~ ^'srun: spank_tf: step '[0-9.]+": MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, GROUP_RANK from your environment were replaced with the step's own values. To keep yours, list only other frameworks in --tf-frameworks"$ ]] ||
        fail "not this notice"
    run --separate-stderr slurm env RANK=0 WORLD_SIZE=1 srun -Q -N3 --tf-frameworks=jax --tf-tasks=worker:3 sh -c 'echo $RANK $WORLD_SIZE'
    [ -z "$stderr" ] && [ "$(sort -u <<< "$output")" = "0 1" ] || fail "without torch they are not the user's"
}

# bats test_tags=core
@test "the number of the only process stays the user's; a step that a task starts has its own variables" {
    run --separate-stderr slurm env RANK=7 TORCHELASTIC_RESTART_COUNT='' WORLD_SIZE=3 srun -Q -n1 --tf-frameworks=torch --tf-tasks=worker sh -c '
        echo $RANK $WORLD_SIZE "$TORCHELASTIC_RESTART_COUNT".'
    [ "$output" = "7 1 ." ] || fail "not the user's"
    run -0 slurm srun -Q -N3 --tf-frameworks=torch --tf-tasks=worker:3 sh -c '[ $RANK -eq 0 ] || exit 0
        srun -Q --overlap -w pyt2,pyt3 -N2 -n2 --tf-frameworks=torch --tf-tasks=worker,chief sh variables | sort
        srun -Q --overlap -w pyt2 -N1 -n1 --tf-tasks=worker sh variables'
    [ "$output" = $'0: addr port 1 2 0 1 1 0\n1: addr port 0 2 0 1 0 0\n0: - - - - - -' ] || fail "the inner steps have others"
}

# bats test_tags=core
@test "1 to 8 processes on three nodes meet, block and cyclic" {
    local n distribution

    for n in 1 3 8; do
        for distribution in block cyclic; do
            run --separate-stderr slurm srun -Q -N$((n < 3 ? n : 3)) -n$n --overcommit -m $distribution \
                --tf-frameworks=tf,torch --tf-tasks=worker:rest python3 meet.py
            met $n 0
        done
    done
}

@test "so do 2, 4, 5, 6 and 7, those of a list whose chief is last, of a heterogeneous step, and where ports are not held" {
    local n distribution

    for n in 2 4 5 6 7; do
        for distribution in block cyclic; do
            run --separate-stderr slurm srun -Q -N$((n < 3 ? n : 3)) -n$n --overcommit -m $distribution \
                --tf-frameworks=torch --tf-tasks=worker:rest python3 meet.py
            met $n 0
        done
    done
    run --separate-stderr slurm srun -Q -N3 --tf-frameworks=torch --tf-tasks=worker:2,chief python3 meet.py
    met 3 0
    run --separate-stderr slurm srun -Q -N1 -n1 --tf-frameworks=torch --tf-tasks=chief python3 meet.py : \
        -N2 -n2 --tf-frameworks=torch --tf-tasks=worker:2 python3 meet.py
    met 3 0
    run --separate-stderr slurm srun -Q -N3 --tf-hold=no --tf-frameworks=torch --tf-tasks=worker:3 python3 meet.py --not-held
    met 3 0
    run --separate-stderr slurm srun -Q -N3 --tf-hold=no --tf-restart=1,any --tf-frameworks=torch --tf-tasks=worker:3 \
        python3 meet.py --not-held --fail
    met 3 1
}

# bats test_tags=core
@test "two steps of one job at the same time have ports of their own" {
    run --separate-stderr slurm salloc -Q -N3 -n3 --overcommit bash -c '
        for i in 1 2; do
            srun -Q --overlap -N3 -n3 --tf-frameworks=torch --tf-tasks=worker:3 sh -c "
                python3 meet.py; touch met.$i.\$RANK; until [ -e met.1.\$RANK ] && [ -e met.2.\$RANK ]; do sleep 0.1; done" &
            step[i]=$!
        done
        wait ${step[1]} && wait ${step[2]}'
    met 3 0 2
}

# bats test_tags=core
@test "when a process fails, all restart and meet at the same port, which stays held" {
    run --separate-stderr slurm srun -Q -N3 --tf-restart=1,any --tf-frameworks=torch --tf-tasks=worker:3 sh -c '
        echo "$SLURM_PROCID at $MASTER_ADDR:$MASTER_PORT"; exec python3 meet.py --fail'
    met 3 1
    [ "$(grep ' at ' <<< "$output" | cut -d' ' -f3 | sort -u | wc -l)" -eq 1 ] || fail "another address"
    # A count of the user's own is the same in each life.
    run --separate-stderr slurm srun -Q -n2 --tf-restart=1,any --tf-frameworks=torch --tf-tasks=worker:2 \
        sh -c '[ $RANK -eq 0 ] || exit $((3 - 3 * $TORCHELASTIC_RESTART_COUNT)); [ "$SLURM_TF_RESTART" ] || sleep 100; echo $SLURM_TF_RESTART $TORCHELASTIC_RESTART_COUNT'
    [ "$status" -eq 0 ] && [ "$output" = "1 1" ] || fail "not the number of the life"
    run --separate-stderr slurm env TORCHELASTIC_RESTART_COUNT=9 srun -Q -n1 --tf-restart=1,any --tf-frameworks=torch --tf-tasks=worker \
        sh -c '[ "$SLURM_TF_RESTART" ] || exit 3; echo $TORCHELASTIC_RESTART_COUNT'
    [ "$status" -eq 0 ] && [ "$output" = 9 ] || fail "not the user's"
}

@test "MASTER_PORT is one of --tf-ports; only the node of process 0 needs one more" {
    run --separate-stderr slurm srun -Q -N1 -n2 --tf-ports=28000-28003 --tf-frameworks=torch --tf-tasks=worker:2 python3 meet.py --where
    [ "$status" -eq 0 ] && [[ $output =~ :2800[0-3]$ ]] || fail "not in the range"
    run --separate-stderr slurm srun -Q -N1 -n1 --tf-ports=28000 --tf-frameworks=torch --tf-tasks=worker python3 meet.py
    [ "$status" -ne 0 ] && [[ $stderr == *'worker 0 (rank 0, '*') has no second port, for MASTER_PORT: --tf-ports has too few'* ]] ||
        fail "it is not refused"
    # Slurm reserves one more than a node has tasks.
    run --separate-stderr slurm srun -Q -N2 -n4 --tf-ports=reserved --tf-frameworks=torch --tf-tasks=worker:4 \
        sh -c 'python3 meet.py; echo $SLURM_STEP_RESV_PORTS $MASTER_PORT'
    met 4 0
    [[ $output =~ ([0-9]+)-([0-9]+)\ ([0-9]+) ]] && ((BASH_REMATCH[3] == BASH_REMATCH[2])) || fail "not the last of the reserved ports"
    run --separate-stderr slurm srun -Q -N1 -n2 --tf-ports=reserved --tf-frameworks=torch --tf-tasks=worker,chief python3 meet.py
    [ "$status" -ne 0 ] && [[ $stderr == *'srun --resv-ports=COUNT)'* ]] || fail "it is not refused"
    run --separate-stderr slurm srun -Q -N1 -n2 --tf-ports=reserved --resv-ports=4 --tf-frameworks=torch --tf-tasks=worker,chief python3 meet.py
    met 2 0
}

# bats test_tags=core
@test "one notice names a task that has fewer GPUs than LOCAL_RANK needs, and what avoids that" {
    run --separate-stderr slurm srun -Q -N2 -n4 --ntasks-per-node=2 --gpus-per-task=1 --tf-frameworks=torch --tf-tasks=worker:4 \
        sh -c 'echo $LOCAL_RANK ${CUDA_VISIBLE_DEVICES}'
    [ "$status" -eq 0 ] && [[ $stderr =~ ^'srun: spank_tf: step '[0-9.]+': worker 1 (rank 1, pyt1) has LOCAL_RANK 1 and sees 1 GPU, numbered from 0: torch.cuda.set_device(LOCAL_RANK) fails there. With --gpus-per-node instead of --gpus-per-task each task sees all GPUs of its node'$ ]] ||
        fail "no such notice"
    run --separate-stderr slurm srun -Q -N2 -n4 --ntasks-per-node=2 --gpus-per-node=2 --tf-frameworks=torch --tf-tasks=worker:4 \
        sh -c 'echo $LOCAL_RANK $CUDA_VISIBLE_DEVICES'
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a notice"
    [ "$(sort <<< "$output")" = $'0 0,1\n0 0,1\n1 0,1\n1 0,1' ] || fail "not all GPUs"
    run --separate-stderr slurm srun -Q -N2 -n2 --gpus-per-task=1 --tf-frameworks=torch --tf-tasks=worker:2 true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a notice where it does no harm"
    run --separate-stderr slurm srun -Q -N1 -n2 --gpus-per-task=1 --tf-tasks=worker:2 true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a notice without torch"
}
