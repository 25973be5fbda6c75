/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * task-check: the program that the tests run as a task. It checks everything that the plugin
 * promises to a task.
 *
 *     srun --tf-tasks=ps,worker:2 task-check --roles=ps,worker,worker
 *
 * --roles is what the test expects: the role of every rank, in rank order, as in --tf-tasks ("+data"
 * is an auxiliary task). Each rank first
 * checks its environment, TF_CONFIG, address, descriptors and port. Then it connects to every
 * other rank (task-check-peers.c). It prints one line: its identity and "ok" on stdout, or what
 * it found and what it expected on stderr.
 *
 * With --times it prints the line when it ends, and adds its step and the time, in seconds since
 * 1970, during which it ran and therefore had its port.
 */
#include "config.h"

#include "task-check.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <jansson.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/variables.h"

#define HELD_DESCRIPTOR 200     /* the lowest number of the descriptor that holds the port */

struct rank *ranks, *me;
int rank_count;

static const char *node = "?";
static bool hold_port = true, loopback_ok;

/* ---- output ---- */

char *format (const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start (ap, fmt);
    if (vasprintf (&text, fmt, ap) < 0)
        abort ();
    va_end (ap);
    return text;
}

void report (int fd, const char *text)
{
    char *line =
        me ? format ("task-check: rank %d %s %d %s %.3800s\n", me->number, me->role, me->index, node, text)
           : format ("task-check: %.3800s\n", text);
    size_t len = strlen (line);

    for (size_t i = 0; i + 1 < len; i++)
        if ((unsigned char)line[i] < ' ')
            line[i] = '?';
    if (write (fd, line, len) != (ssize_t)len)
        exit (1);
    free (line);
}

static int number_parse (const char *what, const char *text, int high)
{
    char *end;
    long number = strtol (text, &end, 10);

    if (strspn (text, "0123456789") == 0 || *end || number > high)
        die ("%s is \"%s\", expected a number from 0 to %d", what, text, high);
    return (int)number;
}

/* ---- what the test expects ---- */

static bool is_evaluator (const struct rank *rank)
{
    return !strcmp (rank->role, "evaluator");
}

bool lists (const struct rank *a, const struct rank *b)
{
    return is_evaluator (a) || !is_evaluator (b);
}

static bool is_beside (const struct rank *rank)
{
    return rank->role[0] == '+';
}

/* As the task itself sees it. */
static const char *role_name (const struct rank *rank)
{
    return rank->role + is_beside (rank);
}

static int role_count (const char *role)
{
    int count = 0;

    for (int i = 0; i < rank_count; i++)
        count += !strcmp (ranks[i].role, role);
    return count;
}

static struct rank *rank_find (const char *role, int index)
{
    for (int i = 0; i < rank_count; i++)
        if (ranks[i].index == index && !strcmp (ranks[i].role, role))
            return &ranks[i];
    abort ();
}

static void roles_parse (char *list)
{
    ranks = calloc (strlen (list) + 1, sizeof (*ranks));
    if (!ranks)
        die ("out of memory");
    rank_count = 0;
    for (char *role; (role = strsep (&list, ",")); rank_count++) {
        if (!*role)
            die ("--roles has an empty item");
        ranks[rank_count] = (struct rank){ .number = rank_count, .role = role, .index = role_count (role) };
    }
}

/* The variable with the addresses of all tasks of this name: "SLURM_TF_DATA" for "+data". */
static const char *beside_variable (const struct rank *rank)
{
    char *name = format ("SLURM_TF_%s", rank->role + 1);

    for (char *c = name; *c; c++)
        *c = (char)toupper ((unsigned char)*c);
    return name;
}

static bool is_promised_beside (const char *name)
{
    for (int i = 0; i < rank_count; i++)
        if (is_beside (&ranks[i]) && !strcmp (name, beside_variable (&ranks[i])))
            return true;
    return false;
}

/* ---- the environment ---- */

static const char *env_get (const char *name)
{
    const char *value = getenv (name);

    if (!value)
        die ("%s is not set", name);
    return value;
}

/* `expected` is NULL for a variable that must not be set. */
static void env_expect (const char *name, const char *expected)
{
    const char *value = getenv (name);

    if (!value != !expected || (value && strcmp (value, expected)))
        die ("%s is \"%s\", expected \"%s\"", name, value ? value : "(not set)",
             expected ? expected : "(not set)");
}

/*
 * The program gets the variables that the manual promises, and no others of the plugin. Their
 * values may be secret, so they are not printed.
 */
static void env_check_leaks (void)
{
    env_expect ("SLURM_TF_RESTART", NULL);
    for (char **env = environ; *env; env++) {
        const struct variable *known = variable_find (*env);
        bool promised = known && known->set != VARIABLE_BY_SRUN;
        char *name = format ("%.*s", (int)strcspn (*env, "="), *env);

        if (strstr (name, "SPANK_OPTION_spank_tf")
            || (!strncmp (name, "SLURM_TF_", 9) && !promised && !is_promised_beside (name)))
            die ("the environment still has %s from the launch", name);
        free (name);
    }
}

/* The processes of Keras: chief or master, then the workers, if there is no ps. -1: it is none. */
static int process_number (const struct rank *rank)
{
    int leaders = role_count ("chief") + role_count ("master");

    if (role_count ("ps"))
        return -1;
    if (!strcmp (rank->role, "worker"))
        return rank->index + leaders;
    return !strcmp (rank->role, "chief") || !strcmp (rank->role, "master") ? 0 : -1;
}

static int process_count (void)
{
    int count = 0;

    for (int i = 0; i < rank_count; i++)
        count += process_number (&ranks[i]) >= 0;
    return count;
}

/*
 * Slurm's numbers: a process has those of a step of the processes alone, and the numbers of other tasks
 * follow. In a step without processes they are Slurm's own.
 */
static void numbers_check (void)
{
    int process = process_number (me), number = process >= 0 ? process : process_count ();

    for (int i = 0; process < 0 && &ranks[i] < me; i++)
        number += process_number (&ranks[i]) < 0;
    env_expect ("SLURM_PROCID", format ("%d", number));
    env_expect ("SLURM_STEP_NUM_TASKS", format ("%d", process >= 0 ? process_count () : rank_count));
    if (process >= 0)
        env_expect ("SLURM_NTASKS", format ("%d", process_count ()));
}

/* The coordinator's address is compared with the dictionary's when that is known. */
static void frameworks_check (void)
{
    int processes = process_count (), process = process_number (me);

    if (processes == 0 || process < 0) {
        env_expect ("KERAS_DISTRIBUTION_PROCESS_ID", NULL);
        env_expect ("KERAS_DISTRIBUTION_NUM_PROCESSES", NULL);
        env_expect ("KERAS_DISTRIBUTION_JOB_ADDRESSES", NULL);
        env_expect ("JAX_COORDINATOR_ADDRESS", NULL);
        env_expect ("WORLD_SIZE", NULL);
        return;
    }
    env_expect ("KERAS_DISTRIBUTION_PROCESS_ID", format ("%d", process));
    env_expect ("KERAS_DISTRIBUTION_NUM_PROCESSES", format ("%d", processes));
    /* PyTorch's, only if there are several. */
    env_expect ("RANK", processes > 1 ? format ("%d", process) : NULL);
    env_expect ("WORLD_SIZE", processes > 1 ? format ("%d", processes) : NULL);
}

/* The coordinator is process 0. JAX takes the numbers from Slurm's variables. */
static void coordinator_check (void)
{
    const char *keras = getenv ("KERAS_DISTRIBUTION_JOB_ADDRESSES");
    const char *role = role_count ("chief") ? "chief" : role_count ("master") ? "master" : "worker";

    if (!keras)
        return;
    env_expect ("KERAS_DISTRIBUTION_JOB_ADDRESSES", rank_find (role, 0)->address);
    env_expect ("JAX_COORDINATOR_ADDRESS", keras);
}

/* ---- TF_CONFIG ---- */

/* "10.0.0.1:40123" or "[fd00::1]:40123": numeric, and in canonical form. */
static void address_parse (struct rank *rank)
{
    struct addrinfo hint = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM },
                    *found = NULL;
    bool bracketed = *rank->address == '[';
    char *text = format ("%s", rank->address + bracketed), *colon = strrchr (text, ':');
    char *canonical = NULL;

    if (colon && colon > text) {
        colon[-bracketed] = '\0';
        if (!getaddrinfo (text, colon + 1, &hint, &found)
            && !getnameinfo (found->ai_addr, found->ai_addrlen, rank->host, sizeof (rank->host), rank->port,
                             sizeof (rank->port), NI_NUMERICHOST | NI_NUMERICSERV))
            canonical = format (found->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", rank->host, rank->port);
    }
    if (!canonical || strcmp (canonical, rank->address) || strchr (rank->host, '%')
        || !strcmp (rank->port, "0"))
        die ("TF_CONFIG has the address \"%s\", expected ADDRESS:PORT, IPv6 in brackets, "
             "port 1 to 65535",
             rank->address);
    memcpy (&rank->sockaddr, found->ai_addr, found->ai_addrlen);
    freeaddrinfo (found);
    free (canonical);
    free (text);
}

static void role_check (const char *role, const json_t *list)
{
    int count = role_count (role), listed = (int)json_array_size (list);

    if (!strcmp (role, "evaluator") && !is_evaluator (me))
        die ("TF_CONFIG lists the evaluator, expected in the evaluator's own only");
    if (role[0] == '+')
        die ("TF_CONFIG lists \"%s\", an auxiliary task", role);
    if (!count)
        die ("TF_CONFIG lists \"%s\", which is not the role of any rank", role);
    if (!json_is_array (list) || listed != count)
        die ("TF_CONFIG has %d of role \"%s\", expected %d", listed, role, count);
    for (int i = 0; i < count; i++) {
        struct rank *rank = rank_find (role, i);
        const char *address = json_string_value (json_array_get (list, (size_t)i));

        if (!address)
            die ("TF_CONFIG: the address of %s %d is not a string", role, i);
        for (int j = 0; j < rank_count; j++)
            if (ranks[j].address && !strcmp (ranks[j].address, address))
                die ("TF_CONFIG has %s twice, as %s %d and %s %d", address, ranks[j].role, ranks[j].index,
                     role, i);
        rank->address = address;
        address_parse (rank);
    }
}

/* SLURM_TF_<NAME> of one auxiliary name has the addresses of its tasks, in their order. */
static void addresses_check (struct rank *first)
{
    const char *variable = beside_variable (first), *expected = NULL;
    char *list = format ("%s", env_get (variable)), *rest = list;
    int count = role_count (first->role);

    for (int i = 0; i < count; i++) {
        struct rank *rank = rank_find (first->role, i);

        if (!(rank->address = strsep (&rest, ",")))
            die ("%s has %d addresses, expected %d", variable, i, count);
        address_parse (rank);
        expected = expected ? format ("%s,%s", expected, rank->address) : rank->address;
    }
    env_expect (variable, expected);
}

/* What every task learns of the auxiliary tasks. */
static void beside_check (void)
{
    char *names = NULL;

    for (int i = 0; i < rank_count; i++)
        if (is_beside (&ranks[i]) && ranks[i].index == 0) {
            names =
                names ? format ("%s,%s", names, role_name (&ranks[i])) : format ("%s", role_name (&ranks[i]));
            addresses_check (&ranks[i]);
        }
    env_expect ("SLURM_TF_BESIDE", names);
}

static void cluster_check (json_t *cluster)
{
    static const char *const order[] = { "chief", "master", "ps", "worker", NULL };
    int place = 0;
    const char *role;
    json_t *list;

    json_object_foreach (cluster, role, list) {
        int own = 0;

        while (order[own] && strcmp (order[own], role))
            own++;
        if (own < place)
            die ("TF_CONFIG has \"%s\" after \"%s\", expected chief, master, ps, worker, others", role,
                 order[place] ? order[place] : "others");
        place = own;
        role_check (role, list);
    }
    beside_check ();
    for (int i = 0; i < rank_count; i++)
        if (lists (me, &ranks[i]) && !ranks[i].address)
            die ("TF_CONFIG does not list role \"%s\", expected %d", ranks[i].role,
                 role_count (ranks[i].role));
}

/* The dictionary in its exact spelling, with or without the evaluator. */
static char *cluster_print (json_t *cluster, bool evaluator)
{
    char *text = format ("{");
    const char *role;
    json_t *list;

    json_object_foreach (cluster, role, list) {
        if (!evaluator && !strcmp (role, "evaluator"))
            continue;
        text = format ("%s%s\"%s\":[", text, text[1] ? "," : "", role);
        for (int i = 0; i < role_count (role); i++)
            text = format ("%s%s\"%s\"", text, i ? "," : "", rank_find (role, i)->address);
        text = format ("%s]", text);
    }
    return format ("%s}", text);
}

static uint64_t digest (const char *text)       /* FNV-1a */
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}

/*
 * Returns the digest of the dictionary that all ranks share. The parsed JSON is not freed: ranks
 * point into it.
 */
static char *config_check (const char *text)
{
    json_error_t err;
    json_t *config = json_loads (text, JSON_REJECT_DUPLICATES, &err), *cluster = NULL;
    const char *role = NULL;
    char *expected;
    size_t same = 0;
    int index = -1;

    if (!config
        || json_unpack_ex (config, &err, 0, "{s:o, s:{s:s, s:i !} !}", "cluster", &cluster, "task", "type",
                           &role, "index", &index))
        die ("TF_CONFIG: %s, found %.200s", err.text, text);
    if (!json_is_object (cluster))
        die ("TF_CONFIG: \"cluster\" is not an object, found %.200s", text);
    if (strcmp (role, role_name (me)) || index != me->index)
        die ("TF_CONFIG says %s %d, expected %s %d", role, index, role_name (me), me->index);
    cluster_check (cluster);
    expected = format ("{\"cluster\":%s,\"task\":{\"type\":\"%s\",\"index\":%d}}",
                       cluster_print (cluster, true), role_name (me), me->index);
    while (text[same] && text[same] == expected[same])
        same++;
    if (strcmp (text, expected))
        die ("TF_CONFIG goes on from byte %zu with \"%.40s\", expected \"%.40s\"", same, text + same,
             expected + same);
    return format ("%016" PRIx64, digest (cluster_print (cluster, false)));
}

/* ---- our own address and port ---- */

static void address_check (void)
{
    const char *interface = env_get ("SLURM_TF_INTERFACE");
    char host[NI_MAXHOST];
    bool named = false;
    unsigned int flags = 0;
    struct ifaddrs *all;

    if (getifaddrs (&all))
        die ("getifaddrs: %s", strerror (errno));
    for (struct ifaddrs *one = all; one; one = one->ifa_next)
        if (one->ifa_addr && one->ifa_addr->sa_family == me->sockaddr.ss_family
            && !getnameinfo (one->ifa_addr, sizeof (me->sockaddr), host, sizeof (host), NULL, 0,
                             NI_NUMERICHOST)
            && !strcmp (host, me->host)) {
            flags |= one->ifa_flags;
            named = named || !strcmp (one->ifa_name, interface);
        }
    freeifaddrs (all);
    if (!strncmp (me->host, "169.254.", 8) || !strncmp (me->host, "fe80:", 5))
        die ("%s is link-local, expected an address that other nodes reach", me->address);
    if (!flags)
        die ("%s is not an address of this node", me->address);
    if (!named)
        die ("SLURM_TF_INTERFACE is \"%s\", which does not have %s", interface, me->host);
    if (!(flags & IFF_UP) || !(flags & IFF_RUNNING))
        die ("%s is on an interface that is down, expected one with carrier", me->address);
    if (flags & IFF_LOOPBACK && !loopback_ok)
        die ("%s is loopback, expected an address that other nodes reach", me->address);
}

static bool has_ipv6 (void)
{
    int fd = socket (AF_INET6, SOCK_STREAM, 0);

    return fd >= 0 && !close (fd);
}

/* Bind our port on every address of a family; `v6only` as IPV6_V6ONLY. Returns -1 and errno. */
static int port_bind (int family, int v6only, int option)
{
    struct addrinfo hint = { .ai_family = family,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV },
                    *any = NULL;
    int fd = socket (family, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1, err;

    if (fd < 0 || getaddrinfo (NULL, me->port, &hint, &any))
        die ("cannot make a socket for port %s: %s", me->port, strerror (errno));
    if (family == AF_INET6)
        setsockopt (fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof (v6only));
    if (option)
        setsockopt (fd, SOL_SOCKET, option, &yes, sizeof (yes));
    err = bind (fd, any->ai_addr, any->ai_addrlen) ? errno : 0;
    freeaddrinfo (any);
    if (!err)
        return fd;
    close (fd);
    errno = err;
    return -1;
}

/* A bind must fail, unless it sets SO_REUSEADDR, as servers do. */
static void port_check_held (int family, int option)
{
    int fd = port_bind (family, 1, option), err = fd < 0 ? errno : 0;

    if (fd >= 0)
        close (fd);
    if (option == SO_REUSEADDR && err)
        die ("port %s is not held for a server: a bind with SO_REUSEADDR says \"%s\"", me->port,
             strerror (err));
    if (option != SO_REUSEADDR && err != EADDRINUSE)
        die ("port %s is not held: a%s %s bind says \"%s\", expected \"%s\"", me->port,
             option ? " shared" : "n exclusive", family == AF_INET ? "IPv4" : "IPv6", strerror (err),
             strerror (EADDRINUSE));
}

static void port_check_not_listening (void)
{
    int fd = socket (me->sockaddr.ss_family, SOCK_STREAM, 0);
    int err = connect (fd, (struct sockaddr *)&me->sockaddr, sizeof (me->sockaddr)) ? errno : 0;

    if (err != ECONNREFUSED)
        die ("connecting to %s before it listens says \"%s\", expected \"%s\"", me->address, strerror (err),
             strerror (ECONNREFUSED));
    close (fd);
}

/* Process 0 of several holds a second port for PyTorch, unless the ports are a range's. */
static const char *second_port (void)
{
    const char *rank = getenv ("RANK"), *port = getenv ("MASTER_PORT");

    return rank && port && !strcmp (rank, "0") && strcmp (port, me->port) ? port : NULL;
}

/* Is this the socket that holds our port, or the second one? */
static bool socket_is_ours (int fd)
{
    struct sockaddr_storage at = { 0 };
    socklen_t len = sizeof (at);
    char port[NI_MAXSERV];

    return !getsockname (fd, (struct sockaddr *)&at, &len)
           && !getnameinfo ((struct sockaddr *)&at, len, NULL, 0, port, sizeof (port), NI_NUMERICSERV)
           && (!strcmp (port, me->port) || (second_port () && !strcmp (port, second_port ())));
}

/* Slurm leaves PMI's socket open, and stdio may be anything. Call this before opening a socket. */
static void descriptors_check (void)
{
    const char *pmi = getenv ("PMI_FD");
    DIR *dir = opendir ("/proc/self/fd");
    int found = 0, expected;

    if (!dir)
        die ("/proc/self/fd: %s", strerror (errno));
    for (struct dirent *entry; (entry = readdir (dir));) {
        int fd = atoi (entry->d_name);
        struct stat st;

        if (fd <= 2 || (pmi && fd == atoi (pmi)) || fstat (fd, &st) || !S_ISSOCK (st.st_mode))
            continue;
        if (!socket_is_ours (fd))
            die ("descriptor %d is an open socket, expected none but the holder of port %s", fd, me->port);
        if (fd < HELD_DESCRIPTOR)
            die ("the holder of port %s has descriptor %d, expected %d or more", me->port, fd,
                 HELD_DESCRIPTOR);
        found++;
    }
    closedir (dir);
    expected = hold_port + (second_port () != NULL);
    if (found != expected)
        die ("%d descriptors hold port %s, and the second one, expected %d", found, me->port, expected);
}

static double now (void)
{
    struct timespec time;

    clock_gettime (CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main (int argc, char *argv[])
{
    static const struct option options[] = {
        { "roles", required_argument, NULL, 'r' },
        { "timeout", required_argument, NULL, 't' },
        { "linger", required_argument, NULL, 's' },
        { "not-held", no_argument, NULL, 'n' },
        { "loopback-ok", no_argument, NULL, 'l' },
        { "times", no_argument, NULL, 'T' },
        { NULL, 0, NULL, 0 },
    };
    int timeout = 30, linger = 0, listener;
    const char *job, *step, *dictionary;
    double begin = now ();
    bool times = false;

    /* A ps is stopped when the workers have ended, but must still print its result. */
    signal (SIGTERM, SIG_IGN);
    for (int opt; (opt = getopt_long (argc, argv, "", options, NULL)) >= 0;)
        switch (opt) {
            case 'r': roles_parse (optarg); break;
            case 't': timeout = number_parse ("--timeout", optarg, 86400); break;
            case 's': linger = number_parse ("--linger", optarg, 86400); break;
            case 'n': hold_port = false; break;
            case 'l': loopback_ok = true; break;
            case 'T': times = true; break;
            default: rank_count = 0; optind = argc + 1;
        }
    if (optind != argc || !rank_count)
        die ("usage: task-check --roles=ROLE,ROLE,... [--timeout=SECONDS] [--linger=SECONDS]"
             " [--not-held] [--loopback-ok] [--times]");

    node = env_get ("SLURMD_NODENAME");
    env_get ("SLURM_PROCID");
    me = &ranks[number_parse ("SLURM_PROCID", variable_of_slurm ("SLURM_PROCID"), rank_count - 1)];
    job = env_get ("SLURM_JOB_ID");
    step = env_get ("SLURM_STEP_ID");
    for (int i = 0; i < rank_count; i++)
        ranks[i].identity =
            format ("rank %d %s %d of step %s.%s,", i, ranks[i].role, ranks[i].index, job, step);
    env_check_leaks ();
    numbers_check ();
    frameworks_check ();
    dictionary = config_check (env_get ("TF_CONFIG"));
    coordinator_check ();
    env_expect ("SLURM_TF_ROLE", role_name (me));
    env_expect ("SLURM_TF_INDEX", format ("%d", me->index));
    env_expect ("SLURM_TF_ADDRESS", me->host);
    env_expect ("SLURM_TF_PORT", me->port);
    env_expect ("TF_GRPC_REUSE_PORT", NULL);

    descriptors_check ();
    address_check ();
    for (int i = 0; hold_port && i < 3 * (1 + has_ipv6 ()); i++)
        port_check_held (i < 3 ? AF_INET : AF_INET6, (int[]){ 0, SO_REUSEADDR, SO_REUSEPORT }[i % 3]);
    port_check_not_listening ();
    listener = port_bind (has_ipv6 () ? AF_INET6 : AF_INET, 0, hold_port ? SO_REUSEADDR : 0);
    if (listener < 0 || listen (listener, SOMAXCONN))
        die ("cannot listen on port %s%s: %s", me->port,
             hold_port ? " although it is held for that" : ", which should not be held", strerror (errno));

    peers_check (listener, dictionary, node, timeout);
    if (!times)
        report (1, format ("%s ok digest=%s", me->address, dictionary));
    peers_serve (linger);
    if (times)
        report (1, format ("%s ok digest=%s step=%s.%s ran=%.6f-%.6f", me->address, dictionary, job, step,
                           begin, now ()));
    return 0;
}
