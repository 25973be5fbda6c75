/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Namespaces (namespaces (7)), by which a container is noticed that another plugin has entered.
 */
#ifndef TF_NAMESPACES_H
#define TF_NAMESPACES_H

#include <stdbool.h>
#include <sys/types.h>

/* All 0: it is not known. */
struct namespace
{
    dev_t device;
    ino_t inode;
};

/* This process' namespace of a kind: "mnt", "net". */
struct namespace namespace_own (const char *kind);

/* True if this process has another one now. */
bool namespace_has_changed (const struct namespace *former, const char *kind);

#endif
