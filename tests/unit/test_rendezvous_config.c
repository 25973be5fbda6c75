/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "common/frameworks.h"
#include "protocol/rendezvous_config.h"

#define TOKENS "TOKEN=" TOKEN "\nSERVER_TOKEN=" SERVER_TOKEN "\n"

static struct rendezvous_config plain_config (void)
{
    /* clang-format off */
    return (struct rendezvous_config){
        .token = TOKEN, .server_token = SERVER_TOKEN, .step = "12.0", .lists = 1,
        .list = { { "ps,worker:3", false } }, .timeout = 300, .stop_grace = 30,
        .eval_grace = 600, .fail_grace = 20,
    };
    /* clang-format on */
}

static struct rendezvous_config full_config (void)
{
    struct rendezvous_config config = plain_config ();

    config.het_group = "0-1";
    config.lists = 3;
    config.list[1] = (struct rendezvous_config_list){ "worker:2", true };
    config.list[2] = (struct rendezvous_config_list){ "evaluator", false };
    config.ib = IB_REQUIRE;
    config.networks = "10.1.0.0/16,ib0";
    config.notify = "/opt/notify";
    config.stop = STOP_WHEN_NEVER;
    config.frameworks = FRAMEWORK_TF | FRAMEWORK_KERAS | FRAMEWORK_JAX | FRAMEWORK_DTENSOR | FRAMEWORK_TORCH;
    config.inherited = config.networks_required = config.show = config.json = config.ask_alone =
        config.log_append = config.hide_gpus = config.nccl = config.debugged = config.wait_limited = true;
    config.restart = (struct restart_rule){ 3, true, 60 };
    config.watch = (struct watch_rule){ 300, 1800 };
    config.lost_after = 20;
    config.tee = TEE_ON + TEE_COLOUR_STDOUT;
    return config;
}

/* The strings are these; those of words are at the end. */
static void check_strings (const struct rendezvous_config *config, const char *strings, const char *words)
{
    const char *text = message_text (rendezvous_config_encode (config));

    assert_int_equal (strncmp (text, strings, strlen (strings)), 0);
    assert_int_equal (strncmp (text + strlen (strings), words, strlen (words)), 0);
}

TEST (a_configuration_has_these_strings)
{
    struct rendezvous_config plain = plain_config (), full = full_config ();

    check_strings (&plain,
                   TOKENS "STEP=12.0\nLIST=ps,worker:3\nTIMEOUT=300\nSTOP_GRACE=30\n"
                          "EVAL_GRACE=600\nFAIL_GRACE=20\n",
                   "IB=no\nSTOP=auto\n");
    check_strings (&full,
                   TOKENS "STEP=12.0\nHET_GROUP=0-1\nLIST=ps,worker:3\n"
                          "LIST_PER_NODE=worker:2\nLIST=evaluator\nINHERITED=1\nTIMEOUT=300\n"
                          "NETWORKS=10.1.0.0/16,ib0\nNETWORKS_REQUIRED=1\nSHOW=1\nASK_ALONE=1\nJSON=1\n"
                          "NOTIFY=/opt/notify\nLOG_APPEND=1\nTEE=3\nSTOP_GRACE=30\nEVAL_GRACE=600\n"
                          "FAIL_GRACE=20\nRESTART=3\nRESTART_ANY=1\nRESTART_BACKOFF=60\n"
                          "WATCHDOG=300\nWATCHDOG_FIRST=1800\nLOST_AFTER=20\n"
                          "WAIT_LIMITED=1\nHIDE_GPUS=1\nTF=1\nKERAS=1\nJAX=1\n"
                          "DTENSOR=1\nTORCH=1\nNCCL=1\nDEBUGGED=1\n",
                   "IB=require\nSTOP=never\n");
}

static void check_text (const char *decoded, const char *text)
{
    assert_int_equal (decoded != NULL, text != NULL);
    if (text)
        assert_string_equal (decoded, text);
}

#define CHECK_WORD(field, type, name) assert_int_equal (decoded.field, config->field);

static void check_round_trip (const struct rendezvous_config *config)
{
    struct frame *frame = rendezvous_config_encode (config);
    struct rendezvous_config decoded;

    memset (&decoded, 0xff, sizeof (decoded));
    assert_int_equal (rendezvous_config_decode (&decoded, frame, NULL), 0);
    check_text (decoded.token, config->token);
    check_text (decoded.server_token, config->server_token);
    check_text (decoded.step, config->step);
    check_text (decoded.het_group, config->het_group);
    check_text (decoded.networks, config->networks);
    check_text (decoded.notify, config->notify);
    assert_int_equal (decoded.lists, config->lists);
    for (size_t i = 0; i < config->lists; i++) {
        check_text (decoded.list[i].text, config->list[i].text);
        assert_int_equal (decoded.list[i].per_node, config->list[i].per_node);
    }
    assert_int_equal (decoded.inherited, config->inherited);
    assert_int_equal (decoded.timeout, config->timeout);
    RENDEZVOUS_CONFIG_WORDS (CHECK_WORD)
    assert_int_equal (decoded.networks_required, config->networks_required);
    assert_int_equal (decoded.show, config->show);
    assert_int_equal (decoded.json, config->json);
    assert_int_equal (decoded.ask_alone, config->ask_alone);
    assert_int_equal (decoded.log_append, config->log_append);
    assert_int_equal (decoded.tee, config->tee);
    assert_int_equal (decoded.stop_grace, config->stop_grace);
    assert_int_equal (decoded.eval_grace, config->eval_grace);
    assert_int_equal (decoded.fail_grace, config->fail_grace);
    assert_int_equal (decoded.wait_limited, config->wait_limited);
    assert_int_equal (decoded.hide_gpus, config->hide_gpus);
    assert_int_equal (decoded.frameworks, config->frameworks);
    assert_int_equal (decoded.nccl, config->nccl);
    assert_int_equal (decoded.debugged, config->debugged);
    assert_int_equal (decoded.watch.seconds, config->watch.seconds);
    assert_int_equal (decoded.watch.first, config->watch.first);
    assert_int_equal (decoded.restart.times, config->restart.times);
    assert_int_equal (decoded.restart.any, config->restart.any);
    assert_int_equal (decoded.restart.longest_pause, config->restart.longest_pause);
    assert_int_equal (decoded.lost_after, config->lost_after);
    frame_destroy (frame);
}

#define CHECK_EACH_WORD(field, type, name) \
    config = plain_config (); \
    for (const struct choice *c = option_table[OPTION_##name].words; c->word; c++) { \
        config.field = (type)c->meaning; \
        check_round_trip (&config); \
    }

/* Each flag is also tested alone, to detect two keys that are swapped. */
TEST (decoding_returns_the_encoded_configuration)
{
    struct rendezvous_config config = full_config ();
    bool *const flag[] = { &config.inherited,    &config.networks_required, &config.show, &config.json,
                           &config.log_append,   &config.hide_gpus,         &config.nccl, &config.debugged,
                           &config.wait_limited, &config.ask_alone };

    check_round_trip (&config);
    config = plain_config ();
    check_round_trip (&config);
    for (size_t i = 0; i < COUNT (flag); i++) {
        config = plain_config ();
        *flag[i] = true;
        check_round_trip (&config);
    }
    RENDEZVOUS_CONFIG_WORDS (CHECK_EACH_WORD)
    config = plain_config ();
    for (const struct choice *c = frameworks_words; c->word; c++) {
        config.frameworks = (unsigned int)c->meaning;
        check_round_trip (&config);
    }
}

#define NO_TOKEN "srun's configuration lacks a token"
#define INCOMPLETE "srun's configuration is incomplete"
#define BAD_LISTS "srun's configuration has no task list, or more than 128"

/* clang-format off */
static struct message_string good[] = {
    { "TOKEN", TOKEN }, { "SERVER_TOKEN", SERVER_TOKEN }, { "STEP", "12.0" },
    { "LIST", "worker" }, { "TIMEOUT", "300" }, { "STOP_GRACE", "30" }, { "EVAL_GRACE", "600" },
    { "FAIL_GRACE", "20" }, { "RESTART", "3" }, { "RESTART_BACKOFF", "60" },
#define GOOD_WORD(field, type, name) { #name, NULL },
    RENDEZVOUS_CONFIG_WORDS (GOOD_WORD)
};
/* clang-format on */

#define SET_GOOD_WORD(field, type, name) \
    if (strcmp (good[i].key, #name) == 0) \
        good[i].value = option_table[OPTION_##name].words->word;

/* `good` with the first word of each option, and without a key or with another value of it. */
static struct frame *good_message (const char *key, const char *value)
{
    for (size_t i = 0; i < COUNT (good); i++) {
        RENDEZVOUS_CONFIG_WORDS (SET_GOOD_WORD)
    }
    return message_with (good, COUNT (good), key, value);
}

static void check_refused (const char *key, const char *value, const char *message)
{
    struct frame *frame = good_message (key, value);
    struct errtext err = { "" };
    struct rendezvous_config config;

    assert_int_equal (rendezvous_config_decode (&config, frame, &err), message ? -1 : 0);
    assert_string_equal (err.text, message ? message : "");
    frame_destroy (frame);
}

#define CHECK_OTHER_WORDS(field, type, name) \
    check_refused (#name, NULL, NULL); \
    check_refused (#name, "", INCOMPLETE); \
    check_refused (#name, "other", INCOMPLETE); \
    check_refused (#name, option_table[OPTION_##name].words->word, NULL);

TEST (a_configuration_with_another_word_of_an_option_is_refused){
    RENDEZVOUS_CONFIG_WORDS (CHECK_OTHER_WORDS)
}

TEST (a_configuration_that_lacks_a_key_or_is_out_of_bounds_is_refused)
{
    static const struct {
        const char *key, *value, *message;      /* message NULL: the configuration is valid */
    /* clang-format off */
    } row[] = {
        { "COLOUR", "red", NULL }, { "LISTS", "worker", NULL },
        { "TOKEN", NULL, NO_TOKEN }, { "TOKEN", "", NO_TOKEN }, { "TOKEN", TOKEN "0", NO_TOKEN },
        { "SERVER_TOKEN", NULL, NO_TOKEN }, { "SERVER_TOKEN", &SERVER_TOKEN[1], NO_TOKEN },
        { "STEP", NULL, INCOMPLETE },
        { "LIST", NULL, BAD_LISTS },
        { "TIMEOUT", NULL, INCOMPLETE }, { "TIMEOUT", "0", INCOMPLETE },
        { "TIMEOUT", "1", NULL }, { "TIMEOUT", "1000000", NULL },
        { "TIMEOUT", "1000001", INCOMPLETE }, { "TIMEOUT", "-1", INCOMPLETE },
        { "TIMEOUT", " 1", INCOMPLETE }, { "TIMEOUT", "1s", INCOMPLETE },
        { "TIMEOUT", "", INCOMPLETE },
        { "STOP_GRACE", NULL, INCOMPLETE }, { "STOP_GRACE", "0", NULL },
        { "STOP_GRACE", "-1", INCOMPLETE }, { "STOP_GRACE", "1000000", NULL },
        { "STOP_GRACE", "1000001", INCOMPLETE }, { "STOP_GRACE", "4294967296", INCOMPLETE },
        { "EVAL_GRACE", NULL, INCOMPLETE }, { "EVAL_GRACE", "0", NULL },
        { "FAIL_GRACE", NULL, INCOMPLETE }, { "FAIL_GRACE", "0", NULL },
        { "LOST_AFTER", NULL, NULL }, { "LOST_AFTER", "4", INCOMPLETE }, { "LOST_AFTER", "5", NULL },
        { "EVAL_GRACE", "x", INCOMPLETE }, { "EVAL_GRACE", "1000001", INCOMPLETE },
        { "RESTART", NULL, NULL }, { "RESTART", "0", INCOMPLETE }, { "RESTART", "1", NULL },
        { "RESTART", "1000", NULL }, { "RESTART", "1001", INCOMPLETE },
        { "RESTART", "", INCOMPLETE },
        { "TEE", "0", INCOMPLETE }, { "TEE", "1", NULL }, { "TEE", "7", NULL }, { "TEE", "8", INCOMPLETE },
        { "RESTART_BACKOFF", NULL, INCOMPLETE }, { "RESTART_BACKOFF", "0", INCOMPLETE },
        { "RESTART_BACKOFF", "1", NULL }, { "RESTART_BACKOFF", "1000001", INCOMPLETE },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++)
        check_refused (row[i].key, row[i].value, row[i].message);
}

/* Decode a configuration with so many lists, the first of which is in `good`. */
static int decode_with_lists (int lists, struct errtext *err)
{
    struct frame *frame = good_message ("", NULL);
    struct rendezvous_config config;
    int rc;

    for (int i = 1; i < lists; i++)
        frame_add (frame, i % 2 ? "LIST_PER_NODE" : "LIST", "worker:%d", i);
    rc = rendezvous_config_decode (&config, frame, err);
    if (rc == 0)
        assert_int_equal (config.lists, lists);
    frame_destroy (frame);
    return rc;
}

TEST (a_configuration_with_too_many_lists_is_refused)
{
    struct errtext err = { "" };

    assert_int_equal (decode_with_lists (RENDEZVOUS_CONFIG_MAX_LISTS, &err), 0);
    assert_int_equal (decode_with_lists (RENDEZVOUS_CONFIG_MAX_LISTS + 1, &err), -1);
    assert_string_equal (err.text, BAD_LISTS);
}
