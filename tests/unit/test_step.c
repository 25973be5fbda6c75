/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Whole launches by the functions that the rendezvous calls, without a listening socket.
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/frameworks.h"
#include "rendezvous/rank_names.h"
#include "rendezvous/step.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define SERVER_TOKEN "fedcba9876543210fedcba9876543210"

/* srun's host, which is none of the step's nodes. */
static const struct host login = { "login" };

/* srun's configuration: "KEY=VALUE" strings that end with NULL, followed by defaults. */
static struct frame *configuration (const char *const *strings)
{
    struct frame *frame = frame_create ();

    for (; *strings; strings++) {
        char key[32];

        snprintf (key, sizeof (key), "%.*s", (int)strcspn (*strings, "="), *strings);
        frame_add (frame, key, "%s", strchr (*strings, '=') + 1);
    }
    frame_add (frame, "TOKEN", TOKEN);
    frame_add (frame, "SERVER_TOKEN", SERVER_TOKEN);
    frame_add (frame, "TF", "1");
    frame_add (frame, "IB", "no");
    frame_add (frame, "STOP", "never");
    frame_add (frame, "STOP_GRACE", "10");
    frame_add (frame, "EVAL_GRACE", "900");
    frame_add (frame, "TIMEOUT", "300");
    return frame;
}

static int try_create (struct step **step, const char *const *strings, struct errtext *err)
{
    struct frame *frame = configuration (strings);
    struct rendezvous_config config;
    int rc = rendezvous_config_decode (&config, frame, err);

    if (rc == 0)
        rc = step_create (step, &config, err);
    frame_destroy (frame);
    return rc;
}

static struct step *create_of (const char *const *strings)
{
    struct step *step = NULL;
    struct errtext err = { "" };

    if (try_create (&step, strings, &err) < 0)
        fail_msg ("%s", err.text);
    return step;
}

static int tasks_of (struct step *step)
{
    return step_roster (step)->tasks;
}

static int missing (struct step *step)
{
    return roster_missing (step_roster (step));
}

/* create ("LIST=ps,worker"): more strings may precede the list. */
#define create(...) create_of ((const char *const[]){ "STEP=12.0", __VA_ARGS__, NULL })

/*
 * A rank on the node with this index: n1 with 10.0.0.1 and so on, each on its own host. The strings
 * that it points to are valid until the next rank on the same node is made.
 */
static struct registration on_node (int rank, int tasks, int index)
{
    static char name[256][16];
    struct registration r = {
        .rank = rank, .tasks = tasks, .component_tasks = tasks, .node_index = index,
        .port = 40000 + rank,
    };
    char text[32];

    snprintf (name[index % 256], sizeof (name[0]), "n%d", index + 1);
    snprintf (r.host.id, sizeof (r.host.id), "host%d", index);
    snprintf (text, sizeof (text), "10.%d.%d.%d", index / 40000, index / 200 % 200,
              index % 200 + 1);
    assert_int_equal (address_parse (&r.address, text), 0);
    r.node = name[index % 256];
    r.step = "12.0";
    return r;
}

/* A rank registers over a connection to this address of srun. */
static enum step_verdict register_by (struct step *step, struct registration rank, const char *srun,
                                      struct errtext *err)
{
    struct address address;

    err->text[0] = '\0';
    assert_int_equal (address_parse (&address, srun), 0);
    return step_add (step, &rank, &address, err);
}

static enum step_verdict try_register (struct step *step, struct registration rank,
                                       struct errtext *err)
{
    return register_by (step, rank, "10.0.0.9", err);
}

static void add_rank (struct step *step, struct registration rank)
{
    struct errtext err;

    if (try_register (step, rank, &err) != STEP_ADDED)
        fail_msg ("rank %d: %s", rank.rank, err.text);
}

static void check_refused (struct step *step, struct registration rank, const char *message)
{
    struct errtext err;

    assert_int_equal (try_register (step, rank, &err), STEP_REFUSED);
    assert_string_equal (err.text, message);
}

/* Register ranks 0, 1, ... on the nodes whose indexes are the digits of this string. */
static void add_ranks (struct step *step, const char *indexes)
{
    int tasks = (int)strlen (indexes);

    for (int i = 0; i < tasks; i++)
        add_rank (step, on_node (i, tasks, indexes[i] - '0'));
}

static void resolve (struct step *step)
{
    struct errtext err = { "" };

    assert_int_equal (missing (step), 0);
    if (step_resolve (step, &login, &err) < 0)
        fail_msg ("%s", err.text);
}

/* The answer as the rank receives it. */
static struct frame *answer_of (struct step *step, int rank)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_ANSWER };
    struct answer_message answer;
    struct frame *frame = NULL;
    size_t length = 0;
    int pair[2];

    memset (&answer, 0, sizeof (answer));
    assert_int_equal (step_answer (step, rank, SERVER_TOKEN, &answer), 0);
    for (int i = 0; i < ANSWER_PARTS; i++)
        length += answer.part[i].iov_len;
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal (writev (pair[0], answer.part, ANSWER_PARTS), length);
    close (pair[0]);
    assert_int_equal (frame_read (&reader, pair[1], &frame, NULL), 1);
    assert_int_equal (recv (pair[1], &length, 1, 0), 0);       /* no byte follows the answer */
    close (pair[1]);
    answer_message_clear (&answer);
    return frame;
}

static void check_answer (struct step *step, int rank, const char *strings)
{
    struct frame *frame = answer_of (step, rank);
    char text[1024] = "";

    for (const char *s = frame_next (frame, NULL); s; s = frame_next (frame, s))
        strcat (strcat (text, s), "\n");
    assert_string_equal (text, strings);
    frame_destroy (frame);
}

/* All roles and indexes in rank order, as "ps0 worker0 ". */
static void check_roles (struct step *step, const char *roles)
{
    char text[256] = "";

    for (int rank = 0; rank < tasks_of (step); rank++) {
        struct frame *frame = answer_of (step, rank);

        strcat (strcat (text, frame_get (frame, "SLURM_TF_ROLE")),
                frame_get (frame, "SLURM_TF_INDEX"));
        strcat (text, " ");
        frame_destroy (frame);
    }
    assert_string_equal (text, roles);
}

static void check_table (struct step *step, const char *table)
{
    char *text = step_table (step, false);

    assert_string_equal (text, table);
    free (text);
}

/* Successful launches. */

TEST (a_launch_from_its_first_rank_to_its_answers)
{
    struct step *step = create ("HOLD=yes", "LIST=ps,worker,worker");

    assert_string_equal (step_name (step), "step 12.0");
    assert_int_equal (tasks_of (step), 0);
    add_rank (step, on_node (2, 3, 1));
    assert_int_equal (tasks_of (step), 3);
    assert_int_equal (missing (step), 2);
    add_rank (step, on_node (0, 3, 0));
    assert_int_equal (missing (step), 1);
    add_rank (step, on_node (1, 3, 0));
    resolve (step);

    check_table (step,
                 "spank_tf: step 12.0: 3 tasks on 2 nodes\n"
                 "  rank  role      node  address\n"
                 "     0  ps 0      n1    10.0.0.1:40000\n"
                 "     1  worker 0  n1    10.0.0.1:40001\n"
                 "     2  worker 1  n2    10.0.0.2:40002\n");
#define CLUSTER "TF_CONFIG={\"cluster\":{\"ps\":[\"10.0.0.1:40000\"]," \
                "\"worker\":[\"10.0.0.1:40001\",\"10.0.0.2:40002\"]},\"task\":"
    check_answer (step, 0, "SERVER_TOKEN=" SERVER_TOKEN "\nSLURM_TF_ROLE=ps\nSLURM_TF_INDEX=0\n"
                  "SLURM_TF_ADDRESS=10.0.0.1\nSLURM_TF_PORT=40000\nTF_GRPC_REUSE_PORT=1\n"
                  CLUSTER "{\"type\":\"ps\",\"index\":0}}\n");
    check_answer (step, 1, "SERVER_TOKEN=" SERVER_TOKEN "\nSLURM_TF_ROLE=worker\nSLURM_TF_INDEX=0\n"
                  "SLURM_TF_ADDRESS=10.0.0.1\nSLURM_TF_PORT=40001\nTF_GRPC_REUSE_PORT=1\n"
                  CLUSTER "{\"type\":\"worker\",\"index\":0}}\n");
    check_answer (step, 2, "SERVER_TOKEN=" SERVER_TOKEN "\nSLURM_TF_ROLE=worker\nSLURM_TF_INDEX=1\n"
                  "SLURM_TF_ADDRESS=10.0.0.2\nSLURM_TF_PORT=40002\nTF_GRPC_REUSE_PORT=1\n"
                  CLUSTER "{\"type\":\"worker\",\"index\":1}}\n");
#undef CLUSTER
    step_destroy (step);
}

TEST (without_a_held_port_reuseport_is_not_requested)
{
    struct step *step = create ("LIST=worker");

    add_ranks (step, "0");
    resolve (step);
    check_answer (step, 0, "SERVER_TOKEN=" SERVER_TOKEN "\nSLURM_TF_ROLE=worker\nSLURM_TF_INDEX=0\n"
                  "SLURM_TF_ADDRESS=10.0.0.1\nSLURM_TF_PORT=40000\nTF_CONFIG={\"cluster\":"
                  "{\"worker\":[\"10.0.0.1:40000\"]},\"task\":{\"type\":\"worker\",\"index\":0}}"
                  "\n");
    check_table (step,
                 "spank_tf: step 12.0: 1 task on 1 node\n"
                 "  rank  role      node  address\n"
                 "     0  worker 0  n1    10.0.0.1:40000\n");
    step_destroy (step);
}

TEST (only_the_evaluators_cluster_lists_the_evaluator)
{
    struct step *step = create ("LIST=chief,worker,evaluator");

    add_ranks (step, "000");
    resolve (step);
    check_answer (step, 1, "SERVER_TOKEN=" SERVER_TOKEN "\nSLURM_TF_ROLE=worker\nSLURM_TF_INDEX=0\n"
                  "SLURM_TF_ADDRESS=10.0.0.1\nSLURM_TF_PORT=40001\nTF_CONFIG={\"cluster\":"
                  "{\"chief\":[\"10.0.0.1:40000\"],\"worker\":[\"10.0.0.1:40001\"]},"
                  "\"task\":{\"type\":\"worker\",\"index\":0}}\n");
    check_answer (step, 2, "SERVER_TOKEN=" SERVER_TOKEN "\n"
                  "SLURM_TF_ROLE=evaluator\nSLURM_TF_INDEX=0\n"
                  "SLURM_TF_ADDRESS=10.0.0.1\nSLURM_TF_PORT=40002\nTF_CONFIG={\"cluster\":"
                  "{\"chief\":[\"10.0.0.1:40000\"],\"worker\":[\"10.0.0.1:40001\"],"
                  "\"evaluator\":[\"10.0.0.1:40002\"]},"
                  "\"task\":{\"type\":\"evaluator\",\"index\":0}}\n");
    step_destroy (step);
}

TEST (sruns_node_has_the_address_at_which_other_nodes_reach_srun)
{
    struct step *step = create ("LIST=ps,worker");
    struct registration own = on_node (0, 2, 0);
    struct errtext err;

    own.host = login;
    address_parse (&own.address, "127.0.0.1");
    assert_int_equal (register_by (step, own, "127.0.1.1", &err), STEP_ADDED);
    add_rank (step, on_node (1, 2, 1));
    resolve (step);
    check_answer (step, 0, "SERVER_TOKEN=" SERVER_TOKEN "\nSLURM_TF_ROLE=ps\nSLURM_TF_INDEX=0\n"
                  "SLURM_TF_ADDRESS=10.0.0.9\nSLURM_TF_PORT=40000\nTF_CONFIG={\"cluster\":"
                  "{\"ps\":[\"10.0.0.9:40000\"],\"worker\":[\"10.0.0.2:40001\"]},"
                  "\"task\":{\"type\":\"ps\",\"index\":0}}\n");
    step_destroy (step);
}

TEST (roles_follow_ranks_in_any_distribution_over_nodes)
{
    static const struct {
        const char *list, *indexes, *roles;
    } row[] = {
        { "LIST=ps,worker:rest", "0011", "ps0 worker0 worker1 worker2 " },
        { "LIST=ps,worker:rest", "0101", "ps0 worker0 worker1 worker2 " },
        { "LIST=ps,worker:rest", "1100", "ps0 worker0 worker1 worker2 " },
        { "LIST=worker,ps,worker,ps", "0012", "worker0 ps0 worker1 ps1 " },
        { "LIST_PER_NODE=ps,worker", "0011", "ps0 worker0 ps1 worker1 " },
        { "LIST_PER_NODE=ps,worker", "0101", "ps0 ps1 worker0 worker1 " },
        { "LIST_PER_NODE=ps,worker", "1001", "ps0 ps1 worker0 worker1 " },
        { "LIST_PER_NODE=ps,worker:rest", "00011", "ps0 worker0 worker1 ps1 worker2 " },
        { "LIST_PER_NODE=worker:rest", "0120", "worker0 worker1 worker2 worker3 " },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct step *step = create (row[i].list);

        add_ranks (step, row[i].indexes);
        resolve (step);
        check_roles (step, row[i].roles);
        step_destroy (step);
    }
}

/* A rank of the component whose first rank is `first`. Each rank is on its own node. */
static struct registration of_component (int rank, int tasks, int first, int component_tasks)
{
    struct registration r = on_node (rank, tasks, rank);

    r.component_first = first;
    r.component_tasks = component_tasks;
    return r;
}

TEST (each_component_can_have_its_own_list)
{
    struct step *step = create ("LIST=chief,ps", "LIST=worker:rest",
                                "LIST_PER_NODE=evaluator");

    add_rank (step, of_component (0, 5, 0, 2));
    add_rank (step, of_component (4, 5, 4, 1));
    add_rank (step, of_component (3, 5, 2, 2));
    add_rank (step, of_component (2, 5, 2, 2));
    add_rank (step, of_component (1, 5, 0, 2));
    resolve (step);
    check_roles (step, "chief0 ps0 worker0 worker1 evaluator0 ");
    step_destroy (step);
}

TEST (one_list_can_apply_to_all_components)
{
    struct step *step = create ("LIST=chief,ps,worker:rest");

    add_rank (step, of_component (0, 4, 0, 1));
    add_rank (step, of_component (1, 4, 1, 2));
    add_rank (step, of_component (2, 4, 1, 2));
    add_rank (step, of_component (3, 4, 3, 1));
    resolve (step);
    check_roles (step, "chief0 ps0 worker0 worker1 ");
    step_destroy (step);
}

TEST (the_order_of_registrations_does_not_matter)
{
    enum { TASKS = 12 };
    const char *const list[] = { "LIST=chief,ps:3,worker:rest",
                                 "LIST_PER_NODE=ps,worker:rest" };
    uint64_t seed = FUZZ_SEED;
    char first[COUNT (list)][TASKS][1024];

    for (int round = 0; round < 50; round++) {
        size_t l = (size_t)round % COUNT (list);
        struct step *step = create (list[l]);
        int order[TASKS];

        for (int i = 0; i < TASKS; i++) {
            int j = (int)(fuzz_next (&seed) % (unsigned int)(i + 1));

            order[i] = order[j];
            order[j] = i;
        }
        for (int i = 0; i < TASKS; i++)
            add_rank (step, on_node (order[i], TASKS, order[i] % 3));
        resolve (step);
        for (int rank = 0; rank < TASKS; rank++) {
            struct frame *frame = answer_of (step, rank);
            const char *config = frame_get (frame, "TF_CONFIG");

            if ((size_t)round == l)
                snprintf (first[l][rank], sizeof (first[l][rank]), "%s", config);
            assert_string_equal (config, first[l][rank]);
            frame_destroy (frame);
        }
        step_destroy (step);
    }
}

TEST (a_table_is_as_wide_as_its_names)
{
    struct step *step = create ("LIST=evaluator,a-role-of-the-site,worker");
    struct registration rank = on_node (0, 3, 0);

    rank.node = "a-long-name.of.a-node";
    address_parse (&rank.address, "fd00::1");
    add_rank (step, rank);
    add_rank (step, on_node (1, 3, 1));
    add_rank (step, on_node (2, 3, 2));
    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 3 tasks on 3 nodes\n"
                 "  rank  role                  node                   address\n"
                 "     0  evaluator 0           a-long-name.of.a-node  [fd00::1]:40000\n"
                 "     1  a-role-of-the-site 0  n2                     10.0.0.2:40001\n"
                 "     2  worker 0              n3                     10.0.0.3:40002\n");
    step_destroy (step);
}

/* Networks. */

/* Add CPUs, unless NULL, and interfaces to a registration. The list of interfaces ends with "". */
static struct registration with_interfaces (struct registration rank, const char *cpus,
                                            const char *const *interfaces)
{
    rank.cpus = cpus;
    for (; **interfaces; interfaces++)
        assert_int_equal (interface_parse (&rank.interface[rank.interfaces++], *interfaces), 0);
    return rank;
}

#define WITH(rank, cpus, ...) \
    with_interfaces (rank, cpus, (const char *const[]){ __VA_ARGS__, "" })

static void check_notices (struct step *step, const char *first, const char *second)
{
    const char *notice[] = { first, second, NULL };

    for (int i = 0; i < 3; i++)
        if (notice[i])
            assert_string_equal (step_notice (step, i), notice[i]);
        else
            assert_null (step_notice (step, i));
}

TEST (infiniband_is_used_if_every_node_has_it)
{
    static const char *const ib[] = { "IB=auto", "IB=require" };

    for (size_t i = 0; i < COUNT (ib); i++) {
        struct step *step = create (ib[i], "LIST=ps,worker:rest");

        check_notices (step, NULL, NULL);
        add_rank (step, on_node (1, 3, 0));
        add_rank (step, WITH (on_node (0, 3, 0), NULL, "ib0 infiniband up 10.9.0.1/16",
                              "eth0 other up 10.0.0.1/16"));
        add_rank (step, WITH (on_node (2, 3, 1), NULL, "ib0 infiniband up 10.9.0.2/16",
                              "eth0 other up 10.0.0.2/16"));
        resolve (step);
        check_table (step,
                     "spank_tf: step 12.0: 3 tasks on 2 nodes, network 10.9.0.0/16 (InfiniBand)\n"
                     "  rank  role      node  address\n"
                     "     0  ps 0      n1    10.9.0.1:40000\n"
                     "     1  worker 0  n1    10.9.0.1:40001\n"
                     "     2  worker 1  n2    10.9.0.2:40002\n");
        check_notices (step, NULL, NULL);
        step_destroy (step);
    }
}

/* A launch of two ranks on two nodes, the second of which has no InfiniBand. */
static struct step *half_a_cluster (const char *ib)
{
    struct step *step = create (ib, "LIST=ps,worker");

    add_rank (step, WITH (on_node (0, 2, 0), NULL, "ib0 infiniband up 10.9.0.1/16",
                          "eth0 other up 10.0.0.1/16"));
    add_rank (step, WITH (on_node (1, 2, 1), NULL, "ib0 infiniband down 10.9.0.2/16",
                          "eth0 other up 10.0.0.2/16"));
    return step;
}

TEST (infiniband_that_one_node_lacks_is_not_used_and_a_notice_is_printed)
{
    struct step *step = half_a_cluster ("IB=auto");

    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 2 tasks on 2 nodes, network 10.0.0.0/16 (eth0)\n"
                 "  rank  role      node  address\n"
                 "     0  ps 0      n1    10.0.0.1:40000\n"
                 "     1  worker 0  n2    10.0.0.2:40001\n");
    check_notices (step, "not all nodes are on one InfiniBand network: n2 (ib0 is down); using "
                   "10.0.0.0/16 (eth0)", NULL);
    step_destroy (step);
}

TEST (the_launch_is_refused_if_a_node_lacks_required_infiniband)
{
    struct step *step = half_a_cluster ("IB=require");
    struct errtext err;

    assert_int_equal (step_resolve (step, &login, &err), -1);
    assert_string_equal (err.text, "step 12.0: --tf-ib=require: not all nodes are on one "
                         "InfiniBand network: n2 (ib0 is down)");
    step_destroy (step);
}

TEST (without_tf_ib_infiniband_is_not_used)
{
    struct step *step = create ("LIST=worker");

    add_rank (step, WITH (on_node (0, 1, 0), NULL, "ib0 infiniband up 10.9.0.1/16",
                          "eth0 other up 10.0.0.1/16"));
    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 1 task on 1 node, network 10.0.0.0/16 (eth0)\n"
                 "  rank  role      node  address\n"
                 "     0  worker 0  n1    10.0.0.1:40000\n");
    step_destroy (step);
}

TEST (networks_are_preferred_in_the_order_of_the_list)
{
    static const struct {
        const char *networks, *address;
    } row[] = {
        { "NETWORKS=10.8.0.0/16,10.7.0.0/16", "10.8.0.1" },
        { "NETWORKS=10.6.0.0/16,eth7", "10.7.0.1" },
        { "NETWORKS=10.6.0.0/16", "10.0.0.1" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct step *step = create (row[i].networks, "LIST=worker");
        struct frame *frame;

        add_rank (step, WITH (on_node (0, 1, 0), NULL, "eth0 other up 10.0.0.1/16",
                              "eth7 other up 10.7.0.1/16", "eth8 other up 10.8.0.1/16"));
        resolve (step);
        frame = answer_of (step, 0);
        assert_string_equal (frame_get (frame, "SLURM_TF_ADDRESS"), row[i].address);
        frame_destroy (frame);
        check_notices (step, i < 2 ? NULL : "not all nodes are on 10.6.0.0/16: n1 (no address "
                       "there); using 10.0.0.0/16 (eth0)", NULL);
        step_destroy (step);
    }
}

TEST (a_network_that_a_user_names_is_required)
{
    struct step *step = create ("NETWORKS=10.6.0.0/16", "NETWORKS_REQUIRED=yes", "LIST=worker");
    struct errtext err;

    add_rank (step, WITH (on_node (0, 1, 0), NULL, "eth0 other up 10.0.0.1/16"));
    assert_int_equal (step_resolve (step, &login, &err), -1);
    assert_string_equal (err.text, "step 12.0: --tf-network: not all nodes are on 10.6.0.0/16: n1 "
                         "(no address there)");
    step_destroy (step);
}

#define RAIL_0(node, near) "ib0 infiniband up 10.8.0." #node "/16" near
#define RAIL_1(node, near) "ib1 infiniband up 10.9.0." #node "/16" near

TEST (each_rank_uses_the_interface_local_to_its_cpus)
{
    struct step *step = create ("IB=auto", "LIST=ps,worker:rest");

    add_rank (step, WITH (on_node (0, 5, 0), "0xf0", RAIL_0 (1, " 0xf"), RAIL_1 (1, " 0xf0")));
    add_rank (step, WITH (on_node (1, 5, 0), "0xf", ""));
    add_rank (step, WITH (on_node (2, 5, 1), "0xf", RAIL_0 (2, " 0xf"), RAIL_1 (2, " 0xf0")));
    add_rank (step, WITH (on_node (3, 5, 1), "0xff", ""));
    add_rank (step, WITH (on_node (4, 5, 1), NULL, ""));
    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 5 tasks on 2 nodes, network 10.8.0.0/16 and 10.9.0.0/16 "
                 "(InfiniBand)\n"
                 "  rank  role      node  address         interface\n"
                 "     0  ps 0      n1    10.9.0.1:40000  ib1\n"
                 "     1  worker 0  n1    10.8.0.1:40001  ib0\n"
                 "     2  worker 1  n2    10.8.0.2:40002  ib0\n"
                 "     3  worker 2  n2    10.9.0.2:40003  ib1\n"
                 "     4  worker 3  n2    10.8.0.2:40004  ib0\n");
    check_notices (step, NULL, NULL);
    step_destroy (step);
}

#define BY_ORDER "; InfiniBand interfaces are assigned in the kernel's order, not by locality"

TEST (one_notice_names_the_nodes_with_unknown_locality)
{
    static const struct {
        int unknown;                    /* so many of the three nodes, the last ones */
        const char *notice;
    } row[] = {
        { 0, NULL },
        { 1, "n3: tf-addresses failed" BY_ORDER },
        { 2, "n2 and 1 more: tf-addresses failed" BY_ORDER },
        { 3, "n1 and 2 more: tf-addresses failed" BY_ORDER },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct step *step = create ("IB=auto", "LIST=worker:3");
        const char *const interfaces[][3] = {
            { RAIL_0 (1, ""), RAIL_1 (1, ""), "" }, { RAIL_0 (2, ""), RAIL_1 (2, ""), "" },
            { RAIL_0 (3, ""), RAIL_1 (3, ""), "" },
        };

        for (int n = 0; n < 3; n++) {
            struct registration rank = with_interfaces (on_node (n, 3, n), "0x1", interfaces[n]);

            rank.locality_error = n >= 3 - row[i].unknown ? "tf-addresses failed" : NULL;
            add_rank (step, rank);
        }
        resolve (step);
        check_notices (step, row[i].notice, NULL);
        step_destroy (step);
    }
}

TEST (locality_does_not_matter_if_there_is_only_one_interface)
{
    struct step *step = create ("IB=auto", "LIST=worker:2");
    struct registration rank = WITH (on_node (0, 2, 0), NULL, RAIL_0 (1, ""), RAIL_1 (1, ""));

    rank.locality_error = "tf-addresses failed";
    add_rank (step, rank);
    add_rank (step, WITH (on_node (1, 2, 1), NULL, RAIL_0 (2, "")));
    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 2 tasks on 2 nodes, network 10.8.0.0/16 (InfiniBand)\n"
                 "  rank  role      node  address\n"
                 "     0  worker 0  n1    10.8.0.1:40000\n"
                 "     1  worker 1  n2    10.8.0.2:40001\n");
    check_notices (step, NULL, NULL);
    step_destroy (step);
}

TEST (all_notices_are_printed)
{
    struct step *step = create ("IB=auto", "NETWORKS=10.9.0.0/16", "NETWORKS_REQUIRED=yes",
                                "LIST=worker:2");
    struct registration rank = WITH (on_node (0, 2, 0), NULL, "eth0 other up 10.9.1.1/16",
                                     "eth1 other up 10.9.1.2/16");

    rank.locality_error = "tf-addresses failed";
    add_rank (step, rank);
    add_rank (step, WITH (on_node (1, 2, 1), NULL, "eth0 other up 10.9.1.3/16"));
    resolve (step);
    check_notices (step, "not all nodes are on one InfiniBand network of 10.9.0.0/16: n1, n2 (no "
                   "InfiniBand interface); using 10.9.0.0/16", "n1: tf-addresses failed" BY_ORDER);
    step_destroy (step);
}

/* The step outlives the connection, so it must copy the strings of the registration. */
TEST (the_step_copies_the_registration)
{
    struct step *step = create ("IB=auto", "LIST=worker:2");
    char rail_0[] = RAIL_0 (1, " 0xf"), rail_1[] = RAIL_1 (1, " 0xf0");
    char cpus[] = "0xf0", error[] = "broken";
    struct registration rank = WITH (on_node (0, 2, 0), cpus, rail_0, rail_1);

    rank.locality_error = error;
    add_rank (step, rank);
    add_rank (step, WITH (on_node (1, 2, 0), "0xf", ""));
    memset (rail_0, 'x', sizeof (rail_0));
    memset (rail_1, 'x', sizeof (rail_1));
    memset (cpus, 'x', sizeof (cpus));
    memset (error, 'x', sizeof (error));
    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 2 tasks on 1 node, network 10.8.0.0/16 and 10.9.0.0/16 "
                 "(InfiniBand)\n"
                 "  rank  role      node  address         interface\n"
                 "     0  worker 0  n1    10.9.0.1:40000  ib1\n"
                 "     1  worker 1  n1    10.8.0.1:40001  ib0\n");
    check_notices (step, "n1: broken" BY_ORDER, NULL);
    step_destroy (step);
}

TEST (a_lost_ranks_new_registration_replaces_the_old_one)
{
    struct step *step = create ("IB=auto", "LIST=worker:2");
    struct registration rank = WITH (on_node (0, 2, 0), "0x1", RAIL_0 (1, " 0x1"),
                                     RAIL_1 (1, " 0x2"));

    rank.locality_error = "tf-addresses failed";
    add_rank (step, rank);
    roster_lose (step_roster (step), 0);
    add_rank (step, on_node (1, 2, 0));
    add_rank (step, WITH (on_node (0, 2, 0), NULL, RAIL_1 (7, "")));
    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 2 tasks on 1 node, network 10.9.0.0/16 (InfiniBand)\n"
                 "  rank  role      node  address\n"
                 "     0  worker 0  n1    10.9.0.7:40000\n"
                 "     1  worker 1  n1    10.9.0.7:40001\n");
    check_notices (step, NULL, NULL);
    step_destroy (step);
}

TEST (a_table_of_rails_is_as_wide_as_its_addresses)
{
    struct step *step = create ("IB=auto", "LIST=worker:2");

    add_rank (step, WITH (on_node (0, 2, 0), "0x2", "ib0 infiniband up fd00::1/64 0x1",
                          "a-long-name-ib1 infiniband up fd01::1234:5678:9abc/64 0x2"));
    add_rank (step, WITH (on_node (1, 2, 0), "0x1", ""));
    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 2 tasks on 1 node, network fd00::/64 and fd01::/64 "
                 "(InfiniBand)\n"
                 "  rank  role      node  address                       interface\n"
                 "     0  worker 0  n1    [fd01::1234:5678:9abc]:40000  a-long-name-ib1\n"
                 "     1  worker 1  n1    [fd00::1]:40001               ib0\n");
    step_destroy (step);
}

/* What an answer contains besides role and index. */

/* The value of this key in the rank's answer, or "none". */
static const char *value_for (struct step *step, int rank, const char *key)
{
    static char text[256];
    struct frame *frame = answer_of (step, rank);
    const char *value = frame_get (frame, key);

    snprintf (text, sizeof (text), "%s", value ? value : "none");
    frame_destroy (frame);
    return text;
}

static const char *const gpu_variable[] = {
    "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
};

TEST (only_a_ps_gets_variables_that_hide_gpus)
{
    struct step *step = create ("HIDE_GPUS=yes", "LIST=chief,ps:2,worker,evaluator");

    add_ranks (step, "00011");
    resolve (step);
    for (int rank = 0; rank < 5; rank++) {
        bool ps = rank == 1 || rank == 2;

        for (size_t i = 0; i < COUNT (gpu_variable); i++)
            assert_string_equal (value_for (step, rank, gpu_variable[i]), ps ? "" : "none");
        assert_string_equal (value_for (step, rank, "ZE_AFFINITY_MASK"), ps ? "255" : "none");
    }
    step_destroy (step);
}

TEST (without_hide_gpus_no_task_gets_gpu_variables)
{
    struct step *step = create ("LIST=ps,worker");

    add_ranks (step, "00");
    resolve (step);
    for (int rank = 0; rank < 2; rank++) {
        for (size_t i = 0; i < COUNT (gpu_variable); i++)
            assert_string_equal (value_for (step, rank, gpu_variable[i]), "none");
        assert_string_equal (value_for (step, rank, "ZE_AFFINITY_MASK"), "none");
    }
    step_destroy (step);
}

/* Whether NCCL follows, in a step of two nodes of which `n2` may lack the network. */
static void check_nccl (const char *wish, const char *nccl, const char *n2, const char *expected)
{
    struct step *step = create (wish, nccl, "LIST=ps,worker");

    add_rank (step, WITH (on_node (0, 2, 0), NULL, "ib0 infiniband up 10.1.0.1/16"));
    add_rank (step, WITH (on_node (1, 2, 1), NULL, n2));
    resolve (step);
    assert_string_equal (value_for (step, 0, "NCCL"), expected);
    assert_string_equal (value_for (step, 1, "NCCL"), expected);
    step_destroy (step);
}

TEST (nccl_follows_a_network_that_was_wished_for)
{
    static const char ib[] = "ib0 infiniband up 10.1.0.2/16", down[] = "ib0 infiniband down -";

    check_nccl ("IB=auto", "NCCL=1", ib, "1");
    check_nccl ("NETWORKS=10.1.0.0/16", "NCCL=1", ib, "1");
    check_nccl ("IB=auto", "NCCL=1", down, "none");
    check_nccl ("NETWORKS=10.1.0.0/16", "NCCL=1", down, "none");
    check_nccl ("IB=no", "NCCL=1", ib, "none");
    check_nccl ("IB=auto", "X=1", ib, "none");
}

/* Tasks beside the cluster. */

#define BESIDE "SLURM_TF_BESIDE=data,log\nSLURM_TF_DATA=10.0.0.1:40000,10.0.0.2:40002\n" \
               "SLURM_TF_LOG=10.0.0.2:40003\n"

/* They have an index for each name. All tasks have the same cluster, and the addresses beside it. */
TEST (a_task_beside_the_cluster_has_its_name_and_a_port_for_any_server)
{
    struct step *step = create ("HOLD=1", "LIST=+data,worker,+data,+log");

    add_ranks (step, "0011");
    resolve (step);
    check_answer (step, 2, "SERVER_TOKEN=" SERVER_TOKEN "\nSLURM_TF_ROLE=data\nSLURM_TF_INDEX=1\n"
                  "SLURM_TF_ADDRESS=10.0.0.2\nSLURM_TF_PORT=40002\nOPEN_PORT=1\n"
                  "TF_GRPC_REUSE_PORT=1\nTF_CONFIG={\"cluster\":{\"worker\":[\"10.0.0.1:40001\"]},"
                  "\"task\":{\"type\":\"data\",\"index\":1}}\n" BESIDE);
    check_answer (step, 1, "SERVER_TOKEN=" SERVER_TOKEN "\nSLURM_TF_ROLE=worker\nSLURM_TF_INDEX=0\n"
                  "SLURM_TF_ADDRESS=10.0.0.1\nSLURM_TF_PORT=40001\n"
                  "TF_GRPC_REUSE_PORT=1\nTF_CONFIG={\"cluster\":{\"worker\":[\"10.0.0.1:40001\"]},"
                  "\"task\":{\"type\":\"worker\",\"index\":0}}\n" BESIDE);
    check_roles (step, "data0 worker0 data1 log0 ");
    check_table (step, "spank_tf: step 12.0: 4 tasks on 2 nodes\n"
                 "  rank  role      node  address\n"
                 "     0  +data 0   n1    10.0.0.1:40000\n"
                 "     1  worker 0  n1    10.0.0.1:40001\n"
                 "     2  +data 1   n2    10.0.0.2:40002\n"
                 "     3  +log 0    n2    10.0.0.2:40003\n");
    step_destroy (step);
}

TEST (a_step_of_tasks_beside_a_cluster_alone_is_refused)
{
    struct step *step = create ("LIST=+data:2");

    check_refused (step, on_node (0, 2, 0), "step 12.0 has only tasks beside a cluster, and none in "
                   "it; at least one task needs a role without +");
    step_destroy (step);
}

/* The processes of Keras, JAX and DTensor. */

#define FRAMEWORKS "KERAS=1", "JAX=1"

/* A resolved step with this list, one rank on each node. */
static struct step *with_frameworks (const char *list, int tasks)
{
    struct step *step = create (FRAMEWORKS, list);

    for (int rank = 0; rank < tasks; rank++)
        add_rank (step, on_node (rank, tasks, rank));
    resolve (step);
    return step;
}

/*
 * Every rank's number, "-" for none, as in "1 2 0"; the rank of process 0, or -1; and whether JAX
 * can take its numbers from Slurm.
 */
static void check_processes (struct step *step, const char *numbers, int coordinator, bool jax)
{
    char text[256] = "", address[32], count[16];
    int processes = 0;

    for (int rank = 0; rank < tasks_of (step); rank++) {
        const char *number = value_for (step, rank, "KERAS_DISTRIBUTION_PROCESS_ID");
        bool is_process = strcmp (number, "none") != 0;

        strcat (strcat (text, rank ? " " : ""), is_process ? number : "-");
        processes += is_process;
    }
    assert_string_equal (text, numbers);
    snprintf (address, sizeof (address), "10.0.0.%d:%d", coordinator + 1, 40000 + coordinator);
    snprintf (count, sizeof (count), "%d", processes);
    for (int rank = 0; rank < tasks_of (step); rank++) {
        bool is_process = strcmp (value_for (step, rank, "KERAS_DISTRIBUTION_PROCESS_ID"), "none") != 0;

        assert_string_equal (value_for (step, rank, "KERAS_DISTRIBUTION_JOB_ADDRESSES"),
                             is_process ? address : "none");
        assert_string_equal (value_for (step, rank, "KERAS_DISTRIBUTION_NUM_PROCESSES"),
                             is_process ? count : "none");
        assert_string_equal (value_for (step, rank, "JAX_DEVICES"), is_process ? "1" : "none");
        assert_string_equal (value_for (step, rank, "JAX_COORDINATOR_ADDRESS"),
                             is_process && jax ? address : "none");
    }
    step_destroy (step);
}

TEST (workers_are_processes_in_rank_order)
{
    check_processes (with_frameworks ("LIST=worker", 1), "0", 0, true);
    check_processes (with_frameworks ("LIST=worker:3", 3), "0 1 2", 0, true);
}

TEST (the_chief_is_process_0_wherever_it_is)
{
    check_processes (with_frameworks ("LIST=chief,worker:2", 3), "0 1 2", 0, true);
    check_processes (with_frameworks ("LIST=master,worker:2", 3), "0 1 2", 0, true);
    check_processes (with_frameworks ("LIST=chief", 1), "0", 0, true);
    check_processes (with_frameworks ("LIST=worker:2,chief", 3), "1 2 0", 2, false);
    check_processes (with_frameworks ("LIST=worker,master,worker", 3), "1 0 2", 1, false);
}

TEST (an_evaluator_is_not_a_process)
{
    check_processes (with_frameworks ("LIST=evaluator,chief,worker", 3), "- 0 1", 1, false);
    check_processes (with_frameworks ("LIST=worker:2,evaluator", 3), "0 1 -", 0, false);
    check_processes (with_frameworks ("LIST=evaluator", 1), "-", -1, false);
}

TEST (a_step_with_a_ps_has_no_processes)
{
    check_processes (with_frameworks ("LIST=chief,worker,ps", 3), "- - -", -1, false);
    check_processes (with_frameworks ("LIST=ps,worker:2", 3), "- - -", -1, false);
}

TEST (a_task_beside_the_cluster_is_not_a_process)
{
    check_processes (with_frameworks ("LIST=worker:2,+data", 3), "0 1 -", 0, false);
    check_processes (with_frameworks ("LIST=+data,worker:2", 3), "- 0 1", 1, false);
}

/* SLURM_NTASKS is a component's own number of tasks. */
TEST (in_a_heterogeneous_step_jax_gets_no_address)
{
    struct step *step = create (FRAMEWORKS, "LIST=chief", "LIST=worker:2");

    for (int rank = 0; rank < 3; rank++) {
        struct registration r = on_node (rank, 3, rank);

        r.component_first = rank > 0;
        r.component_tasks = rank > 0 ? 2 : 1;
        add_rank (step, r);
    }
    resolve (step);
    check_processes (step, "0 1 2", 0, false);
}

TEST (each_framework_can_be_left_out)
{
    static const struct {
        const char *keras, *jax;
    } row[] = { { "KERAS=1", "X=1" }, { "X=1", "JAX=1" }, { "X=1", "X=1" } };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct step *step = create (row[i].keras, row[i].jax, "LIST=worker");
        bool keras = row[i].keras[0] == 'K', jax = row[i].jax[0] == 'J';

        add_ranks (step, "0");
        resolve (step);
        assert_string_equal (value_for (step, 0, "KERAS_DISTRIBUTION_PROCESS_ID"),
                             keras ? "0" : "none");
        assert_string_equal (value_for (step, 0, "JAX_COORDINATOR_ADDRESS"),
                             jax ? "10.0.0.1:40000" : "none");
        assert_string_equal (value_for (step, 0, "JAX_DEVICES"), jax ? "1" : "none");
        assert_string_equal (value_for (step, 0, "NO_TF_CONFIG"), "none");
        step_destroy (step);
    }
}

/* The DTENSOR_JOBS of every process is `jobs`; their numbers are those of Keras. */
static void check_jobs (const char *list, int tasks, const char *jobs)
{
    struct step *step = create (FRAMEWORKS, "DTENSOR=1", list);

    for (int rank = 0; rank < tasks; rank++)
        add_rank (step, on_node (rank, tasks, rank));
    resolve (step);
    for (int rank = 0; rank < tasks; rank++) {
        char number[16];

        strcpy (number, value_for (step, rank, "KERAS_DISTRIBUTION_PROCESS_ID"));
        assert_string_equal (value_for (step, rank, "DTENSOR_CLIENT_ID"), number);
        assert_string_equal (value_for (step, rank, "DTENSOR_JOBS"),
                             strcmp (number, "none") ? jobs : "none");
    }
    step_destroy (step);
}

TEST (dtensor_gets_all_processes_in_the_order_of_their_numbers)
{
    check_jobs ("LIST=worker", 1, "10.0.0.1:40000");
    check_jobs ("LIST=worker:2,chief", 3, "10.0.0.3:40002,10.0.0.1:40000,10.0.0.2:40001");
    check_jobs ("LIST=evaluator,worker,+data,worker", 4, "10.0.0.2:40001,10.0.0.4:40003");
    check_jobs ("LIST=worker,ps", 2, "none");
    check_jobs ("LIST=evaluator", 1, "none");
}

TEST (only_a_step_that_asks_for_dtensor_gets_it)
{
    struct step *step = with_frameworks ("LIST=worker", 1);

    assert_string_equal (value_for (step, 0, "DTENSOR_JOBS"), "none");
    assert_string_equal (value_for (step, 0, "DTENSOR_CLIENT_ID"), "none");
    step_destroy (step);
}

/* Nearly the longest TF_CONFIG, and all addresses again for DTensor and for the proxy. */
TEST (the_longest_answer_of_a_step_fits_its_limit)
{
    enum { TASKS = 6500 };
    struct step *step = create (FRAMEWORKS, "DTENSOR=1", "LIST=worker:6500");
    struct answer_message message;
    size_t length = 0;

    for (int rank = 0; rank < TASKS; rank++) {
        struct registration r = on_node (rank, TASKS, rank);

        r.proxied = true;
        add_rank (step, r);
    }
    resolve (step);
    assert_int_equal (step_answer (step, TASKS - 1, SERVER_TOKEN, &message), 0);
    for (int i = 0; i < ANSWER_PARTS; i++)
        length += message.part[i].iov_len;
    assert_between (length - FRAME_HEADER, 300 * 1024, FRAME_MAX_ANSWER);
    answer_message_clear (&message);
    step_destroy (step);
}

TEST (without_tensorflow_a_task_shall_not_see_tf_config)
{
    struct step *step = NULL;
    struct errtext err;
    struct rendezvous_config config = {
        .token = TOKEN, .server_token = SERVER_TOKEN, .step = "12.0", .timeout = 300,
        .lists = 1, .list = { { .text = "worker" } }, .hold = true,
        .frameworks = FRAMEWORK_JAX,
    };

    assert_int_equal (step_create (&step, &config, &err), 0);
    add_ranks (step, "0");
    resolve (step);
    assert_string_equal (value_for (step, 0, "NO_TF_CONFIG"), "1");
    assert_string_equal (value_for (step, 0, "TF_GRPC_REUSE_PORT"), "none");
    assert_string_equal (value_for (step, 0, "JAX_COORDINATOR_ADDRESS"), "10.0.0.1:40000");
    step_destroy (step);
}

/* It is TensorFlow's server that listens. */
TEST (dtensor_without_tf_config_shares_the_held_port)
{
    struct step *step = NULL;
    struct errtext err;
    struct rendezvous_config config = {
        .token = TOKEN, .server_token = SERVER_TOKEN, .step = "12.0", .timeout = 300,
        .lists = 1, .list = { { .text = "worker" } }, .hold = true,
        .frameworks = FRAMEWORK_DTENSOR,
    };

    assert_int_equal (step_create (&step, &config, &err), 0);
    add_ranks (step, "0");
    resolve (step);
    assert_string_equal (value_for (step, 0, "NO_TF_CONFIG"), "1");
    assert_string_equal (value_for (step, 0, "TF_GRPC_REUSE_PORT"), "1");
    step_destroy (step);
}

TEST (only_tasks_with_a_proxy_get_the_exempt_hosts)
{
    struct step *step = create ("LIST=ps,worker:3");

    for (int rank = 0; rank < 4; rank++) {
        struct registration r = on_node (rank, 4, rank / 2);

        r.proxied = rank == 1 || rank == 2;
        add_rank (step, r);
    }
    resolve (step);
    assert_string_equal (value_for (step, 0, "PROXY_EXEMPT"), "none");
    assert_string_equal (value_for (step, 1, "PROXY_EXEMPT"), "10.0.0.1,10.0.0.2");
    assert_string_equal (value_for (step, 2, "PROXY_EXEMPT"), "10.0.0.1,10.0.0.2");
    assert_string_equal (value_for (step, 3, "PROXY_EXEMPT"), "none");
    step_destroy (step);
}

TEST (the_exempt_hosts_are_complete_in_any_distribution)
{
    struct step *step = create ("LIST=ps,worker:3");

    for (int rank = 0; rank < 4; rank++) {
        struct registration r = on_node (rank, 4, rank % 2);

        r.proxied = true;
        add_rank (step, r);
    }
    resolve (step);
    for (int rank = 0; rank < 4; rank++) {
        assert_non_null (strstr (value_for (step, rank, "PROXY_EXEMPT"), "10.0.0.1"));
        assert_non_null (strstr (value_for (step, rank, "PROXY_EXEMPT"), "10.0.0.2"));
    }
    step_destroy (step);
}

TEST (a_supervised_task_gets_the_stop_grace)
{
    struct step *step = create ("STOP_GRACE=7", "LIST=ps,worker");
    struct errtext err = { "" };

    add_ranks (step, "00");
    resolve (step);
    assert_string_equal (value_for (step, 0, "STOP_GRACE"), "none");
    assert_int_equal (step_supervise (step, &err), 0);
    assert_string_equal (value_for (step, 0, "STOP_GRACE"), "7");
    assert_string_equal (value_for (step, 1, "STOP_GRACE"), "7");
    step_destroy (step);
}

TEST (a_task_that_only_serves_is_told_so)
{
    struct step *step = create ("LIST=ps,worker");

    add_ranks (step, "00");
    resolve (step);
    assert_int_equal (step_supervise (step, NULL), 0);
    step_roster (step)->member[0].serves = true;
    assert_string_equal (value_for (step, 0, "SERVES"), "1");
    assert_string_equal (value_for (step, 1, "SERVES"), "none");
    step_destroy (step);
}

TEST (a_stop_grace_of_zero_is_sent)
{
    struct step *step = create ("STOP_GRACE=0", "LIST=ps,worker");

    add_ranks (step, "00");
    resolve (step);
    assert_int_equal (step_supervise (step, NULL), 0);
    assert_string_equal (value_for (step, 1, "STOP_GRACE"), "0");
    step_destroy (step);
}

TEST (a_node_without_tf_supervise_is_named_if_it_is_needed)
{
    struct step *step = create ("LIST=ps,worker:2");
    struct errtext err = { "" };

    for (int rank = 0; rank < 3; rank++) {
        struct registration r = on_node (rank, 3, rank);

        if (rank > 0)
            r.supervisor_error = "/lib/tf-supervise: No such file or directory";
        add_rank (step, r);
    }
    resolve (step);
    assert_int_equal (step_supervise (step, &err), -1);
    assert_string_equal (err.text, "step 12.0: rank 1 (worker 0) on n2: /lib/tf-supervise: No such "
                         "file or directory; spank-tf is not installed completely there");
    assert_string_equal (value_for (step, 0, "STOP_GRACE"), "none");
    step_destroy (step);
}

/* The strings of a registration are freed before the next registration arrives. */
TEST (the_log_directory_is_that_of_rank_0)
{
    struct step *step = create ("LIST=ps,worker");
    struct registration first = on_node (0, 2, 0), second = on_node (1, 2, 1);
    char dir[] = "/scratch/n1";

    second.log_dir = "/scratch/n2";
    add_rank (step, second);
    assert_null (step_log_dir (step));
    first.log_dir = dir;
    add_rank (step, first);
    memset (dir, 'x', sizeof (dir) - 1);
    resolve (step);
    assert_string_equal (step_log_dir (step), "/scratch/n1");
    roster_lose (step_roster (step), 0);
    first = on_node (0, 2, 0);
    add_rank (step, first);
    assert_null (step_log_dir (step));
    step_destroy (step);
}

/* Refusals. */

TEST (a_malformed_configuration_is_refused)
{
    static const struct {
        const char *strings[4], *message;
    } row[] = {
        { { "STEP=12.0", "LIST=" },
          "the list is empty; a list is ROLE[:COUNT],... as in ps,worker:2" },
        { { "STEP=12.0", "LIST=ps", "LIST_PER_NODE=worker:0" },
          "item 1, \"worker:0\": a count is a number from 1 to 65535, or \"rest\"" },
        { { "STEP=12.0", "LIST=worker", "NETWORKS=10.1.0.1" },
          "\"10.1.0.1\" is an address; a network has a prefix length, as in 10.1.0.0/16" },
        { { "STEP=12.0", "LIST=worker", "NETWORKS=" },
          "a network is missing; a network is CIDR, as in 10.1.0.0/16, or the name of an "
          "interface" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct step *step = NULL;
        struct errtext err;

        assert_int_equal (try_create (&step, row[i].strings, &err), -1);
        assert_null (step);
        assert_string_equal (err.text, row[i].message);
    }
}

TEST (a_list_that_does_not_fit_is_refused_at_the_first_rank)
{
    static const struct {
        const char *strings[5], *message;
    } row[] = {
        { { "LIST=ps,worker" },
          "step 12.0 runs 3 tasks, --tf-tasks names 2 (ps, worker)" },
        { { "LIST=ps,worker:9" },
          "step 12.0 runs 3 tasks, --tf-tasks names 10 (ps, worker:9)" },
        { { "LIST=ps:3,worker:rest" },
          "step 12.0 runs 3 tasks, --tf-tasks names 3 and \"rest\" (ps:3, worker:rest), which "
          "needs at least one more" },
        { { "INHERITED=yes", "LIST=ps,worker" },
          "step 12.0 runs 3 tasks, the inherited --tf-tasks names 2 (ps, worker); "
          "--tf-tasks=none switches it off" },
        { { "HET_GROUP=0,2", "INHERITED=yes", "LIST=ps,worker" },
          "step 12.0 (--het-group=0,2) runs 3 tasks, the inherited --tf-tasks names 2 "
          "(ps, worker); --tf-tasks=none switches it off" },
        /* rules that apply to the whole list */
        { { "LIST=ps:rest" },
          "step 12.0 has 3 ps and no worker; a ps needs at least one worker" },
        { { "LIST=worker,evaluator:rest" },
          "step 12.0 has 2 evaluators; TensorFlow allows at most one evaluator" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        const char *strings[8] = { "STEP=12.0" };
        struct step *step;

        memcpy (strings + 1, row[i].strings, sizeof (row[i].strings));
        step = create_of (strings);
        check_refused (step, on_node (1, 3, 0), row[i].message);
        step_destroy (step);
    }
}

TEST (a_step_is_refused_if_it_has_more_tasks_than_a_list_can_name)
{
    struct step *step = create ("LIST=worker:rest");

    check_refused (step, on_node (7, 65536, 0),
                   "step 12.0 runs 65536 tasks; a list names at most 65535");
    assert_int_equal (step_roster (step)->tasks, 0);
    add_rank (step, on_node (7, 65535, 0));
    step_destroy (step);
}

TEST (a_list_per_node_must_fit_every_node)
{
    struct step *step = create ("LIST_PER_NODE=ps,worker");

    add_rank (step, on_node (0, 5, 0));
    add_rank (step, on_node (1, 5, 0));
    add_rank (step, on_node (2, 5, 1));
    add_rank (step, on_node (3, 5, 1));
    check_refused (step, on_node (4, 5, 1),
                   "step 12.0 on n2 runs 3 tasks, --tf-tasks-per-node names 2 (ps, worker)");
    step_destroy (step);

    step = create ("INHERITED=yes", "LIST_PER_NODE=ps,worker:rest");
    add_rank (step, on_node (0, 3, 0));
    add_rank (step, on_node (1, 3, 0));
    check_refused (step, on_node (2, 3, 1),
                   "step 12.0 on n2 runs 1 task, the inherited --tf-tasks-per-node names 1 and "
                   "\"rest\" (ps, worker:rest), which needs at least one more; --tf-tasks=none "
                   "switches it off");
    step_destroy (step);
}

TEST (a_list_per_component_must_fit_its_component)
{
    struct step *step = create ("LIST=ps", "LIST=worker:3");

    add_rank (step, of_component (0, 3, 0, 1));
    add_rank (step, of_component (1, 3, 1, 2));
    check_refused (step, of_component (2, 3, 1, 2),
                   "component 1 of step 12.0 runs 2 tasks, --tf-tasks names 3 (worker:3)");
    step_destroy (step);
}

TEST (the_number_of_components_must_equal_the_number_of_lists)
{
    struct step *step = create ("LIST=ps", "LIST=worker");

    add_rank (step, of_component (0, 2, 0, 2));
    check_refused (step, of_component (1, 2, 0, 2),
                   "component 0 of step 12.0 runs 2 tasks, --tf-tasks names 1 (ps)");
    step_destroy (step);

    step = create ("LIST=ps", "LIST=worker");
    add_rank (step, of_component (0, 3, 0, 1));
    add_rank (step, of_component (1, 3, 1, 1));
    check_refused (step, of_component (2, 3, 2, 1),
                   "step 12.0 does not have the 2 components that 2 lists were given for");
    step_destroy (step);

    step = create ("LIST=ps,worker", "LIST=worker");
    add_rank (step, of_component (0, 2, 0, 2));
    check_refused (step, of_component (1, 2, 0, 2),
                   "step 12.0 does not have the 2 components that 2 lists were given for");
    step_destroy (step);

    /* ranks that report different components */
    step = create ("LIST=ps", "LIST=worker:2");
    add_rank (step, of_component (0, 3, 0, 1));
    add_rank (step, of_component (1, 3, 0, 2));
    check_refused (step, of_component (2, 3, 1, 2),
                   "step 12.0 does not have the 2 components that 2 lists were given for");
    step_destroy (step);
}

TEST (the_rules_apply_to_all_components_together)
{
    struct step *step = create ("LIST=chief,ps", "LIST=chief,worker");

    add_rank (step, of_component (0, 4, 0, 2));
    add_rank (step, of_component (1, 4, 0, 2));
    add_rank (step, of_component (2, 4, 2, 2));
    check_refused (step, of_component (3, 4, 2, 2),
                   "step 12.0 has 2 chiefs; TensorFlow allows at most one chief");
    step_destroy (step);
}

TEST (a_rank_that_reports_an_error_is_named_in_the_refusal)
{
    struct step *step = create ("LIST=ps,worker,worker");
    struct registration rank = on_node (2, 3, 1);

    add_rank (step, on_node (0, 3, 0));
    rank.port = 0;
    rank.error = "no port of 30000-30001 is free";
    check_refused (step, rank,
                   "step 12.0: rank 2 (worker 1) on n2: no port of 30000-30001 is free");
    step_destroy (step);

    step = create ("LIST_PER_NODE=worker:rest");
    check_refused (step, rank, "step 12.0: rank 2 on n2: no port of 30000-30001 is free");
    step_destroy (step);
}

TEST (a_duplicate_address_refuses_the_launch)
{
    struct step *step = create ("LIST=ps,worker");
    struct registration rank = on_node (1, 2, 1);
    struct errtext err;

    add_rank (step, on_node (0, 2, 0));
    address_parse (&rank.address, "10.0.0.1");
    add_rank (step, rank);
    assert_int_equal (step_resolve (step, &login, &err), -1);
    assert_string_equal (err.text, "step 12.0: n1 and n2 both have the address 10.0.0.1; tasks "
                         "on other nodes cannot tell them apart");
    step_destroy (step);
}

/* 8,000 simulated ranks. */
TEST (a_tf_config_of_128_KiB_is_refused_with_tasks_and_length)
{
    enum { TASKS = 8000 };
    struct step *step = create ("LIST=worker:8000");
    struct errtext err;

    for (int i = 0; i < TASKS; i++) {
        struct registration rank = on_node (i, TASKS, 0);

        add_rank (step, rank);
    }
    assert_int_equal (step_resolve (step, &login, &err), -1);
    assert_string_equal (err.text, "the TF_CONFIG of 8000 tasks would have 136062 bytes; Linux "
                         "allows at most 131060");
    step_destroy (step);
}

/* Unauthenticated, lost and missing ranks. */

TEST (a_second_registration_or_one_of_another_step_is_ignored)
{
    struct step *step = create ("LIST=ps,worker");
    struct registration other = on_node (0, 2, 1);
    struct errtext err;

    add_rank (step, on_node (0, 2, 0));
    other.port = 1;
    assert_int_equal (try_register (step, other, &err), STEP_IGNORED);
    assert_int_equal (try_register (step, on_node (1, 3, 1), &err), STEP_IGNORED);
    assert_int_equal (missing (step), 1);
    add_rank (step, on_node (1, 2, 1));
    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 2 tasks on 2 nodes\n"
                 "  rank  role      node  address\n"
                 "     0  ps 0      n1    10.0.0.1:40000\n"
                 "     1  worker 0  n2    10.0.0.2:40001\n");
    step_destroy (step);
}

TEST (a_lost_rank_is_missing_and_can_register_again)
{
    struct step *step = create ("LIST=ps,worker");
    struct registration again = on_node (0, 2, 0);
    char text[256];

    add_rank (step, on_node (0, 2, 0));
    assert_int_equal (step_roster (step)->lost, 0);
    roster_lose (step_roster (step), 0);
    assert_int_equal (step_roster (step)->lost, 1);
    assert_int_equal (missing (step), 2);
    assert_string_equal (rank_names_lost (step_roster (step), text, sizeof (text)),
                         "rank 0 (ps 0) on n1");
    assert_string_equal (rank_names_missing (step_roster (step), text, sizeof (text)),
                         "rank 0 (ps 0) on n1, rank 1 (worker 0)");
    add_rank (step, on_node (1, 2, 1));
    assert_int_equal (missing (step), 1);
    again.port = 41000;
    add_rank (step, again);
    assert_int_equal (step_roster (step)->lost, 0);
    assert_string_equal (rank_names_lost (step_roster (step), text, sizeof (text)), "");
    assert_string_equal (rank_names_missing (step_roster (step), text, sizeof (text)), "");
    resolve (step);
    check_table (step,
                 "spank_tf: step 12.0: 2 tasks on 2 nodes\n"
                 "  rank  role      node  address\n"
                 "     0  ps 0      n1    10.0.0.1:41000\n"
                 "     1  worker 0  n2    10.0.0.2:40001\n");
    step_destroy (step);
}

/* The first rank on a node, which reports the step's node list and task counts. */
static struct registration first_of (int rank, int tasks, int index, const char *ranks,
                                     const char *nodes, const char *node_tasks)
{
    struct registration r = on_node (rank, tasks, index);

    r.node_ranks = ranks;
    r.step_nodes = nodes;
    r.step_node_tasks = node_tasks;
    return r;
}

TEST (a_missing_rank_is_named_with_its_role_and_node)
{
    struct step *step = create ("LIST=chief,ps,worker:rest");
    char text[256];

    add_rank (step, on_node (2, 6, 1));
    assert_string_equal (rank_names_missing (step_roster (step), text, sizeof (text)),
                         "rank 0 (chief 0), rank 1 (ps 0), rank 3 (worker 1), rank 4 (worker 2), "
                         "rank 5 (worker 3)");
    assert_string_equal (rank_names_missing_nodes (step_roster (step), text, sizeof (text)), "");
    add_rank (step, first_of (0, 6, 0, "0,1", "n[1-3]", "2(x3)"));
    assert_string_equal (rank_names_missing (step_roster (step), text, sizeof (text)),
                         "rank 1 (ps 0) on n1, rank 3 (worker 1) on n2, rank 4 (worker 2) on n3, "
                         "rank 5 (worker 3) on n3");
    assert_string_equal (rank_names_missing_nodes (step_roster (step), text, sizeof (text)),
                         ", on n1, n2, n3");
    add_rank (step, on_node (1, 6, 0));
    assert_string_equal (rank_names_missing_nodes (step_roster (step), text, sizeof (text)),
                         ", on n2, n3");
    step_destroy (step);
}

TEST (with_lists_per_node_a_missing_rank_has_no_role)
{
    struct step *step = create ("LIST_PER_NODE=ps,worker");
    char text[256];

    add_rank (step, first_of (0, 4, 0, "0,1", "n[1-2]", "2(x2)"));
    assert_string_equal (rank_names_missing (step_roster (step), text, sizeof (text)),
                         "rank 1 on n1, rank 2 on n2, rank 3 on n2");
    step_destroy (step);
}

TEST (the_node_of_several_missing_ranks_is_named_once)
{
    struct step *step = create ("LIST=worker:rest");
    char text[256];

    /* cyclic: n1 has 0 and 3, n2 1 and 4, n3 2 and 5 */
    add_rank (step, first_of (0, 6, 0, "0,3", "n[1-3]", "2(x3)"));
    add_rank (step, on_node (3, 6, 0));
    assert_string_equal (rank_names_missing (step_roster (step), text, sizeof (text)),
                         "rank 1 (worker 1) on n2, rank 2 (worker 2) on n3, "
                         "rank 4 (worker 4) on n2, rank 5 (worker 5) on n3");
    assert_string_equal (rank_names_missing_nodes (step_roster (step), text, sizeof (text)),
                         ", on n2, n3");
    step_destroy (step);
}

TEST (a_guessed_node_is_replaced_by_a_reported_node)
{
    struct step *step = create ("LIST=worker:rest");
    char text[256];

    /* cyclic: n1 has 0, n2 1 and 3, n3 2 and 4; rank 0 alone looks like block */
    add_rank (step, first_of (0, 5, 0, "0", "n[1-3]", "1,2(x2)"));
    assert_string_equal (rank_names_missing_nodes (step_roster (step), text, sizeof (text)),
                         ", on n2, n3");
    add_rank (step, first_of (1, 5, 1, "1,3", "n[1-3]", "1,2(x2)"));
    add_rank (step, on_node (3, 5, 1));
    assert_string_equal (rank_names_missing (step_roster (step), text, sizeof (text)),
                         "rank 2 (worker 2) on n3, rank 4 (worker 4) on n3");
    step_destroy (step);
}

TEST (eight_missing_ranks_are_named_and_the_others_counted)
{
    struct step *step = create ("LIST=worker:rest");
    char text[512];

    add_rank (step, first_of (0, 64, 0, "0", "n[1-64]", "1(x64)"));
    assert_string_equal (rank_names_missing (step_roster (step), text, sizeof (text)),
                         "rank 1 (worker 1) on n2, rank 2 (worker 2) on n3, "
                         "rank 3 (worker 3) on n4, rank 4 (worker 4) on n5, "
                         "rank 5 (worker 5) on n6, rank 6 (worker 6) on n7, "
                         "rank 7 (worker 7) on n8, rank 8 (worker 8) on n9 and 55 more");
    assert_string_equal (rank_names_missing_nodes (step_roster (step), text, sizeof (text)),
                         ", on n2, n3, n4, n5, n6, n7, n8, n9 and 55 more");
    step_destroy (step);
}

TEST (the_names_of_missing_ranks_fit_the_buffer)
{
    struct step *step = create ("LIST=worker:rest");
    char text[512];

    add_rank (step, first_of (0, 9, 0, "0", "n[1-9]", "1(x9)"));
    for (size_t size = 64; size <= sizeof (text); size++) {
        assert_true (strlen (rank_names_missing (step_roster (step), text, size)) < size);
        assert_true (strstr (text, " more") || strstr (text, "rank 8 (worker 8) on n9"));
        assert_true (strlen (rank_names_missing_nodes (step_roster (step), text, size)) < size);
        assert_true (strstr (text, " more") || strstr (text, "n9"));
    }
    step_destroy (step);
}

TEST (destroying_null_is_allowed)
{
    step_destroy (NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_launch_from_its_first_rank_to_its_answers),
        cmocka_unit_test (without_a_held_port_reuseport_is_not_requested),
        cmocka_unit_test (only_the_evaluators_cluster_lists_the_evaluator),
        cmocka_unit_test (sruns_node_has_the_address_at_which_other_nodes_reach_srun),
        cmocka_unit_test (roles_follow_ranks_in_any_distribution_over_nodes),
        cmocka_unit_test (each_component_can_have_its_own_list),
        cmocka_unit_test (one_list_can_apply_to_all_components),
        cmocka_unit_test (the_order_of_registrations_does_not_matter),
        cmocka_unit_test (a_table_is_as_wide_as_its_names),
        cmocka_unit_test (infiniband_is_used_if_every_node_has_it),
        cmocka_unit_test (infiniband_that_one_node_lacks_is_not_used_and_a_notice_is_printed),
        cmocka_unit_test (the_launch_is_refused_if_a_node_lacks_required_infiniband),
        cmocka_unit_test (without_tf_ib_infiniband_is_not_used),
        cmocka_unit_test (networks_are_preferred_in_the_order_of_the_list),
        cmocka_unit_test (a_network_that_a_user_names_is_required),
        cmocka_unit_test (each_rank_uses_the_interface_local_to_its_cpus),
        cmocka_unit_test (one_notice_names_the_nodes_with_unknown_locality),
        cmocka_unit_test (locality_does_not_matter_if_there_is_only_one_interface),
        cmocka_unit_test (all_notices_are_printed),
        cmocka_unit_test (the_step_copies_the_registration),
        cmocka_unit_test (a_lost_ranks_new_registration_replaces_the_old_one),
        cmocka_unit_test (a_table_of_rails_is_as_wide_as_its_addresses),
        cmocka_unit_test (only_a_ps_gets_variables_that_hide_gpus),
        cmocka_unit_test (without_hide_gpus_no_task_gets_gpu_variables),
        cmocka_unit_test (workers_are_processes_in_rank_order),
        cmocka_unit_test (the_chief_is_process_0_wherever_it_is),
        cmocka_unit_test (an_evaluator_is_not_a_process),
        cmocka_unit_test (a_step_with_a_ps_has_no_processes),
        cmocka_unit_test (in_a_heterogeneous_step_jax_gets_no_address),
        cmocka_unit_test (a_task_beside_the_cluster_is_not_a_process),
        cmocka_unit_test (a_task_beside_the_cluster_has_its_name_and_a_port_for_any_server),
        cmocka_unit_test (a_step_of_tasks_beside_a_cluster_alone_is_refused),
        cmocka_unit_test (each_framework_can_be_left_out),
        cmocka_unit_test (dtensor_gets_all_processes_in_the_order_of_their_numbers),
        cmocka_unit_test (only_a_step_that_asks_for_dtensor_gets_it),
        cmocka_unit_test (the_longest_answer_of_a_step_fits_its_limit),
        cmocka_unit_test (dtensor_without_tf_config_shares_the_held_port),
        cmocka_unit_test (without_tensorflow_a_task_shall_not_see_tf_config),
        cmocka_unit_test (nccl_follows_a_network_that_was_wished_for),
        cmocka_unit_test (only_tasks_with_a_proxy_get_the_exempt_hosts),
        cmocka_unit_test (the_exempt_hosts_are_complete_in_any_distribution),
        cmocka_unit_test (a_supervised_task_gets_the_stop_grace),
        cmocka_unit_test (a_task_that_only_serves_is_told_so),
        cmocka_unit_test (a_stop_grace_of_zero_is_sent),
        cmocka_unit_test (a_node_without_tf_supervise_is_named_if_it_is_needed),
        cmocka_unit_test (the_log_directory_is_that_of_rank_0),
        cmocka_unit_test (a_malformed_configuration_is_refused),
        cmocka_unit_test (a_list_that_does_not_fit_is_refused_at_the_first_rank),
        cmocka_unit_test (a_step_is_refused_if_it_has_more_tasks_than_a_list_can_name),
        cmocka_unit_test (a_list_per_node_must_fit_every_node),
        cmocka_unit_test (a_list_per_component_must_fit_its_component),
        cmocka_unit_test (the_number_of_components_must_equal_the_number_of_lists),
        cmocka_unit_test (the_rules_apply_to_all_components_together),
        cmocka_unit_test (a_rank_that_reports_an_error_is_named_in_the_refusal),
        cmocka_unit_test (a_duplicate_address_refuses_the_launch),
        cmocka_unit_test (a_tf_config_of_128_KiB_is_refused_with_tasks_and_length),
        cmocka_unit_test (a_second_registration_or_one_of_another_step_is_ignored),
        cmocka_unit_test (a_lost_rank_is_missing_and_can_register_again),
        cmocka_unit_test (a_missing_rank_is_named_with_its_role_and_node),
        cmocka_unit_test (with_lists_per_node_a_missing_rank_has_no_role),
        cmocka_unit_test (the_node_of_several_missing_ranks_is_named_once),
        cmocka_unit_test (a_guessed_node_is_replaced_by_a_reported_node),
        cmocka_unit_test (eight_missing_ranks_are_named_and_the_others_counted),
        cmocka_unit_test (the_names_of_missing_ranks_fit_the_buffer),
        cmocka_unit_test (destroying_null_is_allowed),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
