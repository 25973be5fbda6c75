/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The plugin's arguments in plugstack.conf that tf-check looks at.
 */
#ifndef TF_ARGUMENTS_H
#define TF_ARGUMENTS_H

#include "common/errtext.h"

/* NULL: the line does not have the argument, or its value is not valid. */
struct arguments {
    const char *ib;
    const char *network;
    const char *ports;
    const char *rendezvous_ports;
    const char *libexecdir;
};

/*
 * Check "NAME=VALUE", as the plugin does, and take over what is in the structure, which then points
 * into `text`. -1 and err if the plugin does not accept it.
 */
int arguments_take (struct arguments *arguments, const char *text, struct errtext *err);

#endif
