/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rendezvous_config.h"

#include <string.h>

#include "common/frameworks.h"
#include "common/option_table.h"
#include "contact.h"
#include "fields.h"

#define LIST "LIST"
#define LIST_PER_NODE "LIST_PER_NODE"
#define QUOTED(number) #number
#define TEXT_OF(number) QUOTED (number)

/* The lists of both kinds, in the order of their components. */
static void _encode_lists (struct frame *frame, const char *key, const void *message)
{
    const struct rendezvous_config *c = message;

    (void)key;
    for (size_t i = 0; i < c->lists; i++)
        frame_add (frame, c->list[i].per_node ? LIST_PER_NODE : LIST, "%s", c->list[i].text);
}

static int _take_lists (void *message, const struct frame *frame, const char *key)
{
    struct rendezvous_config *c = message;

    (void)key;
    c->lists = 0;
    for (const char *s = frame_next (frame, NULL); s; s = frame_next (frame, s)) {
        const char *whole = frame_value (s, LIST), *per_node = frame_value (s, LIST_PER_NODE);

        if (!whole && !per_node)
            continue;
        if (c->lists == RENDEZVOUS_CONFIG_MAX_LISTS)
            return -1;
        c->list[c->lists].text = whole ? whole : per_node;
        c->list[c->lists].per_node = per_node != NULL;
        c->lists++;
    }
    return c->lists > 0 ? 0 : -1;
}

static const struct field_other lists = {
    _encode_lists, _take_lists,
    "1 to " TEXT_OF (RENDEZVOUS_CONFIG_MAX_LISTS) " of " LIST " and " LIST_PER_NODE
};

#define MESSAGE struct rendezvous_config
#define WORD(field, type, name) \
    FIELD (#name, field, WORD, FIELD_OPTIONAL, .words = &option_table[OPTION_##name].words),

/* clang-format off */
static const struct field row[] = {
    FIELD ("TOKEN", token, TEXT, FIELD_NEEDED, CONTACT_TOKEN - 1, CONTACT_TOKEN - 1),
    FIELD ("SERVER_TOKEN", server_token, TEXT, FIELD_NEEDED, CONTACT_TOKEN - 1, CONTACT_TOKEN - 1),
    FIELD ("STEP", step, TEXT, FIELD_OPTIONAL),
    FIELD ("ARRAY", array, TEXT, FIELD_OPTIONAL, 0, RENDEZVOUS_CONFIG_MAX_ARRAY),
    FIELD ("USER", user, TEXT, FIELD_OPTIONAL),
    FIELD ("JOB_NAME", job_name, TEXT, FIELD_OPTIONAL),
    FIELD ("PARTITION", partition, TEXT, FIELD_OPTIONAL),
    FIELD ("CLUSTER", cluster, TEXT, FIELD_OPTIONAL),
    FIELD ("SRUN_HOST", srun_host, TEXT, FIELD_OPTIONAL),
    FIELD ("HET_GROUP", het_group, TEXT, FIELD_OPTIONAL),
    FIELD_BY (LIST, lists, FIELD_NEEDED),
    FIELD ("INHERITED", inherited, FLAG, FIELD_OPTIONAL),
    FIELD ("TIMEOUT", timeout, NUMBER, FIELD_NEEDED, 1, FRAME_MAX_SECONDS),
    FIELD ("NETWORKS", networks, TEXT, FIELD_OPTIONAL),
    FIELD ("NETWORKS_REQUIRED", networks_required, FLAG, FIELD_OPTIONAL),
    FIELD ("SHOW", show, FLAG, FIELD_OPTIONAL),
    FIELD ("ASK_ALONE", ask_alone, FLAG, FIELD_OPTIONAL),
    FIELD ("JSON", json, FLAG, FIELD_OPTIONAL),
    FIELD ("NOTIFY", notify, TEXT, FIELD_OPTIONAL),
    FIELD ("USER_NOTIFY", user_notify, TEXT, FIELD_OPTIONAL),
    FIELD ("LOG_APPEND", log_append, FLAG, FIELD_OPTIONAL),
    FIELD ("LOG_APPEND_LATER", log_append_later, FLAG, FIELD_OPTIONAL),
    FIELD ("JOB_RESTARTS", job_restarts, NUMBER, FIELD_OPTIONAL, 0, FRAME_MAX_SECONDS),
    FIELD ("TEE", tee, FLAG, FIELD_OPTIONAL),
    FIELD ("STOP_GRACE", stop_grace, NUMBER, FIELD_NEEDED, 0, FRAME_MAX_SECONDS),
    FIELD ("EVAL_GRACE", eval_grace, NUMBER, FIELD_NEEDED, 0, FRAME_MAX_SECONDS),
    FIELD ("FAIL_GRACE", fail_grace, NUMBER, FIELD_NEEDED, 0, FRAME_MAX_SECONDS),
    FIELD_PART_AT (restart, restart_rule_fields),
    FIELD_PART_AT (watch, watch_rule_fields),
    FIELD_PART_AT (lost_after, lost_after_fields),
    FIELD ("REQUEUE", requeue, NUMBER, FIELD_OPTIONAL, 1, FRAME_MAX_SECONDS),
    FIELD ("REQUEUE_WISHED", requeue_wished, FLAG, FIELD_OPTIONAL),
    FIELD ("SLURM_PATH", slurm_path, TEXT, FIELD_OPTIONAL),
    FIELD ("SLURM_CONF", slurm_conf, TEXT, FIELD_OPTIONAL),
    FIELD_ROWS_AT (task, task_options_fields),
    FIELD ("WAIT", wait, NUMBER, FIELD_OPTIONAL, 1, FRAME_MAX_SECONDS),
    FIELD ("HIDE_GPUS", hide_gpus, FLAG, FIELD_OPTIONAL),
    FIELD ("TF", frameworks, BIT, FIELD_OPTIONAL, FRAMEWORK_TF),
    FIELD ("KERAS", frameworks, BIT, FIELD_OPTIONAL, FRAMEWORK_KERAS),
    FIELD ("JAX", frameworks, BIT, FIELD_OPTIONAL, FRAMEWORK_JAX),
    FIELD ("TORCH", frameworks, BIT, FIELD_OPTIONAL, FRAMEWORK_TORCH),
    FIELD ("TORCH_AUTO", frameworks, BIT, FIELD_OPTIONAL, FRAMEWORK_TORCH_AUTO),
    FIELD ("NCCL", nccl, FLAG, FIELD_OPTIONAL),
    FIELD ("DEBUGGED", debugged, FLAG, FIELD_OPTIONAL),
    RENDEZVOUS_CONFIG_WORDS (WORD)
};
/* clang-format on */

const struct fields rendezvous_config_fields = FIELDS ("srun's configuration", row);
