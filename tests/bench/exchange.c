/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A benchmark of the exchange alone, without Slurm: N simulated ranks connect to tf-rendezvous
 * over loopback at the same time. Measured is the time from the first connect () until all ranks
 * have their complete answers. tf-rendezvous takes turns with a bare server, which does the least
 * that is possible: it reads as many bytes and, when all have arrived, writes as many back to each
 * rank. The same program plays the ranks for both.
 *
 *     exchange [N...]          500 1000 2000 5000
 *
 * Exits with 0 if the targets are met.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/port.h"
#include "simulation.h"

#define MAX_RATIO 1.5
#define MAX_MEMORY_KIB (64 * 1024)
/*
 * Every rank gets the addresses of all ranks, so the bytes grow with the square of the ranks. The
 * time per byte may be greater by this factor with the most ranks than with the fewest. MAX_RATIO
 * bounds everything that grows faster than the bare exchange.
 */
#define MAX_GROWTH 1.1
#define MAX_ROUNDS 25
/* Ranks per N in all rounds together. */
#define RANKS_PLAYED 35000

/* One exchange. */
struct run {
    int64_t us;
    size_t registered;          /* bytes */
    size_t answered;
    int64_t cpu_us;             /* the server's */
    long memory_kib;
};

/* The bare server. */

struct bare_peer {
    int fd;
    size_t sent;
};

static void _bare_watch (int epoll, int op, int fd, struct bare_peer *peer, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = peer };

    if (epoll_ctl (epoll, op, fd, &event) < 0)
        die ("epoll_ctl: %s", strerror (errno));
}

/* True if the kernel has taken the whole answer. */
static bool _bare_send (struct bare_peer *peer, const char *answer, size_t length)
{
    while (peer->sent < length) {
        ssize_t n = send (peer->fd, answer + peer->sent, length - peer->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
            return false;
        if (n < 0)
            die ("bare: %s", strerror (errno));
        peer->sent += (size_t)n;
    }
    close (peer->fd);
    return true;
}

static void _bare_serve (int listener, int ranks, size_t expected, const char *answer, size_t length)
{
    struct bare_peer *peer = calloc ((size_t)ranks, sizeof (*peer));
    int epoll = epoll_create1 (EPOLL_CLOEXEC), accepted = 0, left = ranks;
    struct epoll_event event[64];
    char room[4096];

    _bare_watch (epoll, EPOLL_CTL_ADD, listener, NULL, EPOLLIN);
    while (left > 0) {
        int n = epoll_wait (epoll, event, 64, -1), fd;

        for (int i = 0; i < n; i++) {
            struct bare_peer *p = event[i].data.ptr;

            if (!p)
                while ((fd = accept4 (listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
                    peer[accepted].fd = fd;
                    _bare_watch (epoll, EPOLL_CTL_ADD, fd, &peer[accepted++], EPOLLIN);
                }
            else if (expected > 0) {
                ssize_t got = recv (p->fd, room, sizeof (room), 0);

                expected -= got > 0 ? (size_t)got : 0;
                for (int j = 0; expected == 0 && j < ranks; j++)
                    if (_bare_send (&peer[j], answer, length))
                        left--;
                    else
                        _bare_watch (epoll, EPOLL_CTL_MOD, peer[j].fd, &peer[j], EPOLLOUT);
            } else
                left -= _bare_send (p, answer, length);
        }
    }
}

/* A frame of that length, so that ranks read from both servers in the same way. */
static const char *_bare_answer (size_t length)
{
    size_t rest = length - FRAME_HEADER - sizeof ("TF_CONFIG="), whole;
    struct frame *frame = frame_create ();
    char *text = malloc (rest + 1);
    const char *bytes;

    if (!frame || !text)
        die ("no memory");
    memset (text, 'x', rest);
    text[rest] = '\0';
    frame_add (frame, "TF_CONFIG", "%s", text);
    bytes = frame_bytes (frame, 0, &whole);
    if (!bytes || whole != length)
        die ("a bare answer has %zu bytes, not %zu", whole, length);
    return bytes;
}

static pid_t _bare_start (int *port, int ranks, const struct run *like)
{
    const char *answer = _bare_answer (like->answered / (size_t)ranks);
    const struct port_ranges any = { 0 };
    struct port *reserved;
    struct errtext err;
    int listener;
    pid_t pid;

    if (port_reserve (&reserved, &any, 0, PORT_FOR_A_SERVER, &err) < 0
        || (listener = port_listen_on (reserved->number, &err)) < 0)
        die ("%s", err.text);
    *port = reserved->number;
    port_release (reserved);
    fflush (stdout);
    if ((pid = fork ()) < 0)
        die ("fork: %s", strerror (errno));
    if (pid == 0) {
        fcntl (listener, F_SETFL, O_NONBLOCK);
        _bare_serve (listener, ranks, like->registered, answer, like->answered / (size_t)ranks);
        _exit (0);
    }
    close (listener);
    return pid;
}

/* One exchange, with either server. */

static void _on_answer (void *arg, int number, struct frame *answer)
{
    struct run *run = arg;
    size_t length;

    if (frame_get (answer, "REFUSED") || !frame_bytes (answer, 0, &length))
        die ("rank %d was refused", number);
    run->answered += length;
}

/* Play the ranks. It runs in a process of its own, whose memory no server inherits. */
static void _play_ranks (int port, const struct launch *launch, struct run *run)
{
    struct frame **registration = calloc ((size_t)launch->tasks, sizeof (*registration));
    int64_t begin;
    size_t length;

    if (!registration)
        die ("no memory");
    for (int i = 0; i < launch->tasks; i++) {
        registration[i] = encode_registration (launch, i);
        frame_bytes (registration[i], 0, &length);
        run->registered += length;
    }
    begin = now_us ();
    register_ranks (port, registration, launch->tasks, _on_answer, run);
    run->us = now_us () - begin;
}

/* Wait until the bare server waits for events. For tf-rendezvous launch_start () does that. */
static void _await_bare (pid_t pid)
{
    char path[64], where[64];

    snprintf (path, sizeof (path), "/proc/%d/wchan", (int)pid);
    for (int i = 0; i < 200; i++) {
        FILE *f = fopen (path, "re");

        where[0] = '\0';
        if (f && !fgets (where, sizeof (where), f))
            where[0] = '\0';
        if (f)
            fclose (f);
        if (strstr (where, "epoll") || strstr (where, "ep_poll"))
            return;
        usleep (1000);
    }
}

static void _exchange (int port, const struct launch *launch, struct run *run)
{
    int result[2], status;
    pid_t pid;

    *run = (struct run){ 0 };
    fflush (stdout);
    if (pipe2 (result, O_CLOEXEC) < 0 || (pid = fork ()) < 0)
        die ("fork: %s", strerror (errno));
    if (pid == 0) {
        _play_ranks (port, launch, run);
        exit (write (result[1], run, sizeof (*run)) != sizeof (*run));
    }
    close (result[1]);
    if (waitpid (pid, &status, 0) < 0 || status != 0 || read (result[0], run, sizeof (*run)) != sizeof (*run))
        exit (1);
    close (result[0]);
}

static void _keep_usage (struct run *run, const struct rusage *usage)
{
    run->cpu_us = (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * INT64_C (1000000)
                  + usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
    run->memory_kib = usage->ru_maxrss;
}

static void _run_ours (int ranks, struct run *run)
{
    struct launch launch = { .tasks = ranks };

    launch_start (&launch);
    _exchange (launch.contact.port, &launch, run);
    launch_expect_exit (&launch);
    _keep_usage (run, &launch.usage);
    close (launch.stderr_fd);
}

static void _run_bare (int ranks, const struct run *like, struct run *run)
{
    struct launch launch = { .tasks = ranks, .contact.token = "0123456789abcdef0123456789abcdef" };
    struct rusage usage;
    int port, status;
    pid_t pid = _bare_start (&port, ranks, like);

    _await_bare (pid);
    _exchange (port, &launch, run);
    if (wait4 (pid, &status, 0, &usage) < 0 || status != 0)
        die ("the bare server failed");
    _keep_usage (run, &usage);
}

/* Figures. */

static int _by_time (const void *a, const void *b)
{
    const struct run *ra = a, *rb = b;

    return (ra->us > rb->us) - (ra->us < rb->us);
}

static struct run _median (struct run *run, int rounds)
{
    qsort (run, (size_t)rounds, sizeof (*run), _by_time);
    return run[rounds / 2];
}

static long _peak (const struct run *run, int rounds)
{
    long peak = 0;

    for (int i = 0; i < rounds; i++)
        peak = run[i].memory_kib > peak ? run[i].memory_kib : peak;
    return peak;
}

static double _ns_per_byte (const struct run *run)
{
    return 1e3 * (double)run->us / (double)(run->registered + run->answered);
}

struct figures {
    double ratio;
    double ns_per_byte;
    long memory_kib;
};

static struct figures _measure (int ranks)
{
    struct run ours[MAX_ROUNDS], bare[MAX_ROUNDS], warm, o, b;
    int rounds = RANKS_PLAYED / ranks;
    struct figures figures;

    rounds = rounds < 5 ? 5 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    _run_ours (ranks, &warm);
    for (int i = 0; i < rounds; i++) {
        _run_bare (ranks, &warm, &bare[i]);
        _run_ours (ranks, &ours[i]);
    }
    figures.memory_kib = _peak (ours, rounds);
    o = _median (ours, rounds);
    b = _median (bare, rounds);
    figures.ratio = (double)o.us / (double)b.us;
    figures.ns_per_byte = _ns_per_byte (&o);
    printf ("%6d %6d %9.1f %9.1f %9.1f %6.2f %8.1f %8.2f %8.2f %8.1f %8.1f %7.1f\n", ranks, rounds,
            (double)(o.registered + o.answered) / 1e6, (double)o.us / 1e3, (double)b.us / 1e3, figures.ratio,
            (double)o.us / ranks, figures.ns_per_byte, _ns_per_byte (&b), (double)o.cpu_us / 1e3,
            (double)b.cpu_us / 1e3, (double)figures.memory_kib / 1024);
    fflush (stdout);
    return figures;
}

static bool _met (bool met, const char *target, double found)
{
    printf ("%s: %s: %.2f\n", met ? "met" : "MISSED", target, found);
    return met;
}

int main (int argc, char *argv[])
{
    static const int usual[] = { 500, 1000, 2000, 5000 };
    int count = argc > 1 ? argc - 1 : 4;
    struct figures worst = { 0 }, first = { 0 }, f = { 0 };
    bool met;

    raise_file_limit (6000);
    printf ("%6s %6s %9s %9s %9s %6s %8s %8s %8s %8s %8s %7s\n", "ranks", "rounds", "MB", "ours ms",
            "bare ms", "ratio", "us/rank", "ours", "bare", "ours", "bare", "MiB");
    printf ("%6s %6s %9s %9s %9s %6s %8s %8s %8s %8s %8s %7s\n", "", "", "", "median", "median", "", "ours",
            "ns/B", "ns/B", "cpu ms", "cpu ms", "peak");
    for (int i = 0; i < count; i++) {
        int ranks = argc > 1 ? atoi (argv[i + 1]) : usual[i];

        if (ranks < 2)
            die ("\"%s\" is not a number of ranks", argv[i + 1]);
        f = _measure (ranks);
        worst.ratio = f.ratio > worst.ratio ? f.ratio : worst.ratio;
        worst.memory_kib = f.memory_kib > worst.memory_kib ? f.memory_kib : worst.memory_kib;
        if (i == 0)
            first = f;
    }
    met = _met (worst.ratio <= MAX_RATIO, "ratio to the bare exchange, at most 1.5", worst.ratio);
    met &= _met (f.ns_per_byte <= MAX_GROWTH * first.ns_per_byte, "time per byte, last to first, at most 1.1",
                 f.ns_per_byte / first.ns_per_byte);
    met &= _met (worst.memory_kib <= MAX_MEMORY_KIB, "MiB of tf-rendezvous, at most 64",
                 (double)worst.memory_kib / 1024);
    return met ? 0 : 1;
}
