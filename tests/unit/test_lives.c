/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a supervisor makes of the replies of its task's fork server, which is the test; and of orders to
 * check its node.
 */
#include "config.h"

#include "unit.h"

#include <sys/socket.h>
#include <unistd.h>

#include "protocol/fork_request.h"
#include "supervise/checks.h"
#include "supervise/lives.h"

static bool late;               /* a reply comes when nothing waits for it any more */

int __wrap_poll (struct pollfd *pfd, nfds_t count, int ms);
int __real_poll (struct pollfd *pfd, nfds_t count, int ms);

int __wrap_poll (struct pollfd *pfd, nfds_t count, int ms)
{
    return late ? 0 : __real_poll (pfd, count, ms);
}

TEST (no_request_gets_the_late_reply_to_another)
{
    const pid_t fork_server = fork ();
    const struct fork_reply reply = { .kind = FORK_BEGUN, .pid = 40000 };
    struct errtext err = { "" };
    struct lives lives;
    int pair[2];

    if (fork_server == 0)
        for (;;)
            pause ();
    assert_int_equal (socketpair (AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    lives = (struct lives){ .fork_server = fork_server, .requests = pair[0], .answer = -1 };
    late = true;
    assert_int_equal (lives_begin (&lives, 1, -1, &err), -1);
    assert_string_equal (err.text, "tf-fork-server, which starts it, does not answer");
    late = false;
    send (pair[1], &reply, sizeof (reply), MSG_NOSIGNAL);
    assert_int_equal (lives_begin (&lives, 1, -1, &err), -1);
    assert_false (lives_can_restart (&lives));
    lives_finish (&lives);
    close (pair[1]);
}

static void order_check (struct checks *checks, int number)
{
    const struct check_order order = { .number = number };

    checks_take (checks, &order);
}

/* The rendezvous has stopped waiting for it. */
TEST (a_check_that_is_given_up_has_no_report_in_any_later_life)
{
    struct lives lives = { .requests = -1, .answer = -1 };
    struct checks checks;

    checks_init (&checks, "files");
    order_check (&checks, 1);
    checks_begin (&checks, &lives, 0);
    assert_true (checks_kill (&checks, false, 0) && checks_finish (&checks, false, 0));
    assert_int_equal (checks.report.number, 1);
    order_check (&checks, 2);
    for (int life = 0; life < 2; life++) {
        checks_cancel (&checks);
        assert_int_equal (checks.report.number, 1);
    }
    order_check (&checks, 3);
    checks_begin (&checks, &lives, 0);
    checks_cancel (&checks);
    assert_int_equal (checks.report.number, 0);
}
