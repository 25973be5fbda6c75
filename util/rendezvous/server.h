/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The state that the parts of tf-rendezvous share: its configuration and the main loop
 * (tf-rendezvous.c), the launch (launch.c), the supervisors (supervisors.c).
 */
#ifndef TF_SERVER_H
#define TF_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "addresses/host.h"
#include "common/deadline.h"
#include "pace.h"
#include "peers.h"
#include "protocol/contact.h"
#include "protocol/frame.h"
#include "protocol/rendezvous_config.h"
#include "protocol/slurm_job.h"
#include "step.h"

/* Descriptors besides the connections of ranks. */
#define SERVER_OWN_FILES 32
/* ... of which strangers get none of so many, so that master.log and other programs find some. */
#define SERVER_KEPT_FILES 24

struct job;
struct journal;
struct restart_lines;
struct wire;

/* tf-status asks (asked.h). */
struct asked {
    int listener; /* -1: there is none */
    pid_t child; /* 0: none */
    int end; /* end-of-file when it has ended */
    struct deadline again; /* when to listen again; or never: it listens, or the child runs */
};

/* Slurm is asked (requeuer.h). */
struct requeuer {
    struct frame_reader reader; /* of the child's answer, */
    int fd;                     /* ... which comes here; -1: there is no child */
    pid_t child;                /* not waited for yet; or 0 */
    bool acts;                  /* it requeues the job */
    struct frame *answer;       /* to what was asked last; or NULL */
    struct deadline patience;   /* then nothing waits for that any more */
    struct deadline written;    /* ... for what was printed, */
    struct deadline notified;   /* ... and for the last event's programs */
    bool wanted;                /* the job is to be requeued, */
    struct past_runs runs;      /* ... with these in its comment, */
    char nodes[4096];           /* ... without these nodes: "n3,n4" */
};

struct server {
    struct rendezvous_config config;    /* its strings are in: */
    struct frame *config_frame;
    struct peers peers;
    int limit;                          /* open files that this process may have */
    pid_t srun;
    struct host host;                   /* this one */
    struct step *step;
    bool resolved;                      /* the launch is complete: every rank gets its answer */
    bool refused;                       /* the launch has failed: every rank is refused */
    bool strangers; /* came for a rank from elsewhere, and srun has said so */
    struct deadline deadline;           /* of the launch */
    struct deadline notice;             /* when to print which ranks are missing */
    struct deadline lost_deadline;      /* when ranks that were lost make the launch fail, or are
                                           reported if it is complete */
    struct deadline srun_deadline;      /* when to end an srun that outlives a refused launch */
    int64_t now; /* of this turn of the loop (job/moment.h) */
    int64_t asked_heard; /* when the kernel was asked when hosts were heard */
    struct job *job; /* NULL if no task is supervised */
    struct restart_lines *lines; /* likewise */
    struct pace pace; /* of the job */
    struct asked asked;
    struct requeuer requeuer;
    struct journal *journal; /* or NULL */
    struct deadline revived; /* when to say that this is not the first tf-rendezvous */
    struct wire *wire; /* what the job knows of each rank's link; or NULL */
    bool timed; /* the job knows what time it is since its last input */
    int64_t leaves_due; /* a supervisor is to leave when what was told before is written, or then; or NEVER */
};

#endif
