/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/logdir.h"

/* The temporary directory of the test that is running. */
static char top[32];

static int make_top (void **unused __attribute__ ((unused)))
{
    snprintf (top, sizeof (top), "/tmp/test_logdir.XXXXXX");
    umask (022);
    return mkdtemp (top) && chmod (top, 0755) == 0 ? 0 : -1;
}

static int remove_top (void **unused __attribute__ ((unused)))
{
    char command[128];

    snprintf (command, sizeof (command), "chmod -R u+rwx %s && rm -r %s", top, top);
    return system (command);
}

/* The path top/name. The last four results remain valid. */
static const char *below (const char *name)
{
    static char path[4][PATH_MAX];
    static int next;

    next = (next + 1) % 4;
    snprintf (path[next], sizeof (path[0]), "%s/%s", top, name);
    return path[next];
}

static struct logdir dir_of (const char *name)
{
    struct logdir dir = { "" };

    snprintf (dir.path, sizeof (dir.path), "%s", below (name));
    return dir;
}

static mode_t mode_of (const char *path)
{
    struct stat st;

    assert_int_equal (stat (path, &st), 0);
    return st.st_mode;
}

static void make (const char *name)
{
    struct logdir dir = dir_of (name);
    struct errtext err = { "" };

    if (logdir_make (&dir, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (S_ISDIR (mode_of (dir.path)));
}

/* logdir_make () fails with "PATH: strerror"; `path` is relative to top. */
static void check_not_made (const char *name, const char *path, int error)
{
    struct logdir dir = dir_of (name);
    struct errtext err = { "" };
    char message[PATH_MAX + 64];

    snprintf (message, sizeof (message), "%s: %s", below (path), strerror (error));
    assert_int_equal (logdir_make (&dir, &err), -1);
    assert_string_equal (err.text, message);
}

static void touch (const char *name)
{
    close (creat (below (name), 0644));
}

/* Run the test as an ordinary user, to whom file permissions apply. */
static void as_ordinary_user (void (*test) (void))
{
    int status;
    pid_t pid;

    if (geteuid () != 0) {
        test ();
        return;
    }
    assert_int_equal (chown (top, 65534, 65534), 0);
    if ((pid = fork ()) == 0) {
        if (setgid (65534) < 0 || setuid (65534) < 0)
            _exit (2);
        test ();
        _exit (0);
    }
    waitpid (pid, &status, 0);
    assert_int_equal (status, 0);
}

TEST (a_directory_is_made_with_its_parents)
{
    make ("logs");
    make ("a/b/c");
    make ("a/b/d/");
    make ("e//f");
    make ("a/./g/../h");
    assert_int_equal (mode_of (below ("a")) & 07777, 0755);
    assert_int_equal (mode_of (below ("a/b/c")) & 07777, 0755);
}

TEST (the_umask_decides_the_directorys_mode)
{
    umask (027);
    make ("narrow/logs");
    umask (0);
    make ("wide");
    assert_int_equal (mode_of (below ("narrow")) & 07777, 0750);
    assert_int_equal (mode_of (below ("narrow/logs")) & 07777, 0750);
    assert_int_equal (mode_of (below ("wide")) & 07777, 0777);
}

TEST (an_existing_directory_is_not_changed)
{
    assert_int_equal (mkdir (below ("logs"), 0700), 0);
    assert_int_equal (symlink ("logs", below ("link")), 0);
    make ("logs");
    make ("link");
    make ("link/more");
    assert_int_equal (mode_of (below ("logs")) & 07777, 0700);
    assert_true (S_ISDIR (mode_of (below ("logs/more"))));
}

TEST (a_file_in_the_path_is_named)
{
    touch ("file");
    assert_int_equal (symlink ("nowhere", below ("dangling")), 0);
    check_not_made ("file", "file", ENOTDIR);
    check_not_made ("file/logs", "file/logs", ENOTDIR);
    check_not_made ("dangling", "dangling", ENOENT);
    assert_int_equal (mode_of (below ("file")) & S_IFMT, S_IFREG);
}

static void make_where_not_allowed (void)
{
    assert_int_equal (mkdir (below ("closed"), 0500), 0);
    assert_int_equal (mkdir (below ("hidden"), 0700), 0);
    assert_int_equal (mkdir (below ("hidden/logs"), 0700), 0);
    assert_int_equal (chmod (below ("hidden"), 0100), 0);
    check_not_made ("closed", "closed", EACCES);
    check_not_made ("closed/logs", "closed/logs", EACCES);
    check_not_made ("closed/a/b", "closed/a/b", ENOENT);
    make ("hidden/logs");
    make ("hidden/logs/more");
}

TEST (the_directory_must_be_writable_but_its_parents_need_not_be_readable)
{
    as_ordinary_user (make_where_not_allowed);
}

TEST (a_name_that_is_too_long_is_refused)
{
    struct logdir dir = { "" };
    struct errtext err = { "" };
    char name[NAME_MAX + 2];

    memset (name, 'x', sizeof (name) - 1);
    name[sizeof (name) - 1] = '\0';
    check_not_made (name, name, ENAMETOOLONG);
    make (name + 1);
    memset (dir.path, 'x', sizeof (dir.path) - 1);
    dir.path[0] = '/';
    assert_int_equal (logdir_make (&dir, &err), -1);
    assert_true (is_line (err.text));
}

/* All tasks of a step make the directory at the same time. */
TEST (processes_can_make_the_same_directory_concurrently)
{
    struct logdir dir = dir_of ("1/2/3/4/5/6/7/8/9");
    int gate[2], status;

    assert_int_equal (pipe (gate), 0);
    for (int i = 0; i < 16; i++)
        if (fork () == 0) {
            char c;

            close (gate[1]);
            _exit (read (gate[0], &c, 1) != 0 || logdir_make (&dir, NULL) < 0);
        }
    close (gate[0]);
    close (gate[1]);
    for (int i = 0; i < 16; i++) {
        wait (&status);
        assert_int_equal (status, 0);
    }
}

/* Open it, write the text, and close it. */
static void write_to (const struct logdir *dir, bool append, const char *text)
{
    struct errtext err = { "" };
    int fd = logdir_open (dir, append, "worker0.log", &err);

    if (fd < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (fcntl (fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal (write (fd, text, strlen (text)), strlen (text));
    close (fd);
}

static void check_file (const char *name, const char *expected)
{
    FILE *f = fopen (below (name), "r");
    char text[256];

    assert_non_null (f);
    text[fread (text, 1, sizeof (text) - 1, f)] = '\0';
    fclose (f);
    assert_string_equal (text, expected);
}

TEST (a_file_is_appended_to_or_truncated)
{
    struct logdir dir = dir_of (".");

    write_to (&dir, true, "one\n");
    write_to (&dir, true, "two\n");
    check_file ("worker0.log", "one\ntwo\n");
    assert_int_equal (mode_of (below ("worker0.log")) & 07777, 0644);
    write_to (&dir, false, "3\n");
    check_file ("worker0.log", "3\n");
}

/* Two steps that write to the same file do not overwrite each other's lines. */
TEST (concurrent_writers_append_to_the_file)
{
    for (int append = 0; append < 2; append++) {
        struct logdir dir = dir_of (".");
        int first = logdir_open (&dir, append, "shared.log", NULL);
        int second = logdir_open (&dir, append, "shared.log", NULL);

        assert_true (first >= 0 && second >= 0);
        assert_int_equal (write (first, "a\n", 2), 2);
        assert_int_equal (write (second, "b\n", 2), 2);
        assert_int_equal (write (first, "c\n", 2), 2);
        close (first);
        close (second);
        check_file ("shared.log", "a\nb\nc\n");
        unlink (below ("shared.log"));
    }
}

static void open_read_only_file (void)
{
    struct logdir dir = dir_of (".");
    struct errtext err = { "" };
    char message[128];

    assert_int_equal (close (creat (below ("ps0.log"), 0444)), 0);
    snprintf (message, sizeof (message), "%s/./ps0.log: Permission denied", top);
    assert_int_equal (logdir_open (&dir, false, "ps0.log", &err), -1);
    assert_string_equal (err.text, message);
}

TEST (a_file_that_cannot_be_written_is_named)
{
    struct logdir dir = dir_of ("."), missing = dir_of ("missing");
    struct errtext err = { "" };
    char message[128];

    assert_int_equal (mkdir (below ("worker1.log"), 0755), 0);
    snprintf (message, sizeof (message), "%s/./worker1.log: Is a directory", top);
    assert_int_equal (logdir_open (&dir, false, "worker1.log", &err), -1);
    assert_string_equal (err.text, message);
    snprintf (message, sizeof (message), "%s/missing/ps0.log: No such file or directory", top);
    assert_int_equal (logdir_open (&missing, false, "ps0.log", &err), -1);
    assert_string_equal (err.text, message);
    as_ordinary_user (open_read_only_file);
}

/* A task that waited for a reader of a FIFO would delay the whole step. */
TEST (a_fifo_is_refused_without_waiting_for_a_reader)
{
    struct logdir dir = dir_of (".");
    struct errtext err = { "" };

    assert_int_equal (mkfifo (below ("worker0.log"), 0600), 0);
    alarm (20);
    assert_int_equal (logdir_open (&dir, false, "worker0.log", &err), -1);
    alarm (0);
    assert_true (is_line (err.text));
}

int main (void)
{
#define ON_DISK(name) cmocka_unit_test_setup_teardown (name, make_top, remove_top)
    const struct CMUnitTest tests[] = {
        ON_DISK (a_directory_is_made_with_its_parents),
        ON_DISK (the_umask_decides_the_directorys_mode),
        ON_DISK (an_existing_directory_is_not_changed),
        ON_DISK (a_file_in_the_path_is_named),
        ON_DISK (the_directory_must_be_writable_but_its_parents_need_not_be_readable),
        ON_DISK (a_name_that_is_too_long_is_refused),
        ON_DISK (processes_can_make_the_same_directory_concurrently),
        ON_DISK (a_file_is_appended_to_or_truncated),
        ON_DISK (concurrent_writers_append_to_the_file),
        ON_DISK (a_file_that_cannot_be_written_is_named),
        ON_DISK (a_fifo_is_refused_without_waiting_for_a_reader),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
