/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * This program plays three parts: the supervisor (the test itself), a task that it forks, and, with
 * the argument "tell", the task's program, which prints everything that it has inherited; named "bind",
 * a program that binds a port.
 */
#include "config.h"

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/descriptors.h"
#include "supervise/capture.h"

/* SIGALRM ends each task after this time. */
#define TIMEOUT_S 60
#define PORT_FD 200
#define NOBODY 65534
#define MAX_OUTPUT 65536

static char self[PATH_MAX];             /* this program's path */
static char directory[] = "/tmp/capture-XXXXXX";

/* What a test's tasks share with it. */
static struct {
    volatile int heard;
} *shared;

/* The program. */

static void tell_descriptors (void)
{
    char path[64], file[PATH_MAX];

    for (int fd = 0; fd < 1024; fd++) {
        ssize_t n;

        snprintf (path, sizeof (path), "/proc/self/fd/%d", fd);
        if ((n = readlink (path, file, sizeof (file))) >= 0)
            printf ("descriptor %d: %.*s, %s, flags %o\n", fd, (int)n, file,
                    fcntl (fd, F_GETFD) & FD_CLOEXEC ? "closed at exec" : "kept at exec",
                    fcntl (fd, F_GETFL));
    }
}

static void tell_status (void)
{
    static const char *const name[] = { "Umask", "SigIgn", "SigBlk", "TracerPid", "Cpus_allowed:",
                                        "Uid", "Cap" };
    FILE *f = fopen ("/proc/self/status", "re");
    char line[4096];

    while (fgets (line, sizeof (line), f))
        for (size_t i = 0; i < COUNT (name); i++)
            if (strncmp (line, name[i], strlen (name[i])) == 0)
                printf ("%s", line);
    fclose (f);
}

static void tell_limits (void)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;

        getrlimit ((enum __rlimit_resource)i, &limit);
        printf ("limit %d: %lld %lld\n", i, (long long)limit.rlim_cur, (long long)limit.rlim_max);
    }
}

static int tell (int argc, char *argv[])
{
    char cwd[PATH_MAX], exe[PATH_MAX] = "";
    const char *restart, *pid;
    int death = 0;

    for (int i = 0; i < argc; i++)
        printf ("argument %d: \"%s\"\n", i, argv[i]);
    for (int i = 0; environ[i]; i++)
        if (strncmp (environ[i], "SLURM_TASK_PID=", 15) != 0
            && strncmp (environ[i], "SLURM_TF_RESTART=", 17) != 0)
            printf ("variable %d: %s\n", i, environ[i]);
    printf ("cwd: %s\n", getcwd (cwd, sizeof (cwd)) ? cwd : strerror (errno));
    if (readlink ("/proc/self/exe", exe, sizeof (exe) - 1) > 0)
        printf ("exe: %s\n", exe);
    prctl (PR_GET_PDEATHSIG, &death);
    printf ("group %d, session %d, parent %d, its death: signal %d\n", getpgrp (), getsid (0),
            getppid (), death);
    tell_descriptors ();
    tell_status ();
    tell_limits ();
    /* The next life must not have it. */
    fcntl (STDIN_FILENO, F_SETFL, O_NONBLOCK);
    /* Not the same in all lives. */
    restart = getenv ("SLURM_TF_RESTART");
    pid = getenv ("SLURM_TASK_PID");
    fprintf (stderr, "%s, %s\n", restart ? restart : "first",
             !pid ? "none" : atoi (pid) == getpid () ? "own pid" : pid);
    return 7;
}

/* What a server does first. */
static int bind_port (const char *number)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons ((uint16_t)atoi (number)) };
    int server = socket (AF_INET, SOCK_STREAM, 0);

    return bind (server, (struct sockaddr *)&address, sizeof (address)) == 0 ? 0 : errno;
}

/* The supervisor. */

int __real_setrlimit (__rlimit_resource_t resource, const struct rlimit *limit);
int __wrap_setrlimit (__rlimit_resource_t resource, const struct rlimit *limit);

int __wrap_setrlimit (__rlimit_resource_t resource, const struct rlimit *limit)
{
    /* valgrind lets no process set its limit of open files. */
    return resource == RLIMIT_NOFILE && is_under_valgrind () ? 0 : __real_setrlimit (resource, limit);
}

/* The supervisor is slow when it closes this descriptor. */
static int closed_slowly = -1;

int __real_close (int number);
int __wrap_close (int number);

int __wrap_close (int number)
{
    if (number == closed_slowly)
        poll (NULL, 0, 200);
    return __real_close (number);
}

static struct {
    int in, out, err;           /* of the program */
    int read_out, read_err;
    int port;
} fd;

static void open_files (void)
{
    int pipe_end[2];

    fd.in = open ("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_return_code (pipe2 (pipe_end, O_CLOEXEC | O_NONBLOCK), errno);
    fd.read_out = pipe_end[0];
    fd.out = pipe_end[1];
    fcntl (fd.out, F_SETPIPE_SZ, MAX_OUTPUT);
    assert_return_code (pipe2 (pipe_end, O_CLOEXEC | O_NONBLOCK), errno);
    fd.read_err = pipe_end[0];
    fd.err = pipe_end[1];
    fd.port = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_return_code (fd.port, errno);
}

static int begin (void **state __attribute__ ((unused)))
{
    sigset_t all;

    open_files ();
    sigfillset (&all);
    sigprocmask (SIG_SETMASK, &all, NULL);
    return 0;
}

static int end (void **state __attribute__ ((unused)))
{
    for (int *p = &fd.in; p <= &fd.port; p++)
        close (*p);
    return 0;
}

/* All that the program has written, without the NUL; the program has ended. */
static char *output (int read_end)
{
    static char text[2][MAX_OUTPUT];
    static int which;
    char *now = text[which ^= 1];
    ssize_t n = read (read_end, now, MAX_OUTPUT - 1);

    now[n > 0 ? n : 0] = '\0';
    return now;
}

struct task {
    void (*prepare) (void);             /* runs in the task, or NULL */
    const char *path;
    const char *const *argv, *const *env;
};

static pid_t fork_task (const struct task *task)
{
    pid_t pid = fork ();

    if (pid != 0)
        return pid;
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    alarm (TIMEOUT_S);
    dup2 (fd.in, 0);
    dup2 (fd.out, 1);
    dup2 (fd.err, 2);
    dup2 (fd.port, 3);
    descriptors_close_above (3);
    dup2 (3, PORT_FD);
    close (3);
    if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) == 0)
        raise (SIGSTOP);
    if (task->prepare)
        task->prepare ();
    execve (task->path, (char *const *)(uintptr_t)task->argv, (char *const *)(uintptr_t)task->env);
    _exit (99);
}

/* Until the program runs, or cannot. */
static enum capture_step follow (struct capture **cp, pid_t pid, struct errtext *err)
{
    const int kept[] = { fd.in, fd.out, fd.err, fd.port };
    enum capture_step step = CAPTURE_NOT_YET;
    int status;

    while (step == CAPTURE_NOT_YET) {
        assert_int_equal (waitpid (pid, &status, __WALL), pid);
        assert_true (WIFSTOPPED (status));
        step = capture_follow (cp, pid, status, kept, COUNT (kept), err);
    }
    return step;
}

static int await (pid_t pid)
{
    int status;

    assert_int_equal (waitpid (pid, &status, 0), pid);
    return status;
}

static struct capture *captured (const struct task *task, pid_t *pid)
{
    struct capture *capture = NULL;
    struct errtext err = { "" };

    *pid = fork_task (task);
    if (follow (&capture, *pid, &err) != CAPTURE_DONE)
        fail_msg ("not captured: %s", err.text);
    assert_string_equal (err.text, "");
    return capture;
}

/* Every life of this task prints the same, and has the number of its restart. */
static void check_lives (const struct task *task)
{
    pid_t pid;
    struct capture *capture = captured (task, &pid);
    char first[MAX_OUTPUT];
    struct errtext err;

    assert_int_equal (await (pid), 7 << 8);
    strcpy (first, output (fd.read_out));
    assert_string_equal (output (fd.read_err), task->env[0] ? "first, 0\n" : "first, none\n");
    assert_non_null (strstr (first, "TracerPid:\t0\n"));
    for (int restart = 1; restart < 4; restart++) {
        char wanted[32];

        if ((pid = capture_restart (capture, restart, -1, &err)) < 0)
            fail_msg ("%s", err.text);
        assert_int_equal (await (pid), 7 << 8);
        assert_string_equal (output (fd.read_out), first);
        snprintf (wanted, sizeof (wanted), "%d, %s\n", restart,
                  task->env[0] ? "own pid" : "none");
        assert_string_equal (output (fd.read_err), wanted);
    }
    capture_destroy (capture);
}

/* Tasks that can be started again. */

static const char *const simple_env[] = { "A=1", "SLURM_TASK_PID=0", NULL };

TEST (every_life_has_the_same_arguments_and_environment)
{
    const char *const argv[] = { "a name of its own", "tell", "", " a  blank ", "'\"\\\n\t", "--", "",
                                 "\xff\x80", NULL };
    const char *const env[] = { "EMPTY=", "BLANK= a  b ", "no equals sign", "TWICE=1", "TWICE=2", "",
                                "LINES=1\n2\n", "SLURM_TASK_PID=0", "LAST=\xff", NULL };

    check_lives (&(struct task){ NULL, self, argv, env });
}

TEST (every_life_has_no_arguments_or_variables_if_the_first_had_none)
{
    const char *const argv[] = { self, "tell", NULL }, *const none[] = { NULL };

    check_lives (&(struct task){ NULL, self, argv, none });
}

TEST (an_environment_of_a_megabyte_is_kept)
{
    const char *const argv[] = { self, "true", NULL };
    const char *env[11] = { NULL };
    char *text = malloc (100000);
    struct errtext err;
    pid_t pid;
    struct capture *capture;

    memset (text, 'x', 99999);
    text[99999] = '\0';
    text[1] = '=';
    for (int i = 0; i < 10; i++)
        env[i] = text;
    capture = captured (&(struct task){ NULL, self, argv, env }, &pid);
    assert_int_equal (await (pid), 0);
    assert_return_code (pid = capture_restart (capture, 1, -1, &err), errno);
    assert_int_equal (await (pid), 0);
    capture_destroy (capture);
    free (text);
}

static void change_everything (void)
{
    struct rlimit files = { 777, 999 }, core = { 0, 0 }, stack = { 1 << 20, 2 << 20 };
    cpu_set_t one;
    sigset_t blocked;

    assert_int_equal (chdir (directory), 0);
    umask (027);
    setrlimit (RLIMIT_NOFILE, &files);
    setrlimit (RLIMIT_CORE, &core);
    setrlimit (RLIMIT_STACK, &stack);
    CPU_ZERO (&one);
    CPU_SET (sched_getcpu (), &one);
    sched_setaffinity (0, sizeof (one), &one);
    signal (SIGPIPE, SIG_IGN);
    signal (SIGUSR2, SIG_IGN);
    signal (SIGRTMAX, SIG_IGN);
    sigemptyset (&blocked);
    sigaddset (&blocked, SIGHUP);
    sigaddset (&blocked, SIGRTMIN);
    sigprocmask (SIG_SETMASK, &blocked, NULL);
}

TEST (every_life_has_the_same_directory_umask_limits_cpus_and_signals)
{
    const char *const argv[] = { self, "tell", NULL };

    check_lives (&(struct task){ change_everything, self, argv, simple_env });
}

static void ignore_nothing (void)
{
    sigset_t none;

    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
}

TEST (signals_that_the_supervisor_blocks_or_ignores_are_not_its_programs)
{
    const char *const argv[] = { self, "tell", NULL };

    signal (SIGUSR1, SIG_IGN);
    check_lives (&(struct task){ ignore_nothing, self, argv, simple_env });
    signal (SIGUSR1, SIG_DFL);
}

static void join_stdout_and_stdin (void)
{
    dup2 (1, 0);
}

static void close_stdin (void)
{
    close (0);
}

TEST (every_life_has_the_same_descriptors)
{
    const char *const argv[] = { self, "tell", NULL };

    check_lives (&(struct task){ join_stdout_and_stdin, self, argv, simple_env });
    check_lives (&(struct task){ close_stdin, self, argv, simple_env });
}

TEST (a_directory_that_was_renamed_is_still_the_directory)
{
    const char *const argv[] = { self, "tell", NULL };
    char renamed[PATH_MAX];
    struct errtext err;
    pid_t pid;
    struct capture *capture = captured (&(struct task){ change_everything, self, argv, simple_env },
                                        &pid);

    await (pid);
    output (fd.read_out);
    snprintf (renamed, sizeof (renamed), "%s-renamed", directory);
    assert_int_equal (rename (directory, renamed), 0);
    pid = capture_restart (capture, 1, -1, &err);
    assert_int_equal (rename (renamed, directory), 0);
    assert_return_code (pid, errno);
    assert_int_equal (await (pid), 7 << 8);
    assert_non_null (strstr (output (fd.read_out), directory));
    capture_destroy (capture);
}

/* Write a file of the test's directory; its path lives until the next call. */
static const char *make_file (const char *name, mode_t mode, const char *text)
{
    static char path[PATH_MAX];
    int file;

    snprintf (path, sizeof (path), "%s/%s", directory, name);
    file = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_return_code (file, errno);
    assert_return_code (write (file, text, strlen (text)), errno);
    close (file);
    assert_int_equal (chmod (path, mode), 0);
    return path;
}

static const char *copy_self (const char *name, mode_t mode)
{
    const char *path = make_file (name, 0700, "");
    int from = open (self, O_RDONLY | O_CLOEXEC), to = open (path, O_WRONLY | O_CLOEXEC);
    char bytes[65536];

    for (ssize_t n; (n = read (from, bytes, sizeof (bytes))) > 0;)
        assert_int_equal (write (to, bytes, (size_t)n), n);
    close (from);
    close (to);
    assert_int_equal (chmod (path, mode), 0);
    return path;
}

TEST (a_script_is_started_again_with_its_interpreter_and_arguments)
{
    char text[PATH_MAX + 16];
    const char *path;

    snprintf (text, sizeof (text), "#!%s tell\n", self);
    path = make_file ("a script", 0755, text);
    check_lives (&(struct task){ NULL, path, (const char *const[]){ "ignored", "", "a b", NULL },
                                 simple_env });
}

/* The first exec counts, not what the program execs at once. */
TEST (the_program_is_the_first_one_however_fast_it_execs_another)
{
    const char *const argv[] = { "sh", "-c", "echo $SLURM_TF_RESTART; exec true", NULL };

    for (int i = 0; i < (is_under_valgrind () ? 5 : 200); i++) {
        struct errtext err;
        pid_t pid;
        struct capture *capture = captured (&(struct task){ NULL, "/bin/sh", argv, simple_env }, &pid);

        assert_int_equal (await (pid), 0);
        assert_string_equal (output (fd.read_out), "\n");
        assert_return_code (pid = capture_restart (capture, 5, -1, &err), errno);
        assert_int_equal (await (pid), 0);
        assert_string_equal (output (fd.read_out), "5\n");
        capture_destroy (capture);
    }
}

TEST (the_program_can_bind_its_port_at_once)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof (address);
    char number[16];
    const char *const argv[] = { "bind", number, NULL };
    struct errtext err;
    struct capture *capture;
    pid_t pid;
    int port = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_return_code (bind (port, (struct sockaddr *)&address, size), errno);
    assert_return_code (getsockname (port, (struct sockaddr *)&address, &size), errno);
    snprintf (number, sizeof (number), "%d", ntohs (address.sin_port));
    capture = captured (&(struct task){ NULL, self, argv, simple_env }, &pid);
    assert_int_equal (await (pid), EADDRINUSE << 8);
    closed_slowly = port;
    assert_return_code (pid = capture_restart (capture, 1, port, &err), errno);
    closed_slowly = -1;
    assert_int_equal (await (pid), 0);
    capture_destroy (capture);
}

static void hear (int number)
{
    (void)number;
    shared->heard++;
}

static void get_signals (void)
{
    ignore_nothing ();
    signal (SIGUSR1, hear);
    signal (SIGTRAP, hear);
    for (int i = 0; i < 10; i++)
        raise (i % 2 ? SIGUSR1 : SIGTRAP);
}

TEST (signals_before_the_exec_arrive)
{
    const char *const argv[] = { self, "true", NULL };
    struct task task = { get_signals, self, argv, simple_env };
    struct errtext err;
    struct capture *capture = NULL;
    pid_t pid = fork_task (&task);

    shared->heard = 0;
    assert_int_equal (follow (&capture, pid, &err), CAPTURE_DONE);
    assert_int_equal (await (pid), 0);
    assert_int_equal (shared->heard, 10);
    capture_destroy (capture);
}

/* Tasks that cannot be started again. */

static void check_cannot (const struct task *task, enum capture_step wanted, const char *why)
{
    struct errtext err = { "" };
    struct capture *capture = NULL;
    pid_t pid = fork_task (task);
    enum capture_step step = follow (&capture, pid, &err);

    if (step != wanted || !strstr (err.text, why))
        fail_msg ("%d instead of %d: %s", step, wanted, err.text);
    assert_null (capture);
    assert_true (is_line (err.text));
    if (wanted == CAPTURE_CANNOT)
        kill (pid, SIGCONT);
    assert_int_equal (await (pid), wanted == CAPTURE_CANNOT ? 0 : SIGKILL);
    assert_string_equal (output (fd.read_out), "");
}

static void check_self (void (*prepare) (void), const char *path, enum capture_step wanted,
                        const char *why)
{
    const char *const argv[] = { self, "true", NULL };

    check_cannot (&(struct task){ prepare, path, argv, simple_env }, wanted, why);
}

TEST (a_setuid_or_setgid_program_is_refused)
{
    check_self (NULL, copy_self ("setuid", 04755), CAPTURE_REFUSED, "setuid or setgid");
    check_self (NULL, copy_self ("setgid", 02755), CAPTURE_REFUSED, "setuid or setgid");
}

TEST (a_program_with_capabilities_is_refused)
{
    const uint32_t cap_net_raw[] = { 0x02000001, 1 << 13, 0, 0, 0 };
    const char *path = copy_self ("capable", 0755);

    if (setxattr (path, "security.capability", cap_net_raw, sizeof (cap_net_raw), 0) < 0)
        SKIP ("this user or file system cannot have file capabilities");
    check_self (NULL, path, CAPTURE_REFUSED, "capabilities");
}

static void open_another (void)
{
    dup2 (open ("/dev/zero", O_RDONLY), 77);
}

TEST (a_program_with_another_descriptor_cannot_be_started_again)
{
    check_self (open_another, self, CAPTURE_CANNOT, "a file of its own, descriptor ");
}

static void lose_rights (void)
{
    prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

TEST (a_program_with_other_rights_cannot_be_started_again)
{
    check_self (lose_rights, self, CAPTURE_CANNOT, "(NoNewPrivs)");
}

static void enter_namespace (void)
{
    if (unshare (CLONE_NEWUTS) < 0)
        _exit (98);
}

static void enter_root (void)
{
    if (chroot ("/usr") < 0)
        _exit (98);
}

TEST (a_program_in_a_container_cannot_be_started_again)
{
    if (geteuid () != 0)
        SKIP ("needs root");
    check_self (enter_namespace, self, CAPTURE_CANNOT, "in a container (ns/uts)");
    check_cannot (&(struct task){ enter_root, "/bin/true", (const char *const[]){ "true", NULL },
                                  simple_env },
                  CAPTURE_CANNOT, "in a container (root)");
}

static void stop_itself (void)
{
    /* As another process would: a stop by the task itself is the beginning. */
    if (fork () == 0) {
        kill (getppid (), SIGSTOP);
        _exit (0);
    }
    wait (NULL);
}

TEST (a_task_that_is_stopped_before_it_starts_stays_stopped)
{
    const char *const argv[] = { self, "true", NULL };
    struct task task = { stop_itself, self, argv, simple_env };
    struct errtext err = { "" };
    struct capture *capture = NULL;
    pid_t pid = fork_task (&task);
    int status;

    assert_int_equal (follow (&capture, pid, &err), CAPTURE_CANNOT);
    assert_string_equal (err.text, "it was stopped before it started");
    assert_int_equal (waitpid (pid, &status, WUNTRACED), pid);
    assert_true (WIFSTOPPED (status));
    kill (pid, SIGCONT);
    assert_int_equal (await (pid), 0);
}

/* The same as another user. */
static int run_as_nobody (const char *path)
{
    const char *const argv[] = { "true", "true", NULL };
    struct task task = { NULL, path, argv, simple_env };
    struct errtext err = { "" };
    struct capture *capture = NULL;
    pid_t pid;

    if (setresuid (NOBODY, NOBODY, NOBODY) < 0)
        return 1;
    pid = fork_task (&task);
    if (follow (&capture, pid, &err) != CAPTURE_REFUSED
        || strcmp (err.text, "its program is not readable, and may be setuid, which a restart cannot "
                   "preserve") != 0)
        return 2;
    return await (pid) == SIGKILL ? 0 : 3;
}

TEST (a_program_that_its_user_cannot_read_is_refused)
{
    const char *path;
    pid_t pid;

    if (geteuid () != 0)
        SKIP ("needs root");
    if (is_under_valgrind ())
        SKIP ("valgrind executes no program that it cannot read");
    chmod (directory, 0755);
    path = copy_self ("unreadable", 0111);
    if ((pid = fork ()) == 0)
        _exit (run_as_nobody (path));
    assert_int_equal (await (pid), 0);
}

TEST (a_program_that_has_gone_is_an_error_and_leaves_no_process)
{
    const char *const argv[] = { "gone", "true", NULL };
    const char *path = copy_self ("gone", 0755);
    struct errtext err = { "" };
    pid_t pid;
    struct capture *capture = captured (&(struct task){ NULL, path, argv, simple_env }, &pid);

    assert_int_equal (await (pid), 0);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (capture_restart (capture, 1, -1, &err), -1);
    assert_non_null (strstr (err.text, "/gone: No such file or directory"));
    assert_int_equal (waitpid (-1, NULL, 0), -1);
    assert_int_equal (errno, ECHILD);
    capture_destroy (capture);
}

TEST (destroying_null_is_allowed_and_keeps_errno)
{
    errno = EBADMSG;
    capture_destroy (NULL);
    assert_int_equal (errno, EBADMSG);
}

#define CAPTURE_TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

static int run_all (void)
{
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST (every_life_has_the_same_arguments_and_environment),
        CAPTURE_TEST (every_life_has_no_arguments_or_variables_if_the_first_had_none),
        CAPTURE_TEST (an_environment_of_a_megabyte_is_kept),
        CAPTURE_TEST (every_life_has_the_same_directory_umask_limits_cpus_and_signals),
        CAPTURE_TEST (signals_that_the_supervisor_blocks_or_ignores_are_not_its_programs),
        CAPTURE_TEST (every_life_has_the_same_descriptors),
        CAPTURE_TEST (a_directory_that_was_renamed_is_still_the_directory),
        CAPTURE_TEST (a_script_is_started_again_with_its_interpreter_and_arguments),
        CAPTURE_TEST (the_program_is_the_first_one_however_fast_it_execs_another),
        CAPTURE_TEST (the_program_can_bind_its_port_at_once),
        CAPTURE_TEST (signals_before_the_exec_arrive),
        CAPTURE_TEST (a_setuid_or_setgid_program_is_refused),
        CAPTURE_TEST (a_program_with_capabilities_is_refused),
        CAPTURE_TEST (a_program_with_another_descriptor_cannot_be_started_again),
        CAPTURE_TEST (a_program_with_other_rights_cannot_be_started_again),
        CAPTURE_TEST (a_program_in_a_container_cannot_be_started_again),
        CAPTURE_TEST (a_task_that_is_stopped_before_it_starts_stays_stopped),
        CAPTURE_TEST (a_program_that_its_user_cannot_read_is_refused),
        CAPTURE_TEST (a_program_that_has_gone_is_an_error_and_leaves_no_process),
        CAPTURE_TEST (destroying_null_is_allowed_and_keeps_errno),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}

static void remove_directory (void)
{
    static const char *const name[] = { "a script", "setuid", "setgid", "capable", "unreadable",
                                        "gone" };

    for (size_t i = 0; i < COUNT (name); i++) {
        char path[PATH_MAX];

        snprintf (path, sizeof (path), "%s/%s", directory, name[i]);
        unlink (path);
    }
    rmdir (directory);
}

int main (int argc, char *argv[])
{
    int failed;

    if (argc > 1 && strcmp (argv[1], "true") == 0)
        return 0;
    if (argc > 1 && strcmp (argv[0], "bind") == 0)
        return bind_port (argv[1]);
    if (argc > 1)
        return tell (argc, argv);
    if (readlink ("/proc/self/exe", self, sizeof (self) - 1) < 0 || !mkdtemp (directory))
        return 1;
    descriptors_close_above (STDERR_FILENO);
    shared = mmap (NULL, sizeof (*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    failed = run_all ();
    remove_directory ();
    return failed;
}
