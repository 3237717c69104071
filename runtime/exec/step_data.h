/* SPDX-License-Identifier: MIT */
/* What a step takes in and gives out, as who runs it sees that. */
#ifndef MW_RUNTIME_EXEC_STEP_DATA_H
#define MW_RUNTIME_EXEC_STEP_DATA_H

#include "runtime/exec/fault.h"
#include "runtime/plan/box.h"

/* The source of inputs and the destination of outputs. */
typedef struct {
    void *context;
    /* Writes the elements of `box` of an input of `step` to `to`, and zeros to its padding. */
    bool (*input)(void *context, int input, int64_t step, const MwBox *box, void *to,
                  MwFault *fault);
    /* Takes the elements of `box` of an output at `from`. `is_first`: no device of lower rank holds
     * the same box. NULL: outputs are not wanted. */
    bool (*output)(void *context, int output, int64_t step, const MwBox *box, bool is_first,
                   const void *from, MwFault *fault);
} MwExecutorData;

/* A part of an input that each step asks MwExecutorData.input for. */
typedef struct {
    int input; /* index into the inputs of the mesh */
    MwBox box;
} MwInputBox;

#endif
