/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/supervisor_config.h"

#define MAX_STRINGS 32

static struct supervisor_config plain_config (void)
{
    /* clang-format off */
    struct supervisor_config config = {
        .fork_server = 4711, .slurmstepd = 4700, .rank = 17, .node = "n5", .step = "12.0", .port = 60001,
        .token = TOKEN, .server_token = SERVER_TOKEN, .stop_grace = 30, .kill_wait = -1,
    };
    /* clang-format on */

    assert_int_equal (address_parse (&config.address, "10.0.0.1"), 0);
    return config;
}

#define HEAD \
    "FORK_SERVER=4711\nSLURMSTEPD=4700\nRANK=17\nNODE=n5\nSTEP=12.0\nADDRESS=10.0.0.1\n" \
    "PORT=60001\nTOKEN=" TOKEN "\nSERVER_TOKEN=" SERVER_TOKEN "\nSTOP_GRACE=30\n"

TEST (a_configuration_has_these_variables)
{
    struct supervisor_config config = plain_config ();

    assert_string_equal (message_text (supervisor_config_encode (&config)), HEAD);
    config.kill_wait = 0;
    config.forward_signals = config.serves = config.prints = true;
    config.restart = (struct restart_rule){ 3, true, 60 };
    config.lost_after = 20;
    config.spare = true;
    config.task_port = 40001;
    config.master_port = 50001;
    config.watch = (struct watch_rule){ 300, 1800 };
    assert_string_equal (message_text (supervisor_config_encode (&config)),
                         HEAD "KILL_WAIT=0\nFORWARD_SIGNALS=1\nSERVES=1\n"
                              "RESTART=3\nRESTART_ANY=1\nRESTART_BACKOFF=60\nLOST_AFTER=20\nSPARE=1\n"
                              "TASK_PORT=40001\nMASTER_PORT=50001\nPRINTS=1\n"
                              "WATCHDOG=300\nWATCHDOG_FIRST=1800\n");
    config = plain_config ();
    config.log = "/a b/worker0.log";
    config.error_file = "/a b/worker0.error.json";
    assert_string_equal (message_text (supervisor_config_encode (&config)),
                         HEAD "LOG=/a b/worker0.log\nERROR_FILE=/a b/worker0.error.json\n");
    config.tee = TEE_ON + TEE_COLOUR_STDERR;
    config.role = "worker";
    assert_string_equal (message_text (supervisor_config_encode (&config)),
                         HEAD "LOG=/a b/worker0.log\nERROR_FILE=/a b/worker0.error.json\n"
                              "TEE=5\nROLE=worker\nINDEX=0\n");
}

/* The frame's strings as an environment. */
static void make_environment (char *env[MAX_STRINGS + 1], const struct frame *frame)
{
    const char *s = NULL;
    int count = 0;

    while (count < MAX_STRINGS && (s = frame_next (frame, s)))
        env[count++] = (char *)(uintptr_t)s;
    env[count] = NULL;
}

static void check_round_trip (const struct supervisor_config *config)
{
    struct frame *frame = supervisor_config_encode (config);
    struct supervisor_config decoded;
    char *env[MAX_STRINGS + 1];

    memset (&decoded, 0xff, sizeof (decoded));
    make_environment (env, frame);
    assert_int_equal (supervisor_config_decode (&decoded, env, NULL), 0);
    assert_int_equal (decoded.fork_server, config->fork_server);
    assert_int_equal (decoded.slurmstepd, config->slurmstepd);
    assert_int_equal (decoded.rank, config->rank);
    assert_string_equal (decoded.node, config->node);
    assert_string_equal (decoded.step, config->step);
    assert_true (address_equal (&decoded.address, &config->address));
    assert_int_equal (decoded.port, config->port);
    assert_string_equal (decoded.token, config->token);
    assert_string_equal (decoded.server_token, config->server_token);
    assert_int_equal (decoded.stop_grace, config->stop_grace);
    assert_int_equal (decoded.serves, config->serves);
    assert_int_equal (decoded.kill_wait, config->kill_wait);
    assert_int_equal (decoded.forward_signals, config->forward_signals);
    assert_int_equal (decoded.restart.times, config->restart.times);
    assert_int_equal (decoded.restart.any, config->restart.any);
    assert_int_equal (decoded.restart.longest_pause, config->restart.longest_pause);
    assert_int_equal (decoded.watch.seconds, config->watch.seconds);
    assert_int_equal (decoded.watch.first, config->watch.first);
    assert_int_equal (decoded.lost_after, config->lost_after);
    assert_int_equal (decoded.spare, config->spare);
    assert_int_equal (decoded.prints, config->prints);
    assert_string_equal (decoded.log ? decoded.log : "none", config->log ? config->log : "none");
    assert_string_equal (decoded.error_file ? decoded.error_file : "none",
                         config->error_file ? config->error_file : "none");
    assert_int_equal (decoded.tee, config->tee);
    if (config->tee) {
        assert_string_equal (decoded.role, config->role);
        assert_int_equal (decoded.index, config->index);
    }
    frame_destroy (frame);
}

TEST (decoding_returns_the_encoded_configuration)
{
    struct supervisor_config config = plain_config ();

    check_round_trip (&config);
    config.forward_signals = true;
    check_round_trip (&config);
    config.forward_signals = false;
    config.prints = true;
    check_round_trip (&config);
    config.prints = false;
    config.serves = true;
    check_round_trip (&config);
    config.restart = (struct restart_rule){ 3, false, 60 };
    check_round_trip (&config);
    config.restart.any = true;
    check_round_trip (&config);
    config.watch = (struct watch_rule){ 604800, 1 };
    config.lost_after = 5;
    check_round_trip (&config);
    config.spare = true;
    check_round_trip (&config);
    check_round_trip (&config);
    config.log = "/a b/worker0.log";
    check_round_trip (&config);
    config.error_file = "/a b/worker0.error.json";
    check_round_trip (&config);
    config.tee = TEE_ON;
    config.role = "ps";
    config.index = 12;
    check_round_trip (&config);
    config.tee = TEE_ON + TEE_COLOUR_STDOUT + TEE_COLOUR_STDERR;
    check_round_trip (&config);
    config.kill_wait = 0;
    config.stop_grace = 0;
    config.rank = 0;
    assert_int_equal (address_parse (&config.address, "fd00::1"), 0);
    check_round_trip (&config);
    config.kill_wait = 65535;
    check_round_trip (&config);
}

TEST (an_environment_that_lacks_a_variable_or_is_out_of_bounds_is_refused)
{
    static const struct message_string good[] = {
        { "FORK_SERVER", "4711" }, { "SLURMSTEPD", "4700" }, { "RANK", "5" },
        { "NODE", "n1" },          { "STEP", "12.0" },       { "ADDRESS", "10.0.0.1" },
        { "PORT", "60001" },       { "TOKEN", TOKEN },       { "SERVER_TOKEN", SERVER_TOKEN },
        { "STOP_GRACE", "30" },    { "KILL_WAIT", "40" },
    };
    static const struct {
        const char *key, *value;
        int rc;
    /* clang-format off */
    } row[] = {
        { "COLOUR", "red", 0 }, { "RANKS", "x", 0 },
        { "FORK_SERVER", NULL, -1 }, { "FORK_SERVER", "0", -1 }, { "FORK_SERVER", "1", 0 },
        { "FORK_SERVER", "-1", -1 }, { "FORK_SERVER", "2147483647", 0 },
        { "FORK_SERVER", "2147483648", -1 }, { "FORK_SERVER", "", -1 },
        { "SLURMSTEPD", NULL, -1 }, { "SLURMSTEPD", "0", -1 }, { "SLURMSTEPD", "1", 0 },
        { "RANK", NULL, -1 }, { "RANK", "0", 0 }, { "RANK", "1048575", 0 },
        { "RANK", "1048576", -1 }, { "RANK", "-1", -1 }, { "RANK", "5x", -1 },
        { "NODE", NULL, -1 }, { "STEP", NULL, -1 },
        { "ADDRESS", NULL, -1 }, { "ADDRESS", "", -1 }, { "ADDRESS", "n1", -1 },
        { "ADDRESS", "10.0.0.1:1", -1 }, { "ADDRESS", "fd00::1", 0 },
        { "PORT", NULL, -1 }, { "PORT", "0", -1 }, { "PORT", "1", 0 }, { "PORT", "65535", 0 },
        { "PORT", "65536", -1 }, { "PORT", " 1", -1 },
        { "TOKEN", NULL, -1 }, { "SERVER_TOKEN", NULL, -1 },
        { "STOP_GRACE", NULL, -1 }, { "STOP_GRACE", "-1", -1 }, { "STOP_GRACE", "0", 0 },
        { "STOP_GRACE", "1000000", 0 }, { "STOP_GRACE", "1000001", -1 },
        { "KILL_WAIT", NULL, 0 }, { "KILL_WAIT", "", -1 }, { "KILL_WAIT", "0", 0 },
        { "KILL_WAIT", "65535", 0 }, { "KILL_WAIT", "65536", -1 }, { "KILL_WAIT", "-1", -1 },
        { "RESTART", "0", -1 }, { "RESTART", "3", -1 },         /* without RESTART_BACKOFF */
        { "WATCHDOG", "0", -1 }, { "WATCHDOG", "300", -1 },     /* without WATCHDOG_FIRST */
        { "TASK_PORT", "0", -1 }, { "TASK_PORT", "65535", 0 }, { "TASK_PORT", "x", -1 },
        { "MASTER_PORT", "0", -1 }, { "MASTER_PORT", "65535", 0 }, { "MASTER_PORT", "x", -1 },
        { "TEE", "0", -1 }, { "TEE", "8", -1 }, { "TEE", "", -1 },
        { "TEE", "1", -1 },         /* without LOG, ROLE and INDEX */
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), row[i].key, row[i].value);
        struct errtext err = { "" };
        struct supervisor_config config;
        char *env[MAX_STRINGS + 1];

        make_environment (env, frame);
        assert_int_equal (supervisor_config_decode (&config, env, &err), row[i].rc);
        assert_string_equal (err.text, row[i].rc < 0 ? "its environment lacks a variable" : "");
        frame_destroy (frame);
    }
}

TEST (an_empty_environment_is_refused)
{
    char *const env[] = { NULL };
    struct supervisor_config config;

    assert_int_equal (supervisor_config_decode (&config, env, NULL), -1);
}
