/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "supervisor_config.h"

#include <limits.h>

#include "fields.h"
#include "registration.h"

#define MAX_KILL_WAIT 65535

#define MESSAGE struct supervisor_config

/* clang-format off */
static const struct field tee[] = {
    FIELD ("TEE", tee, FLAG, FIELD_OPTIONAL),
    FIELD ("ROLE", role, TEXT, FIELD_NEEDED),
    FIELD ("INDEX", index, NUMBER, FIELD_NEEDED, 0, INT_MAX),
};
static const struct fields tee_fields = FIELDS ("the supervisor's configuration", tee);

static const struct field row[] = {
    FIELD ("FORK_SERVER", fork_server, NUMBER, FIELD_NEEDED, 1, INT_MAX),
    FIELD ("SLURMSTEPD", slurmstepd, NUMBER, FIELD_NEEDED, 1, INT_MAX),
    FIELD ("RANK", rank, NUMBER, FIELD_NEEDED, 0, REGISTRATION_MAX_TASKS - 1),
    FIELD ("NODE", node, TEXT, FIELD_NEEDED),
    FIELD ("NODE_INDEX", node_index, NUMBER, FIELD_NEEDED, 0, INT_MAX),
    FIELD ("STEP", step, TEXT, FIELD_NEEDED),
    FIELD ("ADDRESS", address, ADDRESS, FIELD_NEEDED),
    FIELD ("PORT", port, NUMBER, FIELD_NEEDED, 1, 65535),
    FIELD ("TOKEN", token, TEXT, FIELD_NEEDED),
    FIELD ("SERVER_TOKEN", server_token, TEXT, FIELD_NEEDED),
    FIELD ("STOP_GRACE", stop_grace, NUMBER, FIELD_NEEDED, 0, FRAME_MAX_SECONDS),
    FIELD ("KILL_WAIT", kill_wait, NUMBER, FIELD_OPTIONAL, 0, MAX_KILL_WAIT, .absent = -1),
    FIELD ("FORWARD_SIGNALS", forward_signals, FLAG, FIELD_OPTIONAL),
    FIELD ("SERVES", serves, FLAG, FIELD_OPTIONAL),
    FIELD_PART_AT (restart, restart_rule_fields),
    FIELD_PART_AT (lost_after, lost_after_fields),
    FIELD_ROWS_AT (options, task_options_fields),
    FIELD ("PATH", path, TEXT, FIELD_OPTIONAL),
    FIELD ("SLURM_CONF", slurm_conf, TEXT, FIELD_OPTIONAL),
    FIELD ("SPARE", spare, FLAG, FIELD_OPTIONAL),
    FIELD ("TASK_PORT", task_port, NUMBER, FIELD_OPTIONAL, 1, 65535),
    FIELD ("MASTER_PORT", master_port, NUMBER, FIELD_OPTIONAL, 1, 65535),
    FIELD ("HAS_PEERS", has_peers, FLAG, FIELD_OPTIONAL),
    FIELD ("PRINTS", prints, FLAG, FIELD_OPTIONAL),
    FIELD ("LOG", log, TEXT, FIELD_OPTIONAL),
    FIELD ("ERROR_FILE", error_file, TEXT, FIELD_OPTIONAL),
    FIELD_PART_AT (watch, watch_rule_fields),
    { .type = FIELD_PART, .need = FIELD_OPTIONAL, .part = &tee_fields },
};
/* clang-format on */

const struct fields supervisor_config_fields = FIELDS ("the supervisor's configuration", row);
