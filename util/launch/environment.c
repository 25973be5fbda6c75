/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "environment.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "additions.h"
#include "addresses/interface.h"
#include "common/address.h"
#include "common/devices.h"
#include "common/marks.h"
#include "common/proxy.h"
#include "common/variables.h"
#include "launcher.h"
#include "option_variables.h"

#define TORCH_RESTART_VARIABLE "TORCHELASTIC_RESTART_COUNT"

/* Compute all new values before the first one is set: they depend on each other's old value. */
static int _exempt_from_proxy (const char *hosts)
{
    char *const *env = launcher_environment ();
    char *value[PROXY_EXEMPTIONS];
    int rc = 0;

    for (int i = 0; i < PROXY_EXEMPTIONS; i++)
        value[i] = proxy_exempt (i, hosts, env);
    for (int i = 0; i < PROXY_EXEMPTIONS; i++) {
        if (!value[i] || additions_set (proxy_exemption[i], value[i]) < 0)
            rc = -1;
        free (value[i]);
    }
    return rc;
}

/*
 * Let JAX use the GPUs that Slurm has given to this task, if it has. `local` is the number of the process
 * among those of its node.
 */
static int _set_devices (int local)
{
    struct devices given = devices_given (launcher_environment ());
    char buf[1024];
    const char *ids = devices_of_task (&given, local, buf, sizeof (buf));

    return ids ? additions_set ("JAX_LOCAL_DEVICE_IDS", ids) : 0;
}

/* PyTorch's count of restarts is that of the life; in the answer it is that of the first one. */
static int _set_variables (const struct client_answer *answer, const char *life)
{
    const char *variable = NULL;
    char name[64];

    while ((variable = answer_next_variable (answer->frame, variable))) {
        const char *value = strchr (variable, '=') + 1;

        snprintf (name, sizeof (name), "%.*s", (int)(value - 1 - variable), variable);
        if (additions_set (name, strcmp (name, TORCH_RESTART_VARIABLE) == 0 ? life : value) < 0)
            return -1;
    }
    return answer->answer.jax_devices ? _set_devices (answer->answer.local_process) : 0;
}

/*
 * NCCL takes the name for the beginning of one, unless "=" is before it. Some libraries that read the
 * variable in NCCL's place do not know the "=", so it is set only if it makes a difference. True if it does.
 */
static bool _begins_another (const char *interface)
{
    struct if_nameindex *all = if_nameindex ();
    size_t length = strlen (interface);
    bool found = !all;

    for (struct if_nameindex *i = all; i && i->if_name; i++)
        found = found || (strncmp (i->if_name, interface, length) == 0 && i->if_name[length]);
    if_freenameindex (all);
    return found;
}

/* Let NCCL and Gloo, or Gloo alone, use this interface. */
static int _set_library_interface (const char *interface, bool nccl)
{
    char exactly[IF_NAMESIZE + 1];

    if (nccl) {
        snprintf (exactly, sizeof (exactly), "%s%s", _begins_another (interface) ? "=" : "", interface);
        if (additions_set ("NCCL_SOCKET_IFNAME", exactly) < 0)
            return -1;
    }
    return additions_set ("GLOO_SOCKET_IFNAME", interface);
}

/* Name the interface that has the task's address, which this node knows best. */
static int _set_interface (const struct answer *answer)
{
    struct address address;
    char name[IF_NAMESIZE];

    if (address_parse (&address, answer->address) < 0 || interface_with_address (name, &address) < 0)
        return 0;
    if (additions_set ("SLURM_TF_INTERFACE", name) < 0)
        return -1;
    return answer->nccl || answer->gloo ? _set_library_interface (name, answer->nccl) : 0;
}

/* A program sends WATCHDOG=1 at least twice within that time (sd_watchdog_enabled (3)). */
static int _set_watch (const struct watch_rule *watch, const char *notify)
{
    char usec[32];

    if (watch->seconds == 0)
        return 0;
    snprintf (usec, sizeof (usec), "%" PRId64, watch->seconds * INT64_C (1000000));
    if (notify && (additions_set ("NOTIFY_SOCKET", notify) < 0 || additions_set ("WATCHDOG_USEC", usec) < 0))
        return -1;
    /* Python prints its stacks when the task is ended because it hangs. */
    return additions_set ("PYTHONFAULTHANDLER", "1");
}

/*
 * In an image of PyTorch pyxis and enroot set these in each task, from Slurm's numbers. If the step has its
 * own numbers, those are wrong, and a task that is no process of PyTorch would wait for others.
 */
static int _unset_numbers (const struct frame *answer, const char *users)
{
    static const char *const name[] = { "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT" };
    char *const *env = launcher_environment ();
    int tasks = variable_number (env, "SLURM_NTASKS");
    const char *value;

    if (!frame_has (answer, "SLURM_PROCID") || frame_has (answer, "RANK") || tasks < 0
        || variable_number (env, "WORLD_SIZE") != tasks)
        return 0;
    for (size_t i = 0; i < sizeof (name) / sizeof (name[0]); i++)
        if ((value = variable_get (launcher_environment (), name[i]))
            && marks_find (users, name[i], strlen (name[i]), value) != MARKS_SAME
            && launcher_unset (name[i]) < 0)
            return -1;
    return 0;
}

int environment_set (const struct client_answer *answer, const char *users, int life, const char *error_file,
                     const char *notify)
{
    const char *hosts = answer->answer.proxy_exempt;
    char number[16];

    if ((hosts && _exempt_from_proxy (hosts) < 0) || _unset_numbers (answer->frame, users) < 0)
        return -1;
    snprintf (number, sizeof (number), "%d", life);
    if ((life > 0 && additions_set ("SLURM_TF_RESTART", number) < 0) || _set_variables (answer, number) < 0
        || _set_interface (&answer->answer) < 0)
        return -1;
    if (error_file && additions_set ("TORCHELASTIC_ERROR_FILE", error_file) < 0)
        return -1;
    /* What Python keeps in its buffers is lost if the task is stopped. */
    if (answer->answer.supervised && additions_set ("PYTHONUNBUFFERED", "1") < 0)
        return -1;
    if (_set_watch (&answer->answer.watch, notify) < 0)
        return -1;
    return additions_end ();
}

static bool _is_ours (const char *string)
{
    const struct variable *variable = variable_find (string);

    return option_variables_has (string) || (variable && variable->set == VARIABLE_BY_SRUN);
}

/* Without one, those behind it are at one place less. */
void environment_clean (void)
{
    char *const *env;
    char name[128];

    for (size_t i = 0; (env = launcher_environment ()) && env[i];)
        if (!_is_ours (env[i]))
            i++;
        else {
            snprintf (name, sizeof (name), "%.*s", (int)strcspn (env[i], "="), env[i]);
            if (launcher_unset (name) < 0)
                return;
        }
}
