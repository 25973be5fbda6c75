/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The last words of programs, and causes in them: GOLDEN has them.
 */
#include "config.h"

#include "../reports.h"
#include "unit.h"

#include "supervise/last_line.h"

#define MOST 16384

struct words {
    char how[32], cause[160], name[160];    /* of the line in front */
    char line[512];             /* of the one behind that: what is shown */
    char text[MOST];
    size_t length;
};

static void check (const struct words *w)
{
    struct exit_report report;
    struct last_words words;
    char text[256];

    assert_true (report_parse (&report, w->how));
    words = last_line_words (&report, w->text, w->length);
    snprintf (text, sizeof (text), "%s%s", cause_text[words.text.cause.kind], words.text.cause.detail);
    if (strcmp (*text ? text : "-", w->cause) != 0)
        fail_msg ("%s: \"%s\", not \"%s\"", w->name, text, w->cause);
    if (strcmp (*words.text.text ? words.text.text : "-", w->line) != 0)
        fail_msg ("%s: \"%s\", not \"%s\"", w->name, words.text.text, w->line);
}

/* Each also if the last line has no end, and if the log's beginning is missing: then less may be known. */
TEST (each_output_has_its_last_words_and_its_cause)
{
    static struct words w;
    char line[4096];
    int count = 0;
    FILE *file = fopen (GOLDEN, "re");

    assert_non_null (file);
    while (fgets (line, sizeof (line), file)) {
        if (strncmp (line, "=== ", 4) != 0) {
            assert_true (w.length + strlen (line) < sizeof (w.text));
            if (count > 0)
                w.length += (size_t)sprintf (w.text + w.length, "%s", line);
            continue;
        }
        if (count++ > 0)
            check (&w);
        w.length = 0;
        assert_int_equal (sscanf (line, "=== %31[^|] | %159[^|] | %159[^\n]", w.how, w.cause, w.name), 3);
        w.how[strlen (w.how) - 1] = w.cause[strlen (w.cause) - 1] = '\0';
        assert_non_null (fgets (line, sizeof (line), file));
        assert_int_equal (sscanf (line, "--- %511[^\n]", w.line), 1);
    }
    check (&w);
    w.length--;
    check (&w);
    assert_true (count > 50);
    fclose (file);
}

TEST (only_what_the_last_step_wrote_counts)
{
    static const struct exit_report report = { .kind = EXIT_REPORT_EXIT, .number = 1 };
    static const char before[] =
        "Traceback (most recent call last):\n  File\nMemoryError\nspank_tf: step 12.0\n";
    static const char after[] =
        "spank_tf: step 12.0\nTraceback (most recent call last):\n  File\nMemoryError\n";

    assert_int_equal (last_line_words (&report, before, sizeof (before) - 1).text.cause.kind, CAUSE_NONE);
    assert_int_equal (last_line_words (&report, before, sizeof (before) - 2).text.cause.kind, CAUSE_NONE);
    assert_int_equal (last_line_words (&report, after, sizeof (after) - 1).text.cause.kind, CAUSE_MEMORY);
    assert_int_equal (last_line_words (&report, after + 20, sizeof (after) - 21).text.cause.kind,
                      CAUSE_MEMORY);
    assert_int_equal (last_line_words (&report, "", 0).text.cause.kind, CAUSE_NONE);
}
