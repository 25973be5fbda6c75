/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The keys of every message that hosts send each other, as they are encoded when every field is set,
 * and those that message_keys.golden has for this FRAME_VERSION. tests/check-docs makes sure that no
 * key of the code is missing there.
 *
 *     test_message_keys --update     write them into message_keys.golden
 */
#include "config.h"

#include "messages.h"

#include "protocol/answer.h"
#include "protocol/contact.h"
#include "protocol/hello.h"
#include "protocol/order.h"
#include "protocol/reconnect.h"
#include "protocol/registration.h"
#include "protocol/signs.h"

#define NOT_RELEASED "not released"

/* The messages. */

/* What follows is mostly tables. */
/* clang-format off */

static struct registration full_registration (void)
{
    struct registration rank = {
        .rank = 1, .tasks = 2, .component_tasks = 2, .node = "n1", .step = "12.0",
        .host = { "boot/1" }, .port = 40001, .supervisor_error = "e", .log_dir = "/d",
        .proxied = true, .users = "RANK:1", .own_name = "127.0.1.1",
        .node_ranks = "0,1", .step_nodes = "n1", .step_node_tasks = "2",
        .interfaces = 1, .locality_error = "e", .cpus = "0xff",
        .master_port = 50001, .gpus = 1,
    };

    assert_int_equal (address_parse (&rank.address, "10.0.0.5"), 0);
    assert_int_equal (interface_parse (&rank.interface[0], "ib0 infiniband up 10.1.0.5/16"), 0);
    return rank;
}

static const struct answer full_answer = {
    .role = "worker", .address = "10.0.0.1", .port = 40000, .hide_gpus = true,
    .nccl = true, .gloo = true, .log_append = true, .supervised = true, .serves = true,
    .tee = TEE_ON,
    .restart = { 3, true, 60 }, .watch = { 300, 1800 }, .lost_after = 60, .spare = true, .life = 1,
    .proxy_exempt = "10.0.0.1",
    .no_tf_config = true, .jax_devices = true, .keras = true, .jax = true, .dtensor = true,
    .torch = true, .keep_master_port = true, .master_address = "10.0.0.1", .master_port = 50000,
    .coordinator = "10.0.0.1:40000", .processes = 1, .cluster = "{}", .cluster_length = 2,
    .tail = "}", .jobs = "DTENSOR_JOBS=a", .jobs_length = sizeof ("DTENSOR_JOBS=a"),
};

static const struct reconnect full_reconnect = {
    .token = TOKEN, .node = "n1", .ended = true,
    .report = { .kind = EXIT_REPORT_SIGNAL, .number = 9, .out_of_memory = true, .killed = true },
    .life = { 1, "reason", 15, 1, 1, ADDRESS_USED }, .failure = { FAILURE_TEXT_LOG, "line" },
};

static const struct signs full_signs = {
    .life = 1, .source = SIGNS_MESSAGES, .overdue = true, .stopped = true, .busy = true, .messages = 1,
    .silent_ms = 1, .ago_ms = 1, .status = "step 1", .unanswered = { { { AF_INET, { 10, 0, 0, 1 } }, 1 } },
    .unanswered_count = 1,
};

/* It has one or the other. */
static const struct failure_text error_message = { FAILURE_TEXT_ERROR_FILE, "message" };

/* As uplink.c sends it. */
static struct frame *full_exit_report (const struct failure_text *failure)
{
    struct frame *frame = exit_report_encode (&full_reconnect.report);

    life_report_add (frame, &full_reconnect.life);
    failure_text_add (frame, failure);
    return frame;
}

/* The strings of an answer's parts as a frame. */
static struct frame *answer_frame (const struct answer *answer)
{
    struct answer_message message;
    struct frame *frame = frame_create ();
    char bytes[4096];
    size_t used = 0;

    assert_int_equal (answer_encode (&message, answer, SERVER_TOKEN), 0);
    for (int i = 0; i < ANSWER_PARTS; i++) {
        assert_true (used + message.part[i].iov_len <= sizeof (bytes));
        if (message.part[i].iov_len > 0)
            memcpy (bytes + used, message.part[i].iov_base, message.part[i].iov_len);
        used += message.part[i].iov_len;
    }
    answer_message_clear (&message);
    for (char *s = bytes + FRAME_HEADER, *end = bytes + used; s < end;) {
        char *next = s + strlen (s) + 1, *value = strchr (s, '=');

        assert_non_null (value);
        *value = '\0';
        frame_add (frame, s, "%s", value + 1);
        s = next;
    }
    return frame;
}

/* Their keys. */

struct keys {
    char key[64][40];
    size_t count;
};

/* Destroys the frame. */
static void add_keys (struct keys *keys, struct frame *frame)
{
    assert_non_null (frame);
    for (const char *s = frame_next (frame, NULL); s; s = frame_next (frame, s)) {
        char *key = keys->key[keys->count];
        size_t i = 0;

        assert_true (keys->count < COUNT (keys->key));
        snprintf (key, sizeof (keys->key[0]), "%.*s", (int)strcspn (s, "="), s);
        while (strcmp (keys->key[i], key) != 0)
            i++;
        keys->count += i == keys->count;
    }
    frame_destroy (frame);
}

static int by_name (const void *a, const void *b)
{
    return strcmp (a, b);
}

/* Print the line of a message, whose fields some of two frames have. The second one may be NULL. */
static void print_keys (FILE *file, const char *message, struct frame *frame, struct frame *other)
{
    struct keys keys = { .count = 0 };

    add_keys (&keys, frame);
    if (other)
        add_keys (&keys, other);
    qsort (keys.key, keys.count, sizeof (keys.key[0]), by_name);
    fprintf (file, "%s:", message);
    for (size_t i = 0; i < keys.count; i++)
        fprintf (file, " %s", keys.key[i]);
    fputc ('\n', file);
}

/* A contact has no keys, only fields in their order. */
static void print_contact (FILE *file)
{
    const struct contact contact = { 40960, TOKEN, SERVER_TOKEN, 300, false,
                                     CONTACT_ASK_RAILS, true, "any" };
    char *text = contact_encode (&contact);

    fprintf (file, "contact:%s\n", strchr (text, ' '));
    free (text);
}

/* What is recorded for a version, without its heading; to be freed. */
static char *recorded_now (void)
{
    static const struct answer refusal = { .refused = true };
    struct registration rank = full_registration (), without_port = rank;
    struct reconnect other_reconnect = full_reconnect;
    size_t size;
    char *text;
    FILE *file = open_memstream (&text, &size);
    struct frame *order = order_encode_stop_at_once (SERVER_TOKEN);

    order_add_restart (order, 1);
    without_port.error = "no port";
    other_reconnect.failure = error_message;
    print_contact (file);
    print_keys (file, "registration", registration_encode (&rank, TOKEN),
                registration_encode (&without_port, TOKEN));
    print_keys (file, "answer", answer_frame (&full_answer), answer_frame (&refusal));
    print_keys (file, "acknowledgement", acknowledgement_encode (), NULL);
    print_keys (file, "exit report", full_exit_report (&full_reconnect.failure),
                full_exit_report (&error_message));
    print_keys (file, "signs of life", signs_encode (&full_signs), NULL);
    print_keys (file, "reconnect", reconnect_encode (&full_reconnect),
                reconnect_encode (&other_reconnect));
    print_keys (file, "order", order, order_encode_exit (1, SERVER_TOKEN));
    fclose (file);
    return text;
}

/* The golden file. */

/* All of it, to be freed. */
static char *read_golden (void)
{
    FILE *file = fopen (GOLDEN, "re");
    char *text = NULL;
    size_t size = 0;

    assert_non_null (file);
    assert_true (getdelim (&text, &size, '\0', file) > 0);
    fclose (file);
    return text;
}

/* The heading of this version, "version 3, not released", in the text; NULL if it has none. */
static char *find_heading (char *text)
{
    char heading[32];

    snprintf (heading, sizeof (heading), "\nversion %d, ", FRAME_VERSION);
    text = strstr (text, heading);
    return text ? text + 1 : NULL;
}

TEST (the_keys_are_those_that_this_version_has_had_from_its_first_release)
{
    char *golden = read_golden (), *heading = find_heading (golden), *now = recorded_now ();
    char *section = heading ? strchr (heading, '\n') + 1 : NULL;

    if (!section || strncmp (section, now, strlen (now)) != 0
        || (section[strlen (now)] != '\0' && section[strlen (now)] != '\n')) {
        fprintf (stderr, "the keys are now:\n%s", now);
        fail_msg ("message_keys.golden has other keys for version %d of the protocol. If that version is "
                  "released, FRAME_VERSION in util/protocol/frame.h goes up; then `make -C tests/unit "
                  "message-keys` records them.", FRAME_VERSION);
    }
    free (golden);
    free (now);
}

/* Replace the section of this version, or add it. */
static int update (void)
{
    char *golden = read_golden (), *heading = find_heading (golden), *now = recorded_now ();
    char *rest = heading ? strstr (heading, "\n\n") : NULL;
    FILE *file;

    if (heading && strncmp (strchr (heading, ',') + 2, NOT_RELEASED "\n", sizeof (NOT_RELEASED)) != 0) {
        fprintf (stderr, "version %d of the protocol is released, so its keys stay as they are; "
                 "FRAME_VERSION in util/protocol/frame.h has to go up\n", FRAME_VERSION);
        return 1;
    }
    if (!(file = fopen (GOLDEN, "we"))) {
        perror (GOLDEN);
        return 1;
    }
    fprintf (file, "%.*s%sversion %d, " NOT_RELEASED "\n%s%s",
             heading ? (int)(heading - golden) : (int)strlen (golden), golden, heading ? "" : "\n",
             FRAME_VERSION, now, rest ? rest + 1 : "");
    free (golden);
    free (now);
    return fclose (file) == 0 ? 0 : 1;
}

int main (int argc, char *argv[])
{
    if (argc > 1 && strcmp (argv[1], "--update") == 0)
        return update ();
    return unit_run ();
}
