/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/contact.h"

TEST (tokens_are_hexadecimal_and_differ)
{
    struct contact a, b;

    assert_int_equal (contact_make_tokens (&a, NULL), 0);
    assert_int_equal (contact_make_tokens (&b, NULL), 0);
    assert_int_equal (strspn (a.token, "0123456789abcdef"), CONTACT_TOKEN - 1);
    assert_int_equal (strspn (a.server_token, "0123456789abcdef"), CONTACT_TOKEN - 1);
    assert_string_not_equal (a.token, a.server_token);
    assert_string_not_equal (a.token, a.link_token);
    assert_string_not_equal (a.link_token, a.link_server_token);
    assert_string_not_equal (a.token, b.token);
    assert_string_not_equal (a.server_token, b.server_token);
}

TEST (the_longest_ports_fit_and_longer_ones_are_refused)
{
    struct contact r = { 1,     TOKEN, SERVER_TOKEN, TOKEN, TOKEN, 1, true, CONTACT_ASK_INTERFACES, true,
                         false, "" };
    struct contact parsed;
    char *text, longer[2048];

    memset (r.ports, '1', sizeof (r.ports) - 1);
    text = contact_encode (&r);
    assert_int_equal (contact_decode (&parsed, text, NULL), 0);
    assert_string_equal (parsed.ports, r.ports);
    snprintf (longer, sizeof (longer), "%s1", text);
    assert_int_equal (contact_decode (&parsed, longer, NULL), -1);
    free (text);
}
