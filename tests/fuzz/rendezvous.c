/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All of tf-rendezvous, with peers that send anything at any time. tests/sim proves what is decided, and
 * tests/fault what a launch answers. Here no bytes, in no order, may crash the program, keep it busy without
 * end, leak a descriptor, allocate what they cannot justify, or print a line that is not the program's.
 * The first line of the input is srun's configuration and the number of tasks:
 *
 *     TASKS LIST STOP FLAGS TIMEOUT       3 ps,worker:rest auto s 60
 *
 * LIST may be several lists with "/" between them, one for each component. FLAGS: p they are per
 * node; s --tf-show, j --tf-show=json; i --tf-ib=auto, I require; n --tf-network, N from the user
 * and not the site; r there are two InfiniBand networks; u one is down on all nodes but the first;
 * d a debugger; R --tf-restart=3,any, and reports say which life has ended; L the same with lost_after=5, so
 * that LIST can have spares; - none of these.
 *
 * What follows are events, each a letter and, for most, the digit of a connection. Connection C is
 * that of rank C modulo TASKS; a message connects first if it has to.
 *
 *     cC connect       rC register              ha  of the next message, send only half
 *     dC close         eC register an error     gC  send the other half
 *     qC do not read   vC of another version    mTEXT  the next message begins with this string
 *     QC read again    wC with a wrong token        (up to the end of the line)
 *     t  sleep until something is due           nC  reconnect
 *     T  one second passes                      NC  reconnect with an exit report
 *     k  sockets take few bytes, or again all   pC  report exit 0   PC exit 1   SC stopped
 *     aC acknowledge the answer                 oCLBYTES  send these bytes; L is their number
 *     E  the next accept has no free file       x  srun ends
 *
 * After the last event time goes on, until nothing more is due. The program waits in epoll_wait (),
 * so that is where the world happens.
 */
#include "config.h"

#include "fuzz.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/descriptors.h"
#include "common/frameworks.h"
#include "common/tasklist.h"
#include "job/job.h"
#include "protocol/answer.h"
#include "protocol/goal.h"
#include "protocol/status.h"
#include "protocol/registration.h"
#include "rendezvous/asked.h"
#include "rendezvous/console.h"
#include "rendezvous/keeper.h"
#include "rendezvous/launch.h"
#include "rendezvous/server.h"
#include "rendezvous/writer.h"

/* It has no keeper, and no one asks it. */
#define keeper_start(journal) 0
#define asked_begin(server) \
    ((server)->asked = (struct asked){ .listener = -1, .end = -1, .again = deadline_never () })
int tf_rendezvous_main (int argc, char *argv[]);
#define main tf_rendezvous_main
/* NOLINTNEXTLINE(bugprone-suspicious-include): its main () is the target. */
#include "rendezvous/tf-rendezvous.c"
#undef main

#define TOKEN "0123456789abcdef0123456789abcdef"
#define SERVER_TOKEN "fedcba9876543210fedcba9876543210"

#define CLIENTS 8
#define MAX_RESTARTS 3
/* The number of a step's tasks is the one that sizes memory; see doc/protocol/. */
#define MAX_ALLOCATION (TASKLIST_MAX_TASKS * 512)
/* More rounds, and more waits, than the program needs to do what is ready and what is due. */
#define MAX_ROUNDS 100
#define MAX_SLEEPS 64

struct client {
    int fd;                 /* -1: not connected */
    bool deaf;
    bool knows;             /* it may have sent the token, */
    bool stale;             /* ... or another version than the program's */
    int life;               /* that it was told last, or 0 */
    int reports;            /* that it has sent */
    struct frame_reader reader;
    uint8_t *rest;          /* the half of a message that is not sent */
    size_t rest_length;
};

static struct {
    bool running;
    int64_t now_ms;
    const uint8_t *next, *end;              /* events */
    int tasks;
    char flags[16];
    int components;
    const char *prefix;                     /* of the next message, or NULL */
    size_t prefix_length;
    bool half, no_file, few_bytes, full;
    int said, printed; /* lines of the program, and lines on stderr that look like them */
    int srun;                               /* srun's end of its socket; -1: it has ended */
    struct sockaddr_un address;
    socklen_t address_length;
    struct client client[CLIENTS];
    struct server *server;
    bool accepted, refused;                 /* an answer said so */
    int errors, kills;
    int64_t error_ms;
    int rounds, sleeps;                     /* since the last event, or the last sleep */
} world;

/* The program's surroundings. */

int __real_clock_gettime (clockid_t clock, struct timespec *now);
int __wrap_clock_gettime (clockid_t clock, struct timespec *now);
int __real_accept4 (int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4 (int fd, struct sockaddr *address, socklen_t *length, int flags);
ssize_t __real_sendmsg (int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg (int fd, const struct msghdr *message, int flags);
int __real_poll (struct pollfd *fds, nfds_t count, int ms);
int __wrap_poll (struct pollfd *fds, nfds_t count, int ms);
int __real_kill (pid_t pid, int number);
int __wrap_kill (pid_t pid, int number);
int __real_epoll_wait (int fd, struct epoll_event *event, int max, int ms);
int __wrap_epoll_wait (int fd, struct epoll_event *event, int max, int ms);
void __real_launch_begin (struct server *server);
void __wrap_launch_begin (struct server *server);
int __real_address_local (struct address *address, int fd);
int __wrap_address_local (struct address *address, int fd);
int __wrap_console_open_log (const char *dir, bool append, struct errtext *err);
void __wrap_descriptors_close_above (int last);
void __real_console_print (const char *text);
void __wrap_console_print (const char *text);
void __real_console_say (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));
void __wrap_console_say (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));
struct writer *__wrap_writer_create (writer_open *open, const void *arg, struct errtext *err);
void __wrap_writer_put (struct writer *writer, const char *text);
bool __wrap_writer_pump (struct writer *writer);
bool __wrap_writer_is_busy (const struct writer *writer);
bool __wrap_writer_keeps (const struct writer *writer);
bool __wrap_writer_flush (struct writer *writer);
void __wrap_writer_set_late (struct writer *writer);
bool __wrap_writer_is_late (const struct writer *writer);
void __wrap_writer_close (struct writer *writer);

int __wrap_clock_gettime (clockid_t clock, struct timespec *now)
{
    if (!world.running || clock != CLOCK_MONOTONIC)
        return __real_clock_gettime (clock, now);
    *now = (struct timespec){ world.now_ms / 1000, world.now_ms % 1000 * 1000000 };
    return 0;
}

int __wrap_accept4 (int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    if (world.running && world.no_file) {
        world.no_file = false;
        errno = EMFILE;
        return -1;
    }
    return __real_accept4 (fd, address, length, flags);
}

/* Every other call is for nothing, if the socket takes few bytes. */
ssize_t __wrap_sendmsg (int fd, const struct msghdr *message, int flags)
{
    if (!world.running || !world.few_bytes)
        return __real_sendmsg (fd, message, flags);
    if ((world.full = !world.full)) {
        errno = EAGAIN;
        return -1;
    }
    return send (fd, message->msg_iov->iov_base,
                 message->msg_iov->iov_len < 40 ? message->msg_iov->iov_len : 40, flags);
}

int __wrap_poll (struct pollfd *fds, nfds_t count, int ms)
{
    if (!world.running || count > 0)
        return __real_poll (fds, count, ms);
    world.now_ms += ms;
    return 0;
}

/* Only srun, and only if it has outlived a refusal. */
int __wrap_kill (pid_t pid, int number)
{
    if (!world.running)
        return __real_kill (pid, number);
    CHECK (pid == getppid () && number == SIGTERM && world.server->refused);
    CHECK (world.now_ms - world.error_ms >= 10000 && world.kills++ == 0);
    return 0;
}

void __wrap_launch_begin (struct server *server)
{
    world.server = server;
    __real_launch_begin (server);
}

int __wrap_address_local (struct address *address, int fd)
{
    return world.running ? address_parse (address, "10.0.0.9") : __real_address_local (address, fd);
}

/* There is no child process and no file. */
int __wrap_console_open_log (const char *dir, bool append, struct errtext *err)
{
    (void)append;
    return dir[0] == '/' ? 0 : errtext_set (err, "not a directory");
}

void __wrap_descriptors_close_above (int last)
{
    CHECK (last == LISTEN_FD);
}

/* Events, each an object in a line. */
void __wrap_console_print (const char *text)
{
    CHECK (text[0] == '{');
    __real_console_print (text);
}

/* One message says why a launch is refused. */
void __wrap_console_say (const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    world.said++;
    __real_console_say ("%s", text);
    if (strncmp (text, "error: ", 7) != 0)
        return;
    CHECK (world.errors++ == 0 || world.server->resolved);
    world.error_ms = world.now_ms;
}

/* srun's stderr: a pipe, whose reader is here. */

struct writer *__wrap_writer_create (writer_open *open, const void *arg, struct errtext *err)
{
    (void)open;
    (void)arg;
    (void)err;
    return (struct writer *)&world;
}

/* No line that is not the program's, and nothing that a terminal obeys, whatever nodes have sent. */
void __wrap_writer_put (struct writer *writer, const char *text)
{
    (void)writer;
    for (const char *line = text; *line; line = strchr (line, '\n') + 1) {
        CHECK (strchr (line, '\n'));
        world.printed += strncmp (line, "srun: ", 6) == 0;
    }
    CHECK (world.printed <= world.said);
    for (const char *c = text; *c; c++)
        CHECK ((*c & 0xe0) != 0 || *c == '\n');
    CHECK (!strchr (text, 0x7f) && !strstr (text, "\xc2\x9b") && !strstr (text, "\xe2\x80\xae"));
}

bool __wrap_writer_pump (struct writer *writer)
{
    (void)writer;
    return true;
}

bool __wrap_writer_is_busy (const struct writer *writer)
{
    (void)writer;
    return false;
}

bool __wrap_writer_keeps (const struct writer *writer)
{
    (void)writer;
    return false;
}

bool __wrap_writer_flush (struct writer *writer)
{
    (void)writer;
    return true;
}

bool __wrap_writer_is_late (const struct writer *writer)
{
    (void)writer;
    return false;
}

void __wrap_writer_set_late (struct writer *writer)
{
    (void)writer;
}

void __wrap_writer_close (struct writer *writer)
{
    (void)writer;
}

/* What clients send. */

/*
 * Each error that a rank registers: escape sequences, a line that looks like srun's, a text from right to
 * left.
 */
static const char hostile_error[] =
    "no port\33]0;title\a\33[2J\nsrun: error: all is well\r\xc2\x9b\x7f\xe2\x80\xaeps\xff";

static void _close (struct client *client)
{
    if (client->fd >= 0)
        close (client->fd);
    client->fd = -1;
    frame_reader_clear (&client->reader);
    free (client->rest);
    client->rest = NULL;
}

static int _connect (void)
{
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    CHECK (fd >= 0);
    if (connect (fd, (struct sockaddr *)&world.address, world.address_length) == 0)
        return fd;
    CHECK (errno == EAGAIN);
    close (fd);
    return -1;
}

static void _open (struct client *client)
{
    if (client->fd >= 0)
        return;
    *client = (struct client){ .fd = _connect (), .reader.ceiling = FRAME_MAX_ANSWER };
}

static void _send_bytes (struct client *client, const uint8_t *bytes, size_t length)
{
    if (client->fd < 0 || length == 0)
        return;
    /* A server that has closed the connection is noticed by reading. */
    send (client->fd, bytes, length, MSG_NOSIGNAL);
}

static void _keep_rest (struct client *client, const uint8_t *bytes, size_t length)
{
    free (client->rest);
    CHECK (client->rest = malloc (length + 1));
    memcpy (client->rest, bytes, length);
    client->rest_length = length;
}

/* Send the message, with the prefix and in halves as the input wants it. */
static void _send_message (struct client *client, struct frame *frame, int version)
{
    size_t prefix = world.prefix ? world.prefix_length + 1 : 0, length;
    const uint8_t *bytes = frame_bytes (frame, prefix, &length);
    uint8_t *whole = malloc (length + prefix);
    size_t now;

    CHECK (bytes && whole);
    memcpy (whole, bytes, FRAME_HEADER);
    whole[5] = (uint8_t)version;
    if (prefix) {
        memcpy (whole + FRAME_HEADER, world.prefix, prefix - 1);
        whole[FRAME_HEADER + prefix - 1] = '\0';
    }
    memcpy (whole + FRAME_HEADER + prefix, bytes + FRAME_HEADER, length - FRAME_HEADER);
    length += prefix;
    now = world.half ? length / 2 : length;
    if (client->fd >= 0) {
        _send_bytes (client, whole, now);
        _keep_rest (client, whole + now, length - now);
    }
    free (whole);
    frame_destroy (frame);
    world.prefix = NULL;
    world.half = false;
}

static bool _flag (char flag)
{
    return strchr (world.flags, flag) != NULL;
}

static bool _restarts (void)
{
    return _flag ('R') || _flag ('L');
}

static void _add_interface (struct registration *r, const char *text, int node, const char *cpus)
{
    struct interface *interface = &r->interface[r->interfaces++];

    CHECK (interface_parse (interface, text) == 0);
    if (interface->address.address.family)
        interface->address.address.bytes[3] = (unsigned char)(node + 1);
    interface->local_cpus = cpus;
}

/* What the first task of a node knows of it. */
static void _add_interfaces (struct registration *r, int node)
{
    bool down = node > 0 && _flag ('u');

    _add_interface (r, down ? "ib0 infiniband down -" : "ib0 infiniband up 10.1.0.1/24", node, "0xf");
    if (_flag ('r'))
        _add_interface (r, "ib1 infiniband up 10.2.0.1/24", node, "0xf0");
    _add_interface (r, "eth0 other up 10.0.0.1/24", node, NULL);
}

/* All but the last component have one task. */
static void _set_component (struct registration *r)
{
    int last = world.components - 1;

    r->component_first = r->rank < last ? r->rank : last;
    r->component_tasks = r->rank < last ? 1 : r->tasks - last;
}

/* The registration of a rank; two ranks share a node. */
static void _register (struct client *client, int rank, const char *token, const char *error, int version)
{
    char node[16], address[16];
    /* clang-format off */
    struct registration r = {
        .rank = rank, .tasks = world.tasks, .node_index = rank / 2, .node = node, .step = "12.0",
        .port = 40000 + rank, .error = error, .proxied = rank == 1,
        .cpus = _flag ('r') ? rank % 2 ? "0xf0" : "0xf" : NULL,
    };
    /* clang-format on */

    snprintf (node, sizeof (node), "n%d", rank / 2);
    snprintf (address, sizeof (address), "10.0.0.%d", rank / 2 + 1);
    snprintf (r.host.id, sizeof (r.host.id), "host%d", rank / 2);
    CHECK (address_parse (&r.address, address) == 0);
    _set_component (&r);
    if (rank % 2 == 0 && (_flag ('i') || _flag ('I') || _flag ('n')))
        _add_interfaces (&r, rank / 2);
    _send_message (client, registration_encode (&r, token), version);
}

static void _reconnect (struct client *client, int rank, bool ended)
{
    const struct status status = { .ended = ended, .life = { .number = 1, .life = -1 } };

    char node[16];

    snprintf (node, sizeof (node), "n%d", rank / 2);
    _send_message (client, status_encode_first (&status, TOKEN, node, rank), FRAME_VERSION);
}

static void _report (struct client *client, enum exit_report_kind kind, int number)
{
    const struct status status = { .ended = true,
                                   .report = { .kind = kind, .number = number },
                                   .life = { .number = ++client->reports, .life = _restarts () ? 0 : -1 },
                                   .signs = { .life = client->life } };

    _send_message (client, fields_frame (&status_fields, &status), FRAME_VERSION);
}

/* What clients receive. */

/* No step has a task that was refused and one that was not, but for those of another version. */
static void _take_answer (struct client *client, const struct answer *answer)
{
    world.accepted = world.accepted || !answer->refused;
    world.refused = world.refused || (answer->refused && !client->stale);
    CHECK (!world.accepted || !world.refused);
}

/* A frame is an answer or a goal, and is for those alone who know the token. */
static void _take (struct client *client, struct frame *frame)
{
    struct answer answer;
    struct goal goal;

    CHECK (client->knows);
    if (goal_decode (&goal, frame, SERVER_TOKEN, NULL) == 0) {
        CHECK (goal.life <= MAX_RESTARTS && (goal.life <= 0 || _restarts ()));
        client->life = goal.life > client->life ? goal.life : client->life;
        return;
    }
    CHECK (answer_decode (&answer, frame, SERVER_TOKEN, NULL) == 0);
    _take_answer (client, &answer);
}

static void _read (struct client *client)
{
    struct frame *frame;
    int n = 0;

    if (client->fd < 0 || client->deaf)
        return;
    while ((n = frame_read (&client->reader, client->fd, &frame, NULL)) > 0) {
        _take (client, frame);
        frame_destroy (frame);
    }
    CHECK (client->reader.got == 0 || client->knows);
    if (n < 0)
        _close (client);
}

/* Events. */

static void _end_srun (void)
{
    if (world.srun >= 0)
        close (world.srun);
    world.srun = -1;
}

/* The rest of the line, for the next message. */
static void _take_prefix (void)
{
    const uint8_t *newline = memchr (world.next, '\n', (size_t)(world.end - world.next));
    const uint8_t *end = newline ? newline : world.end;

    world.prefix = (const char *)world.next;
    world.prefix_length = (size_t)(end - world.next);
    world.next = end;
}

static void _send_raw (struct client *client)
{
    size_t left = (size_t)(world.end - world.next), length = left ? *world.next++ : 0;

    length = length < left ? length : left ? left - 1 : 0;
    _send_bytes (client, world.next, length);
    world.next += length;
}

static void _client_event (uint8_t event)
{
    int number = world.next < world.end ? *world.next++ % CLIENTS : 0;
    struct client *client = &world.client[number];
    int rank = number % world.tasks;

    if (strchr ("crevwnNo", event))
        _open (client);
    client->knows = client->knows || strchr ("revnNo", event);
    client->stale = client->stale || strchr ("vo", event);
    switch (event) {
        case 'r': _register (client, rank, TOKEN, NULL, FRAME_VERSION); break;
        case 'e': _register (client, rank, TOKEN, hostile_error, FRAME_VERSION); break;
        case 'v': _register (client, rank, TOKEN, NULL, FRAME_VERSION - 1); break;
        case 'w': _register (client, rank, SERVER_TOKEN, NULL, FRAME_VERSION); break;
        case 'n': _reconnect (client, rank, false); break;
        case 'N': _reconnect (client, rank, true); break;
        case 'p': _report (client, EXIT_REPORT_EXIT, 0); break;
        case 'P': _report (client, EXIT_REPORT_EXIT, 1); break;
        case 'S': _report (client, EXIT_REPORT_STOPPED, 0); break;
        case 'a': _send_message (client, acknowledgement_encode (), FRAME_VERSION); break;
        case 'o': _send_raw (client); break;
        case 'd': _close (client); break;
        case 'q': client->deaf = true; break;
        case 'Q': client->deaf = false; break;
        case 'g':
            if (client->rest)
                _send_bytes (client, client->rest, client->rest_length);
            client->rest_length = 0;
            break;
    }
}

/* The next event of the input. `ms` is how long the program would wait now. */
static void _event (int ms)
{
    uint8_t event = *world.next++;

    switch (event) {
        case 'h': world.half = true; break;
        case 'm': _take_prefix (); break;
        case 't': world.now_ms += ms > 0 ? ms : 0; break;
        case 'T': world.now_ms += 1000; break;
        case 'k': world.few_bytes = !world.few_bytes; break;
        case 'E': world.no_file = true; break;
        case 'x': _end_srun (); break;
        default:
            if (strchr ("crevwnNpPSaodqQg", event) && event)
                _client_event (event);
    }
}

/* At every moment. */

static void _check_peers (const struct peers *peers, const struct roster *roster)
{
    int count = 0;

    for (const struct peer *peer = peers->oldest; peer; peer = peer->newer) {
        CHECK (peer->state == PEER_UNAUTHENTICATED && !deadline_passed (peer->timeout));
        CHECK (peer->newer ? peer->newer->older == peer : peers->newest == peer);
        count++;
    }
    CHECK (count == peers->unauthenticated && count <= 512 + roster->tasks);
    for (int i = 0; i < roster->tasks; i++) {
        const struct rank *rank = &roster->rank[i];

        CHECK (rank->number == i
               && (!rank->peer
                   || (rank->peer->rank == rank && rank->peer->state > PEER_UNAUTHENTICATED
                       && rank->peer->state < PEER_CLOSED)));
    }
}

static void _check_now (void)
{
    CHECK (!world.server->resolved || !world.server->refused);
    _check_peers (&world.server->peers, step_roster (world.server->step));
    for (int i = 0; i < CLIENTS; i++)
        _read (&world.client[i]);
}

/* Nothing will happen any more: no launch goes on, and no connection is without its first frame. */
static void _check_settled (void)
{
    CHECK (world.server->resolved || world.server->refused);
    CHECK (world.server->peers.unauthenticated == 0);
}

/* The input is over. Let time pass, and end srun when nothing more is due. */
static void _pass_time (int ms)
{
    if (ms < 0)
        _check_settled ();
    if (ms >= 0 && ++world.sleeps < MAX_SLEEPS)
        world.now_ms += ms;
    else {
        CHECK (world.srun >= 0);
        _end_srun ();
    }
}

int __wrap_epoll_wait (int fd, struct epoll_event *event, int max, int ms)
{
    bool over = world.next == world.end;
    int n;

    if (!world.running)
        return __real_epoll_wait (fd, event, max, ms);
    _check_now ();
    if (!over)
        _event (ms);
    n = __real_epoll_wait (fd, event, max, 0);
    /* What is ready or due is done in this round, so that it is not in the next ones. */
    CHECK (!over || (n == 0 && ms != 0) || ++world.rounds < MAX_ROUNDS);
    if (over && n == 0 && ms != 0) {
        world.rounds = 0;
        _pass_time (ms);
    }
    return n;
}

/* A run. */

/* Give a descriptor the number that the program expects. */
static void _move (int fd, int number)
{
    if (fd == number)
        return;
    CHECK (dup2 (fd, number) == number);
    close (fd);
}

static void _listen (void)
{
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un any = { .sun_family = AF_UNIX };

    world.address_length = sizeof (world.address);
    CHECK (fd >= 0 && bind (fd, (struct sockaddr *)&any, sizeof (any.sun_family)) == 0);
    CHECK (listen (fd, 4096) == 0);
    CHECK (getsockname (fd, (struct sockaddr *)&world.address, &world.address_length) == 0);
    _move (fd, LISTEN_FD);
}

/* Lists are separated by "/". There are not more components than tasks. */
static void _set_lists (struct rendezvous_config *config, char *text)
{
    struct tasklist *tasks;
    char *rest;

    config->lists = 0;
    for (char *list = strtok_r (text, "/", &rest); list && config->lists < (size_t)world.tasks;
         list = strtok_r (NULL, "/", &rest)) {
        if (tasklist_parse (&tasks, list, NULL) < 0)
            continue;
        tasklist_destroy (tasks);
        config->list[config->lists++] = (struct rendezvous_config_list){ list, _flag ('p') };
    }
    if (config->lists == 0)
        config->list[config->lists++].text = "worker:rest";
    world.components = (int)config->lists;
}

/* What srun sends, from the first line of the input. */
static struct frame *_configuration (const char *line)
{
    /* clang-format off */
    struct rendezvous_config config = {
        .token = TOKEN, .server_token = SERVER_TOKEN, .step = "12.0", .timeout = 60,
        .hide_gpus = true, .stop_grace = 10, .eval_grace = 5, .fail_grace = 5, .nccl = true,
        .frameworks = FRAMEWORKS_AUTO,
    };
    /* clang-format on */
    char list[256] = "", stop[16] = "auto";
    struct frame *frame;
    int when;

    world.tasks = 2;
    sscanf (line, "%d %255s %15s %15s %d", &world.tasks, list, stop, world.flags, &config.timeout);
    world.tasks = world.tasks < 1 || world.tasks > CLIENTS ? 2 : world.tasks;
    when = choice_parse (option_table[OPTION_STOP].words, stop, NULL);
    config.stop = when < 0 ? STOP_WHEN_AUTO : (enum stop_when)when;
    if (config.timeout < 1 || config.timeout > 600)
        config.timeout = 60;
    _set_lists (&config, list);
    config.json = _flag ('j');
    config.show = config.json || _flag ('s');
    config.debugged = _flag ('d');
    config.ib = _flag ('I') ? IB_REQUIRE : _flag ('i') ? IB_AUTO : IB_NO;
    if (_restarts ())
        config.restart = (struct restart_rule){ MAX_RESTARTS, true, 2, 0 };
    config.lost_after = _flag ('L') ? 5 : 0;
    config.networks = _flag ('n') ? "10.0.0.0/24,ib1" : NULL;
    config.networks_required = _flag ('N');
    CHECK (frame = fields_frame (&rendezvous_config_fields, &config));
    return frame;
}

static void _start (const char *line)
{
    struct frame *frame;
    int pair[2];

    for (int i = 0; i < CLIENTS; i++)
        world.client[i].fd = -1;
    _listen ();
    frame = _configuration (line);
    CHECK (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    _move (pair[0], SRUN_FD);
    world.srun = pair[1];
    CHECK (frame_send (frame, world.srun, NULL) == 0);
    frame_destroy (frame);
    world.running = true;
}

static void _finish (void)
{
    world.running = false;
    for (int i = 0; i < CLIENTS; i++)
        _close (&world.client[i]);
    _end_srun ();
}

/* Before main (), so that no file of the engine gets the numbers that the program expects. */
static void __attribute__ ((constructor)) _reserve_descriptors (void)
{
    int fd;

    while ((fd = open ("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd < LISTEN_FD)
        ;
    if (fd > LISTEN_FD)
        close (fd);
}

/* Which descriptors are open, as far as a run comes. SRUN_FD and LISTEN_FD stay open after it. */
static uint64_t _open_descriptors (void)
{
    uint64_t open = 0;

    for (int fd = LISTEN_FD + 1; fd < 64; fd++)
        open |= (uint64_t)(fcntl (fd, F_GETFD) >= 0) << fd;
    return open;
}

FUZZ_TARGET (rendezvous)
{
    char *text = fuzz_text (data, size), *rest = text, *line = fuzz_line (&rest);
    char *no_arguments[] = { NULL };
    uint64_t open = _open_descriptors ();

    memset (&world, 0, sizeof (world));
    world.now_ms = 1000000;
    world.next = data + (rest - text);
    world.end = data + size;
    fuzz_allow (MAX_ALLOCATION);
    _start (line);
    CHECK (tf_rendezvous_main (0, no_arguments) == 0);
    _finish ();
    CHECK (_open_descriptors () == open);
    free (text);
}
