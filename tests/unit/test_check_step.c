/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-check --step: what a node finds out about srun's host, what it reports, and what is said about
 * all nodes together.
 */
#include "config.h"

#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/reach.h"
#include "check/report.h"
#include "check/step.h"
#include "common/deadline.h"
#include "common/port.h"

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

/* srun's host. */

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
    struct slurm_conf conf = { .path = "" };
    struct arguments arguments = { { NULL } };

    snprintf (conf.srun_ports, sizeof (conf.srun_ports), "%s", srun_ports);
    if (host)
        setenv ("SLURM_SRUN_COMM_HOST", host, 1);
    else
        unsetenv ("SLURM_SRUN_COMM_HOST");
    memset (&findings, 0, sizeof (findings));
    reach_check (&conf, &arguments, &findings);
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

/* Reports. */

static struct report report[8];
static size_t reports;

static void start (void)
{
    for (size_t i = 0; i < reports; i++)
        report_clear (&report[i]);
    reports = 0;
}

#define MAX_LISTED 8
#define HAS(...) \
    (const char *const[]) \
    { \
        __VA_ARGS__, NULL \
    }

/* The end of a node's address by which it reaches srun, such as "10.98.0."; NULL: not known. */
static const char *here;

/* The same of its address in the step, such as "10.101.0."; NULL: there is no list. */
static const char *used;

/* Add a node's report, with this version and these interfaces. `bad` is a finding, or NULL. */
static void node (const char *name, const char *version, const char *const interface[], const char *bad)
{
    struct interface list[MAX_LISTED];
    struct findings own = { .count = 0 };
    struct address by = { .family = 0 }, of_step = { .family = 0 };
    json_t *object;
    char text[32];
    int count = 0;

    snprintf (text, sizeof (text), "%s%s", here ? here : "", name + 1);
    assert_true (!here || address_parse (&by, text) == 0);
    snprintf (text, sizeof (text), "%s%s", used ? used : "", name + 1);
    assert_true (!used || address_parse (&of_step, text) == 0);
    for (; interface[count]; count++)
        assert_int_equal (interface_parse (&list[count], interface[count]), 0);
    findings_ok (&own, "x", "not reported");
    if (bad)
        findings_add (&own, "x", LEVEL_ERROR, "do it", "%s", bad);
    object = report_encode (name, version, &by, &of_step, list, count, &own);
    assert_int_equal (report_decode (&report[reports++], object), 0);
    json_decref (object);
}

/* What is said about the nodes. */
static void judged (const char *expected)
{
    memset (&findings, 0, sizeof (findings));
    report_judge (report, reports, &findings);
    assert_string_equal (printed (), expected);
    start ();
}

#define ETH(n) "eth0 other up 10.98.0." n "/16"
#define IB0(n) "ib0 infiniband up 10.101.0." n "/16"

TEST (nodes_that_are_alike_are_ok)
{
    node ("n1", "1.2", HAS (ETH ("1"), IB0 ("1")), NULL);
    node ("n2", "1.2", HAS (ETH ("2"), IB0 ("2")), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\n"
            "ok: all nodes are on the network 10.98.0.0/16 (eth0)\n"
            "ok: all nodes are on the network 10.101.0.0/16 (InfiniBand)\n");
    node ("n1", "1.2", HAS (ETH ("1")), NULL);
    judged ("ok: 1 node has spank-tf 1.2\nok: all nodes are on the network 10.98.0.0/16 (eth0)\n");
}

#define LOW_IB0(n) "ib0 infiniband up 10.1.0." n "/16"

TEST (the_network_by_which_nodes_reach_srun_is_named_and_no_network_twice)
{
    here = "10.98.0.";
    node ("n1", "1.2", HAS (ETH ("1"), LOW_IB0 ("1")), NULL);
    node ("n2", "1.2", HAS (ETH ("2"), LOW_IB0 ("2")), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\n"
            "ok: all nodes are on the network 10.98.0.0/16 (eth0)\n"
            "ok: all nodes are on the network 10.1.0.0/16 (InfiniBand)\n");
    here = "10.1.0.";
    node ("n1", "1.2", HAS (ETH ("1"), LOW_IB0 ("1")), NULL);
    node ("n2", "1.2", HAS (ETH ("2"), LOW_IB0 ("2")), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\nok: all nodes are on the network 10.1.0.0/16 (InfiniBand)\n");
    here = NULL;
    node ("n1", "1.2", HAS (IB0 ("1")), NULL);
    node ("n2", "1.2", HAS (IB0 ("2")), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\nok: all nodes are on the network 10.101.0.0/16 (InfiniBand)\n");
}

TEST (in_a_step_with_a_list_its_own_network_is_named)
{
    here = "10.98.0.";
    used = "10.101.0.";
    node ("n1", "1.2", HAS (ETH ("1"), IB0 ("1")), NULL);
    node ("n2", "1.2", HAS (ETH ("2"), IB0 ("2")), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\nok: the step's network is 10.101.0.0/16 (InfiniBand)\n");
    used = "10.98.0.";
    node ("n1", "1.2", HAS (ETH ("1"), IB0 ("1")), NULL);
    node ("n2", "1.2", HAS (ETH ("2"), IB0 ("2")), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\nok: the step's network is 10.98.0.0/16 (eth0)\n"
            "ok: all nodes are on the network 10.101.0.0/16 (InfiniBand)\n");
    /* a routed fabric, and a network of which each node has a part */
    used = "10.3.0.";
    node ("n1", "1.2", HAS (ETH ("1"), "hsn0 other up 10.3.0.1/32"), NULL);
    node ("n2", "1.2", HAS (ETH ("2"), "hsn0 other up 10.3.0.2/32"), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\nok: the step's network is hsn0\n");
    node ("n1", "1.2", HAS (ETH ("1"), "hsn0 other up 10.3.0.1/32"), NULL);
    node ("n2", "1.2", HAS (ETH ("2"), "hsn1 other up 10.3.0.2/32"), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\nok: the step's network is 10.3.0.1/32 and 10.3.0.2/32\n");
    /* an address that no interface has is as good as none */
    node ("n1", "1.2", HAS (ETH ("1")), NULL);
    node ("n2", "1.2", HAS (ETH ("2"), "hsn0 other up 10.3.0.2/32"), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\nok: all nodes are on the network 10.98.0.0/16 (eth0)\n");
    here = used = NULL;
}

TEST (different_versions_are_an_error)
{
    node ("n1", "1.2", HAS (ETH ("1")), NULL);
    node ("n2", "", HAS (ETH ("2")), NULL);
    node ("n3", "1.2", HAS (ETH ("3")), NULL);
    judged ("error: not all nodes have the same spank-tf: 1.2 on n1, n3; none on n2; install the "
            "same version everywhere\nok: all nodes are on the network 10.98.0.0/16 (eth0)\n");
}

TEST (nodes_that_are_not_on_the_network_are_named)
{
    node ("n1", "1.2", HAS (ETH ("1")), NULL);
    node ("n2", "1.2", HAS ("eth0 other up 10.99.0.1/16"), NULL);
    node ("n3", "1.2", HAS (ETH ("3")), NULL);
    judged ("ok: 3 nodes have spank-tf 1.2\n"
            "warning: not all nodes are on one network: n2 (eth0 is on 10.99.0.0/16); TensorFlow needs "
            "a route between the networks\n");
}

TEST (a_network_on_which_two_nodes_have_the_same_address_does_not_count)
{
    node ("n1", "1.2", HAS ("docker0 other up 172.17.0.1/16", ETH ("1")), NULL);
    node ("n2", "1.2", HAS ("docker0 other up 172.17.0.1/16", ETH ("2")), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\n"
            "ok: all nodes are on the network 10.98.0.0/16 (eth0)\n");
    node ("n1", "1.2", HAS ("docker0 other up 172.17.0.1/16"), NULL);
    node ("n2", "1.2", HAS ("docker0 other up 172.17.0.1/16"), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\n"
            "warning: not all nodes are on one network: n1 (docker0 is on 172.17.0.0/16, where "
            "two nodes have the same address), n2 (docker0 is on 172.17.0.0/16, where two nodes have the "
            "same address); TensorFlow needs a route between the networks\n");
}

TEST (nodes_without_infiniband_are_named_with_the_reason)
{
    node ("n1", "1.2", HAS (ETH ("1"), IB0 ("1")), NULL);
    node ("n2", "1.2", HAS (ETH ("2"), "ib0 infiniband down 10.101.0.2/16"), NULL);
    node ("n3", "1.2", HAS (ETH ("3")), NULL);
    node ("n4", "1.2", HAS (ETH ("4"), "ib0 infiniband no-carrier 10.101.0.4/16"), NULL);
    node ("n5", "1.2", HAS (ETH ("5"), "ib0 infiniband up -"), NULL);
    node ("n6", "1.2", HAS (ETH ("6"), "ib0 infiniband up 10.77.0.6/16"), NULL);
    node ("n7", "1.2", HAS (ETH ("7"), IB0 ("7")), NULL);
    judged ("ok: 7 nodes have spank-tf 1.2\n"
            "ok: all nodes are on the network 10.98.0.0/16 (eth0)\n"
            "warning: not all nodes are on one InfiniBand network: n2 (ib0 "
            "is down), n3 (no InfiniBand interface), n4 (ib0 has no carrier), n5 (ib0 has no "
            "address), n6 (ib0 is on 10.77.0.0/16); fix these nodes, or exclude them (--exclude)\n");
}

TEST (an_address_on_the_infiniband_network_is_not_infiniband)
{
    node ("n1", "1.2", HAS (IB0 ("1")), NULL);
    node ("n2", "1.2", HAS ("eth1 other up 10.101.0.2/16"), NULL);
    judged ("ok: 2 nodes have spank-tf 1.2\n"
            "ok: all nodes are on the network 10.101.0.0/16\n"
            "warning: not all nodes are on one InfiniBand network: n2 (no "
            "InfiniBand interface); fix these nodes, or exclude them (--exclude)\n");
}

TEST (a_finding_of_several_nodes_is_one_line)
{
    node ("n1", "1.2", HAS (ETH ("1")), "first");
    node ("n2", "1.2", HAS (ETH ("2")), "second");
    node ("n3", "1.2", HAS (ETH ("3")), "first");
    judged ("error: n1, n3: first; do it\nerror: n2: second; do it\nok: 3 nodes have spank-tf 1.2\n"
            "ok: all nodes are on the network 10.98.0.0/16 (eth0)\n");
}

TEST (what_all_nodes_share_is_said_once)
{
    node ("n1", "1.2", HAS (ETH ("1")), "both");
    node ("n2", "1.2", HAS (ETH ("2")), "both");
    judged ("error: both; do it\nok: 2 nodes have spank-tf 1.2\n"
            "ok: all nodes are on the network 10.98.0.0/16 (eth0)\n");
}

TEST (what_is_not_a_report_is_refused)
{
    static const char *const bad[] = {
        "[]",
        "{}",
        "{\"node\":\"n1\"}",
        "{\"node\":1,\"version\":\"\",\"interfaces\":[],\"findings\":[]}",
        "{\"node\":\"n1\",\"version\":\"\",\"interfaces\":{},\"findings\":[]}",
        "{\"node\":\"n1\",\"version\":\"\",\"interfaces\":[1],\"findings\":[]}",
        "{\"node\":\"n1\",\"version\":\"\",\"interfaces\":[\"x\"],\"findings\":[]}",
        "{\"node\":\"n1\",\"version\":\"\",\"interfaces\":[],\"findings\":[{}]}",
        "{\"node\":\"n1\",\"version\":\"\",\"interfaces\":[],\"findings\":1}",
        "{\"node\":\"n1\",\"version\":\"\",\"here\":\"x\",\"interfaces\":[],\"findings\":[]}",
    };
    struct report one;

    for (size_t i = 0; i < COUNT (bad); i++) {
        json_t *object = json_loads (bad[i], 0, NULL);

        if (report_decode (&one, object) == 0)
            fail_msg ("it is taken: %s", bad[i]);
        report_clear (&one);
        json_decref (object);
    }
}

/* Tasks. */

#define CONFIG(type, index) \
    "{\"cluster\":{\"chief\":[\"127.0.0.1:%d\"]," \
    "\"worker\":[\"[fd00::2]:4001\"]}," \
    "\"task\":{\"type\":\"" type "\",\"index\":" index "}}"

static void be_task (int port, const char *format, const char *local)
{
    char text[256], number[16];

    snprintf (number, sizeof (number), "%d", port);
    setenv ("SLURM_LOCALID", local, 1);
    setenv ("SLURM_STEP_NUM_NODES", "2", 1);
    setenv ("SLURM_STEP_NODELIST", "n[1-2]", 1);
    setenv ("SLURMD_NODENAME", "n1", 1);
    setenv ("SLURM_TF_PORT", number, 1);
    setenv ("SLURM_TF_ROLE", "worker", 1);
    if (format) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf (text, sizeof (text), format, port);
#pragma GCC diagnostic pop
        setenv ("TF_CONFIG", text, 1);
    } else
        unsetenv ("TF_CONFIG");
}

TEST (the_task_at_the_first_address_collects)
{
    struct errtext err;
    struct step step;

    be_task (4000, CONFIG ("chief", "0"), "0");
    assert_int_equal (step_read (&step, &err), 0);
    assert_true (step.has_cluster && step.collects && step.is_first_of_node);
    assert_int_equal (step.collector_port, 4000);
    assert_int_equal (step.nodes, 2);
    be_task (4000, CONFIG ("worker", "0"), "1");
    assert_int_equal (step_read (&step, &err), 0);
    assert_true (step.has_cluster && !step.collects && !step.is_first_of_node);
    be_task (4000, NULL, "0");
    assert_int_equal (step_read (&step, &err), 0);
    assert_false (step.has_cluster);
}

TEST (outside_of_a_step_it_says_so)
{
    struct errtext err;
    struct step step;

    be_task (4000, NULL, "0");
    unsetenv ("SLURM_LOCALID");
    assert_int_equal (step_read (&step, &err), -1);
    assert_string_equal (err.text, "this is not a task of a step (SLURM_LOCALID is not set); use "
                                   "srun tf-check --step");
    be_task (4000, "{\"cluster\":{}}%d", "0");
    assert_int_equal (step_read (&step, &err), -1);
    assert_string_equal (err.text, "TF_CONFIG does not name a task of a cluster");
}

/* In the sender, a byte is written to it after its first attempt to connect. */
static int tried = -1;

int __real_connect (int fd, const struct sockaddr *to, socklen_t length);
int __wrap_connect (int fd, const struct sockaddr *to, socklen_t length);

int __wrap_connect (int fd, const struct sockaddr *to, socklen_t length)
{
    int rc = __real_connect (fd, to, length), saved = errno;

    if (tried >= 0) {
        assert_int_equal (write (tried, "", 1), 1);
        close (tried);
        tried = -1;
    }
    errno = saved;
    return rc;
}

/* Another process, which sends this text to the port and then a report of n2. */
static pid_t sender (const struct step *step, const char *text)
{
    pid_t pid = fork ();

    if (pid == 0) {
        struct findings none = { .count = 0 };
        struct address unknown = { .family = 0 };
        struct interface list[1];
        struct errtext err;
        json_t *object;

        interface_parse (&list[0], ETH ("2"));
        if (text) {
            object = json_loads (text, JSON_DECODE_ANY, NULL);
            step_send (step, object, &err);
            json_decref (object);
        }
        object = report_encode ("n2", "1.2", &unknown, &unknown, list, 1, &none);
        _exit (step_send (step, object, &err) < 0);
    }
    return pid;
}

/* The sender tries to connect before this process listens. */
static void collect (const char *text, int expected)
{
    int pipefd[2];
    char byte;
    struct port_ranges any = { .count = 0 };
    struct errtext err = { "" };
    struct port *port;
    struct step step;
    pid_t pid;

    assert_int_equal (port_reserve (&port, &any, 0, &err), 0);
    be_task (port_number (port), CONFIG ("chief", "0"), "0");
    assert_int_equal (step_read (&step, &err), 0);
    assert_int_equal (pipe (pipefd), 0);
    tried = pipefd[1];
    pid = sender (&step, text);
    tried = -1;
    close (pipefd[1]);
    assert_int_equal (read (pipefd[0], &byte, 1), 1);
    close (pipefd[0]);
    start ();
    node ("n1", "1.2", HAS (ETH ("1")), NULL);
    assert_int_equal (step_collect (&step, report, 1, &err), expected);
    reports = (size_t)expected;
    /* The sender waits for this process. */
    kill (pid, SIGKILL);
    waitpid (pid, NULL, 0);
    port_release (port);
}

TEST (reports_are_collected)
{
    collect (NULL, 2);
    assert_string_equal (report[1].node, "n2");
    judged ("ok: 2 nodes have spank-tf 1.2\n"
            "ok: all nodes are on the network 10.98.0.0/16 (eth0)\n");
}

TEST (other_connections_are_ignored)
{
    collect ("[1]", 2);
    judged ("ok: 2 nodes have spank-tf 1.2\n"
            "ok: all nodes are on the network 10.98.0.0/16 (eth0)\n");
}

TEST (the_wait_for_reports_ends)
{
    struct port_ranges any = { .count = 0 };
    struct errtext err = { "" };
    struct port *port;
    struct step step;

    assert_int_equal (port_reserve (&port, &any, 0, &err), 0);
    be_task (port_number (port), CONFIG ("chief", "0"), "0");
    assert_int_equal (step_read (&step, &err), 0);
    hurry = true;
    start ();
    assert_int_equal (step_collect (&step, report, 0, &err), 0);
    hurry = false;
    port_release (port);
}

TEST (a_collector_that_is_not_there_is_named)
{
    struct port_ranges any = { .count = 0 };
    struct errtext err = { "" };
    char expected[128];
    struct port *port;
    struct step step;
    json_t *object = json_object ();

    assert_int_equal (port_reserve (&port, &any, 0, &err), 0);
    be_task (port_number (port), CONFIG ("chief", "0"), "0");
    assert_int_equal (step_read (&step, &err), 0);
    hurry = true;
    assert_int_equal (step_send (&step, object, &err), -1);
    hurry = false;
    snprintf (expected, sizeof (expected),
              "the task at 127.0.0.1:%d, which collects the reports, "
              "cannot be reached: Connection refused",
              port_number (port));
    assert_string_equal (err.text, expected);
    port_release (port);
    json_decref (object);
}
