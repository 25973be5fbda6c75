/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What supervisors say: a hello, and a status with its parts (exit_report.h, life_report.h, failure_text.h,
 * signs.h). A status with another value in each member shows which key is whose; then what is decoded is
 * encoded again, so a case is a text and what becomes of it.
 */
#include "config.h"

#include "messages.h"

#include "protocol/hello.h"
#include "protocol/status.h"

#define HELLO "TOKEN=" TOKEN "\nRELEASE=" PACKAGE_VERSION "\nNODE=n5\n"
#define END "EXIT_REPORT=signal 11\n"
#define STOPPED "EXIT_REPORT=stopped\n"
#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define LONGEST FIFTY FIFTY FIFTY FIFTY

/* clang-format off */
static const struct status full = {
    .ended = true,
    .report = { .kind = EXIT_REPORT_SIGNAL, .number = 9, .out_of_memory = EXIT_REPORT_MEMORY_JOB },
    .life = {
        3, 4, "it is in a container", 15, INT64_C (1700000000), 50, ADDRESS_USED,
        { { { AF_INET, { 10, 0, 0, 2 } }, { AF_INET6, { 0xfd, [15] = 2 } } }, 2 },
    },
    .failure = { FAILURE_TEXT_LOG, "no libx.so", { CAUSE_LIBRARY, "libx.so" } },
    .signs = {
        .life = 4, .source = SIGNS_MESSAGES, .overdue = true, .stopped = true, .suspended = true,
        .busy = true, .messages = 20, .log_grew = true, .silent_ms = 300000, .ago_ms = 360000,
        .started_ms = 7000, .slowest_ms = 62000, .second_ms = 5000, .step = 1200, .status = "step 1200",
        .traceback = { .source = FAILURE_TEXT_LOG, .text = "ValueError: NaN" }, .traceback_ms = 2500,
        .traceback_lost = true,
        .unanswered = {
            { { AF_INET, { 10, 0, 0, 1 } }, 40001 }, { { AF_INET6, { 0xfd, [15] = 1 } }, 40002 },
        },
        .unanswered_count = 2,
    },
};

#define ASKED "ASKED_SIGNAL=15\nASKED_AT=1700000000\n"
#define FULL_END \
    "EXIT_REPORT=signal 9\nOUT_OF_MEMORY=job\nREPORT=3\nAGO_MS=50\nCANNOT_RESTART=it is in a container\n" \
    ASKED "ADDRESS_USED=1\nPEERS=10.0.0.2 fd00::2\nLAST_LINE=no libx.so\n" \
    "CAUSE=library\nCAUSE_DETAIL=libx.so\n"
#define FULL_SIGNS \
    "SIGNS=messages\nLIFE=4\nOVERDUE=1\nSTOPPED=1\nSUSPENDED=1\nBUSY=1\nMESSAGES=20\nLOG_GREW=1\n" \
    "SILENT_MS=300000\nSIGN_AGO_MS=360000\nSTARTED_MS=7000\nSLOWEST_MS=62000\nSECOND_MS=5000\nSTEP=1200\n" \
    "STATUS=step 1200\nTRACEBACK=ValueError: NaN\nTRACEBACK_MS=2500\nTRACEBACK_LOST=1\n" \
    "UNANSWERED=10.0.0.1:40001 [fd00::1]:40002\n"
/* Of a life of which nothing is known. */
#define NO_SIGNS \
    "SIGNS=none\nLIFE=5\nMESSAGES=0\nSILENT_MS=0\nSIGN_AGO_MS=0\nSTARTED_MS=0\nSTEP=0\nTRACEBACK_MS=0\n"
/* clang-format on */

/* What is sent after a status has been decoded, or why it is refused. Destroys the frame. */
static const char *again (struct frame *frame)
{
    static struct errtext err;
    struct status status;
    const char *text;

    memset (&status, 0xff, sizeof (status));
    text = status_decode (&status, frame, &err) < 0 ? err.text : message_text (status_encode (&status));
    frame_destroy (frame);
    return text;
}

TEST (each_member_of_a_status_has_its_key)
{
    struct status runs = full;

    runs.ended = false;
    assert_string_equal (message_text (status_encode (&runs)), ASKED FULL_SIGNS);
    assert_string_equal (message_text (status_encode (&full)), FULL_END FULL_SIGNS);
    assert_string_equal (again (message_with (FULL_SIGNS, NULL, NULL)), FULL_SIGNS);
    assert_string_equal (again (message_with (ASKED FULL_SIGNS, NULL, NULL)), ASKED FULL_SIGNS);
    assert_string_equal (again (message_with (FULL_END FULL_SIGNS, NULL, NULL)), FULL_END FULL_SIGNS);
    assert_string_equal (message_text (status_encode_first (&runs, TOKEN, "n5", 17)),
                         HELLO "RECONNECTS=1\nRANK=17\n" ASKED FULL_SIGNS);
}

#define EIGHT "1.1.1.1:1 1.1.1.1:2 1.1.1.1:3 1.1.1.1:4 1.1.1.1:5 1.1.1.1:6 1.1.1.1:7 1.1.1.1:8"

/* What a value becomes; the others stay. */
TEST (a_value_out_of_its_limits_is_refused_or_counts_as_missing_or_is_cut)
{
    static char most[300], cut[SIGNS_MAX_STATUS + 1], far[600];
    const struct {
        const char *key, *value, *then;
    /* clang-format off */
    } row[] = {
        { "COLOUR", "red", NULL },
        { "OUT_OF_MEMORY", "1", "1" }, { "OUT_OF_MEMORY", "task", "task" },
        { "OUT_OF_MEMORY", "step", "step" },
        { "OUT_OF_MEMORY", "node", "node" }, { "OUT_OF_MEMORY", "x", "1" }, { "OUT_OF_MEMORY", "", "1" },
        { "KILLED_AFTER", "10", NULL },
        { "REPORT", NULL, NULL }, { "REPORT", "1", NULL }, { "REPORT", "2", "2" }, { "REPORT", "0", NULL },
        { "REPORT", "x", NULL },
        { "REPORT", "2147483647", "2147483647" }, { "REPORT", "2147483648", NULL },
        { "AGO_MS", "60000", "60000" }, { "AGO_MS", "60001", NULL }, { "AGO_MS", "", NULL },
        { "AGO_MS", "-1", NULL }, { "AGO_MS", "1 ", NULL }, { "AGO_MS", "4294967296", NULL },
        { "CANNOT_RESTART", NULL, NULL },
        /* The task was asked to end, whatever the number is. */
        { "ASKED_SIGNAL", "1", "1" }, { "ASKED_SIGNAL", "64", "64" }, { "ASKED_SIGNAL", "65", "15" },
        { "ASKED_SIGNAL", "0", "15" }, { "ASKED_SIGNAL", "-1", "15" }, { "ASKED_SIGNAL", "", "15" },
        { "ASKED_SIGNAL", "2 ", "15" }, { "ASKED_SIGNAL", "4294967297", "15" },
        { "ASKED_AT", NULL, NULL }, { "ASKED_AT", "", NULL }, { "ASKED_AT", "0", NULL },
        { "ASKED_AT", "-1", NULL }, { "ASKED_AT", "2 ", NULL }, { "ASKED_AT", "x", NULL },
        { "ASKED_AT", "4294967297", "4294967297" }, { "ASKED_AT", "0000000000001", NULL },
        { "ASKED_AT", "253402300799", "253402300799" }, { "ASKED_AT", "253402300800", NULL },
        { "ASKED_AT", "18446744073709551617", NULL },
        { "ADDRESS_USED", "0", "0" }, { "ADDRESS_USED", "2", NULL }, { "ADDRESS_USED", "", NULL },
        { "PEERS", "10.0.0.1", "10.0.0.1" }, { "PEERS", "", NULL }, { "PEERS", "x", NULL },
        { "PEERS", "x 10.0.0.1 " FIFTY " ::1", "10.0.0.1 ::1" },
        { "PEERS", " 10.0.0.1", NULL }, { "PEERS", "10.0.0.1 ", "10.0.0.1" },
        { "LAST_LINE", LONGEST, LONGEST },
        { "CAUSE_DETAIL", "x", "x" },
        { "SIGNS", "unknown", "unknown" }, { "SIGNS", "none", "none" }, { "SIGNS", "log", "log" },
        { "SIGNS", "done", "done" },
        { "LIFE", "0", "0" }, { "LIFE", "10000", "10000" },
        { "OVERDUE", NULL, NULL }, { "STOPPED", NULL, NULL }, { "SUSPENDED", NULL, NULL },
        { "BUSY", NULL, NULL }, { "LOG_GREW", NULL, NULL },
        { "MESSAGES", NULL, "0" }, { "MESSAGES", "-1", "0" }, { "MESSAGES", "2147483648", "0" },
        { "MESSAGES", "2147483647", "2147483647" },
        { "SILENT_MS", "x", "0" }, { "SIGN_AGO_MS", "1s", "0" }, { "STARTED_MS", "", "0" },
        { "STEP", "-1", "0" },
        { "TRACEBACK_MS", "x", "0" }, { "SLOWEST_MS", NULL, NULL }, { "SECOND_MS", NULL, NULL },
        { "STATUS", NULL, NULL }, { "STATUS", " \033[31mstep\t1\xc3\xa4 ", "[31mstep 1?" },
        { "STATUS", "\n", NULL },
        { "STATUS", most, cut },
        { "TRACEBACK", NULL, NULL }, { "TRACEBACK_LOST", NULL, NULL }, { "TRACEBACK", "a\tb ", "a b" },
        { "UNANSWERED", NULL, NULL }, { "UNANSWERED", "10.0.0.1:1", "10.0.0.1:1" },
        { "UNANSWERED", "10.0.0.1:65535 fd00::1:7", "10.0.0.1:65535 [fd00::1]:7" },
        { "UNANSWERED", "10.0.0.1:0", NULL }, { "UNANSWERED", "10.0.0.1", NULL },
        { "UNANSWERED", "10.0.0.1:", NULL },
        { "UNANSWERED", ":1", NULL }, { "UNANSWERED", "[]:1", NULL }, { "UNANSWERED", far, NULL },
        { "UNANSWERED", "host:1 10.0.0.1:65536  10.0.0.2:2 ", "10.0.0.2:2" },
        { "UNANSWERED", EIGHT " 1.1.1.1:9", EIGHT },
    };
    /* clang-format on */

    memset (most, 'x', sizeof (most) - 1);
    snprintf (cut, sizeof (cut), "%.*s...", SIGNS_MAX_STATUS - 3, most);
    snprintf (far, sizeof (far), "%590s", "10.0.0.1:1");
    for (size_t i = 0; i < COUNT (row); i++) {
        char then[4096];

        snprintf (then, sizeof (then), "%s",
                  message_text (message_with (FULL_END FULL_SIGNS, row[i].key, row[i].then)));
        assert_string_equal (again (message_with (FULL_END FULL_SIGNS, row[i].key, row[i].value)), then);
    }
}

#define BAD_REPORT "a report that does not say how the task ended"

TEST (what_is_said_of_a_life_that_has_ended)
{
    static const struct {
        const char *lines, *then; /* NULL: the same */
    /* clang-format off */
    } row[] = {
        { "", NULL }, { END, NULL }, { STOPPED, NULL }, { "EXIT_REPORT=exit 255\n", NULL },
        { "EXIT_REPORT=hung\n", NULL }, { "EXIT_REPORT=unstarted 2\n", NULL },
        /* Of a supervisor that restarts no task; then its life is that of the signs. */
        { END "LAST=1\n", NULL }, { END "LAST=1\nCANNOT_RESTART=it is in a container\n", NULL },
        { END "ADDRESS_USED=0\n", NULL },
        { END "ASKED_SIGNAL=15\n", NULL }, { END "ASKED_AT=5\n", END },
        /* Only a task that was stopped was killed. */
        { STOPPED "KILLED_AFTER=0\n", NULL }, { STOPPED "KILLED_AFTER=1000000\n", NULL },
        { STOPPED "KILLED_AFTER=1000001\n", STOPPED }, { STOPPED "KILLED_AFTER=-1\n", STOPPED },
        { STOPPED "KILLED_AFTER=\n", STOPPED },
        { "EXIT_REPORT=hung\nKILLED_AFTER=10\n", "EXIT_REPORT=hung\n" },
        /* Its last words. */
        { END "LAST_LINE=out of \"memory\"\nCAUSE=space\n", NULL },
        { END "ERROR_MESSAGE=" LONGEST "\nCAUSE=library\nCAUSE_DETAIL=libx.so\n", NULL },
        { END "STACK=train.py:20 main\n", NULL },
        { END "CAUSE=space\n", END }, { END "LAST_LINE=x\nCAUSE=other\n", END "LAST_LINE=x\n" },
        { END "LAST_LINE=x\nCAUSE=library\n", END "LAST_LINE=x\n" },
        { END "LAST_LINE=x\nCAUSE=library\nCAUSE_DETAIL= x\n", END "LAST_LINE=x\n" },
        { END "LAST_LINE=x\nCAUSE=space\nCAUSE_DETAIL=x\n", END "LAST_LINE=x\nCAUSE=space\n" },
        { "EXIT_REPORT=\n", BAD_REPORT }, { "EXIT_REPORT=exit 256\n", BAD_REPORT },
        { "EXIT_REPORT=signal 0\n", BAD_REPORT }, { "EXIT_REPORT=ended\n", BAD_REPORT },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        const char *then = row[i].then ? row[i].then : row[i].lines;
        char lines[1024], wanted[1024];

        snprintf (lines, sizeof (lines), "%s" NO_SIGNS, row[i].lines);
        snprintf (wanted, sizeof (wanted), "%s%s", then, strcmp (then, BAD_REPORT) == 0 ? "" : NO_SIGNS);
        assert_string_equal (again (message_with (lines, NULL, NULL)), wanted);
    }
}

TEST (a_malformed_text_counts_as_missing)
{
    static const char *const row[] = {
        "", " ", " x", "x ", "a\nb", "a\x1b[2Jb", "caf\xc3\xa9", "\x7f", LONGEST "x",
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        assert_string_equal (again (message_with (END NO_SIGNS, "LAST_LINE", row[i])), END NO_SIGNS);
        assert_string_equal (again (message_with (END NO_SIGNS, "ERROR_MESSAGE", row[i])), END NO_SIGNS);
    }
}

TEST (a_status_out_of_bounds_is_refused)
{
    static const struct {
        const char *key, *value, *error;
    /* clang-format off */
    } row[] = {
        { "SIGNS", NULL, "signs of life lacks SIGNS" },
        { "SIGNS", "", "SIGNS of signs of life is not one of these words" },
        { "SIGNS", "Log", "SIGNS of signs of life is not one of these words" },
        { "SIGNS", "logs", "SIGNS of signs of life is not one of these words" },
        { "LIFE", NULL, "signs of life lacks LIFE" },
        { "LIFE", "", "LIFE of signs of life is not 0 to 10000" },
        { "LIFE", "-1", "LIFE of signs of life is not 0 to 10000" },
        { "LIFE", "10001", "LIFE of signs of life is not 0 to 10000" },
        { "SLOWEST_MS", "0", "SLOWEST_MS of signs of life is not 1 or more" },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++)
        assert_string_equal (again (message_with (FULL_SIGNS, row[i].key, row[i].value)), row[i].error);
}

/* A task that fails before it has a supervisor says that alone; it cannot be restarted. */
TEST (a_report_is_a_status)
{
    struct frame *frame = message_with (END, NULL, NULL);
    struct status status;

    assert_int_equal (status_decode (&status, frame, NULL), 0);
    assert_true (status.ended);
    assert_int_equal (status.report.number, 11);
    assert_int_equal (status.life.life, -1);
    assert_int_equal (status.life.number, 1);
    frame_destroy (frame);
}

/* Its signs are needed, and their number is the one that the report of the life has. */
TEST (a_life_out_of_bounds_cannot_be_followed_by_another)
{
    static const char *const bad[] = { NULL, "", "-1", "10001", "1 ", "4294967296", "x" };
    struct life_report report;
    struct frame *frame;

    for (size_t i = 0; i < COUNT (bad); i++) {
        life_report_decode (&report, frame = message_with (END, "LIFE", bad[i]));
        assert_int_equal (report.life, -1);
        frame_destroy (frame);
    }
    life_report_decode (&report, frame = message_with (END, "LIFE", "10000"));
    assert_int_equal (report.life, 10000);
    frame_destroy (frame);
}

TEST (a_time_that_is_too_long_is_neither_sent_nor_taken)
{
    struct status status = { .ended = true, .report = full.report, .life = { .ago_ms = 60001 } };
    struct frame *frame = message_with (END, "AGO_MS", "60001");

    assert_null (strstr (message_text (status_encode (&status)), "AGO_MS=6"));
    life_report_decode (&status.life, frame);
    assert_int_equal (status.life.ago_ms, 0);
    frame_destroy (frame);
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
    const struct hello task = { .token = TOKEN, .node = "n5", .release = "9.9", .version = 9 };
    struct frame *frame = frame_create ();
    struct hello hello;

    hello_encode (frame, &task);
    assert_string_equal (message_text (frame), HELLO);
    for (size_t i = 0; i < COUNT (key); i++) {
        frame = message_with (HELLO, key[i], NULL);
        frame_add (frame, "COLOUR", "red");
        hello_decode (&hello, frame);
        assert_true (i == 0 ? !hello.token : strcmp (hello.token, TOKEN) == 0);
        assert_true (i == 1 ? !hello.release : strcmp (hello.release, PACKAGE_VERSION) == 0);
        assert_true (i == 2 ? !hello.node : strcmp (hello.node, "n5") == 0);
        assert_false (hello.reconnects);
        assert_int_equal (hello.version, FRAME_VERSION);
        frame_destroy (frame);
    }
    frame = message_with (HELLO "NODE=n6\nRECONNECTS=1\n", NULL, NULL);
    hello_decode (&hello, frame);
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
