/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The socket for heartbeats, on this kernel and, with a setsockopt () that knows less, on an older one.
 * tests/system/watchdog.bats has two users.
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/watch_socket.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

static bool old;

int __wrap_setsockopt (int fd, int level, int name, const void *value, socklen_t length);
int __real_setsockopt (int fd, int level, int name, const void *value, socklen_t length);

int __wrap_setsockopt (int fd, int level, int name, const void *value, socklen_t length)
{
    if (old && level == SOL_SOCKET && name == SO_PASSRIGHTS) {
        errno = ENOPROTOOPT;
        return -1;
    }
    return __real_setsockopt (fd, level, name, value, length);
}

static struct watch_socket_name name;

static int begin (bool on_old_kernel)
{
    struct errtext err = { "" };
    int fd, senders_known = 0;
    socklen_t length = sizeof (senders_known);

    old = on_old_kernel;
    fd = watch_socket_open (&name, "12.0", 3, &err);
    if (fd < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (fcntl (fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal (getsockopt (fd, SOL_SOCKET, SO_PASSCRED, &senders_known, &length), 0);
    assert_int_equal (senders_known, 1);
    return fd;
}

/* On an older kernel: the descriptor that programs inherit. */
static int inherited (void)
{
    int file = -1;

    assert_int_equal (sscanf (name.text, "/proc/self/fd/%d", &file), 1);
    return file;
}

/* As a program that has NOTIFY_SOCKET does, with a descriptor or without (-1). The error, or 0. */
static int give (const char *text, int descriptor)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE (sizeof (int))];
    } control = { .header = { CMSG_LEN (sizeof (int)), SOL_SOCKET, SCM_RIGHTS } };
    struct iovec iov = { (char *)(uintptr_t)text, strlen (text) };
    struct msghdr header = { .msg_name = &address, .msg_iov = &iov, .msg_iovlen = 1 };
    int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;

    memcpy (address.sun_path, name.text, strlen (name.text));
    if (name.text[0] == '@')
        address.sun_path[0] = '\0';
    header.msg_namelen = (socklen_t)(offsetof (struct sockaddr_un, sun_path) + strlen (name.text));
    if (descriptor >= 0) {
        memcpy (CMSG_DATA (&control.header), &descriptor, sizeof (descriptor));
        header.msg_control = &control;
        header.msg_controllen = sizeof (control);
    }
    error = sendmsg (fd, &header, 0) < 0 ? errno : 0;
    close (fd);
    return error;
}

static bool gets (int fd, const char *text)
{
    char room[64] = "";

    return recv (fd, room, sizeof (room) - 1, 0) == (ssize_t)strlen (text) && strcmp (room, text) == 0;
}

TEST (since_linux_6_16_no_descriptor_comes)
{
    int fd = begin (false), yes;
    socklen_t length = sizeof (yes);

    if (getsockopt (fd, SOL_SOCKET, SO_PASSRIGHTS, &yes, &length) < 0) {
        close (fd);
        SKIP ("this kernel has no SO_PASSRIGHTS");
    }
    assert_int_equal (strncmp (name.text, "@spank_tf/12.0/3/", strlen ("@spank_tf/12.0/3/")), 0);
    assert_int_equal (give ("forged", STDIN_FILENO), EPERM);
    assert_int_equal (give ("WATCHDOG=1", -1), 0);
    assert_true (gets (fd, "WATCHDOG=1"));
    assert_false (gets (fd, "forged"));
    close (fd);
}

TEST (on_an_older_kernel_it_has_a_file_of_the_user_and_no_name)
{
    int fd = begin (true), file = inherited ();
    struct stat st;

    assert_true (file >= 200);
    assert_int_equal (fcntl (file, F_GETFD), 0);
    assert_int_equal (fstat (file, &st), 0);
    assert_int_equal (st.st_mode, S_IFSOCK | 0600);
    assert_int_equal (st.st_uid, geteuid ());
    assert_int_equal (st.st_nlink, 0);
    close (file);
    close (fd);
}

TEST (on_an_older_kernel_what_inherits_the_descriptor_reaches_it)
{
    int fd = begin (true);
    pid_t pid;

    assert_int_equal (give ("WATCHDOG=1", -1), 0);
    assert_true (gets (fd, "WATCHDOG=1"));
    /* sd_notify_barrier () */
    assert_int_equal (give ("BARRIER=1", STDIN_FILENO), 0);
    assert_true (gets (fd, "BARRIER=1"));
    pid = fork ();
    if (pid == 0)
        _exit (give ("a child", -1));
    assert_int_equal (end_of (pid), 0);
    assert_true (gets (fd, "a child"));
    close (inherited ());
    assert_int_equal (give ("without it", -1), ENOENT);
    close (fd);
}

TEST (no_descriptor_is_left_when_it_cannot_be_made)
{
    struct errtext err = { "" };
    int next = next_descriptor ();
    struct rlimit limit, none;

    assert_int_equal (getrlimit (RLIMIT_NOFILE, &limit), 0);
    none = limit;
    /* The socket can be opened, and its file cannot. */
    none.rlim_cur = (rlim_t)next + 1;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    old = true;
    assert_int_equal (watch_socket_open (&name, "12.0", 3, &err), -1);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &limit), 0);
    assert_true (is_line (err.text));
    assert_int_equal (next_descriptor (), next);
}
