/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a supervisor decides: supervise.golden tells the stories. The test plays its caller, with a task that
 * is made of a few flags.
 */
#include "config.h"

#include "story.h"

#include <signal.h>
#include <sys/wait.h>

#include "supervise/machine.h"

#define SIGNALLED_AT 1700000000

static struct supervisor_config config;
static struct machine machine;
static int64_t now;

/* The task, and what the rendezvous has answered. */
static struct {
    bool program, others;               /* the program runs; other processes of the task do */
    bool unstarted;                     /* the program is not executed yet */
    bool immortal, other_users;         /* SIGKILL does not end them; is refused */
    enum signals_reaction reaction;
    bool was_killed;                    /* in this event */
    bool woken;                         /* the caller has a signal to read: a child has ended */
    struct signal signal;               /* comes when the next life has begun */
    char fork_error[64];                /* of the next life, or "" */
    struct link link; /* to the rendezvous */
    bool saves; /* the rendezvous, and no signal, asked it to end first: there is no time of that */
    bool unknown; /* what is there has not shown the server's token */
} world;

/* Effects. */

static void end_program (int status, bool out_of_memory)
{
    world.program = false;
    machine_program_ended (&machine, now, status, world.unstarted, out_of_memory);
}

static void begin (int number)
{
    story_result ("begins life %d", number);
    if (*world.fork_error) {
        machine_cannot_begin (&machine, now, world.fork_error);
        world.fork_error[0] = '\0';
        return;
    }
    world.program = true;
    machine_begun (&machine, now);
    assert_false (machine.reported);
    if (world.signal.number)
        machine_signal (&machine, now, &world.signal);
    world.signal.number = 0;
}

static void kill_all (void)
{
    if (!world.was_killed)
        story_result ("kills");
    world.was_killed = true;
    if (world.other_users)
        machine_cannot_kill (&machine, now);
    if (world.other_users || world.immortal)
        return;
    if (world.program)
        end_program (SIGKILL, false);
    world.others = false;
    world.woken = true;
}

static void report (void)
{
    struct life_report life = machine_life (&machine, now);
    struct exit_report_text room;
    char text[256] = "", asked[32] = "", ago[32] = "";

    if (life.life >= 0)
        snprintf (text, sizeof (text), " of life %d", life.life);
    else if (life.cannot)
        snprintf (text, sizeof (text), " (no other life: %s)", life.cannot);
    if (life.asked_signal)
        snprintf (asked, sizeof (asked), " asked by %d", life.asked_signal);
    if (life.ago_ms > 0)
        snprintf (ago, sizeof (ago), " %d ms ago", life.ago_ms);
    assert_true (machine.reported);
    assert_int_equal (life.asked_at, life.asked_signal && !world.saves ? SIGNALLED_AT : 0);
    story_result ("reports %s%s%s%s", exit_report_describe (&machine.report, EXIT_REPORT_CELL, &room), text,
                  asked, ago);
}

static void leave (void)
{
    if (WIFSIGNALED (machine.status))
        story_result ("leaves by signal %d", WTERMSIG (machine.status));
    else
        story_result ("leaves with %d", WEXITSTATUS (machine.status));
}

static void perform (const struct effect *effect)
{
    switch (effect->kind) {
        case EFFECT_BEGIN: begin (effect->number); break;
        case EFFECT_SIGNAL: story_result ("program gets %d", effect->signal.number); break;
        case EFFECT_SIGNAL_ALL: story_result ("all get %d", effect->number); break;
        case EFFECT_KILL: kill_all (); break;
        case EFFECT_NO_LIFE: story_result ("ends the fork server"); break;
        case EFFECT_FINISH: story_result ("finishes"); break;
        case EFFECT_REPORT: report (); break;
        case EFFECT_SAY_UNSTARTED: story_print ("cannot start its program: %s\n", machine.cannot); break;
        case EFFECT_SAY_ALONE: story_print ("the rendezvous does not answer\n"); break;
        case EFFECT_LEAVE: leave (); break;
    }
}

static void perform_all (void)
{
    struct effect effect;

    while (machine_effect (&machine, &effect))
        perform (&effect);
}

static void hear (void)
{
    if (world.link.stands && !world.unknown)
        world.link.heard = now;
}

static void look (void)
{
    struct sight sight;
    int asks;

    perform_all ();
    hear ();
    machine_link (&machine, now, &world.link);
    perform_all ();
    asks = machine_asks (&machine, now);
    /* To look for processes takes time: not for what cannot matter. What is not asked does not count. */
    assert_true (asks == 0 || machine.phase == MACHINE_KILLS || machine_listens (&machine));
    assert_true (!(asks & MACHINE_ASKS_REACTION) || machine.signals.withheld);
    assert_true (!(asks & MACHINE_ASKS_UNSTARTED) || machine.stop_ordered);
    sight.left = (world.program || world.others) == !!(asks & MACHINE_ASKS_LEFT);
    sight.unstarted = world.unstarted == !!(asks & MACHINE_ASKS_UNSTARTED);
    sight.reaction = asks & MACHINE_ASKS_REACTION ? world.reaction : SIGNALS_HANDLE;
    machine_look (&machine, now, &sight);
    perform_all ();
}

/* Until nothing more happens at this moment. */
static void settle (void)
{
    int looks = 0;

    do {
        world.woken = false;
        look ();
        assert_true (looks++ < 20);
    } while (machine_due (&machine) <= now || world.woken);
}

static void pass (int ms)
{
    const int64_t end = now + ms;

    while (machine_due (&machine) <= end) {
        now = machine_due (&machine);
        settle ();
    }
    now = end;
}

/* Events. */

static void play_task (char *event)
{
    static const struct story_setting setting[] = {
        { "restart", .number = &config.restart.times }, { "any", .flag = &config.restart.any },
        { "grace", .number = &config.stop_grace },      { "KillWait", .number = &config.kill_wait },
        { "lost after", .number = &config.lost_after }, { "forwards", .flag = &config.forward_signals },
        { "serves", .flag = &config.serves },           { "spare", .flag = &config.spare },
        { "prints", .flag = &config.prints },
    };

    memset (&world, 0, sizeof (world));
    config = (struct supervisor_config){ .kill_wait = -1, .stop_grace = 10 };
    while (*event)
        if (story_begins (&event, "cannot be forked"))
            strcpy (world.fork_error, "no memory");
        else if (!story_sets (&event, setting, COUNT (setting)))
            story_unknown (event);
    now = 100000;
    world.link = (struct link){ .heard = now, .since = now, .stands = true };
    machine_start (&machine, &config, now);
}

static void play_order (char *event)
{
    struct goal goal = machine.goal;

    goal.stop = GOAL_RUN;
    if (story_begins (&event, "wait"))
        goal.report = machine.reports;
    else if (story_begins (&event, "stop at once"))
        goal.stop = GOAL_STOP_AT_ONCE;
    else if (story_begins (&event, "stop")) {
        goal.stop = GOAL_STOP;
        goal.code = *event ? story_number (&event) : GOAL_OWN_CODE;
    } else if (story_begins (&event, "end the lease"))
        goal.stop = GOAL_LEASE_OVER;
    else if (story_begins (&event, "abort"))
        goal.stop = GOAL_ABORT;
    else if (story_begins (&event, "save")) {
        goal.stop = GOAL_SAVE;
        world.saves = true;
    } else if (story_begins (&event, "restart")) {
        goal.life = story_number (&event);
        goal.report = machine.reports - story_begins (&event, "before its last report is there");
    } else if (story_begins (&event, "exit")) {
        goal.leave = true;
        goal.report = machine.reports;
        goal.code = *event ? story_number (&event) : GOAL_OWN_CODE;
    } else
        story_unknown (event);
    if (!machine_listens (&machine))
        fail_msg ("the machine takes no order now");
    world.unknown = false;
    hear ();
    machine_goal (&machine, now, &goal);
}

static void play_signal (char *event, bool slurm, bool terminal)
{
    struct signal signal = { .from_slurm = slurm, .from_terminal = terminal, .at = SIGNALLED_AT };

    signal.number = story_number (&event);
    if (story_begins (&event, "as the next life begins"))
        world.signal = signal;
    else
        machine_signal (&machine, now, &signal);
}

/* What is true of the task from now on. */
static bool play_world (char *event)
{
    if (story_begins (&event, "it leaves processes"))
        world.others = true;
    else if (story_begins (&event, "all end"))
        world.others = false;
    else if (story_begins (&event, "it is not executed yet"))
        world.unstarted = true;
    else if (story_begins (&event, "it is executed"))
        world.unstarted = false;
    else if (story_begins (&event, "it hangs in the kernel"))
        world.immortal = true;
    else if (story_begins (&event, "it is another user's"))
        world.other_users = true;
    else if (story_begins (&event, "it handles SIGTERM"))
        world.reaction = SIGNALS_HANDLE;
    else if (story_begins (&event, "it blocks SIGTERM"))
        world.reaction = SIGNALS_BLOCK;
    else if (story_begins (&event, "the next life fails:"))
        strcpy (world.fork_error, event);
    else
        return false;
    return true;
}

static bool play_end (char *event)
{
    if (story_begins (&event, "exit"))
        end_program (W_EXITCODE (story_number (&event), 0), false);
    else if (story_begins (&event, "signal"))
        end_program (story_number (&event), false);
    else if (story_begins (&event, "out of memory"))
        end_program (SIGKILL, true);
    else
        return false;
    return true;
}

static bool play_other (char *event)
{
    if (story_begins (&event, "slurmstepd dies"))
        machine_slurmstepd_died (&machine, now);
    else if (story_begins (&event, "the fork server is killed"))
        machine_no_life (&machine, now, "tf-fork-server was killed");
    else if (story_begins (&event, "it cannot be executed:")) {
        world.program = false;
        machine_cannot_begin (&machine, now, event);
    } else
        return false;
    return true;
}

/* What is known at this moment. */
static bool play_question (char *event)
{
    int64_t lost = machine_lost_since (&machine);

    if (story_begins (&event, "does it take orders"))
        story_result (machine_listens (&machine) ? "yes" : "no");
    else if (story_begins (&event, "is the job suspended"))
        story_result ("%s%s", machine_is_suspended (&machine, now) ? "yes" : "no",
                      machine.signals.suspended ? ", programs are stopped" : "");
    else if (story_begins (&event, "may the rendezvous have died"))
        story_result (lost == INT64_MAX ? "no" : "since %d ms", (int)(now - lost));
    else
        return false;
    return true;
}

static void connect_to (bool stands)
{
    hear ();
    world.link.stands = stands;
    world.link.since = now;
    world.link.refused = false;
}

static bool play_link (char *event)
{
    if (story_begins (&event, "the connection breaks"))
        connect_to (false);
    else if (story_begins (&event, "it is refused"))
        world.link.refused = true;
    else if (story_begins (&event, "the connection is silent")) {
        hear ();
        world.unknown = true;
    } else if (story_begins (&event, "there is one to something unknown")) {
        connect_to (true);
        world.unknown = true;
    } else if (story_begins (&event, "there is a connection")) {
        connect_to (true);
        world.unknown = false;
    } else
        return false;
    return true;
}

/* This process cannot run, and then looks late. */
static bool play_stopped (char *event)
{
    if (!story_begins (&event, "all processes are stopped for"))
        return false;
    now += story_number (&event);
    return true;
}

static void play_event (char *event)
{
    world.was_killed = false;
    if (story_begins (&event, "task"))
        play_task (event);
    else if (story_begins (&event, "order"))
        play_order (event);
    else if (story_begins (&event, "slurm sends"))
        play_signal (event, true, false);
    else if (story_begins (&event, "terminal sends"))
        play_signal (event, false, true);
    else if (story_begins (&event, "a process sends"))
        play_signal (event, false, false);
    else if (*event >= '0' && *event <= '9') {
        pass (story_number (&event));
        return;
    } else if (play_question (event))
        return;
    else if (!play_stopped (event) && !play_world (event) && !play_end (event) && !play_other (event)
             && !play_link (event))
        story_unknown (event);
    settle ();
}

STORIES (GOLDEN, play_event, NULL)
