/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Whole launches by the functions that the rendezvous calls, without a listening socket: step.golden tells
 * them. Here are the events, and the launches that are too large for a story.
 */
#include "config.h"

#include "messages.h"
#include "story.h"
#include "../random.h"

#include "job/duties.h"
#include "rendezvous/cluster_table.h"
#include "rendezvous/rank_names.h"
#include "rendezvous/show_json.h"
#include "rendezvous/step.h"
#include "rendezvous/step_overview.h"

/* srun's host, which is none of the step's nodes. */
static const struct host login = { "login" };

static struct step *step;

static void end (void)
{
    step_destroy (step);
    step = NULL;
}

/* srun's configuration: "KEY=VALUE KEY=VALUE", followed by defaults. */
static struct frame *configuration (char *words)
{
    struct frame *frame = frame_create ();
    bool without_tf = false;

    while (*words)
        if (story_begins (&words, "without TF"))
            without_tf = true;
        else {
            char *value = story_word (&words), *key = strsep (&value, "=");

            assert_non_null (value);
            frame_add (frame, key, "%s", value);
        }
    if (!without_tf)
        frame_add (frame, "TF", "1");
    frame_add (frame, "STEP", "12.0");
    frame_add (frame, "TOKEN", TOKEN);
    frame_add (frame, "SERVER_TOKEN", SERVER_TOKEN);
    frame_add (frame, "IB", "no");
    frame_add (frame, "STOP", "never");
    frame_add (frame, "STOP_GRACE", "10");
    frame_add (frame, "EVAL_GRACE", "900");
    frame_add (frame, "FAIL_GRACE", "30");
    frame_add (frame, "TIMEOUT", "300");
    return frame;
}

static void print_refusal (const struct errtext *err)
{
    story_print ("refused: %s\n", err->text);
}

static struct rendezvous_config config;

/* The step uses its configuration, and this the frame, until the next one begins. */
static void begin (char *words)
{
    static struct frame *frame;
    struct errtext err;

    end ();
    frame_destroy (frame);
    frame = configuration (words);
    if (fields_decode (&rendezvous_config_fields, &config, frame, &err) < 0
        || step_create (&step, &config, &err) < 0) {
        assert_null (step);
        print_refusal (&err);
    }
}

/* Ranks. */

/*
 * A rank on this node: n1 has 10.0.0.1 and so on, and each is its own host. The strings that it points to are
 * valid until the next rank is made.
 */
static struct registration on_node (int rank, int tasks, int node)
{
    static char name[16];
    /* clang-format off */
    struct registration r = {
        .rank = rank, .tasks = tasks, .component_tasks = tasks, .node_index = node - 1,
        .port = 40000 + rank, .master_port = 50000 + rank, .node = name, .step = "12.0",
    };
    /* clang-format on */
    char text[32];

    snprintf (name, sizeof (name), "n%d", node);
    snprintf (r.host.id, sizeof (r.host.id), "host%d", node);
    snprintf (text, sizeof (text), "10.%d.%d.%d", (node - 1) / 40000, (node - 1) / 200 % 200,
              (node - 1) % 200 + 1);
    assert_int_equal (address_parse (&r.address, text), 0);
    return r;
}

/* A rank registers over a connection to this address of srun. If it is not added, print why not. */
static bool register_by (const struct registration *rank, const char *srun)
{
    struct address address;
    struct errtext err;
    enum step_verdict verdict;

    assert_int_equal (address_parse (&address, srun), 0);
    verdict = step_add (step, rank, &address, &rank->address, &err);
    if (verdict == STEP_REFUSED)
        print_refusal (&err);
    else if (verdict == STEP_IGNORED)
        story_result ("ignored");
    return verdict == STEP_ADDED;
}

static void print_missing (void)
{
    int missing = roster_missing (step_roster (step));

    if (missing)
        story_result ("%d missing", missing);
}

/* A property of a rank, as "cpus 0xf0"; or one of its interfaces. */
static void set_property (struct registration *r, const char **srun, char *text)
{
    const struct story_setting setting[] = {
        { "srun", .text = srun },
        { "node", .text = &r->node },
        { "port", .number = &r->port },
        { "gpus", .number = &r->gpus },
        { "component number", .number = &r->component },
        { "cpus", .text = &r->cpus },
        { "proxied", .flag = &r->proxied },
        { "has set", .text = &r->users },
        { "own name", .text = &r->own_name },
        { "logs to", .text = &r->log_dir },
        { "private logs", .flag = &r->log_dir_private },
        { "error", .text = &r->error },
        { "no supervisor", .text = &r->supervisor_error },
        { "no locality", .text = &r->locality_error },
        { "nodes", .text = &r->step_nodes },
        { "tasks", .text = &r->step_node_tasks },
    };

    if (story_begins (&text, "component from")) {
        r->component_first = story_number (&text);
        r->component_tasks = story_number (&text);
    } else if (story_begins (&text, "host"))
        snprintf (r->host.id, sizeof (r->host.id), "%s", text);
    else if (story_begins (&text, "address"))
        assert_int_equal (address_parse (&r->address, text), 0);
    else if (story_begins (&text, "no second port"))
        r->master_port = 0;
    else if (!story_sets (&text, setting, COUNT (setting))
             && interface_parse (&r->interface[r->interfaces++], text) < 0)
        story_unknown (text);
}

/* "0 of 2 on n1; PROPERTY; PROPERTY" */
static void add_rank (char *event)
{
    int rank = story_number (&event), tasks, node;
    const char *srun = "10.0.0.9";
    struct registration r;
    char *text;
    size_t length;

    if (!story_begins (&event, "of"))
        story_unknown (event);
    tasks = story_number (&event);
    if (strncmp (event, "on n", 4) != 0)
        story_unknown (event);
    node = (int)strtol (event + 4, &event, 10);
    r = on_node (rank, tasks, node);
    strsep (&event, ";");
    text = event;
    length = event ? strlen (event) : 0;
    while (event)
        set_property (&r, &srun, strsep (&event, ";") + 1);
    if (register_by (&r, srun))
        print_missing ();
    /* The step has to copy what it needs. */
    if (length)
        memset (text, 'x', length);
}

/* The ranks 0, 1, ... on the nodes whose numbers are the digits. */
static void add_ranks (const char *nodes)
{
    int tasks = (int)strlen (nodes);

    for (int rank = 0; rank < tasks; rank++) {
        struct registration r = on_node (rank, tasks, nodes[rank] - '0');

        if (!register_by (&r, "10.0.0.9"))
            return;
    }
    print_missing ();
}

/* What a user reads of ranks that are missing or lost. */
static void print_names (void)
{
    struct roster *roster = step_roster (step);
    char text[512];

    if (*rank_names_missing (roster, text, sizeof (text)))
        story_print ("missing: %s\n", text);
    if (*rank_names_missing_nodes (roster, text, sizeof (text)))
        story_print ("missing%s\n", text);
    if (roster_gone (roster))
        story_print ("%d lost: %s\n", roster_gone (roster), rank_names_gone (roster, text, sizeof (text)));
}

/* What tf-status is told of the launch, which began a minute ago, and of each rank. */
static void print_overview (bool refused)
{
    const struct step_view view = { &config, step_roster (step), NULL, NULL, 0, 60000, refused };
    struct step_overview_room room;
    const struct overview o = step_overview (&view, &room);

    story_print ("%s\n", message_line (fields_frame (&overview_fields, &o)));
    for (int i = 0; i < o.rows; i++) {
        const struct overview_rank rank = step_overview_rank (&view, &view.roster->rank[i], &room);

        story_print ("%s\n", message_line (fields_frame (&overview_rank_fields, &rank)));
    }
}

/* The launch. */

static void resolve (void)
{
    struct errtext err;
    const char *notice;

    assert_int_equal (roster_missing (step_roster (step)), 0);
    if (step_resolve (step, &login, &err) < 0)
        print_refusal (&err);
    else
        for (int i = 0; (notice = step_notice (step, i)); i++)
            story_print ("notice: %s\n", notice);
}

static void print_table (void)
{
    char *text = cluster_table (step_roster (step), step_choice (step));

    story_print ("%s", text);
    free (text);
}

static const struct rendezvous_config objects = { .restart = { .times = 3 } };

/* The object of the start, from its ranks on: what stands before, all objects have. */
static void print_start (void)
{
    char *text = show_json_start (step_roster (step), step_choice (step), &objects);

    assert_non_null (text);
    story_print ("%s", strstr (text, "\"ranks\":"));
    free (text);
}

/* The answer as the rank receives it. */
static struct frame *answer_of (int rank)
{
    struct answer_message answer;
    struct frame *frame;

    assert_int_equal (step_answer (step, &step_roster (step)->rank[rank], NULL, &answer), 0);
    assert_non_null (frame = frame_join (answer.part, ANSWER_PARTS));
    answer_message_clear (&answer);
    return frame;
}

static void print_answer (int rank)
{
    struct frame *frame = answer_of (rank);

    for (const char *s = frame_next (frame, NULL); s; s = frame_next (frame, s))
        if (strcmp (s, "SERVER_TOKEN=" SERVER_TOKEN) != 0)
            story_print ("%s\n", s);
    assert_string_equal (frame_get (frame, "SERVER_TOKEN"), SERVER_TOKEN);
    frame_destroy (frame);
}

/* The value of a key in every rank's answer. */
static void print_values (const char *key)
{
    for (int rank = 0; rank < step_roster (step)->tasks; rank++) {
        struct frame *frame = answer_of (rank);
        const char *value = frame_get (frame, key);

        story_result ("%s", value ? *value ? value : "\"\"" : "-");
        frame_destroy (frame);
    }
}

/* "ps 0", "worker 0", ... in rank order. */
static void print_roles (void)
{
    for (int rank = 0; rank < step_roster (step)->tasks; rank++) {
        struct frame *frame = answer_of (rank);

        story_result ("%s %s", frame_get (frame, "SLURM_TF_ROLE"), frame_get (frame, "SLURM_TF_INDEX"));
        frame_destroy (frame);
    }
}

/* "rank N by rank M": what the loss of a node does to places (job/spares.c). */
static void replace (char *event)
{
    struct roster *roster = step_roster (step);
    struct rank *lost = &roster->rank[story_number (&event)], *spare;
    struct errtext err;

    if (!story_begins (&event, "by rank"))
        story_unknown (event);
    spare = &roster->rank[story_number (&event)];
    spare->place = lost->place;
    spare->place->rank = spare;
    lost->place = NULL;
    assert_int_equal (step_change (step, &err), 0);
}

static void supervise (void)
{
    const struct roster *roster = step_roster (step);
    struct job job = { .config = &config,
                       .rank = roster->rank,
                       .tasks = roster->tasks,
                       .place = roster->place,
                       .places = roster->places };
    struct errtext err;

    duties_set (&job);
    if (step_supervise (step, &err) < 0)
        print_refusal (&err);
}

static void play (char *event)
{
    if (story_begins (&event, "step"))
        begin (event);
    else if (story_begins (&event, "rank"))
        add_rank (event);
    else if (story_begins (&event, "ranks on"))
        add_ranks (event);
    else if (story_begins (&event, "lose rank"))
        step_roster (step)->rank[story_number (&event)].launch = RANK_GONE;
    else if (story_begins (&event, "who is missing"))
        print_names ();
    else if (story_begins (&event, "tf-status of a refused launch"))
        print_overview (true);
    else if (story_begins (&event, "tf-status"))
        print_overview (false);
    else if (story_begins (&event, "how many"))
        story_result ("%d tasks", step_roster (step)->tasks);
    else if (story_begins (&event, "resolve"))
        resolve ();
    else if (story_begins (&event, "supervise"))
        supervise ();
    else if (story_begins (&event, "replace rank"))
        replace (event);
    else if (story_begins (&event, "serves"))
        step_roster (step)->rank[story_number (&event)].place->duty.serves = true;
    else if (story_begins (&event, "table"))
        print_table ();
    else if (story_begins (&event, "start as JSON"))
        print_start ();
    else if (story_begins (&event, "answer"))
        print_answer (story_number (&event));
    else if (story_begins (&event, "roles"))
        print_roles ();
    else if (story_begins (&event, "log directory"))
        story_result ("%s", step_log_dir (step) ? step_log_dir (step) : "-");
    else
        print_values (event);
}

STORIES (GOLDEN, play, end)

/* Launches that are no stories. */

static void add (struct registration rank)
{
    assert_true (register_by (&rank, "10.0.0.9"));
}

static void begin_with (const char *words)
{
    char event[128];

    snprintf (event, sizeof (event), "%s", words);
    begin (event);
    assert_non_null (step);
}

TEST (the_order_of_registrations_does_not_matter)
{
    enum { TASKS = 12 };
    static const char *const list[] = { "LIST=chief,ps:3,worker:rest", "LIST_PER_NODE=ps,worker:rest" };
    uint64_t seed = RANDOM_SEED;
    char first[COUNT (list)][TASKS][1024];

    for (int round = 0; round < 50; round++) {
        size_t l = (size_t)round % COUNT (list);
        size_t order[TASKS];

        begin_with (list[l]);
        random_order (&seed, order, TASKS);
        for (int i = 0; i < TASKS; i++)
            add (on_node ((int)order[i], TASKS, (int)order[i] % 3 + 1));
        resolve ();
        for (int rank = 0; rank < TASKS; rank++) {
            struct frame *frame = answer_of (rank);
            const char *text = frame_get (frame, "TF_CONFIG");

            if ((size_t)round == l)
                snprintf (first[l][rank], sizeof (first[l][rank]), "%s", text);
            assert_string_equal (text, first[l][rank]);
            frame_destroy (frame);
        }
    }
    end ();
}

/* Nearly the longest TF_CONFIG, all addresses again for the proxy, nodes without order. */
TEST (the_longest_answer_of_a_step_fits_its_limit)
{
    enum { TASKS = 6500 };
    struct answer_message message;
    size_t length = 0;

    begin_with ("KERAS=1 JAX=1 TORCH=1 LIST=worker:6499,spare");
    for (int rank = 0; rank < TASKS; rank++) {
        struct registration r = on_node (rank, TASKS, rank + 1);
        char name[8];

        snprintf (name, sizeof (name), "%c%c%c", 'a' + rank % 26, 'a' + rank / 26 % 26, 'a' + rank / 676);
        r.node = name;
        r.proxied = true;
        add (r);
    }
    resolve ();
    assert_int_equal (step_answer (step, &step_roster (step)->rank[TASKS - 2], NULL, &message), 0);
    for (int i = 0; i < ANSWER_PARTS; i++)
        length += message.part[i].iov_len;
    assert_between (length - FRAME_HEADER, 220 * 1024, FRAME_MAX_ANSWER);
    answer_message_clear (&message);
    end ();
}

/* Names that do not follow each other, of eight bytes each. */
TEST (a_list_of_nodes_that_is_too_long_is_left_out)
{
    enum { TASKS = 4096 };
    struct frame *frame;

    begin_with ("JAX=1 LIST=worker:4095,spare");
    for (int rank = 0; rank < TASKS; rank++) {
        struct registration r = on_node (rank, TASKS, rank + 1);
        char name[16];

        snprintf (name, sizeof (name), "n%05d.x", rank);
        r.node = name;
        add (r);
    }
    resolve ();
    frame = answer_of (0);
    assert_string_equal (frame_get (frame, "SLURM_NNODES"), "4095");
    assert_string_equal (frame_get (frame, "SLURM_TASKS_PER_NODE"), "1(x4095)");
    assert_null (frame_get (frame, "SLURM_NODELIST"));
    assert_null (frame_get (frame, "SLURM_STEP_NODELIST"));
    frame_destroy (frame);
    end ();
}

/* A directory's name may have any bytes, and JSON does not. */
TEST (a_text_that_is_not_utf8_is_left_out_of_an_object)
{
    struct registration r = on_node (0, 1, 1);
    char *text;

    r.log_dir = "/\xff";
    begin_with ("LIST=worker");
    add (r);
    resolve ();
    text = show_json_start (step_roster (step), step_choice (step), &objects);
    assert_non_null (strstr (text, "\"port\":40000}]}\n"));
    free (text);
    end ();
}
