/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the arguments of the plugin in plugstack.conf, one a line. A line --tf-NAME=VALUE
 * is an option of a user instead.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "launch/options.h"
#include "site.h"

#define MAX_ARGUMENTS 32

/* No argument has been read. */
static void _reset (void)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        options_set_site ((enum option_id)i, NULL);
}

/* The rest of --tf-NAME=VALUE is checked as srun checks it. */
static void _check_option (const char *text)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *name = option_table[i].name, *value = name ? frame_value (text, name) : NULL;
        char *copy = value ? option_copy ((enum option_id)i, value) : NULL;
        struct errtext err;

        if (copy)
            fuzz_succeeded (options_check ((enum option_id)i, copy, &err), &err);
        free (copy);
    }
}

/* All values in force are valid, and those that are a word have its meaning. */
static void _check_values (void)
{
    struct errtext err;

    for (int i = 0; i < OPTION_COUNT; i++) {
        enum option_id option = (enum option_id)i;
        const char *value = options_value (option);

        CHECK (value || !option_table[i].normal);
        CHECK (!value || option_check (option, value, &err) == 0);
        CHECK (!value || option_table[i].check || options_word (option) >= 0);
    }
}

FUZZ_TARGET (site)
{
    char *text = fuzz_text (data, size), *rest = text;
    char *argument[MAX_ARGUMENTS];
    int count = 0;

    _reset ();
    while (*rest && count < MAX_ARGUMENTS)
        if (strncmp (rest, "--", 2) == 0)
            _check_option (fuzz_line (&rest) + 2);
        else
            argument[count++] = fuzz_line (&rest);
    site_read (count, argument);
    CHECK (!site_error () || fuzz_is_line (site_error ()));
    _check_values ();
    _reset ();
    free (text);
}
