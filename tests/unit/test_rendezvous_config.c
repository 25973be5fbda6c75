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
    return (struct rendezvous_config){
        .token = TOKEN, .server_token = SERVER_TOKEN, .step = "12.0", .lists = 1,
        .list = { { "ps,worker:3", false } }, .timeout = 300, .stop_grace = 30,
        .eval_grace = 600,
    };
}

static struct rendezvous_config full_config (void)
{
    struct rendezvous_config config = plain_config ();

    config.het_group = "0-1";
    config.lists = 3;
    config.list[1] = (struct rendezvous_config_list){ "worker:2", true };
    config.list[2] = (struct rendezvous_config_list){ "evaluator", false };
    config.ib = RENDEZVOUS_CONFIG_IB_REQUIRE;
    config.networks = "10.1.0.0/16,ib0";
    config.stop = STOP_WHEN_NEVER;
    config.frameworks = FRAMEWORK_TF | FRAMEWORK_KERAS | FRAMEWORK_JAX | FRAMEWORK_DTENSOR;
    config.inherited = config.networks_required = config.hold = config.show
        = config.json = config.log_append = config.hide_gpus = config.nccl = config.debugged
        = config.wait_limited = true;
    config.restart = (struct restart_rule){ 3, true, 60 };
    return config;
}

TEST (a_configuration_has_these_strings)
{
    struct rendezvous_config plain = plain_config (), full = full_config ();

    assert_string_equal (message_text (rendezvous_config_encode (&plain)), TOKENS "STEP=12.0\n"
                         "LIST=ps,worker:3\nTIMEOUT=300\nIB=no\nSTOP=auto\nSTOP_GRACE=30\n"
                         "EVAL_GRACE=600\n");
    assert_string_equal (message_text (rendezvous_config_encode (&full)), TOKENS "STEP=12.0\n"
                         "HET_GROUP=0-1\nLIST=ps,worker:3\nLIST_PER_NODE=worker:2\n"
                         "LIST=evaluator\nINHERITED=1\nTIMEOUT=300\nIB=require\n"
                         "NETWORKS=10.1.0.0/16,ib0\nNETWORKS_REQUIRED=1\nHOLD=1\nSTOP=never\n"
                         "SHOW=1\nJSON=1\nLOG_APPEND=1\nSTOP_GRACE=30\nEVAL_GRACE=600\n"
                         "RESTART=3\nRESTART_ANY=1\nRESTART_BACKOFF=60\nWAIT_LIMITED=1\n"
                         "HIDE_GPUS=1\nTF=1\nKERAS=1\nJAX=1\nDTENSOR=1\nNCCL=1\nDEBUGGED=1\n");
}

static void check_text (const char *decoded, const char *text)
{
    assert_int_equal (decoded != NULL, text != NULL);
    if (text)
        assert_string_equal (decoded, text);
}

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
    assert_int_equal (decoded.lists, config->lists);
    for (size_t i = 0; i < config->lists; i++) {
        check_text (decoded.list[i].text, config->list[i].text);
        assert_int_equal (decoded.list[i].per_node, config->list[i].per_node);
    }
    assert_int_equal (decoded.inherited, config->inherited);
    assert_int_equal (decoded.timeout, config->timeout);
    assert_int_equal (decoded.ib, config->ib);
    assert_int_equal (decoded.networks_required, config->networks_required);
    assert_int_equal (decoded.hold, config->hold);
    assert_int_equal (decoded.stop, config->stop);
    assert_int_equal (decoded.show, config->show);
    assert_int_equal (decoded.json, config->json);
    assert_int_equal (decoded.log_append, config->log_append);
    assert_int_equal (decoded.stop_grace, config->stop_grace);
    assert_int_equal (decoded.eval_grace, config->eval_grace);
    assert_int_equal (decoded.wait_limited, config->wait_limited);
    assert_int_equal (decoded.hide_gpus, config->hide_gpus);
    assert_int_equal (decoded.frameworks, config->frameworks);
    assert_int_equal (decoded.nccl, config->nccl);
    assert_int_equal (decoded.debugged, config->debugged);
    assert_int_equal (decoded.restart.times, config->restart.times);
    assert_int_equal (decoded.restart.any, config->restart.any);
    assert_int_equal (decoded.restart.longest_pause, config->restart.longest_pause);
    frame_destroy (frame);
}

/* Each flag is also tested alone, to detect two keys that are swapped. */
TEST (decoding_returns_the_encoded_configuration)
{
    struct rendezvous_config config = full_config ();
    bool *const flag[] = { &config.inherited, &config.networks_required, &config.hold,
                           &config.show, &config.json, &config.log_append, &config.hide_gpus,
                           &config.nccl, &config.debugged, &config.wait_limited };

    check_round_trip (&config);
    config = plain_config ();
    check_round_trip (&config);
    for (size_t i = 0; i < COUNT (flag); i++) {
        config = plain_config ();
        *flag[i] = true;
        check_round_trip (&config);
    }
    for (int i = 0; i <= RENDEZVOUS_CONFIG_IB_REQUIRE; i++) {
        config = plain_config ();
        config.ib = (enum rendezvous_config_ib)i;
        check_round_trip (&config);
    }
    for (int i = 0; i <= STOP_WHEN_NEVER; i++) {
        config = plain_config ();
        config.stop = (enum stop_when)i;
        check_round_trip (&config);
    }
    for (unsigned int framework = 1; framework <= FRAMEWORK_DTENSOR; framework *= 2) {
        config.frameworks = framework;
        check_round_trip (&config);
    }
}

#define NO_TOKEN "srun's configuration lacks a token"
#define INCOMPLETE "srun's configuration is incomplete"
#define BAD_LISTS "srun's configuration has no task list, or more than 128"
#define BAD_STOP "\"never!\" is not one of auto, chief, workers, never"

static const struct message_string good[] = {
    { "TOKEN", TOKEN }, { "SERVER_TOKEN", SERVER_TOKEN }, { "STEP", "12.0" },
    { "LIST", "worker" }, { "TIMEOUT", "300" }, { "IB", "auto" }, { "STOP", "chief" },
    { "STOP_GRACE", "30" }, { "EVAL_GRACE", "600" }, { "RESTART", "3" },
    { "RESTART_BACKOFF", "60" },
};

TEST (a_configuration_that_lacks_a_key_or_is_out_of_bounds_is_refused)
{
    static const struct {
        const char *key, *value, *message;      /* message NULL: the configuration is valid */
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
        { "IB", NULL, INCOMPLETE }, { "IB", "", INCOMPLETE }, { "IB", "yes", INCOMPLETE },
        { "IB", "Auto", INCOMPLETE }, { "IB", "require", NULL },
        { "STOP", NULL, INCOMPLETE }, { "STOP", "never!", BAD_STOP }, { "STOP", "never", NULL },
        { "STOP_GRACE", NULL, INCOMPLETE }, { "STOP_GRACE", "0", NULL },
        { "STOP_GRACE", "-1", INCOMPLETE }, { "STOP_GRACE", "1000000", NULL },
        { "STOP_GRACE", "1000001", INCOMPLETE }, { "STOP_GRACE", "4294967296", INCOMPLETE },
        { "EVAL_GRACE", NULL, INCOMPLETE }, { "EVAL_GRACE", "0", NULL },
        { "EVAL_GRACE", "x", INCOMPLETE }, { "EVAL_GRACE", "1000001", INCOMPLETE },
        { "RESTART", NULL, NULL }, { "RESTART", "0", INCOMPLETE }, { "RESTART", "1", NULL },
        { "RESTART", "1000", NULL }, { "RESTART", "1001", INCOMPLETE },
        { "RESTART", "", INCOMPLETE },
        { "RESTART_BACKOFF", NULL, INCOMPLETE }, { "RESTART_BACKOFF", "0", INCOMPLETE },
        { "RESTART_BACKOFF", "1", NULL }, { "RESTART_BACKOFF", "1000001", INCOMPLETE },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), row[i].key, row[i].value);
        struct errtext err = { "" };
        struct rendezvous_config config;

        assert_int_equal (rendezvous_config_decode (&config, frame, &err),
                          row[i].message ? -1 : 0);
        assert_string_equal (err.text, row[i].message ? row[i].message : "");
        frame_destroy (frame);
    }
}

/* Decode a configuration with so many lists, the first of which is in `good`. */
static int decode_with_lists (int lists, struct errtext *err)
{
    struct frame *frame = message_with (good, COUNT (good), "", NULL);
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

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_configuration_has_these_strings),
        cmocka_unit_test (decoding_returns_the_encoded_configuration),
        cmocka_unit_test (a_configuration_that_lacks_a_key_or_is_out_of_bounds_is_refused),
        cmocka_unit_test (a_configuration_with_too_many_lists_is_refused),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
