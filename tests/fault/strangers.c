/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Strangers at the rendezvous. A launch of 8 ranks waits for its last one while they try
 * whatever they can, and are shown out as soon as it shows that they are no ranks. Then it
 * comes, and the promise is the same each time: every rank has the right answer at once, no
 * stranger has got a byte, tf-rendezvous is small and ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "deadline.h"
#include "simulation.h"

#define TASKS 8
#define LAST (TASKS - 1)
#define CROWD 2000                  /* more than are heard at a time */
/* Half of what they would fill if all were heard. */
#define MAX_MEMORY_KIB (CROWD * (FRAME_MAX_REGISTRATION / 1024) / 2)
/* STRANGER_MS of tf-rendezvous.c, and as much again. */
#define PATIENCE_MS 20000

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

static long _cpu_ms (const struct launch *launch)
{
    const struct rusage *usage = &launch->usage;

    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000
           + (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

/* Connections of strangers that are open: each is to end without a byte. */
static int stranger[4096];
static size_t strangers;

static int _stranger (const struct launch *launch)
{
    int fd = dial (launch);

    if (strangers == COUNT (stranger))
        die ("too many strangers");
    stranger[strangers++] = fd;
    return fd;
}

static void _try (const struct launch *launch, const void *bytes, size_t length)
{
    give (_stranger (launch), bytes, length);
}

static void _try_frame (const struct launch *launch, struct frame *frame)
{
    give_frame (_stranger (launch), frame);
}

/* A header, by hand. */
static void _header (unsigned char h[FRAME_HEADER], int version, uint32_t length)
{
    const unsigned char bytes[FRAME_HEADER] = {
        'S', 'p', 'T', 'F', (unsigned char)(version >> 8), (unsigned char)version, 0, 0,
        (unsigned char)(length >> 24), (unsigned char)(length >> 16),
        (unsigned char)(length >> 8), (unsigned char)length
    };

    memcpy (h, bytes, sizeof (bytes));
}

/* The last rank's own registration with one string changed, or without it. */
static struct frame *_altered (const struct launch *launch, const char *key, const char *value)
{
    struct frame *right = rank_frame (launch, LAST), *frame = frame_create ();
    size_t len = strlen (key);

    for (const char *s = frame_next (right, NULL); s; s = frame_next (right, s)) {
        const char *equals = strchr (s, '=');
        char name[32];

        snprintf (name, sizeof (name), "%.*s", (int)(equals - s), s);
        if (strncmp (s, key, len) != 0 || s[len] != '=')
            frame_add (frame, name, "%s", equals + 1);
        else if (value)
            frame_add (frame, name, "%s", value);
    }
    frame_destroy (right);
    return frame;
}

/* What they try. */

static void _random_bytes (const struct launch *launch)
{
    static unsigned char bytes[100000];

    for (size_t i = 0; i < 64; i++) {
        size_t length = (size_t)rand () % (sizeof (bytes) - FRAME_HEADER) + FRAME_HEADER;

        for (size_t j = 0; j < length; j++)
            bytes[j] = (unsigned char)rand ();
        _try (launch, bytes, length);
    }
}

static void _absurd_lengths (const struct launch *launch)
{
    static const uint32_t length[] = { 0, FRAME_MAX_REGISTRATION + 1, 0x7fffffff, 0x80000000,
                                       0xfffffff4, 0xffffffff };
    unsigned char bytes[FRAME_HEADER + 1000] = { 0 };

    for (size_t i = 0; i < COUNT (length); i++) {
        _header (bytes, FRAME_VERSION, length[i]);
        _try (launch, bytes, FRAME_HEADER);
        _try (launch, bytes, sizeof (bytes));
    }
}

/* As much as a stranger may make the rendezvous keep, and not the last byte of it. */
static void _half_frames (const struct launch *launch)
{
    static unsigned char bytes[FRAME_HEADER + FRAME_MAX_REGISTRATION - 1];

    memset (bytes, 'x', sizeof (bytes));
    _header (bytes, FRAME_VERSION, FRAME_MAX_REGISTRATION);
    for (size_t i = 0; i < CROWD; i++)
        _try (launch, bytes, i % 4 ? sizeof (bytes) : i % FRAME_HEADER);
}

static void _broken_frames (const struct launch *launch)
{
    unsigned char bytes[FRAME_HEADER + 64];

    _header (bytes, FRAME_VERSION, 64);
    memset (bytes + FRAME_HEADER, 'x', 64);
    _try (launch, bytes, sizeof (bytes));
    memset (bytes + FRAME_HEADER, '=', 64);
    _try (launch, bytes, sizeof (bytes));
    memset (bytes + FRAME_HEADER, 0, 64);
    _try (launch, bytes, sizeof (bytes));
}

static void _wrong_tokens (const struct launch *launch)
{
    char token[2 * RENDEZVOUS_SECRET];
    const char *right = launch->rendezvous.token;

    _try_frame (launch, _altered (launch, "TOKEN", NULL));
    _try_frame (launch, _altered (launch, "TOKEN", ""));
    _try_frame (launch, _altered (launch, "TOKEN", launch->rendezvous.proof));
    for (int i = 0; i < RENDEZVOUS_SECRET - 1; i++) {
        strcpy (token, right);
        token[i] = token[i] == '0' ? '1' : '0';
        _try_frame (launch, _altered (launch, "TOKEN", token));
        token[i] = '\0';
        _try_frame (launch, _altered (launch, "TOKEN", token));
    }
    snprintf (token, sizeof (token), "%s0", right);
    _try_frame (launch, _altered (launch, "TOKEN", token));
    snprintf (token, sizeof (token), "%s%s", right, right);
    _try_frame (launch, _altered (launch, "TOKEN", token));
}

/* It cannot be told from an older release without the token, and nobody refuses for it. */
static void _other_versions (const struct launch *launch)
{
    static const int version[] = { 0, FRAME_VERSION + 1, 0xffff };
    unsigned char bytes[1024];

    for (size_t i = 0; i < COUNT (version); i++) {
        struct frame *frame = _altered (launch, "TOKEN", "guessed");
        size_t length;
        const void *whole = frame_bytes (frame, 0, &length);

        memcpy (bytes, whole, length);
        _header (bytes, version[i], (uint32_t)(length - FRAME_HEADER));
        _try (launch, bytes, length);
        frame_destroy (frame);
    }
}

/* From here on they know the token. */

static void _rank_twice (const struct launch *launch)
{
    struct simulated other;

    for (int i = 0; i < LAST; i++)
        _try_frame (launch, rank_frame (launch, i));
    rank_simulate (launch, 3, &other);
    other.rank.port = 9;
    other.rank.node = "elsewhere";
    _try_frame (launch, rank_encode (&other.rank, launch->rendezvous.token));
}

static void _numbers_out_of_range (const struct launch *launch)
{
    static const char *const key[] = { "RANK", "TASKS", "COMPONENT_FIRST", "COMPONENT_TASKS",
                                       "NODE_INDEX", "PORT" };
    static const char *const value[] = {
        NULL, "", "-1", "+7", " 7", "7 ", "7.0", "0x7", "seven", "65536", "1048577", "2147483647",
        "2147483648", "4294967303", "18446744073709551623", "99999999999999999999999"
    };

    for (size_t i = 0; i < COUNT (key); i++)
        for (size_t j = 0; j < COUNT (value); j++)
            _try_frame (launch, _altered (launch, key[i], value[j]));
    _try_frame (launch, _altered (launch, "RANK", "8"));
    _try_frame (launch, _altered (launch, "COMPONENT_FIRST", "1"));
    _try_frame (launch, _altered (launch, "NODE_INDEX", "8"));
    _try_frame (launch, _altered (launch, "PORT", "0"));
}

static void _other_tasks (const struct launch *launch)
{
    static const int tasks[] = { 1, TASKS - 1, TASKS + 1, 5000, RANK_MAX };

    for (size_t i = 0; i < COUNT (tasks); i++) {
        struct launch other = *launch;

        other.tasks = tasks[i];
        _try_frame (launch, rank_frame (&other, 0));
        _try_frame (launch, rank_frame (&other, tasks[i] - 1));
    }
}

static void _bad_names (const struct launch *launch)
{
    static char longer[FRAME_MAX_REGISTRATION - 1000];

    memset (longer, 'n', sizeof (longer) - 1);
    _try_frame (launch, _altered (launch, "NODE", NULL));
    _try_frame (launch, _altered (launch, "NODE", longer));
    _try_frame (launch, _altered (launch, "HOST", NULL));
    _try_frame (launch, _altered (launch, "HOST", longer));
    _try_frame (launch, _altered (launch, "ADDRESS", NULL));
    _try_frame (launch, _altered (launch, "ADDRESS", ""));
    _try_frame (launch, _altered (launch, "ADDRESS", "localhost"));
    _try_frame (launch, _altered (launch, "ADDRESS", "10.0.0.1:80"));
    _try_frame (launch, _altered (launch, "ADDRESS", longer));
}

/* They come and go, by a FIN and by a RST. */
static void _come_and_go (const struct launch *launch)
{
    const struct linger reset = { .l_onoff = 1 };

    for (int i = 0; i < 1000; i++) {
        int fd = dial (launch);

        if (i % 3 == 0)
            give (fd, "SpTF", 4);
        if (i % 2)
            setsockopt (fd, SOL_SOCKET, SO_LINGER, &reset, sizeof (reset));
        close (fd);
    }
}

/* A right frame without the token, byte by byte: as many at once as are heard. */
static void _byte_by_byte (const struct launch *launch)
{
    struct frame *frame = _altered (launch, "TOKEN", "guessed");
    size_t length, first = strangers;
    const char *bytes = frame_bytes (frame, 0, &length);

    for (size_t i = 0; i < 300; i++)
        _stranger (launch);
    for (size_t i = 0; i + 1 < length; i++)
        for (size_t j = first; j < strangers; j++)
            send (stranger[j], bytes + i, 1, MSG_NOSIGNAL);
    frame_destroy (frame);
}

static void _silent (const struct launch *launch)
{
    for (size_t i = 0; i < 100; i++) {
        int fd = _stranger (launch);

        if (i % 2)
            shutdown (fd, SHUT_WR);
    }
}

static const struct attack {
    const char *sentence;
    void (*try) (const struct launch *launch);
    bool open;                      /* nobody can know yet that they are strangers */
} attacks[] = {
    { "random bytes", _random_bytes, false },
    { "the magic with absurd lengths", _absurd_lengths, false },
    { "2000 half frames", _half_frames, true },
    { "frames without an end or a key", _broken_frames, false },
    { "wrong tokens, longer and shorter ones", _wrong_tokens, false },
    { "other versions without the token", _other_versions, false },
    { "ranks that are here already", _rank_twice, false },
    { "numbers that are none, or out of range", _numbers_out_of_range, false },
    { "ranks of a step of another size", _other_tasks, false },
    { "bad nodes, hosts and addresses", _bad_names, false },
    { "1000 connections that come and go", _come_and_go, false },
    { "300 frames, byte by byte", _byte_by_byte, true },
    { "connections without a word", _silent, true },
};

static void _expect_nothing (void)
{
    while (strangers > 0)
        expect_nothing (stranger[--strangers]);
}

/* The launch that waits. */

static void _begin (struct launch *launch, int rank[TASKS])
{
    launch_begin (launch);
    for (int i = 0; i < LAST; i++)
        rank[i] = rank_come (launch, i);
    knock (launch);
}

static void _complete (struct launch *launch, int rank[TASKS])
{
    int64_t begin = now_us ();

    rank[LAST] = rank_come (launch, LAST);
    for (int i = 0; i < TASKS; i++)
        expect_right (launch, i, rank[i]);
    launch_expect_end (launch);
    console_expect (launch, "");
    if (as_built () && now_us () - begin > AT_ONCE_MS * INT64_C (1000))
        die ("the launch was delayed");
    _expect_nothing ();
    if (as_built () && launch->usage.ru_maxrss > MAX_MEMORY_KIB)
        die ("tf-rendezvous has taken %ld KiB", launch->usage.ru_maxrss);
}

static void _withstand (const void *with)
{
    const struct attack *attack = with;
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    _begin (&launch, rank);
    attack->try (&launch);
    if (!attack->open)
        _expect_nothing ();
    knock (&launch);
    _complete (&launch, rank);
}

/* One after the other, over and over. */
static void _try_all (const struct launch *launch)
{
    for (size_t i = 0; i < COUNT (attacks); i++) {
        attacks[i].try (launch);
        while (strangers > CROWD / 4)
            close (stranger[--strangers]);
    }
}

static void _withstand_all (const void *with __attribute__ ((unused)))
{
    const struct timespec second = { .tv_sec = 1 };
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];
    pid_t one, two;

    _begin (&launch, rank);
    one = meanwhile (_try_all, &launch);
    two = meanwhile (_try_all, &launch);
    nanosleep (&second, NULL);
    if (waitpid (one, NULL, WNOHANG) != 0 || waitpid (two, NULL, WNOHANG) != 0)
        die ("the strangers gave up");
    _complete (&launch, rank);
}

/* Silence, half a frame, and a frame of which a byte comes now and then. */
static void _show_out (const void *with __attribute__ ((unused)))
{
    struct deadline patience = deadline_in_ms (PATIENCE_MS);
    const struct timespec tenth = { .tv_nsec = 100000000 };
    struct launch launch = { .tasks = TASKS };
    unsigned char bytes[FRAME_HEADER + 1] = { 0 };
    size_t open = 30;
    int rank[TASKS];

    _begin (&launch, rank);
    _header (bytes, FRAME_VERSION, FRAME_MAX_REGISTRATION);
    for (size_t i = 0; i < open; i++)
        give (_stranger (&launch), bytes, i % 3 ? sizeof (bytes) : 0);
    while (open > 0) {
        if (deadline_passed (patience))
            die ("%zu strangers are still heard", open);
        nanosleep (&tenth, NULL);
        open = 0;
        for (size_t i = 0; i < strangers; i++) {
            open += recv (stranger[i], bytes, 1, MSG_PEEK) < 0 && errno == EAGAIN;
            if (i % 3 == 2)
                send (stranger[i], "x", 1, MSG_NOSIGNAL);
        }
    }
    console_expect (&launch, "srun: spank_tf: step 12.0: waiting for 1 of 8 ranks, on n3\n");
    rank[LAST] = rank_come (&launch, LAST);
    for (int i = 0; i < TASKS; i++)
        expect_right (&launch, i, rank[i]);
    launch_expect_end (&launch);
    if (as_built () && _cpu_ms (&launch) > 500)
        die ("tf-rendezvous used the processor for %ld ms while it waited", _cpu_ms (&launch));
}

/* Registered, and then garbage: more than is read at once, and a registration again. */
static void _garbage (const void *with __attribute__ ((unused)))
{
    static char bytes[20000];
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    _begin (&launch, rank);
    give_frame (rank[2], rank_frame (&launch, 2));
    give_frame (rank[3], rank_frame (&launch, 4));
    for (int i = 0; i < 50; i++)
        give (rank[1], bytes, sizeof (bytes));
    knock (&launch);
    rank[LAST] = rank_come (&launch, LAST);
    for (int i = 0; i < TASKS; i++)
        if (i != 1)
            expect_right (&launch, i, rank[i]);
    close (rank[1]);
    launch_expect_end (&launch);
    console_expect (&launch, "");
}

#define MANY 1000

/* Dialled by the kernel, and its process has yet to run: a node of many ranks starts so. */
static void _unspoken (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = MANY };
    int rank[MANY];

    launch_begin (&launch);
    rank[0] = rank_come (&launch, 0);
    knock (&launch);
    for (int i = 1; i < MANY; i++)
        rank[i] = dial (&launch);
    knock (&launch);
    for (int i = 1; i < MANY; i++)
        give_frame (rank[i], rank_frame (&launch, i));
    for (int i = 0; i < MANY; i++)
        expect_right (&launch, i, rank[i]);
    launch_expect_end (&launch);
    console_expect (&launch, "");
}

static void _unread (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = MANY, .buffer = 4096 };
    int rank[MANY];

    launch_begin (&launch);
    for (int i = 0; i < MANY; i++)
        rank[i] = rank_come (&launch, i);
    for (int i = 0; i < MANY; i++)
        if (i != 7)
            expect_right (&launch, i, rank[i]);
    if (waitpid (launch.pid, NULL, WNOHANG) != 0)
        die ("the kernel took the whole answer: nothing is shown");
    expect_right (&launch, 7, rank[7]);
    launch_expect_end (&launch);
    console_expect (&launch, "");
}

int main (void)
{
    char sentence[128];
    bool kept = true;

    files_raise (2 * CROWD);
    for (size_t i = 0; i < COUNT (attacks); i++) {
        snprintf (sentence, sizeof (sentence), "a launch is right and at once despite %s",
                  attacks[i].sentence);
        kept &= promise (sentence, _withstand, &attacks[i]);
    }
    kept &= promise ("a launch is right and at once despite all of it at the same time",
                     _withstand_all, NULL);
    kept &= promise ("what a rank says after its registration harms nobody else", _garbage, NULL);
    kept &= promise ("1000 ranks that have dialled and not yet spoken are no strangers", _unspoken,
                     NULL);
    kept &= promise ("a rank that does not read its answer delays nobody else", _unread, NULL);
    kept &= promise ("who shows no token in ten seconds is shown out; the user reads who is awaited",
                     _show_out, NULL);
    return kept ? 0 : 1;
}
