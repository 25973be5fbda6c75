/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "common/number.h"
#include "common/tasklist.h"
#include "options.h"

#define MAX_GRACE 604800        /* a week, in seconds */

struct site site = { .libexecdir = PKGLIBEXECDIR, .stop_grace = 10, .eval_grace = 900 };

/* Role names, separated by commas: a task list without counts. */
static int _set_roles (const char *value, struct errtext *err)
{
    struct tasklist *list;

    if (strchr (value, ':') || tasklist_parse (&list, value, err) < 0)
        return errtext_set (err, "names separated by commas are needed, as in roles=tester,logger");
    tasklist_destroy (list);
    site.roles = value;
    return 0;
}

static int _set_libexecdir (const char *value, struct errtext *err)
{
    if (value[0] != '/')
        return errtext_set (err, "an absolute path is needed");
    site.libexecdir = value;
    return 0;
}

static int _set_hide_gpus (const char *value, struct errtext *err)
{
    if (strcmp (value, "yes") != 0 && strcmp (value, "no") != 0)
        return errtext_set (err, "yes or no is needed");
    site.show_gpus = strcmp (value, "no") == 0;
    return 0;
}

static int _set_seconds (int *seconds, const char *value, struct errtext *err)
{
    if (number_parse (seconds, value, 0, MAX_GRACE) < 0)
        return errtext_set (err, "a number of seconds from 0 to %d is needed", MAX_GRACE);
    return 0;
}

static int _set (const char *key, const char *value, struct errtext *err)
{
    int rc = options_set_site (key, value, err);

    if (rc != 0)
        return rc;
    if (strcmp (key, "roles") == 0)
        return _set_roles (value, err);
    if (strcmp (key, "libexecdir") == 0)
        return _set_libexecdir (value, err);
    if (strcmp (key, "rendezvous_ports") == 0)
        return port_ranges_parse (&site.rendezvous_ports, value, err);
    if (strcmp (key, "hide_gpus") == 0)
        return _set_hide_gpus (value, err);
    if (strcmp (key, "stop_grace") == 0)
        return _set_seconds (&site.stop_grace, value, err);
    if (strcmp (key, "eval_grace") == 0)
        return _set_seconds (&site.eval_grace, value, err);
    return errtext_set (err, "unknown argument");
}

static int _read (const char *argument, struct errtext *err)
{
    const char *equals = strchr (argument, '=');
    struct errtext why;
    struct quoted q;
    char key[32];

    if (!equals || equals - argument >= (int)sizeof (key))
        return errtext_set (err, "\"%s\" is not an argument of spank_tf; an argument is NAME=VALUE",
                            text_quoted (&q, argument, strlen (argument)));
    snprintf (key, sizeof (key), "%.*s", (int)(equals - argument), argument);
    if (_set (key, equals + 1, &why) < 0)
        return errtext_set (err, "%s: %s", text_quoted (&q, key, strlen (key)), why.text);
    return 0;
}

void site_read (int argc, char *argv[])
{
    struct errtext why;

    /* Use all that are valid, and report the first one that is not. */
    for (int i = 0; i < argc; i++)
        if (_read (argv[i], &why) < 0 && !site.bad) {
            site.bad = true;
            errtext_set (&site.error, "plugstack.conf: %s", why.text);
        }
}

void site_complain (void)
{
    if (site.bad)
        slurm_error ("spank_tf: %s", site.error.text);
}
