/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "report.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/list_text.h"

/* A message names at most so many nodes. */
#define MAX_NAMED 16
#define MAX_NETWORKS 64

/* The message. */

json_t *report_encode (const char *node, const char *version, const struct interface *list,
                       int count, const struct findings *findings)
{
    json_t *interfaces = json_array (), *bad = json_array (), *all = findings_json (findings), *one;
    struct interface_text room;
    size_t i;

    for (int n = 0; n < count; n++)
        json_array_append_new (interfaces, json_string (interface_print (&list[n], &room)));
    json_array_foreach (all, i, one)
        if (findings->finding[i].level != LEVEL_OK)
            json_array_append (bad, one);
    json_decref (all);
    return json_pack ("{s:s, s:s, s:o, s:o}", "node", node, "version", version, "interfaces",
                      interfaces, "findings", bad);
}

static int _decode_findings (struct report *report, json_t *findings)
{
    const char *level, *text, *advice;
    json_t *one;
    size_t i;

    if (!json_is_array (findings))
        return -1;
    json_array_foreach (findings, i, one)
        if (json_unpack (one, "{s:s, s:s, s:s}", "level", &level, "text", &text, "advice",
                         &advice) < 0)
            return -1;
    report->findings = json_incref (findings);
    return 0;
}

int report_decode (struct report *report, const json_t *object)
{
    json_t *interfaces = json_object_get (object, "interfaces"), *one;
    const char *node = json_string_value (json_object_get (object, "node"));
    const char *version = json_string_value (json_object_get (object, "version"));
    size_t i;

    memset (report, 0, sizeof (*report));
    if (!node || !version || !json_is_array (interfaces)
        || json_array_size (interfaces) > INTERFACE_MAX)
        return -1;
    snprintf (report->node, sizeof (report->node), "%s", node);
    snprintf (report->version, sizeof (report->version), "%s", version);
    json_array_foreach (interfaces, i, one) {
        struct interface *interface = &report->interface[report->interfaces++];

        if (!json_is_string (one) || interface_parse (interface, json_string_value (one)) < 0)
            return -1;
        interface->local_cpus = NULL;
    }
    return _decode_findings (report, json_object_get (object, "findings"));
}

void report_clear (struct report *report)
{
    json_decref (report->findings);
    report->findings = NULL;
}

/* What is wrong on single nodes. */

static const char *_get (const json_t *finding, const char *key)
{
    return json_string_value (json_object_get (finding, key));
}

static bool _has (const struct report *report, const json_t *finding)
{
    json_t *one;
    size_t i;

    json_array_foreach (report->findings, i, one)
        if (strcmp (_get (one, "text"), _get (finding, "text")) == 0)
            return true;
    return false;
}

/* The same finding on several nodes is one line, which the first of them makes. */
static void _judge_finding (const struct report *report, size_t count, size_t from,
                            const json_t *finding, struct findings *findings)
{
    enum level level = strcmp (_get (finding, "level"), "error") == 0 ? LEVEL_ERROR
                                                                      : LEVEL_WARNING;
    char nodes[512];
    struct list_text list = { nodes, sizeof (nodes), ", ", MAX_NAMED, 0, 0 };

    for (size_t i = 0; i < from; i++)
        if (_has (&report[i], finding))
            return;
    for (size_t i = from; i < count; i++)
        if (_has (&report[i], finding))
            list_text_add (&list, report[i].node);
    findings_add (findings, "node", level, _get (finding, "advice"), "%s: %s",
                  list_text_end (&list), _get (finding, "text"));
}

static void _judge_nodes (const struct report *report, size_t count, struct findings *findings)
{
    json_t *one;
    size_t n;

    for (size_t i = 0; i < count; i++)
        json_array_foreach (report[i].findings, n, one)
            _judge_finding (report, count, i, one, findings);
}

/* Versions. */

static const char *_version (const struct report *report)
{
    return *report->version ? report->version : "none";
}

static void _name_version (char *text, size_t size, const struct report *report, size_t count,
                           size_t from)
{
    char nodes[256];
    struct list_text list = { nodes, sizeof (nodes), ", ", MAX_NAMED, 0, 0 };

    for (size_t i = from; i < count; i++)
        if (strcmp (report[i].version, report[from].version) == 0)
            list_text_add (&list, report[i].node);
    snprintf (text, size, "%s on %s", _version (&report[from]), list_text_end (&list));
}

static bool _is_first_of_version (const struct report *report, size_t i)
{
    for (size_t n = 0; n < i; n++)
        if (strcmp (report[n].version, report[i].version) == 0)
            return false;
    return true;
}

static void _judge_versions (const struct report *report, size_t count, struct findings *findings)
{
    char text[384], all[480];
    struct list_text list = { all, sizeof (all), "; ", 0, 0, 0 };

    for (size_t i = 0; i < count; i++)
        if (_is_first_of_version (report, i)) {
            _name_version (text, sizeof (text), report, count, i);
            list_text_add (&list, text);
        }
    if (list.named + list.more > 1)
        findings_add (findings, "version", LEVEL_ERROR, "install the same version everywhere",
                      "not all nodes have the same spank-tf: %s", list_text_end (&list));
    else
        findings_ok (findings, "version", "%zu node%s spank-tf %s", count,
                     count == 1 ? " has" : "s have", _version (&report[0]));
}

/* Networks. */

struct network {
    struct subnet subnet;
    const char *interface;      /* on the first node that is on it */
    size_t nodes;
    bool ambiguous;             /* two nodes have the same address on it, as with docker0 */
};

/* The node's address on the network, or NULL. */
static const struct address *_on (const struct report *report, const struct subnet *subnet,
                                  bool infiniband)
{
    for (int i = 0; i < report->interfaces; i++) {
        const struct interface *one = &report->interface[i];
        struct subnet own;

        if (!interface_is_candidate (one) || (infiniband && !one->infiniband))
            continue;
        own = subnet_network (&one->address);
        if (subnet_compare (&own, subnet) == 0)
            return &one->address.address;
    }
    return NULL;
}

static struct network _look_at (const struct report *report, size_t count,
                                const struct interface *interface, bool infiniband)
{
    struct network network = { subnet_network (&interface->address), interface->name, 0, false };

    for (size_t i = 0; i < count; i++) {
        const struct address *own = _on (&report[i], &network.subnet, infiniband);

        network.nodes += own != NULL;
        for (size_t n = 0; n < i && own && !network.ambiguous; n++) {
            const struct address *other = _on (&report[n], &network.subnet, infiniband);

            network.ambiguous = other && address_equal (own, other);
        }
    }
    return network;
}

static bool _is_known (const struct network *network, size_t count, const struct interface *one)
{
    struct subnet own = subnet_network (&one->address);

    for (size_t i = 0; i < count; i++)
        if (subnet_compare (&network[i].subnet, &own) == 0)
            return true;
    return false;
}

/* List the networks on which nodes can reach each other. Returns their number. */
static size_t _networks (struct network network[MAX_NETWORKS], const struct report *report,
                         size_t count, bool infiniband)
{
    size_t found = 0, kept = 0;

    for (size_t i = 0; i < count; i++)
        for (int n = 0; n < report[i].interfaces && found < MAX_NETWORKS; n++) {
            const struct interface *one = &report[i].interface[n];

            if (interface_is_candidate (one) && (!infiniband || one->infiniband)
                && !_is_known (network, found, one))
                network[found++] = _look_at (report, count, one, infiniband);
        }
    for (size_t i = 0; i < found; i++)
        if (!network[i].ambiguous)
            network[kept++] = network[i];
    return kept;
}

/* Why the node is not on the network; NULL: it is. */
static const char *_why_not (const struct report *report, const struct network *network,
                             bool infiniband, char *text, size_t size)
{
    static const char *const why[] = { "is not on it", "has no carrier", "is down" };
    const struct interface *best = NULL;

    if (network && _on (report, &network->subnet, infiniband))
        return NULL;
    for (int i = 0; i < report->interfaces; i++)
        if (!best && report->interface[i].infiniband)
            best = &report->interface[i];
    if (!infiniband)
        snprintf (text, size, "%s", report->node);
    else if (!best)
        snprintf (text, size, "%s (no InfiniBand interface)", report->node);
    else
        snprintf (text, size, "%s (%s %s)", report->node, best->name,
                  best->state == INTERFACE_UP && !best->address.address.family
                      ? "has no address" : why[best->state]);
    return text;
}

static const char *_name_all (char *text, size_t size, const struct network *network,
                              size_t networks, size_t nodes)
{
    struct list_text list = { text, size, ", ", MAX_NAMED, 0, 0 };
    char name[96];

    for (size_t i = 0; i < networks; i++) {
        struct subnet_text room;

        snprintf (name, sizeof (name), "%s (%s)", subnet_print (&network[i].subnet, &room),
                  network[i].interface);
        if (network[i].nodes == nodes)
            list_text_add (&list, name);
    }
    return list_text_end (&list);
}

/* The network that most nodes are on; NULL if there is none. */
static const struct network *_largest (const struct network *network, size_t networks)
{
    const struct network *best = NULL;

    for (size_t i = 0; i < networks; i++)
        if (!best || network[i].nodes > best->nodes)
            best = &network[i];
    return best;
}

static void _judge_shortfall (const struct report *report, size_t count,
                              const struct network *best, bool infiniband,
                              struct findings *findings)
{
    char nodes[384], one[128];
    struct list_text list = { nodes, sizeof (nodes), ", ", MAX_NAMED, 0, 0 };
    struct subnet_text room;

    for (size_t i = 0; i < count; i++)
        if (_why_not (&report[i], best, infiniband, one, sizeof (one)))
            list_text_add (&list, one);
    findings_add (findings, "network", LEVEL_WARNING,
                  infiniband ? "fix these nodes, or exclude them (--exclude)"
                             : "TensorFlow needs a route between the networks",
                  "not all nodes are on one %snetwork; not on %s: %s",
                  infiniband ? "InfiniBand " : "",
                  best ? subnet_print (&best->subnet, &room) : "any", list_text_end (&list));
}

static bool _has_infiniband (const struct report *report, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int n = 0; n < report[i].interfaces; n++)
            if (report[i].interface[n].infiniband)
                return true;
    return false;
}

static void _judge_networks (const struct report *report, size_t count, bool infiniband,
                             struct findings *findings)
{
    struct network network[MAX_NETWORKS];
    size_t networks = _networks (network, report, count, infiniband);
    const struct network *best = _largest (network, networks);
    char names[384];

    if (best && best->nodes == count)
        findings_ok (findings, "network", "all nodes are on the %snetwork %s",
                     infiniband ? "InfiniBand " : "",
                     _name_all (names, sizeof (names), network, networks, count));
    else
        _judge_shortfall (report, count, best, infiniband, findings);
}

void report_judge (const struct report *report, size_t count, struct findings *findings)
{
    _judge_nodes (report, count, findings);
    _judge_versions (report, count, findings);
    _judge_networks (report, count, false, findings);
    if (_has_infiniband (report, count))
        _judge_networks (report, count, true, findings);
}
