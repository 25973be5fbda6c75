/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "arguments.h"

int arguments_take (struct arguments *arguments, const char *text, struct errtext *err)
{
    enum option_id option;
    const char *value;

    if (option_take_argument (&option, &value, text, err) < 0)
        return -1;
    arguments->value[option] = value;
    return 0;
}

const char *arguments_value (const struct arguments *arguments, enum option_id option)
{
    return arguments->value[option] ? arguments->value[option] : option_table[option].normal;
}
