/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-check, on a prepared installation: a directory with slurm.conf, plugstack.conf, copies of the
 * plugin and of the helper programs, and a PluginDir. check.golden tells what is said when something is
 * wrong there; here is what depends on versions, on owners, and on ports that are in use.
 */
#include "config.h"

#include "story.h"

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
#include "check/owners.h"
#include "check/ports.h"

static char root[] = "/tmp/test_check.XXXXXX";

/* Files of the installation. */

static const char *at (const char *name)
{
    return path_in (root, name);
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

/* Copy the text, with the second of two words in the place of the first. */
static void replace_words (char *to, const char *text, const char *const word[][2], size_t words)
{
    while (*text) {
        size_t i = 0;

        while (i < words && strncmp (text, word[i][0], strlen (word[i][0])) != 0)
            i++;
        if (i == words)
            *to++ = *text++;
        else {
            to = stpcpy (to, word[i][1]);
            text += strlen (word[i][0]);
        }
    }
    *to = '\0';
}

/* The text, with what ROOT and other words stand for; check.golden explains them. */
static const char *expanded (const char *text)
{
    static char whole[4096];
    char ours[128];
    const char *const word[][2] = {
        { "\\n", "\n" },
        { "\\t", "\t" },
        { "ROOT", root },
        { "OURS", ours },
        { "PYXIS", "required /usr/lib/slurm/spank_pyxis.so runtime_path=/run/pyxis" },
        { "LATE", "required /usr/lib/spank-tf/spank_tf_late.so" },
    };

    snprintf (ours, sizeof (ours), "required %s/spank_tf.so libexecdir=%s/libexec", root, root);
    replace_words (whole, text, word, COUNT (word));
    return whole;
}

static void intact (void)
{
    char command[128];

    snprintf (command, sizeof (command), "rm -rf %s/* && mkdir %s/slurm %s/libexec", root, root, root);
    assert_int_equal (system (command), 0);
    unsetenv ("SLURM_CONF");
    write_file (at ("slurm.conf"), expanded ("ClusterName=x # PluginDir=/nowhere\nPluginDir=ROOT/slurm\n"));
    write_file (at ("plugstack.conf"), expanded ("OURS\n"));
    copy (SPANK_TF_SO, "spank_tf.so", NULL, NULL);
    copy (TF_RENDEZVOUS, "libexec/tf-rendezvous", NULL, NULL);
    copy (TF_SUPERVISE, "libexec/tf-supervise", NULL, NULL);
    copy (TF_ADDRESSES, "libexec/tf-addresses", NULL, NULL);
}

static int make_intact (void **unused __attribute__ ((unused)))
{
    intact ();
    return 0;
}

/* Findings. */

static struct findings findings;
static struct installation installation;

/* "built for Slurm 22.05", when it is known. */
static char built_for[32] = "built for Slurm ?";

/* The lines that are printed, with ROOT for the directory, and VERSION and RELEASE as check.golden says. */
static const char *printed (void)
{
    static char text[32768];
    const char *const word[][2] = { { root, "ROOT" },
                                    { "version " PACKAGE_VERSION, "version VERSION" },
                                    { built_for, "built for Slurm RELEASE" } };
    char *all = NULL;
    size_t size;
    FILE *f = open_memstream (&all, &size);

    findings_print (&findings, false, "", f);
    fclose (f);
    replace_words (text, all, word, COUNT (word));
    free (all);
    return text;
}

static void forget_findings (void)
{
    memset (&findings, 0, sizeof (findings));
}

static void check_installation_of (const char *slurm_conf)
{
    forget_findings ();
    installation_check (&installation, at (slurm_conf), geteuid (), &findings);
}

static void check_installation (void)
{
    check_installation_of ("slurm.conf");
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

/* What is said of an intact installation. */
static char *of_intact;

static int make_root (void **unused __attribute__ ((unused)))
{
    umask (022);
    /* In a network of its own, if this is root, so that no other program takes the ports. */
    (void)!unshare (CLONE_NEWNET);
    if (!mkdtemp (root))
        return -1;
    intact ();
    check_installation ();
    snprintf (built_for, sizeof (built_for), "built for Slurm %s", installation.built_for);
    of_intact = strdup (printed ());
    return 0;
}

static int remove_root (void **unused __attribute__ ((unused)))
{
    char command[64];

    free (of_intact);
    snprintf (command, sizeof (command), "rm -r %s", root);
    return system (command);
}

ALL_TESTS (make_root, remove_root)

/* As if the line of plugstack.conf had it. */
static void take_argument (const char *argument)
{
    enum option_id option;
    const char *value;
    struct errtext err;

    assert_int_equal (option_take_argument (&option, &value, argument, &err), 0);
    installation.argument[option] = value;
}

/* "SrunPortRange=1-2 ports=any": with these values of slurm.conf and plugstack.conf. */
static void __attribute__ ((format (printf, 1, 2))) check_ports (const char *fmt, ...)
{
    char text[256], *options = text;
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    memset (&installation, 0, sizeof (installation));
    while (*options) {
        char *option = story_word (&options);

        if (strncmp (option, "SrunPortRange=", 14) == 0)
            snprintf (installation.conf.srun_ports, sizeof (installation.conf.srun_ports), "%s", option + 14);
        else if (strncmp (option, "MpiParams=", 10) == 0)
            snprintf (installation.conf.mpi_params, sizeof (installation.conf.mpi_params), "%s", option + 10);
        else
            take_argument (option);
    }
    forget_findings ();
    ports_check (&installation, &findings);
}

/* Stories. */

/* "FILE: TEXT" */
static void write_told (char *event)
{
    const char *name = strsep (&event, ":");

    if (!event)
        story_unknown (name);
    write_file (at (name), expanded (event + strspn (event, " ")));
}

/* "NAME to NAME"; the first one is returned. */
static const char *two_names (char *event, const char **second)
{
    const char *first = story_word (&event);

    if (!story_begins (&event, "to"))
        story_unknown (event);
    *second = at (event);
    return at (first);
}

static bool changes_a_file (char *event)
{
    const char *one, *other;
    int rc;

    if (story_begins (&event, "no"))
        rc = remove (at (event)) < 0 && errno != ENOENT;
    else if (story_begins (&event, "mode 0644"))
        rc = chmod (at (event), 0644);
    else if (story_begins (&event, "directory"))
        rc = mkdir (at (event), 0755);
    else if (story_begins (&event, "link")) {
        one = two_names (event, &other);
        rc = symlink (other, one);
    } else if (story_begins (&event, "rename")) {
        one = two_names (event, &other);
        rc = rename (one, other);
    } else if (story_begins (&event, "copy")) {
        one = two_names (event, &other);
        copy (one, other + strlen (root) + 1, NULL, NULL);
        rc = 0;
    } else
        return false;
    assert_int_equal (rc, 0);
    return true;
}

/* Print what was found, but not what is in this text. */
static void tell_findings (const char *known)
{
    char *text = strdup (printed ()), *rest = text;

    for (const char *line; (line = strsep (&rest, "\n")) && *line;)
        if (!strstr (known, line))
            story_print ("%s\n", line);
    free (text);
}

static void tell_installation (const char *slurm_conf)
{
    check_installation_of (*slurm_conf ? slurm_conf : "slurm.conf");
    tell_findings (of_intact);
}

/* "INTERFACE, INTERFACE" */
static struct interface interfaces[8];
static int interface_count;

static void set_interfaces (char *event)
{
    for (interface_count = 0; event; interface_count++) {
        const char *text = strsep (&event, ",");

        text += strspn (text, " ");
        if (strcmp (text, "eth0") == 0)
            text = "eth0 other up 10.98.0.1/16";
        else if (strcmp (text, "eth1") == 0)
            text = "eth1 other up 192.168.0.1/24";
        assert_int_equal (interface_parse (&interfaces[interface_count], text), 0);
    }
}

static void tell_network (char *event)
{
    const char *own = story_word (&event);
    struct address address;

    memset (&installation, 0, sizeof (installation));
    while (*event)
        take_argument (story_word (&event));
    if (strcmp (own, "-") != 0)
        assert_int_equal (address_parse (&address, own), 0);
    forget_findings ();
    network_check_interfaces (interfaces, interface_count, strcmp (own, "-") == 0 ? NULL : &address,
                              &installation, &findings);
    tell_findings ("");
}

static void play (char *event)
{
    if (story_begins (&event, "check"))
        tell_installation (event);
    else if (story_begins (&event, "interfaces"))
        set_interfaces (event);
    else if (story_begins (&event, "network"))
        tell_network (event);
    else if (story_begins (&event, "ports")) {
        check_ports ("%s", event);
        tell_findings ("");
    } else if (!changes_a_file (event))
        write_told (event);
}

STORIES (GOLDEN, play, intact)

EACH_TEST (make_intact, NULL)

/* What must be ok. */

TEST (an_intact_installation_is_ok)
{
    check_installation ();
    assert_int_equal (findings.worst, LEVEL_OK);
    assert_int_equal (findings.count, owners_are_known () ? 6 : 5);
    has_line ("ok: slurm.conf is ROOT/slurm.conf");
    has_line ("ok: ROOT/plugstack.conf:1 loads the plugin");
    has_line ("ok: its arguments are valid");
    has_line ("ok: ROOT/spank_tf.so is of version VERSION, built for Slurm RELEASE");
    has_line ("ok: the helper programs in ROOT/libexec are of version VERSION, as the plugin");
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

    write_file (at ("slurm.conf"), text);
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

    write_file (at ("more.conf"), "SrunPortRange=60001-63000\n");
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

TEST (many_lines_are_counted)
{
    FILE *f = fopen (at ("plugstack.conf"), "w");

    for (int i = 0; i < 40; i++)
        fprintf (f, "required %s/spank_tf.so libexecdir=%s/libexec\n", root, root);
    fclose (f);
    installation_has (LEVEL_ERROR, "error: the plugin is loaded 40 times, by ROOT/plugstack.conf:1 "
                                   "and by ROOT/plugstack.conf:2; keep one of the lines");
}

#define PYXIS "required /usr/lib/slurm/spank_pyxis.so runtime_path=/run/pyxis\n"
#define OURS "required %s/spank_tf.so libexecdir=%s/libexec\n"
#define LATE "required /usr/lib/spank-tf/spank_tf_late.so\n"

/* Then the plugin's own default counts, for which the programs may be missing. */
TEST (a_relative_libexecdir_is_an_error)
{
    write_file (at ("plugstack.conf"), expanded ("required ROOT/spank_tf.so libexecdir=lib\n"));
    check_installation ();
    has_line ("error: ROOT/plugstack.conf:1: libexecdir: an absolute path is needed; correct or "
              "remove it; see spank-tf-plugstack(5)");
}

/* The plugin. */

TEST (a_plugin_without_a_version_is_an_error)
{
    copy (SPANK_TF_SO, "spank_tf.so", "spank-tf=", "spank-xx=");
    installation_has (LEVEL_ERROR,
                      "error: ROOT/spank_tf.so does not contain its version; install spank-tf again");
}

TEST (the_release_for_which_the_plugin_was_built_is_named)
{
    char from[32];

    check_installation ();
    snprintf (from, sizeof (from), "slurm=%s", installation.built_for);
    copy (SPANK_TF_SO, "spank_tf.so", from, "slurm=99.11");
    check_installation ();
    has_line ("ok: ROOT/spank_tf.so is of version VERSION, built for Slurm 99.11");
}

/* The helper programs. */

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
              "plugin of version VERSION; install spank-tf again",
              strchr (other_version (), '=') + 1);
    installation_has (LEVEL_ERROR, line);
    copy (TF_SUPERVISE, "libexec/tf-supervise", "spank-tf=" PACKAGE_VERSION, "spank_tf=" PACKAGE_VERSION);
    installation_has (LEVEL_ERROR, "error: ROOT/libexec/tf-supervise: it is of version unknown, "
                                   "the plugin of version VERSION; install spank-tf again");
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
              "warning: this tf-check is of version VERSION, the "
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

TEST (ports_that_are_used_are_an_error)
{
    int fd[4], low = occupy (fd, 4);
    char range[32], line[256];

    snprintf (range, sizeof (range), "%d-%d", low, low + 3);
    check_ports ("rendezvous_ports=%s", range);
    snprintf (line, sizeof (line),
              "error: rendezvous_ports=%s: 0 of its ports are free on this "
              "host, and a step needs 1; make the range larger, or end the programs that use its "
              "ports",
              range);
    only (LEVEL_ERROR, line);
    check_ports ("ports=%s", range);
    snprintf (line, sizeof (line),
              "error: ports=%s: 0 of its ports are free on this host, and a "
              "step needs 1; make the range larger, or end the programs that use its ports",
              range);
    has_line (line);
    close (fd[2]);
    check_ports ("SrunPortRange=%s", range);
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
    check_ports ("SrunPortRange=%s rendezvous_ports=any", range);
    assert_int_equal (findings.worst, LEVEL_OK);
    check_ports ("SrunPortRange=%s", range);
    snprintf (line, sizeof (line),
              "error: SrunPortRange=%s: 5 of its ports are free on this host, "
              "and a step needs 6; make the range larger, or end the programs that use its ports",
              range);
    only (LEVEL_ERROR, line);
}

/* Owners. */

#define TO_ROOT "; let it belong to root (chown -h root)"
#define CHMOD "; let only root write it (chmod go-w)"

/* With this mode, the file or directory has this warning, or none (NULL); then it is as before. */
static void mode_has (mode_t mode, const char *name, const char *line)
{
    struct stat st;

    assert_int_equal (stat (at (name), &st), 0);
    assert_int_equal (chmod (at (name), mode), 0);
    if (line)
        installation_has (LEVEL_WARNING, line);
    else {
        check_installation ();
        assert_int_equal (findings.worst, LEVEL_OK);
    }
    assert_int_equal (chmod (at (name), st.st_mode & 07777), 0);
}

TEST (what_every_user_can_change_is_a_warning)
{
    if (!owners_are_known ())
        SKIP ("root's files are another user's here");
    check_installation ();
    has_line ("ok: only root can change plugstack.conf, the plugins and the programs");
    mode_has (
        0646, "plugstack.conf",
        "warning: ROOT/plugstack.conf has mode 0646: every user can change what slurmd runs as root" CHMOD);
    mode_has (
        0757, "spank_tf.so",
        "warning: ROOT/spank_tf.so has mode 0757: every user can change what slurmd runs as root" CHMOD);
    mode_has (0757, "libexec/tf-supervise",
              "warning: ROOT/libexec/tf-supervise has mode 0757: every user can change what runs as the user "
              "of each step" CHMOD);
    mode_has (01777, "libexec",
              "warning: directory ROOT/libexec has mode 1777: every user can change what runs as the user "
              "of each step" CHMOD);
    mode_has (0777, ".",
              "warning: directory ROOT has mode 0777: every user can change what slurmd runs as root" CHMOD);
    /* The files there are not theirs, so they cannot replace them. */
    mode_has (01777, ".", NULL);
}

TEST (the_programs_of_the_site_run_as_users)
{
    if (!owners_are_known ())
        SKIP ("root's files are another user's here");
    write_file (at ("notify"), "");
    write_file (at ("probe"), "");
    assert_int_equal (chmod (at ("notify"), 0755), 0);
    assert_int_equal (chmod (at ("probe"), 0755), 0);
    write_file (at ("plugstack.conf"),
                expanded ("OURS notify=ROOT/notify preflight=files,ROOT/probe,timeout=9\n"));
    mode_has (0757, "notify",
              "warning: ROOT/notify has mode 0757: every user can change what runs as the user of each "
              "step" CHMOD);
    mode_has (
        0757, "probe",
        "warning: ROOT/probe has mode 0757: every user can change what runs as the user of each step" CHMOD);
}

/* plugstack.conf.d, and a file there. */
TEST (a_directory_of_includes_is_one_that_others_cannot_add_to)
{
    if (!owners_are_known ())
        SKIP ("root's files are another user's here");
    assert_int_equal (mkdir (at ("conf.d"), 0755), 0);
    write_file (at ("conf.d/10.conf"), expanded ("OURS\n"));
    write_file (at ("plugstack.conf"), "include conf.d/*.conf\n");
    mode_has (
        01777, "conf.d",
        "warning: directory ROOT/conf.d has mode 1777: every user can change what slurmd runs as root" CHMOD);
    mode_has (
        0666, "conf.d/10.conf",
        "warning: ROOT/conf.d/10.conf has mode 0666: every user can change what slurmd runs as root" CHMOD);
    /* Another plugin runs as root, too. */
    write_file (at ("other.so"), "");
    write_file (at ("conf.d/20.conf"), expanded ("optional ROOT/other.so\n"));
    mode_has (0666, "other.so",
              "warning: ROOT/other.so has mode 0666: every user can change what slurmd runs as root" CHMOD);
}

TEST (each_directory_on_the_way_of_a_link_counts)
{
    if (!owners_are_known ())
        SKIP ("root's files are another user's here");
    assert_int_equal (mkdir (at ("a"), 0755), 0);
    assert_int_equal (mkdir (at ("a/b"), 0755), 0);
    assert_int_equal (rename (at ("spank_tf.so"), at ("a/b/real.so")), 0);
    assert_int_equal (symlink ("b/../b/real.so", at ("a/link.so")), 0);
    assert_int_equal (symlink (at ("a/link.so"), at ("spank_tf.so")), 0);
    check_installation ();
    assert_int_equal (findings.worst, LEVEL_OK);
    mode_has (
        0777, "a/b",
        "warning: directory ROOT/a/b has mode 0777: every user can change what slurmd runs as root" CHMOD);
    mode_has (
        0777, "a",
        "warning: directory ROOT/a has mode 0777: every user can change what slurmd runs as root" CHMOD);
    mode_has (
        0666, "a/b/real.so",
        "warning: ROOT/a/b/real.so has mode 0666: every user can change what slurmd runs as root" CHMOD);
    assert_int_equal (rename (at ("libexec"), at ("real")), 0);
    assert_int_equal (symlink ("libexec", at ("libexec")), 0);
    check_installation (); /* It ends. */
}

TEST (what_another_user_or_group_has_is_a_warning)
{
    if (geteuid () != 0 || !owners_are_known ())
        SKIP ("only root gives files away");
    assert_int_equal (chown (at ("spank_tf.so"), 4711, 0), 0);
    installation_has (
        LEVEL_WARNING,
        "warning: ROOT/spank_tf.so belongs to user 4711, who can change what slurmd runs as root" TO_ROOT);
    assert_int_equal (chown (at ("spank_tf.so"), 0, 4711), 0);
    mode_has (
        0775, "spank_tf.so",
        "warning: ROOT/spank_tf.so has mode 0775: group 4711 can change what slurmd runs as root" CHMOD);
    assert_int_equal (chown (at ("spank_tf.so"), 0, 0), 0);
    /* The group of root is. */
    mode_has (0775, "spank_tf.so", NULL);
    assert_int_equal (rename (at ("libexec"), at ("real")), 0);
    assert_int_equal (symlink ("real", at ("libexec")), 0);
    assert_int_equal (lchown (at ("libexec"), 4711, 4711), 0);
    installation_has (LEVEL_WARNING,
                      "warning: symbolic link ROOT/libexec belongs to user 4711, who can change what runs as "
                      "the user of each step" TO_ROOT);
}

/* Networks. */

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
    installation = (struct installation){ .conf.controller = "login(127.0.0.1)" };
    getifaddrs_fails = true;
    forget_findings ();
    network_check (&installation, &findings);
    getifaddrs_fails = false;
    assert_int_equal (findings.worst, LEVEL_ERROR);
    assert_non_null (strstr (printed (), "Too many open files"));
    forget_findings ();
    network_check (&installation, &findings);
    assert_null (strstr (printed (), "Too many open files"));
}

/* Findings. */

TEST (a_text_is_printable)
{
    forget_findings ();
    findings_add (&findings, "x", LEVEL_ERROR, "do\nit", "\033[31m%s", "a\nb");
    assert_string_equal (printed (), "error:  [31ma b; do it\n");
}

TEST (json_has_every_finding)
{
    json_t *array;

    forget_findings ();
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
    forget_findings ();
    for (int i = 0; i < FINDINGS_MAX; i++)
        findings_ok (&findings, "a", "b");
    findings_add (&findings, "c", LEVEL_ERROR, "d", "e");
    assert_int_equal (findings.count, FINDINGS_MAX);
    assert_int_equal (findings.worst, LEVEL_ERROR);
}
