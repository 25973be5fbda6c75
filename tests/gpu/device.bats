#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# PyTorch and JAX on a GPU. SPANK_TF_GPU_PYTHON is a Python that has them for CUDA; by default it is the first of python3 in
# PATH and /usr/bin/python3. With SPANK_TF_GPU=cpu the programs compute on the CPU, so that these tests are tested themselves.

load ../system/launch
load ../tensorflow/resume
load device

setup_file ()
{
    local device=/dev/full framework

    [[ ${SPANK_TF_GPU-} == cpu ]] || device=$(device_file)
    start_gpu_cluster gpu "$device"
    site_arguments restart_backoff=1 stop_grace=5 stop=never
    export work=$SPANK_TF_CLUSTER/work GPU_FILE=$BATS_FILE_TMPDIR/gpu0
    export SPANK_TF_PYTHON=$SPANK_TF_STAGE/share/spank-tf/python GPU_MEMORY=$work/memory NOTES=$work/notes
    for framework in torch jax; do
        export "${framework}_python=$(python_with $framework)"
    done
    export OMP_NUM_THREADS=1 USE_LIBUV=0 PYTHONDONTWRITEBYTECODE=1
}

# Print the first Python that has this framework for the GPU, as seen by the user, or nothing.
python_with ()
{
    local python finds

    case $1.${SPANK_TF_GPU-} in
        *.cpu) finds="import $1" ;;
        torch.*) finds="import torch; assert torch.cuda.is_available()" ;;
        jax.*) finds="import jax; assert jax.local_devices()[0].platform != 'cpu'" ;;
    esac
    for python in ${SPANK_TF_GPU_PYTHON-} "$(type -P python3)" /usr/bin/python3 "${SPANK_TF_CACHE:-/var/cache/spank-tf}"/jax-*/bin/python; do
        if [[ -x $python ]] && slurm timeout 120 "$python" -c "$finds" 2> /dev/null; then
            echo "$python"
            return
        fi
    done
}

before_test ()
{
    find "$work" -mindepth 1 -delete
    cp "$tests/gpu/program.py" "$work"
}

after_test ()
{
    [[ ! ${sampler-} ]] || kill "$sampler" 2> /dev/null || true
    slurm scancel --quiet --user "$user"
    nothing_left
}

# Set $python to that of a framework, and $program to the words before the arguments of program.py; or skip the test.
needs ()
{
    local variable=$1_python

    python=${!variable}
    [[ $python ]] || skip "user $user finds no Python that has $1 for this device; SPANK_TF_GPU_PYTHON names one"
    program=("$python" "$work/program.py")
}

# Require that the tasks of a step print these lines: see "LINE…" SRUN-ARGUMENT…
see ()
{
    run --separate-stderr slurm env XLA_PYTHON_CLIENT_PREALLOCATE=false timeout 120 srun -Q "${@:2}"
    [ "$status" -eq 0 ] || fail "srun"
    diff <(echo "$1") <(grep ' GPUs, ' <<< "$output" | sort) || fail "they see something else"
}

# A chief with --gpus=0 sees what its node has, unless Slurm keeps it from that.
ps_sees_none ()             # FRAMEWORK
{
    needs "$1"
    program+=(see "$1")
    see "ps 0: 0 GPUs, CUDA_VISIBLE_DEVICES= LOCAL_RANK=- JAX_LOCAL_DEVICE_IDS=-, computed 4
worker 0: 1 GPUs, CUDA_VISIBLE_DEVICES=0 LOCAL_RANK=- JAX_LOCAL_DEVICE_IDS=-, computed 4" \
        -N1 -n2 --gres=gpu:1 --tf-tasks=ps,worker "${program[@]}"
    can_constrain || return 0
    see "chief 0: 0 GPUs, CUDA_VISIBLE_DEVICES=- LOCAL_RANK=- JAX_LOCAL_DEVICE_IDS=-, computed 4
ps 0: 0 GPUs, CUDA_VISIBLE_DEVICES= LOCAL_RANK=- JAX_LOCAL_DEVICE_IDS=-, computed 4
worker 0: 1 GPUs, CUDA_VISIBLE_DEVICES=0 LOCAL_RANK=- JAX_LOCAL_DEVICE_IDS=-, computed 4" \
        -n2 --tf-tasks=chief,ps "${program[@]}" : -n1 --gres=gpu:1 --tf-tasks=worker "${program[@]}"
}

@test "PyTorch: a ps sees no GPU, a chief without one sees none, a worker sees it" {
    ps_sees_none torch
}

@test "JAX: a ps sees no GPU, a chief without one sees none, a worker sees it" {
    ps_sees_none jax
}

# The line of each of two workers, as "LOCAL_RANK LOCAL_RANK": lines "0 1"
lines ()
{
    local index=0 local_rank

    for local_rank in $1; do
        echo "worker $index: 1 GPUs, CUDA_VISIBLE_DEVICES=0 LOCAL_RANK=$local_rank JAX_LOCAL_DEVICE_IDS=0, computed 4"
        index=$((index + 1))
    done
}

workers_see_it ()           # FRAMEWORK
{
    needs "$1"
    program+=(see "$1")
    see "$(lines "0 0")" -N2 -n2 --gpus-per-task=1 --tf-frameworks=jax,torch --tf-tasks=worker:2 "${program[@]}"
    see "$(lines "0 0")" -N2 -n2 --gpus-per-node=1 --tf-frameworks=jax,torch --tf-tasks=worker:2 "${program[@]}"
    see "$(lines "0 1")" -N1 -n2 --gpus-per-node=1 --tf-frameworks=jax,torch --tf-tasks=worker:2 "${program[@]}"
}

@test "PyTorch: workers see a GPU of their own, that of their node, and share one" {
    workers_see_it torch
}

@test "JAX: workers see a GPU of their own, that of their node, and share one" {
    workers_see_it jax
}

# Require that a training goes on, each time from the step of its fault, to its end, and that a life finds the memory of the
# device free: trains FRAMEWORK BACKEND FAULT,… SRUN-ARGUMENT…
trains ()
{
    local i faults

    needs "$1"
    faults=$(tr , '\n' <<< "$3" | grep -c '')
    /usr/bin/python3 "$tests/gpu/memory.py" sample "$work/used" 3>&- &
    sampler=$!
    eventually 20 test -s "$work/used" || fail "no samples"
    run --separate-stderr slurm env FAULTS="$3" timeout 200 srun -Q --export=ALL --tf-frameworks=jax,torch --tf-show \
        --tf-log-dir=logs --tf-watchdog=15,120 --tf-restart="$faults,any" "${@:4}" \
        sh -c 'echo "begin $(date +%s.%N) ${SLURM_TF_RESTART-0}" >> $NOTES; exec "$@"' - "${program[@]}" train "$1" "$2"
    kill "$sampler"
    stderr+=$'\n'$(tail -n 30 "$work"/logs/worker*.log)
    [ "$status" -eq 0 ] || fail "srun"
    diff <(for ((i = 0; i <= faults; i++)); do echo "worker 0: starts at step $((10 * i))"; done) <(grep starts "$work/logs/worker0.log") ||
        fail "it goes on elsewhere"
    printed 1 "^worker 0: done, $((faults + 1))0 steps" "$work/logs/worker0.log" || fail "it is not done"
    loss_falls 2 'worker 0' "$work/logs/worker0.log"
    run /usr/bin/python3 "$tests/gpu/memory.py" judge "$work/used" "$NOTES"
    [ "$status" -eq 0 ] || fail "the memory is not free"
    printf '# %s\n' "${lines[@]}" >&3
}

@test "PyTorch with NCCL: SIGKILL, no memory on the device, an illegal access, a hang in a kernel, with stacks" {
    trains torch nccl kill,memory,access,hang -n1 --gres=gpu:1 --tf-tasks=worker
    grep -q ': no activity for [0-9]* s: worker 0 (rank 0, ' <<< "$stderr" || fail "no verdict"
    grep -q '^Fatal Python error: Aborted' "$work/logs/worker0.log" || fail "no stacks"
    grep -qE 'program.py", line [0-9]+ in (wait|fail)$' "$work/logs/worker0.log" || fail "not the stack of the program"
}

@test "PyTorch with Gloo, two processes that share the GPU: SIGKILL, no memory on the device" {
    trains torch gloo kill,memory -N1 -n2 --gres=gpu:1 --tf-tasks=worker:2
}

@test "JAX: SIGKILL, no memory on the device, an illegal access" {
    trains jax none kill,memory,access -n1 --gres=gpu:1 --tf-tasks=worker
}

# Require that a program fails, and srun says why: fails_by FRAMEWORK FAULT PATTERN
fails_by ()
{
    needs "$1"
    run --separate-stderr slurm timeout 100 srun -Q -n1 --gres=gpu:1 --tf-tasks=worker --tf-log-dir=logs \
        "${program[@]}" fail "$1" "$2"
    grep -qE "first failure: worker 0 \(gpu[12]\) at [0-9:]+, $3\. Its log " <<< "$stderr" || fail "another cause"
}

@test "srun names the cause: no memory on the device, a kernel that failed, a library that is missing" {
    local device='exit code 1: out of memory on the device that it computes on' kernel='(exit code 1|signal 6): a kernel failed on its GPU; .*'

    if [[ ${SPANK_TF_GPU-} == cpu ]]; then
        fails_by torch memory 'exit code 1: out of memory: its node, .*'
        fails_by torch access 'signal 11'
    else
        fails_by torch memory "$device"
        fails_by torch access "$kernel"
    fi
    fails_by jax memory "$device"
    fails_by torch library 'exit code 1: a library is missing: libcudart.so.0'
}

# The product of two matrices that doc/guide/bad-nodes.md has, with the Python that has torch: write_gemm TFLOPS
write_gemm ()
{
    awk '/^### A matrix product/ { inside = 1 } inside && sub (/^    /, "") { print; code = 1; next } inside && code && !NF { print; next } inside && code { exit }' \
        "$tests/../doc/guide/bad-nodes.md" | sed "1s|.*|#!$python|; s/tflops < 5:/tflops < $1:/" > "$work/check-gemm"
    printf '%s\n' 'open ("'"$work"'/rate", "w").write (f"{tflops:.1f} TFLOP/s\n")' >> "$work/check-gemm"
    chmod 755 "$work/check-gemm"
}

@test "--tf-preflight=gpus opens the device, and a matrix product on it is fast enough, or is told" {
    needs torch
    [[ ${SPANK_TF_GPU-} != cpu ]] || skip "the guide's program is for a GPU"
    write_gemm 0.1
    SECONDS=0
    run --separate-stderr slurm timeout 120 srun -Q -n1 --gres=gpu:1 --tf-preflight="gpus,$work/check-gemm" --tf-tasks=worker true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a good node is bad"
    echo "# gpus and check-gemm took $SECONDS s: $(< "$work/rate")" >&3
    write_gemm 100000
    run --separate-stderr slurm timeout 120 srun -Q -n1 --gres=gpu:1 --tf-preflight="$work/check-gemm" --tf-tasks=worker true
    [ "$status" -eq 125 ] && [[ $stderr == *"$work/check-gemm: "*"TFLOP/s"* ]] || fail "its rate is not told"
}
