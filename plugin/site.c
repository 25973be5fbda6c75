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
#include "common/value.h"
#include "options.h"

struct site site = {
    .libexecdir = PKGLIBEXECDIR, .nccl = true, .stop_grace = 10, .restart_backoff = 60,
    .eval_grace = 900,
};

static int _set_text (const char **text, const char *value,
                      int (*check) (const char *value, struct errtext *err), struct errtext *err)
{
    if (check (value, err) < 0)
        return -1;
    *text = value;
    return 0;
}

static int _set_hide_gpus (const char *value, struct errtext *err)
{
    if (value_hide_gpus (value, err) < 0)
        return -1;
    site.show_gpus = strcmp (value, "no") == 0;
    return 0;
}

static int _set_nccl (const char *value, struct errtext *err)
{
    if (value_yes_no (value, err) < 0)
        return -1;
    site.nccl = strcmp (value, "yes") == 0;
    return 0;
}

static int _set_grace (int *seconds, const char *value, struct errtext *err)
{
    if (value_grace (value, err) < 0)
        return -1;
    return number_parse (seconds, value, 0, VALUE_MAX_SECONDS);
}

static int _set_backoff (const char *value, struct errtext *err)
{
    if (value_timeout (value, err) < 0)
        return -1;
    return number_parse (&site.restart_backoff, value, 1, VALUE_MAX_SECONDS);
}

static int _set (const char *key, const char *value, struct errtext *err)
{
    int rc = options_set_site (key, value, err);

    if (rc != 0)
        return rc;
    if (strcmp (key, "roles") == 0)
        return _set_text (&site.roles, value, value_roles, err);
    if (strcmp (key, "libexecdir") == 0)
        return _set_text (&site.libexecdir, value, value_libexecdir, err);
    if (strcmp (key, "rendezvous_ports") == 0)
        return port_ranges_parse (&site.rendezvous_ports, value, err);
    if (strcmp (key, "hide_gpus") == 0)
        return _set_hide_gpus (value, err);
    if (strcmp (key, "nccl") == 0)
        return _set_nccl (value, err);
    if (strcmp (key, "stop_grace") == 0)
        return _set_grace (&site.stop_grace, value, err);
    if (strcmp (key, "eval_grace") == 0)
        return _set_grace (&site.eval_grace, value, err);
    if (strcmp (key, "restart_backoff") == 0)
        return _set_backoff (value, err);
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
