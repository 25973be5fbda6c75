/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdnoreturn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/port.h"
#include "netns.h"

static const struct port_ranges any = { .count = 0 };

/* The wildcard address: "::" serves both families if this machine has IPv6. */
static const char *everywhere = "::";

static int isolate (void **unused __attribute__ ((unused)))
{
    netns_isolate ();
    if (access ("/proc/net/if_inet6", F_OK) < 0)
        everywhere = "0.0.0.0";
    return 0;
}

ALL_TESTS (isolate, NULL)

/* Simulate a node without IPv6: socket () fails for it. */
static bool no_ipv6;

int __real_socket (int domain, int type, int protocol);
int __wrap_socket (int domain, int type, int protocol);

int __wrap_socket (int domain, int type, int protocol)
{
    if (domain == AF_INET6 && no_ipv6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return __real_socket (domain, type, protocol);
}

/* Bind a socket to this address and port, with this socket option unless it is 0. -1 and errno. */
static int try_bind (const char *address, int number, int option)
{
    struct sockaddr_storage ss;
    struct address to;
    socklen_t len;
    int fd, on = 1, off = 0;

    assert_int_equal (address_parse (&to, address), 0);
    len = address_sockaddr (&to, number, &ss);
    assert_true ((fd = socket (to.family, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0);
    if (to.family == AF_INET6)
        setsockopt (fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof (off));
    if (option)
        setsockopt (fd, SOL_SOCKET, option, &on, sizeof (on));
    if (bind (fd, (struct sockaddr *)&ss, len) == 0)
        return fd;
    close (fd);
    return -1;
}

static bool can_bind (const char *address, int number, int option)
{
    int fd = try_bind (address, number, option);

    if (fd >= 0)
        close (fd);
    else
        assert_int_equal (errno, EADDRINUSE);
    return fd >= 0;
}

/* Connect to this port. Returns 0 or the errno of connect (). */
static int try_connect (int number)
{
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = connect_to (fd, number) < 0 ? errno : 0;

    close (fd);
    return rc;
}

static struct port *reserve (const struct port_ranges *ranges, unsigned int start)
{
    struct port *port = NULL;
    struct errtext err = { "" };

    if (port_reserve (&port, ranges, start, PORT_FOR_A_SERVER, &err) < 0)
        fail_msg ("%s", err.text);
    return port;
}

static struct port_ranges only (int number)
{
    return (struct port_ranges){ .count = 1, .range = { { number, number } } };
}

/* Find `size` consecutive ports that are free now. Each process starts at a different port. */
static struct port_range free_range (int size)
{
    for (int low = 12000 + getpid () % 10000;; low += size) {
        int good = 0;

        assert_true (low < 32000);
        while (good < size && can_bind ("0.0.0.0", low + good, 0))
            good++;
        if (good == size)
            return (struct port_range){ low, low + size - 1 };
    }
}

/* Ranges. */

TEST (at_most_64_ranges_are_accepted)
{
    struct port_ranges ranges;
    char text[65 * 6] = "30000";
    struct errtext err;

    for (int i = 1; i < PORT_MAX_RANGES; i++)
        strcat (text, ",30000");
    assert_int_equal (port_ranges_parse (&ranges, text, NULL), 0);
    assert_int_equal (ranges.count, PORT_MAX_RANGES);
    strcat (text, ",30000");
    assert_int_equal (port_ranges_parse (&ranges, text, &err), -1);
    assert_non_null (strstr (err.text, "...\" has more than 64 ranges"));
}

/* A held port. */

static const char *const address[] = { "0.0.0.0", "127.0.0.1", "127.0.1.1", "::" };

static size_t addresses (void)
{
    return COUNT (address) - (strcmp (everywhere, "::") != 0);
}

TEST (a_held_port_can_be_bound_on_no_address_without_so_reuseaddr)
{
    struct port *port = reserve (&any, 0);
    int number = port->number;

    assert_between (number, 1024, 65535);
    for (size_t i = 0; i < addresses (); i++) {
        assert_false (can_bind (address[i], number, 0));
        assert_false (can_bind (address[i], number, SO_REUSEPORT));
    }
    assert_int_equal (try_connect (number), ECONNREFUSED);
    port_release (port);
    for (size_t i = 0; i < addresses (); i++)
        assert_true (can_bind (address[i], number, 0));
}

TEST (a_server_with_so_reuseaddr_has_a_held_port_alone)
{
    struct port *port = reserve (&any, 0);
    int number = port->number, server;

    for (size_t i = 0; i < addresses (); i++) {
        assert_true ((server = try_bind (address[i], number, SO_REUSEADDR)) >= 0);
        assert_int_equal (try_connect (number), ECONNREFUSED);
        assert_int_equal (listen (server, 1), 0);
        if (strcmp (address[i], "127.0.1.1") != 0)
            assert_int_equal (try_connect (number), 0);
        assert_false (can_bind (address[i], number, SO_REUSEADDR));
        assert_false (can_bind (address[i], number, SO_REUSEPORT));
        close (server);
        assert_int_equal (try_connect (number), ECONNREFUSED);
        assert_false (can_bind (everywhere, number, 0));
    }
    port_release (port);
}

/* As gRPC's are where a program does not forbid it: JAX's coordinator. */
TEST (a_server_with_so_reuseport_too_can_bind_a_held_port)
{
    struct port *port = reserve (&any, 0);
    int server, on = 1;

    assert_true ((server = try_bind (everywhere, port->number, SO_REUSEADDR)) >= 0);
    close (server);
    server = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal (setsockopt (server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof (on)), 0);
    assert_int_equal (setsockopt (server, SOL_SOCKET, SO_REUSEPORT, &on, sizeof (on)), 0);
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons ((uint16_t)port->number) };
    assert_int_equal (bind (server, (struct sockaddr *)&in, sizeof (in)), 0);
    assert_int_equal (listen (server, 1), 0);
    assert_int_equal (try_connect (port->number), 0);
    close (server);
    port_release (port);
}

/* What is given up, as SECURITY.md says: it must name the number before the server listens. */
TEST (another_user_can_only_take_a_held_port_with_so_reuseaddr_and_then_the_server_fails)
{
    struct port *port;
    int tell[2], server;
    pid_t pid;
    char byte;

    if (geteuid () != 0)
        SKIP ("only root can be another user");
    port = reserve (&any, 0);
    assert_int_equal (pipe2 (tell, O_CLOEXEC), 0);
    if ((pid = fork ()) == 0) {
        int fd;

        if (setuid (65534) < 0 || can_bind (everywhere, port->number, 0)
            || can_bind (everywhere, port->number, SO_REUSEPORT)
            || (fd = try_bind (everywhere, port->number, SO_REUSEADDR)) < 0 || listen (fd, 1) < 0
            || write (tell[1], "", 1) != 1)
            _exit (2);
        pause ();
    }
    close (tell[1]);
    assert_int_equal (read (tell[0], &byte, 1), 1);
    server = try_bind (everywhere, port->number, SO_REUSEADDR);
    assert_int_equal (server, -1);
    assert_int_equal (errno, EADDRINUSE);
    kill (pid, SIGKILL);
    end_of (pid);
    close (tell[0]);
    port_release (port);
}

/* srun's port: of a rendezvous. */

static struct port *reserve_listening (const struct port_ranges *ranges)
{
    struct port *port = NULL;
    struct errtext err = { "" };

    if (port_reserve (&port, ranges, 0, PORT_TO_LISTEN, &err) < 0)
        fail_msg ("%s", err.text);
    return port;
}

static int listen_anew (const struct port *port)
{
    struct errtext err = { "" };
    int fd = port_listen_anew (port, &err);

    if (fd < 0)
        fail_msg ("%s", err.text);
    return fd;
}

TEST (a_new_socket_listens_in_the_place_of_the_reserved_one)
{
    struct port *port = reserve_listening (&any);
    int number = port->number, copy = dup (port->socket), fd;

    assert_int_equal (try_connect (number), 0);
    fd = listen_anew (port);
    assert_int_equal (try_connect (number), 0);
    assert_int_equal (fcntl (fd, F_GETFD), FD_CLOEXEC);
    /* What another process has of the first socket does not take a connection. */
    close (fd);
    assert_int_equal (try_connect (number), ECONNREFUSED);
    close (copy);
    port_release (port);
    assert_true (can_bind (everywhere, number, 0));
}

/* As root's srun --uid: SO_REUSEPORT does not help. */
TEST (a_port_that_root_has_reserved_is_listened_on_by_the_user)
{
    struct port *port;
    pid_t pid;

    if (geteuid () != 0)
        SKIP ("only root can be another user");
    port = reserve_listening (&any);
    if ((pid = fork ()) == 0) {
        if (setuid (65534) < 0)
            _exit (2);
        listen_anew (port);
        _exit (try_connect (port->number));
    }
    assert_int_equal (end_of (pid), 0);
    port_release (port);
}

/* Ranges in use. */

TEST (ranges_are_searched_from_the_start_until_no_port_is_free)
{
    struct port_range range = free_range (4);
    struct port_ranges ranges = { .count = 2,
                                  .range = { { range.low, range.low + 1 }, { range.high - 1, range.high } } };
    struct port *port[4], *fifth = NULL;
    struct errtext err;
    char message[64];

    for (int i = 0; i < 4; i++) {
        port[i] = reserve (&ranges, UINT32_MAX - 1);
        assert_int_equal (port[i]->number, range.low + (2 + i) % 4);
    }
    snprintf (message, sizeof (message), "no port of %d-%d,%d-%d is free", range.low, range.low + 1,
              range.high - 1, range.high);
    assert_int_equal (port_reserve (&fifth, &ranges, 0, PORT_FOR_A_SERVER, &err), -1);
    assert_string_equal (err.text, message);
    assert_null (fifth);
    port_release (port[2]);
    fifth = reserve (&ranges, 3);
    assert_int_equal (fifth->number, range.low);
    port_release (fifth);
    port_release (port[0]);
    port_release (port[1]);
    port_release (port[3]);
}

TEST (a_port_with_another_listener_is_skipped)
{
    struct port_range range = free_range (2);
    struct port_ranges ranges = { .count = 1, .range = { range } };
    int other = try_bind ("127.0.0.1", range.low, SO_REUSEPORT);
    struct port *port;

    assert_int_equal (listen (other, 1), 0);
    port = reserve (&ranges, 0);
    assert_int_equal (port->number, range.high);
    port_release (port);
    close (other);
}

/* A server on this port that closes a connection, which is then in TIME_WAIT, and ends. */
static void leave_time_wait (int number)
{
    int server = try_bind (everywhere, number, SO_REUSEADDR), client, accepted;
    char byte;

    assert_int_equal (listen (server, 1), 0);
    client = connected_to (number);
    assert_true ((accepted = accept (server, NULL, NULL)) >= 0);
    close (accepted);
    assert_int_equal (read (client, &byte, 1), 0);
    close (client);
    close (server);
    assert_false (can_bind (everywhere, number, 0));
}

TEST (a_port_with_connections_in_time_wait_is_taken_last)
{
    struct port_range range = free_range (2);
    struct port_ranges ranges = { .count = 1, .range = { range } };
    struct port *port[2], *third;
    struct errtext err;

    leave_time_wait (range.low);
    for (int i = 0; i < 2; i++) {
        port[i] = reserve (&ranges, 0);
        assert_int_equal (port[i]->number, i == 0 ? range.high : range.low);
    }
    assert_int_equal (port_reserve (&third, &ranges, 0, PORT_FOR_A_SERVER, &err), -1);
    port_release (port[0]);
    port_release (port[1]);
}

/* Ports that stay reserved across exec. */

struct program {
    pid_t pid;
    int stdin_pipe;
    int number;         /* its port */
};

/*
 * Fork a child that reserves a port, calls port_leave (), and executes `cat`, which has
 * started when this returns and ends at the end of its stdin. `max_files` is the child's
 * RLIMIT_NOFILE; 0 keeps the limit of this process.
 */
static struct program run_program (rlim_t max_files)
{
    struct program program;
    int tell[2], feed[2], end;

    assert_int_equal (pipe2 (tell, O_CLOEXEC), 0);
    assert_int_equal (pipe2 (feed, O_CLOEXEC), 0);
    if ((program.pid = fork ()) == 0) {
        struct rlimit limit;
        struct port *port;

        getrlimit (RLIMIT_NOFILE, &limit);
        limit.rlim_cur = max_files ? max_files : limit.rlim_cur;
        if (setrlimit (RLIMIT_NOFILE, &limit) < 0
            || port_reserve (&port, &any, (unsigned int)getpid (), PORT_FOR_A_SERVER, NULL) < 0)
            _exit (1);
        program.number = port->number;
        port_leave (port);
        dup2 (feed[0], STDIN_FILENO);
        if (write (tell[1], &program.number, sizeof (program.number)) > 0)
            execlp ("cat", "cat", NULL);
        _exit (1);
    }
    close (tell[1]);
    close (feed[0]);
    assert_int_equal (read (tell[0], &program.number, sizeof (program.number)), sizeof (program.number));
    assert_int_equal (read (tell[0], &end, sizeof (end)), 0);      /* exec closed it */
    close (tell[0]);
    program.stdin_pipe = feed[1];
    return program;
}

static void end_program (struct program program)
{
    close (program.stdin_pipe);
    assert_int_equal (end_of (program.pid), 0);
}

/* The descriptor of the only socket that the program has and this process does not; or -1. */
static int its_socket (struct program program)
{
    struct dirent *entry;
    char path[64];
    int found = -1;
    DIR *dir;

    snprintf (path, sizeof (path), "/proc/%d/fd", (int)program.pid);
    assert_non_null (dir = opendir (path));
    while ((entry = readdir (dir))) {
        char its[64] = "", ours[64] = "", link[300];

        snprintf (link, sizeof (link), "/proc/self/fd/%s", entry->d_name);
        if (readlinkat (dirfd (dir), entry->d_name, its, sizeof (its) - 1) < 0
            || strncmp (its, "socket:", 7) != 0
            || (readlink (link, ours, sizeof (ours) - 1) > 0 && strcmp (its, ours) == 0))
            continue;
        assert_int_equal (found, -1);
        found = atoi (entry->d_name);
    }
    closedir (dir);
    return found;
}

TEST (a_held_port_stays_reserved_until_the_program_ends)
{
    struct program program = run_program (0);
    struct port_ranges one = only (program.number);
    struct port *port;

    assert_true (its_socket (program) >= 200);
    assert_false (can_bind (everywhere, program.number, 0));
    assert_int_equal (port_reserve (&port, &one, 0, PORT_FOR_A_SERVER, NULL), -1);
    assert_int_equal (try_connect (program.number), ECONNREFUSED);
    assert_true (can_bind (everywhere, program.number, SO_REUSEADDR));
    end_program (program);
    assert_true (can_bind (everywhere, program.number, 0));
}

TEST (the_port_stays_reserved_with_a_low_limit_of_open_files)
{
    struct program program = run_program (64);

    assert_between (its_socket (program), 3, 63);
    assert_false (can_bind (everywhere, program.number, 0));
    end_program (program);
}

/* Nodes without IPv6. */

TEST (a_node_without_ipv6_uses_ipv4)
{
    struct port *port;
    int fd;

    no_ipv6 = true;
    port = reserve (&any, 0);
    assert_false (can_bind ("0.0.0.0", port->number, 0));
    assert_true ((fd = port_listen_on (port->number, NULL)) >= 0);
    assert_int_equal (try_connect (port->number), 0);
    close (fd);
    port_release (port);
    no_ipv6 = false;
}

/* Processes that want the same ports at a time. */

#define RIVALS 24
#define ROUNDS 40

/* A process takes a port when `go` is closed, tells which, and has it until `end` is closed. */
struct rivals {
    int go[2], number[2], end[2];
};

static void be_rival (const struct rivals *rivals, const struct port_ranges *ranges)
{
    struct port *port = NULL;
    int number = 0;
    char byte;

    close (rivals->go[1]);
    close (rivals->end[1]);
    if (read (rivals->go[0], &byte, 1) == 0 && port_reserve (&port, ranges, 0, PORT_FOR_A_SERVER, NULL) == 0)
        number = port->number;
    if (write (rivals->number[1], &number, sizeof (number)) != sizeof (number))
        _exit (1);
    _exit (read (rivals->end[0], &byte, 1) != 0);
}

/* How many of RIVALS processes have got a port of the range; each a port of its own. */
static int compete (const struct port_range range)
{
    const struct port_ranges ranges = { .count = 1, .range = { range } };
    struct rivals rivals;
    bool taken[65536] = { false };
    int got = 0, number, status;

    assert_int_equal (pipe2 (rivals.go, O_CLOEXEC), 0);
    assert_int_equal (pipe2 (rivals.number, O_CLOEXEC), 0);
    assert_int_equal (pipe2 (rivals.end, O_CLOEXEC), 0);
    for (int i = 0; i < RIVALS; i++)
        if (fork () == 0)
            be_rival (&rivals, &ranges);
    close (rivals.go[1]);
    for (int i = 0; i < RIVALS; i++) {
        assert_int_equal (read (rivals.number[0], &number, sizeof (number)), sizeof (number));
        assert_false (taken[number]);
        taken[number] = number > 0;
        got += number > 0;
    }
    close (rivals.end[1]);
    for (int i = 0; i < RIVALS; i++) {
        assert_true (wait (&status) > 0);
        assert_int_equal (status, 0);
    }
    close (rivals.go[0]);
    close (rivals.end[0]);
    close (rivals.number[0]);
    close (rivals.number[1]);
    return got;
}

/* All have SO_REUSEADDR when they have the port. */
TEST (of_many_processes_each_gets_a_port_of_its_own)
{
    struct port_range range = free_range (RIVALS - 4);

    for (int round = 0; round < ROUNDS; round++)
        assert_int_equal (compete (range), RIVALS - 4);
}

/* Connections in TIME_WAIT are on all ports: whoever binds one needs SO_REUSEADDR before. */
TEST (so_does_each_where_connections_in_time_wait_are_on_every_port)
{
    struct port_range range = free_range (8);

    for (int number = range.low; number <= range.high; number++)
        leave_time_wait (number);
    for (int round = 0; round < ROUNDS; round++)
        assert_int_equal (compete (range), 8);
}

/*
 * The last one: it leaves the process in a network namespace of its own, where the kernel has few ports to
 * choose from.
 */
TEST (the_kernel_gives_a_held_port_to_no_program_by_itself)
{
    enum { LOW = 40000, FEW = 8 };
    struct port *port[FEW];
    int server, fd;
    FILE *f;

    netns_enter ();
    assert_true (netns_ip ("link set lo up"));
    assert_non_null (f = fopen ("/proc/sys/net/ipv4/ip_local_port_range", "w"));
    fprintf (f, "%d %d\n", LOW, LOW + FEW - 1);
    assert_int_equal (fclose (f), 0);
    assert_true ((server = try_bind ("127.0.0.1", 30000, SO_REUSEADDR)) >= 0);
    assert_int_equal (listen (server, 64), 0);
    for (int i = 0; i < FEW; i++) {
        struct port_ranges one = only (LOW + i);

        port[i] = reserve (&one, 0);
    }
    assert_int_equal (try_bind (everywhere, 0, SO_REUSEADDR), -1);
    assert_int_equal (try_bind (everywhere, 0, SO_REUSEPORT), -1);
    assert_int_equal (try_bind ("127.0.0.1", 0, SO_REUSEADDR), -1);
    assert_int_equal (try_connect (30000), EADDRNOTAVAIL);
    port_release (port[3]);
    assert_true ((fd = try_bind (everywhere, 0, SO_REUSEADDR)) >= 0);
    close (fd);
    assert_int_equal (try_connect (30000), 0);
    for (int i = 0; i < FEW; i++)
        if (i != 3)
            port_release (port[i]);
    close (server);
}
