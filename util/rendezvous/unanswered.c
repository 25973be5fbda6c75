/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unanswered.h"

#include <stdio.h>

#include "console.h"
#include "rank_names.h"
#include "shutdown.h"

/* Supervisors whose tasks began to connect at the same time tell of it within this time. */
#define TOGETHER_MS 10000
#define NAMED_MOST 4
/* What is left out of the line is counted, but not further than this: each takes a look at all ranks. */
#define COUNTED_MOST 1000

void unanswered_init (struct unanswered *u)
{
    *u = (struct unanswered){ .due = deadline_never () };
}

/* The rank that others know by this address; or NULL. */
static const struct rank *_find (const struct roster *roster, const struct signs_address *to)
{
    for (const struct rank *rank = roster->rank; rank < roster->rank + roster->tasks; rank++)
        if ((to->port == rank->port || to->port == rank->master_port) && rank->kind != RULES_SPARE
            && address_equal (&to->address, &rank->address))
            return rank;
    return NULL;
}

/* Tasks of one node see the same. */
static bool _has_told (const struct roster *roster, const struct rank *from)
{
    for (const struct rank *rank = roster->rank; rank < roster->rank + roster->tasks; rank++)
        if (rank->tells_unanswered && rank->node_index == from->node_index)
            return true;
    return false;
}

static void _add (struct unanswered *u, const struct roster *roster, const struct rank *from,
                  const struct rank *rank, const struct signs_address *to)
{
    char name[RANK_NAME_SIZE], item[2 * RANK_NAME_SIZE];
    struct address_text room;

    if (!u->list.buf)
        u->list = (struct list_text){ u->text, sizeof (u->text), "; ", NAMED_MOST, 0, 0 };
    snprintf (item, sizeof (item), "from %s to %s, %s", from->node,
              rank_name (roster, rank, name, sizeof (name)),
              address_print_port (&to->address, to->port, &room));
    list_text_add (&u->list, item);
    if (!deadline_is_set (u->due))
        u->due = deadline_in_ms (TOGETHER_MS);
}

void unanswered_take (struct server *server, struct rank *from, const struct signs *signs)
{
    struct unanswered *u = &server->shutdown->unanswered;
    const struct roster *roster = server->shutdown->roster;

    if (u->said || u->list.more >= COUNTED_MOST || _has_told (roster, from))
        return;
    for (int i = 0; i < signs->unanswered_count; i++) {
        const struct rank *rank = _find (roster, &signs->unanswered[i]);

        if (!rank)
            continue;
        from->tells_unanswered = true;
        _add (u, roster, from, rank, &signs->unanswered[i]);
    }
}

void unanswered_check (struct server *server)
{
    struct shutdown *s = server->shutdown;
    struct unanswered *u = &s->unanswered;

    if (!deadline_passed (u->due))
        return;
    u->due = deadline_never ();
    u->said = true;
    if (stop_policy_cause (s->policy) == STOP_POLICY_NOT_OVER)
        console_say (
            "spank_tf: %s: no answer to connections for a minute: %s; can these nodes reach each other? "
            "tf-check --step tries it",
            s->roster->step.name, list_text_end (&u->list));
}
