/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The messages that have a table (protocol/fields.h): what is sent, byte by byte; what is refused, and how
 * that is said; messages.golden has what no table says. And the keys of every message that hosts send each
 * other, as message_keys.golden has them for this FRAME_VERSION; tests/check-docs makes sure that no key of
 * the code is missing there.
 *
 *     test_messages --update     write them into message_keys.golden
 */
#include "config.h"

#include "messages.h"
#include "story.h"

#include <limits.h>

#include "addresses/cpus.h"
#include "common/frameworks.h"
#include "protocol/answer.h"
#include "protocol/contact.h"
#include "protocol/fields.h"
#include "protocol/hello.h"
#include "protocol/goal.h"
#include "protocol/status.h"
#include "protocol/registration.h"
#include "protocol/rendezvous_config.h"
#include "protocol/slurm_job.h"
#include "protocol/supervisor_config.h"

#define NOT_RELEASED "not released"

/* What follows is mostly tables. */
/* clang-format off */

/* With what is needed, and with all. */

#define RANK_17_OF_64 \
    .rank = 17, .tasks = 64, .component_first = 16, .component_tasks = 48, .node_index = 4, .node = "n5", \
    .step = "12.0", .host = { "boot/4026531840" }, .address = { AF_INET, { 10, 0, 0, 5 } }, .port = 40001

static const struct registration plain_registration = { RANK_17_OF_64 };

static const struct registration full_registration = {
    RANK_17_OF_64,
    .component = 1, .master_port = 50001, .gpus = 2, .supervisor_error = "tf-supervise: Permission denied",
    .log_dir = "/scratch/a b/%j", .log_dir_private = true, .proxied = true, .users = "RANK:1",
    .step_nodes = "n[1-5]", .step_node_tasks = "16,12(x4)", .own_name = "127.0.1.1", .cpus = "0xf0",
    .locality_error = "tf-addresses failed", .interfaces = 2,
    .interface = {
        { "ib0", true, INTERFACE_UP, { { AF_INET, { 10, 1, 0, 5 } }, 16 }, "0xff" },
        { .name = "eth0", .state = INTERFACE_DOWN },
    },
};

static const struct rendezvous_config plain_rendezvous_config = {
    .token = TOKEN, .server_token = SERVER_TOKEN, .step = "12.0", .lists = 1,
    .list = { { "ps,worker:3", false } }, .timeout = 300, .stop_grace = 30, .eval_grace = 600,
    .fail_grace = 20,
};

static const struct rendezvous_config full_rendezvous_config = {
    .token = TOKEN, .server_token = SERVER_TOKEN, .step = "12.0", .lists = 3,
    .array = "11_3", .user = "ann", .job_name = "train", .partition = "gpu", .cluster = "c1",
    .srun_host = "login1", .het_group = "0-1",
    .list = { { "ps,worker:3", false }, { "worker:2", true }, { "evaluator", false } },
    .timeout = 300, .stop_grace = 30, .eval_grace = 600, .fail_grace = 20, .ib = IB_REQUIRE,
    .networks = "10.1.0.0/16,ib0", .notify = "/opt/notify", .user_notify = "/bin/n", .stop = STOP_WHEN_NEVER,
    .frameworks = FRAMEWORK_TF | FRAMEWORK_KERAS | FRAMEWORK_JAX | FRAMEWORK_TORCH,
    .inherited = true, .networks_required = true, .show = true, .json = true, .ask_alone = true,
    .log_append = true, .log_append_later = true, .job_restarts = 2,
    .hide_gpus = true, .nccl = true, .debugged = true,
    .wait = 40, .restart = { 3, true, 60, 30 }, .watch = { 300, 1800, true, true, 7 },
    .lost_after = 20, .requeue = 600, .requeue_wished = true,
    .slurm_path = "/opt/slurm/bin", .slurm_conf = "/a b",
    .task = { .batch_host = "n1", .if_abandoned = "requeue", .preflight = "yes" },
    .tee = true,
};

#define TEN_DOT_1 { AF_INET, { 10, 0, 0, 1 } }

static const struct supervisor_config plain_supervisor_config = {
    .fork_server = 4711, .slurmstepd = 4700, .rank = 17, .node = "n5", .node_index = 2, .step = "12.0",
    .address = TEN_DOT_1, .port = 60001, .token = TOKEN, .server_token = SERVER_TOKEN,
    .stop_grace = 30, .kill_wait = -1,
};

static const struct supervisor_config full_supervisor_config = {
    .fork_server = 4711, .slurmstepd = 4700, .rank = 17, .node = "n5", .node_index = 2, .step = "12.0",
    .address = TEN_DOT_1, .port = 60001, .token = TOKEN, .server_token = SERVER_TOKEN,
    .stop_grace = 30, .kill_wait = 0,
    .forward_signals = true, .serves = true, .prints = true, .restart = { 3, true, 60, 30 }, .lost_after = 20,
    .options = { .batch_host = "n1", .if_abandoned = "cancel", .preflight = "yes" },
    .path = "/bin", .slurm_conf = "/a b",
    .spare = true, .task_port = 40001, .master_port = 50001,
    .watch = { 300, 1800, true, true, 7 }, .log = "/a b/w0.log",
    .error_file = "/a b/w0.error.json", .tee = true, .role = "worker", .index = 0,
};

#define STATUS_OF_LIFE_4 \
    .report = { .kind = EXIT_REPORT_SIGNAL, .number = 9, .out_of_memory = true, .killed = true }, \
    .life = { \
        3, 4, "it is in a container", 15, INT64_C (1700000000), 50, ADDRESS_USED, \
        { { { AF_INET, { 10, 0, 0, 2 } }, { AF_INET6, { 0xfd, [15] = 2 } } }, 2 }, \
    }, \
    .failure = { FAILURE_TEXT_LOG, "no libx.so", { CAUSE_LIBRARY, "libx.so" } }, \
    .signs = { \
        .life = 4, .source = SIGNS_MESSAGES, .overdue = true, .stopped = true, .suspended = true, \
        .busy = true, .messages = 20, .log_grew = true, .silent_ms = 300000, .ago_ms = 360000, \
        .started_ms = 7000, .slowest_ms = 62000, .second_ms = 5000, .step = 1200, .status = "step 1200", \
        .traceback = "ValueError: NaN", .traceback_ms = 2500, \
        .traceback_lost = true, .aside = true, \
        .unanswered = { \
            { { AF_INET, { 10, 0, 0, 1 } }, 40001 }, { { AF_INET6, { 0xfd, [15] = 1 } }, 40002 }, \
        }, \
        .unanswered_count = 2, \
    }, \
    .check = { .number = 6, .result = CHECK_PROGRAM, .text = "line", .sent = 21, .clock = 22, .rate = 23 }

/* It has not ended. */
static const struct status plain_status = { STATUS_OF_LIFE_4 };
static const struct status full_status = { .ended = true, STATUS_OF_LIFE_4 };

/* again () for messages that have more than their fields. */

static struct frame *goal_again (const struct frame *frame, struct errtext *err)
{
    struct goal goal;

    return goal_decode (&goal, frame, SERVER_TOKEN, err) == 0 ? goal_encode (&goal, SERVER_TOKEN) : NULL;
}

/* What fields_encode () does not send is the same for every rank, or a variable of the program. */
static struct frame *answer_again (const struct frame *frame, struct errtext *err)
{
    struct frame *again;
    struct answer answer;

    if (answer_decode (&answer, frame, SERVER_TOKEN, err) < 0)
        return NULL;
    again = frame_create ();
    frame_add (again, "SERVER_TOKEN", SERVER_TOKEN);
    fields_encode (&answer_fields, again, &answer);
    frame_add (again, "TF_CONFIG", "%s", frame_get (frame, "TF_CONFIG"));
    return again;
}

#define TOKENS "TOKEN=" TOKEN "\nSERVER_TOKEN=" SERVER_TOKEN "\n"
#define HELLO "TOKEN=" TOKEN "\nRELEASE=" PACKAGE_VERSION "\nNODE=n5\n"
#define RANK_17 \
    HELLO "STEP=12.0\nRANK=17\nTASKS=64\nCOMPONENT_FIRST=16\nCOMPONENT_TASKS=48\nNODE_INDEX=4\n" \
    "HOST=boot/4026531840\nADDRESS=10.0.0.5\nPORT=40001\n"
#define SUPERVISOR_17 \
    "FORK_SERVER=4711\nSLURMSTEPD=4700\nRANK=17\nNODE=n5\nNODE_INDEX=2\nSTEP=12.0\nADDRESS=10.0.0.1\n" \
    "PORT=60001\n" \
    TOKENS "STOP_GRACE=30\n"
#define ACTIVITY \
    "ASKED_SIGNAL=15\nASKED_AT=1700000000\n" \
    "SIGNS=messages\nLIFE=4\nOVERDUE=1\nSTOPPED=1\nSUSPENDED=1\nBUSY=1\nMESSAGES=20\nLOG_GREW=1\n" \
    "SILENT_MS=300000\nSIGN_AGO_MS=360000\nSTARTED_MS=7000\nSLOWEST_MS=62000\nSECOND_MS=5000\nSTEP=1200\n" \
    "ASIDE=1\nSTATUS=step 1200\nTRACEBACK=ValueError: NaN\nTRACEBACK_MS=2500\nTRACEBACK_LOST=1\n" \
    "UNANSWERED=10.0.0.1:40001\nUNANSWERED=[fd00::1]:40002\n" \
    "CHECKED=6\nCHECK_RESULT=program\nCHECK_TEXT=line\nCHECK_SENT=21\nCHECK_CLOCK=22\nCHECK_RATE=23\n"

static const struct message {
    const struct fields *fields;
    const void *plain, *full;
    struct frame *(*again) (const struct frame *frame, struct errtext *err); /* NULL: by its fields */
    const char *plain_text, *full_text;
} registration = {
    &registration_fields, &plain_registration, &full_registration, NULL,
    RANK_17,
    RANK_17 "COMPONENT=1\nMASTER_PORT=50001\nGPUS=2\nSUPERVISOR_ERROR=tf-supervise: Permission denied\n"
        "LOG_DIR=/scratch/a b/%j\nLOG_DIR_PRIVATE=1\nPROXIED=1\nUSERS=RANK:1\n"
        "STEP_NODES=n[1-5]\n"
        "STEP_NODE_TASKS=16,12(x4)\nOWN_NAME=127.0.1.1\nCPUS=0xf0\nLOCALITY_ERROR=tf-addresses failed\n"
        "INTERFACE=ib0 infiniband up 10.1.0.5/16 0xff\nINTERFACE=eth0 other down -\n",
}, rendezvous_config = {
    &rendezvous_config_fields, &plain_rendezvous_config, &full_rendezvous_config, NULL,
    TOKENS "STEP=12.0\nLIST=ps,worker:3\nTIMEOUT=300\nSTOP_GRACE=30\nEVAL_GRACE=600\nFAIL_GRACE=20\n",
    TOKENS "STEP=12.0\nARRAY=11_3\nUSER=ann\nJOB_NAME=train\nPARTITION=gpu\nCLUSTER=c1\nSRUN_HOST=login1\n"
        "HET_GROUP=0-1\nLIST=ps,worker:3\nLIST_PER_NODE=worker:2\nLIST=evaluator\n"
        "INHERITED=1\nTIMEOUT=300\nNETWORKS=10.1.0.0/16,ib0\nNETWORKS_REQUIRED=1\nSHOW=1\nASK_ALONE=1\n"
        "JSON=1\nNOTIFY=/opt/notify\nUSER_NOTIFY=/bin/n\nLOG_APPEND=1\nLOG_APPEND_LATER=1\nJOB_RESTARTS=2\n"
        "TEE=1\nSTOP_GRACE=30\nEVAL_GRACE=600\nFAIL_GRACE=20\n"
        "RESTART=3\nRESTART_TOTAL=30\nRESTART_ANY=1\nRESTART_BACKOFF=60\n"
        "WATCHDOG=300\nWATCHDOG_FIRST=1800\nWATCHDOG_AUTO=1\nWATCHDOG_GIVEN=1\nWATCHDOG_TURNS=7\n"
        "LOST_AFTER=20\nREQUEUE=600\nREQUEUE_WISHED=1\nSLURM_PATH=/opt/slurm/bin\nSLURM_CONF=/a b\n"
        "BATCH_HOST=n1\nIF_ABANDONED=requeue\nPREFLIGHT=yes\n"
        "WAIT=40\nHIDE_GPUS=1\nTF=1\nKERAS=1\nJAX=1\nTORCH=1\nNCCL=1\n"
        "DEBUGGED=1\nIB=require\nSTOP=never\n",
}, supervisor_config = {
    &supervisor_config_fields, &plain_supervisor_config, &full_supervisor_config, NULL,
    SUPERVISOR_17,
    SUPERVISOR_17 "KILL_WAIT=0\nFORWARD_SIGNALS=1\nSERVES=1\nRESTART=3\n"
        "RESTART_TOTAL=30\nRESTART_ANY=1\nRESTART_BACKOFF=60\n"
        "LOST_AFTER=20\nBATCH_HOST=n1\nIF_ABANDONED=cancel\nPREFLIGHT=yes\nPATH=/bin\nSLURM_CONF=/a b\n"
        "SPARE=1\nTASK_PORT=40001\nMASTER_PORT=50001\nPRINTS=1\nLOG=/a b/w0.log\n"
        "ERROR_FILE=/a b/w0.error.json\nWATCHDOG=300\nWATCHDOG_FIRST=1800\n"
        "WATCHDOG_AUTO=1\nWATCHDOG_GIVEN=1\nWATCHDOG_TURNS=7\nTEE=1\nROLE=worker\nINDEX=0\n",
}, status = {
    &status_fields, &plain_status, &full_status, NULL,
    ACTIVITY,
    "ENDED=signal\nNUMBER=9\nOUT_OF_MEMORY=1\nKILLED_AFTER=0\nREPORT=3\nENDED_LIFE=4\n"
        "CANNOT_RESTART=it is in a container\nAGO_MS=50\nADDRESS_USED=yes\nPEER=10.0.0.2\nPEER=fd00::2\n"
        "FAILURE=log\nFAILURE_TEXT=no libx.so\nCAUSE=library\nCAUSE_DETAIL=libx.so\n" ACTIVITY,
}, hello = {
    .fields = &hello_fields,
    .full_text = HELLO "RECONNECTS=1\n",
}, goal = {
    .again = goal_again,
    .full_text = "SERVER_TOKEN=" SERVER_TOKEN "\nLIFE=3\nSTOP=ask\nEXIT_CODE=3\n",
}, answer = {
    .again = answer_again,
    .full_text = "SERVER_TOKEN=" SERVER_TOKEN "\nSLURM_TF_ROLE=ps\nSLURM_TF_INDEX=5\n"
        "SLURM_TF_ADDRESS=fd00::1\nSLURM_TF_PORT=40000\nSTOP_GRACE=30\nTF_CONFIG={}\n",
};

static const struct message *const messages[] = {
    &registration, &rendezvous_config, &supervisor_config, &status,
};

static struct frame *sent (const struct message *message, const void *it)
{
    return message == &registration ? registration_encode (it, TOKEN) : fields_frame (message->fields, it);
}

/* Decode a frame, and encode what it was; NULL and err if it is refused. */
static struct frame *again (const struct message *message, const struct frame *frame, struct errtext *err)
{
    static union {
        struct registration registration;
        struct rendezvous_config rendezvous_config;
        struct supervisor_config supervisor_config;
        struct status status;
        struct hello hello;
    } it;
    int rc;

    if (message->again)
        return message->again (frame, err);
    memset (&it, 0xff, sizeof (it));
    if (message == &registration)
        rc = registration_decode (&it.registration, frame, err);
    else if (message == &status)
        rc = status_decode (&it.status, frame, err);
    else
        rc = fields_decode (message->fields, &it, frame, err);
    return rc == 0 ? sent (message, &it) : NULL;
}

TEST (a_message_has_these_strings_in_this_order)
{
    for (size_t i = 0; i < COUNT (messages); i++) {
        assert_string_equal (message_text (sent (messages[i], messages[i]->plain)), messages[i]->plain_text);
        assert_string_equal (message_text (sent (messages[i], messages[i]->full)), messages[i]->full_text);
    }
}

/* The full message without one of its keys, or with another value of it. */
static struct frame *changed (const struct message *message, const char *key, const char *value)
{
    return message_with (message->full_text, key, value);
}

/* What the message's decoder says of it; "" if it takes it. Destroys the frame. */
static const char *refusal (const struct message *message, struct frame *frame)
{
    static struct errtext err;
    struct frame *taken;

    err.text[0] = '\0';
    if ((taken = again (message, frame, &err)))
        assert_string_equal (err.text, "");
    frame_destroy (taken);
    frame_destroy (frame);
    return err.text;
}

static void check_sends_again (const struct message *message, const void *it)
{
    struct errtext err = { "" };
    struct frame *frame = sent (message, it), *taken = again (message, frame, &err);
    char text[4096];

    assert_string_equal (err.text, "");
    snprintf (text, sizeof (text), "%s", message_text (frame));
    assert_string_equal (message_text (taken), text);
}

TEST (what_was_decoded_is_encoded_as_it_was)
{
    for (size_t i = 0; i < COUNT (messages); i++) {
        check_sends_again (messages[i], messages[i]->plain);
        check_sends_again (messages[i], messages[i]->full);
    }
}

#define FLAG(name, member, key) { &(name), offsetof (struct name, member), key }

/* Each flag alone: in the full messages all have the same value. */
TEST (each_flag_has_its_key)
{
    static const struct {
        const struct message *message;
        size_t offset;
        const char *key;
    } row[] = {
        FLAG (rendezvous_config, inherited, "INHERITED"), FLAG (rendezvous_config, show, "SHOW"),
        FLAG (rendezvous_config, networks_required, "NETWORKS_REQUIRED"),
        FLAG (rendezvous_config, ask_alone, "ASK_ALONE"), FLAG (rendezvous_config, json, "JSON"),
        FLAG (rendezvous_config, log_append, "LOG_APPEND"), FLAG (rendezvous_config, nccl, "NCCL"),
        FLAG (rendezvous_config, log_append_later, "LOG_APPEND_LATER"),
        FLAG (rendezvous_config, hide_gpus, "HIDE_GPUS"), FLAG (rendezvous_config, debugged, "DEBUGGED"),
        FLAG (supervisor_config, forward_signals, "FORWARD_SIGNALS"),
        FLAG (supervisor_config, serves, "SERVES"), FLAG (supervisor_config, spare, "SPARE"),
        FLAG (supervisor_config, prints, "PRINTS"),
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        union {
            struct rendezvous_config rendezvous_config;
            struct supervisor_config supervisor_config;
        } one;

        if (row[i].message == &rendezvous_config)
            one.rendezvous_config = plain_rendezvous_config;
        else
            one.supervisor_config = plain_supervisor_config;
        *(bool *)((char *)&one + row[i].offset) = true;
        check_sends_again (row[i].message, &one);
        assert_non_null (strstr (message_text (sent (row[i].message, &one)), row[i].key));
    }
}

TEST (each_option_of_a_task_is_sent_without_the_others)
{
    struct rendezvous_config config = plain_rendezvous_config;

    config.task.if_abandoned = "cancel";
    assert_non_null (strstr (message_text (sent (&rendezvous_config, &config)), "IF_ABANDONED=cancel\n"));
    check_sends_again (&rendezvous_config, &config);
}

/* Each framework, and each word of an option. */
TEST (each_word_has_its_text)
{
    struct rendezvous_config config = plain_rendezvous_config;

    for (const struct choice *c = frameworks_words; c->word; c++) {
        config.frameworks = (unsigned int)c->meaning;
        check_sends_again (&rendezvous_config, &config);
    }
#define CHECK_WORDS(field, type, name) \
    config = plain_rendezvous_config; \
    for (const struct choice *c = option_table[OPTION_##name].words; c->word; c++) { \
        config.field = (type)c->meaning; \
        check_sends_again (&rendezvous_config, &config); \
    } \
    assert_string_equal (refusal (&rendezvous_config, changed (&rendezvous_config, #name, NULL)), ""); \
    assert_string_equal (refusal (&rendezvous_config, changed (&rendezvous_config, #name, "other")), \
                         #name " of srun's configuration is not one of its words");
    RENDEZVOUS_CONFIG_WORDS (CHECK_WORDS)
}

/*
 * What a row of a table says is so in the whole message: what is needed, and the limits, which
 * doc/protocol/ has, too.
 */

/* Refused, with the name of the key and what is right, as a line of printable ASCII. */
static void check_refused (const struct message *message, const struct fields *fields,
                           const struct field *field, const char *value)
{
    struct field_text room;
    char expected[256];

    snprintf (expected, sizeof (expected), "%s of %s is not %s", field->key, fields->name,
              field_limit (field, &room));
    assert_string_equal (refusal (message, changed (message, field->key, value)), expected);
}

static void check_number (const struct message *message, const struct fields *fields,
                          const struct field *field)
{
    static const char *const bad[] = { "", "x", "-1", "+1", " 1", "1 ", "1s", "4294967297", "0x1" };
    char text[32];

    for (size_t i = 0; i < COUNT (bad); i++)
        check_refused (message, fields, field, bad[i]);
    if (field->low > 0) {
        snprintf (text, sizeof (text), "%d", field->low - 1);
        check_refused (message, fields, field, text);
    }
    snprintf (text, sizeof (text), "%lld", field->high + 1LL);
    check_refused (message, fields, field, text);
    for (int i = 0; i < 2; i++) {
        snprintf (text, sizeof (text), "%d", i ? field->high : field->low);
        assert_null (strstr (refusal (message, changed (message, field->key, text)), field->key));
    }
}

static void check_length (const struct message *message, const struct fields *fields,
                          const struct field *field)
{
    static char text[5000];

    memset (text, 'x', sizeof (text) - 1);
    text[field->high ? (size_t)field->high : sizeof (text) - 1] = '\0';
    assert_string_equal (refusal (message, changed (message, field->key, text)), "");
    if (!field->high)
        return;
    text[field->high] = 'x';
    text[field->high + 1] = '\0';
    check_refused (message, fields, field, text);
    if (field->low > 0) {
        text[field->low - 1] = '\0';
        check_refused (message, fields, field, text);
    }
}

static void check_missing (const struct message *message, const struct fields *fields,
                           const struct field *field)
{
    char expected[128];

    snprintf (expected, sizeof (expected), "%s lacks %s", fields->name, field->key);
    assert_string_equal (refusal (message, changed (message, field->key, NULL)), expected);
}

static void check_fields (const struct message *message, const struct fields *fields)
{
    for (size_t i = 0; i < fields->rows; i++) {
        const struct field *field = &fields->row[i];

        if (field->type == FIELD_PART) {
            check_fields (message, field->part);
            continue;
        }
        if (field->need == FIELD_NEEDED && field->type != FIELD_OTHER)
            check_missing (message, fields, field);
        if (field->type == FIELD_NUMBER)
            check_number (message, fields, field);
        if (field->type == FIELD_TEXT || field->type == FIELD_CHARS)
            check_length (message, fields, field);
    }
}

/* All but those of a status, some of which count as missing then. */
TEST (each_key_that_is_missing_or_out_of_its_limits_is_refused_by_name)
{
    for (size_t i = 0; i < COUNT (messages); i++)
        if (messages[i] != &status)
            check_fields (messages[i], messages[i]->fields);
}

/* What a table does not say: stories. */

static const struct message *told;
static char told_lines[1024];

static bool has_string (const struct frame *frame, const char *string)
{
    for (const char *s = NULL; (s = frame_next (frame, s));)
        if (strcmp (s, string) == 0)
            return true;
    return false;
}

/* What is sent again, and is another string, or missing; or why it is refused. Destroys the frame. */
static void tell (struct frame *frame)
{
    struct errtext err = { "" };
    struct frame *taken = again (told, frame, &err);

    if (!taken)
        story_result ("refused: %s", err.text);
    for (const char *s = NULL; taken && (s = frame_next (taken, s));)
        if (!has_string (frame, s))
            story_result ("%s", s);
    for (const char *s = NULL; taken && (s = frame_next (frame, s));) {
        char key[64];

        snprintf (key, sizeof (key), "%.*s", (int)strcspn (s, "="), s);
        if (!frame_has (taken, key))
            story_result ("no \"%s\"", key);
    }
    frame_destroy (taken);
    frame_destroy (frame);
}

static bool choose (char *event)
{
    static const struct {
        const char *name;
        const struct message *message;
    } row[] = {
        { "hello", &hello }, { "registration", &registration },
        { "configuration of srun", &rendezvous_config },
        { "configuration of a supervisor", &supervisor_config }, { "status", &status }, { "goal", &goal },
        { "answer", &answer },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        if (story_begins (&event, row[i].name)) {
            told = row[i].message;
            snprintf (told_lines, sizeof (told_lines), "%s",
                      *event ? story_unescape (event) : told->full_text);
            if (*event)
                tell (message_with (told_lines, NULL, NULL));
            return true;
        }
    return false;
}

static void play (char *event)
{
    if (choose (event))
        return;
    if (story_begins (&event, "no"))
        tell (message_with (told_lines, event, NULL));
    else {
        const char *key = strsep (&event, "=");

        if (!event)
            story_unknown (key);
        tell (message_with (told_lines, key, story_unescape (event)));
    }
}

STORIES (GOLDEN, play, NULL)

/* A task with an error has no port, whatever it says. */
TEST (the_port_of_a_task_with_an_error_is_not_sent)
{
    struct registration rank = plain_registration, decoded;
    struct frame *frame;

    rank.error = "no port of 30000-30001 is free";
    frame = registration_encode (&rank, TOKEN);
    assert_false (frame_has (frame, "PORT"));
    assert_int_equal (registration_decode (&decoded, frame, NULL), 0);
    assert_int_equal (decoded.port, 0);
    frame_destroy (frame);
}

TEST (a_configuration_has_1_to_128_lists)
{
    static const char refused[] = "LIST of srun's configuration is not 1 to 128 of LIST and LIST_PER_NODE";
    struct rendezvous_config config = plain_rendezvous_config;
    struct frame *frame;

    config.lists = 0;
    assert_string_equal (refusal (&rendezvous_config, sent (&rendezvous_config, &config)), refused);
    while (config.lists < RENDEZVOUS_CONFIG_MAX_LISTS)
        config.list[config.lists++] = (struct rendezvous_config_list){ "worker", config.lists % 2 };
    assert_string_equal (refusal (&rendezvous_config, sent (&rendezvous_config, &config)), "");
    frame = sent (&rendezvous_config, &config);
    frame_add (frame, "LIST_PER_NODE", "worker");
    assert_string_equal (refusal (&rendezvous_config, frame), refused);
}

TEST (at_most_interface_max_interfaces_are_decoded)
{
    struct registration rank = full_registration;
    struct frame *frame;

    while (rank.interfaces < INTERFACE_MAX)
        rank.interface[rank.interfaces++] = rank.interface[0];
    assert_string_equal (refusal (&registration, registration_encode (&rank, TOKEN)), "");
    frame = registration_encode (&rank, TOKEN);
    frame_add (frame, "INTERFACE", "ib1 infiniband up 10.2.0.5/16");
    assert_string_equal (refusal (&registration, frame), "INTERFACE of a registration is not an interface");
}

TEST (a_list_of_addresses_is_bounded)
{
    static const struct {
        const char *key, *value, *error;
        int most;
    } row[] = {
        { "PEER", "10.0.0.1", "PEER of a life report is not an IPv4 or IPv6 address", LIFE_PEERS_MOST },
        { "UNANSWERED", "10.0.0.1:1", "UNANSWERED of activity is not an address with its port",
          SIGNS_MOST_UNANSWERED },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        for (int more = 0; more < 2; more++) {
            struct frame *frame = message_with ("ENDED=hung\nREPORT=1\nSIGNS=none\nLIFE=5\n", NULL, NULL);

            for (int j = 0; j < row[i].most + more; j++)
                frame_add (frame, row[i].key, "%s", row[i].value);
            assert_string_equal (refusal (&status, frame), more ? row[i].error : "");
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
    size_t length;

    assert_non_null (frame_bytes (frame, 0, &length));
    assert_between (length - FRAME_HEADER, FRAME_MAX_REGISTRATION / 2, FRAME_MAX_REGISTRATION);
    assert_string_equal (refusal (&registration, frame), "");
}

/* Each text has its greatest length; all local_cpus together have 3 KiB. */
TEST (the_longest_registration_fits)
{
    static char text[10][4097];
    struct registration rank = full_registration;

    rank.node = fill (text[0], REGISTRATION_MAX_NODE, 'n');
    rank.step = fill (text[1], REGISTRATION_MAX_STEP, '1');
    fill (rank.host.id, sizeof (rank.host.id) - 1, 'h');
    rank.supervisor_error = fill (text[8], sizeof (struct errtext) - 1, 's');
    rank.log_dir = fill (text[9], PATH_MAX - 1, 'd');
    rank.step_nodes = fill (text[3], 4096, 'n');
    rank.step_node_tasks = fill (text[4], 4096, 't');
    rank.cpus = fill (text[6], CPUS_MAX_TEXT - 1, 'f');
    fill (text[7], 3072 / INTERFACE_MAX - 1, 'f');
    assert_int_equal (interface_parse (&rank.interface[0], "fifteen_letters infiniband no-carrier "
                                       "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"), 0);
    rank.interface[0].local_cpus = text[7];
    for (rank.interfaces = 1; rank.interfaces < INTERFACE_MAX; rank.interfaces++)
        rank.interface[rank.interfaces] = rank.interface[0];
    check_fits (&rank);
    /* A task with an error sends no directory. */
    rank.log_dir = NULL;
    rank.error = fill (text[2], sizeof (struct errtext) - 1, 'e');
    check_fits (&rank);
}

/* The keys that hosts send each other. */

static const struct goal full_goal = {
    .life = 1, .stop = GOAL_STOP, .report = 1, .leave = true, .code = 1, .question = 1,
    .check = { .number = 1, .sent = 1, .port = 40000, .peer = TEN_DOT_1, .serves = true },
};

/* rendezvous/slurm_numbers.h */
#define NUMBERS \
    "SLURM_NTASKS=1\0SLURM_NPROCS=1\0SLURM_STEP_NUM_TASKS=1\0SLURM_NNODES=1\0SLURM_STEP_NUM_NODES=1\0" \
    "SLURM_NTASKS_PER_NODE=1\0SLURM_TASKS_PER_NODE=1\0SLURM_STEP_TASKS_PER_NODE=1\0" \
    "SLURM_NODELIST=n1\0SLURM_STEP_NODELIST=n1"

static const struct answer full_answer = {
    .role = "worker", .address = "10.0.0.1", .port = 40000, .hide_gpus = true,
    .nccl = true, .gloo = true, .log_append = true, .supervised = true, .serves = true,
    .tee = true,
    .restart = { 3, true, 60, 30 }, .watch = { 300, 1800, true, true, 7 }, .lost_after = 60, .spare = true,
    .goal = &full_goal,
    .options = { .batch_host = "n1", .if_abandoned = "requeue", .preflight = "yes" },
    .proxy_exempt = "10.0.0.1",
    .no_tf_config = true, .jax_devices = true, .keras = true, .jax = true,
    .torch = true, .keep_master_port = true, .master_address = "10.0.0.1", .master_port = 50000,
    .coordinator = "10.0.0.1:40000", .processes = 1, .cluster = "{}", .cluster_length = 2,
    .tail = "}",
    .numbered = true, .numbers = NUMBERS, .numbers_length = sizeof (NUMBERS),
};

/* As the task gets it. */
static struct frame *answer_frame (const struct answer *sent)
{
    struct answer_message message;
    struct frame *frame;

    assert_int_equal (answer_encode (&message, sent, SERVER_TOKEN), 0);
    frame = frame_join (message.part, ANSWER_PARTS);
    answer_message_clear (&message);
    return frame;
}

/* Their keys. */

struct keys {
    char key[128][40];
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

/* Its first four fields have no keys. */
static void print_contact (FILE *file)
{
    const struct contact contact = { .timeout = 300, .hold = true, .ask = CONTACT_ASK_RAILS,
                                     .second_port = true, .own_name = true, .ports = "any" };
    struct frame *frame = frame_create ();

    fields_encode (&contact_fields, frame, &contact);
    print_keys (file, "contact", frame, NULL);
}

/* What is recorded for a version, without its heading; to be freed. */
static char *recorded_now (void)
{
    static const struct answer refusal = { .refused = true };
    struct registration without_port = full_registration;
    size_t size;
    char *text;
    FILE *file = open_memstream (&text, &size);

    without_port.error = "no port";
    print_contact (file);
    print_keys (file, "registration", registration_encode (&full_registration, TOKEN),
                registration_encode (&without_port, TOKEN));
    print_keys (file, "answer", answer_frame (&full_answer), answer_frame (&refusal));
    print_keys (file, "acknowledgement", acknowledgement_encode (), NULL);
    print_keys (file, "status", status_encode_first (&full_status, TOKEN, "n1", 1), NULL);
    print_keys (file, "goal", goal_encode (&full_goal, SERVER_TOKEN), NULL);
    fclose (file);
    return text;
}

/* The golden file. */

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
    char *golden = file_text (KEYS), *heading = find_heading (golden), *now = recorded_now ();
    char *section = heading ? strchr (heading, '\n') + 1 : NULL;

    if (!section || strncmp (section, now, strlen (now)) != 0
        || (section[strlen (now)] != '\0' && section[strlen (now)] != '\n')) {
        fprintf (stderr, "the keys are now:\n%s", now);
        fail_msg ("message_keys.golden has other keys for version %d of the protocol. If that version is "
                  "released, FRAME_VERSION in util/protocol/frame.h goes up; then `make -C tests/unit "
                  "message-keys` records them.", FRAME_VERSION);
    }
    free (now);
}

/* Replace the section of this version, or add it. */
static int update (void)
{
    char *golden = file_text (KEYS), *heading = find_heading (golden), *now = recorded_now ();
    char *rest = heading ? strstr (heading, "\n\n") : NULL;
    FILE *file;

    if (heading && strncmp (strchr (heading, ',') + 2, NOT_RELEASED "\n", sizeof (NOT_RELEASED)) != 0) {
        fprintf (stderr, "version %d of the protocol is released, so its keys stay as they are; "
                 "FRAME_VERSION in util/protocol/frame.h has to go up\n", FRAME_VERSION);
        return 1;
    }
    if (!(file = fopen (KEYS, "we"))) {
        perror (KEYS);
        return 1;
    }
    fprintf (file, "%.*s%sversion %d, " NOT_RELEASED "\n%s%s",
             heading ? (int)(heading - golden) : (int)strlen (golden), golden, heading ? "" : "\n",
             FRAME_VERSION, now, rest ? rest + 1 : "");
    free (now);
    return fclose (file) == 0 ? 0 : 1;
}

int main (int argc, char *argv[])
{
    if (argc > 1 && strcmp (argv[1], "--update") == 0)
        return update ();
    return unit_run ();
}

/* In Slurm's job, whose comment may be the user's. */
TEST (the_runs_of_a_job_are_found_in_its_comment)
{
    const struct past_runs runs = { .runs = 2,
                                    .step = 86120,
                                    .seconds = { 1, 2, 3, 4, 5, 6, 7, 8, 12 },
                                    .first = 9,
                                    .repeated_steps = 10,
                                    .restarts = 11,
                                    .says = true };
    const char *const other[] = { "", "mine", "[spank_tf ", "[spank_tf ]", "[spank_tf RUNS=x]",
                                  "[spank_tf STEP=7]",
                                  "[spank_tf RUNS=2 STEP=-7]" };
    char comment[2 * PAST_RUNS_TEXT], text[PAST_RUNS_TEXT], again[PAST_RUNS_TEXT];
    struct past_runs found;
    const char *begin;

    memset (&found, 0, sizeof (found)); /* and what is between its members */
    past_runs_print (&runs, text);
    assert_string_equal (text, "[spank_tf RUNS=2 STEP=86120 LAUNCH_S=1 STARTING_S=2 WAITING_S=3 REPEATED_S=4 "
                               "PROGRESS_S=5 NOTICING_S=6 PAUSING_S=7 SUSPENDED_S=8 PREFLIGHT_S=12 FIRST_S=9 "
                               "REPEATED_STEPS=10 RESTARTS=11 SAYS=1]");
    snprintf (comment, sizeof (comment), "mine %s too", text);
    assert_int_equal (past_runs_find (&found, comment, &begin), strlen (text));
    assert_ptr_equal (begin, comment + strlen ("mine "));
    past_runs_print (&found, again);
    assert_string_equal (again, text);
    for (size_t i = 0; i < COUNT (other); i++) {
        assert_int_equal (past_runs_find (&found, other[i], &begin), 0);
        assert_int_equal (found.runs, 0);
    }
}
