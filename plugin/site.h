/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The site's configuration: the plugin's arguments in plugstack.conf.
 */
#ifndef TF_SITE_H
#define TF_SITE_H

#include <stdbool.h>

#include "common/errtext.h"
#include "common/port.h"

struct site {
    const char *roles;                      /* the site's own roles, "a,b", or NULL */
    const char *libexecdir;                 /* the directory of tf-rendezvous and tf-supervise */
    struct port_ranges rendezvous_ports;    /* empty: SrunPortRange, or any if that is not set */
    bool show_gpus;                         /* do not hide the GPUs from a ps */
    bool nccl;                              /* NCCL follows the network that is chosen */
    int stop_grace;                         /* seconds from SIGTERM to SIGKILL */
    int eval_grace;                         /* seconds that an evaluator has after the others */
    int restart_backoff;                    /* the longest pause before a restart, seconds */
    bool bad;                               /* an argument is not valid */
    struct errtext error;                   /* names the first one */
};

extern struct site site;

/* Read the arguments. Defaults of options go to options_set_site (). */
void site_read (int argc, char *argv[]);

/* Print the error, if there is one. slurmd calls this, so that its log has it. */
void site_complain (void);

#endif
