/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The activity of a task, as its supervisor sees them: watch.golden tells them. The test sends the
 * messages, writes the log, and decides when time passes.
 */
#include "config.h"

#include "clock.h"
#include "story.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "supervise/notify_message.h"
#include "supervise/watch.h"

/*
 * The thread that looks at the log does not wait long, unless the file system hangs. The threads of earlier
 * tests go on, too.
 */
static _Atomic bool hanging;
static _Atomic int threads, hung;

int __wrap_poll (struct pollfd *pfd, nfds_t count, int ms);
int __real_poll (struct pollfd *pfd, nfds_t count, int ms);

int __wrap_poll (struct pollfd *pfd, nfds_t count, int ms)
{
    if (count == 0 && hanging) {
        hung++;
        while (hanging)
            usleep (1000);
        hung--;
    }
    return __real_poll (pfd, count, count == 0 && ms > 1 ? 1 : ms);
}

static struct watch watch;
static int sender = -1;

/* Of the next begin (). */
static int turns, rank;
static bool given, learns;

/*
 * It has opened the file, which takes a number that the test may want, and looked at it for the first time:
 * it notices the next byte.
 */
static void await_thread (const struct log_growth *growth)
{
    threads++;
    now_ms += 1000000;
    while (log_growth_hangs (growth))
        usleep (200);
}

static void begin (int seconds, int first, bool serves, const char *log)
{
    const struct supervisor_config config = {
        .watch = { .seconds = seconds, .first = first, .given = given, .learns = learns, .turns = turns },
        .rank = rank,
        .serves = serves,
        .log = log
    };
    struct log_growth *growth = NULL;
    struct errtext err = { "" };
    int pair[2], yes = 1;

    assert_int_equal (socketpair (AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
    sender = fcntl (pair[0], F_DUPFD, 50);
    setsockopt (pair[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof (yes));
    assert_int_equal (fcntl (pair[1], F_DUPFD, 60), 60);
    close (pair[0]);
    close (pair[1]);
    assert_int_equal (dup2 (60, SUPERVISOR_NOTIFY_FD), SUPERVISOR_NOTIFY_FD);
    close (60);
    if (log && log_growth_start (&growth, SUPERVISOR_LOG_FD, 500, &err) < 0)
        fail_msg ("%s", err.text);
    if (log)
        await_thread (growth);
    watch_init (&watch, &config, SUPERVISOR_NOTIFY_FD, growth);
    watch_begin (&watch);
    watch_look (&watch, true);
}

static int end (void **unused __attribute__ ((unused)))
{
    close (sender);
    close (SUPERVISOR_NOTIFY_FD);
    close (SUPERVISOR_LOG_FD);
    return 0;
}

/* In steps in which the supervisor would look. */
static void pass (int ms)
{
    for (int step = watch.step_ms; ms > 0; ms -= step) {
        now_ms += ms < step ? ms : step;
        while (!hanging && log_growth_hangs (watch.log))
            usleep (200);
        watch_look (&watch, true);
    }
}

static void message (const char *text)
{
    assert_int_equal (send (sender, text, strlen (text), 0), strlen (text));
    now_ms += 110;
    watch_look (&watch, true);
}

/* It has done its first step. */
static void send_two (void)
{
    message ("WATCHDOG=1");
    message ("WATCHDOG=1");
}

/* The log. */

static void open_log (void)
{
    int fd = memfd_create ("log", 0);

    assert_int_equal (dup2 (fd, SUPERVISOR_LOG_FD), SUPERVISOR_LOG_FD);
    if (fd != SUPERVISOR_LOG_FD)
        close (fd);
}

/* Something is printed, and the thread has seen it. */
static void print (void)
{
    watch.log_grew = false;
    assert_int_equal (write (SUPERVISOR_LOG_FD, "x", 1), 1);
    for (int i = 0; !watch.log_grew; i++) {
        assert_true (i < 5000);
        usleep (1000);
        watch_look (&watch, true);
    }
}

/* Stories. */

static enum signs_source told_source;
static bool told_overdue;

/* The last step that it has said, if it trains. */
static int trained;

/* What is new. */
static void tell (void)
{
    struct signs signs = watch_signs (&watch);

    if (signs.source != told_source || signs.overdue != told_overdue)
        story_result ("%s%s", signs_source_name[signs.source], signs.overdue ? " overdue" : "");
    told_source = signs.source;
    told_overdue = signs.overdue;
    if (watch_has_news (&watch)) {
        story_result ("news");
        watch_told (&watch);
    }
}

static void tell_all (void)
{
    struct signs signs = watch_signs (&watch);

    story_result ("%s%s", signs_source_name[signs.source], signs.overdue ? " overdue" : "");
    story_result ("%u messages", (unsigned int)signs.messages);
    story_result ("silent for %d ms", signs.silent_ms);
    story_result ("%d ms ago", signs.ago_ms);
    if (*signs.status)
        story_result ("%s", signs.status);
    if (signs.step)
        story_result ("step %d", signs.step);
    if (signs.log_grew)
        story_result ("its log grew");
    if (signs.slowest_ms)
        story_result ("%d ms at most", signs.slowest_ms);
}

/* "N first N [auto] [given] [turns N] [rank N] [serves] [log]" */
static void begin_told (char *event)
{
    int seconds = story_number (&event), first;
    bool serves, with_log;

    if (!story_begins (&event, "first"))
        story_unknown (event);
    first = story_number (&event);
    learns = story_begins (&event, "auto");
    given = story_begins (&event, "given");
    turns = story_begins (&event, "turns") ? story_number (&event) : 0;
    rank = story_begins (&event, "rank") ? story_number (&event) : 0;
    trained = 1;
    serves = story_begins (&event, "serves");
    with_log = story_begins (&event, "log");
    if (sender >= 0)
        end (NULL);
    if (with_log)
        open_log ();
    begin (seconds, first, serves, with_log ? "/log" : NULL);
    if (watch.log)
        story_result ("its log, too");
    told_source = SIGNS_UNKNOWN;
    told_overdue = false;
    if (!deadline_is_set (watch_poll (&watch, &(struct pollfd){ .fd = 0 })))
        story_result ("it is not watched");
}

/* A message, whose lines are separated by "; ". */
static const char *lines_of (char *event)
{
    for (char *semicolon = event; (semicolon = strstr (semicolon, "; "));) {
        *semicolon = '\n';
        memmove (semicolon + 1, semicolon + 2, strlen (semicolon + 1));
    }
    return event;
}

/* Its TaskProlog takes a while. */
static void begin_next (int prolog_ms)
{
    struct pollfd pfd;

    watch_discard (&watch);
    watch_begin (&watch);
    assert_false (watch.runs);
    now_ms += prolog_ms;
    watch_look (&watch, false);
    assert_int_equal (watch_poll (&watch, &pfd).at_ms, now_ms + 100);
    assert_int_equal (pfd.fd, -1);
    assert_false (watch_has_news (&watch));
    watch_look (&watch, true);
    assert_true (watch.runs);
}

static void live_unseen (char *event)
{
    const char *message;
    size_t length;

    if (!story_begins (&event, "sends"))
        story_unknown (event);
    message = event;
    length = strlen (message) - strlen (", and ends");
    watch_discard (&watch);
    watch_begin (&watch);
    assert_int_equal (send (sender, message, length, 0), length);
    watch_end (&watch);
}

static void say_next_step (void)
{
    char text[48];

    snprintf (text, sizeof (text), "WATCHDOG=1\nSTATUS=step %d", ++trained);
    message (text);
}

/* A step each 500 ms; "at the age of N ms". */
static void train_until_told (char *event)
{
    int64_t since = now_ms;

    if (story_begins (&event, "at the age of"))
        watch.age_ms = story_number (&event);
    do {
        pass (390);
        say_next_step ();
        assert_true (now_ms - since < 100000);
    } while (!watch_has_news (&watch));
    watch_told (&watch);
    story_result ("%d ms", (int)(now_ms - since));
}

/* That does not count as told. */
static void train_until_aside (char *event)
{
    int64_t since = now_ms;

    if (story_begins (&event, "at the age of"))
        watch.age_ms = story_number (&event);
    do {
        pass (500);
        say_next_step ();
        if (watch_tells_aside (&watch)) {
            story_result ("%d ms", (int)(now_ms - since));
            story_result ("step %d was told last", watch.told_step);
            return;
        }
    } while (now_ms - since < 60000);
    story_result ("never");
}

/* What a message says. */
static void parse (char *event)
{
    struct notify_message m;
    const char *text = story_unescape (event);

    memset (&m, 0xff, sizeof (m));
    notify_message_parse (&m, text, strlen (text));
    if (m.alive)
        story_result ("a heartbeat");
    if (m.stopping)
        story_result ("it is done");
    if (m.has_status)
        story_result ("\"%s\"", m.status);
    if (m.has_status && m.step)
        story_result ("step %d", m.step);
}

static void play_one (char *event)
{
    if (story_begins (&event, "watch"))
        begin_told (event);
    else if (story_begins (&event, "says"))
        message (lines_of (event));
    else if (story_begins (&event, "sends"))
        assert_int_equal (send (sender, event, strlen (event), 0), strlen (event));
    else if (story_begins (&event, "steps until told aside"))
        train_until_aside (event);
    else if (story_begins (&event, "steps until told"))
        train_until_told (event);
    else if (story_begins (&event, "one step"))
        say_next_step ();
    else if (story_begins (&event, "all is told"))
        watch_told (&watch);
    else if (story_begins (&event, "is a step told aside"))
        story_result (watch_tells_aside (&watch) ? "yes" : "no");
    else if (story_begins (&event, "prints"))
        print ();
    else if (story_begins (&event, "writes"))
        assert_int_equal (write (SUPERVISOR_LOG_FD, "x", 1), 1);
    else if (story_begins (&event, "all are stopped for")) {
        now_ms += story_number (&event);
        watch_look (&watch, true);
    } else if (story_begins (&event, "Slurm suspends it"))
        watch.paused = true;
    else if (story_begins (&event, "Slurm resumes it"))
        watch.paused = false;
    else if (story_begins (&event, "Slurm asks it to end"))
        watch.asked = true;
    else if (story_begins (&event, "its life ends")) {
        watch_end (&watch);
        if (!deadline_is_set (watch_poll (&watch, &(struct pollfd){ .fd = 0 })))
            story_result ("it is not watched");
    } else if (story_begins (&event, "its next life begins, in TaskProlog for"))
        begin_next (story_number (&event));
    else if (story_begins (&event, "its next life begins,"))
        live_unseen (event);
    else
        pass (story_number (&event));
}

static void play (char *event)
{
    if (story_begins (&event, "signs"))
        tell_all ();
    else if (story_begins (&event, "message"))
        parse (event);
    else {
        play_one (event);
        tell ();
    }
}

static void end_story_of_watch (void)
{
    watch_end (&watch);
    end (NULL);
    sender = -1;
    given = learns = false;
    turns = rank = 0;
}

STORIES (GOLDEN, play, end_story_of_watch)

static void check (enum signs_source source, bool overdue)
{
    struct signs signs = watch_signs (&watch);

    assert_int_equal (signs.source, source);
    assert_int_equal (signs.overdue, overdue);
}

TEST (while_the_file_system_hangs_a_log_is_not_silent)
{
    open_log ();
    begin (10, 60, false, "/log");
    pass (55000);
    print ();
    pass (7000);
    check (SIGNS_LOG, false);
    hanging = true;
    while (hung < threads)
        usleep (200);
    /* Two seconds count until it shows that the file system hangs. */
    pass (100000);
    check (SIGNS_LOG, false);
    hanging = false;
    pass (10000);
    check (SIGNS_LOG, true);
    end (NULL);
}

/* The thread reads what has been there for two seconds. */
static void await_traceback (const char *expected, int64_t since)
{
    struct failure_text text = { .source = FAILURE_TEXT_NONE };
    int64_t at = 0;

    for (int i = 0; i < 5000 && (i == 0 || strcmp (text.text, expected) != 0); i++) {
        struct pollfd pfd = { .fd = log_growth_fd (watch.log), .events = POLLIN };

        usleep (1000);
        now_ms += 10;
        if (poll (&pfd, 1, 0) == 1)
            at = log_growth_traceback (watch.log, &text);
    }
    assert_string_equal (text.text, expected);
    if (*expected)
        assert_true (at >= since && at < since + 1000);
}

static void append (const char *text)
{
    assert_int_equal (write (SUPERVISOR_LOG_FD, text, strlen (text)), strlen (text));
}

TEST (a_traceback_at_the_end_of_a_log_is_told_until_something_is_printed_behind_it)
{
    int64_t since;

    open_log ();
    begin (10, 60, false, "/log");
    append ("epoch 1\nTraceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n");
    since = now_ms;
    append ("ValueError: NaN in the loss\n");
    await_traceback ("ValueError: NaN in the loss", since);
    /* It has been there since then. */
    append ("W1125 15:17:43.1 pjrt_client: waits\n");
    await_traceback ("ValueError: NaN in the loss", since);
    append ("epoch 2\n");
    await_traceback ("", 0);
    end (NULL);
}

/* The thread has noted what was printed at this place. Returns when. */
static int64_t await_note (off_t at)
{
    int64_t begun = now_ms;

    for (int i = 0; i < 5000 && begun == now_ms; i++) {
        usleep (1000);
        now_ms++;
        begun = log_growth_begun (watch.log, at);
    }
    assert_true (begun < now_ms);
    return begun;
}

TEST (it_is_known_when_something_in_the_last_16_KiB_of_a_log_was_printed)
{
    static const char traceback[] = "Traceback (most recent call last):\n  File \"train.py\", line 3, in f\n";
    char more[1001] = "";
    int64_t since, begun;

    memset (more, 'x', sizeof (more) - 1);
    open_log ();
    begin (10, 60, false, "/log");
    assert_true (log_growth_begun (NULL, 0) == now_ms);
    append ("epoch 1\n");
    now_ms += 5000;
    since = now_ms;
    append (traceback);
    append ("ValueError: NaN in the loss\n");
    begun = await_note (8);
    assert_true (begun >= since);
    now_ms += 5000;
    /* What comes behind it does not make it younger, until it is too far from the end. */
    for (int i = 0; i < 16; i++) {
        append (more);
        assert_true (await_note (110 + 1000 * i) > begun + 4000);
        assert_true (log_growth_begun (watch.log, 8) == begun);
    }
    append (more);
    /* Of its last block: the file grows in two parts where a page of it ends. */
    await_note (17 * 1000);
    assert_true (log_growth_begun (watch.log, 8) == now_ms);
    end (NULL);
}

/* A flood. */

TEST (messages_are_read_at_most_so_often_and_so_many)
{
    struct pollfd pfd;
    int sent = 0;

    begin (10, 60, false, NULL);
    watch_poll (&watch, &pfd);
    message ("WATCHDOG=1");
    watch_poll (&watch, &pfd);
    assert_int_equal (pfd.fd, -1);
    assert_true (watch_poll (&watch, &pfd).at_ms <= now_ms + 100);
    now_ms += 100;
    watch_poll (&watch, &pfd);
    assert_int_equal (pfd.fd, SUPERVISOR_NOTIFY_FD);
    while (send (sender, "STATUS=x", 8, 0) == 8)
        sent++;
    watch_look (&watch, true);
    while (send (sender, "STATUS=x", 8, 0) == 8)
        sent--;
    assert_true (sent >= 0);
    end (NULL);
}

/* sd_notify_barrier () waits for that, on kernels that let the user send them. */
TEST (descriptors_that_come_with_a_message_are_closed)
{
    int pipes[2];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE (sizeof (int))];
    } control = { .header = { CMSG_LEN (sizeof (int)), SOL_SOCKET, SCM_RIGHTS } };
    struct iovec iov = { (char[]){ "WATCHDOG=1" }, 10 };
    const struct msghdr header = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof (control)
    };
    struct pollfd closed;

    begin (10, 60, false, NULL);
    assert_int_equal (pipe (pipes), 0);
    memcpy (CMSG_DATA (&control.header), &pipes[1], sizeof (pipes[1]));
    assert_int_equal (sendmsg (sender, &header, 0), 10);
    close (pipes[1]);
    closed = (struct pollfd){ .fd = pipes[0] };
    assert_int_equal (__real_poll (&closed, 1, 0), 0);
    send_two ();
    assert_int_equal (watch_signs (&watch).messages, 3);
    assert_int_equal (__real_poll (&closed, 1, 0), 1);
    assert_int_equal (closed.revents, POLLHUP);
    close (pipes[0]);
    end (NULL);
}
