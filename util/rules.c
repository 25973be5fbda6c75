/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rules.h"

#include <ctype.h>
#include <string.h>

const char *const rules_roles[] = { "chief", "master", "ps", "worker", "evaluator", NULL };

static bool _in_extra (const char *role, const char *extra)
{
    size_t len = strlen (role);

    while (extra && *extra) {
        size_t word = strcspn (extra, ",");

        if (word == len && memcmp (extra, role, len) == 0)
            return true;
        extra += word + (extra[word] == ',');
    }
    return false;
}

static bool _known (const char *role, const char *extra)
{
    for (const char *const *known = rules_roles; *known; known++)
        if (strcmp (role, *known) == 0)
            return true;
    return _in_extra (role, extra);
}

/* Edits (insert, delete, replace, swap of neighbours) from a to b, case aside. */
static int _distance (const char *a, const char *b)
{
    int row[3][TASKLIST_MAX_ROLE + 1];
    int la = (int)strlen (a), lb = (int)strlen (b);

    for (int j = 0; j <= lb; j++)
        row[0][j] = j;
    for (int i = 1; i <= la; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        int ca = tolower ((unsigned char)a[i - 1]);

        now[0] = i;
        for (int j = 1; j <= lb; j++) {
            int best = before[j - 1] + (ca != b[j - 1]);

            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && ca == b[j - 2] && tolower ((unsigned char)a[i - 2]) == b[j - 1]
                && earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[la % 3][lb];
}

/* The role that was meant, or NULL when nothing is near: half of the word must be right. */
static const char *_nearest (const char *role)
{
    const char *nearest = NULL;
    int least = (int)strlen (role) / 2 + 1;

    for (const char *const *known = rules_roles; *known; known++) {
        int distance = _distance (role, *known);

        if (distance < least && distance <= (int)strlen (*known) / 2) {
            least = distance;
            nearest = *known;
        }
    }
    return nearest;
}

int rules_check_names (const struct tasklist *list, const char *extra, struct errtext *err)
{
    for (size_t i = 0; i < tasklist_length (list); i++) {
        const char *role = tasklist_item (list, i)->role;
        const char *nearest;

        if (_known (role, extra))
            continue;
        if ((nearest = _nearest (role)))
            return errtext_set (err, "\"%s\" (item %zu) is no TensorFlow role; did you mean "
                                "\"%s\"?", role, i + 1, nearest);
        return errtext_set (err, "\"%s\" (item %zu) is no TensorFlow role; roles are chief, "
                            "worker, ps, evaluator and master%s%s", role, i + 1,
                            extra ? ", and here " : "", extra ? extra : "");
    }
    return 0;
}

void rules_count (struct rules_count *count, const char *role, int tasks)
{
    if (strcmp (role, "chief") == 0)
        count->chief += tasks;
    else if (strcmp (role, "master") == 0)
        count->master += tasks;
    else if (strcmp (role, "worker") == 0)
        count->worker += tasks;
    else if (strcmp (role, "ps") == 0)
        count->ps += tasks;
    else if (strcmp (role, "evaluator") == 0)
        count->evaluator += tasks;
}

void rules_count_list (struct rules_count *count, const struct tasklist *list)
{
    for (size_t i = 0; i < tasklist_length (list); i++) {
        const struct tasklist_item *item = tasklist_item (list, i);

        rules_count (count, item->role, item->count ? item->count : 1);
    }
}

int rules_check (const struct rules_count *count, bool whole, struct errtext *err)
{
    if (count->chief > 1)
        return errtext_set (err, "%d chiefs; TensorFlow takes one chief at most", count->chief);
    if (count->master > 1)
        return errtext_set (err, "%d masters; TensorFlow takes one master at most",
                            count->master);
    if (count->chief && count->master)
        return errtext_set (err, "a chief and a master; TensorFlow takes one of the two "
                            "(master is TensorFlow 1's name for chief)");
    if (count->evaluator > 1)
        return errtext_set (err, "%d evaluators; TensorFlow takes one evaluator at most",
                            count->evaluator);
    if (whole && count->ps && !count->worker)
        return errtext_set (err, "%d ps and no worker; a ps needs at least one worker",
                            count->ps);
    return 0;
}
