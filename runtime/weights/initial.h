/* SPDX-License-Identifier: MIT */
/* Weights that a run begins with, from safetensors files: under the names of the model, or by a map
 * of names. States of optimizers begin as always. Memory grows with the numbers of weights and of
 * tensors. */
#ifndef MW_RUNTIME_WEIGHTS_INITIAL_H
#define MW_RUNTIME_WEIGHTS_INITIAL_H

#include "runtime/weights/checkpoint.h"
#include "runtime/weights/weight_files.h"

#include <stdio.h>

typedef struct MwInitialWeights MwInitialWeights;

typedef struct {
    MwWeightFilesOptions files;
    bool may_miss; /* weights that the files lack begin as the model says; else they are a fault */
} MwInitialOptions;

/* Reads the map and the names of tensors. NULL after a fault. */
MwInitialWeights *mw_initial_weights_open(MwArena *arena, const MwPlan *plan,
                                          const MwInitialOptions *options, MwFault *fault);
/* Compares the shapes of all weights with the files, and writes to `notes` which begin as the model
 * says, and which tensors no weight takes. A fault names what is missing or does not fit first. */
bool mw_initial_weights_check(MwInitialWeights *initial, FILE *notes, MwFault *fault);
/* Sets the weights of this rank. */
bool mw_initial_weights_load(MwInitialWeights *initial, const MwCheckpointRun *run, MwFault *fault);
void mw_initial_weights_close(MwInitialWeights **initial);

#endif
