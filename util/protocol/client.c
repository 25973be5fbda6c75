/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/tcp.h"

/* Before a broken connection is made again. */
#define RECONNECT_MS 200
/*
 * A refused connection usually means that the rendezvous has ended; but a host that is overloaded,
 * and a firewall that is just being configured, refuse connections for a moment too.
 */
#define REFUSED_MS 2000

/* 1 and *frame; 0 when the deadline passed; -1 when the connection broke. */
static int _receive_answer (int fd, struct deadline deadline, struct frame **frame, struct errtext *err)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_ANSWER };
    int n = 0;

    while (n == 0 && deadline_wait (fd, POLLIN, deadline))
        n = frame_read (&reader, fd, frame, err);
    frame_reader_clear (&reader);
    return n;
}

static int _exchange (int fd, struct registration *registration, const char *token, struct deadline deadline,
                      struct frame **answer, struct errtext *err)
{
    struct frame *frame;
    int rc;

    if (address_local (&registration->address, fd) < 0
        || !(frame = registration_encode (registration, token)))
        return errtext_set (err, "%s", strerror (errno));
    rc = frame_send (frame, fd, err);
    frame_destroy (frame);
    return rc < 0 ? -1 : _receive_answer (fd, deadline, answer, err);
}

/*
 * A supervisor speaks for its task later. Ignore errors: the task has all that it needs, and the
 * rendezvous sees that the connection broke.
 */
static void _acknowledge (const struct client_answer *answer)
{
    struct frame *frame = answer->answer.supervised ? NULL : acknowledgement_encode ();

    if (frame)
        frame_send (frame, answer->fd, NULL);
    frame_destroy (frame);
}

static enum client_outcome _outcome (struct client_answer *answer, const struct contact *contact,
                                     struct errtext *err)
{
    enum client_outcome outcome = CLIENT_ANSWERED;

    if (answer_decode (&answer->answer, answer->frame, contact->server_token, err) < 0)
        outcome = CLIENT_NO_RENDEZVOUS;
    else if (answer->answer.refused)
        outcome = CLIENT_REFUSED;
    if (outcome == CLIENT_ANSWERED)
        _acknowledge (answer);
    else {
        frame_destroy (answer->frame);
        tcp_abort (answer->fd);
    }
    return outcome;
}

/* How one attempt to register ended. */
enum attempt { ANSWERED, NOT_LISTENING, BROKEN };

static enum attempt _try_once (struct registration *registration, const struct contact *contact,
                               const struct address *srun, struct deadline deadline,
                               struct client_answer *answer, struct errtext *why)
{
    int n;

    if ((answer->fd = tcp_connect (srun, contact->port, deadline)) < 0) {
        enum attempt attempt = errno == ECONNREFUSED ? NOT_LISTENING : BROKEN;

        errtext_set (why, "%s", strerror (errno));
        return attempt;
    }
    n = _exchange (answer->fd, registration, contact->token, deadline, &answer->frame, why);
    if (n == 1)
        return ANSWERED;
    close (answer->fd);
    return BROKEN;
}

enum client_outcome client_register (struct registration *registration, const struct contact *contact,
                                     const struct address *srun, struct deadline deadline,
                                     struct client_answer *answer, struct errtext *err)
{
    const struct timespec pause = { .tv_nsec = RECONNECT_MS * 1000000L };
    struct deadline refused = deadline_in_ms (REFUSED_MS);
    struct errtext why = { "it does not answer" };
    struct address_text room;

    address_print_port (srun, contact->port, &room);
    for (; !deadline_passed (deadline); nanosleep (&pause, NULL))
        switch (_try_once (registration, contact, srun, deadline, answer, &why)) {
            case ANSWERED: return _outcome (answer, contact, err);
            case BROKEN: refused = deadline_in_ms (REFUSED_MS); break;
            case NOT_LISTENING:
                if (!deadline_passed (refused))
                    break;
                errtext_set (err,
                             "no rendezvous listens on %s: it or srun has ended, or srun "
                             "could not start it (srun --async does not)",
                             room.text);
                return CLIENT_NO_RENDEZVOUS;
        }
    errtext_set (err, "the rendezvous, %s, could not be reached: %s", room.text, why.text);
    return CLIENT_TIMED_OUT;
}
