/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What choose.h promises of network_choose (), for small random clusters in which networks, names and
 * addresses often collide. Most promises compare two answers: a list of networks is its first one that can be
 * used; --tf-ib=auto is either --tf-ib=require or --tf-ib=no. SPANK_TF_ROUNDS=N tries N clusters.
 */
#include "config.h"

#include "unit.h"
#include "../random.h"

#include <stdio.h>
#include <stdlib.h>

#include "network/choose.h"

#define MAX_HOSTS 6
#define MAX_RANKS (4 * MAX_HOSTS)
#define MAX_LINKS 4
#define MAX_ITEMS 3

/* An address, or a network; `high` has an IPv4 address in its upper half. */
struct place {
    int family;             /* 4 or 6; 0: no address */
    uint64_t high, low;
    int prefix;             /* at most 64 */
};

struct link {
    const char *name;
    bool infiniband;
    enum interface_state state;
    struct place at;
    const char *near;       /* or NULL */
};

struct machine {
    size_t links;
    struct link link[MAX_LINKS];
    struct place here, srun;
};

struct item {
    const char *text;
    struct place network;   /* family 0: the item is a name */
};

/* As struct network_wish. */
struct wish {
    bool infiniband, infiniband_required, networks_required;
    size_t items;
    struct item item[MAX_ITEMS];
};

struct world {
    size_t hosts, ranks, own;           /* own: srun's host; equal to hosts: another machine */
    struct machine machine[MAX_HOSTS];
    size_t host_of[MAX_RANKS];
    const char *cpus[MAX_RANKS];        /* or NULL */
};

static uint64_t seed = RANDOM_SEED;
static int round_number;
static struct world world;

static size_t below (size_t limit)
{
    return random_next (&seed) % limit;
}

static bool one_in (size_t n)
{
    return below (n) == 0;
}

/* Clusters. */

#define V4(a, b, c, d, bits) { 4, (uint64_t)((a) << 24 | (b) << 16 | (c) << 8 | (d)) << 32, 0, bits }
#define V6(a, b, bits) { 6, UINT64_C (a) << 48 | UINT64_C (b) << 32, 0, bits }

static const struct place subnet[] = {
    V4 (10U, 1, 0, 0, 16), V4 (10U, 2, 0, 0, 16), V4 (10U, 1, 0, 0, 24), V4 (10U, 3, 0, 0, 32),
    V4 (10U, 4, 0, 0, 31), V6 (0xfd00, 1, 64),    V6 (0xfd00, 2, 64),    V4 (172U, 17, 0, 0, 16),
};
#define DOCKER 7

/* clang-format off */
static const struct item known_item[] = {
    { "10.1.0.0/16", V4 (10U, 1, 0, 0, 16) }, { "10.2.0.0/16", V4 (10U, 2, 0, 0, 16) },
    { "10.1.0.0/24", V4 (10U, 1, 0, 0, 24) }, { "10.0.0.0/8", V4 (10U, 0, 0, 0, 8) },
    { "0.0.0.0/0", V4 (0U, 0, 0, 0, 0) }, { "172.16.0.0/12", V4 (172U, 16, 0, 0, 12) },
    { "fd00:1::/64", V6 (0xfd00, 1, 64) }, { "fd00::/16", V6 (0xfd00, 0, 16) },
    { "ib0", { 0 } }, { "ib1", { 0 } }, { "eth0", { 0 } }, { "eth1", { 0 } }, { "docker0", { 0 } },
    { "none0", { 0 } },
};
/* clang-format on */

/* The n-th address of a subnet; if `far`, in its second /24. */
static struct place place_in (size_t s, size_t n, bool far)
{
    struct place at = subnet[s];

    if (at.family == 4)
        at.high |= (uint64_t)((far && s != DOCKER ? 256 : 0) + n) << 32;
    else
        at.low = n;
    return at;
}

static struct link any_link (size_t host, size_t index)
{
    static const char *const name[] = { "ib0", "ib1", "eth0", "eth1", "docker0" };
    static const char *const near[] = { NULL, "0xf", "0xf0", "0xff" };
    size_t n = one_in (20) ? below (COUNT (name)) : index % 4, s = below (COUNT (subnet) - 1);
    struct link link = { .name = name[n], .infiniband = n < 2 };

    if (one_in (12)) {
        link.name = name[4];
        link.infiniband = false;
        s = DOCKER;
    }
    link.near = near[below (COUNT (near))];
    link.at = place_in (s, s == DOCKER ? 1 : host + 1, one_in (4));
    return link;
}

/* In most cases the same link as on another host. */
static struct link like (const struct link *plan, size_t host, size_t index, size_t oddness)
{
    struct link link = *plan;

    if (one_in (oddness))
        link = any_link (host, index);
    if (link.at.family == 4 && link.at.high >> 48 != (172U << 8 | 17))
        link.at.high = (link.at.high & ~(UINT64_C (0xff) << 32)) | (uint64_t)(host + 1) << 32;
    else if (link.at.family == 6)
        link.at.low = host + 1;
    if (one_in (2 * oddness)) {
        size_t s = below (COUNT (subnet));

        link.at = place_in (s, below (MAX_HOSTS) + 1, false);
    }
    if (one_in (oddness))
        link.state = (enum interface_state)below (3);
    if (one_in (2 * oddness))
        link.at = (struct place){ 0 };
    if (one_in (2 * oddness))
        link.infiniband = !link.infiniband;
    return link;
}

/* All addresses of an interface have the same state, link type and local CPUs. */
static void unify (struct machine *machine)
{
    for (size_t i = 0; i < machine->links; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp (machine->link[i].name, machine->link[j].name) == 0) {
                machine->link[i].infiniband = machine->link[j].infiniband;
                machine->link[i].state = machine->link[j].state;
                machine->link[i].near = machine->link[j].near;
                if (machine->link[i].at.family == machine->link[j].at.family
                    && machine->link[i].at.high == machine->link[j].at.high)
                    machine->link[i].at.high += UINT64_C (32) << 32;
            }
}

static void make_machine (size_t h, const struct link plan[MAX_LINKS], size_t links, size_t to_srun,
                          size_t oddness)
{
    struct machine *machine = &world.machine[h];
    static const struct place ethernet = V4 (192U, 168, 0, 0, 24), local = V4 (127U, 0, 0, 1, 8),
                              odd[] = { V4 (169U, 254, 0, 9, 16), V4 (192U, 168, 0, 1, 24),
                                        V4 (127U, 0, 0, 1, 8) };

    machine->links = links;
    for (size_t i = 0; i < links; i++)
        machine->link[i] = like (&plan[i], h, i, oddness);
    unify (machine);
    while (machine->links && one_in (4 * oddness))
        machine->links--;
    machine->here = machine->srun = ethernet;
    machine->here.high |= (uint64_t)(h + 1) << 32;
    machine->srun.high |= (uint64_t)(world.own + 1) << 32;
    if (to_srun < machine->links && machine->link[to_srun].at.family
        && machine->link[to_srun].state == INTERFACE_UP)
        machine->here = machine->link[to_srun].at;
    if (one_in (40))
        machine->here = odd[below (COUNT (odd))];
    if (h == world.own && one_in (2))
        machine->here = machine->srun = local;
}

static void make_ranks (void)
{
    static const char *const mask[] = { NULL, "0x1", "0xc", "0x30", "0x80", "0xff", "0x18", "0xf00" };
    size_t binding = below (3);

    world.ranks = 0;
    for (size_t h = 0; h < world.hosts; h++)
        for (size_t n = below (4) + 1; n > 0; n--)
            world.host_of[world.ranks++] = h;
    for (size_t i = world.ranks - 1; i > 0 && !one_in (8); i--) {
        size_t j = below (i + 1), other = world.host_of[i];

        world.host_of[i] = world.host_of[j];
        world.host_of[j] = other;
    }
    for (size_t i = 0; i < world.ranks; i++)
        world.cpus[i] = binding == 0 ? NULL : mask[below (binding == 1 ? 6 : COUNT (mask))];
}

static struct wish any_wish (void)
{
    struct wish wish = { .infiniband_required = one_in (3), .items = below (MAX_ITEMS + 1) };

    wish.infiniband = wish.infiniband_required || one_in (2);
    wish.networks_required = wish.items && one_in (2);
    for (size_t i = 0; i < wish.items; i++)
        wish.item[i] = known_item[below (COUNT (known_item))];
    return wish;
}

static void make_world (void)
{
    struct link plan[MAX_LINKS];
    size_t links = below (MAX_LINKS + 1), to_srun = below (2 * MAX_LINKS);
    size_t oddness = one_in (4) ? 2 : one_in (2) ? 8 : 40;

    world.hosts = below (MAX_HOSTS) + 1;
    world.own = one_in (2) ? below (world.hosts) : world.hosts;
    for (size_t i = 0; i < links; i++)
        plan[i] = any_link (0, i);
    for (size_t h = 0; h < world.hosts; h++)
        make_machine (h, plan, links, to_srun, oddness);
    make_ranks ();
}

/* The input of network_choose (), in one of many equivalent forms, and its result. */

struct answer {
    struct wish wish;
    int rc;
    struct network_rank rank[MAX_RANKS];
    struct network_choice choice;
    struct errtext err;
    struct host host[MAX_RANKS], own;
    struct interface interface[2 * MAX_HOSTS][MAX_LINKS];
};

static struct address address_of (const struct place *place)
{
    struct address address = { place->family == 4 ? AF_INET : place->family ? AF_INET6 : 0, { 0 } };

    for (size_t i = 0; i < (place->family == 4 ? 4 : place->family ? 8 : 0); i++)
        address.bytes[i] = (unsigned char)(place->high >> (56 - 8 * i));
    for (size_t i = 0; i < 8 && place->family == 6; i++)
        address.bytes[8 + i] = (unsigned char)(place->low >> (56 - 8 * i));
    return address;
}

static void report_interfaces (struct network_rank *rank, struct interface *interface,
                               const struct machine *machine)
{
    for (size_t i = 0; i < machine->links; i++) {
        const struct link *link = &machine->link[i];

        interface[i] = (struct interface){
            .infiniband = link->infiniband,
            .state = link->state,
            .local_cpus = link->near,
            .address = { address_of (&link->at), link->at.prefix },
        };
        snprintf (interface[i].name, sizeof (interface[i].name), "%s", link->name);
    }
    rank->interface = interface;
    rank->interfaces = (int)machine->links;
}

/* One rank of each host reports its interfaces. A higher rank may report others. */
static void report_all (struct answer *answer)
{
    size_t slot[2 * MAX_HOSTS], ranks_of[MAX_RANKS];

    for (size_t i = 0; i < COUNT (slot); i++) {
        size_t j = below (i + 1);

        slot[i] = j < i ? slot[j] : i;
        slot[j] = i;
    }
    for (size_t h = 0; h < world.hosts; h++) {
        size_t count = 0, reporter;

        for (size_t i = 0; i < world.ranks; i++)
            if (world.host_of[i] == h)
                ranks_of[count++] = i;
        reporter = below (count);
        report_interfaces (&answer->rank[ranks_of[reporter]], answer->interface[slot[h]], &world.machine[h]);
        if (world.machine[h].links && reporter + 1 < count)
            report_interfaces (&answer->rank[ranks_of[count - 1]], answer->interface[slot[MAX_HOSTS + h]],
                               &world.machine[below (world.hosts)]);
    }
}

static void ask (struct answer *answer, const struct wish *w)
{
    static const char *const node[] = { "node0", "node1", "node2", "node3", "node4", "node5" };
    struct network_wish wish = {
        w->infiniband, w->infiniband_required, { .count = 0 }, w->networks_required
    };
    uint32_t salt = random_next (&seed);
    char text[128] = "";

    memset (answer, 0, sizeof (*answer));
    answer->wish = *w;
    for (size_t i = 0; i < w->items; i++)
        strcat (strcat (text, i ? "," : ""), w->item[i].text);
    if (*text)
        assert_int_equal (netlist_parse (&wish.networks, text, NULL), 0);
    for (size_t i = 0; i < world.ranks; i++) {
        size_t h = world.host_of[i];

        snprintf (answer->host[i].id, sizeof (answer->host[i].id), "%08x",
                  (salt + (uint32_t)h) * 2654435761U);
        answer->rank[i] = (struct network_rank){
            .node = node[h],
            .host = &answer->host[i],
            .here = address_of (&world.machine[h].here),
            .srun = address_of (&world.machine[h].srun),
            .cpus = world.cpus[i],
        };
        if (h == world.own)
            answer->own = answer->host[i];
    }
    report_all (answer);
    answer->rc =
        network_choose (answer->rank, world.ranks, &answer->own, &wish, &answer->choice, &answer->err);
}

/* If a check fails, its cluster is printed. */

static const char *print_place (const struct place *place)
{
    static char text[4][64];
    static int next;
    struct address address = address_of (place);
    struct address_text room;
    char *to = text[next++ % 4];

    snprintf (to, sizeof (text[0]), "%s/%d", place->family ? address_print (&address, &room) : "-",
              place->prefix);
    return to;
}

static void print_world (const struct answer *answer)
{
    static const char *const state[] = { "up", "no-carrier", "down" };
    struct address_text room;

    print_message ("cluster %d: infiniband %d%s, networks", round_number, answer->wish.infiniband,
                   answer->wish.infiniband_required ? " required" : "");
    for (size_t i = 0; i < answer->wish.items; i++)
        print_message (" %s", answer->wish.item[i].text);
    print_message ("%s\n", answer->wish.networks_required ? " required" : "");
    for (size_t h = 0; h < world.hosts; h++) {
        const struct machine *m = &world.machine[h];

        print_message ("node%zu%s reaches srun, %s, by %s\n", h, h == world.own ? ", srun's," : "",
                       print_place (&m->srun), print_place (&m->here));
        for (size_t i = 0; i < m->links; i++)
            print_message ("    %s %s %s %s %s\n", m->link[i].name,
                           m->link[i].infiniband ? "infiniband" : "other", state[m->link[i].state],
                           print_place (&m->link[i].at), m->link[i].near ? m->link[i].near : "");
        for (size_t i = 0; i < world.ranks; i++)
            if (world.host_of[i] == h)
                print_message ("    rank %zu on %s: %s %s\n", i, world.cpus[i] ? world.cpus[i] : "any CPU",
                               address_print (&answer->rank[i].chosen, &room),
                               answer->rank[i].chosen_interface ? answer->rank[i].chosen_interface : "");
    }
    print_message ("rc %d, network \"%s\", rails %d, notice \"%s\", err \"%s\"\n", answer->rc,
                   answer->choice.network, answer->choice.rails, answer->choice.notice, answer->err.text);
}

#define EXPECT(is_so) \
    do { \
        if (!(is_so)) { \
            print_world (answer); \
            fail_msg ("cluster %d: %s", round_number, #is_so); \
        } \
    } while (0)

/* Networks. */

static bool same_address (const struct place *a, const struct place *b)
{
    return a->family == b->family && a->high == b->high && a->low == b->low;
}

static uint64_t bits_of_network (const struct place *place, int prefix)
{
    return prefix == 0 ? 0 : place->high >> (64 - prefix);
}

static bool is_within (const struct place *place, const struct place *network)
{
    return place->family == network->family
           && bits_of_network (place, network->prefix) == bits_of_network (network, network->prefix);
}

static bool same_network (const struct place *a, const struct place *b)
{
    return a->prefix == b->prefix && is_within (a, b);
}

/* IPv4 precedes IPv6; then the lower address, then the shorter prefix. */
static bool is_before (const struct place *a, const struct place *b)
{
    uint64_t bits_a = bits_of_network (a, a->prefix) << (64 - a->prefix) % 64;
    uint64_t bits_b = bits_of_network (b, b->prefix) << (64 - b->prefix) % 64;

    if (a->family != b->family)
        return a->family == 4;
    return bits_a != bits_b ? bits_a < bits_b : a->prefix < b->prefix;
}

static bool is_usable (const struct link *link)
{
    return link->state == INTERFACE_UP && link->at.family;
}

static bool is_claimed_by_another (const struct place *at, size_t host)
{
    for (size_t h = 0; h < world.hosts; h++)
        for (size_t i = 0; h != host && i < world.machine[h].links; i++)
            if (world.machine[h].link[i].state != INTERFACE_DOWN
                && same_address (&world.machine[h].link[i].at, at))
                return true;
    return false;
}

static bool is_tainted (const struct place *network)
{
    for (size_t h = 0; h < world.hosts; h++)
        for (size_t i = 0; i < world.machine[h].links; i++) {
            const struct link *link = &world.machine[h].link[i];

            if (is_usable (link) && same_network (&link->at, network) && is_claimed_by_another (&link->at, h))
                return true;
        }
    return false;
}

static bool is_named (const struct item *item, const struct link *link)
{
    if (item && item->network.family)
        return is_within (&link->at, &item->network);
    return !item || strcmp (item->text, link->name) == 0;
}

static bool is_own (const struct place *at)
{
    return at->family == 4 && at->prefix >= 30;
}

static bool reaches_srun (const struct place *network)
{
    for (size_t h = 0; h < world.hosts; h++)
        for (size_t i = 0; i < world.machine[h].links; i++) {
            const struct link *link = &world.machine[h].link[i];

            if (is_usable (link) && same_network (&link->at, network)
                && same_address (&link->at, &world.machine[h].here))
                return true;
        }
    return false;
}

/* The default: the address from which each host reaches srun. */

static bool is_loopback (const struct place *place)
{
    return place->family == 4 && place->high >> 56 == 127;
}

static bool address_to_srun (size_t h, struct place *to)
{
    *to = world.machine[h].here;
    if (world.hosts > 1 && is_loopback (to)) {
        bool found = false;

        for (size_t i = 0; h == world.own && !found && i < world.ranks; i++)
            if (world.host_of[i] != h && !is_loopback (&world.machine[world.host_of[i]].srun)) {
                *to = world.machine[world.host_of[i]].srun;
                found = true;
            }
        if (!found)
            return false;
    }
    return world.hosts == 1 || to->high >> 48 != (169U << 8 | 254);
}

static bool addresses_to_srun (struct place to[MAX_HOSTS])
{
    for (size_t h = 0; h < world.hosts; h++) {
        if (!address_to_srun (h, &to[h]))
            return false;
        for (size_t other = 0; other < h; other++)
            if (same_address (&to[h], &to[other]))
                return false;
    }
    return true;
}

/* How often each case occurred. Each must occur in at least 1 of 1000 clusters. */
static struct {
    size_t refused, unreachable, by_default, infiniband, rails, other, routed, own, ipv6, notice, srun;
} seen;

static bool is_chosen (const struct network_rank *rank, const struct place *place)
{
    struct address address = address_of (place);

    return address_equal (&rank->chosen, &address);
}

/* What the wish, of at most one network, lets a host use. */
static bool fits (const struct wish *wish, const struct link *link)
{
    return is_usable (link) && !is_tainted (&link->at) && (!wish->infiniband_required || link->infiniband)
           && is_named (wish->items ? &wish->item[0] : NULL, link);
}

/* True if each host has such a link, on this network; NULL: on any, if it is `own` as is_own () says. */
static bool has_each_host (const struct wish *wish, const struct place *network, bool own)
{
    for (size_t h = 0; h < world.hosts; h++) {
        bool on = false;

        for (size_t i = 0; i < world.machine[h].links; i++) {
            const struct link *link = &world.machine[h].link[i];

            on = on
                 || (fits (wish, link) && (!network || same_network (&link->at, network))
                     && (!own || is_own (&link->at)));
        }
        if (!on)
            return false;
    }
    return true;
}

/* The link that a rank has got: one of its host, with that name and that address. */
static const struct link *link_of (const struct answer *answer, size_t rank)
{
    const struct network_rank *r = &answer->rank[rank];
    const struct machine *machine = &world.machine[world.host_of[rank]];
    const struct link *found = NULL;

    for (size_t i = 0; i < machine->links; i++)
        if (is_chosen (r, &machine->link[i].at) && r->chosen_interface
            && strcmp (r->chosen_interface, machine->link[i].name) == 0)
            found = &machine->link[i];
    EXPECT (found != NULL);
    return found;
}

/* Each rank has an address of its own host that can be used, is the host's alone, and was required. */
static void check_addresses (const struct answer *answer)
{
    const struct wish *wish = &answer->wish;

    for (size_t i = 0; i < world.ranks; i++) {
        const struct link *link = link_of (answer, i);
        bool named = !wish->networks_required;

        EXPECT (is_usable (link) && !is_tainted (&link->at));
        EXPECT (link->infiniband || !wish->infiniband_required);
        for (size_t k = 0; k < wish->items; k++)
            named = named || is_named (&wish->item[k], link);
        EXPECT (named);
        for (size_t j = 0; j < i; j++)
            EXPECT (world.host_of[i] == world.host_of[j]
                    || !address_equal (&answer->rank[i].chosen, &answer->rank[j].chosen));
        seen.ipv6 += link->at.family == 6;
        seen.infiniband += link->infiniband;
        seen.other += !link->infiniband;
    }
}

/* All are on networks that each host is on, too. */
static bool is_common (const struct answer *answer)
{
    const struct wish any = { .infiniband = false };

    for (size_t i = 0; i < world.ranks; i++)
        if (!has_each_host (&any, &link_of (answer, i)->at, false))
            return false;
    return true;
}

/* All are on one network of the wish; or on one of its interfaces, with a network of its own on each host. */
static bool is_routed (const struct answer *answer)
{
    for (size_t k = 0; k < answer->wish.items; k++) {
        const struct item *item = &answer->wish.item[k];
        bool all = true;

        for (size_t i = 0; i < world.ranks; i++) {
            const struct link *link = link_of (answer, i);

            all = all && is_named (item, link) && (item->network.family || is_own (&link->at));
        }
        seen.routed += all && item->network.family;
        seen.own += all && !item->network.family;
        if (all)
            return true;
    }
    return false;
}

/* A host whose ranks have several interfaces has rails. */
static void check_rails (const struct answer *answer)
{
    bool several = false;

    for (size_t i = 0; i < world.ranks; i++)
        for (size_t j = 0; j < i; j++)
            several = several
                      || (world.host_of[i] == world.host_of[j]
                          && strcmp (link_of (answer, i)->name, link_of (answer, j)->name) != 0);
    EXPECT (answer->choice.rails || !several);
    seen.rails += several;
}

/* Every host reaches every other one, by what is chosen, and the choice names it. */
static void check_choice (const struct answer *answer)
{
    EXPECT (answer->rc == 0);
    check_addresses (answer);
    EXPECT (is_common (answer) || is_routed (answer));
    check_rails (answer);
    EXPECT (answer->choice.network[0] != '\0');
}

/* Of several networks that all hosts are on: IPv4, then that which reaches srun, then the first one. */
static void check_best (const struct answer *answer)
{
    const struct link *chosen = link_of (answer, 0);

    if (answer->wish.infiniband || !is_common (answer))
        return;
    for (size_t h = 0; h < world.hosts; h++)
        for (size_t i = 0; i < world.machine[h].links; i++) {
            const struct place *at = &world.machine[h].link[i].at;
            bool to_srun, better;

            if (!at->family || same_network (at, &chosen->at) || !has_each_host (&answer->wish, at, false))
                continue;
            to_srun = reaches_srun (at);
            better = to_srun != reaches_srun (&chosen->at) ? to_srun : is_before (at, &chosen->at);
            EXPECT (at->family == chosen->at.family ? !better : chosen->at.family == 4);
            seen.srun += reaches_srun (&chosen->at);
        }
}

static void check_default (const struct answer *answer)
{
    struct place to[MAX_HOSTS];
    bool reachable = addresses_to_srun (to);

    EXPECT (answer->rc == (reachable ? 0 : -1));
    seen.unreachable += !reachable;
    seen.by_default += reachable;
    for (size_t i = 0; reachable && i < world.ranks; i++)
        EXPECT (is_chosen (&answer->rank[i], &to[world.host_of[i]]));
    EXPECT (!answer->choice.rails);
}

/* The message is a line that begins with the option, and names one of the hosts. */
static void check_refusal (const struct answer *answer)
{
    const char *head = answer->wish.infiniband_required ? "--tf-ib=require: not all nodes are on "
                                                        : "--tf-network: not all nodes are on ";
    const char *node = strstr (answer->err.text, ": node");
    size_t number;

    EXPECT (answer->rc == -1);
    EXPECT (strncmp (answer->err.text, head, strlen (head)) == 0 && !strchr (answer->err.text, '\n'));
    EXPECT (node && sscanf (node, ": node%zu", &number) == 1 && number < world.hosts);
    seen.refused++;
}

/* One network, or InfiniBand, or both, is required: it is refused if and only if not every host has it. */
static void check_single (const struct answer *answer)
{
    const struct wish *wish = &answer->wish;
    bool possible = wish->items && has_each_host (wish, NULL, !wish->item[0].network.family);

    for (size_t h = 0; h < world.hosts; h++)
        for (size_t i = 0; i < world.machine[h].links; i++)
            possible = possible
                       || (world.machine[h].link[i].at.family
                           && has_each_host (wish, &world.machine[h].link[i].at, false));
    EXPECT (possible == (answer->rc == 0));
    if (!possible) {
        check_refusal (answer);
        return;
    }
    check_choice (answer);
    check_best (answer);
}

static bool same_choice (const struct answer *answer, const struct answer *other)
{
    for (size_t i = 0; answer->rc == 0 && i < world.ranks; i++) {
        const char *a = answer->rank[i].chosen_interface, *b = other->rank[i].chosen_interface;

        if (!address_equal (&answer->rank[i].chosen, &other->rank[i].chosen) || !a != !b
            || (a && strcmp (a, b) != 0))
            return false;
    }
    return answer->rc == other->rc && answer->choice.rails == other->choice.rails
           && strcmp (answer->choice.network, other->choice.network) == 0;
}

static void check_wish (const struct answer *answer);

/* The answer to this wish is that to another one; which also is checked. True if that is not a refusal. */
static bool is_answer_to (const struct answer *answer, const struct wish *wish)
{
    struct answer *other = malloc (sizeof (*other));
    bool accepted;

    assert_non_null (other);
    ask (other, wish);
    check_wish (other);
    accepted = other->rc == 0;
    if (accepted)
        EXPECT (same_choice (answer, other));
    free (other);
    return accepted;
}

/* A list that is required is its first network that can be used. */
static void check_list (const struct answer *answer)
{
    struct wish one = answer->wish;

    one.items = 1;
    for (size_t i = 0; i < answer->wish.items; i++) {
        one.item[0] = answer->wish.item[i];
        if (is_answer_to (answer, &one))
            return;
    }
    check_refusal (answer);
}

/*
 * A wish that only prefers is the same one required, if that is possible, and otherwise as without it, with a
 * notice. InfiniBand that is required, on another network than the site prefers, has none.
 */
static void check_preference (const struct answer *answer, struct wish required, struct wish without)
{
    bool noticed = answer->choice.notice[0] != '\0';

    if (is_answer_to (answer, &required)) {
        EXPECT (!noticed);
        return;
    }
    if (!is_answer_to (answer, &without))
        EXPECT (answer->rc == -1);
    EXPECT (answer->rc < 0 || noticed == !answer->wish.infiniband_required);
    seen.notice += noticed;
}

static void check_wish (const struct answer *answer)
{
    struct wish required = answer->wish, without = answer->wish;

    if (answer->wish.infiniband && !answer->wish.infiniband_required) {
        required.infiniband_required = true;
        without.infiniband = false;
        check_preference (answer, required, without);
    } else if (answer->wish.items && !answer->wish.networks_required) {
        required.networks_required = true;
        without.items = 0;
        check_preference (answer, required, without);
    } else if (answer->wish.items > 1)
        check_list (answer);
    else if (answer->wish.infiniband || answer->wish.items)
        check_single (answer);
    else
        check_default (answer);
}

static int rounds (void)
{
    const char *text = getenv ("SPANK_TF_ROUNDS");

    return text ? atoi (text) : 50000;
}

TEST (the_choice_keeps_its_promises_in_random_clusters)
{
    static struct answer answer, other;
    int count = rounds ();

    print_message ("seed %#llx, %d clusters\n", (unsigned long long)seed, count);
    for (round_number = 0; round_number < count; round_number++) {
        struct wish wish;

        make_world ();
        wish = any_wish ();
        ask (&answer, &wish);
        check_wish (&answer);
        /* It does not depend on which rank reports, on host ids or on where the data lies. */
        ask (&other, &wish);
        if (!same_choice (&answer, &other) || strcmp (answer.err.text, other.err.text) != 0
            || strcmp (answer.choice.notice, other.choice.notice) != 0) {
            print_world (&answer);
            print_world (&other);
            fail_msg ("cluster %d: two answers", round_number);
        }
    }
    print_message (
        "refused %zu, unreachable %zu, by default %zu, InfiniBand %zu, rails %zu, other %zu, routed "
        "%zu, own %zu, IPv6 %zu, notices %zu, to srun %zu\n",
        seen.refused, seen.unreachable, seen.by_default, seen.infiniband, seen.rails, seen.other, seen.routed,
        seen.own, seen.ipv6, seen.notice, seen.srun);
    for (size_t i = 0; i < sizeof (seen) / sizeof (size_t); i++)
        assert_true (((const size_t *)&seen)[i] >= (size_t)count / 1000);
}
