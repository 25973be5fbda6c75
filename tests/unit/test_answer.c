/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include <sys/socket.h>
#include <unistd.h>

#include "common/tf_config.h"
#include "protocol/answer.h"
#include "protocol/fields.h"

#define CLUSTER "{\"worker\":[\"10.0.0.1:40000\"]}"
#define BESIDE "SLURM_TF_BESIDE=data\0SLURM_TF_DATA=10.0.0.1:50000"
#define NUMBERS "SLURM_NTASKS=6"
#define TAIL ",\"task\":{\"type\":\"worker\",\"index\":3}}"

/* What follows is mostly tables. */
/* clang-format off */

static const struct answer plain = {
    .role = "worker", .index = 3, .address = "10.0.0.1", .port = 40000,
    .cluster = CLUSTER " and what follows it", .cluster_length = sizeof (CLUSTER) - 1,
    .tail = TAIL,
};

static struct answer full_answer (void)
{
    static const struct goal goal = { .life = 7, .report = 6, .code = GOAL_OWN_CODE };
    struct answer answer = plain;

    answer.hide_gpus = answer.nccl = answer.gloo = answer.log_append = true;
    answer.supervised = answer.serves = true;
    answer.tee = true;
    answer.restart = (struct restart_rule){ 3, true, 60, 30 };
    answer.watch = (struct watch_rule){ .seconds = 300, .first = 1800 };
    answer.lost_after = 20;
    answer.options.batch_host = "n1";
    answer.options.if_abandoned = "requeue";
    answer.spare = true;
    answer.goal = &goal;
    answer.no_tf_config = answer.jax_devices = answer.keras = answer.jax = true;
    answer.torch = answer.keep_master_port = true;
    answer.master_address = "10.0.0.1";
    answer.master_port = 50000;
    answer.local_process = 1;
    answer.local_processes = 2;
    answer.group = 7;
    answer.coordinator = "10.0.0.1:40000";
    answer.process = 3;
    answer.processes = 4;
    answer.stop_grace = 30;
    answer.proxy_exempt = "10.0.0.1,10.0.0.2";
    answer.beside = BESIDE "\0and what follows it";
    answer.beside_length = sizeof (BESIDE);
    answer.numbered = true;
    answer.number = 5;
    answer.numbers = NUMBERS "\0and what follows it";
    answer.numbers_length = sizeof (NUMBERS);
    return answer;
}

/* Encode the answer, send its parts one by one, and read them as one frame. */
static struct frame *frame_sent (const struct answer *answer)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_ANSWER };
    struct answer_message message;
    struct frame *frame = NULL;
    int pair[2];

    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    assert_int_equal (answer_encode (&message, answer, SERVER_TOKEN), 0);
    for (int i = 0; i < ANSWER_PARTS; i++) {
        if (message.part[i].iov_len == 0)
            continue;
        assert_int_equal (frame_read (&reader, pair[1], &frame, NULL), 0);
        assert_int_equal (send (pair[0], message.part[i].iov_base, message.part[i].iov_len, 0),
                          message.part[i].iov_len);
        if (answer->refused)
            break;
    }
    answer_message_clear (&message);
    assert_int_equal (frame_read (&reader, pair[1], &frame, NULL), 1);
    /* No byte follows the length that the header announces. */
    assert_int_equal (recv (pair[1], &reader.header, 1, 0), -1);
    frame_reader_clear (&reader);
    close (pair[0]);
    close (pair[1]);
    return frame;
}

TEST (the_parts_of_an_answer_form_one_frame)
{
    struct answer answer = full_answer ();

    assert_string_equal (message_text (frame_sent (&plain)), "SERVER_TOKEN=" SERVER_TOKEN "\n"
                         "SLURM_TF_ROLE=worker\nSLURM_TF_INDEX=3\nSLURM_TF_ADDRESS=10.0.0.1\n"
                         "SLURM_TF_PORT=40000\n"
                         "TF_CONFIG={\"cluster\":" CLUSTER TAIL "\n");
    assert_string_equal (message_text (frame_sent (&answer)), "SERVER_TOKEN=" SERVER_TOKEN "\n"
                         "SLURM_TF_ROLE=worker\nSLURM_TF_INDEX=3\nSLURM_TF_ADDRESS=10.0.0.1\n"
                         "SLURM_TF_PORT=40000\nCUDA_VISIBLE_DEVICES=\nROCR_VISIBLE_DEVICES=\n"
                         "HIP_VISIBLE_DEVICES=\nZE_AFFINITY_MASK=255\n"
                         "NO_TF_CONFIG=1\nJAX_DEVICES=1\n"
                         "KERAS_DISTRIBUTION_JOB_ADDRESSES=10.0.0.1:40000\n"
                         "KERAS_DISTRIBUTION_NUM_PROCESSES=4\nKERAS_DISTRIBUTION_PROCESS_ID=3\n"
                         "JAX_COORDINATOR_ADDRESS=10.0.0.1:40000\n"
                         "KEEP_MASTER_PORT=1\nMASTER_ADDR=10.0.0.1\nMASTER_PORT=50000\nRANK=3\n"
                         "WORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nGROUP_RANK=7\n"
                         "TORCHELASTIC_RESTART_COUNT=0\n"
                         "SLURM_PROCID=5\nSLURM_LOCALID=1\nSLURM_NODEID=7\n"
                         "PROXY_EXEMPT=10.0.0.1,10.0.0.2\nNCCL=1\nGLOO=1\nLOG_APPEND=1\nSTOP_GRACE=30\n"
                         "TEE=1\nSERVES=1\nRESTART=3\nRESTART_TOTAL=30\nRESTART_ANY=1\nRESTART_BACKOFF=60\n"
                         "WATCHDOG=300\nWATCHDOG_FIRST=1800\n"
                         "LOST_AFTER=20\nBATCH_HOST=n1\nIF_ABANDONED=requeue\nSPARE=1\n"
                         "LIFE=7\nSTOP=no\nREPORT=6\n"
                         "TF_CONFIG={\"cluster\":" CLUSTER TAIL "\n"
                         "SLURM_TF_BESIDE=data\nSLURM_TF_DATA=10.0.0.1:50000\n" NUMBERS "\n");
}

/* What a task can read of an answer; the rest are variables of its program. */
static const char *text_of (struct answer answer)
{
    struct frame *frame = frame_create ();

    answer.hide_gpus = answer.keras = answer.jax = answer.torch = answer.numbered = false;
    fields_encode (&answer_fields, frame, &answer);
    return message_text (frame);
}

static void check_decoded (const struct answer *answer, const char *key)
{
    struct frame *frame = frame_sent (answer);
    struct answer decoded;
    char text[1024];

    memset (&decoded, 0xff, sizeof (decoded));
    assert_int_equal (answer_decode (&decoded, frame, SERVER_TOKEN, NULL), 0);
    assert_int_equal (decoded.supervised, answer->supervised);
    snprintf (text, sizeof (text), "%s", text_of (decoded));
    assert_string_equal (text, text_of (*answer));
    assert_true (!key || frame_has (frame, key));
    assert_string_equal (frame_get (frame, "TF_CONFIG"), TF_CONFIG_HEAD CLUSTER TAIL);
    assert_null (decoded.cluster);
    frame_destroy (frame);
}

#define FLAG(member, key) { offsetof (struct answer, member), key }

TEST (decoding_returns_the_encoded_answer)
{
    static const struct {
        size_t offset;
        const char *key;
    } flag[] = {
        FLAG (nccl, "NCCL"), FLAG (gloo, "GLOO"), FLAG (log_append, "LOG_APPEND"), FLAG (serves, "SERVES"),
        FLAG (no_tf_config, "NO_TF_CONFIG"), FLAG (jax_devices, "JAX_DEVICES"), FLAG (spare, "SPARE"),
        FLAG (keep_master_port, "KEEP_MASTER_PORT"), FLAG (supervised, "STOP_GRACE"),
        FLAG (hide_gpus, "CUDA_VISIBLE_DEVICES"),
    };
    struct answer full = full_answer ();

    check_decoded (&plain, NULL);
    check_decoded (&full, NULL);
    for (size_t i = 0; i < COUNT (flag); i++) {
        struct answer answer = plain;

        *(bool *)((char *)&answer + flag[i].offset) = true;
        check_decoded (&answer, flag[i].key);
    }
}

TEST (a_refusal_contains_nothing_but_the_refusal)
{
    const struct answer refusal = { .refused = true };
    struct frame *frame = frame_sent (&refusal);
    struct answer decoded;

    assert_int_equal (answer_decode (&decoded, frame, SERVER_TOKEN, NULL), 0);
    assert_true (decoded.refused);
    assert_null (answer_next_variable (frame, NULL));
    assert_string_equal (message_text (frame), "SERVER_TOKEN=" SERVER_TOKEN "\nREFUSED=1\n");
}

/* A role has at most 63 characters (tasklist.h). */
TEST (the_longest_tail_fits_and_a_longer_one_is_an_error)
{
    struct answer answer = plain;
    struct answer_message message;
    struct frame *frame;
    char tail[200];

    memset (tail, 'x', sizeof (tail));
    tail[127] = '\0';
    answer.tail = tail;
    frame = frame_sent (&answer);
    assert_int_equal (strlen (frame_get (frame, "TF_CONFIG")),
                      strlen (TF_CONFIG_HEAD CLUSTER) + 127);
    frame_destroy (frame);
    tail[127] = 'x';
    tail[128] = '\0';
    assert_int_equal (answer_encode (&message, &answer, SERVER_TOKEN), -1);
    assert_null (message.head);
}

/* Another program that listens on srun's port cannot refuse a task on the rendezvous' behalf. */
TEST (a_refusal_with_a_wrong_server_token_is_not_accepted)
{
    struct frame *frame = message_with ("SERVER_TOKEN=" TOKEN "\nREFUSED=1\n", NULL, NULL);
    struct errtext err = { "" };
    struct answer answer;

    assert_int_equal (answer_decode (&answer, frame, SERVER_TOKEN, &err), -1);
    assert_string_equal (err.text, "the program that answers there is not this step's rendezvous");
    assert_false (answer.refused);
    frame_destroy (frame);
}

TEST (tf_config_is_not_set_in_a_step_without_tensorflow)
{
    struct frame *frame = message_with ("TF_CONFIG={}\nNO_TF_CONFIG=1\nRANK=0\n", NULL, NULL);

    assert_string_equal (answer_next_variable (frame, NULL), "RANK=0");
    frame_destroy (frame);
}

TEST (an_acknowledgement_has_this_string_and_no_other_message_is_one)
{
    struct frame *frame = acknowledgement_encode ();

    assert_string_equal (message_text (frame), "ACKNOWLEDGED=1\n");
    frame = frame_sent (&plain);
    assert_false (frame_has (frame, ACKNOWLEDGEMENT_KEY));
    frame_destroy (frame);
}
