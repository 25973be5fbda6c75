/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "locality.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "cpus.h"

/* tf-addresses prints a line for each interface. */
#define MAX_OUTPUT (INTERFACE_MAX * (IF_NAMESIZE + CPUS_MAX_TEXT) + 1)
/* Variables HWLOC_*; further ones are not passed on. */
#define MAX_VARIABLES 32
/* The length of all masks together, so that a registration always fits its frame. */
#define MAX_MASKS 3072

static bool _is_rail (const struct interface *interface)
{
    return interface->infiniband && interface_is_candidate (interface);
}

/* An interface has an entry for each address; true for the first of them. */
static bool _is_first (const struct interface *list, int i)
{
    for (int j = 0; j < i; j++)
        if (_is_rail (&list[j]) && strcmp (list[j].name, list[i].name) == 0)
            return false;
    return _is_rail (&list[i]);
}

bool locality_matters (const struct interface *list, int count)
{
    int rails = 0;

    for (int i = 0; i < count; i++)
        rails += _is_first (list, i);
    return rails > 1;
}

struct program {
    const char *path;
    char *argv[INTERFACE_MAX + 2];
    char *env[MAX_VARIABLES + 1];
};

/* The child. */
static int _become_helper (void *arg)
{
    const struct program *program = arg;

    execve (program->path, program->argv, program->env);
    return 127;
}

/* Run the program and collect its output. -1 and err. */
static int _run_program (struct program *program, char *text, size_t size, struct errtext *err)
{
    ssize_t length;

    if (access (program->path, X_OK) < 0)
        return errtext_set (err, "%s: %s", program->path, strerror (errno));
    length = child_ask ("tf-addresses", _become_helper, program, -1, text, size - 1, LOCALITY_TIMEOUT_MS);

    text[length < 0 ? 0 : length] = '\0';
    if (length >= 0 && strlen (text) == (size_t)length)
        return 0;
    return errtext_set (err, "%s failed", program->path);
}

/* Parse lines "ib0 0xff". Ignore all others. */
static void _take_masks (struct interface *list, int count, char *text)
{
    size_t sum = 0;
    char *rest;

    for (char *line = strtok_r (text, "\n", &rest); line; line = strtok_r (NULL, "\n", &rest)) {
        char *blank = strchr (line, ' ');
        struct cpus cpus;

        if (!blank || cpus_parse (&cpus, blank + 1) < 0)
            continue;
        *blank = '\0';
        for (int i = 0; i < count; i++)
            if (_is_rail (&list[i]) && strcmp (list[i].name, line) == 0
                && (sum += strlen (blank + 1) + 1) <= MAX_MASKS)
                list[i].local_cpus = blank + 1;
    }
}

/*
 * Print what sysfs has, in the form of tf-addresses. -1 unless it has the CPUs of every
 * interface: a bond has no device, and a device may have no CPUs of its own.
 */
static int _read_sysfs (const struct interface *list, int count, char *text)
{
    char path[sizeof ("/sys/class/net//device/local_cpus") + IF_NAMESIZE], room[CPUS_MAX_TEXT];
    static const struct cpus none;
    struct cpus cpus;

    for (int i = 0; i < count; i++) {
        if (!_is_first (list, i))
            continue;
        snprintf (path, sizeof (path), "/sys/class/net/%s/device/local_cpus", list[i].name);
        if (cpus_read (&cpus, path) < 0 || memcmp (&cpus, &none, sizeof (none)) == 0)
            return -1;
        text += sprintf (text, "%s %s\n", list[i].name, cpus_print (&cpus, room));
    }
    return 0;
}

int locality_ask (struct interface *list, int count, const char *program, char *const env[], char **room,
                  struct errtext *err)
{
    struct program helper = { program, { (char *)(uintptr_t)program }, { NULL } };
    int argc = 1, variables = 0;

    for (int i = 0; i < count; i++)
        if (_is_first (list, i))
            helper.argv[argc++] = list[i].name;
    for (; env && *env && variables < MAX_VARIABLES; env++)
        if (strncmp (*env, "HWLOC_", 6) == 0)
            helper.env[variables++] = *env;
    if (!(*room = malloc (MAX_OUTPUT)))
        return errtext_set (err, "%s", strerror (ENOMEM));
    /* These variables replace or correct what the kernel reports about the node. */
    if ((variables > 0 || _read_sysfs (list, count, *room) < 0)
        && _run_program (&helper, *room, MAX_OUTPUT, err) < 0)
        return -1;
    _take_masks (list, count, *room);
    return 0;
}
