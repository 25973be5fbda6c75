/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "fields.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "common/printable.h"

/* Encoding. */

static bool _is_sent (const struct field *field, const void *message)
{
    const void *member = (const char *)message + field->offset;

    switch (field->need) {
        case FIELD_NEEDED: return true;
        case FIELD_GIVEN: return *(const bool *)((const char *)message + field->given);
        case FIELD_OPTIONAL:
        case FIELD_TOLERANT: break;
    }
    switch (field->type) {
        case FIELD_TEXT: return *(const char *const *)member != NULL;
        case FIELD_CHARS:
        case FIELD_LINE: return *(const char *)member != '\0';
        case FIELD_FLAG: return *(const bool *)member;
        case FIELD_BIT: return *(const unsigned int *)member & (unsigned int)field->low;
        case FIELD_NUMBER:
        case FIELD_WORD:
        case FIELD_NAME: return *(const int *)member != field->absent;
        case FIELD_SECONDS: return *(const int64_t *)member != 0;
        case FIELD_PART: return _is_sent (&field->part->row[0], member);
        case FIELD_ADDRESS:
        case FIELD_OTHER: break;
    }
    return true;
}

static void _encode_member (const struct field *field, struct frame *frame, const void *member)
{
    struct address_text room;

    switch (field->type) {
        case FIELD_TEXT: frame_add (frame, field->key, "%s", *(const char *const *)member); break;
        case FIELD_CHARS:
        case FIELD_LINE: frame_add (frame, field->key, "%s", (const char *)member); break;
        case FIELD_FLAG:
        case FIELD_BIT: frame_add (frame, field->key, "1"); break;
        case FIELD_NUMBER: frame_add (frame, field->key, "%d", *(const int *)member); break;
        case FIELD_SECONDS: frame_add (frame, field->key, "%" PRId64, *(const int64_t *)member); break;
        case FIELD_WORD:
            frame_add (frame, field->key, "%s", choice_word (*field->words, *(const int *)member));
            break;
        case FIELD_NAME: frame_add (frame, field->key, "%s", field->names[*(const int *)member]); break;
        case FIELD_ADDRESS:
            frame_add (frame, field->key, "%s", address_print ((const struct address *)member, &room));
            break;
        case FIELD_PART: fields_encode (field->part, frame, member); break;
        case FIELD_OTHER: field->other->add (frame, field->key, member); break;
    }
}

void fields_encode (const struct fields *fields, struct frame *frame, const void *message)
{
    for (size_t i = 0; i < fields->rows; i++)
        if (_is_sent (&fields->row[i], message))
            _encode_member (&fields->row[i], frame, (const char *)message + fields->row[i].offset);
}

struct frame *fields_frame (const struct fields *fields, const void *message)
{
    struct frame *frame = frame_create ();

    if (frame)
        fields_encode (fields, frame, message);
    return frame;
}

/* Decoding. */

static int _take_text (const struct field *field, void *member, const char *text)
{
    if (field->high && (strlen (text) < (size_t)field->low || strlen (text) > (size_t)field->high))
        return -1;
    if (field->type == FIELD_TEXT)
        *(const char **)member = text;
    else
        strcpy (member, text);
    return 0;
}

/* At most 18 digits, which do not overflow. */
static int _take_seconds (int64_t *member, const char *text)
{
    size_t digits = strspn (text, "0123456789");
    int64_t seconds = strtoll (text, NULL, 10);

    if (digits > 18 || text[digits] != '\0' || seconds < 1)
        return -1;
    *member = seconds;
    return 0;
}

static int _take_name (const struct field *field, int *member, const char *text)
{
    for (int i = field->low; i <= field->high; i++)
        if (strcmp (text, field->names[i]) == 0) {
            *member = i;
            return 0;
        }
    return -1;
}

/* The key has this value. -1, and the member is unchanged, if it is malformed. */
static int _decode_member (const struct field *field, void *member, const char *text)
{
    int word;

    switch (field->type) {
        case FIELD_TEXT:
        case FIELD_CHARS: return _take_text (field, member, text);
        case FIELD_LINE:
            return printable_line (member, (size_t)field->high + 1, text, strlen (text)) ? 0 : -1;
        case FIELD_FLAG: *(bool *)member = true; return 0;
        case FIELD_BIT: *(unsigned int *)member |= (unsigned int)field->low; return 0;
        case FIELD_NUMBER: return number_parse (member, text, field->low, field->high);
        case FIELD_SECONDS: return _take_seconds (member, text);
        case FIELD_WORD:
            if ((word = choice_parse (*field->words, text, NULL)) < 0)
                return -1;
            *(int *)member = word;
            return 0;
        case FIELD_NAME: return _take_name (field, member, text);
        case FIELD_ADDRESS: return address_parse (member, text);
        case FIELD_PART:
        case FIELD_OTHER: break;
    }
    return -1;
}

/* What the member is if its key is missing. */
static void _clear_member (const struct field *field, void *message)
{
    void *member = (char *)message + field->offset;

    switch (field->type) {
        case FIELD_TEXT: *(const char **)member = NULL; break;
        case FIELD_CHARS:
        case FIELD_LINE: *(char *)member = '\0'; break;
        case FIELD_FLAG: *(bool *)member = false; break;
        case FIELD_BIT: *(unsigned int *)member &= ~(unsigned int)field->low; break;
        case FIELD_NUMBER:
        case FIELD_WORD:
        case FIELD_NAME: *(int *)member = field->absent; break;
        case FIELD_SECONDS: *(int64_t *)member = 0; break;
        case FIELD_ADDRESS: *(struct address *)member = (struct address){ 0 }; break;
        case FIELD_PART:
            for (size_t i = 0; i < field->part->rows; i++)
                _clear_member (&field->part->row[i], member);
            break;
        case FIELD_OTHER: break;
    }
    if (field->need == FIELD_GIVEN)
        *(bool *)((char *)message + field->given) = false;
}

/* Of a part, or of the part that it begins with. */
static const char *_first_key (const struct field *field)
{
    return field->key ? field->key : _first_key (&field->part->row[0]);
}

static int _decode_other (const struct fields *fields, const struct field *field, void *message,
                          const struct frame *frame, struct errtext *err)
{
    if (!field->other->take || field->other->take (message, frame, field->key) == 0)
        return 0;
    return errtext_set (err, "%s of %s is not %s", field->key, fields->name, field->other->limit);
}

static int _decode_part (const struct field *field, void *message, const struct frame *frame,
                         struct errtext *err)
{
    if (field->need != FIELD_NEEDED && !frame_has (frame, _first_key (field)))
        return 0;
    if (field->need == FIELD_GIVEN)
        *(bool *)((char *)message + field->given) = true;
    return fields_decode (field->part, (char *)message + field->offset, frame, err);
}

static int _decode_one (const struct fields *fields, const struct field *field, void *message,
                        const struct frame *frame, struct errtext *err)
{
    void *member = (char *)message + field->offset;
    const char *text;
    struct field_text room;

    _clear_member (field, message);
    if (field->type == FIELD_OTHER)
        return _decode_other (fields, field, message, frame, err);
    if (field->type == FIELD_PART)
        return _decode_part (field, message, frame, err);
    if (!(text = frame_get (frame, field->key)))
        return field->need == FIELD_NEEDED ? errtext_set (err, "%s lacks %s", fields->name, field->key) : 0;
    if (_decode_member (field, member, text) < 0)
        return field->need == FIELD_TOLERANT ? 0
                                             : errtext_set (err, "%s of %s is not %s", field->key,
                                                            fields->name, field_limit (field, &room));
    if (field->need == FIELD_GIVEN)
        *(bool *)((char *)message + field->given) = true;
    return 0;
}

int fields_decode (const struct fields *fields, void *message, const struct frame *frame, struct errtext *err)
{
    for (size_t i = 0; i < fields->rows; i++)
        if (_decode_one (fields, &fields->row[i], message, frame, err) < 0)
            return -1;
    return 0;
}

int fields_decode_words (const struct fields *fields, void *message, const char *words)
{
    struct frame *frame = frame_create ();
    char *copy = strdup (words), *rest = copy, *word;
    int rc = -1;

    while (frame && (word = strsep (&rest, " "))) {
        char *value = strchr (word, '=');

        if (value) {
            *value = '\0';
            frame_add (frame, word, "%s", value + 1);
        }
    }
    if (frame && copy)
        rc = fields_decode (fields, message, frame, NULL);
    frame_destroy (frame);
    free (copy);
    return rc;
}

static const char *_text_limit (const struct field *field, struct field_text *room)
{
    if (field->high == 0)
        return "text";
    snprintf (room->text, sizeof (room->text), "%s %d characters", field->low ? "exactly" : "at most",
              field->high);
    return room->text;
}

static const char *_number_limit (const struct field *field, struct field_text *room)
{
    if (field->high == INT_MAX)
        snprintf (room->text, sizeof (room->text), "%d or more", field->low);
    else
        snprintf (room->text, sizeof (room->text), "%d to %d", field->low, field->high);
    return room->text;
}

const char *field_limit (const struct field *field, struct field_text *room)
{
    switch (field->type) {
        case FIELD_FLAG:
        case FIELD_BIT: return "flag";
        case FIELD_TEXT:
        case FIELD_CHARS: return _text_limit (field, room);
        case FIELD_LINE: return "printable ASCII";
        case FIELD_NUMBER: return _number_limit (field, room);
        case FIELD_SECONDS: return "seconds since 1970";
        case FIELD_WORD: return "one of its words";
        case FIELD_NAME: return "one of these words";
        case FIELD_ADDRESS: return "an IPv4 or IPv6 address";
        case FIELD_PART: return "as there";
        case FIELD_OTHER: break;
    }
    return field->other->limit ? field->other->limit : "text";
}
