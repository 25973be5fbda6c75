/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of an answer, one a line.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "common/tf_config.h"
#include "protocol/answer.h"

#define SERVER_TOKEN "fedcba9876543210fedcba9876543210"

/* A task must not get LD_PRELOAD from its rendezvous. */
static void _check_variables (const struct frame *frame)
{
    /* clang-format off */
    static const char *const allowed[] = {
        "SLURM_TF_", "TF_", "CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=",
        "HIP_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK=", "KERAS_DISTRIBUTION_JOB_ADDRESSES=",
        "KERAS_DISTRIBUTION_NUM_PROCESSES=", "KERAS_DISTRIBUTION_PROCESS_ID=",
        "JAX_COORDINATOR_ADDRESS=", "DTENSOR_JOBS=", "DTENSOR_CLIENT_ID=", "MASTER_ADDR=", "MASTER_PORT=",
        "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "LOCAL_WORLD_SIZE=", "GROUP_RANK=",
        "TORCHELASTIC_RESTART_COUNT=",
    };
    /* clang-format on */

    for (const char *v = NULL; (v = answer_next_variable (frame, v));) {
        bool found = false;

        for (size_t i = 0; i < COUNT (allowed); i++)
            found = found || strncmp (v, allowed[i], strlen (allowed[i])) == 0;
        CHECK (found && strchr (v, '='));
    }
}

/* What the rendezvous sends for this answer, as a task receives it. */
static struct frame *_send (const struct answer *answer)
{
    struct answer_message message;
    struct frame *frame;
    size_t length = 0;
    uint8_t *bytes;

    CHECK (answer_encode (&message, answer, SERVER_TOKEN) == 0);
    for (int i = 0; i < ANSWER_PARTS; i++)
        length += message.part[i].iov_len;
    CHECK (bytes = malloc (length));
    length = 0;
    for (int i = 0; i < ANSWER_PARTS; i++) {
        if (message.part[i].iov_len)
            memcpy (bytes + length, message.part[i].iov_base, message.part[i].iov_len);
        length += message.part[i].iov_len;
    }
    frame = fuzz_receive (bytes, length, FRAME_MAX_ANSWER);
    answer_message_clear (&message);
    free (bytes);
    return frame;
}

static bool _same_text (const char *a, const char *b)
{
    return a == b || (a && b && strcmp (a, b) == 0);
}

static bool _same (const struct answer *a, const struct answer *b)
{
    if (a->refused || b->refused)
        return a->refused == b->refused;
    return _same_text (a->role, b->role) && a->index == b->index && _same_text (a->address, b->address)
           && a->port == b->port && a->jax_devices == b->jax_devices
           && (!a->jax_devices || a->local_process == b->local_process)
           && a->keep_master_port == b->keep_master_port && a->nccl == b->nccl && a->gloo == b->gloo
           && a->log_append == b->log_append && a->supervised == b->supervised
           && (!a->supervised || a->stop_grace == b->stop_grace) && a->tee == b->tee && a->serves == b->serves
           && a->restart.times == b->restart.times && a->restart.any == b->restart.any
           && a->restart.longest_pause == b->restart.longest_pause
           && _same_text (a->proxy_exempt, b->proxy_exempt);
}

static void _check_round_trip (struct answer answer, const char *tf_config)
{
    const size_t head = sizeof (TF_CONFIG_HEAD) - 1;
    struct answer received;
    struct errtext err;
    struct frame *frame;

    if (!answer.refused) {
        if (strncmp (tf_config, TF_CONFIG_HEAD, head) != 0)
            return;
        answer.cluster = tf_config + head;
        answer.cluster_length = strlen (answer.cluster);
        answer.tail = "";
    }
    CHECK (frame = _send (&answer));
    CHECK (fuzz_succeeded (answer_decode (&received, frame, SERVER_TOKEN, &err), &err));
    CHECK (_same (&answer, &received));
    CHECK (answer.refused || strcmp (frame_get (frame, "TF_CONFIG"), tf_config) == 0);
    frame_destroy (frame);
}

FUZZ_TARGET (answer)
{
    struct frame *frame = fuzz_frame (data, size);
    struct answer answer;
    struct errtext err;

    _check_variables (frame);
    if (fuzz_succeeded (answer_decode (&answer, frame, SERVER_TOKEN, &err), &err)) {
        CHECK (answer.refused || (answer.port >= 1 && answer.port <= 65535 && answer.index >= 0));
        _check_round_trip (answer, frame_get (frame, "TF_CONFIG"));
    }
    frame_destroy (frame);
}
