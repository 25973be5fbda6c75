/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "life_report.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_report.h"

/* As many digits as LIFE_REPORT_LAST_SECOND has. */
#define MOST_DIGITS 12

static void _add_peers (struct frame *frame, const struct life_peers *peers)
{
    char text[LIFE_PEERS_MOST * (INET6_ADDRSTRLEN + 1)];
    struct address_text room;
    size_t used = 0;

    for (int i = 0; i < peers->count; i++)
        used += (size_t)snprintf (text + used, sizeof (text) - used, "%s%s", i ? " " : "",
                                  address_print (&peers->address[i], &room));
    if (used)
        frame_add (frame, "PEERS", "%s", text);
}

void life_report_add_asked (struct frame *frame, const struct life_report *report)
{
    if (report->asked_signal > 0)
        frame_add (frame, "ASKED_SIGNAL", "%d", report->asked_signal);
    if (report->asked_signal > 0 && report->asked_at > 0)
        frame_add (frame, "ASKED_AT", "%" PRId64, report->asked_at);
}

void life_report_add (struct frame *frame, const struct life_report *report)
{
    if (report->number > 1)
        frame_add (frame, "REPORT", "%d", report->number);
    frame_add_flag (frame, "LAST", report->life < 0);
    if (report->ago_ms > 0 && report->ago_ms <= LIFE_REPORT_MOST_AGO_MS)
        frame_add (frame, "AGO_MS", "%d", report->ago_ms);
    frame_add_text (frame, "CANNOT_RESTART", report->cannot);
    life_report_add_asked (frame, report);
    if (report->address != ADDRESS_UNKNOWN)
        frame_add (frame, "ADDRESS_USED", "%d", report->address == ADDRESS_USED);
    _add_peers (frame, &report->peers);
}

/* A word that is no address is left out. */
static void _take_peers (struct life_peers *peers, const char *text)
{
    char word[INET6_ADDRSTRLEN];
    size_t length;

    for (peers->count = 0; text && peers->count < LIFE_PEERS_MOST; text += length + (text[length] == ' ')) {
        if (!(length = strcspn (text, " ")))
            break;
        if (length >= sizeof (word))
            continue;
        memcpy (word, text, length);
        word[length] = '\0';
        peers->count += address_parse (&peers->address[peers->count], word) == 0;
    }
}

/* 0 if it is missing or malformed. */
static int64_t _seconds (const char *text)
{
    size_t digits = text ? strspn (text, "0123456789") : 0;
    int64_t seconds;

    if (digits == 0 || digits > MOST_DIGITS || text[digits] != '\0')
        return 0;
    seconds = strtoll (text, NULL, 10);
    return seconds <= LIFE_REPORT_LAST_SECOND ? seconds : 0;
}

static int _signal (const struct frame *frame)
{
    int number = frame_get_number (frame, "ASKED_SIGNAL", 1, EXIT_REPORT_MAX_SIGNAL);

    if (number > 0)
        return number;
    return frame_has (frame, "ASKED_SIGNAL") ? SIGTERM : 0;
}

void life_report_decode (struct life_report *report, const struct frame *frame)
{
    report->number = frame_get_number (frame, "REPORT", 1, INT_MAX);
    if (report->number < 0)
        report->number = 1;
    report->life = frame_has (frame, "LAST") ? -1 : frame_get_number (frame, "LIFE", 0, LIFE_REPORT_MAX);
    report->ago_ms = frame_get_number (frame, "AGO_MS", 0, LIFE_REPORT_MOST_AGO_MS);
    if (report->ago_ms < 0)
        report->ago_ms = 0;
    report->cannot = frame_get (frame, "CANNOT_RESTART");
    report->asked_signal = _signal (frame);
    report->asked_at = _seconds (frame_get (frame, "ASKED_AT"));
    switch (frame_get_number (frame, "ADDRESS_USED", 0, 1)) {
        case 0: report->address = ADDRESS_UNUSED; break;
        case 1: report->address = ADDRESS_USED; break;
        default: report->address = ADDRESS_UNKNOWN;
    }
    _take_peers (&report->peers, frame_get (frame, "PEERS"));
}
