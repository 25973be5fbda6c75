/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "submission.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch_script.h"
#include "common/number.h"

/* Above it nothing is said about a list, which names no more tasks. */
#define MAX_NUMBER 65535

/* In bytes; as sbatch by default. */
#define MAX_SCRIPT (4l * 1024 * 1024)

static const struct cmdline_option ntasks_option = { "--ntasks", sizeof ("--ntasks") - 1, 'n' };
static const struct cmdline_option nodes_option = { "--nodes", sizeof ("--nodes") - 1, 'N' };
static const struct cmdline_option per_node_option = { "--ntasks-per-node", sizeof ("--ntasks-per-n") - 1,
                                                       0 };
static const struct cmdline_option wrap_option = { "--wrap", sizeof ("--wrap") - 1, 0 };

/* What sbatch has read already, to be freed. NULL if it cannot be read again, as standard input. */
static char *_read_text (const char *path)
{
    int fd = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    char *text = NULL;
    ssize_t length = -1;
    struct stat st;

    if (fd >= 0 && fstat (fd, &st) == 0 && S_ISREG (st.st_mode) && st.st_size <= MAX_SCRIPT
        && (text = calloc (1, (size_t)st.st_size + 1)))
        length = read (fd, text, (size_t)st.st_size);
    if (fd >= 0)
        close (fd);
    if (length >= 0 && strlen (text) == (size_t)length)
        return text;
    free (text);
    return NULL;
}

static bool _is_salloc (const struct cmdline *line)
{
    return strcmp (basename (line->text[0]), "salloc") == 0;
}

static void _add (struct cmdline *words, const char *word)
{
    char *copy = strdup (word);

    if (!copy || cmdline_add (words, copy) < 0)
        free (copy);
}

/* Options are in the comments before the first command. Quotes only separate words here. Changes the text. */
static void _add_directives (struct cmdline *words, char *text)
{
    static const char directive[] = "#SBATCH", blanks[] = " \t\r", separators[] = " \t\r\"'";

    for (char *line, *rest; (line = strsep (&text, "\n"));) {
        const char *word = line + strspn (line, blanks);

        if (*word && *word != '#')
            return;
        if (strncmp (line, directive, sizeof (directive) - 1) != 0)
            continue;
        line += sizeof (directive) - 1;
        for (word = strtok_r (line, separators, &rest); word && *word != '#';
             word = strtok_r (NULL, separators, &rest))
            _add (words, word);
    }
}

/* Tasks of the components of a heterogeneous job are added up in some steps, and in others not. */
static bool _has_components (const struct cmdline *words)
{
    return cmdline_has (words, ":") || cmdline_has (words, "hetjob") || cmdline_has (words, "packjob");
}

/* 0 if the option is not there; -1 if it is not a number. */
static int _number (const struct cmdline *words, const struct cmdline_option *option)
{
    const char *value = cmdline_find (words, option);
    int number;

    if (!value)
        return 0;
    return number_parse (&number, value, 1, MAX_NUMBER) < 0 ? -1 : number;
}

static void _count_tasks (struct submission *submission, const struct cmdline *words)
{
    int tasks = _number (words, &ntasks_option), nodes = _number (words, &nodes_option),
        per_node = _number (words, &per_node_option);

    if (tasks == 0 && nodes > 0 && per_node > 0 && nodes <= MAX_NUMBER / per_node)
        tasks = nodes * per_node;
    if (tasks <= 0 || per_node < 0)
        return;
    submission->tasks = tasks;
    submission->tasks_per_node = per_node;
}

/* -1 if the script cannot be read again, as one from standard input. */
static int _read_script (struct submission *submission, struct cmdline *words, const char *script)
{
    char *text = script ? _read_text (script) : NULL;

    if (!text)
        return -1;
    submission->runs_once = batch_script_runs_once (text);
    _add_directives (words, text);
    free (text);
    return 0;
}

/*
 * All options. Those of the script come first, because the command line wins. salloc's command is not a
 * script.
 */
static int _read_options (struct submission *submission, struct cmdline *words, const struct cmdline *line,
                          size_t options)
{
    const struct cmdline given = { options - 1, line->text + 1 };
    const char *wrapped = cmdline_find (&given, &wrap_option);

    if (wrapped)
        submission->runs_once = batch_script_runs_once (wrapped);
    else if (!_is_salloc (line)
             && _read_script (submission, words, options < line->count ? line->text[options] : NULL) < 0)
        return -1;
    for (size_t i = 0; i < given.count; i++)
        _add (words, given.text[i]);
    return 0;
}

void submission_parse (struct submission *submission, const struct cmdline *line, size_t options)
{
    struct cmdline words = { 0, NULL };

    memset (submission, 0, sizeof (*submission));
    if (options == 0 || options > line->count)
        return;
    if (_read_options (submission, &words, line, options) == 0 && !_has_components (&words)
        && !_has_components (line)) {
        submission->dies_with_node =
            !cmdline_no_kill (&words, _is_salloc (line) ? "SALLOC_NO_KILL" : "SBATCH_NO_KILL", false);
        _count_tasks (submission, &words);
    }
    cmdline_clear (&words);
}

void submission_read (struct submission *submission)
{
    struct cmdline line;

    cmdline_read (&line);
    /* Slurm reads its options by getopt_long (), which leaves the place where they end. */
    submission_parse (submission, &line, optind > 0 ? (size_t)optind : 0);
    cmdline_clear (&line);
}
