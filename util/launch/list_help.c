/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "list_help.h"

#include <unistd.h>

#include "common/rules.h"

/* Where packages have it, those of Debian and RPM alike; `make install` has none. */
#define GUIDE DATADIR "/doc/spank-tf-tools/html/guide.html"

static const char *const meaning[RULES_ROLES] = {
    [RULES_CHIEF] = "trains, saves checkpoints; with a ps, the job ends with it",
    [RULES_MASTER] = "what Estimator calls a chief",
    [RULES_PS] = "a parameter server, stopped when training has finished",
    [RULES_WORKER] = "trains; without a chief, worker 0 does its work",
    [RULES_EVALUATOR] = "evaluates checkpoints, outside the cluster",
};

void list_help_print (FILE *stream, const char *site_roles)
{
    fputs ("--tf-tasks=LIST gives every task of a step its role, in rank order, and sets\n"
           "TF_CONFIG in each. --tf-tasks-per-node=LIST is the list of each node.\n"
           "\n"
           "  LIST   ITEM[,ITEM...]; or none, which disables an inherited list\n"
           "  ITEM   ROLE         one task\n"
           "         ROLE:COUNT   COUNT tasks\n"
           "         ROLE:rest    all tasks that are left; once in a list\n"
           "         +NAME        an auxiliary task, not in the cluster: +tensorboard\n"
           "  ROLE",
           stream);
    for (int name = 0; name < RULES_ROLES; name++)
        fprintf (stream, "%s%-12s %s\n", name == 0 ? "   " : "         ", choice_word (rules_roles, name),
                 meaning[name]);
    fputs ("         spare        replaces a task whose node is lost\n", stream);
    if (site_roles)
        fprintf (stream, "         this site's own: %s\n", site_roles);
    fputs ("\n"
           "  srun -n3 --tf-tasks=ps,worker,worker python train.py\n"
           "  srun -N4 --ntasks-per-node=2 --tf-tasks=chief,ps:2,worker:rest python train.py\n"
           "  srun -n4 --tf-tasks=worker:4 python train.py\n"
           "\n"
           "All options: srun --help | grep tf-; what they mean: man spank-tf\n",
           stream);
    if (access (GUIDE, R_OK) == 0)
        fputs ("A guide, with examples: " GUIDE "\n", stream);
}
