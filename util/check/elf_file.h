/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a program or a plugin says about itself, read from its file: it is neither executed nor
 * loaded.
 */
#ifndef TF_ELF_FILE_H
#define TF_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/errtext.h"

struct elf_file {
    const unsigned char *bytes;     /* the whole file */
    size_t size;
};

/*
 * Open a file for this machine. 0, to be closed with elf_file_close (); -1 and err if it cannot be
 * read or is not a valid ELF file for this machine. err does not name the file.
 */
int elf_file_open (struct elf_file *file, const char *path, struct errtext *err);

void elf_file_close (struct elf_file *file);

/*
 * The value of a note of spank-tf (common/version.h): elf_file_note (file, VERSION_SLURM) is
 * "22.05". It lives as long as the file. NULL if the file has no such note.
 */
const char *elf_file_note (const struct elf_file *file, const char *name);

/*
 * The value of the exported number `name`, as "plugin_version", which every plugin of Slurm has:
 * the release for which it was built, and what Slurm compares when it loads it. -1 if the file does
 * not export it.
 */
int elf_file_number (const struct elf_file *file, const char *name, uint32_t *number);

#endif
