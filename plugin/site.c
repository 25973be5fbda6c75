/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "site.h"

#include "launch/options.h"

static struct errtext error;

void site_read (int argc, char *argv[])
{
    enum option_id option;
    const char *value;
    struct errtext why;

    error.text[0] = '\0';
    for (int i = 0; i < argc; i++)
        if (option_take_argument (&option, &value, argv[i], &why) == 0)
            options_set_site (option, value);
        else if (!site_error ())
            errtext_set (&error, "plugstack.conf: %s", why.text);
}

const char *site_error (void)
{
    return *error.text ? error.text : NULL;
}
