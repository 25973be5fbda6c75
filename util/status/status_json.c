/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "status_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"

static void _add (json_t *object, const char *key, json_t *value)
{
    /* jansson takes the value in any case. */
    json_object_set_new (object, key, value);
}

/* A node or a program may have sent any bytes. */
static void _add_text (json_t *object, const char *key, const char *text)
{
    char *copy = text ? strdup (text) : NULL;

    if (copy)
        printable_make_line (copy);
    _add (object, key, copy ? json_string (copy) : json_null ());
    free (copy);
}

static void _add_known (json_t *object, const char *key, int number, bool known)
{
    _add (object, key, known ? json_integer (number) : json_null ());
}

static json_t *_times (const struct overview_times *t)
{
    return json_pack ("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "launch", t->launch, "preflight",
                      t->preflight, "starting", t->starting, "waiting", t->waiting, "repeated", t->repeated,
                      "progress", t->progress, "noticing", t->noticing, "pausing", t->pausing, "suspended",
                      t->suspended);
}

static json_t *_task (const struct overview_rank *r, const struct stack *stack)
{
    json_t *task = json_object ();

    _add (task, "rank", json_integer (r->rank));
    _add_text (task, "role", r->role);
    _add_known (task, "index", r->index, r->role);
    _add_text (task, "node", r->node);
    _add (task, "state", json_string (overview_state_name[r->state]));
    _add_known (task, "training_step", r->step, r->step > 0);
    _add (task, "activity", json_string (signs_source_name[r->source]));
    _add_known (task, "last_activity_s", r->sign_age, r->sign_age >= 0);
    _add_known (task, "reported_s", r->told_age, r->told_age >= 0);
    _add_known (task, "unreachable_s", r->unheard, r->unheard >= 0);
    _add (task, "restarts", json_integer (r->restarts));
    _add_known (task, "exit_code", r->code, r->state == OVERVIEW_RANK_ENDED);
    _add_text (task, "end", r->end);
    _add_text (task, "message", r->words);
    if (stack) {
        _add_text (task, "stack", stack->known ? stack->text : NULL);
        _add_text (task, "stack_missing", stack->known ? NULL : stack->text);
    }
    return task;
}

json_t *status_json (const struct reply *reply)
{
    const struct overview *o = &reply->overview;
    json_t *object = json_object (), *tasks = json_array ();

    _add (object, "job", json_integer ((json_int_t)strtoul (o->job_step, NULL, 10)));
    _add_text (object, "step", o->job_step);
    _add_text (object, "array", o->array);
    _add_text (object, "user", o->user);
    _add_text (object, "job_name", o->job_name);
    _add_text (object, "srun_host", o->srun_host);
    _add (object, "phase", json_string (overview_phase_name[o->phase]));
    _add (object, "elapsed_s", json_integer (o->elapsed));
    _add_known (object, "training_step", o->step, o->step > 0);
    _add_known (object, "highest_training_step", o->highest, o->highest > 0);
    _add (object, "steps_per_s", o->rate_seconds > 0 ? json_real (o->rate / 1000.0) : json_null ());
    _add_known (object, "steps_per_s_over_s", o->rate_seconds, o->rate_seconds > 0);
    _add (object, "steps_per_s_before", o->slower > 0 ? json_real (o->rate_before / 1000.0) : json_null ());
    _add_known (object, "slower_since_s", o->slower, o->slower > 0);
    _add (object, "restarts", json_integer (o->restarts));
    _add_known (object, "restarts_left", o->restarts_left, o->restarts_left >= 0);
    _add (object, "repeated_steps", json_integer (o->repeated_steps));
    _add (object, "ranks", json_integer (o->ranks));
    _add (object, "missing", json_integer (o->missing));
    _add (object, "times_s", _times (&o->times));
    for (int i = 0; i < o->rows; i++)
        json_array_append_new (tasks, _task (&reply->rank[i], reply->stack ? &reply->stack[i] : NULL));
    _add (object, "tasks", tasks);
    return object;
}
