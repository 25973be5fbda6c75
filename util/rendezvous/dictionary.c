/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "dictionary.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/beside.h"
#include "common/rules.h"
#include "common/tf_config.h"
#include "job/model.h"

#define EVALUATOR "evaluator"

/* Append a place's address to the array of its role. */
static int _add_address (json_t *cluster, const struct place *p)
{
    struct address_text room;
    json_t *array = json_object_get (cluster, p->role);

    if (!array
        && (json_object_set_new (cluster, p->role, json_array ()) < 0
            || !(array = json_object_get (cluster, p->role))))
        return -1;
    return json_array_append_new (array,
                                  json_string (address_print_port (&p->rank->address, p->rank->port, &room)));
}

static int _add_role (json_t *cluster, const struct place *place, size_t places, const char *role)
{
    for (size_t i = 0; i < places; i++)
        if (strcmp (place[i].role, role) == 0 && _add_address (cluster, &place[i]) < 0)
            return -1;
    return 0;
}

static int _print_cluster (struct dictionary_text *text, json_t *cluster)
{
    if (!(text->text = json_dumps (cluster, JSON_COMPACT)))
        return -1;
    text->length = strlen (text->text);
    return 0;
}

static int _fill (struct dictionary *dictionary, json_t *cluster, const struct place *place, size_t places)
{
    for (int name = 0; name < RULES_ROLES; name++)
        if (name != RULES_EVALUATOR
            && _add_role (cluster, place, places, choice_word (rules_roles, name)) < 0)
            return -1;
    for (size_t i = 0; i < places; i++)
        if (strcmp (place[i].role, EVALUATOR) != 0 && !beside_is (place[i].role)
            && !json_object_get (cluster, place[i].role)
            && _add_role (cluster, place, places, place[i].role) < 0)
            return -1;
    if (_print_cluster (&dictionary->cluster, cluster) < 0
        || _add_role (cluster, place, places, EVALUATOR) < 0)
        return -1;
    return json_object_get (cluster, EVALUATOR) ? _print_cluster (&dictionary->evaluators, cluster) : 0;
}

/* Auxiliary tasks. */

static int _find_names (struct beside_names *names, const struct place *place, size_t places,
                        struct errtext *err)
{
    for (size_t i = 0; i < places; i++)
        if (beside_is (place[i].role) && beside_add (names, beside_name (place[i].role), err) < 0)
            return -1;
    return 0;
}

static void _print_beside (FILE *f, const struct beside_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        fprintf (f, "%s%s", i ? "," : BESIDE_VARIABLE "=", names->name[i]);
    if (names->count)
        fputc ('\0', f);
}

/* The addresses of all tasks with this name. */
static void _print_addresses (FILE *f, const char *name, const struct place *place, size_t places)
{
    struct beside_variable variable;
    struct address_text room;
    bool first = true;

    fprintf (f, "%s=", beside_variable (name, &variable));
    for (size_t i = 0; i < places; i++)
        if (beside_is (place[i].role) && strcmp (beside_name (place[i].role), name) == 0) {
            fprintf (f, "%s%s", first ? "" : ",",
                     address_print_port (&place[i].rank->address, place[i].rank->port, &room));
            first = false;
        }
    fputc ('\0', f);
}

static int _add_beside (struct dictionary_text *text, const struct place *place, size_t places,
                        struct errtext *err)
{
    struct beside_names names = { 0 };
    FILE *f;

    if (_find_names (&names, place, places, err) < 0)
        return -1;
    if (!(f = open_memstream (&text->text, &text->length)))
        return errtext_set (err, "%s", strerror (errno));
    _print_beside (f, &names);
    for (size_t i = 0; i < names.count; i++)
        _print_addresses (f, names.name[i], place, places);
    return fclose (f) == 0 ? 0 : errtext_set (err, "%s", strerror (ENOMEM));
}

/* An answer has room for both, and behind a proxy for all addresses once more. */
static int _check_length (const struct dictionary *dictionary, const struct place *place, size_t places,
                          struct errtext *err)
{
    struct dictionary_tail room;
    size_t longest = 0;

    for (size_t i = 0; i < places; i++) {
        size_t length = strlen (TF_CONFIG_HEAD) + dictionary_cluster (dictionary, place[i].role)->length
                        + strlen (dictionary_tail (place[i].role, place[i].index, &room));

        if (length > longest)
            longest = length;
    }
    if (longest > TF_CONFIG_MAX_TEXT)
        return errtext_set (err,
                            "the TF_CONFIG of %zu tasks would have %zu bytes; Linux allows "
                            "at most %d",
                            places, longest, TF_CONFIG_MAX_TEXT);
    if (longest + dictionary->beside.length > TF_CONFIG_MAX_TEXT)
        return errtext_set (err,
                            "TF_CONFIG and the addresses of the auxiliary tasks would "
                            "have %zu bytes; at most %d are possible",
                            longest + dictionary->beside.length, TF_CONFIG_MAX_TEXT);
    return 0;
}

int dictionary_make (struct dictionary *dictionary, const struct place *place, size_t places,
                     struct errtext *err)
{
    json_t *cluster = json_object ();
    int rc = 0;

    *dictionary = (struct dictionary){ .cluster = { .text = NULL } };
    if (!cluster || _fill (dictionary, cluster, place, places) < 0)
        rc = errtext_set (err, "%s", strerror (ENOMEM));
    json_decref (cluster);
    if (rc == 0)
        rc = _add_beside (&dictionary->beside, place, places, err);
    if (rc == 0)
        rc = _check_length (dictionary, place, places, err);
    if (rc < 0)
        dictionary_clear (dictionary);
    return rc;
}

void dictionary_clear (struct dictionary *dictionary)
{
    free (dictionary->cluster.text);
    free (dictionary->evaluators.text);
    free (dictionary->beside.text);
    *dictionary = (struct dictionary){ .cluster = { .text = NULL } };
}

const struct dictionary_text *dictionary_cluster (const struct dictionary *dictionary, const char *role)
{
    return strcmp (role, EVALUATOR) == 0 ? &dictionary->evaluators : &dictionary->cluster;
}

const char *dictionary_tail (const char *role, int index, struct dictionary_tail *room)
{
    snprintf (room->text, sizeof (room->text), ",\"task\":{\"type\":\"%s\",\"index\":%d}}",
              beside_name (role), index);
    return room->text;
}
