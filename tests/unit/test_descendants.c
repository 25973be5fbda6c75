/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "supervise/descendants.h"

#define TIMEOUT_MS 20000
/* Every process of a test ends after this time, even if the test fails. */
#define LIFE_S 60

/* What the processes of a test report to the test. */
static struct {
    volatile pid_t pid[4];
    volatile int heard;
    volatile int born;
} *shared;

static void live (int i)
{
    alarm (LIFE_S);
    shared->pid[i] = getpid ();
    for (;;)
        pause ();
}

static const struct process *find (const struct process *list, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    return NULL;
}

/* Wait until all descendants have ended; call `end`, unless it is NULL, until they have. */
static void await_descendants (bool (*end) (void))
{
    struct deadline timeout = deadline_in_ms (TIMEOUT_MS);

    while (waitpid (-1, NULL, WNOHANG) >= 0 || errno != ECHILD) {
        assert_false (deadline_passed (timeout));
        if (end)
            end ();
        poll (NULL, 0, 1);
    }
}

static int begin (void **state __attribute__ ((unused)))
{
    shared = mmap (NULL, sizeof (*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED || prctl (PR_SET_CHILD_SUBREAPER, 1) < 0;
}

static bool kill_all (void)
{
    return descendants_kill (0);
}

static int end (void **state __attribute__ ((unused)))
{
    await_descendants (kill_all);
    return munmap (shared, sizeof (*shared));
}

EACH_TEST (begin, end)

TEST (without_descendants_the_list_is_empty)
{
    size_t count = 17;
    struct process *list = descendants_list (&count, 0);

    assert_int_equal (count, 0);
    free (list);
}

/*
 * Fork descendants. shared->pid[]: 0 is a child, 1 is its child, 2 is an orphan in a session of its
 * own, 3 is the orphan's child.
 */
static void fork_descendants (void)
{
    if (fork () == 0) {
        if (fork () == 0)
            live (1);
        live (0);
    }
    if (fork () == 0) {
        setsid ();
        if (fork () != 0)
            _exit (0);
        if (fork () == 0)
            live (3);
        live (2);
    }
    for (int i = 0; i < 4; i++)
        AWAIT (shared->pid[i] != 0);
    /* Reap the orphan's parent. */
    AWAIT (waitpid (-1, NULL, WNOHANG) != 0);
}

TEST (children_grandchildren_and_orphans_are_listed)
{
    size_t count;
    struct process *list;

    fork_descendants ();
    list = descendants_list (&count, 0);
    assert_int_equal (count, 4);
    for (int i = 0; i < 4; i++)
        assert_non_null (find (list, count, shared->pid[i]));
    for (size_t i = 1; i < count; i++)
        assert_true (list[i - 1].pid < list[i].pid);
    free (list);
}

TEST (stopped_and_dead_processes_are_not_running)
{
    struct process *process;
    size_t count;
    pid_t dead;

    fork_descendants ();
    if ((dead = fork ()) == 0)
        _exit (0);
    kill (shared->pid[1], SIGSTOP);
    AWAIT (process_state (shared->pid[1]) == 'T' && process_state (dead) == 'Z');
    process = descendants_list (&count, 0);
    assert_int_equal (count, 5);
    for (int i = 0; i < 4; i++)
        assert_int_equal (find (process, count, shared->pid[i])->running, i != 1);
    assert_false (find (process, count, dead)->running);
    free (process);
}

TEST (siblings_and_parents_are_not_listed)
{
    pid_t child;
    size_t count = 17;

    if (fork () == 0)
        live (0);
    if ((child = fork ()) == 0) {
        free (descendants_list (&count, 0));
        _exit (count == 0 ? 0 : 1);
    }
    assert_int_equal (end_of (child), 0);
}

/* In /proc/PID/stat the state and the parent follow the name in parentheses. */
TEST (names_with_blanks_and_parentheses_are_parsed)
{
    static const char *const name[] = { ") S 1 (", "a) R 1 1", "((((", "))))", ") ) )", " 1 2" };

    for (size_t i = 0; i < COUNT (name); i++) {
        size_t count;
        struct process *list;

        memset ((void *)shared, 0, sizeof (*shared));
        if (fork () == 0) {
            prctl (PR_SET_NAME, name[i]);
            if (fork () == 0)
                live (1);
            live (0);
        }
        AWAIT (shared->pid[0] && shared->pid[1]);
        list = descendants_list (&count, 0);
        assert_int_equal (count, 2);
        assert_non_null (find (list, count, shared->pid[1]));
        free (list);
        await_descendants (kill_all);
    }
}

/* In a process of its own, because what is left out stays so. 0 is an orphan, 1 its child; 2 is the task. */
static int leave_out (void)
{
    size_t count;
    int status;
    struct process *list;
    bool any = descendants_leave_out (0);

    prctl (PR_SET_CHILD_SUBREAPER, 1);
    if (any || fork () == 0) {
        if (any || fork () != 0)
            _exit (any);
        if (fork () == 0)
            live (1);
        live (0);
    }
    wait (&status);
    AWAIT (shared->pid[0] && shared->pid[1]);
    any = descendants_leave_out (0);
    if (fork () == 0)
        live (2);
    AWAIT (shared->pid[2]);
    /* Left out by itself, when its parent has ended. */
    kill (shared->pid[0], SIGKILL);
    waitpid (shared->pid[0], NULL, 0);
    list = descendants_list (&count, 0);
    if (!any || count != 1 || list[0].pid != shared->pid[2] || !descendants_kill (0))
        return 2;
    free (list);
    waitpid (shared->pid[2], NULL, 0);
    free (descendants_list (&count, 0));
    if (count > 0 || process_state (shared->pid[1]) != 'S')
        return 3;
    return 0;
}

TEST (what_was_there_before_the_task_is_left_out)
{
    pid_t pid = fork ();

    if (pid == 0)
        _exit (leave_out ());
    assert_int_equal (end_of (pid), 0);
}

static void fork_one (int i)
{
    if (fork () == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        live (i);
    }
    AWAIT (shared->pid[i]);
}

/* Exit with what descendants_leave_out () says, which leaves out all but a fork server. */
static void leave_out_beside (bool its_child, bool other_child)
{
    pid_t server = fork ();

    if (server == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        if (its_child)
            fork_one (0);
        live (2);
    }
    AWAIT (shared->pid[2]);
    if (other_child)
        fork_one (1);
    _exit (descendants_leave_out (server));
}

TEST (what_a_child_has_started_is_left_out_and_not_the_child)
{
    for (int i = 0; i < 4; i++) {
        pid_t pid;

        memset (shared, 0, sizeof (*shared));
        if ((pid = fork ()) == 0)
            leave_out_beside (i & 1, i & 2);
        assert_int_equal (end_of (pid), W_EXITCODE (i > 0, 0));
    }
}

static void hear (int number __attribute__ ((unused)))
{
    shared->heard++;
}

TEST (each_process_receives_sigterm_once)
{
    if (fork () == 0) {
        signal (SIGTERM, hear);
        live (0);
    }
    AWAIT (shared->pid[0]);
    descendants_signal (SIGTERM, 0);
    AWAIT (shared->heard == 1);
    poll (NULL, 0, 100);
    assert_int_equal (shared->heard, 1);
    assert_int_equal (process_state (shared->pid[0]), 'S');
}

TEST (a_process_that_is_stopped_and_one_that_computes_are_seen)
{
    bool stopped, busy;
    pid_t computes;

    fork_descendants ();
    descendants_look (&stopped, &busy, 0);
    assert_false (stopped);
    assert_false (busy);
    kill (shared->pid[3], SIGSTOP);
    AWAIT (process_state (shared->pid[3]) == 'T');
    descendants_look (&stopped, &busy, 0);
    assert_true (stopped);
    assert_false (busy);
    if ((computes = fork ()) == 0) {
        alarm (LIFE_S);
        for (;;)
            ;
    }
    descendants_look (&stopped, &busy, 0);
    assert_true (stopped);
    assert_true (busy);
    descendants_look (&stopped, &busy, computes);
    assert_false (busy);
    await_descendants (kill_all);
}

TEST (sigterm_also_ends_stopped_processes)
{
    fork_descendants ();
    kill (shared->pid[3], SIGSTOP);
    AWAIT (process_state (shared->pid[3]) == 'T');
    descendants_signal (SIGTERM, 0);
    await_descendants (NULL);
}

/* Fork another child whenever a child ends. */
static void respawn (void)
{
    alarm (LIFE_S);
    for (;;) {
        if (fork () == 0) {
            __atomic_add_fetch (&shared->born, 1, __ATOMIC_SEQ_CST);
            live (1);
        }
        wait (NULL);
    }
}

TEST (a_parent_receives_sigterm_before_it_can_replace_its_child)
{
    for (int round = 0; round < 50; round++) {
        memset ((void *)shared, 0, sizeof (*shared));
        if (fork () == 0)
            respawn ();
        AWAIT (shared->born == 1);
        descendants_signal (SIGTERM, 0);
        await_descendants (NULL);
        assert_int_equal (shared->born, 1);
    }
}

/* Fork children without waiting for them, until SIGTERM arrives. */
static void multiply (void)
{
    alarm (LIFE_S);
    for (int i = 0; i < 1000; i++) {
        if (fork () == 0) {
            __atomic_add_fetch (&shared->born, 1, __ATOMIC_SEQ_CST);
            live (1);
        }
        poll (NULL, 0, 0);
    }
    live (0);
}

TEST (sigterm_reaches_children_that_are_forked_meanwhile)
{
    for (int round = 0; round < 5; round++) {
        memset ((void *)shared, 0, sizeof (*shared));
        if (fork () == 0)
            multiply ();
        AWAIT (shared->born >= 5);
        struct deadline given_up = deadline_in_ms (700); /* STOP_ROUNDS take 790 ms: nothing is shown then */
        descendants_signal (SIGTERM, 0);
        await_descendants (deadline_passed (given_up) ? kill_all : NULL);
    }
}

TEST (processes_that_ignore_sigterm_are_killed_with_their_children)
{
    for (int i = 0; i < 4; i++)
        if (fork () == 0) {
            signal (SIGTERM, SIG_IGN);
            respawn ();
        }
    AWAIT (shared->born == 4);
    descendants_signal (SIGTERM, 0);
    assert_int_equal (waitpid (-1, NULL, WNOHANG), 0);
    assert_true (descendants_kill (0));
    await_descendants (kill_all);
    assert_int_equal (shared->born, 4);
}

/* Another user's process is listed, but this process may not kill it. */
TEST (descendants_kill_is_false_if_only_other_users_processes_are_left)
{
    pid_t pid;

    if (getuid () != 0)
        SKIP ("only root has processes of two users");
    if ((pid = fork ()) == 0) {
        bool vain, useful;

        prctl (PR_SET_CHILD_SUBREAPER, 1);
        if (fork () == 0)
            live (0);
        if (setresuid (65534, 65534, 65534) < 0)
            _exit (2);
        vain = !descendants_kill (0);
        if (fork () == 0)
            live (1);
        useful = descendants_kill (0);
        _exit (vain && useful ? 0 : 1);
    }
    assert_int_equal (end_of (pid), 0);
}

/*
 * Become an ordinary user in new PID and mount namespaces, whose /proc hides the processes of other
 * users. Returns 2 without the permission to do so.
 */
static int hide (void)
{
    int status;
    pid_t pid;

    if (unshare (CLONE_NEWPID | CLONE_NEWNS) < 0)
        return 2;
    if ((pid = fork ()) > 0)
        return waitpid (pid, &status, 0) == pid && WIFEXITED (status) ? WEXITSTATUS (status) : 3;
    if (mount ("none", "/", "none", MS_REC | MS_PRIVATE, "") < 0
        || mount ("proc", "/proc", "proc", 0, "hidepid=2") < 0 || setresgid (65534, 65534, 65534) < 0
        || setgroups (0, NULL) < 0 || setresuid (65534, 65534, 65534) < 0)
        _exit (2);
    prctl (PR_SET_DUMPABLE, 1);
    return 0;
}

/* /proc hides a process that is not dumpable, such as a setuid program. */
TEST (a_process_that_proc_hides_is_listed)
{
    pid_t pid = fork ();
    int status;

    if (pid == 0) {
        char path[32];
        pid_t hidden;
        size_t count;
        int rc = hide ();

        if (rc != 0 || getpid () != 1)
            _exit (rc);
        if ((hidden = fork ()) == 0) {
            prctl (PR_SET_DUMPABLE, 0);
            live (0);
        }
        AWAIT (shared->pid[0]);
        snprintf (path, sizeof (path), "/proc/%d", (int)hidden);
        if (access (path, F_OK) == 0)
            _exit (4);
        free (descendants_list (&count, 0));
        _exit (count == 1 ? 0 : 1);
    }
    status = end_of (pid);
    if (WIFEXITED (status) && WEXITSTATUS (status) == 2)
        SKIP ("only root may create PID and mount namespaces");
    assert_int_equal (status, 0);
}

/* Of a program in a container with a network of its own nothing is known here. */
TEST (a_network_namespace_of_a_descendant_is_noticed)
{
    int ready[2];
    siginfo_t end;
    char byte;
    pid_t pid;

    assert_int_equal (pipe (ready), 0);
    assert_int_equal (descendants_network (0), NETWORK_SHARED);
    if ((pid = fork ()) == 0) {
        byte = unshare (CLONE_NEWNET) == 0;
        if (write (ready[1], &byte, 1) == 1)
            pause ();
        _exit (0);
    }
    assert_int_equal (read (ready[0], &byte, 1), 1);
    if (byte) {
        assert_int_equal (descendants_network (0), NETWORK_OTHER);
        assert_int_equal (descendants_network (pid), NETWORK_SHARED);
    }
    kill (pid, SIGKILL);
    /* It is dead, and not waited for. */
    waitid (P_PID, (id_t)pid, &end, WEXITED | WNOWAIT);
    assert_int_equal (descendants_network (0), NETWORK_SHARED);
    waitpid (pid, NULL, 0);
    if (!byte)
        SKIP ("only root may create a network namespace");
}
