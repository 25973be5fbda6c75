/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "stop_when.h"

#include <string.h>

static const char *const name[] = {
    [STOP_WHEN_AUTO] = "auto",
    [STOP_WHEN_CHIEF] = "chief",
    [STOP_WHEN_WORKERS] = "workers",
    [STOP_WHEN_NEVER] = "never",
};

int stop_when_parse (enum stop_when *when, const char *text, struct errtext *err)
{
    struct quoted q;

    for (size_t i = 0; i < sizeof (name) / sizeof (name[0]); i++)
        if (strcmp (text, name[i]) == 0) {
            *when = (enum stop_when)i;
            return 0;
        }
    return errtext_set (err, "\"%s\" is not one of auto, chief, workers, never",
                        text_quoted (&q, text, strlen (text)));
}

const char *stop_when_name (enum stop_when when)
{
    return name[when];
}
