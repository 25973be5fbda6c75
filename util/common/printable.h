/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A line that a program has written, as any terminal can show it.
 */
#ifndef TF_PRINTABLE_H
#define TF_PRINTABLE_H

#include <stddef.h>

/*
 * Copy the line into buf, which has 4 bytes or more, without the blanks around it. What is not printable
 * ASCII becomes '?', one for each character of UTF-8, and a control character a blank; a longer line is cut
 * and ends in "...". Returns the length.
 */
size_t printable_line (char *buf, size_t size, const char *line, size_t length);

#endif
