/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What tf-status prints of an overview.
 */
#include "config.h"

#include "unit.h"

#include "common/python_stack.h"
#include "status/python_ask.h"
#include "status/stacks.h"
#include "status/status_json.h"
#include "status/status_text.h"

#define MOST 1000

static struct overview_rank rank[MOST];
static struct reply reply = { .rank = rank };

/* A ps and workers, four on each node, that train well. */
static int begin (void **unused __attribute__ ((unused)))
{
    static char node[MOST / 4][8];

    reply.overview = (struct overview){ .job_step = "4711.0",
                                        .job_name = "resnet",
                                        .phase = OVERVIEW_TRAINS,
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
    return 0;
}

EACH_TEST (begin, NULL)

static void check (int ranks, bool all, const char *expected)
{
    char *text;

    reply.overview.ranks = reply.overview.rows = ranks;
    text = status_text (&reply, all);
    assert_string_equal (text, expected);
    free (text);
}

#define HEAD \
    "job 4711 \"resnet\", step 4711.0, 3 h 12 m: training, step 86,120, 2.1 steps/s; 1 restart, 2 left\n" \
    "time: 3 h 12 m in total, 3 h 01 m (94 %) new training steps\n"

TEST (each_task_of_a_few_has_a_row)
{
    check (4, false,
           HEAD "  rank  role      node  state    step    activity  restarts\n"
                "     0  ps 0      n1    running  -       -         1\n"
                "     1  worker 0  n1    running  86,120  1 s ago   1\n"
                "     2  worker 1  n1    running  86,120  1 s ago   1\n"
                "     3  worker 2  n1    running  86,120  1 s ago   1\n");
}

/* clang-format off */
static const char grouped[] =
    HEAD
    "worker 39 on n11 is slow: step 86,100; worker 0: step 86,120\n"
    "  rank  role         node      state          step            activity                restarts\n"
    "     0  ps 0         n1        running        -               -                       1\n"
    "    17  worker 16    n5        unreachable    86,120          not heard for 1 m 05 s  1\n"
    "    18  worker 17    n5        ended: exit 1  86,120          1 s ago                 1\n"
    "     1  worker (61)  16 nodes  running        86,100..86,120  12 s ago                1..3\n";

static const char thousand[] =
    HEAD
    "  rank  role          node       state    step    activity  restarts\n"
    "     0  ps 0          n1         running  -       -         1\n"
    "     1  worker (999)  250 nodes  running  86,120  1 s ago   1\n";
/* clang-format on */

TEST (tasks_of_many_are_grouped_and_what_is_unusual_comes_first)
{
    rank[17].state = OVERVIEW_RANK_SILENT;
    rank[17].unheard = 65;
    rank[18].state = OVERVIEW_RANK_ENDED;
    rank[18].end = "exit 1";
    rank[40].step = 86100;
    rank[40].told_age = 0;
    rank[41].sign_age = 12;
    rank[41].restarts = 3;
    check (64, false, grouped);
}

static int lines (const char *text)
{
    int count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

TEST (a_thousand_are_at_most_a_screen_whatever_they_do)
{
    char *text;

    check (MOST, false, thousand);
    /* Each of them ended in a way of its own. */
    for (int i = 0; i < MOST; i++) {
        static char end[MOST][16];

        snprintf (end[i], sizeof (end[0]), "exit %d", i);
        rank[i].state = OVERVIEW_RANK_ENDED;
        rank[i].end = end[i];
    }
    text = status_text (&reply, false);
    assert_int_equal (lines (text), STATUS_TEXT_LINES - 1);
    assert_non_null (strstr (text, "981 more tasks: --all\n"));
    free (text);
    text = status_text (&reply, true);
    assert_int_equal (lines (text), MOST + 3);
    free (text);
}

TEST (the_line_of_a_step_says_what_is_known)
{
    static const struct {
        struct overview step;
        const char *expected;
    } row[] = {
        { { .job_step = "12.0", .phase = OVERVIEW_LAUNCHES, .ranks = 64, .missing = 3, .restarts_left = -1 },
          "job 12, step 12.0, 0 s: launching, 3 of 64 tasks are missing" },
        { { .job_step = "12.0", .phase = OVERVIEW_RUNS, .elapsed = 61, .restarts_left = -1 },
          "job 12, step 12.0, 1 m 01 s: running" },
        { { .job_step = "14.1",
            .array = "11_3",
            .phase = OVERVIEW_REPEATS,
            .step = 1000,
            .highest = 1210,
            .rate = 52,
            .restarts = 2 },
          "job 14 (11_3), step 14.1, 0 s: repeating, step 1,000 of 1,210 before, 0.052 steps/s; 2 "
          "restarts, 0 left" },
        { { .job_step = "12.0",
            .phase = OVERVIEW_TRAINS,
            .step = 900,
            .highest = 900,
            .rate = 1400,
            .rate_before = 2100,
            .slower = 720,
            .restarts_left = -1 },
          "job 12, step 12.0, 0 s: training, step 900, 1.4 steps/s, slower for 12 m (2.1 before)" },
        { { .job_step = "12.0", .job_name = "a\nb\33[2J", .phase = OVERVIEW_RESTARTS, .restarts_left = -1 },
          "job 12 \"a b [2J\", step 12.0, 0 s: restarting" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        char *text = status_text_line (&row[i].step);

        assert_string_equal (text, row[i].expected);
        free (text);
    }
}

static bool someone_is_slow (char *text, size_t size)
{
    reply.overview.rows = 8;
    return status_text_slow (&reply, text, size);
}

TEST (a_task_is_slow_only_if_it_must_be_behind_now)
{
    char text[256];

    assert_false (someone_is_slow (text, sizeof (text)));
    /* It told before the others: it may be where they are, as far as the speed of the step goes. */
    rank[5].step = 86060;
    rank[5].told_age = 30;
    assert_false (someone_is_slow (text, sizeof (text)));
    rank[5].step = 86000;
    assert_true (someone_is_slow (text, sizeof (text)));
    rank[5].told_age = 1;
    assert_true (someone_is_slow (text, sizeof (text)));
    assert_string_equal (text, "worker 4 on n2 is slow: step 86,000; worker 0: step 86,120");
    /* 2.14 steps in a second. */
    rank[5].step = 86120 - BEHIND_STEPS - 6;
    assert_false (someone_is_slow (text, sizeof (text)));
    rank[5].step--;
    assert_true (someone_is_slow (text, sizeof (text)));
    /* What does not run is shown as what it is. */
    rank[5].step = 1;
    rank[5].state = OVERVIEW_RANK_BEGINS;
    assert_false (someone_is_slow (text, sizeof (text)));
}

/* doc/status.schema.json has these members. */
TEST (json_has_what_is_known_and_null_for_what_is_not)
{
    json_t *object;
    char *text;

    reply.overview.rows = reply.overview.ranks = 1;
    rank[0].node = "n\33";
    reply.overview.rate_seconds = 0;
    object = status_json (&reply);
    text = json_dumps (object, JSON_COMPACT);
    assert_string_equal (
        text, "{\"job\":4711,\"step\":\"4711.0\",\"array\":null,\"user\":null,\"job_name\":\"resnet\","
              "\"srun_host\":null,\"phase\":\"training\",\"elapsed_s\":11520,\"training_step\":86120,"
              "\"highest_training_step\":86120,\"steps_per_s\":null,\"steps_per_s_over_s\":null,"
              "\"steps_per_s_before\":null,\"slower_since_s\":null,\"restarts\":1,"
              "\"restarts_left\":2,\"repeated_steps\":0,\"ranks\":1,\"missing\":0,"
              "\"times_s\":{\"launch\":0,\"starting\":0,\"waiting\":0,\"repeated\":0,\"progress\":0,"
              "\"noticing\":0,\"pausing\":0,\"suspended\":0},\"tasks\":[{\"rank\":0,\"role\":\"ps\","
              "\"index\":0,\"node\":\"n \",\"state\":\"running\",\"training_step\":null,"
              "\"activity\":\"none\",\"last_activity_s\":null,\"reported_s\":1,\"unreachable_s\":null,"
              "\"restarts\":1,\"exit_code\":null,\"end\":null,\"message\":null}]}");
    free (text);
    json_decref (object);
}

/* Where Python is. */

TEST (a_stack_is_that_of_the_main_thread_in_the_users_own_file)
{
    static const char dump[] =
        "Thread 0x00007f0000000001 (most recent call first):\n"
        "  File \"/usr/lib/python3.11/threading.py\", line 320 in wait\n"
        "  File \"/usr/lib/python3.11/threading.py\", line 995 in _bootstrap\n"
        "\n"
        "Current thread 0x00007f0000000000 (most recent call first):\n"
        "  File \"/opt/lib/python3.11/site-packages/tf/execute.py\", line 53 in quick_execute\n"
        "  File \"/home/ann/train.py\", line 33 in main\n"
        "  File \"/home/ann/train.py\", line 40 in <module>\n";
    char text[256];

    assert_true (python_stack_find (text, sizeof (text), dump, sizeof (dump) - 1));
    assert_string_equal (text, "train.py:33 main, in quick_execute");
    /* It was cut, or is still written. */
    assert_false (python_stack_find (text, sizeof (text), dump, sizeof (dump) - 50));
}

TEST (py_spy_is_read_as_faulthandler)
{
    static const char json[] =
        "[{\"thread_name\":\"Thread-1\",\"frames\":[{\"name\":\"run\",\"filename\":\"a.py\",\"line\":1}]},"
        "{\"thread_name\":\"MainThread\",\"frames\":["
        "{\"name\":\"wait\",\"filename\":\"/usr/lib/python3.12/threading.py\",\"line\":320},"
        "{\"name\":\"main\",\"filename\":\"/home/ann/train.py\",\"line\":33},"
        "{\"name\":\"<module>\",\"filename\":\"/home/ann/train.py\",\"line\":40}]}]";
    struct step_task answer;

    python_read_spy (&answer, json, sizeof (json) - 1);
    assert_true (answer.known);
    assert_string_equal (answer.text, "train.py:33 main, in wait");
    python_read_spy (&answer, json, 20);
    assert_false (answer.known);
    python_read_spy (&answer, "[1, {}, null]", 13);
    assert_false (answer.known);
}

static void take_line (const char *line)
{
    char copy[128];

    snprintf (copy, sizeof (copy), "%s", line);
    stacks_take_line (&reply, copy);
}

TEST (places_are_grouped_rare_ones_first_and_unknown_ones_last)
{
    char *text;

    reply.overview.rows = MOST;
    reply.stack = calloc (MOST, sizeof (*reply.stack));
    for (int i = 0; i < MOST - 3; i++) {
        char line[64];

        snprintf (line, sizeof (line), "worker\t%d\t+\ttrain.py:%d main", i, i == 7 ? 20 : 33);
        take_line (line);
    }
    take_line ("ps\t0\t-\ttf-server is not Python");
    /* None of these is one, and a task that was replaced is not where its spare is. */
    rank[5].state = OVERVIEW_RANK_REPLACED;
    take_line ("worker\t997");
    take_line ("worker\t4\t+\ttrain.py:1 main");
    take_line ("worker\tx\t+\ttrain.py:1 main");
    take_line ("chief\t0\t+\ttrain.py:1 main");
    take_line ("");
    text = stacks_text (&reply, 10);
    assert_string_equal (
        text, " tasks  which                                      where their Python is\n"
              "     1  worker 7                                   train.py:20 main\n"
              "   996  worker 0, worker 1, worker 2 and 993 more  train.py:33 main\n"
              "     1  ps 0                                       not known: tf-server is not Python\n");
    free (text);
    text = stacks_text (&reply, 1);
    assert_non_null (strstr (text, "   997  others    elsewhere: --all\n"));
    free (text);
    for (int i = 0; i < MOST; i++)
        free (reply.stack[i].text);
    free (reply.stack);
}
