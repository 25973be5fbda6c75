/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-exec [OPTIONS] PROGRAM [ARGUMENTS] passes a task's place in the cluster to a program that does
 * not read TF_CONFIG, or expects it in another form.
 *
 *     srun --tf-tasks=ps,worker:2 tf-exec python train.py --job={role} --index={index}
 *
 * Every task checks all options, also the commands of other roles. In the end tf-exec executes the
 * program in its own place.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/errtext.h"
#include "common/marks.h"
#include "common/rules.h"
#include "common/version.h"
#include "config_file.h"
#include "placeholders.h"
#include "program.h"
#include "shell_words.h"
#include "task_env.h"

/* Set in the program's environment if TF_CONFIG is in a file too. */
#define FILE_VARIABLE "SLURM_TF_CONFIG_FILE"

/* clang-format off */
static const char *const tf1_flags[] = {
    "--ps_hosts={ps_hosts}", "--worker_hosts={worker_hosts}", "--job_name={role}",
    "--task_index={index}", NULL,
};
/* clang-format on */

static const char help[] =
    "Usage: srun --tf-tasks=LIST tf-exec [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Run PROGRAM with its place in the TensorFlow cluster where it expects it.\n"
    "\n"
    "      --ROLE=COMMAND        what tasks of ROLE, or +ROLE, run instead: --ps=\"python ps.py\"\n"
    "      --tf1-flags           append --ps_hosts= --worker_hosts= --job_name= --task_index=\n"
    "      --environment=NAME    add \"environment\":\"NAME\" to the program's TF_CONFIG\n"
    "      --config-file[=PATH]  TF_CONFIG also as a file, which {tf_config_file} names\n"
    "  -h, --help                print this\n"
    "      --version             print the version\n"
    "\n"
    "Replaced in PROGRAM, ARGUMENTS, COMMAND and PATH; {{ is one brace:\n"
    "\n"
    "  {role} {index} {rank} {node}      worker 1 3 n2\n"
    "  {address} {port}                  10.0.0.2 40001\n"
    "  {ps_hosts} {worker_hosts} {chief_hosts} {master_hosts} {evaluator_hosts}\n"
    "                                    10.0.0.1:40001,10.0.0.2:40001\n"
    "  {NAME_hosts}                      the same for +NAME\n"
    "  {num_ps} {num_workers}            2 4\n"
    "  {cluster}                         {\"ps\":[\"10.0.0.1:40001\"],\"worker\":[...]}\n"
    "  {tf_config} {tf_config_file}      TF_CONFIG, the path of a file with it\n"
    "\n"
    "See tf-exec(1).\n";

/* --ps="python ps.py" */
struct command {
    const char *role;
    const char *text;
};

struct options {
    bool help, version;
    bool tf1_flags;
    bool config_file;
    const char *config_path;        /* NULL: a file in memory */
    const char *environment;
    struct command *command;        /* has an element for each argument of tf-exec */
    size_t commands;
};

/* OPTION_COMMAND is any option whose name is not one of the others. */
enum option {
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_TF1_FLAGS,
    OPTION_CONFIG_FILE,
    OPTION_ENVIRONMENT,
    OPTION_COMMAND,
};

/* A value is given as --name=VALUE; if it is needed, also as --name VALUE. */
enum value { VALUE_NONE, VALUE_OPTIONAL, VALUE_NEEDED };

static const struct known {
    const char *name;
    enum option option;
    enum value value;
} known[] = {
    { "-h", OPTION_HELP, VALUE_NONE },
    { "--help", OPTION_HELP, VALUE_NONE },
    { "--version", OPTION_VERSION, VALUE_NONE },
    { "--tf1-flags", OPTION_TF1_FLAGS, VALUE_NONE },
    { "--config-file", OPTION_CONFIG_FILE, VALUE_OPTIONAL },
    { "--environment", OPTION_ENVIRONMENT, VALUE_NEEDED },
    { NULL, OPTION_COMMAND, VALUE_NEEDED },
};

static const struct known *_find_option (const char *name)
{
    const struct known *one = known;

    while (one->name && strcmp (one->name, name) != 0)
        one++;
    return one->name || strncmp (name, "--", 2) == 0 ? one : NULL;
}

static void _set (struct options *options, enum option option, const char *name, const char *value)
{
    switch (option) {
        case OPTION_HELP: options->help = true; break;
        case OPTION_VERSION: options->version = true; break;
        case OPTION_TF1_FLAGS: options->tf1_flags = true; break;
        case OPTION_CONFIG_FILE:
            options->config_file = true;
            options->config_path = value;
            break;
        case OPTION_ENVIRONMENT: options->environment = value; break;
        case OPTION_COMMAND:
            options->command[options->commands++] = (struct command){ name + 2, value };
            break;
    }
}

/* Read the option at argv[0]. Returns how many arguments it takes up; -1 and err. */
static int _read_option (struct options *options, char *argv[], struct errtext *err)
{
    char *name = argv[0], *value = strchr (name, '=');
    const struct known *found;
    struct quoted q;
    int length = 1;

    if (value)
        *value++ = '\0';
    text_quoted (&q, name, strlen (name));
    if (!(found = _find_option (name)))
        return errtext_set (err, "%s is not an option; see tf-exec --help", q.text);
    if (value && found->value == VALUE_NONE)
        return errtext_set (err, "%s takes no value", q.text);
    if (!value && found->value == VALUE_NEEDED && (value = argv[1]))
        length = 2;
    if (!value && found->value == VALUE_NEEDED)
        return errtext_set (err, "%s needs a value", q.text);
    if (value && !*value)
        return errtext_set (err, "the value of %s is empty", q.text);
    _set (options, found->option, name, value);
    return length;
}

/* Read all options, up to "--" or PROGRAM. Returns how many arguments they take up; -1 and err. */
static int _read_options (struct options *options, char *argv[], struct errtext *err)
{
    int i = 0, length;

    while (argv[i] && argv[i][0] == '-' && argv[i][1] && !options->help && !options->version) {
        if (strcmp (argv[i], "--") == 0)
            return i + 1;
        if ((length = _read_option (options, argv + i, err)) < 0)
            return -1;
        i += length;
    }
    return i;
}

/* The words of the command. */

static bool _is_role (const struct task_env *task, const char *role)
{
    return rules_find (role) < RULES_ROLES || task_env_knows_role (task, role);
}

/* Check a role's command. If it is this task's role, *words becomes the command's words. */
static int _take_command (struct shell_words *words, const struct command *command,
                          const struct task_env *task, struct errtext *err)
{
    struct shell_words split = { 0 };
    struct errtext why;
    struct quoted q;
    char roles[512];

    text_quoted (&q, command->role, strlen (command->role));
    if (!_is_role (task, command->role))
        return errtext_set (err,
                            "--%s is neither an option nor a role of this step (%s); see "
                            "tf-exec --help",
                            q.text, task_env_roles (task, roles, sizeof (roles)));
    if (shell_words_split (&split, command->text, &why) < 0) {
        shell_words_clear (&split);
        return errtext_set (err, "--%s: %s", q.text, why.text);
    }
    if (split.count == 0)
        return errtext_set (err, "--%s: the command has no words", q.text);
    if (strcmp (command->role, task_env_role (task)) == 0) {
        shell_words_clear (words);
        *words = split;
    } else
        shell_words_clear (&split);
    return 0;
}

/* Collect this task's program and arguments; placeholders are not replaced yet. */
static int _collect (struct shell_words *words, const struct options *options, char *argv[],
                     const struct task_env *task, struct errtext *err)
{
    struct quoted q;

    for (size_t i = 0; i < options->commands; i++)
        if (_take_command (words, &options->command[i], task, err) < 0)
            return -1;
    if (words->count == 0)
        for (; *argv; argv++)
            if (shell_words_add (words, *argv, err) < 0)
                return -1;
    if (words->count == 0) {
        text_quoted (&q, task_env_role (task), strlen (task_env_role (task)));
        return errtext_set (err,
                            "no program for a task of role \"%s\"; give PROGRAM or "
                            "--%s=COMMAND",
                            q.text, q.text);
    }
    for (const char *const *flag = tf1_flags; options->tf1_flags && *flag; flag++)
        if (shell_words_add (words, *flag, err) < 0)
            return -1;
    return 0;
}

static bool _needs_file (const struct options *options, const struct shell_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        if (placeholders_has (words->word[i], PLACEHOLDER_TF_CONFIG_FILE))
            return true;
    return options->config_file;
}

/* Write TF_CONFIG where the user wants it. 0 and *path, to be freed; -1 and err. */
static int _write_file (char **path, const char *pattern, const struct placeholder_values *values,
                        struct errtext *err)
{
    struct errtext why;

    if (placeholders_replace (path, pattern, values, &why) < 0)
        return errtext_set (err, "--config-file: %s", why.text);
    if (config_file_write (*path, values->of[PLACEHOLDER_TF_CONFIG], &why) == 0)
        return 0;
    errtext_set (err, "--config-file=%.700s: %s", *path, why.text);
    free (*path);
    *path = NULL;
    return -1;
}

/* Write TF_CONFIG to a file in memory. 0 and *path, to be freed; -1 and err. */
static int _keep_file (char **path, const struct placeholder_values *values, struct errtext *err)
{
    struct config_file_path room;

    if (config_file_keep (&room, values->of[PLACEHOLDER_TF_CONFIG], err) < 0)
        return -1;
    return (*path = strdup (room.text)) ? 0 : errtext_set (err, "%s", strerror (ENOMEM));
}

/* Replace the placeholders in every word. */
static int _replace_placeholders (struct shell_words *words, const struct placeholder_values *values,
                                  struct errtext *err)
{
    for (size_t i = 0; i < words->count; i++) {
        char *word;

        if (placeholders_replace (&word, words->word[i], values, err) < 0)
            return -1;
        free (words->word[i]);
        words->word[i] = word;
    }
    return 0;
}

/* What tf-exec sets in a step ends with it, too. */
static int _mark (const char *name, const char *value)
{
    const char *marks = getenv (MARKS_VARIABLE);
    char more[MARKS_MAX];

    if (!marks || snprintf (more, sizeof (more), "%s", marks) >= (int)sizeof (more)
        || marks_add (more, sizeof (more), name, value) < 0)
        return 0;
    return setenv (MARKS_VARIABLE, more, 1);
}

/* TF_CONFIG is the step's, and not one that the user has set meanwhile. */
static bool _has_steps_config (void)
{
    const char *marks = getenv (MARKS_VARIABLE), *config = getenv ("TF_CONFIG");

    return marks && config && marks_find (marks, "TF_CONFIG", strlen ("TF_CONFIG"), config) == MARKS_SAME;
}

/* Set the program's environment. */
static int _export (const struct placeholder_values *values, struct errtext *err)
{
    const char *file = values->of[PLACEHOLDER_TF_CONFIG_FILE], *config = values->of[PLACEHOLDER_TF_CONFIG];

    if ((_has_steps_config () && _mark ("TF_CONFIG", config) < 0) || (file && _mark (FILE_VARIABLE, file) < 0)
        || (config && setenv ("TF_CONFIG", config, 1) < 0)
        || (file ? setenv (FILE_VARIABLE, file, 1) : unsetenv (FILE_VARIABLE)) < 0)
        return errtext_set (err, "%s", strerror (errno));
    return 0;
}

static int _set_environment (struct task_env *task, const char *name, struct errtext *err)
{
    struct errtext why;

    if (name && task_env_set_environment (task, name, &why) < 0)
        return errtext_set (err, "--environment: %s", why.text);
    return 0;
}

/* Prepare the program's words and environment, and *path, a file with TF_CONFIG, if needed. */
static int _prepare (struct shell_words *words, char **path, const struct options *options, char *argv[],
                     struct task_env *task, struct errtext *err)
{
    struct placeholder_values values;

    if (_set_environment (task, options->environment, err) < 0
        || _collect (words, options, argv, task, err) < 0)
        return -1;
    values = *task_env_values (task);
    if (_needs_file (options, words) && !values.of[PLACEHOLDER_TF_CONFIG])
        return errtext_set (err, "a file with TF_CONFIG is needed, and TF_CONFIG is not set");
    if (_needs_file (options, words)
        && (options->config_path ? _write_file (path, options->config_path, &values, err)
                                 : _keep_file (path, &values, err))
               < 0)
        return -1;
    values.of[PLACEHOLDER_TF_CONFIG_FILE] = *path;
    if (_replace_placeholders (words, &values, err) < 0)
        return -1;
    return _export (&values, err);
}

/* Returns only if that fails: the exit code, and err. A file that was written is deleted. */
static int _run (const struct options *options, char *argv[], struct errtext *err)
{
    struct shell_words words = { 0 };
    struct task_env *task;
    char *path = NULL;
    int rc = EXIT_FAILURE;

    if (task_env_read (&task, err) < 0)
        return rc;
    if (_prepare (&words, &path, options, argv, task, err) == 0)
        rc = program_execute (words.word, err);
    if (path && options->config_path)
        unlink (path);
    free (path);
    shell_words_clear (&words);
    task_env_destroy (task);
    return rc;
}

static int _print (const char *text)
{
    return fputs (text, stdout) == EOF || fflush (stdout) == EOF ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main (int argc, char *argv[])
{
    struct options options = { .command = calloc ((size_t)argc + 1, sizeof (struct command)) };
    struct errtext err;
    int rc = EXIT_FAILURE, begin;

    if (!options.command)
        begin = errtext_set (&err, "%s", strerror (ENOMEM));
    else
        begin = _read_options (&options, argv + 1, &err);
    if (begin >= 0 && options.help)
        rc = _print (help);
    else if (begin >= 0 && options.version)
        rc = version_print ();
    else {
        if (begin >= 0)
            rc = _run (&options, argv + 1 + begin, &err);
        dprintf (STDERR_FILENO, "tf-exec: error: %s\n", err.text);
    }
    free (options.command);
    return rc;
}
