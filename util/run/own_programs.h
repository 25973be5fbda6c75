/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where tf-run's own file and the programs that it starts are: wherever it was installed, or copied to.
 */
#ifndef TF_OWN_PROGRAMS_H
#define TF_OWN_PROGRAMS_H

/* The absolute path of this program. NULL if the kernel does not tell. */
const char *own_programs_self (void);

/*
 * Let a launch use the programs beside this one, if they are there, or otherwise those of the installation
 * (options.h, OPTION_LIBEXECDIR).
 */
void own_programs_use (void);

#endif
