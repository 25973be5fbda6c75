/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How a task reaches its rendezvous: what srun exports in SLURM_TF_RENDEZVOUS before the step
 * exists, as one line of text: four fields, and KEY=VALUE of the others. srun's host is not in it; each
 * node knows it from Slurm.
 */
#ifndef TF_CONTACT_H
#define TF_CONTACT_H

#include <stdbool.h>

#include "common/errtext.h"

#define CONTACT_VARIABLE "SLURM_TF_RENDEZVOUS"

/* Other values of the variable: --tf-tasks=none; and srun could not start the rendezvous. */
#define CONTACT_OFF "none"
#define CONTACT_FAILED "failed"

/* Room for 128 random bits in hexadecimal, and NUL. */
#define CONTACT_TOKEN 33

/* What the first task of each node sends about the node's interfaces. */
enum contact_ask {
    CONTACT_ASK_NOTHING,        /* the address by which the node reaches srun is enough */
    CONTACT_ASK_INTERFACES,
    CONTACT_ASK_RAILS,          /* interfaces, and which CPUs each is close to */
};

struct contact {
    int port;
    /*
     * A task shows the token, and the rendezvous shows the server token. If srun dies and a
     * program of another user gets its port, it learns the first and cannot know the second.
     */
    char token[CONTACT_TOKEN];
    char server_token[CONTACT_TOKEN];
    /* Nodes show them to each other when their link is checked: a stranger's program may have the port. */
    char link_token[CONTACT_TOKEN], link_server_token[CONTACT_TOKEN];
    int timeout; /* seconds from the launch to the last registration */
    bool hold; /* a task keeps its port to its end; otherwise exec frees it */
    enum contact_ask ask;
    bool second_port; /* a task reserves another one, in case that it is PyTorch's process 0 */
    bool own_name; /* the first task of each node looks up the node's own name */
    char ports[1024]; /* "any", "reserved" or what port_ranges_parse () takes */
};

/* Fill in new tokens; -1 and err if the kernel gives no random bits. */
int contact_make_tokens (struct contact *contact, struct errtext *err);

/* The variable's value, to be freed; NULL if there is no memory. */
char *contact_encode (const struct contact *contact);

/*
 * -1 and err if the text is malformed. Version, port, token and server token come first in every version
 * of the protocol, so that a task of another version can register and is refused by name; then
 * the other fields have defaults.
 */
int contact_decode (struct contact *contact, const char *text, struct errtext *err);

/* Its keys (fields.h). */
extern const struct fields contact_fields;

#endif
