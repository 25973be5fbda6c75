/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "simulation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/address.h"
#include "common/deadline.h"
#include "common/frameworks.h"
#include "common/port.h"
#include "protocol/answer.h"
#include "protocol/rendezvous_config.h"
#include "reports.h"

#define CHECK_S 300             /* a test that takes longer hangs, also with sanitizers on a busy machine */
#define START_MS 60000          /* enough under valgrind on a busy machine */
#define RENDEZVOUS_VARIABLE "SPANK_TF_RENDEZVOUS"
#define SKIPPED 77              /* exit code of a skipped test, as automake has it */

void die (const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    printf ("# ");
    vprintf (fmt, ap);
    printf ("\n");
    va_end (ap);
    exit (1);
}

int64_t now_us (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C (1000000) + now.tv_nsec / 1000;
}

void raise_file_limit (int needed)
{
    struct rlimit limit;

    if (getrlimit (RLIMIT_NOFILE, &limit) < 0)
        die ("getrlimit: %s", strerror (errno));
    limit.rlim_cur = limit.rlim_max;
    setrlimit (RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < (rlim_t)needed)
        skip ("the limit on open files, `ulimit -Hn`, is too low");
}

bool program_is_wrapped (const char *variable)
{
    const char *program = getenv (variable);

    return program && strchr (program, ' ');
}

noreturn void program_execute (const char *variable, const char *built)
{
    const char *program = getenv (variable);
    char *text = strdup (program ? program : built), *word[32] = { NULL };

    for (int i = 0; i < 31 && (word[i] = strtok (i ? NULL : text, " ")); i++)
        ;
    if (word[0])
        execvp (word[0], word);
    _exit (127);
}

bool rendezvous_is_wrapped (void)
{
    return program_is_wrapped (RENDEZVOUS_VARIABLE);
}

bool rendezvous_is_instrumented (void)
{
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return rendezvous_is_wrapped ();
}

static int _reaction_ms (void)
{
    return rendezvous_is_instrumented () ? 10 * REACTION_MS : REACTION_MS;
}

/* srun's side. */

struct frame *launch_encode_config (const struct launch *launch)
{
    const struct rendezvous_config config = {
        .token = launch->contact.token,
        .server_token = launch->contact.server_token,
        .step = "12.0",
        .lists = 1,
        .list = { { .text = "ps,worker:rest" } },
        .timeout = launch->timeout ? launch->timeout : 300,
        .stop = launch->stops ? STOP_WHEN_AUTO : STOP_WHEN_NEVER,
        .show = launch->show,
        .watch = { .seconds = launch->watchdog, .first = launch->watchdog },
        .stop_grace = 30,
        .eval_grace = 60,
        .fail_grace = 60,
        .frameworks = FRAMEWORKS_AUTO,
        .nccl = true,
    };
    struct frame *frame = fields_frame (&rendezvous_config_fields, &config);

    if (!frame)
        die ("no memory");
    return frame;
}

static noreturn void _become_rendezvous (const struct launch *launch, int control, int listener)
{
    struct rlimit limit = { .rlim_max = (rlim_t)launch->file_limit };
    int null = open ("/dev/null", O_RDWR | O_CLOEXEC);

    /* In case the test fails. */
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    dup2 (null, 0);
    dup2 (null, 1);
    dup2 (launch->stderr_fd, 2);
    /* First to high numbers, so that dup2 () does not close one of the two. */
    control = fcntl (control, F_DUPFD_CLOEXEC, 10);
    listener = fcntl (listener, F_DUPFD_CLOEXEC, 10);
    dup2 (control, 3);
    dup2 (listener, 4);
    limit.rlim_cur = limit.rlim_max < 1024 ? limit.rlim_max : 1024;
    if (launch->file_limit && setrlimit (RLIMIT_NOFILE, &limit) < 0)
        _exit (126);
    program_execute (RENDEZVOUS_VARIABLE, TF_RENDEZVOUS);
}

void launch_start_unconfigured (struct launch *launch)
{
    const struct port_ranges any = { 0 };
    struct port *port;
    struct errtext err;
    int pair[2], listener;

    if (contact_make_tokens (&launch->contact, &err) < 0
        || port_reserve (&port, &any, 0, PORT_FOR_A_SERVER, &err) < 0
        || (listener = port_listen_on (port->number, &err)) < 0)
        die ("%s", err.text);
    launch->contact.port = port->number;
    port_release (port);
    if (launch->socket_buffer
        && setsockopt (listener, SOL_SOCKET, SO_SNDBUF, &launch->socket_buffer, sizeof (int)) < 0)
        die ("SO_SNDBUF: %s", strerror (errno));
    if (launch->stderr_fd == 0 && (launch->stderr_fd = memfd_create ("stderr", MFD_CLOEXEC)) < 0)
        die ("memfd_create: %s", strerror (errno));
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        die ("socketpair: %s", strerror (errno));
    fflush (stdout);
    if ((launch->pid = fork ()) < 0)
        die ("fork: %s", strerror (errno));
    if (launch->pid == 0)
        _become_rendezvous (launch, pair[1], listener);
    close (pair[1]);
    close (listener);
    launch->srun = pair[0];
}

void launch_start (struct launch *launch)
{
    launch_start_unconfigured (launch);
    if (!send_frame (launch->srun, launch_encode_config (launch)))
        die ("tf-rendezvous did not start");
    launch_wait_processed (launch);
}

void launch_end_srun (struct launch *launch)
{
    close (launch->srun);
    launch->srun = -1;
}

void launch_expect_exit (struct launch *launch)
{
    struct deadline deadline = deadline_in_ms (_reaction_ms ());
    pid_t pid;
    int status;

    if (launch->show && launch->srun >= 0)
        launch_end_srun (launch);
    while ((pid = wait4 (launch->pid, &status, WNOHANG, &launch->usage)) == 0) {
        if (deadline_passed (deadline))
            die ("tf-rendezvous does not exit");
        poll (NULL, 0, 1);
    }
    if (pid < 0)
        die ("wait4: %s", strerror (errno));
    if (WIFSIGNALED (status))
        die ("signal %d ended tf-rendezvous: %s", WTERMSIG (status), stderr_text (launch));
    if (WEXITSTATUS (status) != 0)
        die ("tf-rendezvous exited with %d: %s", WEXITSTATUS (status), stderr_text (launch));
    if (launch->srun >= 0)
        launch_end_srun (launch);
}

const char *stderr_text (const struct launch *launch)
{
    static char text[65536];
    ssize_t n = pread (launch->stderr_fd, text, sizeof (text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

void expect_stderr (const struct launch *launch, const char *text)
{
    char *rest, *all = strdup (stderr_text (launch)), others[4096] = "";
    bool waits = strstr (text, ": waiting for ");

    for (char *line = strtok_r (all, "\n", &rest); line; line = strtok_r (NULL, "\n", &rest))
        if (waits || (!strstr (line, ": waiting for ") && !strstr (line, ": no task has registered yet")))
            snprintf (others + strlen (others), sizeof (others) - strlen (others), "%s\n", line);
    free (all);
    if (strcmp (others, text) != 0)
        die ("tf-rendezvous printed \"%s\", not \"%s\"", others, text);
}

/* The ranks' side. */

void simulate_rank (const struct launch *launch, int number, struct simulated *rank)
{
    int node = number / 2, nodes = (launch->tasks + 1) / 2;

    memset (rank, 0, sizeof (*rank));
    snprintf (rank->node, sizeof (rank->node), "n%d", node);
    rank->rank = (struct registration){
        .rank = number,
        .tasks = launch->tasks,
        .component_tasks = launch->tasks,
        .node_index = node,
        .node = rank->node,
        .step = "12.0",
        .address = { .family = AF_INET,
                     .bytes = { 10, 200, (unsigned char)(100 + node / 256), (unsigned char)(node % 256) } },
        .port = (number < launch->short_ports ? 4000 : 40000) + number % 2,
    };
    snprintf (rank->rank.host.id, sizeof (rank->rank.host.id), "host/%d", node);
    if (number % 2)
        return;
    snprintf (rank->step_nodes, sizeof (rank->step_nodes), "n[0-%d]", nodes - 1);
    snprintf (rank->step_node_tasks, sizeof (rank->step_node_tasks), "2(x%d)%s", launch->tasks / 2,
              launch->tasks % 2 ? ",1" : "");
    rank->rank.step_nodes = rank->step_nodes;
    rank->rank.step_node_tasks = rank->step_node_tasks;
}

struct frame *encode_registration (const struct launch *launch, int number)
{
    struct simulated rank;
    struct frame *frame;

    simulate_rank (launch, number, &rank);
    if (!(frame = registration_encode (&rank.rank, launch->contact.token)))
        die ("no memory");
    return frame;
}

static socklen_t _loopback (int port, struct sockaddr_storage *ss)
{
    struct address loopback;

    address_parse (&loopback, "127.0.0.1");
    return address_sockaddr (&loopback, port, ss);
}

int connect_to_rendezvous (const struct launch *launch)
{
    struct sockaddr_storage ss;
    socklen_t len = _loopback (launch->contact.port, &ss);
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && launch->socket_buffer)
        setsockopt (fd, SOL_SOCKET, SO_RCVBUF, &launch->socket_buffer, sizeof (int));
    if (fd < 0 || connect (fd, (struct sockaddr *)&ss, len) < 0 || fcntl (fd, F_SETFL, O_NONBLOCK) < 0)
        die ("cannot connect to the rendezvous: %s", strerror (errno));
    return fd;
}

static bool _wait (int fd, short events, struct deadline deadline)
{
    struct pollfd pfd = { .fd = fd, .events = events };

    return poll (&pfd, 1, deadline_left_ms (deadline)) == 1;
}

bool send_all (int fd, const void *bytes, size_t length)
{
    struct deadline deadline = deadline_in_ms (_reaction_ms ());
    const char *p = bytes;

    while (length > 0) {
        ssize_t n = send (fd, p, length, MSG_NOSIGNAL);

        if (n < 0 && (errno != EAGAIN || !_wait (fd, POLLOUT, deadline)))
            return false;
        p += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool send_frame (int fd, struct frame *frame)
{
    size_t length;
    const void *bytes = frame_bytes (frame, 0, &length);
    bool sent = bytes && send_all (fd, bytes, length);

    frame_destroy (frame);
    return sent;
}

int register_rank (const struct launch *launch, int number)
{
    int fd = connect_to_rendezvous (launch);

    if (!send_frame (fd, encode_registration (launch, number)))
        die ("rank %d cannot send its registration", number);
    return fd;
}

void register_all (const struct launch *launch, int rank[])
{
    for (int i = 0; i < launch->tasks; i++)
        rank[i] = register_rank (launch, i);
}

struct frame *receive_frame (int fd, int ms)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_ANSWER };
    struct deadline deadline = deadline_in_ms (ms);
    struct frame *frame = NULL;
    struct errtext err;

    while (_wait (fd, POLLIN, deadline) && frame_read (&reader, fd, &frame, &err) == 0)
        ;
    frame_reader_clear (&reader);
    return frame;
}

void launch_wait_processed (const struct launch *launch)
{
    struct pollfd pfd = { .fd = connect_to_rendezvous (launch), .events = POLLIN };

    /* The rendezvous closes a connection that does not begin with a frame's header. */
    send_all (pfd.fd, "not a header", FRAME_HEADER);
    if (poll (&pfd, 1, START_MS) != 1)
        die ("tf-rendezvous does not close a connection that sends garbage");
    close (pfd.fd);
}

/* The cluster that every rank must get, built from the manual, not with code of util/. */
static char *_cluster (const struct launch *launch)
{
    size_t size = (size_t)launch->tasks * sizeof ("\"10.255.255.255:65535\",") + 64, used = 0;
    char *text = malloc (size);

    if (!text)
        die ("no memory");
    for (int i = 0; i < launch->tasks; i++) {
        int node = i / 2;

        used +=
            (size_t)snprintf (text + used, size - used, "%s\"10.200.%d.%d:%d\"",
                              i == 0   ? "{\"ps\":["
                              : i == 1 ? "],\"worker\":["
                                       : ",",
                              100 + node / 256, node % 256, (i < launch->short_ports ? 4000 : 40000) + i % 2);
    }
    snprintf (text + used, size - used, "]}");
    return text;
}

size_t longest_tf_config (const struct launch *launch)
{
    char *cluster = _cluster (launch), *text;
    int length = asprintf (&text, "{\"cluster\":%s,\"task\":{\"type\":\"worker\",\"index\":%d}}", cluster,
                           launch->tasks - 2);

    if (length < 0)
        die ("no memory");
    free (cluster);
    free (text);
    return (size_t)length;
}

static void _expect_string (const struct frame *answer, int number, const char *key, const char *value)
{
    const char *found = frame_get (answer, key);

    if (!found || strcmp (found, value) != 0)
        die ("rank %d got %s=%.300s, not %.300s", number, key, found ? found : "(nothing)", value);
}

void check_answer (const struct launch *launch, int number, const struct frame *answer)
{
    static char *cluster;
    struct simulated rank;
    struct address_text room;
    struct answer decoded;
    struct errtext err;
    char task[64], text[16];
    const char *role = number ? "worker" : "ps", *config;
    int index = number ? number - 1 : 0;
    size_t head = sizeof ("{\"cluster\":") - 1, length;

    if (!cluster)
        cluster = _cluster (launch);
    length = strlen (cluster);
    if (answer_decode (&decoded, answer, launch->contact.server_token, &err) < 0)
        die ("rank %d: %s", number, err.text);
    if (decoded.refused)
        die ("rank %d was refused", number);
    simulate_rank (launch, number, &rank);
    _expect_string (answer, number, "SLURM_TF_ROLE", role);
    _expect_string (answer, number, "SLURM_TF_ADDRESS", address_print (&rank.rank.address, &room));
    snprintf (text, sizeof (text), "%d", index);
    _expect_string (answer, number, "SLURM_TF_INDEX", text);
    snprintf (text, sizeof (text), "%d", rank.rank.port);
    _expect_string (answer, number, "SLURM_TF_PORT", text);
    snprintf (task, sizeof (task), ",\"task\":{\"type\":\"%s\",\"index\":%d}}", role, index);
    config = frame_get (answer, "TF_CONFIG");
    if (!config || strlen (config) != head + length + strlen (task)
        || memcmp (config, "{\"cluster\":", head) != 0 || memcmp (config + head, cluster, length) != 0
        || strcmp (config + head + length, task) != 0)
        die ("rank %d got TF_CONFIG=%.300s, not {\"cluster\":%.300s%s", number, config ? config : "(nothing)",
             cluster, task);
}

/*
 * The rank acknowledges its answer. If it is supervised, its task ends now instead, and its
 * supervisor reports that.
 */
static void _reply (const struct launch *launch, int fd, const struct frame *frame)
{
    const struct status success = status_of_end ("exit 0");
    struct answer answer;
    struct errtext err;

    if (answer_decode (&answer, frame, launch->contact.server_token, &err) == 0
        && !send_frame (fd, answer.supervised ? fields_frame (&status_fields, &success)
                                              : acknowledgement_encode ()))
        die ("a rank cannot reply to its answer");
}

void expect_answer (const struct launch *launch, int number, int fd)
{
    struct frame *answer = receive_frame (fd, _reaction_ms ());

    if (!answer)
        die ("rank %d got no answer: %s", number, stderr_text (launch));
    check_answer (launch, number, answer);
    _reply (launch, fd, answer);
    frame_destroy (answer);
    /* Children of this process may have copies of the descriptor. */
    shutdown (fd, SHUT_RDWR);
    close (fd);
}

void expect_launched (struct launch *launch, const int rank[])
{
    for (int i = 0; i < launch->tasks; i++)
        expect_answer (launch, i, rank[i]);
    launch_expect_exit (launch);
}

void check_refusal (const struct launch *launch, const struct frame *frame)
{
    struct answer answer;
    struct errtext err;

    if (answer_decode (&answer, frame, launch->contact.server_token, &err) < 0)
        die ("a refusal is not valid: %s", err.text);
    if (!answer.refused || frame_get (frame, "TF_CONFIG"))
        die ("a rank was not refused");
}

void expect_refusal (const struct launch *launch, int fd)
{
    struct frame *frame = receive_frame (fd, _reaction_ms ());

    if (!frame)
        die ("a rank got no answer instead of a refusal");
    check_refusal (launch, frame);
    frame_destroy (frame);
    close (fd);
}

/* How many bytes come until the other end closes the connection. Closes this end too. */
static size_t _read_to_end (int fd)
{
    struct deadline deadline = deadline_in_ms (_reaction_ms ());
    static char bytes[65536];
    size_t sum = 0;
    ssize_t n;

    for (;;) {
        if (!_wait (fd, POLLIN, deadline))
            die ("a connection is still open");
        n = recv (fd, bytes, sizeof (bytes), 0);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            break;
        sum += n > 0 ? (size_t)n : 0;
    }
    close (fd);
    return sum;
}

void expect_no_data (int fd)
{
    size_t bytes = _read_to_end (fd);

    if (bytes > 0)
        die ("a connection got %zu bytes before it was closed, and should get none", bytes);
}

void expect_incomplete_answer (int fd)
{
    struct frame *answer = receive_frame (fd, _reaction_ms ());

    if (answer)
        die ("an answer is complete that should not be");
    close (fd);
}

/* All ranks at once. */

/*
 * The kernel may reset connections beyond a listener's backlog (net.core.somaxconn), and the
 * rendezvous may close some that have not sent anything yet. Ranks connect again then.
 */
#define MAX_ATTEMPTS 200

struct member {
    int port;
    struct frame *registration;
    int fd;
    int attempts;
    const char *bytes;          /* of its registration, those that are not sent yet */
    size_t left;
    struct frame_reader reader;
};

static void _send_rest (struct member *member)
{
    ssize_t n = send (member->fd, member->bytes, member->left, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN)
        die ("a rank cannot send its registration: %s", strerror (errno));
    if (n > 0) {
        member->bytes += n;
        member->left -= (size_t)n;
    }
}

static void _watch (int epoll, struct member *member, int op)
{
    struct epoll_event event = { .events = member->left ? EPOLLOUT : EPOLLIN, .data.ptr = member };

    if (epoll_ctl (epoll, op, member->fd, &event) < 0)
        die ("epoll_ctl: %s", strerror (errno));
}

static void _connect_member (int epoll, struct member *member)
{
    struct sockaddr_storage ss;
    socklen_t len = _loopback (member->port, &ss);

    member->attempts++;
    member->reader.ceiling = FRAME_MAX_ANSWER;
    member->bytes = frame_bytes (member->registration, 0, &member->left);
    member->fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (member->fd < 0 || (connect (member->fd, (struct sockaddr *)&ss, len) < 0 && errno != EINPROGRESS))
        die ("a rank cannot connect: %s", strerror (errno));
    _send_rest (member);
    _watch (epoll, member, EPOLL_CTL_ADD);
}

/* The member's socket is ready. True if it has its answer now. */
static bool _serve_member (int epoll, struct member *member, int number, answer_callback *on_answer,
                           void *arg)
{
    struct frame *answer;
    struct errtext err;
    int n;

    if (member->left) {
        _send_rest (member);
        _watch (epoll, member, EPOLL_CTL_MOD);
        return false;
    }
    n = frame_read (&member->reader, member->fd, &answer, &err);
    if (n < 0 && member->attempts == MAX_ATTEMPTS)
        die ("rank %d: %s", number, err.text);
    if (n < 0) {
        close (member->fd);
        frame_reader_clear (&member->reader);
        poll (NULL, 0, 1);
        _connect_member (epoll, member);
    }
    if (n <= 0)
        return false;
    if (!send_frame (member->fd, acknowledgement_encode ()))
        die ("rank %d cannot acknowledge its answer", number);
    close (member->fd);
    on_answer (arg, number, answer);
    frame_destroy (answer);
    return true;
}

void register_ranks (int port, struct frame *const *registration, int ranks, answer_callback *on_answer,
                     void *arg)
{
    struct member *member = calloc ((size_t)ranks, sizeof (*member));
    int epoll = epoll_create1 (EPOLL_CLOEXEC), left = ranks;
    struct epoll_event event[64];

    if (!member || epoll < 0)
        die ("cannot play %d ranks: %s", ranks, strerror (errno));
    for (int i = 0; i < ranks; i++) {
        member[i].port = port;
        member[i].registration = registration[i];
        _connect_member (epoll, &member[i]);
    }
    while (left > 0) {
        int n = epoll_wait (epoll, event, 64, -1);

        for (int i = 0; i < n; i++) {
            struct member *m = event[i].data.ptr;

            left -= _serve_member (epoll, m, (int)(m - member), on_answer, arg);
        }
    }
    close (epoll);
    free (member);
}

/* Tests. */

void skip (const char *reason)
{
    printf ("# %s\n", reason);
    exit (SKIPPED);
}

static struct test {
    const char *sentence;
    bool slow;
    void (*function) (const void *arg);
    const void *arg;
} tests[64];
static size_t test_count;

void add_test (const char *sentence, bool slow, void (*function) (const void *arg), const void *arg)
{
    if (test_count == COUNT (tests))
        abort ();
    tests[test_count++] = (struct test){ sentence, slow, function, arg };
}

static bool _passes (const struct test *test)
{
    int64_t begin = now_us ();
    int status;
    pid_t pid;

    fflush (stdout);
    if ((pid = fork ()) == 0) {
        alarm (CHECK_S);
        test->function (test->arg);
        exit (0);
    }
    if (pid < 0 || waitpid (pid, &status, 0) < 0)
        die ("fork: %s", strerror (errno));
    if (WIFEXITED (status) && WEXITSTATUS (status) == SKIPPED) {
        printf ("skipped - %s\n", test->sentence);
        return true;
    }
    if (WIFSIGNALED (status))
        printf ("# the test was ended by signal %d\n", WTERMSIG (status));
    printf ("%s - %s (%.1f s)\n", status == 0 ? "ok" : "not ok", test->sentence,
            (double)(now_us () - begin) / 1e6);
    fflush (stdout);
    return status == 0;
}

bool run_tests (void)
{
    pid_t slow[COUNT (tests)];
    bool passed = true;
    int status;

    fflush (stdout);
    for (size_t i = 0; i < test_count; i++)
        if (tests[i].slow && (slow[i] = fork ()) == 0)
            exit (_passes (&tests[i]) ? 0 : 1);
    for (size_t i = 0; i < test_count; i++)
        if (!tests[i].slow)
            passed &= _passes (&tests[i]);
    for (size_t i = 0; i < test_count; i++)
        if (tests[i].slow)
            passed &= waitpid (slow[i], &status, 0) == slow[i] && status == 0;
    return passed;
}

int __attribute__ ((weak)) main (void)
{
    return run_tests () ? 0 : 1;
}

pid_t repeat_in_background (void (*function) (const struct launch *launch), const struct launch *launch)
{
    pid_t parent = getpid (), pid;

    fflush (stdout);
    if ((pid = fork ()) != 0)
        return pid;
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    /* Its calls may fail and print that, because the launch ends before it does. */
    stdout = freopen ("/dev/null", "w", stdout);
    close (launch->srun);
    while (getppid () == parent)
        function (launch);
    _exit (0);
}
