/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "pattern.h"

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

static void _put (struct out *out, const char *text, size_t len)
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
        _put (out, "0", 1);
    _put (out, value, strlen (value));
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
        case 'n': return v->node_index;
        case 't': return v->rank;
        case '%': return "%";
        default: return NULL;
    }
}

/* Replace the pattern at `text`, which begins with '%'. Returns the text behind it. */
static const char *_replace (struct out *out, const char *text, const struct pattern_values *v)
{
    const char *p = text + 1, *value;
    int width = number_scan (&p, MAX_WIDTH);

    if (width > MAX_WIDTH)
        width = MAX_WIDTH;
    if (*p == 'J' && v->job && v->step) {
        _put_value (out, v->job, width);
        _put (out, ".", 1);
        _put_value (out, v->step, 0);
    } else if ((value = _value (v, *p)))
        _put_value (out, value, width);
    else {
        _put (out, text, (size_t)(p - text));
        return p;
    }
    return p + 1;
}

int pattern_expand (const char *text, const struct pattern_values *values, char *buf,
                    size_t size, struct errtext *err)
{
    struct out out = { buf, size, 0 };
    bool plain = strchr (text, '\\') != NULL;

    buf[0] = '\0';
    while (*text)
        if (*text == '%' && !plain)
            text = _replace (&out, text, values);
        else {
            if (*text != '\\')
                _put (&out, text, 1);
            text++;
        }
    return out.used < size ? 0 : errtext_set (err, "the name is longer than %zu bytes", size - 1);
}
