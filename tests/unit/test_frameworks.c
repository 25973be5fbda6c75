/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>

#include "common/frameworks.h"

TEST (a_list_names_some_of_them)
{
    static const struct {
        const char *text;
        unsigned int frameworks;
    /* clang-format off */
    } row[] = {
        { "none", 0 }, { "tf", FRAMEWORK_TF }, { "keras", FRAMEWORK_KERAS }, { "jax", FRAMEWORK_JAX },
        { "tf,keras,jax", FRAMEWORK_TF | FRAMEWORK_KERAS | FRAMEWORK_JAX },
        { "jax,tf", FRAMEWORK_TF | FRAMEWORK_JAX }, { "jax,jax", FRAMEWORK_JAX },
        { "pytorch", FRAMEWORK_TORCH }, { "tensorflow,torch", FRAMEWORK_TF | FRAMEWORK_TORCH },
        { "auto", FRAMEWORK_TF | FRAMEWORK_KERAS | FRAMEWORK_JAX | FRAMEWORK_TORCH_AUTO },
        { "torch,auto", FRAMEWORK_TORCH | FRAMEWORKS_AUTO },
        { "torch", FRAMEWORK_TORCH }, { "tf,torch", FRAMEWORK_TF | FRAMEWORK_TORCH },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        unsigned int frameworks = 99;

        assert_int_equal (frameworks_parse (&frameworks, row[i].text, NULL), 0);
        assert_int_equal (frameworks, row[i].frameworks);
    }
}

TEST (anything_else_is_refused)
{
    /* clang-format off */
    static const struct {
        const char *text, *meant;
    } bad[] = {
        { "", "" }, { ",", "" }, { "tf,", "" }, { ",tf", "" }, { "tf,,jax", "" }, { "pytorch2", "" },
        { "tf,none", "" }, { "none,tf", "" }, { "TF", "tf" }, { "t", "" }, { "tfx", "tf" },
        { "tf jax", "" }, { "tf;jax", "" }, { " tf", "tf" }, { "tensor", "" },
        { "kears", "keras" }, { "tf,troch", "torch" }, { "cntk", "" },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (bad); i++) {
        unsigned int frameworks;
        struct choice_words words;
        struct errtext err = { "" };
        char expected[256];

        assert_int_equal (frameworks_parse (&frameworks, bad[i].text, &err), -1);
        snprintf (expected, sizeof (expected), "\"%s\" is neither none nor a list of %s%s%s%s", bad[i].text,
                  choice_join (frameworks_words, ", ", " and ", &words),
                  bad[i].meant[0] ? "; did you mean \"" : "", bad[i].meant, bad[i].meant[0] ? "\"?" : "");
        assert_string_equal (err.text, expected);
    }
}
