/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * step.golden has what a dictionary is; here is how long it may be.
 */
#include "config.h"

#include "unit.h"

#include <unistd.h>

#include "common/tf_config.h"
#include "job/model.h"
#include "rendezvous/dictionary.h"

/* Places at 10.0.0.1 share these ranks: that with the longest port is the first one. */
static struct rank ranks[] = {
    { .port = 40000 }, { .port = 4000 }, { .port = 400 }, { .port = 40 }, { .port = 4 }
};

static int begin (void **unused __attribute__ ((unused)))
{
    for (size_t i = 0; i < COUNT (ranks); i++)
        assert_int_equal (address_parse (&ranks[i].address, "10.0.0.1"), 0);
    return 0;
}

EACH_TEST (begin, NULL)

/* Its port has five digits, or fewer by `cut`. */
static struct place at (const char *role, int index, size_t cut)
{
    return (struct place){ .role = role, .index = index, .rank = &ranks[cut] };
}

/* The whole TF_CONFIG of this task. The caller frees it. */
static char *config (const struct dictionary *dictionary, const char *role, int index)
{
    struct dictionary_tail tail;
    const struct dictionary_text *cluster = dictionary_cluster (dictionary, role);
    char *text;

    assert_int_equal (strlen (cluster->text), cluster->length);
    assert_true (asprintf (&text, TF_CONFIG_HEAD "%s%s", cluster->text, dictionary_tail (role, index, &tail))
                 > 0);
    return text;
}

static struct dictionary make (const struct place *places, size_t count)
{
    struct dictionary dictionary;
    struct errtext err = { "" };

    if (dictionary_make (&dictionary, places, count, &err) < 0)
        fail_msg ("%s", err.text);
    return dictionary;
}

TEST (the_longest_tail_fits_its_buffer)
{
    static const char role[] = "r23456789_r23456789_r23456789_r23456789_r23456789_r23456789_r23";
    struct dictionary_tail room;

    dictionary_tail (role, 1048575, &room);
    assert_non_null (strstr (room.text, "\"index\":1048575}}"));
}

/*
 * Create workers such that the longest TF_CONFIG, the last worker's, has exactly `length` bytes:
 * one worker too many, with ports shortened until the length is right. The caller frees the array.
 */
static struct place *workers (size_t length, size_t *count)
{
    struct place *places = calloc (10000, sizeof (*places));
    size_t total = strlen ("{\"cluster\":{\"worker\":[]},\"task\":{\"type\":\"worker\",\"index\":"
                           "1000}}")
                   - strlen (",");

    assert_non_null (places);
    for (*count = 0; total < length; (*count)++) {
        places[*count] = at ("worker", (int)*count, 0);
        total += strlen (",\"10.0.0.1:40000\"");
    }
    assert_between (*count, 1001, 9999);       /* the last index has four digits */
    for (size_t i = 0; total > length; i++) {
        size_t cut = total - length < 4 ? total - length : 4;

        places[i].rank = &ranks[cut];
        total -= cut;
    }
    return places;
}

TEST (the_longest_tf_config_is_accepted)
{
    size_t count;
    struct place *places = workers (TF_CONFIG_MAX_TEXT, &count);
    struct dictionary dictionary = make (places, count);
    char *text = config (&dictionary, "worker", places[count - 1].index);

    assert_int_equal (strlen (text), TF_CONFIG_MAX_TEXT);
    free (text);
    dictionary_clear (&dictionary);
    free (places);
}

/* An answer has room for TF_CONFIG_MAX_TEXT bytes of addresses, wherever they are. */
TEST (the_addresses_beside_the_cluster_count_too)
{
    static const char variables[] = "SLURM_TF_BESIDE=x SLURM_TF_X=10.0.0.1:40000 ";
    size_t count;
    struct place *places = workers (TF_CONFIG_MAX_TEXT - strlen (variables), &count);
    struct dictionary dictionary;
    struct errtext err;

    places[count++] = at ("+x", 0, 0);
    dictionary = make (places, count);
    dictionary_clear (&dictionary);
    places[count++] = at ("+x", 1, 4);
    assert_int_equal (dictionary_make (&dictionary, places, count, &err), -1);
    assert_string_equal (err.text, "TF_CONFIG and the addresses of the auxiliary tasks would "
                                   "have 131071 bytes; at most 131060 are possible");
    free (places);
}

TEST (a_longer_tf_config_is_refused_with_its_length_and_the_limit)
{
    size_t count;
    struct place *places = workers (TF_CONFIG_MAX_TEXT + 1, &count);
    struct dictionary dictionary;
    struct errtext err;
    char message[128];

    snprintf (message, sizeof (message),
              "the TF_CONFIG of %zu tasks would have 131061 bytes; "
              "Linux allows at most 131060",
              count);
    assert_int_equal (dictionary_make (&dictionary, places, count, &err), -1);
    assert_null (dictionary.cluster.text);
    assert_string_equal (err.text, message);
    free (places);
}

TEST (the_evaluators_longer_tf_config_must_fit)
{
    size_t count;
    struct place *places = workers (TF_CONFIG_MAX_TEXT, &count);
    struct dictionary dictionary;
    struct errtext err;

    places[count] = at ("evaluator", 0, 4);
    assert_int_equal (dictionary_make (&dictionary, places, count + 1, &err), -1);
    assert_null (dictionary.cluster.text);
    free (places);
}

/* True if Linux executes a program with this TF_CONFIG. */
static bool can_run_with (const char *text)
{
    pid_t pid = fork ();

    if (pid == 0) {
        setenv ("TF_CONFIG", text, 1);
        execlp ("true", "true", NULL);
        _exit (1);
    }
    return end_of (pid) == 0;
}

TEST (linux_accepts_the_longest_tf_config_but_not_two_bytes_more)
{
    char *text = malloc (TF_CONFIG_MAX_TEXT + 3);

    memset (text, 'x', TF_CONFIG_MAX_TEXT + 3);
    text[TF_CONFIG_MAX_TEXT] = '\0';
    assert_true (can_run_with (text));
    /* Slurm's own limit is one byte lower. */
    text[TF_CONFIG_MAX_TEXT] = 'x';
    text[TF_CONFIG_MAX_TEXT + 2] = '\0';
    assert_false (can_run_with (text));
    free (text);
}
