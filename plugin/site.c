/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "site.h"

#include <string.h>

#include "launch/options.h"

static struct errtext error;

static int _read_argument (const char *argument, struct errtext *err)
{
    size_t length = strcspn (argument, "=");
    const char *value;
    enum option_id option = option_of_argument (argument, &value);
    struct errtext why;
    struct quoted q;

    if (!argument[length])
        return errtext_set (err, "\"%s\" is not an argument of spank_tf; an argument is NAME=VALUE",
                            text_quoted (&q, argument, length));
    if (!value)
        return errtext_set (err, "%s: unknown argument", text_quoted (&q, argument, length));
    if (option_check (option, value, &why) < 0)
        return errtext_set (err, "%s: %s", option_table[option].site, why.text);
    options_set_site (option, value);
    return 0;
}

void site_read (int argc, char *argv[])
{
    struct errtext why;

    error.text[0] = '\0';
    for (int i = 0; i < argc; i++)
        if (_read_argument (argv[i], &why) < 0 && !site_error ())
            errtext_set (&error, "plugstack.conf: %s", why.text);
}

const char *site_error (void)
{
    return *error.text ? error.text : NULL;
}
