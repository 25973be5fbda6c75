/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ledger_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/amount.h"
#include "common/list_text.h"
#include "common/second.h"
#include "job/facts.h"
#include "job/ledger.h"

/* What took less than half a second is left out. */
static void _add (struct list_text *list, const char *what, int64_t ms)
{
    struct amount_text room;
    char item[96];

    if (ms < 500)
        return;
    snprintf (item, sizeof (item), "%s%s", what, amount_duration (ms, &room));
    list_text_add (list, item);
}

/* Steps that are done twice are named even if they took no time. */
static void _add_repeated (struct list_text *list, const struct ledger *l)
{
    struct amount_text number, room;
    char item[160];

    if (l->repeated_steps == 0)
        return;
    snprintf (item, sizeof (item), "repeating %s step%s%s%s", amount_number (l->repeated_steps, &number),
              l->repeated_steps == 1 ? "" : "s", l->ms[LEDGER_REPEATED] < 500 ? "" : " ",
              l->ms[LEDGER_REPEATED] < 500 ? "" : amount_duration (l->ms[LEDGER_REPEATED], &room));
    list_text_add (list, item);
}

/* What restarts have cost, item by item; the sum. */
static int64_t _add_costs (struct list_text *list, const struct ledger *l)
{
    int64_t starting = l->ms[LEDGER_STARTING] - l->first_ms;

    _add_repeated (list, l);
    _add (list, "detection ", l->ms[LEDGER_NOTICING]);
    _add (list, "pauses ", l->ms[LEDGER_PAUSING]);
    if (l->says)
        _add (list, "start-up ", starting);
    _add (list, "waiting for the slowest task ", l->ms[LEDGER_WAITING]);
    return l->ms[LEDGER_REPEATED] + l->ms[LEDGER_NOTICING] + l->ms[LEDGER_PAUSING] + l->ms[LEDGER_WAITING]
           + (l->says ? starting : 0);
}

/* ", 2 h 09 m for 3 restarts (repeating 1,210 steps 31 m, ...)", or nothing. */
static void _describe_costs (const struct ledger *l, char *buf, size_t size)
{
    char items[256];
    struct list_text list = { items, sizeof (items), ", ", 0, 0, 0 };
    int64_t lost = _add_costs (&list, l);
    struct amount_text room;
    int used;

    list_text_end (&list);
    if (l->restarts == 0 && lost < 500 && l->repeated_steps == 0)
        return;
    used = snprintf (buf, size, ", %s for ", amount_duration (lost, &room));
    if (l->restarts > 0)
        used += snprintf (buf + used, size - (size_t)used, "%d restart%s", l->restarts,
                          l->restarts == 1 ? "" : "s");
    else
        used += snprintf (buf + used, size - (size_t)used, "failures");
    if (*items)
        snprintf (buf + used, size - (size_t)used, " (%s)", items);
}

const char *ledger_text (const struct ledger *l, char *buf, size_t size)
{
    char costs[320] = "", suspended[64] = "", first[64] = "", checks[64] = "", last[48] = "";
    struct amount_text all, work, room;
    int64_t total = ledger_total (l);
    int64_t progress = l->says ? l->ms[LEDGER_PROGRESS] : l->ms[LEDGER_STARTING];
    int64_t start = l->ms[LEDGER_LAUNCH] + (l->says ? l->first_ms : 0);

    _describe_costs (l, costs, sizeof (costs));
    if (start >= 500)
        snprintf (first, sizeof (first), ", %s start-up", amount_duration (start, &room));
    if (l->ms[LEDGER_PREFLIGHT] >= 500)
        snprintf (checks, sizeof (checks), ", %s preflight",
                  amount_duration (l->ms[LEDGER_PREFLIGHT], &room));
    if (l->ms[LEDGER_SUSPENDED] > 0)
        snprintf (suspended, sizeof (suspended), ", %s suspended",
                  amount_duration (l->ms[LEDGER_SUSPENDED], &room));
    if (ledger_last_step (l) > 0)
        snprintf (last, sizeof (last), " (last: %s)", amount_number (ledger_last_step (l), &room));
    snprintf (buf, size, "%s in total, %s (%d %%) %s%s%s%s%s%s", amount_duration (total, &all),
              amount_duration (progress, &work), total > 0 ? (int)((100 * progress + total / 2) / total) : 0,
              l->says ? "new training steps" : "running (no training steps reported)", last, first, checks,
              costs, suspended);
    return buf;
}

const char *ledger_text_runs (const struct past_runs *runs, char *buf, size_t size)
{
    struct ledger sum = { .first_ms = runs->first * SECOND_MS,
                          .repeated_steps = runs->repeated_steps,
                          .restarts = runs->restarts,
                          .says = runs->says,
                          .reached = runs->step };

    for (int i = 0; i < LEDGER_ACCOUNTS; i++)
        sum.ms[i] = runs->seconds[i] * SECOND_MS;
    return ledger_text (&sum, buf, size);
}

const char *ledger_text_restart (const struct fact *fact, char *buf, size_t size)
{
    char items[128], since[96] = "";
    struct list_text list = { items, sizeof (items), ", ", 0, 0, 0 };
    struct amount_text room;
    char step[48];

    if (fact->seconds > 0)
        snprintf (since, sizeof (since), ", %d s after the last answer of a lost task", fact->seconds);
    _add (&list, "detection ", fact->noticing_ms);
    _add (&list, "pause ", fact->pausing_ms);
    if (fact->step > 0) {
        snprintf (step, sizeof (step), "last training step %s", amount_number (fact->step, &room));
        list_text_add (&list, step);
    }
    list_text_end (&list);
    snprintf (buf, size, "%s%s%s%s", since, *items ? " (" : "", items, *items ? ")" : "");
    return buf;
}
