/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * In a task: can this node reach srun's host, on the ports on which tf-rendezvous may listen?
 */
#ifndef TF_REACH_H
#define TF_REACH_H

#include "common/address.h"
#include "findings.h"
#include "installation.h"

#define REACH_MAX 8

/*
 * Try to connect to `count` ports of a host at the same time, for at most `ms`. error[i] becomes 0 if
 * something answered: also if nothing listens there and the connection is refused. Otherwise it is ETIMEDOUT
 * or what the network reported, as EHOSTUNREACH. What listens there sees no connection.
 */
void reach_ports (const struct address *host, const int port[], int error[], size_t count, int ms);

/*
 * Do that for some ports of rendezvous_ports= or SrunPortRange, of the host that
 * SLURM_SRUN_COMM_HOST or SLURM_LAUNCH_NODE_IPADDR names.
 */
void reach_check (const struct installation *installation, struct findings *findings);

#endif
