/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "supervision.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "deadline.h"
#include "descriptors.h"
#include "simulation.h"
#include "tree.h"

/* What could happen, and must not, has happened by then. */
#define MOMENT_MS 300
/* A descriptor that tf-supervise has not asked for. */
#define STRAY_FD 77

bool task_is_wrapped (void)
{
    const char *program = getenv ("SPANK_TF_SUPERVISE");

    return program && strchr (program, ' ');
}

bool task_is_instrumented (void)
{
    return !as_built () || task_is_wrapped ();
}

int at_once_ms (void)
{
    return task_is_instrumented () ? 10 * AT_ONCE_MS : AT_ONCE_MS;
}

/* Programs. */

noreturn void program_live (void)
{
    alarm (PROGRAM_LIFE_S);
    for (;;)
        pause ();
}

void program_say (const char *text)
{
    if (write (STDOUT_FILENO, text, strlen (text)) < 0)
        _exit (99);
}

void program_lives (void)
{
    program_say ("up ");
    program_live ();
}

void program_is_deaf (void)
{
    signal (SIGTERM, SIG_IGN);
    program_lives ();
}

void program_exits_3 (void)
{
    _exit (3);
}

/* By a process that is gone before anybody can ask who it was. */
static void _tell_group (void)
{
    pid_t pid = fork ();

    if (pid == 0) {
        kill (0, SIGUSR2);
        _exit (0);
    }
    waitpid (pid, NULL, 0);
    /* The child's end is no news: away with a signal that waits. */
    signal (SIGCHLD, SIG_IGN);
    signal (SIGCHLD, SIG_DFL);
}

/* Each signal as it comes: "number:value ". At HUP it tells its group; QUIT is the end. */
void program_counts_signals (void)
{
    sigset_t all;
    siginfo_t info;
    char text[32];

    sigfillset (&all);
    sigprocmask (SIG_BLOCK, &all, NULL);
    alarm (PROGRAM_LIFE_S);
    program_say ("up ");
    for (;;) {
        if (sigwaitinfo (&all, &info) < 0)
            continue;
        snprintf (text, sizeof (text), "%d:%d ", info.si_signo,
                  info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
        program_say (text);
        if (info.si_signo == SIGHUP)
            _tell_group ();
        if (info.si_signo == SIGQUIT || info.si_signo == SIGALRM)
            _exit (5);
    }
}

/* A rank's place. */

static void _set (const char *key, int number)
{
    char text[16];

    snprintf (text, sizeof (text), "%d", number);
    setenv (key, text, 1);
}

/* A wrapper needs the rest of the environment. */
static void _configure (const struct task *task)
{
    setenv ("TOKEN", TASK_TOKEN, 1);
    if (!task->odd)
        setenv ("PROOF", TASK_PROOF, 1);
    _set ("RANK", 3);
    setenv ("NODE", "n1", 1);
    setenv ("STEP", "12.0", 1);
    _set ("TASK", (int)task->program_pid);
    setenv ("ADDRESS", "127.0.0.1", 1);
    _set ("PORT", task->port);
    _set ("GRACE", task->grace);
    if (task->forward)
        setenv ("FORWARD", "yes", 1);
    if (task->speaker)
        setenv ("SPEAKER", "yes", 1);
    if (task->brief)
        setenv ("MAY_LEAVE", "yes", 1);
}

static void _become_user (uid_t user)
{
    if (user && (setgroups (0, NULL) < 0 || setresgid (user, user, user) < 0
                 || setresuid (user, user, user) < 0))
        _exit (124);
    /* When it does not end although its promise is broken. */
    prctl (PR_SET_PDEATHSIG, SIGKILL);
}

/* What this process shares with the rank and its program. */
struct shared {
    pid_t program;
    bool up;                    /* tf-supervise is */
};

static struct shared *_shared (void)
{
    static struct shared *shared;

    if (!shared && (shared = mmap (NULL, sizeof (*shared), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED)
        die ("mmap: %s", strerror (errno));
    return shared;
}

static noreturn void _become_program (const struct task *task, int output)
{
    volatile bool *up = &_shared ()->up;

    if (!task->foreign)
        _become_user (task->user);
    dup2 (output, STDOUT_FILENO);
    descriptors_close_above (STDERR_FILENO);
    /* A wrapper may be a shell, which would take the program's end for a child's of its own. */
    while (!task->late && !*up)
        poll (NULL, 0, 1);
    task->program ();
    _exit (0);
}

static noreturn void _execute (void)
{
    const char *program = getenv ("SPANK_TF_SUPERVISE");
    char *text = strdup (program ? program : TF_SUPERVISE), *word[32] = { NULL };
    const struct rlimit core = { RLIM_INFINITY, RLIM_INFINITY };

    for (int i = 0; i < 31 && (word[i] = strtok (i ? NULL : text, " ")); i++)
        ;
    setrlimit (RLIMIT_CORE, &core);
    if (word[0])
        execvp (word[0], word);
    _exit (127);
}

/* Another user need not be able to enter the directory that it is in. */
static noreturn void _execute_as (uid_t user)
{
    static char name[] = "tf-supervise";
    char *const argument[] = { name, NULL };
    int program = open (TF_SUPERVISE, O_RDONLY | O_CLOEXEC);

    _become_user (user);
    fexecve (program, argument, environ);
    _exit (127);
}

/* The C library's own two are ignored by who was started with posix_spawn (), as make does. */
static void _hear_all_signals (void)
{
    const unsigned long as_usual[8] = { 0 };

    for (int number = 32; number <= 33; number++)
        syscall (SYS_rt_sigaction, number, as_usual, NULL, sizeof (uint64_t));
}

static noreturn void _become_rank (struct task *task, int line, int input, int output)
{
    siginfo_t info;

    if (task->terminal && (setsid () < 0 || ioctl (task->terminal, TIOCSCTTY, 0) < 0))
        _exit (123);
    setpgid (0, 0);
    _hear_all_signals ();
    dup2 (task->console, STDERR_FILENO);
    /* At once, or the program could wait for a word of this process. */
    if ((task->program_pid = fork ()) == 0)
        _become_program (task, output);
    _shared ()->program = task->program_pid;
    if (task->late)
        waitid (P_PID, (id_t)task->program_pid, &info, WEXITED | WNOWAIT);
    _configure (task);
    dup2 (input, STDIN_FILENO);
    dup2 (output, STRAY_FD);
    dup2 (line, 3);
    fcntl (3, F_SETFD, 0);
    /* As a careless parent might leave it; but a shell would not know how its children end. */
    if (!task->late && !task_is_wrapped ())
        signal (SIGCHLD, SIG_IGN);
    if (task->user)
        _execute_as (task->user);
    _become_user (0);
    _execute ();
}

/* slurmstepd's and the rendezvous' place. */

void task_clean_up (void)
{
    struct deadline patience = deadline_in_ms (at_once_ms ());

    while (!deadline_passed (patience) && (waitpid (-1, NULL, WNOHANG) >= 0 || errno != ECHILD)) {
        tree_kill ();
        poll (NULL, 0, 1);
    }
}

/* On any port, or on that of before. */
static int _listen (int port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK),
                              .sin_port = htons ((uint16_t)port) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (fd < 0 || setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof (on)) < 0
        || bind (fd, (struct sockaddr *)&in, sizeof (in)) < 0 || listen (fd, 16) < 0)
        die ("a listening socket: %s", strerror (errno));
    return fd;
}

void task_listen (struct task *task, bool listening)
{
    struct sockaddr_in in = { 0 };
    socklen_t len = sizeof (in);

    if (listening) {
        task->listener = _listen (task->port);
        getsockname (task->listener, (struct sockaddr *)&in, &len);
        task->port = ntohs (in.sin_port);
    } else
        close (task->listener);
}

/* The rank's end of a connection; the other one is task->line. */
static int _connect (struct task *task)
{
    struct sockaddr_in in = { 0 };
    socklen_t len = sizeof (in);
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    getsockname (task->listener, (struct sockaddr *)&in, &len);
    if (fd < 0 || connect (fd, (struct sockaddr *)&in, len) < 0
        || (task->line = accept4 (task->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) < 0)
        die ("a connection: %s", strerror (errno));
    return fd;
}

static bool _wait (int fd, int ms)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    return poll (&pfd, 1, ms) == 1;
}

void task_begin (struct task *task)
{
    int input[2], output[2], line;
    struct pollfd unread;

    task_listen (task, true);
    line = _connect (task);
    if (task->console == 0 && (task->console = memfd_create ("console", MFD_CLOEXEC)) < 0)
        die ("memfd_create: %s", strerror (errno));
    if (pipe2 (input, O_CLOEXEC) < 0 || pipe2 (output, O_CLOEXEC) < 0)
        die ("pipe2: %s", strerror (errno));
    *_shared () = (struct shared){ 0 };
    /* Whom tf-supervise leaves behind is ours. */
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    atexit (task_clean_up);
    fflush (stdout);
    if ((task->pid = fork ()) < 0)
        die ("fork: %s", strerror (errno));
    if (task->pid == 0)
        _become_rank (task, line, input[0], output[1]);
    close (line);
    close (input[0]);
    close (output[1]);
    task->output = output[0];
    /* It lets go of its input last of all, when signals cannot hurt it any more. */
    unread = (struct pollfd){ .fd = input[1] };
    if (poll (&unread, 1, 10 * at_once_ms ()) != 1)
        die ("tf-supervise does not start");
    close (input[1]);
    task->program_pid = _shared ()->program;
    _shared ()->up = true;
}

void task_tell (const struct task *task, const char *key)
{
    struct frame *frame = frame_create ();

    frame_add (frame, "PROOF", TASK_PROOF);
    frame_add (frame, key, "1");
    if (!give_frame (task->line, frame))
        die ("tf-supervise does not hear %s", key);
}

static void _expect_value (const struct frame *frame, const char *key, const char *value)
{
    const char *is = frame_get (frame, key);

    if ((is || value) && (!is || !value || strcmp (is, value) != 0))
        die ("tf-supervise said %s=%s, not %s", key, is ? is : "nothing",
             value ? value : "nothing");
}

void task_expect_report (const struct task *task, const char *ended)
{
    struct frame *frame = answer_await (task->line, at_once_ms ());

    if (!frame)
        die ("no report that the program ended, \"%s\"", ended);
    _expect_value (frame, "ENDED", ended);
    frame_destroy (frame);
}

void task_expect_hang_up (struct task *task)
{
    char byte;
    ssize_t n;

    if (!_wait (task->line, at_once_ms ()))
        die ("tf-supervise does not hang up");
    if ((n = recv (task->line, &byte, 1, 0)) > 0)
        die ("tf-supervise has more to say");
    /* A reset is what we get for bytes that it did not want to read. */
    if (n < 0 && errno != ECONNRESET)
        die ("tf-supervise hangs up: %s", strerror (errno));
    close (task->line);
}

void task_expect_redial (struct task *task, const char *ended)
{
    struct frame *frame;

    if (!_wait (task->listener, at_once_ms ())
        || (task->line = accept4 (task->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) < 0
        || !(frame = answer_await (task->line, at_once_ms ())))
        die ("tf-supervise does not dial again");
    _expect_value (frame, "TOKEN", TASK_TOKEN);
    _expect_value (frame, "RELEASE", PACKAGE_VERSION);
    _expect_value (frame, "NODE", "n1");
    _expect_value (frame, "STEP", "12.0");
    _expect_value (frame, "RANK", "3");
    _expect_value (frame, "SUPERVISES", "1");
    _expect_value (frame, "ENDED", ended);
    _expect_value (frame, "PROOF", NULL);
    frame_destroy (frame);
}

void task_expect_end_within (struct task *task, int status, int ms)
{
    struct deadline patience = deadline_in_ms (ms);
    int is;
    pid_t pid;

    while ((pid = waitpid (task->pid, &is, WNOHANG)) == 0) {
        if (deadline_passed (patience))
            die ("tf-supervise does not end");
        poll (NULL, 0, 1);
    }
    if (pid < 0)
        die ("waitpid: %s", strerror (errno));
    if (is != status)
        die ("tf-supervise ended with %#x, not %#x", (unsigned int)is, (unsigned int)status);
}

void task_expect_end (struct task *task, int status)
{
    task_expect_end_within (task, status, at_once_ms ());
}

/* It leaves without a farewell that would keep a port busy for a minute. */
static void _expect_reset (struct task *task)
{
    char byte;

    if (!_wait (task->line, at_once_ms ()))
        die ("tf-supervise does not hang up");
    if (recv (task->line, &byte, 1, 0) != -1 || errno != ECONNRESET)
        die ("tf-supervise does not reset the connection");
    close (task->line);
}

void task_dismiss (struct task *task, int status)
{
    task_tell (task, "BYE");
    _expect_reset (task);
    task_expect_end (task, status);
}

void task_expect_farewell (struct task *task, const char *ended, int status)
{
    task_expect_report (task, ended);
    task_dismiss (task, status);
}

bool task_ends_unanswered (struct task *task, const char *ended, int status)
{
    siginfo_t info = { .si_pid = 0 };

    task_expect_report (task, ended);
    poll (NULL, 0, MOMENT_MS);
    waitid (P_PID, (id_t)task->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == 0)
        task_dismiss (task, status);
    else {
        _expect_reset (task);
        task_expect_end (task, status);
    }
    return info.si_pid != 0;
}

void task_expect_alive (const struct task *task)
{
    poll (NULL, 0, MOMENT_MS);
    if (waitpid (task->pid, NULL, WNOHANG) != 0)
        die ("tf-supervise has ended");
}

void task_expect_nobody (void)
{
    pid_t pid = waitpid (-1, NULL, WNOHANG);

    if (pid >= 0 || errno != ECHILD)
        die ("there was a descendant left, or is");
}

void task_expect_output (const struct task *task, const char *text)
{
    char is[1024];
    size_t used = 0, want = strlen (text);
    ssize_t n = 1;

    while (used < want && n > 0 && _wait (task->output, at_once_ms ())) {
        n = read (task->output, is + used, want - used);
        used += n > 0 ? (size_t)n : 0;
    }
    is[used] = '\0';
    if (strcmp (is, text) != 0)
        die ("the program wrote \"%s\", not \"%s\"", is, text);
}

void task_expect_silence (const struct task *task)
{
    char is[1024];
    ssize_t n;

    if (!_wait (task->output, MOMENT_MS))
        return;
    n = read (task->output, is, sizeof (is) - 1);
    is[n > 0 ? n : 0] = '\0';
    die ("the program wrote \"%s\"", is);
}

size_t task_drain (const struct task *task)
{
    static char bytes[65536];
    size_t sum = 0;
    ssize_t n;

    do {
        if (!_wait (task->output, at_once_ms ()))
            die ("somebody still has the program's output");
        n = read (task->output, bytes, sizeof (bytes));
        sum += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    return sum;
}

void task_begin_and_stop (struct task *task, const char *output)
{
    task_begin (task);
    task_expect_output (task, output);
    task_tell (task, "STOP");
}

void task_expect_stopped (struct task *task)
{
    size_t bytes = task_drain (task);

    task_expect_farewell (task, "stopped", 0);
    task_expect_nobody ();
    task_expect_said (task, "");
    if (bytes > 0)
        die ("the program wrote %zu bytes more", bytes);
}

void task_hang_up (struct task *task, bool reset)
{
    const struct linger linger = { .l_onoff = reset };

    setsockopt (task->line, SOL_SOCKET, SO_LINGER, &linger, sizeof (linger));
    close (task->line);
}

void task_expect_said (const struct task *task, const char *text)
{
    char is[4096];
    ssize_t n = pread (task->console, is, sizeof (is) - 1, 0);

    is[n > 0 ? n : 0] = '\0';
    if (strcmp (is, text) != 0)
        die ("on stderr there is \"%s\", not \"%s\"", is, text);
}

/* A file of /proc/PID, as far as it is of use; static. */
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

char task_state (pid_t pid)
{
    const char *name_end = strrchr (_proc (pid, "stat"), ')');

    return name_end ? name_end[2] : '-';
}

void task_await_state (pid_t pid, char state)
{
    struct deadline patience = deadline_in_ms (at_once_ms ());

    while (task_state (pid) != state) {
        if (deadline_passed (patience))
            die ("process %d is %c, not %c", (int)pid, task_state (pid), state);
        poll (NULL, 0, 1);
    }
}

long task_status (const struct task *task, const char *key)
{
    const char *at = strstr (_proc (task->pid, "status"), key);

    if (!at)
        die ("/proc/%d/status has no %s", (int)task->pid, key);
    return strtol (strchr (at, ':') + 1, NULL, 10);
}

/* Clock ticks of processor time. */
static long _work (const struct task *task)
{
    const char *at = strrchr (_proc (task->pid, "stat"), ')');
    long user, system;

    if (!at || sscanf (at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user,
                       &system) != 2)
        die ("/proc/%d/stat cannot be read", (int)task->pid);
    return user + system;
}

void task_expect_idle (const struct task *task)
{
    long work, sleeps;

    poll (NULL, 0, MOMENT_MS);
    work = _work (task);
    sleeps = task_status (task, "\nvoluntary_ctxt_switches");
    poll (NULL, 0, 1000);
    if (_work (task) != work || task_status (task, "\nvoluntary_ctxt_switches") != sleeps)
        die ("it woke up %ld times and worked %ld ticks while nothing happened",
             task_status (task, "\nvoluntary_ctxt_switches") - sleeps, _work (task) - work);
}

void task_expect_keepalive (const struct task *task)
{
    FILE *f = fopen ("/proc/net/tcp", "re");
    unsigned int port, state, timer;
    char text[512];
    int found = 0;

    while (f && fgets (text, sizeof (text), f))
        if (sscanf (text, " %*d: %*x:%*x %*x:%x %x %*x:%*x %x", &port, &state, &timer) == 3
            && (int)port == task->port && state == 1) {
            found++;
            if (timer != 2)
                die ("its connection has no keepalive: %u", timer);
        }
    if (f)
        fclose (f);
    if (found != 1)
        die ("it has %d connections", found);
}

bool task_is_static (const struct task *task)
{
    return !strstr (_proc (task->pid, "maps"), ".so");
}

void task_expect_descriptors (const struct task *task)
{
    static const int own[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
    char path[64], to[256];
    ssize_t n;

    for (size_t i = 0; i < sizeof (own) / sizeof (own[0]); i++) {
        snprintf (path, sizeof (path), "/proc/%d/fd/%d", (int)task->pid, own[i]);
        n = readlink (path, to, sizeof (to) - 1);
        to[n > 0 ? n : 0] = '\0';
        if (strcmp (to, "anon_inode:[signalfd]") != 0)
            die ("its descriptor %d is %s", own[i], to);
    }
    snprintf (path, sizeof (path), "/proc/%d/fd/%d", (int)task->pid, STRAY_FD);
    if (readlink (path, to, sizeof (to)) >= 0)
        die ("it keeps a descriptor that it was not to have");
}
