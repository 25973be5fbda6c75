/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "common/beside.h"
#include "common/marks.h"
#include "common/proxy.h"
#include "common/variables.h"

static char marks[MARKS_MAX];

/* Of "NAME" and a value. */
static enum marks_found find (const char *name, const char *value)
{
    return marks_find (marks, name, strlen (name), value);
}

TEST (a_value_is_recognized_and_not_kept)
{
    *marks = '\0';
    assert_int_equal (marks_add (marks, sizeof (marks), "RANK", "1"), 0);
    assert_int_equal (marks_add (marks, sizeof (marks), "WORLD_SIZE", "secret"), 0);
    assert_null (strstr (marks, "secret"));
    assert_int_equal (find ("RANK", "1"), MARKS_SAME);
    assert_int_equal (find ("RANK", "2"), MARKS_OTHER);
    assert_int_equal (find ("RANK", ""), MARKS_OTHER);
    assert_int_equal (find ("WORLD_SIZE", "secret"), MARKS_SAME);
    assert_int_equal (find ("WORLD_SIZE", "secre"), MARKS_OTHER);
    assert_int_equal (find ("RAN", "1"), MARKS_NOT_FOUND);
    assert_int_equal (find ("RANKS", "1"), MARKS_NOT_FOUND);
    assert_int_equal (find ("SIZE", "secret"), MARKS_NOT_FOUND);
    /* Of a longer text the name is its beginning. */
    assert_int_equal (marks_find (marks, "RANK=1", 4, "1"), MARKS_SAME);
}

TEST (a_name_may_have_several_marks)
{
    *marks = '\0';
    marks_add (marks, sizeof (marks), "A", "first");
    marks_add (marks, sizeof (marks), "A", "second");
    assert_int_equal (find ("A", "first"), MARKS_SAME);
    assert_int_equal (find ("A", "second"), MARKS_SAME);
    assert_int_equal (find ("A", "third"), MARKS_OTHER);
}

TEST (a_mark_without_room_changes_nothing)
{
    char before[sizeof (marks)];

    *marks = '\0';
    while (marks_add (marks, sizeof (marks), "NAME", "value") == 0)
        strcpy (before, marks);
    assert_string_equal (marks, before);
}

/* As in a step with as many auxiliary tasks as there may be, of names as long as they may be. */
TEST (all_variables_of_a_task_have_room)
{
    struct beside_variable room;
    char name[BESIDE_MAX_NAME + 1];

    *marks = '\0';
    for (const struct variable *v = variable_table; v->name; v++)
        assert_int_equal (marks_add (marks, sizeof (marks), v->name, "value"), 0);
    for (int i = 0; i < PROXY_EXEMPTIONS; i++)
        assert_int_equal (marks_add (marks, sizeof (marks), proxy_exemption[i], "value"), 0);
    for (int i = 0; i < BESIDE_MAX_NAMES; i++) {
        snprintf (name, sizeof (name), "%0*d", BESIDE_MAX_NAME, i);
        assert_int_equal (marks_add (marks, sizeof (marks), beside_variable (name, &room), "value"), 0);
    }
    /* And what tf-exec changes. */
    assert_int_equal (marks_add (marks, sizeof (marks), "TF_CONFIG", "other"), 0);
}

TEST (malformed_marks_match_nothing)
{
    static const char *const bad[] = { "", ",", ":", "A", "A:", "A:,", "A,B", ",A:0", "A:12345678z" };

    for (size_t i = 0; i < COUNT (bad); i++)
        assert_int_not_equal (marks_find (bad[i], "A", 1, "x"), MARKS_SAME);
}
