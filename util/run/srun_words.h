/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The words of an srun command line: its options, ours among them, and the program of each component.
 */
#ifndef TF_SRUN_WORDS_H
#define TF_SRUN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/errtext.h"
#include "common/option_table.h"
#include "launch/cmdline.h"
#include "srun_help.h"

/* One of our options, as the user gave it. */
struct srun_words_option {
    size_t component;
    bool before_srun;           /* or the job's */
    enum option_id option;
    const char *value;          /* NULL: without one */
};

/* What a word of the line is; the value of an option may be ":", too. */
enum srun_word { SRUN_WORD_BEGIN, SRUN_WORD_OPTION, SRUN_WORD_PROGRAM }; /* BEGIN: "srun", or ":" */

/* The texts are those of argv. */
struct srun_words {
    struct cmdline line;        /* without our options */
    enum srun_word *kind;       /* of each word of it */
    struct cmdline srun_options;        /* the others, but for "srun" and ":" */
    size_t components;          /* separated by ":" */
    size_t programs;            /* of these have a program */
    bool quiet;                 /* --quiet */
    size_t options;
    struct srun_words_option *option;
};

/* Asks srun itself about an option of which its help does not tell: "--mem-bind", "-Z", those of plugins. */
typedef enum srun_value srun_words_ask (const char *option, void *arg);

/*
 * argv[0] is srun. -1 and err if a word is not understood. Release it with srun_words_clear () in both
 * cases.
 */
int srun_words_parse (struct srun_words *words, int argc, char *argv[], const struct srun_help *help,
                      srun_words_ask *ask, void *arg, struct errtext *err);
void srun_words_clear (struct srun_words *words);

/*
 * Take the option that begins at argv[i], as "--tf-tasks=LIST" or "--tf-tasks", "LIST". Returns the number of
 * words, 0 if it is not one of ours; -1 and err.
 */
int srun_words_take_option (struct srun_words *words, int argc, char *argv[], int i, struct errtext *err);

/*
 * The command line with two words before each program: this one, and the other one with the number of the
 * component behind it. A component that has no program gets that of the next one that has. An array that
 * ends with NULL; NULL if there is no memory. It and the words with a number are the caller's.
 */
char **srun_words_with (const struct srun_words *words, const char *first, const char *numbered);

#endif
