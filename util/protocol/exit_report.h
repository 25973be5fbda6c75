/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How a task ended, as its supervisor reports it. As text it is "exit 3", "signal 11", "stopped" or "hung";
 * users also read "(out of memory)", and "killed after 10 s" of a task that was stopped by SIGKILL.
 */
#ifndef TF_EXIT_REPORT_H
#define TF_EXIT_REPORT_H

#include <stdbool.h>

#include "frame.h"

#define EXIT_REPORT_MAX_CODE 255
#define EXIT_REPORT_MAX_SIGNAL 64   /* Linux's highest */
#define EXIT_REPORT_HUNG_CODE 124   /* the exit code of a task that hung, as of timeout (1) */

#define EXIT_REPORT_REFUSED_CODE \
    125 /* of a step that the preflight has refused, as of a failure of timeout (1) itself */

/* The exit code that stands for the end by a signal, as of a shell. */
#define EXIT_REPORT_SIGNAL_CODE(signal) (128 + (signal))

enum exit_report_kind {
    EXIT_REPORT_EXIT,
    EXIT_REPORT_SIGNAL,
    EXIT_REPORT_UNSTARTED,  /* the program was not executed: TaskProlog, execve or the fork failed */
    EXIT_REPORT_STOPPED,    /* by its supervisor, because the job's work was done */
    EXIT_REPORT_HUNG,       /* the same, because it had no activity (--tf-watchdog) */
};

struct exit_report {
    enum exit_report_kind kind;
    int number; /* 0..EXIT_REPORT_MAX_CODE; 1..EXIT_REPORT_MAX_SIGNAL; stopped, hung: 0 */
    bool out_of_memory; /* the kernel killed it, or a child of it, because memory was exhausted */
    bool killed; /* stopped: it did not end by itself, and got SIGKILL, */
    int killed_after; /* ... so many seconds after SIGTERM, 0..FRAME_MAX_SECONDS */
};

#define EXIT_REPORT_NOT_STARTED " (its program was not started; slurmstepd says why)"

/* Room for a report as text, and for the rank that has the task's place. */
struct exit_report_text {
    char text[sizeof ("exit code -2147483648" EXIT_REPORT_NOT_STARTED ", now rank 2147483647")];
};

/* What stands before the number of an exit, in a sentence and in a table. */
#define EXIT_REPORT_SENTENCE "exit code"
#define EXIT_REPORT_CELL "exit"

/*
 * With what else is known: "exit code 3" or "exit 3", "signal 9 (out of memory)", "killed after 10 s". The
 * result lives in *room.
 */
const char *exit_report_describe (const struct exit_report *report, const char *exit,
                                  struct exit_report_text *room);

/*
 * The task ended by a signal, or with a code other than 0, or did not start, or hung. A stopped task did
 * not fail.
 */
bool exit_report_failed (const struct exit_report *report);

/* What srun returns of such an end, as a shell does: 128 and the signal, or the exit code; 0: stopped. */
int exit_report_code (const struct exit_report *report);

/* It as a part of a status (fields.h). A number that its kind cannot have is not refused there. */
extern const struct fields exit_report_fields;

#endif
