/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Real sockets. The children of the test are the task.
 */
#include "config.h"

#include "sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/connections.h"

/* A child connects to this port, or also accepts the connection; when it has, it waits for its end. */
static pid_t child_with (int server, int port, bool accepts)
{
    int ready[2];
    pid_t pid;
    char c;

    assert_int_equal (pipe (ready), 0);
    if ((pid = fork ()) == 0) {
        /* With a test that fails, too. */
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        connected_to (port);
        if (accepts && accept (server, NULL, NULL) < 0)
            _exit (1);
        if (write (ready[1], "", 1) == 1)
            pause ();
        _exit (1);
    }
    close (ready[1]);
    assert_int_equal (read (ready[0], &c, 1), 1);
    close (ready[0]);
    return pid;
}

static void end (pid_t pid)
{
    kill (pid, SIGKILL);
    waitpid (pid, NULL, 0);
}

static const char *seen (struct life_peers *peers)
{
    static struct address_text room;

    connections_look (peers, 0);
    assert_true (peers->count <= 1);
    return peers->count ? address_print (&peers->address[0], &room) : "";
}

TEST (a_connection_to_a_process_that_is_not_of_the_task_is_seen_and_kept)
{
    struct life_peers peers = { .count = 0 };
    int port = 0, server = bound_socket ("127.0.0.1", &port), other;
    pid_t child;

    assert_int_equal (listen (server, 4), 0);
    assert_string_equal (seen (&peers), "");
    child = child_with (server, port, false);
    other = accept (server, NULL, NULL);
    assert_true (other >= 0);
    assert_string_equal (seen (&peers), "127.0.0.1");
    end (child);
    close (other);
    assert_string_equal (seen (&peers), "127.0.0.1");
    close (server);
}

TEST (a_connection_within_the_task_and_one_of_another_process_are_not)
{
    struct life_peers peers = { .count = 0 };
    int port = 0, server = bound_socket ("127.0.0.1", &port), fd;
    pid_t child;

    assert_int_equal (listen (server, 4), 0);
    child = child_with (server, port, true);
    fd = connected_to (port);
    assert_string_equal (seen (&peers), "");
    end (child);
    close (fd);
    close (server);
}
