/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The end of a job: shutdown.golden tells the stories. What decides and what is printed are the real code;
 * rendezvous/supervisors.c, which has the connections, is here once more without them, as in tests/sim.
 */
#include "config.h"

#include "../reports.h"
#include "messages.h"
#include "story.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/frameworks.h"
#include "common/silence.h"
#include "common/tasklist.h"
#include "job/goals.h"
#include "job/job.h"
#include "job/place.h"
#include "protocol/goal.h"
#include "protocol/status.h"
#include "rendezvous/console.h"
#include "rendezvous/journal.h"
#include "rendezvous/narrator.h"
#include "rendezvous/requeuer.h"
#include "rendezvous/show_json.h"
#include "rendezvous/step_overview.h"
#include "rendezvous/supervisors.h"

#define MAX_TASKS 16
#define MAX_GOALS 16

static struct server server;
static char cluster[1024];              /* of the answer that was printed last */

/* What each supervisor knows. */
static struct supervisor {
    bool dead;                          /* the rendezvous does not know that yet */
    struct frame *goal[MAX_GOALS];      /* those that were sent in this event */
    int goals;
    struct goal told;                   /* the last one that was read */
    int reports;                        /* how many ends it has reported, */
    struct status reported;             /* ... the last of them, */
    struct signs signs;                 /* ... and its last activity, */
    struct check_report checked;        /* ... and its last check */
} supervisor[MAX_TASKS];

/* Time passes when a test says so. Every step begins at 14:00:00. */
static int64_t now_ms = 1000, begin_ms = 1000;

int __real_clock_gettime (clockid_t clock, struct timespec *now);
int __wrap_clock_gettime (clockid_t clock, struct timespec *now);

int __wrap_clock_gettime (clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME) {
        static long calls;
        int64_t ms = 50400000 + now_ms - begin_ms;

        /* Of two events without time between them the first is the first. */
        *now = (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 + ++calls % 1000000 };
        return 0;
    }
    if (clock != CLOCK_MONOTONIC)
        return __real_clock_gettime (clock, now);
    *now = (struct timespec){ .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 };
    return 0;
}

/* Without a child the console writes at once. */
static bool forks;

pid_t __real_fork (void);
pid_t __wrap_fork (void);

pid_t __wrap_fork (void)
{
    errno = EAGAIN;
    return forks ? __real_fork () : -1;
}

/* The next recv () fails so. */
static bool times_out;

ssize_t __real_recv (int fd, void *bytes, size_t length, int flags);
ssize_t __wrap_recv (int fd, void *bytes, size_t length, int flags);

ssize_t __wrap_recv (int fd, void *bytes, size_t length, int flags)
{
    if (!times_out)
        return __real_recv (fd, bytes, length, flags);
    times_out = false;
    errno = ETIMEDOUT;
    return -1;
}

/* A supervisor of which nothing has come for so long, and one that reads nothing for a while. */
static int silent = -1, silent_ms, deaf = -1;

/* What supervisors leave with, and what only master.log has, are printed if a story wants that. */
static bool codes, noted;

void __wrap_console_note (const char *text);

void __wrap_console_note (const char *text)
{
    if (noted)
        story_print ("log: %s", text);
}

/* The moment of a JSON object is not one of the test's clock. */
static void hide_time_of_object (char *text)
{
    static const char key[] = "\"step\":\"12.0\",\"time\":";

    for (char *at = text; (at = strstr (at, key));) {
        char *digits = at + sizeof (key) - 1, *behind;

        assert_between (time (NULL) - strtoll (digits, &behind, 10), 0, 10);
        at = strstr (at, "\"time\"");
        memmove (at, behind + 1, strlen (behind));
    }
}

/* What the site's program gets is printed if a story has one. */
void __wrap_notify_event (const char *step, const char *text, bool last);

void __wrap_notify_event (const char *step __attribute__ ((unused)), const char *text, bool last)
{
    static const char head[] = "{\"spank_tf\":\"" PACKAGE_VERSION "\",";
    char *object = strdup (text);

    assert_non_null (object);
    hide_time_of_object (object);
    assert_int_equal (strncmp (object, head, sizeof (head) - 1), 0);
    story_print ("%s: %s", last ? "notified last" : "notified", object + sizeof (head) - 1);
    free (object);
}

static struct rank *rank_of (int number)
{
    return &step_roster (server.step)->rank[number];
}

/* What the rendezvous does. */

/* Something has happened since it looked at the time. */
static bool happened;

static int64_t silence_of (int number)
{
    return number == silent ? silent_ms : 0;
}

static void ask_heard (void)
{
    if (server.config.lost_after == 0 || now_ms - server.asked_heard < 1000)
        return;
    server.asked_heard = now_ms;
    for (int i = 0; i < step_roster (server.step)->tasks; i++) {
        bool was = rank_of (i)->silent;

        rank_of (i)->silent =
            rank_of (i)->link != LINK_NONE && silence_of (i) > silence_long_ms (server.config.lost_after);
        happened = happened || rank_of (i)->silent != was;
    }
}

static void lose (int number, int ms)
{
    struct rank *rank = rank_of (number);

    if (rank->link == LINK_NONE)
        return;
    rank->link = LINK_NONE;
    happened = true;
    job_absent (server.job, now_ms, rank, ms, now_ms - silence_of (number));
}

/* Answers that are on their way are lost. */
static bool change_places (const struct rank *spare)
{
    struct errtext err;

    for (int i = 0; i < step_roster (server.step)->tasks; i++)
        if (rank_of (i)->link == LINK_BUSY)
            lose (i, JOB_BROKEN_MS);
    if (step_change (server.step, &err) == 0)
        return true;
    console_say ("error: spank_tf: %s", err.text);
    if (spare->place)
        place_forbid (spare->place, PLACE_CANNOT);
    return false;
}

static void perform (void)
{
    struct fact fact;

    pace_note (&server.pace, server.job->run, server.job->ledger.reached);
    while (facts_take (&server.job->facts, &fact)) {
        if (fact.kind == FACT_ASKS_SLURM)
            story_print ("Slurm is asked when the job ends\n");
        else if (fact.kind != FACT_PLACES || change_places (fact.rank))
            narrator_tell (server.step, server.lines, &fact);
        fact_clear (&fact);
    }
}

static void send_goal (int number, const struct goal *goal, bool begins)
{
    struct supervisor *s = &supervisor[number];
    struct answer_message message;
    struct frame *frame;

    if (s->dead || (number == deaf && !begins)) {
        lose (number, JOB_BROKEN_MS);
        return;
    }
    if (begins) {
        assert_int_equal (step_answer (server.step, rank_of (number), goal, &message), 0);
        frame = frame_join (message.part, ANSWER_PARTS);
        answer_message_clear (&message);
        if (number == deaf)
            rank_of (number)->link = LINK_BUSY;
    } else
        frame = goal_encode (goal, SERVER_TOKEN);
    assert_non_null (frame);
    assert_true (s->goals < MAX_GOALS);
    s->goal[s->goals++] = frame;
}

static void send_goals (void)
{
    struct goal goal;
    bool begins;

    for (int i = 0; i < step_roster (server.step)->tasks; i++)
        if (job_tells (server.job, rank_of (i), true, &goal, &begins))
            send_goal (i, &goal, begins);
}

/* It is noticed in the same round of the main loop as an event, and before the time is looked at. */
static bool srun_has_ended;

static void cut (void)
{
    job_cut (server.job, now_ms);
    perform ();
}

/* As after each event of the main loop. */
static void check_time (void)
{
    if (!server.job)
        return;
    if (srun_has_ended) {
        cut ();
        return;
    }
    ask_heard ();
    for (int i = 0; i < step_roster (server.step)->tasks; i++)
        if (rank_of (i)->silent && silence_of (i) >= server.config.lost_after * SECOND_MS)
            lose (i, JOB_BROKEN_MS);
    if (happened || deadline_left_ms (supervisors_next (&server)) == 0) {
        job_time (server.job, now_ms);
        perform ();
        restart_lines_check (server.lines, now_ms);
        happened = false;
    }
    send_goals ();
}

static void hear (int number, const struct status *status)
{
    ask_heard ();
    job_status (server.job, now_ms, rank_of (number), status);
    happened = true;
    perform ();
    check_time ();
}

/* Where the ranks of a step are. */
struct places {
    bool apart;
    const char *nodes; /* a digit for each rank, or NULL */
    int srun; /* the node where srun is, from 1; 0: none of them */
    bool het;
    bool cannot_supervise;
};

/* From 0. */
static int node_of (const struct places *places, int rank, int tasks)
{
    if (places->nodes)
        return places->nodes[rank] - '1';
    return places->apart ? rank : 2 * rank >= tasks;
}

static void add_ranks (int tasks, const struct places *places)
{
    int half = places->het ? tasks / 2 : tasks;
    struct host host;
    struct address srun;
    struct errtext err = { "" };

    snprintf (host.id, sizeof (host.id), "host%d", places->srun ? places->srun : 99);
    assert_int_equal (address_parse (&srun, "10.0.0.99"), 0);
    for (int rank = 0; rank < tasks; rank++) {
        int number = node_of (places, rank, tasks);
        char node[16], address[32];
        /* clang-format off */
        struct registration r = {
            .rank = rank, .tasks = tasks, .node_index = number,
            .component_first = rank < half ? 0 : half, .component_tasks = rank < half ? half : tasks - half,
            .port = 40000 + rank, .master_port = 50000 + rank, .node = node, .step = "12.0",
            .supervisor_error = places->cannot_supervise ? "no tf-supervise" : NULL,
        };
        /* clang-format on */

        snprintf (node, sizeof (node), "n%d", number + 1);
        snprintf (address, sizeof (address), "10.0.0.%d", number + 1);
        snprintf (r.host.id, sizeof (r.host.id), "host%d", number + 1);
        assert_int_equal (address_parse (&r.address, address), 0);
        if (step_add (server.step, &r, &srun, &r.address, &err) != STEP_ADDED)
            fail_msg ("%s", err.text);
    }
    if (step_resolve (server.step, &host, &err) < 0)
        fail_msg ("%s", err.text);
}

/* Printing. */

/* stderr, to which the rendezvous prints, is a pipe while an event is played. */
static int console[2], saved_stderr = -1;

static void capture (void)
{
    saved_stderr = dup (STDERR_FILENO);
    assert_int_equal (pipe2 (console, O_NONBLOCK), 0);
    dup2 (console[1], STDERR_FILENO);
}

static void check_clock (const char *at)
{
    static const char shape[] = " at 00:00:00, ";

    for (size_t i = 0; i < sizeof (shape) - 1; i++)
        assert_true (shape[i] == '0' ? at[i] >= '0' && at[i] <= '9' : at[i] == shape[i]);
}

/* "first failure: …, at 14:03:11" becomes "at TIME", and "ended at 14:03:11, signal 9" loses it. */
static void hide_time (char *text)
{
    char *at = strstr (text, "first to end: ");

    at = at ? at : strstr (text, "first failure: ");
    if (at && (at = strstr (at, " at "))) {
        check_clock (at);
        memcpy (at + 4, "TIME", 4);
        memmove (at + 8, at + 12, strlen (at + 12) + 1);
    }
    while ((at = strstr (text, " ended at "))) {
        at += strlen (" ended");
        check_clock (at);
        memmove (at, at + 12, strlen (at + 12) + 1);
    }
}

/* Begin each line with "error: " or "note: " if that is what it begins with for a user. */
static void print_lines (const char *text)
{
    static const struct {
        const char *prefix, *kind;
    } row[] = {
        { "srun: error: spank_tf: step 12.0: ", "error: " },
        { "srun: spank_tf: step 12.0: ", "note: " },
        { "{\"spank_tf\":\"" PACKAGE_VERSION "\",", "json: " },
    };

    while (*text) {
        int length = (int)strcspn (text, "\n");
        const char *kind = "";

        for (size_t i = 0; i < COUNT (row); i++)
            if (strncmp (text, row[i].prefix, strlen (row[i].prefix)) == 0) {
                kind = row[i].kind;
                text += strlen (row[i].prefix);
                length -= (int)strlen (row[i].prefix);
            }
        story_print ("%s%.*s\n", kind, length, text);
        text += length + (text[length] == '\n');
    }
}

/* What was printed; it lives until the next call. */
static char *release (void)
{
    static char text[4096];
    ssize_t n;

    console_check_time ();
    console_end ();
    dup2 (saved_stderr, STDERR_FILENO);
    close (saved_stderr);
    saved_stderr = -1;
    close (console[1]);
    n = read (console[0], text, sizeof (text) - 1);
    text[n > 0 ? n : 0] = '\0';
    close (console[0]);
    hide_time (text);
    hide_time_of_object (text);
    return text;
}

/* A step. */

/* "restart 3, wait" behind the list of a step. */
static void set_options (struct rendezvous_config *config, char *options, struct places *places)
{
    static char preflight[64];
    const struct story_setting setting[] = {
        { "restart", .number = &config->restart.times },
        { "in all", .number = &config->restart.total },
        { "any", .flag = &config->restart.any },
        { "lost after", .number = &config->lost_after },
        { "grace", .number = &config->eval_grace },
        { "fail", .number = &config->fail_grace },
        { "kill after", .number = &config->stop_grace },
        { "wait", .number = &config->wait },
        { "requeue", .number = &config->requeue },
        { "debugger", .flag = &config->debugged },
        { "show", .flag = &config->show },
        { "ask alone", .flag = &config->ask_alone },
        { "log", .flag = &noted },
        { "codes", .flag = &codes },
        { "apart", .flag = &places->apart },
        { "srun on", .number = &places->srun },
        { "het", .flag = &places->het },
        { "no tf-supervise", .flag = &places->cannot_supervise },
    };

    config->requeue_wished = true;
    config->stop_grace = 10;
    config->eval_grace = 900;
    config->fail_grace = 30;
    config->restart.longest_pause = 60;
    while (*options)
        if (story_begins (&options, "on"))
            places->nodes = story_word (&options);
        else if (story_begins (&options, "torch"))
            config->frameworks = FRAMEWORK_TORCH;
        else if (story_begins (&options, "notify"))
            config->notify = "/notify";
        else if (story_begins (&options, "names")) {
            config->array = "11_3";
            config->user = "ann";
            config->job_name = "train";
            config->srun_host = "login1";
        } else if (story_begins (&options, "never"))
            config->stop = STOP_WHEN_NEVER;
        else if (story_begins (&options, "preflight")) {
            snprintf (preflight, sizeof (preflight), "%s", story_word (&options));
            config->task.preflight = preflight;
            assert_int_equal (preflight_parse (&config->preflight, config->task.preflight, NULL), 0);
        } else if (story_begins (&options, "watch")) {
            config->watch.seconds = story_number (&options);
            config->watch.first = 1800;
            config->watch.learns = story_begins (&options, "learning");
        } else if (story_begins (&options, "json"))
            config->json = config->show = true;
        else if (story_begins (&options, "launch took"))
            server.deadline.at_ms -= story_number (&options);
        else if (!story_sets (&options, setting, COUNT (setting)))
            story_unknown (options);
}

static int tasks_of (const char *list)
{
    struct tasklist *parsed;
    int tasks;

    assert_int_equal (tasklist_parse (&parsed, list, NULL), 0);
    tasks = parsed->named;
    tasklist_destroy (parsed);
    assert_between (tasks, 1, MAX_TASKS);
    return tasks;
}

static void forget_goals (struct supervisor *s)
{
    while (s->goals > 0)
        frame_destroy (s->goal[--s->goals]);
}

static void finish (void)
{
    for (int rank = 0; rank < MAX_TASKS; rank++) {
        forget_goals (&supervisor[rank]);
        supervisor[rank] = (struct supervisor){ .dead = false };
        supervisor[rank].told = GOAL_FIRST;
    }
    console_drop ();
    supervisors_end (&server);
    step_destroy (server.step);
    server = (struct server){ .config = { .server_token = NULL } };
    silent = deaf = -1;
}

static void end (void)
{
    if (saved_stderr >= 0) /* the story fails in the middle of an event */
        fputs (release (), stderr);
    finish ();
}

static void report_end (int rank, char *event);

/* Start a step. If its tasks are supervised, those of spares wait, and before a preflight all. */
static void begin (char *event)
{
    char *list = story_word (&event);
    struct errtext err = { "" };
    struct places places = { 0 };
    int tasks = tasks_of (list);

    finish ();
    begin_ms = now_ms;
    cluster[0] = '\0';
    codes = noted = srun_has_ended = false;
    happened = true;
    server.config = (struct rendezvous_config){
        .server_token = SERVER_TOKEN, .step = "12.0", .timeout = 2, .lists = 1, .list = { { list, false } }
    };
    server.deadline.at_ms = (server.now = now_ms) + 2 * SECOND_MS;
    set_options (&server.config, event, &places);
    assert_int_equal (step_create (&server.step, &server.config, &err), 0);
    add_ranks (tasks, &places);
    if (supervisors_begin (&server, &err) < 0)
        story_print ("refused: %s\n", err.text);
    else if (!server.job)
        story_result ("not supervised");
    for (int rank = 0; rank < tasks; rank++)
        rank_of (rank)->link = LINK_UP;
    for (int rank = 0; rank < tasks; rank++)
        if (server.job && (!rank_of (rank)->place || server.config.task.preflight)) {
            char waits[] = "stopped, life 0";

            supervisor[rank].signs.life = -1;
            report_end (rank, waits);
        }
}

/* Events of a rank. */

/* "signal 9 (out of memory), life 2, 300 ms ago": a supervisor sends this exit report. */
static void report_end (int rank, char *event)
{
    struct life_report life = { .life = server.config.restart.times > 0 ? 0 : -1 };
    struct failure_text written = { .source = FAILURE_TEXT_NONE };
    struct supervisor *s = &supervisor[rank];
    struct exit_report report;
    struct status status;
    char *how = strsep (&event, ","), *memory = strstr (how, " (out of memory");
    int killed_after;
    bool killed = sscanf (how, "killed after %d s", &killed_after) == 1;

    if (memory)
        *memory = '\0';
    if (!report_parse (&report, killed ? "stopped" : how))
        story_unknown (how);
    report.out_of_memory = memory != NULL;
    report.killed = killed;
    report.killed_after = killed ? killed_after : 0;
    event = event ? event + strspn (event, " ") : how + strlen (how);
    while (*event)
        if (story_begins (&event, "life"))
            life.life = story_number (&event);
        else if (story_begins (&event, "ago"))
            life.ago_ms = story_number (&event);
        else if (story_begins (&event, "asked by"))
            life.asked_signal = story_number (&event);
        else if (story_begins (&event, "at 14:02:11"))
            life.asked_at = 50531;
        else if (story_begins (&event, "unused"))
            life.address = ADDRESS_UNUSED;
        else if (story_begins (&event, "used"))
            life.address = ADDRESS_USED;
        else if (story_begins (&event, "peer"))
            address_parse (&life.peers.address[life.peers.count++], story_word (&event));
        else if (story_begins (&event, "caused by space"))
            written.cause.kind = CAUSE_SPACE;
        else if (story_begins (&event, "caused by library"))
            written.cause = (struct cause){ CAUSE_LIBRARY, "libx.so" };
        else if (story_begins (&event, "because")) {
            life = (struct life_report){ .life = -1, .cannot = story_unescape (event) };
            event += strlen (event);
        } else {
            bool log = story_begins (&event, "logged");

            if (!log && !story_begins (&event, "error file"))
                story_unknown (event);
            written.source = log ? FAILURE_TEXT_LOG : FAILURE_TEXT_ERROR_FILE;
            snprintf (written.text, sizeof (written.text), "%s", story_unescape (event));
            event += strlen (event);
        }
    life.number = ++s->reports;
    /* A spare that waits has begun none. */
    if (life.life > 0 || (life.life == 0 && s->signs.life >= 0))
        s->signs.life = life.life;
    s->reported = status = (struct status){ true, report, life, written, s->signs, s->checked };
    s->reported.life.cannot = NULL;
    hear (rank, &status);
}

/* "messages, overdue, sent 20, ago 300000, status step 20": a supervisor reports activity. */
static void tell_signs (int rank, char *event)
{
    static const char *const source[] = { "unknown", "none", "log", "messages", "done" };
    struct signs signs = { .life = rank_restarts (rank_of (rank)) };
    const char *status = "";
    const struct story_setting setting[] = {
        { "overdue", .flag = &signs.overdue },      { "stopped", .flag = &signs.stopped },
        { "standing", .flag = &signs.suspended },   { "busy", .flag = &signs.busy },
        { "grew", .flag = &signs.log_grew },        { "step", .number = &signs.step },
        { "started", .number = &signs.started_ms }, { "sent", .number = &signs.messages },
        { "slowest", .number = &signs.slowest_ms }, { "second", .number = &signs.second_ms },
        { "life", .number = &signs.life },          { "status", .text = &status },
        { "lost", .flag = &signs.traceback_lost },  { "aside", .flag = &signs.aside },
    };
    size_t i = 0;

    while (i < COUNT (source) && !story_begins (&event, source[i]))
        i++;
    if (i == COUNT (source))
        story_unknown (event);
    signs.source = (enum signs_source)i;
    while (*event)
        if (story_begins (&event, "silent"))
            signs.silent_ms = signs.ago_ms = story_number (&event);
        else if (story_begins (&event, "suspended"))
            signs.ago_ms += story_number (&event);
        else if (story_begins (&event, "unanswered by")) {
            int number = story_number (&event);

            signs.unanswered[signs.unanswered_count++] =
                (struct signs_address){ rank_of (number)->address, rank_of (number)->port };
        } else if (story_begins (&event, "unanswered elsewhere")) {
            struct signs_address *other = &signs.unanswered[signs.unanswered_count];

            signs.unanswered_count += 2;
            other[0] = (struct signs_address){ rank_of (0)->address, 9 };
            other[1] = (struct signs_address){ { AF_INET, { 10, 0, 0, 9 } }, rank_of (0)->port };
        } else if (story_begins (&event, "traceback")) {
            signs.traceback_ms = story_number (&event);
            snprintf (signs.traceback, sizeof (signs.traceback), "%s", event);
            event += strlen (event);
        } else if (!story_sets (&event, setting, COUNT (setting)))
            story_unknown (event);
    snprintf (signs.status, sizeof (signs.status), "%s", status);
    if (signs.aside) {
        rank_of (rank)->aside.life = signs.life;
        rank_of (rank)->aside.step = signs.step;
        rank_of (rank)->aside.at = now_ms;
        rank_of (rank)->aside.ago_ms = signs.ago_ms;
        return;
    }
    supervisor[rank].signs = signs;
    hear (rank, &(struct status){ .signs = signs });
}

/* "to step 200 in 100 s", and tells one each second. */
static void train (int rank, char *event)
{
    int from = supervisor[rank].signs.step, to, seconds;

    if (!story_begins (&event, "to step"))
        story_unknown (event);
    to = story_number (&event);
    if (!story_begins (&event, "in"))
        story_unknown (event);
    seconds = story_number (&event);
    for (int i = 1; i <= seconds; i++) {
        char signs[64];

        snprintf (signs, sizeof (signs), "messages, sent 20, step %d", from + (to - from) * i / seconds);
        now_ms += 1000;
        tell_signs (rank, signs);
    }
}

static void read_again (int rank)
{
    deaf = -1;
    rank_of (rank)->link = LINK_UP;
    check_time ();
}

static void reconnect (int rank, bool suspended, bool ended)
{
    struct supervisor *s = &supervisor[rank];
    struct status status = ended ? s->reported : (struct status){ .signs = s->signs };

    status.signs.suspended = suspended;
    if (deaf == rank) {
        deaf = -1;
        forget_goals (s);
    }
    if (silent == rank)
        silent = -1;
    s->dead = false;
    s->told = (struct goal){ .life = s->told.life, .code = GOAL_OWN_CODE };
    ask_heard ();
    rank_of (rank)->link = LINK_UP;
    rank_of (rank)->silent = false;
    happened = true;
    job_returned (server.job, now_ms, rank_of (rank), &status);
    perform ();
    check_time ();
}

/* Checks of nodes. */

/* A supervisor reports the check that it was told: what it has found, and the rate of a link in MB/s. */
static void report_check (int rank, enum check_result result, const char *text, int ahead, int rate)
{
    struct check_report *report = &supervisor[rank].checked;
    int number = rank_of (rank)->told.check.number;

    *report = (struct check_report){ number, result, "", 50400, 50400 + (int64_t)ahead, rate * 1000 };
    snprintf (report->text, sizeof (report->text), "%s", text);
    supervisor[rank].reported.check = *report;
    hear (rank, &supervisor[rank].reported);
}

/* "files /work: cannot make a file" */
static void find_fault (int rank, char *event)
{
    static const char *const name[] = { "passed", "files", "gpus", "link", "program", "unable" };
    int ahead = story_begins (&event, "clock") ? story_number (&event) : 0;
    size_t i = 0;

    while (!ahead && !story_begins (&event, name[i]))
        if (++i == COUNT (name))
            story_unknown (event);
    report_check (rank, (enum check_result)i, event, ahead, 0);
}

/* All that have not reported yet pass their checks, and the next ones; links with these rates, or 1,000. */
static void pass_checks (char *event)
{
    int rate[MAX_TASKS], tasks = step_roster (server.step)->tasks, blocked[2] = { -1, -1 };

    for (int rank = 0; rank < tasks; rank++)
        rate[rank] = 1000;
    while (*event)
        if (story_begins (&event, "not between")) {
            blocked[0] = story_number (&event);
            blocked[1] = story_number (&event);
        } else {
            int rank = story_number (&event);

            rate[rank] = story_number (&event);
        }
    for (int rank = 0; rank < tasks; rank++) {
        const struct rank *other = rank_of (rank)->check.partner;
        bool blocks = other && (rank == blocked[0] || rank == blocked[1])
                      && (other->number == blocked[0] || other->number == blocked[1]);
        int lower = !other || rate[rank] < rate[other->number] ? rate[rank] : rate[other->number];

        if (rank_of (rank)->told.check.number <= supervisor[rank].checked.number)
            continue;
        report_check (rank, CHECK_PASSED, "", 0, blocks || rank_of (rank)->told.check.serves ? 0 : lower);
        /* That may have ended a round. */
        rank = -1;
    }
}

/* Slurm or its user has asked its task to end. */
static void ask_to_end (int rank, int number)
{
    hear (rank, &(struct status){ .life = { .asked_signal = number }, .signs = supervisor[rank].signs });
}

/* Its connection ends, perhaps after it was silent. */
static void disconnect (int rank, int ms, char *event)
{
    if (story_begins (&event, "after silence of")) {
        silent = rank;
        silent_ms = story_number (&event);
    }
    ask_heard ();
    lose (rank, ms);
    perform ();
    check_time ();
    silent = silent == rank ? -1 : silent;
}

static void rank_event (int rank, char *event)
{
    assert_between (rank, 0, step_roster (server.step)->tasks - 1);
    if (story_begins (&event, "is lost unnoticed"))
        supervisor[rank].dead = true;
    else if (story_begins (&event, "is asked to end by"))
        ask_to_end (rank, story_number (&event));
    else if (story_begins (&event, "is lost"))
        disconnect (rank, JOB_CLOSED_MS, event);
    else if (story_begins (&event, "is reset"))
        disconnect (rank, JOB_RESET_MS, event);
    else if (story_begins (&event, "times out"))
        disconnect (rank, JOB_BROKEN_MS, event);
    else if (story_begins (&event, "returns"))
        reconnect (rank, story_begins (&event, "standing"), story_begins (&event, "with its report"));
    else if (story_begins (&event, "is silent for")) {
        silent = rank;
        silent_ms = story_number (&event);
    } else if (story_begins (&event, "reports again"))
        /* Something else of its status has changed, and it tells all of it. */
        hear (rank, &supervisor[rank].reported);
    else if (story_begins (&event, "has no second port"))
        rank_of (rank)->master_port = 0;
    else if (story_begins (&event, "reads nothing"))
        deaf = rank;
    else if (story_begins (&event, "reads again"))
        read_again (rank);
    else if (story_begins (&event, "signs"))
        tell_signs (rank, event);
    else if (story_begins (&event, "trains"))
        train (rank, event);
    else if (story_begins (&event, "finds"))
        find_fault (rank, event);
    else if (story_begins (&event, "logs to"))
        assert_non_null (rank_of (rank)->log_dir = strdup (event));
    else
        report_end (rank, event);
}

/* Slurm. */

/* "ends in 600, after runs 2, step 100": its answer. */
static void answer_of_slurm (char *event)
{
    struct slurm_job slurm = { .obstacle = SLURM_JOB_SILENT };
    const struct story_setting setting[] = {
        { "ends in", .number = &slurm.left },
        { "after runs", .number = &slurm.runs.runs },
        { "step", .number = &slurm.runs.step },
        { "progress", .number = &slurm.runs.seconds[LEDGER_PROGRESS] },
        { "restarts", .number = &slurm.runs.restarts },
        { "says", .flag = &slurm.runs.says },
    };

    if (story_begins (&event, "has no script"))
        slurm.obstacle = SLURM_JOB_NO_SCRIPT;
    else if (story_begins (&event, "may not be requeued"))
        slurm.obstacle = SLURM_JOB_FORBIDS;
    else if (story_begins (&event, "has no limit"))
        slurm.obstacle = SLURM_JOB_ENDLESS;
    else if (!story_begins (&event, "is not known"))
        slurm.obstacle = SLURM_JOB_GOES_ON;
    while (*event)
        if (!story_sets (&event, setting, COUNT (setting)))
            story_unknown (event);
    job_slurm (server.job, now_ms, &slurm);
    happened = true;
    perform ();
    check_time ();
}

/* What tf-status is told of the step, and of each rank. */
static struct step_view view_now (void)
{
    return (struct step_view){
        &server.config, step_roster (server.step), server.job, &server.pace, begin_ms, now_ms, false
    };
}

static void print_overview (void)
{
    const struct step_view view = view_now ();
    struct step_overview_room room;
    const struct overview step = step_overview (&view, &room);

    story_print ("%s\n", message_line (fields_frame (&overview_fields, &step)));
    for (int i = 0; i < step.rows; i++) {
        const struct overview_rank rank = step_overview_rank (&view, rank_of (i), &room);

        story_print ("%s\n", message_line (fields_frame (&overview_rank_fields, &rank)));
    }
}

/* Time. */

static void pass (int ms)
{
    now_ms += ms;
    check_time ();
}

/* Goals. */

/* The cluster of an answer, if it is another one than the last, and what else it has. */
static void print_answer (int rank, const struct frame *frame)
{
    const char *config = frame_get (frame, "TF_CONFIG");
    int length = (int)(strstr (config, ",\"task\"") - config);
    struct answer answer;

    assert_int_equal (answer_decode (&answer, frame, SERVER_TOKEN, NULL), 0);
    if (strncmp (cluster, config, (size_t)length) != 0)
        story_print ("%.*s\n", length - 11, config + 11);
    snprintf (cluster, sizeof (cluster), "%.*s", length, config);
    story_print ("life %d of %s %d: rank %d", supervisor[rank].told.life, answer.role, answer.index, rank);
    if (frame_has (frame, "RANK"))
        story_print (", process %s of %s, master %s", frame_get (frame, "RANK"),
                     frame_get (frame, "WORLD_SIZE"), frame_get (frame, "MASTER_PORT"));
    if (answer.lost_after)
        story_print (", another spare may follow");
    story_print ("\n");
}

/*
 * What is new in a goal: "s" stop, "k" stop at once, "l" the lease is over, "a" abort, "e" save, "x" leave,
 * "r" begin a life, "n" the same with a new answer, "t" tell, "c" check the node, or a link, "w" the report
 * has arrived, "g" nothing, as on a new connection.
 */
static char letter_of (int rank, const struct frame *frame)
{
    static const char stop[] = { 'g', 's', 'k', 'l', 'a', 'e' };
    struct goal goal, was = supervisor[rank].told;

    assert_int_equal (goal_decode (&goal, frame, SERVER_TOKEN, NULL), 0);
    supervisor[rank].told = goal;
    if (frame_has (frame, ANSWER_KEY)) {
        print_answer (rank, frame);
        return 'n';
    }
    if (goal.leave && codes)
        story_print (goal.code < 0 ? "rank %d leaves with its own code\n" : "rank %d leaves with %d\n", rank,
                     goal.code);
    if (goal.leave)
        return goal.code > 0 ? 'X' : 'x';
    if (goal.code >= 0 && codes)
        story_print ("rank %d would leave with %d\n", rank, goal.code);
    if (goal.stop && (goal.stop != was.stop || goal.report != was.report))
        return stop[goal.stop];
    if (goal.life > was.life)
        return 'r';
    if (goal.question != was.question)
        return 't';
    if (goal.check.number > was.check.number)
        return 'c';
    return goal.report != was.report ? 'w' : 'g';
}

/* The next goal of a supervisor; "-": none, or it does not read. */
static char next_goal (int rank)
{
    struct supervisor *s = &supervisor[rank];
    char letter;

    if (s->goals == 0 || rank == deaf)
        return '-';
    letter = letter_of (rank, s->goal[0]);
    frame_destroy (s->goal[0]);
    memmove (s->goal, s->goal + 1, sizeof (s->goal[0]) * (size_t)--s->goals);
    return letter;
}

/* The goals of all supervisors, in rank order; then, as another item, the second ones. */
static void print_goals (void)
{
    bool any = true;

    while (any) {
        char letter[MAX_TASKS + 1] = "";

        any = false;
        for (int rank = 0; rank < step_roster (server.step)->tasks; rank++) {
            letter[rank] = next_goal (rank);
            any = any || letter[rank] != '-';
        }
        if (any)
            story_result ("%s", letter);
    }
}

/* No supervisor is waited for. */
static bool all_have_left (void)
{
    for (int rank = 0; rank < step_roster (server.step)->tasks; rank++)
        if (rank_is_supervised (rank_of (rank)))
            return false;
    return true;
}

static void play (char *event)
{
    capture ();
    if (*event >= '0' && *event <= '9') {
        int number = story_number (&event);

        if (story_begins (&event, "ms"))
            pass (number);
        else
            rank_event (number, event);
    } else if (story_begins (&event, "srun ends as")) {
        int number = story_number (&event);

        srun_has_ended = true;
        rank_event (number, event);
        srun_has_ended = false;
    } else if (story_begins (&event, "srun ends"))
        cut ();
    else if (story_begins (&event, "the job"))
        answer_of_slurm (event);
    else if (story_begins (&event, "checks pass"))
        pass_checks (event);
    else if (story_begins (&event, "tf-status"))
        print_overview ();
    else if (story_begins (&event, "step"))
        begin (event);
    else {
        int ms = deadline_left_ms (supervisors_next (&server));

        story_result (ms >= 0 ? "%d ms" : "never", ms);
        if (story_begins (&event, "wait"))
            pass (ms > 0 ? ms : 0);
        else if (!story_begins (&event, "next"))
            story_unknown (event);
    }
    print_lines (release ());
    print_goals ();
    if (server.job && all_have_left ())
        story_result ("over");
}

static int use_utc (void **unused __attribute__ ((unused)))
{
    return setenv ("TZ", "UTC0", 1);
}

ALL_TESTS (use_utc, NULL)

STORIES (GOLDEN, play, end)

static int connect_one (int rank)
{
    struct peer *peer = calloc (1, sizeof (*peer));
    int pair[2];

    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    *peer = (struct peer){ .fd = pair[0], .reader.ceiling = FRAME_MAX_REGISTRATION, .rank = rank_of (rank) };
    rank_of (rank)->peer = peer;
    peer_set_state (peer, PEER_SUPERVISED);
    return pair[1];
}

/* It exits with this code, and then is told to leave. */
static void exit_and_leave (int rank, int fd, int code)
{
    const struct status status = { .ended = true,
                                   .report = { .kind = EXIT_REPORT_EXIT, .number = code },
                                   .life = { .number = 1, .life = -1 } };
    struct frame_reader reader = { .ceiling = FRAME_MAX_ANSWER };
    struct frame *frame = fields_frame (&status_fields, &status);
    struct goal goal;

    assert_int_equal (frame_send (frame, fd, NULL), 0);
    frame_destroy (frame);
    supervisors_receive (&server, rank_of (rank)->peer);
    for (supervisors_check (&server); server.leaves_due != NEVER; supervisors_check (&server))
        poll (NULL, 0, 1);
    assert_int_equal (frame_read (&reader, fd, &frame, NULL), 1);
    frame_reader_clear (&reader);
    assert_int_equal (goal_decode (&goal, frame, SERVER_TOKEN, NULL), 0);
    assert_true (goal.leave);
    frame_destroy (frame);
    close (fd);
}

/* srun may end as soon as the last supervisor has exited. Here there are connections, and console's child. */
TEST (what_is_printed_is_there_before_a_supervisor_may_exit)
{
    char step[] = "chief,worker", text[256] = "";
    int fd[2];

    begin (step);
    forks = true;
    fd[0] = connect_one (0);
    fd[1] = connect_one (1);
    exit_and_leave (1, fd[1], 0);
    capture ();
    exit_and_leave (0, fd[0], 3);
    assert_true (read (console[0], text, sizeof (text) - 1) > 0);
    assert_non_null (strstr (text, "first failure: chief 0 (n1) at "));
    release ();
    peers_clear (&server.peers, step_roster (server.step));
    forks = false;
    end ();
}

TEST (how_a_connection_ends_decides_how_long_its_supervisor_may_be_away)
{
    static const int ms[] = { JOB_CLOSED_MS, JOB_RESET_MS, JOB_BROKEN_MS };

    for (size_t i = 0; i < COUNT (ms); i++) {
        char step[] = "worker:2 restart 1";
        int fd;

        begin (step);
        fd = connect_one (0);
        /* A Unix socket is reset if it is closed with data that was not read. */
        if (ms[i] == JOB_RESET_MS)
            assert_int_equal (send (rank_of (0)->peer->fd, "", 1, 0), 1);
        times_out = ms[i] == JOB_BROKEN_MS;
        close (fd);
        supervisors_receive (&server, rank_of (0)->peer);
        supervisors_check (&server);
        assert_int_equal (deadline_left_ms (supervisors_next (&server)), ms[i]);
        peers_free_closed (&server.peers);
        end ();
    }
}

/* Each account has another time; in a story most have none. */
TEST (the_ledger_of_an_object_has_each_account_and_null_for_what_is_not_known)
{
    char step[] = "worker", *line;
    struct ledger ledger = { .ms = { [LEDGER_LAUNCH] = 1500,
                                     [LEDGER_STARTING] = 2300,
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

    begin (step);
    line = show_json_end (step_roster (server.step), &server.config, &fact);
    assert_non_null (
        strstr (line, "\"ledger\":{\"launch_s\":1.5,\"preflight_s\":0.0,\"progress_s\":60.0,"
                      "\"repeated_s\":3.0,\"noticing_s\":4.0,\"pausing_s\":5.0,\"starting_s\":2.3,"
                      "\"waiting_s\":0.25,\"running_s\":null,\"suspended_s\":7.0,"
                      "\"total_s\":83.05,\"repeated_steps\":12,\"last_step\":86120,\"idle_spare_s\":90.0,"
                      "\"restarts\":2,\"replaced\":1}"));
    free (line);
    ledger.says = false;
    assert_non_null (line = show_json_end (step_roster (server.step), &server.config, &fact));
    assert_non_null (strstr (line,
                             "\"progress_s\":null,\"repeated_s\":null,\"noticing_s\":4.0,"
                             "\"pausing_s\":5.0,\"starting_s\":null,\"waiting_s\":null,\"running_s\":2.3,"));
    assert_non_null (strstr (line, "\"repeated_steps\":null,\"last_step\":null,"));
    free (line);
    end ();
}

/* What it had told the task is not in its journal. */
TEST (the_wait_of_srun_begins_with_an_end_also_if_tf_rendezvous_was_killed_after_it)
{
    char step[] = "worker:2 wait 40";
    const struct status ended = { .ended = true, .life = { .number = 1, .life = -1 } };

    begin (step);
    job_status (server.job, now_ms, rank_of (0), &ended);
    job_absent (server.job, now_ms, rank_of (0), 1000, now_ms);
    assert_true (server.job->left == now_ms);
    end ();
}

/* A task without its answer registers again, which it may if it is missed; as after an outage of its node. */
TEST (a_rendezvous_that_is_killed_before_it_has_answered_leaves_tasks_that_are_missed)
{
    char list[] = "chief,ps,worker";
    const struct places places = { 0 };
    struct errtext err = { "" };
    struct journal_entry entry;
    struct frame *frame;

    server.config = (struct rendezvous_config){
        .server_token = SERVER_TOKEN, .step = "12.0", .lists = 1, .list = { { list, false } }
    };
    assert_int_equal (step_create (&server.step, &server.config, &err), 0);
    add_ranks (3, &places);
    server.journal = journal_create ();
    for (int rank = 0; rank < 3; rank++)
        rank_of (rank)->link = LINK_BUSY;
    assert_int_equal (supervisors_begin (&server, &err), 0);
    /* The next one has no connections. */
    supervisors_end (&server);
    for (int rank = 0; rank < 3; rank++)
        rank_of (rank)->link = LINK_NONE;
    while (journal_read (server.journal, &entry, &frame))
        if (entry.kind == JOURNAL_LAUNCHED)
            assert_int_equal (supervisors_begin (&server, &err), 0);
        else
            supervisors_replay (&server, &entry, frame);
    supervisors_revive (&server);
    for (int rank = 0; rank < 3; rank++)
        assert_true (rank_of (rank)->away == server.job->run + JOB_BROKEN_MS);
    journal_destroy (server.journal);
    server.journal = NULL;
    end ();
}

/* The commands scontrol and srun: show this job, and note what else they are asked. */
static const char *commands_for (const char *job)
{
    static char directory[64], script[512];

    snprintf (directory, sizeof (directory), "%s", new_directory ());
    snprintf (script, sizeof (script),
              "#!/bin/sh\n[ \"$1\" != show ] || exec cat %s/job\necho \"$@\" >> %s/asked\n", directory,
              directory);
    write_file (path_in (directory, "job"), job);
    write_file (path_in (directory, "scontrol"), script);
    assert_int_equal (chmod (path_in (directory, "scontrol"), 0700), 0);
    assert_int_equal (symlink ("scontrol", path_in (directory, "srun")), 0);
    return directory;
}

TEST (a_job_that_requires_nodes_keeps_all_of_them_however_long_its_list_of_nodes_is)
{
    char step[] = "worker:2", list[6000] = "", job[7000];
    const struct past_runs runs = { .runs = 1 };
    struct fact_rank lost = { .rank = NULL };
    const struct fact fact = { .kind = FACT_REQUEUE, .runs = &runs, .ranks = &lost, .count = 1 };

    memset (list, 'n', sizeof (list) - 1);
    snprintf (job, sizeof (job),
              "JobId=12 JobName=x\n   JobState=RUNNING Requeue=1 BatchFlag=1\n"
              "   ReqNodeList=%s ExcNodeList=(null)\n",
              list);
    begin (step);
    lost.rank = rank_of (1);
    server.config.slurm_path = commands_for (job);
    server.peers.epoll = epoll_create1 (EPOLL_CLOEXEC);
    server.requeuer = (struct requeuer){ .fd = -1, .patience = deadline_never () };
    requeuer_requeue (&server, &fact);
    forks = true;
    requeuer_check (&server);
    forks = false;
    capture ();
    for (; server.requeuer.fd >= 0; poll (NULL, 0, 1))
        requeuer_receive (&server);
    assert_non_null (strstr (release (), "Slurm does not leave out n2, or has not kept the time report: "
                                         "it requires nodes (--nodelist)\n"));
    assert_non_null (strstr (file_text (path_in (server.config.slurm_path, "asked")), "\nrequeue 12\n"));
    AWAIT ((requeuer_check (&server), server.requeuer.child == 0));
    close (server.peers.epoll);
    end ();
}

TEST (facts_that_have_been_taken_leave_their_room_to_others)
{
    struct facts facts = { .count = 0 };
    struct fact fact;
    int room;

    facts_add (&facts, FACT_KILLED, NULL);
    room = facts.room;
    for (int i = 0; i < 2 * room; i++) {
        assert_true (facts_take (&facts, &fact));
        assert_false (facts_take (&facts, &fact));
        facts_add (&facts, FACT_KILLED, NULL);
    }
    assert_int_equal (facts.room, room);
    facts_clear (&facts);
}
