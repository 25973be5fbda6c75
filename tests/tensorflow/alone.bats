#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Scripts for a single host, as people have them, in a step of two tasks: each trains alone. The same with what its
# framework needs. TensorFlow is the newest; PyTorch is Debian's.

# bats file_tags=slow
load ../common
load torch

setup_file ()
{
    start_cluster --nodes 2 --prefix alone
    install_torch
    cd "$SPANK_TF_CLUSTER/work" || return
    cat > with_tf.py <<'END'
import sys, time
import numpy as np, tensorflow as tf
if "--strategy" in sys.argv:
    tf.distribute.MultiWorkerMirroredStrategy ()
x = np.random.rand (256, 8).astype ("float32")
model = tf.keras.Sequential ([tf.keras.layers.Dense (1)])
model.compile ("sgd", "mse")
end = time.time () + 62
while time.time () < end:
    model.fit (x, x.sum (1), epochs=1, verbose=0)
    time.sleep (1)
END
    cat > with_torch.py <<'END'
import sys, time
import torch, torch.distributed
if "--ddp" in sys.argv:
    torch.distributed.init_process_group ("gloo")
net = torch.nn.Linear (8, 1)
if "--ddp" in sys.argv:
    net = torch.nn.parallel.DistributedDataParallel (net)
sgd = torch.optim.SGD (net.parameters (), 0.01)
for _ in range (124):
    x = torch.rand (64, 8)
    loss = ((net (x).squeeze () - x.sum (1)) ** 2).mean ()
    sgd.zero_grad ()
    loss.backward ()
    sgd.step ()
    time.sleep (0.5)
END
}

# A step in the background: step NAME OPTION… PROGRAM…
step ()
{
    slurm env OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3 USE_LIBUV=0 timeout 250 srun -Q --overlap -N2 --tf-tasks=worker:2 "${@:2}" \
        > "$BATS_TEST_TMPDIR/$1" 2>&1 < /dev/null 3>&- &
    steps+=($!)
}

@test "real scripts without a strategy are asked about, and those with one are not" {
    local python name
    local -a steps=()

    needs_torch
    python=$("$tests/../contrib/tensorflow-env" newest)/bin/python || skip "no TensorFlow"
    step tensorflow "$python" with_tf.py
    step strategy "$python" with_tf.py --strategy
    step torch --tf-frameworks=torch /usr/bin/python3 with_torch.py
    step ddp --tf-frameworks=torch /usr/bin/python3 with_torch.py --ddp
    for name in "${steps[@]}"; do
        wait "$name" || fail "a step fails: $(tail -n 5 "$BATS_TEST_TMPDIR"/*)"
    done
    for name in tensorflow torch; do
        grep -q 'each may have trained a model of its own' "$BATS_TEST_TMPDIR/$name" || fail "$name: $(< "$BATS_TEST_TMPDIR/$name")"
    done
    for name in strategy ddp; do
        ! grep alone "$BATS_TEST_TMPDIR/$name" || fail "$name is asked about"
    done
}
