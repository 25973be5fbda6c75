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

struct machine {
    int links;
    struct interface link[MAX_LINKS];
    struct address here, srun;
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
    if (limit == 0)
        abort ();
    return random_next (&seed) % limit;
}

static bool one_in (size_t n)
{
    return below (n) == 0;
}

/* Clusters. */

static const char *const subnet[] = {
    "10.1.0.0/16", "10.2.0.0/16", "10.1.0.0/24", "10.3.0.0/32",
    "10.4.0.0/31", "fd00:1::/64", "fd00:2::/64", "172.17.0.0/16",
};
#define DOCKER 7

static const char *const known_network[] = {
    "10.1.0.0/16", "10.2.0.0/16", "10.1.0.0/24", "10.0.0.0/8", "0.0.0.0/0", "172.16.0.0/12", "fd00:1::/64",
    "fd00::/16",   "ib0",         "ib1",         "eth0",       "eth1",      "docker0",       "none0",
};

static unsigned char *last_byte (struct address *address)
{
    return &address->bytes[address->family == AF_INET ? 3 : 15];
}

static struct address address_of (const char *text)
{
    struct address address;

    assert_int_equal (address_parse (&address, text), 0);
    return address;
}

/* The n-th address of a subnet; if `far`, in its second /24. */
static struct subnet place_in (size_t s, size_t n, bool far)
{
    struct subnet at;

    assert_int_equal (subnet_parse (&at, subnet[s]), 0);
    *last_byte (&at.address) |= (unsigned char)n;
    if (far && at.address.family == AF_INET && s != DOCKER)
        at.address.bytes[2]++;
    return at;
}

static bool is_docker (const struct interface *link)
{
    return link->address.address.family == AF_INET && link->address.address.bytes[0] == 172;
}

static struct interface any_link (size_t host, size_t index)
{
    static const char *const name[] = { "ib0", "ib1", "eth0", "eth1", "docker0" };
    static const char *const near[] = { NULL, "0xf", "0xf0", "0xff" };
    size_t n = one_in (20) ? below (COUNT (name)) : index % 4, s = below (COUNT (subnet) - 1);
    struct interface link = { .infiniband = n < 2, .local_cpus = near[below (COUNT (near))] };

    if (one_in (12)) {
        n = 4;
        link.infiniband = false;
        s = DOCKER;
    }
    snprintf (link.name, sizeof (link.name), "%s", name[n]);
    link.address = place_in (s, s == DOCKER ? 1 : host + 1, one_in (4));
    return link;
}

/* In most cases the same link as on another host. */
static struct interface like (const struct interface *plan, size_t host, size_t index, size_t oddness)
{
    struct interface link = *plan;

    if (one_in (oddness))
        link = any_link (host, index);
    if (!is_docker (&link))
        *last_byte (&link.address.address) = (unsigned char)(host + 1);
    if (one_in (2 * oddness))
        link.address = place_in (below (COUNT (subnet)), below (MAX_HOSTS) + 1, false);
    if (one_in (oddness))
        link.state = (enum interface_state)below (3);
    if (one_in (2 * oddness))
        link.address = (struct subnet){ { .family = 0 }, 0 };
    if (one_in (2 * oddness))
        link.infiniband = !link.infiniband;
    return link;
}

/* All addresses of an interface have the same state, link type and local CPUs. */
static void unify (struct machine *machine)
{
    for (int i = 0; i < machine->links; i++)
        for (int j = 0; j < i; j++) {
            struct interface *link = &machine->link[i], *other = &machine->link[j];

            if (strcmp (link->name, other->name) != 0)
                continue;
            link->infiniband = other->infiniband;
            link->state = other->state;
            link->local_cpus = other->local_cpus;
            if (address_equal (&link->address.address, &other->address.address))
                *last_byte (&link->address.address) += 32;
        }
}

static void make_machine (size_t h, const struct interface plan[MAX_LINKS], int links, int to_srun,
                          size_t oddness)
{
    static const char *const odd[] = { "169.254.0.9", "192.168.0.1", "127.0.0.1" };
    struct machine *machine = &world.machine[h];

    machine->links = links;
    for (int i = 0; i < links; i++)
        machine->link[i] = like (&plan[i], h, (size_t)i, oddness);
    unify (machine);
    while (machine->links && one_in (4 * oddness))
        machine->links--;
    machine->here = machine->srun = address_of ("192.168.0.0");
    *last_byte (&machine->here) = (unsigned char)(h + 1);
    *last_byte (&machine->srun) = (unsigned char)(world.own + 1);
    if (to_srun < machine->links && interface_is_candidate (&machine->link[to_srun]))
        machine->here = machine->link[to_srun].address.address;
    if (one_in (40))
        machine->here = address_of (odd[below (COUNT (odd))]);
    if (h == world.own && one_in (2))
        machine->here = machine->srun = address_of ("127.0.0.1");
}

static void make_ranks (void)
{
    static const char *const mask[] = { NULL, "0x1", "0xc", "0x30", "0x80", "0xff", "0x18", "0xf00" };
    size_t binding = below (3);

    world.ranks = 0;
    for (size_t h = 0; h < world.hosts; h++)
        for (size_t n = below (4) + 1; n > 0; n--)
            world.host_of[world.ranks++] = h;
    for (size_t i = world.ranks; i > 1 && !one_in (8); i--) {
        size_t j = below (i), other = world.host_of[i - 1];

        world.host_of[i - 1] = world.host_of[j];
        world.host_of[j] = other;
    }
    for (size_t i = 0; i < world.ranks; i++)
        world.cpus[i] = binding == 0 ? NULL : mask[below (binding == 1 ? 6 : COUNT (mask))];
}

static struct network_wish any_wish (void)
{
    struct network_wish wish = { .infiniband_required = one_in (3) };
    char text[128] = "";

    wish.infiniband = wish.infiniband_required || one_in (2);
    for (size_t i = below (MAX_ITEMS + 1); i > 0; i--)
        strcat (strcat (text, *text ? "," : ""), known_network[below (COUNT (known_network))]);
    if (*text)
        assert_int_equal (netlist_parse (&wish.networks, text, NULL), 0);
    wish.networks_required = *text && one_in (2);
    return wish;
}

static void make_world (void)
{
    struct interface plan[MAX_LINKS];
    int links = (int)below (MAX_LINKS + 1), to_srun = (int)below (2 * MAX_LINKS);
    size_t oddness = one_in (4) ? 2 : one_in (2) ? 8 : 40;

    world.hosts = below (MAX_HOSTS) + 1;
    world.own = one_in (2) ? below (world.hosts) : world.hosts;
    for (int i = 0; i < links; i++)
        plan[i] = any_link (0, (size_t)i);
    for (size_t h = 0; h < world.hosts; h++)
        make_machine (h, plan, links, to_srun, oddness);
    make_ranks ();
}

/* The input of network_choose (), in one of many equivalent forms, and its result. */

struct answer {
    struct network_wish wish;
    int rc;
    struct network_rank rank[MAX_RANKS];
    struct network_choice choice;
    struct errtext err;
    struct host host[MAX_RANKS], own;
    struct interface interface[2 * MAX_HOSTS][MAX_LINKS];
};

static void report_interfaces (struct network_rank *rank, struct interface *to, const struct machine *machine)
{
    memcpy (to, machine->link, sizeof (machine->link));
    rank->interface = to;
    rank->interfaces = machine->links;
}

/* One rank of each host reports its interfaces. A higher rank may report others. */
static void report_all (struct answer *answer)
{
    size_t slot[2 * MAX_HOSTS], ranks_of[MAX_RANKS];

    random_order (&seed, slot, COUNT (slot));
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

static void ask (struct answer *answer, const struct network_wish *wish)
{
    static const char *const node[] = { "node0", "node1", "node2", "node3", "node4", "node5" };
    uint32_t salt = random_next (&seed);

    memset (answer, 0, sizeof (*answer));
    answer->wish = *wish;
    for (size_t i = 0; i < world.ranks; i++) {
        size_t h = world.host_of[i];

        snprintf (answer->host[i].id, sizeof (answer->host[i].id), "%08x",
                  (salt + (uint32_t)h) * 2654435761U);
        answer->rank[i] = (struct network_rank){
            .node = node[h],
            .host = &answer->host[i],
            .here = world.machine[h].here,
            .srun = world.machine[h].srun,
            .cpus = world.cpus[i],
        };
        if (h == world.own)
            answer->own = answer->host[i];
    }
    report_all (answer);
    answer->rc =
        network_choose (answer->rank, world.ranks, &answer->own, wish, &answer->choice, &answer->err);
}

/* If a check fails, its cluster is printed. */

static void print_host (const struct answer *answer, size_t h)
{
    const struct machine *m = &world.machine[h];
    struct address_text room, srun;
    struct interface_text link;

    print_message ("node%zu%s reaches srun, %s, by %s\n", h, h == world.own ? ", srun's," : "",
                   address_print (&m->srun, &srun), address_print (&m->here, &room));
    for (int i = 0; i < m->links; i++)
        print_message ("    %s %s\n", interface_print (&m->link[i], &link),
                       m->link[i].local_cpus ? m->link[i].local_cpus : "");
    for (size_t i = 0; i < world.ranks; i++)
        if (world.host_of[i] == h)
            print_message ("    rank %zu on %s: %s %s\n", i, world.cpus[i] ? world.cpus[i] : "any CPU",
                           address_print (&answer->rank[i].chosen, &room),
                           answer->rank[i].chosen_interface ? answer->rank[i].chosen_interface : "");
}

static void print_world (const struct answer *answer)
{
    print_message ("cluster %d: infiniband %d%s, networks", round_number, answer->wish.infiniband,
                   answer->wish.infiniband_required ? " required" : "");
    for (size_t i = 0; i < answer->wish.networks.count; i++)
        print_message (" %s", answer->wish.networks.item[i].text);
    print_message ("%s\n", answer->wish.networks_required ? " required" : "");
    for (size_t h = 0; h < world.hosts; h++)
        print_host (answer, h);
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

static int compare_networks (const struct subnet *a, const struct subnet *b)
{
    struct subnet of_a = subnet_network (a), of_b = subnet_network (b);

    return subnet_compare (&of_a, &of_b);
}

static bool same_network (const struct subnet *a, const struct subnet *b)
{
    return compare_networks (a, b) == 0;
}

static bool is_claimed_by_another (const struct address *address, size_t host)
{
    for (size_t h = 0; h < world.hosts; h++)
        for (int i = 0; h != host && i < world.machine[h].links; i++)
            if (world.machine[h].link[i].state != INTERFACE_DOWN
                && address_equal (&world.machine[h].link[i].address.address, address))
                return true;
    return false;
}

static bool is_tainted (const struct subnet *network)
{
    for (size_t h = 0; h < world.hosts; h++)
        for (int i = 0; i < world.machine[h].links; i++) {
            const struct interface *link = &world.machine[h].link[i];

            if (interface_is_candidate (link) && same_network (&link->address, network)
                && is_claimed_by_another (&link->address.address, h))
                return true;
        }
    return false;
}

static bool reaches_srun (const struct subnet *network)
{
    for (size_t h = 0; h < world.hosts; h++)
        for (int i = 0; i < world.machine[h].links; i++) {
            const struct interface *link = &world.machine[h].link[i];

            if (interface_is_candidate (link) && same_network (&link->address, network)
                && address_equal (&link->address.address, &world.machine[h].here))
                return true;
        }
    return false;
}

/* The default: the address from which each host reaches srun. */

static bool address_to_srun (size_t h, struct address *to)
{
    *to = world.machine[h].here;
    if (world.hosts > 1 && address_is_loopback (to)) {
        bool found = false;

        for (size_t i = 0; h == world.own && !found && i < world.ranks; i++)
            if (world.host_of[i] != h && !address_is_loopback (&world.machine[world.host_of[i]].srun)) {
                *to = world.machine[world.host_of[i]].srun;
                found = true;
            }
        if (!found)
            return false;
    }
    return world.hosts == 1 || !address_is_link_local (to);
}

static bool addresses_to_srun (struct address to[MAX_HOSTS])
{
    for (size_t h = 0; h < world.hosts; h++) {
        if (!address_to_srun (h, &to[h]))
            return false;
        for (size_t other = 0; other < h; other++)
            if (address_equal (&to[h], &to[other]))
                return false;
    }
    return true;
}

/* How often each case occurred. Each must occur in at least 1 of 1000 clusters. */
static struct {
    size_t refused, unreachable, by_default, infiniband, rails, other, routed, own, ipv6, notice, srun;
} seen;

/* What the wish, of at most one network, lets a host use. */
static bool fits (const struct network_wish *wish, const struct interface *link)
{
    return interface_is_candidate (link) && !is_tainted (&link->address)
           && (!wish->infiniband_required || link->infiniband)
           && (wish->networks.count == 0 || interface_is_named (link, &wish->networks.item[0]));
}

/*
 * True if each host has such a link, on this network; NULL: on any, if it is `own` as subnet_is_own () says.
 */
static bool has_each_host (const struct network_wish *wish, const struct subnet *network, bool own)
{
    for (size_t h = 0; h < world.hosts; h++) {
        bool on = false;

        for (int i = 0; i < world.machine[h].links; i++) {
            const struct interface *link = &world.machine[h].link[i];

            on = on
                 || (fits (wish, link) && (!network || same_network (&link->address, network))
                     && (!own || subnet_is_own (&link->address)));
        }
        if (!on)
            return false;
    }
    return true;
}

/* The link that a rank has got: one of its host, with that name and that address. */
static const struct interface *link_of (const struct answer *answer, size_t rank)
{
    const struct network_rank *r = &answer->rank[rank];
    const struct machine *machine = &world.machine[world.host_of[rank]];
    const struct interface *found = NULL;

    for (int i = 0; i < machine->links; i++)
        if (address_equal (&r->chosen, &machine->link[i].address.address) && r->chosen_interface
            && strcmp (r->chosen_interface, machine->link[i].name) == 0)
            found = &machine->link[i];
    EXPECT (found != NULL);
    return found;
}

/* Each rank has an address of its own host that can be used, is the host's alone, and was required. */
static void check_addresses (const struct answer *answer)
{
    const struct network_wish *wish = &answer->wish;

    for (size_t i = 0; i < world.ranks; i++) {
        const struct interface *link = link_of (answer, i);
        bool named = !wish->networks_required;

        EXPECT (interface_is_candidate (link) && !is_tainted (&link->address));
        EXPECT (link->infiniband || !wish->infiniband_required);
        for (size_t k = 0; k < wish->networks.count; k++)
            named = named || interface_is_named (link, &wish->networks.item[k]);
        EXPECT (named);
        for (size_t j = 0; j < i; j++)
            EXPECT (world.host_of[i] == world.host_of[j]
                    || !address_equal (&answer->rank[i].chosen, &answer->rank[j].chosen));
        seen.ipv6 += link->address.address.family == AF_INET6;
        seen.infiniband += link->infiniband;
        seen.other += !link->infiniband;
    }
}

/* All are on networks that each host is on, too. */
static bool is_common (const struct answer *answer)
{
    const struct network_wish any = { .infiniband = false };

    for (size_t i = 0; i < world.ranks; i++)
        if (!has_each_host (&any, &link_of (answer, i)->address, false))
            return false;
    return true;
}

/* All are on one network of the wish; or on one of its interfaces, with a network of its own on each host. */
static bool is_routed (const struct answer *answer)
{
    for (size_t k = 0; k < answer->wish.networks.count; k++) {
        const struct netlist_item *item = &answer->wish.networks.item[k];
        bool all = true;

        for (size_t i = 0; i < world.ranks; i++) {
            const struct interface *link = link_of (answer, i);

            all = all && interface_is_named (link, item)
                  && (item->is_network || subnet_is_own (&link->address));
        }
        seen.routed += all && item->is_network;
        seen.own += all && !item->is_network;
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
    const struct interface *chosen = link_of (answer, 0);

    if (answer->wish.infiniband || !is_common (answer))
        return;
    for (size_t h = 0; h < world.hosts; h++)
        for (int i = 0; i < world.machine[h].links; i++) {
            const struct subnet *at = &world.machine[h].link[i].address;
            bool to_srun, better;

            if (!at->address.family || same_network (at, &chosen->address)
                || !has_each_host (&answer->wish, at, false))
                continue;
            to_srun = reaches_srun (at);
            better = to_srun != reaches_srun (&chosen->address) ? to_srun
                                                                : compare_networks (at, &chosen->address) < 0;
            EXPECT (at->address.family == chosen->address.address.family
                        ? !better
                        : chosen->address.address.family == AF_INET);
            seen.srun += reaches_srun (&chosen->address);
        }
}

static void check_default (const struct answer *answer)
{
    struct address to[MAX_HOSTS];
    bool reachable = addresses_to_srun (to);

    EXPECT (answer->rc == (reachable ? 0 : -1));
    seen.unreachable += !reachable;
    seen.by_default += reachable;
    for (size_t i = 0; reachable && i < world.ranks; i++)
        EXPECT (address_equal (&answer->rank[i].chosen, &to[world.host_of[i]]));
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
    const struct network_wish *wish = &answer->wish;
    bool possible = wish->networks.count && has_each_host (wish, NULL, !wish->networks.item[0].is_network);

    for (size_t h = 0; h < world.hosts; h++)
        for (int i = 0; i < world.machine[h].links; i++)
            possible = possible
                       || (world.machine[h].link[i].address.address.family
                           && has_each_host (wish, &world.machine[h].link[i].address, false));
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
static bool is_answer_to (const struct answer *answer, const struct network_wish *wish)
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
    struct network_wish one = answer->wish;

    one.networks.count = 1;
    for (size_t i = 0; i < answer->wish.networks.count; i++) {
        one.networks.item[0] = answer->wish.networks.item[i];
        if (is_answer_to (answer, &one))
            return;
    }
    check_refusal (answer);
}

/*
 * A wish that only prefers is the same one required, if that is possible, and otherwise as without it, with a
 * notice. InfiniBand that is required, on another network than the site prefers, has none.
 */
static void check_preference (const struct answer *answer, struct network_wish required,
                              struct network_wish without)
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
    struct network_wish required = answer->wish, without = answer->wish;

    if (answer->wish.infiniband && !answer->wish.infiniband_required) {
        required.infiniband_required = true;
        without.infiniband = false;
        check_preference (answer, required, without);
    } else if (answer->wish.networks.count && !answer->wish.networks_required) {
        required.networks_required = true;
        without.networks.count = 0;
        check_preference (answer, required, without);
    } else if (answer->wish.networks.count > 1)
        check_list (answer);
    else if (answer->wish.infiniband || answer->wish.networks.count)
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
        struct network_wish wish;

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
