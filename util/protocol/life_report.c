/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "life_report.h"

#include <limits.h>

#include "exit_report.h"
#include "fields.h"

static const char *const use_name[] = { [ADDRESS_UNUSED] = "no", [ADDRESS_USED] = "yes" };

static void _add_peers (struct frame *frame, const char *key, const void *message)
{
    const struct life_peers *peers = &((const struct life_report *)message)->peers;
    struct address_text room;

    for (int i = 0; i < peers->count; i++)
        frame_add (frame, key, "%s", address_print (&peers->address[i], &room));
}

static int _take_peers (void *message, const struct frame *frame, const char *key)
{
    struct life_peers *peers = &((struct life_report *)message)->peers;

    peers->count = 0;
    for (const char *text = NULL; (text = frame_get_next (frame, key, text));)
        if (peers->count == LIFE_PEERS_MOST || address_parse (&peers->address[peers->count++], text) < 0)
            return -1;
    return 0;
}

static const struct field_other peers = { _add_peers, _take_peers, "an IPv4 or IPv6 address" };

#define MESSAGE struct life_report

/* clang-format off */
static const struct field row[] = {
    FIELD ("REPORT", number, NUMBER, FIELD_NEEDED, 1, INT_MAX),
    FIELD ("ENDED_LIFE", life, NUMBER, FIELD_OPTIONAL, 0, LIFE_REPORT_MAX, .absent = -1),
    FIELD ("CANNOT_RESTART", cannot, TEXT, FIELD_OPTIONAL),
    FIELD ("AGO_MS", ago_ms, NUMBER, FIELD_TOLERANT, 0, LIFE_REPORT_MOST_AGO_MS),
    FIELD ("ADDRESS_USED", address, NAME, FIELD_TOLERANT, ADDRESS_UNUSED, ADDRESS_USED, .names = use_name),
    FIELD_BY ("PEER", peers, FIELD_OPTIONAL),
};

static const struct field asked[] = {
    FIELD ("ASKED_SIGNAL", asked_signal, NUMBER, FIELD_OPTIONAL, 1, EXIT_REPORT_MAX_SIGNAL),
    FIELD ("ASKED_AT", asked_at, SECONDS, FIELD_TOLERANT),
};
/* clang-format on */

const struct fields life_report_fields = FIELDS ("a life report", row);
const struct fields life_report_asked_fields = FIELDS ("a life report", asked);
