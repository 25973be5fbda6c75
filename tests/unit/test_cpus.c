/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "addresses/cpus.h"

/* The simulated node has more CPUs than a set holds, exactly as many, or is this node. */
static enum { THIS, TOO_LARGE, FULL } node;

int __real_sched_getaffinity (pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity (pid_t pid, size_t size, cpu_set_t *set);

int __wrap_sched_getaffinity (pid_t pid, size_t size, cpu_set_t *set)
{
    if (node == TOO_LARGE) {
        errno = EINVAL;
        return -1;
    }
    if (node == FULL)
        memset (set, 0xff, size);
    return node == FULL ? 0 : __real_sched_getaffinity (pid, size, set);
}

/* A mask of "0x" and `digits` times this digit. */
static const char *mask_of (int digits, char digit)
{
    static char text[2 * CPUS_MAX_TEXT] = "0x";

    memset (text + 2, digit, (size_t)digits);
    text[2 + digits] = '\0';
    return text;
}

TEST (the_largest_mask_is_parsed_and_printed)
{
    const int most = CPUS_MAX / 4;
    char room[CPUS_MAX_TEXT];
    struct cpus cpus;

    for (int digits = 1; digits <= most; digits++) {
        assert_int_equal (cpus_parse (&cpus, mask_of (digits, 'f')), 0);
        assert_string_equal (cpus_print (&cpus, room), mask_of (digits, 'f'));
    }
    assert_int_equal (cpus_parse (&cpus, mask_of (most, '0')), 0);
    assert_string_equal (cpus_print (&cpus, room), "0x0");
    assert_int_equal (cpus_parse (&cpus, mask_of (most + 1, 'f')), -1);
    assert_int_equal (cpus_parse (&cpus, mask_of (most + 1, '0')), -1);
}

TEST (cpus_self_returns_the_affinity_of_the_process)
{
    char room[CPUS_MAX_TEXT], one[CPUS_MAX_TEXT];
    struct cpus cpus;
    cpu_set_t before, set;

    assert_int_equal (sched_getaffinity (0, sizeof (before), &before), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        struct cpus same = { { 0 } };

        if (!CPU_ISSET (cpu, &before))
            continue;
        CPU_ZERO (&set);
        CPU_SET (cpu, &set);
        same.bits[cpu / 8] = (unsigned char)(1 << cpu % 8);
        assert_int_equal (sched_setaffinity (0, sizeof (set), &set), 0);
        assert_int_equal (cpus_self (&cpus), 0);
        assert_string_equal (cpus_print (&cpus, room), cpus_print (&same, one));
    }
    assert_int_equal (sched_setaffinity (0, sizeof (before), &before), 0);
    assert_int_equal (cpus_self (&cpus), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        assert_int_equal (cpus.bits[cpu / 8] >> cpu % 8 & 1, CPU_ISSET (cpu, &before) != 0);
}

TEST (a_node_with_more_cpus_than_a_set_holds_is_an_error)
{
    char room[CPUS_MAX_TEXT];
    struct cpus cpus;

    node = FULL;
    assert_int_equal (cpus_self (&cpus), 0);
    assert_string_equal (cpus_print (&cpus, room), mask_of (CPUS_MAX / 4, 'f'));
    node = TOO_LARGE;
    assert_int_equal (cpus_self (&cpus), -1);
    node = THIS;
}
