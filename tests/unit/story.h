/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tests as text. A golden file tells stories: what happens, and what the code under test does then.
 *
 *     # a comment
 *     the title of a story, which is the name of a test
 *         EVENT           | RESULT
 *             a line that is printed
 *
 * The test program plays each event. All that the event leads to stands there: without a | the result is
 * empty, and without a line nothing is printed. A failure names the file, the line, and the story.
 */
#ifndef TF_STORY_H
#define TF_STORY_H

#include "unit.h"

/*
 * The stories of the file are tests. play () gets an event, which it may change; end (), unless it is NULL,
 * is called after the last one, also if the story has failed.
 */
#define STORIES(path, play, end) \
    UNIT_REGISTER (stories) \
    { \
        story_add_all (path, play, end); \
    }
typedef void story_play (char *event);
void story_add_all (const char *path, story_play *play, void (*end) (void));

/* What an event leads to: play () adds an item to the result, and appends to what is printed. */
void story_result (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));
void story_print (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));

/* What is expected to be printed, for something that takes a while. */
const char *story_expected (void);

/* Cut the next word off an event. "" if there is none. */
char *story_word (char **event);

/* The event begins with a number. It continues behind that, and a blank or comma. */
int story_number (char **event);

/* True, and the event continues likewise, if it begins with these words. */
bool story_begins (char **event, const char *words);

/* Words of an event, and the one thing that they set. */
struct story_setting {
    const char *words;
    bool *flag;                 /* becomes true */
    int *number;                /* becomes the number behind the words */
    const char **text;          /* becomes all that is behind them */
};

/* True, and the event continues behind it, if it begins with one of these. */
bool story_sets (char **event, const struct story_setting *setting, size_t settings);

/* The rest of an event with bytes that a line cannot have: \e, \n, \r, \t, and \xHH for others. In place. */
char *story_unescape (char *text);

/* play () does not know the rest of the event. */
void story_unknown (const char *event) __attribute__ ((noreturn));

#endif
