/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The exchange that --tf-tasks makes, by Slurm's own means: every task publishes an address,
 * waits until all tasks have done so, and reads the addresses of the others. tests/bench/launch
 * runs it under srun --mpi=pmi2. Exits with 0 if every address arrived.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <slurm/pmi2.h>

static int _put (int rank)
{
    char key[16], value[32];

    snprintf (key, sizeof (key), "%d", rank);
    snprintf (value, sizeof (value), "10.98.255.254:%d", 10000 + rank);
    return PMI2_KVS_Put (key, value);
}

static int _get (const char *job, int rank)
{
    char key[16], value[PMI2_MAX_VALLEN], expected[32];
    int length;

    snprintf (key, sizeof (key), "%d", rank);
    snprintf (expected, sizeof (expected), "10.98.255.254:%d", 10000 + rank);
    if (PMI2_KVS_Get (job, PMI2_ID_NULL, key, value, sizeof (value), &length) != PMI2_SUCCESS)
        return PMI2_FAIL;
    return strcmp (value, expected) == 0 ? PMI2_SUCCESS : PMI2_FAIL;
}

int main (void)
{
    int spawned, size, rank, number;
    char job[64];

    if (PMI2_Init (&spawned, &size, &rank, &number) != PMI2_SUCCESS
        || PMI2_Job_GetId (job, sizeof (job)) != PMI2_SUCCESS || _put (rank) != PMI2_SUCCESS
        || PMI2_KVS_Fence () != PMI2_SUCCESS) {
        fprintf (stderr, "pmi2: run this with srun --mpi=pmi2\n");
        return 1;
    }
    for (int other = 0; other < size; other++)
        if (other != rank && _get (job, other) != PMI2_SUCCESS) {
            fprintf (stderr, "pmi2: rank %d did not get the address of rank %d\n", rank, other);
            return 1;
        }
    return PMI2_Finalize () == PMI2_SUCCESS ? 0 : 1;
}
