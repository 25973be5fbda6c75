/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What tf-run knows of srun: which of its options take a value, where the program begins, and what Slurm's
 * configuration says.
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>

#include "run/slurm_facts.h"
#include "run/srun_help.h"
#include "run/srun_words.h"

/* Lines of srun's help, of several releases. */
static const char help_text[] =
    "Usage: srun [OPTIONS...] executable [args...]\n"
    "\n"
    "Parallel run options:\n"
    "  -A, --account=name          charge job to specified account\n"
    "      --bcast=<dest_path>     Copy executable file to compute nodes\n"
    "      --container             Path to OCI container bundle\n"
    "      --cpu-freq=min[-max[:gov]] requested cpu frequency (and governor)\n"
    "  -I, --immediate[=secs]      exit if resources not available in \"secs\"\n"
    "  -K, --kill-on-bad-exit      kill the job if any task terminates with a\n"
    "                              non-zero exit code\n"
    "  -l, --label                 prepend task number to lines of stdout/err\n"
    "  -n, --ntasks=ntasks         number of tasks to run\n"
    "      --ntasks-per-node=n     number of tasks to invoke on each node\n"
    "  -N, --nodes=N               number of nodes on which to run (N = min[-max])\n"
    "      --overlap               Allow other steps to overlap this step\n"
    "      --pty                   run task zero in pseudo terminal\n"
    "      --resv-ports            reserve communication ports\n"
    "  -v, --verbose               verbose mode (multiple -v's increase verbosity)\n"
    "  -B  --extra-node-info=S[:C[:T]]  combine request of sockets, cores and threads\n"
    "                              --mem >= --mem-per-cpu if --mem is specified.\n";

/* Options that the help does not have; srun is asked. */
static enum srun_value ask (const char *option, void *arg)
{
    (void)arg;
    return strcmp (option, "--hint") == 0 || strcmp (option, "-Y") == 0 ? SRUN_VALUE_NEEDED : SRUN_VALUE_NONE;
}

#define MOST_WORDS 32

/* "srun -N3 TASK0 python", and the options that are ours: " + 0:tf-show=yes". */
static const char *parsed (const char *line, char *buf, size_t size)
{
    struct srun_help *help = srun_help_create (help_text);
    struct srun_words words = { .option = calloc (MOST_WORDS, sizeof (struct srun_words_option)) };
    char *copy = strdup (line), *rest = copy, *argv[MOST_WORDS + 1] = { NULL };
    size_t used = 0;
    struct errtext err;
    char **all;
    int argc = 0;

    buf[0] = '\0';
    while (argc < MOST_WORDS && (argv[argc] = strsep (&rest, " ")))
        argc++;
    if (srun_words_parse (&words, argc, argv, help, ask, NULL, &err) < 0)
        snprintf (buf, size, "error: %.500s", err.text);
    else {
        all = srun_words_with (&words, "TF-RUN", "--task=");
        for (char **word = all; *word; word++) {
            used += (size_t)snprintf (buf + used, size - used, "%s%s", used ? " " : "", *word);
            if (strncmp (*word, "--task=", sizeof ("--task=") - 1) == 0)
                free (*word);
        }
        free (all);
        for (size_t i = 0; i < words.options; i++)
            used += (size_t)snprintf (buf + used, size - used, " + %zu:%s=%s", words.option[i].component,
                                      option_table[words.option[i].option].name,
                                      words.option[i].value ? words.option[i].value : "-");
        if (words.quiet)
            snprintf (buf + used, size - used, ", quiet");
    }
    srun_words_clear (&words);
    free (help);
    free (copy);
    return buf;
}

TEST (the_program_begins_at_the_first_word_that_is_neither_an_option_nor_its_value)
{
    static const struct {
        const char *line, *words;
    } row[] = {
        { "srun python train.py", "srun TF-RUN --task=0 python train.py" },
        { "srun -N3 python -u train.py", "srun -N3 TF-RUN --task=0 python -u train.py" },
        { "srun -N 3 python", "srun -N 3 TF-RUN --task=0 python" },
        { "srun -A : python", "srun -A : TF-RUN --task=0 python" },
        { "srun --nodes 3 python", "srun --nodes 3 TF-RUN --task=0 python" },
        { "srun --nodes=3 python", "srun --nodes=3 TF-RUN --task=0 python" },
        { "srun -l -n2 python", "srun -l -n2 TF-RUN --task=0 python" },
        { "srun -ln 2 python", "srun -ln 2 TF-RUN --task=0 python" },
        { "srun -vvln2 python", "srun -vvln2 TF-RUN --task=0 python" },
        { "srun -I python", "srun -I TF-RUN --task=0 python" },
        { "srun -I10 python", "srun -I10 TF-RUN --task=0 python" },
        { "srun --immediate python", "srun --immediate TF-RUN --task=0 python" },
        { "srun -K python", "srun -K TF-RUN --task=0 python" },
        { "srun -B 2:4 python", "srun -B 2:4 TF-RUN --task=0 python" },
        { "srun --extra-node-info 2 python", "srun --extra-node-info 2 TF-RUN --task=0 python" },
        { "srun --pty bash", "srun --pty TF-RUN --task=0 bash" },
        { "srun --cpu-freq low-high python", "srun --cpu-freq low-high TF-RUN --task=0 python" },
        /* The help is wrong about these. */
        { "srun --bcast python", "srun --bcast TF-RUN --task=0 python" },
        { "srun --container /c python", "srun --container /c TF-RUN --task=0 python" },
        { "srun --resv-ports python", "srun --resv-ports TF-RUN --task=0 python" },
        /* Abbreviations. */
        { "srun --nod 3 python", "srun --nod 3 TF-RUN --task=0 python" },
        { "srun --over python", "srun --over TF-RUN --task=0 python" },
        { "srun --ntasks-p 2 python", "srun --ntasks-p 2 TF-RUN --task=0 python" },
        /* srun is asked. */
        { "srun --hint compute_bound python", "srun --hint compute_bound TF-RUN --task=0 python" },
        { "srun --unheard python", "srun --unheard TF-RUN --task=0 python" },
        { "srun -Y 1 python", "srun -Y 1 TF-RUN --task=0 python" },
        { "srun -- python", "srun -- TF-RUN --task=0 python" },
        { "srun -n2 -- -strange", "srun -n2 -- TF-RUN --task=0 -strange" },
        { "srun - python", "srun TF-RUN --task=0 - python" },
        /* There is none. */
        { "srun -n2", "srun -n2" },
        { "srun --help", "srun --help" },
        { "srun -n", "srun -n" },
    };
    char buf[512];

    for (size_t i = 0; i < COUNT (row); i++)
        assert_string_equal (parsed (row[i].line, buf, sizeof (buf)), row[i].words);
}

TEST (quiet_is_an_option_of_srun)
{
    char buf[512];

    assert_string_equal (parsed ("srun -Q python", buf, sizeof (buf)),
                         "srun -Q TF-RUN --task=0 python, quiet");
    assert_string_equal (parsed ("srun -lQn2 a", buf, sizeof (buf)), "srun -lQn2 TF-RUN --task=0 a, quiet");
    assert_string_equal (parsed ("srun --quie a", buf, sizeof (buf)), "srun --quie TF-RUN --task=0 a, quiet");
    assert_string_equal (parsed ("srun -nQ a", buf, sizeof (buf)), "srun -nQ TF-RUN --task=0 a");
    assert_string_equal (parsed ("srun --qui a", buf, sizeof (buf)), "srun --qui TF-RUN --task=0 a");
    assert_string_equal (parsed ("srun python -Q", buf, sizeof (buf)), "srun TF-RUN --task=0 python -Q");
}

TEST (each_component_has_a_task_of_its_own)
{
    static const struct {
        const char *line, *words;
    } row[] = {
        { "srun -n1 a : -n2 b x", "srun -n1 TF-RUN --task=0 a : -n2 TF-RUN --task=1 b x" },
        { "srun -n1 : -n2 b x", "srun -n1 TF-RUN --task=0 b x : -n2 TF-RUN --task=1 b x" },
        { "srun a : b : c", "srun TF-RUN --task=0 a : TF-RUN --task=1 b : TF-RUN --task=2 c" },
        { "srun a : -n2", "srun TF-RUN --task=0 a : -n2" },
    };
    char buf[512];

    for (size_t i = 0; i < COUNT (row); i++)
        assert_string_equal (parsed (row[i].line, buf, sizeof (buf)), row[i].words);
}

TEST (our_options_are_taken_out)
{
    static const struct {
        const char *line, *words;
    } row[] = {
        { "srun --tf-tasks=ps,worker -n2 a", "srun -n2 TF-RUN --task=0 a + 0:tf-tasks=ps,worker" },
        { "srun -n2 --tf-tasks ps,worker a", "srun -n2 TF-RUN --task=0 a + 0:tf-tasks=ps,worker" },
        { "srun --tf-show a", "srun TF-RUN --task=0 a + 0:tf-show=-" },
        { "srun --tf-show=json a", "srun TF-RUN --task=0 a + 0:tf-show=json" },
        { "srun --tf-tasks-p=worker a", "srun TF-RUN --task=0 a + 0:tf-tasks-per-node=worker" },
        { "srun a --tf-show", "srun TF-RUN --task=0 a --tf-show" },
        { "srun --tf-tasks=ps a : --tf-tasks=worker b",
          "srun TF-RUN --task=0 a : TF-RUN --task=1 b + 0:tf-tasks=ps + 1:tf-tasks=worker" },
        { "srun --tf-tasks", "error: --tf-tasks needs a value" },
        { "srun --tf-tasken=ps a", "error: --tf-tasken: unknown option; tf-run --help lists all" },
        { "srun --tf-t=ps a", "error: --tf-t: unknown option; tf-run --help lists all" },
    };
    char buf[512];

    for (size_t i = 0; i < COUNT (row); i++)
        assert_string_equal (parsed (row[i].line, buf, sizeof (buf)), row[i].words);
}

TEST (an_option_is_there_by_its_whole_name)
{
    struct srun_help *help = srun_help_create (help_text);

    assert_true (srun_help_has (help, "ntasks"));
    assert_false (srun_help_has (help, "ntask"));
    assert_false (srun_help_has (help, "mem"));
    free (help);
}

static void check_facts (const struct slurm_facts *facts, int low, int wait, int kill, bool appends,
                         bool children)
{
    assert_true (facts->known);
    assert_int_equal (facts->ports.count ? facts->ports.range[0].low : 0, low);
    assert_int_equal (facts->wait_time, wait);
    assert_int_equal (facts->kill_wait, kill);
    assert_int_equal (facts->appends_output, appends);
    assert_int_equal (facts->signals_only_children, children);
}

TEST (slurms_configuration)
{
    static const struct {
        const char *text;
        int low, wait, kill;
        bool appends, children;
    } row[] = {
        { "JobFileAppend           = 1\nKillWait                = 30 sec\n"
          "ProctrackType           = proctrack/cgroup\n"
          "SrunPortRange           = 60001-63000\nWaitTime                = 20 sec\n",
          60001, 20, 30, true, true },
        { "JobFileAppend           = 0\nKillWait                = 5 sec\n"
          "ProctrackType           = proctrack/linuxproc\n"
          "SrunPortRange           = 0-0\nWaitTime                = 0 sec\n",
          0, 0, 5, false, false },
        { "ProctrackType           = proctrack/cgroup\nCgroup Support Configuration:\n"
          "SignalChildrenProcesses = yes\n",
          0, 0, -1, false, false },
        { "ProctrackType           = proctrack/cgroup\nSignalChildrenProcesses = no\n", 0, 0, -1, false,
          true },
        { "KillWait                = sec\nKillWaiting             = 7\n", 0, 0, -1, false, false },
        { "", 0, 0, -1, false, false },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        char text[512];
        struct slurm_facts facts;

        snprintf (text, sizeof (text), "%s", row[i].text);
        slurm_facts_read_text (&facts, text);
        check_facts (&facts, row[i].low, row[i].wait, row[i].kill, row[i].appends, row[i].children);
    }
}

/* Without a setting as Slurm's defaults; NULL: there is no such file. */
TEST (slurms_files)
{
    static const struct {
        const char *slurm, *cgroup;
        int low, wait, kill;
        bool appends, children;
    } row[] = {
        { "ClusterName=c\n", NULL, 0, 0, 30, false, true },
        { "ProctrackType=proctrack/linuxproc\n#KillWait=7\n", NULL, 0, 0, 30, false, false },
        { "killwait=7 SrunPortRange=60001-63000\nWaitTime=20\nJobFileAppend=1\n", "", 60001, 20, 7, true,
          true },
        { "ProctrackType=cgroup\n", "SignalChildrenProcesses=no\n", 0, 0, 30, false, true },
        { "ProctrackType=proctrack/cgroup\n", "SignalChildrenProcesses=yes\n", 0, 0, 30, false, false },
    };
    const char *dir = new_directory (), *path = path_in (dir, "slurm.conf"),
               *cgroup = path_in (dir, "cgroup.conf");
    struct slurm_facts facts;

    for (size_t i = 0; i < COUNT (row); i++) {
        write_file (path, row[i].slurm);
        if (row[i].cgroup)
            write_file (cgroup, row[i].cgroup);
        slurm_facts_read_files (&facts, path);
        check_facts (&facts, row[i].low, row[i].wait, row[i].kill, row[i].appends, row[i].children);
    }
    slurm_facts_read_files (&facts, path_in (dir, "none"));
    assert_false (facts.known);
    slurm_facts_read_files (&facts, NULL);
    assert_false (facts.known);
}
