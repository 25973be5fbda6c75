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
#include "hello.h"
#include "order.h"
#include "restart_fields.h"

/*
 * TensorFlow maps nearly all memory of every GPU that it sees, also in a ps that computes
 * nothing on it. For Level Zero an empty mask means all devices; a number that no device has
 * hides them.
 */
static void _hide_gpus (struct frame *frame)
{
    frame_add (frame, "CUDA_VISIBLE_DEVICES", "%s", "");
    frame_add (frame, "ROCR_VISIBLE_DEVICES", "%s", "");
    frame_add (frame, "HIP_VISIBLE_DEVICES", "%s", "");
    frame_add (frame, "ZE_AFFINITY_MASK", "255");
}

/* One address is enough for Keras, and does not grow with the step. */
static void _add_processes (struct frame *frame, const struct answer *answer)
{
    if (answer->keras) {
        frame_add (frame, "KERAS_DISTRIBUTION_JOB_ADDRESSES", "%s", answer->coordinator);
        frame_add (frame, "KERAS_DISTRIBUTION_NUM_PROCESSES", "%d", answer->processes);
        frame_add (frame, "KERAS_DISTRIBUTION_PROCESS_ID", "%d", answer->process);
    }
    if (answer->jax)
        frame_add (frame, "JAX_COORDINATOR_ADDRESS", "%s", answer->coordinator);
    if (answer->dtensor)
        frame_add (frame, "DTENSOR_CLIENT_ID", "%d", answer->process);
}

static void _add_torch (struct frame *frame, const struct answer *answer)
{
    frame_add_flag (frame, "KEEP_MASTER_PORT", answer->keep_master_port);
    if (!answer->torch)
        return;
    frame_add (frame, "MASTER_ADDR", "%s", answer->master_address);
    frame_add (frame, "MASTER_PORT", "%d", answer->master_port);
    frame_add (frame, "RANK", "%d", answer->process);
    frame_add (frame, "WORLD_SIZE", "%d", answer->processes);
    frame_add (frame, "LOCAL_RANK", "%d", answer->local_process);
    frame_add (frame, "LOCAL_WORLD_SIZE", "%d", answer->local_processes);
    frame_add (frame, "GROUP_RANK", "%d", answer->group);
    /* The plugin counts further lives. */
    frame_add (frame, "TORCHELASTIC_RESTART_COUNT", "0");
}

static void _add_keys (struct frame *frame, const struct answer *answer)
{
    frame_add (frame, "SLURM_TF_ROLE", "%s", answer->role);
    frame_add (frame, "SLURM_TF_INDEX", "%d", answer->index);
    frame_add (frame, "SLURM_TF_ADDRESS", "%s", answer->address);
    frame_add (frame, "SLURM_TF_PORT", "%d", answer->port);
    if (answer->hide_gpus)
        _hide_gpus (frame);
    frame_add_flag (frame, "NO_TF_CONFIG", answer->no_tf_config);
    if (answer->jax_devices)
        frame_add (frame, "JAX_DEVICES", "%d", answer->local_process);
    _add_processes (frame, answer);
    _add_torch (frame, answer);
    frame_add_text (frame, "PROXY_EXEMPT", answer->proxy_exempt);
    frame_add_flag (frame, "NCCL", answer->nccl);
    frame_add_flag (frame, "GLOO", answer->gloo);
    frame_add_flag (frame, "LOG_APPEND", answer->log_append);
    if (answer->supervised)
        frame_add (frame, "STOP_GRACE", "%d", answer->stop_grace);
    tee_mode_add (frame, answer->tee);
    frame_add_flag (frame, "SERVES", answer->serves);
    restart_rule_add (frame, &answer->restart);
    watch_rule_add (frame, &answer->watch);
    lost_after_add (frame, answer->lost_after);
    frame_add_flag (frame, "SPARE", answer->spare);
    if (answer->life > 0)
        order_add_restart (frame, answer->life);
}

static void _set_part (struct iovec *part, const void *bytes, size_t length)
{
    part->iov_base = (void *)(uintptr_t)bytes;
    part->iov_len = length;
}

/* Returns how many bytes of strings follow the head; 0 if the tail is too long. */
static size_t _set_dictionary (struct answer_message *message, const struct answer *answer)
{
    static const char head[] = "TF_CONFIG=" TF_CONFIG_HEAD;
    size_t tail = strlen (answer->tail) + 1, jobs = answer->dtensor ? answer->jobs_length : 0;

    if (tail > sizeof (message->tail))
        return 0;
    memcpy (message->tail, answer->tail, tail);
    _set_part (&message->part[1], head, sizeof (head) - 1);
    _set_part (&message->part[2], answer->cluster, answer->cluster_length);
    _set_part (&message->part[3], message->tail, tail);
    _set_part (&message->part[4], answer->beside, answer->beside_length);
    _set_part (&message->part[5], answer->jobs, jobs);
    return sizeof (head) - 1 + answer->cluster_length + tail + answer->beside_length + jobs;
}

int answer_encode (struct answer_message *message, const struct answer *answer, const char *server_token)
{
    size_t length = 0, more = 0;
    const void *bytes = NULL;

    memset (message, 0, sizeof (*message));
    if (!(message->head = frame_create ()))
        return -1;
    server_token_add (message->head, server_token);
    frame_add_flag (message->head, "REFUSED", answer->refused);
    if (!answer->refused) {
        _add_keys (message->head, answer);
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

bool answer_is_in (const struct frame *frame)
{
    return frame_has (frame, "SLURM_TF_ROLE");
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
    answer->role = frame_get (frame, "SLURM_TF_ROLE");
    answer->index = frame_get_number (frame, "SLURM_TF_INDEX", 0, INT_MAX);
    answer->address = frame_get (frame, "SLURM_TF_ADDRESS");
    answer->port = frame_get_number (frame, "SLURM_TF_PORT", 1, 65535);
    answer->jax_devices = frame_has (frame, "JAX_DEVICES");
    answer->local_process = frame_get_number (frame, "JAX_DEVICES", 0, INT_MAX);
    answer->keep_master_port = frame_has (frame, "KEEP_MASTER_PORT");
    answer->nccl = frame_has (frame, "NCCL");
    answer->gloo = frame_has (frame, "GLOO");
    answer->log_append = frame_has (frame, "LOG_APPEND");
    answer->supervised = frame_has (frame, "STOP_GRACE");
    answer->stop_grace = frame_get_number (frame, "STOP_GRACE", 0, FRAME_MAX_SECONDS);
    answer->serves = frame_has (frame, "SERVES");
    answer->spare = frame_has (frame, "SPARE");
    answer->proxy_exempt = frame_get (frame, "PROXY_EXEMPT");
    if (!answer->role || answer->index < 0 || !answer->address || answer->port < 0
        || !frame_get (frame, "TF_CONFIG") || (answer->jax_devices && answer->local_process < 0)
        || (answer->supervised && answer->stop_grace < 0) || tee_mode_decode (&answer->tee, frame) < 0
        || restart_rule_decode (&answer->restart, frame) < 0 || watch_rule_decode (&answer->watch, frame) < 0
        || lost_after_decode (&answer->lost_after, frame) < 0)
        return errtext_set (err, "the rendezvous' answer is incomplete");
    return 0;
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

struct frame *answer_received (const struct answer_message *message)
{
    return frame_join (message->part, ANSWER_PARTS);
}

struct frame *acknowledgement_encode (void)
{
    struct frame *frame = frame_create ();

    if (frame)
        frame_add_flag (frame, "ACKNOWLEDGED", true);
    return frame;
}

bool acknowledgement_is_in (const struct frame *frame)
{
    return frame_has (frame, "ACKNOWLEDGED");
}
