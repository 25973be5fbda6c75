/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "supervisor_config.h"

#include <limits.h>
#include <string.h>

#include "common/number.h"
#include "registration.h"

#define MAX_KILL_WAIT 65535

enum supervisor_fd supervisor_config_last_fd (const struct supervisor_config *c)
{
    return c->restart.times > 0 ? SUPERVISOR_PORT_FD : SUPERVISOR_READY_FD;
}

struct frame *supervisor_config_encode (const struct supervisor_config *c)
{
    struct frame *frame = frame_create ();
    struct address_text room;

    if (!frame)
        return NULL;
    frame_add (frame, "TASK", "%d", (int)c->task);
    frame_add (frame, "RANK", "%d", c->rank);
    frame_add (frame, "NODE", "%s", c->node);
    frame_add (frame, "STEP", "%s", c->step);
    frame_add (frame, "ADDRESS", "%s", address_print (&c->address, &room));
    frame_add (frame, "PORT", "%d", c->port);
    frame_add (frame, "TOKEN", "%s", c->token);
    frame_add (frame, "SERVER_TOKEN", "%s", c->server_token);
    frame_add (frame, "STOP_GRACE", "%d", c->stop_grace);
    if (c->kill_wait >= 0)
        frame_add (frame, "KILL_WAIT", "%d", c->kill_wait);
    frame_add_flag (frame, "FORWARD_SIGNALS", c->forward_signals);
    frame_add_flag (frame, "SERVES", c->serves);
    restart_rule_add (frame, &c->restart);
    frame_add_flag (frame, "RESTART_ALONE", c->restart_alone);
    if (c->claimed_port)
        frame_add (frame, "CLAIMED_PORT", "%d", c->claimed_port);
    frame_add_flag (frame, "PRINTS", c->prints);
    return frame;
}

static const char *_get (char *const env[], const char *name)
{
    const char *value = NULL;

    for (; *env && !value; env++)
        value = frame_value (*env, name);
    return value;
}

int supervisor_config_decode (struct supervisor_config *c, char *const env[],
                              struct errtext *err)
{
    const char *address = _get (env, "ADDRESS");
    const char *kill_wait = _get (env, "KILL_WAIT");
    const char *claimed_port = _get (env, "CLAIMED_PORT");
    int task;

    memset (c, 0, sizeof (*c));
    c->node = _get (env, "NODE");
    c->step = _get (env, "STEP");
    c->token = _get (env, "TOKEN");
    c->server_token = _get (env, "SERVER_TOKEN");
    c->kill_wait = -1;
    c->forward_signals = _get (env, "FORWARD_SIGNALS") != NULL;
    c->serves = _get (env, "SERVES") != NULL;
    c->restart_alone = _get (env, "RESTART_ALONE") != NULL;
    c->prints = _get (env, "PRINTS") != NULL;
    if (number_parse (&task, _get (env, "TASK"), 1, INT_MAX) < 0
        || number_parse (&c->rank, _get (env, "RANK"), 0, REGISTRATION_MAX_TASKS - 1) < 0
        || number_parse (&c->port, _get (env, "PORT"), 1, 65535) < 0
        || number_parse (&c->stop_grace, _get (env, "STOP_GRACE"), 0, FRAME_MAX_SECONDS) < 0
        || (kill_wait && number_parse (&c->kill_wait, kill_wait, 0, MAX_KILL_WAIT) < 0)
        || (claimed_port && number_parse (&c->claimed_port, claimed_port, 1, 65535) < 0)
        || restart_rule_decode_environment (&c->restart, env) < 0 || !address
        || address_parse (&c->address, address) < 0
        || !c->node || !c->step || !c->token || !c->server_token)
        return errtext_set (err, "its environment lacks a variable");
    c->task = task;
    return 0;
}
