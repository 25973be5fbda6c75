/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * This program plays three parts: slurmstepd (the test itself), a task that it forks, and, when
 * it is called "tf-supervise", the supervisor that the task's process becomes.
 */
#include "config.h"

#include "messages.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/descriptors.h"
#include "protocol/status.h"
#include "protocol/fork_request.h"
#include "launch/launcher.h"
#include "launch/supervisor.h"

/* SIGALRM ends each process after this time. */
#define TIMEOUT_S 60

/* Descriptor numbers in a task's process; those from 3 to MOVED_FD are closed first. */
#define PORT_FD 90
#define MOVED_FD 100

/* What the processes write and the test reads. */
static struct {
    volatile pid_t parent;              /* the process that becomes the supervisor */
    volatile pid_t task;                /* the one that was forked last: the life */
    volatile bool went_on;              /* fork_server_run () returned in the life */
    volatile bool mask_is_same;
    volatile int bind_error;            /* of the task, with the port that it held before */
    volatile unsigned int pending;      /* signals that the task has got, as bits */
    volatile bool is_handled;           /* a handler of before was called */
    char error[sizeof (struct errtext)];
} *shared;

static char self[4096];                 /* this program's path */

/* As the plugin's in a task. */
void launcher_say (bool error, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    dprintf (STDERR_FILENO, "slurmstepd: %sspank_tf: %s\n", error ? "error: " : "", text);
}

/* Repetitions of tests that depend on timing; 4 or more. */
static int rounds (void)
{
    return is_under_valgrind () ? 8 : 100;
}

/* What to do just before or after calls in launch/supervisor.c. */

static struct {
    void (*before_fork) (void);
    void (*in_parent) (void);           /* after fork () */
    void (*in_task) (void);
    void (*before_exec) (void);
    void (*before_begin) (void);        /* in the fork server, which has told the supervisor of a life */
    int fork_error;
    int forks;
} hook;

pid_t __real_fork (void);
pid_t __wrap_fork (void);
int __real_sigpending (sigset_t *set);
int __wrap_sigpending (sigset_t *set);
int __real_execve (const char *path, char *const argv[], char *const env[]);
int __wrap_execve (const char *path, char *const argv[], char *const env[]);

static void run (void (*function) (void))
{
    if (function)
        function ();
}

pid_t __wrap_fork (void)
{
    pid_t pid;

    bool first = hook.forks++ == 0;

    if (hook.fork_error) {
        errno = hook.fork_error;
        return -1;
    }
    run (first ? hook.before_fork : NULL);
    if ((pid = __real_fork ()) > 0)
        shared->task = pid;
    if (pid == 0)
        alarm (TIMEOUT_S);
    if (first)
        run (pid > 0 ? hook.in_parent : hook.in_task);
    return pid;
}

int __wrap_sigpending (sigset_t *set)
{
    run (hook.before_begin);
    return __real_sigpending (set);
}

int __wrap_execve (const char *path, char *const argv[], char *const env[])
{
    run (hook.before_exec);
    return __real_execve (path, argv, env);
}

/* The supervisor. It reports its state on descriptor 3, then acts on its first argument. */

static void report_descriptors (void)
{
    DIR *dir = opendir ("/proc/self/fd");
    struct dirent *entry;
    bool is_open[1024] = { false };

    while ((entry = readdir (dir)))
        if (entry->d_name[0] != '.' && atoi (entry->d_name) != dirfd (dir) && atoi (entry->d_name) < 1024)
            is_open[atoi (entry->d_name)] = true;
    closedir (dir);
    dprintf (3, "descriptors");
    for (int i = 0; i < 1024; i++)
        if (is_open[i])
            dprintf (3, " %d", i);
    dprintf (3, "\n");
}

static void report_configuration (const struct fork_reply *reply)
{
    struct frame *frame = frame_load (SUPERVISOR_CONFIG_FD);
    int variables = 0;

    while (environ[variables])
        variables++;
    dprintf (3, "%d variables: task %d\n%s\n", variables, (int)reply->pid,
             frame ? message_line (frame) : "no configuration");
}

static void report_signals (void)
{
    sigset_t blocked, pending;

    sigprocmask (SIG_BLOCK, NULL, &blocked);
    sigpending (&pending);
    dprintf (3, "not blocked");
    for (int i = 1; i < 32; i++)
        if (i != SIGKILL && i != SIGSTOP && !sigismember (&blocked, i))
            dprintf (3, " %d", i);
    dprintf (3, "\npending");
    for (int i = 1; i < 32; i++)
        if (sigismember (&pending, i))
            dprintf (3, " %d", i);
    dprintf (3, "\n");
}

/*
 * Argument "wait": wait until the test closes its end of the connection. "not ready": exit before the
 * supervisor is ready, like a program that cannot be loaded.
 */
static int supervise (int argc, char *argv[])
{
    const struct fork_request begin = { .life = 0 };
    struct fork_reply reply;
    int is_subreaper = 0;
    char byte;

    alarm (TIMEOUT_S);
    if (strcmp (argv[1], "not ready") == 0)
        return 127;
    if (recv (SUPERVISOR_LIVES_FD, &reply, sizeof (reply), 0) != sizeof (reply) || reply.pid != 0
        || send (SUPERVISOR_LIVES_FD, &begin, sizeof (begin), 0) != sizeof (begin)
        || recv (SUPERVISOR_LIVES_FD, &reply, sizeof (reply), 0) != sizeof (reply))
        return 126;
    dprintf (3, "%d arguments: %s %s\n", argc, argv[0], argv[1]);
    report_descriptors ();
    report_configuration (&reply);
    report_signals ();
    prctl (PR_GET_CHILD_SUBREAPER, &is_subreaper);
    dprintf (3, "subreaper %d\nend\n", is_subreaper);
    while (read (3, &byte, 1) > 0)
        ;
    return 0;
}

/* The task. */

static void note_signal (int number)
{
    (void)number;
    shared->is_handled = true;
}

static void wait_for_signals (void)
{
    for (;;)
        pause ();
}

/* A launch. For members that are NULL or 0, start () below uses defaults. */
struct launch {
    const char *path;               /* of tf-supervise */
    const char *step;               /* its argument */
    int fd;                         /* the connection's number */
    bool again;                     /* the task may have more than one life */
    void (*prepare) (void);         /* in the task's process before supervisor_start () */
    void (*go_on) (void);           /* in the task */
};

/* The test's ends of the connection, and the task's process, which leads a process group. */
static int connection, errors;
static pid_t started;

static bool is_equal (const sigset_t *a, const sigset_t *b)
{
    for (int i = 1; i <= SIGRTMAX; i++)
        if (sigismember (a, i) != sigismember (b, i))
            return false;
    return true;
}

static void __attribute__ ((noreturn)) play_task (const struct launch *launch, int fd)
{
    struct fork_server server = { .may_restart = launch->again, .port = -1, .answer = -1 };
    const struct output output = { .log = -1 };
    /* clang-format off */
    struct supervisor_config config = {
        .slurmstepd = getppid (), .rank = 17, .node = "n5", .step = launch->step ? launch->step : "wait",
        .port = 60001, .token = TOKEN, .server_token = SERVER_TOKEN, .stop_grace = 30, .kill_wait = 40,
        .forward_signals = true, .serves = true, .prints = true,
    };
    /* clang-format on */
    struct errtext err;
    sigset_t mask, after;

    address_parse (&config.address, "10.0.0.1");
    sigemptyset (&mask);
    sigaddset (&mask, SIGHUP);
    sigaddset (&mask, SIGCHLD);
    sigprocmask (SIG_SETMASK, &mask, NULL);
    shared->parent = getpid ();
    run (launch->prepare);
    if (supervisor_start (launch->path ? launch->path : self, &config, fd, &output, &server, &err) < 0) {
        snprintf (shared->error, sizeof (shared->error), "%s", err.text);
        _exit (99);
    }
    fork_server_run (&server);
    sigprocmask (SIG_BLOCK, NULL, &after);
    shared->mask_is_same = is_equal (&mask, &after);
    shared->went_on = true;
    close (fd);
    run (launch->go_on ? launch->go_on : wait_for_signals);
    _exit (0);
}

/* Fork the task's process; its number is returned. */
static pid_t start (const struct launch *launch)
{
    int pair[2], pipe_end[2], moved, fd = launch->fd ? launch->fd : 5;
    pid_t pid;

    memset (shared, 0, sizeof (*shared));
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal (pipe2 (pipe_end, O_CLOEXEC), 0);
    if ((pid = __real_fork ()) == 0) {
        alarm (TIMEOUT_S);
        setpgid (0, 0);
        dup2 (pipe_end[1], STDERR_FILENO);
        moved = fcntl (pair[1], F_DUPFD_CLOEXEC, MOVED_FD);
        for (int i = 3; i < MOVED_FD; i++)
            close (i);
        dup2 (moved, fd);
        close (moved);
        play_task (launch, fd);
    }
    started = pid;
    close (pair[1]);
    close (pipe_end[1]);
    connection = pair[0];
    errors = pipe_end[0];
    return pid;
}

/* Read until the other end closes, or until "end" if `to_end`. */
static const char *read_text (int fd, bool to_end)
{
    static char text[4096];
    size_t used = 0;
    ssize_t n;

    while ((n = read (fd, text + used, sizeof (text) - 1 - used)) > 0) {
        text[used += (size_t)n] = '\0';
        if (to_end && used >= 4 && strcmp (text + used - 4, "end\n") == 0)
            break;
    }
    text[used] = '\0';
    return text;
}

static const char *read_report (void)
{
    return read_text (connection, true);
}

/* Wait for the task's process, and for the task, which the test inherits. -1: no such process. */
static void reap (pid_t first, int *of_first, int *of_task)
{
    int status;
    pid_t pid;

    *of_first = *of_task = -1;
    while ((pid = wait (&status)) > 0)
        *(pid == first ? of_first : of_task) = status;
    started = 0;
    close (errors);
    if (connection >= 0)
        close (connection);
}

/* The kernel kills the task, or the task exits if its parent died before PR_SET_PDEATHSIG. */
static void check_ended_with_parent (int status)
{
    assert_true (status == SIGKILL || status == 1 << 8);
}

static void close_connection (void)
{
    close (connection);
    connection = -1;
}

/* End the supervisor, and so the task. A fork server may see end-of-file before it is killed. */
static void finish (pid_t first)
{
    int of_first, of_task;

    close_connection ();
    reap (first, &of_first, &of_task);
    assert_int_equal (of_first, 0);
    check_ended_with_parent (of_task);
}

static int set_up (void **unused __attribute__ ((unused)))
{
    memset (&hook, 0, sizeof (hook));
    return prctl (PR_SET_CHILD_SUBREAPER, 1);
}

/* Clean up after a test that failed. */
static int tear_down (void **unused __attribute__ ((unused)))
{
    if (started)
        kill (-started, SIGKILL);
    while (wait (NULL) > 0)
        ;
    started = 0;
    return 0;
}

EACH_TEST (set_up, tear_down)

TEST (the_parent_becomes_tf_supervise_and_the_task_goes_on)
{
    static const int number[] = { 3, 4, 5, 6, 50 };
    char expected[1024];

    for (size_t i = 0; i < COUNT (number); i++) {
        pid_t pid = start (&(struct launch){ .fd = number[i] });
        const char *report = read_report ();

        snprintf (expected, sizeof (expected),
                  "2 arguments: tf-supervise wait\n"
                  "descriptors 0 1 2 3 4 9\n"
                  "0 variables: task %d\n"
                  "FORK_SERVER=%d SLURMSTEPD=%d RANK=17 NODE=n5 NODE_INDEX=0 STEP=wait ADDRESS=10.0.0.1 "
                  "PORT=60001 TOKEN=" TOKEN " SERVER_TOKEN=" SERVER_TOKEN " STOP_GRACE=30 KILL_WAIT=40 "
                  "FORWARD_SIGNALS=1 SERVES=1 PRINTS=1\nnot blocked\npending\nsubreaper 1\nend\n",
                  (int)shared->task, (int)shared->task, (int)getpid ());
        assert_string_equal (report, expected);
        AWAIT (shared->went_on);
        assert_true (shared->mask_is_same);
        finish (pid);
    }
}

/* Signals. */

static void block_signals (void)
{
    sigset_t set;

    sigfillset (&set);
    sigprocmask (SIG_BLOCK, &set, NULL);
}

static void note_pending (void)
{
    unsigned int pending = 0;
    sigset_t set;

    sigpending (&set);
    for (int i = 1; i < 32; i++)
        if (sigismember (&set, i))
            pending |= 1U << i;
    shared->pending = pending;
    wait_for_signals ();
}

/* As slurmstepd 24.11 does. */
static void handle_signals (void)
{
    signal (SIGUSR1, note_signal);
}

static void signal_parent (void)
{
    kill (getpid (), SIGUSR1);
}

static void signal_both (void)
{
    kill (0, SIGUSR2);
}

static void terminate_both (void)
{
    kill (0, SIGTERM);
}

static void signal_in_task (void)
{
    kill (getpid (), SIGUSR1);
}

/* slurmstepd signals each process of the step, or its process group. */
TEST (no_signal_is_lost_while_the_task_forks)
{
    char pending[64];

    if (is_under_valgrind ())
        SKIP ("under valgrind a pending signal does not survive exec");
    snprintf (pending, sizeof (pending), "not blocked\npending %d %d %d\n", SIGUSR1, SIGUSR2, SIGTERM);
    for (int i = 0; i < rounds (); i++) {
        pid_t pid;

        hook.before_fork = signal_parent;
        hook.in_parent = signal_both;
        hook.in_task = signal_in_task;
        hook.before_exec = terminate_both;
        pid = start (&(struct launch){ .prepare = block_signals, .go_on = note_pending, .again = i % 2 });
        assert_non_null (strstr (read_report (), pending));
        AWAIT (shared->pending);
        assert_int_equal (shared->pending, 1U << SIGUSR1 | 1U << SIGUSR2 | 1U << SIGTERM);
        finish (pid);
    }
}

/* The task goes on in slurmstepd's code; exec would remove the handler. */
TEST (a_signal_before_exec_is_not_taken_by_a_handler_of_slurmstepd)
{
    int of_first, of_task;
    pid_t pid;

    hook.in_task = signal_in_task;
    pid = start (&(struct launch){ .prepare = handle_signals });
    read_report ();
    AWAIT (shared->went_on || strchr ("-Z", process_state (shared->task)));
    close_connection ();
    reap (pid, &of_first, &of_task);
    assert_int_equal (of_task, SIGUSR1);
    assert_false (shared->is_handled);
}

/* The parent's death. */

static void kill_self (void)
{
    kill (getpid (), SIGKILL);
}

TEST (the_task_ends_if_its_parent_dies_before_exec)
{
    for (int i = 0; i < rounds (); i++) {
        int of_first, of_task;
        pid_t pid;

        hook.before_exec = kill_self;
        pid = start (&(struct launch){ .path = NULL });
        reap (pid, &of_first, &of_task);
        assert_int_equal (of_first, SIGKILL);
        check_ended_with_parent (of_task);
    }
}

static void await_death_of_parent (void)
{
    while (getppid () == shared->parent)
        poll (NULL, 0, 1);
}

TEST (the_task_ends_if_its_parent_died_before_pr_set_pdeathsig)
{
    int of_first, of_task;
    pid_t pid;

    hook.in_parent = kill_self;
    hook.in_task = await_death_of_parent;
    pid = start (&(struct launch){ .path = NULL });
    reap (pid, &of_first, &of_task);
    assert_int_equal (of_first, SIGKILL);
    assert_int_equal (of_task, 1 << 8);
    assert_false (shared->went_on);
}

/* The supervisor may have given up such a fork server: the life is one that it does not know. */
TEST (a_life_does_not_begin_if_its_fork_server_is_killed)
{
    int of_first, of_task;
    pid_t pid;

    hook.before_begin = kill_self;
    pid = start (&(struct launch){ .again = true });
    close_connection ();
    reap (pid, &of_first, &of_task);
    assert_false (shared->went_on);
}

/* The port. */

static const struct sockaddr_in *port_address (void)
{
    static struct sockaddr_in in;
    socklen_t len = sizeof (in);

    getsockname (PORT_FD, (struct sockaddr *)&in, &len);
    return &in;
}

static void hold_port (int flags)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM, 0);

    bind (fd, (struct sockaddr *)&in, sizeof (in));
    dup3 (fd, PORT_FD, flags);
    close (fd);
}

static void hold_port_across_exec (void)
{
    hold_port (0);
}

static void hold_port_until_exec (void)
{
    hold_port (O_CLOEXEC);
}

/* Close the task's port and bind it again, which fails if another process still holds the port. */
static void bind_port_again (void)
{
    struct sockaddr_in in = *port_address ();
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    close (PORT_FD);
    errno = 0;
    bind (fd, (struct sockaddr *)&in, sizeof (in));
    shared->bind_error = in.sin_port == 0 ? -1 : errno;
    shared->pending = 1;
    wait_for_signals ();
}

TEST (only_the_task_holds_its_port)
{
    for (int i = 0; i < 2 * rounds (); i++) {
        pid_t pid = start (&(struct launch){
            .prepare = i % 2 ? hold_port_until_exec : hold_port_across_exec,
            .go_on = bind_port_again,
        });

        AWAIT (shared->pending);
        assert_int_equal (shared->pending, 1);
        assert_int_equal (shared->bind_error, 0);
        assert_non_null (strstr (read_report (), "\ndescriptors 0 1 2 3 4 9\n"));
        finish (pid);
    }
}

/* What a fork server keeps: descriptors from OPENED_FD on, in this order. */
#define OPENED_FD 60
enum {
    PIPE_CLOSED_BY_EXEC,
    SOCKET_CLOSED_BY_EXEC,
    DEVICE_CLOSED_BY_EXEC,
    FILE_CLOSED_BY_EXEC,
    PIPE_FOR_THE_PROGRAM,
    OPENED
};

static void open_all (void)
{
    int pipe_end[2], fd = socket (AF_UNIX, SOCK_STREAM, 0), device = open ("/dev/null", O_RDONLY),
                     file = memfd_create ("file", 0);

    if (pipe (pipe_end) == 0) {
        dup3 (pipe_end[1], OPENED_FD + PIPE_CLOSED_BY_EXEC, O_CLOEXEC);
        dup3 (fd, OPENED_FD + SOCKET_CLOSED_BY_EXEC, O_CLOEXEC);
        dup3 (device, OPENED_FD + DEVICE_CLOSED_BY_EXEC, O_CLOEXEC);
        dup3 (file, OPENED_FD + FILE_CLOSED_BY_EXEC, O_CLOEXEC);
        dup2 (pipe_end[1], OPENED_FD + PIPE_FOR_THE_PROGRAM);
    }
}

/* The bit of OPENED is there so that the result is never 0. */
static void note_opened (void)
{
    unsigned int opened = 1U << OPENED;

    for (int i = 0; i < OPENED; i++)
        if (fcntl (OPENED_FD + i, F_GETFD) >= 0)
            opened |= 1U << i;
    shared->pending = opened;
    wait_for_signals ();
}

/* slurmstepd's end of the program's stdin is such a pipe, and of a terminal such a device. */
TEST (a_fork_server_closes_the_pipes_sockets_and_devices_that_exec_would_close)
{
    pid_t pid = start (&(struct launch){ .prepare = open_all, .go_on = note_opened, .again = true });

    AWAIT (shared->pending);
    assert_int_equal (shared->pending, 1U << OPENED | 1U << FILE_CLOSED_BY_EXEC | 1U << PIPE_FOR_THE_PROGRAM);
    finish (pid);
}

/* Failures. */

/* A directory and, unless `mode` is 0, a file tf-supervise with this mode in it. */
static const char *make_directory (mode_t mode)
{
    const char *directory = new_directory (), *file = path_in (directory, "tf-supervise");

    if (mode) {
        write_file (file, "");
        assert_int_equal (chmod (file, mode), 0);
    }
    return directory;
}

/* Check all consequences of an execve () that fails in the parent. */
static void check_failed_exec (const char *path, const char *reason)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_EXIT_REPORT };
    struct status status;
    struct frame *frame;
    int of_first, of_task;
    char expected[256];
    pid_t pid = start (&(struct launch){ .path = path });

    snprintf (expected, sizeof (expected), "slurmstepd: error: spank_tf: n5: %s: %s\n", path, reason);
    assert_string_equal (read_text (errors, false), expected);
    assert_int_equal (frame_read (&reader, connection, &frame, NULL), 1);
    assert_int_equal (status_decode (&status, frame, NULL), 0);
    assert_int_equal (status.report.kind, EXIT_REPORT_EXIT);
    assert_int_equal (status.report.number, 1);
    frame_destroy (frame);
    reap (pid, &of_first, &of_task);
    assert_int_equal (of_first, 1 << 8);
    check_ended_with_parent (of_task);
    assert_false (shared->went_on);
}

TEST (the_task_does_not_continue_if_the_supervisor_cannot_be_loaded)
{
    for (int i = 0; i < rounds (); i++) {
        int of_first, of_task;
        pid_t pid = start (&(struct launch){ .step = "not ready" });

        reap (pid, &of_first, &of_task);
        assert_int_equal (of_first, 127 << 8);
        check_ended_with_parent (of_task);
        assert_false (shared->went_on);
    }
}

TEST (if_exec_fails_the_task_ends_and_the_error_is_reported)
{
    static const struct {
        mode_t mode;
        const char *name, *reason;
    } row[] = {
        { 0, "/tf-supervise", "No such file or directory" },
        { 0600, "/tf-supervise", "Permission denied" },
        { 0700, "/tf-supervise", "Exec format error" },
        { 0, "", "Permission denied" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        char path[96];

        snprintf (path, sizeof (path), "%s%s", make_directory (row[i].mode), row[i].name);
        for (int k = 0; k < rounds () / 4; k++)
            check_failed_exec (path, row[i].reason);
    }
}

static void allow_no_more_descriptors (void)
{
    const struct rlimit limit = { 5, 5 };

    setrlimit (RLIMIT_NOFILE, &limit);
}

TEST (too_many_open_files_in_the_parent_is_reported_like_a_failed_exec)
{
    if (is_under_valgrind ())
        SKIP ("valgrind needs descriptors of its own");
    hook.in_parent = allow_no_more_descriptors;
    check_failed_exec (self, strerror (EMFILE));
}

static int count_descriptors (void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl (fd, F_GETFD) >= 0;
    return count;
}

/* supervisor_start () fails in this process and changes nothing. */
static void check_failed_start (const char *reason)
{
    struct supervisor_config config = { .node = "n5", .step = "12.0" };
    const struct output output = { .log = -1 };
    struct fork_server server;
    int descriptors = count_descriptors ();
    struct errtext err = { "" };
    sigset_t before, after;
    char expected[4200];

    sigprocmask (SIG_BLOCK, NULL, &before);
    assert_int_equal (supervisor_start ("/usr/libexec/tf-supervise", &config, 0, &output, &server, &err), -1);
    sigprocmask (SIG_BLOCK, NULL, &after);
    snprintf (expected, sizeof (expected), "/usr/libexec/tf-supervise: %s", reason);
    assert_string_equal (err.text, expected);
    assert_int_equal (count_descriptors (), descriptors);
    assert_true (is_equal (&before, &after));
}

TEST (a_failed_fork_is_an_error_and_leaves_nothing_open)
{
    hook.fork_error = EAGAIN;
    check_failed_start ("Resource temporarily unavailable");
    hook.fork_error = ENOMEM;
    check_failed_start ("Cannot allocate memory");
    assert_int_equal (hook.forks, 2);
}

TEST (a_failed_socket_pair_is_an_error_and_no_process_is_forked)
{
    struct rlimit limit, low = { 3, 0 };

    if (is_under_valgrind ())
        SKIP ("valgrind applies this limit to open () alone");
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &limit), 0);
    low.rlim_max = limit.rlim_max;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &low), 0);
    check_failed_start ("Too many open files");
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &limit), 0);
    assert_int_equal (hook.forks, 0);
}

int main (int argc, char *argv[])
{
    if (strcmp (argv[0], "tf-supervise") == 0)
        return supervise (argc, argv);
    shared = mmap (NULL, sizeof (*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || readlink ("/proc/self/exe", self, sizeof (self) - 1) < 0)
        return 1;
    return unit_run ();
}
