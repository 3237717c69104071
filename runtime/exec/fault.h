/* SPDX-License-Identifier: MIT */
/* A failure of the environment while a plan runs: what was called and why it failed. Functions that
 * can fail take one, set it and return false or NULL; the run shows it with the rank and ends all
 * ranks. */
#ifndef MW_RUNTIME_EXEC_FAULT_H
#define MW_RUNTIME_EXEC_FAULT_H

#include "base/base.h"

typedef struct {
    char text[400];
} MwFault;

/* Sets the text, cut where it is too long. Always false. */
bool mw_fault_set(MwFault *fault, const char *format, ...) MW_PRINTF(2, 3);
/* Puts "TEXT: " before what is there. Always false. */
bool mw_fault_prefix(MwFault *fault, const char *format, ...) MW_PRINTF(2, 3);

#endif
