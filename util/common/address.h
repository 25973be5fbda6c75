/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An IP address without a port. An IPv4-mapped IPv6 address (::ffff:a.b.c.d), as a dual-stack
 * socket shows it, is stored as the IPv4 address.
 */
#ifndef TF_ADDRESS_H
#define TF_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

struct address {
    int family;             /* AF_INET or AF_INET6; 0: not set */
    unsigned char bytes[16];
};

/* A buffer for an address as text, with brackets, colon and port. */
struct address_text {
    char text[INET6_ADDRSTRLEN + sizeof ("[]:65535")];
};

/* Parse a numeric address. Host names are not resolved. -1 if the text is not an address. */
int address_parse (struct address *address, const char *text);

/* The same of a text that address_print_port () wrote; NULL is not one. */
int address_parse_port (struct address *address, int *port, const char *text);

/* -1 if `from` is NULL or is not an IP address. */
int address_of_sockaddr (struct address *address, const struct sockaddr *from);

/* The address of the socket's local end. -1 if it is not an IP socket. */
int address_local (struct address *address, int fd);

/* Fill in a sockaddr for connect () or bind (). Returns its length. */
socklen_t address_sockaddr (const struct address *address, int port, struct sockaddr_storage *to);

static inline bool address_equal (const struct address *a, const struct address *b)
{
    return a->family == b->family && memcmp (a->bytes, b->bytes, a->family == AF_INET ? 4 : 16) == 0;
}

static inline bool address_is_loopback (const struct address *address)
{
    static const struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;

    return address->family == AF_INET ? address->bytes[0] == 127
                                      : memcmp (address->bytes, &loopback, 16) == 0;
}

bool address_is_link_local (const struct address *address);

/* Returns room->text: "10.0.0.1", "fd00::1", or "" if the address is not set. */
const char *address_print (const struct address *address, struct address_text *room);

/*
 * Returns room->text: "10.0.0.1:40000" or "[fd00::1]:40000". TensorFlow splits it at the last
 * colon.
 */
const char *address_print_port (const struct address *address, int port, struct address_text *room);

#endif
