/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/hello.h"
#include "protocol/status.h"

#define HEAD "TOKEN=" TOKEN "\nRELEASE=" PACKAGE_VERSION "\nNODE=n5\nRECONNECTS=1\nRANK=17\n"
#define END "EXIT_REPORT=signal 11\n"
#define SIGNS \
    "SIGNS=log\nLIFE=2\nMESSAGES=0\nSILENT_MS=0\nSIGN_AGO_MS=0\nSTARTED_MS=0\nSTEP=0\nTRACEBACK_MS=0\n"

static const struct status ended = {
    .ended = true,
    .report = { .kind = EXIT_REPORT_SIGNAL, .number = 11 },
    .life = { .number = 3, .life = 2, .asked_signal = 15, .asked_at = 1700000000 },
    .failure = { .source = FAILURE_TEXT_LOG, .text = "ValueError" },
    .signs = { .life = 2, .source = SIGNS_LOG },
};

TEST (a_status_has_these_strings)
{
    struct status status = { .report = ended.report, .life = ended.life, .signs = ended.signs };

    assert_string_equal (message_text (status_encode (&status)), SIGNS);
    assert_string_equal (message_text (status_encode_first (&status, TOKEN, "n5", 17)), HEAD SIGNS);
    assert_string_equal (message_text (status_encode (&ended)),
                         END "REPORT=3\nASKED_SIGNAL=15\nASKED_AT=1700000000\nLAST_LINE=ValueError\n" SIGNS);
    status = ended;
    status.life = (struct life_report){ .life = -1 };
    status.failure.source = FAILURE_TEXT_NONE;
    assert_string_equal (message_text (status_encode_first (&status, TOKEN, "n5", 17)),
                         HEAD END "LAST=1\n" SIGNS);
}

TEST (decoding_returns_the_encoded_status)
{
    for (int ends = 0; ends < 2; ends++) {
        struct status status = ended, decoded;
        struct frame *frame;
        struct hello hello;

        memset (&decoded, 0xff, sizeof (decoded));
        status.ended = ends;
        frame = status_encode_first (&status, TOKEN, "n5", 17);
        assert_int_equal (status_decode (&decoded, frame, NULL), 0);
        assert_int_equal (status_rank (frame, 18), 17);
        assert_int_equal (status_rank (frame, 17), -1);
        assert_int_equal (decoded.ended, ends);
        assert_int_equal (decoded.report.kind, ends ? EXIT_REPORT_SIGNAL : EXIT_REPORT_EXIT);
        assert_int_equal (decoded.report.number, ends ? 11 : 0);
        assert_int_equal (decoded.life.life, 2);
        assert_int_equal (decoded.signs.life, 2);
        assert_int_equal (decoded.signs.source, SIGNS_LOG);
        assert_string_equal (decoded.failure.text, ends ? "ValueError" : "");
        hello_decode (&hello, frame);
        assert_true (hello.reconnects);
        assert_string_equal (hello.token, TOKEN);
        assert_string_equal (hello.node, "n5");
        frame_destroy (frame);
    }
}

#define BAD_REPORT "a report that does not say how the task ended"
#define NO_SIGNS "signs of life lacks SIGNS"

TEST (a_status_out_of_bounds_is_refused)
{
    static const struct message_string good[] = {
        { "RANK", "5" },
        { "EXIT_REPORT", "exit 3" },
        { "SIGNS", "log" },
        { "LIFE", "1" },
    };
    static const struct {
        const char *key, *value, *message;      /* message NULL: the status is valid */
        int rank;
    /* clang-format off */
    } row[] = {
        { "COLOUR", "red", NULL, 5 },
        { "RANK", NULL, NULL, -1 }, { "RANK", "", NULL, -1 }, { "RANK", "-1", NULL, -1 },
        { "RANK", "0", NULL, 0 }, { "RANK", "7", NULL, 7 }, { "RANK", "8", NULL, -1 },
        { "RANK", " 1", NULL, -1 }, { "RANK", "1 ", NULL, -1 }, { "RANK", "+1", NULL, -1 },
        { "RANK", "4294967297", NULL, -1 }, { "RANK", "x", NULL, -1 },
        { "EXIT_REPORT", NULL, NULL, 5 }, { "EXIT_REPORT", "stopped", NULL, 5 },
        { "EXIT_REPORT", "", BAD_REPORT, 5 }, { "EXIT_REPORT", "exit 256", BAD_REPORT, 5 },
        { "EXIT_REPORT", "exit -1", BAD_REPORT, 5 }, { "EXIT_REPORT", "signal 0", BAD_REPORT, 5 },
        { "SIGNS", NULL, NULL, 5 }, { "SIGNS", "none", NULL, 5 },
        { "SIGNS", "", "SIGNS of signs of life is not one of these words", 5 },
        { "LIFE", "10001", "LIFE of signs of life is not 0 to 10000", 5 },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), row[i].key, row[i].value);
        struct errtext err = { "" };
        struct status status;

        assert_int_equal (status_decode (&status, frame, &err), row[i].message ? -1 : 0);
        assert_string_equal (err.text, row[i].message ? row[i].message : "");
        assert_int_equal (status_rank (frame, 8), row[i].rank);
        frame_destroy (frame);
    }
}

/* Of a task that fails before it has a supervisor; but a supervisor that says nothing says nothing. */
TEST (a_report_is_a_status_and_nothing_is_not)
{
    static const struct message_string good[] = { { "EXIT_REPORT", "exit 3" } };
    struct frame *frame = message_with (good, COUNT (good), "EXIT_REPORT", "exit 3");
    struct errtext err = { "" };
    struct status status;

    assert_int_equal (status_decode (&status, frame, NULL), 0);
    assert_int_equal (status.life.life, -1);
    frame_destroy (frame);
    frame = message_with (good, COUNT (good), "EXIT_REPORT", NULL);
    assert_int_equal (status_decode (&status, frame, &err), -1);
    assert_string_equal (err.text, NO_SIGNS);
    frame_destroy (frame);
}
