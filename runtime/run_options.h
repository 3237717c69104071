/* SPDX-License-Identifier: MIT */
/* The command line of a run. */
#ifndef MW_RUNTIME_RUN_OPTIONS_H
#define MW_RUNTIME_RUN_OPTIONS_H

#include "base/vec.h"

#include <stdio.h>

typedef MW_VEC(const char *) MwRunTexts;

typedef struct {
    MwRunTexts feeds, outputs, eval_feeds, weights;
    int64_t steps;            /* -1: not given */
    int64_t epochs;           /* 0: not given */
    int64_t eval_every;       /* steps between evaluations; 0: none */
    int64_t eval_steps;       /* of an evaluation; 0: the whole batches of its data */
    int64_t stop_after_evals; /* evaluations without a lower loss that end the run; 0: it goes on */
    int64_t seed;             /* -1: not given */
    int threads;              /* of each rank */
    const char *log, *tensorboard, *trace, *checkpoint, *resume;
    const char *host_folder;  /* for files that stand for the host's memory; NULL: a usual one */
    const char *map;          /* of the names in files of weights; NULL: names are the model's */
    const char *missing;      /* what to do about weights that the files lack: "init" or "error" */
    const char *transport;    /* transport between devices; NULL: the best that they support */
    int64_t timeout_s;        /* how long a rank waits for the devices of others */
    int64_t output_every;     /* steps between files of outputs; 0: one file of all steps */
    int64_t checkpoint_every; /* steps between checkpoints; 0: only one at the end */
    bool shuffle;             /* rows of files are taken in another order in each epoch */
    bool rounded_sums;        /* of floats of 16 bits: rounded at every device */
    bool no_shared_memory, no_graphs, no_tuning, print_plan, check, version, help;
} MwRunOptions;

/* Sets defaults, then reads the arguments. Returns NULL, or a message, in `arena`, that says what
 * is wrong with them. */
const char *mw_run_options(MwArena *arena, int argc, char **argv, MwRunOptions *options);
void mw_run_help(FILE *out, const char *program);

#endif
