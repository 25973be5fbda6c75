/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdlib.h>
#include <time.h>

#include "job/ledger.h"
#include "rendezvous/show_json.h"

/* An event without its time, as check () compares it. */
#define EVENT(name, ranks, nodes, roles, most, left) \
    "{\"spank_tf\":\"" PACKAGE_VERSION "\",\"event\":\"" name "\",\"job\":12,\"step\":\"12.0\"," \
    "\"ranks\":" ranks ",\"nodes\":" nodes ",\"roles\":{" roles "},\"max_restarts\":" most "," \
    "\"restarts_left\":" left ","
#define THREE_ROLES "\"chief\":1,\"ps\":1,\"worker\":1"
#define ONE_CHIEF "\"chief\":1"

/* Moments of these tests are times of day. */
time_t __wrap_wall_clock (int64_t moment);

time_t __wrap_wall_clock (int64_t moment)
{
    return (time_t)(moment / 1000);
}

/* A chief on n1, a ps and a worker on n2. */
static struct roster roster;

static int create (void **state)
{
    static const char *const role[] = { "chief", "ps", "worker" };

    (void)state;
    roster_set_step (&roster, "12.0");
    if (roster_set_size (&roster, 3) < 0)
        return -1;
    for (int rank = 0; rank < 3; rank++) {
        struct rank *m = &roster.rank[rank];

        roster_set_role (m, role[rank]);
        m->node = strdup (rank ? "n2" : "n1");
        m->node_index = rank > 0;
        m->number = rank;
        m->port = 40000 + rank;
        if (address_parse (&m->address, rank ? "10.0.0.2" : "fd00::1") < 0)
            return -1;
    }
    return 0;
}

static int destroy (void **state)
{
    (void)state;
    roster_clear (&roster);
    return 0;
}

ALL_TESTS (create, destroy)

static void check (char *text, const char *expected)
{
    static const char key[] = "\"time\":";
    char *at = strstr (text, key), *after;
    long long seconds = strtoll (at + sizeof (key) - 1, &after, 10);

    assert_between (time (NULL) - seconds, 0, 2);
    memmove (at, after + 1, strlen (after));
    assert_string_equal (text, expected);
    free (text);
}

TEST (the_start_has_every_task)
{
    struct network_choice choice = { .network = "" };

    check (show_json_start (&roster, &choice, 3),
           EVENT ("start", "3", "2", THREE_ROLES, "3",
                  "3") "\"tasks\":["
                       "{\"rank\":0,\"role\":\"chief\",\"index\":0,\"node\":\"n1\",\"address\":\"fd00::1\","
                       "\"port\":40000},"
                       "{\"rank\":1,\"role\":\"ps\",\"index\":0,\"node\":\"n2\",\"address\":\"10.0.0.2\","
                       "\"port\":40001},"
                       "{\"rank\":2,\"role\":\"worker\",\"index\":0,\"node\":\"n2\",\"address\":\"10.0.0.2\","
                       "\"port\":40002}]}\n");
}

TEST (the_start_has_the_network_interfaces_and_log_files)
{
    struct network_choice choice = { .network = "10.0.0.0/16 (ib0)" };
    struct roster one = { .step = roster.step, .tasks = 1, .rank = &roster.rank[1] };

    strcpy (roster.rank[1].chosen_interface, "ib0");
    assert_non_null (roster.rank[1].log_dir = strdup ("/a \"b\"\n"));
    check (show_json_start (&one, &choice, 3),
           EVENT ("start", "1", "2", "\"ps\":1", "3",
                  "3") "\"network\":\"10.0.0.0/16 (ib0)\",\"tasks\":["
                       "{\"rank\":1,\"role\":\"ps\",\"index\":0,\"node\":\"n2\",\"address\":\"10.0.0.2\","
                       "\"port\":40001,\"interface\":\"ib0\",\"log\":\"/a \\\"b\\\"\\n/ps0.log\"}]}\n");
}

/* A file's name may have any bytes. */
TEST (a_text_that_is_not_utf8_is_left_out)
{
    struct network_choice choice = { .network = "" };
    struct roster one = { .step = roster.step, .tasks = 1, .rank = &roster.rank[0] };

    assert_non_null (roster.rank[0].log_dir = strdup ("/\xff"));
    check (show_json_start (&one, &choice, 3),
           EVENT ("start", "1", "1", ONE_CHIEF, "3",
                  "3") "\"tasks\":["
                       "{\"rank\":0,\"role\":\"chief\",\"index\":0,\"node\":\"n1\",\"address\":\"fd00::1\","
                       "\"port\":40000}]}\n");
}

TEST (a_hang_has_the_tasks_that_were_silent_since_when_and_what_they_did)
{
    struct fact_rank hung[] = { { .rank = &roster.rank[2] }, { .rank = &roster.rank[1] } };
    const struct fact fact = { .kind = FACT_HANG, .seconds = 300, .left = 2, .ranks = hung, .count = 2 };

    roster.rank[2].watch.since = 1700000000000;
    strcpy (roster.rank[2].watch.signs.status, "step \"1\"");
    roster.rank[1].watch.since = 1700000001000;
    roster.rank[1].watch.signs.stopped = true;
    check (show_json_hang (&roster, &fact, 3),
           EVENT ("hang", "3", "2", THREE_ROLES, "3",
                  "2") "\"seconds\":300,\"tasks\":["
                       "{\"rank\":2,\"role\":\"worker\",\"index\":0,\"node\":\"n2\",\"since\":1700000000,"
                       "\"status\":\"step \\\"1\\\"\"},"
                       "{\"rank\":1,\"role\":\"ps\",\"index\":0,\"node\":\"n2\",\"since\":1700000001,"
                       "\"stopped\":true}]}\n");
}

TEST (a_restart_has_the_tasks_that_failed_and_how)
{
    struct fact_rank failed[] = {
        { &roster.rank[2],
          { .kind = EXIT_REPORT_SIGNAL, .number = 9, .out_of_memory = EXIT_REPORT_MEMORY_JOB } },
        { &roster.rank[1], { .kind = EXIT_REPORT_EXIT, .number = 42 } },
    };
    const struct fact fact = { .kind = FACT_DECIDED,
                               .decision = RESTART_POLICY_ALL,
                               .pause = 4,
                               .left = 1,
                               .ranks = failed,
                               .count = 2 };

    check (show_json_restart (&roster, &fact, 3),
           EVENT ("restart", "3", "2", THREE_ROLES, "3",
                  "1") "\"all\":true,\"pause\":4,\"tasks\":["
                       "{\"rank\":2,\"role\":\"worker\",\"index\":0,\"node\":\"n2\",\"end\":\"signal\","
                       "\"number\":9,\"out_of_memory\":true,\"memory_limit\":\"job\"},"
                       "{\"rank\":1,\"role\":\"ps\",\"index\":0,\"node\":\"n2\",\"end\":\"exit\","
                       "\"number\":42}]}\n");
}

TEST (a_replacement_has_the_tasks_that_are_lost_or_how_the_one_has_ended_that_cannot_go_on)
{
    struct fact_rank replaced[] = { { &roster.rank[1], { .kind = EXIT_REPORT_SIGNAL, .number = 9 } } };
    struct fact fact = { .kind = FACT_REPLACED, .pause = 1, .left = 0, .ranks = replaced, .count = 1 };

    check (show_json_restart (&roster, &fact, 1),
           EVENT ("restart", "3", "2", THREE_ROLES, "1",
                  "0") "\"all\":true,\"pause\":1,\"tasks\":["
                       "{\"rank\":1,\"role\":\"ps\",\"index\":0,\"node\":\"n2\",\"end\":\"lost\"}]}\n");
    fact.because = FACT_IS_STUCK;
    check (show_json_restart (&roster, &fact, 1),
           EVENT ("restart", "3", "2", THREE_ROLES, "1",
                  "0") "\"all\":true,\"pause\":1,\"tasks\":["
                       "{\"rank\":1,\"role\":\"ps\",\"index\":0,\"node\":\"n2\",\"end\":\"signal\","
                       "\"number\":9}]}\n");
}

/* One that had ended is only missed at the barrier. */
TEST (a_loss_has_the_tasks_that_are_lost)
{
    struct fact_rank lost[] = { { .rank = &roster.rank[1] }, { .rank = &roster.rank[2] } };
    const struct fact fact = { .kind = FACT_LOST, .left = 2, .ranks = lost, .count = 2 };

    roster.rank[1].state = RANK_LOST;
    roster.rank[2].state = RANK_ENDED;
    roster.rank[1].end = (struct end){ .report = { .kind = EXIT_REPORT_SIGNAL, .number = 9 },
                                       .at = 1000000,
                                       .elapsed_ms = 5999 };
    check (show_json_lost (&roster, &fact, 3),
           EVENT ("lost", "3", "2", THREE_ROLES, "3",
                  "2") "\"tasks\":["
                       "{\"rank\":1,\"role\":\"ps\",\"index\":0,\"node\":\"n2\",\"end\":\"lost\","
                       "\"restarts\":0,\"time\":1000,\"elapsed\":5}]}\n");
}

static void ended (int rank, enum rank_state state, struct end end)
{
    roster.rank[rank].state = state;
    roster.rank[rank].end = end;
}

static const struct fact *end_of (int left)
{
    static struct fact fact;

    fact = (struct fact){ .kind = FACT_ENDED, .left = left };
    return &fact;
}

TEST (the_end_has_the_ledger_and_null_for_what_is_not_known)
{
    struct roster one = { .step = roster.step, .tasks = 1, .rank = &roster.rank[0] };
    struct ledger ledger = { .ms = { [LEDGER_LAUNCH] = 1500,
                                     [LEDGER_STARTING] = 2000,
                                     [LEDGER_WAITING] = 250,
                                     [LEDGER_REPEATED] = 3000,
                                     [LEDGER_PROGRESS] = 60000,
                                     [LEDGER_NOTICING] = 4000,
                                     [LEDGER_PAUSING] = 5000,
                                     [LEDGER_SUSPENDED] = 7000 },
                             .says = true,
                             .repeated_steps = 12,
                             .before = 86120,
                             .reached = 86100,
                             .idle_ms = 90000,
                             .restarts = 2,
                             .replaced = 1 };
    const struct fact fact = { .kind = FACT_ENDED, .ledger = &ledger };
    char *line = show_json_end (&one, 3, &fact);

    assert_non_null (
        strstr (line, "\"ledger\":{\"launch_s\":1.5,\"progress_s\":60.0,\"repeated_s\":3.0,"
                      "\"noticing_s\":4.0,\"pausing_s\":5.0,\"starting_s\":2.0,"
                      "\"waiting_s\":0.25,\"running_s\":null,\"suspended_s\":7.0,"
                      "\"total_s\":82.75,\"repeated_steps\":12,\"last_step\":86120,\"idle_spare_s\":90.0,"
                      "\"restarts\":2,\"replaced\":1}"));
    free (line);
    ledger.says = false;
    assert_non_null (line = show_json_end (&one, 3, &fact));
    assert_non_null (strstr (line, "\"progress_s\":null,\"repeated_s\":null,\"noticing_s\":4.0,"
                                   "\"pausing_s\":5.0,\"starting_s\":null,\"waiting_s\":null,"
                                   "\"running_s\":2.0,"));
    assert_non_null (strstr (line, "\"repeated_steps\":null,\"last_step\":null,"));
    free (line);
}

TEST (the_end_has_every_end_the_first_failure_and_where_the_logs_are)
{
    static struct failure_text failure = { FAILURE_TEXT_LOG, "line", { CAUSE_LIBRARY, "libx.so" } };

    ended (0, RANK_ENDED,
           (struct end){
               .report = { .kind = EXIT_REPORT_EXIT, .number = 3 }, .at = 1000002, .elapsed_ms = 61999 });
    ended (1, RANK_ENDED,
           (struct end){ .report = { .kind = EXIT_REPORT_STOPPED, .killed = true, .killed_after = 10 },
                         .at = 1001000,
                         .elapsed_ms = 62000 });
    ended (2, RANK_ENDED,
           (struct end){ .report = { .kind = EXIT_REPORT_SIGNAL,
                                     .number = 9,
                                     .out_of_memory = EXIT_REPORT_MEMORY_UNKNOWN },
                         .at = 1000001,
                         .elapsed_ms = 500 });
    roster.rank[0].end.failure = &failure;
    roster.rank[0].life.number = 2;
    roster.rank[0].address_use = ADDRESS_UNUSED;
    roster.rank[2].address_use = ADDRESS_USED;
    free (roster.rank[0].log_dir);
    assert_non_null (roster.rank[0].log_dir = strdup ("/logs"));
    check (show_json_end (&roster, 3, end_of (1)),
           EVENT ("end", "3", "2", THREE_ROLES, "3",
                  "1") "\"cancelled\":false,"
                       "\"succeeded\":false,\"first_to_fail\":2,"
                       "\"log_dir\":\"/logs\",\"tasks\":["
                       "{\"rank\":0,\"role\":\"chief\",\"index\":0,\"node\":\"n1\",\"end\":\"exit\","
                       "\"number\":3,\"cause\":\"library\",\"cause_detail\":\"libx.so\",\"restarts\":2,"
                       "\"address_used\":false,\"time\":1000,\"elapsed\":61},"
                       "{\"rank\":1,\"role\":\"ps\",\"index\":0,\"node\":\"n2\",\"end\":\"stopped\","
                       "\"killed_after\":10,\"restarts\":0,\"time\":1001,\"elapsed\":62},"
                       "{\"rank\":2,\"role\":\"worker\",\"index\":0,\"node\":\"n2\",\"end\":\"signal\","
                       "\"number\":9,\"out_of_memory\":true,\"restarts\":0,"
                       "\"address_used\":true,\"time\":1000,\"elapsed\":0}]}\n");
    free (roster.rank[0].log_dir);
    roster.rank[0].log_dir = NULL;
    roster.rank[0].address_use = roster.rank[2].address_use = ADDRESS_UNKNOWN;
    roster.rank[0].end.failure = NULL;
}

TEST (a_lost_task_has_no_number_and_without_a_failure_none_is_first)
{
    struct roster one = { .step = roster.step, .tasks = 1, .rank = &roster.rank[0] };

    ended (0, RANK_LOST,
           (struct end){
               .report = { .kind = EXIT_REPORT_SIGNAL, .number = 9 }, .at = 1000000, .elapsed_ms = 0 });
    roster.rank[0].life.number = 0;
    check (show_json_end (&one, 0, end_of (0)),
           EVENT ("end", "1", "1", ONE_CHIEF, "0",
                  "0") "\"cancelled\":false,"
                       "\"succeeded\":false,\"first_to_fail\":0,"
                       "\"tasks\":["
                       "{\"rank\":0,\"role\":\"chief\",\"index\":0,\"node\":\"n1\",\"end\":\"lost\","
                       "\"restarts\":0,\"time\":1000,\"elapsed\":0}]}\n");
    ended (0, RANK_ENDED,
           (struct end){ .report = { .kind = EXIT_REPORT_EXIT }, .at = 1000000, .elapsed_ms = 0 });
    check (show_json_end (&one, 0, end_of (0)),
           EVENT ("end", "1", "1", ONE_CHIEF, "0",
                  "0") "\"cancelled\":false,"
                       "\"succeeded\":true,\"first_to_fail\":null,"
                       "\"tasks\":["
                       "{\"rank\":0,\"role\":\"chief\",\"index\":0,\"node\":\"n1\",\"end\":\"exit\","
                       "\"number\":0,\"restarts\":0,\"time\":1000,\"elapsed\":0}]}\n");
}

TEST (a_task_that_was_replaced_is_lost_and_has_no_place)
{
    struct rank *lost = &roster.rank[1], *spare = &roster.rank[2];

    ended (0, RANK_ENDED,
           (struct end){ .report = { .kind = EXIT_REPORT_EXIT }, .at = 1000000, .elapsed_ms = 0 });
    ended (1, RANK_ENDED,
           (struct end){
               .report = { .kind = EXIT_REPORT_SIGNAL, .number = 9 }, .at = 1000000, .elapsed_ms = 0 });
    ended (2, RANK_ENDED,
           (struct end){ .report = { .kind = EXIT_REPORT_STOPPED }, .at = 1000000, .elapsed_ms = 0 });
    lost->replaced_by = spare;
    spare->replaces = lost;
    check (
        show_json_end (&roster, 3, end_of (1)),
        EVENT (
            "end", "3", "2", "\"chief\":1,\"worker\":1", "3",
            "1") "\"cancelled\":false,"
                 "\"succeeded\":true,\"first_to_fail\":null,\"tasks\":["
                 "{\"rank\":0,\"role\":\"chief\",\"index\":0,\"node\":\"n1\",\"end\":\"exit\","
                 "\"number\":0,\"restarts\":0,\"time\":1000,\"elapsed\":0},"
                 "{\"rank\":1,\"role\":\"ps\",\"index\":0,\"node\":\"n2\",\"replaced_by\":2,\"end\":\"lost\","
                 "\"restarts\":0,\"time\":1000,\"elapsed\":0},"
                 "{\"rank\":2,\"role\":\"worker\",\"index\":0,\"node\":\"n2\",\"replaces\":1,"
                 "\"end\":\"stopped\",\"restarts\":0,\"time\":1000,\"elapsed\":0}]}\n");
    lost->replaced_by = spare->replaces = NULL;
}
