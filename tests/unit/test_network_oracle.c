/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Compare network_choose () with an oracle for small random clusters, in which networks, names and
 * addresses often collide. The oracle implements the contract in choose.h by exhaustive search: it
 * tries every option, network and host. SPANK_TF_ROUNDS=N tries N clusters.
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

struct world {
    size_t hosts, ranks, own;           /* own: srun's host; equal to hosts: another machine */
    struct machine machine[MAX_HOSTS];
    size_t host_of[MAX_RANKS];
    const char *cpus[MAX_RANKS];        /* or NULL */
    bool infiniband, infiniband_required, networks_required;
    size_t items;
    struct item item[MAX_ITEMS];
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

static void make_wish (void)
{
    world.infiniband_required = one_in (3);
    world.infiniband = world.infiniband_required || one_in (2);
    world.items = below (MAX_ITEMS + 1);
    world.networks_required = world.items && one_in (2);
    for (size_t i = 0; i < world.items; i++)
        world.item[i] = known_item[below (COUNT (known_item))];
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
    make_wish ();
}

/* The input of network_choose (), in one of many equivalent forms, and its result. */

struct answer {
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

static void ask (struct answer *answer)
{
    static const char *const node[] = { "node0", "node1", "node2", "node3", "node4", "node5" };
    struct network_wish wish = {
        world.infiniband, world.infiniband_required, { .count = 0 }, world.networks_required
    };
    uint32_t salt = random_next (&seed);
    char text[128] = "";

    memset (answer, 0, sizeof (*answer));
    for (size_t i = 0; i < world.items; i++)
        strcat (strcat (text, i ? "," : ""), world.item[i].text);
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

    print_message ("cluster %d: infiniband %d%s, networks", round_number, world.infiniband,
                   world.infiniband_required ? " required" : "");
    for (size_t i = 0; i < world.items; i++)
        print_message (" %s", world.item[i].text);
    print_message ("%s\n", world.networks_required ? " required" : "");
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

/* The oracle. */

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

struct preference {
    bool infiniband;
    const struct item *item;    /* NULL: any */
    bool own;                   /* IPv4 networks with room for one host only; IPv6 has none here */
};

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

static bool fits (const struct preference *p, const struct link *link)
{
    return is_usable (link) && !is_tainted (&link->at) && (!p->infiniband || link->infiniband)
           && is_named (p->item, link) && (!p->own || is_own (&link->at));
}

/* How many hosts have a link that fits, on `network` or, if it is NULL, on any network. */
static size_t hosts_on (const struct preference *p, const struct place *network, bool on[MAX_HOSTS])
{
    size_t count = 0;

    for (size_t h = 0; h < world.hosts; h++) {
        on[h] = false;
        for (size_t i = 0; i < world.machine[h].links; i++) {
            const struct link *link = &world.machine[h].link[i];

            on[h] = on[h] || (fits (p, link) && (!network || same_network (&link->at, network)));
        }
        count += on[h];
    }
    return count;
}

static bool is_common (const struct preference *p, const struct place *network)
{
    bool on[MAX_HOSTS];

    return hosts_on (p, network, on) == world.hosts;
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

/* What may be chosen. */
struct verdict {
    bool allowed[MAX_HOSTS][MAX_LINKS];
    const struct item *routed;
    bool refused, by_default, fulfilled;
};

/* The networks of all links, with duplicates. */
static size_t all_networks (const struct place *network[MAX_HOSTS * MAX_LINKS])
{
    size_t count = 0;

    for (size_t h = 0; h < world.hosts; h++)
        for (size_t i = 0; i < world.machine[h].links; i++)
            if (world.machine[h].link[i].at.family)
                network[count++] = &world.machine[h].link[i].at;
    return count;
}

static void allow (struct verdict *verdict, const struct preference *p, const struct place *network)
{
    for (size_t h = 0; h < world.hosts; h++)
        for (size_t i = 0; i < world.machine[h].links; i++) {
            const struct link *link = &world.machine[h].link[i];

            if (fits (p, link) && same_network (&link->at, network))
                verdict->allowed[h][i] = true;
        }
}

static bool allow_common (struct verdict *verdict, const struct preference *p, int family)
{
    const struct place *network[MAX_HOSTS * MAX_LINKS], *best = NULL;
    size_t count = all_networks (network);

    for (size_t n = 0; n < count; n++) {
        bool to_srun = reaches_srun (network[n]);

        if (network[n]->family != family || !is_common (p, network[n]))
            continue;
        if (p->infiniband)
            allow (verdict, p, network[n]);
        if (!best || to_srun > reaches_srun (best)
            || (to_srun == reaches_srun (best) && is_before (network[n], best)))
            best = network[n];
    }
    if (best && !p->infiniband)
        allow (verdict, p, best);
    return best != NULL;
}

static bool allow_routed (struct verdict *verdict, const struct preference *wish)
{
    struct preference p = *wish;
    bool on[MAX_HOSTS];

    p.own = p.item && !p.item->network.family;
    if (!p.item || hosts_on (&p, NULL, on) < world.hosts)
        return false;
    for (size_t h = 0; h < world.hosts; h++) {
        size_t i = 0;

        while (!fits (&p, &world.machine[h].link[i]))
            i++;
        verdict->allowed[h][i] = true;
    }
    verdict->routed = p.item;
    return true;
}

/* Allow one address per interface: the first address in the lowest of its networks. */
static void allow_no_alias (struct verdict *verdict)
{
    for (size_t h = 0; h < world.hosts; h++)
        for (size_t i = 0; i < MAX_LINKS; i++)
            for (size_t j = 0; j < MAX_LINKS; j++) {
                const struct link *a = &world.machine[h].link[i], *b = &world.machine[h].link[j];

                if (i != j && verdict->allowed[h][i] && verdict->allowed[h][j]
                    && strcmp (a->name, b->name) == 0
                    && (is_before (&b->at, &a->at) || (same_network (&a->at, &b->at) && j < i)))
                    verdict->allowed[h][i] = false;
            }
}

static bool is_fulfilled (struct verdict *verdict, bool infiniband, const struct item *item)
{
    const struct preference p = { infiniband, item, false };

    if (!allow_common (verdict, &p, 4) && !allow_common (verdict, &p, 6) && !allow_routed (verdict, &p))
        return false;
    verdict->fulfilled = infiniband == world.infiniband;
    allow_no_alias (verdict);
    return true;
}

static struct verdict judge (void)
{
    struct verdict verdict = { .refused = false };

    for (size_t i = 0; world.infiniband && i < world.items; i++)
        if (is_fulfilled (&verdict, true, &world.item[i]))
            return verdict;
    if (world.infiniband && !world.networks_required && is_fulfilled (&verdict, true, NULL))
        return verdict;
    for (size_t i = 0; !world.infiniband_required && i < world.items; i++)
        if (is_fulfilled (&verdict, false, &world.item[i]))
            return verdict;
    verdict.refused = world.infiniband_required || world.networks_required;
    verdict.by_default = !verdict.refused;
    verdict.fulfilled = !world.infiniband && world.items == 0;
    return verdict;
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
    size_t refused, unreachable, by_default, infiniband, rails, near, other, routed, own, ipv6, notice,
        elsewhere, tainted, common, cover;
} seen;

static bool is_chosen (const struct network_rank *rank, const struct place *place)
{
    struct address address = address_of (place);

    return address_equal (&rank->chosen, &address);
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

/* The index of the allowed link that the rank has. */
static size_t link_of (const struct answer *answer, const struct verdict *verdict, size_t rank)
{
    const struct network_rank *r = &answer->rank[rank];
    size_t h = world.host_of[rank], i = 0;

    while (i < MAX_LINKS
           && !(verdict->allowed[h][i] && is_chosen (r, &world.machine[h].link[i].at) && r->chosen_interface
                && strcmp (r->chosen_interface, world.machine[h].link[i].name) == 0))
        i++;
    EXPECT (i < MAX_LINKS);
    return i;
}

/* Tasks on every other host can connect to every rank. */
static void check_reachable (const struct answer *answer, const struct verdict *verdict)
{
    for (size_t i = 0; i < world.ranks; i++) {
        const struct place *at = &world.machine[world.host_of[i]].link[link_of (answer, verdict, i)].at;

        EXPECT (!is_tainted (at));
        for (size_t j = 0; j < world.ranks; j++) {
            const struct machine *peer = &world.machine[world.host_of[j]];
            bool by_name = verdict->routed && !verdict->routed->network.family;
            bool is_on = by_name ? is_own (at) : verdict->routed && is_within (at, &verdict->routed->network);

            for (size_t l = 0; l < peer->links; l++)
                is_on = is_on || (is_usable (&peer->link[l]) && same_network (&peer->link[l].at, at));
            EXPECT (is_on);
            EXPECT (world.host_of[i] == world.host_of[j]
                    || !address_equal (&answer->rank[i].chosen, &answer->rank[j].chosen));
        }
    }
}

static unsigned long mask_of (const char *text)
{
    return text ? strtoul (text, NULL, 16) : ~0UL;
}

/* The links local to the rank's CPUs, as a mask; all links if none is local. */
static unsigned int local_links (const struct verdict *verdict, size_t rank)
{
    size_t h = world.host_of[rank];
    unsigned int near = 0, all = 0;

    for (unsigned int i = 0; i < MAX_LINKS; i++)
        if (verdict->allowed[h][i]) {
            all |= 1U << i;
            if (mask_of (world.cpus[rank]) & mask_of (world.machine[h].link[i].near))
                near |= 1U << i;
        }
    return near ? near : all;
}

static void check_rails_of (const struct answer *answer, const struct verdict *verdict, size_t h)
{
    size_t load[MAX_LINKS] = { 0 }, links = 0, free_ranks = 0;
    unsigned int near[MAX_RANKS], all = 0;
    bool nested = true;

    for (unsigned int i = 0; i < MAX_LINKS; i++)
        if (verdict->allowed[h][i]) {
            links++;
            all |= 1U << i;
        }
    for (size_t i = 0; i < world.ranks; i++) {
        if (world.host_of[i] != h)
            continue;
        near[i] = local_links (verdict, i);
        load[link_of (answer, verdict, i)]++;
        free_ranks += near[i] == all;
        EXPECT (near[i] & 1U << link_of (answer, verdict, i));
        seen.near += near[i] != all;
        for (size_t j = 0; j < i; j++)
            if (world.host_of[j] == h && near[i] & near[j])
                nested = nested && ((near[i] & near[j]) == near[i] || (near[i] & near[j]) == near[j]);
    }
    /* No rank could get a less loaded link: certain if choices are equal, disjoint or nested. */
    for (size_t i = 0; nested && i < world.ranks; i++)
        for (size_t l = 0; world.host_of[i] == h && l < MAX_LINKS; l++)
            EXPECT (!(near[i] & 1U << l) || load[link_of (answer, verdict, i)] <= load[l] + 1);
    for (size_t l = 0; free_ranks >= links && l < MAX_LINKS; l++)
        EXPECT (!verdict->allowed[h][l] || load[l] > 0);
}

static void check_rails (const struct answer *answer, const struct verdict *verdict)
{
    bool rails = false;

    for (size_t h = 0; h < world.hosts; h++) {
        size_t links = 0;

        for (size_t l = 0; l < MAX_LINKS; l++)
            links += verdict->allowed[h][l];
        rails = rails || links > 1;
        check_rails_of (answer, verdict, h);
    }
    EXPECT (answer->choice.rails == rails);
    seen.rails += rails;
}

/* The choice names the networks that it uses. */
static void check_network (const struct answer *answer, const struct verdict *verdict)
{
    bool infiniband = true;

    for (size_t h = 0; h < world.hosts; h++)
        for (size_t i = 0; i < MAX_LINKS; i++)
            infiniband = infiniband && (!verdict->allowed[h][i] || world.machine[h].link[i].infiniband);
    for (size_t i = 0; i < world.ranks; i++) {
        const struct link *link = &world.machine[world.host_of[i]].link[link_of (answer, verdict, i)];
        struct place network = link->at;
        struct subnet of_link = { address_of (&network), network.prefix };
        struct subnet_text room;

        of_link = subnet_network (&of_link);
        EXPECT (strstr (answer->choice.network,
                        verdict->routed ? verdict->routed->text : subnet_print (&of_link, &room)));
        seen.ipv6 += link->at.family == 6;
    }
    EXPECT (infiniband == (strstr (answer->choice.network, " (InfiniBand)") != NULL));
    EXPECT (infiniband || !world.infiniband || !verdict->fulfilled);
    seen.infiniband += infiniband;
    seen.other += !infiniband;
    seen.routed += verdict->routed && verdict->routed->network.family;
    seen.own += verdict->routed && !verdict->routed->network.family;
}

/* Checks that the reasons in a message are true of the hosts that it names. */

static bool is_true_of_link (const struct link *link, const char *fact)
{
    struct subnet network = { address_of (&link->at), link->at.prefix };
    struct subnet_text room;
    char text[128];

    if (!is_usable (link))
        return strcmp (fact, link->state == INTERFACE_DOWN         ? "is down"
                             : link->state == INTERFACE_NO_CARRIER ? "has no carrier"
                                                                   : "has no address")
               == 0;
    network = subnet_network (&network);
    for (size_t h = 0; h < world.hosts; h++)
        if (link >= world.machine[h].link && link < world.machine[h].link + MAX_LINKS) {
            bool claimed = is_claimed_by_another (&link->at, h);
            bool tainted = is_tainted (&link->at);

            seen.tainted += tainted;
            seen.elsewhere += !tainted;
            snprintf (text, sizeof (text), "is on %s%s", subnet_print (&network, &room),
                      claimed   ? ", where another node has the same address"
                      : tainted ? ", where two nodes have the same address"
                                : "");
        }
    return strcmp (fact, text) == 0;
}

/* "no such interface, but eth0, eth1": the names of all its interfaces, or of InfiniBand, each once. */
static bool is_true_of_names (const struct machine *machine, const char *reason, bool infiniband)
{
    char text[128];
    int used = snprintf (text, sizeof (text), "no such %sinterface, but", infiniband ? "InfiniBand " : "");
    const char *separator = " ";

    for (size_t i = 0; i < machine->links; i++) {
        bool again = infiniband && !machine->link[i].infiniband;

        for (size_t j = 0; j < i; j++)
            again = again || strcmp (machine->link[j].name, machine->link[i].name) == 0;
        if (again)
            continue;
        used +=
            snprintf (text + used, sizeof (text) - (size_t)used, "%s%s", separator, machine->link[i].name);
        separator = ", ";
    }
    return *separator == ',' && strcmp (reason, text) == 0;
}

static bool is_true_of (size_t h, const char *reason, bool infiniband)
{
    const struct machine *machine = &world.machine[h];
    size_t infinibands = 0;

    for (size_t i = 0; i < machine->links; i++) {
        const struct link *link = &machine->link[i];
        size_t len = strlen (link->name);

        infinibands += link->infiniband;
        if (strncmp (reason, link->name, len) == 0 && reason[len] == ' ' && (!infiniband || link->infiniband)
            && is_true_of_link (link, reason + len + 1))
            return true;
    }
    if (strcmp (reason, "it reported no interfaces") == 0)
        return machine->links == 0;
    if (strcmp (reason, "no InfiniBand interface") == 0)
        return infiniband && infinibands == 0 && machine->links > 0;
    return strcmp (reason, "no address there") == 0 || is_true_of_names (machine, reason, infiniband);
}

/*
 * Parse "node1, node2 (REASON), node0 (REASON) and 3 more" and check each reason. Sets `blamed` for
 * each named host and returns the number of further hosts.
 */
static size_t read_blame (const struct answer *answer, const char *text, bool infiniband,
                          bool blamed[MAX_HOSTS])
{
    size_t first, waiting = 0, more = 0, who[MAX_HOSTS];

    memset (blamed, 0, MAX_HOSTS * sizeof (*blamed));
    for (; sscanf (text, "node%zu", &first) == 1; text += text[0] == ',' ? 2 : 0) {
        EXPECT (first < world.hosts && !blamed[first]);
        blamed[first] = true;
        who[waiting++] = first;
        text += strlen ("node0");
        if (strncmp (text, " (", 2) == 0) {
            char reason[128];

            EXPECT (sscanf (text, " (%127[^)])", reason) == 1);
            while (waiting > 0)
                EXPECT (is_true_of (who[--waiting], reason, infiniband));
            text = strchr (text, ')') + 1;
        }
    }
    EXPECT (waiting == 0);
    sscanf (text, " and %zu more", &more);
    return more;
}

/* True if `network` has the most hosts and the blamed hosts are those that are not on it. */
static bool is_best_blame (const struct preference *p, const struct place *network, size_t most,
                           const bool blamed[MAX_HOSTS], size_t more)
{
    bool on[MAX_HOSTS];
    size_t count = hosts_on (p, network, on), named = 0;

    for (size_t h = 0; h < world.hosts; h++) {
        if (blamed[h] && on[h])
            return false;
        named += blamed[h];
    }
    return count == most && named + more == world.hosts - count;
}

/*
 * The largest number of hosts on one of the preferences' networks. With `blamed`: 1 if a network
 * has `most` hosts and the blamed hosts are those that are not on it.
 */
static size_t most_or_best (bool infiniband, bool named, size_t most, const bool *blamed, size_t more)
{
    const struct place *network[MAX_HOSTS * MAX_LINKS];
    size_t count = all_networks (network), found = 0;
    bool on[MAX_HOSTS];

    for (size_t i = 0; i < (named ? world.items : 1); i++) {
        struct preference p = { infiniband, named ? &world.item[i] : NULL, false };
        bool any = p.item && p.item->network.family, name = p.item && !any;

        /* By a name there are two ways: one of the networks, and those of their own, which come last. */
        for (size_t n = 0; n < (any ? 1 : count + name); n++) {
            const struct place *one = any || n == count ? NULL : network[n];
            size_t hosts;

            p.own = n == count && name;
            hosts = hosts_on (&p, one, on);

            if (blamed)
                found = found || is_best_blame (&p, one, most, blamed, more);
            else
                found = hosts > found ? hosts : found;
        }
    }
    return found || !blamed ? found : most == 0;
}

/* A message names the hosts that lack the wanted network, as few as possible, with the reason. */
static void check_complaint (const struct answer *answer, const char *text, bool infiniband)
{
    bool named = world.items && (world.networks_required || !infiniband), blamed[MAX_HOSTS];
    const char *head = infiniband ? "not all nodes are on one InfiniBand network" : "not all nodes are on ";
    size_t most = most_or_best (infiniband, named, 0, NULL, 0), more;

    EXPECT (strncmp (text, head, strlen (head)) == 0);
    EXPECT (strstr (text, ": node"));
    more = read_blame (answer, strstr (text, ": node") + 2, infiniband, blamed);
    EXPECT (most_or_best (infiniband, named, most, blamed, more));
}

/* Is the network in the text? It is followed by a comma, a name, or nothing. */
static bool has_network (const char *text, const struct place *place)
{
    struct subnet network = { address_of (place), place->prefix };
    struct subnet_text room;
    size_t length;

    network = subnet_network (&network);
    length = strlen (subnet_print (&network, &room));
    for (; (text = strstr (text, room.text)); text += length)
        if (text[-1] == ' ' && strchr (", ", text[length]))
            return true;
    return false;
}

/* True if each host has an interface of that name on some network of the family; *cover has them all. */
static bool find_cover (bool infiniband, const struct item *item, int family, struct place *cover)
{
    const struct preference p = { infiniband, item, false };
    size_t hosts = 0;

    *cover = (struct place){ 0 };
    for (size_t h = 0; h < world.hosts; h++) {
        bool on = false;

        for (size_t i = 0; i < world.machine[h].links; i++) {
            const struct link *link = &world.machine[h].link[i];

            if (link->at.family != family || !fits (&p, link))
                continue;
            on = true;
            if (!cover->family || link->at.prefix < cover->prefix)
                *cover =
                    (struct place){ family, cover->family ? cover->high : link->at.high, 0, link->at.prefix };
            while (!is_within (&link->at, cover))
                cover->prefix--;
        }
        hosts += on;
    }
    return hosts == world.hosts && cover->prefix > 0;
}

/* Behind the hosts stands a network for an interface's, or each network that all hosts share. */
static void check_advice (const struct answer *answer, bool infiniband)
{
    const char *routes = strstr (answer->err.text, "; if there are routes between these networks, write "
                                                   "--tf-network="),
               *shared;
    const struct preference any = { infiniband, NULL, false };
    const struct place *network[MAX_HOSTS * MAX_LINKS];
    size_t count = all_networks (network), common = 0;
    struct place cover = { 0 };

    for (size_t i = 0; world.networks_required && !cover.prefix && i < world.items; i++)
        if (!world.item[i].network.family && !find_cover (infiniband, &world.item[i], 4, &cover)
            && !find_cover (infiniband, &world.item[i], 6, &cover))
            cover.prefix = 0;
    EXPECT (!routes == !cover.prefix);
    shared = strstr (answer->err.text, "; all nodes are on ");
    seen.cover += routes != NULL;
    if (routes) {
        char text[64];

        snprintf (text, sizeof (text), " %s", strchr (routes, '=') + 1);
        EXPECT (has_network (text, &cover) && !shared);
        return;
    }
    for (size_t n = 0; n < count; n++)
        if (is_common (&any, network[n])) {
            common++;
            EXPECT (shared && (has_network (shared, network[n]) || strstr (shared, " and ")));
        } else
            EXPECT (!shared || !has_network (shared, network[n]));
    EXPECT (!shared == !common);
    seen.common += shared != NULL;
}

static void check_refusal (const struct answer *answer)
{
    bool infiniband = world.infiniband_required;
    const char *head = infiniband ? "--tf-ib=require: " : "--tf-network: ";

    EXPECT (answer->rc == -1);
    EXPECT (strncmp (answer->err.text, head, strlen (head)) == 0);
    check_complaint (answer, answer->err.text + strlen (head), infiniband);
    check_advice (answer, infiniband);
    seen.refused++;
}

static void check_notice (const struct answer *answer, const struct verdict *verdict)
{
    const struct network_choice *choice = &answer->choice;
    const char *used = choice->network[0] ? choice->network : "the address that reaches srun";

    EXPECT ((choice->notice[0] == '\0') == verdict->fulfilled);
    if (verdict->fulfilled)
        return;
    check_complaint (answer, choice->notice, world.infiniband);
    EXPECT (strlen (choice->notice) > strlen (used)
            && strcmp (choice->notice + strlen (choice->notice) - strlen (used), used) == 0);
    seen.notice++;
}

static void check_answer (const struct answer *answer)
{
    struct verdict verdict = judge ();

    if (verdict.refused) {
        check_refusal (answer);
        return;
    }
    if (verdict.by_default)
        check_default (answer);
    else {
        EXPECT (answer->rc == 0);
        check_reachable (answer, &verdict);
        check_rails (answer, &verdict);
        check_network (answer, &verdict);
    }
    if (answer->rc == 0)
        check_notice (answer, &verdict);
}

/* The choice does not depend on which rank reports, on host ids or on where the data lies. */
static void check_same (const struct answer *answer, const struct answer *other)
{
    EXPECT (answer->rc == other->rc);
    EXPECT (strcmp (answer->err.text, other->err.text) == 0);
    EXPECT (strcmp (answer->choice.network, other->choice.network) == 0);
    EXPECT (strcmp (answer->choice.notice, other->choice.notice) == 0);
    EXPECT (answer->choice.rails == other->choice.rails);
    for (size_t i = 0; answer->rc == 0 && i < world.ranks; i++) {
        const char *a = answer->rank[i].chosen_interface, *b = other->rank[i].chosen_interface;

        EXPECT (address_equal (&answer->rank[i].chosen, &other->rank[i].chosen));
        EXPECT (!a == !b && (!a || strcmp (a, b) == 0));
    }
}

static int rounds (void)
{
    const char *text = getenv ("SPANK_TF_ROUNDS");

    return text ? atoi (text) : 100000;
}

TEST (the_choice_agrees_with_the_oracle)
{
    static struct answer answer, other;
    int count = rounds ();

    print_message ("seed %#llx, %d clusters\n", (unsigned long long)seed, count);
    for (round_number = 0; round_number < count; round_number++) {
        make_world ();
        ask (&answer);
        check_answer (&answer);
        ask (&other);
        check_same (&answer, &other);
    }
    print_message ("refused %zu, unreachable %zu, by default %zu, InfiniBand %zu, rails %zu, near "
                   "%zu, other %zu, routed %zu, own %zu, IPv6 %zu, notices %zu, elsewhere %zu, tainted "
                   "%zu, common %zu, cover %zu\n",
                   seen.refused, seen.unreachable, seen.by_default, seen.infiniband, seen.rails, seen.near,
                   seen.other, seen.routed, seen.own, seen.ipv6, seen.notice, seen.elsewhere, seen.tainted,
                   seen.common, seen.cover);
    for (size_t i = 0; i < sizeof (seen) / sizeof (size_t); i++)
        assert_true (((const size_t *)&seen)[i] >= (size_t)count / 1000);
}
