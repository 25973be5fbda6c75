/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A pipe has as much, by default. */
#define PIECE ((size_t)65536)

void input_init (struct input *input, const struct supervisor_config *config)
{
    struct stat st;

    /* Nothing may be dropped before the first life; but a spare may never have one. */
    *input = (struct input){ .from = -1, .to = -1, .begun = config->spare };
    if ((config->restart.times == 0 && !config->options.preflight) || fstat (STDIN_FILENO, &st) < 0
        || !S_ISFIFO (st.st_mode))
        return;
    input->from = fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, SUPERVISOR_LAST_FD + 1);
    input->relays = input->from >= 0;
}

static void _close (int *fd)
{
    if (*fd >= 0)
        close (*fd);
    *fd = -1;
}

static bool _is_given (const struct input *input)
{
    return input->given == input->size;
}

static void _end_if_all_is_given (struct input *input)
{
    if (input->from < 0 && _is_given (input))
        _close (&input->to);
}

int input_begin (struct input *input, int *fd, struct errtext *err)
{
    int pair[2];

    *fd = -1;
    if (!input->relays)
        return 0;
    if (pipe2 (pair, O_CLOEXEC) < 0 || fcntl (pair[1], F_SETFL, O_NONBLOCK) < 0)
        return errtext_set (err, "no pipe for its stdin: %s", strerror (errno));
    _close (&input->to);
    input->to = pair[1];
    input->given = 0;
    input->begun = true;
    *fd = pair[0];
    _end_if_all_is_given (input);
    return 0;
}

void input_poll (const struct input *input, bool waits, struct pollfd pfd[2])
{
    bool reads = input->to >= 0 ? _is_given (input) : input->begun && !waits;

    pfd[0] = (struct pollfd){ .fd = reads ? input->from : -1, .events = POLLIN };
    pfd[1] = (struct pollfd){ .fd = input->to, .events = _is_given (input) ? 0 : POLLOUT };
}

static void _forget (struct input *input)
{
    free (input->kept);
    input->kept = NULL;
    input->size = input->room = input->given = 0;
}

static bool _make_room (struct input *input)
{
    size_t room = input->room ? 2 * input->room : PIECE;
    char *kept;

    if (input->room - input->size >= PIECE)
        return true;
    if (!(kept = realloc (input->kept, room)))
        return false;
    input->kept = kept;
    input->room = room;
    return true;
}

/* Nothing else reads the pipe, so it is not empty, and this does not wait. */
static void _take_piece (struct input *input)
{
    ssize_t n;

    if (input->lost && (_is_given (input) || input->to < 0))
        _forget (input);
    if (!_make_room (input)) {
        input->lost = true;
        return;
    }
    n = read (input->from, input->kept + input->size, PIECE);
    if (n > 0)
        input->size += (size_t)n;
    else if (n == 0 || errno != EINTR)
        _close (&input->from);
    input->lost = input->lost || input->size > INPUT_MOST;
}

/* All signals are blocked: that of a broken pipe must not be taken for one from Slurm. */
static void _take_sigpipe (void)
{
    static const struct timespec at_once = { 0 };
    sigset_t set;

    sigemptyset (&set);
    sigaddset (&set, SIGPIPE);
    sigtimedwait (&set, NULL, &at_once);
}

static void _give (struct input *input)
{
    ssize_t n = write (input->to, input->kept + input->given, input->size - input->given);

    if (n >= 0)
        input->given += (size_t)n;
    else if (errno == EPIPE) {
        _take_sigpipe ();
        _close (&input->to);
    }
}

bool input_serve (struct input *input, const struct pollfd pfd[2])
{
    bool lost = input->lost;

    if (pfd[0].revents && input->from >= 0)
        _take_piece (input);
    if (pfd[1].revents & POLLERR)
        _close (&input->to);
    if (input->to >= 0 && !_is_given (input))
        _give (input);
    _end_if_all_is_given (input);
    return lost || !input->lost;
}
