/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * File descriptors that a process has inherited, or leaves to the program that it will exec.
 */
#ifndef TF_DESCRIPTORS_H
#define TF_DESCRIPTORS_H

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

#endif
