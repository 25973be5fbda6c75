/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-run [--tf-OPTION...] srun [OPTIONS] PROGRAM [ARGUMENTS] does what spank_tf does in srun, where srun
 * has no such plugin:
 *
 *     tf-run              reads the options, starts tf-rendezvous, and executes srun in its own place
 *       srun              starts tf-run --task in the place of each task's program
 *         tf-run --task   registers, and executes the program in the end (run_task.h)
 *
 * Where srun has the plugin, it gets the options, and nothing else is different from srun alone.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask_srun.h"
#include "common/errtext.h"
#include "common/helper.h"
#include "common/version.h"
#include "launch/additions.h"
#include "launch/launcher.h"
#include "launch/list_help.h"
#include "launch/option_variables.h"
#include "launch/options.h"
#include "launch/srun_checks.h"
#include "launch/srun_config.h"
#include "launch/srun_side.h"
#include "launcher.h"
#include "run_task.h"
#include "slurm_facts.h"
#include "srun_words.h"

/*
 * A job's options, as "--tf-tasks=ps,worker:rest --tf-log-dir=logs", and what a site's plugstack.conf would
 * have, as "lost_after=30". Options of a command line win.
 */
#define JOB_VARIABLE "SLURM_TF_RUN"

static const char usage[] =
    "Usage: tf-run [--tf-OPTION...] srun [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Start PROGRAM as tasks of a cluster, by srun, on a Slurm that lacks spank_tf. The options\n"
    "may also stand among those of srun. In a batch script " JOB_VARIABLE " has a job's own.\n"
    "\n";

struct command {
    struct srun_words words;
    size_t of_job;              /* so many of words.option are the job's, the first ones */
    int argc;                   /* srun's command line, as it was given */
    char **argv;
};

static int _print_help (void)
{
    struct option_help room;

    fputs (usage, stdout);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].name) {
            option_help ((enum option_id)i, &room);
            printf ("  --%s%s%s%s\n        %s\n", option_table[i].name, option_table[i].implied ? "[=" : "=",
                    room.arginfo, option_table[i].implied ? "]" : "", room.usage);
        }
    fputs ("  -h, --help\n        print this\n      --version\n        print the version\n", stdout);
    return fflush (stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The words of the job's variable, which ends with the process. Returns how many there are. */
static int _split (char *text, char *word[], int most)
{
    int count = 0;

    for (char *part; count < most && (part = strsep (&text, " \t\n"));)
        if (*part)
            word[count++] = part;
    return count;
}

/* "lost_after=30": the word lives as long as the process. */
static int _take_site_argument (const char *word, struct errtext *err)
{
    enum option_id option;
    const char *value;
    struct errtext why;
    struct quoted q;

    if (!strchr (word, '='))
        return errtext_set (err, JOB_VARIABLE ": \"%s\" is not an option of tf-run",
                            text_quoted (&q, word, strlen (word)));
    if (option_take_argument (&option, &value, word, &why) < 0)
        return errtext_set (err, JOB_VARIABLE ": %s", why.text);
    options_set_site (option, value);
    return 1;
}

/* Of several ones of a name the last one is the job's. */
static void _forget_former (struct srun_words *words)
{
    const struct srun_words_option *last = &words->option[words->options - 1];

    for (struct srun_words_option *former = words->option; former < last; former++)
        if (former->option == last->option) {
            *former = *last;
            words->options--;
            return;
        }
}

static int _take_job_options (struct command *command, char *word[], int count, struct errtext *err)
{
    struct errtext why;

    for (int i = 0; i < count;) {
        int n = srun_words_take_option (&command->words, count, word, i, &why);

        if (n < 0)
            return errtext_set (err, JOB_VARIABLE ": %s", why.text);
        if (n > 0)
            _forget_former (&command->words);
        else if (n == 0)
            n = _take_site_argument (word[i], err);
        if (n < 0)
            return -1;
        i += n;
    }
    command->of_job = command->words.options;
    return 0;
}

/* --tf-tasks=help needs no srun. */
static void _help_with_lists (const struct srun_words *words)
{
    struct errtext err;

    for (size_t i = 0; i < words->options; i++)
        if (words->option[i].value && strcmp (words->option[i].value, LIST_HELP) == 0)
            options_take (words->option[i].option, LIST_HELP, &err);
}

/* The options before srun. -1 and err; otherwise command->argv is srun's command line. */
static int _take_own_options (struct command *command, int argc, char *argv[], struct errtext *err)
{
    struct quoted q;
    int i = 1, n;

    while (i < argc && argv[i][0] == '-') {
        if ((n = srun_words_take_option (&command->words, argc, argv, i, err)) < 0)
            return -1;
        if (n == 0)
            return errtext_set (err, "%s: unknown option; tf-run --help lists all",
                                text_quoted (&q, argv[i], strlen (argv[i])));
        i += n;
    }
    _help_with_lists (&command->words);
    if (i == argc)
        return errtext_set (err, "srun is missing: tf-run [--tf-OPTION...] srun [OPTIONS] PROGRAM");
    if (strcmp (basename (argv[i]), "srun") != 0)
        return errtext_set (err, "\"%s\" is not srun: write tf-run [--tf-OPTION...] srun [OPTIONS] PROGRAM",
                            text_quoted (&q, argv[i], strlen (argv[i])));
    command->argc = argc - i;
    command->argv = argv + i;
    return 0;
}

static int _begin (struct command *command, int argc, char *argv[], struct errtext *err)
{
    const char *variable = getenv (JOB_VARIABLE);
    char *text = strdup (variable ? variable : "");
    int most = text ? (int)(strlen (text) / 2) + 1 : 0;
    char **word = calloc ((size_t)most + 1, sizeof (*word));

    command->words.option = calloc ((size_t)most + (size_t)argc, sizeof (*command->words.option));
    if (!text || !word || !command->words.option)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): gcc -fanalyzer is wrong: the process ends then. */
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (_take_job_options (command, word, _split (text, word, most), err) < 0)
        return -1;
    return _take_own_options (command, argc, argv, err);
}

/* Only then srun's words have to be read. */
static bool _has_options (const struct command *command)
{
    bool has = command->words.options > 0;

    for (int i = 1; i < command->argc; i++)
        has = has || strncmp (command->argv[i], "--tf-", sizeof ("--tf-") - 1) == 0;
    return has;
}

/* Returns only if that fails: the exit code. */
static int _execute (char **argv)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.*): gcc -fanalyzer is wrong: it is that of a program. */
    execvp (argv[0], argv);
    launcher_say (true, "%s: %s", argv[0], strerror (errno));
    /* gcc -fanalyzer is wrong: nothing follows. */
    return 127;
}

/* As srun reads them: in each component the job's first. */
static int _use_options (const struct srun_words *words, size_t of_job, struct errtext *err)
{
    struct errtext why;

    options_set_command (false, words->components > 1);
    for (size_t i = 0; i < of_job; i++)
        options_expect_inherited (words->option[i].option);
    for (size_t component = 0; component < words->components; component++) {
        for (size_t i = 0; i < words->options; i++)
            if ((i < of_job || words->option[i].component == component)
                && options_take (words->option[i].option, words->option[i].value, &why) < 0)
                return errtext_set (err, "%s%s", i < of_job ? JOB_VARIABLE ": " : "", why.text);
        if (options_end_component (err) < 0)
            return -1;
    }
    return 0;
}

/* As sbatch passes it: a step of the job may do without it. */
static int _pass_job_option (const struct srun_words_option *option)
{
    struct option_variables variables;

    option_variables_of (option->option, &variables);
    return setenv (variables.to_srun, option->value ? option->value : "", 1);
}

static int _put_behind_srun (char **word, const struct srun_words_option *option)
{
    const char *value = option->value;

    return asprintf (word, "--%s%s%s", option_table[option->option].name, value ? "=" : "",
                     value ? value : "");
}

/* srun has the plugin. The options that did not stand behind srun are put there, or are the job's. */
static int _leave_to_plugin (const struct command *command, const struct srun_help *help, struct errtext *err)
{
    const struct srun_words *words = &command->words;
    char **argv = calloc ((size_t)command->argc + words->options + 1, sizeof (*argv));
    size_t used = 0;
    int rc = 0;

    if (!argv)
        return errtext_set (err, "%s", strerror (ENOMEM));
    argv[used++] = command->argv[0];
    for (size_t i = 0; i < words->options; i++) {
        const struct srun_words_option *option = &words->option[i];
        const char *name = option_table[option->option].name;

        if (!srun_help_has (help, name))
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): gcc -fanalyzer is wrong: nothing follows. */
            return errtext_set (
                err, "the spank_tf of this host's srun does not know --%s: it is of another version", name);
        if (i < command->of_job)
            rc = _pass_job_option (option);
        else if (option->before_srun)
            rc = _put_behind_srun (&argv[used++], option);
        if (rc < 0)
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): nothing follows. */
            return errtext_set (err, "%s", strerror (ENOMEM));
    }
    for (int i = 1; i < command->argc; i++)
        argv[used++] = command->argv[i];
    if (srun_config_shows ())
        launcher_say (false, "srun has the plugin, which does this");
    return _execute (argv);
}

/* What the words of each say. */
static void _add_components (struct srun_facts *srun, const struct srun_words *words)
{
    const struct cmdline *line = &words->line;

    for (size_t begin = 0, end; begin < line->count; begin = end) {
        for (end = begin + 1; end < line->count && words->kind[end] == SRUN_WORD_OPTION; end++)
            ;
        srun_side_add_component (srun, &(struct cmdline){ end - begin, line->text + begin });
        while (end < line->count && words->kind[end] != SRUN_WORD_BEGIN)
            end++;
    }
}

/* A file has the programs then, and tf-run would not stand before them. */
static int _check_multi_prog (const struct cmdline *options, struct errtext *err)
{
    static const char name[] = "--multi-prog";

    for (size_t i = 0; i < options->count; i++) {
        size_t length = strlen (options->text[i]);

        if (length >= sizeof ("--mu") - 1 && strncmp (options->text[i], name, length) == 0)
            return errtext_set (err,
                                "--multi-prog is not possible without the plugin: start one program, which "
                                "reads SLURM_TF_ROLE");
    }
    return 0;
}

/* That of the first component that has one. */
static const char *_program (const struct srun_words *words)
{
    size_t program = 0;

    while (words->kind[program] != SRUN_WORD_PROGRAM)
        program++;
    return words->line.text[program];
}

/* As srun names a job that it allocates. */
static void _set_job_name (const struct srun_facts *srun)
{
    static const struct cmdline_option option = { "--job-name", sizeof ("--job-") - 1, 'J' };
    const char *name = cmdline_find (&srun->options, &option);

    if (!getenv ("SLURM_JOB_ID"))
        setenv ("SLURM_JOB_NAME", name ? name : basename (srun->program), name != NULL);
}

/* srun's command line with a task of tf-run in the place of each program; the rendezvous runs. */
static int _start_tasks (const struct command *command, const struct slurm_facts *slurm, struct errtext *err)
{
    const struct srun_words *words = &command->words;
    struct srun_facts srun = { .line = words->line,
                               .options = words->srun_options,
                               .program = _program (words) };
    char word[RUN_TASK_SIZE];
    char **argv;
    int control;

    if (_check_multi_prog (&words->srun_options, err) < 0)
        return -1;
    if (!helper_own_file () || !slurm->known)
        return errtext_set (err, "%s",
                            slurm->known ? "/proc is not mounted" : "\"scontrol show config\" fails");
    _add_components (&srun, words);
    srun.ports = slurm->ports;
    srun.appends_output = slurm->appends_output;
    srun.wait_time = slurm->wait_time;
    launcher_use_own_programs ();
    _set_job_name (&srun);
    run_task_word (word, slurm);
    if (!(argv = srun_words_with (words, helper_started_file (), word)))
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (srun_side_prepare (&srun, err) < 0 || (control = srun_side_start (&srun, NULL, err)) < 0)
        return -1;
    /* It is open as long as srun lives. */
    fcntl (control, F_SETFD, 0);
    return _execute (argv);
}

static int _run (struct command *command, struct errtext *err)
{
    struct srun_words *words = &command->words;
    struct slurm_facts slurm;
    struct srun_help *help;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a command has srun's name. */
    char *text = ask_srun (command->argv[0], &slurm);
    int rc;

    if (!text)
        return errtext_set (err, "\"%s --help\" fails", command->argv[0]);
    if (!(help = srun_help_create (text)))
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (srun_words_parse (words, command->argc, command->argv, help, ask_srun_option, command->argv[0], err)
        < 0)
        return -1;
    launcher_is_quiet = words->quiet;
    rc = _use_options (words, command->of_job, err);
    /* It refuses what is wrong, and has the site's roles. */
    if (srun_help_has (help, option_table[OPTION_TASKS].name))
        return _leave_to_plugin (command, help, err);
    if (rc < 0)
        return -1;
    if (options_use () == OPTIONS_UNUSED)
        srun_checks_unused ();
    if (options_use () != OPTIONS_ON || words->programs == 0) {
        unsetenv (JOB_VARIABLE);
        return _execute (words->line.text);
    }
    return _start_tasks (command, &slurm, err);
}

int main (int argc, char *argv[])
{
    struct command command = { .argc = 0 };
    struct errtext err;
    int rc;

    run_task (argc, argv);
    if (version_is_wanted (argc, argv))
        return version_print ();
    if (argc > 1 && (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0))
        return _print_help ();
    additions_undo ();
    srun_side_reset ();
    rc = _begin (&command, argc, argv, &err);
    if (rc == 0)
        rc = _has_options (&command) ? _run (&command, &err) : _execute (command.argv);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the process ends. */
    if (rc < 0) {
        launcher_say (true, "%s", err.text);
        rc = srun_side_error_code ();
    }
    return rc;
}
