/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "job_info.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/number.h"

const char *job_info_parse (struct job_info *info, const char *text)
{
    char number[16], uid[16], batch[8];
    size_t length = strcspn (text, "\n");
    char line[512];
    int user;

    if (length == 0 || length >= sizeof (line))
        return NULL;
    memcpy (line, text, length);
    line[length] = '\0';
    *info = (struct job_info){ .host = "" };
    if (sscanf (line, "%31s %15s %15s %31s %7s %255s", info->name, number, uid, info->state, batch,
                info->host)
            < 5
        || number_parse (&info->number, number, 1, INT_MAX) < 0 || number_parse (&user, uid, 0, INT_MAX) < 0)
        return NULL;
    info->uid = (uid_t)user;
    info->batch = strcmp (batch, "0") != 0;
    if (strcmp (info->host, "n/a") == 0)
        info->host[0] = '\0';
    return text + length + (text[length] == '\n');
}
