/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "reach.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/deadline.h"
#include "common/list_text.h"
#include "common/port.h"
#include "common/tcp.h"

/* A lost packet is sent again after one second. */
#define TIMEOUT_MS 2500

/* Where most hosts choose ports if the site names none: the beginning, middle and end. */
static const struct port_range ephemeral = { 32768, 60999 };

/* srun complains about a connection that says nothing, and listens on ports of these ranges. */
void reach_ports (const struct address *host, const int port[], int error[], size_t count, int ms)
{
    struct deadline deadline = deadline_in_ms (ms);
    struct pollfd waiting[REACH_MAX];
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        waiting[i] = (struct pollfd){ .fd = tcp_connect_begin (host, port[i], false), .events = POLLOUT };
        error[i] = waiting[i].fd < 0 ? errno : ETIMEDOUT;
        left += waiting[i].fd >= 0;
    }
    while (left && poll (waiting, count, deadline_left_ms (deadline)) > 0)
        for (size_t i = 0; i < count; i++)
            if (waiting[i].fd >= 0 && waiting[i].revents) {
                error[i] = tcp_connect_end (waiting[i].fd);
                tcp_abort (waiting[i].fd);
                waiting[i].fd = -1;
                left--;
            }
    for (size_t i = 0; i < count; i++) {
        if (waiting[i].fd >= 0)
            tcp_abort (waiting[i].fd);
        if (error[i] == ECONNREFUSED)
            error[i] = 0;
    }
}

/* Choose the first, the middle and the last port of each range. */
static size_t _choose (int port[REACH_MAX], const struct port_ranges *ranges)
{
    size_t count = 0;

    for (size_t i = 0; i < (ranges->count ? ranges->count : 1); i++) {
        const struct port_range *range = ranges->count ? &ranges->range[i] : &ephemeral;
        const int chosen[] = { range->low, (range->low + range->high) / 2, range->high };

        for (int n = 0; n < 3 && count < REACH_MAX; n++)
            if (n == 0 || chosen[n] != chosen[n - 1])
                port[count++] = chosen[n];
    }
    return count;
}

/* "61001, 61500, 62000": all of them, or those that failed. Returns how many. */
static size_t _list (char *text, size_t size, const int port[], const int error[], size_t count, bool failed)
{
    struct list_text list = { text, size, ", ", 0, 0, 0 };
    char number[16];

    for (size_t i = 0; i < count; i++) {
        snprintf (number, sizeof (number), "%d", port[i]);
        if (!failed || error[i])
            list_text_add (&list, number);
    }
    list_text_end (&list);
    return list.named + list.more;
}

static void _report_ports (const char *host, const int port[], const int error[], size_t count,
                           const char *range, struct findings *findings)
{
    char text[128], advice[160];
    int why = 0;

    for (size_t i = 0; i < count && !why; i++)
        why = error[i];
    snprintf (advice, sizeof (advice), "open %s there for connections from this node", range);
    if (_list (text, sizeof (text), port, error, count, true))
        findings_add (findings, "reach", LEVEL_ERROR, advice,
                      "srun's host %s cannot be reached on port %s: %s", host, text, strerror (why));
    else {
        _list (text, sizeof (text), port, error, count, false);
        findings_ok (findings, "reach", "srun's host %s is reached, on port %s", host, text);
    }
}

/* -1 if it is not in the environment. */
static int _srun_host (struct address *address)
{
    const char *host = getenv ("SLURM_SRUN_COMM_HOST");

    if (!host)
        host = getenv ("SLURM_LAUNCH_NODE_IPADDR");
    return host ? address_parse (address, host) : -1;
}

void reach_check (const struct installation *i, struct findings *findings)
{
    const char *own = i->argument[OPTION_RENDEZVOUS_PORTS];
    /* The ports on which tf-rendezvous may listen: "" or an empty list is any. */
    const char *value = own ? own : i->conf.srun_ports;
    int port[REACH_MAX], error[REACH_MAX];
    struct port_ranges ranges;
    struct address_text host;
    struct address address;
    size_t count;

    if (_srun_host (&address) < 0) {
        findings_add (findings, "reach", LEVEL_WARNING, "start it by srun",
                      "the address of srun's host is not in the environment");
        return;
    }
    if (!*value || port_ranges_parse (&ranges, value, NULL) < 0)
        ranges.count = 0;
    count = _choose (port, &ranges);
    reach_ports (&address, port, error, count, TIMEOUT_MS);
    _report_ports (address_print (&address, &host), port, error, count,
                   own      ? "rendezvous_ports="
                   : *value ? "SrunPortRange"
                            : "all ports that users can use",
                   findings);
}
