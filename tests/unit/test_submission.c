/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "submission.h"

#define SRUN "srun program\n"

static bool dies_with_node, runs_once;

/* The numbers for a command line without its first words: "3", or "4, 2 a node"; "-" for none. */
static const char *read_line (char *words, size_t options)
{
    static char text[64];
    char *argument[64];
    struct cmdline line = { 0, argument };
    struct submission submission;

    for (char *word = strtok (words, "|"); word; word = strtok (NULL, "|"))
        line.text[line.count++] = word;
    submission_parse (&submission, &line, options ? options : line.count);
    if (submission.tasks_per_node)
        snprintf (text, sizeof (text), "%d, %d a node", submission.tasks, submission.tasks_per_node);
    else if (submission.tasks)
        snprintf (text, sizeof (text), "%d", submission.tasks);
    else
        snprintf (text, sizeof (text), "-");
    dies_with_node = submission.dies_with_node;
    runs_once = submission.runs_once;
    return text;
}

/* sbatch OPTIONS SCRIPT -n 99, with '|' between the options. */
static const char *sbatch (const char *options, const char *script)
{
    char words[512];
    size_t count = 1;

    for (const char *p = options; *p; p++)
        count += *p == '|';
    snprintf (words, sizeof (words), "/usr/bin/sbatch|%s|%s|-n|99", *options ? options : "-Q",
              file_with (script));
    return read_line (words, count + 1);
}

struct row {
    const char *text, *expected;
};

TEST (the_command_line_tells_the_number_of_tasks)
{
    /* clang-format off */
    static const struct row row[] = {
        { "-n3", "3" }, { "-n|3", "3" }, { "--ntasks=3", "3" }, { "--ntasks|3", "3" },
        { "-n3|-n|5", "5" }, { "-N2|--ntasks-per-node=4", "8, 4 a node" },
        { "--nodes=2|--ntasks-per-n|4", "8, 4 a node" }, { "-n6|--ntasks-per-node=4", "6, 4 a node" },
        { "-J|name|-n4", "4" }, { "-Hn4", "4" }, { "-n|3|-n4", "4" },
        /* Not known. */
        { "", "-" }, { "-N4", "-" }, { "--ntasks-per-node=4", "-" }, { "-N1-2|--ntasks-per-node=4", "-" },
        { "-n", "-" }, { "-n0", "-" }, { "-nx", "-" }, { "-n70000", "-" },
        { "-n3|--ntasks-per-node=x", "-" }, { "-N60000|--ntasks-per-node=60000", "-" },
        { "-n3|:|-n2", "-" }, { "-n|3|-n|x", "-" },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++)
        if (strcmp (sbatch (row[i].text, SRUN), row[i].expected) != 0)
            fail_msg ("%s: %s", row[i].text, sbatch (row[i].text, SRUN));
}

TEST (a_script_tells_it_too_and_the_command_line_wins)
{
    static const struct row row[] = {
        { "#!/bin/sh\n#SBATCH -n3\n" SRUN, "3" },
        { "#!/bin/sh\n\n# about it\n#SBATCH -N 2 --ntasks-per-node 4 # all\n" SRUN, "8, 4 a node" },
        { "#!/bin/sh\n#SBATCH -J \"a b\" \"-n3\"\n" SRUN, "3" },
        { "#!/bin/sh\n#SBATCH -n3\n#SBATCH -n5\n" SRUN, "5" },
        { "#!/bin/sh\n#SBATCH -n3\n" SRUN "#SBATCH -n5\n", "3" },
        { "#!/bin/sh\n##SBATCH -n3\n" SRUN, "-" },
        { "#!/bin/sh\n# -n 7, --ntasks\n#SBATCH -n3\n" SRUN, "3" },
        { "#!/bin/sh\n#SBATCH -n3\n#SBATCH hetjob\n#SBATCH -n2\n" SRUN, "-" },
        { "#!/bin/sh\n#SBATCH -n3\n#SBATCH packjob\n#SBATCH -n2\n" SRUN, "-" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        if (strcmp (sbatch ("-Q", row[i].text), row[i].expected) != 0)
            fail_msg ("%s: %s", row[i].text, sbatch ("", row[i].text));
    assert_string_equal (sbatch ("-n5", "#!/bin/sh\n#SBATCH -n3\n" SRUN), "5");
    assert_string_equal (sbatch ("-n5", "#!/bin/sh\n#SBATCH -N2 --ntasks-per-node=3\n" SRUN), "5, 3 a node");
}

TEST (a_program_that_runs_once_is_found_in_a_script_and_in_wrap)
{
    char wrap[] = "sbatch|-n3|--wrap=python train.py", separate[] = "sbatch|--wrap|python train.py",
         launched[] = "sbatch|-n3|--wrap|srun python train.py", command[] = "salloc|-n3|python|train.py";

    sbatch ("-n3", "#!/bin/sh\npython train.py\n");
    assert_true (runs_once);
    sbatch ("-n3", "#!/bin/sh\nsrun python train.py\n");
    assert_false (runs_once);
    read_line (wrap, 0);
    assert_true (runs_once);
    read_line (separate, 0);
    assert_true (runs_once);
    read_line (launched, 0);
    assert_false (runs_once);
    read_line (command, 2);
    assert_false (runs_once);
}

TEST (no_kill_is_found_wherever_it_stands)
{
    static const struct {
        const char *options, *script;
        bool dies;
    } row[] = {
        { "", SRUN, true },
        { "-n3", "echo\n", true },
        { "--no-kill", SRUN, false },
        { "--no-k", SRUN, false },
        { "--no-kill=off", SRUN, true },
        { "--no-kill=set", SRUN, false },
        { "--no-kill=No|-k", SRUN, false },
        { "-k|--no-k=off", SRUN, true },
        { "--no-kill=off", "#!/bin/sh\n#SBATCH --no-kill\n" SRUN, true },
        { "-k", SRUN, false },
        { "-n3|-k", SRUN, false },
        { "-koff", SRUN, true },
        { "", "#!/bin/sh\n#SBATCH --no-kill\n" SRUN, false },
        { "", "#SBATCH -n3 -k\n" SRUN, false },
        { "", SRUN "#SBATCH --no-kill\n", true },
        { "", "srun --no-kill program\n", true },
        { "-Qk", SRUN, false },
        { "--no-requeue", SRUN, true },
        /* Not known. */
        { "", "#SBATCH hetjob\n" SRUN, false },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        sbatch (row[i].options, row[i].script);
        if (dies_with_node != row[i].dies)
            fail_msg ("%s, %s", row[i].options, row[i].script);
    }
}

TEST (salloc_has_options_alone)
{
    char shell[] = "salloc|-n3", command[] = "/bin/salloc|-n3|srun|-n|10|program",
         components[] = "salloc|-n3|srun|one|:|two";

    assert_string_equal (read_line (shell, 2), "3");
    assert_string_equal (read_line (command, 2), "3");
    assert_string_equal (read_line (components, 2), "-");
}

TEST (a_script_that_cannot_be_read_again_says_nothing)
{
    char none[] = "sbatch|-n3", missing[] = "sbatch|-n3|/nowhere/script", directory[] = "sbatch|-n3|/tmp",
         device[] = "sbatch|-n3|/dev/null", wrong[] = "sbatch|-n3";

    assert_string_equal (read_line (none, 2), "-");
    assert_string_equal (read_line (missing, 2), "-");
    assert_string_equal (read_line (directory, 2), "-");
    assert_string_equal (read_line (device, 2), "-");
    assert_string_equal (read_line (wrong, 7), "-");
}

TEST (this_process_has_a_command_line)
{
    struct submission submission;

    submission_read (&submission);
    assert_int_equal (submission.tasks, 0);
}
