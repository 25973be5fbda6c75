/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The site's configuration: the plugin's arguments in plugstack.conf.
 */
#ifndef TF_SITE_H
#define TF_SITE_H

/* Read the arguments. All valid ones are the site's values (options.h), whatever the others are. */
void site_read (int argc, char *argv[]);

/* The error in the first argument that is not valid, or NULL. */
const char *site_error (void);

#endif
