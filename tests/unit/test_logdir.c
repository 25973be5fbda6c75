/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/logdir.h"

/* The temporary directory of the test that is running. */
static const char *top;

static int make_top (void **unused __attribute__ ((unused)))
{
    umask (022);
    top = new_directory ();
    return 0;
}

EACH_TEST (make_top, NULL)

static const char *below (const char *name)
{
    return path_in (top, name);
}

static struct logdir dir_of (const char *name)
{
    struct logdir dir = { .fd = -1 };

    snprintf (dir.path, sizeof (dir.path), "%s", below (name));
    return dir;
}

static mode_t mode_of (const char *path)
{
    struct stat st;

    assert_int_equal (stat (path, &st), 0);
    return st.st_mode;
}

static struct logdir made (const char *name)
{
    struct logdir dir = dir_of (name);
    struct errtext err = { "" };

    if (logdir_make (&dir, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (S_ISDIR (mode_of (dir.path)));
    assert_int_equal (fcntl (dir.fd, F_GETFD), FD_CLOEXEC);
    return dir;
}

static void make (const char *name)
{
    struct logdir dir = made (name);

    logdir_close (&dir);
}

/* logdir_make () fails with "PATH: WHY"; `path` is relative to top. */
static void check_refused (const char *name, const char *path, const char *why)
{
    struct logdir dir = dir_of (name);
    struct errtext err = { "" };
    char message[PATH_MAX + 128];

    snprintf (message, sizeof (message), "%s: %s", below (path), why);
    assert_int_equal (logdir_make (&dir, &err), -1);
    assert_string_equal (err.text, message);
}

static void check_not_made (const char *name, const char *path, int error)
{
    check_refused (name, path, strerror (error));
}

static void touch (const char *name)
{
    close (creat (below (name), 0644));
}

/* Run the test as an ordinary user, to whom file permissions apply. */
static void as_ordinary_user (void (*test) (void))
{
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
    assert_int_equal (end_of (pid), 0);
}

TEST (every_task_has_a_file_of_its_own)
{
    char name[64];

    assert_string_equal (logdir_task_file (name, sizeof (name), "worker", 12), "worker12.log");
    assert_string_equal (logdir_task_file (name, sizeof (name), "data2", 10), "data2-10.log");
    assert_string_equal (logdir_task_file (name, sizeof (name), "+data", 0), "data0.log");
    assert_string_equal (logdir_error_file (name, sizeof (name), "worker", 12), "worker12.error.json");
    assert_string_equal (logdir_error_file (name, sizeof (name), "data2", 10), "data2-10.error.json");
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
    struct logdir dir;

    umask (027);
    make ("narrow/logs");
    dir = made ("narrow");
    assert_true (logdir_is_own (&dir));
    logdir_close (&dir);
    umask (0);
    dir = made ("wide");
    assert_false (logdir_is_own (&dir));
    logdir_close (&dir);
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
    check_not_made ("closed/a/b", "closed/a", EACCES);
    check_not_made ("closed/a/b/c/", "closed/a", EACCES);
    make ("hidden/logs");
    make ("hidden/logs/more");
}

TEST (the_directory_must_be_writable_but_its_parents_need_not_be_readable)
{
    as_ordinary_user (make_where_not_allowed);
}

TEST (a_name_that_is_too_long_is_refused)
{
    struct logdir dir = { .fd = -1 };
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
    assert_string_equal (file_text (below (name)), expected);
}

TEST (a_file_is_appended_to_or_truncated)
{
    struct logdir dir = made (".");

    write_to (&dir, true, "one\n");
    write_to (&dir, true, "two\n");
    check_file ("worker0.log", "one\ntwo\n");
    assert_int_equal (mode_of (below ("worker0.log")) & 07777, 0644);
    write_to (&dir, false, "3\n");
    check_file ("worker0.log", "3\n");
    logdir_close (&dir);
}

TEST (the_name_of_a_step_is_a_line_of_its_own_behind_earlier_output)
{
    struct logdir dir = made (".");
    struct errtext err = { "" };
    int fd = logdir_open (&dir, true, "worker0.log", &err);

    logdir_begin_step (fd, "12.0");
    check_file ("worker0.log", "");
    write_to (&dir, true, "one\n");
    logdir_begin_step (fd, "12.1");
    check_file ("worker0.log", "one\nspank_tf: step 12.1\n");
    write_to (&dir, true, "10%");
    logdir_begin_step (fd, "12.2");
    check_file ("worker0.log", "one\nspank_tf: step 12.1\n10%\nspank_tf: step 12.2\n");
    /* One that cannot be read. */
    assert_int_equal (chmod (below ("worker0.log"), 0200), 0);
    logdir_begin_step (fd, "12.3");
    assert_int_equal (chmod (below ("worker0.log"), 0600), 0);
    check_file ("worker0.log", "one\nspank_tf: step 12.1\n10%\nspank_tf: step 12.2\nspank_tf: step 12.3\n");
    close (fd);
    logdir_close (&dir);
}

/* Two steps that write to the same file do not overwrite each other's lines. */
TEST (concurrent_writers_append_to_the_file)
{
    for (int append = 0; append < 2; append++) {
        struct logdir dir = made (".");
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
        logdir_close (&dir);
    }
}

/* logdir_open () fails with "PATH: WHY", whether or not the file is appended to. */
static void check_not_opened (const struct logdir *dir, const char *name, const char *why)
{
    struct errtext err = { "" };
    char message[PATH_MAX + 256];

    snprintf (message, sizeof (message), "%s/%s: %s", dir->path, name, why);
    for (int append = 0; append < 2; append++) {
        assert_int_equal (logdir_open (dir, append, name, &err), -1);
        assert_string_equal (err.text, message);
    }
}

static void open_read_only_file (void)
{
    struct logdir dir = made (".");

    assert_int_equal (close (creat (below ("ps0.log"), 0444)), 0);
    check_not_opened (&dir, "ps0.log", "Permission denied");
}

TEST (a_file_that_cannot_be_written_is_named)
{
    struct logdir dir = made ("."), removed = made ("removed");

    assert_int_equal (mkdir (below ("worker1.log"), 0755), 0);
    check_not_opened (&dir, "worker1.log", "Is a directory");
    assert_int_equal (rmdir (below ("removed")), 0);
    check_not_opened (&removed, "ps0.log", "No such file or directory");
    logdir_close (&dir);
    logdir_close (&removed);
    as_ordinary_user (open_read_only_file);
}

/* What another user may have made, where every user can create names. */

#define OTHER 4711
#define USER 65534      /* as_ordinary_user () */

static void give_to (uid_t user, const char *name)
{
    assert_int_equal (lchown (below (name), user, user), 0);
}

static void use_other_users_directories (void)
{
    struct logdir dir = made ("for_all");

    assert_false (logdir_is_own (&dir));
    write_to (&dir, false, "text\n");
    check_file ("for_all/worker0.log", "text\n");
    check_not_opened (&dir, "worker1.log", "the file belongs to user 4711; it must be yours or root's");
    logdir_close (&dir);
    dir = made ("groups/logs");
    assert_true (logdir_is_own (&dir));
    logdir_close (&dir);
    dir = made ("groups");
    assert_false (logdir_is_own (&dir));
    write_to (&dir, false, "one\n");
    write_to (&dir, true, "two\n");
    check_file ("groups/worker0.log", "one\ntwo\n");
    check_not_opened (&dir, "worker1.log", "the file belongs to user 4711; it must be yours or root's");
    check_file ("groups/worker1.log", "text\n");
    logdir_close (&dir);
    check_not_made ("closed", "closed", EACCES);
}

/* As of a group, whose members trust each other: its owner is another one. */
TEST (a_directory_of_another_user_is_used_but_not_his_files)
{
    static const struct {
        const char *name;
        mode_t mode;
    } row[] = { { "for_all", 01777 }, { "groups", 02770 }, { "closed", 0755 } };
    char name[64];

    if (geteuid () != 0)
        SKIP ("only root can make one");
    umask (0);
    for (size_t i = 0; i < COUNT (row); i++) {
        assert_int_equal (mkdir (below (row[i].name), 0777), 0);
        snprintf (name, sizeof (name), "%s/worker1.log", row[i].name);
        write_file (below (name), "text\n");
        give_to (OTHER, name);
        assert_int_equal (chown (below (row[i].name), OTHER, USER), 0);
        assert_int_equal (chmod (below (row[i].name), row[i].mode), 0);
    }
    umask (022);
    as_ordinary_user (use_other_users_directories);
}

static void refuse_other_users_link (void)
{
    static const char why[] = "the symbolic link belongs to user 4711; it must be yours or root's";

    check_refused ("all/others", "all/others", why);
    check_refused ("all/others//", "all/others", why);
    make ("all/mine");
    make ("all/roots");
    make ("all/mine/");
    /* Where not all can make one, it is as good as the directory. */
    make ("groups");
}

TEST (a_symbolic_link_of_another_user_is_not_followed_where_all_can_make_one)
{
    if (geteuid () != 0)
        SKIP ("only root can make one");
    assert_int_equal (mkdir (below ("all"), 0777), 0);
    assert_int_equal (mkdir (below ("real"), 0755), 0);
    give_to (USER, "real");
    assert_int_equal (symlink ("../real", below ("all/others")), 0);
    assert_int_equal (symlink ("../real", below ("all/mine")), 0);
    assert_int_equal (symlink ("../real", below ("all/roots")), 0);
    assert_int_equal (symlink ("real", below ("groups")), 0);
    give_to (OTHER, "all/others");
    give_to (USER, "all/mine");
    give_to (OTHER, "groups");
    assert_int_equal (chmod (below ("all"), 01777), 0);
    as_ordinary_user (refuse_other_users_link);
}

TEST (a_symbolic_link_is_not_followed_to_a_file)
{
    struct logdir dir = made ("logs");

    write_file (below ("precious"), "text\n");
    assert_int_equal (symlink ("../precious", below ("logs/worker0.log")), 0);
    assert_int_equal (symlink ("../new", below ("logs/ps0.log")), 0);
    check_not_opened (&dir, "worker0.log", "it is a symbolic link");
    check_not_opened (&dir, "ps0.log", "it is a symbolic link");
    check_file ("precious", "text\n");
    assert_int_equal (access (below ("new"), F_OK), -1);
    logdir_close (&dir);
}

TEST (a_file_with_another_name_is_refused)
{
    struct logdir dir = made ("logs");

    write_file (below ("precious"), "text\n");
    assert_int_equal (link (below ("precious"), below ("logs/worker0.log")), 0);
    check_not_opened (&dir, "worker0.log", "the file has another name too (a hard link)");
    check_file ("precious", "text\n");
    logdir_close (&dir);
}

static void open_other_users_file (void)
{
    struct logdir dir = made ("logs");

    check_not_opened (&dir, "worker0.log", "the file belongs to user 4711; it must be yours or root's");
    check_file ("logs/worker0.log", "text\n");
    assert_int_equal (close (logdir_open (&dir, false, "worker1.log", NULL)), 0);
    check_file ("logs/worker1.log", "");
}

TEST (a_file_of_another_user_is_refused)
{
    if (geteuid () != 0)
        SKIP ("only root can make one");
    assert_int_equal (mkdir (below ("logs"), 0755), 0);
    umask (0);
    write_file (below ("logs/worker0.log"), "text\n");
    write_file (below ("logs/worker1.log"), "text\n");
    give_to (OTHER, "logs/worker0.log");
    give_to (USER, "logs");
    as_ordinary_user (open_other_users_file);
}

/* Open a step's first file. */
static int open_first (const struct logdir *dir, bool append, bool *used)
{
    struct errtext err = { "" };
    int fd = logdir_open_first (dir, append, "master.log", used, &err);

    if (fd < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (fcntl (fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    return fd;
}

TEST (a_directory_that_a_step_uses_is_not_truncated_by_another_step)
{
    struct logdir dir = made (".");
    bool used = true;
    int first = open_first (&dir, false, &used), second, third;

    assert_false (used);
    assert_int_equal (write (first, "a\n", 2), 2);
    second = open_first (&dir, false, &used);
    assert_true (used);
    assert_int_equal (write (second, "b\n", 2), 2);
    assert_int_equal (write (first, "c\n", 2), 2);
    close (first);
    third = open_first (&dir, false, &used);
    assert_true (used);
    check_file ("master.log", "a\nb\nc\n");
    close (second);
    close (third);
    first = open_first (&dir, true, &used);
    assert_false (used);
    check_file ("master.log", "a\nb\nc\n");
    second = open_first (&dir, true, &used);
    assert_true (used);
    close (first);
    close (second);
    close (open_first (&dir, false, &used));
    assert_false (used);
    check_file ("master.log", "");
    logdir_close (&dir);
}

/* A task that waited for a reader of a FIFO would delay the whole step. */
TEST (what_is_not_a_regular_file_is_refused_without_waiting)
{
    struct logdir dir = made (".");
    int reader;

    assert_int_equal (mkfifo (below ("worker0.log"), 0600), 0);
    alarm (60);
    check_not_opened (&dir, "worker0.log", "it is not a regular file");
    assert_true ((reader = open (below ("worker0.log"), O_RDONLY | O_NONBLOCK)) >= 0);
    check_not_opened (&dir, "worker0.log", "it is not a regular file");
    alarm (0);
    close (reader);
    logdir_close (&dir);
}

/* The path is not looked up again. */
TEST (files_are_opened_in_the_directory_that_was_checked)
{
    struct logdir dir = made ("logs");

    assert_int_equal (rename (below ("logs"), below ("moved")), 0);
    assert_int_equal (mkdir (below ("logs"), 0755), 0);
    write_to (&dir, false, "text\n");
    check_file ("moved/worker0.log", "text\n");
    logdir_close (&dir);
}
