/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdlib.h>

#include "protocol/contact.h"
#include "protocol/frame.h"

/* This version, as text. */
#define TEXT(number) #number
#define TEXT_OF(number) TEXT (number)
#define V TEXT_OF (FRAME_VERSION)

#define TOKEN "0123456789abcdef0123456789abcdef"
#define SERVER_TOKEN "fedcba9876543210fedcba9876543210"

TEST (tokens_are_hexadecimal_and_differ)
{
    struct contact a, b;

    assert_int_equal (contact_make_tokens (&a, NULL), 0);
    assert_int_equal (contact_make_tokens (&b, NULL), 0);
    assert_int_equal (strspn (a.token, "0123456789abcdef"), CONTACT_TOKEN - 1);
    assert_int_equal (strspn (a.server_token, "0123456789abcdef"), CONTACT_TOKEN - 1);
    assert_int_equal (strlen (a.token), CONTACT_TOKEN - 1);
    assert_int_equal (strlen (a.server_token), CONTACT_TOKEN - 1);
    assert_string_not_equal (a.token, a.server_token);
    assert_string_not_equal (a.token, b.token);
    assert_string_not_equal (a.server_token, b.server_token);
}

TEST (decoding_returns_the_encoded_contact)
{
    static const struct {
        struct contact contact;
        const char *text;
    } row[] = {
        { { 60001, TOKEN, SERVER_TOKEN, 300, true, CONTACT_ASK_NOTHING, false, false, "any" },
          V " 60001 " TOKEN " " SERVER_TOKEN " TIMEOUT=300 HOLD=1 PORTS=any" },
        { { 1, TOKEN, SERVER_TOKEN, 1, false, CONTACT_ASK_INTERFACES, true, false, "reserved" },
          V " 1 " TOKEN " " SERVER_TOKEN " TIMEOUT=1 ASK=interfaces SECOND_PORT=1 PORTS=reserved" },
        { { 65535, SERVER_TOKEN, TOKEN, 604800, true, CONTACT_ASK_RAILS, true, true, "30000-30999,31500" },
          V " 65535 " SERVER_TOKEN " " TOKEN
            " TIMEOUT=604800 HOLD=1 ASK=rails SECOND_PORT=1 OWN_NAME=1 PORTS=30000-30999,31500" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        char *text = contact_encode (&row[i].contact);
        struct contact r;

        assert_string_equal (text, row[i].text);
        assert_int_equal (contact_decode (&r, text, NULL), 0);
        assert_int_equal (r.port, row[i].contact.port);
        assert_string_equal (r.token, row[i].contact.token);
        assert_string_equal (r.server_token, row[i].contact.server_token);
        assert_int_equal (r.timeout, row[i].contact.timeout);
        assert_int_equal (r.hold, row[i].contact.hold);
        assert_int_equal (r.ask, row[i].contact.ask);
        assert_int_equal (r.second_port, row[i].contact.second_port);
        assert_int_equal (r.own_name, row[i].contact.own_name);
        assert_string_equal (r.ports, row[i].contact.ports);
        free (text);
    }
}

TEST (the_longest_ports_fit)
{
    struct contact r = { 1, TOKEN, SERVER_TOKEN, 1, true, CONTACT_ASK_INTERFACES, true, false, "" };
    struct contact parsed;
    char *text;

    memset (r.ports, '1', sizeof (r.ports) - 1);
    text = contact_encode (&r);
    assert_int_equal (contact_decode (&parsed, text, NULL), 0);
    assert_string_equal (parsed.ports, r.ports);
    free (text);
}

TEST (longer_ports_are_refused)
{
    struct contact r;
    char text[2048] = V " 60001 " TOKEN " " SERVER_TOKEN " TIMEOUT=300 PORTS=";
    char *end = strchr (text, '\0');

    memset (end, '1', sizeof (r.ports));
    assert_int_equal (contact_decode (&r, text, NULL), -1);
    end[sizeof (r.ports) - 1] = '\0';
    assert_int_equal (contact_decode (&r, text, NULL), 0);
}

TEST (the_port_and_tokens_of_another_version_are_decoded)
{
    struct contact r;

    assert_int_equal (contact_decode (&r, "99 60001 " TOKEN " " SERVER_TOKEN " anything else", NULL), 0);
    assert_int_equal (r.port, 60001);
    assert_string_equal (r.token, TOKEN);
    assert_string_equal (r.server_token, SERVER_TOKEN);
    assert_true (r.timeout > 0);
    assert_int_equal (r.ask, CONTACT_ASK_NOTHING);
    assert_string_equal (r.ports, "any");
}

TEST (malformed_text_is_refused)
{
    /* clang-format off */
    static const char *const row[] = {
        "", "none", "failed", V, V " 60001", V " 60001 " TOKEN, V " 60001 " TOKEN " " SERVER_TOKEN,
        V " 60001 " TOKEN " " SERVER_TOKEN " TIMEOUT=300", V " 60001 " TOKEN " " SERVER_TOKEN " PORTS=any",
        V " 60001 " TOKEN " " SERVER_TOKEN " TIMEOUT=0 PORTS=any",
        V " 60001 " TOKEN " " SERVER_TOKEN " TIMEOUT=-1 PORTS=any",
        V " 60001 " TOKEN " " SERVER_TOKEN " TIMEOUT=4294967596 PORTS=any",
        V " 60001 " TOKEN " " SERVER_TOKEN " TIMEOUT=300 ASK=everything PORTS=any",
        V " 0 " TOKEN " " SERVER_TOKEN " TIMEOUT=300 PORTS=any",
        V " 65536 " TOKEN " " SERVER_TOKEN " TIMEOUT=300 PORTS=any",
        V " -1 " TOKEN " " SERVER_TOKEN " TIMEOUT=300 PORTS=any",
        "x 60001 " TOKEN " " SERVER_TOKEN " TIMEOUT=300 PORTS=any",
        V " 60001 short " SERVER_TOKEN " TIMEOUT=300 PORTS=any",
        V " 60001 " TOKEN "0 " SERVER_TOKEN " TIMEOUT=300 PORTS=any",
        "99 60001 " TOKEN " short",
    };
    /* clang-format on */
    struct contact r;

    for (size_t i = 0; i < COUNT (row); i++) {
        struct errtext err = { "" };

        assert_int_equal (contact_decode (&r, row[i], &err), -1);
        assert_string_equal (err.text, "SLURM_TF_RENDEZVOUS is not what srun's spank_tf sets");
    }
}
