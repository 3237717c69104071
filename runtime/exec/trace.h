/* SPDX-License-Identifier: MIT */
/* The times of a run as a Chrome trace, JSON that Perfetto and chrome://tracing open: a row for
 * each rank, in which steps contain tasks and tasks contain instructions, and counters of memory
 * and communication.
 *
 * Each rank writes a file of its own, with an event a line, and at the end rank 0 puts them
 * together. Of a run that is killed the files of the ranks stay: each is a trace without its end,
 * which Perfetto reads, too. Times are those of CLOCK_REALTIME, so that ranks of one machine have
 * one clock. Functions without a result do nothing if the trace is NULL. */
#ifndef MW_RUNTIME_EXEC_TRACE_H
#define MW_RUNTIME_EXEC_TRACE_H

#include "runtime/exec/transport.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/traffic.h"

typedef struct MwTrace MwTrace;

/* Creates the file of a rank, `path`.rankR. NULL after a fault. */
MwTrace *mw_trace_open(MwArena *arena, const char *path, const MwPlan *plan, int rank,
                       MwFault *fault);

void mw_trace_begin_step(MwTrace *trace, int64_t step);
void mw_trace_end_step(MwTrace *trace);
/* Tasks are those of the rank's mesh in the plan of mw_trace_open. */
void mw_trace_begin_task(MwTrace *trace);
void mw_trace_end_task(MwTrace *trace, const MwPlanTask *task);

/* The operation that follows begins; what ends it says which it was: an instruction; sending,
 * receiving or waiting at an instruction, or before the first (-1), for transfer `transfer`;
 * filling the inputs of a task. */
void mw_trace_begin(MwTrace *trace);
void mw_trace_end_instr(MwTrace *trace, const MwPlanTask *task, int instr);
void mw_trace_end_traffic(MwTrace *trace, const MwPlanTask *task, const MwTrafficOp *op,
                          int transfer);
void mw_trace_end_inputs(MwTrace *trace, const MwPlanTask *task);

/* Rank 0 writes the events of all ranks to `path`. Collective over all ranks, all of which have a
 * trace. False after a fault of this rank; the files of the ranks are still there. */
bool mw_trace_join(MwTrace *trace, MwTransport *transport, MwFault *fault);
/* Closes the file of the rank, and deletes it unless `keeps`. */
void mw_trace_close(MwTrace **trace, bool keeps);

#endif
