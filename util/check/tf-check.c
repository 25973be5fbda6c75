/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-check: why does --tf-tasks not work on this host? It reads files and asks the kernel; it
 * starts nothing, needs no root and asks no daemon, so that it can run in a prolog.
 *
 * tf-check --step does the same in every node of a step, and compares the nodes.
 */
#include "config.h"

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/errtext.h"
#include "common/list_text.h"
#include "common/version.h"
#include "findings.h"
#include "installation.h"
#include "network.h"
#include "ports.h"
#include "reach.h"
#include "report.h"
#include "step.h"

static const char help[] =
    "Usage: tf-check [OPTIONS]\n"
    "       srun [--tf-tasks=worker:N] tf-check --step [OPTIONS]\n"
    "\n"
    "Look for reasons why srun --tf-tasks does not work on this host, and say what to do.\n"
    "\n"
    "      --step               on each node of a step; with a list also compare the nodes\n"
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
    bool step, quiet, json, help, version;
};

static const struct option known[] = {
    { "slurm-conf", required_argument, NULL, 'c' },
    { "quiet", no_argument, NULL, 'q' },
    { "json", no_argument, NULL, 'j' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'v' },
    { "step", no_argument, NULL, 's' },
    { NULL, 0, NULL, 0 },
};

/* -1 if the command line is not valid; getopt_long () has said why. */
static int _read_options (struct options *options, int argc, char *argv[])
{
    int letter;

    while ((letter = getopt_long (argc, argv, "qh", known, NULL)) != -1)
        switch (letter) {
            case 'c': options->slurm_conf = optarg; break;
            case 's': options->step = true; break;
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
        installation.arguments.value[OPTION_PORTS] = NULL;
    ports_check (&installation.conf, &installation.arguments, &findings);
    network_check (&installation.conf, &installation.arguments, &findings);
}

static void _print_json (const char *host, const struct findings *what)
{
    json_t *object = json_pack ("{s:s, s:s, s:s, s:s, s:s, s:o}", "host", host, "version", PACKAGE_VERSION,
                                "plugin", installation.version, "built_for", installation.built_for, "level",
                                level_name (what->worst), "findings", findings_json (what));

    if (!object || json_dumpf (object, stdout, JSON_INDENT (2)) < 0)
        fprintf (stderr, "tf-check: JSON cannot be printed\n");
    putchar ('\n');
    json_decref (object);
}

/* `host` in front of each line tells the nodes of a step apart; NULL: there is only this host. */
static int _print (const struct options *options, const char *host, const struct findings *what)
{
    char prefix[300] = "", own[256] = "";

    if (host)
        snprintf (prefix, sizeof (prefix), "%s: ", host);
    gethostname (own, sizeof (own) - 1);
    if (options->json)
        _print_json (host ? host : own, what);
    else
        findings_print (what, options->quiet, prefix, stdout);
    return fflush (stdout) == 0 ? (int)what->worst : LEVEL_ERROR;
}

/* A step. */

static json_t *_report (const struct step *step)
{
    struct interface list[INTERFACE_MAX];
    struct errtext err;
    int count = interface_list (list, &err);
    struct address here, used = { .family = 0 };

    reach_local_end (&here);
    if (getenv ("SLURM_TF_ADDRESS"))
        address_parse (&used, getenv ("SLURM_TF_ADDRESS"));
    return report_encode (step->node, installation.version, &here, &used, list, count, &findings);
}

static int _send (const struct step *step)
{
    json_t *report = _report (step);
    struct errtext err;
    int rc = step_send (step, report, &err);

    json_decref (report);
    if (rc < 0)
        printf ("%s: error: %s; look at firewalls between the nodes\n", step->node, err.text);
    return rc < 0 ? LEVEL_ERROR : LEVEL_OK;
}

static void _missing (const struct step *step, const struct report *report, int count,
                      struct findings *verdict)
{
    char nodes[256];
    struct list_text list = { nodes, sizeof (nodes), ", ", 16, 0, 0 };

    for (int i = 0; i < count; i++)
        list_text_add (&list, report[i].node);
    findings_add (verdict, "report", LEVEL_ERROR, "look at their output, and at firewalls between the nodes",
                  "%d of the %d nodes %s did not report within %d s; these did: %s", step->nodes - count,
                  step->nodes, step->node_list, STEP_TIMEOUT_MS / 1000, list_text_end (&list));
}

/* In the order in which a user counts: n2 before n10. */
static int _compare_nodes (const void *a, const void *b)
{
    return strverscmp (((const struct report *)a)->node, ((const struct report *)b)->node);
}

static int _collect (const struct options *options, const struct step *step)
{
    static struct findings verdict;
    struct report *report = calloc ((size_t)step->nodes + 1, sizeof (*report));
    json_t *own = _report (step);
    struct errtext err;
    int count = 0;

    if (step->is_first_of_node && report)
        count = report_decode (report, own) == 0;
    json_decref (own);
    if (report)
        count = step_collect (step, report, count, &err);
    if (!report || count < 0) {
        printf ("%s: error: %s\n", step->node, report ? err.text : "there is no memory");
        return LEVEL_ERROR;
    }
    qsort (report, (size_t)count, sizeof (*report), _compare_nodes);
    if (count < step->nodes)
        _missing (step, report, count, &verdict);
    if (count)
        report_judge (report, (size_t)count, &verdict);
    for (int i = 0; i < count; i++)
        report_clear (&report[i]);
    free (report);
    return _print (options, NULL, &verdict);
}

static int _check_step (const struct options *options)
{
    struct errtext err;
    struct step step;

    if (step_read (&step, &err) < 0) {
        fprintf (stderr, "tf-check: %s\n", err.text);
        return LEVEL_ERROR;
    }
    if (!step.is_first_of_node && !step.collects)
        return LEVEL_OK;
    if (step.is_first_of_node) {
        _check_host (options, step.has_cluster);
        reach_check (&installation.conf, &installation.arguments, &findings);
    }
    if (!step.has_cluster)
        return _print (options, step.node, &findings);
    return step.collects ? _collect (options, &step) : _send (&step);
}

int main (int argc, char *argv[])
{
    struct options options = { .slurm_conf = NULL };

    if (_read_options (&options, argc, argv) < 0) {
        fprintf (stderr, "See tf-check --help.\n");
        return LEVEL_ERROR;
    }
    if (options.version)
        return version_print ();
    if (options.help)
        return fputs (help, stdout) == EOF ? LEVEL_ERROR : LEVEL_OK;
    if (options.step)
        return _check_step (&options);
    _check_host (&options, false);
    return _print (&options, NULL, &findings);
}
