/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the programs are that tf-run starts: wherever it was installed, or copied to.
 */
#ifndef TF_OWN_PROGRAMS_H
#define TF_OWN_PROGRAMS_H

/*
 * Let a launch use the programs beside this one, if they are there, or otherwise those of the installation
 * (options.h, OPTION_LIBEXECDIR).
 */
void own_programs_use (void);

#endif
