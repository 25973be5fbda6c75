/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the tf-check of one node tells the one that collects, and what follows from all reports.
 */
#ifndef TF_REPORT_H
#define TF_REPORT_H

#include <jansson.h>
#include <stddef.h>

#include "addresses/interface.h"
#include "common/address.h"
#include "findings.h"

struct report {
    char node[64];
    char version[32];                       /* of the plugin; "": not known */
    struct address here;                    /* its end of a connection to srun's host; may be not set */
    struct address used; /* of its first task in a step with a list; or not set */
    struct interface interface[INTERFACE_MAX];
    int interfaces;
    json_t *findings;                       /* an array of objects; owned */
};

/* With the findings that are not ok. NULL if there is no memory. */
json_t *report_encode (const char *node, const char *version, const struct address *here,
                       const struct address *used, const struct interface *list, int count,
                       const struct findings *findings);

/* 0, to be released with report_clear (); -1 if the object is not a report. */
int report_decode (struct report *report, const json_t *object);

void report_clear (struct report *report);

/*
 * Judge the reports, one for each node: what is wrong on which nodes, and what else was reported, whether all
 * have the same version, the step's network, or whether there is one on which all of them are. What several
 * nodes report is one finding, and names no node if it is the same on all.
 */
void report_judge (const struct report *report, size_t count, struct findings *findings);

#endif
