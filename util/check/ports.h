/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Are the ports there that srun, the rendezvous and the tasks need?
 */
#ifndef TF_PORTS_H
#define TF_PORTS_H

#include "findings.h"
#include "installation.h"

/*
 * Check SrunPortRange, rendezvous_ports= and ports=: are they valid, do they overlap, and are some
 * of them free on this host? Run it as an ordinary user or as root; ports that other programs use are not
 * touched.
 */
void ports_check (const struct installation *installation, struct findings *findings);

#endif
