/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "signs.h"

#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "common/printable.h"
#include "life_report.h"

static const char *const source_name[] = {
    [SIGNS_UNKNOWN] = "unknown",   [SIGNS_NONE] = "none", [SIGNS_LOG] = "log",
    [SIGNS_MESSAGES] = "messages", [SIGNS_DONE] = "done",
};

static void _add_unanswered (struct frame *frame, const struct signs *signs)
{
    char text[SIGNS_MOST_UNANSWERED * sizeof (struct address_text)] = "";
    struct address_text room;

    for (int i = 0; i < signs->unanswered_count; i++)
        snprintf (text + strlen (text), sizeof (text) - strlen (text), "%s%s", i > 0 ? " " : "",
                  address_print_port (&signs->unanswered[i].address, signs->unanswered[i].port, &room));
    frame_add_text (frame, "UNANSWERED", *text ? text : NULL);
}

struct frame *signs_encode (const struct signs *signs)
{
    struct frame *frame = frame_create ();

    if (!frame)
        return NULL;
    frame_add (frame, "SIGNS", "%s", source_name[signs->source]);
    frame_add (frame, "LIFE", "%d", signs->life);
    frame_add_flag (frame, "OVERDUE", signs->overdue);
    frame_add_flag (frame, "STOPPED", signs->stopped);
    frame_add_flag (frame, "BUSY", signs->busy);
    frame_add (frame, "MESSAGES", "%d", signs->messages);
    frame_add (frame, "SILENT_MS", "%d", signs->silent_ms);
    frame_add (frame, "SIGN_AGO_MS", "%d", signs->ago_ms);
    frame_add_text (frame, "STATUS", signs->status[0] ? signs->status : NULL);
    _add_unanswered (frame, signs);
    return frame;
}

bool signs_are_in (const struct frame *frame)
{
    return frame_has (frame, "SIGNS");
}

static int _source (const char *text)
{
    for (size_t i = 0; text && i < sizeof (source_name) / sizeof (source_name[0]); i++)
        if (strcmp (text, source_name[i]) == 0)
            return (int)i;
    return -1;
}

static int _number (const struct frame *frame, const char *key)
{
    int number = frame_get_number (frame, key, 0, SIGNS_MAX_MS);

    return number < 0 ? 0 : number;
}

/* "10.0.0.1:40000" or "[fd00::1]:40000" */
static int _parse_address (struct signs_address *to, char *text)
{
    char *colon = strrchr (text, ':');
    size_t length;

    if (!colon || number_parse (&to->port, colon + 1, 1, 65535) < 0)
        return -1;
    *colon = '\0';
    length = strlen (text);
    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        text[length - 1] = '\0';
        text++;
    }
    return address_parse (&to->address, text);
}

/* What is malformed, or too much, is left out. */
static void _get_unanswered (struct signs *signs, const char *text)
{
    char copy[SIGNS_MOST_UNANSWERED * sizeof (struct address_text)], *rest = copy, *word;

    if (!text || strlen (text) >= sizeof (copy))
        return;
    strcpy (copy, text);
    while (signs->unanswered_count < SIGNS_MOST_UNANSWERED && (word = strsep (&rest, " ")))
        if (_parse_address (&signs->unanswered[signs->unanswered_count], word) == 0)
            signs->unanswered_count++;
}

int signs_decode (struct signs *signs, const struct frame *frame, struct errtext *err)
{
    int source = _source (frame_get (frame, "SIGNS"));
    const char *status = frame_get (frame, "STATUS");

    *signs = (struct signs){ .life = frame_get_number (frame, "LIFE", 0, LIFE_REPORT_MAX) };
    if (source < 0 || signs->life < 0)
        return errtext_set (err, "signs of life without a source or a life");
    signs->source = (enum signs_source)source;
    signs->overdue = frame_has (frame, "OVERDUE");
    signs->stopped = frame_has (frame, "STOPPED");
    signs->busy = frame_has (frame, "BUSY");
    signs->messages = _number (frame, "MESSAGES");
    signs->silent_ms = _number (frame, "SILENT_MS");
    signs->ago_ms = _number (frame, "SIGN_AGO_MS");
    if (status)
        printable_line (signs->status, sizeof (signs->status), status, strlen (status));
    _get_unanswered (signs, frame_get (frame, "UNANSWERED"));
    return 0;
}
