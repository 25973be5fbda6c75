/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The plugin's arguments in plugstack.conf.
 */
#ifndef TF_ARGUMENTS_H
#define TF_ARGUMENTS_H

#include "common/errtext.h"
#include "common/option_table.h"

/* NULL: the line does not have the argument, or its value is not valid. */
struct arguments {
    const char *value[OPTION_COUNT];
};

/*
 * Check "NAME=VALUE", as the plugin does, and take its value, which points into `text`. -1 and err if
 * the plugin does not accept it.
 */
int arguments_take (struct arguments *arguments, const char *text, struct errtext *err);

/* The value in force: that of the line, or the plugin's default. */
const char *arguments_value (const struct arguments *arguments, enum option_id option);

#endif
