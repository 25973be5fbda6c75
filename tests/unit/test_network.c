/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * network.golden has stories of small clusters.
 */
#include "config.h"

#include "story.h"

#include "network/choose.h"
#include "network/rails.h"

#define MAX_RANKS 26
#define MAX_HOSTS 26

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
static char node[MAX_RANKS][4];
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

/* The chosen addresses, with their interfaces if known, as in "10.1.0.1@ib0 10.0.0.2". */
static const char *chosen (size_t count)
{
    static char buf[MAX_RANKS * (INET6_ADDRSTRLEN + IF_NAMESIZE)];
    struct address_text room;

    buf[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        strcat (strcat (buf, i ? " " : ""), address_print (&rank[i].chosen, &room));
        if (rank[i].chosen_interface)
            strcat (strcat (buf, "@"), rank[i].chosen_interface);
    }
    return buf;
}

/* Stories. */

static struct cluster told;

/* The texts to which it points: of each host, of all ranks, and how each host reaches srun. */
enum { OF_RANKS = MAX_HOSTS, OF_CPUS, OF_SRUN };
static char lines[OF_SRUN + MAX_HOSTS][512];

static void forget (void)
{
    memset (&told, 0, sizeof (told));
}

/* "ib0 0x0f" for host B is "ib0 infiniband up 10.1.0.2/16 0x0f". What is not such a short form stays. */
static void add_interface (char *list, char *item, size_t h)
{
    static const struct {
        const char *name, *link, *network;
    } usual[] = {
        { "eth0", "other", "10.0.0" },
        { "eth1", "other", "10.3.0" },
        { "ib0", "infiniband", "10.1.0" },
        { "ib1", "infiniband", "10.2.0" },
    };
    char whole[128], *cpus = item, *name;

    snprintf (whole, sizeof (whole), "%s", item);
    name = story_word (&cpus);
    for (size_t i = 0; i < COUNT (usual); i++)
        if (strcmp (name, usual[i].name) == 0 && (!*cpus || strncmp (cpus, "0x", 2) == 0))
            snprintf (whole, sizeof (whole), "%s %s up %s.%zu/16%s%s", name, usual[i].link, usual[i].network,
                      h + 1, *cpus ? " " : "", cpus);
    strcat (strcat (list, *list ? ", " : ""), whole);
}

/* "A B: ib0, eth0" */
static void set_hosts (char *event)
{
    char *hosts = strsep (&event, ":");

    if (!event)
        story_unknown (hosts);
    if (*hosts == 'A')
        forget ();
    for (; *hosts; hosts += strspn (hosts + 1, " ") + 1) {
        size_t h = (size_t)(*hosts - 'A');
        char copy[512], *rest = copy, *item;

        assert_true (h < MAX_HOSTS);
        lines[h][0] = '\0';
        snprintf (copy, sizeof (copy), "%s", event);
        while (strcmp (copy, " nothing") != 0 && (item = strsep (&rest, ",")))
            add_interface (lines[h], item + 1, h);
        told.host[h] = lines[h];
    }
}

static void set_cpus (char *event)
{
    for (size_t i = 0; *event; i++) {
        const char *word = story_word (&event);

        told.cpus[i] = strcmp (word, "-") == 0 ? NULL : word;
    }
}

/* A copy of the rest of the event. */
static char *kept (size_t line, const char *event)
{
    snprintf (lines[line], sizeof (lines[0]), "%s", event);
    return lines[line];
}

static void tell_choice (size_t count, char own, const struct wish *wish)
{
    if (choose_for (count, own, wish) < 0) {
        story_result ("refused");
        story_print ("%s\n", err.text);
        return;
    }
    story_result ("%s%s%s", chosen (count), *choice.network ? " on " : "", choice.network);
    if (choice.wished)
        story_result ("as wished");
    if (choice.rails)
        story_result ("by rails");
    if (*choice.notice)
        story_print ("%s\n", choice.notice);
}

/* "ib auto user 10.0.0.0/8" */
static void choose_told (char *event)
{
    struct wish wish = { .ib = NULL };

    while (*event)
        if (story_begins (&event, "ib"))
            wish.ib = story_word (&event);
        else if (story_begins (&event, "user"))
            wish.networks = story_word (&event);
        else if (story_begins (&event, "site"))
            wish.site = story_word (&event);
        else
            story_unknown (event);
    tell_choice (set_cluster (&told), told.own, &wish);
}

/* "S 127.0.0.1 127.0.0.1, B 10.0.0.2 10.0.0.9" */
static void choose_for_ranks (char *event)
{
    const struct wish none = { .ib = NULL };
    size_t count = 0;

    for (char *one; (one = strsep (&event, ",")); count++) {
        one += strspn (one, " ");
        snprintf (node[count], sizeof (node[0]), "n%c", *one);
        snprintf (host[count].id, sizeof (host[0].id), "%s", story_word (&one));
        rank[count] = (struct network_rank){ .node = node[count], .host = &host[count] };
        assert_int_equal (address_parse (&rank[count].here, story_word (&one)), 0);
        assert_int_equal (address_parse (&rank[count].srun, one), 0);
    }
    tell_choice (count, 'S', &none);
}

static void play (char *event)
{
    size_t h = (size_t)(*event - 'A');
    char *of_host = event + 1;

    of_host += strspn (of_host, " ");
    if (story_begins (&event, "choose for"))
        choose_for_ranks (event);
    else if (story_begins (&event, "choose"))
        choose_told (event);
    else if (story_begins (&event, "ranks"))
        told.ranks = kept (OF_RANKS, event);
    else if (story_begins (&event, "cpus"))
        set_cpus (kept (OF_CPUS, event));
    else if (story_begins (&event, "srun is on"))
        told.own = *event;
    else if (h >= MAX_HOSTS)
        story_unknown (event);
    else if (story_begins (&of_host, "reaches srun from"))
        told.here[h] = kept (OF_SRUN + h, of_host);
    else
        set_hosts (event);
}

STORIES (GOLDEN, play, forget)

/* Two nodes on one kernel: a node that was renamed, or two slurmds on one machine. */
TEST (a_host_is_identified_by_its_id_not_by_its_node_name)
{
    const struct cluster cluster = {
        .host = { "ib0 infiniband up 10.1.0.1/16", "ib0 infiniband up 10.1.0.2/16" }, .ranks = "AAB"
    };
    const struct wish wish = { .ib = "require" };

    set_cluster (&cluster);
    rank[1].node = "other";
    rank[1].interface = interface[0];
    rank[1].interfaces = 1;
    assert_int_equal (choose_for (3, '\0', &wish), 0);
    assert_string_equal (chosen (3), "10.1.0.1@ib0 10.1.0.1@ib0 10.1.0.2@ib0");
}

TEST (a_malformed_mask_means_all_cpus)
{
    static const char *const malformed[] = { "ff", "0x", "0xfg", "all" }, *const near[] = { "0x0f", "0xf0" },
                             *const bound[] = { "0x1", "0x1", "0x10" }, *const near_all[] = { "0x1", "1" };
    size_t chosen[4];

    assert_int_equal (rails_spread (chosen, malformed, 4, near, 2), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal (chosen[i], i % 2);
    assert_int_equal (rails_spread (chosen, bound, 3, near_all, 2), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal (chosen[i], i / 2);
}
