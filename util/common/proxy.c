/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variables.h"

static const char *const proxy_variable[] = {
    "grpc_proxy", "https_proxy", "http_proxy", "all_proxy", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY",
};

#define PROXY_VARIABLES (sizeof (proxy_variable) / sizeof (proxy_variable[0]))

const char *const proxy_exemption[PROXY_EXEMPTIONS] = { "no_grpc_proxy", "no_proxy" };

/* If a variable is not set, its value is taken from the next one. */
static const char *const fallback[] = { "no_grpc_proxy", "no_proxy", "NO_PROXY" };

#define FALLBACKS ((int)(sizeof (fallback) / sizeof (fallback[0])))

bool proxy_is_set (char *const env[])
{
    for (size_t i = 0; i < PROXY_VARIABLES; i++) {
        const char *value = variable_get (env, proxy_variable[i]);

        if (value && *value)
            return true;
    }
    return false;
}

static bool _has_host (const char *list, const char *host, size_t len)
{
    for (; list; list = strchr (list, ',')) {
        list += strspn (list, ", ");
        if (strncmp (list, host, len) == 0 && (list[len] == '\0' || strchr (", ", list[len])))
            return true;
    }
    return false;
}

char *proxy_exempt (int i, const char *hosts, char *const env[])
{
    const char *old = NULL;
    char *value, *end;

    for (int j = i; j < FALLBACKS && !(old && *old); j++)
        old = variable_get (env, fallback[j]);
    if (!old)
        old = "";
    /* All hosts; programs know it only if it stands alone, and gRPC not at all. */
    if (strcmp (old, "*") == 0 && strcmp (proxy_exemption[i], "no_proxy") == 0)
        return strdup (old);
    if (!(value = malloc (strlen (old) + strlen (hosts) + 2)))
        return NULL;
    end = stpcpy (value, old);
    while (*hosts) {
        size_t len = strcspn (hosts, ",");

        if (!_has_host (old, hosts, len))
            end += sprintf (end, "%s%.*s", end == value ? "" : ",", (int)len, hosts);
        hosts += len + (hosts[len] == ',');
    }
    return value;
}
