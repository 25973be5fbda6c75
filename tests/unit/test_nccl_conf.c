/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/nccl_conf.h"

#define NAME "NCCL_SOCKET_IFNAME"

static bool sets (const char *text)
{
    return nccl_conf_sets (file_with (text), NAME);
}

TEST (a_line_with_the_name_sets_it)
{
    /* clang-format off */
    static const char *const yes[] = {
        NAME "=eth0", NAME "=\n", NAME "==ib0\nNCCL_DEBUG=INFO\n",
        "NCCL_DEBUG=INFO\n\n# interfaces\n" NAME "=^lo\n", "no line of NCCL's\n" NAME "=a=b\r\n",
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (yes); i++)
        if (!sets (yes[i]))
            fail_msg ("it is not set: %s", yes[i]);
}

TEST (another_line_does_not)
{
    /* clang-format off */
    static const char *const no[] = {
        "", "\n", NAME, NAME "\n", NAME " =eth0\n", " " NAME "=eth0\n", "#" NAME "=eth0\n",
        NAME "S=eth0\n", "NCCL_SOCKET_IFNAM=eth0\n", "X=" NAME "=eth0\n", "export " NAME "=eth0\n",
        "nccl_socket_ifname=eth0\n",
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (no); i++)
        if (sets (no[i]))
            fail_msg ("it is set: %s", no[i]);
}

/* The name in the middle of a line is not at the beginning of what is read at a time, either. */
TEST (a_line_may_be_long)
{
    char text[2000];

    for (int width = 240; width < 270; width++) {
        snprintf (text, sizeof (text), "X=%0*d" NAME "=eth0\n", width, 0);
        assert_false (sets (text));
        snprintf (text, sizeof (text), "X=%0*d\n" NAME "=eth0\n", width, 0);
        assert_true (sets (text));
    }
}

TEST (what_is_not_a_readable_regular_file_sets_nothing)
{
    char fifo[64];

    assert_false (nccl_conf_sets ("/nowhere/nccl.conf", NAME));
    assert_false (nccl_conf_sets ("/tmp", NAME));
    assert_false (nccl_conf_sets ("/dev/zero", NAME));
    snprintf (fifo, sizeof (fifo), "%s.fifo", file_with (""));
    assert_int_equal (mkfifo (fifo, 0600), 0);
    assert_false (nccl_conf_sets (fifo, NAME));
    assert_int_equal (unlink (fifo), 0);
}
