/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include <limits.h>
#include <stdio.h>

#include "addresses/cpus.h"
#include "protocol/registration.h"

static struct registration some_rank (void)
{
    /* clang-format off */
    struct registration rank = {
        .rank = 17, .tasks = 64, .component_first = 16, .component_tasks = 48, .node_index = 4,
        .node = "n5", .step = "12.0", .host = { "boot/4026531840" }, .port = 40001,
    };
    /* clang-format on */

    assert_int_equal (address_parse (&rank.address, "10.0.0.5"), 0);
    return rank;
}

#define HEAD \
    "TOKEN=" TOKEN "\nRELEASE=" PACKAGE_VERSION "\nNODE=n5\nSTEP=12.0\nRANK=17\n" \
    "TASKS=64\nCOMPONENT_FIRST=16\nCOMPONENT_TASKS=48\nNODE_INDEX=4\n" \
    "HOST=boot/4026531840\nADDRESS=10.0.0.5\n"

TEST (a_registration_has_these_strings)
{
    struct registration rank = some_rank ();

    assert_string_equal (message_text (registration_encode (&rank, TOKEN)), HEAD "PORT=40001\n");
    rank.port = 0;
    rank.error = "no port of 30000-30001 is free";
    rank.node_ranks = "16,17";
    rank.step_nodes = "n[1-5]";
    rank.step_node_tasks = "16,12(x4)";
    assert_string_equal (message_text (registration_encode (&rank, TOKEN)),
                         HEAD "ERROR=no port of 30000-30001 is free\nNODE_RANKS=16,17\n"
                              "STEP_NODES=n[1-5]\nSTEP_NODE_TASKS=16,12(x4)\n");
    rank = some_rank ();
    rank.supervisor_error = "tf-supervise: Permission denied";
    rank.log_dir = "/scratch/a b/%j";
    rank.proxied = true;
    rank.node_ranks = "17";
    assert_string_equal (message_text (registration_encode (&rank, TOKEN)),
                         HEAD "PORT=40001\nSUPERVISOR_ERROR=tf-supervise: Permission denied\n"
                              "LOG_DIR=/scratch/a b/%j\nPROXIED=1\nNODE_RANKS=17\n");
}

TEST (a_second_port_and_gpus_are_there_if_the_task_has_them)
{
    static const char *const bad[] = {
        "MASTER_PORT=0", "MASTER_PORT=65536", "GPUS=0", "GPUS=1025", "GPUS=x",
    };
    struct registration rank = some_rank (), decoded;
    struct frame *frame = registration_encode (&rank, TOKEN);

    memset (&decoded, 0xff, sizeof (decoded));
    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    assert_int_equal (decoded.master_port, 0);
    assert_int_equal (decoded.gpus, 0);
    frame_destroy (frame);
    for (size_t i = 0; i < COUNT (bad); i++) {
        frame = registration_encode (&rank, TOKEN);
        frame_add (frame, bad[i][0] == 'G' ? "GPUS" : "MASTER_PORT", "%s", strchr (bad[i], '=') + 1);
        assert_int_equal (registration_decode (&decoded, frame, NULL), -1);
        frame_destroy (frame);
    }

    rank.master_port = 50001;
    rank.gpus = 2;
    assert_string_equal (message_text (registration_encode (&rank, TOKEN)),
                         HEAD "PORT=40001\nMASTER_PORT=50001\nGPUS=2\n");
    frame = registration_encode (&rank, TOKEN);
    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    assert_int_equal (decoded.master_port, 50001);
    assert_int_equal (decoded.gpus, 2);
    frame_destroy (frame);
}

TEST (supervisor_log_directory_and_proxy_are_decoded)
{
    struct registration rank = some_rank (), decoded;
    struct frame *frame = registration_encode (&rank, TOKEN);

    memset (&decoded, 0xff, sizeof (decoded));
    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    assert_null (decoded.supervisor_error);
    assert_null (decoded.log_dir);
    assert_false (decoded.proxied);
    frame_destroy (frame);

    rank.supervisor_error = "tf-supervise: Permission denied";
    rank.log_dir = "/scratch/a b/%j";
    rank.proxied = true;
    frame = registration_encode (&rank, TOKEN);
    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    assert_string_equal (decoded.supervisor_error, "tf-supervise: Permission denied");
    assert_string_equal (decoded.log_dir, "/scratch/a b/%j");
    assert_true (decoded.proxied);
    frame_destroy (frame);
}

/* Add an interface to the registration. local_cpus may be NULL. */
static void add_interface (struct registration *rank, const char *text, const char *local_cpus)
{
    struct interface *interface = &rank->interface[rank->interfaces++];

    assert_int_equal (interface_parse (interface, text), 0);
    interface->local_cpus = local_cpus;
}

static struct registration rank_with_interfaces (void)
{
    struct registration rank = some_rank ();

    add_interface (&rank, "ib0 infiniband up 10.1.0.5/16", "0xff");
    add_interface (&rank, "ib1 infiniband no-carrier fd00::5/64", NULL);
    add_interface (&rank, "eth0 other down -", NULL);
    rank.cpus = "0xf0";
    return rank;
}

TEST (each_interface_is_a_string)
{
    struct registration rank = rank_with_interfaces ();

    assert_string_equal (message_text (registration_encode (&rank, TOKEN)),
                         HEAD "PORT=40001\nCPUS=0xf0\n"
                              "INTERFACE=ib0 infiniband up 10.1.0.5/16 0xff\n"
                              "INTERFACE=ib1 infiniband no-carrier fd00::5/64\n"
                              "INTERFACE=eth0 other down -\n");
    rank.interface[0].local_cpus = rank.cpus = NULL;
    rank.interfaces = 1;
    rank.locality_error = "tf-addresses failed";
    assert_string_equal (message_text (registration_encode (&rank, TOKEN)),
                         HEAD "PORT=40001\nLOCALITY_ERROR=tf-addresses failed\n"
                              "INTERFACE=ib0 infiniband up 10.1.0.5/16\n");
}

TEST (decoding_returns_the_encoded_registration)
{
    struct registration rank = some_rank (), decoded;
    struct frame *frame;

    rank.node_ranks = "16,17";
    frame = registration_encode (&rank, TOKEN);
    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    assert_int_equal (decoded.rank, 17);
    assert_int_equal (decoded.tasks, 64);
    assert_int_equal (decoded.component_first, 16);
    assert_int_equal (decoded.component_tasks, 48);
    assert_int_equal (decoded.node_index, 4);
    assert_int_equal (decoded.port, 40001);
    assert_string_equal (decoded.node, "n5");
    assert_string_equal (decoded.host.id, "boot/4026531840");
    assert_true (address_equal (&decoded.address, &rank.address));
    assert_null (decoded.error);
    assert_string_equal (decoded.node_ranks, "16,17");
    assert_null (decoded.step_nodes);
    assert_null (decoded.step_node_tasks);
    frame_destroy (frame);

    rank.error = "no port";
    frame = registration_encode (&rank, TOKEN);
    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    assert_string_equal (decoded.error, "no port");
    assert_int_equal (decoded.port, 0);
    frame_destroy (frame);
}

TEST (interfaces_and_cpus_are_decoded)
{
    struct registration rank = rank_with_interfaces (), decoded;
    struct frame *frame = registration_encode (&rank, TOKEN);

    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    assert_int_equal (decoded.interfaces, 3);
    for (int i = 0; i < 3; i++) {
        struct interface_text room, same;

        assert_string_equal (interface_print (&decoded.interface[i], &room),
                             interface_print (&rank.interface[i], &same));
    }
    assert_string_equal (decoded.interface[0].local_cpus, "0xff");
    assert_null (decoded.interface[1].local_cpus);
    assert_null (decoded.interface[2].local_cpus);
    assert_string_equal (decoded.cpus, "0xf0");
    assert_null (decoded.locality_error);
    frame_destroy (frame);

    rank = some_rank ();
    rank.locality_error = "tf-addresses failed";
    frame = registration_encode (&rank, TOKEN);
    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    assert_int_equal (decoded.interfaces, 0);
    assert_string_equal (decoded.locality_error, "tf-addresses failed");
    assert_null (decoded.cpus);
    frame_destroy (frame);
}

/* Decode a registration with INTERFACE_MAX interfaces and, unless it is NULL, one more. */
static int decode_full (const char *more, struct errtext *err)
{
    struct registration rank = some_rank (), decoded;
    struct frame *frame;
    int rc;

    while (rank.interfaces < INTERFACE_MAX)
        add_interface (&rank, "ib0 infiniband up 10.1.0.5/16", NULL);
    frame = registration_encode (&rank, TOKEN);
    if (more)
        frame_add (frame, "INTERFACE", "%s", more);
    memset (&decoded, 0xff, sizeof (decoded));
    rc = registration_decode (&decoded, frame, err);
    if (rc == 0)
        assert_int_equal (decoded.interfaces, INTERFACE_MAX);
    frame_destroy (frame);
    return rc;
}

#define BAD_INTERFACE "a registration with a malformed interface"

TEST (at_most_interface_max_interfaces_are_decoded)
{
    struct errtext err = { "" };

    assert_int_equal (decode_full (NULL, &err), 0);
    assert_int_equal (decode_full ("ib1 infiniband up 10.2.0.5/16", &err), -1);
    assert_string_equal (err.text, BAD_INTERFACE);
}

/* Decode a valid registration with one string changed (messages.h). */
static int decode_with (const char *key, const char *value, struct errtext *err)
{
    static const struct message_string good[] = {
        { "TOKEN", TOKEN },    { "NODE", "n1" },           { "STEP", "12.0" },
        { "HOST", "h" },       { "ADDRESS", "10.0.0.1" },  { "TASKS", "8" },
        { "RANK", "5" },       { "COMPONENT_FIRST", "4" }, { "COMPONENT_TASKS", "4" },
        { "NODE_INDEX", "2" }, { "PORT", "40000" },        { "INTERFACE", "eth0 other up 10.1.0.5/16" },
    };
    struct frame *frame = message_with (good, COUNT (good), key, value);
    struct registration rank;
    int rc = registration_decode (&rank, frame, err);

    frame_destroy (frame);
    return rc;
}

#define NO_NODE "a registration without its node, step, host or address"
#define BAD_NUMBER "a registration whose numbers are out of range"
#define NO_PORT "a registration without a port"

TEST (a_registration_out_of_bounds_is_refused)
{
    static const char name_256[] =
        "n23456789_n23456789_n23456789_n23456789_n23456789_n23456789_n23456789_n23456789_"
        "n23456789_n23456789_n23456789_n23456789_n23456789_n23456789_n23456789_n23456789_"
        "n23456789_n23456789_n23456789_n23456789_n23456789_n23456789_n23456789_n23456789_"
        "n23456789_n23456";
    const struct {
        const char *key, *value, *message;      /* message NULL: the registration is valid */
    /* clang-format off */
    } row[] = {
        { "COLOUR", "red", NULL }, { "", "", NULL },
        { "NODE", NULL, NO_NODE }, { "NODE", name_256, NO_NODE }, { "NODE", name_256 + 1, NULL },
        { "STEP", NULL, NO_NODE }, { "STEP", "4294967295.4294967295 and more!!", NO_NODE },
        { "HOST", NULL, NO_NODE }, { "HOST", name_256 + 256 - 64, NO_NODE },
        { "HOST", name_256 + 256 - 63, NULL },
        { "ADDRESS", NULL, NO_NODE }, { "ADDRESS", "", NO_NODE }, { "ADDRESS", "n1", NO_NODE },
        { "ADDRESS", "10.0.0.1:1", NO_NODE }, { "ADDRESS", "fd00::1", NULL },
        { "TASKS", NULL, BAD_NUMBER }, { "TASKS", "0", BAD_NUMBER }, { "TASKS", "5", BAD_NUMBER },
        { "TASKS", "7", BAD_NUMBER }, { "TASKS", "1048576", NULL },
        { "TASKS", "1048577", BAD_NUMBER }, { "TASKS", "4294967304", BAD_NUMBER },
        { "TASKS", "-8", BAD_NUMBER }, { "TASKS", "8x", BAD_NUMBER },
        { "RANK", NULL, BAD_NUMBER }, { "RANK", "3", BAD_NUMBER }, { "RANK", "4", NULL },
        { "RANK", "7", NULL }, { "RANK", "8", BAD_NUMBER }, { "RANK", "-1", BAD_NUMBER },
        { "RANK", "+5", BAD_NUMBER }, { "RANK", " 5", BAD_NUMBER }, { "RANK", "05", NULL },
        { "COMPONENT_FIRST", NULL, BAD_NUMBER }, { "COMPONENT_FIRST", "5", BAD_NUMBER },
        { "COMPONENT_FIRST", "2", NULL }, { "COMPONENT_FIRST", "1", BAD_NUMBER },
        { "COMPONENT_TASKS", NULL, BAD_NUMBER }, { "COMPONENT_TASKS", "0", BAD_NUMBER },
        { "COMPONENT_TASKS", "5", BAD_NUMBER }, { "COMPONENT_TASKS", "1", BAD_NUMBER },
        { "COMPONENT_TASKS", "2", NULL },
        { "NODE_INDEX", NULL, BAD_NUMBER }, { "NODE_INDEX", "7", NULL },
        { "NODE_INDEX", "8", BAD_NUMBER }, { "NODE_INDEX", "-1", BAD_NUMBER },
        { "PORT", NULL, NO_PORT }, { "PORT", "0", NO_PORT }, { "PORT", "1", NULL },
        { "PORT", "65535", NULL }, { "PORT", "65536", NO_PORT },
        { "INTERFACE", NULL, NULL }, { "INTERFACE", "", BAD_INTERFACE },
        { "INTERFACE", "eth0", BAD_INTERFACE },
        { "INTERFACE", "eth0 other up 10.1.0.5/33", BAD_INTERFACE },
        { "INTERFACE", "\033[2J other up 10.1.0.5/16", BAD_INTERFACE },
        { "INTERFACE", "eth0 other up - and more", NULL },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct errtext err = { "" };

        assert_int_equal (decode_with (row[i].key, row[i].value, &err), row[i].message ? -1 : 0);
        assert_string_equal (err.text, row[i].message ? row[i].message : "");
    }
}

/* Fill the text with `length` times `c`. */
static const char *fill (char *text, size_t length, char c)
{
    memset (text, c, length);
    text[length] = '\0';
    return text;
}

static void check_fits (const struct registration *rank)
{
    struct frame *frame = registration_encode (rank, TOKEN);
    struct registration decoded;
    size_t length;

    assert_non_null (frame_bytes (frame, 0, &length));
    assert_between (length - FRAME_HEADER, FRAME_MAX_REGISTRATION / 2, FRAME_MAX_REGISTRATION);
    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    frame_destroy (frame);
}

/* Each text has its greatest length; all local_cpus together have 3 KiB. */
TEST (the_longest_registration_fits)
{
    static char text[10][4097];
    struct registration rank = some_rank ();

    rank.node = fill (text[0], REGISTRATION_MAX_NODE, 'n');
    rank.step = fill (text[1], REGISTRATION_MAX_STEP, '1');
    fill (rank.host.id, sizeof (rank.host.id) - 1, 'h');
    rank.supervisor_error = fill (text[8], sizeof (struct errtext) - 1, 's');
    rank.log_dir = fill (text[9], PATH_MAX - 1, 'd');
    rank.proxied = true;
    rank.step_nodes = fill (text[3], 4096, 'n');
    rank.step_node_tasks = fill (text[4], 4096, 't');
    rank.node_ranks = fill (text[5], 4096, 'r');
    rank.cpus = fill (text[6], CPUS_MAX_TEXT - 1, 'f');
    fill (text[7], 3072 / INTERFACE_MAX - 1, 'f');
    while (rank.interfaces < INTERFACE_MAX)
        add_interface (&rank,
                       "fifteen_letters infiniband no-carrier "
                       "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
                       text[7]);
    check_fits (&rank);
    /* A task with an error sends no directory. */
    rank.log_dir = NULL;
    rank.error = fill (text[2], sizeof (struct errtext) - 1, 'e');
    check_fits (&rank);
}
