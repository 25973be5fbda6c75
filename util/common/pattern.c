/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "number.h"

/* Slurm pads to ten digits at most. */
#define MAX_WIDTH 10

struct out {
    char *buf;
    size_t size;
    size_t used;            /* size or more if the text does not fit */
};

static void _put_text (struct out *out, const char *text, size_t len)
{
    if (out->used + len < out->size) {
        memcpy (out->buf + out->used, text, len);
        out->buf[out->used + len] = '\0';
    }
    out->used += len;
}

static void _put_value (struct out *out, const char *value, int width)
{
    bool number = *value && strspn (value, "0123456789") == strlen (value);

    for (int len = (int)strlen (value); number && len < width; len++)
        _put_text (out, "0", 1);
    _put_text (out, value, strlen (value));
}

static const char *_value (const struct pattern_values *v, char letter)
{
    switch (letter) {
        case 'j': return v->job;
        case 's': return v->step;
        case 'N': return v->node;
        case 'u': return v->user;
        case 'x': return v->job_name;
        case 'A': return v->array_job;
        case 'a': return v->array_task;
        case '%': return "%";
        default: return NULL;
    }
}

/* Without replacement (see pattern_expand ()). */
static bool _is_plain (const char *text)
{
    return strchr (text, '\\') != NULL;
}

int pattern_check (const char *text, struct errtext *err)
{
    static const struct pattern_values any = { "", "", "", "", "", "", "" };

    for (const char *percent = _is_plain (text) ? NULL : strchr (text, '%'), *p; percent;
         percent = strchr (p, '%')) {
        p = percent + 1;
        number_scan (&p, MAX_WIDTH);
        if (isalpha ((unsigned char)*p) && *p != 'J' && !_value (&any, *p))
            return errtext_set (err,
                                "%%%c is not a pattern of it; %%j, %%s, %%J, %%x, %%u, %%A, %%a and %%N "
                                "are, and %%%%%c is \"%%%c\"",
                                *p, *p, *p);
        p += *p != '\0';
    }
    return 0;
}

/* Replace the pattern at `text`, which begins with '%'. Returns the text behind it. */
static const char *_replace_pattern (struct out *out, const char *text, const struct pattern_values *v)
{
    const char *p = text + 1, *value;
    int width = number_scan (&p, MAX_WIDTH);

    if (width > MAX_WIDTH)
        width = MAX_WIDTH;
    if (*p == 'J' && v->job && v->step) {
        _put_value (out, v->job, width);
        _put_text (out, ".", 1);
        _put_value (out, v->step, 0);
    } else if ((value = _value (v, *p)))
        _put_value (out, value, width);
    else {
        _put_text (out, text, (size_t)(p - text));
        return p;
    }
    return p + 1;
}

int pattern_expand (const char *text, const struct pattern_values *values, char *buf, size_t size,
                    struct errtext *err)
{
    struct out out = { buf, size, 0 };
    bool plain = _is_plain (text);

    buf[0] = '\0';
    while (*text)
        if (*text == '%' && !plain)
            text = _replace_pattern (&out, text, values);
        else {
            if (*text != '\\')
                _put_text (&out, text, 1);
            text++;
        }
    return out.used < size ? 0 : errtext_set (err, "the name is longer than %zu bytes", size - 1);
}
