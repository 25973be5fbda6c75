/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Why a task failed, where its log says so for certain (supervise/find_cause.h): a part of its failure text.
 */
#ifndef TF_CAUSE_H
#define TF_CAUSE_H

#define CAUSE_MAX_DETAIL 80     /* bytes */

enum cause_kind {
    CAUSE_NONE,
    CAUSE_MEMORY,               /* the node, or a limit of the process, gave no more */
    CAUSE_DEVICE_MEMORY,        /* the device that computes has no more */
    CAUSE_SPACE,
    CAUSE_QUOTA,
    CAUSE_PORT_IN_USE,
    CAUSE_PORT,                 /* it cannot be listened on */
    CAUSE_STALE,                /* a file on a server that has it no more */
    CAUSE_IO,
    CAUSE_LIBRARY,              /* which is missing */
    CAUSE_MODULE,               /* of Python, likewise */
    CAUSE_GPU,                  /* broken, or gone */
    CAUSE_KERNEL,               /* of the program's, which failed on a GPU */
    CAUSE_CONNECTION,           /* it was lost: the other end has failed, most likely */
    CAUSE_VARIABLES,            /* PyTorch's are not set */
    CAUSE_KINDS
};

/* A zeroed one is not known. */
struct cause {
    enum cause_kind kind;
    char detail[CAUSE_MAX_DETAIL + 1];  /* the library, the module; printable ASCII, or "" */
};

/* For programs: "space"; NULL for CAUSE_NONE. */
extern const char *const cause_word[CAUSE_KINDS];

/* For users, who read the detail behind it: "a library is missing: "; "" for CAUSE_NONE. */
extern const char *const cause_text[CAUSE_KINDS];

/* It as a part of a failure text (fields.h). */
extern const struct fields cause_fields;

#endif
