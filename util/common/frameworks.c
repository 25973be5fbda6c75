/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "frameworks.h"

#include <string.h>

const struct choice frameworks_words[] = { { "auto", FRAMEWORKS_AUTO },  { "tf", FRAMEWORK_TF },
                                           { "keras", FRAMEWORK_KERAS }, { "jax", FRAMEWORK_JAX },
                                           { "torch", FRAMEWORK_TORCH }, { NULL, 0 } };

/* What users also write for them. */
static const struct choice other_names[] = { { "tensorflow", FRAMEWORK_TF },
                                             { "pytorch", FRAMEWORK_TORCH },
                                             { NULL, 0 } };

int frameworks_parse (unsigned int *frameworks, const char *text, struct errtext *err)
{
    struct choice_words room;
    struct quoted q;

    *frameworks = 0;
    if (strcmp (text, FRAMEWORKS_NONE) == 0)
        return 0;
    for (const char *name = text;; name++) {
        static const char former[] = "dtensor";
        size_t length = strcspn (name, ",");
        const struct choice *found = choice_find (frameworks_words, name, length);

        if (length == sizeof (former) - 1 && strncmp (name, former, length) == 0)
            return errtext_set (err, "\"dtensor\" was removed; set DTENSOR_JOBS and DTENSOR_CLIENT_ID in the "
                                     "script, from TF_CONFIG, as doc/guide/frameworks.md shows");
        if (!found && !(found = choice_find (other_names, name, length))) {
            errtext_set (err, "\"%s\" is neither " FRAMEWORKS_NONE " nor a list of %s",
                         text_quoted (&q, text, strlen (text)),
                         choice_join (frameworks_words, ", ", " and ", &room));
            return choice_suggest (frameworks_words, name, length, err);
        }
        *frameworks |= (unsigned int)found->meaning;
        name += length;
        if (!*name)
            return 0;
    }
}
