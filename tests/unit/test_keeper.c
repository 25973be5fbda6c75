/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A keeper says why it begins no rendezvous again: a process takes the place of tf-rendezvous, and dies.
 */
#include "config.h"

#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rendezvous/keeper.h"

enum death { IN_THE_LAUNCH, BY_ITSELF, KILLED, KILLED_WITH_A_FULL_JOURNAL };

static void add (struct journal *journal, enum journal_kind kind, const char *key, const char *value)
{
    struct frame *frame = frame_create ();

    frame_add (frame, key, "%s", value);
    journal_add (journal, &(struct journal_entry){ .kind = kind }, frame);
    frame_destroy (frame);
}

static void fill (struct journal *journal)
{
    static char text[60000];

    memset (text, 'x', sizeof (text) - 1);
    for (int i = 0; i < 1200; i++)
        add (journal, JOURNAL_STATUS, "LAST_LINE", text);
}

/* Each rendezvous writes one letter. */
static void live_and_die (enum death death, int out)
{
    struct journal *journal = journal_create ();

    dup2 (out, STDERR_FILENO);
    if (keeper_start (journal) == 0) {
        add (journal, JOURNAL_CONFIG, "STEP", "12.0");
        if (death != IN_THE_LAUNCH)
            journal_set_use (journal, JOURNAL_USEFUL);
    }
    (void)!write (STDERR_FILENO, "r", 1);
    if (death == KILLED_WITH_A_FULL_JOURNAL)
        fill (journal);
    if (death == BY_ITSELF)
        keeper_end (journal);
    else
        kill (getpid (), SIGKILL);
    _exit (0);
}

#define LINE "srun: error: spank_tf: step 12.0: tf-rendezvous was killed and cannot be restarted: "

TEST (a_keeper_says_why_it_begins_no_rendezvous_again)
{
    static const struct {
        enum death death;
        const char *printed;
    /* clang-format off */
    } row[] = {
        { IN_THE_LAUNCH, "r" },
        { BY_ITSELF, "r" },
        { KILLED, "rrr" LINE "it was the third time within a minute\n" },
        { KILLED_WITH_A_FULL_JOURNAL, "r" LINE "its state needs more than 64 MiB\n" },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        char text[512] = "";
        size_t length = 0;
        int pair[2];
        ssize_t n;
        pid_t pid;

        assert_int_equal (pipe (pair), 0);
        if ((pid = fork ()) == 0)
            live_and_die (row[i].death, pair[1]);
        close (pair[1]);
        while (length < sizeof (text) - 1
               && (n = read (pair[0], text + length, sizeof (text) - 1 - length)) > 0)
            length += (size_t)n;
        close (pair[0]);
        assert_int_equal (waitpid (pid, NULL, 0), pid);
        assert_string_equal (text, row[i].printed);
    }
}
