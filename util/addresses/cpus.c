/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "cpus.h"

#include <ctype.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

int cpus_self (struct cpus *cpus)
{
    cpu_set_t *set = CPU_ALLOC (CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE (CPUS_MAX);
    int rc = set ? sched_getaffinity (0, size, set) : -1;

    memset (cpus, 0, sizeof (*cpus));
    for (size_t i = 0; rc == 0 && i < CPUS_MAX; i++)
        if (CPU_ISSET_S (i, size, set))
            cpus->bits[i / 8] |= (unsigned char)(1 << i % 8);
    CPU_FREE (set);
    return rc;
}

bool cpus_are_all (const struct cpus *cpus)
{
    long count = 0;

    for (size_t i = 0; i < CPUS_MAX; i++)
        count += cpus->bits[i / 8] >> i % 8 & 1;
    return count == sysconf (_SC_NPROCESSORS_ONLN);
}

static unsigned int _digit (char c)
{
    return (unsigned int)(isdigit ((unsigned char)c) ? c - '0' : tolower (c) - 'a' + 10);
}

int cpus_parse (struct cpus *cpus, const char *text)
{
    size_t digits = strlen (text);

    memset (cpus, 0, sizeof (*cpus));
    if (digits < 3 || digits >= CPUS_MAX_TEXT || text[0] != '0' || text[1] != 'x')
        return -1;
    text += 2;
    digits -= 2;
    for (size_t i = 0; i < digits; i++) {
        char c = text[digits - 1 - i];

        if (!isxdigit ((unsigned char)c))
            return -1;
        cpus->bits[i / 2] |= (unsigned char)(_digit (c) << i % 2 * 4);
    }
    return 0;
}

/* The file has one line, with a comma between groups of 32 bits: "ff00,00000000". */
int cpus_read (struct cpus *cpus, const char *path)
{
    char text[CPUS_MAX_TEXT], line[CPUS_MAX / 4 + CPUS_MAX / 32], *to = stpcpy (text, "0x"), *end;
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read (fd, line, sizeof (line));

    if (fd >= 0)
        close (fd);
    if (n <= 0 || !(end = memchr (line, '\n', (size_t)n)))
        return -1;
    for (const char *p = line; p < end; p++) {
        if (*p == ',')
            continue;
        if (*p == '\0' || to == text + sizeof (text) - 1)
            return -1;
        *to++ = *p;
    }
    *to = '\0';
    return cpus_parse (cpus, text);
}

const char *cpus_print (const struct cpus *cpus, char room[CPUS_MAX_TEXT])
{
    int digits = CPUS_MAX / 4;
    char *p = room;

    while (digits > 1 && !(cpus->bits[(digits - 1) / 2] >> (digits - 1) % 2 * 4 & 0xf))
        digits--;
    *p++ = '0';
    *p++ = 'x';
    while (digits-- > 0)
        *p++ = "0123456789abcdef"[cpus->bits[digits / 2] >> digits % 2 * 4 & 0xf];
    *p = '\0';
    return room;
}
