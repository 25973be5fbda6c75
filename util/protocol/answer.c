/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "answer.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "common/beside.h"
#include "common/tf_config.h"
#include "common/variables.h"
#include "fields.h"
#include "hello.h"

/*
 * TensorFlow maps nearly all memory of every GPU that it sees, also in a ps that computes
 * nothing on it. For Level Zero an empty mask means all devices; a number that no device has
 * hides them.
 */
static void _hide_gpus (struct frame *frame, const char *key, const void *message)
{
    const struct answer *answer = message;

    if (!answer->hide_gpus)
        return;
    frame_add (frame, key, "%s", "");
    frame_add (frame, "ROCR_VISIBLE_DEVICES", "%s", "");
    frame_add (frame, "HIP_VISIBLE_DEVICES", "%s", "");
    frame_add (frame, "ZE_AFFINITY_MASK", "255");
}

/* One address is enough for Keras, and does not grow with the step. */
static void _add_keras (struct frame *frame, const char *key, const void *message)
{
    const struct answer *answer = message;

    if (!answer->keras)
        return;
    frame_add (frame, key, "%s", answer->coordinator);
    frame_add (frame, "KERAS_DISTRIBUTION_NUM_PROCESSES", "%d", answer->processes);
    frame_add (frame, "KERAS_DISTRIBUTION_PROCESS_ID", "%d", answer->process);
}

static void _add_jax (struct frame *frame, const char *key, const void *message)
{
    const struct answer *answer = message;

    if (answer->jax)
        frame_add (frame, key, "%s", answer->coordinator);
}

static void _add_torch (struct frame *frame, const char *key, const void *message)
{
    const struct answer *answer = message;

    if (!answer->torch)
        return;
    frame_add (frame, key, "%s", answer->master_address);
    frame_add (frame, "MASTER_PORT", "%d", answer->master_port);
    frame_add (frame, "RANK", "%d", answer->process);
    frame_add (frame, "WORLD_SIZE", "%d", answer->processes);
    frame_add (frame, "LOCAL_RANK", "%d", answer->local_process);
    frame_add (frame, "LOCAL_WORLD_SIZE", "%d", answer->local_processes);
    frame_add (frame, "GROUP_RANK", "%d", answer->group);
    /* The plugin counts further lives. */
    frame_add (frame, "TORCHELASTIC_RESTART_COUNT", "0");
}

static void _add_numbers (struct frame *frame, const char *key, const void *message)
{
    const struct answer *answer = message;

    if (!answer->numbered)
        return;
    frame_add (frame, key, "%d", answer->number);
    frame_add (frame, "SLURM_LOCALID", "%d", answer->local_process);
    frame_add (frame, "SLURM_NODEID", "%d", answer->group);
}

/* Variables of the program: the task sets them as they are (answer_next_variable ()). */
static const struct field_other no_gpus = { .add = _hide_gpus }, keras = { .add = _add_keras },
                                jax = { .add = _add_jax }, torch = { .add = _add_torch },
                                numbers = { .add = _add_numbers };

#define MESSAGE struct answer
#define GIVEN(member) .given = FIELD_AT (member, bool)

/* clang-format off */
static const struct field row[] = {
    FIELD (ANSWER_KEY, role, TEXT, FIELD_NEEDED),
    FIELD ("SLURM_TF_INDEX", index, NUMBER, FIELD_NEEDED, 0, INT_MAX),
    FIELD ("SLURM_TF_ADDRESS", address, TEXT, FIELD_NEEDED),
    FIELD ("SLURM_TF_PORT", port, NUMBER, FIELD_NEEDED, 1, 65535),
    FIELD_BY ("CUDA_VISIBLE_DEVICES", no_gpus, FIELD_OPTIONAL),
    FIELD ("NO_TF_CONFIG", no_tf_config, FLAG, FIELD_OPTIONAL),
    FIELD ("JAX_DEVICES", local_process, NUMBER, FIELD_GIVEN, 0, INT_MAX, GIVEN (jax_devices)),
    FIELD_BY ("KERAS_DISTRIBUTION_JOB_ADDRESSES", keras, FIELD_OPTIONAL),
    FIELD_BY ("JAX_COORDINATOR_ADDRESS", jax, FIELD_OPTIONAL),
    FIELD ("KEEP_MASTER_PORT", keep_master_port, FLAG, FIELD_OPTIONAL),
    FIELD_BY ("MASTER_ADDR", torch, FIELD_OPTIONAL),
    FIELD_BY ("SLURM_PROCID", numbers, FIELD_OPTIONAL),
    FIELD ("PROXY_EXEMPT", proxy_exempt, TEXT, FIELD_OPTIONAL),
    FIELD ("NCCL", nccl, FLAG, FIELD_OPTIONAL),
    FIELD ("GLOO", gloo, FLAG, FIELD_OPTIONAL),
    FIELD ("LOG_APPEND", log_append, FLAG, FIELD_OPTIONAL),
    FIELD ("STOP_GRACE", stop_grace, NUMBER, FIELD_GIVEN, 0, FRAME_MAX_SECONDS, GIVEN (supervised)),
    FIELD ("TEE", tee, FLAG, FIELD_OPTIONAL),
    FIELD ("SERVES", serves, FLAG, FIELD_OPTIONAL),
    FIELD_PART_AT (restart, restart_rule_fields),
    FIELD_PART_AT (watch, watch_rule_fields),
    FIELD_PART_AT (lost_after, lost_after_fields),
    FIELD_ROWS_AT (options, task_options_fields),
    FIELD ("SPARE", spare, FLAG, FIELD_OPTIONAL),
};
/* clang-format on */

const struct fields answer_fields = FIELDS ("the rendezvous' answer", row);

static void _set_part (struct iovec *part, const void *bytes, size_t length)
{
    part->iov_base = (void *)(uintptr_t)bytes;
    part->iov_len = length;
}

/* Returns how many bytes of strings follow the head; 0 if the tail is too long. */
static size_t _set_dictionary (struct answer_message *message, const struct answer *answer)
{
    static const char head[] = "TF_CONFIG=" TF_CONFIG_HEAD;
    size_t tail = strlen (answer->tail) + 1;

    if (tail > sizeof (message->tail))
        return 0;
    memcpy (message->tail, answer->tail, tail);
    _set_part (&message->part[1], head, sizeof (head) - 1);
    _set_part (&message->part[2], answer->cluster, answer->cluster_length);
    _set_part (&message->part[3], message->tail, tail);
    _set_part (&message->part[4], answer->beside, answer->beside_length);
    _set_part (&message->part[5], answer->numbers, answer->numbers_length);
    return sizeof (head) - 1 + answer->cluster_length + tail + answer->beside_length + answer->numbers_length;
}

int answer_encode (struct answer_message *message, const struct answer *answer, const char *server_token)
{
    size_t length = 0, more = 0;
    const void *bytes = NULL;

    memset (message, 0, sizeof (*message));
    if (!(message->head = frame_create ()))
        return -1;
    server_token_add (message->head, server_token);
    if (answer->refused)
        frame_add (message->head, "REFUSED", "1");
    else {
        fields_encode (&answer_fields, message->head, answer);
        if (answer->goal)
            fields_encode (&goal_fields, message->head, answer->goal);
        more = _set_dictionary (message, answer);
    }
    if (answer->refused || more > 0)
        bytes = frame_bytes (message->head, more, &length);
    if (!bytes) {
        answer_message_clear (message);
        return -1;
    }
    _set_part (&message->part[0], bytes, length);
    return 0;
}

void answer_message_clear (struct answer_message *message)
{
    frame_destroy (message->head);
    memset (message, 0, sizeof (*message));
}

int answer_decode (struct answer *answer, const struct frame *frame, const char *server_token,
                   struct errtext *err)
{
    memset (answer, 0, sizeof (*answer));
    if (server_token_check (frame, server_token, err) < 0)
        return -1;
    answer->refused = frame_has (frame, "REFUSED");
    if (answer->refused)
        return 0;
    if (fields_decode (&answer_fields, answer, frame, err) < 0)
        return -1;
    return frame_has (frame, "TF_CONFIG") ? 0 : errtext_set (err, "%s lacks TF_CONFIG", answer_fields.name);
}

/* A compromised or mistaken rendezvous must not be able to set LD_PRELOAD. */
static bool _may_be_set (const char *string)
{
    const struct variable *variable = variable_find (string);
    size_t prefix = strlen (BESIDE_PREFIX), length = strcspn (string, "=");

    if (!string[length])
        return false;
    if (variable)
        return variable->set == VARIABLE_BY_RENDEZVOUS;
    return strncmp (string, BESIDE_PREFIX, prefix) == 0 && beside_is_name (string + prefix, length - prefix);
}

const char *answer_next_variable (const struct frame *frame, const char *variable)
{
    bool no_tf_config = frame_has (frame, "NO_TF_CONFIG");

    do
        variable = frame_next (frame, variable);
    while (variable
           && (!_may_be_set (variable) || (no_tf_config && frame_value (variable, "TF_CONFIG") != NULL)));
    return variable;
}

struct frame *acknowledgement_encode (void)
{
    struct frame *frame = frame_create ();

    if (frame)
        frame_add (frame, ACKNOWLEDGEMENT_KEY, "1");
    return frame;
}
