/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What tf-status prints of an overview, and how it reads what nodes know of Python: status_text.golden.
 */
#include "config.h"

#include "messages.h"
#include "story.h"

#include "common/python_stack.h"
#include "status/python_ask.h"
#include "status/stacks.h"
#include "status/status_json.h"
#include "status/status_text.h"

#define MOST 1000

static struct overview_rank rank[MOST];
static struct frame *frame[MOST]; /* that has the texts of such a rank, or NULL; */
static struct frame *of_step; /* ... and those of the overview */
static struct reply reply = { .rank = rank };

static void end (void)
{
    for (int i = 0; i < MOST; i++) {
        frame_destroy (frame[i]);
        frame[i] = NULL;
    }
    frame_destroy (of_step);
    of_step = NULL;
    for (int i = 0; reply.stack && i < MOST; i++)
        free (reply.stack[i].text);
    free (reply.stack);
    reply.stack = NULL;
}

/* A ps and workers, four on each node, that train well. */
static void begin (int tasks)
{
    static char node[MOST / 4][8];

    end ();
    reply.overview = (struct overview){ .job_step = "4711.0",
                                        .job_name = "resnet",
                                        .phase = OVERVIEW_TRAINS,
                                        .ranks = tasks,
                                        .rows = tasks,
                                        .elapsed = 11520,
                                        .step = 86120,
                                        .highest = 86120,
                                        .rate = 2140,
                                        .rate_seconds = 300,
                                        .restarts = 1,
                                        .restarts_left = 2,
                                        .report = "3 h 12 m in total, 3 h 01 m (94 %) new training steps" };
    for (int i = 0; i < MOST; i++) {
        snprintf (node[i / 4], sizeof (node[0]), "n%d", i / 4 + 1);
        rank[i] = (struct overview_rank){ .rank = i,
                                          .role = i ? "worker" : "ps",
                                          .index = i ? i - 1 : 0,
                                          .node = node[i / 4],
                                          .state = OVERVIEW_RANK_RUNS,
                                          .step = i ? 86120 : 0,
                                          .source = i ? SIGNS_MESSAGES : SIGNS_NONE,
                                          .sign_age = i ? 1 : -1,
                                          .told_age = 1,
                                          .unheard = -1,
                                          .restarts = 1 };
    }
}

/* The frame of these lines, with "KEY=VALUE KEY=VALUE" instead of what they have. */
static struct frame *changed (const char *lines, char *words)
{
    struct frame *with = message_with (lines, NULL, NULL);

    while (*words) {
        char *value = story_word (&words), *key = strsep (&value, "=");

        if (!value)
            story_unknown (key);
        with = message_with (message_text (with), key, story_unescape (value));
    }
    return with;
}

static void change_rank (int number, char *words)
{
    struct frame *was = frame[number];

    frame[number] = changed (message_text (fields_frame (&overview_rank_fields, &rank[number])), words);
    assert_int_equal (fields_decode (&overview_rank_fields, &rank[number], frame[number], NULL), 0);
    frame_destroy (was);
}

static void change_step (char *words)
{
    of_step = changed (message_text (fields_frame (&overview_fields, &reply.overview)), words);
    assert_int_equal (fields_decode (&overview_fields, &reply.overview, of_step, NULL), 0);
}

/* Each in a way of its own. */
static void end_all (void)
{
    for (int i = 0; i < reply.overview.rows; i++) {
        char words[32];

        snprintf (words, sizeof (words), "STATE=ended END=exit%d", i);
        change_rank (i, words);
    }
}

static void print (char *text)
{
    assert_non_null (text);
    story_print ("%s", text);
    if (*text && text[strlen (text) - 1] != '\n')
        story_print ("\n");
    free (text);
}

static void count_lines (char *text)
{
    int count = 0;

    for (const char *p = text; *p; p++)
        count += *p == '\n';
    story_result ("%d", count);
    free (text);
}

/* Of an overview of these words. */
static void print_line (char *words)
{
    struct frame *with = changed ("JOB_STEP=0.0\n", words);
    struct overview overview;

    assert_int_equal (fields_decode (&overview_fields, &overview, with, NULL), 0);
    print (status_text_line (&overview));
    frame_destroy (with);
}

static void print_json (void)
{
    json_t *object = status_json (&reply);

    print (json_dumps (object, JSON_COMPACT));
    json_decref (object);
}

static void tell_slow (void)
{
    char text[256];

    story_result ("%s", status_text_slow (&reply, text, sizeof (text)) ? text : "nobody");
}

/* What faulthandler has written. */
static void read_stack (char *dump)
{
    char text[256];
    bool found = python_stack_find (text, sizeof (text), dump, strlen (story_unescape (dump)));

    story_result ("%s", found ? text : "not known");
}

static void read_spy (char *json)
{
    struct step_task task;

    python_read_spy (&task, json, strlen (story_unescape (json)));
    story_result ("%s", task.known ? task.text : "not known");
}

static void take_line (char *line)
{
    if (!reply.stack)
        assert_non_null (reply.stack = calloc (MOST, sizeof (*reply.stack)));
    stacks_take_line (&reply, line);
}

/* "N are at PLACE": the first workers. */
static void place_workers (char *event)
{
    int workers = story_number (&event);

    if (!story_begins (&event, "are at"))
        story_unknown (event);
    for (int i = 0; i < workers; i++) {
        char line[64];

        snprintf (line, sizeof (line), "worker\t%d\t+\t%s", i, event);
        take_line (line);
    }
}

static void play (char *event)
{
    if (*event >= '0' && *event <= '9') {
        int number = story_number (&event);

        if (story_begins (&event, "tasks"))
            begin (number);
        else
            change_rank (number, event);
    } else if (story_begins (&event, "step"))
        change_step (event);
    else if (story_begins (&event, "all have ended"))
        end_all ();
    else if (story_begins (&event, "text of all"))
        print (status_text (&reply, true));
    else if (story_begins (&event, "text"))
        print (status_text (&reply, false));
    else if (story_begins (&event, "lines of all"))
        count_lines (status_text (&reply, true));
    else if (story_begins (&event, "lines"))
        count_lines (status_text (&reply, false));
    else if (story_begins (&event, "line"))
        print_line (event);
    else if (story_begins (&event, "json"))
        print_json ();
    else if (story_begins (&event, "who is slow"))
        tell_slow ();
    else if (story_begins (&event, "faulthandler"))
        read_stack (event);
    else if (story_begins (&event, "py-spy"))
        read_spy (event);
    else if (story_begins (&event, "workers"))
        place_workers (event);
    else if (story_begins (&event, "a node says"))
        take_line (story_unescape (event));
    else if (story_begins (&event, "stacks")) {
        int most = story_number (&event);

        print (stacks_text (&reply, *event ? event : NULL, most));
    } else
        story_unknown (event);
}

STORIES (GOLDEN, play, end)
