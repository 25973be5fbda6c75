/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "lives.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/fork_request.h"

/*
 * A fork server answers within a millisecond, unless the node has no memory, or a user has stopped it. A
 * suspended job is resumed one process after the other, when that time may be over.
 */
#define ANSWER_MS 30000
#define RESUMED_MS 1000

#define HAS_ENDED "tf-fork-server, which starts it, has ended"
#define DOES_NOT_ANSWER "tf-fork-server, which starts it, does not answer"

static void _close_requests (struct lives *lives)
{
    if (lives->requests >= 0)
        close (lives->requests);
    lives->requests = -1;
}

bool lives_can_restart (const struct lives *lives)
{
    return lives->requests >= 0 && !lives->over;
}

/* With the answer and the stdin, if there are any to be sent. */
static ssize_t _send_request (struct lives *lives, struct fork_request request, int input)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE (FORK_MOST_DESCRIPTORS * sizeof (int))];
    } control = { .room = { 0 } };
    struct iovec part = { &request, sizeof (request) };
    struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
    int fd[FORK_MOST_DESCRIPTORS];
    size_t count = 0;
    ssize_t n;

    if ((request.answer = lives->answer >= 0 && request.check.number == 0))
        fd[count++] = lives->answer;
    if ((request.input = input >= 0))
        fd[count++] = input;
    if (count > 0) {
        control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN (count * sizeof (int)),
                                           .cmsg_level = SOL_SOCKET,
                                           .cmsg_type = SCM_RIGHTS };
        memcpy (CMSG_DATA (&control.header), fd, count * sizeof (int));
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE (count * sizeof (int));
    }
    n = sendmsg (lives->requests, &msg, MSG_NOSIGNAL);
    if (request.answer) {
        close (lives->answer);
        lives->answer = -1;
    }
    return n;
}

/* The reply's pid; -1 and err if it failed. */
static pid_t _receive_reply (struct lives *lives, struct errtext *err)
{
    struct pollfd pfd = { .fd = lives->requests, .events = POLLIN };
    struct fork_reply reply = { .kind = FORK_ENDED };
    bool came = true;

    /* A check may have ended that was killed, because a life is to begin. */
    while (came && reply.kind == FORK_ENDED)
        came = (poll (&pfd, 1, ANSWER_MS) == 1 || poll (&pfd, 1, RESUMED_MS) == 1)
               && recv (lives->requests, &reply, sizeof (reply), MSG_DONTWAIT) == sizeof (reply);
    if (!came) {
        errtext_set (err, DOES_NOT_ANSWER);
        /* If it replied later, that would be taken for its reply to another request. */
        lives_end (lives);
        return -1;
    }
    return reply.kind == FORK_FAILED ? errtext_set (err, "%s", reply.error.text) : reply.pid;
}

bool lives_next_end (struct lives *lives, struct fork_reply *end)
{
    return lives->serves && lives->requests >= 0
           && recv (lives->requests, end, sizeof (*end), MSG_DONTWAIT) == sizeof (*end)
           && end->kind == FORK_ENDED;
}

bool lives_serve (struct lives *lives)
{
    struct fork_reply reply;
    ssize_t n;

    if (lives->serves || !lives_can_restart (lives))
        return false;
    n = recv (lives->requests, &reply, sizeof (reply), MSG_DONTWAIT);
    lives->serves = n == sizeof (reply);
    if (n == 0)
        _close_requests (lives);
    return lives->serves;
}

int lives_set_answer (struct lives *lives, struct frame *answer, struct errtext *err)
{
    if (lives->answer >= 0)
        close (lives->answer);
    if ((lives->answer = frame_store (answer, "answer")) >= 0)
        return 0;
    return errtext_set (err, "its new answer: %s", strerror (errno));
}

pid_t lives_request (struct lives *lives, const struct fork_request *request, int fd, struct errtext *err)
{
    if (!lives_can_restart (lives))
        return errtext_set (err, HAS_ENDED);
    if (_send_request (lives, *request, fd) < 0)
        return errtext_set (err, DOES_NOT_ANSWER);
    return _receive_reply (lives, err);
}

pid_t lives_begin (struct lives *lives, int number, int input, struct errtext *err)
{
    struct fork_request request = { .life = number };
    pid_t pid;

    if (number > 0)
        iso_time (time (NULL), request.at);
    pid = lives_request (lives, &request, input, err);
    /* The fork server of a task that has one life has become that life. */
    if (pid == lives->fork_server) {
        lives->fork_server = 0;
        _close_requests (lives);
    } else if (pid < 0)
        lives_end (lives);
    return pid;
}

/* Not closed: at the end of the file it would end the life. */
void lives_end (struct lives *lives)
{
    lives->over = true;
    if (lives->fork_server)
        kill (lives->fork_server, SIGKILL);
}

bool lives_reaped (struct lives *lives, pid_t pid)
{
    if (pid != lives->fork_server)
        return false;
    lives->fork_server = 0;
    lives->over = true;
    return true;
}

void lives_finish (struct lives *lives)
{
    lives_end (lives);
    while (lives->fork_server && waitpid (lives->fork_server, NULL, 0) < 0 && errno == EINTR)
        ;
    lives->fork_server = 0;
    _close_requests (lives);
}
