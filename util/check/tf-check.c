/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-check: why does --tf-tasks not work on this host? It reads files and asks the kernel; it starts
 * nothing, needs no root and asks no daemon, so that it can run in a prolog.
 */
#include "config.h"

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/version.h"
#include "findings.h"
#include "installation.h"
#include "network.h"
#include "ports.h"
#include "python.h"

static const char help[] =
    "Usage: tf-check [OPTIONS]\n"
    "\n"
    "Look for reasons why srun --tf-tasks does not work on this host, and say what to do.\n"
    "\n"
    "      --python=PYTHON      also say which TensorFlow this Python has\n"
    "      --slurm-conf=FILE    the slurm.conf of another Slurm than that which srun uses\n"
    "  -q, --quiet              print warnings and errors only\n"
    "      --json               print one JSON object\n"
    "  -h, --help               print this\n"
    "      --version            print the version\n"
    "\n"
    "The exit code is 0 if all is well, 1 after warnings, and 2 after errors.\n"
    "See tf-check(1).\n";

struct options {
    const char *python;
    const char *slurm_conf;
    bool quiet, json, help, version;
};

static const struct option known[] = {
    { "python", required_argument, NULL, 'p' }, { "slurm-conf", required_argument, NULL, 'c' },
    { "quiet", no_argument, NULL, 'q' },        { "json", no_argument, NULL, 'j' },
    { "help", no_argument, NULL, 'h' },         { "version", no_argument, NULL, 'v' },
    { NULL, 0, NULL, 0 },
};

/* -1 if the command line is not valid; getopt_long () has said why. */
static int _read_options (struct options *options, int argc, char *argv[])
{
    int letter;

    while ((letter = getopt_long (argc, argv, "qh", known, NULL)) != -1)
        switch (letter) {
            case 'p': options->python = optarg; break;
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

static void _print_json (const struct installation *i, const struct findings *findings)
{
    char host[256] = "";
    json_t *object;

    gethostname (host, sizeof (host) - 1);
    object = json_pack ("{s:s, s:s, s:s, s:s, s:s, s:o}", "host", host, "version",
                        PACKAGE_VERSION, "plugin", i->version, "slurm", i->slurm, "level",
                        level_name (findings->worst), "findings", findings_json (findings));
    if (!object || json_dumpf (object, stdout, JSON_INDENT (2)) < 0)
        fprintf (stderr, "tf-check: JSON cannot be printed\n");
    putchar ('\n');
    json_decref (object);
}

static int _check_host (const struct options *options)
{
    static struct installation installation;
    static struct findings findings;

    installation_check (&installation, options->slurm_conf, &findings);
    ports_check (&installation.conf, &installation.arguments, &findings);
    network_check (&installation.conf, &installation.arguments, &findings);
    if (options->python)
        python_check (options->python, &findings);
    if (options->json)
        _print_json (&installation, &findings);
    else
        findings_print (&findings, options->quiet, "", stdout);
    return (int)findings.worst;
}

int main (int argc, char *argv[])
{
    struct options options = { .python = NULL };

    if (_read_options (&options, argc, argv) < 0) {
        fprintf (stderr, "See tf-check --help.\n");
        return LEVEL_ERROR;
    }
    if (options.version)
        return version_print ();
    if (options.help)
        return fputs (help, stdout) == EOF ? LEVEL_ERROR : LEVEL_OK;
    return _check_host (&options);
}
