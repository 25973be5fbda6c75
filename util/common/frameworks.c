/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "frameworks.h"

#include <string.h>

static const struct {
    const char *name;
    enum framework framework;
} known[] = {
    { "tf", FRAMEWORK_TF }, { "keras", FRAMEWORK_KERAS }, { "jax", FRAMEWORK_JAX },
    { "dtensor", FRAMEWORK_DTENSOR },
};

/* 0 if it is not known. */
static unsigned int _framework (const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        if (strlen (known[i].name) == length && strncmp (known[i].name, name, length) == 0)
            return known[i].framework;
    return 0;
}

int frameworks_parse (unsigned int *frameworks, const char *text, struct errtext *err)
{
    struct quoted q;

    *frameworks = 0;
    if (strcmp (text, "none") == 0)
        return 0;
    for (const char *name = text;; name++) {
        size_t length = strcspn (name, ",");
        unsigned int framework = _framework (name, length);

        if (!framework)
            return errtext_set (err, "\"%s\" is neither none nor a list of tf, keras, jax and "
                                "dtensor", text_quoted (&q, text, strlen (text)));
        *frameworks |= framework;
        name += length;
        if (!*name)
            return 0;
    }
}
