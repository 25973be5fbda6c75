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
#include <sys/wait.h>
#include <unistd.h>

#include "common/errtext.h"
#include "common/number.h"

extern char **environ;

/* The packages that contain TensorFlow. To import it would take seconds. */
static const char program[] =
    "import sys\n"
    "try:\n"
    "    from importlib.metadata import version\n"
    "except ImportError:\n"
    "    from pkg_resources import get_distribution\n"
    "    version = lambda name: get_distribution(name).version\n"
    "for name in 'tensorflow', 'tensorflow-cpu', 'tensorflow-gpu', 'tensorflow-rocm', "
    "'tensorflow-macos', 'intel-tensorflow', 'tf-nightly':\n"
    "    try:\n"
    "        sys.exit(print(version(name)))\n"
    "    except Exception:\n"
    "        pass\n"
    "print('none')\n";

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
    int pipefd[2], rc, status;
    FILE *f;
    pid_t pid;

    if (pipe2 (pipefd, O_CLOEXEC) < 0)
        return errtext_set (err, "%s", strerror (errno));
    rc = _spawn_python (&pid, python, pipefd[1]);
    close (pipefd[1]);
    f = fdopen (pipefd[0], "r");
    /* gcc -fanalyzer is wrong: f is not NULL there. */
    if (rc || !f || !fgets (line, (int)size, f))
        line[0] = '\0';
    if (f)
        fclose (f);
    else
        close (pipefd[0]);
    if (rc || waitpid (pid, &status, 0) < 0 || status || !*line)
        return errtext_set (err, "it does not run");
    line[strcspn (line, "\n")] = '\0';
    return 0;
}

/* Before 2.3, its servers do not know SO_REUSEPORT. */
static bool _is_old (const char *version)
{
    int major = number_scan (&version, 1000), minor = 0;

    if (*version == '.') {
        version++;
        minor = number_scan (&version, 1000);
    }
    return major < 2 || (major == 2 && minor < 3);
}

void python_check (const char *python, struct findings *findings)
{
    struct errtext err;
    char version[64];

    if (_run_python (python, version, sizeof (version), &err) < 0)
        findings_add (findings, "tensorflow", LEVEL_ERROR, "name another Python", "%s: %s", python, err.text);
    else if (strcmp (version, "none") == 0)
        findings_add (findings, "tensorflow", LEVEL_ERROR, "install it, or activate its environment",
                      "%s has no TensorFlow", python);
    else if (_is_old (version))
        findings_add (findings, "tensorflow", LEVEL_WARNING, "use --tf-hold=no",
                      "%s has TensorFlow %s, whose servers cannot share a held port", python, version);
    else
        findings_ok (findings, "tensorflow", "%s has TensorFlow %s", python, version);
}
