/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "network/choose.h"

#define MAX_RANKS 8
#define MAX_HOSTS 4

/*
 * Hosts A, B, ... on nodes nA, nB, ..., each with its interfaces in the form of interface_print (),
 * separated by ", ". The host's first rank reports them. srun has 10.0.0.9. The hosts reach srun
 * from 10.0.0.1, 10.0.0.2, ... unless `here` gives another address.
 */
struct cluster {
    const char *host[MAX_HOSTS];
    const char *ranks;                  /* the host of each rank; NULL: one rank on each host */
    const char *here[MAX_HOSTS];
    const char *cpus[MAX_RANKS];        /* by rank */
    char own;                           /* srun's host, or 0 */
};

struct wish {
    const char *ib;                     /* auto or require; NULL: InfiniBand is not requested */
    const char *networks;               /* of the user, or NULL */
    const char *site;                   /* of the site, or NULL */
};

/* What the ranks of a cluster point to. */
static struct network_rank rank[MAX_RANKS];
static struct host host[MAX_RANKS];
static char node[MAX_HOSTS][4];
static char text[MAX_HOSTS][512];
static struct interface interface[MAX_HOSTS][8];
static struct network_choice choice;
static struct errtext err;

static int set_interfaces (size_t h, const char *words)
{
    char *rest = text[h], *one;
    int count = 0;

    snprintf (text[h], sizeof (text[h]), "%s", words);
    while (*rest && (one = strsep (&rest, ",")) != NULL) {
        assert_int_equal (interface_parse (&interface[h][count++], one), 0);
        if (!rest)
            break;
        rest += strspn (rest, " ");
    }
    return count;
}

static void set_rank (size_t i, const struct cluster *cluster, char name)
{
    size_t h = (size_t)(name - 'A');
    char here[16];
    bool first = true;

    for (size_t j = 0; j < i; j++)
        first = first && host[j].id[0] != name;
    snprintf (host[i].id, sizeof (host[i].id), "%c", name);
    snprintf (node[h], sizeof (node[h]), "n%c", name);
    snprintf (here, sizeof (here), "10.0.0.%zu", h + 1);
    rank[i] = (struct network_rank){ .node = node[h], .host = &host[i], .cpus = cluster->cpus[i] };
    assert_int_equal (address_parse (&rank[i].here, cluster->here[h] ? cluster->here[h] : here), 0);
    if (address_is_loopback (&rank[i].here))
        rank[i].srun = rank[i].here;
    else
        address_parse (&rank[i].srun, "10.0.0.9");
    if (first && cluster->host[h]) {
        rank[i].interface = interface[h];
        rank[i].interfaces = set_interfaces (h, cluster->host[h]);
    }
}

static size_t set_cluster (const struct cluster *cluster)
{
    const char *ranks = cluster->ranks;
    char each[MAX_HOSTS + 1] = "";
    size_t count;

    for (size_t h = 0; !ranks && h < MAX_HOSTS && cluster->host[h]; h++)
        each[h] = (char)('A' + h);
    if (!ranks)
        ranks = each;
    for (count = 0; ranks[count]; count++)
        set_rank (count, cluster, ranks[count]);
    return count;
}

/* What network_choose () returns; `count` ranks are set. */
static int choose_for (size_t count, char own, const struct wish *wish)
{
    const struct host srun = { { own } };
    const char *networks = wish->networks ? wish->networks : wish->site;
    struct network_wish w = {
        .infiniband = wish->ib != NULL,
        .infiniband_required = wish->ib && strcmp (wish->ib, "require") == 0,
        .networks_required = wish->networks != NULL,
    };

    if (networks)
        assert_int_equal (netlist_parse (&w.networks, networks, &err), 0);
    err.text[0] = '\0';
    return network_choose (rank, count, &srun, &w, &choice, &err);
}

static int choose (const struct cluster *cluster, const struct wish *wish)
{
    return choose_for (set_cluster (cluster), cluster->own, wish);
}

/* The chosen addresses, with their interfaces if known, as in "10.1.0.1@ib0 10.0.0.2 ". */
static const char *chosen (size_t count)
{
    static char buf[MAX_RANKS * (INET6_ADDRSTRLEN + IF_NAMESIZE)];
    struct address_text room;

    buf[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        strcat (buf, address_print (&rank[i].chosen, &room));
        if (rank[i].chosen_interface)
            strcat (strcat (buf, "@"), rank[i].chosen_interface);
        strcat (buf, " ");
    }
    return buf;
}

struct row {
    struct cluster cluster;
    struct wish wish;
    const char *chosen, *network;
    const char *notice;                 /* or NULL; if nothing is chosen, the error */
};

static void check_row (const struct row *row)
{
    size_t count = set_cluster (&row->cluster);

    assert_int_equal (choose_for (count, row->cluster.own, &row->wish), row->chosen ? 0 : -1);
    if (!row->chosen) {
        assert_string_equal (err.text, row->notice);
        return;
    }
    assert_string_equal (chosen (count), row->chosen);
    assert_string_equal (choice.network, row->network);
    assert_string_equal (choice.notice, row->notice ? row->notice : "");
}

static void check (const struct row *row, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_row (&row[i]);
}

/* Typical hosts: Ethernet and InfiniBand. */
#define A "eth0 other up 10.0.0.1/16, ib0 infiniband up 10.1.0.1/16"
#define B "eth0 other up 10.0.0.2/16, ib0 infiniband up 10.1.0.2/16"
#define C "eth0 other up 10.0.0.3/16, ib0 infiniband up 10.1.0.3/16"
#define D "eth0 other up 10.0.0.4/16, ib0 infiniband up 10.1.0.4/16"
#define ON_IB "10.1.0.1@ib0 10.1.0.2@ib0 10.1.0.3@ib0 "
#define ON_ETH "10.0.0.1@eth0 10.0.0.2@eth0 10.0.0.3@eth0 "

/* What follows is mostly tables. */
/* clang-format off */

TEST (by_default_a_host_uses_the_address_that_reaches_srun)
{
    static const struct row row[] = {
        { { .host = { A, B, C } }, { 0 }, ON_ETH, "10.0.0.0/16 (eth0)", NULL },
        { { .host = { A, B, C }, .here = { "10.1.0.1", "10.1.0.2", "10.1.0.3" } }, { 0 }, ON_IB,
          "10.1.0.0/16 (InfiniBand)", NULL },
        /* the hosts reported no interfaces, or not the one that reaches srun */
        { { .host = { "", "" }, .ranks = "ABA" }, { 0 }, "10.0.0.1 10.0.0.2 10.0.0.1 ", "", NULL },
        { { .host = { A, "ib0 infiniband up 10.1.0.2/16" } }, { 0 }, "10.0.0.1@eth0 10.0.0.2 ", "",
          NULL },
        /* several networks, or several interface names */
        { { .host = { A, "eth1 other up 10.3.0.2/16" }, .here = { NULL, "10.3.0.2" } }, { 0 },
          "10.0.0.1@eth0 10.3.0.2@eth1 ", "10.0.0.0/16 and 10.3.0.0/16", NULL },
        { { .host = { A, "eth0 other up 10.3.0.2/16" }, .here = { NULL, "10.3.0.2" } }, { 0 },
          "10.0.0.1@eth0 10.3.0.2@eth0 ", "10.0.0.0/16 and 10.3.0.0/16 (eth0)", NULL },
        { { .host = { A, "bond0 other up 10.0.0.2/16" } }, { 0 }, "10.0.0.1@eth0 10.0.0.2@bond0 ",
          "10.0.0.0/16", NULL },
        { { .host = { A, "bond0 other up 10.0.0.2/16", "bond0 other up 10.0.0.3/16" } }, { 0 },
          "10.0.0.1@eth0 10.0.0.2@bond0 10.0.0.3@bond0 ", "10.0.0.0/16", NULL },
    };

    check (row, COUNT (row));
}

TEST (the_launch_is_refused_if_the_default_address_cannot_be_used)
{
    static const struct row row[] = {
        { { .host = { "", "" }, .here = { "172.17.0.1", "172.17.0.1" } }, { 0 }, NULL, NULL,
          "nA and nB both have the address 172.17.0.1; tasks on other nodes cannot tell them "
          "apart" },
        { { .host = { "", "" }, .here = { "127.0.0.1" } }, { .ib = "auto" }, NULL, NULL,
          "nA reaches srun by loopback, 127.0.0.1, which tasks on other nodes cannot reach" },
    };

    check (row, COUNT (row));
}

TEST (infiniband_is_used_if_every_host_has_it)
{
    static const struct cluster cluster[] = {
        { .host = { A, B, C } },
        { .host = { A, B, C }, .own = 'B', .here = { NULL, "127.0.0.1", NULL } },
    };
    static const struct wish wish[] = {
        { .ib = "auto" }, { .ib = "require" }, { .ib = "auto", .site = "10.9.0.0/16" },
        { .ib = "require", .site = "10.0.0.0/16" }, { .ib = "auto", .networks = "ib0" },
        { .ib = "require", .networks = "10.0.0.0/8" },
    };

    for (size_t c = 0; c < COUNT (cluster); c++)
        for (size_t i = 0; i < COUNT (wish); i++) {
            assert_int_equal (choose (&cluster[c], &wish[i]), 0);
            assert_string_equal (chosen (3), ON_IB);
            assert_string_equal (choice.network, "10.1.0.0/16 (InfiniBand)");
            assert_string_equal (choice.notice, "");
            assert_true (choice.wished);
            assert_false (choice.rails);
        }
}

TEST (infiniband_is_recognized_by_link_type_not_by_name)
{
    static const struct row row[] = {
        { { .host = { "mlx5 infiniband up 10.1.0.1/16, ib0 other up 10.2.0.1/16",
              "bond7 infiniband up 10.1.0.2/16, ib0 other up 10.2.0.2/16" } }, { .ib = "auto" },
          "10.1.0.1@mlx5 10.1.0.2@bond7 ", "10.1.0.0/16 (InfiniBand)", NULL },
        { { .host = { "ib0 other up 10.2.0.1/16", "ib0 other up 10.2.0.2/16" } },
          { .ib = "require" },
          NULL, NULL, "--tf-ib=require: not all nodes are on one InfiniBand network: "
          "nA, nB (no InfiniBand interface)" },
    };

    check (row, COUNT (row));
}

/* One host lacks InfiniBand: each in turn, with srun on another machine or on each of the hosts. */

static const char *const alike[] = { A, B, C };

static void check_without (size_t lacking, char own, const char *fault, const char *reason)
{
    struct cluster cluster = { .own = own };
    char without[128], here[] = "127.0.0.1", expected[256];
    const struct wish want = { .ib = "auto" }, require = { .ib = "require" };

    for (size_t h = 0; h < COUNT (alike); h++)
        cluster.host[h] = alike[h];
    snprintf (without, sizeof (without), "eth0 other up 10.0.0.%zu/16%s%s", lacking + 1,
              *fault ? ", " : "", fault);
    cluster.host[lacking] = without;
    if (own)
        cluster.here[own - 'A'] = here;
    set_cluster (&cluster);
    for (size_t i = 0; i < COUNT (alike); i++)
        if (own)
            address_parse (&rank[i].srun, i == (size_t)(own - 'A') ? "127.0.0.1"
                           : own == 'A' ? "10.0.0.1" : own == 'B' ? "10.0.0.2" : "10.0.0.3");
    assert_int_equal (choose_for (3, own, &want), 0);
    assert_string_equal (chosen (3), ON_ETH);
    assert_string_equal (choice.network, "10.0.0.0/16 (eth0)");
    snprintf (expected, sizeof (expected), "not all nodes are on one InfiniBand network: n%c (%s)"
              "; using 10.0.0.0/16 (eth0)", (char)('A' + lacking), reason);
    assert_string_equal (choice.notice, expected);
    assert_int_equal (choose_for (3, own, &require), -1);
    snprintf (expected, sizeof (expected), "--tf-ib=require: not all nodes are on one InfiniBand "
              "network: n%c (%s)", (char)('A' + lacking), reason);
    assert_string_equal (err.text, expected);
}

TEST (a_host_that_lacks_infiniband_is_named_with_the_reason)
{
    static const char *const row[][2] = {
        { "", "no InfiniBand interface" },
        { "ib0 other up 10.1.0.7/16", "no InfiniBand interface" },
        { "ib0 infiniband down 10.1.0.7/16", "ib0 is down" },
        { "ib0 infiniband down -", "ib0 is down" },
        { "ib0 infiniband no-carrier 10.1.0.7/16", "ib0 has no carrier" },
        { "ib0 infiniband up -", "ib0 has no address" },
        { "ib0 infiniband up 10.1.7.7/24", "ib0 is on 10.1.7.0/24" },
        { "ib0 infiniband up 9.0.0.7/16", "ib0 is on 9.0.0.0/16" },
        { "ib0 infiniband up fd01::7/64", "ib0 is on fd01::/64" },
        { "ib0 infiniband down -, ib1 infiniband up 10.2.0.7/16", "ib1 is on 10.2.0.0/16" },
        { "ib0 infiniband no-carrier 10.1.0.7/16, ib1 infiniband up 10.2.0.7/16",
          "ib0 has no carrier" },
        { "ib0 infiniband no-carrier 10.7.0.7/16, ib1 infiniband up 10.2.0.7/16",
          "ib1 is on 10.2.0.0/16" },
        { "ib1 infiniband up 10.2.0.7/16, ib0 infiniband no-carrier 10.1.0.7/16",
          "ib0 has no carrier" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        for (size_t lacking = 0; lacking < COUNT (alike); lacking++) {
            check_without (lacking, '\0', row[i][0], row[i][1]);
            for (int own = 'A'; own <= 'C'; own++)
                check_without (lacking, (char)own, row[i][0], row[i][1]);
        }
}

TEST (hosts_with_the_same_shortfall_share_one_reason)
{
    static const struct row row[] = {
        { { .host = { A, "eth0 other up 10.0.0.2/16", "eth0 other up 10.0.0.3/16", D } },
          { .ib = "require" }, NULL, NULL, "--tf-ib=require: not all nodes are on one InfiniBand "
          "network: nB, nC (no InfiniBand interface)" },
        { { .host = { "eth0 other up 10.0.0.1/16", "ib0 infiniband down -", C,
              "eth0 other up 10.0.0.4/16" } },
          { .ib = "require" }, NULL, NULL, "--tf-ib=require: not all nodes are on one InfiniBand "
          "network: nA (no InfiniBand interface), nB (ib0 is down), nD (no InfiniBand interface)" },
        { { .host = { A, "", "" } }, { .ib = "require" }, NULL, NULL,
          "--tf-ib=require: not all nodes are "
          "on one InfiniBand network: nB, nC (it reported no interfaces)" },
        { { .host = { "" } }, { .ib = "auto" }, "10.0.0.1 ", "",
          "not all nodes are on one InfiniBand "
          "network: nA (it reported no interfaces); using the address that reaches srun" },
        { { .host = { "ib0 infiniband up 10.1.0.1/16", "ib0 infiniband up 10.2.0.2/16",
              "ib0 infiniband up 10.2.0.3/16" } }, { .ib = "auto" },
          "10.0.0.1 10.0.0.2 10.0.0.3 ", "", "not all nodes are on one InfiniBand network: "
          "nA (ib0 is on 10.1.0.0/16); using the address that reaches srun" },
    };

    check (row, COUNT (row));
}

TEST (of_many_hosts_that_lack_infiniband_the_first_are_named)
{
    enum { MANY = 5000 };
    struct network_rank *many = calloc (MANY, sizeof (*many));
    struct host *hosts = calloc (MANY, sizeof (*hosts));
    struct interface *own = calloc (MANY, sizeof (*own));
    const struct network_wish wish = { .infiniband = true, .infiniband_required = true };
    const struct host none = { "none" };

    for (int i = 0; i < MANY; i++) {
        snprintf (hosts[i].id, sizeof (hosts[i].id), "h%04d", i);
        many[i] = (struct network_rank){ .node = hosts[i].id, .host = &hosts[i],
                                         .interface = &own[i], .interfaces = 1 };
        address_parse (&many[i].here, "10.0.0.1");
        own[i] = (struct interface){ .name = "ib0", .infiniband = true, .state = INTERFACE_DOWN };
    }
    assert_int_equal (network_choose (many, 16, &none, &wish, &choice, &err), -1);
    assert_string_equal (err.text, "--tf-ib=require: not all nodes are on one InfiniBand network: "
                         "h0000, h0001, h0002, h0003, h0004, h0005, h0006, h0007, h0008, h0009, "
                         "h0010, h0011, h0012, h0013, h0014, h0015 (ib0 is down)");
    assert_int_equal (network_choose (many, MANY, &none, &wish, &choice, &err), -1);
    assert_string_equal (err.text, "--tf-ib=require: not all nodes are on one InfiniBand network: "
                         "h0000, h0001, h0002, h0003, h0004, h0005, h0006, h0007, h0008, h0009, "
                         "h0010, h0011, h0012, h0013, h0014, h0015 (ib0 is down) and 4984 more");
    /* Each host has a different reason: as many hosts are named as fit. */
    for (int i = 0; i < 100; i++) {
        snprintf (own[i].name, sizeof (own[i].name), "a-long-name-%03d", i);
        own[i].state = INTERFACE_UP;
        assert_int_equal (subnet_parse (&own[i].address,
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:1/128"),
                          0);
        own[i].address.address.bytes[15] = (unsigned char)i;
    }
    assert_int_equal (network_choose (many, MANY, &none, &wish, &choice, &err), -1);
    assert_string_equal (err.text, "--tf-ib=require: not all nodes are on one InfiniBand network: "
                         "h0001 (a-long-name-001 is on ffff:ffff:ffff:ffff:ffff:ffff:ffff:1/128), "
                         "h0002 (a-long-name-002 is on ffff:ffff:ffff:ffff:ffff:ffff:ffff:2/128), "
                         "h0003 (a-long-name-003 is on ffff:ffff:ffff:ffff:ffff:ffff:ffff:3/128), "
                         "h0004 (a-long-name-004 is on ffff:ffff:ffff:ffff:ffff:ffff:ffff:4/128), "
                         "h0005 (a-long-name-005 is on ffff:ffff:ffff:ffff:ffff:ffff:ffff:5/128) "
                         "and 4994 more");
    free (many);
    free (hosts);
    free (own);
}

/* Rails. */

#define RAILS_A "ib0 infiniband up 10.1.0.1/16 0x0f, ib1 infiniband up 10.2.0.1/16 0xf0"
#define RAILS_B "ib0 infiniband up 10.1.0.2/16 0x0f, ib1 infiniband up 10.2.0.2/16 0xf0"
#define RAILS "10.1.0.0/16 and 10.2.0.0/16 (InfiniBand)"

TEST (each_rank_uses_the_rail_local_to_its_cpus)
{
    static const struct row row[] = {
        { { .host = { RAILS_A, RAILS_B }, .ranks = "AABB",
          .cpus = { "0x0f", "0xf0", "0xf0", "0x0f" } },
          { .ib = "auto" }, "10.1.0.1@ib0 10.2.0.1@ib1 10.2.0.2@ib1 10.1.0.2@ib0 ", RAILS, NULL },
        /* the rank and the rail share some CPUs, but not all */
        { { .host = { RAILS_A, RAILS_B }, .ranks = "AABB",
          .cpus = { "0x40", "0x40", "0x3c", "0x30" } },
          { .ib = "require" }, "10.2.0.1@ib1 10.2.0.1@ib1 10.1.0.2@ib0 10.2.0.2@ib1 ", RAILS,
          NULL },
        /* bound to CPUs that are not local to any rail */
        { { .host = { RAILS_A, RAILS_B }, .ranks = "AAB", .cpus = { "0xf00", "0xf00", "0xf0" } },
          { .ib = "auto" }, "10.1.0.1@ib0 10.2.0.1@ib1 10.2.0.2@ib1 ", RAILS, NULL },
        /* all ranks bound to the CPUs of one rail */
        { { .host = { RAILS_A, RAILS_B }, .ranks = "ABAB", .cpus = { "0x1", "0x1", "0x2", "0x2" } },
          { .ib = "auto" }, "10.1.0.1@ib0 10.1.0.2@ib0 10.1.0.1@ib0 10.1.0.2@ib0 ", RAILS, NULL },
    };

    check (row, COUNT (row));
    assert_true (choice.rails);
}

TEST (unbound_ranks_are_spread_over_the_rails)
{
    static const struct row row[] = {
        { { .host = { RAILS_A, RAILS_B }, .ranks = "AAAABBB" }, { .ib = "auto" },
          "10.1.0.1@ib0 10.2.0.1@ib1 10.1.0.1@ib0 10.2.0.1@ib1 "
          "10.1.0.2@ib0 10.2.0.2@ib1 10.1.0.2@ib0 ", RAILS, NULL },
        { { .host = { RAILS_A, RAILS_B }, .ranks = "ABABAB",
          .cpus = { "0xff", NULL, "0xff", NULL, "0xff" } },
          { .ib = "auto" }, "10.1.0.1@ib0 10.1.0.2@ib0 10.2.0.1@ib1 10.2.0.2@ib1 10.1.0.1@ib0 "
          "10.1.0.2@ib0 ", RAILS, NULL },
        /* the bound rank is assigned first */
        { { .host = { RAILS_A }, .ranks = "AAA", .cpus = { NULL, NULL, "0x1" } }, { .ib = "auto" },
          "10.2.0.1@ib1 10.1.0.1@ib0 10.1.0.1@ib0 ", RAILS, NULL },
        /* the rails' locality is not known */
        { { .host = { "ib0 infiniband up 10.1.0.1/16, ib1 infiniband up 10.2.0.1/16" },
          .ranks = "AA",
            .cpus = { "0xf", "0xf" } }, { .ib = "auto" }, "10.1.0.1@ib0 10.2.0.1@ib1 ", RAILS,
          NULL },
        /* two rails in one network */
        { { .host = { "ib0 infiniband up 10.1.0.1/16, ib1 infiniband up 10.1.1.1/16",
              "ib0 infiniband up 10.1.0.2/16, ib1 infiniband up 10.1.1.2/16" }, .ranks = "AABB" },
          { .ib = "auto" }, "10.1.0.1@ib0 10.1.1.1@ib1 10.1.0.2@ib0 10.1.1.2@ib1 ",
          "10.1.0.0/16 (InfiniBand)", NULL },
    };

    check (row, COUNT (row));
    assert_true (choice.rails);
}

TEST (a_rail_that_one_host_lacks_is_not_used)
{
    static const struct row row[] = {
        { { .host = { RAILS_A, "ib1 infiniband up 10.2.0.2/16" }, .ranks = "AAB" },
          { .ib = "auto" },
          "10.2.0.1@ib1 10.2.0.1@ib1 10.2.0.2@ib1 ", "10.2.0.0/16 (InfiniBand)", NULL },
        { { .host = { RAILS_A,
          "ib0 infiniband up 10.1.0.2/16, ib1 infiniband no-carrier 10.2.0.2/16" },
            .ranks = "AAB", .cpus = { "0xf0" } }, { .ib = "require" },
          "10.1.0.1@ib0 10.1.0.1@ib0 10.1.0.2@ib0 ", "10.1.0.0/16 (InfiniBand)", NULL },
        /* another host has the same address on this rail */
        { { .host = { RAILS_A, "ib0 infiniband up 10.1.0.2/16, ib1 infiniband up 10.2.0.1/16" },
          .ranks = "AAB" },
          { .ib = "require" }, "10.1.0.1@ib0 10.1.0.1@ib0 10.1.0.2@ib0 ",
          "10.1.0.0/16 (InfiniBand)", NULL },
        /* each host has one rail, on different networks */
        { { .host = { "ib0 infiniband up 10.1.0.1/16", "ib1 infiniband up 10.2.0.2/16" } },
          { .ib = "require" }, NULL, NULL, "--tf-ib=require: not all nodes are on one InfiniBand "
          "network: nB (ib1 is on 10.2.0.0/16)" },
    };

    check (row, COUNT (row));
    for (size_t i = 0; i < 3; i++) {
        check_row (&row[i]);
        assert_false (choice.rails);
    }
}

TEST (an_interface_with_several_addresses_is_one_rail)
{
    static const struct row row[] = {
        /* a second address in the same network, such as a floating service address */
        { { .host = { "ib0 infiniband up 10.1.0.1/16, ib0 infiniband up 10.1.0.200/16",
              "ib0 infiniband up 10.1.0.2/16" }, .ranks = "AAB" }, { .ib = "auto" },
          "10.1.0.1@ib0 10.1.0.1@ib0 10.1.0.2@ib0 ", "10.1.0.0/16 (InfiniBand)", NULL },
        { { .host = { "eth0 other up 10.0.0.1/16, eth0 other up 10.0.0.200/16",
              "eth0 other up 10.0.0.2/16" }, .ranks = "AAB" }, { .networks = "eth0" },
          "10.0.0.1@eth0 10.0.0.1@eth0 10.0.0.2@eth0 ", "10.0.0.0/16 (eth0)", NULL },
        /* addresses in two networks: every host uses the same network */
        { { .host = { "ib0 infiniband up 10.1.0.1/16, ib0 infiniband up 10.2.0.1/16",
              "ib0 infiniband up 10.2.0.2/16, ib0 infiniband up 10.1.0.2/16" }, .ranks = "AABB" },
          { .ib = "auto" }, "10.1.0.1@ib0 10.1.0.1@ib0 10.1.0.2@ib0 10.1.0.2@ib0 ",
          "10.1.0.0/16 (InfiniBand)", NULL },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        check_row (&row[i]);
        assert_false (choice.rails);
    }
}

TEST (interface_names_may_differ_between_nodes)
{
    static const struct row row[] = {
        { { .host = { "ib0 infiniband up 10.1.0.1/16, ib1 infiniband up 10.2.0.1/16",
              "ib0 infiniband up 10.2.0.2/16, ib1 infiniband up 10.1.0.2/16",
              "ib2 infiniband up 10.2.0.3/16, ibs5 infiniband up 10.1.0.3/16" } },
          { .ib = "auto", .networks = "10.2.0.0/16" }, "10.2.0.1@ib1 10.2.0.2@ib0 10.2.0.3@ib2 ",
          "10.2.0.0/16 (InfiniBand)", NULL },
        { { .host = { "eth0 other up 10.0.0.1/16", "enp4s0 other up 10.0.0.2/16" } },
          { .networks = "10.0.0.0/16" }, "10.0.0.1@eth0 10.0.0.2@enp4s0 ", "10.0.0.0/16", NULL },
        /* each name of the list must match on every node */
        { { .host = { "ib0 infiniband up 10.1.0.1/16", "ib1 infiniband up 10.1.0.2/16" } },
          { .networks = "ib0,ib1" }, NULL, NULL,
          "--tf-network: not all nodes are on ib0 or ib1: nB (no such interface, but ib1); all "
          "nodes are on 10.1.0.0/16" },
        { { .host = { "ib0 infiniband up 10.1.0.1/16", "ib1 infiniband up 10.1.0.2/16",
              "ib1 infiniband up 10.1.0.3/16" } }, { .ib = "require", .networks = "ib0,ib1" },
          NULL, NULL,
          "--tf-ib=require: not all nodes are on one InfiniBand network of ib0 or ib1: nA (no such "
          "InfiniBand interface, but ib0); all nodes are on 10.1.0.0/16" },
        /* the same name on two networks */
        { { .host = { "ib0 infiniband up 10.1.0.1/16", "ib0 infiniband up 10.2.0.2/16" } },
          { .networks = "ib0" }, NULL, NULL,
          "--tf-network: not all nodes are on ib0: nB (ib0 is on 10.2.0.0/16); if there are routes "
          "between these networks, write --tf-network=10.0.0.0/14" },
    };

    check (row, COUNT (row));
}

/* Address families. */

TEST (ipv4_is_preferred_to_ipv6)
{
    static const struct row row[] = {
        { { .host = { "ib0 infiniband up fd01::1/64", "ib0 infiniband up fd01::2/64" } },
          { .ib = "auto" },
          "fd01::1@ib0 fd01::2@ib0 ", "fd01::/64 (InfiniBand)", NULL },
        { { .host = { "ib0 infiniband up fd01::1/64, ib0 infiniband up 10.1.0.1/16",
              "ib0 infiniband up fd01::2/64, ib0 infiniband up 10.1.0.2/16" } }, { .ib = "auto" },
          "10.1.0.1@ib0 10.1.0.2@ib0 ", "10.1.0.0/16 (InfiniBand)", NULL },
        { { .host = { "ib0 infiniband up fd01::1/64, ib0 infiniband up 10.1.0.1/16",
              "ib0 infiniband up fd01::2/64, ib0 infiniband up 10.1.0.2/16" } },
          { .networks = "fd00::/8" }, "fd01::1@ib0 fd01::2@ib0 ", "fd01::/64 (InfiniBand)", NULL },
        { { .host = { "eth1 other up fd01::1/64, eth1 other up 10.1.0.1/16",
              "eth1 other up fd01::2/64, eth1 other up 10.1.0.2/16" } }, { .networks = "eth1" },
          "10.1.0.1@eth1 10.1.0.2@eth1 ", "10.1.0.0/16 (eth1)", NULL },
        /* one host has no IPv4 */
        { { .host = { "ib0 infiniband up fd01::1/64, ib0 infiniband up 10.1.0.1/16",
              "ib0 infiniband up fd01::2/64" } }, { .ib = "auto" },
          "fd01::1@ib0 fd01::2@ib0 ", "fd01::/64 (InfiniBand)", NULL },
        /* all rails are of one family */
        { { .host = { "ib0 infiniband up 10.1.0.1/16, ib1 infiniband up fd02::1/64",
              "ib0 infiniband up 10.1.0.2/16, ib1 infiniband up fd02::2/64" }, .ranks = "AABB" },
          { .ib = "auto" }, "10.1.0.1@ib0 10.1.0.1@ib0 10.1.0.2@ib0 10.1.0.2@ib0 ",
          "10.1.0.0/16 (InfiniBand)", NULL },
        { { .host = { "ib0 infiniband up 10.1.0.1/16", "ib0 infiniband up fd02::2/64" } },
          { .ib = "auto" },
          "10.0.0.1 10.0.0.2 ", "", "not all nodes are on one InfiniBand network: "
          "nB (ib0 is on fd02::/64); using the address that reaches srun" },
    };

    check (row, COUNT (row));
}

/* Addresses that two hosts have. */

#define DOCKER(h) "docker0 other up 172.17.0.1/16, eth0 other up 10.0.0." #h "/16"

TEST (docker0_is_not_used_between_hosts)
{
    static const struct row row[] = {
        { { .host = { DOCKER (1), DOCKER (2) } }, { .networks = "docker0" }, NULL, NULL,
          "--tf-network: not all nodes are on docker0: nA, nB (docker0 is on 172.17.0.0/16, where "
          "another node has the same address); all nodes are on 10.0.0.0/16 (eth0)" },
        { { .host = { DOCKER (1), DOCKER (2), "docker0 other up 172.17.0.3/16" } },
          { .networks = "172.17.0.0/16" }, NULL, NULL, "--tf-network: not all nodes are on "
          "172.17.0.0/16: nA, nB (docker0 is on 172.17.0.0/16, where another node has the same "
          "address), nC (docker0 is on 172.17.0.0/16, where two nodes have the same address)" },
        { { .host = { DOCKER (1), DOCKER (2) } }, { .site = "docker0" },
          "10.0.0.1@eth0 10.0.0.2@eth0 ",
          "10.0.0.0/16 (eth0)", "not all nodes are on docker0: nA, nB (docker0 is on "
          "172.17.0.0/16, where another node has the same address); using 10.0.0.0/16 (eth0)" },
        { { .host = { DOCKER (1), DOCKER (2) } }, { .networks = "0.0.0.0/0" },
          "10.0.0.1@eth0 10.0.0.2@eth0 ", "10.0.0.0/16 (eth0)", NULL },
        { { .host = { DOCKER (1), DOCKER (2) } }, { .networks = "172.16.0.0/12,10.0.0.0/8" },
          "10.0.0.1@eth0 10.0.0.2@eth0 ", "10.0.0.0/16 (eth0)", NULL },
        /* on a single host docker0 can be used */
        { { .host = { DOCKER (1) }, .ranks = "AA" }, { .networks = "docker0" },
          "172.17.0.1@docker0 172.17.0.1@docker0 ", "172.17.0.0/16 (docker0)", NULL },
    };

    check (row, COUNT (row));
}

TEST (a_network_with_a_duplicate_address_is_not_used)
{
    static const struct row row[] = {
        /* not even by the hosts that do not have the duplicate address */
        { { .host = { A, B, "ib0 infiniband up 10.1.0.2/16, eth0 other up 10.0.0.3/16" } },
          { .ib = "auto" }, ON_ETH, "10.0.0.0/16 (eth0)", "not all nodes are on one InfiniBand "
          "network: nA (ib0 is on 10.1.0.0/16, where two nodes have the same address), nB, nC "
          "(ib0 is on 10.1.0.0/16, where another node has the same address); "
          "using 10.0.0.0/16 (eth0)" },
        /* on an interface that is not requested, with another prefix length */
        { { .host = { A, B, "ib0 infiniband up 10.1.0.3/16, eth1 other up 10.1.0.1/24" } },
          { .ib = "require" }, NULL, NULL, "--tf-ib=require: not all nodes are on one InfiniBand "
          "network: nA (ib0 is on 10.1.0.0/16, where another node has the same address), nB, nC "
          "(ib0 is on 10.1.0.0/16, where two nodes have the same address)" },
        /* the same address twice on one host is not a duplicate */
        { { .host = { "ib0 infiniband up 10.1.0.1/16, ib1 infiniband up 10.1.0.1/16", B } },
          { .ib = "require" }, "10.1.0.1@ib0 10.1.0.2@ib0 ", "10.1.0.0/16 (InfiniBand)", NULL },
        /* an IPv6 address with the same first bytes is not a duplicate */
        { { .host = { A, B ", eth1 other up a01:1::/64" } }, { .ib = "require" },
          "10.1.0.1@ib0 10.1.0.2@ib0 ", "10.1.0.0/16 (InfiniBand)", NULL },
        { { .host = { "ib0 infiniband up fd01::1/64", "ib0 infiniband up fd01::1/64" } },
          { .ib = "require" }, NULL, NULL, "--tf-ib=require: not all nodes are on one InfiniBand "
          "network: nA, nB (ib0 is on fd01::/64, where another node has the same address)" },
    };

    check (row, COUNT (row));
}

/* Without carrier, a host still answers at the address, and it connects to itself there. */
TEST (an_address_without_carrier_counts_as_a_duplicate)
{
    static const struct row row[] = {
        { { .host = { "docker0 other up 172.17.0.1/16, eth0 other up 10.0.0.1/16",
              "docker0 other no-carrier 172.17.0.1/16, eth1 other up 172.20.0.2/16" } },
          { .networks = "172.16.0.0/12" }, NULL, NULL, "--tf-network: not all nodes are on "
          "172.16.0.0/12: nA (docker0 is on 172.17.0.0/16, where another node has the same "
          "address)" },
        { { .host = { A, B,
          "ib0 infiniband up 10.1.0.3/16, ib1 infiniband no-carrier 10.1.0.2/16" } },
          { .ib = "require" }, NULL, NULL, "--tf-ib=require: not all nodes are on one InfiniBand "
          "network: nA (ib0 is on 10.1.0.0/16, where two nodes have the same address), nB (ib0 is "
          "on 10.1.0.0/16, where another node has the same address), nC (ib0 is on 10.1.0.0/16, "
          "where two nodes have the same address)" },
        /* not if one interface is down, nor if both are without carrier */
        { { .host = { A, "ib0 infiniband up 10.1.0.2/16, ib1 infiniband down 10.1.0.1/16" } },
          { .ib = "require" }, "10.1.0.1@ib0 10.1.0.2@ib0 ", "10.1.0.0/16 (InfiniBand)", NULL },
        { { .host = { A ", ib1 infiniband no-carrier 10.1.9.9/16",
              B ", ib1 infiniband no-carrier 10.1.9.9/16" } },
          { .ib = "require" }, "10.1.0.1@ib0 10.1.0.2@ib0 ", "10.1.0.0/16 (InfiniBand)", NULL },
    };

    check (row, COUNT (row));
}

/* --tf-network. */

#define TWO_A "eth0 other up 10.0.0.1/16, eth1 other up 10.3.0.1/16"
#define TWO_B "eth0 other up 10.0.0.2/16, eth1 other up 10.3.0.2/16"
#define ON_ETH1 "10.3.0.1@eth1 10.3.0.2@eth1 "

TEST (a_named_network_is_used)
{
    static const char *const network[] = {
        "10.3.0.0/16", "10.3.0.0/24", "10.2.0.0/15", "10.3.255.255/16", "eth1", "eth7,eth1",
        "10.9.0.0/16,10.3.0.0/16,10.0.0.0/16", "eth1,eth0", "10.9.0.0/16,eth1", "fd00::/8,eth1",
    };

    for (size_t i = 0; i < COUNT (network); i++) {
        const struct row row[] = {
            { { .host = { TWO_A, TWO_B } }, { .networks = network[i] }, ON_ETH1,
              "10.3.0.0/16 (eth1)",
              NULL },
            { { .host = { TWO_A, TWO_B } }, { .site = network[i] }, ON_ETH1, "10.3.0.0/16 (eth1)",
              NULL },
        };

        check (row, COUNT (row));
    }
}

TEST (a_users_network_is_required_and_a_sites_network_is_preferred)
{
    static const struct row row[] = {
        { { .host = { TWO_A, "eth0 other up 10.0.0.2/16, eth1 other no-carrier 10.3.0.2/16" } },
          { .networks = "10.3.0.0/16" }, NULL, NULL,
          "--tf-network: not all nodes are on 10.3.0.0/16: nB (eth1 has no carrier); all nodes are "
          "on 10.0.0.0/16 (eth0)" },
        { { .host = { TWO_A, "eth0 other up 10.0.0.2/16, eth1 other no-carrier 10.3.0.2/16" } },
          { .site = "10.3.0.0/16" }, "10.0.0.1@eth0 10.0.0.2@eth0 ", "10.0.0.0/16 (eth0)",
          "not all nodes are on 10.3.0.0/16: nB (eth1 has no carrier); using 10.0.0.0/16 (eth0)" },
        { { .host = { TWO_A, TWO_B, "eth0 other up 10.0.0.3/16" } },
          { .networks = "10.9.0.0/16,eth1" },
          NULL, NULL,
          "--tf-network: not all nodes are on 10.9.0.0/16 or eth1: nC (no such interface, but "
          "eth0); all nodes are on 10.0.0.0/16 (eth0)" },
        { { .host = { TWO_A, TWO_B, "eth0 other up 10.0.0.3/16, eth1 other up -" } },
          { .networks = "eth1" }, NULL, NULL,
          "--tf-network: not all nodes are on eth1: nC (eth1 has no address); all nodes are on "
          "10.0.0.0/16 (eth0)" },
        { { .host = { TWO_A, TWO_B } }, { .networks = "10.9.0.0/16" }, NULL, NULL,
          "--tf-network: not all nodes are on 10.9.0.0/16: nA, nB (no address there); all nodes are "
          "on 10.0.0.0/16 (eth0), 10.3.0.0/16 (eth1)" },
        { { .host = { TWO_A, TWO_B, "" } }, { .networks = "eth0" }, NULL, NULL,
          "--tf-network: not all nodes are on eth0: nC (it reported no interfaces)" },
        /* the second network of a site's list is used without a notice */
        { { .host = { TWO_A, TWO_B } }, { .site = "ib0,eth1" }, ON_ETH1, "10.3.0.0/16 (eth1)",
          NULL },
        /* the hosts share 10.0.0.0/8, but only one is in 10.3.0.0/16 */
        { { .host = { "eth1 other up 10.3.0.1/8", "eth1 other up 10.4.0.2/8" } },
          { .networks = "10.3.0.0/16" }, NULL, NULL,
          "--tf-network: not all nodes are on 10.3.0.0/16: nB (no address there); all nodes are on "
          "10.0.0.0/8 (eth1)" },
    };

    check (row, COUNT (row));
}

TEST (of_several_matching_networks_the_one_that_reaches_srun_is_used)
{
    static const struct row row[] = {
        { { .host = { TWO_A, TWO_B }, .here = { "10.3.0.1", "10.3.0.2" } },
          { .networks = "10.0.0.0/8" },
          ON_ETH1, "10.3.0.0/16 (eth1)", NULL },
        { { .host = { TWO_A, TWO_B } }, { .networks = "10.0.0.0/8" },
          "10.0.0.1@eth0 10.0.0.2@eth0 ",
          "10.0.0.0/16 (eth0)", NULL },
        /* srun runs on one of the hosts */
        { { .host = { TWO_A, TWO_B }, .here = { "127.0.0.1", "10.3.0.2" }, .own = 'A' },
          { .networks = "10.0.0.0/8" }, ON_ETH1, "10.3.0.0/16 (eth1)", NULL },
        /* none of them reaches srun: the lowest is used */
        { { .host = { TWO_A, TWO_B }, .here = { "10.9.0.1", "10.9.0.2" } },
          { .networks = "10.0.0.0/8" },
          "10.0.0.1@eth0 10.0.0.2@eth0 ", "10.0.0.0/16 (eth0)", NULL },
        /* without --tf-ib, ranks are not spread over rails */
        { { .host = { RAILS_A, RAILS_B }, .ranks = "AABB", .here = { "10.2.0.1", "10.2.0.2" } },
          { .networks = "10.0.0.0/8" }, "10.2.0.1@ib1 10.2.0.1@ib1 10.2.0.2@ib1 10.2.0.2@ib1 ",
          "10.2.0.0/16 (InfiniBand)", NULL },
    };

    check (row, COUNT (row));
}

TEST (a_network_can_contain_hosts_on_different_subnets)
{
    static const struct row row[] = {
        { { .host = { "eth1 other up 10.3.1.1/24",
          "eth2 other up 10.3.2.2/24, eth1 other up 10.3.9.2/24",
              "eth1 other up 10.3.1.3/24" } }, { .networks = "10.3.0.0/16" },
          "10.3.1.1@eth1 10.3.2.2@eth2 10.3.1.3@eth1 ", "10.3.0.0/16", NULL },
        { { .host = { "ib0 infiniband up 10.3.1.1/24", "ib0 infiniband up 10.3.2.2/24" } },
          { .ib = "auto", .networks = "10.3.0.0/16" },
          "10.3.1.1@ib0 10.3.2.2@ib0 ", "10.3.0.0/16 (InfiniBand)", NULL },
        { { .host = { "eth1 other up fd00:1::1/64", "eth1 other up fd00:2::2/64" } },
          { .site = "fd00::/16" }, "fd00:1::1@eth1 fd00:2::2@eth1 ", "fd00::/16 (eth1)", NULL },
        /* every host is alone in its subnet */
        { { .host = { "eth1 other up 10.3.0.1/32", "eth1 other up 10.3.0.2/32" } },
          { .networks = "10.3.0.0/16" }, "10.3.0.1@eth1 10.3.0.2@eth1 ", "10.3.0.0/16 (eth1)",
          NULL },
        /* a subnet that all hosts share is preferred to several subnets */
        { { .host = { "eth1 other up 10.3.1.1/24, eth2 other up 10.3.9.1/24",
              "eth1 other up 10.3.2.2/24, eth2 other up 10.3.9.2/24" } },
          { .networks = "10.3.0.0/16" }, "10.3.9.1@eth2 10.3.9.2@eth2 ", "10.3.9.0/24 (eth2)",
          NULL },
        /* a host on another subnet of the network is not blamed */
        { { .host = { "eth1 other up 10.3.1.1/24", "eth1 other up 10.3.2.2/24",
              "eth1 other up 10.4.0.3/24" } }, { .networks = "10.3.0.0/16" }, NULL, NULL,
          "--tf-network: not all nodes are on 10.3.0.0/16: nC (no address there)" },
        { { .host = { "ib0 infiniband up 10.3.1.1/24", "ib0 infiniband up 10.3.2.2/24",
              "ib0 infiniband down 10.3.2.3/24" } },
          { .ib = "require", .networks = "10.3.0.0/16" }, NULL, NULL, "--tf-ib=require: not all "
          "nodes are on one InfiniBand network of 10.3.0.0/16: nC (ib0 is down)" },
        /* an interface name requires one common subnet */
        { { .host = { "eth1 other up 10.3.1.1/24", "eth1 other up 10.3.2.2/24" } },
          { .networks = "eth1" },
          NULL, NULL,
          "--tf-network: not all nodes are on eth1: nB (eth1 is on 10.3.2.0/24); if there are "
          "routes between these networks, write --tf-network=10.3.0.0/22" },
    };

    check (row, COUNT (row));
}

/* As on a routed fabric. */
TEST (an_interface_can_have_a_network_of_its_own_on_each_host)
{
#define ETH(n) "eth0 other up 10.0.0." n "/16, "
    static const struct row row[] = {
        { { .host = { ETH ("1") "hsn0 other up 10.3.0.1/32", ETH ("2") "hsn0 other up 10.3.9.2/32" } },
          { .networks = "hsn0" }, "10.3.0.1@hsn0 10.3.9.2@hsn0 ", "hsn0", NULL },
        { { .host = { ETH ("1") "hsn0 other up 10.3.0.0/31", ETH ("2") "hsn0 other up 10.3.0.3/31",
              ETH ("3") "hsn0 other up 10.3.0.5/30" }, .ranks = "AABBC" },
          { .site = "hsn7,hsn0" },
          "10.3.0.0@hsn0 10.3.0.0@hsn0 10.3.0.3@hsn0 10.3.0.3@hsn0 10.3.0.5@hsn0 ", "hsn0", NULL },
        { { .host = { ETH ("1") "hsn0 other up fd00:1::1/127", ETH ("2") "hsn0 other up fd00:2::2/128" } },
          { .networks = "hsn0" }, "fd00:1::1@hsn0 fd00:2::2@hsn0 ", "hsn0", NULL },
        { { .host = { "ib0 infiniband up 10.3.0.0/31", "ib0 infiniband up 10.3.0.3/31" } },
          { .ib = "auto", .networks = "ib0" }, "10.3.0.0@ib0 10.3.0.3@ib0 ", "ib0 (InfiniBand)", NULL },
        /* IPv4 is preferred, and the first address */
        { { .host = { "hsn0 other up fd00:1::1/128, hsn0 other up 10.3.0.1/32, hsn0 other up 10.2.0.1/32",
              "hsn0 other up 10.3.0.2/32, hsn0 other up fd00:2::2/128" } },
          { .networks = "hsn0" }, "10.3.0.1@hsn0 10.3.0.2@hsn0 ", "hsn0", NULL },
        /* a network that all hosts share is preferred */
        { { .host = { "hsn0 other up 10.3.0.1/32, hsn0 other up 10.4.0.1/16",
              "hsn0 other up 10.3.0.2/32, hsn0 other up 10.4.0.2/16" } },
          { .networks = "hsn0" }, "10.4.0.1@hsn0 10.4.0.2@hsn0 ", "10.4.0.0/16 (hsn0)", NULL },
        /* only the hosts without such an interface are blamed */
        { { .host = { ETH ("1") "hsn0 other up 10.3.0.1/32", ETH ("2") "hsn0 other up 10.3.0.2/32",
              ETH ("3") "hsn1 other up 10.3.0.3/32" } }, { .networks = "hsn0" }, NULL, NULL,
          "--tf-network: not all nodes are on hsn0: nC (no such interface, but eth0, hsn1); all nodes are on "
          "10.0.0.0/16 (eth0)" },
        { { .host = { "hsn0 other up 10.3.0.1/32", "hsn0 other down 10.3.0.2/32" } },
          { .networks = "hsn0" }, NULL, NULL, "--tf-network: not all nodes are on hsn0: nB (hsn0 is down)" },
        { { .host = { "hsn0 other up 10.3.0.1/32", "hsn0 other up -" } }, { .networks = "hsn0" },
          NULL, NULL, "--tf-network: not all nodes are on hsn0: nB (hsn0 has no address)" },
        { { .host = { "hsn0 other up 10.3.0.1/32", "hsn0 other up fd00:2::2/128" } },
          { .networks = "hsn0" }, NULL, NULL,
          "--tf-network: not all nodes are on hsn0: nB (hsn0 is on fd00:2::2/128)" },
        { { .host = { "hsn0 other up 10.3.0.1/32", "hsn0 other up 10.3.0.2/32",
              "hsn0 other up 10.3.1.3/29" } }, { .networks = "hsn0" }, NULL, NULL,
          "--tf-network: not all nodes are on hsn0: nC (hsn0 is on 10.3.1.0/29); if there are routes between "
          "these networks, write --tf-network=10.3.0.0/23" },
        /* two hosts have the same address */
        { { .host = { "hsn0 other up 10.3.0.1/32", "hsn0 other up 10.3.0.1/32" } },
          { .networks = "hsn0" }, NULL, NULL, "--tf-network: not all nodes are on hsn0: nA, nB (hsn0 is on "
          "10.3.0.1/32, where another node has the same address)" },
    };

    check (row, COUNT (row));
}

TEST (the_names_of_many_interfaces_are_bounded)
{
    static const struct row row[] = {
        { { .host = { "abcdefghijklmn1 other up 10.1.0.1/16, abcdefghijklmn2 other up -, "
              "abcdefghijklmn3 other up -, "
                      "abcdefghijklmn4 other up -, abcdefghijklmn5 other up -, abcdefghijklmn6 other up -",
              "e1 other up -, e2 other up -, e2 other up -, e3 other up -, e4 other up -, e5 other up -, "
              "e6 other up -, e7 other up -" } },
          { .networks = "x" }, NULL, NULL,
          "--tf-network: not all nodes are on x: nA (no such interface, but abcdefghijklmn1, "
          "abcdefghijklmn2, abcdefghijklmn3 and 3 more), nB (no such interface, but e1, e2, e3, e4, e5, e6 "
          "and 1 more)" },
    };

    check (row, COUNT (row));
}

TEST (tf_network_selects_the_infiniband_network)
{
#define BOTH_A RAILS_A ", eth0 other up 10.0.0.1/16"
#define BOTH_B RAILS_B ", eth0 other up 10.0.0.2/16"
    static const struct row row[] = {
        { { .host = { BOTH_A, BOTH_B } }, { .ib = "auto", .networks = "10.2.0.0/16" },
          "10.2.0.1@ib1 10.2.0.2@ib1 ", "10.2.0.0/16 (InfiniBand)", NULL },
        { { .host = { BOTH_A, BOTH_B } }, { .ib = "auto", .site = "ib1" },
          "10.2.0.1@ib1 10.2.0.2@ib1 ", "10.2.0.0/16 (InfiniBand)", NULL },
        { { .host = { BOTH_A, BOTH_B } },
          { .ib = "auto", .networks = "ib9,10.2.0.0/16,10.1.0.0/16" },
          "10.2.0.1@ib1 10.2.0.2@ib1 ", "10.2.0.0/16 (InfiniBand)", NULL },
        /* both rails are in the network */
        { { .host = { BOTH_A, BOTH_B }, .ranks = "AAB" },
          { .ib = "auto", .networks = "10.0.0.0/8" },
          "10.1.0.1@ib0 10.2.0.1@ib1 10.1.0.2@ib0 ", RAILS, NULL },
        /* a named InfiniBand network precedes a named Ethernet network in any order */
        { { .host = { BOTH_A, BOTH_B } }, { .ib = "auto", .networks = "10.0.0.0/16,10.2.0.0/16" },
          "10.2.0.1@ib1 10.2.0.2@ib1 ", "10.2.0.0/16 (InfiniBand)", NULL },
        /* the site prefers an Ethernet network, so any InfiniBand network is used */
        { { .host = { BOTH_A, BOTH_B } }, { .ib = "require", .site = "10.0.0.0/16" },
          "10.1.0.1@ib0 10.1.0.2@ib0 ", RAILS, NULL },
        /* the user requires an Ethernet network, so no other InfiniBand network is used */
        { { .host = { BOTH_A, BOTH_B } }, { .ib = "auto", .networks = "10.0.0.0/16" },
          "10.0.0.1@eth0 10.0.0.2@eth0 ", "10.0.0.0/16 (eth0)", "not all nodes are on one "
          "InfiniBand network of 10.0.0.0/16: nA, nB (no address there); "
          "using 10.0.0.0/16 (eth0)" },
        { { .host = { BOTH_A, BOTH_B } }, { .ib = "require", .networks = "10.0.0.0/16" }, NULL,
          NULL,
          "--tf-ib=require: not all nodes are on one InfiniBand network of 10.0.0.0/16: nA, nB (no "
          "address there); all nodes are on 10.1.0.0/16 (ib0), 10.2.0.0/16 (ib1)" },
        { { .host = { BOTH_A, BOTH_B } }, { .ib = "require", .networks = "eth0" }, NULL, NULL,
          "--tf-ib=require: not all nodes are on one InfiniBand network of eth0: nA, nB (no such "
          "InfiniBand interface, but ib0, ib1); all nodes are on 10.1.0.0/16 (ib0), 10.2.0.0/16 "
          "(ib1)" },
        { { .host = { BOTH_A, "ib0 infiniband down 10.7.0.2/16", "ib0 infiniband down -" } },
          { .ib = "require", .networks = "10.1.0.0/16" }, NULL, NULL,
          "--tf-ib=require: not all nodes are on one InfiniBand network of 10.1.0.0/16: "
          "nB (no address there), nC (ib0 is down)" },
        /* the launch is refused for --tf-network, so the error explains --tf-network */
        { { .host = { BOTH_A, "eth0 other up 10.0.0.2/16" } },
          { .ib = "auto", .networks = "10.1.0.0/16" },
          NULL, NULL,
          "--tf-network: not all nodes are on 10.1.0.0/16: nB (no address there); all nodes are on "
          "10.0.0.0/16 (eth0)" },
        /* without InfiniBand on every host, the site's preferred network is used */
        { { .host = { BOTH_A ", eth1 other up 10.3.0.1/16",
              "eth0 other up 10.0.0.2/16, eth1 other up 10.3.0.2/16" } },
          { .ib = "auto", .site = "ib0,10.3.0.0/16" }, ON_ETH1, "10.3.0.0/16 (eth1)",
          "not all nodes are on one InfiniBand network: nB (no InfiniBand interface); "
          "using 10.3.0.0/16 (eth1)" },
        { { .host = { BOTH_A, "eth0 other up 10.0.0.2/16" } },
          { .ib = "require", .site = "10.0.0.0/8" },
          NULL, NULL, "--tf-ib=require: not all nodes are on one InfiniBand network: "
          "nB (no InfiniBand interface)" },
    };

    check (row, COUNT (row));
}

TEST (a_long_list_of_wanted_networks_is_truncated_between_items)
{
    static const struct row row[] = {
        { { .host = { TWO_A } }, { .networks = "10.100.101.0/24,10.100.102.0/24,10.100.103.0/24,"
                           "10.100.104.0/24,10.100.105.0/24,10.100.106.0/24,10.100.107.0/24,"
                           "10.100.108.0/24,10.100.109.0/24,10.100.110.0/24,10.100.111.0/24,"
                           "10.100.112.0/24,10.100.113.0/24,10.100.114.0/24,10.100.115.0/24" },
          NULL, NULL,
          "--tf-network: not all nodes are on 10.100.101.0/24 or 10.100.102.0/24 or 10.100.103.0/24 "
          "or 10.100.104.0/24 or 10.100.105.0/24 or 10.100.106.0/24 or 10.100.107.0/24 or "
          "10.100.108.0/24 and 7 more: nA (no address there); all nodes are on 10.0.0.0/16 (eth0), "
          "10.3.0.0/16 (eth1)" },
    };

    check (row, COUNT (row));
}

TEST (a_long_list_of_chosen_networks_is_truncated_between_items)
{
    enum { RACKS = 20 };
    static struct network_rank racks[RACKS];
    static struct host hosts[RACKS];
    static struct interface own[RACKS];
    const struct network_wish wish = { .infiniband = true };
    const struct host none = { "none" };

    for (int i = 0; i < RACKS; i++) {
        char words[64];

        snprintf (hosts[i].id, sizeof (hosts[i].id), "r%02d", i);
        snprintf (words, sizeof (words), "eth0 other up 10.100.%d.1/24", 100 + i);
        assert_int_equal (interface_parse (&own[i], words), 0);
        racks[i] = (struct network_rank){ .node = hosts[i].id, .host = &hosts[i],
                                          .here = own[i].address.address, .interface = &own[i],
                                          .interfaces = 1 };
    }
    assert_int_equal (network_choose (racks, RACKS, &none, &wish, &choice, &err), 0);
    assert_string_equal (choice.network, "10.100.100.0/24 and 10.100.101.0/24 and 10.100.102.0/24 "
                         "and 10.100.103.0/24 and 10.100.104.0/24 and 10.100.105.0/24 and "
                         "10.100.106.0/24 and 10.100.107.0/24 and 10.100.108.0/24 and "
                         "10.100.109.0/24 and 10 more (eth0)");
    assert_string_equal (choice.notice + strlen (choice.notice) - strlen (choice.network),
                         choice.network);
}

/* One host alone. */

TEST (the_options_also_apply_to_a_step_on_one_host)
{
    static const struct row row[] = {
        { { .host = { A }, .ranks = "AA", .here = { "127.0.0.1" } }, { 0 }, "127.0.0.1 127.0.0.1 ",
          "", NULL },
        { { .host = { A }, .ranks = "AA", .here = { "127.0.0.1" } }, { .ib = "auto" },
          "10.1.0.1@ib0 10.1.0.1@ib0 ", "10.1.0.0/16 (InfiniBand)", NULL },
        { { .host = { RAILS_A }, .ranks = "AA", .here = { "127.0.0.1" } }, { .ib = "require" },
          "10.1.0.1@ib0 10.2.0.1@ib1 ", RAILS, NULL },
        { { .host = { TWO_A }, .ranks = "AA" }, { .networks = "eth1" },
          "10.3.0.1@eth1 10.3.0.1@eth1 ", "10.3.0.0/16 (eth1)", NULL },
        { { .host = { TWO_A }, .ranks = "AA", .here = { "127.0.0.1" } }, { .ib = "auto" },
          "127.0.0.1 127.0.0.1 ",
          "", "not all nodes are on one InfiniBand network: nA (no InfiniBand interface); "
          "using the address that reaches srun" },
    };

    check (row, COUNT (row));
}

/* Which rank is on which host, and which rank reports the host's interfaces. */

TEST (the_ranks_of_a_host_need_not_be_consecutive)
{
    static const struct row row[] = {
        { { .host = { A, B, C }, .ranks = "ABCABCAB" }, { .ib = "require" },
          "10.1.0.1@ib0 10.1.0.2@ib0 10.1.0.3@ib0 10.1.0.1@ib0 10.1.0.2@ib0 10.1.0.3@ib0 "
          "10.1.0.1@ib0 10.1.0.2@ib0 ", "10.1.0.0/16 (InfiniBand)", NULL },
        { { .host = { A, B, C }, .ranks = "CCABAC" }, { .ib = "require" },
          "10.1.0.3@ib0 10.1.0.3@ib0 10.1.0.1@ib0 10.1.0.2@ib0 10.1.0.1@ib0 10.1.0.3@ib0 ",
          "10.1.0.0/16 (InfiniBand)", NULL },
        /* nodes are named in the order of their ranks */
        { { .host = { "eth0 other up 10.0.0.1/16", "eth0 other up 10.0.0.2/16", C },
          .ranks = "BACB" },
          { .ib = "auto" }, "10.0.0.2@eth0 10.0.0.1@eth0 10.0.0.3@eth0 10.0.0.2@eth0 ",
          "10.0.0.0/16 (eth0)", "not all nodes are on one InfiniBand network: nB, nA (no "
          "InfiniBand interface); using 10.0.0.0/16 (eth0)" },
    };

    check (row, COUNT (row));
}

/*
 * The first rank of a component on a node reports the node's interfaces. A step may have several
 * components on a node.
 */
TEST (any_rank_can_report_its_hosts_interfaces)
{
    const struct cluster cluster = { .host = { A, B }, .ranks = "ABABAB" };
    const struct wish wish = { .ib = "require" };

    for (size_t a = 0; a < 6; a += 2)
        for (size_t b = 1; b < 6; b += 2) {
            set_cluster (&cluster);
            rank[0].interfaces = rank[1].interfaces = 0;
            rank[a].interface = interface[0];
            rank[b].interface = interface[1];
            rank[a].interfaces = rank[b].interfaces = 2;
            assert_int_equal (choose_for (6, '\0', &wish), 0);
            assert_string_equal (chosen (6), "10.1.0.1@ib0 10.1.0.2@ib0 10.1.0.1@ib0 10.1.0.2@ib0 "
                                 "10.1.0.1@ib0 10.1.0.2@ib0 ");
        }
}

TEST (two_reports_of_one_host_are_not_duplicate_addresses)
{
    const struct cluster cluster = { .host = { A, B }, .ranks = "ABAB" };
    const struct wish wish = { .ib = "require" };
    struct interface again[2];

    set_cluster (&cluster);
    memcpy (again, interface[0], sizeof (again));
    rank[2].interface = again;
    rank[2].interfaces = 2;
    assert_int_equal (choose_for (4, '\0', &wish), 0);
    assert_string_equal (chosen (4), "10.1.0.1@ib0 10.1.0.2@ib0 10.1.0.1@ib0 10.1.0.2@ib0 ");
    /* if the reports differ, the lowest rank's report is used */
    again[1].state = INTERFACE_DOWN;
    assert_int_equal (choose_for (4, '\0', &wish), 0);
    rank[0].interface = again;
    rank[2].interface = interface[0];
    assert_int_equal (choose_for (4, '\0', &wish), -1);
    assert_string_equal (err.text, "--tf-ib=require: not all nodes are on one InfiniBand network: "
                         "nA (ib0 is down)");
}

/* Two nodes on one kernel: a node that was renamed, or two slurmds on one machine. */
TEST (a_host_is_identified_by_its_id_not_by_its_node_name)
{
    const struct cluster cluster = { .host = { A, B }, .ranks = "AAB" };
    const struct wish wish = { .ib = "require" };

    set_cluster (&cluster);
    rank[1].node = "other";
    rank[1].interface = interface[0];
    rank[1].interfaces = 2;
    assert_int_equal (choose_for (3, '\0', &wish), 0);
    assert_string_equal (chosen (3), "10.1.0.1@ib0 10.1.0.1@ib0 10.1.0.2@ib0 ");
}

TEST (an_earlier_choice_has_no_effect)
{
    const struct cluster cluster = { .host = { A, B } };
    const struct wish infiniband = { .ib = "require" }, none = { 0 };

    set_cluster (&cluster);
    assert_int_equal (choose_for (2, '\0', &infiniband), 0);
    rank[0].interfaces = rank[1].interfaces = 0;
    assert_int_equal (choose_for (2, '\0', &none), 0);
    assert_string_equal (chosen (2), "10.0.0.1 10.0.0.2 ");
    assert_string_equal (choice.network, "");
}

TEST (ten_thousand_ranks_are_spread_over_two_rails)
{
    enum { HOSTS = 2500, EACH = 4, MANY = HOSTS * EACH };
    struct network_rank *many = calloc (MANY, sizeof (*many));
    struct host *hosts = calloc (HOSTS, sizeof (*hosts));
    struct interface (*own)[3] = calloc (HOSTS, sizeof (*own));
    const struct network_wish wish = { .infiniband = true };
    const struct host none = { "none" };
    struct address_text room;

    for (int h = 0; h < HOSTS; h++) {
        snprintf (hosts[h].id, sizeof (hosts[h].id), "h%d", h);
        for (int i = 0; i < 3; i++) {
            char words[64];

            snprintf (words, sizeof (words), "%s%d %s up 10.%d.%d.%d/16", i ? "ib" : "eth",
                      i ? i - 1 : 0, i ? "infiniband" : "other", i, h / 200, h % 200 + 1);
            assert_int_equal (interface_parse (&own[h][i], words), 0);
        }
    }
    for (int i = 0; i < MANY; i++) {
        int h = i % HOSTS;

        many[i] = (struct network_rank){ .node = hosts[h].id, .host = &hosts[h],
                                         .here = own[h][0].address.address };
        if (i < HOSTS) {
            many[i].interface = own[h];
            many[i].interfaces = 3;
        }
    }
    assert_int_equal (network_choose (many, MANY, &none, &wish, &choice, &err), 0);
    assert_string_equal (choice.network, RAILS);
    for (int i = 0; i < MANY; i++)
        assert_true (address_equal (&many[i].chosen,
                                    &own[i % HOSTS][1 + i / HOSTS % 2].address.address));
    own[7][1].state = own[HOSTS - 1][2].state = INTERFACE_NO_CARRIER;
    assert_int_equal (network_choose (many, MANY, &none, &wish, &choice, &err), 0);
    assert_string_equal (choice.notice, "not all nodes are on one InfiniBand network: h7 (ib0 has "
                         "no carrier); using 10.0.0.0/16 (eth0)");
    assert_string_equal (address_print (&many[MANY - 1].chosen, &room), "10.0.12.100");
    free (many);
    free (hosts);
    free (own);
}
