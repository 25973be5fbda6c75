/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/order.h"

TEST (orders_have_these_strings_and_are_decoded)
{
    static const struct {
        enum order order;
        const char *text;
    } row[] = {
        { ORDER_STOP, "SERVER_TOKEN=" SERVER_TOKEN "\nORDER=stop\n" },
        { ORDER_EXIT, "SERVER_TOKEN=" SERVER_TOKEN "\nORDER=exit\n" },
        { ORDER_WAIT, "SERVER_TOKEN=" SERVER_TOKEN "\nORDER=wait\n" },
        { ORDER_TELL, "SERVER_TOKEN=" SERVER_TOKEN "\nORDER=tell\n" },
        { ORDER_ABORT, "SERVER_TOKEN=" SERVER_TOKEN "\nORDER=abort\n" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = order_encode (row[i].order, SERVER_TOKEN);
        enum order order = row[i].order == ORDER_STOP ? ORDER_EXIT : ORDER_STOP;

        assert_int_equal (order_decode (&order, frame, SERVER_TOKEN, NULL), 0);
        assert_int_equal (order, row[i].order);
        assert_string_equal (message_text (frame), row[i].text);
    }
}

TEST (an_order_to_restart_has_the_number_of_the_life)
{
    static const struct message_string good[] = {
        { "SERVER_TOKEN", SERVER_TOKEN },
        { "ORDER", "restart" },
        { "LIFE", "3" },
    };
    static const struct {
        const char *value;
        int life;                   /* -1: the order is refused */
    } row[] = {
        { "1", 1 },      { "10000", 10000 }, { NULL, -1 }, { "", -1 },  { "0", -1 },
        { "10001", -1 }, { "-1", -1 },       { "1 ", -1 }, { "x", -1 },
    };
    enum order order;

    assert_string_equal (message_text (order_encode_restart (3, SERVER_TOKEN)),
                         "SERVER_TOKEN=" SERVER_TOKEN "\nORDER=restart\nLIFE=3\n");
    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), "LIFE", row[i].value);

        assert_int_equal (order_decode (&order, frame, SERVER_TOKEN, NULL), row[i].life < 0 ? -1 : 0);
        if (row[i].life > 0) {
            assert_int_equal (order, ORDER_RESTART);
            assert_int_equal (order_life (frame), row[i].life);
        }
        frame_destroy (frame);
    }
}

TEST (the_greatest_exit_code)
{
    static const struct {
        const char *value;
        int code;
    } row[] = {
        { "1", 1 }, { "255", 255 }, { NULL, 0 }, { "", 0 }, { "0", 0 }, { "256", 0 }, { "-1", 0 }, { "x", 0 },
    };
    static const struct message_string good[] = {
        { "SERVER_TOKEN", SERVER_TOKEN },
        { "ORDER", "exit" },
        { "EXIT_CODE", "3" },
    };

    assert_string_equal (message_text (order_encode_exit (3, SERVER_TOKEN)),
                         "SERVER_TOKEN=" SERVER_TOKEN "\nORDER=exit\nEXIT_CODE=3\n");
    assert_string_equal (message_text (order_encode_exit (0, SERVER_TOKEN)),
                         "SERVER_TOKEN=" SERVER_TOKEN "\nORDER=exit\n");
    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), "EXIT_CODE", row[i].value);
        enum order order;

        assert_int_equal (order_decode (&order, frame, SERVER_TOKEN, NULL), 0);
        assert_int_equal (order_exit_code (frame), row[i].code);
        frame_destroy (frame);
    }
}

#define WRONG_TOKEN "the program that answers there is not this step's rendezvous"
#define UNKNOWN "an order that is not known"

TEST (a_wrong_server_token_and_an_unknown_order_are_refused)
{
    static const struct message_string good[] = {
        { "SERVER_TOKEN", SERVER_TOKEN },
        { "ORDER", "exit" },
    };
    static const struct {
        const char *key, *value, *message;      /* message NULL: the order is valid */
    /* clang-format off */
    } row[] = {
        { "COLOUR", "red", NULL },
        { "SERVER_TOKEN", NULL, WRONG_TOKEN }, { "SERVER_TOKEN", "", WRONG_TOKEN },
        { "SERVER_TOKEN", TOKEN, WRONG_TOKEN }, { "SERVER_TOKEN", SERVER_TOKEN "0", WRONG_TOKEN },
        { "ORDER", NULL, UNKNOWN }, { "ORDER", "", UNKNOWN }, { "ORDER", "Stop", UNKNOWN },
        { "ORDER", "stop ", UNKNOWN }, { "ORDER", "kill", UNKNOWN }, { "ORDER", "0", UNKNOWN },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), row[i].key, row[i].value);
        struct errtext err = { "" };
        enum order order = ORDER_STOP;

        assert_int_equal (order_decode (&order, frame, SERVER_TOKEN, &err), row[i].message ? -1 : 0);
        assert_string_equal (err.text, row[i].message ? row[i].message : "");
        assert_int_equal (order, row[i].message ? ORDER_STOP : ORDER_EXIT);
        frame_destroy (frame);
    }
}

TEST (an_order_to_stop_at_once)
{
    struct frame *at_once = order_encode_stop_at_once (SERVER_TOKEN);
    struct frame *stop = order_encode (ORDER_STOP, SERVER_TOKEN);
    enum order order = ORDER_WAIT;

    assert_int_equal (order_decode (&order, at_once, SERVER_TOKEN, NULL), 0);
    assert_int_equal (order, ORDER_STOP);
    assert_true (order_is_at_once (at_once));
    assert_false (order_is_at_once (stop));
    frame_destroy (stop);
    assert_string_equal (message_text (at_once), "SERVER_TOKEN=" SERVER_TOKEN "\nORDER=stop\nAT_ONCE=1\n");
}
