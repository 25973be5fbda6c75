/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "exec/placeholders.h"

static const struct placeholder_values values = { .of = {
                                                      [PLACEHOLDER_ROLE] = "worker",
                                                      [PLACEHOLDER_INDEX] = "1",
                                                      [PLACEHOLDER_ADDRESS] = "10.0.0.3",
                                                      [PLACEHOLDER_PORT] = "4003",
                                                      [PLACEHOLDER_RANK] = "2",
                                                      [PLACEHOLDER_NODE] = NULL,
                                                      [PLACEHOLDER_TF_CONFIG] = "{\"cluster\":{}}",
                                                      [PLACEHOLDER_TF_CONFIG_FILE] = NULL,
                                                      [PLACEHOLDER_CLUSTER] = "{}",
                                                      [PLACEHOLDER_CHIEF_HOSTS] = "",
                                                      [PLACEHOLDER_MASTER_HOSTS] = "m:1",
                                                      [PLACEHOLDER_PS_HOSTS] = "{role}{{",
                                                      [PLACEHOLDER_WORKER_HOSTS] = "a:1,b:2",
                                                      [PLACEHOLDER_EVALUATOR_HOSTS] = "e:1",
                                                      [PLACEHOLDER_NUM_PS] = "0",
                                                      [PLACEHOLDER_NUM_WORKERS] = "12",
                                                  } };

static void check (const char *text, const char *expected)
{
    char *result = NULL;

    assert_int_equal (placeholders_replace (&result, text, &values, NULL), 0);
    assert_string_equal (result, expected);
    free (result);
}

TEST (placeholders_are_replaced)
{
    static const struct {
        const char *text, *result;
    } row[] = {
        { "", "" },
        { "plain", "plain" },
        { "{role}", "worker" },
        { "{role}:{index}", "worker:1" },
        { "{role}{index}{rank}", "worker12" },
        { "--job={role}.", "--job=worker." },
        { "{address}:{port}", "10.0.0.3:4003" },
        { "{cluster}{tf_config}", "{}{\"cluster\":{}}" },
        { "[{chief_hosts}]", "[]" },
        { "{worker_hosts} {master_hosts} {evaluator_hosts}", "a:1,b:2 m:1 e:1" },
        { "{num_ps}/{num_workers}", "0/12" },
        { "{ps_hosts}", "{role}{{" },
        { "{{ {{{{ {{role}", "{ {{ {role}" },
        { "{{{role}", "{worker" },
        { "{{{role}}}", "{worker}}" },
        { "{{{{role}}", "{{role}}" },
        { "}} } {role}}", "}} } worker}" },
        { "{", "{" },
        { "{role", "{role" },
        { "{role{", "{role{" },
        { "role}", "role}" },
        { "{}", "{}" },
        { "{Role} {roles} {ro} { role} {role }", "{Role} {roles} {ro} { role} {role }" },
        { "{hosts} {num_chiefs}", "{hosts} {num_chiefs}" },
        { "{a{role}}", "{aworker}" },
        { "{\"a\":{\"b\":[{}]},\"{role}\":{index}}", "{\"a\":{\"b\":[{}]},\"worker\":1}" },
        { "\xff{role}\x01", "\xffworker\x01" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (row[i].text, row[i].result);
}

TEST (a_placeholder_without_a_value_is_an_error)
{
    struct errtext err;
    char *result = NULL;

    assert_int_equal (placeholders_replace (&result, "{role} {node}", &values, &err), -1);
    assert_string_equal (err.text, "{node} is not known, because SLURMD_NODENAME is not set");
    assert_int_equal (placeholders_replace (&result, "{tf_config_file}", &values, &err), -1);
    assert_string_equal (err.text, "{tf_config_file} is not known here");
    assert_null (result);
    check ("{{node} {node", "{node} {node");
}

TEST (every_placeholder_has_a_unique_name_and_value)
{
    struct placeholder_values marked;
    char mark[PLACEHOLDERS][8], text[32], *result;

    for (int i = 0; i < PLACEHOLDERS; i++) {
        snprintf (mark[i], sizeof (mark[i]), "<%d>", i);
        marked.of[i] = mark[i];
    }
    for (int i = 0; i < PLACEHOLDERS; i++) {
        assert_non_null (placeholders_name[i]);
        snprintf (text, sizeof (text), "{%s}", placeholders_name[i]);
        assert_int_equal (placeholders_replace (&result, text, &marked, NULL), 0);
        assert_string_equal (result, mark[i]);
        free (result);
        for (int other = 0; other < PLACEHOLDERS; other++)
            assert_int_equal (placeholders_has (text, (enum placeholder)other), other == i);
    }
    assert_null (placeholders_name[PLACEHOLDERS]);
}

TEST (placeholders_has_finds_a_placeholder)
{
    assert_true (placeholders_has ("a{rank}b{role}", PLACEHOLDER_ROLE));
    assert_true (placeholders_has ("{{{role}", PLACEHOLDER_ROLE));
    assert_false (placeholders_has ("{{role}", PLACEHOLDER_ROLE));
    assert_false (placeholders_has ("{roles} {role", PLACEHOLDER_ROLE));
    assert_false (placeholders_has ("{tf_config}", PLACEHOLDER_TF_CONFIG_FILE));
    assert_false (placeholders_has ("{tf_config_file}", PLACEHOLDER_TF_CONFIG));
    assert_false (placeholders_has ("", PLACEHOLDER_ROLE));
}
