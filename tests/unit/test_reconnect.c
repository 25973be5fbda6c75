/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/hello.h"
#include "protocol/reconnect.h"

#define HEAD "TOKEN=" TOKEN "\nRELEASE=" PACKAGE_VERSION "\nNODE=n5\nRECONNECTS=1\nRANK=17\n"

TEST (a_reconnect_has_these_strings)
{
    struct reconnect reconnect = { .token = TOKEN,
                                   .node = "n5",
                                   .rank = 17,
                                   .report = { .kind = EXIT_REPORT_SIGNAL, .number = 11 },
                                   .life = { .life = -1 } };

    assert_string_equal (message_text (reconnect_encode (&reconnect)), HEAD);
    reconnect.ended = true;
    assert_string_equal (message_text (reconnect_encode (&reconnect)), HEAD "EXIT_REPORT=signal 11\n");
    reconnect.life = (struct life_report){ .life = 2, .asked_signal = 15, .asked_at = 1700000000 };
    assert_string_equal (message_text (reconnect_encode (&reconnect)),
                         HEAD "EXIT_REPORT=signal 11\nLIFE=2\nASKED_SIGNAL=15\n"
                              "ASKED_AT=1700000000\n");
    reconnect.failure = (struct failure_text){ .source = FAILURE_TEXT_LOG, .text = "ValueError" };
    assert_string_equal (message_text (reconnect_encode (&reconnect)),
                         HEAD "EXIT_REPORT=signal 11\nLIFE=2\nASKED_SIGNAL=15\n"
                              "ASKED_AT=1700000000\nLAST_LINE=ValueError\n");
}

TEST (decoding_returns_the_encoded_reconnect)
{
    struct reconnect reconnect = { .token = TOKEN,
                                   .node = "n5",
                                   .rank = 17,
                                   .report = { .kind = EXIT_REPORT_SIGNAL, .number = 11 },
                                   .life = { .life = 3 },
                                   .failure = { .source = FAILURE_TEXT_ERROR_FILE, .text = "ValueError" } };

    for (int ended = 0; ended < 2; ended++) {
        struct reconnect decoded;
        struct frame *frame;
        struct hello hello;

        memset (&decoded, 0xff, sizeof (decoded));
        reconnect.ended = ended;
        frame = reconnect_encode (&reconnect);
        assert_int_equal (reconnect_decode (&decoded, frame, 18, NULL), 0);
        assert_int_equal (decoded.rank, 17);
        assert_int_equal (decoded.ended, ended);
        assert_int_equal (decoded.report.kind, ended ? EXIT_REPORT_SIGNAL : EXIT_REPORT_EXIT);
        assert_int_equal (decoded.report.number, ended ? 11 : 0);
        assert_int_equal (decoded.life.life, ended ? 3 : -1);
        assert_string_equal (decoded.failure.text, ended ? "ValueError" : "");
        assert_null (decoded.token);
        assert_null (decoded.node);
        hello_decode (&hello, frame);
        assert_true (hello.reconnects);
        assert_string_equal (hello.token, TOKEN);
        assert_string_equal (hello.node, "n5");
        frame_destroy (frame);
    }
}

#define NO_RANK "a supervisor without its rank"
#define BAD_REPORT "a report that does not say how the task ended"

TEST (a_reconnect_out_of_bounds_is_refused)
{
    static const struct message_string good[] = {
        { "TOKEN", TOKEN }, { "RECONNECTS", "1" }, { "RANK", "5" }, { "EXIT_REPORT", "exit 3" }
    };
    static const struct {
        const char *key, *value, *message;      /* message NULL: the reconnect is valid */
    /* clang-format off */
    } row[] = {
        { "COLOUR", "red", NULL }, { "TOKEN", NULL, NULL },
        { "RANK", NULL, NO_RANK }, { "RANK", "", NO_RANK }, { "RANK", "-1", NO_RANK },
        { "RANK", "0", NULL }, { "RANK", "7", NULL }, { "RANK", "8", NO_RANK },
        { "RANK", " 1", NO_RANK }, { "RANK", "1 ", NO_RANK }, { "RANK", "+1", NO_RANK },
        { "RANK", "4294967297", NO_RANK }, { "RANK", "x", NO_RANK },
        { "EXIT_REPORT", NULL, NULL }, { "EXIT_REPORT", "stopped", NULL },
        { "EXIT_REPORT", "", BAD_REPORT }, { "EXIT_REPORT", "exit 256", BAD_REPORT },
        { "EXIT_REPORT", "exit -1", BAD_REPORT }, { "EXIT_REPORT", "signal 0", BAD_REPORT },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), row[i].key, row[i].value);
        struct errtext err = { "" };
        struct reconnect reconnect;

        assert_int_equal (reconnect_decode (&reconnect, frame, 8, &err), row[i].message ? -1 : 0);
        assert_string_equal (err.text, row[i].message ? row[i].message : "");
        frame_destroy (frame);
    }
}
