#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the plugin sets in a step ends with it: a job or a step that a task starts has the environment that the
# task would have had without the plugin.

load launch

setup_file ()
{
    make_gpus
    start_cluster --nodes 3 --prefix nest --conf GresTypes=gpu --node-conf nest1:Gres=gpu:2
    # Of the environment what a step of the plugin may change, without the addresses.
    cat > "$SPANK_TF_CLUSTER/work/seen" <<'END'
names='TF_CONFIG|TF_GRPC_REUSE_PORT|(KERAS_DISTRIBUTION|JAX|TORCHELASTIC|NCCL|GLOO|SLURM_TF)_.*|SPANK_TF_FORMER_.*'
names="$names|MASTER_.*|(LOCAL_|GROUP_)?(RANK|WORLD_SIZE)|PYTHON(UNBUFFERED|FAULTHANDLER)|NOTIFY_SOCKET|WATCHDOG_USEC|no_(grpc_)?proxy"
env | grep -E "^($names)=" | sort
END
}

before_test ()
{
    unset PYTHONUNBUFFERED
    work=$SPANK_TF_CLUSTER/work
    tf_exec=$SPANK_TF_STAGE/bin/tf-exec
    rm -f "$work"/*.env
}

after_test ()
{
    slurm scancel --quiet --user "$user"
    nothing_left
}

# Require that all these files have the lines of stdin: have FILE…
have ()
{
    local expected file

    expected=$(cat)
    for file in "$@"; do
        diff "$work/$file.env" - <<< "$expected" || fail "$file has other variables"
    done
}

# Plugin: without it, sbatch and salloc in a task take over what the task has.
# bats test_tags=core,release,plugin
@test "nothing of a step is in what its task starts, and all that the user has set is" {
    cat > "$work/start" <<'END'
[ "$SLURM_PROCID" -eq 1 ] || exit 0
sh seen > task.env
srun -Q --overlap -N1 -n1 -w "$SLURMD_NODENAME" sh seen > srun.env
srun -Q --overlap -N1 -n1 -w "$SLURMD_NODENAME" --export=NONE --tf-tasks=none sh seen > export_none.env
srun -Q --overlap -N1 -n1 -w "$SLURMD_NODENAME" --tf-tasks=none sh seen > none.env
sbatch -Q -W -n1 -o /dev/null --wrap 'sh seen > sbatch.env; srun -Q sh seen > sbatch_srun.env'
salloc -Q -n1 sh -c 'sh seen > salloc.env; srun -Q sh seen > salloc_srun.env'
END
    run --separate-stderr slurm env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 JAX_LOCAL_DEVICE_IDS= TF_CONFIG='{"mine":1}' \
        http_proxy=http://x no_proxy=a.b srun -Q -N3 --overlap --tf-frameworks=tf,keras,jax,torch --tf-watchdog=600 \
        --tf-log-dir=log --tf-tasks=worker:2,+data sh start < /dev/null
    [ "$status" -eq 0 ] || fail "the step fails"
    [[ $(cat "$work/task.env") == *SLURM_TF_DATA=*NOTIFY_SOCKET* || $(cat "$work/task.env") == *NOTIFY_SOCKET=*SLURM_TF_DATA* ]] ||
        fail "the task itself has less"
    grep -q '^RANK=1$' "$work/task.env" && grep -q '^no_proxy=a.b,10' "$work/task.env" || fail "the task itself has others"
    have srun none sbatch sbatch_srun salloc salloc_srun <<'END'
JAX_LOCAL_DEVICE_IDS=
MASTER_ADDR=127.0.0.1
RANK=0
TF_CONFIG={"mine":1}
WORLD_SIZE=1
no_proxy=a.b
END
    [ -e "$work/export_none.env" ] && [ ! -s "$work/export_none.env" ] || fail "with --export=NONE there is something"
}

# bats test_tags=core,release
@test "a step with a list of its own has its own variables, and what the user has set before" {
    cat > "$work/start" <<'END'
[ "$SLURM_PROCID" -eq 0 ] || exit 0
srun -Q --overlap -N1 -n1 -w nest1 --tf-tasks=worker --tf-frameworks=keras sh seen | sed 's/[0-9.]*:[0-9a-f]*/ADDRESS/' > inner.env
srun -Q --overlap -N1 -n1 -w nest1 --tf-tasks=worker --tf-frameworks=keras sh -c 'srun -Q --overlap -N1 -n1 -w nest1 --tf-tasks=none sh seen' > third.env
END
    run --separate-stderr slurm env RANK=0 KERAS_DISTRIBUTION_NUM_PROCESSES=9 srun -Q -N3 --overlap --tf-frameworks=keras,torch --tf-tasks=worker:2,+data \
        sh start < /dev/null
    sed -i '/^SLURM_TF_/d; /^TF_GRPC/d' "$work/inner.env"
    have inner <<'END'
KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
KERAS_DISTRIBUTION_NUM_PROCESSES=1
KERAS_DISTRIBUTION_PROCESS_ID=0
RANK=0
SPANK_TF_FORMER_KERAS_DISTRIBUTION_NUM_PROCESSES=9
END
    have third <<'END'
KERAS_DISTRIBUTION_NUM_PROCESSES=9
RANK=0
END
}

# bats test_tags=core,release
@test "what a task has changed, or tf-exec, is not taken for the plugin's, or the user's" {
    cat > "$work/start" <<'END'
RANK=7 PYTHONUNBUFFERED=2 srun -Q --overlap -N1 -n1 -w nest1 --tf-tasks=none sh seen > changed.env
SLURM_TF_ROLE=mine SLURM_TF_MINE=1 srun -Q --overlap -N1 -n1 -w nest1 --tf-tasks=none sh seen > own.env
unset WORLD_SIZE
srun -Q --overlap -N1 -n1 -w nest1 --tf-tasks=none --export=ALL,MASTER_PORT=5 sh seen > removed.env
END
    run --separate-stderr slurm env WORLD_SIZE=5 srun -Q -n1 --overlap --tf-frameworks=tf,torch --tf-tasks=worker \
        "$tf_exec" --environment=cloud sh start < /dev/null
    [ "$status" -eq 0 ] || fail "the step fails"
    have changed <<'END'
PYTHONUNBUFFERED=2
RANK=7
WORLD_SIZE=5
END
    have own <<'END'
SLURM_TF_MINE=1
SLURM_TF_ROLE=mine
WORLD_SIZE=5
END
    have removed <<'END'
MASTER_PORT=5
END
}

# bats test_tags=core,release
@test "a ps starts a job that sees the GPUs which Slurm gives to it" {
    slurm_is_from 21.08 || skip "in Slurm $(slurm_version) a step with --overlap waits for the GPUs of the step that starts it"
    cat > "$work/start" <<'END'
[ "$SLURM_TF_ROLE" = ps ] || until [ -e done ]; do sleep 0.1; done
[ "$SLURM_TF_ROLE" = ps ] || exit 0
echo "task: ${CUDA_VISIBLE_DEVICES-none}"
srun -Q --overlap -N1 -n1 -w nest1 --tf-tasks=none sh -c 'echo "step: ${CUDA_VISIBLE_DEVICES-none}"'
touch done
END
    run --separate-stderr slurm srun -Q -N1 -n2 -w nest1 --gres=gpu:2 --overlap --tf-tasks=ps,worker sh start
    rm -f "$work/done"
    [ "$status" -eq 0 ] && [ "$output" = $'task: \nstep: 0,1' ] || fail "the step that a ps starts sees no GPU"
}

# bats test_tags=core
@test "a batch script that no task has started keeps what it has, whatever its name" {
    run -0 slurm env SLURM_TF_MINE=1 SPANK_TF_FORMER_X=2 srun -Q -n1 sh -c 'echo $SLURM_TF_MINE $SPANK_TF_FORMER_X'
    [ "$output" = "1 2" ] || fail "it does not"
}
