/* SPDX-License-Identifier: MIT */
/* The endpoints of one rank in a run: they post messages and wait for them as
 * runtime/plan/traffic.h defines. All requests are initialized once; nothing is allocated in a
 * step. */
#ifndef MW_RUNTIME_EXEC_ENDPOINTS_H
#define MW_RUNTIME_EXEC_ENDPOINTS_H

#include "runtime/exec/transport.h"
#include "runtime/plan/traffic.h"

typedef struct MwEndpoints MwEndpoints;

/* `memory` is the arena of the rank's device. NULL after a fault. */
MwEndpoints *mw_endpoints_new(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                              MwDevice *device, MwTransport *transport, char *memory,
                              MwFault *fault);
const MwTraffic *mw_endpoints_traffic(const MwEndpoints *endpoints);

bool mw_endpoints_begin_step(MwEndpoints *endpoints, MwFault *fault);
/* Does one operation of a task's traffic; `micro_batch` is the task's. */
bool mw_endpoints_do(MwEndpoints *endpoints, const MwTrafficOp *op, int micro_batch,
                     MwFault *fault);
/* Called after each instruction and graph: lets the messages in flight make progress, unless the
 * device captures. */
bool mw_endpoints_progress(MwEndpoints *endpoints, MwFault *fault);
/* Called when a task is done and its outputs are taken: posts the receives that its slots were in
 * the way of. */
bool mw_endpoints_end_task(MwEndpoints *endpoints, const MwPlanTask *task, MwFault *fault);
/* Waits for all messages of the step. */
bool mw_endpoints_end_step(MwEndpoints *endpoints, MwFault *fault);

#endif
