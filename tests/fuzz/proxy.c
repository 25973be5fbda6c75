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

#define MAX_VARIABLES 8

static const char *_lookup (const char *name, void *arg)
{
    char **env = arg;
    size_t length = strlen (name);

    for (; *env; env++)
        if (strncmp (*env, name, length) == 0 && (*env)[length] == '=')
            return *env + length + 1;
    return NULL;
}

/* The present value stays, and every host is in the new one. */
static void _check (int i, const char *hosts, char *env[])
{
    char *value = proxy_exempt (i, hosts, _lookup, env);
    const char *old = _lookup (proxy_exemption[i], env);

    CHECK (value);
    CHECK (!old || !*old || strncmp (value, old, strlen (old)) == 0);
    for (const char *host = hosts; *host;) {
        size_t length = strcspn (host, ",");

        CHECK (memmem (value, strlen (value), host, length));
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
    proxy_is_set (_lookup, env);
    for (int i = 0; i < PROXY_EXEMPTIONS; i++)
        _check (i, rest, env);
    free (text);
}
