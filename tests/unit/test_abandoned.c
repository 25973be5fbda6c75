/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * When a supervisor asks Slurm about a job whose first node may have died.
 */
#include "config.h"

#include "unit.h"

#include <sys/stat.h>

#include "supervise/abandoned.h"

#define NEVER INT64_MAX

/* What goes to syslog: so many lines, and the last. */
static int told;
static char told_last[1024];

void __wrap_syslog (int priority, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));
void __wrap___syslog_chk (int priority, int flag, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

static void __attribute__ ((format (printf, 1, 0))) tell (const char *fmt, va_list ap)
{
    vsnprintf (told_last, sizeof (told_last), fmt, ap);
    told++;
}

void __wrap_syslog (int priority __attribute__ ((unused)), const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    tell (fmt, ap);
    va_end (ap);
}

/* With _FORTIFY_SOURCE it is this one. */
void __wrap___syslog_chk (int priority __attribute__ ((unused)), int flag __attribute__ ((unused)),
                          const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    tell (fmt, ap);
    va_end (ap);
}

/* It asks at these times, if the rendezvous is lost at 1000; looked at each half second until 130000. */
static void assert_asks (const struct supervisor_config *config, const int64_t *at, int count)
{
    struct abandoned a;
    int asked = 0;

    abandoned_init (&a, config);
    for (int64_t now = 0; now < 130000; now += 500)
        if (abandoned_asks (&a, now < 1000 ? NEVER : 1000, now)) {
            assert_true (asked < count);
            assert_int_equal (now, at[asked++]);
            assert_true (a.due > now);
        }
    assert_int_equal (asked, count);
}

TEST (nodes_ask_one_after_the_other)
{
    static const int64_t second[] = { 3000, 18000, 33000, 48000, 63000, 78000, 93000, 108000, 123000 };
    static const int64_t twentieth[] = { 41000, 81000, 121000 };
    struct supervisor_config config = { .node = "n2", .options = { .batch_host = "n1" }, .node_index = 1 };

    assert_asks (&config, second, 9);
    config.node_index = 20;
    assert_asks (&config, twentieth, 3);
}

TEST (the_batch_host_and_steps_without_one_do_not_ask)
{
    static const int64_t never = NEVER;
    struct supervisor_config config = { .node = "n1", .options = { .batch_host = "n1" } };

    assert_asks (&config, &never, 0);
    config.options.batch_host = NULL;
    assert_asks (&config, &never, 0);
}

TEST (a_rendezvous_that_is_back_ends_it)
{
    struct supervisor_config config = { .node = "n2", .options = { .batch_host = "n1" }, .node_index = 1 };
    struct abandoned a;

    abandoned_init (&a, &config);
    assert_false (abandoned_asks (&a, 1000, 1000));
    assert_int_equal (a.due, 3000);
    assert_false (abandoned_asks (&a, NEVER, 3000));
    assert_int_equal (a.due, NEVER);
    assert_true (abandoned_asks (&a, 5000, 7000));
}

TEST (a_program_that_runs_is_not_started_again)
{
    struct supervisor_config config = { .node = "n2", .options = { .batch_host = "n1" }, .node_index = 1 };
    struct abandoned a;

    abandoned_init (&a, &config);
    a.program = 17;
    assert_false (abandoned_asks (&a, 1000, 3000));
    assert_false (abandoned_asks (&a, 1000, 18000));
    assert_int_equal (a.due, 33000);
    a.program = 0;
    assert_true (abandoned_asks (&a, 1000, 33000));
}

/* Later a directory of PATH may hang. */
TEST (slurms_commands_are_found_at_the_start)
{
    const char *work = new_directory (), *program = path_in (work, "scontrol");
    char path[256];
    struct supervisor_config config = { .node = "n2", .options = { .batch_host = "n1" }, .path = path };
    struct abandoned a;

    write_file (program, "");
    snprintf (path, sizeof (path), "::/nowhere:%s:/nowhere", work);
    abandoned_init (&a, &config);
    assert_string_equal (a.slurm, "");
    assert_int_equal (chmod (program, 0755), 0);
    abandoned_init (&a, &config);
    assert_string_equal (a.slurm, work);
}

/* There is no tf-abandoned beside this program. */
TEST (only_the_first_attempt_that_fails_is_told)
{
    struct supervisor_config config = { .step = "7.0",
                                        .node = "n2",
                                        .options = { .batch_host = "n1", .if_abandoned = "requeue" } };
    struct abandoned a;

    if (is_under_valgrind ())
        SKIP ("valgrind's vfork () is a fork (), so posix_spawn () does not know that exec failed");
    abandoned_init (&a, &config);
    abandoned_start (&a);
    assert_int_equal (told, 1);
    assert_non_null (strstr (told_last, "step 7.0: n1 may have died with the batch script, and "));
    assert_non_null (strstr (told_last, "/tf-abandoned cannot be started: No such file or directory; "));
    abandoned_start (&a);
    assert_int_equal (told, 1);
}
