/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a list of port ranges, as in --tf-ports and SLURM_STEP_RESV_PORTS.
 */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/port.h"

static void _check (const struct port_ranges *ranges)
{
    char text[PORT_MAX_RANGES * sizeof ("65535-65535,")] = "any", *end = text;
    struct port_ranges again;
    struct errtext err;

    CHECK (ranges->count <= PORT_MAX_RANGES);
    for (size_t i = 0; i < ranges->count; i++) {
        const struct port_range *range = &ranges->range[i];

        CHECK (range->low >= 1024 && range->low <= range->high && range->high <= 65535);
        end += sprintf (end, "%s%d-%d", i ? "," : "", range->low, range->high);
    }
    CHECK (fuzz_succeeded (port_ranges_parse (&again, text, &err), &err));
    CHECK (again.count == ranges->count);
    CHECK (memcmp (again.range, ranges->range, ranges->count * sizeof (again.range[0])) == 0);
}

FUZZ_TARGET (ports)
{
    char *text = fuzz_text (data, size);
    struct port_ranges ranges;
    struct errtext err;

    if (fuzz_succeeded (port_ranges_parse (&ranges, text, &err), &err))
        _check (&ranges);
    free (text);
}
