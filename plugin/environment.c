/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "environment.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addresses/interface.h"
#include "common/address.h"
#include "common/beside.h"
#include "common/number.h"
#include "common/proxy.h"
#include "common/variables.h"
#include "defaults.h"
#include "options.h"

int environment_number (char *const env[], const char *name)
{
    int number;

    return number_parse (&number, variable_get (env, name), 0, INT_MAX) == 0 ? number : -1;
}

#define INTERFACE_VARIABLE "SLURM_TF_INTERFACE"
#define NOTIFY_VARIABLE "NOTIFY_SOCKET"

/* Compute all new values before the first one is set: they depend on each other's old value. */
static int _exempt_from_proxy (spank_t spank, char *const env[], const char *hosts)
{
    char *value[PROXY_EXEMPTIONS];
    int rc = 0;

    for (int i = 0; i < PROXY_EXEMPTIONS; i++)
        value[i] = proxy_exempt (i, hosts, env);
    for (int i = 0; i < PROXY_EXEMPTIONS; i++) {
        if (!value[i] || spank_setenv (spank, proxy_exemption[i], value[i], 1) != ESPANK_SUCCESS)
            rc = -1;
        free (value[i]);
    }
    return rc;
}

static int _set_variable (spank_t spank, const char *variable)
{
    const struct variable *known = variable_find (variable);
    const char *value = strchr (variable, '=') + 1;
    char name[64];

    snprintf (name, sizeof (name), "%.*s", (int)(value - 1 - variable), variable);
    if (known && known->former == VARIABLE_KEPT)
        return defaults_set (spank, name, value);
    return spank_setenv (spank, name, value, 1) == ESPANK_SUCCESS ? 0 : -1;
}

static int _set_variables (spank_t spank, const struct client_answer *answer)
{
    const char *variable = NULL;

    while ((variable = answer_next_variable (answer->frame, variable)))
        if (!(answer->answer.no_tf_config && strncmp (variable, "TF_CONFIG=", 10) == 0)
            && _set_variable (spank, variable) < 0)
            return -1;
    return answer->answer.jax_devices ? defaults_set_devices (spank, answer->answer.local_process) : 0;
}

/* Name the interface that has the task's address, which this node knows best. */
static int _set_interface (spank_t spank, const struct answer *answer)
{
    struct address address;
    char name[IF_NAMESIZE];

    if (address_parse (&address, answer->address) < 0 || interface_with_address (name, &address) < 0)
        return 0;
    if (spank_setenv (spank, INTERFACE_VARIABLE, name, 1) != ESPANK_SUCCESS)
        return -1;
    return answer->nccl ? defaults_set_interface (spank, name) : 0;
}

/* The tasks beside an outer step's cluster are not those of this step. */
static void _forget_beside (spank_t spank)
{
    char names[BESIDE_MAX_NAMES * (BESIDE_MAX_NAME + 1)], *rest = names, *name;
    struct beside_variable room;

    if (spank_getenv (spank, BESIDE_VARIABLE, names, sizeof (names)) == ESPANK_SUCCESS)
        while ((name = strsep (&rest, ",")))
            if (beside_is_name (name, strlen (name)))
                spank_unsetenv (spank, beside_variable (name, &room));
}

bool environment_may_notify (spank_t spank)
{
    defaults_begin (spank);
    return !defaults_is_set (spank, NOTIFY_VARIABLE);
}

/* A program sends WATCHDOG=1 at least twice within that time (sd_watchdog_enabled (3)). */
static int _set_watch (spank_t spank, const struct watch_rule *watch, const char *notify)
{
    char usec[32];

    if (watch->seconds == 0)
        return 0;
    snprintf (usec, sizeof (usec), "%" PRId64, watch->seconds * INT64_C (1000000));
    if (notify
        && (defaults_set (spank, NOTIFY_VARIABLE, notify) < 0
            || defaults_set (spank, "WATCHDOG_USEC", usec) < 0))
        return -1;
    /* Python prints its stacks when the task is ended because it hangs. */
    return defaults_set (spank, "PYTHONFAULTHANDLER", "1");
}

int environment_set (spank_t spank, char *const env[], const struct client_answer *answer,
                     const char *error_file, const char *notify)
{
    const char *hosts = answer->answer.proxy_exempt;

    _forget_beside (spank);
    defaults_begin (spank);
    for (const struct variable *v = variable_table; v->name; v++)
        if (v->former == VARIABLE_REMOVED)
            spank_unsetenv (spank, v->name);
    if (hosts && _exempt_from_proxy (spank, env, hosts) < 0)
        return -1;
    if (_set_variables (spank, answer) < 0 || _set_interface (spank, &answer->answer) < 0)
        return -1;
    if (error_file && defaults_set (spank, "TORCHELASTIC_ERROR_FILE", error_file) < 0)
        return -1;
    /* What Python keeps in its buffers is lost if the task is stopped. */
    if (answer->answer.supervised && defaults_set (spank, "PYTHONUNBUFFERED", "1") < 0)
        return -1;
    if (_set_watch (spank, &answer->answer.watch, notify) < 0)
        return -1;
    return defaults_end (spank);
}

static bool _is_ours (const char *string)
{
    const struct variable *variable = variable_find (string);

    return options_is_variable (string) || (variable && variable->set == VARIABLE_BY_SRUN);
}

/* Remove the first variable that is ours; false if there is none. */
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
