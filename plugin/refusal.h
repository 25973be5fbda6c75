/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a user has asked of srun, sbatch or salloc cannot work, and that is known when all options are read.
 */
#ifndef TF_REFUSAL_H
#define TF_REFUSAL_H

#include <stdnoreturn.h>

/*
 * In init_post_opt: print why, and end the command with the exit code that it has for errors. There is
 * neither a job nor a step yet, and Slurm itself calls exit () after an init_post_opt that fails; but first
 * it prints two lines about the plugin, and with `optional` in plugstack.conf it goes on.
 */
noreturn void refusal_exit (const char *why);

#endif
