/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "contact.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "frame.h"

static const char *const ask_name[] = {
    [CONTACT_ASK_NOTHING] = "nothing",
    [CONTACT_ASK_INTERFACES] = "interfaces",
    [CONTACT_ASK_RAILS] = "rails",
};

static const char *const hold_name[] = { "free", "hold" };

static const char *const port_count_name[] = { "one-port", "two-ports" };

static const char *const name_name[] = { "no-name", "own-name" };

static int _make_token (char token[CONTACT_TOKEN])
{
    unsigned char bits[16];

    if (getrandom (bits, sizeof (bits), 0) != (ssize_t)sizeof (bits))
        return -1;
    for (size_t i = 0; i < sizeof (bits); i++)
        snprintf (token + 2 * i, 3, "%02x", bits[i]);
    return 0;
}

int contact_make_tokens (struct contact *contact, struct errtext *err)
{
    if (_make_token (contact->token) < 0 || _make_token (contact->server_token) < 0)
        return errtext_set (err, "no random bits: %s", strerror (errno));
    return 0;
}

char *contact_encode (const struct contact *c)
{
    char *text;

    if (asprintf (&text, "%d %d %s %s %d %s %s %s %s %s", FRAME_VERSION, c->port, c->token, c->server_token,
                  c->timeout, hold_name[c->hold], ask_name[c->ask], port_count_name[c->second_port],
                  name_name[c->own_name], c->ports)
        < 0)
        return NULL;
    return text;
}

static int _decode_hold (bool *hold, const char *text)
{
    *hold = strcmp (text, hold_name[true]) == 0;
    return *hold || strcmp (text, hold_name[false]) == 0 ? 0 : -1;
}

static int _decode_ask (enum contact_ask *ask, const char *text)
{
    for (int i = 0; i <= CONTACT_ASK_RAILS; i++)
        if (strcmp (text, ask_name[i]) == 0) {
            *ask = (enum contact_ask)i;
            return 0;
        }
    return -1;
}

/* True if contact_encode () prints this text: sscanf () is more tolerant, and cuts long fields. */
static bool _is_printed (const struct contact *c, const char *text)
{
    char *printed = contact_encode (c);
    bool same = printed && strcmp (printed, text) == 0;

    free (printed);
    return same;
}

/* The fields that only this version has. */
static int _decode_rest (struct contact *c, const char *text)
{
    char hold[8], ask[16], count[16], name[16];

    /* NOLINTNEXTLINE(cert-err34-c): nine digits do not overflow. */
    if (sscanf (text, "%*d %*d %*s %*s %9d %7s %15s %15s %15s %1023s", &c->timeout, hold, ask, count, name,
                c->ports)
            != 6
        || c->timeout < 1)
        return -1;
    c->second_port = strcmp (count, port_count_name[true]) == 0;
    c->own_name = strcmp (name, name_name[true]) == 0;
    if (_decode_hold (&c->hold, hold) < 0 || _decode_ask (&c->ask, ask) < 0)
        return -1;
    return _is_printed (c, text) ? 0 : -1;
}

int contact_decode (struct contact *c, const char *text, struct errtext *err)
{
    int version;

    *c = (struct contact){ .timeout = 60, .hold = true, .ports = "any" };
    /* NOLINTNEXTLINE(cert-err34-c): nine digits do not overflow. */
    if (sscanf (text, "%9d %9d %32s %32s", &version, &c->port, c->token, c->server_token) != 4 || c->port < 1
        || c->port > 65535 || strlen (c->token) != CONTACT_TOKEN - 1
        || strlen (c->server_token) != CONTACT_TOKEN - 1
        || (version == FRAME_VERSION && _decode_rest (c, text) < 0))
        return errtext_set (err, CONTACT_VARIABLE " is not what srun's spank_tf sets");
    return 0;
}
