#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# With a topology plugin, Slurm 26.05 numbers the tasks in the order of the switches or blocks, and not in that of the
# step's node list, which stays sorted by name: rank 0 is not on the first node of the list. Here the order is nodes
# 2, 4, 1, 3.

# bats file_tags=release
load launch

setup_file ()
{
    local n=topology-n

    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    mkdir "$SPANK_TF_CLUSTER"
    printf '%s\n' "SwitchName=s1 Nodes=${n}2,${n}4" "SwitchName=s2 Nodes=${n}1,${n}3" "SwitchName=s0 Switches=s1,s2" \
        > "$SPANK_TF_CLUSTER/topology.conf"
    start_cluster --prefix "$n" --conf TopologyPlugin=topology/tree
    # Process 0 listens on the address that all processes were told, which fails on any other node. Each of the others
    # connects to it and says its number.
    cat > "$SPANK_TF_CLUSTER/work/process0.py" <<'END'
import os, socket, sys, time
names = {"jax": "JAX_COORDINATOR_ADDRESS SLURM_PROCID SLURM_NTASKS", "pytorch": "MASTER_ADDR RANK WORLD_SIZE"}
keras = "".join("KERAS_DISTRIBUTION_" + name for name in ("JOB_ADDRESSES ", "PROCESS_ID ", "NUM_PROCESSES"))
address, number, count = (os.environ[name] for name in names.get(sys.argv[1], keras).split())
if sys.argv[1] == "pytorch":
    address += ":" + os.environ["MASTER_PORT"]
host, port = address.split(",")[0].rsplit(":", 1)
number, count = int(number), int(count)
if number:
    while True:
        try:
            connection = socket.create_connection((host, int(port)), 30)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    connection.sendall(b"%d\n" % number)
else:
    server = socket.create_server((host, int(port)))
    met = sorted(int(server.accept()[0].makefile().readline()) for _ in range(count - 1))
    print("process 0, rank", os.environ["SLURM_PROCID"], "on", os.environ["SLURMD_NODENAME"], "met", met)
END
}

before_test ()
{
    slurm_is_from 26.05 || skip "Slurm $(slurm_version) numbers the tasks in the order of the node list"
}

# Require that process 0 met the other three where all were told: meet FRAMEWORK RANK NODE OPTION…
meet ()
{
    run --separate-stderr slurm srun -Q -N4 --tf-hold=no "${@:4}" python3 process0.py "$1"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "not all processes have met"
    [ "$output" = "process 0, rank $2 on $(node "$3") met [1, 2, 3]" ] || fail "process 0 is elsewhere"
}

@test "tasks in topology order: the dictionary has the address of each task's own node" {
    launch worker,worker,worker,worker -N4 --tf-tasks=worker:4
    ran_on 2 4 1 3
    launch ps,chief,worker,worker,worker -N4 -n5 --distribution=cyclic --tf-tasks=ps,chief,worker:3
    launch ps,worker,ps,worker,ps,worker,ps,worker -N4 --ntasks-per-node=2 --tf-tasks-per-node=ps,worker
    ran_on 2 2 4 4 1 1 3 3
    launch ps,worker -N2 --nodelist="$(node 3),$(node 4)" --tf-tasks=ps,worker
    ran_on 4 3
    batch -N4 -n4 --tf-tasks=ps,worker:3 <<< "#!/bin/bash
srun -Q $task_check --roles=ps,worker,worker,worker"
    all_tasks_ok ps,worker,worker,worker
}

@test "tasks in topology order: process 0 of JAX, Keras 3 and PyTorch is where the address says" {
    meet jax 0 2 --tf-tasks=worker:4
    meet pytorch 0 2 --tf-tasks=worker:4 --tf-frameworks=torch
    meet keras 0 2 --tf-tasks=chief,worker:3
    # The chief is process 0, also in SLURM_PROCID, and the second task. JAX's variable is not set then.
    meet keras 0 4 --tf-tasks=worker,chief,worker:2
}
