/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "submission.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch_script.h"
#include "common/number.h"

/* Above it nothing is said about a list, which names no more tasks. */
#define MAX_NUMBER 65535

/* In bytes; as sbatch by default. */
#define MAX_SCRIPT (4l * 1024 * 1024)

/* The short options of sbatch and salloc that need a value. */
#define WITH_VALUE "ABCDFGJLMNSTabcdeimnopqrtwx"

/* What was read: of the numbers the last one, -1 if it is not a number, 0 if the option is not there. */
struct facts {
    int tasks, nodes, tasks_per_node;
    bool unclear;       /* something was found that this file does not understand */
    bool no_kill;       /* --no-kill, and not the contrary behind it */
    bool runs_once;     /* batch_script.h */
};

/* Options. */

static void _set (int *number, const char *value)
{
    if (number_parse (number, value, 1, MAX_NUMBER) < 0)
        *number = -1;
}

bool submission_is_off (const char *value)
{
    return strcasecmp (value, "off") == 0 || strcasecmp (value, "no") == 0;
}

/* True if the option is written like this, or cut off after `shortest` or more characters. */
static bool _is (const char *option, size_t length, const char *name, size_t shortest)
{
    return length >= shortest && length <= strlen (name) && strncmp (option, name, length) == 0;
}

static size_t _take_long (struct facts *facts, const char *option, const char *next)
{
    const char *equals = strchr (option, '=');
    size_t length = equals ? (size_t)(equals - option) : strlen (option);
    int *number = NULL;

    if (_is (option, length, "--no-kill", sizeof ("--no-k") - 1))
        facts->no_kill = !equals || !submission_is_off (equals + 1);
    if (_is (option, length, "--ntasks", sizeof ("--ntasks") - 1))
        number = &facts->tasks;
    else if (_is (option, length, "--nodes", sizeof ("--nodes") - 1))
        number = &facts->nodes;
    else if (_is (option, length, "--ntasks-per-node", sizeof ("--ntasks-per-n") - 1))
        number = &facts->tasks_per_node;
    if (!number)
        return 1;
    _set (number, equals ? equals + 1 : next);
    return equals ? 1 : 2;
}

/* Returns how many arguments the option takes, with itself. */
static size_t _take_option (struct facts *facts, const char *option, const char *next)
{
    const char *value = option[0] == '-' && option[1] && option[2] ? option + 2 : next;

    /* The value of a long option. */
    if (option[0] != '-' || !option[1])
        return 1;
    if (option[1] == '-')
        return _take_long (facts, option, next);
    if (!strchr (WITH_VALUE, option[1])) {
        if (option[1] == 'k')
            facts->no_kill = !submission_is_off (option + 2);
        /* Several options behind one dash. */
        facts->unclear = facts->unclear || (option[2] && option[1] != 'k');
        return 1;
    }
    if (option[1] == 'n')
        _set (&facts->tasks, value);
    if (option[1] == 'N')
        _set (&facts->nodes, value);
    return value == next ? 2 : 1;
}

static void _take_options (struct facts *facts, char *const text[], size_t count)
{
    for (size_t i = 0; i < count;)
        i += _take_option (facts, text[i], i + 1 < count ? text[i + 1] : NULL);
}

/* Scripts. */

/*
 * Cut the next word off *text, in place, as sbatch does: quotes and backslashes are removed, and # begins a
 * comment. NULL at the end.
 */
static char *_next_word (char **text)
{
    char *from = *text + strspn (*text, " \t\r\n"), *word = from, *to = from, quote = '\0';

    if (!*from || *from == '#')
        return NULL;
    for (; *from && (quote || !isspace ((unsigned char)*from)); from++)
        if (quote ? *from == quote : *from == '\'' || *from == '"')
            quote = (char)(quote ? '\0' : *from);
        else {
            if (*from == '\\' && from[1])
                from++;
            *to++ = *from;
        }
    *text = *from ? from + 1 : from;
    *to = '\0';
    return word;
}

static void _take_directive (struct facts *facts, char *text)
{
    char *word[256];
    size_t count = 0;

    /* A heterogeneous job: its components' tasks are added up in some steps, and in others not. */
    if (strstr (text, "hetjob") || strstr (text, "packjob"))
        facts->unclear = true;
    while (count < sizeof (word) / sizeof (word[0]) && (word[count] = _next_word (&text)))
        count++;
    facts->unclear = facts->unclear || count == sizeof (word) / sizeof (word[0]);
    _take_options (facts, word, count);
}

static bool _starts_with (const char *line, const char *word)
{
    return strncmp (line, word, strlen (word)) == 0;
}

/* Options are in the comments before the first command. Changes the text. */
static void _take_directives (struct facts *facts, char *text)
{
    for (char *line; (line = strsep (&text, "\n"));) {
        const char *word = line + strspn (line, " \t\r");

        if (_starts_with (line, "#SBATCH"))
            _take_directive (facts, line + sizeof ("#SBATCH") - 1);
        else if (_starts_with (line, "#PBS") || _starts_with (line, "#BSUB") || _starts_with (line, "#SLURM"))
            facts->unclear = true;
        else if (*word && *word != '#')
            return;
    }
}

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

static void _read_script (struct facts *facts, const char *path)
{
    char *text = path ? _read_text (path) : NULL;

    if (!text) {
        facts->unclear = true;
        return;
    }
    facts->runs_once = batch_script_runs_once (text);
    _take_directives (facts, text);
    free (text);
}

/* The command. */

/* The text of --wrap, or NULL. */
static const char *_wrapped (const struct cmdline *line, size_t options)
{
    for (size_t i = 1; i < options; i++)
        if (_starts_with (line->text[i], "--wrap="))
            return line->text[i] + sizeof ("--wrap=") - 1;
        else if (strcmp (line->text[i], "--wrap") == 0 && i + 1 < options)
            return line->text[i + 1];
    return NULL;
}

/* salloc's command is not a script. */
static void _read_program (struct facts *facts, const struct cmdline *line, size_t options)
{
    const char *wrapped = _wrapped (line, options);

    if (strcmp (basename (line->text[0]), "salloc") == 0)
        return;
    if (wrapped)
        facts->runs_once = batch_script_runs_once (wrapped);
    else
        _read_script (facts, options < line->count ? line->text[options] : NULL);
}

static bool _is_above_one (int number)
{
    return number != 0 && number != 1;
}

void submission_parse (struct submission *submission, const struct cmdline *line, size_t options)
{
    struct facts facts = { .tasks = 0 };

    memset (submission, 0, sizeof (*submission));
    if (options == 0 || options > line->count)
        return;
    for (size_t i = 0; i < line->count; i++)
        if (strcmp (line->text[i], ":") == 0)
            return;
    _read_program (&facts, line, options);
    /* After those of the script, because they win. */
    _take_options (&facts, line->text + 1, options - 1);
    if (facts.tasks == 0 && facts.nodes > 0 && facts.tasks_per_node > 0
        && facts.nodes <= MAX_NUMBER / facts.tasks_per_node)
        facts.tasks = facts.nodes * facts.tasks_per_node;
    submission->several = facts.tasks ? _is_above_one (facts.tasks)
                                      : _is_above_one (facts.nodes) || _is_above_one (facts.tasks_per_node);
    submission->runs_once = facts.runs_once;
    submission->dies_with_node = !facts.unclear && !facts.no_kill;
    if (facts.unclear || facts.tasks <= 0 || facts.tasks_per_node < 0)
        return;
    submission->tasks = facts.tasks;
    submission->tasks_per_node = facts.tasks_per_node;
}

void submission_read (struct submission *submission)
{
    struct cmdline line;

    cmdline_read (&line);
    /* Slurm reads its options by getopt_long (), which leaves the place where they end. */
    submission_parse (submission, &line, optind > 0 ? (size_t)optind : 0);
    cmdline_clear (&line);
}
