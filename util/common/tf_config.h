/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What several programs know of TF_CONFIG.
 */
#ifndef TF_TF_CONFIG_H
#define TF_TF_CONFIG_H

/*
 * The longest value in bytes. exec refuses a string that has more than 128 KiB with its NUL
 * (MAX_ARG_STRLEN), and spank_setenv drops one of exactly 128 KiB and reports success.
 */
#define TF_CONFIG_MAX_TEXT (131072 - (int)sizeof ("TF_CONFIG=") - 1)

/* Every value begins with this; the cluster's JSON object follows. */
#define TF_CONFIG_HEAD "{\"cluster\":"

#endif
