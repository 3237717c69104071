/* SPDX-License-Identifier: MIT */
/* A run on one rank: what it has, and how its ranks agree and end. */
#ifndef MW_RUNTIME_RUN_STATE_H
#define MW_RUNTIME_RUN_STATE_H

#include "runtime/backend.h"
#include "runtime/data/outputs.h"
#include "runtime/evaluation.h"
#include "runtime/exec/executor.h"
#include "runtime/feed/ahead.h"
#include "runtime/feed/feed.h"
#include "runtime/progress.h"
#include "runtime/run_options.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/initial.h"

typedef struct {
    MwArena *arena;
    const MwPlan *plan;
    const MwKernelEntry *kernels;
    const MwBackend *const *backends; /* of the program */
    const MwBackend *backend;         /* of the plan; NULL: the program has none */
    const char *program;              /* what stands before the options */
    int argc;                         /* the options are argv[1] ... */
    char **argv;
    MwRunOptions options;
    MwTransport *transport;
    MwDevice *device;
    MwExecutor *executor;
    MwFeeds *feeds;
    MwAhead *ahead;           /* reads them */
    MwEvaluation *evaluation; /* NULL: the run has none */
    double best_loss;         /* the lowest of all evaluations */
    int64_t best_step, evals_since_best;
    MwOutputs *outputs;
    MwTrace *trace;
    MwProgress *progress;      /* on rank 0 */
    MwCheckpoint resume;       /* what the run goes on from; step 0: nothing */
    MwInitialWeights *initial; /* NULL: weights begin as the model says */
    MwSaver *saver;            /* NULL: the run is not saved */
    bool warned_uncaptured;    /* of steps that are no graphs */
    uint64_t seed;
    int64_t step; /* the last that was done */
    int64_t rows; /* that outputs have, where the run ends with its data; 0: those of all batches */
} MwRunState;

/* Exit statuses, besides 0. */
enum { MW_RUN_FAULT = 1, MW_RUN_USAGE = 2, MW_RUN_INTERRUPTED = 130 };

/* False on every rank if `good` is false on one; the first such rank's fault is then printed.
 * Collective over all ranks. */
bool mw_run_agree(MwRunState *run, bool good, const MwFault *fault);
/* Ends all ranks, after a fault in the step; -1: in none. Ranks that meet the same fault at once
 * leave the message to the lowest. */
MW_NORETURN void mw_run_end_all(MwRunState *run, int64_t step, const MwFault *fault);

#endif
