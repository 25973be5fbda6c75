/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "signal_name.h"

#include <signal.h>
#include <stdio.h>

const char *signal_name (int number, char *buf, size_t size)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {
        { SIGTERM, "SIGTERM" }, { SIGINT, "SIGINT" },   { SIGHUP, "SIGHUP" },
        { SIGQUIT, "SIGQUIT" }, { SIGUSR1, "SIGUSR1" }, { SIGUSR2, "SIGUSR2" },
    };

    snprintf (buf, size, "signal %d", number);
    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        if (known[i].number == number)
            snprintf (buf, size, "%s", known[i].name);
    return buf;
}
