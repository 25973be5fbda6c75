/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "step.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/number.h"
#include "common/port.h"
#include "common/tcp.h"
#include "common/variables.h"

#define MAX_NODES 65536
#define MAX_REPORT (256 * 1024ul)     /* bytes */
#define RETRY_MS 50                 /* until the task that collects listens */
#define READ_MS 2000                /* a report is sent at once */

/* The environment. */

static int _number (int *number, const char *name, int low, int high, struct errtext *err)
{
    if (number_parse (number, variable_of_slurm (name), low, high) == 0)
        return 0;
    return errtext_set (err,
                        "this is not a task of a step (%s is not set); use srun tf-check "
                        "--step",
                        name);
}

static int _read_config (struct step *step, const json_t *config)
{
    json_t *cluster = json_object_get (config, "cluster"), *task = json_object_get (config, "task");
    void *first = json_object_iter (cluster);
    const char *role = json_object_iter_key (first);
    const char *own = json_string_value (json_object_get (task, "type"));
    const json_t *address = json_array_get (json_object_iter_value (first), 0);

    if (!role || !own
        || address_parse_port (&step->collector, &step->collector_port, json_string_value (address)) < 0)
        return -1;
    step->collects = strcmp (role, own) == 0 && json_integer_value (json_object_get (task, "index")) == 0;
    return number_parse (&step->port, getenv ("SLURM_TF_PORT"), 1, 65535);
}

static int _read_cluster (struct step *step, const char *text, struct errtext *err)
{
    json_t *config = json_loads (text, 0, NULL);
    int rc = _read_config (step, config);

    json_decref (config);
    step->has_cluster = rc == 0;
    return rc < 0 ? errtext_set (err, "TF_CONFIG does not name a task of a cluster") : 0;
}

int step_read (struct step *step, struct errtext *err)
{
    const char *config = getenv ("TF_CONFIG");
    int local;

    memset (step, 0, sizeof (*step));
    if (_number (&local, "SLURM_LOCALID", 0, MAX_NODES, err) < 0
        || _number (&step->nodes, "SLURM_STEP_NUM_NODES", 1, MAX_NODES, err) < 0)
        return -1;
    step->is_first_of_node = local == 0;
    step->node = getenv ("SLURMD_NODENAME");
    step->node_list = variable_of_slurm ("SLURM_STEP_NODELIST");
    if (!step->node || !step->node_list)
        return errtext_set (err, "SLURMD_NODENAME or SLURM_STEP_NODELIST is not set");
    return config && getenv ("SLURM_TF_ROLE") ? _read_cluster (step, config, err) : 0;
}

/* A node that reports. */

/* The task that collects may not listen yet. */
static int _connect_patiently (const struct step *step, struct deadline deadline)
{
    int fd;

    while ((fd = tcp_connect (&step->collector, step->collector_port, deadline)) < 0 && errno == ECONNREFUSED
           && !deadline_passed (deadline))
        poll (NULL, 0, RETRY_MS);
    return fd;
}

static int _send_all (int fd, const char *text, struct deadline deadline)
{
    size_t left = strlen (text);

    while (left) {
        ssize_t n = send (fd, text, left, MSG_NOSIGNAL);

        if (n < 0 && (errno != EAGAIN || !deadline_wait (fd, POLLOUT, deadline)))
            return -1;
        text += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return shutdown (fd, SHUT_WR);
}

int step_send (const struct step *step, const json_t *report, struct errtext *err)
{
    struct deadline deadline = deadline_in_ms (STEP_TIMEOUT_MS);
    char *text = json_dumps (report, JSON_COMPACT);
    int fd = text ? _connect_patiently (step, deadline) : -1, rc = 0;
    struct address_text room;

    if (fd < 0 || _send_all (fd, text, deadline) < 0)
        rc = errtext_set (err, "the task at %s, which collects the reports, cannot be reached: %s",
                          address_print_port (&step->collector, step->collector_port, &room),
                          strerror (errno));
    else
        deadline_wait (fd, POLLIN, deadline);
    free (text);
    if (fd >= 0)
        close (fd);
    return rc;
}

/* The task that collects. */

/* Read until the sender has sent all. NULL if it does not do so, or sends too much. */
static json_t *_receive (int fd)
{
    struct deadline deadline = deadline_in_ms (READ_MS);
    char *text = malloc (MAX_REPORT);
    json_t *object = NULL;
    size_t used = 0;
    ssize_t n = 1;

    while (text && used < MAX_REPORT && n > 0 && deadline_wait (fd, POLLIN, deadline))
        if ((n = recv (fd, text + used, MAX_REPORT - used, 0)) > 0)
            used += (size_t)n;
    if (n == 0)
        object = json_loadb (text, used, 0, NULL);
    free (text);
    return object;
}

static bool _is_new (const struct report report[], int count, const char *node)
{
    for (int i = 0; i < count; i++)
        if (strcmp (report[i].node, node) == 0)
            return false;
    return true;
}

/* Take the report of one connection, which stays open if it is valid. Returns 1 or 0. */
static int _take_report (int fd, struct report report[], int count)
{
    json_t *object = _receive (fd);
    int rc = report_decode (&report[count], object);

    json_decref (object);
    if (rc == 0 && _is_new (report, count, report[count].node))
        return 1;
    report_clear (&report[count]);
    close (fd);
    return 0;
}

int step_collect (const struct step *step, struct report report[], int count, struct errtext *err)
{
    struct deadline deadline = deadline_in_ms (STEP_TIMEOUT_MS);
    int listener = port_listen_on (step->port, err);

    if (listener < 0)
        return -1;
    while (count < step->nodes && deadline_wait (listener, POLLIN, deadline)) {
        int fd = accept4 (listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0)
            count += _take_report (fd, report, count);
    }
    close (listener);
    return count;
}
