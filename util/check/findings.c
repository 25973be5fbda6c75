/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/printable.h"

const char *level_name (enum level level)
{
    static const char *const name[] = { "ok", "warning", "error" };

    return name[level];
}

void findings_add (struct findings *findings, const char *check, enum level level, const char *advice,
                   const char *fmt, ...)
{
    static struct finding dropped;
    struct finding *finding = &dropped;
    va_list ap;

    if (level > findings->worst)
        findings->worst = level;
    if (findings->count < FINDINGS_MAX)
        finding = &findings->finding[findings->count++];
    finding->check = check;
    finding->level = level;
    va_start (ap, fmt);
    vsnprintf (finding->text, sizeof (finding->text), fmt, ap);
    va_end (ap);
    snprintf (finding->advice, sizeof (finding->advice), "%s", advice);
    printable_make_line (finding->text);
    printable_make_line (finding->advice);
}

void findings_ok (struct findings *findings, const char *check, const char *fmt, ...)
{
    char text[sizeof (findings->finding[0].text)];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    findings_add (findings, check, LEVEL_OK, "", "%s", text);
}

void findings_print (const struct findings *findings, bool quiet, const char *prefix, FILE *to)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->finding[i];

        if (!quiet || finding->level != LEVEL_OK)
            fprintf (to, "%s%s: %s%s%s\n", prefix, level_name (finding->level), finding->text,
                     *finding->advice ? "; " : "", finding->advice);
    }
}

json_t *findings_json (const struct findings *findings)
{
    json_t *array = json_array ();

    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->finding[i];
        json_t *object = json_pack ("{s:s, s:s, s:s}", "check", finding->check, "level",
                                    level_name (finding->level), "text", finding->text);

        if (object && *finding->advice)
            json_object_set_new (object, "advice", json_string (finding->advice));
        json_array_append_new (array, object);
    }
    return array;
}
