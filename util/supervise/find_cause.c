/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "find_cause.h"

#include <ctype.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "common/printable.h"

/* A part of the log. */
struct text {
    const char *at, *end;
};

static size_t _text_length (struct text text)
{
    return (size_t)(text.end - text.at);
}

static const char *_find_word (struct text text, const char *word)
{
    return _text_length (text) > 0 ? memmem (text.at, _text_length (text), word, strlen (word)) : NULL;
}

static bool _begins (struct text text, const char *word)
{
    return _text_length (text) >= strlen (word) && memcmp (text.at, word, strlen (word)) == 0;
}

static bool _is_word (struct text text, const char *word)
{
    return _text_length (text) == strlen (word) && _begins (text, word);
}

/* Take the next line, without its end and without torch's "[rank0]: ", or "[rank0]:". False at the end. */
static bool _take_line (struct text *text, struct text *line)
{
    if (text->at == text->end)
        return false;
    *line = *text;
    while (line->end > text->at && text->at < text->end && *text->at != '\n')
        text->at++;
    line->end = text->at;
    if (text->at < text->end)
        text->at++;
    if (_begins (*line, "[rank")) {
        const char *prefix = _find_word (*line, "]:");

        line->at = prefix ? prefix + strlen ("]:") : line->at;
        line->at += _begins (*line, " ");
    }
    return true;
}

/*
 * The patterns, and where they were seen. "run": with TensorFlow 2.15.1 and 2.21.0, Keras 2.15.0 and 3.15.1,
 * JAX 0.10.2, PyTorch 1.13.1, h5py 3.14.0, numpy 2.4.6, CPython 3.11, glibc 2.36; a full file system is a
 * tmpfs, in a broken one read () and write () fail. tests/unit/find_cause.golden has what they print.
 */
enum place {
    EXCEPTION,                  /* the exception that ended Python: its class, and its message */
    TERMINATE,                  /* C++'s terminate () */
    FATAL,                      /* the last line, by which a C++ logger aborts */
    LOADER,                     /* the last line, by which ld.so ends */
};

/* clang-format off */
static const struct pattern {
    enum place place;
    const char *class;          /* of the exception, without its modules; NULL: any */
    const char *words, *more;   /* both are there; NULL: nothing more */
    enum cause_kind kind;
} patterns[] = {
    /* run: a list under ulimit -v; numpy.ones () */
    { EXCEPTION, "MemoryError", NULL, NULL, CAUSE_MEMORY },
    { EXCEPTION, "_ArrayMemoryError", "Unable to allocate ", NULL, CAUSE_MEMORY },
    /* run: torch.empty () */
    { EXCEPTION, "RuntimeError", "DefaultCPUAllocator: can't allocate memory", NULL, CAUSE_MEMORY },
    /* run: tf.zeros (), and in a tf.function */
    { EXCEPTION, "ResourceExhaustedError", "OOM when allocating tensor", " by allocator mklcpu",
      CAUSE_MEMORY },
    { EXCEPTION, "ResourceExhaustedError", "OOM when allocating tensor", " by allocator cpu",
      CAUSE_MEMORY },
    /* the same with the allocator's other name, tensorflow/core/common_runtime/gpu/gpu_bfc_allocator.cc */
    { EXCEPTION, "ResourceExhaustedError", "OOM when allocating tensor", " by allocator GPU_",
      CAUSE_DEVICE_MEMORY },
    /* run: jax.numpy.zeros (); github.com/google-deepmind/jaxline/issues/11; "Xla..." before JAX 0.5 */
    { EXCEPTION, "JaxRuntimeError", "RESOURCE_EXHAUSTED: Out of memory", NULL, CAUSE_DEVICE_MEMORY },
    { EXCEPTION, "XlaRuntimeError", "RESOURCE_EXHAUSTED: Out of memory", NULL, CAUSE_DEVICE_MEMORY },
    /* github.com/carolchenyx/MGFN./issues/35; before 1.13 github.com/singhsourabh/Resume-NER/issues/4 */
    { EXCEPTION, "OutOfMemoryError", "CUDA out of memory.", NULL, CAUSE_DEVICE_MEMORY },
    { EXCEPTION, "RuntimeError", "CUDA out of memory.", NULL, CAUSE_DEVICE_MEMORY },
    /* run: std::vector */
    { TERMINATE, NULL, "'std::bad_alloc'", NULL, CAUSE_MEMORY },

    /* run: write (), Keras' save () and save_weights () */
    { EXCEPTION, "OSError", "[Errno 28] ", NULL, CAUSE_SPACE },
    /* run: tf.train.Checkpoint */
    { EXCEPTION, "ResourceExhaustedError", "; No space left on device", NULL, CAUSE_SPACE },
    /* the same error of the kernel, errno (3) */
    { EXCEPTION, "OSError", "[Errno 122] ", NULL, CAUSE_QUOTA },
    { EXCEPTION, NULL, "; Disk quota exceeded", NULL, CAUSE_QUOTA },

    /* run: bind () */
    { EXCEPTION, "OSError", "[Errno 98] ", NULL, CAUSE_PORT_IN_USE },
    /* run: init_process_group (); github.com/meta-pytorch/torchtune/issues/1025,
       vllm-project/vllm/issues/39015 */
    { EXCEPTION, "RuntimeError", "failed to listen on any", "(errno: 98 - ", CAUSE_PORT_IN_USE },
    { EXCEPTION, "DistNetworkError", "failed to listen on any", "(errno: 98 - ", CAUSE_PORT_IN_USE },
    { EXCEPTION, "DistNetworkError", "failed to listen on any", "name: EADDRINUSE", CAUSE_PORT_IN_USE },
    /* run: tf.distribute.Server; jax.distributed.initialize () */
    { EXCEPTION, "UnknownError", "Could not start gRPC server", NULL, CAUSE_PORT },
    { EXCEPTION, "JaxRuntimeError", "Failed to start RPC server", NULL, CAUSE_PORT },

    /* run: read (), tf.data.TFRecordDataset */
    { EXCEPTION, "OSError", "[Errno 116] ", NULL, CAUSE_STALE },
    { EXCEPTION, "AbortedError", "; Stale file handle", NULL, CAUSE_STALE },
    /* run: write (), tf.train.Checkpoint */
    { EXCEPTION, "OSError", "[Errno 5] ", NULL, CAUSE_IO },
    { EXCEPTION, "UnknownError", "; Input/output error", NULL, CAUSE_IO },

    /* run: import of an extension; the same of ctypes; a program of C */
    { EXCEPTION, "ImportError", ": cannot open shared object file", NULL, CAUSE_LIBRARY },
    { EXCEPTION, "OSError", ": cannot open shared object file", NULL, CAUSE_LIBRARY },
    { LOADER, NULL, ": error while loading shared libraries: ", ": cannot open shared object file",
      CAUSE_LIBRARY },
    /* run: import */
    { EXCEPTION, "ModuleNotFoundError", "No module named '", NULL, CAUSE_MODULE },

    /* github.com/huggingface/trl/issues/4149 and jade-hpc-gpu/jade-hpc-gpu.github.io/issues/194 */
    { EXCEPTION, NULL, "CUDA error: uncorrectable ECC error encountered", NULL, CAUSE_GPU },
    { TERMINATE, NULL, "CUDA error: uncorrectable ECC error encountered", NULL, CAUSE_GPU },
    /* github.com/nagadit/DeepFaceLab_Linux/issues/89 */
    { FATAL, NULL, "CUDA_ERROR_ECC_UNCORRECTABLE: ", NULL, CAUSE_GPU },
    { EXCEPTION, NULL, "CUDA_ERROR_ECC_UNCORRECTABLE: ", NULL, CAUSE_GPU },
    /* github.com/rossumai/nvgpu/issues/6 */
    { EXCEPTION, "NVMLError_GpuIsLost", "GPU is lost", NULL, CAUSE_GPU },
};
/* clang-format on */

/* Where to look. */

/* What loggers write while a program ends: "W1125 15:17:43", "2026-11-25 15:13:54", "[W socket.cpp". */
static bool _is_logged (struct text line)
{
    if (_text_length (line) < 5)
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
    };

    if (_text_length (line) == 0 || _is_logged (line))
        return true;
    for (size_t i = 0; i < sizeof (beginning) / sizeof (beginning[0]); i++)
        if (_begins (line, beginning[i]))
            return true;
    return false;
}

/*
 * The exception of the last traceback, from its class on. False if something else was printed behind it: the
 * program had caught it, and went on.
 */
static bool _find_exception (struct text log, struct text *exception)
{
    struct text line, rest = log;
    bool found = false, frames = false;

    while (_take_line (&rest, &line))
        if (_is_word (line, "Traceback (most recent call last):")) {
            frames = true;
            found = false;
        } else if (frames && !_begins (line, " ")) {
            frames = false;
            found = true;
            *exception = (struct text){ line.at, log.end };
        } else if (found && !_continues (line))
            found = false;
    return found;
}

/* "terminate called after throwing an instance of 'std::bad_alloc'", and what () it says. */
static bool _find_terminate (struct text log, struct text *words)
{
    struct text line, rest = log;
    bool found = false;

    while (_take_line (&rest, &line))
        if (_begins (line, "terminate called after throwing an instance of ")) {
            *words = line;
            found = true;
            if (_take_line (&rest, &line) && _begins (line, "  what():  "))
                words->end = line.end;
        }
    return found;
}

static bool _find_last_line (struct text log, struct text *last)
{
    struct text line;
    bool found = false;

    while (_take_line (&log, &line))
        if (_text_length (line) > 0) {
            *last = line;
            found = true;
        }
    return found;
}

/* What it is about. */

/* The class in "tensorflow.errors.AbortedError: text", without its modules. */
static struct text _class (struct text exception)
{
    struct text class = { exception.at, exception.at };

    while (class.end < exception.end
           && (isalnum ((unsigned char)*class.end) || *class.end == '_' || *class.end == '.'))
        if (*class.end++ == '.')
            class.at = class.end;
    return class;
}

/* The library's name is what is in front of the words, the module's what is behind. */
static void _set_detail (struct cause *cause, const struct pattern *pattern, struct text words)
{
    const char *at, *end;

    if (!pattern->words || (cause->kind != CAUSE_LIBRARY && cause->kind != CAUSE_MODULE))
        return;
    at = end = _find_word (words, pattern->words);
    if (cause->kind == CAUSE_MODULE) {
        at += strlen (pattern->words);
        for (end = at; end < words.end && *end != '\'' && *end != '\n';)
            end++;
    } else if (pattern->more) {
        at += strlen (pattern->words);
        end = _find_word ((struct text){ at, words.end }, pattern->more);
    } else
        while (at > words.at && at[-1] != ' ' && at[-1] != '\n')
            at--;
    if (!end || printable_line (cause->detail, sizeof (cause->detail), at, (size_t)(end - at)) == 0)
        *cause = (struct cause){ .kind = CAUSE_NONE };
}

static struct cause _match (enum place place, struct text words)
{
    struct cause cause = { .kind = CAUSE_NONE };

    for (size_t i = 0; i < sizeof (patterns) / sizeof (patterns[0]) && cause.kind == CAUSE_NONE; i++) {
        const struct pattern *p = &patterns[i];

        if (p->place != place || (p->class && !_is_word (_class (words), p->class))
            || (p->words && !_find_word (words, p->words)) || (p->more && !_find_word (words, p->more)))
            continue;
        cause.kind = p->kind;
        _set_detail (&cause, p, words);
    }
    return cause;
}

/* The code of a shell is 128 and the signal that has ended its last command. */
static bool _is_aborted (const struct exit_report *report)
{
    return (report->kind == EXIT_REPORT_SIGNAL && report->number == SIGABRT)
           || (report->kind == EXIT_REPORT_EXIT && report->number == EXIT_REPORT_SIGNAL_CODE (SIGABRT));
}

struct cause find_cause (const struct exit_report *report, const char *bytes, size_t length)
{
    struct text log = { bytes, bytes + length }, words;
    struct cause cause = { .kind = CAUSE_NONE };

    if (_is_aborted (report)) {
        if (_find_terminate (log, &words))
            return _match (TERMINATE, words);
        return _find_last_line (log, &words) ? _match (FATAL, words) : cause;
    }
    if (report->kind != EXIT_REPORT_EXIT || report->number == 0)
        return cause;
    if (report->number == 127 && _find_last_line (log, &words))
        return _match (LOADER, words);
    return _find_exception (log, &words) ? _match (EXCEPTION, words) : cause;
}

size_t find_exception (const char *bytes, size_t length)
{
    struct text exception;

    return _find_exception ((struct text){ bytes, bytes + length }, &exception)
               ? (size_t)(exception.at - bytes)
               : length;
}
