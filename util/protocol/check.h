/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A check of a node (--tf-preflight), before a life begins: a part of the goal orders it, a part of the
 * status has its result. One supervisor of each node gets it. The first check is of the node alone, and each
 * further one of its link to another node.
 */
#ifndef TF_CHECK_H
#define TF_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/address.h"
#include "failure_text.h"

struct check_order {
    int number; /* 1 or more; 0: there is none. A higher one than before is a new check */
    int64_t sent; /* when the goal was, in seconds since 1970; 0 before */
    int port; /* of the other node, 1 or more; 0: the check is of this node alone */
    struct address peer; /* ... and its address */
    bool serves; /* this node listens, and the other one connects */
};

enum check_result {
    CHECK_PASSED,
    CHECK_FILES,
    CHECK_GPUS,
    CHECK_LINK,
    CHECK_PROGRAM,
    CHECK_UNABLE, /* the check itself could not be made */
};

struct check_report {
    int number; /* of the check; 0: none was made */
    enum check_result result;
    char text[FAILURE_TEXT_MAX + 1]; /* what was found, if it has not passed */
    int64_t sent, clock; /* the order's, and the node's own clock when that came */
    int rate; /* of a link, measured by the one that connects: kB/s, 1 or more; 0: not measured */
};

/* The process of a check (supervise/node_check.h): tf-supervise with this argument, and a variable. */
#define CHECK_ARGUMENT "--check"
#define CHECK_TOKENS "SPANK_TF_CHECK_TOKENS"
/* The longest time that a link has, in seconds. */
#define CHECK_LINK_SECONDS 8

/* Their keys (fields.h). */
extern const struct fields check_order_fields, check_report_fields;

#endif
