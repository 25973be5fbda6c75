/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "lives.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/port.h"

/*
 * If the rendezvous has ended because srun has, Slurm ends the step within seconds, and its tasks may
 * fail before: no task is started again by its supervisor alone before that is over.
 */
#define ALONE_PAUSE_S 10

void lives_init (struct lives *lives, const struct supervisor_config *config)
{
    *lives = (struct lives){ .config = config, .following = config->restart.times > 0, .port = -1 };
}

void lives_clear (struct lives *lives)
{
    capture_destroy (lives->capture);
    lives->capture = NULL;
    if (lives->port >= 0)
        close (lives->port);
    lives->port = -1;
}

void lives_end (struct lives *lives, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (lives->cannot, sizeof (lives->cannot), fmt, ap);
    va_end (ap);
    lives_clear (lives);
}

void lives_follow (struct lives *lives, int status, int port)
{
    const int kept[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, port };
    struct errtext err;
    enum capture_step step = capture_follow (&lives->capture, lives->config->task, status, kept,
                                             sizeof (kept) / sizeof (kept[0]), &err);

    lives->traced = true;
    lives->following = step == CAPTURE_NOT_YET;
    if (step == CAPTURE_CANNOT || step == CAPTURE_REFUSED)
        lives_end (lives, "%s", err.text);
}

/* A process that the former life has left behind may still have the port. */
void lives_pause (struct lives *lives)
{
    if (lives->capture && lives->config->claimed_port && lives->port < 0)
        lives->port = port_bind (lives->config->claimed_port, NULL);
}

/* -1 if another program has got the port meanwhile. */
static int _get_port (struct lives *lives, struct errtext *err)
{
    if (lives->config->claimed_port && lives->port < 0)
        lives->port = port_bind (lives->config->claimed_port, err);
    return lives->config->claimed_port && lives->port < 0 ? -1 : 0;
}

pid_t lives_next (struct lives *lives)
{
    struct errtext err;
    pid_t pid = -1;
    int port;

    if (_get_port (lives, &err) == 0) {
        port = lives->port;
        lives->port = -1;
        pid = capture_restart (lives->capture, lives->number + 1, port, &err);
    }
    if (pid < 0)
        lives_end (lives, "%s", err.text);
    else
        lives->number++;
    return pid;
}

/* Without a further reason, the task has ended before its program was seen. */
static const char *_why_not (const struct lives *lives)
{
    if (*lives->cannot)
        return lives->cannot;
    return lives->traced ? "its program could not be executed" : "it could not be traced";
}

struct life_report lives_report (const struct lives *lives, bool asked_to_end)
{
    if (lives->config->restart.times == 0)
        return (struct life_report){ .life = -1 };
    return (struct life_report){ .life = lives->capture ? lives->number : -1,
                                 .cannot = lives->capture ? NULL : _why_not (lives),
                                 .asked_to_end = asked_to_end };
}

int lives_alone_after (const struct lives *lives, const struct exit_report *report)
{
    const struct restart_rule *rule = &lives->config->restart;
    int pause = restart_rule_pause (rule, lives->number + 1);

    if (!lives->capture || !lives->config->restart_alone || lives_left (lives) == 0
        || !restart_rule_covers (rule, report))
        return -1;
    return pause > ALONE_PAUSE_S ? pause : ALONE_PAUSE_S;
}

int lives_left (const struct lives *lives)
{
    return lives->config->restart.times - lives->number;
}
