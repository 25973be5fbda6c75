/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A message as a table: each row is a member of its struct and the key of its frame. Encoding, decoding and
 * what an error says come from that row, and doc/protocol/ is compared with it.
 *
 *     #define MESSAGE struct watch_rule
 *     static const struct field row[] = {
 *         FIELD ("WATCHDOG", seconds, NUMBER, FIELD_OPTIONAL, 1, VALUE_MAX_SECONDS),
 *         FIELD ("WATCHDOG_FIRST", first, NUMBER, FIELD_NEEDED, 1, VALUE_MAX_SECONDS),
 *     };
 *     const struct fields watch_rule_fields = FIELDS ("the rule of --tf-watchdog", row);
 *
 * The compiler refuses a row whose member has another type. What a row cannot say, such as a limit that
 * depends on another member, is checked by the message's own decoder after fields_decode ().
 */
#ifndef TF_FIELDS_H
#define TF_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/address.h"
#include "common/choice.h"
#include "common/errtext.h"
#include "frame.h"

struct field {
    const char *key;
    unsigned int offset;        /* of the member */
    enum field_type {
        FIELD_TEXT, /* const char *: at most `high` characters, exactly if it is `low`; 0: any */
        FIELD_CHARS, /* char[high + 1] */
        FIELD_LINE, /* the same, of which printable_line () makes a line; malformed if nothing is left */
        FIELD_FLAG, /* bool: true if the key is there */
        FIELD_BIT, /* the bit `low` of an unsigned int, as a flag */
        FIELD_NUMBER, /* int, low..high */
        FIELD_SECONDS, /* int64_t: seconds since 1970, 1 or more */
        FIELD_WORD, /* an enum: what one of `words` means. Missing: 0 */
        FIELD_NAME, /* an enum, low..high: one of `names` */
        FIELD_ADDRESS, /* struct address */
        FIELD_PART, /* a struct with a table of its own, which several messages have */
        FIELD_OTHER, /* what only one message has: by `other`, from and to the whole struct */
    } type;
    enum field_need {
        FIELD_NEEDED, /* missing or malformed: an error */
        FIELD_OPTIONAL, /* malformed: an error; missing: `absent`, and that value is not sent */
        FIELD_TOLERANT, /* the same, but malformed: `absent` */
        FIELD_GIVEN, /* a number as FIELD_OPTIONAL, or a part, if the bool at `given` is true */
    } need;
    int low, high, absent;
    unsigned int given;
    /* What its type needs: */
    union {
        const struct choice *const *words; /* those of an option: &option_table[...].words */
        const char *const *names;
        const struct fields *part;
        const struct field_other *other;
    };
};

/*
 * `take` fills in the member even if there is no such key. It returns -1 if the value is malformed, or
 * missing though it is needed.
 */
struct field_other {
    void (*add) (struct frame *frame, const char *key, const void *message);
    /* NULL: it is not decoded. */
    int (*take) (void *message, const struct frame *frame, const char *key);
    const char *limit; /* what the value has to be */
};

struct fields {
    const char *name; /* of the message, in errors */
    const struct field *row;
    size_t rows;
};

#define FIELDS(message, table) { (message), (table), sizeof (table) / sizeof ((table)[0]) }

/* NOLINTBEGIN(bugprone-macro-parentheses): members and types have none. */

/* A row for a member of MESSAGE; `...` is what struct field has from `need` on. */
#define FIELD(key_, member, type_, ...) \
    { .key = key_, \
      .offset = FIELD_AT (member, FIELD_TYPE_##type_), \
      .type = FIELD_##type_, \
      .need = __VA_ARGS__ }

/* A row by functions. */
#define FIELD_BY(key_, other_, need_) { .key = key_, .type = FIELD_OTHER, .need = need_, .other = &(other_) }

/* A part of a message. If its first key is missing, all of it is: its other keys are not looked at. */
#define FIELD_PART_AT(member, table) \
    { .offset = offsetof (MESSAGE, member), .type = FIELD_PART, .need = FIELD_OPTIONAL, .part = &(table) }

/* The same with rows of which each is there or not, as if they stood here. */
#define FIELD_ROWS_AT(member, table) \
    { .offset = offsetof (MESSAGE, member), .type = FIELD_PART, .need = FIELD_NEEDED, .part = &(table) }

#define FIELD_AT(member, c_type) \
    (offsetof (MESSAGE, member) + (size_t)0 * _Generic (((MESSAGE *)0)->member, c_type: 1))
/* NOLINTEND(bugprone-macro-parentheses) */
#define FIELD_TYPE_TEXT const char *
#define FIELD_TYPE_CHARS char *
#define FIELD_TYPE_LINE char *
#define FIELD_TYPE_FLAG bool
#define FIELD_TYPE_BIT unsigned int
#define FIELD_TYPE_NUMBER int
#define FIELD_TYPE_SECONDS int64_t
#define FIELD_TYPE_WORD unsigned int
#define FIELD_TYPE_NAME unsigned int
#define FIELD_TYPE_ADDRESS struct address

/* Append all members that are to be sent, in the order of the rows. */
void fields_encode (const struct fields *fields, struct frame *frame, const void *message);

/* A frame with them. NULL if there is no memory. */
struct frame *fields_frame (const struct fields *fields, const void *message);

/*
 * Fill in all members that the rows name. -1 and err, which names the key and not its value, at the first
 * error. Texts live as long as the frame.
 */
int fields_decode (const struct fields *fields, void *message, const struct frame *frame,
                   struct errtext *err);

/* The same of "KEY=VALUE KEY=VALUE ..."; no text, which would live too long. -1 if it is malformed. */
int fields_decode_words (const struct fields *fields, void *message, const char *words);

/* A buffer for field_limit (). */
struct field_text {
    char text[64];
};

/* What a value has to be: "1 to 65535", "flag", "text". It lives in *room, or for ever. */
const char *field_limit (const struct field *field, struct field_text *room);

#endif
