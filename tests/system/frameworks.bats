#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The variables of Keras 3 and JAX, and --tf-frameworks. task-check also checks the default of them in
# every other test.

load launch

setup_file ()
{
    make_gpus
    start_cluster --nodes 3 --prefix frame --conf GresTypes=gpu --node-conf frame1:Gres=gpu:4 --node-conf frame2:Gres=gpu:4
    # A task prints its rank, its variables without their values' addresses, and whose they are.
    cat > "$SPANK_TF_CLUSTER/work/variables" <<'END'
rank=${SPANK_TF_FORMER_SLURM_PROCID-$SLURM_PROCID}
env | sed -nE "s/^(KERAS_DISTRIBUTION|JAX)_/$rank &/p; s/^(TF_CONFIG|TF_GRPC_REUSE_PORT)=.*/$rank \1/p" | sed -E 's/[0-9.]+:[0-9]+/ADDRESS/g'
END
    # A task prints its numbers from Slurm.
    cat > "$SPANK_TF_CLUSTER/work/numbers" <<'END'
env | grep -E '^SLURM_(PROCID|LOCALID|NODEID|NTASKS|NPROCS|NNODES|NODELIST|(NTASKS|TASKS)_PER_NODE|STEP_(NUM_TASKS|NUM_NODES|NODELIST|TASKS_PER_NODE))=' |
    sort | paste -sd' '
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

# Require that srun names these variables, once, and prints nothing else: replaced LIST
replaced ()
{
    [[ $stderr =~ ^'srun: spank_tf: step '[0-9.]+": $1 from your environment "(was|were)" replaced with the step's own values. To keep yours, list only other frameworks in --tf-frameworks"$ ]] ||
        fail "not this notice"
}

# bats test_tags=core,release,by-run
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
@test "JAX has the address of process 0 where numbers are not the ranks, too" {
    variables -n2 --tf-tasks=worker,chief --tf-hold=no <<END
0 JAX_COORDINATOR_ADDRESS=ADDRESS
0 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
0 KERAS_DISTRIBUTION_NUM_PROCESSES=2
0 KERAS_DISTRIBUTION_PROCESS_ID=1
0 TF_CONFIG
1 JAX_COORDINATOR_ADDRESS=ADDRESS
1 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
1 KERAS_DISTRIBUTION_NUM_PROCESSES=2
1 KERAS_DISTRIBUTION_PROCESS_ID=0
1 TF_CONFIG
END
    variables -n2 --tf-tasks=evaluator,worker --tf-hold=no --tf-stop=never <<END
0 TF_CONFIG
1 JAX_COORDINATOR_ADDRESS=ADDRESS
1 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
1 KERAS_DISTRIBUTION_NUM_PROCESSES=1
1 KERAS_DISTRIBUTION_PROCESS_ID=0
1 TF_CONFIG
END
    launch worker,worker,chief -N3 --tf-tasks=worker:2,chief
    launch chief,worker,worker -N1 -n1 --tf-tasks=chief : -N2 -n2 --tf-tasks=worker:2
}

# What Slurm itself gives them is what is right.
# bats test_tags=core,release
@test "processes have the numbers that Slurm gives them in a step that runs nothing else, and an srun in them has its own" {
    local inner='sh numbers; [ $SLURM_PROCID != 0 ] || srun -Q --overlap sh -c "echo inner \$(sh numbers)"'
    local plain inner_of_six

    plain=$(slurm srun -Q -N3 --ntasks-per-node=1 sh numbers | sort)
    [ "$(wc -l <<< "$plain")" -eq 3 ] || fail "a plain step: $plain"
    inner_of_six=$(slurm srun -Q -N3 -n6 --overcommit --ntasks-per-node=2 -m cyclic sh -c "$inner" | grep ^inner | sort)
    [ "$(wc -l <<< "$inner_of_six")" -eq 6 ] || fail "a plain step in a step: $inner_of_six"
    run --separate-stderr slurm srun -Q -N3 -n6 --overcommit --ntasks-per-node=2 -m cyclic --tf-tasks=evaluator,+data:2,worker:3 \
        sh -c 'case $SLURM_TF_ROLE in worker) '"$inner"';; *) echo other $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS;; esac'
    [ "$status" -eq 0 ] || fail "the step fails"
    diff <(grep ^SLURM <<< "$output" | sort) - <<< "$plain" || fail "other numbers than Slurm's"
    diff <(grep ^inner <<< "$output" | sort) - <<< "$inner_of_six" || fail "an srun in a task has others"
    [ "$(grep ^other <<< "$output" | sort)" = $'other 3 1 6\nother 4 1 6\nother 5 1 6' ] || fail "the other tasks have others"
    # What Slurm does not set in a step is not set.
    run --separate-stderr slurm srun -Q -N3 -n3 --tf-stop=never --tf-tasks=evaluator,worker:2 sh numbers
    [[ $output == *SLURM_NTASKS=2* && $output != *SLURM_NTASKS_PER_NODE* ]] || fail "a variable more, or other numbers"
    # With a ps, and for TensorFlow alone, they are those of the step.
    plain=$(slurm srun -Q -N3 -n3 sh numbers | sort)
    run --separate-stderr slurm srun -Q -N3 -n3 --tf-stop=never --tf-tasks=evaluator,ps,worker sh numbers
    diff <(sort <<< "$output") - <<< "$plain" || fail "other numbers with a ps"
    run --separate-stderr slurm srun -Q -N3 -n3 --tf-frameworks=tf --tf-tasks=evaluator,worker:2 sh numbers
    diff <(sort <<< "$output") - <<< "$plain" || fail "other numbers for TensorFlow"
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
    [ "$status" -ne 0 ] && [[ $stderr == *'spank_tf: --tf-frameworks: "tf,torchx" is neither none nor a list of auto, tf, keras, jax and torch; did you mean "torch"?'* ]] ||
        fail "it is not refused"
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-frameworks=tf,dtensor true
    [ "$status" -ne 0 ] && [[ $stderr == *'spank_tf: --tf-frameworks: "dtensor" was removed; set DTENSOR_JOBS and DTENSOR_CLIENT_ID in the script'* ]] ||
        fail "it is not refused with what to write"
}

# Plugin: without it, TaskProlog runs before the step's values are set.
# bats test_tags=plugin
@test "what TaskProlog exports over the step's values is named once" {
    printf '%s\n' '#!/bin/sh' 'echo export RANK=7' 'echo export OTHER=7' 'echo export WORLD_SIZE=2' > "$SPANK_TF_CLUSTER/work/prolog"
    chmod 755 "$SPANK_TF_CLUSTER/work/prolog"
    run --separate-stderr slurm srun -Q -N2 --task-prolog="$SPANK_TF_CLUSTER/work/prolog" --tf-tasks=worker:2 --tf-frameworks=torch sh -c '[ $RANK = 7 ] && sleep 3'
    # shellcheck disable=SC2001  # a regular expression
    [ "$status" -eq 0 ] && [ "$(sed 's/step [0-9.]*/STEP/' <<< "$stderr")" = "slurmstepd: spank_tf: STEP: RANK: TaskProlog, or the command itself, replaced the step's values" ] ||
        fail "it is not named, or more than that: $stderr"
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=worker:2 --tf-frameworks=torch sh -c 'RANK=7 sleep 3'
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "something is named: $stderr"
}

# bats test_tags=core
@test "of the user's variables those stay that are a preference, number the only process, or are of another framework" {
    export KERAS_DISTRIBUTION_PROCESS_ID=7 JAX_COORDINATOR_ADDRESS=10.0.0.1:1 JAX_LOCAL_DEVICE_IDS=
    TF_CONFIG=own variables -n1 --tf-tasks=worker --tf-frameworks=keras --tf-hold=no <<END
0 JAX_COORDINATOR_ADDRESS=ADDRESS
0 JAX_LOCAL_DEVICE_IDS=
0 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
0 KERAS_DISTRIBUTION_NUM_PROCESSES=1
0 KERAS_DISTRIBUTION_PROCESS_ID=7
0 TF_CONFIG
END
    run slurm srun -Q -n1 --tf-tasks=worker --tf-frameworks=keras sh -c 'echo $JAX_COORDINATOR_ADDRESS'
    [ "$output" = "10.0.0.1:1" ] || fail "not the user's"
}

# bats test_tags=core,release
@test "what numbers a process, and what contradicts the step, is the step's; one line names it" {
    export KERAS_DISTRIBUTION_PROCESS_ID=0 KERAS_DISTRIBUTION_NUM_PROCESSES=2 JAX_LOCAL_DEVICE_IDS=
    run --separate-stderr slurm srun -Q -N3 -n3 --export=ALL,JAX_COORDINATOR_ADDRESS=127.0.0.1:1 --tf-hold=no \
        --tf-tasks=worker:2,evaluator --tf-stop=never --tf-frameworks=keras sh variables < /dev/null
    [ "$status" -eq 0 ] || fail "srun"
    diff - <(sort <<< "$output") <<END || fail "other variables"
0 JAX_COORDINATOR_ADDRESS=ADDRESS
0 JAX_LOCAL_DEVICE_IDS=
0 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
0 KERAS_DISTRIBUTION_NUM_PROCESSES=2
0 KERAS_DISTRIBUTION_PROCESS_ID=0
1 JAX_COORDINATOR_ADDRESS=ADDRESS
1 JAX_LOCAL_DEVICE_IDS=
1 KERAS_DISTRIBUTION_JOB_ADDRESSES=ADDRESS
1 KERAS_DISTRIBUTION_NUM_PROCESSES=2
1 KERAS_DISTRIBUTION_PROCESS_ID=1
2 JAX_COORDINATOR_ADDRESS=ADDRESS
2 JAX_LOCAL_DEVICE_IDS=
2 KERAS_DISTRIBUTION_NUM_PROCESSES=2
2 KERAS_DISTRIBUTION_PROCESS_ID=0
END
    replaced KERAS_DISTRIBUTION_PROCESS_ID
    run --separate-stderr slurm srun -Q -N3 -n3 --export=ALL,JAX_COORDINATOR_ADDRESS=127.0.0.1:1 --tf-tasks=worker:3 \
        sh -c 'echo $KERAS_DISTRIBUTION_PROCESS_ID $KERAS_DISTRIBUTION_NUM_PROCESSES ${JAX_COORDINATOR_ADDRESS%%.*}' < /dev/null
    [ "$(sort <<< "$output")" = $'0 3 10\n1 3 10\n2 3 10' ] || fail "not the step's"
    replaced "KERAS_DISTRIBUTION_NUM_PROCESSES, KERAS_DISTRIBUTION_PROCESS_ID, JAX_COORDINATOR_ADDRESS"
    # Each life has the step's.
    run --separate-stderr slurm srun -Q -N2 -n2 --tf-restart=1,any --tf-tasks=worker:2 \
        sh -c '[ "$SLURM_TF_RESTART" ] || exit 3; echo $KERAS_DISTRIBUTION_PROCESS_ID $SLURM_TF_RESTART' < /dev/null
    [ "$status" -eq 0 ] && [ "$(sort <<< "$output")" = $'0 1\n1 1' ] || fail "a life has other variables"
    # A value that is the same as the step's is not replaced.
    unset KERAS_DISTRIBUTION_PROCESS_ID
    run --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker:2 true
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a notice of a value that is right"
}

# bats test_tags=core
@test "in a step that a task starts, the user's variables are as they were" {
    export JAX_COORDINATOR_ADDRESS=10.0.0.1:1
    run --separate-stderr slurm srun -Q -N3 --tf-tasks=worker:3 --tf-frameworks=tf,keras,jax sh -c '[ $SLURM_PROCID -eq 0 ] || exit 0
        exec srun -Q --overlap -w frame2,frame3 -N2 -n2 --tf-frameworks=keras --tf-tasks=chief,worker sh -c "echo \$KERAS_DISTRIBUTION_PROCESS_ID \$KERAS_DISTRIBUTION_NUM_PROCESSES \$JAX_COORDINATOR_ADDRESS"'
    [ "$status" -eq 0 ] || fail "srun"
    diff - <(sort <<< "$output") <<END || fail "the inner step has other variables"
0 2 10.0.0.1:1
1 2 10.0.0.1:1
END
}

# bats test_tags=core
@test "nodes whose own names are wrong are named where JAX on CPUs or torchrun need them" {
    not_by_static_file "it does not ask for names"
    local node notice='^srun: spank_tf: step [0-9.]+: JAX on CPUs and torchrun cannot connect to a node whose own host name is wrong: frame1 \(leads to 127\.0\.1\.1, a loopback address\), frame2 \(does not resolve\), frame3 \(leads to 10\.98\.0\.1, not its own address\)\. Add the address of each node to its /etc/hosts, or to DNS$'
    local -a with

    for node in frame1 frame2 frame3; do
        printf '127.0.0.1 localhost\n' > "$BATS_TEST_TMPDIR/$node"
        case $node in
            frame1) echo 127.0.1.1 frame1 ;;
            frame2) echo 10.98.0.2 another ;;
            frame3) echo 10.98.0.1 frame3 ;;
        esac >> "$BATS_TEST_TMPDIR/$node"
        "$tests/cluster" run --on $node -- mount --bind "$BATS_TEST_TMPDIR/$node" /etc/hosts
    done
    for with in KERAS_BACKEND=jax JAX_PLATFORMS=cpu; do
        run --separate-stderr slurm env $with srun -Q -N3 --tf-tasks=worker:3 true
        [[ $stderr =~ $notice ]] || fail "no such notice with $with"
    done
    run --separate-stderr slurm srun -Q -N3 --tf-tasks=worker:3 --tf-frameworks=jax true
    [[ $stderr =~ $notice ]] || fail "no such notice with --tf-frameworks=jax"
    run --separate-stderr slurm srun -Q -N3 --tf-tasks=worker:3 --tf-frameworks=torch sh -c true /usr/bin/torchrun
    [[ $stderr =~ $notice ]] || fail "no such notice with torchrun"
    run --separate-stderr slurm srun -Q -N3 --tf-tasks=worker:3 true
    [ -z "$stderr" ] || fail "a notice where nothing tells of JAX"
    run --separate-stderr slurm env KERAS_BACKEND=jax srun -Q -N1 -n2 -w frame1 --tf-tasks=worker:2 true
    [ -z "$stderr" ] || fail "a notice of a step on one node"
    run --separate-stderr slurm env KERAS_BACKEND=jax srun -Q -N3 --tf-tasks=ps,worker:2 true
    [ -z "$stderr" ] || fail "a notice of a step with a ps"
    run "$tests/cluster" run --on frame1 -- "$SPANK_TF_STAGE/bin/tf-check"
    [[ $output == *"warning: this host's own name leads to 127.0.1.1, a loopback address:"* ]] || fail "tf-check does not warn"
    run "$tests/cluster" run --on frame2 -- "$SPANK_TF_STAGE/bin/tf-check"
    [[ $output == *"warning: this host's own name does not resolve:"* ]] || fail "tf-check does not warn of a name without an address"
    for node in frame1 frame2 frame3; do
        "$tests/cluster" run --on $node -- umount /etc/hosts
    done
}

# The JAX_LOCAL_DEVICE_IDS of every rank of a step: devices "0,1 -" SRUN-ARGUMENT…
devices ()
{
    run --separate-stderr slurm srun -Q "${@:2}" sh -c 'echo ${SPANK_TF_FORMER_SLURM_PROCID-$SLURM_PROCID} ${JAX_LOCAL_DEVICE_IDS--}'
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
