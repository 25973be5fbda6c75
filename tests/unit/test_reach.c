/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-check in a step: what a node finds out about srun's host.
 */
#include "config.h"

#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check/reach.h"
#include "common/deadline.h"

static struct findings findings;

static const char *printed (void)
{
    static char text[16384];
    FILE *f = fmemopen (text, sizeof (text), "w");

    findings_print (&findings, false, "", f);
    fclose (f);
    return text;
}

/* Deadlines that are waited for end at once. */
static bool hurry;

struct deadline __real_deadline_in_ms (int64_t ms);
struct deadline __wrap_deadline_in_ms (int64_t ms);

struct deadline __wrap_deadline_in_ms (int64_t ms)
{
    return __real_deadline_in_ms (hurry ? 200 : ms);
}

TEST (a_port_that_accepts_or_refuses_is_reached)
{
    struct address loopback;
    int port[2] = { 0 }, error[2], fd = listening_socket ("127.0.0.1", &port[0], 5);
    int bound = bound_socket ("127.0.0.1", &port[1]);

    address_parse (&loopback, "127.0.0.1");
    reach_ports (&loopback, port, error, 2, 60000);
    assert_int_equal (error[0], 0);
    assert_int_equal (error[1], 0);
    close (fd);
    close (bound);
}

TEST (a_port_that_does_not_answer_is_not_reached)
{
    struct address loopback;
    int port[2] = { 0 }, error[2], fd = full_listener (&port[0]),
        bound = bound_socket ("127.0.0.1", &port[1]);

    address_parse (&loopback, "127.0.0.1");
    reach_ports (&loopback, port, error, 2, 200);
    assert_int_equal (error[0], ETIMEDOUT);
    assert_int_equal (error[1], 0);
    close (fd);
    close (bound);
}

/*
 * As srun, which complains about a connection that says nothing. There is one if this process has had no CPU
 * time for 0.2 s.
 */
TEST (what_listens_sees_no_connection)
{
    struct address loopback;
    int port = 0, error, fd = listening_socket ("127.0.0.1", &port, 5), seen;
    struct deadline in_time;

    address_parse (&loopback, "127.0.0.1");
    assert_int_equal (fcntl (fd, F_SETFL, O_NONBLOCK), 0);
    do {
        in_time = deadline_in_ms (100);
        reach_ports (&loopback, &port, &error, 1, 60000);
        assert_int_equal (error, 0);
        if ((seen = accept (fd, NULL, NULL)) >= 0)
            close (seen);
    } while (deadline_passed (in_time));
    assert_int_equal (seen, -1);
    close (fd);
}

TEST (a_host_without_a_route_is_not_reached)
{
    struct address nowhere;
    int port = 40000, error;

    address_parse (&nowhere, "255.255.255.255");
    reach_ports (&nowhere, &port, &error, 1, 60000);
    assert_int_not_equal (error, 0);
}

static void check_reach (const char *host, const char *srun_ports)
{
    static struct installation installation;

    snprintf (installation.conf.srun_ports, sizeof (installation.conf.srun_ports), "%s", srun_ports);
    if (host)
        setenv ("SLURM_SRUN_COMM_HOST", host, 1);
    else
        unsetenv ("SLURM_SRUN_COMM_HOST");
    memset (&findings, 0, sizeof (findings));
    reach_check (&installation, &findings);
}

TEST (the_first_the_middle_and_the_last_port_are_tried)
{
    check_reach ("127.0.0.1", "21000-22000");
    assert_string_equal (printed (), "ok: srun's host 127.0.0.1 is reached, on port 21000, 21500, "
                                     "22000\n");
    check_reach ("127.0.0.1", "21000-22000,23000-23000");
    assert_string_equal (printed (), "ok: srun's host 127.0.0.1 is reached, on port 21000, 21500, "
                                     "22000, 23000\n");
    check_reach ("127.0.0.1", "");
    assert_string_equal (printed (), "ok: srun's host 127.0.0.1 is reached, on port 32768, 46883, "
                                     "60999\n");
}

TEST (a_blocked_range_is_an_error)
{
    char range[32], line[256];
    int port = 0, fd = full_listener (&port);

    snprintf (range, sizeof (range), "%d-%d", port, port);
    hurry = true;
    check_reach ("127.0.0.1", range);
    hurry = false;
    snprintf (line, sizeof (line),
              "error: srun's host 127.0.0.1 cannot be reached on port %d: "
              "Connection timed out; open SrunPortRange there for connections from this node\n",
              port);
    assert_string_equal (printed (), line);
    close (fd);
}

TEST (an_unknown_host_of_srun_is_a_warning)
{
    unsetenv ("SLURM_LAUNCH_NODE_IPADDR");
    check_reach (NULL, "");
    assert_string_equal (printed (), "warning: the address of srun's host is not in the "
                                     "environment; start it by srun\n");
    setenv ("SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1", 1);
    check_reach (NULL, "");
    assert_int_equal (findings.worst, LEVEL_OK);
}
