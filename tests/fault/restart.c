/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A supervisor starts its program again when the rendezvous orders it. tests/supervision.c is the
 * rendezvous and slurmstepd.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/exit_report.h"
#include "protocol/life_report.h"
#include "simulation.h"
#include "supervision.h"

/* Programs. */

static void _run (const char *script)
{
    if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) == 0)
        raise (SIGSTOP);
    execl ("/bin/sh", "sh", "-c", script, NULL);
    _exit (99);
}

static void _fails_once (void)
{
    _run ("echo life ${SLURM_TF_RESTART-0}; exit $((3 + ${SLURM_TF_RESTART-0}))");
}

static void _leaves_a_daemon (void)
{
    _run ("if [ \"$SLURM_TF_RESTART\" ]; then\n"
          "  [ \"$(cat /proc/$PPID/task/$PPID/children)\" = \"$$ \" ] && echo alone\n"
          "else\n"
          "  (trap '' TERM; setsid sleep 60 >/dev/null 2>&1 &)\n"
          "fi\n"
          "exit 3");
}

static void _serves (void)
{
    _run ("echo up; exec sleep 60");
}

static void _is_not_traced (void)
{
    execl ("/bin/sh", "sh", "-c", "exit 3", NULL);
}

/* The rendezvous. */

struct wanted {
    const char *report;
    int life;                   /* -1: it cannot be started again */
    const char *cannot;
    bool asked;
};

static void _check (const struct frame *frame, const struct wanted *wanted)
{
    struct exit_report report;
    struct exit_report_text room;
    struct life_report life;
    struct errtext err;

    if (exit_report_decode (&report, frame, &err) < 0)
        die ("%s", err.text);
    if (strcmp (exit_report_print (&report, &room), wanted->report) != 0)
        die ("the report is %s instead of %s", room.text, wanted->report);
    life_report_decode (&life, frame);
    if (life.life != wanted->life || life.asked_to_end != wanted->asked)
        die ("life %d%s instead of %d%s", life.life, life.asked_to_end ? ", asked" : "",
             wanted->life, wanted->asked ? ", asked" : "");
    if (strcmp (life.cannot ? life.cannot : "", wanted->cannot ? wanted->cannot : "") != 0)
        die ("it cannot be restarted because %s", life.cannot);
}

static void _expect (const struct task *task, struct wanted wanted)
{
    struct frame *frame = receive_frame (task->connection, task_reaction_ms ());

    if (!frame)
        die ("there is no report");
    _check (frame, &wanted);
    frame_destroy (frame);
}

static void _order_restart (const struct task *task, int life)
{
    if (!send_frame (task->connection, order_encode_restart (life, TASK_SERVER_TOKEN)))
        die ("tf-supervise does not take an order");
}

/* Tests. */

static void _is_started_again (const void *arg __attribute__ ((unused)))
{
    struct task task = { .program = _fails_once, .restarts = true };

    task_start (&task);
    task_expect_output (&task, "life 0\n");
    for (int life = 0; life < 5; life++) {
        char report[32], output[32];

        snprintf (report, sizeof (report), "exit %d", 3 + life);
        snprintf (output, sizeof (output), "life %d\n", life + 1);
        _expect (&task, (struct wanted){ report, life, NULL, false });
        task_send_order (&task, ORDER_WAIT);
        _order_restart (&task, life + 1);
        task_expect_output (&task, output);
    }
    _expect (&task, (struct wanted){ "exit 8", 5, NULL, false });
    task_order_exit (&task, W_EXITCODE (8, 0));
}

static void _waits_for_its_life (const void *arg __attribute__ ((unused)))
{
    struct task task = { .program = _fails_once, .restarts = true };

    task_start (&task);
    task_expect_output (&task, "life 0\n");
    _expect (&task, (struct wanted){ "exit 3", 0, NULL, false });
    task_send_order (&task, ORDER_WAIT);
    _order_restart (&task, 2);
    task_expect_no_output (&task);
    task_order_exit (&task, W_EXITCODE (3, 0));
}

static void _former_life_is_dead (const void *arg __attribute__ ((unused)))
{
    struct task task = { .program = _leaves_a_daemon, .restarts = true };

    task_start (&task);
    _expect (&task, (struct wanted){ "exit 3", 0, NULL, false });
    _order_restart (&task, 1);
    task_expect_output (&task, "alone\n");
    _expect (&task, (struct wanted){ "exit 3", 1, NULL, false });
    task_order_exit (&task, W_EXITCODE (3, 0));
}

static void _stopped_and_started (const void *arg __attribute__ ((unused)))
{
    struct task task = { .program = _serves, .restarts = true, .stop_grace = 20 };

    task_start (&task);
    for (int life = 0; life < 3; life++) {
        task_expect_output (&task, "up\n");
        task_send_order (&task, ORDER_STOP);
        _expect (&task, (struct wanted){ "stopped", life, NULL, false });
        task_send_order (&task, ORDER_WAIT);
        _order_restart (&task, life + 1);
    }
    task_expect_output (&task, "up\n");
    task_send_order (&task, ORDER_STOP);
    _expect (&task, (struct wanted){ "stopped", 3, NULL, false });
    task_order_exit (&task, 0);
}

/* SIGTERM comes while the task waits for its next life: it does not get one. */
static void _asked_while_waiting (const void *arg __attribute__ ((unused)))
{
    struct task task = { .program = _fails_once, .restarts = true, .stop_grace = 20 };

    task_start (&task);
    task_expect_output (&task, "life 0\n");
    _expect (&task, (struct wanted){ "exit 3", 0, NULL, false });
    task_send_order (&task, ORDER_WAIT);
    kill (task.pid, SIGTERM);
    _expect (&task, (struct wanted){ "exit 3", 0, NULL, true });
    _order_restart (&task, 1);
    task_expect_no_output (&task);
    task_order_exit (&task, W_EXITCODE (3, 0));
}

static void _reconnects_while_waiting (const void *arg __attribute__ ((unused)))
{
    struct task task = { .program = _fails_once, .restarts = true };

    task_start (&task);
    task_expect_output (&task, "life 0\n");
    _expect (&task, (struct wanted){ "exit 3", 0, NULL, false });
    task_send_order (&task, ORDER_WAIT);
    task_close_connection (&task);
    task_expect_reconnect (&task, "exit 3");
    _order_restart (&task, 1);
    task_expect_output (&task, "life 1\n");
    _expect (&task, (struct wanted){ "exit 4", 1, NULL, false });
    task_order_exit (&task, W_EXITCODE (4, 0));
}

static void _cannot_be_traced (const void *arg __attribute__ ((unused)))
{
    struct task task = { .program = _is_not_traced, .restarts = true };

    task_start (&task);
    _expect (&task, (struct wanted){ "exit 3", -1, "it could not be traced", false });
    task_order_exit (&task, W_EXITCODE (3, 0));
}

int main (void)
{
    bool passed = true;

    passed &= check ("a program is started again, as often as that is ordered, and the supervisor "
                     "ends like its last life", _is_started_again, NULL);
    passed &= check ("no other life than the next one is started", _waits_for_its_life, NULL);
    passed &= check ("a life begins when every process of the former one is dead",
                     _former_life_is_dead, NULL);
    passed &= check ("a stopped program is started again", _stopped_and_started, NULL);
    passed &= check ("SIGTERM while a task waits for its next life: there is none",
                     _asked_while_waiting, NULL);
    passed &= check ("a supervisor that reconnects while its task waits sends its report again",
                     _reconnects_while_waiting, NULL);
    passed &= check ("a program that was not traced cannot be started again", _cannot_be_traced,
                     NULL);
    return passed ? 0 : 1;
}
