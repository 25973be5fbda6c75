/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * File descriptors that a process has inherited, or leaves to another program.
 */
#ifndef TF_DESCRIPTORS_H
#define TF_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Close every descriptor above `last`. An inherited pipe that stays open would keep its reader
 * waiting for end-of-file.
 */
void descriptors_close_above (int last);

/*
 * Let the program have what is open as `fd`: by a descriptor of 200 or higher, if the limit on open files
 * allows that, because scripts close and reuse lower ones by number. Returns the descriptor; -1 and errno.
 */
int descriptors_leave_open (int fd);

/* Write all these bytes. -1 and errno. */
int descriptors_write (int fd, const void *bytes, size_t length);

/*
 * A file in memory with these bytes, whose offset is at its end. It is closed at exec, cannot be executed,
 * and may be sealed. -1 and errno if there is no memory, or no descriptor.
 */
int descriptors_memory_file (const char *name, const void *bytes, size_t length);

/* The first line of such a file, cut. False if it has none. */
bool descriptors_first_line (int fd, char *buf, size_t size);

#endif
