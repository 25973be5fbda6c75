/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "descriptors.h"
#include "frame.h"
#include "giveup.h"
#include "site.h"
#include "split.h"

/* Slurm's configuration as slurmstepd has it. No header shows it; where it is missing nothing
 * is known of the site. */
extern slurm_conf_t slurm_conf __attribute__ ((weak));

/* What tf-supervise expects: there its connection, and so many variables at most. */
#define RENDEZVOUS_FD 3
#define MAX_VARIABLES 15

int supervisor_find (char *path, size_t size, struct errtext *err)
{
    if (snprintf (path, size, "%s/tf-supervise", site.libexecdir) >= (int)size)
        return errtext_set (err, "libexecdir= is too long");
    if (access (path, X_OK) < 0)
        return errtext_set (err, "%s: %s", path, strerror (errno));
    return 0;
}

/* Does cgroup.conf, beside slurm.conf, have SignalChildrenProcesses=yes? Slurm 23.11's. */
static bool _cgroup_signals_all (const char *slurm_conf_path)
{
    static const char key[] = "SignalChildrenProcesses";
    const char *slash = slurm_conf_path ? strrchr (slurm_conf_path, '/') : NULL;
    char path[4096], line[256];
    bool all = false;
    FILE *f;

    if (!slash || SLURM_VERSION_NUMBER < SLURM_VERSION_NUM (23, 11, 0))
        return false;
    snprintf (path, sizeof (path), "%.*s/cgroup.conf", (int)(slash - slurm_conf_path),
              slurm_conf_path);
    if (!(f = fopen (path, "re")))
        return false;
    while (fgets (line, sizeof (line), f)) {
        const char *p = line + strspn (line, " \t");

        if (strncasecmp (p, key, sizeof (key) - 1) != 0)
            continue;
        p += sizeof (key) - 1;
        p += strspn (p, " \t=");
        all = strncasecmp (p, "yes", 3) == 0 || strncasecmp (p, "true", 4) == 0 || *p == '1';
    }
    fclose (f);
    return all;
}

/*
 * Slurm's signals reach slurmstepd's children and theirs, or all of a process group, or all of
 * a container; with proctrack/cgroup its children alone, and then the program's must be
 * handed on.
 */
static bool _must_forward (void)
{
    const char *type = &slurm_conf ? slurm_conf.proctrack_type : NULL;
    const char *slash = type ? strchr (type, '/') : NULL;

    if (!type || strcmp (slash ? slash + 1 : type, "cgroup") != 0)
        return false;
    return !_cgroup_signals_all (slurm_conf.slurm_conf);
}

/* What the parent becomes, and for whom. */
struct start {
    const char *path;
    const struct rank *rank;
    struct frame *configuration;
    int fd;
};

/* Its variables. All but TASK, which nobody knows yet. */
static struct frame *_configuration (const struct rank *rank, const struct rendezvous *rendezvous,
                                     const struct address *srun, const struct frame *answer)
{
    struct frame *frame = frame_create ();
    struct address_text room;

    if (!frame)
        return NULL;
    frame_add (frame, "TOKEN", "%s", rendezvous->token);
    frame_add (frame, "PROOF", "%s", rendezvous->proof);
    frame_add (frame, "RANK", "%d", rank->rank);
    frame_add (frame, "NODE", "%s", rank->node);
    frame_add (frame, "STEP", "%s", rank->step);
    frame_add (frame, "ADDRESS", "%s", address_print (srun, &room));
    frame_add (frame, "PORT", "%d", rendezvous->port);
    frame_add (frame, "GRACE", "%s", frame_get (answer, "SUPERVISE"));
    if (frame_get (answer, "MAY_LEAVE"))
        frame_add (frame, "MAY_LEAVE", "yes");
    if (&slurm_conf)
        frame_add (frame, "KILL_WAIT", "%d", (int)slurm_conf.kill_wait);
    if (_must_forward ())
        frame_add (frame, "FORWARD", "yes");
    if (rank->rank == 0)
        frame_add (frame, "SPEAKER", "yes");
    return frame;
}

/*
 * The one descriptor that it gets, which may have that number now, and no other: the task goes
 * on before exec would close its port.
 */
static int _hand_over (int rendezvous)
{
    if (dup2 (rendezvous, RENDEZVOUS_FD) < 0 || fcntl (RENDEZVOUS_FD, F_SETFD, 0) < 0)
        return -1;
    descriptors_close_above (RENDEZVOUS_FD);
    return 0;
}

/* Nothing is freed: the memory is the task's, which will exec too. */
static void __attribute__ ((noreturn)) _become (pid_t task, void *with)
{
    const struct start *start = with;
    struct frame *configuration = start->configuration;
    char *const argv[] = { (char *)(uintptr_t)"tf-supervise",
                           (char *)(uintptr_t)start->rank->step, NULL };
    char *env[MAX_VARIABLES + 1] = { NULL };
    const char *variable = NULL;
    struct errtext err;
    size_t length;
    int line = start->fd;

    frame_add (configuration, "TASK", "%d", (int)task);
    for (int i = 0; i < MAX_VARIABLES && (variable = frame_next (configuration, variable)); i++)
        env[i] = (char *)(uintptr_t)variable;
    errno = ENOMEM;
    /* A frame that is not whole has no bytes. */
    if (frame_bytes (configuration, 0, &length) && _hand_over (start->fd) == 0) {
        line = RENDEZVOUS_FD;
        execve (start->path, argv, env);
    }
    errtext_set (&err, "%s: %s", start->path, strerror (errno));
    /* Gone before this process is: it would go on. */
    kill (task, SIGKILL);
    waitpid (task, NULL, 0);
    give_up_answered (line, start->rank->node, err.text);
}

int supervisor_start (const char *path, const struct rank *rank,
                      const struct rendezvous *rendezvous, const struct address *srun, int fd,
                      const struct frame *answer, struct errtext *err)
{
    struct start start = { path, rank, _configuration (rank, rendezvous, srun, answer), fd };
    sigset_t all, mask;
    int rc;

    if (!start.configuration)
        return errtext_set (err, "%s: %s", path, strerror (ENOMEM));
    /* Whatever the task starts stays below its supervisor from the first moment; not inherited. */
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    /* What comes before tf-supervise listens waits for it. */
    sigfillset (&all);
    sigprocmask (SIG_SETMASK, &all, &mask);
    rc = split (_become, &start);
    frame_destroy (start.configuration);
    sigprocmask (SIG_SETMASK, &mask, NULL);
    return rc < 0 ? errtext_set (err, "%s: %s", path, strerror (errno)) : 0;
}
