/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "supervisor_config.h"

#include <limits.h>
#include <string.h>

#include "common/number.h"
#include "common/variables.h"
#include "registration.h"
#include "restart_fields.h"

#define MAX_KILL_WAIT 65535

struct frame *supervisor_config_encode (const struct supervisor_config *c)
{
    struct frame *frame = frame_create ();
    struct address_text room;

    if (!frame)
        return NULL;
    frame_add (frame, "FORK_SERVER", "%d", (int)c->fork_server);
    frame_add (frame, "SLURMSTEPD", "%d", (int)c->slurmstepd);
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
    lost_after_add (frame, c->lost_after);
    frame_add_flag (frame, "SPARE", c->spare);
    if (c->task_port)
        frame_add (frame, "TASK_PORT", "%d", c->task_port);
    if (c->master_port)
        frame_add (frame, "MASTER_PORT", "%d", c->master_port);
    frame_add_flag (frame, "PRINTS", c->prints);
    frame_add_text (frame, "LOG", c->log);
    frame_add_text (frame, "ERROR_FILE", c->error_file);
    watch_rule_add (frame, &c->watch);
    tee_mode_add (frame, c->tee);
    if (c->tee) {
        frame_add (frame, "ROLE", "%s", c->role);
        frame_add (frame, "INDEX", "%d", c->index);
    }
    return frame;
}

int supervisor_config_decode (struct supervisor_config *c, char *const env[], struct errtext *err)
{
    const char *address = variable_get (env, "ADDRESS");
    const char *kill_wait = variable_get (env, "KILL_WAIT");
    const char *task_port = variable_get (env, "TASK_PORT"), *master_port = variable_get (env, "MASTER_PORT");
    int fork_server, slurmstepd;

    memset (c, 0, sizeof (*c));
    c->node = variable_get (env, "NODE");
    c->step = variable_get (env, "STEP");
    c->token = variable_get (env, "TOKEN");
    c->server_token = variable_get (env, "SERVER_TOKEN");
    c->kill_wait = -1;
    c->forward_signals = variable_get (env, "FORWARD_SIGNALS") != NULL;
    c->serves = variable_get (env, "SERVES") != NULL;
    c->spare = variable_get (env, "SPARE") != NULL;
    c->prints = variable_get (env, "PRINTS") != NULL;
    c->log = variable_get (env, "LOG");
    c->error_file = variable_get (env, "ERROR_FILE");
    c->role = variable_get (env, "ROLE");
    if (number_parse (&fork_server, variable_get (env, "FORK_SERVER"), 1, INT_MAX) < 0
        || number_parse (&slurmstepd, variable_get (env, "SLURMSTEPD"), 1, INT_MAX) < 0
        || number_parse (&c->rank, variable_get (env, "RANK"), 0, REGISTRATION_MAX_TASKS - 1) < 0
        || number_parse (&c->port, variable_get (env, "PORT"), 1, 65535) < 0
        || number_parse (&c->stop_grace, variable_get (env, "STOP_GRACE"), 0, FRAME_MAX_SECONDS) < 0
        || (kill_wait && number_parse (&c->kill_wait, kill_wait, 0, MAX_KILL_WAIT) < 0)
        || (task_port && number_parse (&c->task_port, task_port, 1, 65535) < 0)
        || (master_port && number_parse (&c->master_port, master_port, 1, 65535) < 0)
        || tee_mode_decode_environment (&c->tee, env) < 0
        || (c->tee
            && (!c->role || !c->log || number_parse (&c->index, variable_get (env, "INDEX"), 0, INT_MAX) < 0))
        || restart_rule_decode_environment (&c->restart, env) < 0
        || watch_rule_decode_environment (&c->watch, env) < 0
        || lost_after_decode_environment (&c->lost_after, env) < 0 || !address
        || address_parse (&c->address, address) < 0 || !c->node || !c->step || !c->token || !c->server_token)
        return errtext_set (err, "its environment lacks a variable");
    c->fork_server = fork_server;
    c->slurmstepd = slurmstepd;
    return 0;
}
