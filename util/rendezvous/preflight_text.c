/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "preflight_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/list_text.h"
#include "common/preflight.h"
#include "job/place.h"
#include "rank_names.h"

const char *preflight_text_item (const struct rank *rank)
{
    switch (rank->check.found) {
        case FOUND_FILES: return "files";
        case FOUND_GPUS: return "gpus";
        case FOUND_CLOCK: return "clock";
        case FOUND_PROGRAM: return "program";
        case FOUND_SLOW:
        case FOUND_UNREACHED: return "links";
        case FOUND_NOTHING:
        case FOUND_UNABLE:
        case FOUND_SILENCE: break;
    }
    return "check";
}

/* "2.3 MB/s" */
static const char *_rate_text (int kb, char *buf, size_t size)
{
    snprintf (buf, size, "%.*f MB/s", kb < 100000 ? 1 : 0, kb / 1000.0);
    return buf;
}

const char *preflight_text_reason (const struct rank *rank, const struct rendezvous_config *config, char *buf,
                                   size_t size)
{
    const struct check *c = &rank->check;
    const struct preflight_rule *rule = &config->preflight;
    char own[32], median[32];

    switch (c->found) {
        case FOUND_CLOCK:
            snprintf (buf, size, "clock: %d s %s the other hosts, and %d s are allowed", abs (c->value),
                      c->value > 0 ? "ahead of" : "behind", c->expected);
            break;
        case FOUND_SLOW:
            snprintf (buf, size, "links: %s at most, and %s is the median of the nodes",
                      _rate_text (c->value, own, sizeof (own)),
                      _rate_text (c->expected, median, sizeof (median)));
            break;
        case FOUND_UNREACHED: snprintf (buf, size, "links: it reaches no other node"); break;
        case FOUND_SILENCE: snprintf (buf, size, "check: its supervisor has not reported a result"); break;
        case FOUND_PROGRAM: snprintf (buf, size, "%.*s: %s", rule->length, rule->program, c->text); break;
        default: snprintf (buf, size, "%s: %s", preflight_text_item (rank), c->text);
    }
    return buf;
}

const char *preflight_text_result (const struct roster *roster, const struct rank *rank, bool warns,
                                   char *buf, size_t size)
{
    struct list_text list = { buf, size, "; ", RANK_NAMES_MOST, 0, 0 };
    char item[RANK_NAME_SIZE + 64];
    bool stays = false;

    EACH_RANK (r, roster) {
        if (strcmp (r->node, rank->node) != 0)
            continue;
        stays = stays || r->place;
        if (!r->replaced_by)
            continue;
        snprintf (item, sizeof (item), "%s %d (rank %d) is now rank %d on %s", rank_role (r), rank_index (r),
                  r->number, r->replaced_by->number, r->replaced_by->node);
        list_text_add (&list, item);
    }
    if (stays)
        list_text_add (&list, warns ? "its tasks start there all the same (warn)"
                                    : "no spare is free for its tasks");
    if (list.named == 0)
        list_text_add (&list, "its spare is not used");
    return list_text_end (&list);
}

const struct rank *preflight_text_first (const struct roster *roster)
{
    EACH_RANK (r, roster)
        if (r->check.checks)
            return r;
    return NULL;
}

int preflight_text_alike (const struct roster *roster)
{
    const struct rank *first = preflight_text_first (roster);
    int nodes = 0;

    EACH_RANK (r, roster) {
        if (!r->check.checks)
            continue;
        if (!r->suspect || r->check.found != first->check.found
            || strcmp (r->check.text, first->check.text) != 0)
            return 0;
        nodes++;
    }
    return nodes > 1 ? nodes : 0;
}

const char *preflight_text_nodes (const struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ",", 0, 0, 0 };

    EACH_RANK (r, roster)
        if (r->check.checks && r->suspect)
            list_text_add (&list, r->node);
    return list_text_end (&list);
}
