/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the value of SLURM_TF_RENDEZVOUS.
 */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/contact.h"

static void _check (const struct contact *contact)
{
    char *text = contact_encode (contact);
    struct contact contact2;
    struct errtext err;

    CHECK (contact->port >= 1 && contact->port <= 65535);
    CHECK (contact->timeout >= 1);
    CHECK (contact->ask <= CONTACT_ASK_RAILS);
    CHECK (strlen (contact->token) == 32 && strlen (contact->server_token) == 32);
    CHECK (text && fuzz_succeeded (contact_decode (&contact2, text, &err), &err));
    CHECK (contact2.port == contact->port && contact2.timeout == contact->timeout);
    CHECK (contact2.second_port == contact->second_port && contact2.own_name == contact->own_name);
    CHECK (contact2.hold == contact->hold && contact2.ask == contact->ask);
    CHECK (strcmp (contact2.token, contact->token) == 0);
    CHECK (strcmp (contact2.server_token, contact->server_token) == 0);
    CHECK (strcmp (contact2.link_token, contact->link_token) == 0);
    CHECK (strcmp (contact2.ports, contact->ports) == 0);
    free (text);
}

FUZZ_TARGET (contact)
{
    char *text = fuzz_text (data, size);
    struct contact contact;
    struct errtext err;

    /* That of another version has no tokens for links. */
    if (fuzz_succeeded (contact_decode (&contact, text, &err), &err) && *contact.link_token)
        _check (&contact);
    free (text);
}
