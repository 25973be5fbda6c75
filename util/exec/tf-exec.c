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
#include "placeholders.h"
#include "task_env.h"

/* Exit codes, as a shell has them. */
#define NOT_EXECUTABLE 126
#define NOT_FOUND 127

#define BLANKS " \t\n"

/* Releases before 0.5.0 wrote TF_CONFIG to a file. */
#define WRITE_FILE \
    "was removed; let a shell write the file: " \
    "sh -c 'echo \"$TF_CONFIG\" > {rank}.json; exec PROGRAM {rank}.json'"

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
    "  -h, --help                print this\n"
    "      --version             print the version\n"
    "\n"
    "Replaced in PROGRAM, ARGUMENTS and COMMAND; {{ is one brace:\n"
    "\n"
    "  {role} {index} {rank} {node}      worker 1 3 n2\n"
    "  {address} {port}                  10.0.0.2 40001\n"
    "  {ps_hosts} {worker_hosts} {chief_hosts} {master_hosts} {evaluator_hosts}\n"
    "                                    10.0.0.1:40001,10.0.0.2:40001\n"
    "  {NAME_hosts}                      the same for +NAME\n"
    "  {num_ps} {num_workers}            2 4\n"
    "  {cluster}                         {\"ps\":[\"10.0.0.1:40001\"],\"worker\":[...]}\n"
    "  {tf_config}                       TF_CONFIG\n"
    "\n"
    "See tf-exec(1).\n";

/* --ps="python ps.py" */
struct command {
    const char *role;
    char *text;
};

struct options {
    bool help, version;
    bool tf1_flags;
    const char *environment;
    struct command *command;        /* has an element for each argument of tf-exec */
    size_t commands;
};

/* OPTION_COMMAND is any option whose name is not one of the others. */
enum option {
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_TF1_FLAGS,
    OPTION_ENVIRONMENT,
    OPTION_COMMAND,
};

static const struct known {
    const char *name;
    enum option option;
    bool has_value; /* --name=VALUE or --name VALUE */
} known[] = {
    { "-h", OPTION_HELP, false },
    { "--help", OPTION_HELP, false },
    { "--version", OPTION_VERSION, false },
    { "--tf1-flags", OPTION_TF1_FLAGS, false },
    { "--environment", OPTION_ENVIRONMENT, true },
    { NULL, OPTION_COMMAND, true },
};

static const struct known *_find_option (const char *name)
{
    const struct known *one = known;

    while (one->name && strcmp (one->name, name) != 0)
        one++;
    return one->name || strncmp (name, "--", 2) == 0 ? one : NULL;
}

static void _set (struct options *options, enum option option, const char *name, char *value)
{
    switch (option) {
        case OPTION_HELP: options->help = true; break;
        case OPTION_VERSION: options->version = true; break;
        case OPTION_TF1_FLAGS: options->tf1_flags = true; break;
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
    if (strcmp (name, "--config-file") == 0)
        return errtext_set (err, "--config-file " WRITE_FILE);
    if (!(found = _find_option (name)))
        return errtext_set (err, "%s is not an option; see tf-exec --help", q.text);
    if (value && !found->has_value)
        return errtext_set (err, "%s takes no value", q.text);
    if (!value && found->has_value && (value = argv[1]))
        length = 2;
    if (!value && found->has_value)
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

/* The words of the program. */

/* Zero it, use it, clear it. */
struct words {
    char **word; /* word[count] is NULL, if there are any */
    size_t count;
};

static void _clear_words (struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free (words->word[i]);
    free (words->word);
}

/* Append a word, with its placeholders replaced. */
static int _add_word (struct words *words, const char *text, const struct task_env *task, struct errtext *err)
{
    char **word = realloc (words->word, (words->count + 2) * sizeof (*word));

    if (!word)
        return errtext_set (err, "%s", strerror (ENOMEM));
    words->word = word;
    if (strstr (text, "{tf_config_file}"))
        return errtext_set (err, "{tf_config_file} " WRITE_FILE);
    if (placeholders_replace (&word[words->count], text, &task->values, err) < 0)
        return -1;
    word[++words->count] = NULL;
    return 0;
}

static bool _is_role (const struct task_env *task, const char *role)
{
    return rules_find (role) < RULES_ROLES || task_env_knows_role (task, role);
}

/* Each task checks the commands of all roles. */
static int _check_command (const struct command *command, const struct task_env *task, struct errtext *err)
{
    struct quoted q;
    char roles[512];

    text_quoted (&q, command->role, strlen (command->role));
    if (!_is_role (task, command->role))
        return errtext_set (err,
                            "--%s is neither an option nor a role of this step (%s); see "
                            "tf-exec --help",
                            q.text, task_env_roles (task, roles, sizeof (roles)));
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a role has a command. */
    if (strpbrk (command->text, "'\"\\"))
        return errtext_set (err,
                            "--%s: a command is split at blanks, and quotes and \\ have no meaning; "
                            "write it into a script, and give that",
                            q.text);
    if (command->text[strspn (command->text, BLANKS)] == '\0')
        return errtext_set (err, "--%s: the command has no words", q.text);
    return 0;
}

/* Of several commands for a role, the last one counts. NULL if there is none, or with err. */
static int _find_command (const struct command **found, const struct options *options,
                          const struct task_env *task, struct errtext *err)
{
    *found = NULL;
    for (size_t i = 0; i < options->commands; i++) {
        if (_check_command (&options->command[i], task, err) < 0)
            return -1;
        if (strcmp (options->command[i].role, task->values.of[PLACEHOLDER_ROLE]) == 0)
            *found = &options->command[i];
    }
    return 0;
}

static int _no_program (const struct task_env *task, struct errtext *err)
{
    const char *role = task->values.of[PLACEHOLDER_ROLE];
    struct quoted q;

    text_quoted (&q, role, strlen (role));
    return errtext_set (err, "no program for a task of role \"%s\"; give PROGRAM or --%s=COMMAND", q.text,
                        q.text);
}

/* Collect this task's program and arguments. */
static int _collect (struct words *words, const struct options *options, char *argv[],
                     const struct task_env *task, struct errtext *err)
{
    const struct command *command;
    char *rest;

    if (_find_command (&command, options, task, err) < 0)
        return -1;
    if (command)
        for (char *word = strtok_r (command->text, BLANKS, &rest); word;
             word = strtok_r (NULL, BLANKS, &rest))
            if (_add_word (words, word, task, err) < 0)
                return -1;
    for (; !command && *argv; argv++)
        if (_add_word (words, *argv, task, err) < 0)
            return -1;
    if (words->count == 0)
        return _no_program (task, err);
    for (const char *const *flag = tf1_flags; options->tf1_flags && *flag; flag++)
        if (_add_word (words, *flag, task, err) < 0)
            return -1;
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

/* Add "environment" to TF_CONFIG, and set that for the program. */
static int _set_environment (struct task_env *task, const char *name, struct errtext *err)
{
    struct errtext why;
    const char *config;

    if (!name)
        return 0;
    if (task_env_set_environment (task, name, &why) < 0)
        return errtext_set (err, "--environment: %s", why.text);
    config = task->values.of[PLACEHOLDER_TF_CONFIG];
    if ((_has_steps_config () && _mark ("TF_CONFIG", config) < 0) || setenv ("TF_CONFIG", config, 1) < 0)
        return errtext_set (err, "%s", strerror (errno));
    return 0;
}

/* Returns only if that fails: the exit code, and err. */
static int _execute (char *argv[], struct errtext *err)
{
    int why;

    /* NOLINTNEXTLINE(clang-analyzer-core.*): it is that of a program. */
    execvp (argv[0], argv);
    why = errno;
    errtext_set (err, "%.700s: %s", argv[0], strerror (why));
    return why == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

/* The same. */
static int _run (const struct options *options, char *argv[], struct errtext *err)
{
    struct words words = { NULL, 0 };
    struct task_env task;
    int rc = EXIT_FAILURE;

    if (task_env_read (&task, err) < 0)
        return rc;
    if (_set_environment (&task, options->environment, err) == 0
        && _collect (&words, options, argv, &task, err) == 0)
        rc = _execute (words.word, err);
    _clear_words (&words);
    task_env_clear (&task);
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
