/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ports.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/port.h"
#include "common/value.h"

/*
 * One srun listens on three ports, and on two more for every 48 nodes (SrunPortRange in
 * slurm.conf(5)); tf-rendezvous listens on one.
 */
#define PORTS_OF_SRUN 5
#define PORTS_OF_RENDEZVOUS 1

/* How many ports of the ranges are free: `enough`, if there are that many. */
static int _free_ports (const struct port_ranges *ranges, int enough)
{
    struct port *port[PORTS_OF_SRUN + PORTS_OF_RENDEZVOUS];
    int count = 0;

    while (count < enough
           && port_reserve (&port[count], ranges, (unsigned int)getpid (), PORT_FOR_A_SERVER, NULL) == 0)
        count++;
    for (int i = 0; i < count; i++)
        port_release (port[i]);
    return count;
}

/* Check the value of a setting, and that `needed` ports of it are free. -1 if it is not valid. */
static int _check_range (struct port_ranges *ranges, const char *name, const char *value, int needed,
                         struct findings *findings)
{
    struct errtext err;
    int count;

    if (port_ranges_parse (ranges, value, &err) < 0) {
        findings_add (findings, "ports", LEVEL_ERROR, "correct it", "%s: %s", name, err.text);
        return -1;
    }
    count = ranges->count ? _free_ports (ranges, needed) : needed;
    if (count < needed)
        findings_add (findings, "ports", LEVEL_ERROR,
                      "make the range larger, or end the programs that use its ports",
                      "%s=%s: %d of its ports %s free on this host, and a step needs %d", name, value, count,
                      count == 1 ? "is" : "are", needed);
    else
        findings_ok (findings, "ports", "%s=%s: ports are free", name, value);
    return 0;
}

static bool _overlap (const struct port_ranges *a, const struct port_ranges *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++)
            if (a->range[i].low <= b->range[j].high && b->range[j].low <= a->range[i].high)
                return true;
    return false;
}

static void _check_overlap (const char *name, const struct port_ranges *ranges,
                            const struct port_ranges *of_tasks, struct findings *findings)
{
    if (_overlap (ranges, of_tasks))
        findings_add (findings, "ports", LEVEL_WARNING, "use different ranges",
                      "ports= and %s overlap, so tasks can use up the ports that srun needs", name);
}

/* ports=reserved: the ports that Slurm reserves for a step if MpiParams has ports=. */
static void _check_reserved (const char *mpi_params, struct findings *findings)
{
    if (strncasecmp (mpi_params, "ports=", 6) == 0 || strstr (mpi_params, ",ports="))
        findings_ok (findings, "ports", "ports=reserved, and MpiParams=%s", mpi_params);
    else
        findings_add (findings, "ports", LEVEL_ERROR,
                      "set MpiParams=ports=LOW-HIGH in slurm.conf, or another value of ports=",
                      "ports=reserved, but MpiParams in slurm.conf has no ports=, so Slurm "
                      "reserves none");
}

void ports_check (const struct installation *i, struct findings *findings)
{
    struct port_ranges of_srun = { .count = 0 }, of_rendezvous = { .count = 0 }, of_tasks = { .count = 0 };
    const char *own = i->argument[OPTION_RENDEZVOUS_PORTS];
    const char *ports = i->argument[OPTION_PORTS];

    if (*i->conf.srun_ports)
        _check_range (&of_srun, "SrunPortRange", i->conf.srun_ports,
                      PORTS_OF_SRUN + (own ? 0 : PORTS_OF_RENDEZVOUS), findings);
    if (own)
        _check_range (&of_rendezvous, "rendezvous_ports", own, PORTS_OF_RENDEZVOUS, findings);
    if (ports && strcmp (ports, VALUE_PORTS_RESERVED) == 0)
        _check_reserved (i->conf.mpi_params, findings);
    else if (ports)
        _check_range (&of_tasks, "ports", ports, 1, findings);
    _check_overlap ("SrunPortRange", &of_srun, &of_tasks, findings);
    _check_overlap ("rendezvous_ports", &of_rendezvous, &of_tasks, findings);
}
