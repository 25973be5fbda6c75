/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The data of a job step's decisions, in one header without functions. The files of this folder include it.
 *
 *     place   a role and an index, such as worker 2: what it is to the step, and the life it is to run.
 *             Decisions are about places.
 *     rank    a Slurm task, and its supervisor: what it registered with, what it told last, how its last life
 *             ended, what it was told, and since when it is away. A spare is a rank without a place; a
 *             replacement is place->rank = other.
 *     job     the step: one phase with its data, one budget of restarts, and one clock.
 *
 * A wish is not a fact: place->life.number is the life that is to run, rank->has the last one that its
 * supervisor has told. In PLACE_BEGINS the two differ.
 */
#ifndef TF_MODEL_H
#define TF_MODEL_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "addresses/host.h"
#include "addresses/interface.h"
#include "common/address.h"
#include "common/preflight.h"
#include "common/rules.h"
#include "facts.h"
#include "moment.h"
#include "protocol/check.h"
#include "protocol/exit_report.h"
#include "protocol/failure_text.h"
#include "protocol/goal.h"
#include "protocol/life_report.h"
#include "protocol/rendezvous_config.h"
#include "protocol/signs.h"
#include "protocol/slurm_job.h"

struct peer;

/* Places. */

/* What a place is to the step: duties.c has the table. It never changes. */
struct duty {
    bool works; /* it trains: chief, master or worker. --tf-watchdog watches these */
    bool member; /* one of "all" that are restarted together */
    bool alone; /* its failure restarts it alone */
    bool awaited; /* the job is over when all of these have ended */
    bool fatal; /* its failure ends the job */
    bool serves; /* only others, until the job is over */
    bool graced; /* it may have work to do when the job is over */
};

enum place_phase {
    PLACE_BEGINS, /* its life is to begin, and has not been seen to */
    PLACE_RUNS,
    PLACE_WAITS, /* for its next life */
    PLACE_KEPT, /* it ended with 0; its supervisor stays for a restart of all */
    PLACE_ENDED, /* for good */
};

/* Why a place has no other life. The greater reason counts. */
enum place_future {
    PLACE_MAY_BEGIN,
    PLACE_CANNOT, /* it failed for good, or its supervisor cannot begin one */
    PLACE_LATE, /* the life would begin after the grace of the end */
    PLACE_ASKED, /* Slurm or the user asked the step to end */
    PLACE_DONE, /* the job's work is done */
    PLACE_IN_NEXT_RUN, /* it waited for one when the tasks were asked to save */
};

/* How a rank's last life ended, and so its place's; of a spare that gets a place, how the lost rank's did. */
struct end {
    struct exit_report report;
    int64_t at; /* when it did, or its connection was lost */
    int nth; /* of two ends at the same time the first one has the lower number */
    int64_t elapsed_ms; /* from the launch until then: all lives and the pauses between them */
    int asked_signal; /* by which Slurm or the user had asked it to end; 0: none */
    bool kill_told; /* FACT_KILLED has told that it was killed */
    struct failure_text *failure; /* what the task wrote about its failure, or NULL */
};

struct life {
    int number; /* from 0, of the life that is to run, or ran last; -1: the preflight comes before that */
    int64_t began; /* when that was decided */
    int used; /* restarts by then */
    int ago_ms; /* how long before its report it ended */
    int64_t due; /* in PLACE_WAITS: when the next one begins; NEVER: with all */
    bool again; /* it began after the step's last progress */
    int step; /* the highest training step that the program has told, in this life or before; 0: none */
};

struct place {
    const char *role; /* lives as long as the step */
    int index; /* within its role */
    enum rules_name kind; /* of the role; RULES_ROLES: a site's own, or an auxiliary task */
    bool beside; /* an auxiliary task (common/beside.h) */
    bool needs_master_port; /* it is process 0 of PyTorch */
    struct duty duty;
    struct rank *rank; /* who has it now */
    enum place_phase phase;
    enum place_future future;
    struct life life;
};

/* Ranks. */

/* Before a rank has its answer it may be lost, and register again. */
enum rank_launch {
    RANK_AWAITED, /* it has not registered yet */
    RANK_HERE, /* it has: its connection stands, or it has its answer */
    RANK_GONE, /* it had; its connection is gone */
};

/* What the rendezvous can send to its supervisor. */
enum rank_link {
    LINK_NONE, /* nothing: there is no connection */
    LINK_BUSY, /* nothing yet: an answer is on its way */
    LINK_UP,
};

/* The activity that its supervisor reported last (watchdog.c). */
struct watch_standing {
    struct signs signs;
    bool known; /* they were told, and the supervisor has answered the last question */
    int64_t told_at, told_run; /* ... at that job->now and job->run; 0: never */
    int question; /* how often it was asked */
    bool hung; /* the present life was found to hang: */
    int64_t since, failed; /* when it fell silent, and when it counts as failed */
};

/* The traceback with which its log ends (tracebacks.c). */
struct traceback {
    char text[FAILURE_TEXT_MAX + 1]; /* "": its log does not end so */
    int64_t at; /* when it was printed */
    bool lost; /* it says that a connection was lost */
    bool told; /* FACT_TRACEBACK has told it; once in a life */
};

/* What a check of a node has found (preflight.c): as enum check_result, or by comparison with others. */
enum finding {
    FOUND_NOTHING = CHECK_PASSED,
    FOUND_FILES = CHECK_FILES,
    FOUND_GPUS = CHECK_GPUS,
    FOUND_PROGRAM = CHECK_PROGRAM,
    FOUND_UNABLE = CHECK_UNABLE,
    FOUND_CLOCK, /* it is `value` seconds ahead of the median, of which `expected` are allowed */
    FOUND_SLOW, /* `value` kB/s with its best partner, where `expected` is the median */
    FOUND_UNREACHED, /* it reaches no other node */
    FOUND_SILENCE, /* its supervisor has not told a result */
};

/* The checks of a node, of the last preflight. */
struct check {
    bool checks; /* this rank makes them; otherwise nothing else counts */
    bool told; /* that of the node itself was made */
    struct rank *partner; /* in this round, or NULL: of another node */
    bool serves; /* ... which connects */
    int partners, reached; /* so many until now, and so many that it reached */
    int best; /* the highest rate with one, in kB/s */
    struct rank *unreached; /* the first one that was not reached, or NULL */
    enum finding found;
    int value, expected;
    char text[FAILURE_TEXT_MAX + 1]; /* what a check of the node itself has found */
};

struct rank {
    int number;
    enum rank_launch launch;
    struct peer *peer; /* its connection, or NULL; only the wire looks at it */

    /* From its registration; strings are copies, NULL where they are NULL there. */
    char *node;
    int node_index;
    struct host host;
    struct address connected; /* its end of the connection to the rendezvous */
    struct address srun; /* the rendezvous' end of it */
    struct address from; /* and the other one, as the rendezvous sees it */
    bool at_srun; /* on its host, where the rendezvous is */
    int port;
    int master_port, gpus;
    int component_first, component_tasks;
    int component; /* its number, if these two are not known */
    struct interface *interface;
    int interfaces;
    char *cpus;
    char *locality_error;
    char *supervisor_error;
    char *log_dir;
    bool log_dir_private;
    char *users;
    char *own_name;
    bool proxied;

    /* Of the task list. Its log file has this name, whatever place it gets. */
    const char *role; /* NULL before; lives as long as the step */
    int index;

    struct address address; /* for its peers */
    char chosen_interface[IF_NAMESIZE]; /* its name; "" if it is not known */

    struct place *place; /* that it has; NULL: it is a spare, or was replaced */
    struct rank *replaced_by, *replaces;
    bool released; /* it has no place, and needs none any more */
    enum fact_cause because; /* of replaced_by */
    struct end end;
    int failures; /* so often it was the first to fail since the step's last progress */

    /* What its supervisor has told. */
    struct exit_report said; /* the last report of an end, */
    int report; /* ... its number; 0: none */
    bool cannot; /* by that report, it can begin no other life, */
    char *why; /* ... for this reason; or NULL */
    bool alive; /* by its last status a life runs */
    int has; /* the last life that it has begun; -1: none */
    bool leaves; /* while its place waits: what that life left in the background may still run */
    bool suspended; /* Slurm has suspended the job */
    int asked; /* the signal by which Slurm or the user has asked it to end, while it runs; or 0 */
    enum address_use address_use; /* of all lives that have ended */
    bool tells_unanswered; /* for its node (unanswered.c) */
    struct check_report checked;
    struct watch_standing watch;
    struct traceback traceback;
    struct {
        int life, step; /* out of turn; only for tf-status: nothing here looks at it */
        int64_t at, ago_ms; /* on the clock of the process */
    } aside;

    struct check check;
    bool suspect; /* a check of its node has found something, in any preflight */
    bool vetted; /* its node has passed the last one */

    /* What it was told, on the present connection; .life GOAL_UNTOLD: nothing yet. */
    struct goal told;

    /* Its connection. */
    enum rank_link link;
    bool silent; /* its host was not heard for a while, though the connection stands */
    int64_t heard; /* when its host was, by a status or the end of a connection */
    int64_t unheard; /* job->now since when it is silent, as far as is known; or NEVER; */
    bool unheard_told; /* ... and users know that */
    int absent_ms; /* how the last connection ended: JOB_CLOSED_MS and so on (absence.h); 0: none has */
    int64_t away; /* job->run when it counts as lost; NEVER: it is there */
    int64_t given_up; /* job->run when a spare may take its place; or NEVER */
    bool lost; /* it did not come back in time */
    bool cut; /* srun has ended, and it was killed before its supervisor has told its end */
};

/* The step. */

enum job_phase {
    JOB_RUNS,
    JOB_GATHERS, /* all are stopped, and begin again when the last one is in */
    JOB_FINISHES, /* it is over: what is left is stopped, after its grace */
};

struct gather {
    struct rank *first; /* to fail, of those that gather; NULL before the first lives */
    bool everyone; /* evaluators and auxiliary tasks, too: places have changed, until all have begun again */
    int pause; /* seconds before all begin */
    int64_t patience; /* until then they may end by themselves */
    int64_t opens; /* all begin then, at the earliest */
    bool decided; /* FACT_DECIDED has told of that failure */
};

/* Checks of the nodes, for which all that gather wait. */
struct preflight {
    bool wanted; /* before all begin */
    int number; /* of the present check, or the last one */
    int round; /* of pairs; 0: each node checks itself */
    int64_t until; /* job->run until which the present one is waited for; NEVER: there is none */
};

struct finish {
    enum finish_cause cause;
    struct place *place; /* the chief that ended, or what failed; or NULL */
    struct exit_report report; /* how */
    int64_t grace_over; /* of evaluators; NEVER before */
    int64_t failure_over; /* of the others after FINISH_TASK_FAILED; NEVER otherwise */
};

/* Restarts. One is charged for all that fails until something begins for it. */
struct budget {
    int used, row; /* in all, and since the last progress */
    bool charged; /* nothing has begun for the last one yet */
    int step; /* the highest training step that was told; 0: none */
    int64_t step_at; /* job->run when it was */
    int start_ms; /* the longest start that was seen; 0: none */
};

enum ledger_account {
    LEDGER_LAUNCH,
    LEDGER_STARTING,
    LEDGER_WAITING,
    LEDGER_REPEATED,
    LEDGER_PROGRESS,
    LEDGER_NOTICING,
    LEDGER_PAUSING,
    LEDGER_SUSPENDED,
    LEDGER_PREFLIGHT,
    LEDGER_ACCOUNTS
};

/* ledger.c; times are job->run's. A zeroed one is empty. */
struct ledger {
    int64_t ms[LEDGER_ACCOUNTS];
    enum ledger_account account; /* in which it is now, */
    int64_t since; /* ... since then */
    int64_t failed; /* the first failure that this input has told; 0: none */
    bool says; /* a program has told a training step */
    int before; /* the highest before they began together; 0: none */
    int first, reached; /* since then: the first that was told, and the highest; 0: none */
    bool waited; /* ... all that tell steps have told one */
    int64_t repeated_steps;
    bool begun; /* the first start is over, */
    int64_t first_ms; /* ... which took so long */
    int64_t noticing_ms; /* of the last restart */
    bool untold; /* all are to begin again, and what that has cost is not told yet */
    int64_t idle_ms; /* of all spares together */
    int restarts, replaced;
};

/* requeue.c */
struct requeue {
    int64_t ask; /* job->now when Slurm is to be asked; NEVER: it need not be, or is being asked, */
    int64_t asked; /* ... since then */
    int64_t end; /* job->now when the job's time is over, as Slurm said last; NEVER: not known */
    bool far; /* that was more than --tf-requeue away */
    int told; /* the obstacles of which users know, as bits */
    int64_t saves; /* job->now when the tasks were asked to save; NEVER: they were not */
    int64_t until; /* job->run: who was away, or is not needed, is awaited until then */
    bool known; /* `before` is: */
    struct past_runs before; /* the runs before this one, */
    struct past_runs all; /* ... and with it, when it has ended */
};

struct watchdog {
    int64_t patience; /* answers are waited for until then; NEVER: to no question */
    bool said; /* that no task is watched */
    int64_t settled; /* so long after the end of a watched task, logs do not count */
    /* auto: */
    int64_t began; /* job->run when the tasks did */
    int64_t second_ms; /* the longest time until the second heartbeat of a first life; 0: none */
    int64_t verdict_ms; /* the silence at the last verdict */
};

#define UNANSWERED_NAMED 4

struct unanswered {
    int64_t due; /* when it is told; NEVER: there is nothing to tell, or it is told */
    int count; /* attempts, of which the first are named: */
    struct unanswered_attempt {
        const struct rank *from, *to;
        struct signs_address address;
    } attempt[UNANSWERED_NAMED];
};

struct job {
    const struct rendezvous_config *config;
    struct rank *rank; /* by number */
    int tasks;
    struct place *place; /* in the order of the ranks that had them at first */
    int places;

    int64_t now; /* of the last input */
    int64_t run; /* the same, but it stands still while the job is suspended */
    bool suspended;
    bool isolated; /* srun's host is cut off (absence.h) */
    int64_t back; /* job->run when srun's host was, perhaps, after an outage; 0: never */
    int64_t launched; /* when the tasks got their answers */
    int64_t
        left; /* job->now when the first supervisor was let go, from which srun's --wait counts; or NEVER */

    int owed_code; /* what leaves now exits with this code, or a higher one of its own (goals.c) */

    enum job_phase phase;
    struct gather gather;
    struct preflight preflight;
    struct finish finish;
    enum finish_cause aim; /* the cause if all goes well; FINISH_NOT: there is none */
    struct budget budget;
    int asked_signal; /* by which Slurm or the user has asked the step to end, or 0, */
    int64_t asked_at; /* ... in seconds since 1970; 0: not known */

    struct facts facts;
    int ends; /* that have been noted */
    bool end_told, miss_told, asked_told; /* what is told once */
    int64_t beat; /* job->now of the next heartbeat; NEVER: there is none */
    bool moved; /* a place has: from then on an answer comes along with each goal that begins a life */
    int64_t replaced_sign; /* the first last sign of those that are to begin; or NEVER */

    struct watchdog watchdog;
    struct ledger ledger;
    struct unanswered unanswered;
    struct requeue requeue;
};

/* NOLINTBEGIN(bugprone-macro-parentheses): they declare their first argument. */
#define EACH_PLACE(p, job) for (struct place *p = (job)->place; p < (job)->place + (job)->places; p++)
#define EACH_RANK(r, job) for (struct rank *r = (job)->rank; r < (job)->rank + (job)->tasks; r++)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
