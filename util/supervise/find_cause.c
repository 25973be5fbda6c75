/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "find_cause.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "common/printable.h"

/*
 * The patterns, and where they were seen. "run": with TensorFlow 2.15.1 and 2.21.0, Keras 2.15.0 and 3.15.1,
 * JAX 0.10.2, PyTorch 1.13.1, h5py 3.14.0, numpy 2.4.6, CPython 3.11, glibc 2.36; a full file system is a
 * tmpfs, in a broken one read () and write () fail. tests/unit/find_cause.golden has what they print.
 */
enum place {
    EXCEPTION = 1,              /* the exception that ended Python: its class, and its message */
    TERMINATE = 2,              /* C++'s terminate () */
    FATAL = 4,                  /* the last line, by which a C++ logger aborts */
    LOADER = 8,                 /* the last line, by which ld.so ends */
};

/* clang-format off */
static const struct pattern {
    unsigned int places;
    /* No pointers, which each process would have to relocate. */
    char class[24];             /* of the exception, without its modules; "": any */
    char words[56], more[40];   /* both are there; "": nothing more */
    enum cause_kind kind;
} patterns[] = {
    /* run: a list under ulimit -v; numpy.ones () */
    { EXCEPTION, "MemoryError", "", "", CAUSE_MEMORY },
    { EXCEPTION, "_ArrayMemoryError", "Unable to allocate ", "", CAUSE_MEMORY },
    /* run: torch.empty () */
    { EXCEPTION, "RuntimeError", "DefaultCPUAllocator: can't allocate memory", "", CAUSE_MEMORY },
    /* run: tf.zeros (), and in a tf.function */
    { EXCEPTION, "ResourceExhaustedError", "OOM when allocating tensor", " by allocator mklcpu",
      CAUSE_MEMORY },
    { EXCEPTION, "ResourceExhaustedError", "OOM when allocating tensor", " by allocator cpu",
      CAUSE_MEMORY },
    /* the same with the allocator's other name, tensorflow/core/common_runtime/gpu/gpu_bfc_allocator.cc */
    { EXCEPTION, "ResourceExhaustedError", "OOM when allocating tensor", " by allocator GPU_",
      CAUSE_DEVICE_MEMORY },
    /* run: jax.numpy.zeros (); github.com/google-deepmind/jaxline/issues/11; "Xla..." before JAX 0.5 */
    { EXCEPTION, "JaxRuntimeError", "RESOURCE_EXHAUSTED: Out of memory", "", CAUSE_DEVICE_MEMORY },
    { EXCEPTION, "XlaRuntimeError", "RESOURCE_EXHAUSTED: Out of memory", "", CAUSE_DEVICE_MEMORY },
    /* github.com/kingoflolz/mesh-transformer-jax/issues/209 */
    { EXCEPTION, "", "RESOURCE_EXHAUSTED: Failed to allocate request for ", " on device ordinal ",
      CAUSE_DEVICE_MEMORY },
    /* github.com/carolchenyx/MGFN./issues/35; before 1.13 github.com/singhsourabh/Resume-NER/issues/4 */
    { EXCEPTION, "OutOfMemoryError", "CUDA out of memory.", "", CAUSE_DEVICE_MEMORY },
    { EXCEPTION, "RuntimeError", "CUDA out of memory.", "", CAUSE_DEVICE_MEMORY },
    /* not of PyTorch's allocator: github.com/deepbeepmeep/Wan2GP/issues/1083, taohan10200/IIM/issues/28 */
    { EXCEPTION, "", "CUDA error: out of memory", "", CAUSE_DEVICE_MEMORY },
    /* with NCCL's text of CUDA's error; github.com/NVIDIA/nccl/issues/1410 has another error */
    { EXCEPTION, "", "unhandled cuda error", "'out of memory'", CAUSE_DEVICE_MEMORY },
    /* run: std::vector */
    { TERMINATE, "", "'std::bad_alloc'", "", CAUSE_MEMORY },

    /* run: write (), Keras' save () and save_weights () */
    { EXCEPTION, "OSError", "[Errno 28] ", "", CAUSE_SPACE },
    /* run: tf.train.Checkpoint */
    { EXCEPTION, "ResourceExhaustedError", "; No space left on device", "", CAUSE_SPACE },
    /* the same error of the kernel, errno (3) */
    { EXCEPTION, "OSError", "[Errno 122] ", "", CAUSE_QUOTA },
    { EXCEPTION, "", "; Disk quota exceeded", "", CAUSE_QUOTA },

    /* run: bind () */
    { EXCEPTION, "OSError", "[Errno 98] ", "", CAUSE_PORT_IN_USE },
    /* run: init_process_group (); github.com/meta-pytorch/torchtune/issues/1025,
       vllm-project/vllm/issues/39015 */
    { EXCEPTION, "RuntimeError", "failed to listen on any", "(errno: 98 - ", CAUSE_PORT_IN_USE },
    { EXCEPTION, "DistNetworkError", "failed to listen on any", "(errno: 98 - ", CAUSE_PORT_IN_USE },
    { EXCEPTION, "DistNetworkError", "failed to listen on any", "name: EADDRINUSE", CAUSE_PORT_IN_USE },
    /* run: tf.distribute.Server; jax.distributed.initialize () */
    { EXCEPTION, "UnknownError", "Could not start gRPC server", "", CAUSE_PORT },
    { EXCEPTION, "JaxRuntimeError", "Failed to start RPC server", "", CAUSE_PORT },

    /* run: read (), tf.data.TFRecordDataset */
    { EXCEPTION, "OSError", "[Errno 116] ", "", CAUSE_STALE },
    { EXCEPTION, "AbortedError", "; Stale file handle", "", CAUSE_STALE },
    /* run: write (), tf.train.Checkpoint */
    { EXCEPTION, "OSError", "[Errno 5] ", "", CAUSE_IO },
    { EXCEPTION, "UnknownError", "; Input/output error", "", CAUSE_IO },

    /* run: import of an extension; the same of ctypes; a program of C */
    { EXCEPTION, "ImportError", ": cannot open shared object file", "", CAUSE_LIBRARY },
    { EXCEPTION, "OSError", ": cannot open shared object file", "", CAUSE_LIBRARY },
    /* run: import of PyTorch 2.11, whose CUDA libraries are missing */
    { EXCEPTION, "ValueError", " not found in the system path ", "", CAUSE_LIBRARY },
    { LOADER, "", ": error while loading shared libraries: ", ": cannot open shared object file",
      CAUSE_LIBRARY },
    /* run: import */
    { EXCEPTION, "ModuleNotFoundError", "No module named '", "", CAUSE_MODULE },

    /* run: init_process_group () */
    { EXCEPTION, "ValueError", " env:// rendezvous: environment variable ", " expected, but not set",
      CAUSE_VARIABLES },

    /* github.com/huggingface/trl/issues/4149 and jade-hpc-gpu/jade-hpc-gpu.github.io/issues/194 */
    { EXCEPTION | TERMINATE, "", "CUDA error: uncorrectable ECC error encountered", "", CAUSE_GPU },
    /* github.com/nagadit/DeepFaceLab_Linux/issues/89 */
    { EXCEPTION | FATAL, "", "CUDA_ERROR_ECC_UNCORRECTABLE: ", "", CAUSE_GPU },
    /* github.com/rossumai/nvgpu/issues/6 */
    { EXCEPTION, "NVMLError_GpuIsLost", "GPU is lost", "", CAUSE_GPU },

    /* what cudaGetErrorString () says of a kernel: github.com/ModelTC/LightX2V/issues/480; of NCCL's thread
       InternLM/lmdeploy/issues/3258, JAX jax-ml/jax/issues/25002, Triton vllm-project/vllm/issues/17098 */
    { EXCEPTION | TERMINATE, "", "an illegal memory access was encountered", "", CAUSE_KERNEL },
    { EXCEPTION | TERMINATE, "", "device-side assert triggered", "", CAUSE_KERNEL },
    { EXCEPTION | TERMINATE, "", "CUDA error: misaligned address", "", CAUSE_KERNEL },
    { EXCEPTION | TERMINATE, "", "CUDA error: unspecified launch failure", "", CAUSE_KERNEL },
};
/* clang-format on */

/* Where to look. */

#define WHAT "  what():  "

/*
 * "terminate called after throwing an instance of 'std::bad_alloc'", and what () it says, to which words
 * end.
 */
static bool _find_terminate (struct text log, struct text *words)
{
    struct text line, rest = log;
    bool found = false;

    while (text_take_line (&rest, &line))
        if (text_begins (line, "terminate called after throwing an instance of ")) {
            *words = line;
            found = true;
            if (text_take_line (&rest, &line) && text_begins (line, WHAT))
                words->end = line.end;
        }
    return found;
}

static bool _find_last_line (struct text log, struct text *last)
{
    struct text line;
    bool found = false;

    while (text_take_line (&log, &line))
        if (text_length (line) > 0) {
            *last = line;
            found = true;
        }
    return found;
}

/* What it is about. */

/* The library's name is what is in front of the words, the module's what is behind. */
static void _set_detail (struct cause *cause, const struct pattern *pattern, struct text words)
{
    const char *at, *end;

    if (!*pattern->words || (cause->kind != CAUSE_LIBRARY && cause->kind != CAUSE_MODULE))
        return;
    at = end = text_find (words, pattern->words);
    if (cause->kind == CAUSE_MODULE) {
        at += strlen (pattern->words);
        for (end = at; end < words.end && *end != '\'' && *end != '\n';)
            end++;
    } else if (*pattern->more) {
        at += strlen (pattern->words);
        end = text_find ((struct text){ at, words.end }, pattern->more);
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

        if (!(p->places & place) || (*p->class && !text_is (exception_class (words), p->class))
            || (*p->words && !text_find (words, p->words)) || (*p->more && !text_find (words, p->more)))
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

/*
 * Python ends with 1 by an exception, and a library may abort it then. What libraries print on the way does
 * not matter.
 */
static bool _has_ended (const struct exception *exception, const struct exit_report *report)
{
    if (_is_aborted (report) || (report->kind == EXIT_REPORT_EXIT && report->number == 1))
        return true;
    return !exception->followed && report->kind == EXIT_REPORT_EXIT;
}

static struct cause _without_python (const struct exit_report *report, struct text log, struct text *said)
{
    struct text words;
    struct cause cause = { .kind = CAUSE_NONE };
    const char *what;

    if (_is_aborted (report) && _find_terminate (log, &words)) {
        cause = _match (TERMINATE, words);
        if (cause.kind == CAUSE_NONE && exception_says_lost (words))
            cause.kind = CAUSE_CONNECTION;
        if ((what = text_find (words, WHAT)))
            *said = (struct text){ what + strlen (WHAT), words.end };
    } else if (_is_aborted (report) && _find_last_line (log, &words))
        cause = _match (FATAL, words);
    else if (report->kind == EXIT_REPORT_EXIT && report->number == 127 && _find_last_line (log, &words))
        cause = _match (LOADER, words);
    return cause;
}

struct cause find_cause (const struct exit_report *report, struct text log, struct exception *exception)
{
    struct exception python;
    struct cause cause;

    *exception = (struct exception){ .traceback = NULL };
    if (!exit_report_failed (report))
        return (struct cause){ .kind = CAUSE_NONE };
    cause = _without_python (report, log, &exception->text);
    if (!find_exception (log, &python) || !_has_ended (&python, report)
        || (cause.kind != CAUSE_NONE && cause.kind != CAUSE_CONNECTION))
        return cause;
    *exception = python;
    cause = _match (EXCEPTION, python.text);
    if (cause.kind == CAUSE_NONE && python.lost)
        cause.kind = CAUSE_CONNECTION;
    return cause;
}
