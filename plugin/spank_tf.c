/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spank_tf.so: the functions that Slurm calls, and in which of its contexts.
 *
 *     srun              init, options, init_post_opt (once per component), local_user_init
 *     sbatch, salloc    init, options, init_post_opt
 *     slurmd            init, as root
 *     slurmstepd        init, options, as root; task_init, in each task's process as the user
 */
#include "config.h"

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "common/version.h"
#include "launch/additions.h"
#include "launch/option_variables.h"
#include "site.h"
#include "spank_options.h"
#include "spank_task.h"
#include "srun.h"

SPANK_PLUGIN (spank_tf, 1)

#define TWO_DIGITS(number) '0' + (number) / 10 % 10, '0' + (number) % 10

/* What readelf finds in the file besides the version; common/version.h. */
static const char libexecdir[] VERSION_NOTE = VERSION_LIBEXECDIR PKGLIBEXECDIR;
/* clang-format off */
static const char slurm_release[] VERSION_NOTE = {
    's', 'p', 'a', 'n', 'k', '-', 't', 'f', '-', 's', 'l', 'u', 'r', 'm', '=',
    TWO_DIGITS (SLURM_VERSION_MAJOR (SLURM_VERSION_NUMBER)), '.',
    TWO_DIGITS (SLURM_VERSION_MINOR (SLURM_VERSION_NUMBER)), '\0',
};
/* clang-format on */

/* If slurm_spank_init () fails in slurmstepd, the job fails, and its node is not drained. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
int slurm_spank_init_failure_mode = ESPANK_JOB_FAILURE;
#endif

int slurm_spank_init (spank_t spank, int argc, char *argv[])
{
    switch (spank_context ()) {
        case S_CTX_LOCAL:
            additions_undo ();
            site_read (argc, argv);
            return spank_options_register (spank);
        case S_CTX_ALLOCATOR:
            additions_undo ();
            site_read (argc, argv);
            option_variables_unset ();
            return spank_options_register (spank);
        case S_CTX_SLURMD:
            site_read (argc, argv);
            if (site_error ())
                slurm_error ("spank_tf: %s", site_error ());
            return 0;
        case S_CTX_REMOTE: spank_task_note_slurmstepd (); return spank_options_register (spank);
        default: return 0;
    }
}

int slurm_spank_init_post_opt (spank_t spank, int argc, char *argv[])
{
    (void)spank, (void)argc, (void)argv;
    switch (spank_context ()) {
        case S_CTX_LOCAL: srun_prepare (); return 0;
        case S_CTX_ALLOCATOR: srun_check_submission (); return 0;
        default: return 0;
    }
}

int slurm_spank_local_user_init (spank_t spank, int argc, char *argv[])
{
    (void)argc, (void)argv;
    return srun_start (spank);
}

int slurm_spank_task_init (spank_t spank, int argc, char *argv[])
{
    return spank_task_init (spank, argc, argv);
}
