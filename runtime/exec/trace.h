/* SPDX-License-Identifier: MIT */
/* The times of instructions as a Chrome trace: JSON that chrome://tracing and Perfetto open. Every
 * function does nothing if the trace is NULL. */
#ifndef MW_RUNTIME_EXEC_TRACE_H
#define MW_RUNTIME_EXEC_TRACE_H

#include "runtime/exec/fault.h"

typedef struct MwTrace MwTrace;

/* Creates `path` on rank 0, and `path`.RANK on other ranks. NULL after a fault. */
MwTrace *mw_trace_open(const char *path, int rank, MwFault *fault);
void mw_trace_begin(MwTrace *trace);
/* Records the interval since mw_trace_begin: instruction `index` of `program` on a micro-batch; -1:
 * none. */
void mw_trace_end(MwTrace *trace, const char *name, const char *program, int index,
                  int micro_batch);
/* Completes the file. False after a fault: it could not be written. */
bool mw_trace_close(MwTrace **trace, MwFault *fault);

#endif
