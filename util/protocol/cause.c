/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "cause.h"

#include "fields.h"

const char *const cause_word[CAUSE_KINDS] = {
    [CAUSE_MEMORY] = "memory",
    [CAUSE_DEVICE_MEMORY] = "device-memory",
    [CAUSE_SPACE] = "space",
    [CAUSE_QUOTA] = "quota",
    [CAUSE_PORT_IN_USE] = "port-in-use",
    [CAUSE_PORT] = "port",
    [CAUSE_STALE] = "stale",
    [CAUSE_IO] = "io",
    [CAUSE_LIBRARY] = "library",
    [CAUSE_MODULE] = "module",
    [CAUSE_GPU] = "gpu",
    [CAUSE_KERNEL] = "kernel",
    [CAUSE_CONNECTION] = "connection",
    [CAUSE_VARIABLES] = "variables",
};

const char *const cause_text[CAUSE_KINDS] = {
    [CAUSE_NONE] = "",
    [CAUSE_MEMORY] = "out of memory: its node, or a limit such as ulimit -v, gave it no more",
    [CAUSE_DEVICE_MEMORY] = "out of memory on the device that it computes on",
    [CAUSE_SPACE] = "no space is left on a file system that it writes to",
    [CAUSE_QUOTA] = "its disk quota is used up",
    [CAUSE_PORT_IN_USE] = "the port that it wants to listen on is in use",
    [CAUSE_PORT] = "it could not listen on its port",
    [CAUSE_STALE] = "a file that it uses is gone from the server (stale file handle)",
    [CAUSE_IO] = "a file system or a disk failed (input/output error)",
    [CAUSE_LIBRARY] = "a library is missing: ",
    [CAUSE_MODULE] = "a Python module is missing: ",
    [CAUSE_GPU] = "a GPU is broken, or gone",
    [CAUSE_KERNEL] = "a kernel failed on its GPU; CUDA_LAUNCH_BLOCKING=1 shows which",
    [CAUSE_CONNECTION] = "it lost a connection",
    [CAUSE_VARIABLES] = "PyTorch's variables are not set, see --tf-frameworks=torch",
};

#define MESSAGE struct cause

/* clang-format off */
static const struct field row[] = {
    FIELD ("CAUSE", kind, NAME, FIELD_TOLERANT, CAUSE_MEMORY, CAUSE_VARIABLES, .names = cause_word),
    FIELD ("CAUSE_DETAIL", detail, LINE, FIELD_TOLERANT, 0, CAUSE_MAX_DETAIL),
};
/* clang-format on */

const struct fields cause_fields = FIELDS ("a failure text", row);
