/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What --tf-show=json prints in place of the tables, with the same facts, and what notify= gets: one object
 * when the cluster is known, one for each restart and each hang, one when tasks are lost, and one when all
 * tasks have ended. Each is one line. doc/event.schema.json describes them.
 */
#ifndef TF_SHOW_JSON_H
#define TF_SHOW_JSON_H

#include "network/choose.h"
#include "roster.h"

/* A line of restart_lines.h that announces a restart. */
struct show_json_restart {
    bool all;                   /* tasks of the cluster are restarted, not only those that failed */
    int pause;                  /* seconds */
    int left;                   /* restarts */
    int count;                  /* tasks that failed: */
    struct show_json_failed {
        const struct rank *rank;
        const struct exit_report *report;   /* NULL: it is lost */
    } failed[];
};

/* The verdict of the watchdog. */
struct show_json_hang {
    int seconds;                /* without a sign of life */
    int left;                   /* restarts */
    int count;                  /* tasks that hang, the first to be silent first: */
    const struct rank *rank[];
};

/* All are to be freed; NULL if there is no memory. `restarts`: how many the step can have, `left`: has. */
char *show_json_start (const struct roster *roster, const struct network_choice *choice, int restarts);
char *show_json_restart (const struct roster *roster, const struct show_json_restart *restart, int restarts);
char *show_json_lost (const struct roster *roster, const struct rank *const lost[], int count, int restarts,
                      int left);
char *show_json_hang (const struct roster *roster, const struct show_json_hang *hang, int restarts);
char *show_json_end (const struct roster *roster, int restarts, int left);

#endif
