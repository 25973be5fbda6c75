/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-abandoned requeue|cancel STEP BATCHHOST LOG [first], as the job's user; tf-supervise starts it
 * (abandoned.h). If the job runs on without its batch host, which Slurm has given up: requeue it, where
 * that is possible, or cancel it. What cannot be found out is no reason to do anything.
 *
 * LOG is the log of the task, or "": then master.log, in the same directory, gets a line. The file system
 * may hang since the host died, so that is done last, and not for long. If master.log does not get it, or
 * Slurm does not answer the first time, the node's syslog gets a line.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/descriptors.h"
#include "common/errtext.h"
#include "common/iso_time.h"
#include "common/logdir.h"
#include "common/version.h"
#include "protocol/slurm_job.h"

/* A command has so long. */
#define COMMAND_MS 10000
/* Slurm may refuse the comment of a job that has lost a node; 22.05 without slurmdbd does so after 5 s. */
#define COMMENT_MS 3000
/* So has the file system. Slurm, which ends this process with the job, waits longer (KillWait). */
#define LOG_MS 5000

#define MASTER_LOG "master.log"

/* What a command has printed: the job of a large step has long lists of nodes. */
static char answer[1 << 20];

static struct {
    const char *policy, *step, *host, *log;
    bool first; /* the first attempt of this supervisor */
    bool commented; /* the job has a comment of its user's */
    char number[32], job[32]; /* the latter for commands */
    char runs[PAST_RUNS_TEXT
              + 1]; /* that --tf-requeue has written into the job's comment, and a blank; or "" */
} arg;

/* Commands. */

#define RUN(ms, ...) \
    child_command ((const char *const[]){ __VA_ARGS__, NULL }, false, answer, sizeof (answer), ms)

static void __attribute__ ((format (printf, 1, 2))) _tell_syslog (const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    RUN (COMMAND_MS, "logger", "-t", "spank_tf", "-p", "user.err", text);
}

/* The job. */

/*
 * The line of the job, with blanks around each word. A heterogeneous job has one for each component, and an
 * array one for each of its jobs, if it has this one's number.
 */
static char *_line_of_job (void)
{
    char begin[64], batch_host[NAME_MAX + 16], *rest = answer, *line;

    snprintf (begin, sizeof (begin), "JobId=%s ", arg.number);
    snprintf (batch_host, sizeof (batch_host), " BatchHost=%s ", arg.host);
    while ((line = strsep (&rest, "\n")))
        if (strncmp (line, begin, strlen (begin)) == 0 && strstr (line, batch_host))
            return line;
    return NULL;
}

/* The number of an array's job may be that of the whole array, so its name is taken: "59_1". */
static void _name_job (const char *line)
{
    const char *found = strstr (line, " ArrayJobId=");
    char array[11], task[11];

    if (found && sscanf (found, " ArrayJobId=%10[0-9] ArrayTaskId=%10[0-9]", array, task) == 2)
        snprintf (arg.job, sizeof (arg.job), "%s_%s", array, task);
}

static bool _shows (const char *line, const char *word)
{
    char blanks[64];

    snprintf (blanks, sizeof (blanks), " %s ", word);
    return strstr (line, blanks) != NULL;
}

static bool _is_node (const char *nodes)
{
    size_t length = strlen (arg.host);

    for (const char *line = nodes; *line; line += strcspn (line, "\n"), line += *line == '\n')
        if (strncmp (line, arg.host, length) == 0 && (line[length] == '\n' || !line[length]))
            return true;
    return false;
}

/* From one answer of slurmctld, because another supervisor may requeue the job meanwhile. */
static bool _is_abandoned (bool *may_requeue)
{
    struct past_runs runs;
    const char *begin;
    char *line, *nodes;
    size_t length;

    if (RUN (COMMAND_MS, "scontrol", "--oneliner", "show", "job", arg.job) < 0) {
        if (arg.first)
            _tell_syslog (
                "step %s: %s may have died with the batch script, and scontrol does not report whether "
                "Slurm has given it up; this node asks again",
                arg.step, arg.host);
        return false;
    }
    /* SIGNALING: while Slurm delivers --signal, for which it waits for the node that has died. */
    if (!(line = _line_of_job ())
        || (!_shows (line, "JobState=RUNNING") && !_shows (line, "JobState=SIGNALING"))
        || !_shows (line, "BatchFlag=1") || _shows (line, "NodeList=(null)")
        || !(nodes = strstr (line, " NodeList=")))
        return false;
    _name_job (line);
    *may_requeue = _shows (line, "Requeue=1");
    begin = strstr (line, " Comment=");
    begin = begin ? begin + strlen (" Comment=") : "(null)";
    arg.commented = strncmp (begin, "(null)", 6) != 0 && strncmp (begin, "[spank_tf ", 10) != 0
                    && strncmp (begin, "spank_tf: ", 10) != 0;
    length = past_runs_find (&runs, line, &begin);
    snprintf (arg.runs, sizeof (arg.runs), "%.*s%s", (int)length, length ? begin : "", length ? " " : "");
    nodes += strlen (" NodeList=");
    nodes[strcspn (nodes, " ")] = '\0';
    nodes = strdupa (nodes);
    return RUN (COMMAND_MS, "scontrol", "show", "hostnames", nodes) == 0 && *answer && !_is_node (answer);
}

/* What was done. */

static void _comment (const char *done)
{
    char job[48], comment[PATH_MAX];

    if (arg.commented)
        return;
    snprintf (job, sizeof (job), "JobId=%s", arg.job);
    snprintf (comment, sizeof (comment), "Comment=%sspank_tf: %s died with the batch script; the job is %s",
              arg.runs, arg.host, done);
    RUN (COMMENT_MS, "scontrol", "update", job, comment);
}

/*
 * There may be no master.log there: Slurm's patterns can give each node a directory of its own. -1 and err,
 * which names the file.
 */
static int _append (const char *line, struct errtext *err)
{
    const char *name = strrchr (arg.log, '/');
    struct logdir dir = { .fd = -1 };
    char path[PATH_MAX + sizeof (MASTER_LOG)];
    struct stat st;
    int fd;

    snprintf (dir.path, sizeof (dir.path), "%.*s", (int)(name - arg.log), arg.log);
    snprintf (path, sizeof (path), "%s/" MASTER_LOG, dir.path);
    if (lstat (path, &st) < 0)
        return errtext_set (err, "%s: %s", path, strerror (errno));
    if (logdir_make (&dir, err) < 0 || (fd = logdir_open (&dir, true, MASTER_LOG, err)) < 0)
        return -1;
    return descriptors_write (fd, line, strlen (line)) < 0
               ? errtext_set (err, "%s: %s", path, strerror (errno))
               : 0;
}

static int _append_line (void *line)
{
    struct errtext err;

    return _append (line, &err) < 0 && descriptors_write (STDOUT_FILENO, &err, sizeof (err)) < 0;
}

/* By a child, which a file system may keep. */
static void _log (const char *done)
{
    char line[1024], at[ISO_TIME_SIZE];
    struct errtext err;

    snprintf (
        line, sizeof (line),
        "%s spank_tf: step %s: Slurm has given up %s, where srun and the batch script ran; the job is %s\n",
        iso_time (time (NULL), at), arg.step, arg.host, done);
    errtext_set (&err, "the file system of %s does not answer", arg.log);
    if (!strchr (arg.log, '/'))
        errtext_set (&err, "the step has no log directory");
    else if (child_ask ("tf-abandoned", _append_line, line, -1, &err, sizeof (err), LOG_MS) == 0)
        return;
    line[strlen (line) - 1] = '\0';
    _tell_syslog ("%s; " MASTER_LOG " could not be written: %s", strstr (line, "step "), err.text);
}

static int _requeue (void)
{
    const char *const argv[] = { "scontrol", "requeue", arg.job, NULL };

    return child_command (argv, true, answer, sizeof (answer), COMMAND_MS);
}

int main (int argc, char *argv[])
{
    bool may_requeue;

    if (version_is_wanted (argc, argv))
        return version_print ();
    if (argc < 5) {
        fputs ("tf-abandoned is started by tf-supervise, for --tf-if-abandoned\n", stderr);
        return 1;
    }
    arg.policy = argv[1], arg.step = argv[2], arg.host = argv[3], arg.log = argv[4], arg.first = argc > 5;
    snprintf (arg.number, sizeof (arg.number), "%.*s", (int)strcspn (arg.step, "."), arg.step);
    snprintf (arg.job, sizeof (arg.job), "%s", arg.number);
    /* That of the task may be on a file system that hangs. */
    if (chdir ("/") < 0 || !_is_abandoned (&may_requeue))
        return 0;
    /* Slurm sends it at the requeue. */
    signal (SIGTERM, SIG_IGN);
    arg.first = false;
    if (strcmp (arg.policy, "requeue") == 0 && may_requeue) {
        _comment ("requeued");
        if (_requeue () == 0) {
            _log ("requeued");
            return 0;
        }
        /* Without an answer this is tried again. Another one may have done it, or it is not possible. */
        if (slurm_job_is_silence (answer) || !_is_abandoned (&may_requeue))
            return 0;
    }
    _comment ("cancelled");
    RUN (COMMAND_MS, "scancel", arg.job);
    _log ("cancelled");
    return 0;
}
