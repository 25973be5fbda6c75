/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * On a real Slurm, tests/system/output.bats checks that srun --output expands patterns likewise.
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>

#include "common/pattern.h"

/* clang-format off */
static const struct pattern_values all = {
    .job = "12", .step = "3", .node = "n5", .user = "anna", .job_name = "train", .array_job = "10",
    .array_task = "7",
};
/* clang-format on */

struct row {
    const char *text, *expanded;
};

static void check (const struct row *row, size_t count, const struct pattern_values *values)
{
    for (size_t i = 0; i < count; i++) {
        struct errtext err = { "" };
        char text[128];

        assert_int_equal (pattern_expand (row[i].text, values, text, sizeof (text), &err), 0);
        assert_string_equal (text, row[i].expanded);
        assert_string_equal (err.text, "");
    }
}

TEST (patterns_of_slurm_are_replaced)
{
    static const struct row row[] = {
        { "", "" },          { "logs", "logs" }, { "/a/b c/d", "/a/b c/d" },
        { "%j", "12" },      { "%s", "3" },      { "%J", "12.3" },
        { "%N", "n5" },      { "%u", "anna" },   { "%x", "train" },
        { "%A", "10" },      { "%a", "7" },      { "/scratch/%u/%x-%j.%s", "/scratch/anna/train-12.3" },
        { "%A_%a", "10_7" }, { "%j%j", "1212" }, { "a%jb%sc", "a12b3c" },
        { "%jj", "12j" },
    };

    check (row, COUNT (row), &all);
}

TEST (numbers_are_padded_up_to_ten_digits)
{
    static const struct row row[] = {
        { "%4j", "0012" },        { "%1j", "12" },          { "%2j", "12" },
        { "%3j", "012" },         { "%0j", "12" },          { "%04j", "0012" },
        { "%10j", "0000000012" }, { "%11j", "0000000012" }, { "%99999999999999999999j", "0000000012" },
        { "%4s", "0003" },        { "%4A", "0010" },        { "%4a", "0007" },
        { "%4j%j", "001212" },    { "%4N", "n5" },          { "%4x", "train" },
        { "%8u", "anna" },        { "%4J", "0012.3" },
    };

    check (row, COUNT (row), &all);
}

TEST (text_that_is_not_a_pattern_is_kept)
{
    static const struct row row[] = {
        { "%q", "%q" },     { "%", "%" },   { "100%", "100%" }, { "% j", "% j" },
        { "%-4j", "%-4j" }, { "%b", "%b" }, { "%q%j", "%q12" },
    };

    check (row, COUNT (row), &all);
}

TEST (percent_and_backslash_are_handled_as_in_slurm)
{
    static const struct row row[] = {
        { "%%", "%" },    { "%%j", "%j" },      { "%%%j", "%12" }, { "%%%%j", "%%j" },
        { "\\%j", "%j" }, { "a\\b%j", "ab%j" }, { "%j\\", "%j" },  { "\\", "" },
    };

    check (row, COUNT (row), &all);
}

TEST (a_pattern_without_a_value_is_kept)
{
    static const struct pattern_values none = { 0 }, job = { .job = "12" };
    static const struct row without[] = {
        { "%j-%s-%J-%N-%u-%x-%n-%t", "%j-%s-%J-%N-%u-%x-%n-%t" },
        { "%4j", "%4j" },
        { "%%j", "%j" },
    };
    static const struct row with_job[] = { { "%j.%s %J", "12.%s %J" } };

    check (without, COUNT (without), &none);
    check (with_job, COUNT (with_job), &job);
}

/* Patterns in a value are not replaced, and its numbers are not padded. */
TEST (values_are_inserted_unchanged)
{
    static const struct pattern_values odd = { .job = "12", .job_name = "%j\\", .user = "", .node = "1a" };
    static const struct row row[] = {
        { "%x-%j", "%j\\-12" }, { "<%u>", "<>" }, { "<%4u>", "<>" }, { "%4N", "1a" }
    };

    check (row, COUNT (row), &odd);
}

TEST (a_name_longer_than_its_buffer_is_refused)
{
    for (size_t size = 1; size <= 12; size++) {
        struct errtext err = { "" };
        char text[16], message[64];

        memset (text, '#', sizeof (text));
        if (size > strlen ("ab12cd4")) {
            assert_int_equal (pattern_expand ("ab%jcd4", &all, text, size, &err), 0);
            assert_string_equal (text, "ab12cd4");
        } else {
            assert_int_equal (pattern_expand ("ab%jcd4", &all, text, size, &err), -1);
            snprintf (message, sizeof (message), "the name is longer than %zu bytes", size - 1);
            assert_string_equal (err.text, message);
        }
        assert_true (memchr (text, '\0', size) != NULL);
        for (size_t i = size; i < sizeof (text); i++)
            assert_int_equal (text[i], '#');
    }
}
