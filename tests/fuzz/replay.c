/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     replay [CORPUS]          run every target with every file of CORPUS/TARGET, whole and cut
 *                              behind each of its bytes; CORPUS is this directory's by default
 *     replay TARGET FILE...    run one target with these files, as they are
 */
#include "config.h"

#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(name) fuzz_function name##_target;
FUZZ_TARGETS (DECLARE)

#define ROW(name) { #name, name##_target },
static const struct target {
    const char *name;
    fuzz_function *function;
} targets[] = { FUZZ_TARGETS (ROW) };

static void _replay (const struct target *target, const char *path, bool truncations)
{
    static uint8_t data[FUZZ_MAX_INPUT];
    FILE *file = fopen (path, "re");
    size_t size = file ? fread (data, 1, sizeof (data), file) : 0;

    fprintf (stderr, "%s %s\n", target->name, path);
    CHECK (file && fclose (file) == 0);
    for (size_t length = truncations ? 0 : size; length <= size; length++)
        fuzz_run (target->function, data, length);
}

static void _replay_all (const struct target *target, const char *corpus)
{
    char path[4096];
    struct dirent **entry;
    int files;

    snprintf (path, sizeof (path), "%s/%s", corpus, target->name);
    CHECK ((files = scandir (path, &entry, NULL, alphasort)) > 2);
    for (int i = 0; i < files; free (entry[i++]))
        if (entry[i]->d_name[0] != '.') {
            snprintf (path, sizeof (path), "%s/%s/%s", corpus, target->name, entry[i]->d_name);
            _replay (target, path, true);
        }
    free (entry);
}

int main (int argc, char *argv[])
{
    for (size_t i = 0; i < COUNT (targets); i++)
        if (argc <= 2)
            _replay_all (&targets[i], argc == 2 ? argv[1] : CORPUS);
        else if (strcmp (targets[i].name, argv[1]) == 0)
            for (int file = 2; file < argc; file++)
                _replay (&targets[i], argv[file], false);
    return 0;
}
