/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The definition of every option: name, help, defaults, and which values are valid.
 */
#ifndef TF_OPTION_TABLE_H
#define TF_OPTION_TABLE_H

#include "common/errtext.h"

enum option {
    OPTION_TASKS,
    OPTION_TASKS_PER_NODE,
    OPTION_IB,
    OPTION_NETWORK,
    OPTION_PORTS,
    OPTION_HOLD,
    OPTION_STOP,
    OPTION_LOG_DIR,
    OPTION_FRAMEWORKS,
    OPTION_TIMEOUT,
    OPTION_SHOW,
    OPTION_RESTART,
    OPTION_COUNT
};

/* The values that switch off the cluster, or the log files. */
#define LIST_NONE "none"
#define LOG_DIR_NONE "none"

struct option_definition {
    const char *name;
    const char *arginfo;        /* the value in the help text; NULL: the option takes no value */
    const char *implied;        /* the value if none is given; NULL: a value is required */
    const char *usage;
    const char *site;           /* the argument in plugstack.conf that sets a default, or NULL */
    const char *normal;         /* the default if the site has none, or NULL */
    /* -1 and err if the value is not valid. */
    int (*check) (const char *value, struct errtext *err);
};

extern const struct option_definition option_table[OPTION_COUNT];

#endif
