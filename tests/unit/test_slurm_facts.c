/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What tf-run reads in Slurm's configuration.
 */
#include "config.h"

#include "unit.h"

#include "run/slurm_facts.h"

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
