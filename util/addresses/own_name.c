/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "own_name.h"

#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/child.h"

/* How long a launch may wait for a name server. */
#define LOOKUP_MS 3000

static bool _can_be_bound (const struct addrinfo *info)
{
    int fd = socket (info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && bind (fd, info->ai_addr, info->ai_addrlen) == 0;

    if (fd >= 0)
        close (fd);
    return bound;
}

/* The fault, or "". */
static const char *_judge (const struct addrinfo *found, struct address_text *room)
{
    const struct addrinfo *info = found;
    struct address address;

    while (info && !_can_be_bound (info))
        info = info->ai_next;
    /* gcc -fanalyzer is wrong: there is a first one. */
    if (address_of_sockaddr (&address, info ? info->ai_addr : found->ai_addr) < 0
        || (info && !address_is_loopback (&address)))
        return "";
    return address_print (&address, room);
}

/* In the child. */
static int _look_up (void *unused __attribute__ ((unused)))
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const char *fault = OWN_NAME_NOWHERE;
    struct address_text room;
    char name[256];

    setenv ("RES_OPTIONS", "timeout:1 attempts:1", 0);
    if (gethostname (name, sizeof (name)) == 0 && getaddrinfo (name, NULL, &hints, &found) == 0 && found)
        fault = _judge (found, &room);
    if (found)
        freeaddrinfo (found);
    return write (STDOUT_FILENO, fault, strlen (fault)) != (ssize_t)strlen (fault);
}

const char *own_name_fault (struct address_text *room)
{
    ssize_t length;

    if (STATIC_PROGRAMS)
        return NULL;
    length = child_ask ("tf-own-name", _look_up, NULL, -1, room->text, sizeof (room->text) - 1, LOOKUP_MS);
    /* Nothing else in the child fails. */
    if (length < 0)
        length = snprintf (room->text, sizeof (room->text), "%s", OWN_NAME_NOWHERE);
    room->text[length] = '\0';
    return length > 0 ? room->text : NULL;
}

const char *own_name_explain (char text[OWN_NAME_TEXT], const char *fault)
{
    struct address address;

    if (address_parse (&address, fault) < 0)
        return "does not resolve";
    snprintf (text, OWN_NAME_TEXT, "leads to %s, %s", fault,
              address_is_loopback (&address) ? "a loopback address" : "not its own address");
    return text;
}
