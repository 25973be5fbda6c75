/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-status asks tf-rendezvous, through the real socket. The askers are child processes.
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rendezvous/asked.h"
#include "rendezvous/server.h"
#include "status/reply.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* Turns of the loop, of at most 50 ms each. */
#define MOST_TURNS 400
#define TURN_MS 50
#define NOBODY 65534

static struct server server;
static struct reply_source source;
static int children; /* that have been started */

/* As the user that this process is now. */
static void begin_to_listen (void)
{
    struct sockaddr_un address;
    socklen_t length = sizeof (address);
    char name[sizeof (address.sun_path) + 1] = "";

    asked_begin (&server);
    assert_true (server.asked.listener >= 0);
    assert_int_equal (getsockname (server.asked.listener, (struct sockaddr *)&address, &length), 0);
    memcpy (name, address.sun_path, length - offsetof (struct sockaddr_un, sun_path));
    name[0] = '@';
    assert_true (overview_name_parse (name, &source.uid, &source.number));
}

static int begin (void **unused __attribute__ ((unused)))
{
    struct errtext err;

    server = (struct server){ .config = { .step = "999.7", .lists = 1, .list = { { "worker:2", false } } } };
    assert_int_equal (step_create (&server.step, &server.config, &err), 0);
    assert_true ((server.peers.epoll = epoll_create1 (EPOLL_CLOEXEC)) >= 0);
    begin_to_listen ();
    children = 0;
    return 0;
}

static int end (void **unused __attribute__ ((unused)))
{
    asked_end (&server);
    close (server.peers.epoll);
    step_destroy (server.step);
    return 0;
}

EACH_TEST (begin, end)

/* tf-rendezvous' loop. */
static void turn (void)
{
    struct epoll_event event;
    int ms = deadline_left_ms (server.asked.again);

    if (epoll_wait (server.peers.epoll, &event, 1, ms < 0 || ms > TURN_MS ? TURN_MS : ms) == 1) {
        assert_ptr_equal (event.data.ptr, &server.asked);
        children += server.asked.end < 0;
        asked_receive (&server);
    }
    asked_check (&server);
}

/* Let it run until the child has ended. Returns its exit code. */
static int await (pid_t child)
{
    int status;

    for (int i = 0; i < MOST_TURNS; i++) {
        turn ();
        if (waitpid (child, &status, WNOHANG) == child)
            return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
    }
    return -1;
}

static bool is_answered (void)
{
    struct reply reply;
    struct errtext err;
    bool right;

    if (reply_ask (&reply, &source, OVERVIEW_ASKS_RANKS, deadline_in_ms (5000), &err) < 0)
        return false;
    right = strcmp (reply.overview.job_step, "999.7") == 0 && reply.overview.phase == OVERVIEW_LAUNCHES;
    reply_clear (&reply);
    return right;
}

static pid_t ask (void)
{
    pid_t child = fork ();

    if (child == 0)
        _exit (!is_answered ());
    return child;
}

static int connected (void)
{
    struct sockaddr_un address;
    socklen_t length = overview_address (&address, source.uid, source.number);
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal (connect (fd, (struct sockaddr *)&address, length), 0);
    return fd;
}

TEST (who_asks_is_answered)
{
    assert_int_equal (await (ask ()), 0);
    assert_int_equal (await (ask ()), 0);
    assert_between (children, 1, 2);
}

TEST (one_child_answers_all_who_wait)
{
    pid_t one = ask (), other = ask ();

    poll (NULL, 0, 200);
    assert_int_equal (await (one), 0);
    assert_int_equal (await (other), 0);
    assert_true (children <= 2);
}

TEST (it_is_found_by_its_name)
{
    struct reply_source *list;
    struct errtext err;
    int count = reply_sources ("/proc/net/unix", geteuid (), &list, &err);
    bool found = false;

    for (int i = 0; i < count; i++)
        found = found || list[i].number == source.number;
    free (list);
    assert_true (found);
}

/* The loop above would stand still, and not get there. */
TEST (an_asker_who_says_nothing_keeps_only_the_child_waiting)
{
    int silent = connected ();
    pid_t child;

    poll (NULL, 0, 10);
    for (int i = 0; i < 2; i++)
        turn ();
    assert_true (server.asked.child > 0);
    child = ask ();
    assert_int_equal (await (child), 0);
    close (silent);
}

TEST (what_is_no_question_gets_no_answer)
{
    static const char junk[] = "GET / HTTP/1.0\r\n\r\n";
    int fd = connected ();
    char byte;

    assert_int_equal (send (fd, junk, sizeof (junk) - 1, MSG_NOSIGNAL), sizeof (junk) - 1);
    assert_int_equal (await (ask ()), 0);
    assert_true (recv (fd, &byte, 1, MSG_DONTWAIT) <= 0 && errno != EAGAIN);
    close (fd);
}

TEST (another_user_gets_no_answer_but_root_does)
{
    pid_t child;

    if (geteuid () != 0)
        SKIP ("only root can be another user");
    asked_end (&server);
    assert_int_equal (seteuid (NOBODY), 0);
    begin_to_listen ();
    assert_int_equal (await (ask ()), 0);
    if ((child = fork ()) == 0)
        _exit (seteuid (0) < 0 || seteuid (NOBODY - 1) < 0 || is_answered ());
    assert_int_equal (await (child), 0);
    if ((child = fork ()) == 0)
        _exit (seteuid (0) < 0 || !is_answered ());
    assert_int_equal (await (child), 0);
    assert_int_equal (seteuid (0), 0);
}

TEST (a_listener_in_another_users_name_is_not_asked)
{
    struct reply_source other = { NOBODY, 1, 0, 0 };
    struct sockaddr_un address;
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct reply reply;
    struct errtext err;

    if (geteuid () == 0)
        assert_int_equal (seteuid (NOBODY - 1), 0);
    assert_int_equal (
        bind (fd, (struct sockaddr *)&address, overview_address (&address, other.uid, other.number)), 0);
    assert_int_equal (listen (fd, 1), 0);
    if (getuid () == 0)
        assert_int_equal (seteuid (0), 0);
    assert_int_equal (reply_ask (&reply, &other, OVERVIEW_ASKS_STEP, deadline_in_ms (0), &err), -1);
    assert_non_null (strstr (err.text, "listens in the name of user 65534"));
    close (fd);
}

TEST (no_descriptor_is_accepted)
{
    int fd = connected (), value = -1;
    socklen_t length = sizeof (value);
    char byte = 0, room[CMSG_SPACE (sizeof (int))] = { 0 };
    struct iovec data = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof (room)
    };
    struct cmsghdr *c = CMSG_FIRSTHDR (&message);

    if (getsockopt (fd, SOL_SOCKET, SO_PASSRIGHTS, &value, &length) < 0)
        SKIP ("this kernel is older than Linux 6.16");
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN (sizeof (int));
    memcpy (CMSG_DATA (c), &fd, sizeof (int));
    assert_int_equal (sendmsg (fd, &message, MSG_NOSIGNAL), -1);
    assert_int_equal (errno, EPERM);
    close (fd);
}
