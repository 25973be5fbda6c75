/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tables of the code for scripts. That of options is a line for each, its fields separated by tabs. A field
 * without a value is empty.
 *
 *     1 the option, "--tf-ib"              5 the default
 *     2 the argument in plugstack.conf     6 the words that a value can be, separated by blanks
 *     3 the value, "auto|require|no"       7 how bash completes the value
 *     4 the value if none is given         8 "word" if the value is one of these, else "text"
 *                                          9 the help
 *
 * With the argument "keys", the tables of messages (protocol/fields.h): the module, the key, what the value
 * has to be, and "needed" or "optional".
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/option_table.h"
#include "protocol/answer.h"
#include "protocol/contact.h"
#include "protocol/fields.h"
#include "protocol/goal.h"
#include "protocol/hello.h"
#include "protocol/overview.h"
#include "protocol/registration.h"
#include "protocol/rendezvous_config.h"
#include "protocol/rule_fields.h"
#include "protocol/status.h"
#include "protocol/supervisor_config.h"

static const char *_or_nothing (const char *text)
{
    return text ? text : "";
}

/* All words, and first the one that is no part of a list. */
static void _print_words (const struct option_definition *d)
{
    const char *blank = "";

    if (d->alone) {
        printf ("%s", d->alone);
        blank = " ";
    }
    for (const struct choice *c = d->words; c && c->word; c++) {
        printf ("%s%s", blank, c->word);
        blank = " ";
    }
}

static void _print_keys (const char *module, const struct fields *fields)
{
    for (size_t i = 0; i < fields->rows; i++) {
        const struct field *field = &fields->row[i];
        struct field_text room;

        /* A part of several messages has a section of its own. */
        if (field->type == FIELD_PART && strcmp (field->part->name, fields->name) == 0)
            _print_keys (module, field->part);
        else if (field->type != FIELD_PART)
            printf ("util/protocol/%s.c\t%s\t%s\t%s\n", module, field->key,
                    field->type == FIELD_OTHER ? "text" : field_limit (field, &room),
                    field->need == FIELD_NEEDED ? "needed" : "optional");
    }
}

static int _print_all_keys (void)
{
    _print_keys ("answer", &answer_fields);
    _print_keys ("cause", &cause_fields);
    _print_keys ("contact", &contact_fields);
    _print_keys ("exit_report", &exit_report_fields);
    _print_keys ("failure_text", &failure_text_fields);
    _print_keys ("goal", &goal_fields);
    _print_keys ("hello", &hello_fields);
    _print_keys ("life_report", &life_report_fields);
    _print_keys ("life_report", &life_report_asked_fields);
    _print_keys ("overview", &overview_question_fields);
    _print_keys ("overview", &overview_fields);
    _print_keys ("overview", &overview_rank_fields);
    _print_keys ("registration", &registration_fields);
    _print_keys ("rendezvous_config", &rendezvous_config_fields);
    _print_keys ("rule_fields", &restart_rule_fields);
    _print_keys ("rule_fields", &watch_rule_fields);
    _print_keys ("rule_fields", &lost_after_fields);
    _print_keys ("rule_fields", &task_options_fields);
    _print_keys ("signs", &signs_fields);
    _print_keys ("supervisor_config", &supervisor_config_fields);
    return 0;
}

int main (int argc, char *argv[])
{
    if (argc > 1 && strcmp (argv[1], "keys") == 0)
        return _print_all_keys ();
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_definition *d = &option_table[i];
        struct option_help help;

        option_help ((enum option_id)i, &help);
        printf ("%s%s\t%s\t%s\t", d->name ? "--" : "", _or_nothing (d->name), _or_nothing (d->site),
                help.arginfo);
        printf ("%s\t%s\t", _or_nothing (d->implied), _or_nothing (d->normal));
        _print_words (d);
        printf ("\t%s\t%s\t%s\n", d->completion ? d->completion : "words", d->check ? "text" : "word",
                help.usage);
    }
    return 0;
}
