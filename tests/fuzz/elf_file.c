/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a program or a plugin, cut or damaged.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "check/elf_file.h"
#include "common/version.h"

/* What is read from the file must be in it. */
static void _read (const struct elf_file *file)
{
    const char *note = elf_file_note (file, VERSION_SLURM);
    const char *begin = (const char *)file->bytes, *end = begin + file->size;
    uint32_t number;

    CHECK (!note || (note > begin && note < end && memchr (note, '\0', (size_t)(end - note))));
    if (elf_file_number (file, "plugin_version", &number) == 0)
        CHECK (memmem (file->bytes, file->size, &number, sizeof (number)));
}

FUZZ_TARGET (elf_file)
{
    const struct elf_file copy = { .bytes = data, .size = size };
    struct elf_file file;
    struct errtext err;

    if (fuzz_succeeded (elf_file_open (&file, fuzz_file (data, size), &err), &err)) {
        CHECK (file.size == size);
        _read (&file);
        elf_file_close (&file);
        /* The sanitizers see the end of this one, and not that of a file in memory. */
        _read (&copy);
    }
}
