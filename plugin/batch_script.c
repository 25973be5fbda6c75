/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "batch_script.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* They end a command. */
#define SEPARATORS "\n;&|"

static bool _is_of_name (char c)
{
    return isalnum ((unsigned char)c) || c == '_';
}

/* The name stands in the text, and is not a part of a longer one. */
static bool _has_name (const char *text, const char *name)
{
    size_t length = strlen (name);

    for (const char *p = text; (p = strstr (p, name)); p++)
        if ((p == text || !_is_of_name (p[-1])) && !_is_of_name (p[length]))
            return true;
    return false;
}

/* What starts programs on other nodes; or a here-document, which may be a script that does. */
static bool _has_launcher (const char *text)
{
    static const char *const names[] = {
        "srun",      "mpirun",     "mpiexec",  "prun",      "orterun", "psd_run", "aprun", "ibrun", "jsrun",
        "scrun",     "horovodrun", "launch",   "deepspeed", "sbatch",  "salloc",  "ssh",   "pdsh",  "clush",
        "snakemake", "nextflow",   "submitit", "submit",    "flux",    "dask",    "ray",
    };

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        if (_has_name (text, names[i]))
            return true;
    return strstr (text, "<<");
}

/* The length of the next word of the command, which then is at *p; 0 at the end of the command. */
static size_t _find_word (const char **p)
{
    while (**p == ' ' || **p == '\t' || strncmp (*p, "\\\n", 2) == 0)
        *p += **p == '\\' ? 2 : 1;
    return **p == '#' ? 0 : strcspn (*p, " \t" SEPARATORS);
}

static bool _equals (const char *word, size_t length, const char *text)
{
    return length == strlen (text) && strncmp (word, text, length) == 0;
}

/* python, python3, python3.11, torchrun; with or without a path. */
static bool _is_python (const char *word, size_t length)
{
    const char *name = memrchr (word, '/', length);
    size_t version = sizeof ("python") - 1;

    name = name ? name + 1 : word;
    length -= (size_t)(name - word);
    return _equals (name, length, "torchrun")
           || (length >= version && strncmp (name, "python", version) == 0
               && strspn (name + version, "0123456789.") >= length - version);
}

/* NAME=VALUE, or a word before a command. */
static bool _is_prefix (const char *word, size_t length)
{
    return memchr (word, '=', length) || _equals (word, length, "exec") || _equals (word, length, "time")
           || _equals (word, length, "do") || _equals (word, length, "then");
}

/* "train.py" with its quotes, too. */
static bool _is_file (const char *word, size_t length)
{
    while (length > 0 && (word[length - 1] == '"' || word[length - 1] == '\''))
        length--;
    return length > 3 && strncmp (word + length - 3, ".py", 3) == 0;
}

/* The command begins with python, and one of its words is a file. */
static bool _starts_file (const char *p)
{
    size_t length = _find_word (&p);

    for (; length > 0 && _is_prefix (p, length); length = _find_word (&p))
        p += length;
    if (!_is_python (p, length))
        return false;
    for (p += length; (length = _find_word (&p)) > 0; p += length) {
        if (_equals (p, length, "-m") || _equals (p, length, "-c"))
            return false;
        if (_is_file (p, length))
            return true;
    }
    return false;
}

/* A backslash before the end of a line continues the command. */
static const char *_end_of_command (const char *from)
{
    const char *p = from + strcspn (from, *from == '#' ? "\n" : SEPARATORS);

    while (*from != '#' && *p == '\n' && p > from && p[-1] == '\\')
        p += 1 + strcspn (p + 1, SEPARATORS);
    return p;
}

static bool _is_for_shell (const char *text)
{
    return strncmp (text, "#!", 2) != 0 || memmem (text, strcspn (text, "\n"), "sh", 2);
}

bool batch_script_runs_once (const char *text)
{
    bool once = false;

    if (!_is_for_shell (text) || _has_launcher (text))
        return false;
    for (const char *p = text; *p && !once; p += strspn (p, SEPARATORS " \t")) {
        once = _starts_file (p);
        p = _end_of_command (p);
    }
    return once;
}
