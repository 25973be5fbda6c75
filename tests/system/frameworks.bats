#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The variables of Keras 3, JAX and DTensor, and --tf-frameworks. task-check also checks the default of them in
# every other test.

load ../common
load launch

setup_file ()
{
    make_gpus
    start_cluster --nodes 3 --prefix frame --conf GresTypes=gpu --node-conf frame1:Gres=gpu:4 --node-conf frame2:Gres=gpu:4
    # A task prints its rank, its variables without their values' addresses, and whose they are.
    cat > "$SPANK_TF_CLUSTER/work/variables" <<'END'
env | sed -nE "s/^(KERAS_DISTRIBUTION|JAX|DTENSOR)_/$SLURM_PROCID &/p; s/^(TF_CONFIG|TF_GRPC_REUSE_PORT)=.*/$SLURM_PROCID \1/p" | sed -E 's/[0-9.]+:[0-9]+/ADDRESS/g'
END
}

after_test ()
{
    site_arguments
    nothing_left
}

# Run a step, and require these variables: variables SRUN-ARGUMENT… < LINES
variables ()
{
    local expected

    expected=$(cat)
    run --separate-stderr slurm srun -Q "$@" sh variables < /dev/null
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "srun"
    diff - <(sort <<< "$output") <<< "$expected" || fail "other variables"
}

# bats test_tags=core,release
@test "every task of a list of workers learns its number and process 0" {
    variables -N2 -n2 --tf-tasks=worker:2 <<END
0 JAX_COORDINATOR_ADDRESS=ADDRESS
0 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
0 KERAS_DISTRIBUTION_NUM_PROCESSES=2
0 KERAS_DISTRIBUTION_PROCESS_ID=0
0 TF_CONFIG
1 JAX_COORDINATOR_ADDRESS=ADDRESS
1 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
1 KERAS_DISTRIBUTION_NUM_PROCESSES=2
1 KERAS_DISTRIBUTION_PROCESS_ID=1
1 TF_CONFIG
END
    launch chief,worker,worker,worker -N3 -n4 --tf-tasks=chief,worker:rest
    launch worker,worker,worker,worker,worker -N3 -n5 -m cyclic --tf-tasks=worker:rest
}

# bats test_tags=core
@test "where the numbers are not the ranks, JAX gets no address, because it takes its numbers from Slurm" {
    variables -n2 --tf-tasks=worker,chief --tf-hold=no <<END
0 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
0 KERAS_DISTRIBUTION_NUM_PROCESSES=2
0 KERAS_DISTRIBUTION_PROCESS_ID=1
0 TF_CONFIG
1 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
1 KERAS_DISTRIBUTION_NUM_PROCESSES=2
1 KERAS_DISTRIBUTION_PROCESS_ID=0
1 TF_CONFIG
END
    variables -n2 --tf-tasks=evaluator,worker --tf-hold=no --tf-stop=never <<END
0 TF_CONFIG
1 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
1 KERAS_DISTRIBUTION_NUM_PROCESSES=1
1 KERAS_DISTRIBUTION_PROCESS_ID=0
1 TF_CONFIG
END
    launch worker,worker,chief -N3 --tf-tasks=worker:2,chief
    launch chief,worker,worker -N1 -n1 --tf-tasks=chief : -N2 -n2 --tf-tasks=worker:2
}

# bats test_tags=core
@test "a step with a ps gets TF_CONFIG alone" {
    variables -n2 --tf-tasks=ps,worker --tf-hold=no --tf-stop=never <<END
0 TF_CONFIG
1 TF_CONFIG
END
}

# bats test_tags=core
@test "--tf-frameworks selects what is set, and so does a site's frameworks=" {
    variables -n1 --tf-tasks=worker --tf-frameworks=tf <<END
0 TF_CONFIG
END
    variables -n1 --tf-tasks=worker --tf-frameworks=jax <<END
0 JAX_COORDINATOR_ADDRESS=ADDRESS
END
    variables -n3 --tf-tasks=worker,evaluator,chief --tf-frameworks=dtensor --tf-stop=never <<END
0 DTENSOR_CLIENT_ID=1
0 DTENSOR_JOBS=ADDRESS,ADDRESS
2 DTENSOR_CLIENT_ID=0
2 DTENSOR_JOBS=ADDRESS,ADDRESS
END
    variables -n1 --tf-tasks=worker --tf-frameworks=none <<< ""
    site_arguments frameworks=keras
    variables -n1 --tf-tasks=worker <<END
0 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
0 KERAS_DISTRIBUTION_NUM_PROCESSES=1
0 KERAS_DISTRIBUTION_PROCESS_ID=0
END
    variables -n1 --tf-tasks=worker --tf-frameworks=tf,jax <<END
0 JAX_COORDINATOR_ADDRESS=ADDRESS
0 TF_CONFIG
END
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-frameworks=tf,torchx true
    [ "$status" -ne 0 ] && [[ $stderr == *'spank_tf: --tf-frameworks: "tf,torchx" is neither none nor a list of tf, keras, jax, dtensor and torch'* ]] ||
        fail "it is not refused"
}

# bats test_tags=core
@test "what the user has set stays, also in a step that a task starts" {
    export KERAS_DISTRIBUTION_PROCESS_ID=7 JAX_COORDINATOR_ADDRESS=10.0.0.1:1 JAX_LOCAL_DEVICE_IDS=
    DTENSOR_JOBS=own DTENSOR_CLIENT_ID=8 TF_GRPC_REUSE_PORT=1 \
        variables -n1 --tf-tasks=worker --tf-frameworks=dtensor <<END
0 DTENSOR_CLIENT_ID=8
0 DTENSOR_JOBS=own
0 JAX_COORDINATOR_ADDRESS=ADDRESS
0 JAX_LOCAL_DEVICE_IDS=
0 KERAS_DISTRIBUTION_PROCESS_ID=7
0 TF_GRPC_REUSE_PORT
END
    variables -n1 --tf-tasks=worker --tf-frameworks=keras,jax <<END
0 JAX_COORDINATOR_ADDRESS=ADDRESS
0 JAX_LOCAL_DEVICE_IDS=
0 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
0 KERAS_DISTRIBUTION_NUM_PROCESSES=1
0 KERAS_DISTRIBUTION_PROCESS_ID=7
END
    run slurm srun -Q -n1 --tf-tasks=worker sh -c 'echo $JAX_COORDINATOR_ADDRESS $SLURM_TF_ADDED'
    [ "$output" = "10.0.0.1:1 KERAS_DISTRIBUTION_JOB_ADDRESSES,KERAS_DISTRIBUTION_NUM_PROCESSES" ] || fail "not the user's"
    unset KERAS_DISTRIBUTION_PROCESS_ID JAX_LOCAL_DEVICE_IDS
    run --separate-stderr slurm srun -Q -N3 --tf-tasks=worker:3 sh -c '[ $SLURM_PROCID -eq 0 ] || exit 0
        exec srun -Q --overlap -w frame2,frame3 -N2 -n2 --tf-tasks=chief,worker sh -c "echo \$KERAS_DISTRIBUTION_PROCESS_ID \$KERAS_DISTRIBUTION_NUM_PROCESSES \$JAX_COORDINATOR_ADDRESS"'
    [ "$status" -eq 0 ] || fail "srun"
    diff - <(sort <<< "$output") <<END || fail "the inner step has other variables"
0 2 10.0.0.1:1
1 2 10.0.0.1:1
END
}

# The JAX_LOCAL_DEVICE_IDS of every rank of a step: devices "0,1 -" SRUN-ARGUMENT…
devices ()
{
    run --separate-stderr slurm srun -Q "${@:2}" sh -c 'echo $SLURM_PROCID ${JAX_LOCAL_DEVICE_IDS--}'
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "srun"
    [ "$(sort -n <<< "$output" | cut -d' ' -f2 | paste -sd' ')" = "$1" ] || fail "not the devices $1"
}

# bats test_tags=core
@test "JAX uses the GPUs that Slurm gave to the task, numbered from 0" {
    devices "0,1,2,3 0,1,2,3" -N2 --gres=gpu:4 --tf-tasks=worker:2
    devices "0 0 0 0" -N2 -n4 --ntasks-per-node=2 --gpus-per-task=1 --tf-tasks=worker:4
    devices "0,1 0,1" -N1 -n2 --gpus-per-task=2 --tf-tasks=worker:2
    devices "0 0" -N1 -n2 --gres=gpu:4 --gpu-bind=map_gpu:3,1 --tf-tasks=worker:2
}

# bats test_tags=core
@test "where tasks share GPUs, or have none, JAX keeps its own rule, unless there are more tasks than GPUs" {
    devices "0 1 0 1" -N1 -n4 --gres=gpu:2 --tf-tasks=worker:4
    devices "0 0 0 0" -N2 -n4 -m cyclic --gres=gpu:1 --tf-tasks=worker:4
    devices "0 - 1" -N1 -n3 --gres=gpu:2 --tf-tasks=worker,evaluator,worker --tf-stop=never
    devices "- - - -" -N2 -n4 --ntasks-per-node=2 --gres=gpu:2 --tf-tasks=worker:4
    devices "- -" -n2 --tf-tasks=worker:2
    devices "-" -N1 -n1 --gres=gpu:2 --tf-tasks=worker --tf-frameworks=tf,keras
    devices "- -" -N1 -n2 --gres=gpu:2 --tf-tasks=ps,worker --tf-stop=never
}
