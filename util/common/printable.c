/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "printable.h"

#include <stdbool.h>
#include <string.h>

/* The bytes of the character of UTF-8 that begins here, and its number; 0 if there is none. */
static size_t _decode (const unsigned char *s, unsigned int *character)
{
    static const unsigned int least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = s[0] < 0x80   ? 1
                    : s[0] < 0xc0 ? 0
                    : s[0] < 0xe0 ? 2
                    : s[0] < 0xf0 ? 3
                    : s[0] < 0xf8 ? 4
                                  : 0;

    *character = length > 1 ? s[0] & (0x7fU >> length) : s[0];
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (s[i] & 0x3fU);
    }
    if (*character < least[length] || *character > 0x10ffff || (*character >= 0xd800 && *character < 0xe000))
        return 0;
    return length;
}

static bool _is_between (unsigned int character, unsigned int low, unsigned int high)
{
    return character >= low && character <= high;
}

/* C1; directions, and separators of lines and paragraphs. */
static bool _is_harmful (unsigned int character)
{
    return _is_between (character, 0x80, 0x9f) || character == 0x61c
           || _is_between (character, 0x200e, 0x200f) || _is_between (character, 0x2028, 0x202e)
           || _is_between (character, 0x2066, 0x2069);
}

static void _make_printable (char *text, bool lines)
{
    const unsigned char *from = (const unsigned char *)text;
    char *to = text;

    while (*from) {
        unsigned int character;
        size_t length = _decode (from, &character);

        if (length == 0 || _is_harmful (character))
            *to++ = '?';
        else if (length == 1 && (character < 0x20 || character == 0x7f) && !(lines && character == '\n'))
            *to++ = ' ';
        else
            for (size_t i = 0; i < length; i++)
                *to++ = (char)from[i];
        from += length ? length : 1;
    }
    *to = '\0';
}

void printable_make_line (char *line)
{
    _make_printable (line, false);
}

void printable_make_lines (char *text)
{
    _make_printable (text, true);
}

/* The bytes of a character of UTF-8 behind its first one are left out. */
static bool _is_continuation (unsigned char c)
{
    return c >= 0x80 && c < 0xc0;
}

static char _printable (unsigned char c)
{
    if (c < 0x20 || c == 0x7f)
        return ' ';
    return (char)(c < 0x7f ? c : '?');
}

size_t printable_line (char *buf, size_t size, const char *line, size_t length)
{
    const size_t most = size - 1;
    size_t used = 0;
    bool cut = false;

    while (length > 0 && _printable ((unsigned char)line[length - 1]) == ' ')
        length--;
    for (size_t i = 0; i < length && !cut; i++) {
        unsigned char c = (unsigned char)line[i];

        if (_is_continuation (c) || (used == 0 && _printable (c) == ' '))
            continue;
        cut = used == most;
        if (!cut)
            buf[used++] = _printable (c);
    }
    if (cut)
        memcpy (buf + used - 3, "...", 3);
    while (!cut && used > 0 && buf[used - 1] == ' ')
        used--;
    buf[used] = '\0';
    return used;
}
