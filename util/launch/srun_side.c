/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "srun_side.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/frameworks.h"
#include "common/helper.h"
#include "common/logdir.h"
#include "common/netlist.h"
#include "common/number.h"
#include "options.h"
#include "protocol/contact.h"
#include "rendezvous.h"
#include "srun_checks.h"
#include "srun_config.h"

/*
 * One rendezvous for all components. Its port is held for as long as srun lives, and is listened on until the
 * rendezvous has a socket of its own for that.
 */
static struct contact contact;
static struct port *reserved;

static char program[4096];

/* "1", "0,2" or "[2-3]"; without, Slurm counts the components (_get_het_group () in libsrun/opt.c). */
static void _note_group (struct srun_facts *facts, const char *group)
{
    int lowest = group ? INT_MAX : facts->components, highest = group ? -1 : facts->components;

    for (const char *c = group ? group : ""; *c; c += *c != '\0') {
        int number = number_scan (&c, INT_MAX - 1);

        if (number < 0)
            continue;
        lowest = number < lowest ? number : lowest;
        highest = number > highest ? number : highest;
    }
    facts->descends = facts->descends || lowest < facts->group;
    facts->group = highest;
    facts->components++;
}

void srun_side_add_component (struct srun_facts *facts, const struct cmdline *own)
{
    static const struct cmdline_option het_group_option = { "--het-group", sizeof ("--het-group") - 1, 0 };

    facts->no_kill = cmdline_no_kill (own, "SLURM_NO_KILL", facts->no_kill);
    facts->lacks_no_kill = facts->lacks_no_kill || !facts->no_kill;
    _note_group (facts, cmdline_find (own, &het_group_option));
}

static int _find_program (struct errtext *err)
{
    struct errtext why;

    if (helper_locate (program, sizeof (program), options_value (OPTION_LIBEXECDIR), "tf-rendezvous", &why)
        == 0)
        return 0;
    return errtext_set (err, "%s; spank-tf is not installed completely on this host", why.text);
}

static int _reserve_port (const struct srun_facts *facts, struct errtext *err)
{
    struct port_ranges ranges;
    struct errtext why;

    if (reserved)
        return 0;
    port_ranges_parse (&ranges, options_value (OPTION_RENDEZVOUS_PORTS), NULL);
    if (ranges.count == 0)
        ranges = facts->ports;
    if (contact_make_tokens (&contact, err) < 0)
        return -1;
    if (port_reserve (&reserved, &ranges, (unsigned int)getpid (), PORT_TO_LISTEN, &why) < 0)
        return errtext_set (err, "srun's rendezvous: %s", why.text);
    contact.port = reserved->number;
    return 0;
}

/* What the rendezvous must know of the interfaces to choose addresses and to show the choice. */
static enum contact_ask _ask (void)
{
    if (options_word (OPTION_IB) != IB_NO)
        return CONTACT_ASK_RAILS;
    if (strcmp (options_value (OPTION_NETWORK), NETLIST_ANY) != 0 || srun_config_shows ()
        || srun_config_logs ())
        return CONTACT_ASK_INTERFACES;
    return CONTACT_ASK_NOTHING;
}

/* The tasks replace the patterns in it. */
static int _export_log_dir (void)
{
    return srun_config_logs () ? setenv (LOGDIR_VARIABLE, options_value (OPTION_LOG_DIR), 1) : 0;
}

static int _export_contact (void)
{
    char *text = contact_encode (&contact);
    int rc = text ? setenv (CONTACT_VARIABLE, text, 1) : -1;

    free (text);
    return rc;
}

static bool _runs_torchrun (const struct cmdline *line)
{
    bool runs = false;

    for (size_t i = 1; i < line->count; i++)
        runs = runs || strcmp (basename (line->text[i]), "torchrun") == 0
               || strcmp (line->text[i], "torch.distributed.run") == 0;
    return runs;
}

/*
 * Does the program look up its node's own name? JAX on CPUs does, and torchrun. What cannot be known of a
 * script is known from its environment, or because the user has written "jax".
 */
static bool _needs_own_names (const struct srun_facts *facts, unsigned int frameworks)
{
    const char *backend = getenv ("KERAS_BACKEND"), *platforms = getenv ("JAX_PLATFORMS");

    if (_runs_torchrun (&facts->line))
        return true;
    if (!(frameworks & FRAMEWORK_JAX) || (platforms && !strstr (platforms, "cpu")))
        return false;
    return platforms || options_is_given (OPTION_FRAMEWORKS) || (backend && strcmp (backend, "jax") == 0);
}

/*
 * For MASTER_PORT. If PyTorch was not asked for, only where no other task can need the port: the kernel has
 * enough of them, a range of --tf-ports may have not.
 */
static bool _wants_second_port (unsigned int frameworks)
{
    return frameworks & FRAMEWORK_TORCH
           || (frameworks & FRAMEWORK_TORCH_AUTO && !srun_config_has (RULES_PS)
               && strcmp (options_value (OPTION_PORTS), PORT_RANGES_ANY) == 0);
}

static int _export (const struct srun_facts *facts, struct errtext *err)
{
    unsigned int frameworks;

    contact.timeout = options_seconds (OPTION_TIMEOUT);
    contact.hold = options_word (OPTION_HOLD);
    contact.ask = _ask ();
    frameworks_parse (&frameworks, options_value (OPTION_FRAMEWORKS), err);
    contact.second_port = _wants_second_port (frameworks);
    contact.own_name = _needs_own_names (facts, frameworks);
    if (snprintf (contact.ports, sizeof (contact.ports), "%s", options_value (OPTION_PORTS))
        >= (int)sizeof (contact.ports))
        return errtext_set (err, "--tf-ports: too many ranges");
    if (_export_log_dir () < 0 || _export_contact () < 0)
        return errtext_set (err, "%s", strerror (errno));
    return 0;
}

void srun_side_reset (void)
{
    unsetenv (CONTACT_VARIABLE);
    unsetenv (LOGDIR_VARIABLE);
}

int srun_side_prepare (const struct srun_facts *facts, struct errtext *err)
{
    switch (options_use ()) {
        case OPTIONS_UNUSED: return 0;
        case OPTIONS_OFF: return setenv (CONTACT_VARIABLE, CONTACT_OFF, 1);
        case OPTIONS_ON: break;
    }
    /* A later component may have the value that one of this needs. */
    if (!facts->has_later && (srun_checks_options (facts, err) < 0 || srun_checks_input (facts, err) < 0))
        return -1;
    if (_find_program (err) < 0 || _reserve_port (facts, err) < 0)
        return -1;
    return _export (facts, err);
}

/*
 * mpirun starts its daemons by an srun whose stderr is /dev/null, and that inherits the job's list. A list
 * that does not fit would show as a text of Open MPI's about networks; so messages go to mpirun's own stderr.
 */
static const char *_stderr_of_mpirun (const char *program_name, char *path, size_t size)
{
    const char *name = program_name ? basename (program_name) : "";
    struct stat err, null;
    int fd;

    if ((strcmp (name, "orted") != 0 && strcmp (name, "prted") != 0) || fstat (STDERR_FILENO, &err) < 0
        || stat ("/dev/null", &null) < 0 || err.st_rdev != null.st_rdev)
        return NULL;
    snprintf (path, size, "/proc/%d/fd/%d", (int)getppid (), STDERR_FILENO);
    /* It cannot be opened if it is a socket. */
    if ((fd = open (path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) < 0)
        return NULL;
    close (fd);
    return path;
}

/*
 * A process that srun has forked meanwhile, its shepherd, has the socket that listens, too: if
 * tf-rendezvous were killed, tasks would connect to that, and get no answer. So tf-rendezvous gets another
 * one.
 */
static int _start (const struct srun_facts *facts, const char *step, struct errtext *err)
{
    struct frame *configuration = srun_config_encode (facts, &contact, step, err);
    char path[64];
    const char *messages = _stderr_of_mpirun (facts->program, path, sizeof (path));
    int listener = -1, rc = -1;

    if (configuration && (listener = port_listen_anew (reserved, err)) >= 0)
        rc = rendezvous_start (program, step, messages, listener, configuration, err);
    frame_destroy (configuration);
    return rc;
}

int srun_side_start (const struct srun_facts *facts, const char *step, struct errtext *err)
{
    int control = _start (facts, step, err);

    if (control >= 0)
        srun_checks_say (facts);
    return control;
}

/* srun(1), sbatch(1), salloc(1) */
int srun_side_error_code (void)
{
    int code;

    return number_parse (&code, getenv ("SLURM_EXIT_ERROR"), 1, 255) == 0 ? code : 1;
}
