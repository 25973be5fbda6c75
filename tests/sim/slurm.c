/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * srun and Slurm: signals, suspension, and the end of a step.
 */
#include "config.h"

#include "inside.h"

#include <signal.h>
#include <sys/wait.h>

/* From SIGTSTP to SIGSTOP. */
#define SUSPEND_MS 2000

static int _code_of (int status)
{
    return WIFSIGNALED (status) ? 128 + WTERMSIG (status) : WEXITSTATUS (status);
}

void slurm_end_srun (int least)
{
    int code = least;

    if (!w.srun)
        return;
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.known[i] && _code_of (w.exit_status[i]) > code)
            code = _code_of (w.exit_status[i]);
    w.srun = false;
    notes_add (SRUN_ENDED, -1, code);
    notes_say ("srun ends with %d", code);
    if (!w.runs)
        return;
    job_cut (w.job, w.now);
    rendezvous_perform_facts ();
    rendezvous_end ();
}

void slurm_know_exit (int rank)
{
    bool all = true, first = true;

    for (int i = 0; i < w.plan->tasks; i++)
        first = first && !w.known[i];
    w.known[rank] = true;
    for (int i = 0; i < w.plan->tasks; i++)
        all = all && w.known[i];
    if (all)
        slurm_end_srun (0);
    else if (first && w.plan->wait)
        events_push (w.now + 1000 * w.plan->wait, KILL_STEP, 0, 0);
}

void slurm_lose_supervisor (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    s->alive = false;
    w.exit_status[rank] = SIGKILL;
    notes_add (GONE, rank, 0);
    program_kill_tree (rank, BY_OUTSIDE);
}

void slurm_kill_supervisor (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (!s->alive)
        return;
    slurm_lose_supervisor (rank);
    if (s->state == CONNECTED_STATE)
        wire_close (s->connection, SUPERVISOR, s->inbox_count > 0 || events_below (4) == 0);
    supervisor_tell_srun (rank);
}

void slurm_kill_step (void)
{
    for (int i = 0; i < w.plan->tasks; i++)
        if (!wire_node (i)->dead)
            slurm_kill_supervisor (i);
    slurm_end_srun (128 + SIGKILL);
}

void slurm_signal (int rank, int number, bool from_slurm)
{
    struct supervisor *s = &w.supervisor[rank];

    if (s->alive && s->pendings < 8)
        s->pending[s->pendings++] =
            (struct signal){ .number = number, .from_slurm = from_slurm, .at = 1000 + w.now / 1000 };
}

void slurm_signal_step (int number)
{
    notes_say ("Slurm sends %d", number);
    for (int i = 0; i < w.plan->tasks; i++) {
        if (wire_node (i)->dead || w.now < wire_node (i)->isolated_until)
            continue;
        /* It suspends a job otherwise. */
        if (w.plan->skew && number != SIGTSTP && number != SIGCONT)
            events_push (w.now + events_below ((int)w.plan->skew), SIGNAL, i, number);
        else
            slurm_signal (i, number, true);
        if (!w.plan->forwards)
            program_signal (i, number, BY_SLURM);
    }
}

void slurm_suspend (int64_t lasts)
{
    if (w.suspended)
        return;
    w.suspended = true;
    w.frozen_until = w.now + lasts;
    notes_add (SUSPENDED, -1, 0);
    slurm_signal_step (SIGTSTP);
    programs_stop (true);
    events_push (w.now + SUSPEND_MS, STOP_ALL, ++w.suspensions, 0);
}

void slurm_freeze (bool freeze)
{
    /* Also what has begun since SIGTSTP. */
    if (freeze)
        programs_stop (true);
    for (int i = 0; i < w.plan->tasks; i++)
        w.supervisor[i].frozen = freeze || wire_node (i)->dead;
    w.rendezvous_frozen = freeze && w.plan->batch;
}

void slurm_resume (void)
{
    if (!w.suspended)
        return;
    w.suspended = false;
    slurm_freeze (false);
    notes_add (RESUMED, -1, 0);
    programs_stop (false);
    slurm_signal_step (SIGCONT);
}
