/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     replay [CORPUS]          run every target with every file of CORPUS/TARGET, whole and cut
 *                              behind each of its bytes, and then with variations of these files,
 *                              the same ones every time; CORPUS is this directory's by default
 *     replay TARGET FILE...    run one target with these files, as they are
 *
 * SPANK_TF_VARIATIONS=N makes N of them for each file. One that aborts is written to the file
 * replay.found; under the sanitizers only with ASAN_OPTIONS=abort_on_error=1.
 */
#include "config.h"

#include "fuzz.h"
#include "../random.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DECLARE(name) fuzz_function name##_target;
FUZZ_TARGETS (DECLARE)

#define ROW(name) { #name, name##_target },
static const struct target {
    const char *name;
    fuzz_function *function;
} targets[] = { FUZZ_TARGETS (ROW) };

#define MAX_PIECES 6

struct input {
    uint8_t *data;
    size_t size;
};

static struct input _read (const char *path)
{
    struct input input = { malloc (FUZZ_MAX_INPUT), 0 };
    FILE *file = fopen (path, "re");

    CHECK (input.data && file);
    input.size = fread (input.data, 1, FUZZ_MAX_INPUT, file);
    CHECK (fclose (file) == 0);
    return input;
}

static void _replay (const struct target *target, const char *path, const struct input *input,
                     bool truncations)
{
    fprintf (stderr, "%s %s\n", target->name, path);
    for (size_t length = truncations ? 0 : input->size; length <= input->size; length++)
        fuzz_run (target->function, input->data, length);
}

/* The variation that runs, for the handler of SIGABRT. */
static struct input variation;

static void _keep (int signal)
{
    int fd = open ("replay.found", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    (void)signal;
    (void)!write (fd, variation.data, variation.size);
    close (fd);
}

/* Pieces of any files of the corpus, one behind the other. */
static void _splice (uint64_t *seed, const struct input *input, size_t inputs)
{
    size_t pieces = random_next (seed) % MAX_PIECES + 1;

    for (variation.size = 0; pieces > 0; pieces--) {
        const struct input *from = &input[random_next (seed) % inputs];
        size_t start = random_next (seed) % (from->size + 1);
        size_t size = random_next (seed) % (from->size - start + 1);

        if (variation.size + size <= FUZZ_MAX_INPUT)
            memcpy (variation.data + variation.size, from->data + start, size);
        else
            size = 0;
        variation.size += size;
    }
}

/* A file, in which some bytes are others. */
static void _change (uint64_t *seed, const struct input *input, size_t inputs)
{
    const struct input *from = &input[random_next (seed) % inputs];

    memcpy (variation.data, from->data, variation.size = from->size);
    for (size_t bytes = random_next (seed) % 4 + 1; bytes > 0 && variation.size > 0; bytes--)
        variation.data[random_next (seed) % variation.size] ^= (uint8_t)random_next (seed);
}

/* For each file of a corpus. */
static size_t _variations (void)
{
    const char *text = getenv ("SPANK_TF_VARIATIONS");

    return text ? (size_t)atoi (text) : 20;
}

static void _vary (const struct target *target, const struct input *input, size_t inputs)
{
    uint64_t seed = RANDOM_SEED;

    variation = (struct input){ malloc (FUZZ_MAX_INPUT), 0 };
    CHECK (variation.data);
    signal (SIGABRT, _keep);
    fprintf (stderr, "%s variations\n", target->name);
    for (size_t i = 0; i < _variations () * inputs; i++) {
        (i % 2 ? _splice : _change) (&seed, input, inputs);
        fuzz_run (target->function, variation.data, variation.size);
    }
    signal (SIGABRT, SIG_DFL);
    free (variation.data);
}

static void _replay_all (const struct target *target, const char *corpus)
{
    struct input input[256];
    size_t inputs = 0;
    char path[4096];
    struct dirent **entry;
    int files;

    snprintf (path, sizeof (path), "%s/%s", corpus, target->name);
    CHECK ((files = scandir (path, &entry, NULL, alphasort)) > 2);
    for (int i = 0; i < files; free (entry[i++]))
        if (entry[i]->d_name[0] != '.') {
            CHECK (inputs < COUNT (input));
            snprintf (path, sizeof (path), "%s/%s/%s", corpus, target->name, entry[i]->d_name);
            input[inputs] = _read (path);
            _replay (target, path, &input[inputs++], true);
        }
    free (entry);
    _vary (target, input, inputs);
    while (inputs > 0)
        free (input[--inputs].data);
}

int main (int argc, char *argv[])
{
    for (size_t i = 0; i < COUNT (targets); i++)
        if (argc <= 2)
            _replay_all (&targets[i], argc == 2 ? argv[1] : CORPUS);
        else if (strcmp (targets[i].name, argv[1]) == 0)
            for (int file = 2; file < argc; file++) {
                struct input input = _read (argv[file]);

                _replay (&targets[i], argv[file], &input, false);
                free (input.data);
            }
    return 0;
}
