/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "contact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fields.h"

static const char *const ask_name[] = {
    [CONTACT_ASK_NOTHING] = "nothing",
    [CONTACT_ASK_INTERFACES] = "interfaces",
    [CONTACT_ASK_RAILS] = "rails",
};

#define MESSAGE struct contact

/* clang-format off */
static const struct field row[] = {
    FIELD ("LINK_TOKEN", link_token, CHARS, FIELD_NEEDED, CONTACT_TOKEN - 1, CONTACT_TOKEN - 1),
    FIELD ("LINK_SERVER_TOKEN", link_server_token, CHARS, FIELD_NEEDED, CONTACT_TOKEN - 1, CONTACT_TOKEN - 1),
    FIELD ("TIMEOUT", timeout, NUMBER, FIELD_NEEDED, 1, FRAME_MAX_SECONDS),
    FIELD ("HOLD", hold, FLAG, FIELD_OPTIONAL),
    FIELD ("ASK", ask, NAME, FIELD_OPTIONAL, 0, CONTACT_ASK_RAILS, .names = ask_name),
    FIELD ("SECOND_PORT", second_port, FLAG, FIELD_OPTIONAL),
    FIELD ("OWN_NAME", own_name, FLAG, FIELD_OPTIONAL),
    FIELD ("PORTS", ports, CHARS, FIELD_NEEDED, 0, sizeof (((struct contact *)0)->ports) - 1),
};
/* clang-format on */

const struct fields contact_fields = FIELDS ("a contact", row);

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
    if (_make_token (contact->token) < 0 || _make_token (contact->server_token) < 0
        || _make_token (contact->link_token) < 0 || _make_token (contact->link_server_token) < 0)
        return errtext_set (err, "no random bits: %s", strerror (errno));
    return 0;
}

char *contact_encode (const struct contact *c)
{
    struct frame *frame = frame_create ();
    char *text = NULL;
    size_t size;
    FILE *file = frame ? open_memstream (&text, &size) : NULL;

    if (file) {
        fields_encode (&contact_fields, frame, c);
        fprintf (file, "%d %d %s %s", FRAME_VERSION, c->port, c->token, c->server_token);
        for (const char *s = NULL; (s = frame_next (frame, s));)
            fprintf (file, " %s", s);
        fclose (file);
    }
    frame_destroy (frame);
    return text;
}

int contact_decode (struct contact *c, const char *text, struct errtext *err)
{
    int version, used;

    *c = (struct contact){ .timeout = 60, .ports = "any" };
    /* NOLINTNEXTLINE(cert-err34-c): nine digits do not overflow. */
    if (sscanf (text, "%9d %9d %32s %32s%n", &version, &c->port, c->token, c->server_token, &used) != 4
        || c->port < 1 || c->port > 65535 || strlen (c->token) != CONTACT_TOKEN - 1
        || strlen (c->server_token) != CONTACT_TOKEN - 1
        || (version == FRAME_VERSION && fields_decode_words (&contact_fields, c, text + used) < 0))
        return errtext_set (err, CONTACT_VARIABLE " is not what srun's spank_tf sets");
    return 0;
}
