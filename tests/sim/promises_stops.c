/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Promises about what is ended by spank-tf: only with a reason, with its grace, and by the right signal.
 */
#include "config.h"

#include "promises.h"

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

#include "oracle.h"

static bool _all_others_have_ended (const struct plan *plan, const struct course *course)
{
    for (int i = 0; i < plan->tasks; i++)
        if (plan->kind[i] != RULES_SPARE && !course->ended[i])
            return false;
    return true;
}

/*
 * guide/ending.md: "spank-tf then stops all other tasks." "A worker that fails, with a ps, does not end
 * the others"; auxiliary-tasks.md: "Its failure ends nothing else"; Restarts: what is restarted is
 * stopped. Nothing else is.
 */
const char *nothing_is_ended_without_reason (const struct history *h)
{
    struct course course = { 0 };

    EACH (note, h) {
        bool ends = (note->kind == ASKED || (note->kind == KILLED && note->number));

        oracle_follow_course (h, &course, note);
        if (!ends || !oracle_is_calm (h, note->at) || oracle_is_over (h->plan, &course) || course.covered
            || course.hung || _all_others_have_ended (h->plan, &course))
            continue;
        return oracle_broken (note, "its program is ended, and the job is not over", note->life);
    }
    return NULL;
}

/* A rank may have lost its lease, or its place. */
static bool _may_be_lost (const struct history *h, int rank, int64_t until)
{
    EACH (note, h) {
        if (note->at > until)
            break;
        if (note->kind == DISTURBED
            && (note->status == DIE || oracle_cuts ((enum disturbance_kind)note->status)
                || (oracle_resets ((enum disturbance_kind)note->status)
                    && oracle_is_lost_while_suspended (h))))
            return true;
        if (note->kind == TOLD && note->number == FACT_REPLACED && note->rank == rank)
            return true;
    }
    return false;
}

/*
 * guide/ending.md: "spank-tf sends SIGTERM … After --tf-grace seconds … it sends SIGKILL"; "Time in which
 * the job is suspended does not count". manual, HANGS: "SIGABRT …, and, after the time of --tf-grace,
 * SIGKILL".
 */
const char *a_stop_gives_its_grace (const struct history *h)
{
    const struct note *asked[MOST_RANKS] = { NULL };
    /* design/supervision.md: "looks twenty times in a grace, and no look counts for more than two". */
    int64_t grace = h->plan->config.stop_grace * 1000, steps = grace < 2000 ? 200 : grace / 10;

    EACH (note, h) {
        if (note->kind == BEGAN)
            asked[note->rank] = NULL;
        if (note->kind == ASKED && !asked[note->rank])
            asked[note->rank] = note;
        if (note->kind != KILLED || !note->number || _may_be_lost (h, note->rank, note->at)
            || oracle_began (h, oracle_of_slurm, note->at))
            continue;
        if (!asked[note->rank])
            return oracle_broken (note, "a program is killed that was not asked to end", note->life);
        if (oracle_running_ms (h, asked[note->rank]->at, note->at)
            < grace - 50 - (oracle_began (h, oracle_is_suspension, note->at) + 1) * steps)
            return oracle_broken (note, "a program is killed before its grace is over", note->life);
    }
    return NULL;
}

/*
 * manual, HANGS: "All processes of the tasks that hang get SIGABRT, at which Python prints the stacks": of a
 * life that was found to hang, and was not told to stop, and had not ended, before.
 */
const char *what_hangs_is_aborted (const struct history *h)
{
    int hung[MOST_RANKS] = { 0 }, stopped[MOST_RANKS] = { 0 };

    EACH (note, h) {
        int life = note->life + 1;

        if (note->kind == TOLD_TO_STOP || note->kind == ENDED)
            stopped[note->rank] = life;
        if (note->kind == TOLD && note->number == FACT_HANG && stopped[note->rank] != life)
            hung[note->rank] = life;
        if (note->kind == ENDED || note->kind == BEGAN)
            hung[note->rank] = 0;
        if (note->kind != ASKED || hung[note->rank] != life)
            continue;
        if (note->number != SIGABRT && !oracle_loses_slurmstepd (h, note->rank, note->at))
            return oracle_broken (note, "hangs, and is asked to end by signal", note->number);
        hung[note->rank] = 0;
    }
    return NULL;
}

/*
 * guide/ending.md: "without a ps | … | the others have 30 s (fail_grace=) to exit, and are then stopped".
 */
const char *a_failure_gives_its_grace (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *first = NULL;
    int place[MOST_RANKS] = { 0 };

    if (plan->config.restart.times > 0 || oracle_has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO
        || plan->config.watch.seconds || plan->wait)
        return NULL;
    /* What supervisors tell of a suspension may come late then. */
    if (oracle_began (h, oracle_is_suspension, NEVER) && oracle_began (h, oracle_breaks, NEVER))
        return NULL;
    EACH (note, h) {
        if (!oracle_is_calm (h, note->at))
            return NULL;
        if (note->kind == BEGAN)
            place[note->rank] = note->place;
        if (note->kind == ENDED && note->status != 0 && note->cause == BY_ITSELF
            && oracle_is_member (plan, note->place) && !first)
            first = note;
        if (note->kind == ASKED && first && oracle_is_member (plan, place[note->rank])
            && oracle_running_ms (h, first->at, note->at)
                   < plan->config.fail_grace * 1000 - 50
                         - 2 * plan->delay * oracle_began (h, oracle_is_suspension, NEVER))
            return oracle_broken (note, "is stopped before fail_grace is over", first->rank);
    }
    return NULL;
}

/* Has a program that runs had no activity for so long as none may? */
static bool _one_hangs (const struct history *h, const struct note *told)
{
    int64_t since[MOST_RANKS];

    for (int place = 0; place < MOST_RANKS; place++)
        since[place] = NEVER;
    for (const struct note *note = h->note; note < told; note++)
        if (note->kind == BEGAN && note->place >= 0) {
            int64_t hangs = h->plan->script[note->place][note->life < 2 ? note->life : 2].hangs;

            since[note->place] = hangs == NEVER ? NEVER : note->at + hangs;
        }
    for (int place = 0; place < MOST_RANKS; place++)
        if (since[place] != NEVER
            && told->at - since[place] >= 1000 * h->plan->config.watch.seconds - h->plan->sign_ms)
            return true;
    return false;
}

/* A suspension of which tf-rendezvous does not hear counts as age. */
const char *what_gives_signs_does_not_hang (const struct history *h)
{
    EACH (note, h)
        if (note->kind == TOLD && note->number == FACT_HANG && !_one_hangs (h, note)
            && !(oracle_began (h, oracle_is_suspension, NEVER) && oracle_began (h, oracle_breaks, NEVER)))
            return oracle_broken (note, "a verdict about a step that does not hang", note->number);
    return NULL;
}

/* Slurm has sent SIGTERM to the step last at this moment, or never. */
static int64_t _asked_by_slurm (const struct history *h, int64_t until)
{
    int64_t asked = -NEVER;

    EACH (note, h)
        if (note->at <= until && oracle_is_sigterm (h, note))
            asked = note->at;
    return asked;
}

/* One that is slow to hear, or whose time stood still. */
static int64_t _slack_ms (const struct history *h)
{
    int64_t grace = h->plan->config.stop_grace * INT64_C (1000), steps = grace < 2000 ? 200 : grace / 10;

    return 100 + h->plan->skew + 2 * h->plan->delay
           + oracle_began (h, oracle_is_suspension, NEVER) * (steps + 2 * h->plan->delay);
}

/*
 * guide/ending.md: "spank-tf sends SIGTERM … After --tf-grace seconds … it sends SIGKILL until no process
 * is left. A program runs for at least a second before it is stopped." design/ending.md: "When Slurm
 * has sent SIGTERM itself …, a stop sends no second one and waits until KillWait and five seconds more
 * are over. If the program is still there after that time, … a stop sends SIGTERM."
 */
const char *a_stop_ends_with_its_grace (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *told[MOST_RANKS] = { NULL };
    int64_t grace = plan->config.stop_grace * INT64_C (1000);
    struct alive alive = { 0 };

    /* What is told may be lost, or come late. */
    if (oracle_began (h, oracle_breaks, NEVER))
        return NULL;
    EACH (note, h) {
        oracle_follow (h, &alive, note);
        if ((note->kind == DISTURBED && note->status == DIE) || note->kind == SRUN_ENDED)
            return NULL;
        if (note->kind == TOLD_TO_STOP && !told[note->rank] && alive.program[note->rank])
            told[note->rank] = note;
        if ((note->kind == ENDED || note->kind == BEGAN) && note->rank >= 0)
            told[note->rank] = NULL;
        for (int i = 0; i < plan->tasks; i++) {
            int64_t slurm;

            if (!told[i] || note->at - told[i]->at <= 1000 + grace
                || oracle_running_ms (h, told[i]->at, note->at) <= 1000 + grace + _slack_ms (h))
                continue;
            slurm = _asked_by_slurm (h, note->at);
            if (slurm < 0
                || oracle_running_ms (h, slurm, note->at)
                       > (plan->kill_wait + 5) * INT64_C (1000) + _slack_ms (h))
                return oracle_broken (told[i], "is told to stop, and its grace does not end", i);
        }
    }
    return NULL;
}

/*
 * guide/ending.md: "without a ps | … | the others have 30 s (fail_grace=) to exit, and are then stopped".
 */
const char *a_failure_ends_the_others (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *first = NULL;
    struct alive alive = { 0 };
    int64_t last = 0;
    bool asked[MOST_RANKS] = { false };

    if (plan->config.restart.times > 0 || oracle_has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO
        || plan->config.watch.seconds || plan->wait || oracle_began (h, oracle_is_any, NEVER))
        return NULL;
    EACH (note, h) {
        for (int i = 0; i < plan->tasks && first && note->at > last; i++)
            if (oracle_is_member (plan, i) && alive.program[i] && !asked[i])
                return oracle_broken (first, "fails, fail_grace is over, and one is not stopped", i);
        oracle_follow (h, &alive, note);
        if (note->kind == ASKED)
            asked[note->rank] = true;
        if (first || note->kind != ENDED || note->status == 0 || note->cause != BY_ITSELF
            || !oracle_is_member (plan, note->place))
            continue;
        first = note;
        last = note->at + plan->config.fail_grace * INT64_C (1000) + plan->tee + 2 * plan->delay + 1500;
    }
    return NULL;
}

/*
 * guide/restarts.md: "After exit code 42 or 143 they first get --tf-grace (10 s) to exit by themselves,
 * because they may still be writing the same checkpoint." Of the first failure of a step to which nothing
 * else happens.
 */
const char *who_saves_may_end_by_itself (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *first = NULL;
    struct course course = { 0 };

    if (plan->config.restart.times == 0 || oracle_has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO
        || plan->config.watch.seconds || plan->wait || oracle_began (h, oracle_is_any, NEVER))
        return NULL;
    EACH (note, h) {
        oracle_follow_course (h, &course, note);
        if (note->kind == ENDED && note->status != 0 && note->place >= 0) {
            int code = oracle_code (note->status);

            if (first || WIFSIGNALED (note->status) || (code != 42 && code != 143)
                || !oracle_is_member (plan, note->place))
                return NULL;
            first = note;
        }
        if (first && note->at >= first->at + plan->config.stop_grace * INT64_C (1000))
            return NULL;
        if (first && note->kind == ASKED && oracle_is_member (plan, note->rank))
            return oracle_broken (note, "is stopped while it may save, after the end of", first->rank);
    }
    return NULL;
}

/*
 * guide/ending.md: "A job has failed with its chief, a ps or, without a ps, any task of the cluster. With
 * a ps and no chief, it has failed with all its workers."
 */
static bool _failed_job (const struct plan *plan, const struct course *course)
{
    bool ps = oracle_has (plan, RULES_PS), chief = oracle_has (plan, RULES_CHIEF), all = true;

    for (int i = 0; i < plan->tasks; i++) {
        bool decides = !ps ? oracle_is_member (plan, i) && plan->kind[i] != RULES_SPARE
                           : plan->kind[i] == RULES_PS || (chief && plan->kind[i] == RULES_CHIEF);

        if (decides && course->failed[i])
            return true;
        if (plan->kind[i] == RULES_WORKER && !plan->beside[i])
            all = all && course->failed[i];
    }
    return ps && !chief && all;
}

static int _evaluator (const struct plan *plan)
{
    for (int i = 0; i < plan->tasks; i++)
        if (plan->kind[i] == RULES_EVALUATOR)
            return i;
    return -1;
}

/*
 * guide/ending.md: "An evaluator has eval_grace= seconds (900) to finish … If the job failed, no new
 * checkpoint comes, and the evaluator has fail_grace= (30)."
 */
const char *an_evaluator_has_its_grace (const struct history *h)
{
    const struct plan *plan = h->plan;
    int64_t grace = plan->config.eval_grace * INT64_C (1000), fail = plan->config.fail_grace * INT64_C (1000);
    const struct note *over = oracle_told (h, FACT_OVER);
    struct course course = { 0 };
    int evaluator = _evaluator (plan);
    bool runs = false, asked = false, uncertain = false;

    if (!over || evaluator < 0 || oracle_has_spares (plan) || plan->config.stop != STOP_WHEN_AUTO
        || plan->config.watch.seconds || plan->wait || oracle_began (h, oracle_is_any, NEVER))
        return NULL;
    EACH (note, h) {
        if (note > over && runs && !asked && note->at > over->at + grace + 2 * plan->delay + 1500)
            return oracle_broken (over, "the job is over, and its evaluator goes on", evaluator);
        if (note <= over)
            oracle_follow_course (h, &course, note);
        /* It was stopped for its next life, which is ordered, and has not begun yet. */
        if (note <= over && note->kind == TOLD && note->number == FACT_BEGINS)
            course.failed[note->rank] = false;
        /* It may not be known yet. */
        if (note <= over && note->kind == ENDED && note->status
            && note->at >= over->at - plan->tee - plan->delay - 400)
            uncertain = note->rank != over->rank;
        if (note == over && uncertain)
            return NULL;
        if (note == over && fail < grace && _failed_job (plan, &course))
            grace = fail;
        if (note->rank != evaluator)
            continue;
        if (note->kind == BEGAN || note->kind == ENDED) {
            runs = note->kind == BEGAN;
            asked = false;
        }
        asked = asked || note->kind == ASKED;
        if (note > over && note->kind == ASKED && note->at < over->at + grace - 50)
            return oracle_broken (note, "is an evaluator, and is stopped before its grace is over", -1);
    }
    return NULL;
}

/* An attempt to connect that began while the node was cut off takes so long (uplink.c). */
#define ATTEMPT_MS 10000

/*
 * A firewall refuses a node; for how long, as far as the node can know? One that is cut off does not see that
 * it is over. Each pause before the next attempt is twice as long as the one before, and 30 s at most.
 */
static int64_t _refused_ms (const struct plan *plan, const struct disturbance *refusal)
{
    int64_t until = refusal->at + refusal->lasts, attempt = 0;

    for (const struct disturbance *d = plan->disturbance; d < plan->disturbance + plan->disturbances; d++)
        if (oracle_cuts (d->kind) && d->at <= until && d->at + d->lasts >= refusal->at) {
            until = moment_last (until, d->at + d->lasts);
            attempt = ATTEMPT_MS;
        }
    return until - refusal->at + attempt + moment_first (2 * refusal->lasts, 30000) + 1000;
}

/*
 * A firewall refuses a node, or has done so until a moment ago: then "the rendezvous seems to have ended".
 * While the job is suspended there is no attempt.
 */
static bool _is_refused (const struct history *h, int64_t from, int64_t until)
{
    EACH (note, h) {
        const struct disturbance *d = note->kind == DISTURBED ? &h->plan->disturbance[note->number] : NULL;

        if (d && d->kind == REJECT && note->at <= until
            && oracle_running_ms (h, note->at, from) <= _refused_ms (h->plan, d))
            return true;
    }
    return false;
}

/*
 * manual, THE END OF A JOB: "If Slurm sends SIGTERM to the step …, tasks that only serve do not get it
 * before the others have ended … A program of these that handles SIGTERM gets it 5 seconds before KillWait
 * would be over, at the earliest after half of it".
 */
const char *what_only_serves_goes_on (const struct history *h)
{
    const struct plan *plan = h->plan;
    int64_t more = plan->kill_wait < 10 ? plan->kill_wait * 500 : 5000, sigterm = -1;
    bool asked[MOST_RANKS] = { false };

    if (!plan->forwards)
        return NULL;
    EACH (note, h) {
        if (note->kind == SRUN_ENDED)
            return NULL;
        if (oracle_is_sigterm (h, note) && sigterm < 0)
            sigterm = note->at;
        if (note->kind == BEGAN)
            asked[note->rank] = false;
        if (note->kind == TOLD_TO_STOP || note->kind == ASKED)
            asked[note->rank] = true;
        if (note->kind != ENDED || note->cause != BY_SLURM || note->place < 0 || sigterm < 0
            || !oracle_serves (plan, note->place) || asked[note->rank]
            || (WIFSIGNALED (note->status) && WTERMSIG (note->status) != SIGTERM)
            || _is_refused (h, sigterm, note->at))
            continue;
        if (WIFSIGNALED (note->status))
            return oracle_broken (note, "only serves, and dies of Slurm's SIGTERM", note->place);
        if (note->at - sigterm < plan->kill_wait * INT64_C (1000) - more - 50)
            return oracle_broken (note, "only serves, and gets Slurm's SIGTERM too early", note->place);
    }
    return NULL;
}

/*
 * manual, HANGS: "All processes of the tasks that hang get SIGABRT". "The log of a worker beside a chief and
 * a ps never counts, because it only serves." So what gives its signs in time, or gives none because it only
 * serves, does not.
 */
const char *only_what_hangs_is_aborted (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *began[MOST_RANKS] = { NULL };

    EACH (note, h) {
        const struct script *script;

        if (note->kind == BEGAN)
            began[note->rank] = note;
        if (note->kind != ASKED || note->number != SIGABRT || !began[note->rank]
            || began[note->rank]->place < 0)
            continue;
        script = &plan->script[began[note->rank]->place][note->life < 2 ? note->life : 2];
        /* One that is silent for half of the time does not move. */
        if (script->hangs == NEVER
            && (plan->mute[began[note->rank]->place]
                || 2 * plan->sign_ms < 1000 * plan->config.watch.seconds))
            return oracle_broken (note, "is aborted, and does not hang", note->life);
    }
    return NULL;
}

/*
 * guide/ending.md: "A program that needs longer … is killed in the middle of it. The table then has
 * `killed after 10 s` instead of `stopped`". Of a step to which nothing happens from outside.
 */
const char *the_killed_are_told (const struct history *h)
{
    const struct note *killed[MOST_RANKS] = { NULL };

    /* A refused step is told for all of its tasks. */
    if (h->plan->config.watch.seconds || oracle_began (h, oracle_is_any, NEVER) || oracle_is_refused (h))
        return NULL;
    EACH (note, h) {
        if (note->kind == BEGAN)
            killed[note->rank] = NULL;
        if (note->kind == KILLED && (note->number || !killed[note->rank]))
            killed[note->rank] = note;
        if (note->kind == TABLE && !note->base && killed[note->rank] && killed[note->rank]->number)
            return oracle_broken (killed[note->rank], "is killed, and the table does not say so", note->rank);
        if (note->kind == TABLE && note->base && !killed[note->rank])
            return oracle_broken (note, "is not killed, and the table says so", note->rank);
    }
    return NULL;
}
