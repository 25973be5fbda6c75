/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With SPANK_TF_STORIES=FILE, the stories are appended to this file as they are now, and none fails for
 * another result.
 */
#include "config.h"

#include "story.h"

#define EVENT_COLUMNS 36

struct story {
    char *text;                 /* from its title to the next one */
    int line;                   /* the number of its first line */
};

/* All stories are in one file. */
static const char *path;
static story_play *play;
static void (*end) (void);

/* The line that is being played; 0 if it need not be named any more. */
static int line;

static char result[1024], printed[8192], expected_lines[8192];

static void __attribute__ ((format (printf, 3, 0))) append (char *text, size_t size, const char *fmt,
                                                            va_list ap)
{
    size_t used = strlen (text);

    assert_true (vsnprintf (text + used, size - used, fmt, ap) < (int)(size - used));
}

void story_result (const char *fmt, ...)
{
    va_list ap;

    if (*result)
        strcat (result, ", ");
    va_start (ap, fmt);
    append (result, sizeof (result) - 2, fmt, ap);
    va_end (ap);
}

void story_print (const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    append (printed, sizeof (printed), fmt, ap);
    va_end (ap);
}

const char *story_expected (void)
{
    return expected_lines;
}

char *story_word (char **event)
{
    char *word = strsep (event, " ");

    *event = *event ? *event + strspn (*event, " ") : word + strlen (word);
    return word;
}

int story_number (char **event)
{
    char *behind;
    long number = strtol (*event, &behind, 10);

    if (behind == *event || !strchr (" ,", *behind))
        story_unknown (*event);
    *event = behind + strspn (behind, " ,");
    return (int)number;
}

bool story_begins (char **event, const char *words)
{
    size_t length = strlen (words);

    if (strncmp (*event, words, length) != 0 || !strchr (" ,", (*event)[length]))
        return false;
    *event += length + strspn (*event + length, " ,");
    return true;
}

bool story_sets (char **event, const struct story_setting *setting, size_t settings)
{
    size_t i = 0;

    while (i < settings && !story_begins (event, setting[i].words))
        i++;
    if (i == settings)
        return false;
    if (setting[i].flag)
        *setting[i].flag = true;
    else if (setting[i].number)
        *setting[i].number = story_number (event);
    else {
        *setting[i].text = *event;
        *event += strlen (*event);
    }
    return true;
}

char *story_unescape (char *text)
{
    static const char letter[] = "enrt", byte[] = "\033\n\r\t";

    for (char *p = text; (p = strchr (p, '\\')); p++) {
        const char *known = p[1] ? strchr (letter, p[1]) : NULL;
        unsigned int value;

        if (known) {
            *p = byte[known - letter];
            memmove (p + 1, p + 2, strlen (p + 1));
        } else if (p[1] == 'x' && sscanf (p + 2, "%2x", &value) == 1) {
            *p = (char)value;
            memmove (p + 1, p + 4, strlen (p + 3));
        }
    }
    return text;
}

void story_unknown (const char *event)
{
    fail_msg ("\"%s\" is not an event", event);
    abort ();
}

/* Cut the next line off *text; NULL if there is none. */
static char *next_line (char **text)
{
    char *start = *text, *newline = strchrnul (start, '\n');

    if (!*start)
        return NULL;
    *text = *newline ? newline + 1 : newline;
    *newline = '\0';
    return start;
}

static bool is_event (const char *text)
{
    return strncmp (text, "    ", 4) == 0 && !strchr (" #", text[4]);
}

/* Split "EVENT  | RESULT". */
static const char *split (char *event)
{
    char *bar = strchr (event, '|'), *last = bar ? bar : event + strlen (event);

    while (last > event && last[-1] == ' ')
        last--;
    *last = '\0';
    return bar ? bar + 1 + strspn (bar + 1, " ") : "";
}

/* Take the indented lines behind an event. Returns how many there are. */
static int take_printed (char **text)
{
    int count = 0;

    expected_lines[0] = '\0';
    while (strncmp (*text, "        ", 8) == 0) { /* it is printed */
        const char *expected = next_line (text) + 8;

        assert_true (strlen (expected_lines) + strlen (expected) + 2 <= sizeof (expected_lines));
        strcat (strcat (expected_lines, expected), "\n");
        count++;
    }
    return count;
}

/* The file to which the stories are appended, or NULL. */
static FILE *open_recording (void)
{
    const char *name = getenv ("SPANK_TF_STORIES");

    return name ? fopen (name, "ae") : NULL;
}

static void record (FILE *file, const char *event)
{
    char *rest = printed;

    if (*result)
        fprintf (file, "    %-*s | %s\n", EVENT_COLUMNS, event, result);
    else
        fprintf (file, "    %s\n", event);
    for (char *text; (text = next_line (&rest));)
        fprintf (file, "        %s\n", text);
}

/* Play an event. The text continues behind it, with what it is expected to print. */
static void play_event (char *event, char **text, FILE *file)
{
    char played[512];
    const char *expected = split (event);
    int number = line, lines = take_printed (text);

    assert_true (snprintf (played, sizeof (played), "%s", event) < (int)sizeof (played));
    result[0] = printed[0] = '\0';
    play (played);
    if (file)
        record (file, event);
    else if (strcmp (result, expected) != 0 || strcmp (printed, expected_lines) != 0) {
        line = 0;
        fail_msg ("%s, line %d: %s\nexpected: %s\n%sfound: %s\n%s", path, number, event, expected,
                  expected_lines, result, printed);
    }
    line += lines;
}

static void play_story (void **state)
{
    struct story *story = *state;
    FILE *file = open_recording ();
    char *rest = story->text;

    line = story->line;
    for (char *text; (text = next_line (&rest)); line++)
        if (is_event (text))
            play_event (text + 4, &rest, file);
        else if (!strchr ("#", text[strspn (text, " ")]) && line > story->line)
            story_unknown (text); /* neither a comment nor empty */
        else if (file)
            fprintf (file, "%s\n", text);
    line = 0;
    if (file)
        fclose (file);
}

static int end_story (void **unused __attribute__ ((unused)))
{
    if (line)
        fprintf (stderr, "%s, line %d: the story ends here\n", path, line);
    if (end)
        end ();
    return 0;
}

/* The text of the file, to be freed. */
static char *read_file (void)
{
    FILE *file = fopen (path, "re");
    char *text = NULL;
    size_t size = 0;

    if (!file || getdelim (&text, &size, '\0', file) <= 0 || fclose (file) != 0) {
        perror (path);
        exit (EXIT_FAILURE);
    }
    return text;
}

/* The number of bytes up to the next title, which is a line that is not indented, or the end. */
static size_t before_title (const char *text)
{
    size_t length = 0;

    while (text[length] && (length == 0 || text[length - 1] != '\n' || strchr (" #\n", text[length])))
        length++;
    return length;
}

void story_add_all (const char *golden, story_play *play_one, void (*end_one) (void))
{
    static struct story story[400];
    char *all, *text;
    FILE *file;
    size_t length;
    int number = 1;

    path = golden;
    play = play_one;
    end = end_one;
    text = all = read_file ();
    unit_each (NULL, end_story);
    length = before_title (text);
    if ((file = open_recording ())) {
        fprintf (file, "%.*s", (int)length, text);
        fclose (file);
    }
    for (size_t i = 0; text[length]; i++) {
        for (size_t j = 0; j < length; j++)
            number += text[j] == '\n';
        text += length;
        length = before_title (text);
        if (i == COUNT (story))
            abort ();
        story[i] = (struct story){ strndup (text, length), number };
        unit_add (strndup (text, strcspn (text, "\n")), play_story, &story[i]);
    }
    unit_each (NULL, NULL);
    free (all);
}
