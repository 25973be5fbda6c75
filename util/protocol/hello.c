/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "hello.h"

#include <string.h>

#include "contact.h"
#include "fields.h"

#define MESSAGE struct hello

/* clang-format off */
static const struct field row[] = {
    FIELD ("TOKEN", token, TEXT, FIELD_OPTIONAL),
    FIELD ("RELEASE", release, TEXT, FIELD_OPTIONAL),
    FIELD ("NODE", node, TEXT, FIELD_OPTIONAL),
    FIELD ("RECONNECTS", reconnects, FLAG, FIELD_OPTIONAL),
};
/* clang-format on */

const struct fields hello_fields = FIELDS ("a hello", row);

bool hello_shows (const struct hello *hello, const char *token)
{
    unsigned char differ = 0;

    if (!hello->token || strlen (hello->token) != CONTACT_TOKEN - 1)
        return false;
    for (int i = 0; i < CONTACT_TOKEN - 1; i++)
        differ |= (unsigned char)(hello->token[i] ^ token[i]);
    return differ == 0;
}

void server_token_add (struct frame *frame, const char *server_token)
{
    frame_add (frame, "SERVER_TOKEN", "%s", server_token);
}

int server_token_check (const struct frame *frame, const char *server_token, struct errtext *err)
{
    const char *text = frame_get (frame, "SERVER_TOKEN");

    if (text && strcmp (text, server_token) == 0)
        return 0;
    return errtext_set (err, "the program that answers there is not this step's rendezvous");
}
