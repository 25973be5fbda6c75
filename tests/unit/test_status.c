/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What supervisors say: a hello, and a status with its parts (exit_report.h, life_report.h, failure_text.h,
 * signs.h). A status with another value in each member shows which key is whose; then what is decoded is
 * encoded again, so a case is a text and what becomes of it.
 */
#include "config.h"

#include "messages.h"

#include "protocol/fields.h"
#include "protocol/hello.h"
#include "protocol/status.h"

#define HELLO "TOKEN=" TOKEN "\nRELEASE=" PACKAGE_VERSION "\nNODE=n5\n"
#define REPORT "REPORT=1\n"
#define END "ENDED=signal\nNUMBER=11\n" REPORT
#define STOPPED "ENDED=stopped\n"
#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define LONGEST FIFTY FIFTY FIFTY FIFTY

/* clang-format off */
static const struct status full = {
    .ended = true,
    .report = { .kind = EXIT_REPORT_SIGNAL, .number = 9, .out_of_memory = true },
    .life = {
        3, 4, "it is in a container", 15, INT64_C (1700000000), 50, ADDRESS_USED,
        { { { AF_INET, { 10, 0, 0, 2 } }, { AF_INET6, { 0xfd, [15] = 2 } } }, 2 },
    },
    .failure = { FAILURE_TEXT_LOG, "no libx.so", { CAUSE_LIBRARY, "libx.so" } },
    .signs = {
        .life = 4, .source = SIGNS_MESSAGES, .overdue = true, .stopped = true, .suspended = true,
        .busy = true, .messages = 20, .log_grew = true, .silent_ms = 300000, .ago_ms = 360000,
        .started_ms = 7000, .slowest_ms = 62000, .second_ms = 5000, .step = 1200, .status = "step 1200",
        .traceback = "ValueError: NaN", .traceback_ms = 2500,
        .traceback_lost = true, .aside = true,
        .unanswered = {
            { { AF_INET, { 10, 0, 0, 1 } }, 40001 }, { { AF_INET6, { 0xfd, [15] = 1 } }, 40002 },
        },
        .unanswered_count = 2,
    },
};

#define ASKED "ASKED_SIGNAL=15\nASKED_AT=1700000000\n"
#define FULL_END \
    "ENDED=signal\nNUMBER=9\nOUT_OF_MEMORY=1\nREPORT=3\nENDED_LIFE=4\n" \
    "CANNOT_RESTART=it is in a container\nAGO_MS=50\nADDRESS_USED=yes\nPEER=10.0.0.2\nPEER=fd00::2\n" \
    "FAILURE=log\nFAILURE_TEXT=no libx.so\nCAUSE=library\nCAUSE_DETAIL=libx.so\n" ASKED
#define FULL_SIGNS \
    "SIGNS=messages\nLIFE=4\nOVERDUE=1\nSTOPPED=1\nSUSPENDED=1\nBUSY=1\nMESSAGES=20\nLOG_GREW=1\n" \
    "SILENT_MS=300000\nSIGN_AGO_MS=360000\nSTARTED_MS=7000\nSLOWEST_MS=62000\nSECOND_MS=5000\nSTEP=1200\n" \
    "ASIDE=1\nSTATUS=step 1200\nTRACEBACK=ValueError: NaN\nTRACEBACK_MS=2500\nTRACEBACK_LOST=1\n" \
    "UNANSWERED=10.0.0.1:40001\nUNANSWERED=[fd00::1]:40002\n"
/* Of a life of which nothing is known. */
#define NO_SIGNS "SIGNS=none\nLIFE=5\n"
/* clang-format on */

#define UNANSWERED "UNANSWERED of activity is not an address with its port"
#define PEER "PEER of a life report is not an IPv4 or IPv6 address"
#define REPORT_LIMIT "REPORT of a life report is not 1 or more"
#define ASKED_LIMIT "ASKED_SIGNAL of a life report is not 1 to 64"

/* What is sent after a status has been decoded, or why it is refused. Destroys the frame. */
static const char *again (struct frame *frame)
{
    static struct errtext err;
    struct status status;
    const char *text;

    memset (&status, 0xff, sizeof (status));
    text = status_decode (&status, frame, &err) < 0 ? err.text
                                                    : message_text (fields_frame (&status_fields, &status));
    frame_destroy (frame);
    return text;
}

TEST (each_member_of_a_status_has_its_key)
{
    struct status runs = full;

    runs.ended = false;
    assert_string_equal (message_text (fields_frame (&status_fields, &runs)), ASKED FULL_SIGNS);
    assert_string_equal (message_text (fields_frame (&status_fields, &full)), FULL_END FULL_SIGNS);
    assert_string_equal (again (message_with (FULL_SIGNS, NULL, NULL)), FULL_SIGNS);
    assert_string_equal (again (message_with (ASKED FULL_SIGNS, NULL, NULL)), ASKED FULL_SIGNS);
    assert_string_equal (again (message_with (FULL_END FULL_SIGNS, NULL, NULL)), FULL_END FULL_SIGNS);
    assert_string_equal (message_text (status_encode_first (&runs, TOKEN, "n5", 17)),
                         HELLO "RECONNECTS=1\nRANK=17\n" ASKED FULL_SIGNS);
}

/* What a value becomes; the others stay. */
TEST (a_value_out_of_its_limits_is_refused_or_counts_as_missing_or_is_cut)
{
    static char most[300], cut[SIGNS_MAX_STATUS + 1];
    const struct {
        const char *key, *value, *then;
    /* clang-format off */
    } row[] = {
        { "COLOUR", "red", NULL },
        { "OUT_OF_MEMORY", "1", "1" }, { "OUT_OF_MEMORY", NULL, NULL },
        { "NUMBER", "64", "64" },
        { "REPORT", "1", "1" }, { "REPORT", "2147483647", "2147483647" },
        { "ENDED_LIFE", NULL, NULL }, { "ENDED_LIFE", "0", "0" }, { "ENDED_LIFE", "10000", "10000" },
        { "AGO_MS", "60000", "60000" }, { "AGO_MS", "60001", NULL }, { "AGO_MS", "", NULL },
        { "AGO_MS", "-1", NULL }, { "AGO_MS", "1 ", NULL }, { "AGO_MS", "4294967296", NULL },
        { "CANNOT_RESTART", NULL, NULL },
        { "ASKED_SIGNAL", NULL, NULL }, { "ASKED_SIGNAL", "1", "1" }, { "ASKED_SIGNAL", "64", "64" },
        { "ASKED_AT", NULL, NULL }, { "ASKED_AT", "", NULL }, { "ASKED_AT", "0", NULL },
        { "ASKED_AT", "-1", NULL }, { "ASKED_AT", "2 ", NULL }, { "ASKED_AT", "x", NULL },
        { "ASKED_AT", "4294967297", "4294967297" }, { "ASKED_AT", "0000000000000000001", NULL },
        { "ASKED_AT", "253402300799", "253402300799" }, { "ASKED_AT", "18446744073709551617", NULL },
        { "ADDRESS_USED", "no", "no" }, { "ADDRESS_USED", "2", NULL }, { "ADDRESS_USED", "", NULL },
        { "PEER", "::1", "::1" },
        { "FAILURE", "error-file", "error-file" }, { "FAILURE", "stack", "stack" },
        { "FAILURE_TEXT", LONGEST, LONGEST }, { "FAILURE_TEXT", " a\nb ", "a b" },
        { "FAILURE_TEXT", LONGEST "x", FIFTY FIFTY FIFTY TEN TEN TEN TEN "0123456..." },
        { "CAUSE", "space", "space" }, { "CAUSE", "other", NULL }, { "CAUSE", "", NULL },
        { "CAUSE_DETAIL", "x", "x" }, { "CAUSE_DETAIL", NULL, NULL }, { "CAUSE_DETAIL", "\t", NULL },
        { "SIGNS", "unknown", "unknown" }, { "SIGNS", "none", "none" }, { "SIGNS", "log", "log" },
        { "SIGNS", "done", "done" },
        { "LIFE", "0", "0" }, { "LIFE", "10000", "10000" },
        { "OVERDUE", NULL, NULL }, { "STOPPED", NULL, NULL }, { "SUSPENDED", NULL, NULL },
        { "BUSY", NULL, NULL }, { "LOG_GREW", NULL, NULL },
        { "MESSAGES", NULL, NULL }, { "MESSAGES", "-1", NULL }, { "MESSAGES", "2147483648", NULL },
        { "MESSAGES", "2147483647", "2147483647" },
        { "SILENT_MS", "x", NULL }, { "SIGN_AGO_MS", "1s", NULL }, { "STARTED_MS", "", NULL },
        { "STEP", "-1", NULL },
        { "TRACEBACK_MS", "x", NULL }, { "SLOWEST_MS", NULL, NULL }, { "SECOND_MS", NULL, NULL },
        { "STATUS", NULL, NULL }, { "STATUS", " \033[31mstep\t1\xc3\xa4 ", "[31mstep 1?" },
        { "STATUS", "\n", NULL },
        { "STATUS", most, cut },
        { "TRACEBACK", NULL, NULL }, { "TRACEBACK_LOST", NULL, NULL }, { "TRACEBACK", "a\tb ", "a b" },
        { "UNANSWERED", "10.0.0.1:65535", "10.0.0.1:65535" }, { "UNANSWERED", "fd00::1:7", "[fd00::1]:7" },
    };
    /* clang-format on */

    memset (most, 'x', sizeof (most) - 1);
    snprintf (cut, sizeof (cut), "%.*s...", SIGNS_MAX_STATUS - 3, most);
    for (size_t i = 0; i < COUNT (row); i++) {
        char then[4096];

        snprintf (then, sizeof (then), "%s",
                  message_text (message_with (FULL_END FULL_SIGNS, row[i].key, row[i].then)));
        assert_string_equal (again (message_with (FULL_END FULL_SIGNS, row[i].key, row[i].value)), then);
    }
}

TEST (what_is_said_of_a_life_that_has_ended)
{
    static const struct {
        const char *lines, *then; /* NULL: the same */
    /* clang-format off */
    } row[] = {
        { "", NULL }, { END, NULL }, { STOPPED REPORT, NULL }, { "ENDED=exit\nNUMBER=255\n" REPORT, NULL },
        { "ENDED=exit\n" REPORT, NULL }, { "ENDED=hung\n" REPORT, NULL },
        { "ENDED=unstarted\nNUMBER=2\n" REPORT, NULL },
        { END "ENDED_LIFE=5\nADDRESS_USED=no\nASKED_SIGNAL=15\n", NULL },
        { STOPPED "KILLED_AFTER=0\n" REPORT, NULL }, { STOPPED "KILLED_AFTER=1000000\n" REPORT, NULL },
        { END "FAILURE=log\nFAILURE_TEXT=out of \"memory\"\nCAUSE=space\n", NULL },
        { END "FAILURE=stack\nFAILURE_TEXT=train.py:20 main\n", NULL },
        /* Without its first key, nothing of a part counts. */
        { "NUMBER=11\n" REPORT "ADDRESS_USED=no\n", "" }, { END "CAUSE=space\n", END },
        { END "FAILURE_TEXT=x\n", END },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        char lines[1024], wanted[1024];

        snprintf (lines, sizeof (lines), "%s" NO_SIGNS, row[i].lines);
        snprintf (wanted, sizeof (wanted), "%s" NO_SIGNS, row[i].then ? row[i].then : row[i].lines);
        assert_string_equal (again (message_with (lines, NULL, NULL)), wanted);
    }
}

TEST (a_status_out_of_bounds_is_refused)
{
    static const char contradicts[] = "NUMBER of a status contradicts ENDED";
    static const struct {
        const char *key, *value, *error;
    /* clang-format off */
    } row[] = {
        { "SIGNS", NULL, "activity lacks SIGNS" },
        { "SIGNS", "", "SIGNS of activity is not one of these words" },
        { "SIGNS", "Log", "SIGNS of activity is not one of these words" },
        { "SIGNS", "logs", "SIGNS of activity is not one of these words" },
        { "LIFE", "", "LIFE of activity is not 0 to 10000" },
        { "LIFE", "-1", "LIFE of activity is not 0 to 10000" },
        { "LIFE", "10001", "LIFE of activity is not 0 to 10000" },
        { "SLOWEST_MS", "0", "SLOWEST_MS of activity is not 1 or more" },
        { "UNANSWERED", "10.0.0.1:0", UNANSWERED }, { "UNANSWERED", "10.0.0.1", UNANSWERED },
        { "UNANSWERED", ":1", UNANSWERED }, { "UNANSWERED", "[]:1", UNANSWERED },
        { "UNANSWERED", "host:1", UNANSWERED }, { "UNANSWERED", LONGEST ":1", UNANSWERED },
        { "ENDED", "", "ENDED of an exit report is not one of these words" },
        { "ENDED", "exited", "ENDED of an exit report is not one of these words" },
        { "NUMBER", "256", "NUMBER of an exit report is not 1 to 255" },
        { "NUMBER", "65", contradicts }, { "NUMBER", NULL, contradicts },
        { "ENDED", "stopped", contradicts }, { "ENDED", "hung", contradicts },
        { "KILLED_AFTER", "1000001", "KILLED_AFTER of an exit report is not 0 to 1000000" },
        { "REPORT", NULL, "a life report lacks REPORT" }, { "REPORT", "0", REPORT_LIMIT },
        { "REPORT", "x", REPORT_LIMIT }, { "REPORT", "2147483648", REPORT_LIMIT },
        { "ENDED_LIFE", "10001", "ENDED_LIFE of a life report is not 0 to 10000" },
        { "ASKED_SIGNAL", "0", ASKED_LIMIT }, { "ASKED_SIGNAL", "65", ASKED_LIMIT },
        { "PEER", "", PEER }, { "PEER", "x", PEER }, { "PEER", "10.0.0.1:1", PEER },
        { "FAILURE", "none", "FAILURE of a failure text is not one of these words" },
        { "FAILURE_TEXT", NULL, "a failure text lacks FAILURE_TEXT" },
        { "FAILURE_TEXT", "\n", "FAILURE_TEXT of a failure text is not printable ASCII" },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++)
        assert_string_equal (again (message_with (FULL_END FULL_SIGNS, row[i].key, row[i].value)),
                             row[i].error);
}

TEST (a_list_of_addresses_is_bounded)
{
    static const struct {
        const char *key, *value, *error;
        int most;
    } row[] = {
        { "PEER", "10.0.0.1", PEER, LIFE_PEERS_MOST },
        { "UNANSWERED", "10.0.0.1:1", UNANSWERED, SIGNS_MOST_UNANSWERED },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        for (int more = 0; more < 2; more++) {
            struct frame *frame = message_with (END NO_SIGNS, NULL, NULL);
            const char *text;

            for (int j = 0; j < row[i].most + more; j++)
                frame_add (frame, row[i].key, "%s", row[i].value);
            text = again (frame);
            assert_true (more ? strcmp (text, row[i].error) == 0 : strstr (text, row[i].value) != NULL);
        }
}

TEST (the_rank_of_a_first_message_is_one_of_the_step)
{
    static const struct {
        const char *text;
        int rank;
    } row[] = {
        { NULL, -1 }, { "", -1 },   { "-1", -1 }, { "0", 0 },  { "7", 7 },           { "8", -1 },
        { " 1", -1 }, { "1 ", -1 }, { "+1", -1 }, { "x", -1 }, { "4294967297", -1 },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (END, "RANK", row[i].text);

        assert_int_equal (status_rank (frame, 8), row[i].rank);
        frame_destroy (frame);
    }
}

/* The reader decides what a missing key means, because task and srun may differ in version. */
TEST (a_hello_says_who_speaks)
{
    static const char *const key[] = { "TOKEN", "RELEASE", "NODE", "COLOUR" };
    const struct hello task = { .token = TOKEN, .node = "n5", .release = PACKAGE_VERSION };
    struct frame *frame = frame_create ();
    struct hello hello;

    fields_encode (&hello_fields, frame, &task);
    assert_string_equal (message_text (frame), HELLO);
    for (size_t i = 0; i < COUNT (key); i++) {
        frame = message_with (HELLO, key[i], NULL);
        frame_add (frame, "COLOUR", "red");
        assert_int_equal (fields_decode (&hello_fields, &hello, frame, NULL), 0);
        assert_true (i == 0 ? !hello.token : strcmp (hello.token, TOKEN) == 0);
        assert_true (i == 1 ? !hello.release : strcmp (hello.release, PACKAGE_VERSION) == 0);
        assert_true (i == 2 ? !hello.node : strcmp (hello.node, "n5") == 0);
        assert_false (hello.reconnects);
        frame_destroy (frame);
    }
    frame = message_with (HELLO "NODE=n6\nRECONNECTS=1\n", NULL, NULL);
    assert_int_equal (fields_decode (&hello_fields, &hello, frame, NULL), 0);
    assert_true (hello.reconnects);
    assert_string_equal (hello.node, "n5");
    frame_destroy (frame);
}

TEST (a_line_becomes_printable_and_is_cut)
{
    static const struct {
        const char *line, *text;
    /* clang-format off */
    } row[] = {
        { "ValueError: shapes (3,) and (4,)", "ValueError: shapes (3,) and (4,)" },
        { "", "" }, { " \t\n\r\v", "" }, { "\x7f", "" }, { "  two \t", "two" },
        { "\x1b[31mred\x1b[0m", "[31mred [0m" }, { "a\tb\x01" "c", "a b c" },
        { "caf\xc3\xa9", "caf?" }, { "\xe4\xb8\xad\xe6\x96\x87!", "??" "!" }, { "\xff\xfe", "??" },
        { "\x80", "" }, { "x \x80", "x" }, { "\x80 x", "x" },
        { LONGEST, LONGEST },
        { LONGEST "x", FIFTY FIFTY FIFTY TEN TEN TEN TEN "0123456..." },
        { LONGEST "    ", LONGEST }, { "   " LONGEST, LONGEST },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct failure_text text;

        memset (&text, 0xff, sizeof (text));
        failure_text_set (&text, FAILURE_TEXT_LOG, row[i].line, strlen (row[i].line));
        assert_string_equal (text.text, row[i].text);
        assert_int_equal (text.source, *row[i].text ? FAILURE_TEXT_LOG : FAILURE_TEXT_NONE);
    }
}

TEST (a_task_that_was_killed_is_told_with_its_grace)
{
    const struct exit_report killed = { .kind = EXIT_REPORT_STOPPED, .killed = true, .killed_after = 10 };
    struct exit_report_text room;

    assert_string_equal (exit_report_cell (&killed, &room), "killed after 10 s");
}
