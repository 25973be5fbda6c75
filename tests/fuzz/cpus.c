/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a file of sysfs, such as a device's local_cpus.
 */
#include "config.h"

#include "fuzz.h"

#include <ctype.h>
#include <string.h>

#include "addresses/cpus.h"

/* The first line without commas and leading zeros is what the set prints, in any case. */
static void _check (const struct cpus *cpus, const uint8_t *data)
{
    char room[CPUS_MAX_TEXT];
    const char *printed = cpus_print (cpus, room) + 2;
    struct cpus again;

    while (*data == ',' || *data == '0')
        data++;
    if (*data == '\n')
        CHECK (*printed++ == '0');
    for (; *data != '\n'; data++)
        if (*data != ',')
            CHECK (tolower (*data) == *printed++);
    CHECK (*printed == '\0');
    CHECK (cpus_parse (&again, room) == 0 && memcmp (cpus, &again, sizeof (again)) == 0);
}

FUZZ_TARGET (cpus)
{
    struct cpus cpus;

    if (cpus_read (&cpus, fuzz_file (data, size)) == 0)
        _check (&cpus, data);
}
