/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-status: what does a job do now? It asks the tf-rendezvous of each step, by a tf-status on srun's host
 * if that is another one.
 */
#include "config.h"

#include <ctype.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "asking.h"
#include "common/errtext.h"
#include "common/number.h"
#include "common/version.h"
#include "stacks.h"

/* Exit codes. */
enum { FOUND, NOT_FOUND, FAILED };

/* Seconds between two looks, on a terminal and elsewhere, and at a job that has no step. */
#define WATCH_TERMINAL 2
#define WATCH_LINES 30
#define WATCH_JOB 5
#define WATCH_MOST 86400

/* As in terminfo: to the first line; clear to the end of the line, and of the screen; wrap lines or not. */
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define NO_WRAP "\033[?7l"
#define WRAP "\033[?7h"

/* If the terminal does not tell its size. */
#define LINES 23
/* Of a screen, in bytes. */
#define BUFFER 65536

static const char help[] =
    "Usage: tf-status [OPTIONS] [JOB[.STEP]]\n"
    "\n"
    "Print what the tasks of a job with --tf-tasks do now. Without a job: a line for each of your jobs.\n"
    "\n"
    "  -a, --all              print each task, even if there are many\n"
    "  -w, --watch[=SECONDS]  redraw it until the job ends\n"
    "      --stacks[=ROLE]    print where the Python of each task is, without ending it\n"
    "      --json             print one JSON object\n"
    "      --local            ask on this host only\n"
    "  -h, --help             print this\n"
    "      --version          print the version\n"
    "\n"
    "The exit code is 0 if a job step was found or no job was given, 1 if none was found,\n"
    "and 2 after errors.\n"
    "See tf-status(1).\n";

struct options {
    struct asking asking; /* .seconds 0: once */
    bool help, version;
    /* Of another tf-status: */
    bool node; /* the stacks of this node */
    int relay; /* seconds between rounds; -1: there is none */
};

static const struct option known[] = {
    { "all", no_argument, NULL, 'a' },
    { "watch", optional_argument, NULL, 'w' },
    { "stacks", optional_argument, NULL, 's' },
    { "json", no_argument, NULL, 'j' },
    { "local", no_argument, NULL, 'l' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'v' },
    /* Between two tf-status. */
    { "relay", required_argument, NULL, 'r' },
    { "lines", no_argument, NULL, 'L' },
    { "node", no_argument, NULL, 'n' },
    { NULL, 0, NULL, 0 },
};

/* The command line. */

/* It gets into the command lines of squeue and srun. */
static int _read_job (struct options *options, char *text)
{
    size_t length = strlen (text);
    char *dot = strchr (text, '.');

    if (!isdigit ((unsigned char)text[0]) || length >= 32 || strspn (text, "0123456789_+.") != length)
        return -1;
    if (dot)
        *dot++ = '\0';
    if (dot && (!*dot || strspn (dot, "0123456789") != strlen (dot)))
        return -1;
    options->asking.wanted.job = text;
    options->asking.wanted.step = dot;
    return 0;
}

static int _read_seconds (int *seconds, const char *text, int least)
{
    if (number_parse (seconds, text, least, WATCH_MOST) == 0)
        return 0;
    fprintf (stderr, "tf-status: --watch takes seconds, 1 to %d\n", WATCH_MOST);
    return -1;
}

static int _read_option (struct options *options, int letter)
{
    struct asking *asking = &options->asking;

    switch (letter) {
        case 'a': asking->look.all = true; break;
        case 'w':
            asking->seconds = isatty (STDOUT_FILENO) ? WATCH_TERMINAL : WATCH_LINES;
            return optarg ? _read_seconds (&asking->seconds, optarg, 1) : 0;
        case 's':
            asking->look.stacks = true;
            asking->look.role = optarg;
            break;
        case 'j': asking->look.json = true; break;
        case 'l': asking->local = true; break;
        case 'h': options->help = true; break;
        case 'v': options->version = true; break;
        case 'L': asking->look.lines = true; break;
        case 'n': options->node = true; break;
        case 'r': return _read_seconds (&options->relay, optarg, 0);
        default: return -1;
    }
    return 0;
}

/* -1 if the command line is not valid, and stderr says why. */
static int _read_options (struct options *options, int argc, char *argv[])
{
    const struct asking *asking = &options->asking;
    int letter;

    while ((letter = getopt_long (argc, argv, "ahw", known, NULL)) != -1)
        if (_read_option (options, letter) < 0)
            return -1;
    if (argc - optind > 1 || (argc > optind && _read_job (options, argv[optind]) < 0)) {
        fprintf (stderr, "tf-status: give one job, such as 4711 or 4711.0\n");
        return -1;
    }
    if ((options->relay >= 0 || options->node) && !asking->wanted.job)
        return -1;
    if ((asking->seconds > 0 || asking->look.stacks) && !asking->wanted.job) {
        fprintf (stderr, "tf-status: %s needs a job, such as 4711\n",
                 asking->look.stacks ? "--stacks" : "--watch");
        return -1;
    }
    return 0;
}

/* A terminal on which a text is drawn again and again. */

static void _stop_waiting (int signal __attribute__ ((unused)))
{
}

static void _begin_screen (void)
{
    const struct sigaction action = { .sa_handler = _stop_waiting };

    /* All at once, so that Ctrl-C does not find it half drawn, without wrapping. */
    setvbuf (stdout, NULL, _IOFBF, BUFFER);
    sigaction (SIGWINCH, &action, NULL);
}

/*
 * It is not cleared before, because that flickers. Lines that were too long would push others out, and then
 * each text would begin elsewhere: the terminal itself cuts them, as it knows how wide a character is.
 */
static int _draw (const char *text)
{
    struct winsize size = { 0 };
    int left = ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row - 1 : LINES;

    fputs (NO_WRAP HOME, stdout);
    for (; *text && left > 0; left--) {
        size_t length = strcspn (text, "\n");

        printf ("%.*s" CLEAR_LINE "\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
    fputs (CLEAR_BELOW WRAP, stdout);
    return fflush (stdout);
}

/* Again if the size changes. */
static int _show_on_screen (const char *text, int seconds)
{
    unsigned int left = (unsigned int)seconds;

    do {
        if (_draw (text) < 0)
            return -1;
        left = sleep (left);
    } while (left > 0);
    return 0;
}

/* What is printed. */

/* Print it, and wait. */
static int _print (const struct asking *asking, bool redraw, int seconds)
{
    char *text = asking_text (asking);
    int rc = text ? 0 : -1;

    if (text && redraw)
        rc = _show_on_screen (text, seconds);
    else if (text && (fputs (text, stdout) < 0 || fflush (stdout) != 0))
        rc = -1;
    else if (text)
        sleep ((unsigned int)seconds);
    free (text);
    return rc;
}

/* How many steps have answered; -1, and stderr says why. */
static int _round (struct asking *asking)
{
    struct errtext err;
    int answers = asking_round (asking, &err);

    if (answers < 0)
        fprintf (stderr, "tf-status: %s\n", err.text);
    return answers;
}

/* FOUND if there are steps; otherwise stderr says why there are none. */
static int _show (struct asking *asking)
{
    int answers = _round (asking);

    if (answers < 0)
        return FAILED;
    if ((answers > 0 || !asking->wanted.job || asking->look.json) && _print (asking, false, 0) < 0)
        return FAILED;
    if (answers > 0 || !asking->wanted.job)
        return FOUND;
    asking_print_notes (asking);
    return NOT_FOUND;
}

/* Slurm will not run any of these jobs again. */
static bool _are_over (const struct asking *asking)
{
    for (int i = 0; i < asking->count; i++)
        if (asking->jobs[i].info.phase != JOB_IS_OVER)
            return false;
    return true;
}

/* A job may have no step for a while. */
static int _watch (struct asking *asking)
{
    bool redraw = isatty (STDOUT_FILENO) && !asking->look.json, shown = false;
    int answers;

    if (redraw)
        _begin_screen ();
    while ((answers = _round (asking)) >= 0) {
        bool over = answers == 0 && (_are_over (asking) || (shown && asking->wanted.step));
        int seconds = answers > 0 || asking->seconds > WATCH_JOB ? asking->seconds : WATCH_JOB;

        if (over && !shown) {
            asking_print_notes (asking);
            return NOT_FOUND;
        }
        if (answers == 0 && asking->look.json)
            sleep (over ? 0 : (unsigned int)seconds);
        else if (_print (asking, redraw, over ? 0 : seconds) < 0)
            return FAILED;
        if (over)
            return FOUND;
        shown = shown || answers > 0;
    }
    return FAILED;
}

/* For a tf-status on another host. */
static int _relay (struct asking *asking, int seconds)
{
    if (fputs (RELAY_MARK, stdout) < 0)
        return FAILED;
    do {
        char *text;
        bool printed;

        if (_round (asking) < 0)
            return FAILED;
        text = look_text (&asking->look, &asking->here);
        printed =
            text && fputs (text, stdout) >= 0 && fputs (RELAY_MARK, stdout) >= 0 && fflush (stdout) == 0;
        free (text);
        if (!printed)
            return FAILED;
        sleep ((unsigned int)seconds);
    } while (seconds > 0);
    return FOUND;
}

static int _ask_for (struct asking *asking, int relay)
{
    bool watches = asking->seconds > 0;
    int rc;

    asking->wanted.number = relay >= 0;
    asking->local = asking->local || relay >= 0;
    asking->look.lines = asking->look.lines || !asking->wanted.job || (watches && !isatty (STDOUT_FILENO));
    rc = relay >= 0 ? _relay (asking, relay) : watches ? _watch (asking) : _show (asking);
    asking_end (asking);
    return rc;
}

int main (int argc, char *argv[])
{
    struct options options = { .relay = -1 };

    if (_read_options (&options, argc, argv) < 0) {
        fprintf (stderr, "See tf-status --help.\n");
        return FAILED;
    }
    if (options.version)
        return version_print ();
    if (options.help)
        return fputs (help, stdout) == EOF ? FAILED : FOUND;
    if (options.node)
        return stacks_print_here (&options.asking.wanted, options.asking.look.role) < 0 ? FAILED : FOUND;
    return _ask_for (&options.asking, options.relay);
}
