/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "find_exception.h"

#include <ctype.h>
#include <string.h>

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

static bool _begins_with_one (struct text line, const char *const *word, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (text_begins (line, word[i]))
            return true;
    return false;
}

/* In front of "Traceback" on its line a progress bar may stand. Rich has a box around its own. */
static const char *_traceback (struct text line)
{
    static const char title[] = "Traceback (most recent call last)";
    const char *at = text_find (line, title);
    struct text rest = { at ? at + strlen (title) : line.end, line.end };

    return at && (text_is (rest, ":") || text_begins (rest, " \xe2\x94\x80")) ? at : NULL;
}

static bool _is_name (char c)
{
    return isalnum ((unsigned char)c) || (unsigned char)c >= 0x80 || (c && strchr ("_.<>", c));
}

/* "KeyError", "ValueError: text", "__main__.f.<locals>.E: text", "RayTaskError(ValueError): text" */
static bool _is_exception (struct text line)
{
    const char *at = line.at;

    while (at < line.end && _is_name (*at))
        at++;
    return at > line.at && !isdigit ((unsigned char)*line.at) && (at == line.end || *at == ':' || *at == '(');
}

struct text exception_class (struct text exception)
{
    struct text class = { exception.at, exception.at };

    while (class.end < exception.end && _is_name (*class.end))
        if (*class.end++ == '.')
            class.at = class.end;
    return class;
}

/*
 * "run": in this tree's tests, with PyTorch 1.13.1 on Gloo, TensorFlow 2.15.1 and 2.21.0, JAX 0.10.2; errno
 * (3) has the kernel's.
 */
bool exception_says_lost (struct text line)
{
    static const char *const words[] = {
        "Connection closed by peer",    /* run: Gloo */
        "Connection reset by peer",     /* run: Gloo, gRPC; the kernel */
        "Connection refused",           /* the kernel */
        "Broken pipe",                  /* the kernel */
        "Socket closed",                /* run: gRPC */
        "failed to connect to all addresses",       /* run: gRPC */
        "UnavailableError: ",           /* run: TensorFlow */
        "UNAVAILABLE: ",                /* run: JAX; both have gRPC's code for that */
        "Connection was likely closed",             /* PyTorch's TCPStore */
        "remote process exited or there was a network error",   /* PyTorch with NCCL */
    };

    for (size_t i = 0; i < COUNT (words); i++)
        if (text_find (line, words[i]))
            return true;
    return false;
}

/* What loggers write while a program ends: "W1125 15:17:43", "2026-11-25 15:13:54", "[W socket.cpp". */
static bool _is_logged (struct text line)
{
    if (text_length (line) < 5)
        return false;
    if (line.at[0] == '[' && strchr ("IWE", line.at[1]))
        return true;
    return strchr ("IWE2", line.at[0]) && isdigit ((unsigned char)line.at[1])
           && isdigit ((unsigned char)line.at[2]) && isdigit ((unsigned char)line.at[3]);
}

/* A line of an exception's message, behind its first one; those of frameworks that were seen. */
static bool _continues (struct text line)
{
    static const char *const beginning[] = {
        " ",
        "\t",
        ", filename = ",
        "Detected at node ",
        "OOM when allocating tensor",
        "Hint: If you want to see ",
        "--------------------",
        "For simplicity, JAX has removed its internal frames",
        "CUDA kernel errors might be asynchronously reported",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING",
        "Compile with `TORCH_USE_CUDA_DSA`",
        "Search for `cuda",
        "nccl",
        "Last error:",
        "Cuda failure ",
    };

    return text_length (line) == 0 || _is_logged (line)
           || _begins_with_one (line, beginning, COUNT (beginning));
}

/* The traceback behind this line is not of what the program itself did. */
static bool _is_aside (struct text line)
{
    static const char *const beginning[] = { "Exception ignored in", "Exception in thread ",
                                             "Error in atexit._run_exitfuncs" };

    return _begins_with_one (line, beginning, COUNT (beginning));
}

/* The traceback behind this line is of an exception to which the one in front of it has led. */
static bool _is_chain (struct text line)
{
    static const char *const beginning[] = {
        "During handling of the above exception, another exception occurred:",
        "The above exception was the direct cause of the following exception:",
    };

    return _begins_with_one (line, beginning, COUNT (beginning));
}

/* A launcher says only that its child has failed. */
static bool _is_of_launcher (struct text exception)
{
    struct text class = exception_class (exception);

    return text_is (class, "ChildFailedError") || text_is (class, "CalledProcessError");
}

/* What was read so far. */
struct search {
    struct exception own, aside;    /* the last ones; without a text there is none */
    struct exception *last;         /* whose message is being read, or NULL */
    const char *traceback;          /* whose frames are, or NULL */
    bool is_aside;                  /* that traceback, */
    bool lost;                      /* ... a connection, by what has led to it */
    bool together;                  /* ... nothing but another exception is in front of it */
};

static void _begin_traceback (struct search *s, const char *traceback, struct text before)
{
    s->lost = s->lost && _is_chain (before);
    s->is_aside = _is_aside (before);
    s->together = s->own.text.at && !s->own.lost && (!s->own.followed || _is_chain (before));
    s->traceback = traceback;
    s->own.followed = s->aside.followed = true;
    s->last = NULL;
}

/*
 * A lost connection gives way to another reason: that of another process of the task, or what has led to
 * it.
 */
static void _begin_message (struct search *s, struct text line)
{
    bool lost = exception_says_lost (line), aside = s->is_aside || _is_of_launcher (line);

    s->lost = s->lost || lost;
    s->last = aside || (lost && s->together) ? &s->aside : &s->own;
    *s->last = (struct exception){ .text = line, .traceback = s->traceback, .lost = s->lost };
    s->traceback = NULL;
}

bool find_exception (struct text log, struct exception *exception)
{
    struct search s = { .last = NULL };
    struct text line, before = { log.at, log.at };
    const char *traceback;

    while (text_take_line (&log, &line)) {
        if ((traceback = _traceback (line)))
            _begin_traceback (&s, traceback, before);
        else if (s.traceback && _is_exception (line))
            _begin_message (&s, line);
        else if (s.last && _continues (line))
            s.last->text.end = line.end;
        else if (s.last) {
            s.last->followed = true;
            s.last = NULL;
        }
        if (text_length (line) > 0)
            before = line;
    }
    *exception = s.own.text.at ? s.own : s.aside;
    return exception->text.at != NULL;
}
