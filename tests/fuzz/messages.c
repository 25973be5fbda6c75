/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of a message, one a line. Each decoder of a message gets it: what is of another
 * one is an unknown key for it.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "common/tf_config.h"
#include "protocol/answer.h"
#include "protocol/fields.h"
#include "protocol/goal.h"
#include "protocol/overview.h"
#include "protocol/registration.h"
#include "protocol/rendezvous_config.h"
#include "protocol/status.h"
#include "protocol/supervisor_config.h"
#include "rendezvous/step.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define SERVER_TOKEN "fedcba9876543210fedcba9876543210"

/* Messages that are encoded as they were decoded. */

static int _decode_registration (void *message, const struct frame *frame, struct errtext *err)
{
    return registration_decode (message, frame, err);
}

static struct frame *_encode_registration (const void *message)
{
    return registration_encode (message, TOKEN);
}

static int _decode_goal (void *message, const struct frame *frame, struct errtext *err)
{
    return goal_decode (message, frame, SERVER_TOKEN, err);
}

static struct frame *_encode_goal (const void *message)
{
    return goal_encode (message, SERVER_TOKEN);
}

static int _decode_status (void *message, const struct frame *frame, struct errtext *err)
{
    return status_decode (message, frame, err);
}

static struct frame *_encode_status (const void *message)
{
    return status_encode_first (message, TOKEN, "n1", 0);
}

/* These are all in tables. */
#define OF_TABLE(name) \
    static int _decode_##name (void *message, const struct frame *frame, struct errtext *err) \
    { \
        return fields_decode (&name##_fields, message, frame, err); \
    } \
    static struct frame *_encode_##name (const void *message) \
    { \
        return fields_frame (&name##_fields, message); \
    }
OF_TABLE (rendezvous_config)
OF_TABLE (supervisor_config)
OF_TABLE (overview)
OF_TABLE (overview_question)
OF_TABLE (overview_rank)

static const struct message {
    const struct fields *fields;
    int (*decode) (void *message, const struct frame *frame, struct errtext *err);
    struct frame *(*encode) (const void *message);
    uint32_t ceiling;
} messages[] = {
    { &registration_fields, _decode_registration, _encode_registration, FRAME_MAX_REGISTRATION },
    { &rendezvous_config_fields, _decode_rendezvous_config, _encode_rendezvous_config,
      FRAME_MAX_CONFIGURATION },
    { &status_fields, _decode_status, _encode_status, FRAME_MAX_REGISTRATION },
    { &goal_fields, _decode_goal, _encode_goal, FRAME_MAX_ANSWER },
    { &overview_fields, _decode_overview, _encode_overview, FRAME_MAX_CONFIGURATION },
    { &overview_question_fields, _decode_overview_question, _encode_overview_question,
      OVERVIEW_MAX_QUESTION },
    { &overview_rank_fields, _decode_overview_rank, _encode_overview_rank, FRAME_MAX_CONFIGURATION },
    { &supervisor_config_fields, _decode_supervisor_config, _encode_supervisor_config, FRAME_MAX_ANSWER },
};

union decoded {
    struct registration registration;
    struct rendezvous_config rendezvous_config;
    struct status status;
    struct goal goal;
    struct overview overview;
    struct overview_question overview_question;
    struct overview_rank overview_rank;
    struct supervisor_config supervisor_config;
};

/* Each number, word and text is within the limits of its row, or what it is if its key is missing. */
static void _check_limits (const struct fields *fields, const void *message)
{
    for (size_t i = 0; i < fields->rows; i++) {
        const struct field *field = &fields->row[i];
        const void *member = (const char *)message + field->offset;

        if (field->type == FIELD_PART)
            _check_limits (field->part, member);
        if (field->type == FIELD_NUMBER)
            CHECK (*(const int *)member == field->absent
                   || (*(const int *)member >= field->low && *(const int *)member <= field->high));
        if (field->type == FIELD_LINE && *(const char *)member)
            CHECK (fuzz_is_line (member) && strlen (member) <= (size_t)field->high);
        if (field->type == FIELD_SECONDS)
            CHECK (*(const int64_t *)member >= 0);
        if (field->type == FIELD_NAME)
            CHECK (*(const int *)member >= 0 && *(const int *)member <= field->high);
        if (field->type == FIELD_TEXT && field->need == FIELD_NEEDED && *(const char *const *)member)
            CHECK (!field->high || strlen (*(const char *const *)member) <= (size_t)field->high);
    }
}

static void _check_message (const struct message *m, const struct frame *frame)
{
    static union decoded one, other;
    struct frame *again;
    struct errtext err;

    if (!fuzz_succeeded (m->decode (&one, frame, &err), &err))
        return;
    _check_limits (m->fields, &one);
    if (!(again = fuzz_resend (m->encode (&one), m->ceiling)))
        return;
    CHECK (fuzz_succeeded (m->decode (&other, again, &err), &err));
    CHECK (fuzz_same (m->encode (&one), m->encode (&other)));
    frame_destroy (again);
}

/* What a row does not say. */

static void _check_registration (const struct frame *frame)
{
    struct registration r;

    if (registration_decode (&r, frame, NULL) < 0)
        return;
    CHECK (r.component_first + r.component_tasks <= r.tasks);
    CHECK (r.rank >= r.component_first && r.rank < r.component_first + r.component_tasks);
    CHECK (r.node_index < r.tasks);
    CHECK (r.error || r.port);
    CHECK (strlen (r.node) <= REGISTRATION_MAX_NODE);
    CHECK (r.interfaces >= 0 && r.interfaces <= INTERFACE_MAX);
    CHECK (r.address.family);
}

static void _check_configurations (const struct frame *frame)
{
    static struct rendezvous_config config;
    struct supervisor_config supervisor;
    struct errtext err;
    struct step *step;

    if (fields_decode (&supervisor_config_fields, &supervisor, frame, NULL) == 0)
        CHECK (!supervisor.tee || supervisor.role);
    if (fields_decode (&rendezvous_config_fields, &config, frame, NULL) < 0)
        return;
    CHECK (config.lists >= 1 && config.lists <= RENDEZVOUS_CONFIG_MAX_LISTS);
    CHECK (config.restart.times || !config.restart.any);
    if (fuzz_succeeded (step_create (&step, &config, &err), &err))
        step_destroy (step);
}

static void _check_report (const struct exit_report *report)
{
    CHECK (report->number >= (report->kind == EXIT_REPORT_SIGNAL)
           && report->number <= (report->kind == EXIT_REPORT_EXIT || report->kind == EXIT_REPORT_UNSTARTED
                                     ? EXIT_REPORT_MAX_CODE
                                 : report->kind == EXIT_REPORT_SIGNAL ? EXIT_REPORT_MAX_SIGNAL
                                                                      : 0));
    CHECK (exit_report_failed (report)
           == (report->kind != EXIT_REPORT_STOPPED
               && (report->kind != EXIT_REPORT_EXIT || report->number != 0)));
}

#define TASKS 4

static void _check_status (const struct frame *frame)
{
    int rank = status_rank (frame, TASKS);
    struct status status;

    CHECK (rank >= -1 && rank < TASKS);
    memset (&status, 0xa5, sizeof (status));
    if (status_decode (&status, frame, NULL) < 0)
        return;
    CHECK (status.ended == frame_has (frame, "ENDED"));
    CHECK (status.life.life >= -1 && (!status.ended || status.life.number >= 1));
    CHECK ((status.failure.source == FAILURE_TEXT_NONE) == !status.failure.text[0]);
    CHECK (status.life.peers.count >= 0 && status.life.peers.count <= LIFE_PEERS_MOST);
    CHECK (status.signs.unanswered_count >= 0 && status.signs.unanswered_count <= SIGNS_MOST_UNANSWERED);
    for (int i = 0; i < status.signs.unanswered_count; i++)
        CHECK (status.signs.unanswered[i].port >= 1 && status.signs.unanswered[i].port <= 65535);
    _check_report (&status.report);
}

/* An answer, which is encoded from more than is decoded. */

/* A task must not get LD_PRELOAD from its rendezvous. */
static void _check_variables (const struct frame *frame)
{
    /* clang-format off */
    static const char *const allowed[] = {
        "SLURM_TF_", "TF_", "CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=",
        "HIP_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK=", "KERAS_DISTRIBUTION_JOB_ADDRESSES=",
        "KERAS_DISTRIBUTION_NUM_PROCESSES=", "KERAS_DISTRIBUTION_PROCESS_ID=",
        "JAX_COORDINATOR_ADDRESS=", "MASTER_ADDR=", "MASTER_PORT=",
        "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "LOCAL_WORLD_SIZE=", "GROUP_RANK=",
        "TORCHELASTIC_RESTART_COUNT=", "SLURM_PROCID=", "SLURM_LOCALID=", "SLURM_NODEID=", "SLURM_NTASKS=",
        "SLURM_NPROCS=", "SLURM_STEP_NUM_TASKS=", "SLURM_NNODES=", "SLURM_STEP_NUM_NODES=",
        "SLURM_NODELIST=", "SLURM_STEP_NODELIST=", "SLURM_TASKS_PER_NODE=", "SLURM_STEP_TASKS_PER_NODE=",
        "SLURM_NTASKS_PER_NODE=",
    };
    /* clang-format on */

    for (const char *v = NULL; (v = answer_next_variable (frame, v));) {
        bool found = false;

        for (size_t i = 0; i < COUNT (allowed); i++)
            found = found || strncmp (v, allowed[i], strlen (allowed[i])) == 0;
        CHECK (found && strchr (v, '='));
    }
}

/* What a task can read of it; the rest are variables. */
static struct frame *_encode_answer (const struct answer *answer)
{
    struct frame *frame = frame_create ();

    CHECK (frame);
    fields_encode (&answer_fields, frame, answer);
    return frame;
}

static void _check_sent (struct answer answer, const char *tf_config)
{
    const size_t head = sizeof (TF_CONFIG_HEAD) - 1;
    struct answer_message message;
    struct answer received;
    struct errtext err;
    struct frame *frame;

    if (!answer.refused) {
        if (strncmp (tf_config, TF_CONFIG_HEAD, head) != 0)
            return;
        answer.cluster = tf_config + head;
        answer.cluster_length = strlen (answer.cluster);
        answer.tail = "";
    }
    CHECK (answer_encode (&message, &answer, SERVER_TOKEN) == 0);
    CHECK (frame = frame_join (message.part, ANSWER_PARTS));
    answer_message_clear (&message);
    CHECK (fuzz_succeeded (answer_decode (&received, frame, SERVER_TOKEN, &err), &err));
    CHECK (answer.refused == received.refused);
    CHECK (answer.refused || fuzz_same (_encode_answer (&answer), _encode_answer (&received)));
    CHECK (answer.refused || strcmp (frame_get (frame, "TF_CONFIG"), tf_config) == 0);
    frame_destroy (frame);
}

static void _check_answer (const struct frame *frame)
{
    struct answer answer;
    struct errtext err;

    _check_variables (frame);
    if (!fuzz_succeeded (answer_decode (&answer, frame, SERVER_TOKEN, &err), &err))
        return;
    CHECK (answer.refused || (answer.port >= 1 && answer.port <= 65535 && answer.index >= 0));
    _check_sent (answer, frame_get (frame, "TF_CONFIG"));
}

static void _check_acknowledgement (const struct frame *frame)
{
    struct frame *again;

    if (!frame_has (frame, ACKNOWLEDGEMENT_KEY))
        return;
    CHECK (again = fuzz_resend (acknowledgement_encode (), FRAME_MAX_EXIT_REPORT));
    CHECK (frame_has (again, ACKNOWLEDGEMENT_KEY));
    frame_destroy (again);
}

FUZZ_TARGET (messages)
{
    struct frame *frame = fuzz_frame (data, size);

    for (size_t i = 0; i < COUNT (messages); i++)
        _check_message (&messages[i], frame);
    _check_registration (frame);
    _check_configurations (frame);
    _check_status (frame);
    _check_answer (frame);
    _check_acknowledgement (frame);
    frame_destroy (frame);
}
