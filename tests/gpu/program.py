# SPDX-License-Identifier: GPL-2.0-or-later
#
# What runs on a GPU, by FRAMEWORK, which is torch or jax. With SPANK_TF_GPU=cpu it computes on the CPU, and the memory of the
# device is a lock.
#
#     program.py see FRAMEWORK              print what the task sees of GPUs, and compute with it
#     program.py train FRAMEWORK BACKEND    train, and print what contrib/examples/resume_*.py print; BACKEND is nccl, gloo
#                                           or none. Life N fails by the N-th word of $FAULTS, from 0: kill, memory, access,
#                                           hang; the last one has no word. $NOTES gets the time of each
#     program.py fail FRAMEWORK FAULT       fail at once, or by a missing library: library

import ctypes
import fcntl
import json
import os
import signal
import sys
import time

command, framework, argument = sys.argv[1], sys.argv[2], sys.argv[3:]
on_cpu = os.environ.get("SPANK_TF_GPU") == "cpu"
here = os.path.dirname(os.path.abspath(__file__))
life = int(os.environ.get("SLURM_TF_RESTART", 0))
name = "%s %s" % (os.environ["SLURM_TF_ROLE"], os.environ["SLURM_TF_INDEX"])
rank, processes = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
steps_of_life = 10

# It stores to an address that is not the program's.
bad_kernel = b"""
.version 6.0
.target sm_60
.address_size 64
.visible .entry bad ()
{
    .reg .u64 %address;
    .reg .u32 %value;
    mov.u64 %address, 16;
    mov.u32 %value, 1;
    st.global.u32 [%address], %value;
    ret;
}
"""


def cuda(function, *arguments):
    code = getattr(ctypes.CDLL("libcuda.so.1"), function)(*arguments)
    if code:
        raise OSError("%s: CUDA's error %d" % (function, code))


def launch_bad_kernel():
    device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda("cuInit", 0)
    cuda("cuDeviceGet", ctypes.byref(device), 0)
    cuda("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    cuda("cuCtxSetCurrent", context)
    cuda("cuModuleLoadData", ctypes.byref(module), bad_kernel)
    cuda("cuModuleGetFunction", ctypes.byref(kernel), module, b"bad")
    one, none = ctypes.c_uint(1), ctypes.c_void_p()
    cuda("cuLaunchKernel", kernel, one, one, one, one, one, one, ctypes.c_uint(0), none, none, none)


def own_numbers():
    """How many GPUs a driver would find for this task."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
    try:
        os.close(os.open(os.environ["GPU_FILE"], os.O_RDONLY))
    except PermissionError:
        return 0
    return len([number for number in visible.split(",") if number])


class Torch:
    def __init__(self, backend=None):
        import torch

        self.torch = torch
        if backend:
            torch.distributed.init_process_group("gloo" if on_cpu else backend)
        if on_cpu or self.count() == 0:
            self.device = torch.device("cpu")
        else:
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)) % self.count())
            torch.cuda.set_device(self.device)
        self.backend = backend

    def count(self):
        return own_numbers() if on_cpu else self.torch.cuda.device_count()

    def compute(self):
        return int(self.torch.ones(4, device=self.device).sum().item())

    def take_memory(self):
        """So much that two lives cannot have it at a time."""
        total = self.torch.cuda.mem_get_info()[1]
        self.taken = self.torch.empty(int(0.7 * total / processes), dtype=self.torch.uint8, device=self.device)

    def exhaust(self):
        size = 1 << 50 if on_cpu else 2 * self.torch.cuda.mem_get_info()[1]
        self.torch.empty(size, dtype=self.torch.uint8, device=self.device)

    def hang(self):
        self.torch.cuda._sleep(1 << 62)

    def wait(self):
        self.torch.cuda.synchronize()

    def begin(self, weights):
        self.torch.manual_seed(1000 * life + rank)
        self.weights = self.torch.tensor(weights, device=self.device, requires_grad=True)

    def step(self):
        points = self.torch.randn(32, 16, device=self.device)
        loss = ((points @ self.weights - points.sum(dim=1)) ** 2).mean()
        (gradient,) = self.torch.autograd.grad(loss, self.weights)
        if self.backend:
            self.torch.distributed.all_reduce(gradient)
        with self.torch.no_grad():
            self.weights -= 0.02 / processes * gradient
        return loss.item()

    def saved(self):
        return self.weights.tolist()


class Jax:
    def __init__(self, backend=None):
        import jax

        self.jax, self.np = jax, jax.numpy
        # It reads JAX_LOCAL_DEVICE_IDS.
        if processes > 1:
            jax.distributed.initialize()

    def count(self):
        if on_cpu:
            return own_numbers()
        return len([device for device in self.jax.local_devices() if device.platform != "cpu"])

    def compute(self):
        return int(self.np.ones(4).sum())

    def total(self):
        return self.jax.local_devices()[0].memory_stats()["bytes_limit"]

    def allocate(self, size):
        return self.np.zeros((size >> 20, 1 << 20), self.np.uint8).block_until_ready()

    def take_memory(self):
        self.taken = self.allocate(int(0.9 * self.total()))

    def exhaust(self):
        self.allocate(1 << 50 if on_cpu else 2 * self.total())

    def wait(self):
        self.np.ones(4).sum().block_until_ready()

    def begin(self, weights):
        def loss(weights, key):
            points = self.jax.random.normal(key, (32, 16))
            return ((points @ weights - points.sum(axis=1)) ** 2).mean()

        self.weights, self.key = self.np.array(weights), self.jax.random.key(life)
        self.gradient = self.jax.jit(self.jax.value_and_grad(loss))

    def step(self):
        self.key, key = self.jax.random.split(self.key)
        loss, gradient = self.gradient(self.weights, key)
        self.weights = self.weights - 0.02 * gradient
        return float(loss)

    def saved(self):
        return self.weights.tolist()


def note(what):
    with open(os.environ["NOTES"], "a") as notes:
        notes.write("%s %.3f %d\n" % (what, time.time(), life))


def lock_memory():
    global memory
    memory = open(os.environ["GPU_MEMORY"] + str(rank), "w")
    fcntl.lockf(memory, fcntl.LOCK_EX | fcntl.LOCK_NB)


def fail(program, fault):
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "memory":
        program.exhaust()
    elif fault == "access":
        ctypes.string_at(16) if on_cpu else launch_bad_kernel()
        program.wait()
    elif fault == "hang":
        ctypes.CDLL(None).pause() if on_cpu else program.hang()
        program.wait()
    elif fault == "library":
        ctypes.CDLL("libcudart.so.0")
    sys.exit("nothing has failed")


def train(program, file, faults):
    sys.path.insert(0, os.environ["SPANK_TF_PYTHON"])
    import spank_tf_watchdog

    lock_memory() if on_cpu else program.take_memory()
    step, weights = 0, [0.0] * 16
    if os.path.exists(file):
        with open(file) as f:
            step, weights = json.load(f)
    program.begin(weights)
    print(f"{name}: starts at step {step}", flush=True)
    first, last = step, steps_of_life * (len(faults) + 1)
    while step < last:
        spank_tf_watchdog.alive(f"step {step}")
        loss = program.step()
        step += 1
        print(f"{name}: step {step}, loss {loss:.4g}", flush=True)
        if rank == 0:
            with open(file + ".new", "w") as f:
                json.dump([step, program.saved()], f)
            os.rename(file + ".new", file)
            if life < len(faults) and step == first + steps_of_life:
                note("fault")
                fail(program, faults[life])
    print(f"{name}: done, {last} steps", flush=True)


frameworks = {"torch": Torch, "jax": Jax}
if command == "see":
    program = frameworks[framework](None)
    variables = ["%s=%s" % (v, os.environ.get(v, "-")) for v in ("CUDA_VISIBLE_DEVICES", "LOCAL_RANK", "JAX_LOCAL_DEVICE_IDS")]
    print("%s: %d GPUs, %s, computed %d" % (name, program.count(), " ".join(variables), program.compute()), flush=True)
elif command == "train":
    backend = argument[0] if argument[0] != "none" else None
    train(frameworks[framework](backend), os.path.join(here, "saved"), os.environ["FAULTS"].split(","))
else:
    fail(frameworks[framework](None), argument[0])
