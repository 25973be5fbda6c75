/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "common/rules.h"

static struct tasklist *parse (const char *text)
{
    struct tasklist *list;

    assert_int_equal (tasklist_parse (&list, text, NULL), 0);
    return list;
}

#define ROLES "; roles are chief, worker, ps, evaluator, master and spare"

TEST (an_unknown_role_is_named_with_the_most_similar_role)
{
    static const struct {
        const char *list, *message;
    } row[] = {
        { "server,worker", "\"server\" (item 1) is not a TensorFlow role; did you mean \"ps\"?" },
        { "Parameter_Servers:2",
          "\"Parameter_Servers\" (item 1) is not a TensorFlow role; did you mean \"ps\"?" },
        { "coordinator", "\"coordinator\" (item 1) is not a TensorFlow role; did you mean \"chief\"?" },
        { "worker,tensorboard",
          "\"tensorboard\" (item 2) is not a TensorFlow role; did you mean \"+tensorboard\"?" },
        { "ps,wroker", "\"wroker\" (item 2) is not a TensorFlow role; did you mean \"worker\"?" },
        { "workers:2", "\"workers\" (item 1) is not a TensorFlow role; did you mean \"worker\"?" },
        { "Worker", "\"Worker\" (item 1) is not a TensorFlow role; did you mean \"worker\"?" },
        { "PS,worker", "\"PS\" (item 1) is not a TensorFlow role; did you mean \"ps\"?" },
        { "pss,worker", "\"pss\" (item 1) is not a TensorFlow role; did you mean \"ps\"?" },
        { "sp", "\"sp\" (item 1) is not a TensorFlow role; did you mean \"ps\"?" },
        { "spares", "\"spares\" (item 1) is not a TensorFlow role; did you mean \"spare\"?" },
        { "worker,+spare", "\"+spare\" (item 2): a role of the cluster has this name; choose another name" },
        { "cheif", "\"cheif\" (item 1) is not a TensorFlow role; did you mean \"chief\"?" },
        { "mastre", "\"mastre\" (item 1) is not a TensorFlow role; did you mean \"master\"?" },
        { "eval", "\"eval\" (item 1) is not a TensorFlow role" ROLES },
        { "evaluater", "\"evaluater\" (item 1) is not a TensorFlow role; did you mean "
                       "\"evaluator\"?" },
        { "ps,worker,frobnicator", "\"frobnicator\" (item 3) is not a TensorFlow role" ROLES },
        { "x", "\"x\" (item 1) is not a TensorFlow role" ROLES },
        { "123456789012345678901234567890123456789012345678901234567890123",
          "\"123456789012345678901234567890123456789012345678901234567890123\" (item 1) is not a "
          "TensorFlow role" ROLES },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct tasklist *list = parse (row[i].list);
        struct errtext err;

        assert_int_equal (rules_check_names (list, NULL, &err), -1);
        assert_string_equal (err.text, row[i].message);
        tasklist_destroy (list);
    }
}

TEST (tensorflows_roles_are_known)
{
    struct tasklist *list = parse ("chief,master,worker,ps,spare,evaluator:rest");

    assert_int_equal (rules_check_names (list, NULL, NULL), 0);
    assert_int_equal (rules_check_names (list, "", NULL), 0);
    tasklist_destroy (list);
}

TEST (a_site_can_add_roles)
{
    static const struct {
        const char *role, *extra;
        bool known;
    } row[] = {
        { "tester", "tester", true },
        { "tester", "logger,tester", true },
        { "logger", "logger,tester", true },
        { "logger", "a,logger,tester", true },
        { "test", "tester", false },
        { "tester", "test", false },
        { "tester", "test,er", false },
        { "tester", ",,", false },
        { "frobnicator", "logger,tester", false },
    };
    struct errtext err;

    for (size_t i = 0; i < COUNT (row); i++) {
        struct tasklist *list = parse (row[i].role);

        assert_int_equal (rules_check_names (list, row[i].extra, &err), row[i].known ? 0 : -1);
        tasklist_destroy (list);
    }
    assert_string_equal (err.text, "\"frobnicator\" (item 1) is not a TensorFlow role" ROLES
                                   ", and on this site logger,tester");
}

TEST (the_most_similar_role_can_be_a_sites_own)
{
    struct tasklist *list = parse ("tetser");
    struct errtext err;

    assert_int_equal (rules_check_names (list, "logger,tester", &err), -1);
    assert_string_equal (err.text, "\"tetser\" (item 1) is not a TensorFlow role; did you mean "
                                   "\"tester\"?");
    tasklist_destroy (list);
}

#define VARIABLE ", which has another meaning; choose another name"

#define THIRTY "+a,+b,+c,+d,+e,+f,+g,+h,+i,+j,+k,+l,+m,+n,+o,+p,+q,+r,+s,+t,+u,+v,+w,+x,+y,+z,+0,+1,+2,+3,"

TEST (a_name_beside_the_cluster_has_no_other_meaning)
{
    static const struct {
        const char *list, *message;     /* message NULL: the list is valid */
    } row[] = {
        { "worker,+dispatcher,+data:2,+data,+tensorboard", NULL },
        { "worker,+ports,+roles,+logger_2", NULL },
        { "worker,+ps", "\"+ps\" (item 2): a role of the cluster has this name; choose another name" },
        { "+Worker", "\"+Worker\" (item 1): a role of the cluster has this name; choose another name" },
        { "+tester", "\"+tester\" (item 1): a role of the cluster has this name; choose another name" },
        { "worker,+role", "\"+role\" (item 2): its variable would be SLURM_TF_ROLE" VARIABLE },
        { "+Index", "\"+Index\" (item 1): its variable would be SLURM_TF_INDEX" VARIABLE },
        { "+address", "\"+address\" (item 1): its variable would be SLURM_TF_ADDRESS" VARIABLE },
        { "+port", "\"+port\" (item 1): its variable would be SLURM_TF_PORT" VARIABLE },
        { "+restart", "\"+restart\" (item 1): its variable would be SLURM_TF_RESTART" VARIABLE },
        { "+interface", "\"+interface\" (item 1): its variable would be SLURM_TF_INTERFACE" VARIABLE },
        { "+added", "\"+added\" (item 1): its variable would be SLURM_TF_ADDED" VARIABLE },
        { "+beside", "\"+beside\" (item 1): its variable would be SLURM_TF_BESIDE" VARIABLE },
        { "+rendezvous", "\"+rendezvous\" (item 1): its variable would be SLURM_TF_RENDEZVOUS" VARIABLE },
        { "+log_dir", "\"+log_dir\" (item 1): its variable would be SLURM_TF_LOG_DIR" VARIABLE },
        { "+help", "\"+help\" (item 1): tf-exec has an option --help; choose another name" },
        { "+version", "\"+version\" (item 1): tf-exec has an option --version; choose another name" },
        { "+environment",
          "\"+environment\" (item 1): tf-exec has an option --environment; choose another name" },
        { "+data,worker,+Data",
          "\"+Data\" (item 3): \"+data\" and \"+Data\" would have the same variable, SLURM_TF_DATA" },
        { THIRTY "+4,+5,+a", NULL },
        { THIRTY "+4,+5,+6", "\"+6\" (item 33): more than 32 different names with \"+\"" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct tasklist *list = parse (row[i].list);
        struct errtext err = { "" };

        assert_int_equal (rules_check_names (list, "tester", &err), row[i].message ? -1 : 0);
        assert_string_equal (err.text, row[i].message ? row[i].message : "");
        tasklist_destroy (list);
    }
}

TEST (a_cluster_that_tensorflow_refuses_is_refused)
{
    static const struct {
        const char *list, *message;     /* message NULL: the list is valid */
    } row[] = {
        { "ps,worker,worker", NULL },
        { "worker:3", NULL },
        { "chief,worker:rest", NULL },
        { "chief", NULL },
        { "master,ps,worker", NULL },
        { "chief,ps:2,worker:rest,evaluator", NULL },
        { "chief:2,worker", "2 chiefs (item 1); TensorFlow allows at most one chief" },
        { "chief,worker,chief", "2 chiefs (items 1 and 3); TensorFlow allows at most one chief" },
        { "master:3", "3 masters (item 1); TensorFlow allows at most one master" },
        { "chief,worker,master", "a chief and a master (items 1 and 3); TensorFlow allows only "
                                 "one of them (master is TensorFlow 1's name for chief)" },
        { "chief,evaluator,worker,evaluator", "2 evaluators (items 2 and 4); TensorFlow allows at "
                                              "most one evaluator" },
        { "evaluator:rest,chief,master", "a chief and a master (items 2 and 3); TensorFlow allows "
                                         "only one of them (master is TensorFlow 1's name for chief)" },
        { "ps", "1 ps (item 1) and no worker; a ps needs at least one worker" },
        { "ps:65535", "65535 ps (item 1) and no worker; a ps needs at least one worker" },
        { "chief,ps:2", NULL },
        { "master,ps", NULL },
        { "evaluator,ps:2", "2 ps (item 2) and no worker; a ps needs at least one worker" },
        { "chief,ps,worker,+data:2", NULL },
        { "evaluator,+data", NULL },
        { "ps,+worker2", "1 ps (item 1) and no worker; a ps needs at least one worker" },
        { "+data,+log", "only auxiliary tasks; at least one task needs a role "
                        "without +" },
        { "ps:rest", "1 ps (item 1) and no worker; a ps needs at least one worker" },
        { "worker:8,spare", NULL },
        { "worker:2,spare:2", NULL },
        { "worker:rest,spare:2", NULL },
        { "worker,+data,spare:2", NULL },
        { "worker:2,spare:3", "3 spares for 2 tasks; write spare:2, one for each of them at most" },
        { "spare,worker,spare", "2 spares for 1 task; write spare, one for each of them at most" },
        { "spare:2", "only spare tasks; at least one task needs another role" },
        { "+data,spare", "only auxiliary tasks; at least one task needs a role without +" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct tasklist *list = parse (row[i].list);
        struct rules_count count = { 0 };
        struct errtext err = { "" };

        rules_count_list (&count, list);
        assert_int_equal (rules_check (&count, true, &err), row[i].message ? -1 : 0);
        assert_string_equal (err.text, row[i].message ? row[i].message : "");
        tasklist_destroy (list);
    }
}

TEST (part_of_a_cluster_may_have_a_ps_without_a_worker)
{
    struct rules_count count = { 0 };

    rules_count (&count, "ps", 2, 0);
    assert_int_equal (rules_check (&count, false, NULL), 0);
    rules_count (&count, "chief", 2, 0);
    assert_int_equal (rules_check (&count, false, NULL), -1);
}

TEST (a_part_of_a_step_may_be_beside_the_cluster)
{
    struct rules_count count = { 0 };

    rules_count (&count, "+data", 2, 0);
    assert_int_equal (rules_check (&count, false, NULL), 0);
    assert_int_equal (rules_check (&count, true, NULL), -1);
    rules_count (&count, "tester", 1, 0);
    assert_int_equal (rules_check (&count, true, NULL), 0);
}

TEST (parts_of_a_cluster_are_counted_together)
{
    struct rules_count count = { 0 };

    rules_count (&count, "worker", 2, 0);
    rules_count (&count, "worker", 3, 0);
    rules_count (&count, "ps", 1, 0);
    rules_count (&count, "tester", 7, 0);
    assert_int_equal (count.role[RULES_WORKER].tasks, 5);
    assert_int_equal (count.role[RULES_PS].tasks, 1);
    assert_int_equal (count.role[RULES_CHIEF].tasks + count.role[RULES_MASTER].tasks
                          + count.role[RULES_EVALUATOR].tasks,
                      0);
    assert_int_equal (rules_check (&count, true, NULL), 0);
}
