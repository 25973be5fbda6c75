/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "arguments.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "addresses/netlist.h"
#include "common/value.h"

#define NOT_TAKEN ((size_t)-1)

/* `make check` compares the names with those of plugin/option_table.c and plugin/site.c. */
static const struct {
    const char *name;
    int (*check) (const char *value, struct errtext *err);
    size_t place;           /* in struct arguments */
} known[] = {
    { "ib", value_ib, offsetof (struct arguments, ib) },
    { "network", netlist_check, offsetof (struct arguments, network) },
    { "ports", value_ports, offsetof (struct arguments, ports) },
    { "hold", value_yes_no, NOT_TAKEN },
    { "stop", value_stop, NOT_TAKEN },
    { "log_dir", value_log_dir, NOT_TAKEN },
    { "frameworks", value_frameworks, NOT_TAKEN },
    { "restart", value_restart, NOT_TAKEN },
    { "restart_backoff", value_timeout, NOT_TAKEN },
    { "timeout", value_timeout, NOT_TAKEN },
    { "show", value_show, NOT_TAKEN },
    { "roles", value_roles, NOT_TAKEN },
    { "libexecdir", value_libexecdir, offsetof (struct arguments, libexecdir) },
    { "rendezvous_ports", value_rendezvous_ports, offsetof (struct arguments, rendezvous_ports) },
    { "hide_gpus", value_hide_gpus, NOT_TAKEN },
    { "nccl", value_yes_no, NOT_TAKEN },
    { "stop_grace", value_grace, NOT_TAKEN },
    { "eval_grace", value_grace, NOT_TAKEN },
};

static int _set (struct arguments *arguments, size_t i, const char *value, struct errtext *err)
{
    struct errtext why;

    if (known[i].check (value, &why) < 0)
        return errtext_set (err, "%s: %s", known[i].name, why.text);
    if (known[i].place != NOT_TAKEN)
        *(const char **)((char *)arguments + known[i].place) = value;
    return 0;
}

int arguments_take (struct arguments *arguments, const char *text, struct errtext *err)
{
    size_t length = strcspn (text, "=");
    struct quoted q;

    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]) && text[length]; i++)
        if (strlen (known[i].name) == length && strncmp (text, known[i].name, length) == 0)
            return _set (arguments, i, text + length + 1, err);
    return errtext_set (err, "\"%s\" is not an argument of spank_tf",
                        text_quoted (&q, text, strlen (text)));
}
