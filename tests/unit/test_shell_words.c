/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"
#include "../random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/shell_words.h"

#define MAX_WORDS 8

TEST (a_command_line_is_split)
{
    static const struct {
        const char *text;
        const char *word[MAX_WORDS];
    } row[] = {
        { "", { NULL } },
        { " \t\n", { NULL } },
        { "\\\n", { NULL } },
        { "python ps.py", { "python", "ps.py" } },
        { "  a \t b\nc  ", { "a", "b", "c" } },
        { "'a b' \"c d\"", { "a b", "c d" } },
        { "a'b 'c\" d\"e", { "ab c de" } },
        { "'' a \"\" b''", { "", "a", "", "b" } },
        { "''\"\"", { "" } },
        { "\\a \\\\ \\' \\\" a\\ b \\\t", { "a", "\\", "'", "\"", "a b", "\t" } },
        { "'\\' '\"' \"'\"", { "\\", "\"", "'" } },
        { "\"\\$ \\` \\\" \\\\ \\a \\'\"", { "$ ` \" \\ \\a \\'" } },
        { "'two\nlines' \"two\nlines\"", { "two\nlines", "two\nlines" } },
        { "on\\\ne \"on\\\ne\" 'on\\\ne' \\\n a", { "one", "one", "on\\\ne", "a" } },
        { "$HOME `id` *.c ~ {a,b}", { "$HOME", "`id`", "*.c", "~", "{a,b}" } },
        { "a;b | c&&d >e #f", { "a;b", "|", "c&&d", ">e", "#f" } },
        { "\xc3\xa4\xff \x01\r", { "\xc3\xa4\xff", "\x01\r" } },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct shell_words words = { 0 };
        size_t n = 0;

        assert_int_equal (shell_words_split (&words, row[i].text, NULL), 0);
        for (; row[i].word[n]; n++) {
            assert_true (n < words.count);
            assert_string_equal (words.word[n], row[i].word[n]);
        }
        assert_int_equal (words.count, n);
        assert_true (n == 0 || !words.word[n]);
        shell_words_clear (&words);
    }
}

TEST (an_unclosed_quote_or_final_backslash_is_shown)
{
    static const struct {
        const char *text, *message;
    } row[] = {
        { "'", "unclosed ' at character 1: '" },
        { "a 'b c", "unclosed ' at character 3: 'b c" },
        { "a 'b' c'", "unclosed ' at character 8: '" },
        { "'it\\'s'", "unclosed ' at character 7: '" },
        { "say \"it's", "unclosed \" at character 5: \"it's" },
        { "\"a\\\"", "unclosed \" at character 1: \"a\\\"" },
        { "\"a\\", "unclosed \" at character 1: \"a\\" },
        { "a \\", "nothing follows the \\ at character 3: \\" },
        { "\\", "nothing follows the \\ at character 1: \\" },
        { "a\n'\033", "unclosed ' at character 3: '\\x1b" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct shell_words words = { 0 };
        struct errtext err = { "" };

        assert_int_equal (shell_words_split (&words, row[i].text, &err), -1);
        assert_string_equal (err.text, row[i].message);
        assert_true (is_line (err.text));
        shell_words_clear (&words);
    }
}

TEST (words_are_appended)
{
    struct shell_words words = { 0 };
    char number[16];

    assert_int_equal (shell_words_split (&words, "a 'b c'", NULL), 0);
    for (int i = 0; i < 1000; i++) {
        snprintf (number, sizeof (number), "%d", i);
        assert_int_equal (shell_words_add (&words, number, NULL), 0);
    }
    assert_int_equal (shell_words_split (&words, "d", NULL), 0);
    assert_int_equal (words.count, 1003);
    assert_string_equal (words.word[1], "b c");
    assert_string_equal (words.word[2], "0");
    assert_string_equal (words.word[1001], "999");
    assert_string_equal (words.word[1002], "d");
    assert_null (words.word[1003]);

    errno = EAGAIN;
    shell_words_clear (&words);
    assert_int_equal (errno, EAGAIN);
    assert_int_equal (words.count, 0);
    shell_words_clear (&words);
}

/* Comparison with the shell. */

#define LINES 2000
/* Characters that shell_words_split () and the shell treat alike. A newline would end a command. */
#define ALPHABET "ab  \t''\"\"\\\\"

/* Print the number of words of each argument, then each word on a line of its own. */
#define SCRIPT \
    "set -f\n" \
    "for line; do\n" \
    "    eval \"set -- $line\"\n" \
    "    echo \"$# words\"\n" \
    "    for word; do printf '%s\\n' \"$word\"; done\n" \
    "done\n"

static void run_shell (char *const argv[], int out)
{
    char *none[] = { NULL };

    if (dup2 (out, STDOUT_FILENO) < 0)
        _exit (1);
    execve ("/bin/sh", argv, none);
    _exit (1);
}

static bool is_next (FILE *stream, const char *expected)
{
    char line[64];

    return fgets (line, sizeof (line), stream) && strncmp (line, expected, strlen (expected)) == 0
           && strcmp (line + strlen (expected), "\n") == 0;
}

/* A random line that can be split, usually with quotes. The caller frees it. */
static char *make_line (uint64_t *seed)
{
    for (;;) {
        struct shell_words words = { 0 };
        char text[32];
        size_t length = random_next (seed) % sizeof (text);
        int rc;

        for (size_t i = 0; i < length; i++)
            text[i] = ALPHABET[random_next (seed) % (sizeof (ALPHABET) - 1)];
        text[length] = '\0';
        rc = shell_words_split (&words, text, NULL);
        shell_words_clear (&words);
        if (rc == 0)
            return strdup (text);
    }
}

static void check_line (const char *text, FILE *output)
{
    struct shell_words words = { 0 };
    char count[32];

    assert_int_equal (shell_words_split (&words, text, NULL), 0);
    snprintf (count, sizeof (count), "%zu words", words.count);
    if (!is_next (output, count))
        fail_msg ("sh splits this text into a different number of words: %s", text);
    for (size_t i = 0; i < words.count; i++)
        if (!is_next (output, words.word[i]))
            fail_msg ("sh disagrees on word %zu, \"%s\", of: %s", i, words.word[i], text);
    shell_words_clear (&words);
}

TEST (sh_splits_random_lines_the_same_way)
{
    static char sh[] = "sh", c[] = "-c", text[] = SCRIPT;
    char *argv[LINES + 5] = { sh, c, text, sh }, **line = argv + 4;
    uint64_t seed = RANDOM_SEED;
    int fd[2], status;
    pid_t pid;
    FILE *output;

    for (int i = 0; i < LINES; i++)
        assert_non_null (line[i] = make_line (&seed));
    assert_int_equal (pipe (fd), 0);
    if ((pid = fork ()) == 0)
        run_shell (argv, fd[1]);
    assert_true (pid > 0);
    close (fd[1]);
    assert_non_null (output = fdopen (fd[0], "r"));
    for (int i = 0; i < LINES; i++) {
        check_line (line[i], output);
        free (line[i]);
    }
    assert_int_equal (fgetc (output), EOF);
    fclose (output);
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
}
