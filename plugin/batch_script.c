/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "batch_script.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define BLANKS " \t\r"

static bool _is_one_of (const char *word, size_t length, const char *const *list)
{
    for (; *list; list++)
        if (strlen (*list) == length && strncmp (*list, word, length) == 0)
            return true;
    return false;
}

static bool _ends_with (const char *word, size_t length, const char *end)
{
    return length >= strlen (end) && strncmp (word + length - strlen (end), end, strlen (end)) == 0;
}

/* srun, mpirun, psd_run, …: every word that ends in "run", and others that start programs elsewhere. */
static bool _has_launcher (const char *text)
{
    static const char *const words[] = { "mpiexec",  "sbatch", "salloc", "ssh",  "pdsh", "clush",
                                         "submitit", "scrun",  "flux",   "dask", "ray",  "<<" };

    for (const char *p = text; (p = strstr (p, "run")); p++)
        if (!isalnum ((unsigned char)p[3]) && p[3] != '_' && p[3] != '.' && p[3] != '/')
            return true;
    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++)
        if (strstr (text, words[i]))
            return true;
    return false;
}

/* The length of the name of a program, which then is at *word, behind its path. */
static size_t _skip_path (const char **word, size_t length)
{
    const char *end = *word + length;

    for (const char *p = *word; p < end; p++)
        if (*p == '/')
            *word = p + 1;
    return (size_t)(end - *word);
}

/* python, python3, python3.11, also with a path before it. */
static bool _is_python (const char *word, size_t length)
{
    static const char name[] = "python";

    length = _skip_path (&word, length);
    return length >= sizeof (name) - 1 && strncmp (word, name, sizeof (name) - 1) == 0
           && strspn (word + sizeof (name) - 1, "0123456789.") >= length - (sizeof (name) - 1);
}

static bool _is_srun (const char *word, size_t length)
{
    length = _skip_path (&word, length);
    return length == 4 && strncmp (word, "srun", length) == 0;
}

/* What srun is given stands elsewhere, or it has several components. */
static bool _is_open (const char *word, size_t length)
{
    return memchr (word, '$', length) || memchr (word, '`', length) || (length == 1 && *word == ':');
}

static bool _is_assignment (const char *word, size_t length)
{
    size_t name = strspn (word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    return name > 0 && name < length && word[name] == '=';
}

/* 2>&1, &>log */
static bool _redirects (const char *word, const char *p)
{
    return *p == '&' && (p[1] == '>' || (p > word && p[-1] == '>'));
}

/* The length of a word of shell, with its quotes; a separator of commands, or a comment, is not in it. */
static size_t _word_length (const char *word)
{
    const char *p = word;

    for (char quote = '\0'; *p && (quote || !strchr (" \t\r\n;&|", *p) || _redirects (word, p)); p++)
        if (*p == '\\' && quote != '\'' && p[1])
            p++;
        else if (quote ? *p == quote : *p == '\'' || *p == '"')
            quote = (char)(quote ? '\0' : *p);
    return (size_t)(p - word);
}

static const char *_skip_blanks (const char *p)
{
    for (;; p += p[1] == '\r' ? 3 : 2) {
        p += strspn (p, BLANKS);
        if (p[0] != '\\' || (p[1] != '\n' && (p[1] != '\r' || p[2] != '\n')))
            return p;
    }
}

/* A virtual environment; or one of Conda's, whose command is a function of that file. */
static bool _is_harmless_file (const char *word, size_t length)
{
    return _ends_with (word, length, "/bin/activate") || _ends_with (word, length, "/conda.sh");
}

enum command { HARMLESS, PYTHON, SRUN, UNCLEAR };

/* A command, and *text moves to what ends it. */
static enum command _take_command (const char **text)
{
    static const char *const harmless[] = {
        "cd",       "export",   "unset",  "echo", "printf", "set",   "ulimit",     "umask", "mkdir", "date",
        "pwd",      "hostname", "module", "ml",   "conda",  "mamba", "wait",       "sleep", "exit",  "true",
        "ls",       "cat",      "rm",     "cp",   "mv",     "tar",   "nvidia-smi", "pip",   ":",     "nproc",
        "printenv", "free",     "lscpu",  "tee",  "head",   "tail",  "grep",       NULL
    };
    static const char *const prefix[] = { "exec", "time", "nice", NULL };
    static const char *const reads[] = { "source", ".", NULL };
    enum command command = HARMLESS;
    const char *p = _skip_blanks (*text);
    bool first = true, file = false;

    for (size_t length; (length = _word_length (p)) > 0; p = _skip_blanks (p + length)) {
        if (*p == '#') {
            p += strcspn (p, "\n");
            break;
        }
        if (file && !_is_harmless_file (p, length))
            command = UNCLEAR;
        file = false;
        if (command == SRUN && _is_open (p, length))
            command = UNCLEAR;
        if (!first || _is_assignment (p, length) || _is_one_of (p, length, prefix))
            continue;
        first = false;
        if (_is_python (p, length))
            command = PYTHON;
        else if (_is_srun (p, length))
            command = SRUN;
        else if (_is_one_of (p, length, reads))
            file = true;
        else if (!_is_one_of (p, length, harmless))
            command = UNCLEAR;
    }
    *text = p;
    return file ? UNCLEAR : command;
}

static bool _is_for_shell (const char *text)
{
    return strncmp (text, "#!", 2) != 0 || _ends_with (text, strcspn (text, " \t\r\n"), "sh")
           || _ends_with (text, strcspn (text, "\r\n"), "sh");
}

/* An option with the letter n or N: -n3, -ln3, -N2. */
static bool _has_letter_n (const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '-'
            && (i == 0 || !(isalnum ((unsigned char)text[i - 1]) || strchr ("_-", text[i - 1]))))
            for (size_t k = i + 1; k < length && isalpha ((unsigned char)text[k]); k++)
                if (text[k] == 'n' || text[k] == 'N')
                    return true;
    return false;
}

static bool _changes_number (const char *text, size_t length)
{
    static const char *const words[] = {
        "ntasks",     "NTASKS",    "NPROCS",   "nodes",  "tf-tasks", "het-group",
        "pack-group", "arbitrary", "HOSTFILE", "sbatch", "salloc",   "<<",
    };

    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++)
        if (memmem (text, length, words[i], strlen (words[i])))
            return true;
    return _has_letter_n (text, length);
}

bool batch_script_changes_number (const char *text)
{
    return _changes_number (text, strlen (text));
}

/* True if a line that is not a comment has an srun, and none changes its number. */
static bool _has_srun (const char *text)
{
    bool srun = false;

    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn (text, "\n");
        if (text[strspn (text, BLANKS)] == '#')
            continue;
        if (_changes_number (text, length))
            return false;
        srun = srun || memmem (text, length, "srun", sizeof ("srun") - 1);
    }
    return srun;
}

void batch_script_scan (struct batch_script *script, const char *text)
{
    bool unclear = !_is_for_shell (text), python = false, srun = false;
    bool launcher = _has_launcher (text);

    script->srun = _has_srun (text);
    while (*text) {
        size_t length;

        switch (_take_command (&text)) {
            case HARMLESS: break;
            case PYTHON: python = true; break;
            case SRUN: srun = true; break;
            case UNCLEAR: unclear = true; break;
        }
        length = strspn (text, "\n;&|");
        /* What comes behind || may never run. */
        unclear = unclear || memmem (text, length, "||", 2);
        text += length;
    }
    script->lone = python && !unclear && !launcher;
    script->certain = script->srun && srun && !unclear;
}
