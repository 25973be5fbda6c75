/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the values of options mean that are times or numbers of restarts, and their limits.
 */
#ifndef TF_VALUE_H
#define TF_VALUE_H

#include <stdbool.h>

/* The longest time that an option or an argument can have: a week, in seconds. */
#define VALUE_MAX_SECONDS 604800
/* The least lost_after=: a network that is busy loses packets for some seconds. */
#define VALUE_MIN_LOST_AFTER 5

/* The most restarts in a row, and of a step, which has so many times as many if the user does not say it. */
#define VALUE_MAX_RESTARTS 1000
#define VALUE_RESTARTS_IN_ALL 10
#define VALUE_MAX_TOTAL (VALUE_MAX_RESTARTS * VALUE_RESTARTS_IN_ALL)

/*
 * The time that a task has at the start of its program, at least, if --tf-watchdog does not say it; in
 * seconds.
 */
#define VALUE_WATCHDOG_FIRST 1800

/* The least SECONDS that --tf-watchdog=auto learns. */
#define VALUE_WATCHDOG_AUTO "auto"
#define VALUE_WATCHDOG_LEAST 60

/* The value of ports= and --tf-ports for the ports which Slurm reserved for the step. */
#define VALUE_PORTS_RESERVED "reserved"

/* What may follow a number of restarts. */
#define VALUE_RESTART_ANY "any"
#define VALUE_RESTART_TOTAL "total="

/*
 * A time as users of Slurm and of sleep(1) write it, in seconds: "90", "90s", "10m", "2h", "1d"; "1:30" is
 * minutes and seconds, "1:30:00" has hours before them, and "1-12", "1-12:30", "1-12:30:00" have days. A
 * number alone is seconds, other than in Slurm's --time. -1 if it is not valid or not low..high, where
 * low >= 0.
 */
int value_seconds_parse (int *seconds, const char *value, int low, int high);

/*
 * "3", "3,any", "3,total=10", "3,any,total=10": *any is false or true, *total without a number of its own
 * VALUE_RESTARTS_IN_ALL times *times. -1 if it is not valid, or *total is less than *times.
 */
int value_restart_parse (int *times, bool *any, int *total, const char *value);

/*
 * "300" or "5m,30m": *first is the second time; 0, and *first is 0: no watchdog. "auto" or "auto,5m":
 * *learns, and *seconds is the least. -1 if it is not valid.
 */
int value_watchdog_parse (int *seconds, int *first, bool *learns, const char *value);

#endif
