/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lines of plugstack.conf, and of the files that it includes, that load spank_tf.so, and those whose
 * order beside it matters.
 */
#ifndef TF_PLUGSTACK_H
#define TF_PLUGSTACK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/errtext.h"

#define PLUGSTACK_MAX_LINES 8
#define PLUGSTACK_MAX_ARGUMENTS 32

/* Where a line is. Slurm calls the plugins in this order. */
struct plugstack_place {
    char file[PATH_MAX];
    int number;                     /* of the line in it, from 1 */
    size_t order;                   /* among those that load a plugin, from 1; 0: there is none */
};

/* "required /usr/lib/spank-tf/spank_tf.so show=yes" */
struct plugstack_line {
    struct plugstack_place at;
    bool required;                  /* if not, it is optional */
    char text[PATH_MAX];            /* the line, cut into strings */
    const char *plugin;             /* the path of the plugin as it is written */
    const char *argument[PLUGSTACK_MAX_ARGUMENTS];
    size_t arguments;
};

#define PLUGSTACK_MAX_PATHS 64

/* What root reads or loads because of plugstack.conf. */
struct plugstack_path {
    enum {
        PLUGSTACK_FILE,
        PLUGSTACK_PATTERN,          /* of an include */
        PLUGSTACK_PLUGIN,           /* as it is written */
    } kind;
    char text[PATH_MAX];
};

struct plugstack {
    int depth; /* of the include that is read */
    size_t files;                   /* how many files were read */
    size_t plugins;                 /* how many lines load a plugin */
    struct plugstack_place pyxis;   /* the first one that loads pyxis, */
    struct plugstack_place late;    /* and the last one that loads spank_tf_late.so */
    struct plugstack_path path[PLUGSTACK_MAX_PATHS];
    size_t paths;                   /* may be more than PLUGSTACK_MAX_PATHS */
    size_t lines;                   /* may be more than PLUGSTACK_MAX_LINES */
    struct plugstack_line line[PLUGSTACK_MAX_LINES];
    char not_found[PATH_MAX];       /* the first include that matched no file, or "" */
    struct errtext ignored;         /* a line about spank_tf that Slurm ignores, or "" */
};

/*
 * Read the file and what it includes into a zeroed struct, as Slurm does: "required|optional PATH
 * ARGUMENT…" and "include PATTERN". 0 also if there is no such file, as in Slurm; -1 and err if a file
 * cannot be read, with which srun fails.
 */
int plugstack_read (struct plugstack *stack, const char *path, struct errtext *err);

#endif
