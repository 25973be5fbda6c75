/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-check: why does --tf-tasks not work on this host? It reads files and asks the kernel; it
 * starts nothing, needs no root and asks no daemon, so that it can run in a prolog.
 *
 * In a step it does that on each node, and tries to reach srun's host.
 */
#include "config.h"

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/variables.h"
#include "common/version.h"
#include "findings.h"
#include "installation.h"
#include "network.h"
#include "ports.h"
#include "reach.h"

static const char help[] =
    "Usage: tf-check [OPTIONS]\n"
    "       srun -N4 tf-check [OPTIONS]\n"
    "\n"
    "Look for reasons why srun --tf-tasks does not work on this host, and say what to do.\n"
    "In a step, the first task of each node prints its lines with the node's name in front.\n"
    "\n"
    "      --slurm-conf=FILE    a slurm.conf other than the one that srun uses\n"
    "  -q, --quiet              print warnings and errors only\n"
    "      --json               print one JSON object\n"
    "  -h, --help               print this\n"
    "      --version            print the version\n"
    "\n"
    "The exit code is 0 if all is well, 1 after warnings, and 2 after errors.\n"
    "See tf-check(1).\n";

struct options {
    const char *slurm_conf;
    bool quiet, json, help, version;
};

static const struct option known[] = {
    { "slurm-conf", required_argument, NULL, 'c' },
    { "quiet", no_argument, NULL, 'q' },
    { "json", no_argument, NULL, 'j' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'v' },
    { NULL, 0, NULL, 0 },
};

/* -1 if the command line is not valid; getopt_long () has said why. */
static int _read_options (struct options *options, int argc, char *argv[])
{
    int letter;

    while ((letter = getopt_long (argc, argv, "qh", known, NULL)) != -1)
        switch (letter) {
            case 'c': options->slurm_conf = optarg; break;
            case 'q': options->quiet = true; break;
            case 'j': options->json = true; break;
            case 'h': options->help = true; break;
            case 'v': options->version = true; break;
            default: return -1;
        }
    if (optind < argc)
        fprintf (stderr, "tf-check: \"%s\" is not an option\n", argv[optind]);
    return optind < argc ? -1 : 0;
}

static struct installation installation;
static struct findings findings;

/* `holds_port`: this is a task that has a port, so that ports= has been good enough. */
static void _check_host (const struct options *options, bool holds_port)
{
    installation_check (&installation, options->slurm_conf, 0, &findings);
    if (holds_port)
        installation.argument[OPTION_PORTS] = NULL;
    ports_check (&installation, &findings);
    network_check (&installation, &findings);
}

static void _print_json (const char *host)
{
    json_t *object = json_pack ("{s:s, s:s, s:s, s:s, s:s, s:o}", "host", host, "version", PACKAGE_VERSION,
                                "plugin", installation.version, "built_for", installation.built_for, "level",
                                level_name (findings.worst), "findings", findings_json (&findings));

    if (!object || json_dumpf (object, stdout, JSON_INDENT (2)) < 0)
        fprintf (stderr, "tf-check: JSON cannot be printed\n");
    putchar ('\n');
    json_decref (object);
}

/* `host` in front of each line tells the nodes of a step apart; NULL: there is only this host. */
static int _print (const struct options *options, const char *host)
{
    char prefix[300] = "", own[256] = "";

    if (host)
        snprintf (prefix, sizeof (prefix), "%s: ", host);
    gethostname (own, sizeof (own) - 1);
    if (options->json)
        _print_json (host ? host : own);
    else
        findings_print (&findings, options->quiet, prefix, stdout);
    return fflush (stdout) == 0 ? (int)findings.worst : LEVEL_ERROR;
}

/* The node on which this is a task of a step, or NULL. */
static const char *_node_of_step (void)
{
    return variable_of_slurm ("SLURM_LOCALID") && variable_of_slurm ("SLURM_STEP_NUM_NODES")
               ? getenv ("SLURMD_NODENAME")
               : NULL;
}

static int _check_step (const struct options *options, const char *node)
{
    if (strcmp (variable_of_slurm ("SLURM_LOCALID"), "0") != 0)
        return LEVEL_OK;
    _check_host (options, getenv ("SLURM_TF_PORT"));
    reach_check (&installation, &findings);
    return _print (options, node);
}

/* An option of older instructions. */
static int _refuse_step (void)
{
    fputs ("tf-check: --step was removed; use \"srun -N4 tf-check\" for the nodes, and "
           "\"srun -N4 --tf-tasks=worker:4 --tf-preflight true\" for the connections between them\n",
           stderr);
    return LEVEL_ERROR;
}

int main (int argc, char *argv[])
{
    struct options options = { .slurm_conf = NULL };
    const char *node = _node_of_step ();

    if (argc > 1 && strcmp (argv[1], "--step") == 0)
        return _refuse_step ();
    if (_read_options (&options, argc, argv) < 0) {
        fprintf (stderr, "See tf-check --help.\n");
        return LEVEL_ERROR;
    }
    if (options.version)
        return version_print ();
    if (options.help)
        return fputs (help, stdout) == EOF ? LEVEL_ERROR : LEVEL_OK;
    if (node)
        return _check_step (&options, node);
    _check_host (&options, false);
    return _print (&options, NULL);
}
