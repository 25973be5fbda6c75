/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * File descriptors that a process inherited.
 */
#ifndef TF_DESCRIPTORS_H
#define TF_DESCRIPTORS_H

/*
 * Close every descriptor above `last`. An inherited pipe that stays open would keep its reader
 * waiting for end-of-file.
 */
void descriptors_close_above (int last);

#endif
