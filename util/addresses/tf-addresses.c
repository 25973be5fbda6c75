/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-addresses INTERFACE...: print which CPUs each network interface is close to, according to
 * hwloc: a line "INTERFACE MASK" for each interface that hwloc can place, nothing for the others.
 *
 * The first task of a node runs it, as the user, if the node has more than one InfiniBand
 * interface, its tasks are bound to CPUs, and sysfs does not have the answer.
 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>

#include "common/version.h"

/* A bond of child interfaces of ports has a depth of 2. */
#define MAX_DEPTH 4

/* The CPUs close to a port's card; NULL if the interface is not a port. */
static hwloc_const_cpuset_t _cpus_of_port (hwloc_topology_t topology, const char *name)
{
    hwloc_obj_t device = NULL;

    while ((device = hwloc_get_next_osdev (topology, device)))
        if (device->name && strcmp (device->name, name) == 0) {
            hwloc_obj_t place = hwloc_get_non_io_ancestor_obj (topology, device);

            return place ? place->cpuset : NULL;
        }
    return NULL;
}

/* A bond or a child interface is close to the CPUs that the ports below it are close to. */
static int _add_cpus (hwloc_bitmap_t cpus, hwloc_topology_t topology, const char *name, int depth)
{
    hwloc_const_cpuset_t of_port = _cpus_of_port (topology, name);
    char path[64];
    struct dirent *entry;
    int found = 0;
    DIR *dir;

    if (of_port)
        return hwloc_bitmap_or (cpus, cpus, of_port) == 0;
    snprintf (path, sizeof (path), "/sys/class/net/%.15s", name);
    if (depth == MAX_DEPTH || strchr (name, '/') || !(dir = opendir (path)))
        return 0;
    while ((entry = readdir (dir)))
        if (strncmp (entry->d_name, "lower_", 6) == 0)
            found |= _add_cpus (cpus, topology, entry->d_name + 6, depth + 1);
    closedir (dir);
    return found;
}

static int _print (hwloc_topology_t topology, const char *name)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc ();
    char *mask = NULL;
    int rc = -1;

    if (!cpus)
        return -1;
    if (!_add_cpus (cpus, topology, name, 0) || hwloc_bitmap_iszero (cpus) || hwloc_bitmap_weight (cpus) < 0)
        rc = 0;
    else if (hwloc_bitmap_taskset_asprintf (&mask, cpus) > 0)
        rc = printf ("%s %s\n", name, mask) < 0 ? -1 : 0;
    free (mask);
    hwloc_bitmap_free (cpus);
    return rc;
}

/*
 * Load only network devices and their CPUs: to find out the PCI bus, caches and cores takes
 * several times as long.
 */
static int _load (hwloc_topology_t *topology)
{
    /* "x86" runs on every CPU in turn; the others start the drivers of GPUs. */
    static const char *const excluded[] = {
        "x86", "cuda", "nvml", "opencl", "rsmi", "levelzero", "gl",
    };

    if (hwloc_topology_init (topology) < 0)
        return -1;
    hwloc_topology_set_flags (*topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    for (size_t i = 0; i < sizeof (excluded) / sizeof (excluded[0]); i++)
        hwloc_topology_set_components (*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, excluded[i]);
    hwloc_topology_set_cache_types_filter (*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter (*topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter (*topology, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    return hwloc_topology_load (*topology);
}

int main (int argc, char *argv[])
{
    hwloc_topology_t topology;
    int rc = 0;

    if (version_is_wanted (argc, argv))
        return version_print ();
    if (argc < 2) {
        fprintf (stderr, "usage: tf-addresses INTERFACE...\n");
        return 2;
    }
    if (_load (&topology) < 0) {
        fprintf (stderr, "tf-addresses: hwloc cannot read this node's topology\n");
        return 1;
    }
    for (int i = 1; i < argc && rc == 0; i++)
        rc = _print (topology, argv[i]);
    hwloc_topology_destroy (topology);
    return rc < 0 || fflush (stdout) != 0;
}
