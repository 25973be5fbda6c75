/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of options for scripts: a line for each, its fields separated by tabs. A field without
 * a value is empty.
 *
 *     1 the option, "--tf-ib"              5 the default
 *     2 the argument in plugstack.conf     6 the words that a value can be, separated by blanks
 *     3 the value, "auto|require|no"       7 how bash completes the value
 *     4 the value if none is given         8 "word" if the value is one of these, else "text"
 *                                          9 the help
 */
#include "config.h"

#include <stdio.h>

#include "common/option_table.h"

static const char *_or_nothing (const char *text)
{
    return text ? text : "";
}

/* All words, and first the one that is no part of a list. */
static void _print_words (const struct option_definition *d)
{
    const char *blank = "";

    if (d->alone) {
        printf ("%s", d->alone);
        blank = " ";
    }
    for (const struct choice *c = d->words; c && c->word; c++) {
        printf ("%s%s", blank, c->word);
        blank = " ";
    }
}

int main (void)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_definition *d = &option_table[i];
        struct option_help help;

        option_help ((enum option_id)i, &help);
        printf ("%s%s\t%s\t%s\t", d->name ? "--" : "", _or_nothing (d->name), _or_nothing (d->site),
                help.arginfo);
        printf ("%s\t%s\t", _or_nothing (d->implied), _or_nothing (d->normal));
        _print_words (d);
        printf ("\t%s\t%s\t%s\n", d->completion ? d->completion : "words", d->check ? "text" : "word",
                help.usage);
    }
    return 0;
}
