/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What has happened to a rendezvous, in memory that outlives its process (keeper.h): one that reads it from
 * the begin knows what this one knew. An entry is whole, whenever the process that adds it is killed.
 */
#ifndef TF_JOURNAL_H
#define TF_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/address.h"
#include "protocol/frame.h"

/* What decides is told nothing else (job/job.h). */
enum journal_kind {
    JOURNAL_CONFIG,     /* srun's frame */
    JOURNAL_REGISTERED, /* a rank, by this frame, on a connection `from` there to `srun` */
    JOURNAL_LAUNCHED,   /* after `number` milliseconds */
    JOURNAL_WIRE,       /* the link of `rank` is `number`, and `silent` */
    JOURNAL_ABSENT,     /* job_absent (), with `number` and `heard` */
    JOURNAL_RETURNED,   /* job_returned (), with the status in this frame, or none */
    JOURNAL_STATUS,     /* job_status (), likewise */
    JOURNAL_TIME,       /* job_time () */
    JOURNAL_SLURM,      /* job_slurm (), with this frame */
};

struct journal_entry {
    enum journal_kind kind;
    int rank, number;
    bool silent;
    bool done;          /* when it is read: it has led to what it leads to */
    int64_t now, heard;
    struct address srun, from;
};

struct journal;

/*
 * NULL if there is no memory for it; all functions below then do nothing. It takes the memory that its
 * entries take.
 */
struct journal *journal_create (void);

/* In this process. */
void journal_destroy (struct journal *journal);

/*
 * The frame may be NULL. If there is no room the journal is full. While it is read nothing is added.
 */
void journal_add (struct journal *journal, const struct journal_entry *entry, struct frame *frame);

/* In a process that has been begun for it: the first entry, and the next ones, with the frame, or NULL. */
bool journal_read (struct journal *journal, struct journal_entry *entry, struct frame **fp);

/* All that has been added has led to what it leads to: journal_entry.done. */
void journal_set_done (struct journal *journal);

/* Can a rendezvous go on with it? */
enum journal_use {
    JOURNAL_EARLY,      /* no: the launch is not complete */
    JOURNAL_USEFUL,
    JOURNAL_FULL,       /* not any more: there was no room for an entry */
    JOURNAL_OVER,       /* it ends by itself, or its tasks have no supervisors */
};

/* One that is full stays so until it is over. */
void journal_set_use (struct journal *journal, enum journal_use use);
enum journal_use journal_use (const struct journal *journal);

/* Its room, in MiB. */
#define JOURNAL_MOST_MIB 64

#endif
