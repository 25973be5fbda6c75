/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How srun starts the rendezvous: tf-rendezvous itself, or a script in its place.
 */
#include "config.h"

#include "messages.h"
#include "sockets.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/port.h"
#include "protocol/rendezvous_config.h"
#include "launch/rendezvous.h"
#include "launch/srun_config.h"

/* The time for the rendezvous to begin is divided by this. */
static int64_t divisor = 1;

struct deadline __real_deadline_in_ms (int64_t ms);
struct deadline __wrap_deadline_in_ms (int64_t ms);

struct deadline __wrap_deadline_in_ms (int64_t ms)
{
    return __real_deadline_in_ms (ms / divisor);
}

/* A script in the place of tf-rendezvous. */
static const char *script_with (const char *text)
{
    const char *path = file_with (text);

    assert_int_equal (chmod (path, 0700), 0);
    return path;
}

static struct frame *configuration (void)
{
    /* clang-format off */
    const struct rendezvous_config config = {
        .token = TOKEN, .server_token = SERVER_TOKEN,
        .step = "12.0", .lists = 1, .list = { { "ps,worker", false } }, .timeout = 60,
    };
    /* clang-format on */

    return fields_frame (&rendezvous_config_fields, &config);
}

/* Start the program on a port of its own. */
static int start (const char *program, int *port, struct errtext *err)
{
    const struct port_ranges any = { 0 };
    struct frame *frame = configuration ();
    struct port *reserved;
    int rc, listener;

    assert_int_equal (port_reserve (&reserved, &any, 0, PORT_FOR_A_SERVER, err), 0);
    *port = reserved->number;
    assert_true ((listener = port_listen_on (reserved->number, err)) >= 0);
    rc = rendezvous_start (program, "12.0", NULL, listener, frame, err);
    port_release (reserved);
    frame_destroy (frame);
    return rc;
}

static bool accepts_connections (int port)
{
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = connect_to (fd, port);

    close (fd);
    return rc == 0;
}

static void check_start (void)
{
    struct errtext err = { "" };
    int port;

    if (start (TF_RENDEZVOUS, &port, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (accepts_connections (port));
}

TEST (it_has_read_its_configuration_and_listens)
{
    check_start ();
}

/* Users set LD_LIBRARY_PATH for their programs. */
TEST (no_variable_of_the_user_keeps_it_from_starting)
{
    const char *dir = new_directory ();

    write_file (path_in (dir, "libjansson.so.4"), "");
    setenv ("LD_LIBRARY_PATH", dir, 1);
    check_start ();
    unsetenv ("LD_LIBRARY_PATH");
}

TEST (a_program_that_ends_first_is_reported_with_its_end)
{
    static const struct {
        const char *text, *end;
    } row[] = {
        { "#!/bin/sh\nexit 127\n", "exit 127" },
        { "#!/bin/sh\nkill -SEGV $$\n", "signal 11" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        const char *script = script_with (row[i].text);
        struct errtext err = { "" };
        char expected[256];
        int port;

        assert_int_equal (start (script, &port, &err), -1);
        snprintf (expected, sizeof (expected), "%s ended before it had read its configuration, %s", script,
                  row[i].end);
        assert_string_equal (err.text, expected);
        assert_false (accepts_connections (port));
        assert_true (waitpid (-1, NULL, WNOHANG) <= 0);
    }
}

TEST (a_program_that_cannot_be_executed_is_reported)
{
    const char *script = script_with ("this is not a program\n");
    struct errtext err = { "" };
    char expected[256];
    int port;

    if (is_under_valgrind ())
        SKIP ("valgrind's vfork () is a fork (), so posix_spawn () does not know that exec failed");
    assert_int_equal (start (script, &port, &err), -1);
    snprintf (expected, sizeof (expected), "%s: Exec format error", script);
    assert_string_equal (err.text, expected);
}

/* As if it were loaded from a filesystem that hangs. */
TEST (a_program_that_never_reads_its_configuration_is_killed)
{
    const char *script = script_with ("#!/bin/sh\nexec sleep 1000\n");
    struct errtext err = { "" };
    char expected[256];
    int port, status;

    divisor = 50;
    assert_int_equal (start (script, &port, &err), -1);
    divisor = 1;
    snprintf (expected, sizeof (expected), "%s has not read its configuration within 10 s", script);
    assert_string_equal (err.text, expected);
    assert_true (wait (&status) > 0);
    assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);
}

/* Jobs of a federation have numbers of up to 32 bits. */
TEST (a_job_of_an_array_has_its_name_there_whatever_its_number)
{
    static const struct {
        const char *job, *task, *name;
    } row[] = {
        { "59", "1", "59_1" }, { "4294967293", "0", "4294967293_0" }, { "4294967296", "0", NULL },
        { "0", "0", NULL },    { "59", "4294967294", NULL },          { "59", "", NULL },
    };
    const struct contact contact = { .token = TOKEN, .server_token = SERVER_TOKEN };
    const struct srun_facts facts = { .wait_time = 0 };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct errtext err = { "" };
        struct frame *frame;
        const char *name;

        setenv ("SLURM_ARRAY_JOB_ID", row[i].job, 1);
        setenv ("SLURM_ARRAY_TASK_ID", row[i].task, 1);
        assert_non_null (frame = srun_config_encode (&facts, &contact, "12.0", &err));
        name = frame_get (frame, "ARRAY");
        assert_string_equal (name ? name : "none", row[i].name ? row[i].name : "none");
        frame_destroy (frame);
    }
    unsetenv ("SLURM_ARRAY_JOB_ID");
    unsetenv ("SLURM_ARRAY_TASK_ID");
}
