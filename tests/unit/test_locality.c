/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Some tests run a helper that is a few lines of shell. Others run the real helper, tf-addresses,
 * for machines that tests/topology describes: as XML for hwloc, or as a copy of a machine's sysfs.
 * The cards of the machine that runs the tests are hidden, except where kernel_shows is set.
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "addresses/cpus.h"
#include "common/deadline.h"
#include "addresses/locality.h"
#include "netns.h"

/* Tests shorten the helper's timeout to this. A helper that is killed may take its time to end. */
static int64_t timeout_ms = LOCALITY_TIMEOUT_MS;

struct deadline __real_deadline_in_ms (int64_t ms);
struct deadline __wrap_deadline_in_ms (int64_t ms);

struct deadline __wrap_deadline_in_ms (int64_t ms)
{
    assert_between (ms, 1, 60000);
    return __real_deadline_in_ms (ms == LOCALITY_TIMEOUT_MS ? timeout_ms : 20 * ms);
}

/* If false, the locality that the kernel shows below /sys cannot be read. */
static bool kernel_shows;

int __real_cpus_read (struct cpus *cpus, const char *path);
int __wrap_cpus_read (struct cpus *cpus, const char *path);

int __wrap_cpus_read (struct cpus *cpus, const char *path)
{
    return kernel_shows ? __real_cpus_read (cpus, path) : -1;
}

/* Parse interfaces: "ib0 infiniband up 10.1.0.5/16" and so on, separated by newlines. */
static int list_of (struct interface list[INTERFACE_MAX], const char *text)
{
    int count = 0;

    for (; *text; text += strspn (text, "\n")) {
        char line[128];

        snprintf (line, sizeof (line), "%.*s", (int)strcspn (text, "\n"), text);
        if (interface_parse (&list[count++], line) < 0)
            fail_msg ("%s was not accepted as an interface", line);
        text += strlen (line);
    }
    return count;
}

#define TWO_RAILS \
    "ib0 infiniband up 10.1.0.5/16\n" \
    "ib0 infiniband up fd00::5/64\n" \
    "ib1 infiniband up 10.2.0.5/16\n" \
    "ib2 infiniband down 10.3.0.5/16\n" \
    "ib3 infiniband no-carrier 10.3.0.5/16\n" \
    "ib4 infiniband up -\n" \
    "eth0 other up 10.4.0.5/16"

TEST (locality_matters_if_two_infiniband_interfaces_can_be_used)
{
    static const struct {
        const char *list;
        bool matters;
    } row[] = {
        { "", false },
        { "eth0 other up 10.1.0.5/16\neth1 other up 10.2.0.5/16", false },
        { "ib0 infiniband up 10.1.0.5/16", false },
        { "ib0 infiniband up 10.1.0.5/16\neth0 other up 10.2.0.5/16", false },
        { "ib0 infiniband up 10.1.0.5/16\nib0 infiniband up 10.2.0.5/16", false },
        { "ib0 infiniband up 10.1.0.5/16\nib1 infiniband down 10.2.0.5/16", false },
        { "ib0 infiniband up 10.1.0.5/16\nib1 infiniband no-carrier 10.2.0.5/16", false },
        { "ib0 infiniband up 10.1.0.5/16\nib1 infiniband up -", false },
        { "ib0 infiniband up 10.1.0.5/16\nib1 infiniband up 10.2.0.5/16", true },
        { "ib0 infiniband up 10.1.0.5/16\nib1 infiniband up fd00::5/64", true },
        { "ib0 infiniband down 10.1.0.5/16\nib0 infiniband up 10.1.0.6/16\n"
          "ib1 infiniband up 10.2.0.5/16",
          true },
        { TWO_RAILS, true },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct interface list[INTERFACE_MAX];
        int count = list_of (list, row[i].list);

        if (locality_matters (list, count) != row[i].matters)
            fail_msg ("%s", row[i].list);
    }
}

/* Running a helper. */

static const char *folder;
static char helper[96];

/* Replace the helper by this script. */
static void write_helper (const char *script)
{
    FILE *f = fopen (helper, "w");

    assert_non_null (f);
    fprintf (f, "#!/bin/sh\n%s\n", script);
    fclose (f);
    assert_int_equal (chmod (helper, 0755), 0);
}

static int make_folder (void **unused __attribute__ ((unused)))
{
    folder = new_directory ();
    snprintf (helper, sizeof (helper), "%s/helper", folder);
    return 0;
}

ALL_TESTS (make_folder, NULL)

/*
 * Ask for the local CPUs of these interfaces: "0xff 0xff 0xff00 - - ", or the error. Also check
 * that no process and no descriptor is left.
 */
static const char *ask (const char *interfaces, const char *program, char *const env[])
{
    static char text[INTERFACE_MAX * 1100];
    struct interface list[INTERFACE_MAX];
    int count = list_of (list, interfaces), next = next_descriptor (), rc;
    struct errtext err = { "" };
    char *room = NULL;

    text[0] = '\0';
    rc = locality_ask (list, count, program, env, &room, &err);
    for (int i = 0; i < count; i++)
        if (list[i].local_cpus)
            assert_int_equal (rc, 0);
    for (int i = 0; i < count && rc == 0; i++)
        strcat (strcat (text, list[i].local_cpus ? list[i].local_cpus : "-"), " ");
    free (room);
    assert_int_equal (next_descriptor (), next);
    assert_int_equal (waitpid (-1, NULL, 0), -1);
    assert_int_equal (errno, ECHILD);
    return rc == 0 ? text : strcpy (text, err.text);
}

static void check (const char *script, const char *answer)
{
    char failed[sizeof (helper) + 8];

    write_helper (script);
    snprintf (failed, sizeof (failed), "%s failed", helper);
    if (strcmp (ask (TWO_RAILS, helper, NULL), answer ? answer : failed) != 0)
        fail_msg ("%s: %s", script, ask (TWO_RAILS, helper, NULL));
}

TEST (the_helpers_lines_set_local_cpus)
{
    static const struct {
        const char *script, *near;
    } row[] = {
        { "echo ib0 0xff; echo ib1 0xff00", "0xff 0xff 0xff00 - - - - " },
        { "echo ib1 0xff00; echo ib0 0xff", "0xff 0xff 0xff00 - - - - " },
        { "printf 'ib0 0x1\\nib1 0x2'", "0x1 0x1 0x2 - - - - " },
        { "echo ib1 0x00000000000000000001", "- - 0x00000000000000000001 - - - - " },
        { "echo ib0 0x1; sleep 0.1; echo ib1 0x2", "0x1 0x1 0x2 - - - - " },
        { "[ \"$*\" = 'ib0 ib1' ] && echo ib0 0x3", "0x3 0x3 - - - - - " },
        { "echo ib0 0x1; echo oops >&2", "0x1 0x1 - - - - - " },
        { ":", "- - - - - - - " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (row[i].script, row[i].near);
}

TEST (malformed_lines_and_other_interfaces_are_ignored)
{
    static const struct {
        const char *script, *near;
    } row[] = {
        { "echo; echo ib0; echo 'ib0 '; echo 0xff; echo ' 0xff'; echo ib1 0x2", "- - 0x2 - - - - " },
        { "echo ib0 ff; echo ib0 0x; echo ib0 0xfg; echo ib0 0xf...f; echo ib0 '0xff '; "
          "echo ib0 ' 0xff'; echo 'ib0 0xff,0xff'; printf 'ib0 0xff\\r\\n'",
          "- - - - - - - " },
        { "printf 'ib0\\t0xff\\n\\033[2J 0xff\\n\\377\\n'; echo ib1 0x2", "- - 0x2 - - - - " },
        { "echo ib 0x1; echo ib00 0x1; echo IB0 0x1; echo lo 0x1", "- - - - - - - " },
        { "echo eth0 0x1; echo ib2 0x2; echo ib3 0x4; echo ib4 0x8", "- - - - - - - " },
        { "printf 'ib0 0x%01025d\\n' 1; echo ib1 0x2", "- - 0x2 - - - - " },
        { "printf '%60000s\\n' x; echo ib1 0x2", "- - 0x2 - - - - " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (row[i].script, row[i].near);
}

TEST (the_output_of_a_helper_that_fails_is_not_used)
{
    static const char *const row[] = {
        "echo ib0 0xff; exit 3",           "echo ib0 0xff; kill -KILL $$",
        "printf 'ib0 0xff\\n\\0'",         "printf '\\0ib0 0xff\\n'",
        "printf '%70000s\\n' x",           "trap '' PIPE; printf '%70000s\\n' x; exit 0",
        "while echo ib0 0xff; do :; done", "exec no-such-program-at-all",
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (row[i], NULL);
}

TEST (a_helper_that_hangs_is_killed)
{
    timeout_ms = 200;
    alarm (60);
    check ("exec sleep 1000", NULL);
    check ("echo ib0 0xff; trap '' TERM; exec sleep 1000", NULL);
    check ("echo ib0 0xff; exec sleep 1000 >&-", NULL);
    alarm (0);
    timeout_ms = LOCALITY_TIMEOUT_MS;
}

TEST (a_helper_that_cannot_be_executed_is_named)
{
    char missing[96], message[128];

    snprintf (missing, sizeof (missing), "%s/missing", folder);
    snprintf (message, sizeof (message), "%s: No such file or directory", missing);
    assert_string_equal (ask (TWO_RAILS, missing, NULL), message);
    write_helper ("echo ib0 0xff");
    assert_int_equal (chmod (helper, 0644), 0);
    snprintf (message, sizeof (message), "%s: Permission denied", helper);
    assert_string_equal (ask (TWO_RAILS, helper, NULL), message);
}

TEST (only_hwlocs_variables_are_passed_to_the_helper)
{
    /* clang-format off */
    char *env[] = {
        (char[]){ "PATH=/nowhere" }, (char[]){ "HWLOC_XMLFILE=a b.xml" },
        (char[]){ "SLURM_TF_RENDEZVOUS=secret" }, (char[]){ "LD_PRELOAD=x" },
        (char[]){ "XHWLOC_A=1" }, (char[]){ "HWLOC=1" }, (char[]){ "HWLOC_=" }, (char[]){ "" }, NULL
    };
    /* clang-format on */

    write_helper ("[ \"$(tr '\\0' ';' < /proc/$$/environ)\" = 'HWLOC_XMLFILE=a b.xml;HWLOC_=;' ]"
                  " && echo ib0 0x1");
    assert_string_equal (ask (TWO_RAILS, helper, env), "0x1 0x1 - - - - - ");
    write_helper ("[ \"$(tr '\\0' ';' < /proc/$$/environ)\" = '' ] && echo ib0 0x1");
    assert_string_equal (ask (TWO_RAILS, helper, NULL), "0x1 0x1 - - - - - ");
}

TEST (local_cpus_that_exceed_a_registration_are_dropped)
{
    struct interface list[INTERFACE_MAX];
    int count = list_of (list, TWO_RAILS);
    char *room;

    write_helper ("for ib do printf \"$ib 0x%01024d\\n\" 1; done");
    assert_int_equal (locality_ask (list, count, helper, NULL, &room, NULL), 0);
    assert_int_equal (strlen (list[0].local_cpus), 1026);
    assert_int_equal (strlen (list[1].local_cpus), 1026);
    assert_null (list[2].local_cpus);
    free (room);
}

/* tf-addresses. */

/* Ask tf-addresses about these interfaces of this machine, an XML file. */
static const char *ask_on (const char *machine, const char *interfaces)
{
    char variable[512], *env[] = { variable, NULL };

    snprintf (variable, sizeof (variable), "HWLOC_XMLFILE=%s", machine);
    return ask (interfaces, TF_ADDRESSES, env);
}

TEST (the_local_cpus_of_an_interface_are_its_cards)
{
    assert_string_equal (ask_on (TOPOLOGY "/dual-rail.xml", TWO_RAILS), "0xff 0xff 0xff00 - - - - ");
    /* More than 64 CPUs, numbered alternately, of which the job may use half. */
    assert_string_equal (ask_on (TOPOLOGY "/interleaved.xml", TWO_RAILS),
                         "0xaaaaaaaaaaaaaaaaaa 0xaaaaaaaaaaaaaaaaaa 0x555555555555555555 - - - - ");
}

TEST (ports_of_a_card_are_equal_and_a_card_without_locality_has_all_cpus)
{
    assert_string_equal (ask_on (TOPOLOGY "/interleaved.xml",
                                 "ib1 infiniband up 10.1.0.5/16\n"
                                 "ib2 infiniband up 10.2.0.5/16\nib3 infiniband up 10.3.0.5/16\n"
                                 "ib4 infiniband up 10.4.0.5/16"),
                         "0x555555555555555555 0x555555555555555555 0xffffffffffffffffff - ");
}

/* hwloc reads a copy of sysfs, not XML. */
TEST (hwloc_reads_the_locality_of_cards_from_sysfs)
{
    char command[512], variable[64], *env[] = { variable, NULL };

    snprintf (command, sizeof (command), TOPOLOGY "/sysfs %s/root", folder);
    assert_int_equal (system (command), 0);
    snprintf (variable, sizeof (variable), "HWLOC_FSROOT=%s/root", folder);
    assert_string_equal (ask ("ib0 infiniband up 10.1.0.5/16\nib0.8001 infiniband up 10.2.0.5/16\n"
                              "ib1 infiniband up 10.3.0.5/16\nib2 infiniband up 10.4.0.5/16\n"
                              "ib3 infiniband up 10.5.0.5/16",
                              TF_ADDRESSES, env),
                         "0xff 0xff 0xff00 0xf000 0xffff ");
}

/*
 * The local CPUs of two InfiniBand interfaces by /sys. If the kernel does not show them, the helper
 * is run, which prints 0x1 for each.
 */
static const char *ask_kernel (const char *first, const char *second, char *const env[])
{
    char interfaces[128];
    const char *answer;

    write_helper ("for interface; do echo $interface 0x1; done");
    snprintf (interfaces, sizeof (interfaces),
              "%s infiniband up 10.1.0.5/16\n"
              "%s infiniband up 10.2.0.5/16\neth0 other up 10.4.0.5/16",
              first, second);
    kernel_shows = true;
    answer = ask (interfaces, helper, env);
    kernel_shows = false;
    return answer;
}

/* Mount a sysfs that shows the devices of this network namespace. */
static void mount_sysfs (void)
{
    if (unshare (CLONE_NEWNS) < 0 || mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0
        || mount ("sysfs", "/sys", "sysfs", 0, NULL) < 0)
        SKIP ("/sys cannot be mounted here");
}

TEST (a_virtual_interface_has_the_local_cpus_of_its_ports)
{
    /* clang-format off */
    static const char *const steps[] = {
        "link add br0 type bridge", "link set ib0 master br0", "link set ib1 master br0",
        "link add link br0 mv0 type macvlan", "link add br1 type bridge",
        "link set mv0 master br1", "link add link br1 mv1 type macvlan",
        "link add br2 type bridge", "link set mv1 master br2",
        "link add link eth0 mv2 type macvlan",
    };
    /* clang-format on */
    int device[3];

    netns_enter ();
    mount_sysfs ();
    device[0] = netns_device ("ib0", false);
    device[1] = netns_device ("ib1", false);
    device[2] = netns_device ("eth0", false);
    for (size_t i = 0; i < COUNT (steps); i++)
        if (!netns_ip ("%s", steps[i]))
            SKIP ("this kernel has no bridges or no macvlan");
    /* Interfaces up to four levels above the ports are resolved; the fifth level is not. */
    assert_string_equal (ask_on (TOPOLOGY "/dual-rail.xml",
                                 "br0 infiniband up 10.1.0.5/16\n"
                                 "mv0 infiniband up 10.2.0.5/16\nbr1 infiniband up 10.3.0.5/16\n"
                                 "mv1 infiniband up 10.4.0.5/16\nbr2 infiniband up 10.5.0.5/16\n"
                                 "mv2 infiniband up 10.6.0.5/16\nib1 infiniband up 10.7.0.5/16\n"
                                 "lo infiniband up 10.8.0.5/16"),
                         "0xffff 0xffff 0xffff 0xffff - 0xff 0xff00 - ");
    for (int i = 0; i < 3; i++)
        close (device[i]);
}

TEST (the_helper_is_not_run_if_the_kernel_shows_all_local_cpus)
{
    char command[512], tree[64], described[] = "HWLOC_COMPONENTS=-x86", other[] = "HOME=/";
    char *const hwloc[] = { other, described, NULL }, *const none[] = { other, NULL };

    if (unshare (CLONE_NEWNS) < 0 || mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0)
        SKIP ("only root may mount");
    snprintf (command, sizeof (command), TOPOLOGY "/sysfs %s/kernel", folder);
    assert_int_equal (system (command), 0);
    snprintf (tree, sizeof (tree), "%s/kernel/sys", folder);
    assert_int_equal (mount (tree, "/sys", "none", MS_BIND, NULL), 0);

    assert_string_equal (ask_kernel ("ib0", "ib1", none), "0xff 0xff00 - ");
    assert_string_equal (ask_kernel ("ib2", "ib0.8001", NULL), "0xf000 0xff - ");
    /* A bond, and a card without local CPUs. */
    assert_string_equal (ask_kernel ("ib0", "bond0", none), "0x1 0x1 - ");
    assert_string_equal (ask_kernel ("ib4", "ib0", none), "0x1 0x1 - ");
    assert_string_equal (ask_kernel ("ib0", "ib1", hwloc), "0x1 0x1 - ");
}
