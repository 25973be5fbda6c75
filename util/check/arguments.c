/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "arguments.h"

#include <string.h>

int arguments_take (struct arguments *arguments, const char *text, struct errtext *err)
{
    const char *value;
    enum option_id option = option_of_argument (text, &value);
    struct errtext why;
    struct quoted q;

    if (!value)
        return errtext_set (err, "\"%s\" is not an argument of spank_tf",
                            text_quoted (&q, text, strlen (text)));
    if (option_check (option, value, &why) < 0)
        return errtext_set (err, "%s: %s", option_table[option].site, why.text);
    arguments->value[option] = value;
    return 0;
}

const char *arguments_value (const struct arguments *arguments, enum option_id option)
{
    return arguments->value[option] ? arguments->value[option] : option_table[option].normal;
}
