/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the arguments of the plugin in plugstack.conf, one a line. A line --tf-NAME=VALUE
 * is an option of a user instead.
 */
#include "config.h"

#include "fuzz.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline.h"
#include "common/tasklist.h"
#include "options.h"
#include "site.h"

#define MAX_ARGUMENTS 32

/* What Slurm exports to a plugin. */

spank_context_t spank_context (void)
{
    return S_CTX_LOCAL;
}

spank_err_t spank_option_register (spank_t spank, struct spank_option *option)
{
    (void)spank;
    (void)option;
    return ESPANK_SUCCESS;
}

void slurm_error (const char *fmt, ...)
{
    (void)fmt;
}

/* The command line here is the engine's. */
bool cmdline_has (const char *argument)
{
    (void)argument;
    return false;
}

/* The defaults before the first argument. */
static void _reset (void)
{
    static struct site initial;
    static bool saved;
    struct errtext err;

    if (!saved)
        initial = site;
    saved = true;
    site = initial;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].site)
            CHECK (options_set_site (option_table[i].site, option_table[i].normal, &err) == 1);
}

/* The rest of --tf-NAME=VALUE is checked as srun checks it. */
static void _check_option (const char *text)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *value = frame_value (text, option_table[i].name);
        struct errtext err;

        if (value)
            fuzz_succeeded (option_table[i].check (value, &err), &err);
    }
}

static void _check_site (void)
{
    struct tasklist *roles;
    struct errtext err;

    CHECK (site.bad == (site.error.text[0] != '\0'));
    CHECK (!site.bad || fuzz_is_line (site.error.text));
    CHECK (site.stop_grace >= 0 && site.stop_grace <= FRAME_MAX_SECONDS);
    CHECK (site.eval_grace >= 0 && site.eval_grace <= FRAME_MAX_SECONDS);
    CHECK (site.libexecdir[0] == '/');
    CHECK (site.rendezvous_ports.count <= PORT_MAX_RANGES);
    if (site.roles) {
        CHECK (fuzz_succeeded (tasklist_parse (&roles, site.roles, &err), &err));
        tasklist_destroy (roles);
    }
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].site)
            CHECK (option_table[i].check (options_value ((enum option)i), &err) == 0);
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
    _check_site ();
    _reset ();
    free (text);
}
