/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "option_table.h"

#include <stdbool.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "addresses/netlist.h"
#include "cmdline.h"
#include "common/rules.h"
#include "common/tasklist.h"
#include "common/value.h"
#include "site.h"

/*
 * True if this list is the whole cluster of the step. sbatch and salloc have one list. srun may
 * have one for each component; the argument ":" separates components.
 */
static bool _is_whole (void)
{
    return spank_context () == S_CTX_ALLOCATOR || !cmdline_has (":");
}

static int _check_list (const char *value, struct errtext *err)
{
    struct rules_count count = { 0 };
    struct tasklist *list;
    int rc;

    if (strcmp (value, LIST_NONE) == 0)
        return 0;
    if (tasklist_parse (&list, value, err) < 0)
        return -1;
    rules_count_list (&count, list);
    rc = rules_check_names (list, site.roles, err);
    if (rc == 0)
        rc = rules_check (&count, _is_whole (), err);
    tasklist_destroy (list);
    return rc;
}

const struct option_definition option_table[OPTION_COUNT] = {
    [OPTION_TASKS] = {
        "tf-tasks", "LIST", NULL,
        "the role of each task in rank order, as in ps,worker:2 or chief,ps:2,worker:rest, or +NAME "
        "for a task beside the cluster; sets TF_CONFIG (none: switch off)",
        NULL, NULL, _check_list },
    [OPTION_TASKS_PER_NODE] = {
        "tf-tasks-per-node", "LIST", NULL,
        "the same for the tasks of each node",
        NULL, NULL, _check_list },
    [OPTION_IB] = {
        "tf-ib", "auto|require|no", "auto",
        "use InfiniBand addresses if every node has one (auto, or without a value), or else fail "
        "(require)",
        "ib", "no", value_ib },
    [OPTION_NETWORK] = {
        "tf-network", "CIDR|IFACE", NULL,
        "the network of every address, as in 10.1.0.0/16 or ib0; several in order of preference",
        "network", NETLIST_ANY, netlist_check },
    [OPTION_PORTS] = {
        "tf-ports", "RANGE", NULL,
        "the ports of TensorFlow's servers: any, LOW-HIGH, or reserved (Slurm's --resv-ports)",
        "ports", "any", value_ports },
    [OPTION_HOLD] = {
        "tf-hold", "yes|no", NULL,
        "keep each port bound until its task ends, or (no) free it for a server that does not set "
        "SO_REUSEPORT",
        "hold", "yes", value_yes_no },
    [OPTION_STOP] = {
        "tf-stop", "WHEN", NULL,
        "stop the tasks that never end by themselves when the chief, or all workers, have ended: "
        "auto, chief, workers, never",
        "stop", "auto", value_stop },
    [OPTION_LOG_DIR] = {
        "tf-log-dir", "DIR", NULL,
        "write the output of each task to DIR/<role><index>.log and messages to DIR/master.log; "
        "DIR can have Slurm's patterns, as %j",
        "log_dir", LOG_DIR_NONE, value_log_dir },
    [OPTION_FRAMEWORKS] = {
        "tf-frameworks", "LIST", NULL,
        "for which frameworks each task gets variables: none, or some of tf,keras,jax,dtensor",
        "frameworks", "tf,keras,jax", value_frameworks },
    [OPTION_TIMEOUT] = {
        "tf-timeout", "SECONDS", NULL,
        "how long the launch waits for its last task",
        "timeout", "300", value_timeout },
    [OPTION_SHOW] = {
        "tf-show", "yes|no|json", "yes",
        "print rank, role, node and address of every task, and at the end how it ended (json: one "
        "object each, for programs)",
        "show", "no", value_show },
    [OPTION_RESTART] = {
        "tf-restart", "N[,any]", NULL,
        "start tasks that fail again, in place, at most N times in the step: after a signal or exit "
        "codes 42 and 143, or (any) after nearly every failure",
        "restart", "0", value_restart },
};
