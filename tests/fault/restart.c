/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A supervisor restarts its program when the rendezvous orders it. tests/supervision.c is the
 * rendezvous and slurmstepd. unit/supervise.golden tells what is decided, and system/restart_lives.bats and
 * spares.bats what lives find; here is what the fork server, descriptors and memory do.
 */
#include "config.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "protocol/answer.h"
#include "reports.h"
#include "simulation.h"
#include "supervise/descendants.h"
#include "supervision.h"

/* Programs. */

static void _run (const char *script)
{
    execl ("/bin/sh", "sh", "-c", script, NULL);
    _exit (99);
}

static void _fails_once (void)
{
    _run ("echo life ${SLURM_TF_RESTART-0}; exit $((3 + ${SLURM_TF_RESTART-0}))");
}

static void _ends (void)
{
    _run ("exit 0");
}

static void _ends_by_kill_0 (void)
{
    _run ("echo life ${SLURM_TF_RESTART-0}; [ $SLURM_TF_RESTART ] || kill 0");
}

/* In a shell: the process ID of the fork server. */
#define FORK_SERVER "$PPID"

static void _lets_its_fork_server_open_nothing (void)
{
    _run ("prlimit --pid " FORK_SERVER " --nofile=4:4; exit 3");
}

/* Processes that no parent-death signal reaches. */
static void _fails_and_serves (void)
{
    _run ("[ \"$SLURM_TF_RESTART\" ] || exit 3; (setsid sleep 60 &); sh -c 'echo up; sleep 60; true'; true");
}

/* The rendezvous. */

/* Slurm has not asked any of these tasks to end. */
struct wanted {
    const char *report;
    int life;                   /* -1: it cannot be restarted */
    const char *cannot;
};

static void _check (const struct status *status, const struct wanted *wanted)
{
    const struct life_report *life = &status->life;
    struct exit_report_text room;

    if (strcmp (report_print (&status->report, &room), wanted->report) != 0)
        die ("the report is %s instead of %s", room.text, wanted->report);
    if (life->life != wanted->life || life->asked_signal > 0)
        die ("life %d%s instead of %d", life->life, life->asked_signal ? ", asked" : "", wanted->life);
    if (strcmp (life->cannot ? life->cannot : "", wanted->cannot ? wanted->cannot : "") != 0)
        die ("it cannot be restarted because %s", life->cannot);
}

static void _expect (struct task *task, struct wanted wanted)
{
    struct status status;
    struct frame *frame = task_receive_report (task, &status);

    if (!frame)
        die ("there is no report");
    _check (&status, &wanted);
    frame_destroy (frame);
}

/* Tests. */

/* What a supervisor uses. */
struct use {
    int descriptors, processes;
    long data;                  /* KiB */
};

static struct use _use (pid_t pid)
{
    struct use use = { 0, 0, -1 };
    size_t processes;
    char path[64], line[128];
    DIR *dir;
    FILE *f;

    snprintf (path, sizeof (path), "/proc/%d/fd", (int)pid);
    for (dir = opendir (path); dir && readdir (dir);)
        use.descriptors++;
    if (dir)
        closedir (dir);
    free (descendants_list (&processes, 0));
    use.processes = (int)processes;
    snprintf (path, sizeof (path), "/proc/%d/status", (int)pid);
    for (f = fopen (path, "re"); f && fgets (line, sizeof (line), f);)
        sscanf (line, "VmData: %ld", &use.data);
    if (f)
        fclose (f);
    return use;
}

static void _start_lives (struct task *task, int first, int last)
{
    for (int life = first; life <= last; life++) {
        if (life > 0)
            task_send_life (task, life);
        _expect (task, (struct wanted){ "exit 0", life, NULL });
        task_send_order (task, ORDER_WAIT);
    }
}

static bool _is_more (struct use use, struct use before)
{
    return use.descriptors > before.descriptors || use.processes > before.processes
           || (!task_is_instrumented () && use.data > before.data);
}

/* It may still be about to close what the last life needed. */
static bool _grows (pid_t pid, struct use before, struct use *after)
{
    struct deadline last = deadline_in_ms (5000);

    while (_is_more (*after = _use (pid), before) && !deadline_passed (last))
        poll (NULL, 0, 20);
    return _is_more (*after, before);
}

static void _check_no_more_use (const char *name, struct use before, struct use after)
{
    if (_is_more (after, before))
        die ("%s: after 50 lives %d descriptors, %d processes, %ld KiB; after 98 %d, %d, %ld", name,
             before.descriptors, before.processes, before.data, after.descriptors, after.processes,
             after.data);
}

/* What grows once, as with the number of processes of a busy machine, does not grow with each life. */
TEST ("50 lives leave no descriptor, process or memory in the supervisor")
{
    struct task task = { .program = _ends, .restarts = 99 };
    struct use supervisor, fork_server, supervisor_after, fork_server_after;
    bool grows;

    task_start (&task);
    _start_lives (&task, 0, 2);
    supervisor_after = _use (task.pid);
    fork_server_after = _use (task.fork_server);
    for (int life = 3; life < 99; life += 48) {
        supervisor = supervisor_after;
        fork_server = fork_server_after;
        _start_lives (&task, life, life + 47);
        grows = _grows (task.pid, supervisor, &supervisor_after);
        if (!_grows (task.fork_server, fork_server, &fork_server_after) && !grows)
            break;
    }
    _check_no_more_use ("tf-supervise", supervisor, supervisor_after);
    _check_no_more_use ("the fork server", fork_server, fork_server_after);
    task_order_exit (&task, 0);
}

/* As a script does with `trap 'kill 0' EXIT`; the supervisor is in the same process group. */
TEST ("a program's own signal to its process group does not ask the step to end")
{
    struct task task = { .program = _ends_by_kill_0, .restarts = 9, .stop_grace = 20 };

    task_start (&task);
    task_expect_output (&task, "life 0\n");
    _expect (&task, (struct wanted){ "signal 15", 0, NULL });
    task_send_life (&task, 1);
    task_expect_output (&task, "life 1\n");
    _expect (&task, (struct wanted){ "exit 0", 1, NULL });
    task_order_exit (&task, 0);
}

/* The task has failed, and waits for its next life. */
static void _start_and_wait (struct task *task)
{
    task_start (task);
    task_expect_output (task, "life 0\n");
    _expect (task, (struct wanted){ "exit 3", 0, NULL });
    task_send_order (task, ORDER_WAIT);
}

TEST ("all that a life has started ends when its supervisor is killed")
{
    struct task task = { .program = _fails_and_serves, .restarts = 9 };
    pid_t pid;

    task_start (&task);
    _expect (&task, (struct wanted){ "exit 3", 0, NULL });
    task_send_life (&task, 1);
    task_expect_output (&task, "up\n");
    kill (task.pid, SIGKILL);
    task_expect_exit (&task, SIGKILL);
    /* It has killed the others before. */
    if ((pid = waitpid (-1, NULL, 0)) != task.fork_server)
        die ("process %d is left", (int)pid);
    task_expect_no_descendants ();
}

/* Its fork server. */

TEST ("a life that cannot be forked does not begin")
{
    struct task task = { .program = _lets_its_fork_server_open_nothing, .restarts = 9 };

    task_start (&task);
    _expect (&task, (struct wanted){ "exit 3", 0, NULL });
    task_send_life (&task, 1);
    _expect (&task, (struct wanted){ "exit 3", -1, "Too many open files" });
    task_order_exit (&task, W_EXITCODE (3, 0));
}

TEST ("a life begins when a stopped fork server is continued")
{
    struct task task = { .program = _fails_once, .restarts = 9 };

    _start_and_wait (&task);
    kill (task.fork_server, SIGSTOP);
    task_send_life (&task, 1);
    task_expect_no_output (&task);
    kill (task.fork_server, SIGCONT);
    task_expect_output (&task, "life 1\n");
    _expect (&task, (struct wanted){ "exit 4", 1, NULL });
    task_order_exit (&task, W_EXITCODE (4, 0));
}

/* Slurm's signals reach every process of the task, under some of its process trackers. */
TEST ("a fork server survives all signals that Slurm may send")
{
    struct task task = { .program = _fails_once, .restarts = 9 };

    _start_and_wait (&task);
    send_all_signals (task.fork_server);
    task_send_life (&task, 1);
    task_expect_output (&task, "life 1\n");
    _expect (&task, (struct wanted){ "exit 4", 1, NULL });
    task_order_exit (&task, W_EXITCODE (4, 0));
}

/* Spares. */

static void _tells_its_role (void)
{
    _run ("echo life ${SLURM_TF_RESTART-0} $SLURM_TF_ROLE; exec sleep 60");
}

/* A life is to begin, with an answer. Not watched: 0. */
static void _order_place (struct task *task, int life, const char *role, int watched)
{
    /* clang-format off */
    const struct answer answer = {
        .role = role, .address = "10.0.0.1", .port = 40000, .cluster = "{}", .cluster_length = 2, .tail = "}",
        .supervised = true, .restart = { 9, true, 60, 90 },
        .lost_after = task->lost_after, .goal = &task->goal,
        .watch = { .seconds = watched, .first = watched },
    };
    /* clang-format on */
    struct answer_message message;

    task->goal = (struct goal){ .life = life, .report = task->report, .code = GOAL_OWN_CODE };
    if (answer_encode (&message, &answer, TASK_SERVER_TOKEN) < 0)
        die ("no memory");
    for (int i = 0; i < ANSWER_PARTS; i++)
        if (send (task->connection, message.part[i].iov_base, message.part[i].iov_len, MSG_NOSIGNAL)
            != (ssize_t)message.part[i].iov_len)
            die ("tf-supervise does not take an answer");
    answer_message_clear (&message);
}

static void _start_spare (struct task *task)
{
    task_start (task);
    _expect (task, (struct wanted){ "stopped", 0, NULL });
    task->goal.life = GOAL_NO_LIFE;
    task_send_order (task, ORDER_WAIT);
    task_expect_no_output (task);
}

/* The answer does not arrive in the fork server, which can have no more descriptors. */
TEST ("a spare that cannot get its answer does not begin")
{
    struct task task = { .program = _tells_its_role, .restarts = 9, .spare = true, .lost_after = 60 };
    const struct rlimit none = { 0, 0 };

    _start_spare (&task);
    if (prlimit (task.fork_server, RLIMIT_NOFILE, &none, NULL) < 0)
        die ("cannot limit the fork server");
    _order_place (&task, 3, "chief", 0);
    _expect (&task, (struct wanted){ "unstarted 1", -1, "tf-fork-server, which starts it, does not answer" });
    task_order_exit (&task, W_EXITCODE (1, 0));
}

TEST ("a spare is watched as its place is")
{
    struct task task = {
        .program = _tells_its_role, .restarts = 9, .spare = true, .lost_after = 60, .stop_grace = 9
    };
    struct signs signs;

    _start_spare (&task);
    _order_place (&task, 1, "worker", 1);
    task_expect_output (&task, "life 1 worker\n");
    signs = task_expect_signs (&task);
    if (signs.source != SIGNS_NONE || signs.life != 1)
        die ("it is not watched");
    task_send_order (&task, ORDER_STOP);
    _expect (&task, (struct wanted){ "stopped", 1, NULL });
    task_order_exit (&task, 0);
}
