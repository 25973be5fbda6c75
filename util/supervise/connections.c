/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "connections.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/address.h"
#include "common/diag.h"
#include "descendants.h"

/* More connections of a user on one node are not looked at. */
#define CONNECTIONS_MOST 16384

struct connection {
    struct address here, there;
    int port_here, port_there;
    unsigned int inode;
    bool own;                   /* a process of the task has it */
};

struct connections {
    struct connection *connection;
    size_t count, size;
};

static void _add_connection (const struct inet_diag_msg *socket, void *arg)
{
    struct connections *all = arg;
    struct connection *c;

    if (socket->idiag_uid != getuid () || socket->idiag_inode == 0 || all->count == CONNECTIONS_MOST)
        return;
    if (all->count == all->size) {
        size_t size = all->size ? 2 * all->size : 64;
        struct connection *more = realloc (all->connection, size * sizeof (*more));

        if (!more)
            return;
        all->connection = more;
        all->size = size;
    }
    c = &all->connection[all->count];
    *c = (struct connection){ .inode = socket->idiag_inode, .port_here = ntohs (socket->id.idiag_sport) };
    if ((c->port_there = diag_peer (socket, &c->there)) >= 0
        && diag_address (socket->idiag_family, socket->id.idiag_src, &c->here) == 0)
        all->count++;
}

static bool _has_peer (const struct life_peers *peers, const struct address *address)
{
    for (int i = 0; i < peers->count; i++)
        if (address_equal (&peers->address[i], address))
            return true;
    return false;
}

static bool _has_new (const struct connections *all, const struct life_peers *peers)
{
    for (size_t i = 0; i < all->count; i++)
        if (!_has_peer (peers, &all->connection[i].there))
            return true;
    return false;
}

static int _by_inode (const void *a, const void *b)
{
    const struct connection *c = a, *d = b;

    return c->inode < d->inode ? -1 : c->inode > d->inode;
}

/* A descriptor is a link to "socket:[12345]". */
static void _mark (struct connections *all, int dir, const char *name)
{
    static const char socket[] = "socket:[";
    char text[64] = "";
    struct connection key, *found;

    if (readlinkat (dir, name, text, sizeof (text) - 1) <= 0
        || strncmp (text, socket, sizeof (socket) - 1) != 0)
        return;
    key.inode = (unsigned int)strtoul (text + sizeof (socket) - 1, NULL, 10);
    found = bsearch (&key, all->connection, all->count, sizeof (key), _by_inode);
    if (found)
        found->own = true;
}

static void _mark_those_of (struct connections *all, pid_t pid)
{
    char path[64];
    struct dirent *entry;
    DIR *dir;

    snprintf (path, sizeof (path), "/proc/%d/fd", (int)pid);
    if (!(dir = opendir (path)))
        return;
    while ((entry = readdir (dir)))
        _mark (all, dirfd (dir), entry->d_name);
    closedir (dir);
}

static void _mark_own (struct connections *all, pid_t except)
{
    size_t count;
    struct process *process = descendants_list (&count, except);

    qsort (all->connection, all->count, sizeof (*all->connection), _by_inode);
    for (size_t i = 0; i < count; i++)
        _mark_those_of (all, process[i].pid);
    free (process);
}

/* The other end, if it is on this host and of this user; or NULL. */
static const struct connection *_other_end (const struct connections *all, const struct connection *c)
{
    for (const struct connection *d = all->connection; d < all->connection + all->count; d++)
        if (d->port_here == c->port_there && d->port_there == c->port_here
            && address_equal (&d->here, &c->there) && address_equal (&d->there, &c->here))
            return d;
    return NULL;
}

/* Whether its other end is neither the task's, nor a service of this host. */
static bool _leads_out (const struct connections *all, const struct connection *c)
{
    const struct connection *other = _other_end (all, c);

    if (other)
        return !other->own;
    return !address_is_loopback (&c->there) && !address_equal (&c->there, &c->here);
}

void connections_look (struct life_peers *peers, pid_t except)
{
    struct connections all = { NULL, 0, 0 };

    if (peers->count < LIFE_PEERS_MOST && diag_dump (1U << TCP_ESTABLISHED, 0, _add_connection, &all) > 0
        && _has_new (&all, peers)) {
        _mark_own (&all, except);
        for (size_t i = 0; i < all.count && peers->count < LIFE_PEERS_MOST; i++) {
            const struct connection *c = &all.connection[i];

            if (c->own && !_has_peer (peers, &c->there) && _leads_out (&all, c))
                peers->address[peers->count++] = c->there;
        }
    }
    free (all.connection);
}
