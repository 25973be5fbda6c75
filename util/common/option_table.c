/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "option_table.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frameworks.h"
#include "netlist.h"
#include "pattern.h"
#include "port.h"
#include "preflight.h"
#include "rules.h"
#include "tasklist.h"
#include "value.h"

/* The lists of words that have no module of their own. */

static const struct choice yes_no_words[] = { { "yes", VALUE_YES }, { "no", VALUE_NO }, { NULL, 0 } };

static const struct choice ib_words[] = {
    { "auto", IB_AUTO }, { "require", IB_REQUIRE }, { "no", IB_NO }, { NULL, 0 }
};

static const struct choice stop_words[] = { { "auto", STOP_WHEN_AUTO },
                                            { "chief", STOP_WHEN_CHIEF },
                                            { "workers", STOP_WHEN_WORKERS },
                                            { "never", STOP_WHEN_NEVER },
                                            { NULL, 0 } };

/* tf-abandoned reads the words. */
static const struct choice if_abandoned_words[] = {
    { "requeue", 1 }, { "cancel", 2 }, { "no", VALUE_NO }, { NULL, 0 }
};
static const struct choice show_words[] = { { "yes", SHOW_TABLES },
                                            { "no", SHOW_NOTHING },
                                            { "json", SHOW_JSON },
                                            { "quiet", SHOW_QUIET },
                                            { NULL, 0 } };

static const struct choice ports_words[] = { { PORT_RANGES_ANY, 0 },
                                             { VALUE_PORTS_RESERVED, 0 },
                                             { NULL, 0 } };

static const struct choice restart_words[] = { { VALUE_RESTART_ANY, 0 },
                                               { VALUE_RESTART_TOTAL, 0 },
                                               { NULL, 0 } };

static const struct choice watchdog_words[] = { { VALUE_WATCHDOG_AUTO, 0 }, { NULL, 0 } };

/* What the values of the other options may be. Which roles there are depends on the site. */

/* What a message says behind the least and the longest time. */
#define TIME_EXAMPLES "seconds, as in 300, 5m or 5:00"

static int _check_seconds (const char *value, int low, struct errtext *err)
{
    struct quoted q;
    int seconds;

    if (value_seconds_parse (&seconds, value, low, VALUE_MAX_SECONDS) == 0)
        return 0;
    return errtext_set (err, "\"%s\" is not a time from %d to %d " TIME_EXAMPLES,
                        text_quoted (&q, value, strlen (value)), low, VALUE_MAX_SECONDS);
}

static int _value_timeout (const char *value, struct errtext *err)
{
    return _check_seconds (value, 1, err);
}

static int _value_grace (const char *value, struct errtext *err)
{
    return _check_seconds (value, 0, err);
}

static int _value_lost_after (const char *value, struct errtext *err)
{
    return _check_seconds (value, VALUE_MIN_LOST_AFTER, err);
}

static int _value_list (const char *value, struct errtext *err)
{
    struct tasklist *list;

    if (strcmp (value, LIST_NONE) == 0)
        return 0;
    if (tasklist_parse (&list, value, err) < 0)
        return -1;
    tasklist_destroy (list);
    return 0;
}

static int _value_rendezvous_ports (const char *value, struct errtext *err)
{
    struct port_ranges ranges;

    return port_ranges_parse (&ranges, value, err);
}

static int _value_ports (const char *value, struct errtext *err)
{
    return strcmp (value, VALUE_PORTS_RESERVED) == 0 ? 0 : _value_rendezvous_ports (value, err);
}

/* Shells replace ~ at the beginning of a word, and not within --tf-log-dir=~/logs or in #SBATCH. */
static int _check_tilde (const char *value, struct errtext *err)
{
    const char *home = getenv ("HOME"), *rest = value + 1;
    struct quoted q1, q2;

    if (*value != '~')
        return 0;
    if (!home || (*rest != '/' && *rest != '\0'))
        return errtext_set (err, "the shell does not replace ~ here; an absolute path is needed");
    return errtext_set (err, "the shell does not replace ~ here; %s%s is needed",
                        text_quoted (&q1, home, strlen (home)), text_quoted (&q2, rest, strlen (rest)));
}

/* Nor $NAME in #SBATCH. */
static int _check_dollar (const char *value, const char *instead, struct errtext *err)
{
    const char *dollar = strchr (value, '$');
    struct quoted q;

    if (!dollar)
        return 0;
    return errtext_set (err, "the shell does not replace %s here; write its value%s",
                        text_quoted (&q, dollar, strcspn (dollar, "/,")), instead);
}

static int _value_log_dir (const char *value, struct errtext *err)
{
    if (*value == '\0')
        return errtext_set (err, "the name of a directory is needed");
    if (strlen (value) >= PATH_MAX / 2)
        return errtext_set (err, "the name of the directory is too long");
    if (strpbrk (value, "\n\r"))
        return errtext_set (err, "the name of the directory has a newline");
    if (_check_tilde (value, err) < 0 || _check_dollar (value, ", or a pattern such as %j", err) < 0)
        return -1;
    return pattern_check (value, err);
}

static int _value_frameworks (const char *value, struct errtext *err)
{
    unsigned int frameworks;

    return frameworks_parse (&frameworks, value, err);
}

static int _value_restart (const char *value, struct errtext *err)
{
    struct quoted q;
    int times, total;
    bool any;

    if (value_restart_parse (&times, &any, &total, value) == 0)
        return 0;
    return errtext_set (err,
                        "\"%s\" is not a number of restarts from 0 to %d, or one followed by "
                        "\"," VALUE_RESTART_ANY "\", and by \"," VALUE_RESTART_TOTAL
                        "M\" with a number from the first one to %d",
                        text_quoted (&q, value, strlen (value)), VALUE_MAX_RESTARTS, VALUE_MAX_TOTAL);
}

static int _value_watchdog (const char *value, struct errtext *err)
{
    struct quoted q;
    int seconds, first;
    bool learns;

    if (value_watchdog_parse (&seconds, &first, &learns, value) == 0)
        return 0;
    return errtext_set (err,
                        "\"%s\" is not \"" VALUE_WATCHDOG_AUTO "\", a time from 0 to %d " TIME_EXAMPLES
                        ", or two, as in 300,1800",
                        text_quoted (&q, value, strlen (value)), VALUE_MAX_SECONDS);
}

/* Role names, separated by commas: a task list without counts. */
static int _value_roles (const char *value, struct errtext *err)
{
    struct tasklist *list;
    bool spare = false;

    if (strpbrk (value, ":+") || tasklist_parse (&list, value, err) < 0)
        return errtext_set (err, "names separated by commas are needed, as in roles=tester,logger");
    for (size_t i = 0; i < list->length; i++)
        spare = spare || rules_find (list->item[i].role) == RULES_SPARE;
    tasklist_destroy (list);
    if (!spare)
        return 0;
    return errtext_set (err, "\"spare\" is a task without a role; choose another name");
}

static int _value_notify (const char *value, struct errtext *err)
{
    if (strlen (value) >= PATH_MAX)
        return errtext_set (err, "the name of the program is too long");
    return value[0] == '/' ? 0 : errtext_set (err, "the absolute path of a program is needed");
}

static int _value_user_notify (const char *value, struct errtext *err)
{
    if (!*value)
        return errtext_set (err, "a program is needed, such as /home/me/notify, or none");
    if (_check_tilde (value, err) < 0 || _check_dollar (value, "", err) < 0)
        return -1;
    return strlen (value) < PATH_MAX ? 0 : errtext_set (err, "the name of the program is too long");
}

static int _value_libexecdir (const char *value, struct errtext *err)
{
    return value[0] == '/' ? 0 : errtext_set (err, "an absolute path is needed");
}

static int _value_network (const char *value, struct errtext *err)
{
    struct netlist list;

    return strcmp (value, NETLIST_ANY) == 0 ? 0 : netlist_parse (&list, value, err);
}

static int _value_preflight (const char *value, struct errtext *err)
{
    struct preflight_rule rule;

    return _check_dollar (value, "", err) < 0 ? -1 : preflight_parse (&rule, value, err);
}

const struct option_definition option_table[OPTION_COUNT] = {
    /* clang-format off */
    [OPTION_TASKS] = {
        .name = "tf-tasks", .arginfo = "LIST",
        .words = rules_roles, .alone = LIST_NONE, .check = _value_list, .completion = "roles",
        .usage = "role of each task in rank order, such as ps,worker:2 or chief,ps:2,worker:rest; +NAME adds "
                 "an auxiliary task; none disables an inherited list; help explains lists" },
    [OPTION_TASKS_PER_NODE] = {
        .name = "tf-tasks-per-node", .arginfo = "LIST",
        .words = rules_roles, .alone = LIST_NONE, .check = _value_list, .completion = "roles",
        .usage = "role of each task on a node; the list is repeated for every node" },
    [OPTION_IB] = {
        .name = "tf-ib", .site = "ib", .implied = "auto", .normal = "no", .words = ib_words,
        .usage = "use InfiniBand: auto (the default without a value) if all nodes have it; require fails "
                 "otherwise" },
    [OPTION_NETWORK] = {
        .name = "tf-network", .site = "network", .arginfo = "CIDR|IFACE", .normal = NETLIST_ANY,
        .alone = NETLIST_ANY, .check = _value_network, .completion = "networks",
        .usage = "network of all addresses, such as 10.1.0.0/16 or ib0; several in order of preference" },
    [OPTION_PORTS] = {
        .name = "tf-ports", .site = "ports", .arginfo = "RANGE", .normal = PORT_RANGES_ANY,
        .words = ports_words, .check = _value_ports,
        .usage = "ports of the tasks' servers: any, LOW-HIGH, or reserved (the ports of --resv-ports)" },
    [OPTION_HOLD] = {
        .name = "tf-hold", .site = "hold", .normal = "yes", .words = yes_no_words,
        .usage = "hold each port until its task ends (yes) or its program starts (no, for servers that do "
                 "not set SO_REUSEADDR)" },
    [OPTION_STOP] = {
        .name = "tf-stop", .site = "stop", .arginfo = "WHEN", .normal = "auto", .words = stop_words,
        .usage = "when to stop tasks that never exit by themselves, such as a ps: after the chief or all "
                 "workers have exited: WORDS" },
    [OPTION_LOG_DIR] = {
        .name = "tf-log-dir", .site = "log_dir", .arginfo = "DIR", .normal = LOG_DIR_NONE,
        .alone = LOG_DIR_NONE, .is_path = true, .check = _value_log_dir, .completion = "directories",
        .usage = "write the output of each task to DIR/<role><index>.log and messages to DIR/master.log; "
                 "DIR may contain Slurm patterns such as %j" },
    [OPTION_TEE] = {
        .name = "tf-tee", .site = "tee", .implied = "yes", .normal = "no", .words = yes_no_words,
        .usage = "with --tf-log-dir: print the output of each task in srun as well, each line prefixed with "
                 "its task, such as \"worker 1: \"" },
    [OPTION_FRAMEWORKS] = {
        .name = "tf-frameworks", .site = "frameworks", .arginfo = "LIST", .normal = "auto",
        .words = frameworks_words, .alone = FRAMEWORKS_NONE, .check = _value_frameworks,
        .completion = "list",
        .usage = "set the variables of these frameworks (auto, the default: tf,keras,jax, and torch for "
                 "several workers without a ps): none, or some of WORDS" },
    [OPTION_TIMEOUT] = {
        .name = "tf-timeout", .site = "timeout", .arginfo = "SECONDS", .normal = "300",
        .check = _value_timeout,
        .usage = "how long a launch waits for its last task: seconds, or a time such as 5m or 5:00" },
    [OPTION_SHOW] = {
        .name = "tf-show", .site = "show", .implied = "yes", .normal = "no", .words = show_words,
        .usage = "print a table of tasks at start and at the end (json: for programs; quiet: print none, and "
                 "no warning about tasks that trained alone)" },
    [OPTION_RESTART] = {
        .name = "tf-restart", .site = "restart", .arginfo = "N[,any][,total=M]", .normal = "0",
        .words = restart_words, .check = _value_restart, .completion = "restarts",
        .usage = "restart failed tasks, up to N times without progress and M times in total (default 10 N): "
                 "after a signal or exit codes 42 and 143; any includes most other exit codes" },
    [OPTION_WATCHDOG] = {
        .name = "tf-watchdog", .site = "watchdog", .arginfo = "SECONDS|auto[,FIRST]", .normal = "0",
        .words = watchdog_words, .check = _value_watchdog,
        .usage = "end a step (with --tf-restart, restart it) whose tasks show no activity for SECONDS, such "
                 "as 600 or 10m (auto: learn it); FIRST applies at program start" },
    [OPTION_STOP_GRACE] = {
        .name = "tf-grace", .site = "stop_grace", .arginfo = "SECONDS", .normal = "10", .check = _value_grace,
        .usage = "time between SIGTERM and SIGKILL when a task is stopped: seconds, or a time such as 5m or "
                 "5:00" },
    [OPTION_IF_ABANDONED] = {
        .name = "tf-if-abandoned", .site = "if_abandoned", .normal = "requeue", .words = if_abandoned_words,
        .usage = "with spares: what to do with the job if the node of the batch script is lost (requeue: "
                 "cancel a job that may not be requeued)" },
    [OPTION_REQUEUE] = {
        .name = "tf-requeue", .site = "requeue", .arginfo = "SECONDS", .normal = "0", .check = _value_grace,
        .usage = "ask the tasks to save (SIGTERM) SECONDS before the job ends, and then requeue the job" },
    [OPTION_USER_NOTIFY] = {
        .name = "tf-notify", .arginfo = "PROGRAM", .normal = NOTIFY_NONE, .alone = NOTIFY_NONE,
        .is_path = true, .check = _value_user_notify, .completion = "commands",
        .usage = "a program that gets each event of the job step as JSON on its standard input, such as a "
                 "restart, a hang, a lost node or the end" },
    [OPTION_PREFLIGHT] = {
        .name = "tf-preflight", .site = "preflight", .arginfo = "ITEM[,ITEM]...", .implied = "yes",
        .normal = "no", .words = preflight_words, .alone = "no",
        .check = _value_preflight,
        .completion = "list",
        .usage = "check each node before the first task starts, and use spares instead of bad nodes: yes, "
                 "some of WORDS, the path of a program, timeout=SECONDS" },
    [OPTION_RESTART_BACKOFF] = {
        .site = "restart_backoff", .arginfo = "SECONDS", .normal = "60", .check = _value_timeout,
        .usage = "longest pause before a restart" },
    [OPTION_EVAL_GRACE] = {
        .site = "eval_grace", .arginfo = "SECONDS", .normal = "900", .check = _value_grace,
        .usage = "time for an evaluator to finish after the other tasks" },
    [OPTION_FAIL_GRACE] = {
        .site = "fail_grace", .arginfo = "SECONDS", .normal = "30", .check = _value_grace,
        .usage = "time for the other tasks to exit after a failure in a cluster without a ps" },
    [OPTION_LOST_AFTER] = {
        .site = "lost_after", .arginfo = "SECONDS", .normal = "60", .check = _value_lost_after,
        .usage = "with spares: how long a node may be unreachable before its tasks are replaced" },
    [OPTION_HIDE_GPUS] = {
        .site = "hide_gpus", .normal = "yes", .words = yes_no_words,
        .usage = "whether a ps sees no GPU" },
    [OPTION_NCCL] = {
        .site = "nccl", .normal = "yes", .words = yes_no_words,
        .usage = "whether NCCL and Gloo follow the network that is chosen" },
    [OPTION_ROLES] = {
        .site = "roles", .arginfo = "NAME[,NAME]...", .check = _value_roles,
        .usage = "the site's own roles" },
    [OPTION_RENDEZVOUS_PORTS] = {
        .site = "rendezvous_ports", .arginfo = "RANGE", .normal = PORT_RANGES_ANY,
        .check = _value_rendezvous_ports,
        .usage = "the ports of srun's rendezvous; any: SrunPortRange, if that is set" },
    [OPTION_NOTIFY] = {
        .site = "notify", .arginfo = "PROGRAM", .check = _value_notify,
        .usage = "a program that gets each event of a step" },
    [OPTION_LIBEXECDIR] = {
        .site = "libexecdir", .arginfo = "DIRECTORY", .normal = PKGLIBEXECDIR, .check = _value_libexecdir,
        .usage = "directory of tf-rendezvous, tf-supervise and tf-addresses" },
};
    /* clang-format on */

int option_word (enum option_id option, const char *value, struct errtext *err)
{
    const struct option_definition *d = &option_table[option];
    const struct choice *meant = choice_find (choice_switch, value, strlen (value)), *found = NULL;

    if (meant) {
        const char *word = meant->meaning == VALUE_NO ? "no" : d->implied ? d->implied : "yes";

        found = choice_find (d->words, word, strlen (word));
    }
    return found ? found->meaning : choice_parse (d->words, value, err);
}

char *option_copy (enum option_id option, const char *value)
{
    static const char blanks[] = " \t";
    char *copy = strdup (value), *end = copy;

    if (!copy || option_table[option].is_path)
        return copy;
    for (;; value++) {
        size_t kept, length;

        value += strspn (value, blanks);
        kept = length = strcspn (value, ",");
        while (kept > 0 && strchr (blanks, value[kept - 1]))
            kept--;
        memcpy (end, value, kept);
        end += kept;
        value += length;
        *end++ = *value;
        if (!*value)
            return copy;
    }
}

int option_check (enum option_id option, const char *value, struct errtext *err)
{
    const struct option_definition *d = &option_table[option];

    if (d->check)
        return d->check (value, err);
    return option_word (option, value, err) < 0 ? -1 : 0;
}

int option_take_argument (enum option_id *option, const char **value, const char *argument,
                          struct errtext *err)
{
    size_t length = strcspn (argument, "=");
    struct errtext why;
    struct quoted q;

    for (int i = 0; i < OPTION_COUNT && argument[length]; i++) {
        const char *site = option_table[i].site;

        if (!site || strlen (site) != length || strncmp (site, argument, length) != 0)
            continue;
        *option = (enum option_id)i;
        *value = argument + length + 1;
        return option_check (*option, *value, &why) < 0 ? errtext_set (err, "%s: %s", site, why.text) : 0;
    }
    return errtext_set (err, "\"%s\" is not an argument of spank_tf",
                        text_quoted (&q, argument, strlen (argument)));
}

const struct option_help *option_help (enum option_id option, struct option_help *room)
{
    static const char marker[] = "WORDS";
    const struct option_definition *d = &option_table[option];
    const char *words = strstr (d->usage, marker);
    struct choice_words list;

    snprintf (room->arginfo, sizeof (room->arginfo), "%s",
              d->arginfo ? d->arginfo : choice_join (d->words, "|", "|", &list));
    snprintf (room->usage, sizeof (room->usage), "%s", d->usage);
    if (words) {
        const char *separator = d->alone ? "," : ", ";

        snprintf (room->usage, sizeof (room->usage), "%.*s%s%s", (int)(words - d->usage), d->usage,
                  choice_join (d->words, separator, separator, &list), words + sizeof (marker) - 1);
    }
    return room;
}
