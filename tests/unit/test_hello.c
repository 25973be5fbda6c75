/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/hello.h"

TEST (a_task_and_a_supervisor_send_these_strings)
{
    struct hello hello = { .token = TOKEN, .node = "n5", .release = "9.9", .version = 9 };
    struct frame *frame = frame_create ();

    hello_encode (frame, &hello);
    assert_string_equal (message_text (frame), "TOKEN=" TOKEN "\nRELEASE=" PACKAGE_VERSION "\nNODE=n5\n");
    hello.reconnects = true;
    frame = frame_create ();
    hello_encode (frame, &hello);
    assert_string_equal (message_text (frame),
                         "TOKEN=" TOKEN "\nRELEASE=" PACKAGE_VERSION "\nNODE=n5\nRECONNECTS=1\n");
}

TEST (decoding_returns_the_encoded_hello)
{
    for (int reconnects = 0; reconnects < 2; reconnects++) {
        const struct hello hello = { .token = TOKEN, .node = "n5", .reconnects = reconnects };
        struct frame *frame = frame_create ();
        struct hello decoded;

        memset (&decoded, 0xff, sizeof (decoded));
        hello_encode (frame, &hello);
        hello_decode (&decoded, frame);
        assert_string_equal (decoded.token, TOKEN);
        assert_string_equal (decoded.node, "n5");
        assert_string_equal (decoded.release, PACKAGE_VERSION);
        assert_int_equal (decoded.reconnects, reconnects);
        assert_int_equal (decoded.version, FRAME_VERSION);
        frame_destroy (frame);
    }
}

static const struct message_string good[] = {
    { "TOKEN", TOKEN },
    { "RELEASE", "1.2.3" },
    { "NODE", "n1" },
};

/* The reader decides what a missing key means, because task and srun may differ in version. */
TEST (a_missing_key_is_null)
{
    for (size_t i = 0; i < COUNT (good); i++) {
        struct frame *frame = message_with (good, COUNT (good), good[i].key, NULL);
        struct hello hello;

        hello_decode (&hello, frame);
        assert_int_equal (hello.token == NULL, i == 0);
        assert_int_equal (hello.release == NULL, i == 1);
        assert_int_equal (hello.node == NULL, i == 2);
        assert_false (hello.reconnects);
        frame_destroy (frame);
    }
}

TEST (unknown_keys_are_ignored_and_the_first_of_equal_keys_is_used)
{
    struct frame *frame = message_with (good, COUNT (good), "COLOUR", "red");
    struct hello hello;

    frame_add (frame, "NODE", "n2");
    hello_decode (&hello, frame);
    assert_string_equal (hello.token, TOKEN);
    assert_string_equal (hello.release, "1.2.3");
    assert_string_equal (hello.node, "n1");
    frame_destroy (frame);
}
