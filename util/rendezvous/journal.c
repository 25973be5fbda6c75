/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "journal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

/* Some 300,000 entries; in a step of 1,000 tasks each may fail fifty times. */
#define MAX_SIZE ((size_t)JOURNAL_MOST_MIB << 20)

struct shared {
    _Atomic size_t used, done;
    _Atomic enum journal_use use;
    unsigned char bytes[];
};

struct journal {
    struct shared *shared;
    size_t read;                /* by this process */
    bool reads;
};

struct head {
    struct journal_entry entry;
    size_t length;              /* of the frame behind it */
};

struct journal *journal_create (void)
{
    struct journal *j = calloc (1, sizeof (*j));

    if (!j)
        return NULL;
    j->shared =
        mmap (NULL, MAX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (j->shared != MAP_FAILED)
        return j;
    free (j);
    return NULL;
}

void journal_destroy (struct journal *j)
{
    if (j)
        munmap (j->shared, MAX_SIZE);
    free (j);
}

static size_t _end_of (size_t begin, size_t length)
{
    return begin + sizeof (struct head) + length;
}

void journal_add (struct journal *j, const struct journal_entry *entry, struct frame *frame)
{
    struct head head = { .entry = *entry };
    const void *bytes = frame ? frame_bytes (frame, 0, &head.length) : NULL;
    size_t used;

    if (!j || j->reads)
        return;
    used = j->shared->used;
    if ((frame && !bytes) || _end_of (used, head.length) > MAX_SIZE - sizeof (struct shared)) {
        journal_set_use (j, JOURNAL_FULL);
        return;
    }
    memcpy (j->shared->bytes + used, &head, sizeof (head));
    if (bytes)
        memcpy (j->shared->bytes + used + sizeof (head), bytes, head.length);
    j->shared->used = _end_of (used, head.length);
}

bool journal_read (struct journal *j, struct journal_entry *entry, struct frame **fp)
{
    struct head head;
    struct iovec frame;

    *fp = NULL;
    j->reads = j->read < j->shared->used;
    if (!j->reads)
        return false;
    memcpy (&head, j->shared->bytes + j->read, sizeof (head));
    frame = (struct iovec){ j->shared->bytes + j->read + sizeof (head), head.length };
    if (head.length > 0)
        *fp = frame_join (&frame, 1);
    *entry = head.entry;
    j->read = _end_of (j->read, head.length);
    entry->done = j->read <= j->shared->done;
    return head.length == 0 || *fp;
}

void journal_set_done (struct journal *j)
{
    if (j)
        j->shared->done = j->shared->used;
}

void journal_set_use (struct journal *j, enum journal_use use)
{
    if (j && (j->shared->use != JOURNAL_FULL || use == JOURNAL_OVER))
        j->shared->use = use;
}

enum journal_use journal_use (const struct journal *j)
{
    return j->shared->use;
}
