/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the end of a log file, with the cause of a failure, and the beginning of an error file.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "supervise/last_line.h"
#include "supervise/log_tail.h"

static void _check (const struct failure_text *text, enum failure_text_source source)
{
    CHECK (text->source == source && fuzz_is_line (text->text));
    CHECK (strlen (text->text) <= FAILURE_TEXT_MAX);
}

/* Any line becomes one that is decoded as it is. */
static void _check_line (const char *line, size_t length)
{
    struct frame *frame = frame_create ();
    struct failure_text text = { .cause = { CAUSE_SPACE, "" } }, decoded;

    failure_text_set (&text, FAILURE_TEXT_LOG, line, length);
    failure_text_add (frame, &text);
    failure_text_decode (&decoded, frame);
    CHECK (decoded.source == text.source && strcmp (decoded.text, text.text) == 0);
    if (text.source != FAILURE_TEXT_NONE)
        _check (&text, FAILURE_TEXT_LOG);
    frame_destroy (frame);
}

/* Whatever is found is sent and decoded. A traceback is in the bytes. */
static void _check_words (enum exit_report_kind kind, int number, const char *bytes, size_t size)
{
    const struct exit_report report = { .kind = kind, .number = number };
    struct last_words words = last_line_words (&report, bytes, size);
    struct cause *cause = &words.text.cause, decoded;
    struct frame *frame = frame_create ();

    if (words.text.source != FAILURE_TEXT_NONE)
        _check (&words.text, kind == EXIT_REPORT_HUNG ? FAILURE_TEXT_STACK : FAILURE_TEXT_LOG);
    if (words.exception.source != FAILURE_TEXT_NONE) {
        static const char title[] = "Traceback (most recent call last)";
        size_t at = (size_t)words.traceback;

        _check (&words.exception, FAILURE_TEXT_LOG);
        CHECK (words.traceback >= 0 && at < size && bytes[at] == title[0]);
    }
    cause_add (frame, cause);
    cause_decode (&decoded, frame);
    CHECK (decoded.kind == cause->kind && strcmp (decoded.detail, cause->detail) == 0);
    frame_destroy (frame);
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
