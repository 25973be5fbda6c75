/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "installation.h"

#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/version.h"
#include "elf_file.h"
#include "owners.h"

#define INSTALL_AGAIN "install spank-tf again"

/* plugstack.conf. */

static void _check_line (const struct plugstack_line *line, struct findings *findings)
{
    if (line->required)
        findings_ok (findings, "plugstack", "%s:%d loads the plugin", line->file, line->number);
    else
        findings_add (findings, "plugstack", LEVEL_WARNING, "write required instead",
                      "%s:%d loads the plugin as optional, so where it is broken tasks run without "
                      "TF_CONFIG",
                      line->file, line->number);
}

/* slurmctld hands out plugstack.conf alone, without the files that it includes. */
static void _no_line_from_slurmctld (const struct installation *i, struct findings *findings)
{
    static const char advice[] = "write the line of 10-spank-tf.conf into plugstack.conf itself, on "
                                 "slurmctld's host, and run scontrol reconfigure there";

    if (i->stack.files == 0)
        findings_add (findings, "plugstack", LEVEL_ERROR, advice,
                      "slurmctld has handed out its files (configless), but no plugstack.conf, so "
                      "Slurm does not load the plugin");
    else if (*i->stack.not_found)
        findings_add (findings, "plugstack", LEVEL_ERROR, advice,
                      "%s came from slurmctld (configless), which does not hand out the files that it "
                      "includes: there is no %s, so Slurm does not load the plugin",
                      i->conf.plugstack, i->stack.not_found);
    else
        findings_add (findings, "plugstack", LEVEL_ERROR, advice,
                      "%s came from slurmctld (configless), and does not load spank_tf.so",
                      i->conf.plugstack);
}

static void _check_lines (const struct installation *i, struct findings *findings)
{
    const struct plugstack *stack = &i->stack;

    if (*stack->ignored.text)
        findings_add (findings, "plugstack", LEVEL_ERROR, "correct the line", "%s", stack->ignored.text);
    else if (stack->lines == 0 && i->conf.configless)
        _no_line_from_slurmctld (i, findings);
    else if (stack->files == 0)
        findings_add (findings, "plugstack", LEVEL_ERROR,
                      "write \"include /etc/slurm/plugstack.conf.d/*.conf\" into it",
                      "there is no %s, so Slurm does not load the plugin", i->conf.plugstack);
    else if (stack->lines == 0)
        findings_add (findings, "plugstack", LEVEL_ERROR,
                      "let it include 10-spank-tf.conf, which make install has installed",
                      "neither %s nor a file that it includes loads spank_tf.so", i->conf.plugstack);
    else if (stack->lines > 1)
        findings_add (findings, "plugstack", LEVEL_ERROR, "keep one of the lines",
                      "the plugin is loaded %zu times, by %s:%d and by %s:%d", stack->lines,
                      stack->line[0].file, stack->line[0].number, stack->line[1].file, stack->line[1].number);
    else
        _check_line (&stack->line[0], findings);
}

/*
 * pyxis enters a container in its task_init. Before that a task registers, and its supervisor is started;
 * behind it the second stage begins the lives of the task.
 */
static void _check_order (const struct installation *i, struct findings *findings)
{
    const struct plugstack_line *line = &i->stack.line[0];
    const struct plugstack_place *pyxis = &i->stack.pyxis, *late = &i->stack.late;

    if (late->order && late->order < line->order)
        findings_add (findings, "order", LEVEL_ERROR, "write it behind all others",
                      "spank_tf_late.so (%s:%d) stands before spank_tf (%s:%d)", late->file, late->number,
                      line->file, line->number);
    if (!pyxis->order)
        return;
    if (pyxis->order < line->order)
        findings_add (
            findings, "order", LEVEL_ERROR, "write the line of spank_tf before it",
            "pyxis stands before spank_tf (%s:%d, and then %s:%d): in a container, tasks do not find "
            "spank-tf's programs",
            pyxis->file, pyxis->number, line->file, line->number);
    else if (late->order > pyxis->order)
        findings_ok (findings, "order", "pyxis (%s:%d) stands between spank_tf and spank_tf_late.so",
                     pyxis->file, pyxis->number);
    else
        findings_add (findings, "order", LEVEL_WARNING, "write the line of spank_tf_late.so behind pyxis",
                      "%s pyxis (%s:%d): in a container no task can be restarted, and SLURM_TF_... "
                      "may be those of another task",
                      late->order ? "spank_tf_late.so stands before" : "no spank_tf_late.so stands behind",
                      pyxis->file, pyxis->number);
}

static void _check_arguments (struct installation *i, struct findings *findings)
{
    const struct plugstack_line *line = &i->stack.line[0];
    struct errtext err;
    size_t bad = 0;

    for (size_t n = 0; n < line->arguments; n++)
        if (arguments_take (&i->arguments, line->argument[n], &err) < 0) {
            findings_add (findings, "arguments", LEVEL_ERROR,
                          "correct or remove it; see spank-tf-plugstack(5)", "%s:%d: %s", line->file,
                          line->number, err.text);
            bad++;
        }
    if (line->arguments && !bad)
        findings_ok (findings, "arguments", "its arguments are valid");
}

/* It runs where srun does; on a compute node that may be in the job's first one only. */
static void _check_notify (const struct installation *i, struct findings *findings)
{
    const char *program = i->arguments.value[OPTION_NOTIFY];
    struct stat st;
    bool found, is_file;

    if (!program)
        return;
    found = stat (program, &st) == 0;
    is_file = found && S_ISREG (st.st_mode);
    if (!is_file || access (program, X_OK) < 0)
        findings_add (findings, "notify", LEVEL_WARNING, "install it wherever srun runs, or remove notify=",
                      "%s, which notify= names, cannot be executed here: %s", program,
                      found && !is_file ? "it is not a file" : strerror (errno));
}

/* The Slurm that is installed. */

/* Every plugin of Slurm says for which release it was built, so the first one will do. */
static int _release_of (const char *pattern, char *release, size_t size)
{
    glob_t found;
    int rc = -1;

    if (glob (pattern, 0, NULL, &found) != 0)
        return -1;
    for (size_t n = 0; n < found.gl_pathc && rc < 0; n++) {
        struct elf_file file;
        uint32_t number;

        if (elf_file_open (&file, found.gl_pathv[n], NULL) < 0)
            continue;
        if ((rc = elf_file_number (&file, "plugin_version", &number)) == 0)
            snprintf (release, size, "%u.%02u.%u", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff);
        elf_file_close (&file);
    }
    globfree (&found);
    return rc;
}

/* PREFIX of PREFIX/bin/srun, for the srun that PATH finds; "/usr" if there is none. */
static void _prefix_of_srun (char *prefix)
{
    const char *path = getenv ("PATH");
    char srun[PATH_MAX], *slash;

    for (; path && *path; path += *path == ':') {
        int length = (int)strcspn (path, ":");

        snprintf (srun, sizeof (srun), "%.*s/srun", length, path);
        path += length;
        if (access (srun, X_OK) < 0 || !realpath (srun, prefix))
            continue;
        for (int n = 0; n < 2 && (slash = strrchr (prefix, '/')); n++)
            *slash = '\0';
        return;
    }
    snprintf (prefix, PATH_MAX, "/usr");
}

/*
 * Slurm's plugins are in PluginDir, or below the directory where srun is: PREFIX/lib/slurm,
 * PREFIX/lib64/slurm, and in Debian PREFIX/lib/TRIPLET/slurm-wlm. Without an auth plugin no program
 * of Slurm runs, and a site's own plugins are of other kinds.
 */
static void _find_slurm (struct installation *i)
{
    static const char *const below[] = { "lib64/slurm*", "lib/*/slurm*", "lib/slurm*" };
    const char *directory = i->conf.plugin_dir;
    char prefix[PATH_MAX], pattern[2 * PATH_MAX];

    for (; *directory; directory += *directory == ':') {
        int length = (int)strcspn (directory, ":");

        snprintf (pattern, sizeof (pattern), "%.*s/auth_*.so", length, directory);
        if (_release_of (pattern, i->slurm, sizeof (i->slurm)) == 0)
            return;
        directory += length;
    }
    _prefix_of_srun (prefix);
    for (size_t n = 0; n < sizeof (below) / sizeof (below[0]) && !*i->conf.plugin_dir; n++) {
        snprintf (pattern, sizeof (pattern), "%s/%s/auth_*.so", prefix, below[n]);
        if (_release_of (pattern, i->slurm, sizeof (i->slurm)) == 0)
            return;
    }
}

/* Slurm compares the first two numbers of a release. */
static bool _same_release (const char *built_for, const char *slurm)
{
    size_t length = strlen (built_for);

    return strncmp (built_for, slurm, length) == 0 && slurm[length] == '.';
}

static void _check_release (struct installation *i, struct findings *findings)
{
    _find_slurm (i);
    if (!*i->slurm)
        findings_add (findings, "release", LEVEL_WARNING, "set PluginDir in slurm.conf",
                      "the plugin was built for Slurm %s, but which Slurm is installed is not "
                      "known: its plugins were not found",
                      i->built_for);
    else if (!_same_release (i->built_for, i->slurm))
        findings_add (findings, "release", LEVEL_ERROR, "build spank-tf for this Slurm",
                      "the plugin was built for Slurm %s, and this host has Slurm %s", i->built_for,
                      i->slurm);
    else
        findings_ok (findings, "release",
                     "the plugin was built for Slurm %s, and this host has "
                     "Slurm %s",
                     i->built_for, i->slurm);
}

/* The helper programs. */

/* 0 if it can be executed and is of this version; -1 and err. */
static int _check_program (const char *path, const char *wanted, struct errtext *err)
{
    struct elf_file file;
    const char *version;
    int rc = 0;

    if (access (path, X_OK) < 0)
        return errtext_set (err, "%s", strerror (errno));
    if (elf_file_open (&file, path, err) < 0)
        return -1;
    version = elf_file_note (&file, VERSION_NAME);
    if (!version || strcmp (version, wanted) != 0)
        rc = errtext_set (err, "it is of version %s, the plugin of version %s", version ? version : "unknown",
                          wanted);
    elf_file_close (&file);
    return rc;
}

static int _check_helper (const struct installation *i, const char *directory, const char *name,
                          enum level level, struct findings *findings)
{
    char path[2 * PATH_MAX];
    struct errtext err;

    snprintf (path, sizeof (path), "%s/%s", directory, name);
    if (_check_program (path, i->version, &err) == 0)
        return 0;
    findings_add (findings, "helpers", level, INSTALL_AGAIN, "%s: %s", path, err.text);
    return -1;
}

static void _check_helpers (const struct installation *i, const char *directory, struct findings *findings)
{
    static const struct {
        const char *name;
        enum level level;       /* if it is missing */
    } helper[] = {
        { "tf-rendezvous", LEVEL_ERROR },
        { "tf-supervise", LEVEL_ERROR },
        { "tf-addresses", LEVEL_WARNING },      /* steps run without it */
    };
    int rc = 0;

    for (size_t n = 0; n < sizeof (helper) / sizeof (helper[0]); n++)
        rc |= _check_helper (i, directory, helper[n].name, helper[n].level, findings);
    if (rc == 0)
        findings_ok (findings, "helpers",
                     "the helper programs in %s are of version %s, as the "
                     "plugin",
                     directory, i->version);
    if (strcmp (i->version, PACKAGE_VERSION) != 0)
        findings_add (
            findings, "helpers", LEVEL_WARNING, "use the tf-check that was installed with the plugin",
            "this tf-check is of version " PACKAGE_VERSION ", the plugin of version %s", i->version);
}

/* The plugin. */

static void _copy (char *to, size_t size, const char *text)
{
    snprintf (to, size, "%s", text ? text : "");
}

static void _look_into_plugin (struct installation *i, const char *path, const struct elf_file *file,
                               struct findings *findings)
{
    const char *directory = i->arguments.value[OPTION_LIBEXECDIR];

    _copy (i->version, sizeof (i->version), elf_file_note (file, VERSION_NAME));
    _copy (i->built_for, sizeof (i->built_for), elf_file_note (file, VERSION_SLURM));
    if (!*i->version || !*i->built_for) {
        findings_add (findings, "plugin", LEVEL_ERROR, INSTALL_AGAIN,
                      "%s is older than this "
                      "tf-check, and does not say for which Slurm it was built",
                      path);
        return;
    }
    findings_ok (findings, "plugin", "%s is of version %s", path, i->version);
    _check_release (i, findings);
    _copy (i->libexecdir, sizeof (i->libexecdir),
           directory ? directory : elf_file_note (file, VERSION_LIBEXECDIR));
    _check_helpers (i, i->libexecdir, findings);
}

/* A path without "/" at its beginning is a file in PluginDir. path[2 * PATH_MAX] */
static void _path_of_plugin (const struct installation *i, const char *plugin, char *path)
{
    snprintf (path, 2 * PATH_MAX, "%s%s%s", *plugin == '/' ? "" : i->conf.plugin_dir,
              *plugin == '/' || !*i->conf.plugin_dir ? "" : "/", plugin);
}

static void _check_plugin (struct installation *i, struct findings *findings)
{
    char path[2 * PATH_MAX];
    struct elf_file file;
    struct errtext err;

    _path_of_plugin (i, i->stack.line[0].plugin, path);
    if (elf_file_open (&file, path, &err) < 0) {
        findings_add (findings, "plugin", LEVEL_ERROR,
                      INSTALL_AGAIN ", or correct the path in plugstack.conf", "%s: %s", path, err.text);
        return;
    }
    _look_into_plugin (i, path, &file, findings);
    elf_file_close (&file);
}

/* Who can change what runs as root. */

#define AS_ROOT "what slurmd runs as root"
#define AS_USERS "what runs as the user of each step"

/*
 * The files that match a pattern are in directories where names have a meaning: their directories come
 * first.
 */
static void _check_paths (const struct installation *i, int kind, struct owners *owners)
{
    char path[2 * PATH_MAX];

    for (size_t n = 0; n < i->stack.paths && n < PLUGSTACK_MAX_PATHS; n++) {
        const struct plugstack_path *p = &i->stack.path[n];

        if ((int)p->kind != kind)
            continue;
        _path_of_plugin (i, p->text, path);
        if (kind == PLUGSTACK_PATTERN)
            *strrchr (path, '/') = '\0';
        owners_check (owners, *path ? path : "/", kind == PLUGSTACK_PATTERN, AS_ROOT);
    }
}

static void _check_programs (const char *directory, struct owners *owners)
{
    char pattern[2 * PATH_MAX];
    glob_t found;

    owners_check (owners, directory, true, AS_USERS);
    snprintf (pattern, sizeof (pattern), "%s/tf-*", directory);
    if (glob (pattern, 0, NULL, &found) != 0)
        return;
    for (size_t n = 0; n < found.gl_pathc; n++)
        owners_check (owners, found.gl_pathv[n], false, AS_USERS);
    globfree (&found);
}

static void _check_owners (const struct installation *i, uid_t owner, struct findings *findings)
{
    struct owners owners = { .owner = owner, .findings = findings };

    if (!owners_are_known ())
        return;
    _check_paths (i, PLUGSTACK_PATTERN, &owners);
    _check_paths (i, PLUGSTACK_FILE, &owners);
    _check_paths (i, PLUGSTACK_PLUGIN, &owners);
    if (*i->libexecdir)
        _check_programs (i->libexecdir, &owners);
    if (owners.bad == 0)
        findings_ok (findings, "owners",
                     "only root can change plugstack.conf, the plugins and the helper programs");
}

void installation_check (struct installation *i, const char *slurm_conf, uid_t owner,
                         struct findings *findings)
{
    struct errtext err;

    memset (i, 0, sizeof (*i));
    if (slurm_conf_find (&i->conf, slurm_conf, &err) < 0 || slurm_conf_read (&i->conf, &err) < 0) {
        findings_add (findings, "slurm.conf", LEVEL_ERROR,
                      "set SLURM_CONF, or start slurmd, which gets it from slurmctld", "%s", err.text);
        return;
    }
    findings_ok (findings, "slurm.conf", "slurm.conf is %s", i->conf.path);
    if (plugstack_read (&i->stack, i->conf.plugstack, &err) < 0) {
        findings_add (findings, "plugstack", LEVEL_ERROR, "let every user read it; srun fails otherwise",
                      "%s", err.text);
        return;
    }
    _check_lines (i, findings);
    if (i->stack.lines == 0)
        return;
    _check_order (i, findings);
    _check_arguments (i, findings);
    _check_notify (i, findings);
    _check_plugin (i, findings);
    _check_owners (i, owner, findings);
}
