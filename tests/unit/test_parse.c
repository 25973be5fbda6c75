/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is read from a text that users, sites, Slurm or the kernel have written: parse.golden has the texts. A
 * text that is refused with a message is one line of printable ASCII to its reader.
 */
#include "config.h"

#include "messages.h"
#include "story.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "addresses/cpus.h"
#include "addresses/interface.h"
#include "batch_script.h"
#include "common/devices.h"
#include "common/frameworks.h"
#include "common/number.h"
#include "common/option_table.h"
#include "common/pattern.h"
#include "common/port.h"
#include "common/printable.h"
#include "common/proxy.h"
#include "common/rules.h"
#include "common/tasklist.h"
#include "common/value.h"
#include "common/variables.h"
#include "launch/cgroup_conf.h"
#include "launch/private_mount.h"
#include "network/selection.h"
#include "protocol/answer.h"
#include "protocol/contact.h"
#include "protocol/failure_text.h"
#include "protocol/frame.h"
#include "rendezvous/layout.h"
#include "run/slurm_facts.h"
#include "run/srun_help.h"
#include "run/srun_words.h"
#include "status/jobs.h"
#include "submission.h"
#include "supervise/last_line.h"
#include "supervise/oom_kills.h"
#include "supervise/tee_lines.h"

/* With a message. */
static bool is_read (int rc, const struct errtext *err)
{
    if (rc == 0)
        return true;
    assert_int_equal (rc, -1);
    assert_true (is_line (err->text));
    story_print ("%s\n", err->text);
    return false;
}

/* Without one. */
static bool is_accepted (int rc)
{
    if (rc < 0)
        story_result ("refused");
    return rc == 0;
}

static void say (bool is)
{
    story_result (is ? "yes" : "no");
}

/* Addresses and networks. */

static void read_address (char *text)
{
    struct address_text room;
    struct address address;

    if (!is_accepted (address_parse (&address, text)))
        return;
    story_result ("%s", address_print (&address, &room));
    story_result ("%s", address_print_port (&address, 40000, &room));
    if (address_is_loopback (&address))
        story_result ("loopback");
    if (address_is_link_local (&address))
        story_result ("link-local");
}

static void read_address_with_port (char *text)
{
    struct address_text room;
    struct address address;
    int port;

    if (is_accepted (address_parse_port (&address, &port, text)))
        story_result ("%s", address_print_port (&address, port, &room));
}

static void read_subnet (char *text)
{
    struct subnet subnet, network;
    struct subnet_text room;

    if (!is_accepted (subnet_parse (&subnet, text)))
        return;
    network = subnet_network (&subnet);
    story_result ("%s", subnet_print (&subnet, &room));
    story_result ("of %s", subnet_print (&network, &room));
}

/* "NETWORK ADDRESS" */
static void ask_subnet (char *text)
{
    struct subnet subnet;
    struct address address;

    assert_int_equal (subnet_parse (&subnet, story_word (&text)), 0);
    assert_int_equal (address_parse (&address, text), 0);
    say (subnet_has (&subnet, &address));
}

/* "SUBNET SUBNET": the first one comes before the second. */
static void compare_subnets (char *text)
{
    struct subnet one, other;

    assert_int_equal (subnet_parse (&one, story_word (&text)), 0);
    assert_int_equal (subnet_parse (&other, text), 0);
    assert_int_equal (subnet_compare (&one, &one), 0);
    say (subnet_compare (&one, &other) < 0 && subnet_compare (&other, &one) > 0);
}

static void read_interface (char *text)
{
    struct interface_text room;
    struct interface interface;
    struct subnet_text subnet;

    if (!is_accepted (interface_parse (&interface, text)))
        return;
    story_result ("\"%s\"", interface.name);
    if (interface.address.address.family)
        story_result ("%s", subnet_print (&interface.address, &subnet));
    if (interface_is_candidate (&interface))
        story_result ("candidate");
    if (interface.local_cpus) {
        story_result ("near \"%s\"", interface.local_cpus);
        assert_ptr_equal (interface.local_cpus, text + strlen (interface_print (&interface, &room)) + 1);
        text[strlen (room.text)] = '\0';
    }
    assert_string_equal (interface_print (&interface, &room), text);
}

static void read_networks (char *text)
{
    struct netlist list;
    struct errtext err;

    if (!is_read (netlist_parse (&list, text, &err), &err))
        return;
    for (size_t i = 0; i < list.count; i++) {
        const struct netlist_item *item = &list.item[i];
        struct subnet_text room;

        story_result ("%s %s", item->is_network ? "network" : "interface",
                      item->is_network ? subnet_print (&item->network, &room) : item->text);
    }
}

/* "ITEM INTERFACE" */
static void ask_network (char *text)
{
    struct netlist list;
    struct interface interface;

    assert_int_equal (netlist_parse (&list, story_word (&text), NULL), 0);
    assert_int_equal (interface_parse (&interface, text), 0);
    say (preference_allows (&(struct preference){ .item = &list.item[0] }, &interface));
}

/* CPUs and GPUs. */

static void tell_cpus (const struct cpus *cpus)
{
    char room[CPUS_MAX_TEXT];

    story_result ("%s", cpus_print (cpus, room));
    for (int cpu = 0; cpu < CPUS_MAX; cpu++)
        if (cpus->bits[cpu / 8] >> cpu % 8 & 1)
            story_result ("%d", cpu);
}

static void read_mask (char *text)
{
    struct cpus cpus;

    if (is_accepted (cpus_parse (&cpus, text)))
        tell_cpus (&cpus);
}

/* "''" is an empty text. */
static const char *or_empty (const char *word)
{
    return strcmp (word, "''") == 0 ? "" : word;
}

static void read_local_cpus (char *text)
{
    struct cpus cpus;

    if (is_accepted (cpus_read (&cpus, *text ? file_with (or_empty (text)) : "/nowhere")))
        tell_cpus (&cpus);
}

/* "VISIBLE ON_NODE TASKS LOCAL" */
static void number_gpus (char *text)
{
    const char *word = story_word (&text), *devices;
    struct devices given = { .visible = strcmp (word, "-") == 0 ? NULL : or_empty (word) };
    char buf[64];

    given.on_node = story_number (&text);
    given.tasks = story_number (&text);
    devices = devices_of_task (&given, story_number (&text), buf, sizeof (buf));
    story_result ("%s", devices ? devices : "as JAX does it");
    story_result ("%d of its own", devices_own (&given));
}

/* Ports. */

static void read_ports (char *text)
{
    struct port_ranges ranges;
    struct errtext err;

    if (!is_read (port_ranges_parse (&ranges, text, &err), &err))
        return;
    for (size_t i = 0; i < ranges.count; i++)
        story_result ("%d-%d", ranges.range[i].low, ranges.range[i].high);
}

/* Lists of tasks. */

static struct tasklist *list_of (const char *text)
{
    struct tasklist *list = NULL;
    struct errtext err;

    if (is_read (tasklist_parse (&list, text, &err), &err))
        return list;
    assert_null (list);
    return NULL;
}

static void read_list (char *text)
{
    struct tasklist *list = list_of (text);
    char room[160];

    if (!list)
        return;
    story_result ("%s", tasklist_describe (list, room, sizeof (room)));
    story_result ("%zu items", list->length);
    story_result ("%d named", list->named);
    if (list->rest)
        story_result ("and the rest");
    tasklist_destroy (list);
}

/* "TASKS LIST" */
static void assign_roles (char *text)
{
    int tasks = story_number (&text);
    struct tasklist *list = list_of (text);
    const char **role = calloc ((size_t)tasks, sizeof (*role));
    struct errtext err;

    if (is_read (tasklist_assign (list, role, tasks, "step 12.0", "--tf-tasks", &err), &err))
        for (int i = 0; i < tasks; i++)
            story_result ("%s", role[i]);
    free (role);
    tasklist_destroy (list);
}

static void check_names (const char *text, const char *site)
{
    struct tasklist *list = list_of (text);
    struct errtext err;

    if (is_read (rules_check_names (list, site, &err), &err))
        story_result ("known");
    tasklist_destroy (list);
}

static void read_roles (char *text)
{
    check_names (text, NULL);
}

/* "SITE LIST" */
static void read_roles_of_a_site (char *text)
{
    const char *site = or_empty (story_word (&text));

    check_names (text, site);
}

static void check_cluster (const char *text, bool whole)
{
    struct tasklist *list = list_of (text);
    struct rules_count count = { 0 };
    struct errtext err;

    rules_count_list (&count, list);
    if (is_read (rules_check (&count, whole, &err), &err))
        story_result ("ok");
    tasklist_destroy (list);
}

static void read_cluster (char *text)
{
    check_cluster (text, true);
}

static void read_part (char *text)
{
    check_cluster (text, false);
}

/* Values of options. */

static void read_frameworks (char *text)
{
    static const struct choice bit[] = { { "tf", FRAMEWORK_TF },
                                         { "keras", FRAMEWORK_KERAS },
                                         { "jax", FRAMEWORK_JAX },
                                         { "torch", FRAMEWORK_TORCH },
                                         { "if several, torch", FRAMEWORK_TORCH_AUTO } };
    unsigned int frameworks = 99;
    struct errtext err;

    if (!is_read (frameworks_parse (&frameworks, text, &err), &err))
        return;
    if (frameworks == 0)
        story_result ("none");
    for (size_t i = 0; i < COUNT (bit); i++)
        if (frameworks & (unsigned int)bit[i].meaning)
            story_result ("%s", bit[i].word);
}

static void read_time (char *text)
{
    int seconds = -1;

    if (is_accepted (value_seconds_parse (&seconds, text, 0, VALUE_MAX_SECONDS)))
        story_result ("%d s", seconds);
    else
        assert_int_equal (seconds, -1);
}

static void read_watchdog (char *text)
{
    int seconds, first;
    bool learns;

    if (!is_accepted (value_watchdog_parse (&seconds, &first, &learns, text)))
        return;
    story_result (learns ? "learns, at least %d s" : "%d s", seconds);
    story_result ("first %d s", first);
}

static void read_number (char *text)
{
    const char *rest = text;

    story_result ("%d", number_scan (&rest, 100));
    story_result ("\"%s\"", rest);
}

/* The options whose values the stories have. */
static bool has_story[OPTION_COUNT];

/* "NAME VALUE": the name, which is one of a user or a site. */
static enum option_id option_named (char **text)
{
    const char *name = strsep (text, " ");

    for (int i = 0; i < OPTION_COUNT; i++)
        if (strcmp (option_table[i].name ? option_table[i].name : option_table[i].site, name) == 0)
            return (enum option_id)i;
    story_unknown (name);
}

static void check_option (char *text)
{
    enum option_id option = option_named (&text);
    struct errtext err;

    has_story[option] = true;
    if (is_read (option_check (option, text ? text : "", &err), &err))
        story_result ("valid");
}

static void copy_value (char *text)
{
    enum option_id option = option_named (&text);
    char *copy = option_copy (option, text ? text : "");

    story_result ("\"%s\"", copy);
    free (copy);
}

/* Names with patterns. */

/* clang-format off */
static const struct pattern_values all_values = {
    .job = "12", .step = "3", .node = "n5", .user = "anna", .job_name = "train", .array_job = "10",
    .array_task = "7",
};
/* clang-format on */

static void expand_with (const struct pattern_values *values, const char *text)
{
    struct errtext err = { "" };
    char room[128];

    assert_int_equal (pattern_expand (text, values, room, sizeof (room), &err), 0);
    story_result ("\"%s\"", room);
}

static void expand_pattern (char *text)
{
    expand_with (&all_values, text);
}

static void expand_pattern_of_a_job_alone (char *text)
{
    expand_with (&(struct pattern_values){ .job = "12" }, text);
}

static void expand_pattern_with_odd_values (char *text)
{
    expand_with (&(struct pattern_values){ .job = "12", .job_name = "%j\\", .user = "", .node = "1a" }, text);
}

/* What Slurm has. */

/* "TASKS NAMES / COUNTS": each node with its tasks. */
static void read_nodes (char *text)
{
    int tasks = story_number (&text);
    char *slash = strstr (text, " / ");
    struct layout layout = { .nodes = 0 };

    assert_non_null (slash);
    *slash = '\0';
    layout_set (&layout, tasks, or_empty (text), or_empty (slash + strlen (" / ")));
    if (layout.nodes == 0)
        story_result ("ignored");
    for (int i = 0; i < layout.nodes; i++)
        story_result ("%s:%d", layout.node[i].name, layout.node[i].tasks);
    layout_clear (&layout);
}

static void read_cgroup_conf (char *text)
{
    struct errtext err = { "" };
    int all = cgroup_conf_signals_all (file_with (text), &err);

    assert_string_equal (err.text, "");
    say (all == 1);
}

static void read_script (char *text)
{
    say (batch_script_runs_once (text));
}

/* The root of a mount: is it named after job 4711? */
static void read_mount (char *text)
{
    say (private_mount_is_named (text, "4711"));
}

static void tell_facts (const struct slurm_facts *facts)
{
    assert_true (facts->known);
    if (facts->ports.count)
        story_result ("ports %d-%d", facts->ports.range[0].low, facts->ports.range[0].high);
    story_result ("waits %d s", facts->wait_time);
    story_result ("kills after %d s", facts->kill_wait);
    if (facts->appends_output)
        story_result ("appends");
    if (facts->signals_only_children)
        story_result ("signals only children");
}

static void read_scontrol (char *text)
{
    struct slurm_facts facts;

    slurm_facts_read_text (&facts, text);
    tell_facts (&facts);
}

/* "SLURM.CONF / CGROUP.CONF"; the second one may be missing. */
static void read_slurm_files (char *text)
{
    const char *dir = new_directory (), *path = path_in (dir, "slurm.conf");
    char *slash = strstr (text, " / ");
    struct slurm_facts facts;

    if (slash) {
        *slash = '\0';
        write_file (path_in (dir, "cgroup.conf"), slash + strlen (" / "));
    }
    write_file (path, text);
    slurm_facts_read_files (&facts, path);
    tell_facts (&facts);
}

/* "WORD;WORD...", the first `options` of which are the command and its options. */
static void tell_submission (char *words, size_t options)
{
    char *argument[64];
    struct cmdline line = { 0, argument };
    struct submission submission;

    while (words)
        line.text[line.count++] = strsep (&words, ";");
    submission_parse (&submission, &line, options);
    if (submission.tasks)
        story_result ("%d tasks", submission.tasks);
    if (submission.tasks_per_node)
        story_result ("%d a node", submission.tasks_per_node);
    if (submission.runs_once)
        story_result ("runs once");
    if (submission.dies_with_node)
        story_result ("dies with its node");
}

static char batch[512];

static void set_batch (char *text)
{
    snprintf (batch, sizeof (batch), "%s", text);
}

/* sbatch OPTIONS SCRIPT -n 99 */
static void submit (char *options)
{
    char words[512];
    size_t count = 2;

    for (const char *p = options; *p; p++)
        count += *p == ';';
    snprintf (words, sizeof (words), "/usr/bin/sbatch;%s;%s;-n;99", *options ? options : "-Q",
              file_with (batch));
    tell_submission (words, count);
}

static void read_command (char *text)
{
    size_t options = (size_t)story_number (&text);

    tell_submission (text, options);
}

/* Lines of srun's help, of several releases. */
static const char help_text[] =
    "Usage: srun [OPTIONS...] executable [args...]\n"
    "\n"
    "Parallel run options:\n"
    "  -A, --account=name          charge job to specified account\n"
    "      --bcast=<dest_path>     Copy executable file to compute nodes\n"
    "      --container             Path to OCI container bundle\n"
    "      --cpu-freq=min[-max[:gov]] requested cpu frequency (and governor)\n"
    "  -I, --immediate[=secs]      exit if resources not available in \"secs\"\n"
    "  -K, --kill-on-bad-exit      kill the job if any task terminates with a\n"
    "                              non-zero exit code\n"
    "  -l, --label                 prepend task number to lines of stdout/err\n"
    "  -n, --ntasks=ntasks         number of tasks to run\n"
    "      --ntasks-per-node=n     number of tasks to invoke on each node\n"
    "  -N, --nodes=N               number of nodes on which to run (N = min[-max])\n"
    "      --overlap               Allow other steps to overlap this step\n"
    "      --pty                   run task zero in pseudo terminal\n"
    "      --resv-ports            reserve communication ports\n"
    "  -v, --verbose               verbose mode (multiple -v's increase verbosity)\n"
    "  -B  --extra-node-info=S[:C[:T]]  combine request of sockets, cores and threads\n"
    "                              --mem >= --mem-per-cpu if --mem is specified.\n"
    "\n"
    "Options provided by plugins:\n"
    "      --x11=[batch|first|all] export X11 display\n"
    "\n"
    "      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH\n"
    "                              the image to use for the container\n"
    "      --account-of            a value all the same\n"
    "\n"
    "Help options:\n"
    "  -h, --help                  show this help message\n";

/* Options that the help does not have, or that are a plugin's; srun is asked. */
static enum srun_value ask_srun (const char *option, void *arg)
{
    static const char *const needs[] = { "--hint", "-Y", "--container-image", "--account-of" };

    (void)arg;
    for (size_t i = 0; i < COUNT (needs); i++)
        if (strcmp (option, needs[i]) == 0)
            return SRUN_VALUE_NEEDED;
    return SRUN_VALUE_NONE;
}

/* What it becomes, and what is taken out of it: the component, the option and its value. */
static void tell_words (const struct srun_words *words)
{
    char **all = srun_words_with (words, "TF-RUN", "--task="), line[512] = "";

    for (char **word = all; *word; word++) {
        assert_true (strlen (line) + strlen (*word) + 2 < sizeof (line));
        strcat (strcat (line, *line ? " " : ""), *word);
        if (strncmp (*word, "--task=", sizeof ("--task=") - 1) == 0)
            free (*word);
    }
    free (all);
    story_result ("%s", line);
    for (size_t i = 0; i < words->options; i++)
        story_result ("%zu:%s=%s", words->option[i].component, option_table[words->option[i].option].name,
                      words->option[i].value ? words->option[i].value : "-");
    if (words->quiet)
        story_result ("quiet");
}

#define MOST_WORDS 32

/* A command line of tf-run. */
static void read_srun (char *text)
{
    struct srun_help *help = srun_help_create (help_text);
    struct srun_words words = { .option = calloc (MOST_WORDS, sizeof (struct srun_words_option)) };
    char *argv[MOST_WORDS + 1] = { (char[]){ "srun" } };
    struct errtext err;
    int argc = 1;

    while (argc < MOST_WORDS && (argv[argc] = strsep (&text, " ")))
        argc++;
    if (is_read (srun_words_parse (&words, argc, argv, help, ask_srun, NULL, &err), &err))
        tell_words (&words);
    srun_words_clear (&words);
    free (help);
}

/* The user's variables. */

static char *variable[8];

/* Variables, separated by ";". Those of the last story are forgotten. */
static void set_variables (char *text)
{
    static char kept[256];
    char *rest = kept;
    int count = 0;

    snprintf (kept, sizeof (kept), "%s", text);
    while (rest && *rest)
        variable[count++] = strsep (&rest, ";");
    variable[count] = NULL;
    story_result (proxy_is_set (variable) ? "there is a proxy" : "no proxy");
}

/* Hosts become exempt: no_grpc_proxy and no_proxy then. */
static void exempt_hosts (char *text)
{
    for (int i = 0; i < PROXY_EXEMPTIONS; i++) {
        char *value = proxy_exempt (i, text, variable);

        story_print ("%s=%s\n", proxy_exemption[i], value);
        free (value);
    }
}

/* What srun tells its tasks. */

/* "V" is the version of the protocol. */
static void read_contact (char *text)
{
    bool ours = *text == 'V';
    struct contact contact;
    struct errtext err;
    char version[16] = "", whole[512], *again;

    if (ours)
        snprintf (version, sizeof (version), "%d", FRAME_VERSION);
    snprintf (whole, sizeof (whole), "%s%s", version, text + ours);
    if (!is_read (contact_decode (&contact, whole, &err), &err))
        return;
    story_result ("port %d", contact.port);
    story_result ("%s", contact.token);
    story_result ("%s", contact.server_token);
    story_result ("%d s", contact.timeout);
    if (contact.hold)
        story_result ("hold");
    story_result ("ask %d", (int)contact.ask);
    if (contact.second_port)
        story_result ("second port");
    if (contact.own_name)
        story_result ("own name");
    story_result ("ports %s", contact.ports);
    again = contact_encode (&contact);
    if (ours)
        assert_string_equal (again, whole);
    free (again);
}

/* "NAME=VALUE", which the user has set, and so may spank-tf. */
static void find_variable (char *text)
{
    const struct variable *found = variable_find (text);

    if (!found) {
        story_result ("none of these");
        return;
    }
    story_result (variable_replaces (found, 1)   ? "replaced"
                  : variable_replaces (found, 3) ? "replaced in a step of several"
                                                 : "stays");
    if (variable_is_noticed (found, 3))
        story_result ("noticed");
    assert_int_equal (variable_is_noticed (found, 1),
                      variable_replaces (found, 1) && variable_is_noticed (found, 3));
}

/* What is printed of texts of others. */

static void quote (char *text)
{
    struct quoted room;

    story_result ("\"%s\"", text_quoted (&room, text, strlen (text)));
}

static void make_line (char *text)
{
    printable_make_line (text);
    quote (text);
}

/* What is known of a failure, from this source. */
static void tell_failure (const struct failure_text *failure, enum failure_text_source source)
{
    assert_true (failure->source == source || failure->source == FAILURE_TEXT_NONE);
    story_result ("%s", failure->source == FAILURE_TEXT_NONE ? "nothing" : failure->text);
}

static void read_error (char *text)
{
    struct failure_text failure;

    memset (&failure, 0xff, sizeof (failure));
    failure_text_set (&failure, FAILURE_TEXT_LOG, text, strlen (text));
    tell_failure (&failure, FAILURE_TEXT_LOG);
}

static void read_log (char *text)
{
    const struct exit_report failed = { .kind = EXIT_REPORT_EXIT, .number = 1 };
    struct last_words words = last_line_words (&failed, text, strlen (text));

    tell_failure (&words.text, FAILURE_TEXT_LOG);
}

static void read_exception (char *text)
{
    struct last_words words = last_line_running (text, strlen (text));

    tell_failure (&words.exception, FAILURE_TEXT_LOG);
    if (words.exception.source != FAILURE_TEXT_NONE)
        story_result ("at %d", (int)words.traceback);
}

static void read_error_file (char *text)
{
    struct failure_text failure = { .source = FAILURE_TEXT_NONE };
    bool found = last_line_find_message (&failure, text, strlen (text));

    assert_int_equal (found, failure.source != FAILURE_TEXT_NONE);
    tell_failure (&failure, FAILURE_TEXT_ERROR_FILE);
}

/* Memory cgroups of a task: v1's, where the kernel has killed 3 processes, and v2's with these events. */

#define MEMORY_V1 "memory/slurm/uid_1/job_2/step_0/task_0"
#define MEMORY_V2 "job_2/step_0/user/task_0"

static char cgroups[64];

static void set_memory_events (char *text)
{
    char command[256];

    snprintf (cgroups, sizeof (cgroups), "%s", new_directory ());
    snprintf (command, sizeof (command), "cd %s && mkdir -p " MEMORY_V1 " " MEMORY_V2, cgroups);
    assert_int_equal (system (command), 0);
    write_file (path_in (cgroups, MEMORY_V1 "/memory.oom_control"),
                "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    write_file (path_in (cgroups, MEMORY_V2 "/memory.events"), text);
}

/* By such a /proc/self/cgroup, if there is one. */
static void count_oom_kills (char *text)
{
    const char *path = path_in (cgroups, "cgroup");

    if (strcmp (text, "nothing") == 0)
        unlink (path);
    else
        write_file (path, text);
    story_result ("%d", oom_kills (path, cgroups));
}

/* Lines of a task for srun; a story begins with none. */

static struct tee_lines tee;

static void pass_on (void *unused __attribute__ ((unused)), const char *bytes, size_t length)
{
    story_print ("%.*s", (int)length, bytes);
}

static void add_to_tee (char *text)
{
    if (!tee.name)
        tee_lines_init (&tee, "w1>", pass_on, NULL);
    tee_lines_add (&tee, text, strlen (text));
}

static void end_tee (char *unused __attribute__ ((unused)))
{
    tee_lines_end (&tee);
}

/* Of an answer that consists of this string. */
static void ask_if_passed (char *string)
{
    struct frame *empty = frame_create (), *answer;
    size_t more = strlen (string) + 1, length;
    struct iovec part[] = { { (void *)(uintptr_t)frame_bytes (empty, more, &length), FRAME_HEADER },
                            { string, more } };
    const char *passed;

    assert_non_null (answer = frame_join (part, COUNT (part)));
    if ((passed = answer_next_variable (answer, NULL)))
        assert_string_equal (passed, string);
    say (passed);
    frame_destroy (empty);
    frame_destroy (answer);
}

/* Columns as squeue pads and cuts them; or another line. */
static void read_squeue (char *text)
{
    static const int width[] = { 39, 15, 15, 15, 15, 15, 15, 23, 7, 127, 63 };
    char line[512] = "";
    struct job_info job;
    const char *next;
    int used = 0;

    /* Lines of a name. */
    for (char *end; (end = strchr (text, '\n')) && strchr (end, ';'); text = end + 1)
        used += snprintf (line + used, sizeof (line) - (size_t)used, "%.*s\n", (int)(end - text), text);
    if (!strchr (text, ';'))
        snprintf (line, sizeof (line), "%s", text);
    else
        for (size_t i = 0; i < COUNT (width); i++)
            used += snprintf (line + used, sizeof (line) - (size_t)used, "%-*.*s", width[i], width[i],
                              strsep (&text, ";"));
    if (!(next = jobs_parse (&job, line))) {
        story_result ("refused");
        return;
    }
    assert_string_equal (next, "");
    story_result ("job %s of %u", job.name, job.number);
    story_result ("leader %u, component %d", job.leader, job.component);
    story_result ("%d nodes", job.nodes);
    story_result ("user %u, group %u", job.uid, job.gid);
    if (job.phase == JOB_RUNS)
        story_result ("runs");
    if (job.phase == JOB_IS_OVER)
        story_result ("is over");
    if (job.batch)
        story_result ("batch");
    story_result ("on \"%s\", \"%s\"", job.host, job.title);
}

static const struct {
    const char *kind;
    void (*read) (char *text);
} reader[] = {
    { "address", read_address },
    { "endpoint", read_address_with_port },
    { "subnet", read_subnet },
    { "in", ask_subnet },
    { "before", compare_subnets },
    { "interface", read_interface },
    { "networks", read_networks },
    { "named", ask_network },
    { "mask", read_mask },
    { "local_cpus", read_local_cpus },
    { "gpus", number_gpus },
    { "ports", read_ports },
    { "list", read_list },
    { "assign", assign_roles },
    { "roles", read_roles },
    { "site", read_roles_of_a_site },
    { "cluster", read_cluster },
    { "part", read_part },
    { "frameworks", read_frameworks },
    { "time", read_time },
    { "watchdog", read_watchdog },
    { "number", read_number },
    { "pattern", expand_pattern },
    { "pattern-of-a-job", expand_pattern_of_a_job_alone },
    { "pattern-with-odd-values", expand_pattern_with_odd_values },
    { "nodes", read_nodes },
    { "cgroup.conf", read_cgroup_conf },
    { "script", read_script },
    { "mount", read_mount },
    { "scontrol", read_scontrol },
    { "slurm.conf", read_slurm_files },
    { "batch", set_batch },
    { "sbatch", submit },
    { "command", read_command },
    { "srun", read_srun },
    { "variables", set_variables },
    { "exempt", exempt_hosts },
    { "option", check_option },
    { "without-blanks", copy_value },
    { "contact", read_contact },
    { "variable", find_variable },
    { "line", make_line },
    { "quoted", quote },
    { "error", read_error },
    { "last-line", read_log },
    { "exception", read_exception },
    { "error-file", read_error_file },
    { "memory.events", set_memory_events },
    { "oom-kills", count_oom_kills },
    { "tee", add_to_tee },
    { "tee-end", end_tee },
    { "passed", ask_if_passed },
    { "squeue", read_squeue },
};

static void play (char *event)
{
    char *text = event, *kind = strsep (&text, " "), none[] = "";
    size_t i = 0;

    while (i < COUNT (reader) && strcmp (reader[i].kind, kind) != 0)
        i++;
    if (i == COUNT (reader))
        story_unknown (kind);
    reader[i].read (story_unescape (text ? text : none));
}

static void end (void)
{
    tee.name = NULL;
}

STORIES (GOLDEN, play, end)

TEST (each_option_whose_values_are_more_than_words_has_a_story)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].check && !has_story[i])
            fail_msg ("none for %s", option_table[i].usage);
}

/* What a story cannot tell: buffers that are too small, and a list that is long. */

TEST (a_list_that_does_not_fit_is_left_out)
{
    const struct devices four = { "0,0,0,0", 4, 1 }, seven = { "0,0,0,0,0,0,0", 7, 1 }, two = { "0,0", 2, 3 };
    char buf[8];

    assert_string_equal (devices_of_task (&four, 0, buf, sizeof (buf)), "0,1,2,3");
    assert_null (devices_of_task (&four, 0, buf, sizeof (buf) - 1));
    assert_null (devices_of_task (&seven, 0, buf, 3));
    assert_null (devices_of_task (&two, 1, buf, 1));
}

TEST (a_name_longer_than_its_buffer_is_refused)
{
    for (size_t size = 1; size <= 12; size++) {
        struct errtext err = { "" };
        char text[16], message[64];

        memset (text, '#', sizeof (text));
        if (size > strlen ("ab12cd4")) {
            assert_int_equal (pattern_expand ("ab%jcd4", &all_values, text, size, &err), 0);
            assert_string_equal (text, "ab12cd4");
        } else {
            assert_int_equal (pattern_expand ("ab%jcd4", &all_values, text, size, &err), -1);
            snprintf (message, sizeof (message), "the name is longer than %zu bytes", size - 1);
            assert_string_equal (err.text, message);
        }
        assert_true (memchr (text, '\0', size) != NULL);
        for (size_t i = size; i < sizeof (text); i++)
            assert_int_equal (text[i], '#');
    }
}

TEST (the_first_lists_that_fit_stay)
{
    struct layout layout = { .nodes = 0 };

    layout_set (&layout, 10000, "x1,x2,x[", "2(x2)");
    layout_set (&layout, 10000, "n[0001-5000]", "2(x5000)");
    layout_set (&layout, 10000, "m[0001-5000]", "2(x5000)");
    assert_int_equal (layout.nodes, 5000);
    assert_string_equal (layout.node[4999].name, "n5000");
    layout_clear (&layout);
    assert_null (layout.node);
}

TEST (an_option_is_there_by_its_whole_name)
{
    struct srun_help *help = srun_help_create (help_text);

    assert_true (srun_help_has (help, "ntasks"));
    assert_false (srun_help_has (help, "ntask"));
    assert_false (srun_help_has (help, "mem"));
    free (help);
}

/* check.golden has what is read of Slurm's files, also of included ones; a line may be long. */
TEST (a_cgroup_conf_that_cannot_be_read_is_an_error_and_without_one_slurm_has_its_default)
{
    static const char *const bad[][2] = {
        { "/tmp", "/tmp: Is a directory" },
        { "/dev/null/cgroup.conf", "/dev/null/cgroup.conf: Not a directory" },
    };
    char line[20000];
    struct errtext err;

    assert_int_equal (cgroup_conf_signals_all ("/nowhere/cgroup.conf", NULL), 0);
    for (size_t i = 0; i < COUNT (bad); i++) {
        assert_int_equal (cgroup_conf_signals_all (bad[i][0], &err), -1);
        assert_string_equal (err.text, bad[i][1]);
    }
    assert_int_equal (cgroup_conf_signals_all (file_with ("include /nowhere/more.conf # more\n"), &err), -1);
    assert_string_equal (err.text, "/nowhere/more.conf: No such file or directory");
    snprintf (line, sizeof (line), "CgroupMountpoint=/%0*d SignalChildrenProcesses=yes\n", 16000, 0);
    assert_int_equal (cgroup_conf_signals_all (file_with (line), NULL), 1);
}

TEST (without_slurms_files_nothing_is_known)
{
    struct slurm_facts facts;

    slurm_facts_read_files (&facts, "/nowhere/slurm.conf");
    assert_false (facts.known);
    slurm_facts_read_files (&facts, NULL);
    assert_false (facts.known);
}

TEST (this_process_has_a_command_line)
{
    struct submission submission;

    submission_read (&submission);
    assert_int_equal (submission.tasks, 0);
}
