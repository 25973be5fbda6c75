/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "log_tail.h"

#include <ctype.h>
#include <string.h>

#include "common/logdir.h"

/* The line in front of the output of a step, or of a life (logdir.h), without its end. */
static bool _begins_step (const char *line, size_t length)
{
    static const char restart[] = ", restart ";
    const size_t prefix = sizeof (LOGDIR_STEP_LINE) - 1;

    if (length <= prefix || memcmp (line, LOGDIR_STEP_LINE, prefix) != 0)
        return false;
    for (size_t i = prefix; i < length; i++)
        if (!isdigit ((unsigned char)line[i]) && line[i] != '.')
            return length - i > sizeof (restart) - 1 && memcmp (line + i, restart, sizeof (restart) - 1) == 0;
    return true;
}

/* Where the output of the last step, or life, begins. */
static size_t _last_step (const char *bytes, size_t length)
{
    size_t begin = length;

    while (begin > 0) {
        size_t end = begin;

        while (begin > 0 && bytes[begin - 1] != '\n')
            begin--;
        if (_begins_step (bytes + begin, end - begin))
            return end;
        begin -= begin > 0;
    }
    return 0;
}

/*
 * The length of the escape sequence (ECMA-48) at the beginning of these bytes: "\033[31m", "\033]8;;URL\a"
 * of a link, "\033M"; or 0. One that is not complete is all of the line.
 */
static size_t _escape (const char *bytes, size_t length)
{
    bool string = length > 1 && bytes[1] == ']', sequence = length > 1 && bytes[1] == '[';
    size_t i = string || sequence ? 2 : 1;

    if (length == 0 || bytes[0] != '\033')
        return 0;
    for (; i < length && bytes[i] != '\n'; i++)
        if (string ? bytes[i] == '\a' || (bytes[i] == '\\' && bytes[i - 1] == '\033')
                   : !sequence || (bytes[i] >= '@' && bytes[i] <= '~'))
            return i + 1;
    return i;
}

/* Copy the bytes without colours, as far as the copy has `most`. Returns how many of them that takes. */
static size_t _copy (char *copy, size_t *most, const char *bytes, size_t length)
{
    size_t used = 0, i = 0, escape;

    while (i < length)
        if ((escape = _escape (bytes + i, length - i)) > 0)
            i += escape;
        else if (used == *most)
            break;
        else {
            if (copy)
                copy[used] = (char)(bytes[i] == '\r' ? '\n' : bytes[i]);
            used++;
            i++;
        }
    *most = used;
    return i;
}

void log_tail_read (struct log_tail *tail, const char *bytes, size_t length)
{
    size_t begin = _last_step (bytes, length), most = LOG_TAIL_WINDOW;

    _copy (tail->bytes, &most, bytes + begin, length - begin);
    tail->text = (struct text){ tail->bytes, tail->bytes + most };
}

size_t log_tail_offset (const struct log_tail *tail, const char *at, const char *bytes, size_t length)
{
    size_t begin = _last_step (bytes, length), most = (size_t)(at - tail->bytes);

    return begin + _copy (NULL, &most, bytes + begin, length - begin);
}

/* Lines. */

size_t text_length (struct text text)
{
    return (size_t)(text.end - text.at);
}

const char *text_find (struct text text, const char *word)
{
    return text_length (text) > 0 ? memmem (text.at, text_length (text), word, strlen (word)) : NULL;
}

bool text_begins (struct text text, const char *word)
{
    return text_length (text) >= strlen (word) && memcmp (text.at, word, strlen (word)) == 0;
}

bool text_is (struct text text, const char *word)
{
    return text_length (text) == strlen (word) && text_begins (text, word);
}

/* "[rank0]: " or "[rank0]:" */
static size_t _name_length (struct text line)
{
    const char *at = line.at + 1;

    if (!text_begins (line, "["))
        return 0;
    while (at < line.end && isalnum ((unsigned char)*at))
        at++;
    if (line.end - at < 2 || at[0] != ']' || at[1] != ':')
        return 0;
    at += 2;
    return (size_t)(at - line.at) + (at < line.end && *at == ' ');
}

/* It is not the program's (logdir_ask_to_end ()). */
static bool _is_note (struct text line)
{
    if (!text_begins (line, LOGDIR_STEP_LINE))
        return false;
    line.at += sizeof (LOGDIR_STEP_LINE) - 1;
    while (line.at < line.end && (isdigit ((unsigned char)*line.at) || *line.at == '.'))
        line.at++;
    return text_begins (line, LOGDIR_ASKED);
}

bool text_take_line (struct text *text, struct text *line)
{
    size_t name;

    do {
        if (text->at == text->end)
            return false;
        *line = *text;
        while (text->at < text->end && *text->at != '\n')
            text->at++;
        line->end = text->at;
        if (text->at < text->end)
            text->at++;
    } while (_is_note (*line));
    while ((name = _name_length (*line)) > 0)
        line->at += name;
    return true;
}
