/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "supervise/descendants.h"

#define PATIENCE_MS 20000
/* Nothing lives longer, whatever becomes of the test. */
#define LIFE_S 60

/* What the processes of a test tell it. */
static struct {
    volatile pid_t pid[4];
    volatile int heard;
    volatile int born;
} *shared;

static void wait_until (const volatile int *value, int wanted)
{
    struct deadline patience = deadline_in_ms (PATIENCE_MS);

    while (*value != wanted) {
        assert_false (deadline_passed (patience));
        poll (NULL, 0, 1);
    }
}

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

static char state_of (pid_t pid)
{
    char path[64], state = '-';
    FILE *f;

    snprintf (path, sizeof (path), "/proc/%d/stat", (int)pid);
    if ((f = fopen (path, "re"))) {
        if (fscanf (f, "%*d %*s %c", &state) != 1)
            state = '-';
        fclose (f);
    }
    return state;
}

/* All descendants end, with the help of `end` or without. */
static void await_the_end (bool (*end) (void))
{
    struct deadline patience = deadline_in_ms (PATIENCE_MS);

    while (waitpid (-1, NULL, WNOHANG) >= 0 || errno != ECHILD) {
        assert_false (deadline_passed (patience));
        if (end)
            end ();
        poll (NULL, 0, 1);
    }
}

static int begin (void **state __attribute__ ((unused)))
{
    shared = mmap (NULL, sizeof (*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    return shared == MAP_FAILED || prctl (PR_SET_CHILD_SUBREAPER, 1) < 0;
}

static int end (void **state __attribute__ ((unused)))
{
    await_the_end (descendants_kill);
    return munmap (shared, sizeof (*shared));
}

TEST (nobody_is_an_empty_list)
{
    size_t count = 17;
    struct process *list = descendants_list (&count);

    assert_int_equal (count, 0);
    free (list);
}

/* 0: a child; 1: its child; 2: an orphan in a session of its own; 3: the orphan's child. */
static void grow (void)
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
        while (shared->pid[i] == 0)
            poll (NULL, 0, 1);
    /* The one between us and the orphan. */
    while (waitpid (-1, NULL, WNOHANG) == 0)
        poll (NULL, 0, 1);
}

TEST (children_grandchildren_and_orphans_are_listed)
{
    size_t count;
    struct process *list;

    grow ();
    list = descendants_list (&count);
    assert_int_equal (count, 4);
    for (int i = 0; i < 4; i++)
        assert_non_null (find (list, count, shared->pid[i]));
    for (size_t i = 1; i < count; i++)
        assert_true (list[i - 1].pid < list[i].pid);
    free (list);
}

TEST (who_is_stopped_or_dead_does_not_run)
{
    struct process *process;
    size_t count;
    pid_t dead;

    grow ();
    if ((dead = fork ()) == 0)
        _exit (0);
    kill (shared->pid[1], SIGSTOP);
    while (state_of (shared->pid[1]) != 'T' || state_of (dead) != 'Z')
        poll (NULL, 0, 1);
    process = descendants_list (&count);
    assert_int_equal (count, 5);
    for (int i = 0; i < 4; i++)
        assert_int_equal (find (process, count, shared->pid[i])->running, i != 1);
    assert_false (find (process, count, dead)->running);
    free (process);
}

TEST (siblings_and_parents_are_not_listed)
{
    pid_t sibling, child;
    size_t count = 17;
    int status;

    if ((sibling = fork ()) == 0)
        live (0);
    if ((child = fork ()) == 0) {
        free (descendants_list (&count));
        _exit (count == 0 ? 0 : 1);
    }
    assert_int_equal (waitpid (child, &status, 0), child);
    assert_int_equal (status, 0);
}

/* What follows the name is the state, and the parent. */
TEST (a_name_with_blanks_and_parentheses_misleads_nobody)
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
        while (!shared->pid[0] || !shared->pid[1])
            poll (NULL, 0, 1);
        list = descendants_list (&count);
        assert_int_equal (count, 2);
        assert_non_null (find (list, count, shared->pid[1]));
        free (list);
        await_the_end (descendants_kill);
    }
}

static void hear (int number __attribute__ ((unused)))
{
    shared->heard++;
}

TEST (sigterm_arrives_once)
{
    if (fork () == 0) {
        signal (SIGTERM, hear);
        live (0);
    }
    while (!shared->pid[0])
        poll (NULL, 0, 1);
    descendants_terminate ();
    wait_until (&shared->heard, 1);
    poll (NULL, 0, 100);
    assert_int_equal (shared->heard, 1);
    assert_int_equal (state_of (shared->pid[0]), 'S');
}

TEST (sigterm_reaches_all_who_are_stopped_too)
{
    grow ();
    kill (shared->pid[3], SIGSTOP);
    while (state_of (shared->pid[3]) != 'T')
        poll (NULL, 0, 1);
    descendants_terminate ();
    await_the_end (NULL);
}

/* A parent that would have another child as soon as one ends. */
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

TEST (sigterm_gives_no_parent_the_time_for_another_child)
{
    for (int round = 0; round < 50; round++) {
        memset ((void *)shared, 0, sizeof (*shared));
        if (fork () == 0)
            respawn ();
        wait_until (&shared->born, 1);
        descendants_terminate ();
        await_the_end (NULL);
        assert_int_equal (shared->born, 1);
    }
}

/* Has one child after the other, for as long as it takes. */
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

TEST (sigterm_reaches_whom_a_parent_has_meanwhile)
{
    for (int round = 0; round < 5; round++) {
        memset ((void *)shared, 0, sizeof (*shared));
        if (fork () == 0)
            multiply ();
        while (shared->born < 5)
            poll (NULL, 0, 1);
        descendants_terminate ();
        await_the_end (NULL);
    }
}

TEST (who_does_not_hear_sigterm_is_killed_with_his_children)
{
    for (int i = 0; i < 4; i++)
        if (fork () == 0) {
            signal (SIGTERM, SIG_IGN);
            respawn ();
        }
    wait_until (&shared->born, 4);
    descendants_terminate ();
    assert_int_equal (waitpid (-1, NULL, WNOHANG), 0);
    assert_true (descendants_kill ());
    await_the_end (descendants_kill);
    assert_int_equal (shared->born, 4);
}

/* Another user's process is listed, but is not ours to kill. */
TEST (killing_is_vain_when_only_other_users_are_left)
{
    pid_t pid;
    int status;

    if (getuid () != 0)
        SKIP ("only root has processes of two users");
    if ((pid = fork ()) == 0) {
        bool vain, useful;

        prctl (PR_SET_CHILD_SUBREAPER, 1);
        if (fork () == 0)
            live (0);
        if (setresuid (65534, 65534, 65534) < 0)
            _exit (2);
        vain = !descendants_kill ();
        if (fork () == 0)
            live (1);
        useful = descendants_kill ();
        _exit (vain && useful ? 0 : 1);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
}

/* An ordinary user in a world of its own, in whose /proc others do not show. 2: no right. */
static int hide (void)
{
    int status;
    pid_t pid;

    if (unshare (CLONE_NEWPID | CLONE_NEWNS) < 0)
        return 2;
    if ((pid = fork ()) > 0)
        return waitpid (pid, &status, 0) == pid && WIFEXITED (status) ? WEXITSTATUS (status) : 3;
    if (mount ("none", "/", "none", MS_REC | MS_PRIVATE, "") < 0
        || mount ("proc", "/proc", "proc", 0, "hidepid=2") < 0
        || setresgid (65534, 65534, 65534) < 0 || setgroups (0, NULL) < 0
        || setresuid (65534, 65534, 65534) < 0)
        _exit (2);
    prctl (PR_SET_DUMPABLE, 1);
    return 0;
}

/* As a program with privileges of its own does. */
TEST (who_hides_in_proc_is_listed_as_well)
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
        while (!shared->pid[0])
            poll (NULL, 0, 1);
        snprintf (path, sizeof (path), "/proc/%d", (int)hidden);
        if (access (path, F_OK) == 0)
            _exit (4);
        free (descendants_list (&count));
        _exit (count == 1 ? 0 : 1);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    if (WIFEXITED (status) && WEXITSTATUS (status) == 2)
        SKIP ("only root may make a world of its own");
    assert_int_equal (status, 0);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST (nobody_is_an_empty_list),
        TREE_TEST (children_grandchildren_and_orphans_are_listed),
        TREE_TEST (who_is_stopped_or_dead_does_not_run),
        TREE_TEST (siblings_and_parents_are_not_listed),
        TREE_TEST (a_name_with_blanks_and_parentheses_misleads_nobody),
        TREE_TEST (sigterm_arrives_once),
        TREE_TEST (sigterm_reaches_all_who_are_stopped_too),
        TREE_TEST (sigterm_gives_no_parent_the_time_for_another_child),
        TREE_TEST (sigterm_reaches_whom_a_parent_has_meanwhile),
        TREE_TEST (who_does_not_hear_sigterm_is_killed_with_his_children),
        TREE_TEST (killing_is_vain_when_only_other_users_are_left),
        TREE_TEST (who_hides_in_proc_is_listed_as_well),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
