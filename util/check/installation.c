/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "installation.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/preflight.h"
#include "common/version.h"
#include "owners.h"

#define INSTALL_AGAIN "install spank-tf again"

/* plugstack.conf. */

static void _check_line (const struct plugstack_line *line, struct findings *findings)
{
    if (line->required)
        findings_ok (findings, "plugstack", "%s:%d loads the plugin", line->at.file, line->at.number);
    else
        findings_add (findings, "plugstack", LEVEL_WARNING, "write required instead",
                      "%s:%d loads the plugin as optional, so where it is broken tasks run without "
                      "TF_CONFIG",
                      line->at.file, line->at.number);
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
                      stack->line[0].at.file, stack->line[0].at.number, stack->line[1].at.file,
                      stack->line[1].at.number);
    else
        _check_line (&stack->line[0], findings);
}

/*
 * pyxis enters a container in its task_init. Before that a task registers, and its supervisor is started;
 * behind it the second stage begins the lives of the task.
 */
static void _check_order (const struct installation *i, struct findings *findings)
{
    const struct plugstack_place *line = &i->stack.line[0].at;
    const struct plugstack_place *pyxis = &i->stack.pyxis, *late = &i->stack.late;

    if (late->order && late->order < line->order)
        findings_add (findings, "order", LEVEL_ERROR, "move it after all others",
                      "spank_tf_late.so (%s:%d) comes before spank_tf (%s:%d)", late->file, late->number,
                      line->file, line->number);
    if (!pyxis->order)
        return;
    if (pyxis->order < line->order)
        findings_add (
            findings, "order", LEVEL_ERROR, "move the line of spank_tf before it",
            "pyxis comes before spank_tf (%s:%d, and then %s:%d): in a container, tasks do not find "
            "spank-tf's programs",
            pyxis->file, pyxis->number, line->file, line->number);
    else if (late->order > pyxis->order)
        findings_ok (findings, "order", "pyxis (%s:%d) is between spank_tf and spank_tf_late.so", pyxis->file,
                     pyxis->number);
    else
        findings_add (findings, "order", LEVEL_WARNING, "move the line of spank_tf_late.so after pyxis",
                      "%s pyxis (%s:%d): in a container no task can be restarted, and SLURM_TF_... "
                      "may be those of another task",
                      late->order ? "spank_tf_late.so comes before" : "no spank_tf_late.so comes after",
                      pyxis->file, pyxis->number);
}

static void _check_arguments (struct installation *i, struct findings *findings)
{
    const struct plugstack_line *line = &i->stack.line[0];
    enum option_id option;
    const char *value;
    struct errtext err;
    size_t bad = 0;

    for (size_t n = 0; n < line->arguments; n++)
        if (option_take_argument (&option, &value, line->argument[n], &err) == 0)
            i->argument[option] = value;
        else {
            findings_add (findings, "arguments", LEVEL_ERROR,
                          "correct or remove it; see spank-tf-plugstack(5)", "%s:%d: %s", line->at.file,
                          line->at.number, err.text);
            bad++;
        }
    if (line->arguments && !bad)
        findings_ok (findings, "arguments", "its arguments are valid");
}

/* It runs where srun does; on a compute node that may be in the job's first one only. */
static void _check_notify (const struct installation *i, struct findings *findings)
{
    const char *program = i->argument[OPTION_NOTIFY];
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

/*
 * The value of a note in the file of the plugin, or of a program (common/version.h). The file is read as
 * strings, and neither executed nor loaded. "" if there is none; -1 and err.
 */
static int _read_note (char *value, size_t size, const char *path, const char *name, struct errtext *err)
{
    FILE *f = fopen (path, "re");
    char *text = NULL, *note = NULL;
    size_t room = 0;
    int rc = 0;

    *value = '\0';
    if (!f)
        return errtext_set (err, "%s", strerror (errno));
    while (!note && getdelim (&text, &room, '\0', f) > 0)
        note = strstr (text, name);
    if (note)
        snprintf (value, size, "%s", note + strlen (name));
    else if (ferror (f))
        rc = errtext_set (err, "%s", strerror (errno));
    free (text);
    fclose (f);
    return rc;
}

/* The helper programs. */

/* 0 if it can be executed and is of this version; -1 and err. */
static int _check_program (const char *path, const char *wanted, struct errtext *err)
{
    char version[32];

    if (access (path, X_OK) < 0)
        return errtext_set (err, "%s", strerror (errno));
    if (_read_note (version, sizeof (version), path, VERSION_NAME, err) < 0)
        return -1;
    if (strcmp (version, wanted) == 0)
        return 0;
    return errtext_set (err, "it is of version %s, the plugin of version %s", *version ? version : "unknown",
                        wanted);
}

static int _check_helper (const struct installation *i, const char *name, enum level level,
                          struct findings *findings)
{
    char path[2 * PATH_MAX];
    struct errtext err;

    snprintf (path, sizeof (path), "%s/%s", i->libexecdir, name);
    if (_check_program (path, i->version, &err) == 0)
        return 0;
    findings_add (findings, "helpers", level, INSTALL_AGAIN, "%s: %s", path, err.text);
    return -1;
}

static void _check_helpers (const struct installation *i, struct findings *findings)
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
        rc |= _check_helper (i, helper[n].name, helper[n].level, findings);
    if (rc == 0)
        findings_ok (findings, "helpers", "the helper programs in %s are of version %s, as the plugin",
                     i->libexecdir, i->version);
    if (strcmp (i->version, PACKAGE_VERSION) != 0)
        findings_add (
            findings, "helpers", LEVEL_WARNING, "use the tf-check that was installed with the plugin",
            "this tf-check is of version " PACKAGE_VERSION ", the plugin of version %s", i->version);
}

/* The plugin. */

/*
 * A path without "/" at its beginning is a file in a directory of PluginDir: in the first that has it, or the
 * last. path[2 * PATH_MAX]
 */
static void _path_of_plugin (const struct installation *i, const char *plugin, char *path)
{
    const char *directory = i->conf.plugin_dir;

    snprintf (path, (size_t)2 * PATH_MAX, "%s", plugin);
    while (*plugin != '/' && *directory) {
        size_t length = strcspn (directory, ":");

        snprintf (path, (size_t)2 * PATH_MAX, "%.*s/%s", (int)length, directory, plugin);
        if (access (path, F_OK) == 0)
            return;
        directory += length + (directory[length] == ':');
    }
}

static void _check_plugin (struct installation *i, struct findings *findings)
{
    const char *directory = i->argument[OPTION_LIBEXECDIR];
    char path[2 * PATH_MAX];
    struct errtext err;

    _path_of_plugin (i, i->stack.line[0].plugin, path);
    if (*path != '/') {
        findings_add (findings, "plugin", LEVEL_WARNING, "write the whole path into plugstack.conf",
                      "slurm.conf does not have PluginDir, so it is not known which file \"%s\" is", path);
        return;
    }
    if (_read_note (i->version, sizeof (i->version), path, VERSION_NAME, &err) < 0
        || _read_note (i->built_for, sizeof (i->built_for), path, VERSION_SLURM, &err) < 0
        || _read_note (i->libexecdir, sizeof (i->libexecdir), path, VERSION_LIBEXECDIR, &err) < 0) {
        findings_add (findings, "plugin", LEVEL_ERROR,
                      INSTALL_AGAIN ", or correct the path in plugstack.conf", "%s: %s", path, err.text);
        return;
    }
    if (!*i->version || !*i->built_for) {
        findings_add (findings, "plugin", LEVEL_ERROR, INSTALL_AGAIN, "%s does not contain its version",
                      path);
        return;
    }
    findings_ok (findings, "plugin", "%s is of version %s, built for Slurm %s", path, i->version,
                 i->built_for);
    if (directory)
        snprintf (i->libexecdir, sizeof (i->libexecdir), "%s", directory);
    _check_helpers (i, findings);
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

/* Of notify= and preflight=. */
static void _check_site_programs (const struct installation *i, struct owners *owners)
{
    const char *notify = i->argument[OPTION_NOTIFY], *preflight = i->argument[OPTION_PREFLIGHT];
    struct preflight_rule rule;
    char path[PATH_MAX];

    if (notify)
        owners_check (owners, notify, false, AS_USERS);
    if (!preflight || preflight_parse (&rule, preflight, NULL) < 0 || !rule.program)
        return;
    snprintf (path, sizeof (path), "%.*s", rule.length, rule.program);
    owners_check (owners, path, false, AS_USERS);
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
    _check_site_programs (i, &owners);
    if (owners.bad == 0)
        findings_ok (findings, "owners", "only root can change plugstack.conf, the plugins and the programs");
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
