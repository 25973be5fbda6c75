/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * logdir.golden has what becomes of directories and files, of this user and of others.
 */
#include "config.h"

#include "story.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/logdir.h"

#define USER 65534 /* to whom file permissions apply */

/* The temporary directory of the test that is running, and the log directory that was made last. */
static const char *top;
static struct logdir dir = { .fd = -1 };

/* Files that were opened by number; -1: none. */
static int file[4];

static void begin (void)
{
    umask (022);
    /* Nothing may wait for the reader of a FIFO. */
    alarm (60);
    top = new_directory ();
    for (size_t i = 0; i < COUNT (file); i++)
        file[i] = -1;
}

static void end (void)
{
    if (getuid () == USER && setresuid (0, 0, 0) == 0)
        assert_int_equal (setresgid (0, 0, 0), 0);
    for (size_t i = 0; i < COUNT (file); i++)
        close (file[i]);
    logdir_close (&dir);
    dir.fd = -1;
    top = NULL;
    alarm (0);
}

static const char *below (const char *name)
{
    return path_in (top, name);
}

/* Errors begin with a path. */
static void tell_error (const struct errtext *err)
{
    size_t length = strlen (top);

    assert_int_equal (strncmp (err->text, top, length), 0);
    story_print ("TOP%s\n", err->text + length);
}

/* Until root's rights are needed again. */
static void become_user (void)
{
    if (geteuid () == 0)
        assert_true (chown (top, USER, USER) == 0 && setresgid (USER, USER, 0) == 0
                     && setresuid (USER, USER, 0) == 0);
}

static mode_t octal (char **event)
{
    return (mode_t)strtol (story_word (event), NULL, 8);
}

static void make_directory (char *event)
{
    const char *path = below (story_word (&event));

    assert_int_equal (mkdir (path, 0777), 0);
    if (*event)
        assert_int_equal (chmod (path, octal (&event)), 0);
}

/* "NAME to TARGET" */
static void make_link (char *event, bool hard)
{
    const char *path = below (story_word (&event));

    if (!story_begins (&event, "to"))
        story_unknown (event);
    assert_int_equal (hard ? link (below (event), path) : symlink (event, path), 0);
}

static void make_fifo (char *event)
{
    const char *path = below (story_word (&event));

    assert_int_equal (mkfifo (path, 0600), 0);
    if (story_begins (&event, "with a reader"))
        assert_true ((file[0] = open (path, O_RDONLY | O_NONBLOCK)) >= 0);
}

static bool changes_a_file (char *event)
{
    if (story_begins (&event, "directory"))
        make_directory (event);
    else if (story_begins (&event, "link"))
        make_link (event, false);
    else if (story_begins (&event, "hard link"))
        make_link (event, true);
    else if (story_begins (&event, "fifo"))
        make_fifo (event);
    else if (story_begins (&event, "file")) {
        const char *path = below (story_word (&event));

        write_file (path, story_unescape (event));
    } else if (story_begins (&event, "owner")) {
        int user = story_number (&event), group = story_number (&event);

        assert_int_equal (lchown (below (event), (uid_t)user, (gid_t)group), 0);
    } else if (story_begins (&event, "mode")) {
        mode_t mode = octal (&event);

        assert_int_equal (chmod (below (event), mode), 0);
    } else if (story_begins (&event, "rename")) {
        const char *from = below (story_word (&event));

        assert_int_equal (rename (from, below (event)), 0);
    } else if (story_begins (&event, "no"))
        assert_int_equal (remove (below (event)), 0);
    else
        return false;
    return true;
}

/* Its mode, and the text of a file. */
static void look_at (const char *name)
{
    struct stat st;

    if (lstat (below (name), &st) < 0) {
        story_result ("nothing");
        return;
    }
    story_result ("%s %04o", S_ISDIR (st.st_mode) ? "directory" : "file", st.st_mode & 07777);
    if (S_ISREG (st.st_mode))
        story_print ("%s", file_text (below (name)));
}

/* Make this log directory. */
static void make (const char *name)
{
    struct errtext err = { "" };

    if (dir.fd >= 0)
        logdir_close (&dir);
    snprintf (dir.path, sizeof (dir.path), "%s", below (name));
    if (logdir_make (&dir, &err) < 0) {
        dir.fd = -1;
        tell_error (&err);
        return;
    }
    assert_int_equal (fcntl (dir.fd, F_GETFD), FD_CLOEXEC);
    if (!logdir_is_own (&dir))
        story_result ("others can create names");
}

/* A file of it, whether or not it is appended to. */
static void open_one (const char *name)
{
    struct errtext err[2];
    int fd[2];

    for (int append = 1; append >= 0; append--)
        if ((fd[append] = logdir_open (&dir, append, name, &err[append])) >= 0)
            close (fd[append]);
    assert_int_equal (fd[0] < 0, fd[1] < 0);
    if (fd[0] >= 0)
        return;
    assert_string_equal (err[0].text, err[1].text);
    tell_error (&err[0]);
}

/* "opens NAME", "appends to NAME", either "as a step"; "writes TEXT", "begins step STEP", "closes" */
static void use_file (int number, char *event)
{
    bool first = story_begins (&event, "as a step"), append = story_begins (&event, "appends to"), used;
    struct errtext err;
    int *fd = &file[number];

    if (append || story_begins (&event, "opens")) {
        *fd = first ? logdir_open_first (&dir, append, event, &used, &err)
                    : logdir_open (&dir, append, event, &err);
        if (*fd < 0)
            fail_msg ("%s", err.text);
        assert_int_equal (fcntl (*fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        if (first && used)
            story_result ("used");
    } else if (story_begins (&event, "writes")) {
        story_unescape (event);
        assert_int_equal (write (*fd, event, strlen (event)), strlen (event));
    } else if (story_begins (&event, "begins step"))
        logdir_begin (*fd, event, 0, NULL);
    else if (story_begins (&event, "closes")) {
        close (*fd);
        *fd = -1;
    } else
        story_unknown (event);
}

static void play (char *event)
{
    if (!top)
        begin ();
    if (*event >= '0' && *event <= '3') {
        int number = story_number (&event);

        use_file (number, event);
    } else if (story_begins (&event, "if this is root")) {
        if (geteuid () != 0)
            SKIP ("only root gives files away");
    } else if (story_begins (&event, "as a user"))
        become_user ();
    else if (story_begins (&event, "umask"))
        umask (octal (&event));
    else if (story_begins (&event, "make"))
        make (event);
    else if (story_begins (&event, "open"))
        open_one (event);
    else if (story_begins (&event, "look at"))
        look_at (event);
    else if (!changes_a_file (event))
        story_unknown (event);
}

STORIES (GOLDEN, play, end)

static int make_top (void **unused __attribute__ ((unused)))
{
    begin ();
    return 0;
}

static int remove_top (void **unused __attribute__ ((unused)))
{
    end ();
    return 0;
}

EACH_TEST (make_top, remove_top)

TEST (every_task_has_a_file_of_its_own)
{
    char name[64];

    assert_string_equal (logdir_task_file (name, sizeof (name), "worker", 12, LOGDIR_OUTPUT), "worker12.log");
    assert_string_equal (logdir_task_file (name, sizeof (name), "data2", 10, LOGDIR_OUTPUT), "data2-10.log");
    assert_string_equal (logdir_task_file (name, sizeof (name), "+data", 0, LOGDIR_OUTPUT), "data0.log");
    assert_string_equal (logdir_task_file (name, sizeof (name), "worker", 12, LOGDIR_ERROR),
                         "worker12.error.json");
    assert_string_equal (logdir_task_file (name, sizeof (name), "data2", 10, LOGDIR_ERROR),
                         "data2-10.error.json");
}

TEST (a_name_that_is_too_long_is_refused)
{
    struct errtext err = { "" };
    char name[NAME_MAX + 2], message[PATH_MAX + 128];

    memset (name, 'x', sizeof (name) - 1);
    name[sizeof (name) - 1] = '\0';
    snprintf (dir.path, sizeof (dir.path), "%s", below (name));
    snprintf (message, sizeof (message), "%s: %s", dir.path, strerror (ENAMETOOLONG));
    assert_int_equal (logdir_make (&dir, &err), -1);
    assert_string_equal (err.text, message);
    make (name + 1);
    memset (dir.path, 'x', sizeof (dir.path) - 1);
    dir.path[0] = '/';
    assert_int_equal (logdir_make (&dir, &err), -1);
    assert_true (is_line (err.text));
}

/* All tasks of a step make the directory at the same time. */
TEST (processes_can_make_the_same_directory_concurrently)
{
    int gate[2], status;

    snprintf (dir.path, sizeof (dir.path), "%s", below ("1/2/3/4/5/6/7/8/9"));
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
