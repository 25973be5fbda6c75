/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "requeuer.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/list_text.h"
#include "common/number.h"
#include "common/printable.h"
#include "common/second.h"
#include "console.h"
#include "job/facts.h"
#include "notify.h"
#include "server.h"

/* A command has so long. */
#define COMMAND_MS 10000
/* slurmctld may be away for a moment, as while it is restarted: before a requeue it is asked so often. */
#define ATTEMPTS 6
#define PAUSE_MS 5000
/* Longer than all of that. */
#define PATIENCE_MS 200000
/* How often it is looked whether everything is written, and the last event's programs have ended. */
#define LOOK_MS 5
/* A file system that hangs does not keep the job from going on. */
#define WRITE_MS 2000

/* The child. */

/* What a command has printed: the job of a large step has long lists of nodes. */
static char answer[1 << 20];

static bool _command (const char *const argv[])
{
    return child_command (argv, true, answer, sizeof (answer), COMMAND_MS) == 0;
}

#define RUN(...) _command ((const char *const[]){ __VA_ARGS__, NULL })

/* What changes the job is tried once more if slurmctld does not answer. A refusal stands. */
#define TRY(...) (RUN (__VA_ARGS__) || (slurm_job_is_silence (answer) && RUN (__VA_ARGS__)))

/* Why it has failed: the first line. */
static void _note_error (struct slurm_job *job)
{
    answer[strcspn (answer, "\n")] = '\0';
    snprintf (job->error, sizeof (job->error), "%.*s", SLURM_JOB_MAX_ERROR,
              *answer ? answer : "scontrol does not answer");
    printable_make_line (job->error);
}

struct names {
    char job[32];           /* by which Slurm is asked: that of an array's job, "59_1" */
    char leader[32];        /* its number, which may be that of the whole array, too */
};

/* What Slurm shows of a job. */
struct shown {
    char state[32], end[24], limit[32], batch[8], requeue[8];
    int restarts;
    char excluded[4096], comment[4096];
    bool too_long; /* one of these is */
    bool requires_nodes;
};

/*
 * The value of a key, " KEY=", up to the first of these characters, without blanks at its end; "" if there is
 * none, or it is too long, which returns false.
 */
static bool _take_value (char *value, size_t size, const char *text, const char *key, const char *ends)
{
    const char *found = strstr (text, key);
    size_t length = 0;

    if (found) {
        found += strlen (key);
        length = strcspn (found, ends);
        while (length > 0 && found[length - 1] == ' ')
            length--;
    }
    snprintf (value, size, "%.*s", length < size ? (int)length : 0, found ? found : "");
    return length < size;
}

static bool _is_null (const char *value)
{
    return !*value || strcmp (value, "(null)") == 0;
}

static bool _is_own (const char *leader)
{
    size_t length = strlen (leader);

    return strncmp (answer, "JobId=", 6) == 0 && strncmp (answer + 6, leader, length) == 0
           && answer[6 + length] == ' ';
}

/*
 * sbatch passes the variables of an array on to a job that a job of the array submits. Then the number is the
 * right name.
 */
static bool _print_job (struct names *names)
{
    bool shows = RUN ("scontrol", "show", "job", names->job);

    if (strcmp (names->job, names->leader) == 0 || (shows && _is_own (names->leader))
        || (!shows && !strstr (answer, "Invalid job id")))
        return shows;
    strcpy (names->job, names->leader);
    return RUN ("scontrol", "show", "job", names->job);
}

/* Of a heterogeneous job the first component is shown first. */
static bool _show (struct shown *shown, struct names *names)
{
    char *text, *next, restarts[16], required[8];

    if (!_print_job (names) || !(text = strchr (answer, '\n')))
        return false;
    if ((next = strstr (text, "\n\n")))
        *next = '\0';
    _take_value (shown->state, sizeof (shown->state), text, " JobState=", " \n");
    /* While --signal is being delivered. */
    if (strcmp (shown->state, "SIGNALING") == 0)
        strcpy (shown->state, "RUNNING");
    _take_value (shown->end, sizeof (shown->end), text, " EndTime=", " \n");
    _take_value (shown->limit, sizeof (shown->limit), text, " TimeLimit=", " \n");
    _take_value (shown->batch, sizeof (shown->batch), text, " BatchFlag=", " \n");
    _take_value (shown->requeue, sizeof (shown->requeue), text, " Requeue=", " \n");
    _take_value (restarts, sizeof (restarts), text, " Restarts=", " \n");
    if (number_parse (&shown->restarts, restarts, 0, INT_MAX) < 0)
        shown->restarts = 0;
    /* What is in the list, which may be long, does not matter. */
    shown->requires_nodes =
        !_take_value (required, sizeof (required), text, " ReqNodeList=", " \n") || !_is_null (required);
    shown->too_long = !_take_value (shown->excluded, sizeof (shown->excluded), text, " ExcNodeList=", " \n");
    shown->too_long |= !_take_value (shown->comment, sizeof (shown->comment), text, "\n   Comment=", "\n");
    return *shown->state;
}

/* The limit of a job without one is a year in some partitions. */
static bool _is_endless (const char *limit)
{
    return strcmp (limit, "UNLIMITED") == 0 || strcmp (limit, "365-00:00:00") == 0;
}

static enum slurm_job_obstacle _obstacle (const struct shown *shown)
{
    if (strcmp (shown->batch, "0") == 0)
        return SLURM_JOB_NO_SCRIPT;
    if (strcmp (shown->requeue, "0") == 0)
        return SLURM_JOB_FORBIDS;
    return _is_endless (shown->limit) ? SLURM_JOB_ENDLESS : SLURM_JOB_GOES_ON;
}

static void _ask_slurm (struct slurm_job *slurm, struct names *names)
{
    const char *begin;
    struct shown shown;
    int end;

    if (!_show (&shown, names)) {
        _note_error (slurm);
        return;
    }
    if (strcmp (shown.state, "RUNNING") != 0 && strcmp (shown.state, "SUSPENDED") != 0) {
        snprintf (slurm->error, sizeof (slurm->error), "the job is %s", shown.state);
        return;
    }
    slurm->obstacle = _obstacle (&shown);
    past_runs_find (&slurm->runs, shown.comment, &begin);
    if (slurm->obstacle != SLURM_JOB_GOES_ON)
        return;
    /* SLURM_TIME_FORMAT makes it seconds since 1970. */
    if (number_parse (&end, shown.end, 1, INT_MAX) < 0) {
        slurm->obstacle = SLURM_JOB_SILENT;
        snprintf (slurm->error, sizeof (slurm->error), "EndTime is %s", shown.end);
        return;
    }
    slurm->left = end - (int)time (NULL);
    if (slurm->left < 1)
        slurm->left = 1;
}

static bool _update (const char *job, const char *text)
{
    char number[48];

    snprintf (number, sizeof (number), "JobId=%s", job);
    return TRY ("scontrol", "update", number, text);
}

/* The user's own comment stays. */
static bool _write_comment (const struct shown *shown, const char *job, const struct past_runs *runs)
{
    char text[sizeof (shown->comment) + PAST_RUNS_TEXT + 16], own[PAST_RUNS_TEXT];
    struct past_runs before;
    const char *begin, *comment = _is_null (shown->comment) ? "" : shown->comment;
    size_t length = past_runs_find (&before, comment, &begin);
    int first = length > 0 ? (int)(begin - comment) : (int)strlen (comment);

    snprintf (text, sizeof (text), "Comment=%.*s%s%s%s", first, comment,
              first > 0 && comment[first - 1] != ' ' ? " " : "", past_runs_print (runs, own),
              length > 0 ? begin + length : "");
    return _update (job, text);
}

/*
 * Slurm takes another list only while the job is pending, so after the requeue. That ends the batch script,
 * and then slurmstepd kills this process at once: with proctrack/cgroup in 6 of 16 tries before the list was
 * there. A task of a step of its own has KillWait for it. The job need not be held, and released when the
 * list is there: the next run begins when the nodes are free, and this run's credentials have expired.
 */
static bool _requeue_by_step (const struct names *names, const char *list)
{
    static const char commands[] =
        "trap '' TERM; scontrol requeue \"$0\" && scontrol update JobId=\"$0\" \"$1\"";
    char host[HOST_NAME_MAX + 1] = "";

    gethostname (host, sizeof (host) - 1);
    host[strcspn (host, ".")] = '\0';
    return RUN ("srun", "--quiet", "--overlap", "--job-name=tf-requeue", "--input=none", "--chdir=/",
                "--jobid", names->leader, "--nodelist", host, "--nodes=1", "--ntasks=1", "sh", "-c", commands,
                names->job, list);
}

static bool _await_slurm (struct shown *shown, struct names *names)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        if (i > 0)
            poll (NULL, 0, PAUSE_MS);
        if (_show (shown, names))
            return true;
    }
    return false;
}

/* Another step of the job, or its script, may have done it. */
static bool _is_requeued (const struct shown *shown, int restarts)
{
    return strcmp (shown->state, "PENDING") == 0 || shown->restarts > restarts;
}

static void _requeue (struct slurm_job *slurm, const struct shown *shown, struct names *names,
                      const char *nodes)
{
    char list[sizeof (shown->excluded) + 4096 + 16];
    bool null = _is_null (shown->excluded), without = *nodes && !shown->requires_nodes;
    struct shown now;

    snprintf (list, sizeof (list), "ExcNodeList=%s%s%s", null ? "" : shown->excluded, null ? "" : ",", nodes);
    if (without && _requeue_by_step (names, list))
        return;
    if (!TRY ("scontrol", "requeue", names->job)) {
        _note_error (slurm);
        if (!_show (&now, names) || !_is_requeued (&now, shown->restarts)) {
            slurm->obstacle = SLURM_JOB_FORBIDS;
            return;
        }
        *slurm->error = '\0';
    }
    if (*nodes && !without)
        snprintf (slurm->error, sizeof (slurm->error), "it requires nodes (--nodelist)");
    else if (*nodes && !_update (names->job, list))
        _note_error (slurm);
}

static void _forbid (struct slurm_job *slurm, const char *what, const char *why)
{
    slurm->obstacle = SLURM_JOB_FORBIDS;
    snprintf (slurm->error, sizeof (slurm->error), "%s is %s", what, why);
}

/* A job that has ended, or was requeued, stays as it is. `restarts` were before this run. */
static void _requeue_job (struct slurm_job *slurm, const struct requeuer *requeuer, struct names *names,
                          int restarts)
{
    struct shown shown;

    if (!_await_slurm (&shown, names)) {
        _note_error (slurm);
        return;
    }
    slurm->obstacle = SLURM_JOB_GOES_ON;
    if (strcmp (shown.state, "RUNNING") != 0) {
        if (!_is_requeued (&shown, restarts))
            _forbid (slurm, "the job", shown.state);
        return;
    }
    if (shown.too_long) {
        _forbid (slurm, "its comment or a list of nodes", "too long");
        return;
    }
    if (!_write_comment (&shown, names->job, &requeuer->runs)) {
        _note_error (slurm);
        /*
         * Then the next run is compared with an older one. Without slurmdbd, 22.05 refuses each change of a
         * job that has lost a node. Any other job might go on for ever.
         */
        slurm->obstacle = *requeuer->nodes ? SLURM_JOB_GOES_ON : SLURM_JOB_FORBIDS;
    }
    if (slurm->obstacle == SLURM_JOB_GOES_ON)
        _requeue (slurm, &shown, names, requeuer->nodes);
}

static _Noreturn void _work (const struct server *server, int fd)
{
    const struct rendezvous_config *c = &server->config;
    struct slurm_job slurm = { .obstacle = SLURM_JOB_SILENT };
    const char *number = step_roster (server->step)->step.number, *step = c->array ? c->array : number;
    char path[PATH_MAX + 64];
    struct names names;
    struct frame *frame;

    snprintf (path, sizeof (path), "%s%s/usr/local/bin:/usr/bin:/bin", c->slurm_path ? c->slurm_path : "",
              c->slurm_path ? ":" : "");
    snprintf (names.job, sizeof (names.job), "%.*s", (int)strcspn (step, "."), step);
    snprintf (names.leader, sizeof (names.leader), "%.*s", (int)strcspn (number, "."), number);
    setenv ("PATH", path, 1);
    setenv ("SLURM_TIME_FORMAT", "%s", 1);
    if (c->slurm_conf)
        setenv ("SLURM_CONF", c->slurm_conf, 1);
    if (server->requeuer.acts)
        _requeue_job (&slurm, &server->requeuer, &names, c->job_restarts);
    else
        _ask_slurm (&slurm, &names);
    frame = fields_frame (&slurm_job_fields, &slurm);
    _exit (frame && frame_send (frame, fd, NULL) == 0 ? 0 : 1);
}

/* tf-rendezvous. */

static bool _start_scontrol (struct server *server, bool acts)
{
    struct requeuer *r = &server->requeuer;
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = r };
    int pair[2];

    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    r->acts = acts;
    r->reader = (struct frame_reader){ .ceiling = FRAME_MAX_CONFIGURATION };
    if ((r->child = child_fork ("tf-requeue", (int[]){ -1, -1, -1, pair[1] }, 4)) == 0)
        _work (server, STDERR_FILENO + 1);
    close (pair[1]);
    if (r->child < 0 || epoll_ctl (server->peers.epoll, EPOLL_CTL_ADD, pair[0], &event) < 0) {
        close (pair[0]);
        return false;
    }
    r->fd = pair[0];
    return true;
}

/* Nothing is known. */
static void _answer_nothing (struct requeuer *r)
{
    r->answer = fields_frame (&slurm_job_fields, &(struct slurm_job){ .obstacle = SLURM_JOB_SILENT });
}

void requeuer_ask (struct server *server)
{
    if (server->requeuer.fd < 0 && !_start_scontrol (server, false))
        _answer_nothing (&server->requeuer);
}

struct frame *requeuer_take_answer (struct requeuer *r)
{
    struct frame *taken = r->answer;

    r->answer = NULL;
    return taken;
}

void requeuer_requeue (struct server *server, const struct fact *fact)
{
    struct requeuer *r = &server->requeuer;
    struct list_text list = { r->nodes, sizeof (r->nodes), ",", 0, 0, 0 };

    r->nodes[0] = '\0';
    r->wanted = true;
    r->runs = *fact->runs;
    r->patience = deadline_in_ms (PATIENCE_MS);
    r->written = deadline_in_ms (WRITE_MS);
    r->notified = deadline_min (deadline_in_ms (NOTIFY_SECONDS * SECOND_MS),
                                (struct deadline){ server->job->requeue.end - COMMAND_MS });
    for (int i = 0; i < fact->count; i++)
        list_text_add (&list, fact->ranks[i].rank->node);
}

bool requeuer_is_busy (const struct requeuer *r)
{
    return (r->wanted || (r->fd >= 0 && r->acts)) && !deadline_passed (r->patience);
}

static void _tell_requeue (const struct server *server, const struct slurm_job *slurm)
{
    const char *step = step_name (server->step), *nodes = server->requeuer.nodes;

    if (slurm->obstacle != SLURM_JOB_GOES_ON)
        console_say ("error: spank_tf: %s: the job could not be requeued: %s", step, slurm->error);
    else if (*slurm->error)
        console_say (
            "error: spank_tf: %s: the job was requeued, but Slurm does not leave out %s, or has not kept "
            "the time report: %s",
            step, nodes, slurm->error);
}

void requeuer_receive (struct server *server)
{
    struct requeuer *r = &server->requeuer;
    struct slurm_job slurm = { .obstacle = SLURM_JOB_SILENT };
    struct frame *frame = NULL;
    int n = frame_read (&r->reader, r->fd, &frame, NULL);

    if (n == 0)
        return;
    epoll_ctl (server->peers.epoll, EPOLL_CTL_DEL, r->fd, NULL);
    close (r->fd);
    r->fd = -1;
    frame_reader_clear (&r->reader);
    if (n < 0 || fields_decode (&slurm_job_fields, &slurm, frame, NULL) < 0) {
        frame_destroy (frame);
        frame = NULL;
        snprintf (slurm.error, sizeof (slurm.error), "tf-requeue ended before it knew");
    }
    if (r->acts) {
        _tell_requeue (server, &slurm);
        frame_destroy (frame);
    } else if (frame)
        r->answer = frame;
    else
        _answer_nothing (r);
}

void requeuer_check (struct server *server)
{
    struct requeuer *r = &server->requeuer;

    if (r->child > 0 && r->fd < 0 && waitpid (r->child, NULL, WNOHANG) != 0)
        r->child = 0;
    if (!r->wanted || r->fd >= 0 || (!console_is_written () && !deadline_passed (r->written)))
        return;
    /* With the batch script, Slurm kills them. But time is left for the commands. */
    if (notify_has_last () && !deadline_passed (r->notified))
        return;
    r->wanted = false;
    if (!_start_scontrol (server, true))
        _tell_requeue (server, &(struct slurm_job){ .error = "no process for scontrol" });
}

struct deadline requeuer_next (const struct server *server)
{
    const struct requeuer *r = &server->requeuer;

    if (r->answer)
        return deadline_in_ms (0);
    return r->wanted || (r->child > 0 && r->fd < 0) ? deadline_in_ms (LOOK_MS) : deadline_never ();
}

void requeuer_end (struct requeuer *r)
{
    if (r->fd >= 0)
        close (r->fd);
    frame_reader_clear (&r->reader);
    frame_destroy (requeuer_take_answer (r));
    r->fd = -1;
}
