/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "common/option_table.h"
#include "common/value.h"

#define MAX_TEXT 512

/* Call the function for each option that has a list of words and no other values. */
static void for_each_choice (void (*check) (const struct option_definition *d, enum option_id option))
{
    int choices = 0;

    for (int i = 0; i < OPTION_COUNT; i++)
        if (!option_table[i].check) {
            check (&option_table[i], (enum option_id)i);
            choices++;
        }
    assert_true (choices > 0);
}

/* Rows. */

TEST (each_row_is_complete)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_definition *d = &option_table[i];

        assert_true (d->name || d->site);
        assert_true (d->usage && strlen (d->usage) >= 10);
        assert_true (d->check || d->words);
        assert_true (d->arginfo || (d->words && !d->check));
        for (int j = 0; j < i; j++) {
            const struct option_definition *other = &option_table[j];

            assert_true (!d->name || !other->name || strcmp (d->name, other->name) != 0);
            assert_true (!d->site || !other->site || strcmp (d->site, other->site) != 0);
        }
    }
}

/* So a user can switch off what the job or the site has switched on. */
TEST (each_default_is_a_valid_value)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_definition *d = &option_table[i];

        if (d->name && d->site)
            assert_non_null (d->normal);
        if (d->normal)
            assert_int_equal (option_check ((enum option_id)i, d->normal, NULL), 0);
        if (d->implied)
            assert_int_equal (option_check ((enum option_id)i, d->implied, NULL), 0);
        if (d->name && d->alone)
            assert_int_equal (option_check ((enum option_id)i, d->alone, NULL), 0);
    }
}

/* Values. */

static void check_words (const struct option_definition *d, enum option_id option)
{
    int choices = 0;

    for (const struct choice *c = d->words; c->word; c++, choices++) {
        assert_int_equal (option_check (option, c->word, NULL), 0);
        assert_int_equal (choice_parse (d->words, c->word, NULL), c->meaning);
        assert_string_equal (choice_word (d->words, c->meaning), c->word);
    }
    assert_true (choices >= 2);
}

TEST (each_word_of_a_list_is_valid_and_has_a_meaning_of_its_own)
{
    for_each_choice (check_words);
}

/* With this message, unless it is NULL. */
static void refused (enum option_id option, const char *value, const char *message)
{
    struct errtext err = { "" };

    assert_int_equal (option_check (option, value, &err), -1);
    if (message)
        assert_string_equal (err.text, message);
    assert_int_equal (option_check (option, value, NULL), -1);
}

/*
 * Refused with all words; the message quotes the value so. It suggests `meant`, if that is not NULL, and
 * otherwise one of the words, or none.
 */
static void refused_as_none (enum option_id option, const char *value, const char *quoted, const char *meant)
{
    const struct choice *words = option_table[option].words;
    struct choice_words room;
    char message[MAX_TEXT];
    struct errtext err = { "" };
    size_t length;

    if (words[2].word)
        snprintf (message, sizeof (message), "\"%s\" is not one of %s", quoted,
                  choice_join (words, ", ", ", ", &room));
    else
        snprintf (message, sizeof (message), "\"%s\" is neither %s nor %s", quoted, words[0].word,
                  words[1].word);
    length = strlen (message);
    option_check (option, value, &err);
    for (const struct choice *c = words; c->word && words[2].word; c++)
        if (strstr (err.text, c->word) && (!meant || strcmp (c->word, meant) == 0)) {
            snprintf (message + length, sizeof (message) - length, "; did you mean \"%s\"?", c->word);
            if (strcmp (err.text, message) == 0)
                return;
            assert_null (meant);
        }
    message[length] = '\0';
    refused (option, value, message);
}

static void check_others (const struct option_definition *d, enum option_id option)
{
    refused_as_none (option, "", "", NULL);
    refused_as_none (option, "2", "2", NULL);
    refused_as_none (option, "\033[2Jauto", "\\x1b[2Jauto", NULL);
    for (const struct choice *c = d->words; c->word; c++) {
        char value[64];

        snprintf (value, sizeof (value), "%s\n", c->word);
        refused (option, value, NULL);
        snprintf (value, sizeof (value), "%s,%s", c->word, d->words[0].word);
        refused_as_none (option, value, value, NULL);
        snprintf (value, sizeof (value), "%.*s", (int)strlen (c->word) - 1, c->word);
        refused_as_none (option, value, value, NULL);
        snprintf (value, sizeof (value), "%c%s", c->word[0] - 'a' + 'A', c->word + 1);
        refused_as_none (option, value, value, c->word);
    }
}

TEST (every_other_value_of_a_list_is_refused_with_all_words)
{
    for_each_choice (check_others);
}

TEST (messages_have_the_words_in_their_order_and_not_in_that_of_what_they_mean)
{
    static const struct choice list[] = { { "late", 2 }, { "early", 0 }, { "never", 1 }, { NULL, 0 } };
    struct choice_words words;
    struct errtext err;

    assert_int_equal (choice_parse (list, "late", &err), 2);
    assert_int_equal (choice_parse (list, "lat", &err), -1);
    assert_string_equal (err.text, "\"lat\" is not one of late, early, never; did you mean \"late\"?");
    assert_int_equal (choice_parse (list, "EARLEY", &err), -1);
    assert_string_equal (err.text, "\"EARLEY\" is not one of late, early, never; did you mean \"early\"?");
    assert_int_equal (choice_parse (list, "soon", &err), -1);
    assert_string_equal (err.text, "\"soon\" is not one of late, early, never");
    assert_string_equal (choice_join (list, ", ", " and ", &words), "late, early and never");
    assert_string_equal (choice_word (list, 0), "early");
    refused (OPTION_HIDE_GPUS, "x", "\"x\" is neither yes nor no");
}

/* Where "no" is a word, these are words, too; elsewhere they are refused with what the user has written. */
TEST (other_words_for_yes_and_no)
{
    static const char *const yes[] = { "yes", "1", "true", "on" }, *const no[] = { "no", "0", "false",
                                                                                   "off" };

    for (size_t i = 0; i < COUNT (yes); i++) {
        assert_int_equal (option_word (OPTION_HOLD, yes[i], NULL), VALUE_YES);
        assert_int_equal (option_word (OPTION_TEE, yes[i], NULL), VALUE_YES);
        assert_int_equal (option_word (OPTION_SHOW, yes[i], NULL), SHOW_TABLES);
        assert_int_equal (option_word (OPTION_IB, yes[i], NULL), IB_AUTO);
        refused_as_none (OPTION_STOP, yes[i], yes[i], NULL);
        assert_int_equal (option_word (OPTION_HOLD, no[i], NULL), VALUE_NO);
        assert_int_equal (option_word (OPTION_SHOW, no[i], NULL), SHOW_NOTHING);
        assert_int_equal (option_word (OPTION_IB, no[i], NULL), IB_NO);
        refused_as_none (OPTION_STOP, no[i], no[i], NULL);
    }
    assert_int_equal (option_word (OPTION_SHOW, "json", NULL), SHOW_JSON);
}

/* Arguments in plugstack.conf. */

TEST (an_argument_is_found_by_its_whole_name)
{
    static const char *const others[] = {
        "", "=", "=yes", "ib", "i=yes", "ibx=yes", "tf-ib=auto", "IB=auto", " ib=auto", "stop_=x",
    };
    enum option_id option;
    struct errtext err;
    const char *value;

    for (int i = 0; i < OPTION_COUNT; i++) {
        char argument[MAX_TEXT];

        if (!option_table[i].site)
            continue;
        snprintf (argument, sizeof (argument), "%s=a=b", option_table[i].site);
        option_take_argument (&option, &value, argument, &err);
        assert_int_equal (option, i);
        assert_string_equal (value, "a=b");
    }
    for (size_t i = 0; i < COUNT (others); i++) {
        assert_int_equal (option_take_argument (&option, &value, others[i], &err), -1);
        assert_non_null (strstr (err.text, "is not an argument of spank_tf"));
    }
    assert_int_equal (option_take_argument (&option, &value, "ib=x=y", &err), -1);
    assert_non_null (strstr (err.text, "ib: \"x=y\" is not one of "));
    assert_int_equal (option_take_argument (&option, &value, "ib=auto", &err), 0);
    assert_string_equal (value, "auto");
}

/* Help. */

static bool has_word (const char *text, const char *word)
{
    size_t length = strlen (word);

    for (const char *p = text; (p = strstr (p, word)); p++)
        if ((p == text || !strchr ("abcdefghijklmnopqrstuvwxyz", p[-1]))
            && !(p[length] >= 'a' && p[length] <= 'z'))
            return true;
    return false;
}

TEST (the_help_has_every_word)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        struct option_help help;

        option_help ((enum option_id)i, &help);
        assert_true (strlen (help.usage) < sizeof (help.usage) - 1);
        assert_true (strlen (help.arginfo) > 0 && strlen (help.arginfo) < sizeof (help.arginfo) - 1);
        assert_null (strstr (help.usage, "WORDS"));
        /* A list has roles of the site, too. */
        for (const struct choice *c = option_table[i].words; c && c->word; c++)
            if (i != OPTION_TASKS && i != OPTION_TASKS_PER_NODE && !has_word (help.usage, c->word)
                && !has_word (help.arginfo, c->word))
                fail_msg ("\"%s\" has no %s", help.usage, c->word);
    }
}

static void help_is (enum option_id option, const char *arginfo, const char *before, const char *separator)
{
    struct choice_words words;
    struct option_help help;
    char end[MAX_TEXT];

    snprintf (end, sizeof (end), "%s%s", before,
              choice_join (option_table[option].words, separator, separator, &words));

    option_help (option, &help);
    assert_string_equal (help.arginfo, arginfo);
    assert_string_equal (help.usage + strlen (help.usage) - strlen (end), end);
}

TEST (words_stand_in_the_help_where_its_row_wants_them)
{
    struct option_help help;

    assert_string_equal (option_help (OPTION_HOLD, &help)->arginfo, "yes|no");
    help_is (OPTION_STOP, "WHEN", "have exited: ", ", ");
    help_is (OPTION_FRAMEWORKS, "LIST", ": none, or some of ", ",");
}
