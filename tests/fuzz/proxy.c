/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is an environment: lines NAME=VALUE. The last line is the cluster's addresses.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "common/proxy.h"
#include "common/variables.h"

#define MAX_VARIABLES 8

/* The list has this word, between commas or blanks. */
static bool _has_word (const char *list, const char *word, size_t length)
{
    const char *end = list + strlen (list);

    for (const char *p = list; (p = memmem (p, (size_t)(end - p), word, length)); p++)
        if ((p == list || strchr (", ", p[-1])) && strchr (", ", p[length]))
            return true;
    return false;
}

/* The present value stays, and every host is in the new one, or all are. */
static void _check (int i, const char *hosts, char *env[])
{
    char *value = proxy_exempt (i, hosts, env);
    const char *old = variable_get (env, proxy_exemption[i]);

    CHECK (value);
    CHECK (!old || !*old || strncmp (value, old, strlen (old)) == 0);
    for (const char *host = hosts; *host;) {
        size_t length = strcspn (host, ",");

        CHECK (length == 0 || strcmp (value, "*") == 0 || _has_word (value, host, length));
        host += length + (host[length] == ',');
    }
    free (value);
}

FUZZ_TARGET (proxy)
{
    char *text = fuzz_text (data, size), *rest = text;
    char *env[MAX_VARIABLES + 1] = { NULL };

    for (int i = 0; i < MAX_VARIABLES && strchr (rest, '\n'); i++)
        env[i] = fuzz_line (&rest);
    proxy_is_set (env);
    for (int i = 0; i < PROXY_EXEMPTIONS; i++)
        _check (i, rest, env);
    free (text);
}
