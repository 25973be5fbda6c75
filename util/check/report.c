/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "report.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/list_text.h"
#include "network/describe.h"
#include "network/selection.h"
#include "network/shortfall.h"

/* The most nodes that a message names. */
#define MAX_NAMED 16

/* The message. */

json_t *report_encode (const char *node, const char *version, const struct address *here,
                       const struct address *used, const struct interface *list, int count,
                       const struct findings *findings)
{
    json_t *interfaces = json_array (), *chosen = json_array (), *every = findings_json (findings), *one;
    struct interface_text room;
    struct address_text text, used_text;
    size_t i;

    for (int n = 0; n < count; n++)
        json_array_append_new (interfaces, json_string (interface_print (&list[n], &room)));
    json_array_foreach (every, i, one)
        if (findings->finding[i].level != LEVEL_OK)
            json_array_append (chosen, one);
    json_decref (every);
    return json_pack ("{s:s, s:s, s:s, s:s, s:o, s:o}", "node", node, "version", version, "here",
                      address_print (here, &text), "used", address_print (used, &used_text), "interfaces",
                      interfaces, "findings", chosen);
}

static int _decode_findings (struct report *report, json_t *findings)
{
    const char *level, *text, *advice;
    json_t *one;
    size_t i;

    if (!json_is_array (findings))
        return -1;
    json_array_foreach (findings, i, one)
        if (json_unpack (one, "{s:s, s:s, s?s}", "level", &level, "text", &text, "advice", &advice) < 0)
            return -1;
    report->findings = json_incref (findings);
    return 0;
}

/* An address that is missing or "" is not known. */
static int _decode_address (struct address *address, const json_t *object, const char *key)
{
    const char *text = json_string_value (json_object_get (object, key));

    return text && *text ? address_parse (address, text) : 0;
}

int report_decode (struct report *report, const json_t *object)
{
    json_t *interfaces = json_object_get (object, "interfaces"), *one;
    const char *node = json_string_value (json_object_get (object, "node"));
    const char *version = json_string_value (json_object_get (object, "version"));
    size_t i;

    memset (report, 0, sizeof (*report));
    if (!node || !version || !json_is_array (interfaces) || json_array_size (interfaces) > INTERFACE_MAX
        || _decode_address (&report->here, object, "here") < 0
        || _decode_address (&report->used, object, "used") < 0)
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

/* What the nodes have found. */

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

/* The same finding on several nodes is one line, made by the first of them. */
static void _judge_finding (const struct report *report, size_t count, size_t from, const json_t *finding,
                            struct findings *findings)
{
    const char *advice = _get (finding, "advice");
    enum level level = LEVEL_OK;
    char nodes[512];
    struct list_text list = { nodes, sizeof (nodes), ", ", MAX_NAMED, 0, 0 };
    bool all;

    while (level < LEVEL_ERROR && strcmp (_get (finding, "level"), level_name (level)) != 0)
        level++;
    for (size_t i = 0; i < from; i++)
        if (_has (&report[i], finding))
            return;
    for (size_t i = from; i < count; i++)
        if (_has (&report[i], finding))
            list_text_add (&list, report[i].node);
    all = count > 1 && (size_t)list.named + list.more == count;
    list_text_end (&list);
    findings_add (findings, "node", level, advice ? advice : "", "%s%s%s", all ? "" : nodes, all ? "" : ": ",
                  _get (finding, "text"));
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

static void _name_version (char *text, size_t size, const struct report *report, size_t count, size_t from)
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
        findings_ok (findings, "version", "%zu node%s spank-tf %s", count, count == 1 ? " has" : "s have",
                     _version (&report[0]));
}

/* Networks, as tf-rendezvous judges them. */

/* said[SAID_SIZE] is the network that the nodes are on, or "". It is named only once. */
#define SAID_SIZE 448
static void _judge_network (const struct candidates *candidates, bool infiniband, char *said,
                            struct findings *findings)
{
    const struct preference preference = { .infiniband = infiniband };
    struct selection selection = {
        .candidates = candidates,
        .selected = calloc (candidates->count + 1, sizeof (bool)),
    };
    char text[SAID_SIZE];

    if (selection.selected && selection_fulfil (&selection, &preference)) {
        describe_networks (&selection, text, sizeof (text));
        if (strcmp (text, said) != 0)
            findings_ok (findings, "network", "all nodes are on the network %s", text);
        snprintf (said, SAID_SIZE, "%s", text);
    } else
        findings_add (findings, "network", LEVEL_WARNING,
                      infiniband ? "fix these nodes, or exclude them (--exclude)"
                                 : "TensorFlow needs a route between the networks",
                      "not all nodes are on one %snetwork: %s", infiniband ? "InfiniBand " : "",
                      shortfall_describe (candidates, infiniband, NULL, text, sizeof (text)));
    free (selection.selected);
}

/*
 * In a step with a list: select the addresses that it uses. False if one is not known, or is not of an
 * interface that other nodes can reach. `room` is for the name of their interface if they are on several
 * networks.
 */
static bool _select_used (struct selection *selection, const struct report *report, struct netlist_item *room)
{
    const struct candidates *c = selection->candidates;
    const struct candidate *first = NULL;
    bool one_network = true, one_name = true;
    size_t hosts = 0;

    for (size_t h = 0; h < c->hosts; h++) {
        const struct address *used = &report[c->order[c->host[h].first]].used;
        bool found = false;

        for (size_t i = 0; i < c->count; i++)
            if (c->candidate[i].host == h && !found
                && address_equal (&c->candidate[i].interface->address.address, used)) {
                first = first ? first : &c->candidate[i];
                one_network = one_network && subnet_compare (&c->candidate[i].network, &first->network) == 0;
                one_name = one_name && strcmp (c->candidate[i].interface->name, first->interface->name) == 0;
                found = selection->selected[i] = true;
            }
        hosts += found;
    }
    if (hosts == c->hosts && !one_network && one_name) {
        snprintf (room->text, sizeof (room->text), "%s", first->interface->name);
        selection->routed = room;
    }
    return hosts == c->hosts;
}

/* The same for the step's own network; if it is not known, for one that all nodes are on. */
static void _judge_step_network (const struct candidates *candidates, const struct report *report, char *said,
                                 struct findings *findings)
{
    struct netlist_item name = { .is_network = false };
    struct selection selection = {
        .candidates = candidates,
        .selected = calloc (candidates->count + 1, sizeof (bool)),
    };

    if (selection.selected && _select_used (&selection, report, &name)) {
        describe_networks (&selection, said, SAID_SIZE);
        findings_ok (findings, "network", "the step's network is %s", said);
    } else
        _judge_network (candidates, false, said, findings);
    free (selection.selected);
}

static bool _has_infiniband (const struct report *report, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int n = 0; n < report[i].interfaces; n++)
            if (report[i].interface[n].infiniband)
                return true;
    return false;
}

/* A report is a rank, and each is on a host of its own. */
static void _judge_networks (const struct report *report, size_t count, struct findings *findings)
{
    struct network_rank *rank = calloc (count, sizeof (*rank));
    struct host *host = calloc (count, sizeof (*host));
    struct candidates *candidates = NULL;
    char said[SAID_SIZE] = "";

    for (size_t i = 0; rank && host && i < count; i++) {
        snprintf (host[i].id, sizeof (host[i].id), "%s", report[i].node);
        rank[i] = (struct network_rank){
            .node = report[i].node,
            .host = &host[i],
            .here = report[i].here,
            .interface = report[i].interface,
            .interfaces = report[i].interfaces,
        };
    }
    if (!rank || !host || !(candidates = candidates_create (rank, count)))
        findings_add (findings, "network", LEVEL_ERROR, "try it again", "there is no memory");
    else {
        _judge_step_network (candidates, report, said, findings);
        if (_has_infiniband (report, count))
            _judge_network (candidates, true, said, findings);
    }
    candidates_destroy (candidates);
    free (host);
    free (rank);
}

void report_judge (const struct report *report, size_t count, struct findings *findings)
{
    _judge_nodes (report, count, findings);
    _judge_versions (report, count, findings);
    _judge_networks (report, count, findings);
}
