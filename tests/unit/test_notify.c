/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The program is a script of each test, which has some tenths of a second.
 */
#include "config.h"

#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "rendezvous/notify.h"

static const char *directory;
static char program[128];

/* Of the time that everything has. */
#define SHORT 20
#define LONG 1000
static int percent = LONG;

struct deadline __real_deadline_in_ms (int64_t ms);
struct deadline __wrap_deadline_in_ms (int64_t ms);

struct deadline __wrap_deadline_in_ms (int64_t ms)
{
    return __real_deadline_in_ms (ms * percent / 100);
}

/* Orphans become children of this process, so that it sees when nothing is left. */
static int create (void **state)
{
    (void)state;
    directory = new_directory ();
    snprintf (program, sizeof (program), "%s/program", directory);
    return prctl (PR_SET_CHILD_SUBREAPER, 1);
}

ALL_TESTS (create, NULL)

/* A script, in which $D is the directory. */
static void write_program (const char *script)
{
    const char *name = path_in (directory, "program.new");
    char text[1024];

    snprintf (text, sizeof (text), "#!/bin/sh\nD=%s\n%s\n", directory, script);
    write_file (name, text);
    assert_int_equal (chmod (name, 0700), 0);
    assert_int_equal (rename (name, program), 0);
    unlink (path_in (directory, "out"));
}

static const char *out (void)
{
    return file_text (path_in (directory, "out"));
}

static void tell (const char *site, const char *text, bool last)
{
    notify_begin (site, NULL, 0);
    notify_event ("12.0", text, last);
}

/* No process is left, and none has been left for longer. */
static void await_end (int most_ms)
{
    struct deadline deadline = __real_deadline_in_ms (most_ms);

    while (waitpid (-1, NULL, WNOHANG) >= 0) {
        assert_false (deadline_passed (deadline));
        poll (NULL, 0, 5);
    }
}

TEST (each_event_is_on_the_stdin_of_a_program_in_their_order)
{
    write_program ("sleep 0.05; cat >> $D/out");
    tell (program, "one\n", false);
    tell (program, "two\n", false);
    tell (program, "three\n", true);
    await_end (20000);
    assert_string_equal (out (), "one\ntwo\nthree\n");
}

/* More than a pipe takes, and the program reads nothing at first. */
TEST (an_event_may_be_long)
{
    size_t size = 3 << 20;
    char *text = malloc (size + 1);

    assert_non_null (text);
    memset (text, 'x', size);
    text[size] = '\0';
    write_program ("wc -c > $D/out");
    tell (program, text, false);
    free (text);
    await_end (20000);
    assert_int_equal (atoi (out ()), size);
}

TEST (it_has_no_variables_nor_descriptors_of_others_and_a_session_of_its_own)
{
    int pair[2];

    assert_int_equal (pipe (pair), 0);
    write_program ("ls -l /proc/$$/fd > $D/open\n"
                   "{ pwd; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= -e ^PATH=/usr/local/sbin;\n"
                   "for n in 0 2; do readlink /proc/$$/fd/$n; done; grep -c pipe $D/open\n"
                   "[ $(cut -d ' ' -f 6 /proc/$$/stat) = $$ ] && echo session; } > $D/out");
    tell (program, "", false);
    await_end (20000);
    close (pair[0]);
    close (pair[1]);
    assert_string_equal (out (), "/\n/memfd:event (deleted)\n/dev/null\n0\nsession\n");
}

/* As if srun were this process. */
TEST (the_users_has_sruns_variables_and_directory_and_both_get_each_event)
{
    char site[160], own[256], expected[400];

    write_program ("cat >> $D/out");
    snprintf (site, sizeof (site), "%s", path_in (directory, "site"));
    assert_int_equal (rename (program, site), 0);
    write_program ("{ cat; echo $SLURM_JOB_ID.$SLURM_STEP_ID; env | grep -c ^PATH=; pwd; } > $D/own");
    notify_begin (site, program, getpid ());
    notify_event ("12.3", "one\n", true);
    await_end (20000);
    assert_string_equal (out (), "one\n");
    assert_non_null (getcwd (own, sizeof (own)));
    snprintf (expected, sizeof (expected), "one\n12.3\n1\n%s\n", own);
    assert_string_equal (file_text (path_in (directory, "own")), expected);
    notify_begin (NULL, NULL, 0);
}

TEST (a_program_that_hangs_is_killed_and_the_next_one_runs)
{
    percent = SHORT;
    write_program ("read word; trap '' TERM\n"
                   "if [ $word = hang ]; then sleep 1000 & sleep 1000; fi; echo $word > $D/out");
    tell (program, "hang\n", false);
    tell (program, "next\n", false);
    await_end (20000);
    assert_string_equal (out (), "next\n");
    percent = LONG;
}

TEST (what_it_leaves_is_killed)
{
    write_program ("echo left > $D/out; sleep 1000 &");
    tell (program, "", false);
    await_end (20000);
    assert_string_equal (out (), "left\n");
}

TEST (a_program_that_cannot_be_executed_or_fails_harms_nothing)
{
    tell ("/nonexistent", "", false);
    tell ("/dev/null", "", false);
    write_program ("cat >> $D/out; kill -9 $$");
    tell (program, "one\n", false);
    tell (program, "two\n", true);
    await_end (20000);
    assert_string_equal (out (), "one\ntwo\n");
}

/* While the first one runs, seven wait, and the last one too. */
TEST (more_events_than_may_wait_are_dropped_but_not_the_last)
{
    char text[16], go[96];

    write_program ("cat >> $D/out; until [ -e $D/go ]; do sleep 0.01; done");
    for (int i = 0; i < NOTIFY_MOST + 3; i++) {
        snprintf (text, sizeof (text), "%d\n", i);
        tell (program, text, false);
    }
    tell (program, "last\n", true);
    tell (program, "another\n", true);
    snprintf (go, sizeof (go), "%s/go", directory);
    close (open (go, O_CREAT | O_WRONLY, 0600));
    await_end (60000);
    assert_string_equal (out (), "0\n1\n2\n3\n4\n5\n6\n7\nlast\n");
}

static void await_last (void)
{
    while (notify_has_last ())
        poll (NULL, 0, 5);
}

TEST (while_the_program_has_the_last_event_that_is_known_once)
{
    write_program ("cat >> $D/out");
    tell (program, "first\n", false);
    tell (program, "last\n", true);
    await_last ();
    assert_string_equal (out (), "first\nlast\n");
    await_end (20000);
    write_program ("echo $$ > $D/out; exec sleep 1000");
    tell (program, "", true);
    assert_true (notify_has_last ());
    AWAIT (atoi (out ()) != 0);
    kill (atoi (out ()), SIGKILL);
    await_last ();
    await_end (20000);
    assert_false (notify_has_last ());
}

TEST (there_is_room_again_when_they_have_ended)
{
    write_program ("cat >> $D/out");
    tell (program, "again\n", false);
    await_end (20000);
    assert_string_equal (out (), "again\n");
}
