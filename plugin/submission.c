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

#include "common/number.h"
#include "lone_script.h"

/* Above it nothing is said about a list, which names no more tasks. */
#define MAX_NUMBER 65535

/* Longer scripts are not looked at by lone_script (). */
#define MAX_SCRIPT 65536

/* The short options of sbatch and salloc that need a value. */
#define WITH_VALUE "ABCDFGJLMNSTabcdeimnopqrtwx"

/* What was read: of the numbers the last one, -1 if it is not a number, 0 if the option is not there. */
struct facts {
    int tasks, nodes, tasks_per_node;
    bool unclear;       /* something was found that this file does not understand */
    bool no_kill;       /* --no-kill, and not the contrary behind it */
    bool lone;          /* lone_script () */
    bool srun, own;     /* in what the job runs: an srun; what may give it a number or list of its own */
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

/* What the job runs. */

static bool _is_word (char c)
{
    return isalnum ((unsigned char)c) || c == '_' || c == '-';
}

/* An option with the letter n or N: -n3, -ln3, -N2. */
static bool _has_letter_n (const char *text)
{
    for (const char *p = text; (p = strchr (p, '-')); p++)
        if (p == text || !_is_word (p[-1]))
            for (const char *letter = p + 1; isalpha ((unsigned char)*letter); letter++)
                if (*letter == 'n' || *letter == 'N')
                    return true;
    return false;
}

/* Harmless text that looks so is taken for it, too: then a list that is too long fails when the job runs. */
static bool _may_change_number (const char *text)
{
    static const char *const words[] = {
        "ntasks",     "NTASKS",    "NPROCS",   "nodes",  "tf-tasks", "het-group",
        "pack-group", "arbitrary", "HOSTFILE", "sbatch", "salloc",   "<<",
    };

    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++)
        if (strstr (text, words[i]))
            return true;
    return _has_letter_n (text);
}

/* True if `word`, which may be behind a path, is the first word of a command of the shell. */
static bool _begins_command (const char *text, const char *word)
{
    static const char *const before[] = { "then", "do", "else", "exec", "time", "!" };
    const char *end = word;

    while (end > text && (_is_word (end[-1]) || end[-1] == '/' || end[-1] == '.'))
        end--;
    if (end < word && *end != '/')
        return false;
    if (end > text && !isspace ((unsigned char)end[-1]) && !strchr (";&|(", end[-1]))
        return false;
    while (end > text && isspace ((unsigned char)end[-1]))
        end--;
    if (end == text || strchr (";&|(", end[-1]))
        return true;
    for (size_t i = 0; i < sizeof (before) / sizeof (before[0]); i++) {
        size_t length = strlen (before[i]), used = (size_t)(end - text);

        if (used >= length && strncmp (end - length, before[i], length) == 0
            && (used == length || isspace ((unsigned char)end[-(ptrdiff_t)length - 1])
                || strchr (";&|(", end[-(ptrdiff_t)length - 1])))
            return true;
    }
    return false;
}

/*
 * A line of shell. It has an srun of the job's number of tasks if that is a command, and if all that it is
 * given stands there: no variable, no second line, no further component.
 */
static void _take_line (struct facts *facts, const char *text)
{
    facts->own = facts->own || _may_change_number (text);
    for (const char *p = text; (p = strstr (p, "srun")); p++) {
        const char *rest = p + sizeof ("srun") - 1;

        if (!_begins_command (text, p) || (*rest && !isspace ((unsigned char)*rest)) || strpbrk (rest, "$`\\")
            || strstr (rest, " : "))
            facts->own = true;
        else
            facts->srun = true;
    }
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

static bool _begins (const char *line, const char *word)
{
    return strncmp (line, word, strlen (word)) == 0;
}

/* Options are in the comments before the first command. */
static void _take_script (struct facts *facts, FILE *f)
{
    bool commands = false;
    char *line = NULL;
    size_t size = 0;

    while (getline (&line, &size, f) > 0) {
        const char *text = line + strspn (line, " \t\r\n");

        if (!commands && _begins (line, "#SBATCH"))
            _take_directive (facts, line + sizeof ("#SBATCH") - 1);
        else if (!commands && (_begins (line, "#PBS") || _begins (line, "#BSUB") || _begins (line, "#SLURM")))
            facts->unclear = true;
        else if (*text && *text != '#') {
            commands = true;
            _take_line (facts, line);
        }
    }
    free (line);
}

/* sbatch has read it already. NULL if it cannot be read again, as standard input. */
static FILE *_open_script (const char *path)
{
    int fd = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    FILE *f = NULL;

    if (fd >= 0 && fstat (fd, &st) == 0 && S_ISREG (st.st_mode) && (f = fdopen (fd, "r")))
        return f;
    if (fd >= 0)
        close (fd);
    return NULL;
}

static bool _is_lone (FILE *f)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t length = getdelim (&text, &size, '\0', f);
    bool lone = length > 0 && length < MAX_SCRIPT && text[length - 1] && lone_script (text);

    free (text);
    rewind (f);
    return lone;
}

static void _read_script (struct facts *facts, const char *path)
{
    FILE *f = path ? _open_script (path) : NULL;

    if (!f) {
        facts->unclear = true;
        return;
    }
    facts->lone = _is_lone (f);
    _take_script (facts, f);
    fclose (f);
}

/* The command. */

/* The text of --wrap, or NULL. */
static const char *_wrapped (const struct cmdline *line, size_t options)
{
    for (size_t i = 1; i < options; i++)
        if (_begins (line->text[i], "--wrap="))
            return line->text[i] + sizeof ("--wrap=") - 1;
        else if (strcmp (line->text[i], "--wrap") == 0 && i + 1 < options)
            return line->text[i + 1];
    return NULL;
}

/* salloc's command is no text for a shell. */
static void _take_command (struct facts *facts, char *const word[], size_t count)
{
    facts->srun = count > 0 && strcmp (basename (word[0]), "srun") == 0;
    for (size_t i = 1; i < count; i++)
        facts->own = facts->own || _may_change_number (word[i]) || strcmp (word[i], ":") == 0;
}

static void _read_program (struct facts *facts, const struct cmdline *line, size_t options)
{
    const char *wrapped = _wrapped (line, options);

    if (strcmp (basename (line->text[0]), "salloc") == 0)
        _take_command (facts, line->text + options, line->count - options);
    else if (wrapped) {
        facts->lone = lone_script (wrapped);
        _take_line (facts, wrapped);
    } else
        _read_script (facts, options < line->count ? line->text[options] : NULL);
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
    submission->lone = facts.lone;
    submission->dies_with_node = !facts.unclear && !facts.no_kill;
    if (facts.unclear || !facts.srun || facts.own || facts.tasks <= 0 || facts.tasks_per_node < 0)
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
