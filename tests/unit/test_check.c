/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-check, on a prepared installation: a directory with slurm.conf, plugstack.conf, copies of the
 * plugin and of the helper programs, and a PluginDir. check.golden tells what is said when something is
 * wrong there; here is what depends on ports that are in use.
 */
#include "config.h"

#include "story.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <sched.h>
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

/* "built for Slurm 22.05", when it is known. */
#define BUILT_FOR "built for Slurm "
static char built_for[32] = BUILT_FOR "?";

/* A version as long as this one. */
static const char *other_version (void)
{
    static char other[] = PACKAGE_VERSION;
    char *last = &other[sizeof (other) - 2];

    *last = PACKAGE_VERSION[sizeof (PACKAGE_VERSION) - 2] == '9' ? '8' : '9';
    return other;
}

/* The text, with what ROOT and other words stand for; check.golden explains them. */
static const char *expanded (const char *text)
{
    static char whole[4096];
    char ours[128];
    const char *const word[][2] = {
        { "\\n", "\n" },
        { "\\r", "\r" },
        { "\\t", "\t" },
        { "ROOT", root },
        { "OURS", ours },
        { "PYXIS", "required /usr/lib/slurm/spank_pyxis.so runtime_path=/run/pyxis" },
        { "LATE", "required /usr/lib/spank-tf/spank_tf_late.so" },
        { "OTHER", other_version () },
        { "VERSION", PACKAGE_VERSION },
        { "RELEASE", built_for + sizeof (BUILT_FOR) - 1 },
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

/* The lines that are printed, with ROOT for the directory, and words for versions as check.golden says. */
static const char *printed (void)
{
    static char text[32768];
    const char *const word[][2] = { { root, "ROOT" },
                                    { "version " PACKAGE_VERSION, "version VERSION" },
                                    { other_version (), "OTHER" },
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
    snprintf (built_for, sizeof (built_for), BUILT_FOR "%s", installation.built_for);
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

/* "NAME to NAME"; the first one is returned, as a path. */
static const char *two_names (char *event, const char **second)
{
    const char *first = story_word (&event);

    if (!story_begins (&event, "to"))
        story_unknown (event);
    *second = event;
    return at (first);
}

/* "NAME TEXT becomes TEXT" */
static void change_program (char *event)
{
    const char *name = story_word (&event);
    char *from = strdup (expanded (story_word (&event)));

    if (!story_begins (&event, "becomes"))
        story_unknown (event);
    copy (at (name), name, from, expanded (event));
    free (from);
}

/* Skip the story unless root's files are root's, and this is root if that is needed. */
static void need (bool root_itself)
{
    if (!owners_are_known () || (root_itself && geteuid () != 0))
        SKIP ("only root gives files away, and in a namespace root's files are another user's");
}

static bool changes_a_file (char *event)
{
    const char *one, *other;
    int rc;

    if (story_begins (&event, "no"))
        rc = remove (at (event)) < 0 && errno != ENOENT;
    else if (story_begins (&event, "mode")) {
        const char *mode = story_word (&event);

        rc = chmod (at (event), (mode_t)strtol (mode, NULL, 8));
    } else if (story_begins (&event, "owner")) {
        int user = story_number (&event), group = story_number (&event);

        rc = lchown (at (event), (uid_t)user, (gid_t)group);
    } else if (story_begins (&event, "directory"))
        rc = mkdir (at (event), 0755);
    else if (story_begins (&event, "link")) {
        one = two_names (event, &other);
        rc = symlink (expanded (other), one);
    } else if (story_begins (&event, "rename")) {
        one = two_names (event, &other);
        rc = rename (one, at (other));
    } else if (story_begins (&event, "copy")) {
        one = two_names (event, &other);
        copy (one, other, NULL, NULL);
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

/* What slurm.conf has; plugstack.conf beside it is the default. */
static void tell_slurm_conf (void)
{
    struct slurm_conf conf = { .path = "" };
    const struct {
        const char *key, *value, *otherwise;
    } has[] = {
        { "SlurmctldHost", conf.controller, "" },
        { "MpiParams", conf.mpi_params, "" },
        { "PluginDir", conf.plugin_dir, "" },
        { "PlugStackConfig", conf.plugstack, at ("plugstack.conf") },
        { "SrunPortRange", conf.srun_ports, "" },
    };
    struct errtext err;

    if (slurm_conf_find (&conf, at ("slurm.conf"), &err) < 0 || slurm_conf_read (&conf, &err) < 0)
        fail_msg ("%s", err.text);
    for (size_t i = 0; i < COUNT (has); i++)
        if (strcmp (has[i].value, has[i].otherwise) != 0)
            story_result ("%s=%s", has[i].key, has[i].value);
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
    else if (story_begins (&event, "read slurm.conf"))
        tell_slurm_conf ();
    else if (story_begins (&event, "if root's files are root's"))
        need (false);
    else if (story_begins (&event, "if this is root"))
        need (true);
    else if (story_begins (&event, "interfaces"))
        set_interfaces (event);
    else if (story_begins (&event, "network"))
        tell_network (event);
    else if (story_begins (&event, "ports")) {
        check_ports ("%s", event);
        tell_findings ("");
    } else if (story_begins (&event, "in"))
        change_program (event);
    else if (!changes_a_file (event))
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
    if (owners_are_known ())
        has_line ("ok: only root can change plugstack.conf, the plugins and the programs");
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
    assert_int_equal (slurm_conf_find (&conf, "c", NULL), 0);
    assert_true (*conf.path == '/' && strcmp (strrchr (conf.path, '/'), "/c") == 0);
}

/* Then the plugin's own default counts, for which the programs may be missing. */
TEST (a_relative_libexecdir_is_an_error)
{
    write_file (at ("plugstack.conf"), expanded ("required ROOT/spank_tf.so libexecdir=lib\n"));
    check_installation ();
    has_line ("error: ROOT/plugstack.conf:1: libexecdir: an absolute path is needed; correct or "
              "remove it; see spank-tf-plugstack(5)");
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

/* With this option too few ports are free. */
static void lacks_ports (const char *option, const char *range, const char *free, int needed)
{
    char line[256];

    check_ports ("%s=%s", option, range);
    snprintf (line, sizeof (line),
              "error: %s=%s: %s free on this host, and a step needs %d; make the range larger, or end the "
              "programs that use its ports",
              option, range, free, needed);
    only (LEVEL_ERROR, line);
}

TEST (ports_that_are_used_are_an_error)
{
    int fd[4], low = occupy (fd, 4);
    char range[32];

    snprintf (range, sizeof (range), "%d-%d", low, low + 3);
    lacks_ports ("rendezvous_ports", range, "0 of its ports are", 1);
    lacks_ports ("ports", range, "0 of its ports are", 1);
    close (fd[2]);
    lacks_ports ("SrunPortRange", range, "1 of its ports is", 6);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            close (fd[i]);
}

TEST (a_small_SrunPortRange_is_an_error)
{
    int fd[6], low = occupy (fd, 6);
    char range[32];

    for (int i = 0; i < 6; i++)
        close (fd[i]);
    snprintf (range, sizeof (range), "%d-%d", low, low + 4);
    check_ports ("SrunPortRange=%s rendezvous_ports=any", range);
    assert_int_equal (findings.worst, LEVEL_OK);
    lacks_ports ("SrunPortRange", range, "5 of its ports are", 6);
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
