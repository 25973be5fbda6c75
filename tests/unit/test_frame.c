/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/frame.h"
#include "protocol/registration.h"

/* The test writes to `in`; the reader reads the same bytes from `out`, which is non-blocking. */
static int in, out;
static struct frame_reader reader;

static int open_pair (void **unused __attribute__ ((unused)))
{
    int pair[2];

    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    in = pair[0];
    out = pair[1];
    reader = (struct frame_reader){ .ceiling = FRAME_MAX_REGISTRATION };
    return 0;
}

static int close_pair (void **unused __attribute__ ((unused)))
{
    frame_reader_clear (&reader);
    if (in >= 0)
        close (in);
    close (out);
    return 0;
}

EACH_TEST (open_pair, close_pair)

static void open_again (void)
{
    close_pair (NULL);
    assert_int_equal (open_pair (NULL), 0);
}

static void hang_up (void)
{
    close (in);
    in = -1;
}

static void write_bytes (const void *bytes, size_t length)
{
    assert_int_equal (send (in, bytes, length, MSG_NOSIGNAL), length);
}

static struct frame *read_frame (void)
{
    struct frame *frame = NULL;
    struct errtext err = { "" };

    assert_int_equal (frame_read (&reader, out, &frame, &err), 1);
    assert_non_null (frame);
    return frame;
}

static void check_incomplete (void)
{
    struct frame *frame = NULL;

    assert_int_equal (frame_read (&reader, out, &frame, NULL), 0);
    assert_null (frame);
}

static void check_error (const char *message)
{
    struct frame *frame = NULL;
    struct errtext err = { "" };

    assert_int_equal (frame_read (&reader, out, &frame, &err), -1);
    assert_null (frame);
    assert_string_equal (err.text, message);
}

static void write_header (uint32_t length)
{
    unsigned char header[FRAME_HEADER] = { 'S', 'p', 'T', 'F', 0, FRAME_VERSION, 0, 0 };

    for (int i = 0; i < 4; i++)
        header[8 + i] = (unsigned char)(length >> (24 - 8 * i));
    write_bytes (header, sizeof (header));
}

TEST (a_frame_is_a_header_and_terminated_strings)
{
    char bytes[] = "SpTF\0\0\0\0\0\0\0\16RANK=17\0B=x y";
    struct frame *frame = frame_create ();
    size_t length;
    const void *whole;

    bytes[5] = FRAME_VERSION;
    frame_add (frame, "RANK", "%d", 17);
    frame_add (frame, "B", "%s %s", "x", "y");
    whole = frame_bytes (frame, 0, &length);
    assert_int_equal (length, sizeof (bytes));
    assert_memory_equal (whole, bytes, sizeof (bytes));
    assert_int_equal (frame_version (frame), FRAME_VERSION);
    frame_destroy (frame);
}

TEST (a_frame_is_received_as_it_was_sent)
{
    struct frame *frame = frame_create ();
    const char *s;

    frame_add (frame, "KEY", "value");
    frame_add (frame, "KEY", "second");
    frame_add (frame, "KEYS", "other");
    frame_add (frame, "EMPTY", "%s", "");
    frame_add (frame, "EQUALS", "a=b=c");
    assert_int_equal (frame_send (frame, in, NULL), 0);
    frame_destroy (frame);

    frame = read_frame ();
    assert_string_equal (frame_get (frame, "KEY"), "value");
    assert_string_equal (frame_get (frame, "KEYS"), "other");
    assert_string_equal (frame_get (frame, "EMPTY"), "");
    assert_string_equal (frame_get (frame, "EQUALS"), "a=b=c");
    assert_null (frame_get (frame, "KE"));
    assert_null (frame_get (frame, "second"));
    assert_null (frame_get (frame, "value"));
    assert_string_equal (s = frame_next (frame, NULL), "KEY=value");
    assert_string_equal (s = frame_next (frame, s), "KEY=second");
    assert_string_equal (s = frame_next (frame, s), "KEYS=other");
    assert_string_equal (s = frame_next (frame, s), "EMPTY=");
    assert_string_equal (s = frame_next (frame, s), "EQUALS=a=b=c");
    assert_null (frame_next (frame, s));
    frame_destroy (frame);
}

TEST (strings_with_an_empty_key_or_value_are_read)
{
    struct frame *frame;

    write_header (9);
    write_bytes ("\0x\0=\0A=1", 9);
    frame = read_frame ();
    assert_string_equal (frame_get (frame, "A"), "1");
    assert_null (frame_get (frame, "x"));
    assert_string_equal (frame_get (frame, ""), "");
    frame_destroy (frame);
}

TEST (frame_get_compares_the_whole_key)
{
    assert_string_equal (frame_value ("KEY=value", "KEY"), "value");
    assert_string_equal (frame_value ("KEY=", "KEY"), "");
    assert_string_equal (frame_value ("KEY=a=b", "KEY"), "a=b");
    assert_string_equal (frame_value ("=x", ""), "x");
    assert_null (frame_value ("KEYS=value", "KEY"));
    assert_null (frame_value ("KE=value", "KEY"));
    assert_null (frame_value ("KEY", "KEY"));
    assert_null (frame_value ("key=value", "KEY"));
    assert_null (frame_value ("", "KEY"));
    assert_null (frame_value ("KEY=value", "KEY=value"));
}

TEST (all_values_of_a_key_are_found_in_order)
{
    struct frame *frame = frame_create ();
    const char *value;

    assert_null (frame_get_next (frame, "KEY", NULL));
    frame_add (frame, "KEY", "1");
    frame_add (frame, "OTHER", "KEY=2");
    frame_add (frame, "KEY", "%s", "");
    frame_add (frame, "KEYS", "3");
    frame_add (frame, "KEY", "4");
    frame_add (frame, "LAST", "5");
    assert_string_equal (value = frame_get_next (frame, "KEY", NULL), "1");
    assert_ptr_equal (value, frame_get (frame, "KEY"));
    assert_string_equal (value = frame_get_next (frame, "KEY", value), "");
    assert_string_equal (value = frame_get_next (frame, "KEY", value), "4");
    assert_null (frame_get_next (frame, "KEY", value));
    assert_null (frame_get_next (frame, "MISSING", NULL));
    frame_destroy (frame);
}

TEST (the_peer_can_close_after_any_byte)
{
    char bytes[] = "SpTF\0\0\0\0\0\0\0\4A=1";

    bytes[5] = FRAME_VERSION;
    for (size_t i = 0; i < sizeof (bytes); i++) {
        open_again ();
        write_bytes (bytes, i);
        hang_up ();
        check_error ("the connection was closed");
    }
}

TEST (bytes_with_a_wrong_magic_are_not_a_frame)
{
    static const char *const row[] = {
        "GET / HTTP/1.1\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "sptf\0\4\0\0\0\0\0\4",
        "\0\0\0\0\0\0\0\0\0\0\0\0",
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        open_again ();
        write_bytes (row[i], 11);
        check_incomplete ();
        write_bytes (row[i] + 11, 1);
        check_error ("not a frame of spank-tf");
    }
}

TEST (an_excessive_length_is_refused_before_memory_is_allocated)
{
    static const uint32_t row[] = {
        0, FRAME_MAX_REGISTRATION + 1, 0x7fffffff, 0x80000000, 0xfffffff4, 0xffffffff,
    };
    char message[80];

    for (size_t i = 0; i < COUNT (row); i++) {
        open_again ();
        write_header (row[i]);
        snprintf (message, sizeof (message), "a frame of %u bytes; 1 to %d are allowed", row[i],
                  FRAME_MAX_REGISTRATION);
        check_error (message);
        assert_null (reader.frame);
    }
}

/* A frame of exactly `length` bytes of strings is read; one more byte is refused. */
static void check_ceiling (uint32_t length)
{
    char *text = malloc (length);
    struct frame *frame = NULL;
    size_t sent = 0;
    int n;

    memset (text, 'x', length);
    text[1] = '=';
    text[length - 1] = '\0';
    reader.ceiling = length;
    write_header (length);
    do {
        ssize_t done = send (in, text + sent, length - sent, MSG_NOSIGNAL);

        sent += done > 0 ? (size_t)done : 0;
        n = frame_read (&reader, out, &frame, NULL);
    } while (n == 0 && sent < length);
    assert_int_equal (n, 1);
    assert_int_equal (strlen (frame_get (frame, "x")), length - 3);
    frame_destroy (frame);

    write_header (length + 1);
    assert_int_equal (frame_read (&reader, out, &frame, NULL), -1);
    frame_reader_clear (&reader);
    free (text);
}

TEST (a_frame_may_be_as_long_as_the_ceiling)
{
    check_ceiling (FRAME_MAX_REGISTRATION);
    check_ceiling (FRAME_MAX_ANSWER);
    check_ceiling (FRAME_MAX_CONFIGURATION);
}

TEST (a_reader_that_was_cleared_reads_the_next_frame)
{
    struct frame *frame;

    write_header (100);
    write_bytes ("half", 4);
    check_incomplete ();
    frame_reader_clear (&reader);
    frame_reader_clear (&reader);
    write_header (4);
    write_bytes ("A=1", 4);
    frame = read_frame ();
    assert_string_equal (frame_get (frame, "A"), "1");
    frame_destroy (frame);
}

TEST (a_closed_connection_is_an_error_without_sigpipe)
{
    struct frame *frame = frame_create ();
    struct errtext err;

    frame_add (frame, "A", "1");
    shutdown (out, SHUT_RDWR);
    assert_int_equal (frame_send (frame, in, &err), -1);
    assert_string_equal (err.text, strerror (EPIPE));
    frame_destroy (frame);
}

static struct frame *load (const void *bytes, size_t length)
{
    int fd = memfd_create ("frame", MFD_CLOEXEC);
    struct frame *frame;

    assert_int_equal (write (fd, bytes, length), (ssize_t)length);
    frame = frame_load (fd);
    close (fd);
    return frame;
}

TEST (a_file_has_one_frame_and_nothing_else)
{
    struct frame *frame = frame_create (), *loaded;
    const char *bytes;
    char wrong[64];
    size_t length;

    frame_add (frame, "KEY", "%s", "value");
    frame_add (frame, "OTHER", "%d", 7);
    assert_non_null (bytes = frame_bytes (frame, 0, &length));
    assert_non_null (loaded = load (bytes, length));
    assert_string_equal (frame_get (loaded, "KEY"), "value");
    assert_string_equal (frame_get (loaded, "OTHER"), "7");
    frame_destroy (loaded);
    for (size_t i = 0; i < length; i++)
        assert_null (load (bytes, i));
    memcpy (wrong, bytes, length);
    wrong[0] = 'x';
    assert_null (load (wrong, length));
    frame_destroy (frame);
}
