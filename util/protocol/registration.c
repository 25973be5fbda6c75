/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "registration.h"

#include <stdio.h>
#include <string.h>

#include "hello.h"

#define INTERFACE "INTERFACE"

static void _encode_interfaces (struct frame *frame, const struct registration *r)
{
    for (int i = 0; i < r->interfaces; i++) {
        const struct interface *interface = &r->interface[i];
        const char *cpus = interface->local_cpus;
        struct interface_text room;

        frame_add (frame, INTERFACE, "%s%s%s", interface_print (interface, &room), cpus ? " " : "",
                   cpus ? cpus : "");
    }
}

struct frame *registration_encode (const struct registration *r, const char *token)
{
    const struct hello hello = { .token = token, .node = r->node };
    struct frame *frame = frame_create ();
    struct address_text room;

    if (!frame)
        return NULL;
    hello_encode (frame, &hello);
    frame_add (frame, "STEP", "%s", r->step);
    frame_add (frame, "RANK", "%d", r->rank);
    frame_add (frame, "TASKS", "%d", r->tasks);
    frame_add (frame, "COMPONENT_FIRST", "%d", r->component_first);
    frame_add (frame, "COMPONENT_TASKS", "%d", r->component_tasks);
    frame_add (frame, "NODE_INDEX", "%d", r->node_index);
    frame_add (frame, "HOST", "%s", r->host.id);
    frame_add (frame, "ADDRESS", "%s", address_print (&r->address, &room));
    if (!r->error)
        frame_add (frame, "PORT", "%d", r->port);
    if (r->master_port)
        frame_add (frame, "MASTER_PORT", "%d", r->master_port);
    if (r->gpus)
        frame_add (frame, "GPUS", "%d", r->gpus);
    frame_add_text (frame, "ERROR", r->error);
    frame_add_text (frame, "SUPERVISOR_ERROR", r->supervisor_error);
    frame_add_text (frame, "LOG_DIR", r->log_dir);
    frame_add_flag (frame, "PROXIED", r->proxied);
    frame_add_text (frame, "USERS", r->users);
    frame_add_text (frame, "NODE_RANKS", r->node_ranks);
    frame_add_text (frame, "STEP_NODES", r->step_nodes);
    frame_add_text (frame, "STEP_NODE_TASKS", r->step_node_tasks);
    frame_add_text (frame, "OWN_NAME", r->own_name);
    frame_add_text (frame, "CPUS", r->cpus);
    frame_add_text (frame, "LOCALITY_ERROR", r->locality_error);
    _encode_interfaces (frame, r);
    return frame;
}

static int _decode_interfaces (struct registration *r, const struct frame *frame)
{
    for (const char *text = NULL; (text = frame_get_next (frame, INTERFACE, text));)
        if (r->interfaces == INTERFACE_MAX || interface_parse (&r->interface[r->interfaces++], text) < 0)
            return -1;
    return 0;
}

static bool _decode_number (int *number, const struct frame *frame, const char *key, int low, int high)
{
    *number = frame_get_number (frame, key, low, high);
    return *number >= low;
}

/* 0 if the key is missing. */
static bool _decode_if_there (int *number, const struct frame *frame, const char *key, int high)
{
    *number = frame_has (frame, key) ? frame_get_number (frame, key, 1, high) : 0;
    return *number >= 0;
}

static bool _decode_numbers (struct registration *r, const struct frame *frame)
{
    return _decode_number (&r->tasks, frame, "TASKS", 1, REGISTRATION_MAX_TASKS)
           && _decode_number (&r->rank, frame, "RANK", 0, r->tasks - 1)
           && _decode_number (&r->component_tasks, frame, "COMPONENT_TASKS", 1, r->tasks)
           && _decode_number (&r->component_first, frame, "COMPONENT_FIRST", 0, r->tasks - r->component_tasks)
           && r->rank >= r->component_first && r->rank < r->component_first + r->component_tasks
           && _decode_number (&r->node_index, frame, "NODE_INDEX", 0, r->tasks - 1)
           && _decode_if_there (&r->master_port, frame, "MASTER_PORT", 65535)
           && _decode_if_there (&r->gpus, frame, "GPUS", REGISTRATION_MAX_GPUS);
}

static bool _decode_names (struct registration *r, const struct frame *frame)
{
    const char *host = frame_get (frame, "HOST");
    const char *address = frame_get (frame, "ADDRESS");
    struct hello hello;

    hello_decode (&hello, frame);
    r->node = hello.node;
    r->step = frame_get (frame, "STEP");
    if (!r->node || strlen (r->node) > REGISTRATION_MAX_NODE || !r->step
        || strlen (r->step) > REGISTRATION_MAX_STEP || !host || strlen (host) >= sizeof (r->host.id)
        || !address || address_parse (&r->address, address) < 0)
        return false;
    snprintf (r->host.id, sizeof (r->host.id), "%s", host);
    return true;
}

int registration_decode (struct registration *r, const struct frame *frame, struct errtext *err)
{
    memset (r, 0, sizeof (*r));
    r->error = frame_get (frame, "ERROR");
    r->supervisor_error = frame_get (frame, "SUPERVISOR_ERROR");
    r->log_dir = frame_get (frame, "LOG_DIR");
    r->proxied = frame_has (frame, "PROXIED");
    r->users = frame_get (frame, "USERS");
    r->node_ranks = frame_get (frame, "NODE_RANKS");
    r->step_nodes = frame_get (frame, "STEP_NODES");
    r->step_node_tasks = frame_get (frame, "STEP_NODE_TASKS");
    r->own_name = frame_get (frame, "OWN_NAME");
    r->cpus = frame_get (frame, "CPUS");
    r->locality_error = frame_get (frame, "LOCALITY_ERROR");
    if (!_decode_names (r, frame))
        return errtext_set (err, "a registration without its node, step, host or address");
    if (!_decode_numbers (r, frame))
        return errtext_set (err, "a registration whose numbers are out of range");
    if (_decode_interfaces (r, frame) < 0)
        return errtext_set (err, "a registration with a malformed interface");
    if (!r->error && !_decode_number (&r->port, frame, "PORT", 1, 65535))
        return errtext_set (err, "a registration without a port");
    return 0;
}
