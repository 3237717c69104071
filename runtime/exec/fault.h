/* SPDX-License-Identifier: MIT */
/* A fault is a failure of the environment in a run: the call that failed and the cause. A function
 * that can fail takes an MwFault, sets it and returns false or NULL; runtime/run_state.c prints it
 * with the rank and ends all ranks. */
#ifndef MW_RUNTIME_EXEC_FAULT_H
#define MW_RUNTIME_EXEC_FAULT_H

#include "base/base.h"

typedef struct {
    char text[400];
    bool is_alone; /* of a collective function: other ranks may wait for this one in vain */
} MwFault;

/* Sets the text; a longer one is cut. Always returns false. */
bool mw_fault_set(MwFault *fault, const char *format, ...) MW_PRINTF(2, 3);
/* Inserts "TEXT: " before the present text. Always returns false. */
bool mw_fault_prefix(MwFault *fault, const char *format, ...) MW_PRINTF(2, 3);

#endif
