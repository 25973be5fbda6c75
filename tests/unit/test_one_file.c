/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which of its programs the static file is.
 */
#include "config.h"

#include <sys/prctl.h>

#include "unit.h"

#define main one_file_main
int one_file_main (int argc, char *argv[]);
/* NOLINTNEXTLINE(bugprone-suspicious-include): its main () is tested. */
#include "static/one-file.c"
#undef main

static char ran[256];

static int _note (const char *program, int argc, char *argv[])
{
    size_t used = (size_t)snprintf (ran, sizeof (ran), "%s", program);

    for (int i = 1; i < argc; i++)
        used += (size_t)snprintf (ran + used, sizeof (ran) - used, " %s", argv[i]);
    return 7;
}

int tf_abandoned_main (int argc, char *argv[])
{
    return _note ("abandoned", argc, argv);
}

int tf_check_main (int argc, char *argv[])
{
    return _note ("check", argc, argv);
}

int tf_exec_main (int argc, char *argv[])
{
    return _note ("exec", argc, argv);
}

int tf_rendezvous_main (int argc, char *argv[])
{
    return _note ("rendezvous", argc, argv);
}

int tf_run_main (int argc, char *argv[])
{
    return _note ("run", argc, argv);
}

int tf_status_main (int argc, char *argv[])
{
    return _note ("status", argc, argv);
}

int tf_supervise_main (int argc, char *argv[])
{
    return _note ("supervise", argc, argv);
}

TEST (argv_0_or_the_first_argument_names_the_program)
{
    static const struct {
        const char *argv[4], *ran, *name;
    } row[] = {
        { { "tf-run", "srun", "-n2" }, "run srun -n2", "tf-run" },
        { { "/home/u/bin/tf-exec", "--help" }, "exec --help", "tf-exec" },
        { { "/home/u/bin/tf-run", "tf-check", "-q" }, "check -q", "tf-check" },
        { { "tf-status", "12" }, "status 12", "tf-status" },
        { { "tf-supervise", "12.0" }, "supervise 12.0", "tf-supervise" },
        { { "tf-rendezvous", "12.0" }, "rendezvous 12.0", "tf-rendezvous" },
        { { "tf-abandoned", "cancel" }, "abandoned cancel", "tf-abandoned" },
        /* A copy by srun --bcast. */
        { { "/tmp/slurm_bcast_12.0", "--task:" }, "run --task:", "tf-run" },
        { { "/tmp/slurm_bcast_12.0", "tf-exec" }, "exec", "tf-exec" },
        /* The program of a user is none of these. */
        { { "tf-exec", "tf-check" }, "exec tf-check", "tf-exec" },
        { { "tf-run" }, "run", "tf-run" },
        { { NULL }, "run", "tf-run" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        char words[4][32], *argv[5] = { NULL }, name[16] = "";
        int argc = 0;

        for (; argc < 4 && row[i].argv[argc]; argc++) {
            snprintf (words[argc], sizeof (words[argc]), "%s", row[i].argv[argc]);
            argv[argc] = words[argc];
        }
        assert_int_equal (one_file_main (argc, argv), 7);
        assert_string_equal (ran, row[i].ran);
        prctl (PR_GET_NAME, name);
        assert_string_equal (name, row[i].name);
    }
}

int main (void)
{
    return unit_run ();
}
