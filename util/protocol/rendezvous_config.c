/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rendezvous_config.h"

#include <string.h>

#include "common/frameworks.h"
#include "contact.h"
#include "restart_fields.h"

#define LIST "LIST"
#define LIST_PER_NODE "LIST_PER_NODE"

#define ADD_WORD(field, type, name) \
    frame_add (frame, #name, "%s", choice_word (option_table[OPTION_##name].words, (int)c->field));

struct frame *rendezvous_config_encode (const struct rendezvous_config *c)
{
    struct frame *frame = frame_create ();

    if (!frame)
        return NULL;
    frame_add (frame, "TOKEN", "%s", c->token);
    frame_add (frame, "SERVER_TOKEN", "%s", c->server_token);
    frame_add (frame, "STEP", "%s", c->step);
    frame_add_text (frame, "HET_GROUP", c->het_group);
    for (size_t i = 0; i < c->lists; i++)
        frame_add (frame, c->list[i].per_node ? LIST_PER_NODE : LIST, "%s", c->list[i].text);
    frame_add_flag (frame, "INHERITED", c->inherited);
    frame_add (frame, "TIMEOUT", "%d", c->timeout);
    frame_add_text (frame, "NETWORKS", c->networks);
    frame_add_flag (frame, "NETWORKS_REQUIRED", c->networks_required);
    frame_add_flag (frame, "SHOW", c->show);
    frame_add_flag (frame, "ASK_ALONE", c->ask_alone);
    frame_add_flag (frame, "JSON", c->json);
    frame_add_text (frame, "NOTIFY", c->notify);
    frame_add_flag (frame, "LOG_APPEND", c->log_append);
    tee_mode_add (frame, c->tee);
    frame_add (frame, "STOP_GRACE", "%d", c->stop_grace);
    frame_add (frame, "EVAL_GRACE", "%d", c->eval_grace);
    frame_add (frame, "FAIL_GRACE", "%d", c->fail_grace);
    restart_rule_add (frame, &c->restart);
    watch_rule_add (frame, &c->watch);
    lost_after_add (frame, c->lost_after);
    frame_add_flag (frame, "WAIT_LIMITED", c->wait_limited);
    frame_add_flag (frame, "HIDE_GPUS", c->hide_gpus);
    frame_add_flag (frame, "TF", c->frameworks & FRAMEWORK_TF);
    frame_add_flag (frame, "KERAS", c->frameworks & FRAMEWORK_KERAS);
    frame_add_flag (frame, "JAX", c->frameworks & FRAMEWORK_JAX);
    frame_add_flag (frame, "DTENSOR", c->frameworks & FRAMEWORK_DTENSOR);
    frame_add_flag (frame, "TORCH", c->frameworks & FRAMEWORK_TORCH);
    frame_add_flag (frame, "NCCL", c->nccl);
    frame_add_flag (frame, "OWN_NAMES", c->own_names);
    frame_add_flag (frame, "DEBUGGED", c->debugged);
    RENDEZVOUS_CONFIG_WORDS (ADD_WORD)
    return frame;
}

/* What the word means, 0 if the key is missing; -1 if it is none of the option. */
static int _get_word (const struct frame *frame, const char *key, enum option_id option)
{
    const char *text = frame_get (frame, key);

    return text ? choice_parse (option_table[option].words, text, NULL) : 0;
}

#define GET_WORD(field, type, name) \
    if ((meaning = _get_word (frame, #name, OPTION_##name)) < 0) \
        return -1; \
    c->field = (type)meaning;

static int _decode_words (struct rendezvous_config *c, const struct frame *frame)
{
    int meaning;

    RENDEZVOUS_CONFIG_WORDS (GET_WORD)
    return 0;
}

static bool _is_token (const char *text)
{
    return text && strlen (text) == CONTACT_TOKEN - 1;
}

/* The lists of both kinds, in the order of their components. */
static int _decode_lists (struct rendezvous_config *c, const struct frame *frame)
{
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

int rendezvous_config_decode (struct rendezvous_config *c, const struct frame *frame, struct errtext *err)
{
    memset (c, 0, sizeof (*c));
    c->token = frame_get (frame, "TOKEN");
    c->server_token = frame_get (frame, "SERVER_TOKEN");
    c->step = frame_get (frame, "STEP");
    c->het_group = frame_get (frame, "HET_GROUP");
    c->inherited = frame_has (frame, "INHERITED");
    c->timeout = frame_get_number (frame, "TIMEOUT", 1, FRAME_MAX_SECONDS);
    c->networks = frame_get (frame, "NETWORKS");
    c->networks_required = frame_has (frame, "NETWORKS_REQUIRED");
    c->show = frame_has (frame, "SHOW");
    c->ask_alone = frame_has (frame, "ASK_ALONE");
    c->json = frame_has (frame, "JSON");
    c->notify = frame_get (frame, "NOTIFY");
    c->log_append = frame_has (frame, "LOG_APPEND");
    c->stop_grace = frame_get_number (frame, "STOP_GRACE", 0, FRAME_MAX_SECONDS);
    c->eval_grace = frame_get_number (frame, "EVAL_GRACE", 0, FRAME_MAX_SECONDS);
    c->fail_grace = frame_get_number (frame, "FAIL_GRACE", 0, FRAME_MAX_SECONDS);
    c->wait_limited = frame_has (frame, "WAIT_LIMITED");
    c->hide_gpus = frame_has (frame, "HIDE_GPUS");
    c->frameworks = (frame_has (frame, "TF") ? FRAMEWORK_TF : 0u)
                    | (frame_has (frame, "KERAS") ? FRAMEWORK_KERAS : 0u)
                    | (frame_has (frame, "JAX") ? FRAMEWORK_JAX : 0u)
                    | (frame_has (frame, "DTENSOR") ? FRAMEWORK_DTENSOR : 0u)
                    | (frame_has (frame, "TORCH") ? FRAMEWORK_TORCH : 0u);
    c->nccl = frame_has (frame, "NCCL");
    c->own_names = frame_has (frame, "OWN_NAMES");
    c->debugged = frame_has (frame, "DEBUGGED");
    if (!_is_token (c->token) || !_is_token (c->server_token))
        return errtext_set (err, "srun's configuration lacks a token");
    if (!c->step || c->timeout < 0 || c->stop_grace < 0 || c->eval_grace < 0 || c->fail_grace < 0
        || tee_mode_decode (&c->tee, frame) < 0 || restart_rule_decode (&c->restart, frame) < 0
        || lost_after_decode (&c->lost_after, frame) < 0 || watch_rule_decode (&c->watch, frame) < 0
        || _decode_words (c, frame) < 0)
        return errtext_set (err, "srun's configuration is incomplete");
    if (_decode_lists (c, frame) < 0)
        return errtext_set (err, "srun's configuration has no task list, or more than %d",
                            RENDEZVOUS_CONFIG_MAX_LISTS);
    return 0;
}
