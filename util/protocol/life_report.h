/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A part of a supervisor's status: when its task has ended; if it may be restarted, which life of
 * it has, and whether there can be another one.
 */
#ifndef TF_LIFE_REPORT_H
#define TF_LIFE_REPORT_H

#include <stdint.h>

#include "common/address.h"
#include "common/value.h"

/* The number of the last life that a task can have. */
#define LIFE_REPORT_MAX VALUE_MAX_TOTAL

/* With spares, a supervisor that is cut off keeps its report for an hour, in milliseconds. */
#define LIFE_REPORT_MOST_AGO_MS 3600000

/* Has a program of the task ever listened on a port that others were told, in TF_CONFIG or MASTER_PORT? */
enum address_use {
    ADDRESS_UNKNOWN,
    ADDRESS_UNUSED,
    ADDRESS_USED,
    ADDRESS_OTHER,              /* not that, but it had a connection to another task; tf-rendezvous knows */
};

/* The addresses with which a program of the task has had a TCP connection (supervise/connections.h). */
#define LIFE_PEERS_MOST 16
struct life_peers {
    struct address address[LIFE_PEERS_MOST];
    int count;
};

struct life_report {
    int number;                 /* of the report, from 1 */
    int life;                   /* 0: the first one; -1: the task cannot be restarted */
    const char *cannot;         /* why not, or NULL; belongs to the caller, or lives in the frame */
    int asked_signal;           /* by which Slurm or the user asked the task to end; 0: by none */
    int64_t asked_at;           /* when, in seconds since 1970; 0: not known */
    int ago_ms;                 /* the time since the life has ended; 0: none, or not known */
    enum address_use address; /* in all lives of the task */
    struct life_peers peers;    /* as well */
};

/* As parts of a status (fields.h): that of an end, and what is also told of a task that runs, asked_... */
extern const struct fields life_report_fields, life_report_asked_fields;

#endif
