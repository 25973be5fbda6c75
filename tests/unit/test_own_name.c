/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "addresses/own_name.h"

TEST (a_loopback_address_of_the_name_is_found)
{
    /* clang-format off */
    static const struct {
        const char *hosts, *found;      /* NULL: it is none */
    } row[] = {
        { "127.0.0.1 localhost\n127.0.1.1 n1\n", "127.0.1.1" },
        { "127.0.1.1\tn1.example.org  n1 # as the installer wrote it\n", "127.0.1.1" },
        { "127.0.1.1 N1", "127.0.1.1" },
        { "::1 localhost n1\n", "::1" },
        { "10.0.0.1 n1\n127.0.1.1 n1\n", "127.0.1.1" },
        { "  127.0.0.1 n1\r\n", "127.0.0.1" },
        { "10.0.0.1 n1\n", NULL },
        { "127.0.0.1 localhost\n", NULL },
        { "127.0.1.1 n12 xn1 n1.example.org\n", NULL },
        { "#127.0.1.1 n1\n127.0.1.1 n2 # n1\n", NULL },
        { "n1 127.0.1.1\nnot.an.address n1\n", NULL },
        { "\n\n", NULL },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct address_text room;
        FILE *hosts = fmemopen ((char *)(uintptr_t)row[i].hosts, strlen (row[i].hosts), "r");
        const char *found = own_name_find_loopback (hosts, "n1", &room);

        fclose (hosts);
        if (row[i].found)
            assert_string_equal (found, row[i].found);
        else
            assert_null (found);
    }
}
