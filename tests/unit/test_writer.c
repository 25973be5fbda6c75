/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * writer.golden tells what is in the file, and what is waited for. A file system that hangs is simulated:
 * openat (), write () and send () of the child are wrapped. A pipe that is not read needs no simulation.
 */
#include "config.h"

#include "story.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "rendezvous/writer.h"

/* What the file system does; shared with the writer's child. */
static struct {
    volatile bool open_hangs, write_hangs, is_full;
    volatile bool answer_hangs;         /* when it was sent */
    const volatile bool *volatile hangs;        /* the last of these that hung */
} *disk;

/* The process whose own calls are not affected, and the one that runs the tests. */
static pid_t self, runner;

/* A child does not hang longer than the tests run. */
static void hang (const volatile bool *hangs)
{
    for (; *hangs && getpid () != self; disk->hangs = hangs)
        if (poll (NULL, 0, 1) < 0 || kill (runner, 0) < 0)
            _exit (1);
}

int __real_openat (int dir, const char *path, int flags, mode_t mode);
int __wrap_openat (int dir, const char *path, int flags, mode_t mode);
ssize_t __real_write (int fd, const void *bytes, size_t length);
ssize_t __wrap_write (int fd, const void *bytes, size_t length);

int __wrap_openat (int dir, const char *path, int flags, mode_t mode)
{
    hang (&disk->open_hangs);
    return __real_openat (dir, path, flags, mode);
}

ssize_t __wrap_write (int fd, const void *bytes, size_t length)
{
    hang (&disk->write_hangs);
    if (disk->is_full && getpid () != self) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write (fd, bytes, length);
}

ssize_t __real_send (int fd, const void *bytes, size_t length, int flags);
ssize_t __wrap_send (int fd, const void *bytes, size_t length, int flags);

ssize_t __wrap_send (int fd, const void *bytes, size_t length, int flags)
{
    ssize_t n = __real_send (fd, bytes, length, flags);

    hang (&disk->answer_hangs);
    return n;
}

/*
 * Timeouts are longer than in the program, so that no test depends on the machine's speed; or
 * shorter, where a test waits for them.
 */
static bool short_timeouts;
static int64_t last_timeout_ms;         /* as the program wants it */

struct deadline __real_deadline_in_ms (int64_t ms);
struct deadline __wrap_deadline_in_ms (int64_t ms);

struct deadline __wrap_deadline_in_ms (int64_t ms)
{
    last_timeout_ms = ms;
    return __real_deadline_in_ms (short_timeouts ? ms / 50 : 10 * ms);
}

/* The temporary directory of the test that is running, and the file in it. */
static const char *top;
static char file[64];

static int prepare (void **unused __attribute__ ((unused)))
{
    runner = getpid ();
    signal (SIGPIPE, SIG_IGN);
    disk = mmap (NULL, sizeof (*disk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return disk == MAP_FAILED ? -1 : 0;
}

ALL_TESTS (prepare, NULL)

static int set_up (void **unused __attribute__ ((unused)))
{
    memset ((void *)disk, 0, sizeof (*disk));
    short_timeouts = false;
    self = getpid ();
    alarm (60);
    top = new_directory ();
    snprintf (file, sizeof (file), "%s/file", top);
    return 0;
}

static int tear_down (void **unused __attribute__ ((unused)))
{
    alarm (0);
    return 0;
}

static int open_file (const void *path, struct errtext *err)
{
    int fd = openat (AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    return fd < 0 ? errtext_set (err, "%s: %s", (const char *)path, strerror (errno)) : fd;
}

static struct writer *create (void)
{
    struct errtext err;
    struct writer *writer = writer_create (open_file, file, &err);

    if (!writer)
        fail_msg ("%s", err.text);
    return writer;
}

/* One that writes to this descriptor. */
static int is_stderr (const void *unused __attribute__ ((unused)),
                      struct errtext *err __attribute__ ((unused)))
{
    return STDERR_FILENO;
}

static struct writer *create_on (int fd)
{
    int saved = dup (STDERR_FILENO);
    struct errtext err;
    struct writer *writer;

    dup2 (fd, STDERR_FILENO);
    writer = writer_create (is_stderr, NULL, &err);
    dup2 (saved, STDERR_FILENO);
    close (saved);
    if (!writer)
        fail_msg ("%s", err.text);
    return writer;
}

/* Read a pipe up to its end. The text is static. */
static const char *read_all (int fd)
{
    static char text[4 << 20];
    size_t length = 0;
    ssize_t n;

    fcntl (fd, F_SETFL, 0);
    while ((n = read (fd, text + length, sizeof (text) - 1 - length)) > 0)
        length += (size_t)n;
    text[length] = '\0';
    return text;
}

static const char *content (void)
{
    return file_text (file);
}

/* Until all is written, as the program's main loop does it. */
static void await (struct writer *writer)
{
    for (; writer_is_busy (writer); writer_pump (writer))
        poll (NULL, 0, 1);
}

/* Stories. */

static struct writer *told;

/* "open hangs", and so on; what hangs is waited for not as long as in the program. */
static bool changes_disk (char *event)
{
    if (story_begins (&event, "open hangs"))
        disk->open_hangs = short_timeouts = true;
    else if (story_begins (&event, "writes hang"))
        disk->write_hangs = short_timeouts = true;
    else if (story_begins (&event, "the disk is full"))
        disk->is_full = true;
    else if (story_begins (&event, "the disk works"))
        disk->open_hangs = disk->write_hangs = disk->is_full = short_timeouts = false;
    else
        return false;
    return true;
}

static void play (char *event)
{
    if (story_begins (&event, "begin")) {
        struct errtext err;

        set_up (NULL);
        changes_disk (event);
        told = create ();
        assert_int_equal (writer_await_open (told, 1000, &err), 0);
    } else if (story_begins (&event, "put"))
        writer_put (told, story_unescape (event));
    else if (story_begins (&event, "flush")) {
        story_result (writer_flush (told) ? "all is written" : "not all is written");
        story_result ("%d ms", (int)last_timeout_ms);
    } else if (story_begins (&event, "wait"))
        await (told);
    else if (story_begins (&event, "file in the end")) {
        AWAIT (strcmp (content (), story_expected ()) == 0);
        story_print ("%s", content ());
    } else if (story_begins (&event, "file"))
        story_print ("%s", content ());
    else if (!changes_disk (event))
        story_unknown (event);
}

static void end (void)
{
    writer_close (told);
    told = NULL;
    tear_down (NULL);
}

STORIES (GOLDEN, play, end)

EACH_TEST (set_up, tear_down)

#define LONG_LINES 30000
#define LONG_BYTES (8 * LONG_LINES)

/* Lines of 8 bytes, more than fit into the socket to the child. */
static const char *long_text (void)
{
    static char text[LONG_BYTES + 1];

    for (int i = 0; i < LONG_LINES; i++)
        snprintf (text + 8 * i, 9, "%07d\n", i);
    return text;
}

TEST (a_file_that_cannot_be_opened_is_an_error)
{
    struct errtext err = { "" };
    struct writer *writer;
    char message[128];

    snprintf (file, sizeof (file), "%s/no/file", top);
    snprintf (message, sizeof (message), "%s: No such file or directory", file);
    writer = create ();
    assert_int_equal (writer_await_open (writer, 1000, &err), -1);
    assert_string_equal (err.text, message);
    writer_close (writer);
}

/* More than the socket takes is kept here. */
TEST (everything_below_the_bound_is_written_when_the_file_system_responds_again)
{
    static char expected[4 * LONG_BYTES + 1];
    struct writer *writer = create ();

    disk->write_hangs = true;
    for (int i = 0; i < 4; i++) {
        writer_put (writer, long_text ());
        strcat (expected, long_text ());
    }
    disk->write_hangs = false;
    await (writer);
    assert_string_equal (content (), expected);
    writer_close (writer);
}

#define DROPPED \
    "srun: error: spank_tf: here %zu lines (%zu bytes) are missing, which could not be " \
    "written in time\n"

/*
 * Lines of 8 bytes were put, so many, and the text has all of them, or says how many are missing, in one
 * line. Returns what follows this line.
 */
static const char *check_dropped (const char *text, size_t lines)
{
    const char *about = strstr (text, "srun: error: ");
    size_t missing = 0, bytes = 0, before;
    char expected[160];

    assert_non_null (about);
    before = (size_t)(about - text);
    sscanf (about, DROPPED, &missing, &bytes);
    snprintf (expected, sizeof (expected), DROPPED, missing, bytes);
    assert_memory_equal (about, expected, strlen (expected));
    assert_int_equal (before, 8 * (lines - missing));
    assert_int_equal (bytes, 8 * missing);
    /* What is kept is bounded: 1 MiB here, and what fits into a socket and a pipe. */
    assert_between (before, (1 << 20) - LONG_BYTES, 2 << 20);
    return about + strlen (expected);
}

TEST (what_is_above_the_bound_is_dropped_and_a_line_in_its_place_says_how_much)
{
    struct writer *writer = create ();

    disk->write_hangs = true;
    for (int i = 0; i < 20; i++)
        writer_put (writer, long_text ());
    /* There would be room for it, but what is missing is missing in one place. */
    writer_put (writer, "-short-\n");
    disk->write_hangs = false;
    await (writer);
    assert_null (strstr (content (), "-short-"));
    assert_string_equal (check_dropped (content (), 20 * LONG_LINES + 1), "");
    writer_put (writer, "last\n");
    assert_true (writer_flush (writer));
    assert_string_equal (check_dropped (content (), 20 * LONG_LINES + 1), "last\n");
    writer_close (writer);
}

TEST (a_text_that_alone_is_above_the_bound_is_written)
{
    char *text = malloc (10 * LONG_BYTES + 1);
    struct writer *writer = create ();

    text[0] = '\0';
    for (int i = 0; i < 10; i++)
        strcat (text, long_text ());
    writer_put (writer, text);
    assert_true (writer_flush (writer));
    assert_string_equal (content (), text);
    free (text);
    writer_close (writer);
}

/* Also one with O_NONBLOCK, as the program that started srun may have made it. */
TEST (a_pipe_that_is_not_read_gets_everything_later)
{
    short_timeouts = true;
    for (int i = 0; i < 2; i++) {
        int fds[2];
        size_t filled = full_pipe (fds);
        struct writer *writer;

        fcntl (fds[1], F_SETFL, i * O_NONBLOCK);
        writer = create_on (fds[1]);
        close (fds[1]);
        writer_put (writer, "one\n");
        assert_false (writer_flush (writer));
        writer_put (writer, "two\n");
        writer_close (writer);
        assert_string_equal (read_all (fds[0]) + filled, "one\ntwo\n");
        close (fds[0]);
    }
}

TEST (a_closed_pipe_is_ignored)
{
    struct writer *writer;
    int fds[2];

    assert_int_equal (pipe (fds), 0);
    writer = create_on (fds[1]);
    close (fds[1]);
    close (fds[0]);
    writer_put (writer, "one\n");
    assert_true (writer_flush (writer));
    writer_put (writer, "two\n");
    assert_true (writer_flush (writer));
    writer_close (writer);
}

/* Also what is not yet in the child, and the line about what was dropped. */
TEST (everything_is_written_after_the_writer_was_closed)
{
    int fds[2];
    size_t filled = full_pipe (fds);
    struct writer *writer = create_on (fds[1]);

    close (fds[1]);
    short_timeouts = true;
    for (int i = 0; i < 20; i++)
        writer_put (writer, long_text ());
    writer_close (writer);
    assert_string_equal (check_dropped (read_all (fds[0]) + filled, 20 * LONG_LINES), "");
    close (fds[0]);
}

/* The child of a process that dies writes what it has, and ends. This process gets its orphans. */
static void check_death (volatile bool *hangs)
{
    int status;
    pid_t pid;

    /* Those of earlier tests. */
    while (wait (NULL) > 0)
        ;
    assert_int_equal (prctl (PR_SET_CHILD_SUBREAPER, 1), 0);
    *hangs = disk->open_hangs = true;
    if ((pid = fork ()) == 0) {
        struct writer *writer = (self = getpid (), create ());

        writer_put (writer, "one\n");
        writer_put (writer, "two\n");
        disk->open_hangs = false;
        while (disk->hangs != hangs)
            poll (NULL, 0, 1);
        raise (SIGKILL);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (waitpid (-1, &status, WNOHANG), 0);
    *hangs = false;
    assert_true (wait (&status) > 0);
    assert_int_equal (status, 0);
    assert_string_equal (content (), "one\ntwo\n");
}

TEST (everything_is_written_after_the_death_of_the_process)
{
    check_death (&disk->write_hangs);
}

/* Then the kernel gives the child an error before the text. */
TEST (everything_is_written_after_the_death_of_a_process_that_has_not_read_an_answer)
{
    check_death (&disk->answer_hangs);
}

/* open () tells its process ID, and hangs if the disk does. */
static int open_and_tell (const void *pid, struct errtext *err)
{
    *(volatile pid_t *)(uintptr_t)pid = getpid ();
    return open_file (file, err);
}

TEST (a_child_that_was_killed_is_noticed)
{
    pid_t *pid = mmap (NULL, sizeof (*pid), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct errtext err;
    struct writer *writer = writer_create (open_and_tell, pid, &err);

    assert_non_null (writer);
    writer_put (writer, "one\n");
    assert_true (writer_flush (writer));
    assert_true (writer_pump (writer));
    kill (*pid, SIGKILL);
    while (writer_pump (writer))
        ;
    writer_put (writer, "two\n");
    assert_false (writer_is_busy (writer));
    assert_false (writer_flush (writer));
    writer_close (writer);
    munmap (pid, sizeof (*pid));
}

/* Otherwise it would keep srun's stderr, or a connection, open. */
TEST (the_child_keeps_no_descriptor_open)
{
    struct writer *writer;
    int fds[2];
    char byte;

    assert_int_equal (pipe (fds), 0);
    writer = create ();
    close (fds[1]);
    assert_int_equal (read (fds[0], &byte, 1), 0);
    close (fds[0]);
    writer_close (writer);
}
