/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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

TEST (a_mask_uses_the_kernels_cpu_numbers)
{
    static const struct {
        const char *text, *printed;
        int cpu[4];                 /* the CPUs of the set, then -1 */
    } row[] = {
        { "0x0", "0x0", { -1 } },
        { "0x1", "0x1", { 0, -1 } },
        { "0x8", "0x8", { 3, -1 } },
        { "0x10", "0x10", { 4, -1 } },
        { "0x81", "0x81", { 0, 7, -1 } },
        { "0x100", "0x100", { 8, -1 } },
        { "0x8001", "0x8001", { 0, 15, -1 } },
        { "0x00000001", "0x1", { 0, -1 } },
        { "0xC0", "0xc0", { 6, 7, -1 } },
        { "0x10000000000000000", "0x10000000000000000", { 64, -1 } },
        { "0x80000000000000000000000000000002", "0x80000000000000000000000000000002", { 1, 127, -1 } },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        char room[CPUS_MAX_TEXT];
        struct cpus cpus, same = { { 0 } };

        assert_int_equal (cpus_parse (&cpus, row[i].text), 0);
        for (const int *cpu = row[i].cpu; *cpu >= 0; cpu++)
            same.bits[*cpu / 8] |= (unsigned char)(1 << *cpu % 8);
        assert_memory_equal (&cpus, &same, sizeof (cpus));
        assert_string_equal (cpus_print (&cpus, room), row[i].printed);
    }
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

TEST (text_that_is_not_a_mask_is_refused)
{
    static const char *const row[] = {
        "",       "0",    "0x",   "x1",   "1",   "ff",   "0X1",   "00x1",    " 0x1",          "0x1 ",
        "0x 1",   "-0x1", "0x-1", "0x+1", "0xg", "0x1g", "0xf\n", "0x1,0x1", "0xff,00000000", "0xf...f",
        "0x\xff", "1x1",
    };
    struct cpus cpus;

    for (size_t i = 0; i < COUNT (row); i++)
        if (cpus_parse (&cpus, row[i]) != -1)
            fail_msg ("\"%s\" was accepted as a mask", row[i]);
}

static int read_file (struct cpus *cpus, const char *text)
{
    return cpus_read (cpus, file_with (text));
}

TEST (the_kernels_format_is_groups_of_32_bits_on_one_line)
{
    static const struct {
        const char *text, *mask;        /* mask NULL: the text is refused */
    /* clang-format off */
    } row[] = {
        { "f\n", "0xf" }, { "00ff\n", "0xff" }, { "ff00,00000001\n", "0xff0000000001" },
        { "00000000,00000000,80000000\n", "0x80000000" }, { "0\n", "0x0" },
        { "", NULL }, { "\n", NULL }, { "ff", NULL }, { "0xff\n", NULL }, { "f f\n", NULL },
        { "0-7\n", NULL },
    };
    /* clang-format on */
    char room[CPUS_MAX_TEXT];
    struct cpus cpus;

    for (size_t i = 0; i < COUNT (row); i++) {
        assert_int_equal (read_file (&cpus, row[i].text), row[i].mask ? 0 : -1);
        if (row[i].mask)
            assert_string_equal (cpus_print (&cpus, room), row[i].mask);
    }
    assert_int_equal (cpus_read (&cpus, "/nowhere"), -1);
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
