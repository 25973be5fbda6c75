/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The version of spank-tf: what every program prints, and what can be read in its file without
 * executing it or, for the plugin, without loading it.
 */
#ifndef TF_VERSION_H
#define TF_VERSION_H

#include <stdbool.h>

/*
 * The ELF section that spank_tf.so and every program have. It consists of strings NAME=VALUE, each
 * with its NUL; `readelf -p .spank_tf FILE` prints them.
 */
#define VERSION_SECTION ".spank_tf"

/* In front of a string that belongs in the section: static const char name[] VERSION_NOTE = … */
#define VERSION_NOTE __attribute__ ((used, aligned (1), section (VERSION_SECTION)))

/* The names, which no message has. Every file has the first one, the plugin has all of them. */
#define VERSION_NAME "spank-tf="            /* 0.2.0 */
#define VERSION_SLURM "spank-tf-slurm="     /* 22.05: the release for which the plugin was built */
#define VERSION_LIBEXECDIR "spank-tf-libexecdir="   /* where the plugin looks for its helper programs */

/* True if the first argument is --version. */
bool version_is_wanted (int argc, char *argv[]);

/* Print it. Returns the exit code of the program. */
int version_print (void);

#endif
