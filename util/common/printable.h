/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Text of programs, nodes and users, as any terminal can show it.
 */
#ifndef TF_PRINTABLE_H
#define TF_PRINTABLE_H

#include <stddef.h>

/*
 * Make it harmless, in place: printable characters of UTF-8 stay. A control character of ASCII becomes a
 * blank, and '?' what is not UTF-8, a control character of Unicode (C1), one that separates lines or
 * paragraphs, and one that changes the direction of text. A terminal would obey them, or show a line as
 * another one. Of a line a newline becomes a blank, too; in a text of several lines it stays.
 */
void printable_make_line (char *line);
void printable_make_lines (char *text);

/*
 * Copy the line into buf, which has 4 bytes or more, without the blanks around it. What is not printable
 * ASCII becomes '?', one for each character of UTF-8, and a control character a blank; a longer line is cut
 * and ends in "...". Returns the length.
 */
size_t printable_line (char *buf, size_t size, const char *line, size_t length);

#endif
