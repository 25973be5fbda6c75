/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the end of a log file, with the cause of a failure, and the beginning of an error file.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "protocol/status.h"
#include "supervise/last_line.h"
#include "supervise/log_tail.h"

static void _check (const struct failure_text *text, enum failure_text_source source)
{
    CHECK (text->source == source && fuzz_is_line (text->text));
    CHECK (strlen (text->text) <= FAILURE_TEXT_MAX);
}

/* It is decoded as it was sent, if there is something to send. */
static void _check_sent (const struct failure_text *text)
{
    const struct status status = { .ended = true, .life = { .number = 1 }, .failure = *text };
    struct frame *frame = fields_frame (&status_fields, &status);
    struct status decoded;
    struct errtext err;

    CHECK (frame && fuzz_succeeded (status_decode (&decoded, frame, &err), &err));
    CHECK (decoded.failure.source == text->source);
    if (text->source != FAILURE_TEXT_NONE) {
        CHECK (strcmp (decoded.failure.text, text->text) == 0);
        CHECK (decoded.failure.cause.kind == text->cause.kind);
        CHECK (strcmp (decoded.failure.cause.detail, text->cause.detail) == 0);
    }
    frame_destroy (frame);
}

/* Any line becomes one that can be sent. */
static void _check_line (const char *line, size_t length)
{
    struct failure_text text = { .cause = { CAUSE_SPACE, "" } };

    failure_text_set (&text, FAILURE_TEXT_LOG, line, length);
    if (text.source != FAILURE_TEXT_NONE)
        _check (&text, FAILURE_TEXT_LOG);
    _check_sent (&text);
}

/* Whatever is found is sent and decoded. A traceback is in the bytes. */
static void _check_words (enum exit_report_kind kind, int number, const char *bytes, size_t size)
{
    const struct exit_report report = { .kind = kind, .number = number };
    struct last_words words = last_line_words (&report, bytes, size);

    if (words.text.source != FAILURE_TEXT_NONE)
        _check (&words.text, kind == EXIT_REPORT_HUNG ? FAILURE_TEXT_STACK : FAILURE_TEXT_LOG);
    if (words.exception.source != FAILURE_TEXT_NONE) {
        static const char title[] = "Traceback (most recent call last)";
        size_t at = (size_t)words.traceback;

        _check (&words.exception, FAILURE_TEXT_LOG);
        CHECK (words.traceback >= 0 && at < size && bytes[at] == title[0]);
    }
    _check_sent (&words.text);
}

FUZZ_TARGET (last_line)
{
    struct failure_text text = { .source = FAILURE_TEXT_NONE };
    const char *bytes = (const char *)data;

    if (last_line_find_message (&text, bytes, size))
        _check (&text, FAILURE_TEXT_ERROR_FILE);
    _check_line (bytes, size);
    /* So much of a file is read. */
    if (size > LOG_TAIL_WINDOW)
        size = LOG_TAIL_WINDOW;
    _check_words (EXIT_REPORT_EXIT, 1, bytes, size);
    _check_words (EXIT_REPORT_EXIT, 3, bytes, size);
    _check_words (EXIT_REPORT_EXIT, 127, bytes, size);
    _check_words (EXIT_REPORT_SIGNAL, 6, bytes, size);
    _check_words (EXIT_REPORT_STOPPED, 0, bytes, size);
    _check_words (EXIT_REPORT_HUNG, 0, bytes, size);
}
