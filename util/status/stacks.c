/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "stacks.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/beside.h"
#include "common/deadline.h"
#include "common/list_text.h"
#include "common/number.h"
#include "common/printable.h"
#include "common/table.h"
#include "jobs.h"
#include "python_ask.h"
#include "relay.h"
#include "step_tasks.h"

/* On a node. */

int stacks_print_here (const struct wanted *wanted, const char *role)
{
    struct step_task *task;
    int found = step_tasks_find (&task, wanted->job, wanted->step ? wanted->step : ""), count = 0;

    for (int i = 0; i < found; i++)
        if (!role || strcmp (task[i].role, beside_name (role)) == 0)
            task[count++] = task[i];
    python_ask (task, count);
    for (int i = 0; i < count; i++) {
        printable_make_line (task[i].text);
        printf ("%s\t%d\t%c\t%s\n", task[i].role, task[i].index, task[i].known ? '+' : '-', task[i].text);
    }
    free (task);
    return found >= 0 && fflush (stdout) == 0 ? 0 : -1;
}

/* Lines of nodes. */

static bool _runs (const struct overview_rank *r)
{
    return r->state == OVERVIEW_RANK_RUNS || r->state == OVERVIEW_RANK_HUNG
           || r->state == OVERVIEW_RANK_STOPPING || r->state == OVERVIEW_RANK_BEGINS;
}

static void _set (struct stack *stack, bool known, const char *text)
{
    char *copy = strdup (text);

    if (!copy)
        return;
    printable_make_line (copy);
    free (stack->text);
    *stack = (struct stack){ known, copy };
}

/* What has been replaced has the same role. */
static bool _is_rank (const struct overview_rank *r, const char *role, int index)
{
    return _runs (r) && r->role && r->index == index && strcmp (beside_name (r->role), role) == 0;
}

void stacks_take_line (struct reply *reply, char *line)
{
    const char *role = strsep (&line, "\t"), *number = line ? strsep (&line, "\t") : NULL;
    const char *sign = line ? strsep (&line, "\t") : NULL;
    int index;

    if (!line || !sign || number_parse (&index, number, 0, INT_MAX) < 0)
        return;
    for (int i = 0; i < reply->overview.rows; i++)
        if (_is_rank (&reply->rank[i], role, index))
            _set (&reply->stack[i], *sign == '+', line);
}

static void _read_answers (struct reply *reply, struct relay *relay)
{
    char *text = relay_read (relay, true, deadline_in_ms (STACKS_MS)), *rest = text, *line;

    while ((line = strsep (&rest, "\n")))
        stacks_take_line (reply, line);
    free (text);
}

/* Who is asked. */

static bool _is_asked (const struct overview_rank *r, const char *role)
{
    return r->node && r->role && _runs (r)
           && (!role || strcmp (beside_name (r->role), beside_name (role)) == 0);
}

/* "n1,n2", each once; neighbours of the same rank are the usual case. NULL if there is no memory. */
static char *_nodes (const struct reply *reply, const char *role, int *count)
{
    const struct overview_rank *rank = reply->rank;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream (&text, &size);

    *count = 0;
    if (!f)
        return NULL;
    for (int i = 0; i < reply->overview.rows; i++) {
        bool had = !_is_asked (&rank[i], role);

        for (int k = 0; k < i && !had; k++)
            had = _is_asked (&rank[k], role) && strcmp (rank[k].node, rank[i].node) == 0;
        if (!had)
            fprintf (f, "%s%s", (*count)++ ? "," : "", rank[i].node);
    }
    fclose (f);
    return text;
}

/* The job is it, or a component of it. */
static void _ask_component (struct reply *reply, const struct job_info *job, const char *role,
                            struct errtext *err)
{
    char stacks_word[96] = "--stacks", *nodes = NULL;
    const char *const words[] = { "--node", stacks_word, reply->overview.job_step, NULL };
    int count = job->nodes;
    struct relay relay;

    if (role)
        snprintf (stacks_word, sizeof (stacks_word), "--stacks=%s", role);
    /* Of a heterogeneous job a list would name nodes of other components. */
    if (job->component < 0)
        nodes = _nodes (reply, role, &count);
    if (count > 0 && relay_begin (&relay, job, nodes, count, words, err) == 0) {
        _read_answers (reply, &relay);
        relay_why (&relay, "no process of it was found", err->text, sizeof (err->text));
        relay_end (&relay);
    }
    free (nodes);
}

int stacks_ask (struct reply *reply, const char *role, struct errtext *err)
{
    int rows = reply->overview.rows, found;
    struct errtext why = { "" };
    struct job_info *job;
    char number[16];

    snprintf (number, sizeof (number), "%u", reply_job (reply));
    found = jobs_find (&job, number, err);
    if (found >= 0 && !(reply->stack = calloc ((size_t)rows + 1, sizeof (*reply->stack))))
        errtext_set (err, "%s", strerror (ENOMEM));
    for (int i = 0; i < found && reply->stack; i++)
        if (job[i].leader == reply_job (reply))
            _ask_component (reply, &job[i], role, &why);
    free (job);
    for (int i = 0; i < rows && reply->stack; i++)
        if (_is_asked (&reply->rank[i], role) && !reply->stack[i].text)
            _set (&reply->stack[i], false, why.text);
    return reply->stack ? 0 : -1;
}

/* The table. */

struct place_of_stacks {
    const struct stack *stack; /* the same for */
    int first, tasks; /* so many ranks, and this is the first one */
};

static bool _is_same (const struct stack *one, const struct stack *other)
{
    return one->known == other->known && strcmp (one->text, other->text) == 0;
}

/* First where few are: for these the others wait. Last what is not known. */
static int _compare (const void *a, const void *b)
{
    const struct place_of_stacks *one = a, *other = b;

    if (one->stack->known != other->stack->known)
        return one->stack->known ? -1 : 1;
    return one->tasks != other->tasks ? one->tasks - other->tasks : one->first - other->first;
}

static int _group_stacks (const struct reply *reply, struct place_of_stacks *place)
{
    int places = 0;

    for (int i = 0; i < reply->overview.rows; i++) {
        const struct stack *stack = &reply->stack[i];
        int p = 0;

        if (!stack->text)
            continue;
        while (p < places && !_is_same (place[p].stack, stack))
            p++;
        if (p == places)
            place[places++] = (struct place_of_stacks){ stack, i, 0 };
        place[p].tasks++;
    }
    qsort (place, (size_t)places, sizeof (*place), _compare);
    return places;
}

static void _add_place (struct table *table, const struct reply *reply, const struct place_of_stacks *place)
{
    char number[16], names[256], name[96], text[600];
    struct list_text list = { names, sizeof (names), ", ", 3, 0, 0 };

    for (int i = place->first; i < reply->overview.rows; i++)
        if (reply->stack[i].text && _is_same (&reply->stack[i], place->stack)) {
            snprintf (name, sizeof (name), "%.70s %d", reply->rank[i].role, reply->rank[i].index);
            list_text_add (&list, name);
        }
    snprintf (number, sizeof (number), "%d", place->tasks);
    snprintf (text, sizeof (text), "%s%.570s", place->stack->known ? "" : "not known: ", place->stack->text);
    table_add_row (table, (const char *const[]){ number, list_text_end (&list), text });
}

char *stacks_text (const struct reply *reply, const char *role, int most)
{
    static const char *const heading[] = { "tasks", "which", "where their Python is" };
    struct place_of_stacks *place = calloc ((size_t)reply->overview.rows + 1, sizeof (*place));
    struct table *table = place ? table_create (NULL, heading, 3) : NULL;
    int places = place ? _group_stacks (reply, place) : 0, left = 0;
    char number[16], *text;

    for (int p = 0; p < places; p++)
        if (p < most)
            _add_place (table, reply, &place[p]);
        else
            left += place[p].tasks;
    if (left > 0) {
        snprintf (number, sizeof (number), "%d", left);
        table_add_row (table, (const char *const[]){ number, "others", "elsewhere: --all" });
    }
    if (places == 0)
        table_add_row (table, (const char *const[]){ "0", role ? role : "", "no such task runs now" });
    text = table ? table_print (table) : NULL;
    table_destroy (table);
    free (place);
    return text;
}
