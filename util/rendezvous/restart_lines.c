/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_lines.h"

#include <string.h>

#include "console.h"
#include "rank_names.h"

static void _one (struct errtext *what, const struct restart_policy *policy)
{
    errtext_set (what, "; it is started again in %d s (restarts left: %d)",
                 restart_policy_pause (policy), restart_policy_left (policy));
}

static void _all (struct errtext *what, const struct restart_policy *policy,
                  const struct exit_report *report, int grace)
{
    struct errtext others;

    if (restart_rule_saved (report))
        errtext_set (&others, "the others have %d s to end, too, and all are", grace);
    else
        errtext_set (&others, "all tasks are stopped, and");
    errtext_set (what, "; %s started again after %d s (restarts left: %d)", others.text,
                 restart_policy_pause (policy), restart_policy_left (policy));
}

/* The reason comes from a node, and a file's name in it may have any bytes. */
static void _cannot (struct errtext *what, const struct restart_policy *policy, int rank,
                     const char *reason)
{
    struct quoted q;

    if (!reason && restart_policy_is_member (policy, rank))
        reason = "a task of the cluster cannot be";
    else if (!reason)
        reason = "its supervisor was lost for a time, or cannot do so";
    errtext_set (what, ", and is not started again: %s", text_quoted (&q, reason, strlen (reason)));
}

void restart_lines_print (struct step *step, const struct restarts *restarts, int grace, int rank,
                          const struct exit_report *report, enum restart_policy_decision decision,
                          const char *cannot)
{
    const struct restart_policy *policy = restarts_policy (restarts);
    bool error = decision == RESTART_POLICY_CANNOT;
    struct exit_report_text how;
    char name[RANK_NAME_SIZE];
    struct errtext what;

    switch (decision) {
        case RESTART_POLICY_NONE:
            return;
        case RESTART_POLICY_ONE:
            _one (&what, policy);
            break;
        case RESTART_POLICY_ALL:
            _all (&what, policy, report, grace);
            break;
        case RESTART_POLICY_USED_UP:
            errtext_set (&what, "; no restart is left");
            break;
        case RESTART_POLICY_CANNOT:
            _cannot (&what, policy, rank, cannot);
            break;
    }
    rank_name (step_roster (step), rank, name, sizeof (name));
    console_say ("%sspank_tf: %s: %s has ended, %s%s", error ? "error: " : "", step_name (step), name,
                 exit_report_describe (report, &how), what.text);
}
