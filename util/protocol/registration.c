/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "registration.h"

#include <limits.h>
#include <string.h>

#include "fields.h"
#include "hello.h"

static void _encode_interfaces (struct frame *frame, const char *key, const void *message)
{
    const struct registration *r = message;

    for (int i = 0; i < r->interfaces; i++) {
        const struct interface *interface = &r->interface[i];
        const char *cpus = interface->local_cpus;
        struct interface_text room;

        frame_add (frame, key, "%s%s%s", interface_print (interface, &room), cpus ? " " : "",
                   cpus ? cpus : "");
    }
}

static int _take_interfaces (void *message, const struct frame *frame, const char *key)
{
    struct registration *r = message;

    for (const char *text = NULL; (text = frame_get_next (frame, key, text));)
        if (r->interfaces == INTERFACE_MAX || interface_parse (&r->interface[r->interfaces++], text) < 0)
            return -1;
    return 0;
}

static const struct field_other interfaces = { _encode_interfaces, _take_interfaces, "an interface" };

#define MESSAGE struct registration

/* clang-format off */
static const struct field row[] = {
    FIELD ("NODE", node, TEXT, FIELD_NEEDED, 0, REGISTRATION_MAX_NODE),
    FIELD ("STEP", step, TEXT, FIELD_NEEDED, 0, REGISTRATION_MAX_STEP),
    FIELD ("RANK", rank, NUMBER, FIELD_NEEDED, 0, REGISTRATION_MAX_TASKS - 1),
    FIELD ("TASKS", tasks, NUMBER, FIELD_NEEDED, 1, REGISTRATION_MAX_TASKS),
    FIELD ("COMPONENT_FIRST", component_first, NUMBER, FIELD_NEEDED, 0, REGISTRATION_MAX_TASKS - 1),
    FIELD ("COMPONENT_TASKS", component_tasks, NUMBER, FIELD_NEEDED, 1, REGISTRATION_MAX_TASKS),
    FIELD ("NODE_INDEX", node_index, NUMBER, FIELD_NEEDED, 0, REGISTRATION_MAX_TASKS - 1),
    FIELD ("HOST", host.id, CHARS, FIELD_NEEDED, 0, sizeof (((struct registration *)0)->host.id) - 1),
    FIELD ("ADDRESS", address, ADDRESS, FIELD_NEEDED),
    FIELD ("PORT", port, NUMBER, FIELD_OPTIONAL, 1, 65535),
    FIELD ("COMPONENT", component, NUMBER, FIELD_OPTIONAL, 1, REGISTRATION_MAX_TASKS),
    FIELD ("MASTER_PORT", master_port, NUMBER, FIELD_OPTIONAL, 1, 65535),
    FIELD ("GPUS", gpus, NUMBER, FIELD_OPTIONAL, 1, REGISTRATION_MAX_GPUS),
    FIELD ("ERROR", error, TEXT, FIELD_OPTIONAL),
    FIELD ("SUPERVISOR_ERROR", supervisor_error, TEXT, FIELD_OPTIONAL),
    FIELD ("LOG_DIR", log_dir, TEXT, FIELD_OPTIONAL, 0, PATH_MAX - 1),
    FIELD ("LOG_DIR_PRIVATE", log_dir_private, FLAG, FIELD_OPTIONAL),
    FIELD ("PROXIED", proxied, FLAG, FIELD_OPTIONAL),
    FIELD ("USERS", users, TEXT, FIELD_OPTIONAL),
    FIELD ("STEP_NODES", step_nodes, TEXT, FIELD_OPTIONAL),
    FIELD ("STEP_NODE_TASKS", step_node_tasks, TEXT, FIELD_OPTIONAL),
    FIELD ("OWN_NAME", own_name, TEXT, FIELD_OPTIONAL),
    FIELD ("CPUS", cpus, TEXT, FIELD_OPTIONAL),
    FIELD ("LOCALITY_ERROR", locality_error, TEXT, FIELD_OPTIONAL),
    FIELD_BY ("INTERFACE", interfaces, FIELD_OPTIONAL),
};
/* clang-format on */

const struct fields registration_fields = FIELDS ("a registration", row);

struct frame *registration_encode (const struct registration *r, const char *token)
{
    const struct hello hello = { .token = token, .release = PACKAGE_VERSION };
    struct registration sent = *r;
    struct frame *frame = frame_create ();

    if (!frame)
        return NULL;
    if (r->error)
        sent.port = 0;
    fields_encode (&hello_fields, frame, &hello);
    fields_encode (&registration_fields, frame, &sent);
    return frame;
}

static bool _is_consistent (const struct registration *r)
{
    return r->rank < r->tasks && r->node_index < r->tasks && r->component_tasks <= r->tasks
           && r->component_first <= r->tasks - r->component_tasks && r->rank >= r->component_first
           && r->rank < r->component_first + r->component_tasks;
}

int registration_decode (struct registration *r, const struct frame *frame, struct errtext *err)
{
    memset (r, 0, sizeof (*r));
    if (fields_decode (&registration_fields, r, frame, err) < 0)
        return -1;
    if (!_is_consistent (r))
        return errtext_set (err, "numbers of a registration contradict each other");
    if (r->error)
        r->port = 0;
    return r->error || r->port ? 0 : errtext_set (err, "a registration lacks PORT");
}
