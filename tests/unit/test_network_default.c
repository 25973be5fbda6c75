/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"
#include "../random.h"

#include <stdio.h>
#include <stdlib.h>

#include "network/choose.h"

#define MAX_RANKS 8

/* A rank's host, the address from which it reaches srun, and srun's address. Host A is node nA. */
struct given {
    char host;
    const char *here, *srun;
};

static struct network_rank rank[MAX_RANKS];
static struct host host[MAX_RANKS];
static char node[MAX_RANKS][8];
static const struct host own = { "S" };

static void set_rank (size_t i, const struct given *given)
{
    snprintf (host[i].id, sizeof (host[i].id), "%c", given->host);
    snprintf (node[i], sizeof (node[i]), "n%c", given->host);
    rank[i] = (struct network_rank){ .node = node[i], .host = &host[i] };
    assert_int_equal (address_parse (&rank[i].here, given->here), 0);
    assert_int_equal (address_parse (&rank[i].srun, given->srun), 0);
}

/* No network is requested, so each host uses the address from which it reaches srun. */
static int choose (struct network_rank *ranks, size_t count, struct errtext *err)
{
    const struct network_wish wish = { .infiniband = false };
    struct network_choice choice;

    return network_choose (ranks, count, &own, &wish, &choice, err);
}

/* The chosen addresses, each followed by a blank. */
static const char *chosen (size_t count)
{
    static char text[MAX_RANKS * INET6_ADDRSTRLEN];
    struct address_text room;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        strcat (strcat (text, address_print (&rank[i].chosen, &room)), " ");
    return text;
}

struct row {
    struct given rank[MAX_RANKS];
    const char *chosen;             /* or the error */
};

static void check (const struct row *row, int rc)
{
    struct errtext err = { "" };
    size_t count = 0;

    while (count < MAX_RANKS && row->rank[count].host) {
        set_rank (count, &row->rank[count]);
        count++;
    }
    assert_int_equal (choose (rank, count, &err), rc);
    assert_string_equal (rc < 0 ? err.text : chosen (count), row->chosen);
}

TEST (every_rank_uses_the_address_from_which_it_reaches_srun)
{
    static const struct row row[] = {
        /* srun on a login node */
        { { { 'A', "10.0.0.1", "10.0.0.9" },
            { 'B', "10.0.0.2", "10.0.0.9" },
            { 'B', "10.0.0.2", "10.0.0.9" } },
          "10.0.0.1 10.0.0.2 10.0.0.2 " },
        /* srun on one of the hosts */
        { { { 'S', "10.0.0.9", "10.0.0.9" }, { 'B', "10.0.0.2", "10.0.0.9" } }, "10.0.0.9 10.0.0.2 " },
        /* srun has several networks */
        { { { 'A', "10.0.0.1", "10.0.0.9" }, { 'B', "10.1.0.2", "10.1.0.9" } }, "10.0.0.1 10.1.0.2 " },
        { { { 'A', "fd00::1", "fd00::9" }, { 'B', "fd00::2", "fd00::9" } }, "fd00::1 fd00::2 " },
        { { { 'A', "10.0.0.1", "10.0.0.9" }, { 'B', "fd00::2", "fd00::9" } }, "10.0.0.1 fd00::2 " },
        { { { 'A', "10.0.0.1", "10.0.0.9" } }, "10.0.0.1 " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i], 0);
}

TEST (sruns_host_uses_the_address_at_which_other_hosts_reach_srun)
{
    /* clang-format off */
    static const struct row row[] = {
        { { { 'S', "127.0.0.1", "127.0.0.1" }, { 'B', "10.0.0.2", "10.0.0.9" } },
          "10.0.0.9 10.0.0.2 " },
        /* /etc/hosts maps srun's host to 127.0.1.1 */
        { { { 'S', "127.0.0.1", "127.0.1.1" }, { 'S', "127.0.1.1", "127.0.1.1" },
            { 'B', "10.0.0.2", "10.0.0.9" } }, "10.0.0.9 10.0.0.9 10.0.0.2 " },
        { { { 'B', "10.0.0.2", "10.0.0.9" }, { 'C', "10.0.0.3", "10.0.0.9" },
            { 'S', "127.0.0.1", "127.0.1.1" } }, "10.0.0.2 10.0.0.3 10.0.0.9 " },
        { { { 'S', "::1", "::1" }, { 'B', "fd00::2", "fd00::9" } }, "fd00::9 fd00::2 " },
        /* other hosts reach srun at two addresses: the lowest rank's is used */
        { { { 'S', "127.0.0.1", "127.0.0.1" }, { 'B', "10.0.0.2", "10.0.0.9" },
            { 'C', "10.1.0.3", "10.1.0.9" } }, "10.0.0.9 10.0.0.2 10.1.0.3 " },
        /* the address at which srun's own host reaches srun is not used */
        { { { 'S', "10.2.0.9", "10.2.0.9" }, { 'S', "127.0.0.1", "127.0.0.1" },
            { 'B', "10.0.0.2", "10.0.0.9" } }, "10.2.0.9 10.0.0.9 10.0.0.2 " },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i], 0);
}

TEST (a_step_on_one_host_may_use_loopback)
{
    static const struct row row[] = {
        { { { 'S', "127.0.0.1", "127.0.0.1" } }, "127.0.0.1 " },
        { { { 'S', "127.0.0.1", "127.0.1.1" }, { 'S', "127.0.0.1", "127.0.1.1" } }, "127.0.0.1 127.0.0.1 " },
        { { { 'S', "::1", "::1" }, { 'S', "::1", "::1" } }, "::1 ::1 " },
        { { { 'A', "127.0.0.1", "127.0.0.1" } }, "127.0.0.1 " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i], 0);
}

TEST (an_address_that_other_nodes_cannot_reach_is_refused)
{
    static const struct row row[] = {
        /* loopback, but not srun's host: for example an ssh tunnel */
        { { { 'A', "127.0.0.1", "127.0.0.1" }, { 'B', "10.0.0.2", "10.0.0.9" } },
          "nA reaches srun by loopback, 127.0.0.1, which tasks on other nodes cannot reach" },
        { { { 'A', "127.0.0.1", "127.0.0.1" }, { 'B', "127.0.0.1", "127.0.0.1" } },
          "nA reaches srun by loopback, 127.0.0.1, which tasks on other nodes cannot reach" },
        { { { 'S', "127.0.0.1", "127.0.0.1" }, { 'B', "127.0.0.1", "127.0.0.1" } },
          "nS reaches srun by loopback, 127.0.0.1, which tasks on other nodes cannot reach" },
        { { { 'A', "10.0.0.1", "10.0.0.9" }, { 'B', "169.254.0.2", "169.254.0.9" } },
          "nB reaches srun by a link-local address, 169.254.0.2, which tasks on other nodes "
          "cannot reach" },
        { { { 'A', "fe80::1", "fe80::9" }, { 'B', "fd00::2", "fd00::9" } },
          "nA reaches srun by a link-local address, fe80::1, which tasks on other nodes "
          "cannot reach" },
        { { { 'S', "127.0.0.1", "127.0.0.1" }, { 'B', "169.254.0.2", "169.254.0.9" } },
          "nS reaches srun by a link-local address, 169.254.0.9, which tasks on other nodes "
          "cannot reach" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i], -1);
}

TEST (an_address_of_two_hosts_is_refused)
{
    static const struct row row[] = {
        { { { 'A', "172.17.0.1", "10.0.0.9" }, { 'B', "172.17.0.1", "10.0.0.9" } },
          "nA and nB both have the address 172.17.0.1; tasks on other nodes cannot tell "
          "them apart" },
        { { { 'A', "172.17.0.1", "10.0.0.9" },
            { 'C', "10.0.0.3", "10.0.0.9" },
            { 'A', "172.17.0.1", "10.0.0.9" },
            { 'B', "172.17.0.1", "10.0.0.9" } },
          "nA and nB both have the address 172.17.0.1; tasks on other nodes cannot tell "
          "them apart" },
        { { { 'S', "127.0.0.1", "127.0.0.1" }, { 'B', "10.0.0.9", "10.0.0.9" } },
          "nS and nB both have the address 10.0.0.9; tasks on other nodes cannot tell "
          "them apart" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i], -1);
}

TEST (the_order_of_ranks_does_not_change_a_hosts_address)
{
    static const struct given given[] = {
        { 'S', "127.0.0.1", "127.0.1.1" }, { 'B', "10.0.0.2", "10.0.0.9" }, { 'C', "10.0.0.3", "10.0.0.9" },
        { 'S', "127.0.0.1", "127.0.1.1" }, { 'C', "10.0.0.3", "10.0.0.9" },
    };
    static const char *const address[] = { "10.0.0.9", "10.0.0.2", "10.0.0.3", "10.0.0.9", "10.0.0.3" };
    enum { N = COUNT (given) };
    uint64_t seed = RANDOM_SEED;

    for (int round = 0; round < 200; round++) {
        struct address_text room;
        size_t order[N];

        random_order (&seed, order, N);
        for (size_t i = 0; i < N; i++)
            set_rank (i, &given[order[i]]);
        assert_int_equal (choose (rank, N, NULL), 0);
        for (size_t i = 0; i < N; i++)
            assert_string_equal (address_print (&rank[i].chosen, &room), address[order[i]]);
    }
}

TEST (ten_thousand_ranks_get_their_addresses)
{
    enum { MANY = 10000 };
    struct network_rank *ranks = calloc (MANY, sizeof (*ranks));
    struct host *hosts = calloc (MANY, sizeof (*hosts));
    struct errtext err;

    for (int i = 0; i < MANY; i++) {
        char text[20];

        snprintf (hosts[i].id, sizeof (hosts[i].id), "%d", i / 2);
        snprintf (text, sizeof (text), "10.1.%d.%d", i / 2 / 200, i / 2 % 200 + 1);
        ranks[i] = (struct network_rank){ .node = hosts[i].id, .host = &hosts[i] };
        address_parse (&ranks[i].here, text);
        address_parse (&ranks[i].srun, "10.0.0.9");
    }
    assert_int_equal (choose (ranks, MANY, &err), 0);
    ranks[MANY - 1].here = ranks[0].here;
    assert_int_equal (choose (ranks, MANY, &err), -1);
    assert_string_equal (err.text, "0 and 4999 both have the address 10.1.0.1; tasks on other "
                                   "nodes cannot tell them apart");
    free (ranks);
    free (hosts);
}
