/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a configuration file of NCCL.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "common/nccl_conf.h"

FUZZ_TARGET (nccl_conf)
{
    static const char setting[] = "NCCL_SOCKET_IFNAME=";
    char *text = fuzz_text (data, size);
    bool sets = nccl_conf_sets (fuzz_file (data, size), "NCCL_SOCKET_IFNAME");

    if (strlen (text) == size && !strstr (text, setting))
        CHECK (!sets);
    if (strncmp (text, setting, sizeof (setting) - 1) == 0)
        CHECK (sets);
    free (text);
}
