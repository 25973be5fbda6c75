/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What tf-rendezvous knows of a step, and how tf-status finds it and reads it.
 */
#include "config.h"

#include "messages.h"

#include <unistd.h>

#include "common/second.h"
#include "job/model.h"
#include "rendezvous/pace.h"
#include "rendezvous/step_overview.h"
#include "status/jobs.h"
#include "status/relay.h"
#include "status/reply.h"

/* Messages. */

TEST (an_overview_has_these_strings)
{
    const struct overview o = { .job_step = "12.0",
                                .array = "11_3",
                                .user = "ann",
                                .job_name = "train",
                                .srun_host = "login1",
                                .phase = OVERVIEW_REPEATS,
                                .ranks = 2,
                                .missing = 1,
                                .elapsed = 60,
                                .step = 10,
                                .highest = 12,
                                .rate = 2140,
                                .rate_seconds = 30,
                                .rate_before = 3000,
                                .slower = 9,
                                .restarts = 1,
                                .restarts_left = 0,
                                .repeated_steps = 5,
                                .times = { 1, 2, 3, 4, 5, 6, 7, 8 },
                                .report = "60 s",
                                .rows = 2 };

    assert_string_equal (
        message_text (fields_frame (&overview_fields, &o)),
        "JOB_STEP=12.0\nARRAY=11_3\nUSER=ann\nJOB_NAME=train\nSRUN_HOST=login1\nPHASE=repeating\n"
        "RANKS=2\nMISSING=1\nELAPSED_S=60\nSTEP=10\nHIGHEST_STEP=12\nRATE=2140\nRATE_S=30\n"
        "RATE_BEFORE=3000\nSLOWER_S=9\n"
        "RESTARTS=1\nRESTARTS_LEFT=0\nREPEATED_STEPS=5\nLAUNCH_S=1\nSTARTING_S=2\nWAITING_S=3\n"
        "REPEATED_S=4\nPROGRESS_S=5\nNOTICING_S=6\nPAUSING_S=7\nSUSPENDED_S=8\nTIME_REPORT=60 s\n"
        "ROWS=2\n");
}

TEST (an_overview_of_a_rank_has_these_strings)
{
    const struct overview_rank r = { 1, "worker", 2, "n1", OVERVIEW_RANK_ENDED, 10,       SIGNS_LOG, 0,
                                     0, 0,        3, 137,  "signal 9",          "step 10" };

    assert_string_equal (
        message_text (fields_frame (&overview_rank_fields, &r)),
        "RANK=1\nSTATE=ended\nROLE=worker\nINDEX=2\nNODE=n1\nSTEP=10\nSIGNS=log\nSIGN_AGE_S=0\n"
        "TOLD_AGE_S=0\nUNHEARD_S=0\nLIVES_BEFORE=3\nEXIT_CODE=137\nEND=signal 9\nSTATUS=step 10\n");
}

/* Names of sockets. */

TEST (sources_are_the_users_own)
{
    const char *path =
        file_with ("Num       RefCount Protocol Flags    Type St Inode Path\n"
                   "0: 00000002 00000000 00010000 0001 01 1 @spank_tf/overview/1000/0000000000000abc\n"
                   "0: 00000003 00000000 00000000 0001 03 2 @spank_tf/overview/1000/0000000000000abc\n"
                   "0: 00000002 00000000 00010000 0001 01 3 @spank_tf/overview/1001/00000000000000ff\n"
                   "0: 00000002 00000000 00010000 0001 01 7 @spank_tf/overview/1001/0000000000000abc\n"
                   "0: 00000002 00000000 00010000 0001 01 4 @spank_tf/overview/1000/00ff/x\n"
                   "0: 00000002 00000000 00010000 0001 01 5 /run/spank_tf/overview/1000/1\n"
                   "0: 00000002 00000000 00010000 0001 01 6\n");
    struct reply_source *list;
    struct errtext err;

    assert_int_equal (reply_sources (path, 1000, &list, &err), 1);
    assert_int_equal (list[0].uid, 1000);
    assert_int_equal (list[0].number, 0xabc);
    free (list);
    assert_int_equal (reply_sources (path, 0, &list, &err), 3);
    free (list);
    assert_int_equal (reply_sources ("/nowhere", 0, &list, &err), -1);
}

TEST (a_name_is_read_as_it_was_made)
{
    struct sockaddr_un address;
    socklen_t length = overview_address (&address, 1000, UINT64_MAX);
    char name[sizeof (address.sun_path) + 1] = "";
    uint64_t number = 0;
    uid_t uid = 0;

    memcpy (name, address.sun_path, length - offsetof (struct sockaddr_un, sun_path));
    assert_int_equal (name[0], '\0');
    name[0] = '@';
    assert_true (overview_name_parse (name, &uid, &number));
    assert_int_equal (uid, 1000);
    assert_true (number == UINT64_MAX);
}

/* squeue. */

/* As squeue pads and cuts them. */
static const char *line_of_squeue (const char *const *column)
{
    static const int width[] = { 39, 15, 15, 15, 15, 15, 15, 23, 7, 127, 63 };
    static char line[512];
    int used = 0;

    for (size_t i = 0; i < COUNT (width); i++)
        used += snprintf (line + used, sizeof (line) - (size_t)used, "%-*.*s", width[i], width[i], column[i]);
    strcpy (line + used, "\n");
    return line;
}

TEST (a_line_of_squeue_is_read)
{
    static const char *const array[] = { "11_3", "14",      "0", "0",  "2",        "1000",
                                         "1001", "RUNNING", "1", "n1", "my  \"job" };
    static const char *const component[] = { "20+1", "21",         "20", "1",   "3", "0",
                                             "100",  "COMPLETING", "0",  "n/a", "" };
    /* Of a federation, and a user of a directory service. */
    static const char *const high[] = { "4294967293+1", "4294967293", "3000000000", "1",  "1", "3000000001",
                                        "3000000002",   "RUNNING",    "1",          "n1", "" };
    static const char *const invalid[] = { "12", "12", "0", "0", "1", "x", "0", "RUNNING", "1", "n1", "" };
    struct job_info job;

    assert_string_equal (jobs_parse (&job, line_of_squeue (array)), "");
    assert_string_equal (job.name, "11_3");
    assert_int_equal (job.number, 14);
    assert_int_equal (job.leader, 14);
    assert_int_equal (job.component, -1);
    assert_int_equal (job.nodes, 2);
    assert_int_equal (job.uid, 1000);
    assert_int_equal (job.gid, 1001);
    assert_true (job.batch && job_runs (&job) && !job_is_over (&job));
    assert_string_equal (job.host, "n1");
    assert_string_equal (job.title, "my  \"job");
    assert_non_null (jobs_parse (&job, line_of_squeue (component)));
    assert_int_equal (job.leader, 20);
    assert_int_equal (job.component, 1);
    assert_false (job.batch);
    assert_string_equal (job.host, "");
    assert_non_null (jobs_parse (&job, line_of_squeue (high)));
    assert_true (job.number == 4294967293 && job.leader == 3000000000);
    assert_true (job.uid == 3000000001 && job.gid == 3000000002);
    assert_null (jobs_parse (&job, line_of_squeue (invalid)));
    assert_null (jobs_parse (&job, ""));
    assert_null (jobs_parse (&job, "slurm_load_jobs error: Invalid job id specified\n"));
}

TEST (a_job_is_over_when_slurm_does_not_run_it_and_will_not)
{
    struct job_info job = { .state = "PENDING" };

    assert_false (job_runs (&job) || job_is_over (&job));
    strcpy (job.state, "SUSPENDED");
    assert_true (job_runs (&job));
    strcpy (job.state, "COMPLETED");
    assert_true (!job_runs (&job) && job_is_over (&job));
}

TEST (the_number_of_a_job_has_32_bits)
{
    const struct reply reply = { .overview.job_step = "4294967293.0" };

    assert_true (reply_job (&reply) == 4294967293);
}

/* Which steps are asked for. */

TEST (a_job_is_wanted_by_its_number_or_its_array)
{
    static const struct overview o = { .job_step = "14.0", .array = "11_3" };
    static const struct {
        struct wanted wanted;
        bool is;
    } row[] = {
        { { NULL, NULL, false }, true },   { { "14", NULL, false }, true },
        { { "14", "0", true }, true },     { { "14", "1", false }, false },
        { { "1", NULL, false }, false },   { { "11_3", "0", false }, true },
        { { "11_3", NULL, true }, false }, { { "11", NULL, false }, true },
        { { "11", NULL, true }, false },   { { "11_4", NULL, false }, false },
        { { "140", NULL, false }, false },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        assert_int_equal (wanted_is (&row[i].wanted, &o), row[i].is);
}

/* What a tf-status on another host passes on, which comes by slurmstepd and srun. */

static void assert_reads (struct relay *relay, bool all, const char *expected)
{
    char *text = relay_read (relay, all, deadline_in_ms (all ? 1000 : 50));

    if (expected)
        assert_string_equal (text, expected);
    else
        assert_null (text);
    free (text);
}

TEST (what_another_host_prints_is_read_round_by_round)
{
    static const char printed[] = "one\ntwo\n" RELAY_MARK RELAY_MARK "three" RELAY_MARK "cut";
    struct relay relay = { .errors = -1 };
    int end[2];

    assert_int_equal (pipe (end), 0);
    relay.fd = end[0];
    assert_int_equal (write (end[1], printed, sizeof (printed) - 1), sizeof (printed) - 1);
    assert_reads (&relay, false, "one\ntwo\n");
    assert_reads (&relay, false, "");
    assert_reads (&relay, false, "three");
    /* It may not be all. */
    assert_reads (&relay, false, NULL);
    close (end[1]);
    assert_reads (&relay, false, NULL);
    assert_true (relay.over);
    assert_reads (&relay, true, "cut");
    relay_end (&relay);
}

/* Steps per second. */

static struct pace pace;

static int rate (int64_t seconds)
{
    int over;

    return pace_rate (&pace, seconds * SECOND_MS, &over);
}

TEST (the_pace_is_that_of_the_last_minutes)
{
    int over;

    pace = (struct pace){ .count = 0 };
    assert_int_equal (rate (0), 0);
    for (int s = 0; s <= 1000; s++)
        pace_note (&pace, s * SECOND_MS, 1 + 2 * s);
    assert_int_equal (rate (1000), 2000);
    /* From then on it is half of that. */
    for (int s = 1001; s <= 2000; s++)
        pace_note (&pace, s * SECOND_MS, 2001 + (s - 1000));
    assert_int_equal (pace_rate (&pace, 2000 * SECOND_MS, &over), 1000);
    assert_true (over >= 295 && over <= 310);
}

TEST (the_pace_falls_when_no_step_comes)
{
    pace = (struct pace){ .count = 0 };
    for (int s = 0; s <= 100; s++)
        pace_note (&pace, s * SECOND_MS, 1 + s);
    assert_int_equal (rate (104), 1000);
    assert_true (rate (200) < 600);
    assert_int_equal (rate (1000), 0);
}

TEST (a_step_is_slower_since_it_trains_slower_than_before)
{
    int seconds, s, step = 1;

    pace = (struct pace){ .count = 0 };
    for (s = 0; s <= 7200; s++)
        pace_note (&pace, s * SECOND_MS, step += 2);
    assert_int_equal (pace_before (&pace, s * SECOND_MS, &seconds), 0);
    /* A pause that is over, a slow part that is short, and no step for a short time. */
    s += 300;
    for (int end = s + 1200; s <= end; s++)
        pace_note (&pace, s * SECOND_MS, step += 2);
    assert_int_equal (pace_before (&pace, s * SECOND_MS, &seconds), 0);
    assert_int_equal (pace_before (&pace, (s + 100) * SECOND_MS, &seconds), 0);
    for (int end = s + 90; s <= end; s += 10)
        pace_note (&pace, s * SECOND_MS, ++step);
    assert_int_equal (pace_before (&pace, s * SECOND_MS, &seconds), 0);
    for (int end = s + 600; s <= end; s++)
        pace_note (&pace, s * SECOND_MS, step += 2);
    /* A tenth slower is not slower. */
    for (int end = s + 600; s <= end; s++)
        pace_note (&pace, s * SECOND_MS, step += s % 5 ? 2 : 1);
    assert_int_equal (pace_before (&pace, s * SECOND_MS, &seconds), 0);
    for (int end = s + 600; s <= end; s++)
        pace_note (&pace, s * SECOND_MS, step += 1);
    assert_between (pace_before (&pace, s * SECOND_MS, &seconds), 1850, 2000);
    /* As exact as there are samples. */
    assert_between (seconds, 520, 680);
    /* It hangs, and it has begun anew. */
    assert_between (pace_before (&pace, (s + 600) * SECOND_MS, &seconds), 1700, 2000);
    pace_note (&pace, s * SECOND_MS, 1);
    pace_note (&pace, (s + 300) * SECOND_MS, 2);
    assert_int_equal (pace_before (&pace, (s + 600) * SECOND_MS, &seconds), 0);
}

TEST (the_pace_begins_anew_after_a_restart)
{
    pace = (struct pace){ .count = 0 };
    for (int s = 0; s <= 100; s++)
        pace_note (&pace, s * SECOND_MS, 1001 + s);
    pace_note (&pace, 110 * SECOND_MS, 0);
    assert_int_equal (rate (110), 0);
    pace_note (&pace, 120 * SECOND_MS, 1000);
    assert_int_equal (rate (120), 0);
    pace_note (&pace, 130 * SECOND_MS, 1005);
    assert_int_equal (rate (130), 500);
}

/* A step of a ps, two workers and a spare. */

#define NOW (100 * SECOND_MS)

static struct rendezvous_config config;
static struct roster roster;
static char node[] = "n1";
static struct rank ranks[4];
static struct place places[3];
static struct job job;
static struct step_view view;
static struct step_overview_room room;

static int begin_step (void **unused __attribute__ ((unused)))
{
    static const char *const role[] = { "ps", "worker", "worker" };

    config = (struct rendezvous_config){ .user = "ann", .restart = { .times = 3, .total = 30 } };
    job = (struct job){ .config = &config, .rank = ranks, .tasks = 4, .place = places, .places = 3 };
    job.now = job.run = 99 * SECOND_MS;
    job.launched = 10 * SECOND_MS;
    for (int i = 0; i < 4; i++)
        ranks[i] = (struct rank){ .number = i,
                                  .launch = RANK_HERE,
                                  .node = node,
                                  .role = i < 3 ? role[i] : "spare",
                                  .link = LINK_UP,
                                  .away = NEVER,
                                  .unheard = NEVER,
                                  .place = i < 3 ? &places[i] : NULL };
    for (int i = 0; i < 3; i++)
        places[i] = (struct place){
            .role = role[i], .index = i == 2, .phase = PLACE_RUNS, .duty.works = i > 0, .rank = &ranks[i]
        };
    roster =
        (struct roster){ .tasks = 4, .rank = ranks, .place = places, .places = 3, .step.number = "12.0" };
    pace = (struct pace){ .count = 0 };
    view = (struct step_view){ &config, &roster, &job, &pace, SECOND_MS, NOW, false };
    return 0;
}

EACH_TEST (begin_step, NULL)

static enum overview_state state (int number)
{
    return step_overview_rank (&view, &ranks[number], &room).state;
}

TEST (the_phase_of_a_step)
{
    static const struct {
        enum ledger_account account;
        bool says;
        enum overview_phase phase;
    } row[] = {
        { LEDGER_STARTING, false, OVERVIEW_RUNS },  { LEDGER_STARTING, true, OVERVIEW_STARTS },
        { LEDGER_WAITING, true, OVERVIEW_STARTS },  { LEDGER_REPEATED, true, OVERVIEW_REPEATS },
        { LEDGER_PROGRESS, true, OVERVIEW_TRAINS }, { LEDGER_PAUSING, false, OVERVIEW_RESTARTS },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        job.ledger.account = row[i].account;
        job.ledger.says = row[i].says;
        assert_int_equal (step_overview (&view, &room).phase, row[i].phase);
    }
    job.phase = JOB_FINISHES;
    assert_int_equal (step_overview (&view, &room).phase, OVERVIEW_ENDS);
    job.suspended = true;
    assert_int_equal (step_overview (&view, &room).phase, OVERVIEW_SUSPENDED);
    view.job = NULL;
    ranks[2].launch = RANK_GONE;
    assert_int_equal (step_overview (&view, &room).phase, OVERVIEW_LAUNCHES);
    assert_int_equal (step_overview (&view, &room).missing, 1);
    assert_int_equal (state (1), OVERVIEW_RANK_REGISTERED);
    view.refused = true;
    assert_int_equal (step_overview (&view, &room).phase, OVERVIEW_ENDS);
    assert_int_equal (state (2), OVERVIEW_RANK_MISSING);
}

TEST (a_step_is_told_as_it_is_now_and_not_as_it_was_at_the_last_input)
{
    struct overview o;

    job.ledger =
        (struct ledger){ .account = LEDGER_PROGRESS,
                         .since = 20 * SECOND_MS,
                         .says = true,
                         .before = 50,
                         .reached = 70,
                         .ms = { [LEDGER_LAUNCH] = 9 * SECOND_MS, [LEDGER_STARTING] = 10 * SECOND_MS } };
    job.budget.used = job.budget.row = 1;
    o = step_overview (&view, &room);
    assert_int_equal (o.elapsed, 99);
    assert_int_equal (o.times.launch, 9);
    assert_int_equal (o.times.progress, 80);
    assert_int_equal (o.step, 70);
    assert_int_equal (o.highest, 70);
    assert_int_equal (o.restarts, 1);
    assert_int_equal (o.restarts_left, 2);
    assert_int_equal (o.rows, 4);
    /* It only looks. */
    assert_int_equal (job.ledger.ms[LEDGER_PROGRESS], 0);
    config.restart.times = 0;
    assert_int_equal (step_overview (&view, &room).restarts_left, -1);
}

TEST (time_stands_still_while_the_job_is_suspended)
{
    job.ledger = (struct ledger){ .account = LEDGER_PROGRESS, .since = 20 * SECOND_MS };
    job.suspended = true;
    job.run = 90 * SECOND_MS;
    assert_int_equal (step_overview (&view, &room).times.progress, 70);
    assert_int_equal (step_overview (&view, &room).times.suspended, 10);
}

TEST (the_state_of_a_rank)
{
    assert_int_equal (state (1), OVERVIEW_RANK_RUNS);
    assert_int_equal (state (3), OVERVIEW_RANK_SPARE);
    places[1].phase = PLACE_BEGINS;
    assert_int_equal (state (1), OVERVIEW_RANK_BEGINS);
    places[1].phase = PLACE_WAITS;
    assert_int_equal (state (1), OVERVIEW_RANK_WAITS);
    places[1].phase = PLACE_RUNS;
    ranks[1].told.stop = GOAL_STOP;
    assert_int_equal (state (1), OVERVIEW_RANK_STOPPING);
    ranks[1].watch.hung = true;
    assert_int_equal (state (1), OVERVIEW_RANK_HUNG);
    ranks[1].link = LINK_NONE;
    assert_int_equal (state (1), OVERVIEW_RANK_SILENT);
    ranks[1].lost = true;
    assert_int_equal (state (1), OVERVIEW_RANK_LOST);
    ranks[1].replaced_by = &ranks[3];
    assert_int_equal (state (1), OVERVIEW_RANK_REPLACED);
}

TEST (how_a_rank_has_ended)
{
    struct overview_rank o;

    places[1].phase = PLACE_ENDED;
    ranks[1].end.report =
        (struct exit_report){ .kind = EXIT_REPORT_SIGNAL, .number = 9, .out_of_memory = true };
    o = step_overview_rank (&view, &ranks[1], &room);
    assert_int_equal (o.state, OVERVIEW_RANK_ENDED);
    assert_int_equal (o.code, 137);
    assert_string_equal (o.end, "signal 9 (out of memory)");
}

TEST (a_node_that_is_silent_is_not_heard_since_it_was)
{
    ranks[1].silent = true;
    ranks[1].unheard = 70 * SECOND_MS;
    assert_int_equal (step_overview_rank (&view, &ranks[1], &room).unheard, 30);
    ranks[1].unheard = NEVER;
    ranks[1].heard = 60 * SECOND_MS;
    assert_int_equal (step_overview_rank (&view, &ranks[1], &room).unheard, 40);
}

TEST (signs_are_as_old_as_they_are_now_and_of_the_life_that_runs)
{
    struct watch_standing *w = &ranks[2].watch;
    struct overview_rank o;

    assert_int_equal (step_overview_rank (&view, &ranks[2], &room).sign_age, -1);
    *w = (struct watch_standing){ .told_at = 95 * SECOND_MS };
    w->signs = (struct signs){ .source = SIGNS_MESSAGES, .ago_ms = 2000, .step = 70, .status = "step 70" };
    o = step_overview_rank (&view, &ranks[2], &room);
    assert_int_equal (o.told_age, 5);
    assert_int_equal (o.sign_age, 7);
    assert_int_equal (o.step, 70);
    assert_string_equal (o.words, "step 70");
    /* What was told out of turn is newer. */
    ranks[2].aside.step = 75;
    ranks[2].aside.at = 99 * SECOND_MS;
    o = step_overview_rank (&view, &ranks[2], &room);
    assert_int_equal (o.step, 75);
    assert_int_equal (o.told_age, 1);
    assert_int_equal (o.sign_age, 1);
    ranks[2].aside.step = 60;
    assert_int_equal (step_overview_rank (&view, &ranks[2], &room).step, 70);
    w->signs.source = SIGNS_NONE;
    assert_int_equal (step_overview_rank (&view, &ranks[2], &room).sign_age, -1);
    places[2].life.number = 1;
    o = step_overview_rank (&view, &ranks[2], &room);
    assert_int_equal (o.step, 0);
    assert_int_equal (o.told_age, -1);
    assert_int_equal (o.restarts, 1);
}
