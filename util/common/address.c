/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

static void _from_in6 (struct address *address, const struct in6_addr *in6)
{
    memset (address, 0, sizeof (*address));
    if (IN6_IS_ADDR_V4MAPPED (in6)) {
        address->family = AF_INET;
        memcpy (address->bytes, in6->s6_addr + 12, 4);
    } else {
        address->family = AF_INET6;
        memcpy (address->bytes, in6->s6_addr, 16);
    }
}

int address_parse (struct address *address, const char *text)
{
    struct in6_addr in6;

    memset (address, 0, sizeof (*address));
    if (inet_pton (AF_INET, text, address->bytes) == 1) {
        address->family = AF_INET;
        return 0;
    }
    if (inet_pton (AF_INET6, text, &in6) != 1)
        return -1;
    _from_in6 (address, &in6);
    return 0;
}

int address_parse_port (struct address *address, int *port, const char *text)
{
    const char *colon = text ? strrchr (text, ':') : NULL;
    char host[INET6_ADDRSTRLEN];
    size_t length;

    if (!colon || number_parse (port, colon + 1, 1, 65535) < 0)
        return -1;
    length = (size_t)(colon - text);
    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length >= sizeof (host))
        return -1;
    snprintf (host, sizeof (host), "%.*s", (int)length, text);
    return address_parse (address, host);
}

int address_of_sockaddr (struct address *address, const struct sockaddr *from)
{
    memset (address, 0, sizeof (*address));
    if (from && from->sa_family == AF_INET) {
        address->family = AF_INET;
        memcpy (address->bytes, &((const struct sockaddr_in *)from)->sin_addr, 4);
        return 0;
    }
    if (!from || from->sa_family != AF_INET6)
        return -1;
    _from_in6 (address, &((const struct sockaddr_in6 *)from)->sin6_addr);
    return 0;
}

int address_local (struct address *address, int fd)
{
    struct sockaddr_storage ss = { 0 };
    socklen_t len = sizeof (ss);

    memset (address, 0, sizeof (*address));
    if (getsockname (fd, (struct sockaddr *)&ss, &len) < 0)
        return -1;
    return address_of_sockaddr (address, (struct sockaddr *)&ss);
}

socklen_t address_sockaddr (const struct address *address, int port, struct sockaddr_storage *to)
{
    memset (to, 0, sizeof (*to));
    if (address->family == AF_INET) {
        struct sockaddr_in *in = (struct sockaddr_in *)to;

        in->sin_family = AF_INET;
        in->sin_port = htons ((uint16_t)port);
        memcpy (&in->sin_addr, address->bytes, 4);
        return sizeof (*in);
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;

    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons ((uint16_t)port);
    memcpy (&in6->sin6_addr, address->bytes, 16);
    return sizeof (*in6);
}

bool address_is_link_local (const struct address *address)
{
    if (address->family == AF_INET)
        return address->bytes[0] == 169 && address->bytes[1] == 254;
    return address->bytes[0] == 0xfe && (address->bytes[1] & 0xc0) == 0x80;
}

const char *address_print (const struct address *address, struct address_text *room)
{
    room->text[0] = '\0';
    if (address->family)
        inet_ntop (address->family, address->bytes, room->text, sizeof (room->text));
    return room->text;
}

const char *address_print_port (const struct address *address, int port, struct address_text *room)
{
    struct address_text bare;

    address_print (address, &bare);
    snprintf (room->text, sizeof (room->text), address->family == AF_INET6 ? "[%s]:%d" : "%s:%d", bare.text,
              port);
    return room->text;
}
