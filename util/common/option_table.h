/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The definition of every option of srun, sbatch and salloc, and of every argument in plugstack.conf.
 * The plugin and tf-check read it; bash's completion is made from it, and the documents are compared
 * with it (tests/check-docs).
 */
#ifndef TF_OPTION_TABLE_H
#define TF_OPTION_TABLE_H

#include <stdbool.h>

#include "choice.h"
#include "errtext.h"

/* getopt.h has a struct option. */
enum option_id {
    OPTION_TASKS,
    OPTION_TASKS_PER_NODE,
    OPTION_IB,
    OPTION_NETWORK,
    OPTION_PORTS,
    OPTION_HOLD,
    OPTION_STOP,
    OPTION_LOG_DIR,
    OPTION_TEE,
    OPTION_FRAMEWORKS,
    OPTION_TIMEOUT,
    OPTION_SHOW,
    OPTION_RESTART,
    OPTION_WATCHDOG,
    OPTION_STOP_GRACE,
    OPTION_IF_ABANDONED,
    OPTION_REQUEUE,
    OPTION_USER_NOTIFY,
    OPTION_PREFLIGHT,
    /* In plugstack.conf only. */
    OPTION_RESTART_BACKOFF,
    OPTION_EVAL_GRACE,
    OPTION_FAIL_GRACE,
    OPTION_LOST_AFTER,
    OPTION_HIDE_GPUS,
    OPTION_NCCL,
    OPTION_ROLES,
    OPTION_RENDEZVOUS_PORTS,
    OPTION_NOTIFY,
    OPTION_LIBEXECDIR,
    OPTION_COUNT
};

/* What the words of options mean that are one word of a list. */

enum yes_no {
    VALUE_NO,
    VALUE_YES,
};

/* --tf-ib */
enum ib {
    IB_NO,
    IB_AUTO,
    IB_REQUIRE,
};

/* --tf-stop; job/duties.h describes what each of them does. */
enum stop_when {
    STOP_WHEN_AUTO,
    STOP_WHEN_CHIEF,
    STOP_WHEN_WORKERS,
    STOP_WHEN_NEVER,
};

/* --tf-show */
enum show {
    SHOW_NOTHING,
    SHOW_QUIET,     /* and do not ask whether each task has trained alone (rendezvous/alone.h) */
    SHOW_TABLES,
    SHOW_JSON,
};

/* The values that switch off the cluster, the log files, or the program. */
#define LIST_NONE "none"
#define LOG_DIR_NONE "none"
#define NOTIFY_NONE "none"

struct option_definition {
    const char *name;           /* "tf-ib"; NULL: an argument in plugstack.conf only */
    const char *site;           /* the argument in plugstack.conf, "ib", or NULL */
    const char *arginfo;        /* the value in the help; NULL: the words, as "yes|no" */
    const char *implied;        /* the value if none is given; NULL: a value is required */
    /*
     * Needed with `site`, so that a user can give it where the site has another one. roles= and notify= have
     * none: an argument alone cannot be overridden.
     */
    const char *normal;
    const struct choice *words; /* the words that a value can be, or have in it; or NULL */
    const char *alone;          /* a word that cannot be in a list with these; or NULL */
    bool is_path;               /* a blank beside a comma is a part of the value */
    /* -1 and err if the value is not valid. NULL: the value is one of the words. */
    int (*check) (const char *value, struct errtext *err);
    /* The function of contrib/completion/spank-tf for values, which gets all words; NULL: "words". */
    const char *completion;
    const char *usage;          /* one line of help; WORDS in it stands for the words */
};

extern const struct option_definition option_table[OPTION_COUNT];

/*
 * What the value means of an option whose values are words of a list: a constant of its enum. If "no" is
 * one of them, so are 0, false and off; 1, true, on and yes are the value that the option has without one,
 * or "yes". -1 and err if it is none of these.
 */
int option_word (enum option_id option, const char *value, struct errtext *err);

/* The value without the blanks at its ends and beside its commas, to be released with free (); or NULL. */
char *option_copy (enum option_id option, const char *value);

/* 0 if the value is valid, as far as one value can tell without its step; -1 and err. */
int option_check (enum option_id option, const char *value, struct errtext *err);

/*
 * For "ib=auto" of plugstack.conf: *option is OPTION_IB, and *value points into the text. -1 and err if no
 * option has such an argument, or if the value is not valid.
 */
int option_take_argument (enum option_id *option, const char **value, const char *argument,
                          struct errtext *err);

/* What --help prints. */
struct option_help {
    char arginfo[64];
    char usage[256];
};

const struct option_help *option_help (enum option_id option, struct option_help *room);

#endif
