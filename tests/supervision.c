/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "supervision.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/descriptors.h"
#include "common/tcp.h"
#include "launch/fork_server.h"
#include "protocol/fields.h"
#include "protocol/hello.h"
#include "protocol/supervisor_config.h"
#include "reports.h"
#include "simulation.h"
#include "supervise/descendants.h"

/* A descriptor that tf-supervise inherits and must close. */
#define STRAY_FD 77

#define SUPERVISE_VARIABLE "SPANK_TF_SUPERVISE"

#define TASK_RANK 3
#define TASK_NODE "n1"

bool task_is_wrapped (void)
{
    return program_is_wrapped (SUPERVISE_VARIABLE);
}

bool task_is_instrumented (void)
{
    return rendezvous_is_instrumented () || task_is_wrapped ();
}

int task_reaction_ms (void)
{
    return task_is_instrumented () ? 10 * REACTION_MS : 4 * REACTION_MS;
}

/* Programs. */

noreturn void program_wait (void)
{
    alarm (PROGRAM_LIFE_S);
    for (;;)
        pause ();
}

void program_print (const char *text)
{
    if (write (STDOUT_FILENO, text, strlen (text)) < 0)
        _exit (99);
}

void program_sleeps (void)
{
    program_print ("up ");
    program_wait ();
}

void program_ignores_sigterm (void)
{
    signal (SIGTERM, SIG_IGN);
    program_sleeps ();
}

void program_exits_3 (void)
{
    _exit (3);
}

void program_prints_signals (void)
{
    sigset_t all;
    siginfo_t info;
    char text[32];

    sigfillset (&all);
    sigprocmask (SIG_BLOCK, &all, NULL);
    alarm (PROGRAM_LIFE_S);
    program_print ("up ");
    for (;;) {
        if (sigwaitinfo (&all, &info) < 0)
            continue;
        snprintf (text, sizeof (text), "%d ", info.si_signo);
        program_print (text);
        if (info.si_signo == SIGQUIT || info.si_signo == SIGALRM)
            _exit (5);
    }
}

/* The task's side. */

/* A file with the configuration, as SUPERVISOR_CONFIG_FD. */
static void _configure (const struct task *task)
{
    struct supervisor_config config = {
        .fork_server = task->fork_server,
        .slurmstepd = task->slurmstepd,
        .rank = TASK_RANK,
        .node = TASK_NODE,
        .step = "12.0",
        .port = task->port,
        .token = TASK_TOKEN,
        .server_token = TASK_SERVER_TOKEN,
        .stop_grace = task->misconfigured ? -1 : task->stop_grace,
        .kill_wait = task->kill_wait ? task->kill_wait : -1,
        .forward_signals = task->forward_signals,
        .serves = task->serves,
        .restart = { .times = task->restarts, .any = true, .longest_pause = 60 },
        .lost_after = task->lost_after,
        .spare = task->spare,
        .watch = { .seconds = task->watchdog, .first = task->watchdog },
        .prints = task->prints,
    };
    struct frame *frame;
    int file;

    address_parse (&config.address, "127.0.0.1");
    if (!(frame = fields_frame (&supervisor_config_fields, &config))
        || (file = frame_store (frame, "supervisor")) < 0 || dup2 (file, SUPERVISOR_CONFIG_FD) < 0)
        _exit (122);
    if (file != SUPERVISOR_CONFIG_FD)
        close (file);
    frame_destroy (frame);
}

/* What this process shares with those that it starts. */
struct shared {
    volatile pid_t supervisor, fork_server, program;
};

static struct shared *_shared (void)
{
    static struct shared *shared;

    if (!shared
        && (shared = mmap (NULL, sizeof (*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
               == MAP_FAILED)
        die ("mmap: %s", strerror (errno));
    return shared;
}

/* The fork server forks between a request and its reply (pthread_atfork (3)). */
static const struct task *early_task;

static void _send_early (void)
{
    send (early_task->sender, early_task->early, strlen (early_task->early), 0);
}

/* As launch/task.c, from the fork to the program. */
static noreturn void _become_fork_server (const struct task *task, pid_t supervisor, int requests, int output)
{
    struct fork_server server = {
        .supervisor = supervisor, .may_restart = task->restarts > 0, .port = -1, .answer = -1
    };
    struct frame *answer = NULL;
    char number[16];
    sigset_t all;
    int life;

    /* In case the test fails. */
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    dup2 (output, STDOUT_FILENO);
    server.requests = dup2 (requests, STDERR_FILENO + 1);
    if (task->early) {
        early_task = task;
        pthread_atfork (_send_early, NULL, NULL);
    } else
        descriptors_close_above (server.requests);
    sigfillset (&all);
    sigprocmask (SIG_SETMASK, &all, &server.mask);
    life = fork_server_run (&server);
    _shared ()->program = getpid ();
    snprintf (number, sizeof (number), "%d", life);
    if (life > 0)
        setenv ("SLURM_TF_RESTART", number, 1);
    if (server.answer >= 0 && !(answer = frame_load (server.answer)))
        _exit (98);
    if (answer)
        setenv ("SLURM_TF_ROLE", frame_get (answer, "SLURM_TF_ROLE"), 1);
    /* As when a program is executed. */
    prctl (PR_SET_NAME, "program");
    task->program ();
    _exit (0);
}

static noreturn void _become_supervisor (struct task *task, int connection, int input, int output)
{
    pid_t self = getpid ();
    const struct rlimit core = { RLIM_INFINITY, RLIM_INFINITY };
    int lives[2];

    _shared ()->supervisor = self;
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    setpgid (0, 0);
    dup2 (task->stderr_fd, STDERR_FILENO);
    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lives) < 0)
        _exit (121);
    if ((task->fork_server = fork ()) == 0)
        _become_fork_server (task, self, lives[1], output);
    _shared ()->fork_server = task->fork_server;
    close (lives[1]);
    dup2 (input, STDIN_FILENO);
    dup2 (output, STRAY_FD);
    /* Out of the way of each other's number. */
    lives[0] = fcntl (lives[0], F_DUPFD_CLOEXEC, STRAY_FD + 1);
    dup2 (connection, SUPERVISOR_RENDEZVOUS_FD);
    dup2 (lives[0], SUPERVISOR_LIVES_FD);
    if (task->notify)
        dup2 (task->notify, SUPERVISOR_NOTIFY_FD);
    _configure (task);
    /* As a careless parent might leave it. A shell needs SIGCHLD's default action. */
    if (!task_is_wrapped ())
        signal (SIGCHLD, SIG_IGN);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    setrlimit (RLIMIT_CORE, &core);
    program_execute (SUPERVISE_VARIABLE, TF_SUPERVISE);
}

/* A process between this one and tf-supervise, which a test can kill. */
static noreturn void _become_slurmstepd (struct task *task, int connection, int input, int output)
{
    task->slurmstepd = getpid ();
    if (fork () == 0)
        _become_supervisor (task, connection, input, output);
    descriptors_close_above (STDERR_FILENO);
    program_wait ();
}

/* The rendezvous' side, and slurmstepd's. */

void task_kill_descendants (void)
{
    struct deadline deadline = deadline_in_ms (task_reaction_ms ());

    while (!deadline_passed (deadline) && (waitpid (-1, NULL, WNOHANG) >= 0 || errno != ECHILD)) {
        descendants_kill (0);
        poll (NULL, 0, 1);
    }
}

/* Port 0: any port. Several sockets can have the same one, as long as none of them listens. */
static int _bind (int port)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl (INADDR_LOOPBACK),
                              .sin_port = htons ((uint16_t)port) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (fd < 0 || setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof (on)) < 0
        || bind (fd, (struct sockaddr *)&in, sizeof (in)) < 0)
        die ("a port: %s", strerror (errno));
    return fd;
}

/* The socket that finds the port stays, so that no other program gets it while the listener is closed. */
void task_open_listener (struct task *task)
{
    struct sockaddr_in in = { 0 };
    socklen_t len = sizeof (in);

    if (task->port == 0) {
        getsockname (_bind (0), (struct sockaddr *)&in, &len);
        task->port = ntohs (in.sin_port);
    }
    task->listener = _bind (task->port);
    if (listen (task->listener, 16) < 0)
        die ("a listening socket: %s", strerror (errno));
}

void task_close_listener (struct task *task)
{
    close (task->listener);
}

static bool _accept (struct task *task)
{
    task->connection = accept4 (task->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return task->connection >= 0;
}

/* Make the connection on which the task registered. Returns the task's end. */
static int _connect (struct task *task)
{
    struct sockaddr_in in = { 0 };
    socklen_t len = sizeof (in);
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    getsockname (task->listener, (struct sockaddr *)&in, &len);
    if (fd < 0 || connect (fd, (struct sockaddr *)&in, len) < 0 || !_accept (task))
        die ("a connection: %s", strerror (errno));
    return fd;
}

static bool _wait (int fd, int ms)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    return poll (&pfd, 1, ms) == 1;
}

/* Wait until a process has set this. */
static pid_t _await_pid (const volatile pid_t *pid, const char *what)
{
    struct deadline deadline = deadline_in_ms (10 * task_reaction_ms ());

    while (*pid == 0) {
        if (deadline_passed (deadline))
            die ("%s does not start", what);
        poll (NULL, 0, 1);
    }
    return *pid;
}

void task_start (struct task *task)
{
    int input[2], output[2], connection;
    struct pollfd up;

    task_open_listener (task);
    connection = _connect (task);
    if (task->stderr_fd == 0 && (task->stderr_fd = memfd_create ("stderr", MFD_CLOEXEC)) < 0)
        die ("memfd_create: %s", strerror (errno));
    /* Not a pipe, which tf-supervise would read for the lives of the task. */
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) < 0 || pipe2 (output, O_CLOEXEC) < 0)
        die ("no pipe: %s", strerror (errno));
    *_shared () = (struct shared){ 0 };
    /* Processes that tf-supervise leaves behind become children of this one. */
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    atexit (task_kill_descendants);
    fflush (stdout);
    if (!task->slurmstepd)
        task->slurmstepd = getpid ();
    if ((task->pid = fork ()) < 0)
        die ("fork: %s", strerror (errno));
    if (task->pid == 0 && task->slurmstepd_dies)
        _become_slurmstepd (task, connection, input[0], output[1]);
    if (task->pid == 0)
        _become_supervisor (task, connection, input[0], output[1]);
    close (connection);
    close (input[0]);
    close (output[1]);
    task->output = output[0];
    /* tf-supervise closes its stdin after everything else, when it has blocked all signals. */
    up = (struct pollfd){ .fd = input[1] };
    if (poll (&up, 1, 10 * task_reaction_ms ()) != 1)
        die ("tf-supervise does not start");
    close (input[1]);
    if (task->slurmstepd_dies)
        task->slurmstepd = task->pid;
    task->pid = _shared ()->supervisor;
    task->fork_server = _await_pid (&_shared ()->fork_server, "the fork server");
    if (!task->misconfigured && !task->spare && !task->starts_nothing)
        task->program_pid = _await_pid (&_shared ()->program, "the program");
}

static void _send_goal (struct task *task)
{
    task->goal.code = GOAL_OWN_CODE;
    if (!send_frame (task->connection, goal_encode (&task->goal, TASK_SERVER_TOKEN)))
        die ("tf-supervise does not take a goal");
}

void task_send_order (struct task *task, enum order order)
{
    static const enum goal_stop stop[] = {
        [ORDER_STOP] = GOAL_STOP,
        [ORDER_EXIT] = GOAL_RUN,
    };

    task->goal.stop = stop[order];
    if (order != ORDER_STOP)
        task->goal.report = task->report;
    task->goal.question += order == ORDER_TELL;
    task->goal.leave = order == ORDER_EXIT;
    _send_goal (task);
}

void task_send_life (struct task *task, int life)
{
    task->goal.life = life;
    task_send_order (task, ORDER_WAIT);
}

static void _check_report (const struct exit_report *report, const char *expected)
{
    struct exit_report_text room;

    if (strcmp (report_print (report, &room), expected) != 0)
        die ("tf-supervise reported \"%s\", not \"%s\"", room.text, expected);
}

/* A signal of Slurm's may be that it suspends the job, of which a supervisor tells. */
struct frame *task_receive_report (struct task *task, struct status *status)
{
    struct frame *frame;
    struct errtext err;

    while ((frame = receive_frame (task->connection, task_reaction_ms ()))) {
        if (status_decode (status, frame, &err) < 0)
            die ("%s", err.text);
        if (status->ended)
            break;
        frame_destroy (frame);
    }
    if (frame)
        task->report = status->life.number;
    return frame;
}

void task_expect_report (struct task *task, const char *expected)
{
    struct status status;
    struct frame *frame = task_receive_report (task, &status);

    if (!frame)
        die ("tf-supervise did not report \"%s\"", expected);
    _check_report (&status.report, expected);
    task->ago_ms = status.life.ago_ms;
    frame_destroy (frame);
}

struct signs task_expect_signs (const struct task *task)
{
    struct frame *frame = receive_frame (task->connection, task_reaction_ms ());
    struct status status;
    struct errtext err;

    if (!frame)
        die ("tf-supervise reports no activity");
    if (status_decode (&status, frame, &err) < 0)
        die ("%s", err.text);
    frame_destroy (frame);
    return status.signs;
}

void task_expect_close (struct task *task)
{
    char byte;
    ssize_t n;

    if (!_wait (task->connection, task_reaction_ms ()))
        die ("tf-supervise does not close the connection");
    if ((n = recv (task->connection, &byte, 1, 0)) > 0)
        die ("tf-supervise sends more instead of closing the connection");
    /* If tf-supervise closes the socket with unread bytes, the kernel sends a reset. */
    if (n < 0 && errno != ECONNRESET)
        die ("the connection to tf-supervise: %s", strerror (errno));
    close (task->connection);
}

static void _check_hello (const struct frame *frame)
{
    struct hello hello;

    fields_decode (&hello_fields, &hello, frame, NULL);
    if (!hello.reconnects || !hello.token || strcmp (hello.token, TASK_TOKEN) != 0 || !hello.node
        || strcmp (hello.node, TASK_NODE) != 0 || !hello.release
        || strcmp (hello.release, PACKAGE_VERSION) != 0 || frame_version (frame) != FRAME_VERSION)
        die ("tf-supervise reconnects with a wrong token, node, release or version");
    if (frame_get (frame, "SERVER_TOKEN"))
        die ("tf-supervise discloses the server token");
}

void task_expect_reconnect (struct task *task, const char *report)
{
    struct status status;
    struct errtext err;
    struct frame *frame;

    if (!_wait (task->listener, task_reaction_ms ()) || !_accept (task)
        || !(frame = receive_frame (task->connection, task_reaction_ms ())))
        die ("tf-supervise does not reconnect");
    _check_hello (frame);
    if (status_decode (&status, frame, &err) < 0)
        die ("%s", err.text);
    if (status_rank (frame, TASK_RANK + 1) != TASK_RANK)
        die ("tf-supervise reconnects as another rank");
    if (status.ended != (report != NULL))
        die ("tf-supervise reconnects %s an exit report", report ? "without" : "with");
    if (report)
        _check_report (&status.report, report);
    task->life = status.life.life;
    task->report = status.life.number;
    task->ago_ms = status.life.ago_ms;
    frame_destroy (frame);
}

void task_expect_exit (struct task *task, int status)
{
    struct deadline deadline = deadline_in_ms (task_reaction_ms ());
    int is;
    pid_t pid;

    while ((pid = waitpid (task->pid, &is, WNOHANG)) == 0) {
        if (deadline_passed (deadline))
            die ("tf-supervise does not exit");
        poll (NULL, 0, 1);
    }
    if (pid < 0)
        die ("waitpid: %s", strerror (errno));
    if (is != status)
        die ("tf-supervise's wait status is %#x, not %#x", (unsigned int)is, (unsigned int)status);
}

/* A reset, and not FIN, so that no port is kept in TIME_WAIT for a minute. */
static void _expect_reset (struct task *task)
{
    char byte;
    ssize_t n;

    do {
        if (!_wait (task->connection, task_reaction_ms ()))
            die ("tf-supervise does not close the connection");
        n = recv (task->connection, &byte, 1, 0);
    } while (n > 0);
    if (n != -1 || errno != ECONNRESET)
        die ("tf-supervise does not reset the connection");
    close (task->connection);
}

void task_order_exit (struct task *task, int status)
{
    task_send_order (task, ORDER_EXIT);
    _expect_reset (task);
    task_expect_exit (task, status);
}

void task_expect_report_and_exit (struct task *task, const char *report, int status)
{
    task_expect_report (task, report);
    task_order_exit (task, status);
}

void task_expect_running (const struct task *task)
{
    poll (NULL, 0, MOMENT_MS);
    if (waitpid (task->pid, NULL, WNOHANG) != 0)
        die ("tf-supervise has exited");
}

void task_expect_no_descendants (void)
{
    pid_t pid = waitpid (-1, NULL, WNOHANG);

    if (pid >= 0 || errno != ECHILD)
        die ("tf-supervise has left a descendant");
}

void task_expect_output (const struct task *task, const char *text)
{
    char is[1024];
    size_t used = 0, want = strlen (text);
    ssize_t n = 1;

    while (used < want && n > 0 && _wait (task->output, task_reaction_ms ())) {
        n = read (task->output, is + used, want - used);
        used += n > 0 ? (size_t)n : 0;
    }
    is[used] = '\0';
    if (strcmp (is, text) != 0)
        die ("the program wrote \"%s\", not \"%s\"", is, text);
}

void task_expect_no_output (const struct task *task)
{
    char is[1024];
    ssize_t n;

    if (!_wait (task->output, MOMENT_MS))
        return;
    n = read (task->output, is, sizeof (is) - 1);
    is[n > 0 ? n : 0] = '\0';
    die ("the program wrote \"%s\"", is);
}

/* Until no process has it open any more. Returns the number of bytes. */
static size_t _read_output (const struct task *task)
{
    static char bytes[65536];
    size_t sum = 0;
    ssize_t n;

    do {
        if (!_wait (task->output, task_reaction_ms ()))
            die ("a process still has the program's output open");
        n = read (task->output, bytes, sizeof (bytes));
        sum += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    return sum;
}

void task_expect_stopped (struct task *task)
{
    size_t bytes = _read_output (task);

    task_expect_report_and_exit (task, "stopped", 0);
    task_expect_no_descendants ();
    task_expect_stderr (task, "");
    if (bytes > 0)
        die ("the program wrote %zu bytes more", bytes);
}

void task_close_connection (struct task *task)
{
    close (task->connection);
}

void task_reset_connection (struct task *task)
{
    tcp_abort (task->connection);
}

void task_expect_stderr (const struct task *task, const char *text)
{
    struct deadline patience = deadline_in_ms (task_reaction_ms ());
    char is[4096];
    ssize_t n;

    for (;;) {
        n = pread (task->stderr_fd, is, sizeof (is) - 1, 0);
        is[n > 0 ? n : 0] = '\0';
        if (strcmp (is, text) == 0)
            return;
        if (deadline_passed (patience))
            die ("stderr has \"%s\", not \"%s\"", is, text);
        poll (NULL, 0, 10);
    }
}

/* The beginning of a file in /proc/PID. The text is static. */
static const char *_proc (pid_t pid, const char *name)
{
    static char text[16384];
    char path[64];
    ssize_t n = -1;
    int fd;

    snprintf (path, sizeof (path), "/proc/%d/%s", (int)pid, name);
    if ((fd = open (path, O_RDONLY | O_CLOEXEC)) >= 0) {
        n = read (fd, text, sizeof (text) - 1);
        close (fd);
    }
    text[n > 0 ? n : 0] = '\0';
    return text;
}

char process_state (pid_t pid)
{
    const char *name_end = strrchr (_proc (pid, "stat"), ')');

    return name_end ? name_end[2] : '-';
}

void process_await_state (pid_t pid, char state)
{
    struct deadline deadline = deadline_in_ms (task_reaction_ms ());

    while (process_state (pid) != state) {
        if (deadline_passed (deadline))
            die ("process %d is %c, not %c", (int)pid, process_state (pid), state);
        poll (NULL, 0, 1);
    }
}

void send_all_signals (pid_t pid)
{
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGKILL && number != SIGSTOP && (number <= 31 || number >= SIGRTMIN))
            kill (pid, number);
}

/* A number from /proc/PID/status. */
static long _read_status (const struct task *task, const char *key)
{
    const char *at = strstr (_proc (task->pid, "status"), key);

    if (!at)
        die ("/proc/%d/status has no %s", (int)task->pid, key);
    return strtol (strchr (at, ':') + 1, NULL, 10);
}

#define WAKEUPS "\nvoluntary_ctxt_switches"

/* CPU time in clock ticks. */
static long _cpu_ticks (const struct task *task)
{
    const char *at = strrchr (_proc (task->pid, "stat"), ')');
    long user, system;

    if (!at || sscanf (at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) != 2)
        die ("/proc/%d/stat cannot be read", (int)task->pid);
    return user + system;
}

/* On a busy machine what has happened before may take it longer than a moment. */
void task_expect_idle (const struct task *task)
{
    long ticks = 1, wakeups = 1;

    for (int tries = 0; tries < 3 && (ticks > 0 || wakeups > 0); tries++) {
        poll (NULL, 0, MOMENT_MS);
        ticks = _cpu_ticks (task);
        wakeups = _read_status (task, WAKEUPS);
        poll (NULL, 0, 1000);
        ticks = _cpu_ticks (task) - ticks;
        wakeups = _read_status (task, WAKEUPS) - wakeups;
    }
    if (ticks > 0 || wakeups > 0)
        die ("tf-supervise woke up %ld times and used %ld ticks of CPU time while idle", wakeups, ticks);
}

/* How many connections the supervisor has, and whether all of them wait for keepalive (2). */
static int _connections (const struct task *task, bool *keepalive)
{
    FILE *f = fopen ("/proc/net/tcp", "re");
    unsigned int port, state, timer;
    char text[512];
    int found = 0;

    *keepalive = true;
    while (f && fgets (text, sizeof (text), f))
        if (sscanf (text, " %*d: %*x:%*x %*x:%x %x %*x:%*x %x", &port, &state, &timer) == 3
            && (int)port == task->port && state == 1) {
            found++;
            *keepalive = *keepalive && timer == 2;
        }
    if (f)
        fclose (f);
    return found;
}

/* A new connection first waits for acknowledgements, and the former one may not be closed yet. */
void task_expect_keepalive (const struct task *task)
{
    struct deadline deadline = deadline_in_ms (task_reaction_ms ());
    bool keepalive;
    int found;

    while ((found = _connections (task, &keepalive)) != 1 || !keepalive) {
        if (deadline_passed (deadline))
            die ("tf-supervise has %d connections, keepalive is %s", found, keepalive ? "on" : "off");
        poll (NULL, 0, 10);
    }
}

void task_expect_descriptors (const struct task *task)
{
    static const int own[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
    char path[64], to[256];
    ssize_t n;

    for (size_t i = 0; i < COUNT (own); i++) {
        snprintf (path, sizeof (path), "/proc/%d/fd/%d", (int)task->pid, own[i]);
        n = readlink (path, to, sizeof (to) - 1);
        to[n > 0 ? n : 0] = '\0';
        if (strcmp (to, "anon_inode:[signalfd]") != 0)
            die ("tf-supervise's descriptor %d is %s", own[i], to);
    }
    snprintf (path, sizeof (path), "/proc/%d/fd/%d", (int)task->pid, STRAY_FD);
    if (readlink (path, to, sizeof (to)) >= 0)
        die ("tf-supervise keeps an inherited descriptor open");
}
