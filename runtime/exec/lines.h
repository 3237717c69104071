/* SPDX-License-Identifier: MIT */
/* The transfers of one rank at work: its messages are posted and waited for as traffic.h says. All
 * is made ready once; nothing is allocated in a step. */
#ifndef MW_RUNTIME_EXEC_LINES_H
#define MW_RUNTIME_EXEC_LINES_H

#include "runtime/exec/transport.h"
#include "runtime/plan/traffic.h"

typedef struct MwLines MwLines;

/* `memory` is the arena of the rank's device. NULL after a fault. */
MwLines *mw_lines_new(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh, MwDevice *device,
                      MwTransport *transport, char *memory, MwFault *fault);
const MwTraffic *mw_lines_traffic(const MwLines *lines);

bool mw_lines_begin_step(MwLines *lines, MwFault *fault);
/* Waits, sends or receives, in a task of a micro-batch. */
bool mw_lines_do(MwLines *lines, const MwTrafficEvent *event, int micro_batch, MwFault *fault);
/* Between instructions: goes on with what is under way. */
bool mw_lines_progress(MwLines *lines, MwFault *fault);
/* A task is done, and its outputs are taken. */
bool mw_lines_end_task(MwLines *lines, const MwPlanTask *task, MwFault *fault);
bool mw_lines_end_step(MwLines *lines, MwFault *fault);

#endif
