/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "plugstack.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "common/conf_file.h"

#define BLANKS " \t\n"

/* A file that includes itself ends here; in Slurm, srun dies of it. */
#define MAX_DEPTH 8

static void _note_path (struct plugstack *stack, int kind, const char *text)
{
    struct plugstack_path *path;

    if (stack->paths++ >= PLUGSTACK_MAX_PATHS)
        return;
    path = &stack->path[stack->paths - 1];
    path->kind = kind;
    snprintf (path->text, sizeof (path->text), "%s", text);
}

static int _include (struct plugstack *stack, const char *file, const char *pattern, struct errtext *err)
{
    char path[PATH_MAX];
    glob_t found;
    int rc = 0;

    if (conf_file_beside (path, file, pattern, err) < 0)
        return -1;
    _note_path (stack, PLUGSTACK_PATTERN, path);
    if (glob (path, 0, NULL, &found) != 0) {
        if (!*stack->not_found)
            snprintf (stack->not_found, sizeof (stack->not_found), "%s", path);
        return 0;
    }
    stack->depth++;
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = plugstack_read (stack, found.gl_pathv[i], err);
    stack->depth--;
    globfree (&found);
    return rc;
}

static bool _is_ours (const char *plugin)
{
    return strcmp (basename (plugin), "spank_tf.so") == 0;
}

/* `rest` is behind the plugin in line->text. */
static void _add (struct plugstack *stack, const struct plugstack_line *from, char *plugin, char **rest)
{
    struct plugstack_line *line;
    char *argument;

    if (stack->lines++ >= PLUGSTACK_MAX_LINES)
        return;
    line = &stack->line[stack->lines - 1];
    line->at = from->at;
    line->required = from->required;
    line->plugin = line->text + (plugin - from->text);
    while (line->arguments < PLUGSTACK_MAX_ARGUMENTS && (argument = strtok_r (NULL, BLANKS, rest)))
        line->argument[line->arguments++] = line->text + (argument - from->text);
    /* Now its words are strings. */
    memcpy (line->text, from->text, sizeof (line->text));
}

/* "required" or "optional", and the path of a plugin. */
static void _note_plugin (struct plugstack *stack, struct plugstack_line *line, const char *path)
{
    const char *name = basename (path);

    line->at.order = ++stack->plugins;
    _note_path (stack, PLUGSTACK_PLUGIN, path);
    if (strstr (name, "pyxis") && stack->pyxis.order == 0)
        stack->pyxis = line->at;
    else if (strcmp (name, "spank_tf_late.so") == 0)
        stack->late = line->at;
}

static int _read_line (struct plugstack *stack, struct plugstack_line *line, struct errtext *err)
{
    char *word, *path, *rest;
    struct quoted q;
    bool loads;

    line->text[strcspn (line->text, "#")] = '\0';
    word = strtok_r (line->text, BLANKS, &rest);
    path = word ? strtok_r (NULL, BLANKS, &rest) : NULL;
    if (path && strcmp (word, "include") == 0)
        return _include (stack, line->at.file, path, err);
    line->required = word && strcmp (word, "required") == 0;
    loads = path && (line->required || strcmp (word, "optional") == 0);
    if (loads)
        _note_plugin (stack, line, path);
    if (!word || !(_is_ours (word) || (path && _is_ours (path))))
        return 0;
    if (loads)
        _add (stack, line, path, &rest);
    else
        errtext_set (&stack->ignored,
                     "%s:%d: \"%s\" is not required, optional or include, so "
                     "Slurm ignores the line",
                     line->at.file, line->at.number, text_quoted (&q, word, strlen (word)));
    return 0;
}

int plugstack_read (struct plugstack *stack, const char *path, struct errtext *err)
{
    struct plugstack_line line = { .at.number = 0 };
    FILE *f;
    int rc = 0;

    if (stack->depth == MAX_DEPTH)
        return errtext_set (err, "%s: it includes itself", path);
    if (!(f = fopen (path, "re")))
        return errno == ENOENT ? 0 : errtext_set (err, "%s: %s", path, strerror (errno));
    stack->files++;
    _note_path (stack, PLUGSTACK_FILE, path);
    snprintf (line.at.file, sizeof (line.at.file), "%s", path);
    /* Slurm too reads at most PATH_MAX bytes at a time. */
    while (rc == 0 && fgets (line.text, sizeof (line.text), f)) {
        line.at.number++;
        rc = _read_line (stack, &line, err);
    }
    if (rc == 0 && ferror (f))
        rc = errtext_set (err, "%s: %s", path, strerror (errno));
    fclose (f);
    return rc;
}
