/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How tf-status finds what tf-rendezvous knows of steps, and reads it; shutdown.golden and step.golden have
 * that.
 */
#include "config.h"

#include "unit.h"

#include <unistd.h>

#include "status/relay.h"
#include "status/reply.h"

/* Names of sockets. */

TEST (sources_are_the_users_own)
{
    const char *path =
        file_with ("Num       RefCount Protocol Flags    Type St Inode Path\n"
                   "0: 00000002 00000000 00010000 0001 01 1 @spank_tf/overview/1000/0000000000000abc\n"
                   "0: 00000003 00000000 00000000 0001 03 2 @spank_tf/overview/1000/0000000000000abc\n"
                   "0: 00000002 00000000 00010000 0001 01 3 @spank_tf/overview/1001/00000000000000ff\n"
                   "0: 00000002 00000000 00010000 0001 01 7 @spank_tf/overview/1001/0000000000000abc\n"
                   "0: 00000002 00000000 00010000 0001 01 4 @spank_tf/overview/1000/00ff/x\n"
                   "0: 00000002 00000000 00010000 0001 01 5 /run/spank_tf/overview/1000/1\n"
                   "0: 00000002 00000000 00010000 0001 01 6\n");
    struct reply_source *list;
    struct errtext err;

    assert_int_equal (reply_sources (path, 1000, &list, &err), 1);
    assert_int_equal (list[0].uid, 1000);
    assert_int_equal (list[0].number, 0xabc);
    free (list);
    assert_int_equal (reply_sources (path, 0, &list, &err), 3);
    free (list);
    assert_int_equal (reply_sources ("/nowhere", 0, &list, &err), -1);
}

TEST (a_name_is_read_as_it_was_made)
{
    struct sockaddr_un address;
    socklen_t length = overview_address (&address, 1000, UINT64_MAX);
    char name[sizeof (address.sun_path) + 1] = "";
    uint64_t number = 0;
    uid_t uid = 0;

    memcpy (name, address.sun_path, length - offsetof (struct sockaddr_un, sun_path));
    assert_int_equal (name[0], '\0');
    name[0] = '@';
    assert_true (overview_name_parse (name, &uid, &number));
    assert_int_equal (uid, 1000);
    assert_true (number == UINT64_MAX);
}

/* Which steps are asked for. */

TEST (a_job_is_wanted_by_its_number_or_its_array)
{
    static const struct overview o = { .job_step = "14.0", .array = "11_3" };
    static const struct {
        struct wanted wanted;
        bool is;
    } row[] = {
        { { NULL, NULL, false }, true },   { { "14", NULL, false }, true },
        { { "14", "0", true }, true },     { { "14", "1", false }, false },
        { { "1", NULL, false }, false },   { { "11_3", "0", false }, true },
        { { "11_3", NULL, true }, false }, { { "11", NULL, false }, true },
        { { "11", NULL, true }, false },   { { "11_4", NULL, false }, false },
        { { "140", NULL, false }, false },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        assert_int_equal (wanted_is (&row[i].wanted, &o), row[i].is);
}

TEST (the_number_of_a_job_has_32_bits)
{
    const struct reply reply = { .overview.job_step = "4294967293.0" };

    assert_true (reply_job (&reply) == 4294967293);
}

/* What a tf-status on another host passes on, which comes by slurmstepd and srun. */

static void assert_reads (struct relay *relay, bool all, const char *expected)
{
    char *text = relay_read (relay, all, deadline_in_ms (all ? 1000 : 50));

    if (expected)
        assert_string_equal (text, expected);
    else
        assert_null (text);
    free (text);
}

TEST (what_another_host_prints_is_read_round_by_round)
{
    static const char printed[] = "one\ntwo\n" RELAY_MARK RELAY_MARK "three" RELAY_MARK "cut";
    struct relay relay = { .errors = -1 };
    int end[2];

    assert_int_equal (pipe (end), 0);
    relay.fd = end[0];
    assert_int_equal (write (end[1], printed, sizeof (printed) - 1), sizeof (printed) - 1);
    assert_reads (&relay, false, "one\ntwo\n");
    assert_reads (&relay, false, "");
    assert_reads (&relay, false, "three");
    /* It may not be all. */
    assert_reads (&relay, false, NULL);
    close (end[1]);
    assert_reads (&relay, false, NULL);
    assert_true (relay.over);
    assert_reads (&relay, true, "cut");
    relay_end (&relay);
}
