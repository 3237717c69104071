/* SPDX-License-Identifier: MIT */
/* Times of instructions, as a Chrome trace (JSON; opens in chrome://tracing and Perfetto).
 * All functions do nothing where the trace is NULL. */
#ifndef MW_RUNTIME_EXEC_TRACE_H
#define MW_RUNTIME_EXEC_TRACE_H

#include "runtime/exec/fault.h"

typedef struct MwTrace MwTrace;

/* Rank 0's file is `path`, that of another rank `path`.RANK. NULL after a fault. */
MwTrace *mw_trace_open(const char *path, int rank, MwFault *fault);
void mw_trace_begin(MwTrace *trace);
/* The interval since mw_trace_begin was instruction `index` of `program`, on a micro-batch or -1. */
void mw_trace_end(MwTrace *trace, const char *name, const char *program, int index,
                  int micro_batch);
/* Completes the file. False after a fault: the file could not be written. */
bool mw_trace_close(MwTrace **trace, MwFault *fault);

#endif
