/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logdir.h"
#include "options.h"
#include "proxy.h"
#include "rendezvous.h"

const char *environment_get (char *const env[], const char *name)
{
    size_t len = strlen (name);

    for (; env && *env; env++)
        if (**env == *name && strncmp (*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

const char *environment_lookup (const char *name, void *env)
{
    return environment_get (env, name);
}

int environment_number (char *const env[], const char *name)
{
    const char *text = environment_get (env, name);

    return text ? atoi (text) : -1;
}

/* What an answer may set; whatever else it holds is no variable. */
static bool _is_variable (const char *string)
{
    static const char *const prefix[] = {
        "SLURM_TF_", "TF_", "CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=",
        "HIP_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK=",
    };

    for (size_t i = 0; i < sizeof (prefix) / sizeof (prefix[0]); i++)
        if (strncmp (string, prefix[i], strlen (prefix[i])) == 0)
            return true;
    return false;
}

/* All new values come from the old ones. */
static int _exempt_from_proxy (spank_t spank, char *const env[], const char *hosts)
{
    char *value[PROXY_EXEMPTIONS];
    int rc = 0;

    for (int i = 0; i < PROXY_EXEMPTIONS; i++)
        value[i] = proxy_exempt (i, hosts, environment_lookup, (void *)(uintptr_t)env);
    for (int i = 0; i < PROXY_EXEMPTIONS; i++) {
        if (!value[i] || spank_setenv (spank, proxy_exemption[i], value[i], 1) != ESPANK_SUCCESS)
            rc = -1;
        free (value[i]);
    }
    return rc;
}

int environment_set (spank_t spank, char *const env[], const struct frame *answer)
{
    const char *hosts = frame_get (answer, "HOSTS");

    /* Of an outer step, or the user's, is the word that a port is shared: it is true of a held
     * one only. */
    spank_unsetenv (spank, "TF_GRPC_REUSE_PORT");
    if (hosts && _exempt_from_proxy (spank, env, hosts) < 0)
        return -1;
    for (const char *s = frame_next (answer, NULL); s; s = frame_next (answer, s)) {
        const char *equals = strchr (s, '=');
        char name[64];

        if (!equals || !_is_variable (s))
            continue;
        snprintf (name, sizeof (name), "%.*s", (int)(equals - s), s);
        if (spank_setenv (spank, name, equals + 1, 1) != ESPANK_SUCCESS)
            return -1;
    }
    return 0;
}

void environment_correct (spank_t spank, const char *name, const char *value)
{
    char **env = NULL;
    const char *old;

    spank_get_item (spank, S_JOB_ENV, &env);
    old = environment_get (env, name);
    if (old && strlen (old) >= strlen (value))
        strcpy ((char *)(uintptr_t)old, value);
    else
        spank_setenv (spank, name, value, 1);
}

static bool _is_ours (const char *string)
{
    static const char rendezvous[] = RENDEZVOUS_VARIABLE "=", log_dir[] = LOGDIR_VARIABLE "=";

    return options_is_variable (string)
           || strncmp (string, rendezvous, sizeof (rendezvous) - 1) == 0
           || strncmp (string, log_dir, sizeof (log_dir) - 1) == 0;
}

/* One look at all there is: Slurm would look for every name that there might be. */
static bool _remove_one (spank_t spank)
{
    char **env = NULL;
    char name[128];

    spank_get_item (spank, S_JOB_ENV, &env);
    for (; env && *env; env++)
        if (_is_ours (*env)) {
            snprintf (name, sizeof (name), "%.*s", (int)strcspn (*env, "="), *env);
            return spank_unsetenv (spank, name) == ESPANK_SUCCESS;
        }
    return false;
}

void environment_clean (spank_t spank)
{
    while (_remove_one (spank))
        ;
}
