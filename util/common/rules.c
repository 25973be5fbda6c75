/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rules.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "beside.h"
#include "nearest.h"

/* clang-format off */
const struct choice rules_roles[] = {
    { "chief", RULES_CHIEF }, { "worker", RULES_WORKER }, { "ps", RULES_PS },
    { "evaluator", RULES_EVALUATOR }, { "master", RULES_MASTER }, { "spare", RULES_SPARE }, { NULL, 0 }
};
/* clang-format on */

enum rules_name rules_find (const char *role)
{
    const struct choice *found = choice_find (rules_roles, role, strlen (role));

    return found ? (enum rules_name)found->meaning : RULES_ROLES;
}

/* strncmp () or strncasecmp () */
typedef int compare_f (const char *one, const char *other, size_t length);

static bool _in_extra (const char *role, const char *extra, compare_f *compare)
{
    size_t len = strlen (role);

    while (extra && *extra) {
        size_t word = strcspn (extra, ",");

        if (word == len && compare (extra, role, len) == 0)
            return true;
        extra += word + (extra[word] == ',');
    }
    return false;
}

static bool _is_known (const char *role, const char *extra, compare_f *compare)
{
    for (const struct choice *known = rules_roles; known->word; known++)
        if (compare (role, known->word, strlen (role) + 1) == 0)
            return true;
    return _in_extra (role, extra, compare);
}

/* What users call a role elsewhere, without what separates its words. */
static const struct {
    const char *name, *role;
} synonym[] = {
    { "server", "ps" },         { "parameterserver", "ps" },
    { "coordinator", "chief" }, { "tensorboard", "+tensorboard" },
    { "standby", "spare" },
};

static const char *_synonym (const char *role)
{
    char name[TASKLIST_MAX_ROLE + 1];
    size_t length = 0;

    for (; *role; role++)
        if (*role != '_' && *role != '-')
            name[length++] = *role;
    name[length] = '\0';
    if (length > 0 && name[length - 1] == 's')
        name[length - 1] = '\0';
    for (size_t i = 0; i < sizeof (synonym) / sizeof (synonym[0]); i++)
        if (strcasecmp (name, synonym[i].name) == 0)
            return synonym[i].role;
    return NULL;
}

/* The role that was probably meant; nearest->word is "" if there is none. */
static void _find_nearest (struct nearest *nearest, const char *role, const char *extra)
{
    const char *known_as = _synonym (role);

    nearest_begin (nearest, role);
    if (known_as) {
        snprintf (nearest->word, sizeof (nearest->word), "%s", known_as);
        return;
    }
    for (const struct choice *known = rules_roles; known->word; known++)
        nearest_try (nearest, known->word, strlen (known->word));
    while (extra && *extra) {
        size_t word = strcspn (extra, ",");

        nearest_try (nearest, extra, word);
        extra += word + (extra[word] == ',');
    }
}

/* The name of an auxiliary task. Names differ from roles by more than their case. */
static int _check_beside (struct beside_names *names, const char *role, size_t number, const char *extra,
                          struct errtext *err)
{
    const char *name = beside_name (role);
    struct errtext why;

    if (_is_known (name, extra, strncasecmp))
        errtext_set (&why, "a role of the cluster has this name; choose another name");
    else if (beside_check (name, &why) == 0 && beside_add (names, name, &why) >= 0)
        return 0;
    return errtext_set (err, "\"%s\" (item %zu): %s", role, number, why.text);
}

int rules_check_names (const struct tasklist *list, const char *extra, struct errtext *err)
{
    struct beside_names names = { 0 };

    for (size_t i = 0; i < list->length; i++) {
        const char *role = list->item[i].role;
        struct choice_words known;
        struct nearest nearest;

        if (beside_is (role)) {
            if (_check_beside (&names, role, i + 1, extra, err) < 0)
                return -1;
            continue;
        }
        if (_is_known (role, extra, strncmp))
            continue;
        _find_nearest (&nearest, role, extra);
        if (nearest.word[0])
            return errtext_set (err,
                                "\"%s\" (item %zu) is not a TensorFlow role; did you mean "
                                "\"%s\"?",
                                role, i + 1, nearest.word);
        return errtext_set (err, "\"%s\" (item %zu) is not a TensorFlow role; roles are %s%s%s", role, i + 1,
                            choice_join (rules_roles, ", ", " and ", &known),
                            extra ? ", and on this site " : "", extra ? extra : "");
    }
    return 0;
}

void rules_count (struct rules_count *count, const char *role, int tasks, size_t item)
{
    enum rules_name name = rules_find (role);
    struct rules_role *counter;

    *(name == RULES_SPARE ? &count->spares : &count->others) += tasks;
    count->cluster = count->cluster || (!beside_is (role) && name != RULES_SPARE);
    if (name >= RULES_ROLES)
        return;
    counter = &count->role[name];
    counter->tasks += tasks;
    if (!counter->item[0])
        counter->item[0] = item;
    else if (!counter->item[1])
        counter->item[1] = item;
}

void rules_count_list (struct rules_count *count, const struct tasklist *list)
{
    for (size_t i = 0; i < list->length; i++) {
        const struct tasklist_item *item = &list->item[i];

        rules_count (count, item->role, item->count ? item->count : 1, i + 1);
        count->open = count->open || !item->count;
    }
}

/* " (items 1 and 3)", " (item 1)" or "", depending on what is known. */
static const char *_where (size_t one, size_t other, char where[64])
{
    where[0] = '\0';
    if (one && other)
        snprintf (where, 64, " (items %zu and %zu)", one, other);
    else if (one)
        snprintf (where, 64, " (item %zu)", one);
    return where;
}

static int _at_most_one (const struct rules_role *role, const char *name, struct errtext *err)
{
    char where[64];

    if (role->tasks <= 1)
        return 0;
    return errtext_set (err, "%d %ss%s; TensorFlow allows at most one %s", role->tasks, name,
                        _where (role->item[0], role->item[1], where), name);
}

int rules_check (const struct rules_count *count, bool whole, struct errtext *err)
{
    const struct rules_role *chief = &count->role[RULES_CHIEF];
    const struct rules_role *master = &count->role[RULES_MASTER];
    const struct rules_role *ps = &count->role[RULES_PS];
    char where[64];

    if (_at_most_one (chief, "chief", err) < 0 || _at_most_one (master, "master", err) < 0
        || _at_most_one (&count->role[RULES_EVALUATOR], "evaluator", err) < 0)
        return -1;
    if (chief->tasks && master->tasks)
        return errtext_set (err,
                            "a chief and a master%s; TensorFlow allows only one of them "
                            "(master is TensorFlow 1's name for chief)",
                            _where (chief->item[0], master->item[0], where));
    if (whole && !count->cluster && count->spares && !count->others)
        return errtext_set (err, "only spare tasks; at least one task needs another role");
    if (whole && !count->cluster)
        return errtext_set (err, "only auxiliary tasks; at least one task "
                                 "needs a role without +");
    if (whole && !count->open && count->spares > count->others)
        return errtext_set (err, "%d spares for %d task%s; write spare%s%.0d, one for each of them at most",
                            count->spares, count->others, count->others == 1 ? "" : "s",
                            count->others == 1 ? "" : ":", count->others == 1 ? 0 : count->others);
    if (whole && ps->tasks && !count->role[RULES_WORKER].tasks && !chief->tasks && !master->tasks)
        return errtext_set (err, "%d ps%s and no worker; a ps needs at least one worker", ps->tasks,
                            _where (ps->item[0], ps->item[1], where));
    return 0;
}

int rules_assign (const struct tasklist *list, const char **role, int ntasks, const char *subject,
                  const char *option, struct errtext *err)
{
    struct tasklist_fit fit;
    struct errtext why;

    if (tasklist_assign (list, role, ntasks, subject, option, &why) == 0)
        return 0;
    if (tasklist_fit (list, choice_word (rules_roles, RULES_WORKER), ntasks, &fit))
        return errtext_set (err, "%s. Use %s, or %s to fit any number", why.text, fit.now, fit.always);
    if (list->named > ntasks && !list->rest)
        return errtext_set (err, "%s. Use srun %s%d", why.text,
                            strstr (option, "per-node") ? "--ntasks-per-node=" : "-n", list->named);
    return errtext_set (err, "%s", why.text);
}
