/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "python.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/child.h"
#include "common/errtext.h"
#include "common/number.h"

extern char **environ;

/*
 * Prints the version of TensorFlow and that of tf_keras, or "none". They are those of packages: to import
 * TensorFlow would take seconds.
 */
static const char program[] =
    "try:\n"
    "    from importlib.metadata import version\n"
    "except ImportError:\n"
    "    from pkg_resources import get_distribution\n"
    "    version = lambda name: get_distribution(name).version\n"
    "def first(*names):\n"
    "    for name in names:\n"
    "        try:\n"
    "            return version(name)\n"
    "        except Exception:\n"
    "            pass\n"
    "    return 'none'\n"
    "print(first('tensorflow', 'tensorflow-cpu', 'tensorflow-gpu', 'tensorflow-rocm', "
    "'tensorflow-macos', 'intel-tensorflow', 'tf-nightly'), first('tf_keras', 'tf-keras-nightly'))\n";

/* Its packages may be on a file system of the network; one that hangs does not hang a prolog. */
#define PYTHON_MS 120000

static int _spawn_python (pid_t *pid, const char *python, int output)
{
    char *const argv[] = { (char *)(uintptr_t)python, (char *)(uintptr_t)"-c", (char *)(uintptr_t)program,
                           NULL };
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init (&actions);

    if (rc)
        return rc;
    rc = posix_spawn_file_actions_adddup2 (&actions, output, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawnp (pid, python, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy (&actions);
    return rc;
}

/* Run it and read the line that it prints. Its messages go to our stderr. */
static int _run_python (const char *python, char *line, size_t size, struct errtext *err)
{
    ssize_t length = -1;
    int pipefd[2];
    pid_t pid;

    if (pipe2 (pipefd, O_CLOEXEC) < 0)
        return errtext_set (err, "%s", strerror (errno));
    if (_spawn_python (&pid, python, pipefd[1]) != 0)
        pid = -1;
    close (pipefd[1]);
    if (pid < 0)
        close (pipefd[0]);
    else
        length = child_answer (pid, pipefd[0], line, size - 1, PYTHON_MS);
    if (length <= 0)
        return errtext_set (err, "it does not run");
    line[length] = '\0';
    line[strcspn (line, "\n")] = '\0';
    return 0;
}

static bool _is_before (const char *version, int major, int minor)
{
    int has_major = number_scan (&version, 1000), has_minor = 0;

    if (*version == '.') {
        version++;
        has_minor = number_scan (&version, 1000);
    }
    return has_major < major || (has_major == major && has_minor < minor);
}

/*
 * From 2.16 on, TensorFlow's Keras is Keras 3, whose model.fit () fails with TensorFlow's strategies on
 * several tasks; with TF_USE_LEGACY_KERAS, it is tf_keras, which is Keras 2.
 */
static void _judge_keras (const char *python, const char *version, const char *tf_keras,
                          struct findings *findings)
{
    const char *legacy = getenv ("TF_USE_LEGACY_KERAS");
    bool is_asked = legacy && (strcmp (legacy, "1") == 0 || strcasecmp (legacy, "true") == 0);
    bool has_it = strcmp (tf_keras, "none") != 0;

    if (is_asked && !has_it)
        findings_add (findings, "tensorflow", LEVEL_ERROR, "install it: pip install tf_keras",
                      "TF_USE_LEGACY_KERAS=%s is set, and %s has TensorFlow %s without tf_keras", legacy,
                      python, version);
    else if (is_asked)
        findings_ok (findings, "tensorflow", "%s has TensorFlow %s, with Keras 2 of tf_keras %s", python,
                     version, tf_keras);
    else
        findings_ok (findings, "tensorflow",
                     "%s has TensorFlow %s, with Keras 3; for a script of Keras 2 with TensorFlow's "
                     "strategies %sset TF_USE_LEGACY_KERAS=1",
                     python, version, has_it ? "" : "install tf_keras and ");
}

void python_check (const char *python, struct findings *findings)
{
    struct errtext err;
    char line[1024], *tf_keras;
    const char *version;

    if (_run_python (python, line, sizeof (line), &err) < 0) {
        findings_add (findings, "tensorflow", LEVEL_ERROR, "name another Python", "%s: %s", python, err.text);
        return;
    }
    version = strtok_r (line, " ", &tf_keras);
    if (!version || strcmp (version, "none") == 0)
        findings_add (findings, "tensorflow", LEVEL_ERROR, "install it, or activate its environment",
                      "%s has no TensorFlow", python);
    else if (_is_before (version, 2, 16))
        findings_ok (findings, "tensorflow", "%s has TensorFlow %s", python, version);
    else
        _judge_keras (python, version, tf_keras, findings);
}
