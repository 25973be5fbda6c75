/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-check, on a prepared installation: a directory with slurm.conf, plugstack.conf, copies of the
 * plugin and of the helper programs, and a PluginDir. Each test breaks one thing, and expects the
 * line that says so.
 */
#include "config.h"

#include "unit.h"
#include "../random.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/findings.h"
#include "check/installation.h"
#include "check/network.h"
#include "check/ports.h"
#include "check/python.h"

static char root[] = "/tmp/test_check.XXXXXX";

/* Files of the installation. */

static const char *at (const char *name)
{
    static char path[4][PATH_MAX];
    static unsigned int next;
    char *to = path[next++ % 4];

    snprintf (to, PATH_MAX, "%s/%s", root, name);
    return to;
}

static void __attribute__ ((format (printf, 2, 3))) write_file (const char *name, const char *fmt, ...)
{
    FILE *f = fopen (at (name), "w");
    va_list ap;

    assert_non_null (f);
    va_start (ap, fmt);
    vfprintf (f, fmt, ap);
    va_end (ap);
    fclose (f);
}

static char *read_all (const char *path, size_t *size)
{
    struct stat st;
    FILE *f = fopen (path, "r");
    char *bytes;

    assert_non_null (f);
    fstat (fileno (f), &st);
    bytes = malloc (*size = (size_t)st.st_size);
    assert_int_equal (fread (bytes, 1, *size, f), *size);
    fclose (f);
    return bytes;
}

static void write_bytes (const char *name, const char *bytes, size_t size)
{
    FILE *f = fopen (at (name), "w");

    assert_non_null (f);
    assert_int_equal (fwrite (bytes, 1, size, f), size);
    fclose (f);
    assert_int_equal (chmod (at (name), 0755), 0);
}

/*
 * Copy a file that was built. If `from` is not NULL, every occurrence of it is replaced with `to`,
 * which is as long.
 */
static void copy (const char *file, const char *name, const char *from, const char *to)
{
    size_t size, found = 0;
    char *bytes = read_all (file, &size);

    for (char *p = bytes; from && (p = memmem (p, size - (size_t)(p - bytes), from, strlen (from))); found++)
        memcpy (p, to, strlen (to));
    assert_true (!from || found);
    write_bytes (name, bytes, size);
    free (bytes);
}

/* "required PLUGIN ARGUMENTS" */
static void plugstack (const char *arguments)
{
    write_file ("plugstack.conf", "# a comment\n\nrequired %s/spank_tf.so libexecdir=%s/libexec %s\n", root,
                root, arguments);
}

static void slurm_conf (const char *more)
{
    write_file ("slurm.conf", "ClusterName=x # PluginDir=/nowhere\nPluginDir=%s/slurm\n%s\n", root, more);
}

static int intact (void **unused __attribute__ ((unused)))
{
    unsetenv ("SLURM_CONF");
    slurm_conf ("");
    plugstack ("");
    copy (SPANK_TF_SO, "spank_tf.so", NULL, NULL);
    copy (AUTH_X_SO, "slurm/auth_x.so", NULL, NULL);
    copy (TF_RENDEZVOUS, "libexec/tf-rendezvous", NULL, NULL);
    copy (TF_SUPERVISE, "libexec/tf-supervise", NULL, NULL);
    copy (TF_ADDRESSES, "libexec/tf-addresses", NULL, NULL);
    unlink (at ("more.conf"));
    return 0;
}

EACH_TEST (intact, NULL)

static int make_root (void **unused __attribute__ ((unused)))
{
    /* In a network of its own, if this is root, so that no other program takes the ports. */
    (void)!unshare (CLONE_NEWNET);
    return !mkdtemp (root) || mkdir (at ("slurm"), 0755) < 0 || mkdir (at ("libexec"), 0755) < 0;
}

static int remove_root (void **unused __attribute__ ((unused)))
{
    char command[64];

    snprintf (command, sizeof (command), "rm -r %s", root);
    return system (command);
}

ALL_TESTS (make_root, remove_root)

/* Findings. */

static struct findings findings;
static struct installation installation;

/* The lines that are printed, with ROOT for the directory. */
static const char *printed (void)
{
    static char text[32768];
    char *all = NULL, *p, *to = text;
    size_t size;
    FILE *f = open_memstream (&all, &size);

    findings_print (&findings, false, "", f);
    fclose (f);
    for (p = all; *p;)
        if (strncmp (p, root, strlen (root)) == 0) {
            to = stpcpy (to, "ROOT");
            p += strlen (root);
        } else
            *to++ = *p++;
    *to = '\0';
    free (all);
    return text;
}

static void check_installation (void)
{
    memset (&findings, 0, sizeof (findings));
    installation_check (&installation, at ("slurm.conf"), &findings);
}

static void has_line (const char *line)
{
    const char *found = strstr (printed (), line);

    if (!found || (found != printed () && found[-1] != '\n') || found[strlen (line)] != '\n')
        fail_msg ("not found: %s\nin:\n%s", line, printed ());
}

/* The installation has this warning or error, and no other one. */
static void only (enum level level, const char *line)
{
    has_line (line);
    assert_int_equal (findings.worst, level);
    for (size_t i = 0, bad = 0; i < findings.count; i++)
        if (findings.finding[i].level != LEVEL_OK && bad++)
            fail_msg ("more than one:\n%s", printed ());
}

static void installation_has (enum level level, const char *line)
{
    check_installation ();
    only (level, line);
}

/* What must be ok. */

TEST (an_intact_installation_is_ok)
{
    check_installation ();
    assert_int_equal (findings.worst, LEVEL_OK);
    assert_int_equal (findings.count, 6);
    has_line ("ok: slurm.conf is ROOT/slurm.conf");
    has_line ("ok: ROOT/plugstack.conf:3 loads the plugin");
    has_line ("ok: its arguments are valid");
    has_line ("ok: ROOT/spank_tf.so is of version " PACKAGE_VERSION);
    has_line ("ok: the helper programs in ROOT/libexec are of version " PACKAGE_VERSION ", as the plugin");
    assert_non_null (strstr (printed (), "ok: the plugin was built for Slurm "));
}

TEST (quiet_prints_nothing_if_all_is_ok)
{
    char *all = NULL;
    size_t size;
    FILE *f = open_memstream (&all, &size);

    check_installation ();
    findings_print (&findings, true, "", f);
    fclose (f);
    assert_int_equal (size, 0);
    free (all);
}

/* slurm.conf. */

TEST (a_missing_slurm_conf_is_an_error)
{
    unlink (at ("slurm.conf"));
    installation_has (LEVEL_ERROR, "error: ROOT/slurm.conf: No such file or directory; set "
                                   "SLURM_CONF, or start slurmd, which gets it from slurmctld");
}

TEST (SLURM_CONF_names_it)
{
    struct slurm_conf conf;

    setenv ("SLURM_CONF", "/a/b", 1);
    assert_int_equal (slurm_conf_find (&conf, NULL, NULL), 0);
    assert_string_equal (conf.path, "/a/b");
    assert_int_equal (slurm_conf_find (&conf, "/c", NULL), 0);
    assert_string_equal (conf.path, "/c");
}

static void read_conf (struct slurm_conf *conf, const char *text)
{
    struct errtext err = { "" };

    write_file ("slurm.conf", "%s", text);
    memset (conf, 0, sizeof (*conf));
    assert_int_equal (slurm_conf_find (conf, at ("slurm.conf"), &err), 0);
    if (slurm_conf_read (conf, &err) < 0)
        fail_msg ("%s: %s", text, err.text);
}

TEST (slurm_conf_is_read_as_slurm_reads_it)
{
    /* clang-format off */
    static const char *const same[] = {
        "SrunPortRange=60001-63000", "srunportrange=60001-63000\n", "SrunPortRange = 60001-63000",
        "SrunPortRange=1-2\nSrunPortRange=60001-63000\n", "SrunPortRange=\"60001-63000\" X=y",
        "A=b SrunPortRange=60001-63000 C=d", "A=b \\\nSrunPortRange=60001-63000 C=d\n",
        "\tSrunPortRange=60001-63000#SrunPortRange=2-3\r\n", "Include more.conf\n",
        "include \t more.conf  \r\n", "# SrunPortRange=2-3\nSrunPortRange=60001-63000",
        "SrunPortRange=60001-63000\nNotSrunPortRange=2-3\nSrunPortRangeNot=4-5\n",
    };
    /* clang-format on */
    struct slurm_conf conf;

    write_file ("more.conf", "SrunPortRange=60001-63000\n");
    for (size_t i = 0; i < COUNT (same); i++) {
        read_conf (&conf, same[i]);
        if (strcmp (conf.srun_ports, "60001-63000") != 0)
            fail_msg ("%s: %s", same[i], conf.srun_ports);
    }
}

TEST (all_keys_are_read)
{
    struct slurm_conf conf;

    read_conf (&conf, "SlurmctldHost=a(10.0.0.1)\nSlurmctldHost=b\nMpiParams=ports=1-2\n"
                      "PluginDir=/p:/q\nPlugStackConfig=/etc/ps.conf\nSrunPortRange=\n");
    assert_string_equal (conf.controller, "a(10.0.0.1)");
    assert_string_equal (conf.mpi_params, "ports=1-2");
    assert_string_equal (conf.plugin_dir, "/p:/q");
    assert_string_equal (conf.plugstack, "/etc/ps.conf");
    assert_string_equal (conf.srun_ports, "");
    read_conf (&conf, "");
    assert_string_equal (conf.plugstack, at ("plugstack.conf"));
}

TEST (a_slurm_conf_that_includes_itself_is_an_error)
{
    write_file ("slurm.conf", "include slurm.conf\n");
    installation_has (LEVEL_ERROR, "error: ROOT/slurm.conf: it includes itself; set SLURM_CONF, or "
                                   "start slurmd, which gets it from slurmctld");
}

TEST (an_included_file_that_is_missing_is_an_error)
{
    write_file ("slurm.conf", "include more.conf\n");
    installation_has (LEVEL_ERROR, "error: ROOT/more.conf: No such file or directory; set "
                                   "SLURM_CONF, or start slurmd, which gets it from slurmctld");
}

/* plugstack.conf. */

TEST (a_missing_plugstack_conf_is_an_error)
{
    unlink (at ("plugstack.conf"));
    installation_has (LEVEL_ERROR,
                      "error: there is no ROOT/plugstack.conf, so Slurm does not load "
                      "the plugin; write \"include /etc/slurm/plugstack.conf.d/*.conf\" into it");
}

TEST (a_plugstack_conf_without_the_plugin_is_an_error)
{
    write_file ("plugstack.conf",
                "#required %s/spank_tf.so\nrequired /x/other.so a=b\n"
                "include nothing.d/*\n",
                root);
    installation_has (LEVEL_ERROR,
                      "error: neither ROOT/plugstack.conf nor a file that it includes "
                      "loads spank_tf.so; let it include 10-spank-tf.conf, which make install has "
                      "installed");
}

TEST (includes_are_followed)
{
    write_file ("more.conf", "\n\trequired \t%s/spank_tf.so libexecdir=%s/libexec # end\n", root, root);
    write_file ("plugstack.conf", "include m*.conf");
    check_installation ();
    assert_int_equal (findings.worst, LEVEL_OK);
    has_line ("ok: ROOT/more.conf:2 loads the plugin");
}

TEST (two_lines_are_an_error)
{
    write_file ("more.conf", "required %s/spank_tf.so\n", root);
    write_file ("plugstack.conf",
                "required %s/spank_tf.so libexecdir=%s/libexec\n"
                "include %s/more.conf\n",
                root, root, root);
    installation_has (LEVEL_ERROR, "error: the plugin is loaded 2 times, by ROOT/plugstack.conf:1 "
                                   "and by ROOT/more.conf:1; keep one of the lines");
}

TEST (many_lines_are_counted)
{
    FILE *f = fopen (at ("plugstack.conf"), "w");

    for (int i = 0; i < 40; i++)
        fprintf (f, "required %s/spank_tf.so libexecdir=%s/libexec\n", root, root);
    fclose (f);
    installation_has (LEVEL_ERROR, "error: the plugin is loaded 40 times, by ROOT/plugstack.conf:1 "
                                   "and by ROOT/plugstack.conf:2; keep one of the lines");
}

TEST (an_optional_line_is_a_warning)
{
    write_file ("plugstack.conf", "optional %s/spank_tf.so libexecdir=%s/libexec\n", root, root);
    installation_has (LEVEL_WARNING,
                      "warning: ROOT/plugstack.conf:1 loads the plugin as optional, "
                      "so where it is broken tasks run without TF_CONFIG; write required instead");
}

TEST (a_line_that_slurm_ignores_is_an_error)
{
    write_file ("plugstack.conf", "requierd %s/spank_tf.so\n", root);
    installation_has (LEVEL_ERROR, "error: ROOT/plugstack.conf:1: \"requierd\" is not required, "
                                   "optional or include, so Slurm ignores the line; correct the line");
    write_file ("plugstack.conf", "/x/spank_tf.so\n");
    installation_has (LEVEL_ERROR,
                      "error: ROOT/plugstack.conf:1: \"/x/spank_tf.so\" is not "
                      "required, optional or include, so Slurm ignores the line; correct the line");
}

#define PYXIS "required /usr/lib/slurm/spank_pyxis.so runtime_path=/run/pyxis\n"
#define OURS "required %s/spank_tf.so libexecdir=%s/libexec\n"
#define LATE "required /usr/lib/spank-tf/spank_tf_late.so\n"

/* Slurm calls the plugins in the order of their lines, those of included files where they are included. */
TEST (the_order_of_plugins_beside_pyxis_is_checked)
{
    write_file ("plugstack.conf", "# pyxis\n" OURS PYXIS LATE, root, root);
    installation_has (LEVEL_OK,
                      "ok: pyxis (ROOT/plugstack.conf:3) stands between spank_tf and spank_tf_late.so");
    write_file ("plugstack.conf", OURS LATE, root, root);
    installation_has (LEVEL_OK, "ok: ROOT/plugstack.conf:1 loads the plugin");
    write_file ("plugstack.conf", PYXIS OURS, root, root);
    installation_has (LEVEL_ERROR, "error: pyxis stands before spank_tf (ROOT/plugstack.conf:1, and then "
                                   "ROOT/plugstack.conf:2): in a container, tasks do not find spank-tf's "
                                   "programs; write the line of spank_tf before it");
    write_file ("plugstack.conf", OURS PYXIS, root, root);
    installation_has (LEVEL_WARNING,
                      "warning: no spank_tf_late.so stands behind pyxis (ROOT/plugstack.conf:2): in "
                      "a container no task can be restarted, and SLURM_TF_... may be those of "
                      "another task; write the line of spank_tf_late.so behind pyxis");
    write_file ("plugstack.conf", OURS LATE PYXIS, root, root);
    installation_has (LEVEL_WARNING,
                      "warning: spank_tf_late.so stands before pyxis (ROOT/plugstack.conf:3): in a "
                      "container no task can be restarted, and SLURM_TF_... may be those of "
                      "another task; write the line of spank_tf_late.so behind pyxis");
    write_file ("plugstack.conf", LATE OURS, root, root);
    installation_has (LEVEL_ERROR, "error: spank_tf_late.so (ROOT/plugstack.conf:1) stands before spank_tf "
                                   "(ROOT/plugstack.conf:2); write it behind all others");
}

TEST (the_order_of_plugins_is_that_of_included_files)
{
    assert_int_equal (mkdir (at ("conf.d"), 0755), 0);
    write_file ("plugstack.conf", "include conf.d/*.conf\n" LATE);
    write_file ("conf.d/05-pyxis.conf", PYXIS);
    write_file ("conf.d/10-spank-tf.conf", OURS, root, root);
    installation_has (LEVEL_ERROR,
                      "error: pyxis stands before spank_tf (ROOT/conf.d/05-pyxis.conf:1, and then "
                      "ROOT/conf.d/10-spank-tf.conf:1): in a container, tasks do not find "
                      "spank-tf's programs; write the line of spank_tf before it");
    assert_int_equal (rename (at ("conf.d/05-pyxis.conf"), at ("conf.d/50-pyxis.conf")), 0);
    installation_has (LEVEL_OK,
                      "ok: pyxis (ROOT/conf.d/50-pyxis.conf:1) stands between spank_tf and spank_tf_late.so");
    unlink (at ("conf.d/50-pyxis.conf"));
    unlink (at ("conf.d/10-spank-tf.conf"));
    rmdir (at ("conf.d"));
}

TEST (a_plugstack_conf_that_cannot_be_read_is_an_error)
{
    unlink (at ("plugstack.conf"));
    assert_int_equal (mkdir (at ("plugstack.conf"), 0755), 0);
    check_installation ();
    assert_int_equal (rmdir (at ("plugstack.conf")), 0);
    only (LEVEL_ERROR, "error: ROOT/plugstack.conf: Is a directory; let every user read it; srun "
                       "fails otherwise");
}

TEST (a_plugstack_conf_that_includes_itself_is_an_error)
{
    write_file ("plugstack.conf", "include *.conf\n");
    unlink (at ("slurm.conf"));
    slurm_conf ("");
    check_installation ();
    assert_int_equal (findings.worst, LEVEL_ERROR);
    has_line ("error: ROOT/plugstack.conf: it includes itself; let every user read it; srun fails "
              "otherwise");
}

/* Configless: slurmd's copies of slurmctld's files. */

TEST (a_plugstack_conf_from_slurmctld_has_no_included_files)
{
    static const char advice[] = "; write the line of 10-spank-tf.conf into plugstack.conf itself, on "
                                 "slurmctld's host, and run scontrol reconfigure there";
    static const struct {
        const char *plugstack, *line;
    } row[] = {
        { "# a comment\ninclude plugstack.conf.d/*.conf\ninclude more.d/*\n",
          "ROOT/conf-cache/plugstack.conf came from slurmctld (configless), which does not hand out the "
          "files that it includes: there is no ROOT/conf-cache/plugstack.conf.d/*.conf, so Slurm does "
          "not load the plugin" },
        { "include /nowhere/*\n",
          "ROOT/conf-cache/plugstack.conf came from slurmctld (configless), which does not hand out the "
          "files that it includes: there is no /nowhere/*, so Slurm does not load the plugin" },
        { "required /x/other.so\n",
          "ROOT/conf-cache/plugstack.conf came from slurmctld (configless), and does not load "
          "spank_tf.so" },
        { NULL, "slurmctld has handed out its files (configless), but no plugstack.conf, so Slurm does not "
                "load the plugin" },
    };

    assert_int_equal (mkdir (at ("conf-cache"), 0755), 0);
    write_file ("conf-cache/slurm.conf", "PluginDir=%s/slurm\n", root);
    assert_int_equal (symlink (at ("conf-cache"), at ("conf")), 0);
    for (size_t n = 0; n < COUNT (row); n++) {
        char line[512];

        if (row[n].plugstack)
            write_file ("conf-cache/plugstack.conf", "%s", row[n].plugstack);
        else
            unlink (at ("conf-cache/plugstack.conf"));
        snprintf (line, sizeof (line), "error: %s%s", row[n].line, advice);
        memset (&findings, 0, sizeof (findings));
        installation_check (&installation, at ("conf-cache/slurm.conf"), &findings);
        only (LEVEL_ERROR, line);
    }
    /* By the link, and a line that works. */
    write_file ("conf-cache/plugstack.conf", "include nothing/*\n");
    memset (&findings, 0, sizeof (findings));
    installation_check (&installation, at ("conf/slurm.conf"), &findings);
    assert_non_null (strstr (printed (), "ROOT/conf/plugstack.conf came from slurmctld (configless)"));
    write_file ("conf-cache/plugstack.conf",
                "include nothing/*\nrequired %s/spank_tf.so "
                "libexecdir=%s/libexec\n",
                root, root);
    memset (&findings, 0, sizeof (findings));
    installation_check (&installation, at ("conf/slurm.conf"), &findings);
    assert_int_equal (findings.worst, LEVEL_OK);
}

/* Arguments. */

/* test_option_table.c has the values of each. */
TEST (arguments_are_checked)
{
    static const struct {
        const char *good, *bad, *message;
    } row[] = {
        { "hold=no", "hold=x", "hold: \"x\" is neither yes nor no" },
        { "stop_grace=1", "stop_grace=x",
          "stop_grace: \"x\" is not a time from 0 to 604800 seconds, as in 300, 5m or 5:00" },
        { "show=no", "shwo=yes", "\"shwo=yes\" is not an argument of spank_tf" },
        { "show=no", "tf-show=yes", "\"tf-show=yes\" is not an argument of spank_tf" },
        { "show=no", "show", "\"show\" is not an argument of spank_tf" },
        { "show=no", "=yes", "\"=yes\" is not an argument of spank_tf" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        char line[512];

        plugstack (row[i].good);
        check_installation ();
        assert_int_equal (findings.worst, LEVEL_OK);
        plugstack (row[i].bad);
        snprintf (line, sizeof (line),
                  "error: ROOT/plugstack.conf:3: %s; correct or remove it; "
                  "see spank-tf(8)",
                  row[i].message);
        installation_has (LEVEL_ERROR, line);
    }
}

TEST (a_relative_libexecdir_is_an_error)
{
    write_file ("plugstack.conf", "required %s/spank_tf.so libexecdir=lib\n", root);
    check_installation ();
    has_line ("error: ROOT/plugstack.conf:1: libexecdir: an absolute path is needed; correct or "
              "remove it; see spank-tf(8)");
}

/* The plugin. */

TEST (a_missing_plugin_is_an_error)
{
    unlink (at ("spank_tf.so"));
    installation_has (LEVEL_ERROR, "error: ROOT/spank_tf.so: No such file or directory; install "
                                   "spank-tf again, or correct the path in plugstack.conf");
}

TEST (a_file_that_is_not_a_plugin_is_an_error)
{
    write_file ("spank_tf.so", "#!/bin/sh\n# a text that is longer than the header of an ELF file, "
                               "which has 64 bytes on most machines\n");
    installation_has (LEVEL_ERROR, "error: ROOT/spank_tf.so: it is not a program or a library; "
                                   "install spank-tf again, or correct the path in plugstack.conf");
    write_file ("spank_tf.so", "%s", "");
    installation_has (LEVEL_ERROR, "error: ROOT/spank_tf.so: it is not a program or a library; "
                                   "install spank-tf again, or correct the path in plugstack.conf");
}

TEST (a_plugin_for_another_machine_is_an_error)
{
    size_t size;
    char *bytes = read_all (SPANK_TF_SO, &size);

    bytes[18] ^= 1;     /* e_machine */
    write_bytes ("spank_tf.so", bytes, size);
    free (bytes);
    installation_has (LEVEL_ERROR, "error: ROOT/spank_tf.so: it is for another kind of machine; "
                                   "install spank-tf again, or correct the path in plugstack.conf");
}

TEST (a_plugin_without_a_version_is_an_error)
{
    copy (SPANK_TF_SO, "spank_tf.so", "spank-tf=", "spank-xx=");
    installation_has (LEVEL_ERROR, "error: ROOT/spank_tf.so is older than this tf-check, and does "
                                   "not say for which Slurm it was built; install spank-tf again");
}

TEST (a_plugin_that_is_cut_is_an_error_and_no_crash)
{
    size_t size;
    char *bytes = read_all (SPANK_TF_SO, &size);

    for (size_t length = 0; length < size; length += size / 61) {
        write_bytes ("spank_tf.so", bytes, length);
        check_installation ();
        assert_int_equal (findings.worst, LEVEL_ERROR);
    }
    free (bytes);
}

TEST (of_a_damaged_plugin_something_is_said)
{
    size_t size;
    char *bytes = read_all (SPANK_TF_SO, &size), *damaged = malloc (size);
    uint64_t seed = RANDOM_SEED;

    for (int round = 0; round < 100; round++) {
        memcpy (damaged, bytes, size);
        for (int i = 0; i < 64; i++)
            damaged[random_next (&seed) % 64] ^= (char)(1 << random_next (&seed) % 8);
        for (int i = 0; i < 64; i++)
            damaged[size - 1 - random_next (&seed) % (size < 3000 ? size : 3000)] = (char)random_next (&seed);
        memcpy (damaged, bytes, 20);
        write_bytes ("spank_tf.so", damaged, size);
        copy (at ("spank_tf.so"), "slurm/auth_x.so", NULL, NULL);
        check_installation ();
        /* What stands before the plugin is all right, and something is said of it. */
        has_line ("ok: ROOT/plugstack.conf:3 loads the plugin");
        assert_non_null (strstr (printed (), ": ROOT/spank_tf.so"));
        for (size_t i = 0; i < findings.count; i++)
            assert_true (is_line (findings.finding[i].text));
    }
    free (damaged);
    free (bytes);
}

TEST (a_plugin_for_another_slurm_is_an_error)
{
    char built_for[16], from[32], line[256];

    check_installation ();
    snprintf (built_for, sizeof (built_for), "%s", installation.built_for);
    snprintf (from, sizeof (from), "slurm=%s", built_for);
    copy (SPANK_TF_SO, "spank_tf.so", from, "slurm=99.11");
    snprintf (line, sizeof (line),
              "error: the plugin was built for Slurm 99.11, and this host has "
              "Slurm %s; build spank-tf for this Slurm",
              installation.slurm);
    installation_has (LEVEL_ERROR, line);
}

TEST (an_unknown_slurm_is_a_warning)
{
    char line[256];

    write_file ("slurm/auth_x.so", "not a plugin");
    check_installation ();
    snprintf (line, sizeof (line),
              "warning: the plugin was built for Slurm %s, but which Slurm is "
              "installed is not known: its plugins were not found; set PluginDir in slurm.conf",
              installation.built_for);
    only (LEVEL_WARNING, line);
}

TEST (a_plugin_with_a_relative_path_is_in_PluginDir)
{
    write_file ("plugstack.conf", "required spank_tf.so libexecdir=%s/libexec\n", root);
    installation_has (LEVEL_ERROR, "error: ROOT/slurm/spank_tf.so: No such file or directory; "
                                   "install spank-tf again, or correct the path in plugstack.conf");
    copy (SPANK_TF_SO, "slurm/spank_tf.so", NULL, NULL);
    check_installation ();
    unlink (at ("slurm/spank_tf.so"));
    assert_int_equal (findings.worst, LEVEL_OK);
}

/* The helper programs. */

TEST (a_missing_helper_is_an_error)
{
    unlink (at ("libexec/tf-rendezvous"));
    installation_has (LEVEL_ERROR, "error: ROOT/libexec/tf-rendezvous: No such file or directory; "
                                   "install spank-tf again");
}

TEST (a_helper_that_cannot_be_executed_is_an_error)
{
    chmod (at ("libexec/tf-supervise"), 0644);
    installation_has (LEVEL_ERROR, "error: ROOT/libexec/tf-supervise: Permission denied; install "
                                   "spank-tf again");
}

TEST (without_tf_addresses_there_is_a_warning)
{
    unlink (at ("libexec/tf-addresses"));
    installation_has (LEVEL_WARNING, "warning: ROOT/libexec/tf-addresses: No such file or "
                                     "directory; install spank-tf again");
}

/* A version as long as this one. */
static const char *other_version (void)
{
    static char other[] = "spank-tf=" PACKAGE_VERSION;
    char *last = &other[sizeof (other) - 2];

    *last = PACKAGE_VERSION[sizeof (PACKAGE_VERSION) - 2] == '9' ? '8' : '9';
    return other;
}

TEST (a_helper_of_another_version_is_an_error)
{
    char line[256];

    copy (TF_SUPERVISE, "libexec/tf-supervise", "spank-tf=" PACKAGE_VERSION, other_version ());
    snprintf (line, sizeof (line),
              "error: ROOT/libexec/tf-supervise: it is of version %s, the "
              "plugin of version " PACKAGE_VERSION "; install spank-tf again",
              strchr (other_version (), '=') + 1);
    installation_has (LEVEL_ERROR, line);
    copy (TF_SUPERVISE, "libexec/tf-supervise", "spank-tf=" PACKAGE_VERSION, "spank_tf=" PACKAGE_VERSION);
    installation_has (LEVEL_ERROR, "error: ROOT/libexec/tf-supervise: it is of version unknown, "
                                   "the plugin of version " PACKAGE_VERSION "; install spank-tf again");
}

TEST (a_tf_check_of_another_version_is_a_warning)
{
    const char *from = "spank-tf=" PACKAGE_VERSION, *to = other_version ();
    char line[256];

    copy (SPANK_TF_SO, "spank_tf.so", from, to);
    copy (TF_RENDEZVOUS, "libexec/tf-rendezvous", from, to);
    copy (TF_SUPERVISE, "libexec/tf-supervise", from, to);
    copy (TF_ADDRESSES, "libexec/tf-addresses", from, to);
    snprintf (line, sizeof (line),
              "warning: this tf-check is of version " PACKAGE_VERSION ", the "
              "plugin of version %s; use the tf-check that was installed with the plugin",
              strchr (to, '=') + 1);
    installation_has (LEVEL_WARNING, line);
}

/* Ports. */

/* Listen on `count` ports beside each other. Returns the first one. */
static int occupy (int fd[], int count)
{
    for (int low = 21000; low < 29000; low += count) {
        int taken = 0;

        while (taken < count) {
            struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
                                        .sin6_port = htons ((uint16_t)(low + taken)) };

            fd[taken] = socket (AF_INET6, SOCK_STREAM, 0);
            if (bind (fd[taken], (struct sockaddr *)&in6, sizeof (in6)) < 0)
                break;
            taken++;
        }
        if (taken == count)
            return low;
        for (int i = 0; i <= taken; i++)
            close (fd[i]);
    }
    fail_msg ("no free ports");
    return -1;
}

static void check_ports (const char *srun, const char *rendezvous, const char *ports, const char *mpi)
{
    struct slurm_conf conf = { .path = "" };
    struct arguments arguments = { { [OPTION_PORTS] = ports, [OPTION_RENDEZVOUS_PORTS] = rendezvous } };

    snprintf (conf.srun_ports, sizeof (conf.srun_ports), "%s", srun);
    snprintf (conf.mpi_params, sizeof (conf.mpi_params), "%s", mpi);
    memset (&findings, 0, sizeof (findings));
    ports_check (&conf, &arguments, &findings);
}

#define HOLD_OK "ok: a port can be held for a server (SO_REUSEADDR)"

TEST (ports_that_are_free_are_ok)
{
    check_ports ("", NULL, NULL, "");
    assert_string_equal (printed (), HOLD_OK "\n");
    check_ports ("21000-28000", "28001-28100", "28101-28200", "");
    assert_string_equal (printed (), "ok: SrunPortRange=21000-28000: ports are free\n"
                                     "ok: rendezvous_ports=28001-28100: ports are free\n"
                                     "ok: ports=28101-28200: ports are free\n" HOLD_OK "\n");
    check_ports ("", "any", "any", "");
    assert_int_equal (findings.worst, LEVEL_OK);
}

TEST (ports_that_are_used_are_an_error)
{
    int fd[4], low = occupy (fd, 4);
    char range[32], line[256];

    snprintf (range, sizeof (range), "%d-%d", low, low + 3);
    check_ports ("", range, NULL, "");
    snprintf (line, sizeof (line),
              "error: rendezvous_ports=%s: 0 of its ports are free on this "
              "host, and a step needs 1; make the range larger, or end the programs that use its "
              "ports",
              range);
    only (LEVEL_ERROR, line);
    check_ports ("", NULL, range, "");
    snprintf (line, sizeof (line),
              "error: ports=%s: 0 of its ports are free on this host, and a "
              "step needs 1; make the range larger, or end the programs that use its ports",
              range);
    has_line (line);
    close (fd[2]);
    check_ports (range, NULL, NULL, "");
    snprintf (line, sizeof (line),
              "error: SrunPortRange=%s: 1 of its ports is free on this host, "
              "and a step needs 6; make the range larger, or end the programs that use its ports",
              range);
    only (LEVEL_ERROR, line);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            close (fd[i]);
}

TEST (a_small_SrunPortRange_is_an_error)
{
    int fd[6], low = occupy (fd, 6);
    char range[32], line[256];

    for (int i = 0; i < 6; i++)
        close (fd[i]);
    snprintf (range, sizeof (range), "%d-%d", low, low + 4);
    check_ports (range, "any", NULL, "");
    assert_int_equal (findings.worst, LEVEL_OK);
    check_ports (range, NULL, NULL, "");
    snprintf (line, sizeof (line),
              "error: SrunPortRange=%s: 5 of its ports are free on this host, "
              "and a step needs 6; make the range larger, or end the programs that use its ports",
              range);
    only (LEVEL_ERROR, line);
}

TEST (an_invalid_SrunPortRange_is_an_error)
{
    check_ports ("60001", NULL, NULL, "");
    only (LEVEL_ERROR, "error: SrunPortRange=60001: 1 of its ports is free on this host, and a "
                       "step needs 6; make the range larger, or end the programs that use its ports");
    check_ports ("high", NULL, NULL, "");
    only (LEVEL_ERROR, "error: SrunPortRange: \"high\" is not a range of ports; a range is "
                       "LOW-HIGH, as in 30000-30999; correct it");
    check_ports ("500-1600", NULL, NULL, "");
    only (LEVEL_ERROR, "error: SrunPortRange: \"500-1600\" has privileged ports; the lowest port "
                       "that a user's program can bind is 1024; correct it");
}

TEST (ranges_that_overlap_are_a_warning)
{
    check_ports ("21000-28000", NULL, "28000-28100", "");
    only (LEVEL_WARNING, "warning: ports= and SrunPortRange overlap, so tasks can use up the ports "
                         "that srun needs; use different ranges");
    check_ports ("", "22000-23000,24000-25000", "24500-24600", "");
    only (LEVEL_WARNING, "warning: ports= and rendezvous_ports overlap, so tasks can use up the "
                         "ports that srun needs; use different ranges");
}

TEST (reserved_ports_need_MpiParams)
{
    check_ports ("", NULL, "reserved", "ports=30000-31000");
    assert_string_equal (printed (), "ok: ports=reserved, and MpiParams=ports=30000-31000\n" HOLD_OK "\n");
    check_ports ("", NULL, "reserved", "x,ports=30000-31000");
    assert_int_equal (findings.worst, LEVEL_OK);
    check_ports ("", NULL, "reserved", "x");
    only (LEVEL_ERROR,
          "error: ports=reserved, but MpiParams in slurm.conf has no ports=, so Slurm "
          "reserves none; set MpiParams=ports=LOW-HIGH in slurm.conf, or another value of ports=");
}

static bool listen_fails;

int __real_listen (int fd, int backlog);
int __wrap_listen (int fd, int backlog);

int __wrap_listen (int fd, int backlog)
{
    if (!listen_fails)
        return __real_listen (fd, backlog);
    errno = EACCES;
    return -1;
}

TEST (a_port_that_cannot_be_shared_is_an_error)
{
    listen_fails = true;
    check_ports ("", NULL, NULL, "");
    listen_fails = false;
    assert_int_equal (findings.worst, LEVEL_ERROR);
    assert_int_equal (strncmp (printed (),
                               "error: a port cannot be held for a server (SO_REUSEADDR): "
                               "cannot listen on port ",
                               80),
                      0);
    assert_non_null (strstr (printed (), ": Permission denied; set hold=no in plugstack.conf, or "
                                         "ask why the kernel refuses it\n"));
}

/* Networks. */

/* Check this ib= and network= on a host with these interfaces, NULL at the end. */
static void check_network (const char *ib, const char *network, const char *own,
                           const char *const interface[])
{
    struct arguments arguments = { { [OPTION_IB] = ib, [OPTION_NETWORK] = network } };
    struct interface list[INTERFACE_MAX];
    struct address address;
    int count = 0;

    for (; interface[count]; count++)
        assert_int_equal (interface_parse (&list[count], interface[count]), 0);
    if (own)
        assert_int_equal (address_parse (&address, own), 0);
    memset (&findings, 0, sizeof (findings));
    network_check_interfaces (list, count, own ? &address : NULL, &arguments, &findings);
}

#define ETH0 "eth0 other up 10.98.0.1/16"
#define ETH1 "eth1 other up 192.168.0.1/24"
#define ON_ETH0 \
    "ok: tasks on this host would be reached at 10.98.0.1 (eth0), which faces " \
    "slurmctld's host\n"
#define IB(...) \
    (const char *const[]) \
    { \
        __VA_ARGS__, NULL \
    }

TEST (a_host_without_infiniband_is_ok_unless_the_site_wants_it)
{
    check_network (NULL, NULL, "10.98.0.1", IB (ETH1, ETH0));
    assert_string_equal (printed (), "ok: this host has no InfiniBand interface\n" ON_ETH0);
    check_network ("auto", NULL, "10.98.0.1", IB (ETH0));
    only (LEVEL_WARNING, "warning: this host has no InfiniBand interface, and plugstack.conf has "
                         "ib=auto; load the driver ib_ipoib, or set ib=no in plugstack.conf");
    check_network ("require", NULL, "10.98.0.1", IB (ETH0));
    only (LEVEL_ERROR, "error: this host has no InfiniBand interface, and plugstack.conf has "
                       "ib=require; load the driver ib_ipoib, or set ib=no in plugstack.conf");
}

TEST (each_infiniband_interface_says_why_it_would_not_be_used)
{
    check_network (NULL, NULL, "10.98.0.1",
                   IB ("ib0 infiniband up 10.101.0.1/16", "ib1 infiniband down 10.102.0.1/16",
                       "ib2 infiniband no-carrier 10.103.0.1/16", "ib3 infiniband up -", ETH0));
    assert_string_equal (printed (), "ok: ib0 (InfiniBand, 10.101.0.1/16) would be used with --tf-ib\n"
                                     "ok: ib1 (InfiniBand) would not be used: it is down\n"
                                     "ok: ib2 (InfiniBand) would not be used: it has no carrier\n"
                                     "ok: ib3 (InfiniBand) would not be used: it has no address\n" ON_ETH0);
}

TEST (a_site_that_wants_infiniband_gets_a_warning_or_an_error)
{
    check_network ("auto", NULL, "10.98.0.1", IB ("ib0 infiniband down 10.101.0.1/16", ETH0));
    only (LEVEL_WARNING, "warning: ib0 (InfiniBand) would not be used: it is down; set it up (ip "
                         "link set up)");
    check_network ("require", NULL, "10.98.0.1", IB ("ib0 infiniband no-carrier 10.101.0.1/16", ETH0));
    only (LEVEL_ERROR, "error: ib0 (InfiniBand) would not be used: it has no carrier; look at its "
                       "cable, switch and subnet manager");
    check_network ("require", NULL, "10.98.0.1", IB ("ib0 infiniband up -", ETH0));
    only (LEVEL_ERROR, "error: ib0 (InfiniBand) would not be used: it has no address; give it an "
                       "IPv4 or IPv6 address");
    check_network ("require", NULL, "10.98.0.1",
                   IB ("ib0 infiniband down -", "ib1 infiniband up fd00::1/64", ETH0));
    assert_int_equal (findings.worst, LEVEL_OK);
    has_line ("ok: tasks on this host would be reached at fd00::1 (ib1), if all nodes of the step "
              "are on its network");
}

TEST (a_host_on_none_of_the_sites_networks_is_a_warning)
{
    check_network (NULL, "192.168.0.0/24,eth0", "10.98.0.1", IB (ETH0, ETH1));
    has_line ("ok: tasks on this host would be reached at 192.168.0.1 (eth1), if all nodes of the "
              "step are on its network");
    check_network (NULL, "any", "10.98.0.1", IB (ETH0, ETH1));
    assert_int_equal (findings.worst, LEVEL_OK);
    check_network (NULL, "10.20.0.0/16", "10.98.0.1", IB (ETH0, ETH1));
    only (LEVEL_WARNING, "warning: this host is on none of network=10.20.0.0/16, so steps with it "
                         "use another network; correct network=, or the addresses of this host");
    has_line ("ok: tasks on this host would be reached at 10.98.0.1 (eth0), which faces "
              "slurmctld's host");
}

TEST (a_host_without_an_address_is_an_error)
{
    check_network (NULL, NULL, "127.0.0.1", IB (ETH0));
    assert_int_equal (findings.worst, LEVEL_OK);
    has_line ("ok: tasks on this host would be reached at 10.98.0.1 (eth0), or another address by "
              "which it reaches srun");
    check_network (NULL, NULL, NULL, IB ("eth0 other down 10.98.0.1/16", "eth1 other up -"));
    only (LEVEL_ERROR,
          "error: other nodes cannot reach this host: no interface is up and has an "
          "address that is neither loopback nor link-local; give an interface an address, and set "
          "it up");
}

static bool getifaddrs_fails;

int __real_getifaddrs (struct ifaddrs **list);
int __wrap_getifaddrs (struct ifaddrs **list);

int __wrap_getifaddrs (struct ifaddrs **list)
{
    if (!getifaddrs_fails)
        return __real_getifaddrs (list);
    errno = EMFILE;
    return -1;
}

TEST (interfaces_that_cannot_be_listed_are_an_error)
{
    struct slurm_conf conf = { .controller = "login(127.0.0.1)" };
    struct arguments arguments = { { NULL } };

    getifaddrs_fails = true;
    memset (&findings, 0, sizeof (findings));
    network_check (&conf, &arguments, &findings);
    getifaddrs_fails = false;
    assert_int_equal (findings.worst, LEVEL_ERROR);
    assert_non_null (strstr (printed (), "Too many open files"));
    memset (&findings, 0, sizeof (findings));
    network_check (&conf, &arguments, &findings);
    assert_null (strstr (printed (), "Too many open files"));
}

/* Python. */

static void check_python (const char *script)
{
    write_file ("python", "#!/bin/sh\n%s\n", script);
    assert_int_equal (chmod (at ("python"), 0755), 0);
    memset (&findings, 0, sizeof (findings));
    python_check (at ("python"), &findings);
}

TEST (the_version_of_tensorflow_is_judged)
{
    static const struct {
        const char *script, *line;
        enum level level;
    /* clang-format off */
    } row[] = {
        { "echo 2.15.1 none", "ok: ROOT/python has TensorFlow 2.15.1", LEVEL_OK },
        { "echo 2.3.0rc1 none", "ok: ROOT/python has TensorFlow 2.3.0rc1", LEVEL_OK },
        { "echo 1.15 none", "ok: ROOT/python has TensorFlow 1.15", LEVEL_OK },
        { "echo none none", "error: ROOT/python has no TensorFlow; install it, or activate its "
          "environment", LEVEL_ERROR },
        { "exit 3", "error: ROOT/python: it does not run; name another Python", LEVEL_ERROR },
        { "echo 2.4; exit 1", "error: ROOT/python: it does not run; name another Python",
          LEVEL_ERROR },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        check_python (row[i].script);
        only (row[i].level, row[i].line);
    }
}

/* TensorFlow takes 1, true and True. */
TEST (tf_keras_is_judged_where_keras_is_3)
{
    static const struct {
        const char *legacy, *script, *line;
        enum level level;
    /* clang-format off */
    } row[] = {
        { NULL, "echo 2.16.1 none", "ok: ROOT/python has TensorFlow 2.16.1, with Keras 3; for a script of "
          "Keras 2 with TensorFlow's strategies install tf_keras and set TF_USE_LEGACY_KERAS=1", LEVEL_OK },
        { "0", "echo 2.21.0 2.20.1", "ok: ROOT/python has TensorFlow 2.21.0, with Keras 3; for a script of "
          "Keras 2 with TensorFlow's strategies set TF_USE_LEGACY_KERAS=1", LEVEL_OK },
        { "1", "echo 2.21.0 2.20.1", "ok: ROOT/python has TensorFlow 2.21.0, with Keras 2 of tf_keras 2.20.1",
          LEVEL_OK },
        { "True", "echo 2.21.0 none", "error: TF_USE_LEGACY_KERAS=True is set, and ROOT/python has "
          "TensorFlow 2.21.0 without tf_keras; install it: pip install tf_keras", LEVEL_ERROR },
        { "1", "echo 2.15.1 none", "ok: ROOT/python has TensorFlow 2.15.1", LEVEL_OK },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        if (row[i].legacy)
            setenv ("TF_USE_LEGACY_KERAS", row[i].legacy, 1);
        else
            unsetenv ("TF_USE_LEGACY_KERAS");
        check_python (row[i].script);
        only (row[i].level, row[i].line);
    }
    unsetenv ("TF_USE_LEGACY_KERAS");
}

TEST (a_python_that_does_not_exist_is_an_error)
{
    memset (&findings, 0, sizeof (findings));
    python_check ("/nowhere/python", &findings);
    only (LEVEL_ERROR, "error: /nowhere/python: it does not run; name another Python");
}

/* Findings. */

TEST (a_text_is_printable)
{
    memset (&findings, 0, sizeof (findings));
    findings_add (&findings, "x", LEVEL_ERROR, "do\nit", "\033[31m%s", "a\nb");
    assert_string_equal (printed (), "error: ?[31ma?b; do?it\n");
}

TEST (json_has_every_finding)
{
    json_t *array;

    memset (&findings, 0, sizeof (findings));
    findings_ok (&findings, "a", "b");
    findings_add (&findings, "c", LEVEL_WARNING, "d", "e");
    array = findings_json (&findings);
    assert_int_equal (json_array_size (array), 2);
    assert_null (json_object_get (json_array_get (array, 0), "advice"));
    assert_string_equal (json_string_value (json_object_get (json_array_get (array, 1), "advice")), "d");
    assert_string_equal (json_string_value (json_object_get (json_array_get (array, 1), "level")), "warning");
    json_decref (array);
}

TEST (too_many_findings_are_dropped_but_count)
{
    memset (&findings, 0, sizeof (findings));
    for (int i = 0; i < FINDINGS_MAX; i++)
        findings_ok (&findings, "a", "b");
    findings_add (&findings, "c", LEVEL_ERROR, "d", "e");
    assert_int_equal (findings.count, FINDINGS_MAX);
    assert_int_equal (findings.worst, LEVEL_ERROR);
}
