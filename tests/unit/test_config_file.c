/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tests/golden/tf-exec has what a user sees of the file; here is what that depends on: file systems that lack
 * a call, and tasks that start together.
 */
#include "config.h"

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/config_file.h"

#define CLUSTER "{\"cluster\":{\"worker\":[\"a:1\",\"b:2\"]}"
#define EARLIER \
    "{\"cluster\":{\"worker\":[\"c:3\",\"d:4\"]}," \
    "\"task\":{\"type\":\"worker\",\"index\":0}}"
#define WORKER_0 CLUSTER ",\"task\":{\"type\":\"worker\",\"index\":0}}"
#define WORKER_1 CLUSTER ",\"task\":{\"type\":\"worker\",\"index\":1}}"
#define CLOUD_0 CLUSTER ",\"task\":{\"type\":\"worker\",\"index\":0},\"environment\":\"cloud\"}"
#define EVALUATOR \
    "{\"cluster\":{\"worker\":[\"a:1\",\"b:2\"],\"evaluator\":[\"e:5\"]}," \
    "\"task\":{\"type\":\"evaluator\",\"index\":0}}"
#define NO_CONFIG "the file exists and is not a TF_CONFIG"
#define ANOTHERS \
    "another task of this step has this file; " \
    "with {rank} in the path each task has its own"

/*
 * Simulate a filesystem or a kernel that does not support the call: the call fails with this
 * errno. 0 calls the real function.
 */
static int no_renameat2, no_flock, no_noexec;

int __real_renameat2 (int from_dir, const char *from, int to_dir, const char *to, unsigned int flags);
int __wrap_renameat2 (int from_dir, const char *from, int to_dir, const char *to, unsigned int flags);
int __wrap_renameat2 (int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
    if (!no_renameat2)
        return __real_renameat2 (from_dir, from, to_dir, to, flags);
    errno = no_renameat2;
    return -1;
}

int __real_flock (int fd, int operation);
int __wrap_flock (int fd, int operation);
int __wrap_flock (int fd, int operation)
{
    if (!no_flock)
        return __real_flock (fd, operation);
    errno = no_flock;
    return -1;
}

/* Linux before 6.3 does not know this flag. */
#define NOEXEC_SEAL 8

int __real_memfd_create (const char *name, unsigned int flags);
int __wrap_memfd_create (const char *name, unsigned int flags);
int __wrap_memfd_create (const char *name, unsigned int flags)
{
    if (!no_noexec || !(flags & NOEXEC_SEAL))
        return __real_memfd_create (name, flags);
    errno = no_noexec;
    return -1;
}

/* Each test runs in an empty directory of its own. */
static int enter (void **state __attribute__ ((unused)))
{
    return chdir (new_directory ());
}

static int leave (void **state __attribute__ ((unused)))
{
    return chdir ("/");
}

EACH_TEST (enter, leave)

/* The number of files in the directory whose names do not begin with a dot. */
static int files (void)
{
    DIR *dir = opendir (".");
    int count = 0;

    assert_non_null (dir);
    for (struct dirent *entry; (entry = readdir (dir));)
        count += entry->d_name[0] != '.';
    closedir (dir);
    return count;
}

static void check_file (const char *name, const char *text)
{
    assert_string_equal (file_text (name), text);
}

static void check_replacement (void)
{
    static const struct {
        const char *old, *new, *message;    /* message NULL: the file is replaced */
    } row[] = {
        { EARLIER, WORKER_0, NULL },
        { EARLIER "\n", WORKER_0, NULL },
        { WORKER_0, WORKER_0, NULL },
        { WORKER_0, CLOUD_0, NULL },
        { CLOUD_0, WORKER_0, NULL },
        { EVALUATOR, EVALUATOR, NULL },
        { WORKER_0, WORKER_1, ANOTHERS },
        { CLOUD_0, WORKER_1, ANOTHERS },
        { EVALUATOR, WORKER_1, ANOTHERS },
        { WORKER_1, EVALUATOR, ANOTHERS },
        { "", WORKER_0, NO_CONFIG },
        { "import tensorflow\n", WORKER_0, NO_CONFIG },
        { "{}", WORKER_0, NO_CONFIG },
        { "[\"cluster\",\"task\"]", WORKER_0, NO_CONFIG },
        { "{\"cluster\":{}}", WORKER_0, NO_CONFIG },
        { "{\"cluster\":7,\"task\":{}}", WORKER_0, NO_CONFIG },
        { "{\"task\":{}}", WORKER_0, NO_CONFIG },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct errtext err = { "" };

        write_file ("a", row[i].old);
        assert_int_equal (config_file_write ("a", row[i].new, &err), row[i].message ? -1 : 0);
        assert_string_equal (err.text, row[i].message ? row[i].message : "");
        check_file ("a", row[i].message ? row[i].old : row[i].new);
        assert_int_equal (files (), 1);
    }
}

TEST (an_earlier_file_is_replaced)
{
    check_replacement ();
}

/* NFS does not support renameat2 (), and Lustre often does not support flock (). */
TEST (an_earlier_file_is_replaced_on_every_filesystem)
{
    no_renameat2 = EINVAL;
    no_flock = ENOSYS;
    check_replacement ();
    assert_int_equal (remove ("a"), 0);
    assert_int_equal (config_file_write ("a", WORKER_0, NULL), 0);
    check_file ("a", WORKER_0);
    assert_int_equal (files (), 1);
    no_renameat2 = no_flock = 0;
}

#define TASKS 6
#define MAX_TEXT 256

static void print_config (char text[MAX_TEXT], int index)
{
    snprintf (text, MAX_TEXT, CLUSTER ",\"task\":{\"type\":\"worker\",\"index\":%d}}", index);
}

/* Fork a task that writes the file when the gate is closed, and exits with 0 if it could. */
static pid_t begin_task (int index, int gate[2])
{
    char text[MAX_TEXT], byte;
    pid_t pid;

    print_config (text, index);
    if ((pid = fork ()) == 0) {
        close (gate[1]);
        _exit (read (gate[0], &byte, 1) != 0 || config_file_write ("a", text, NULL) < 0);
    }
    assert_true (pid > 0);
    return pid;
}

/* Exactly one task writes the file, and the file is the one that this task wrote. */
static void race (void)
{
    int gate[2], winner = -1, winners = 0, status;
    char expected[MAX_TEXT];
    pid_t pid[TASKS];

    assert_int_equal (pipe (gate), 0);
    for (int i = 0; i < TASKS; i++)
        pid[i] = begin_task (i, gate);
    close (gate[0]);
    close (gate[1]);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal (waitpid (pid[i], &status, 0), pid[i]);
        if (status == 0) {
            winner = i;
            winners++;
        }
    }
    assert_int_equal (winners, 1);
    print_config (expected, winner);
    check_file ("a", expected);
    assert_int_equal (files (), 1);
}

/* Tasks that start together, with and without a file of an earlier step. */
TEST (two_tasks_never_share_a_file)
{
    for (int round = 0; round < 200; round++) {
        no_renameat2 = round % 2 ? EINVAL : 0;
        if (round % 4 < 2)
            write_file ("a", EARLIER);
        else
            remove ("a");
        race ();
    }
    no_renameat2 = 0;
}

static void check_memory (void)
{
    struct config_file_path path;
    struct stat st;
    int fd, number;

    assert_int_equal (config_file_keep (&path, WORKER_0, NULL), 0);
    check_file (path.text, WORKER_0);
    check_file (path.text, WORKER_0);
    assert_int_equal (stat (path.text, &st), 0);
    assert_int_equal (st.st_mode, S_IFREG | 0600);
    number = atoi (strrchr (path.text, '/') + 1);
    assert_true (number >= 200);
    assert_int_equal (fcntl (number, F_GETFD), 0);
    assert_true (open (path.text, O_WRONLY | O_TRUNC) < 0);
    fd = open (path.text, O_RDWR);
    assert_true (fd < 0 || write (fd, "x", 1) < 0);
    assert_int_equal (files (), 0);
    close (number);
    assert_true (stat (path.text, &st) < 0);
}

TEST (a_file_in_memory_is_permanent_and_read_only)
{
    check_memory ();
    no_noexec = EINVAL;
    check_memory ();
    no_noexec = 0;
}
