/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "common/list_text.h"

static const char *print (char *buf, size_t size, const char *separator, size_t most,
                          const char *const *items)
{
    struct list_text list = { buf, size, separator, most, 0, 0 };

    for (; *items; items++)
        list_text_add (&list, *items);
    return list_text_end (&list);
}

TEST (a_list_names_its_first_items_and_counts_the_others)
{
    static const struct {
        const char *separator;
        size_t most;
        const char *item[6];
        const char *text;
    } row[] = {
        { ", ", 0, { NULL }, "" },
        { ", ", 0, { "n1" }, "n1" },
        { ", ", 0, { "n1", "n2", "n3" }, "n1, n2, n3" },
        { " and ", 0, { "n1", "n2" }, "n1 and n2" },
        { ", ", 3, { "n1", "n2", "n3" }, "n1, n2, n3" },
        { ", ", 2, { "n1", "n2", "n3" }, "n1, n2 and 1 more" },
        { ", ", 1, { "n1", "n2", "n3", "n4" }, "n1 and 3 more" },
    };
    char buf[128];

    for (size_t i = 0; i < COUNT (row); i++)
        assert_string_equal (print (buf, sizeof (buf), row[i].separator, row[i].most, row[i].item),
                             row[i].text);
}

TEST (an_item_that_does_not_fit_and_all_later_items_are_left_out)
{
    static const char *const item[] = { "n1", "a-name-that-is-too-long", "n3", NULL };
    char buf[48];

    assert_string_equal (print (buf, sizeof (buf), ", ", 0, item), "n1 and 2 more");
}

TEST (the_text_fits_its_buffer_and_ends_with_the_number_left_out)
{
    const char *item[101] = { NULL };
    char buf[256];

    for (int i = 0; i < 100; i++)
        item[i] = "node";
    for (size_t size = 40; size < sizeof (buf); size++) {
        size_t named, more;

        memset (buf, '#', sizeof (buf));
        print (buf, size, ",", 0, item);
        assert_true (strlen (buf) < size);
        assert_int_equal (buf[size], '#');
        named = (strcspn (buf, " ") + 1) / sizeof ("node");
        assert_int_equal (sscanf (buf + strcspn (buf, " "), " and %zu more", &more), 1);
        assert_int_equal (named + more, 100);
    }
}

TEST (the_buffer_is_terminated_after_each_item)
{
    char buf[64];
    struct list_text list = { buf, sizeof (buf), ", ", 0, 0, 0 };

    list_text_add (&list, "n1");
    assert_string_equal (buf, "n1");
    list_text_add (&list, "n2");
    assert_string_equal (buf, "n1, n2");
}
