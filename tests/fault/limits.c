/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Launches at their limits: open files, the kernel's queues of new connections, and the longest
 * environment variable that Linux takes.
 */
#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rendezvous/server.h"
#include "simulation.h"

#define TASKS 8
/* The longest TF_CONFIG. With its name, '=' and NUL it is shorter than 128 KiB. */
#define MAX_TF_CONFIG 131060

/* Open files. */

/* There are more unauthenticated connections than files that are not needed for ranks. */
TEST ("a step that just fits is launched, despite unauthenticated connections")
{
    struct launch launch = { .tasks = TASKS, .file_limit = SERVER_OWN_FILES + TASKS };
    int rank[TASKS], other[100];

    if (rendezvous_is_wrapped ())
        skip ("the wrapper takes files of its own");
    launch_start (&launch);
    for (int i = 0; i < 100; i++)
        send_all (other[i] = connect_to_rendezvous (&launch), "SpTF", 4);
    register_all (&launch, rank);
    expect_launched (&launch, rank);
    for (int i = 0; i < 100; i++)
        expect_no_data (other[i]);
    expect_stderr (&launch, "");
}

/* Many ranks at once. */

static void _on_answer (void *arg, int number, struct frame *answer)
{
    check_answer (arg, number, answer);
}

static void _register_at_once (struct launch *launch, answer_callback *on_answer)
{
    struct frame **registration = calloc ((size_t)launch->tasks, sizeof (*registration));

    if (!registration)
        die ("no memory");
    for (int i = 0; i < launch->tasks; i++)
        registration[i] = encode_registration (launch, i);
    register_ranks (launch->contact.port, registration, launch->tasks, on_answer, launch);
    for (int i = 0; i < launch->tasks; i++)
        frame_destroy (registration[i]);
    free (registration);
}

/* The kernel's queues, as short as older kernels and some sites have them, and common limits. */
static void _shorten_queues (void)
{
    if (unshare (CLONE_NEWNET) < 0)
        skip ("only root may create a network namespace");
    if (system ("ip link set lo up && echo 128 > /proc/sys/net/core/somaxconn"
                " && echo 128 > /proc/sys/net/ipv4/tcp_max_syn_backlog")
        != 0)
        skip ("ip (iproute2) or a writable /proc/sys is missing");
}

TEST ("5,000 ranks register at once through queues of 128 connections")
{
    struct launch launch = { .tasks = 5000, .file_limit = 8192 };

    if (rendezvous_is_wrapped ())
        skip ("the wrapper takes files of its own");
    _shorten_queues ();
    launch_start (&launch);
    _register_at_once (&launch, _on_answer);
    launch_expect_exit (&launch);
    expect_stderr (&launch, "");
}

/* The length of TF_CONFIG. */

/*
 * Choose the number of tasks, and their ports, so that the longest TF_CONFIG has exactly that
 * length. With 5,000 tasks it has about 115,000 bytes.
 */
static void _set_longest_tf_config (struct launch *launch, size_t length)
{
    size_t longest;

    /* A task adds 24 bytes at most. */
    for (launch->tasks = 5000; (longest = longest_tf_config (launch)) < length;)
        launch->tasks += (int)((length - longest + 23) / 24);
    launch->short_ports = (int)(longest - length);
}

TEST ("the longest TF_CONFIG that Linux takes reaches every rank completely")
{
    struct launch launch = { .tasks = 0 };

    _set_longest_tf_config (&launch, MAX_TF_CONFIG);
    launch_start (&launch);
    _register_at_once (&launch, _on_answer);
    launch_expect_exit (&launch);
    expect_stderr (&launch, "");
}

int main (void)
{
    raise_file_limit (7000);
    return run_tests () ? 0 : 1;
}
