/* SPDX-License-Identifier: MIT */
/* The parts of mw_plan_check. Each returns nothing: what is wrong goes to the diagnostics, and a
 * part may rely on the parts before it having found nothing. */
#ifndef MW_RUNTIME_CHECK_CHECK_H
#define MW_RUNTIME_CHECK_CHECK_H

#include "runtime/plan/plan.h"

typedef struct {
    const MwPlan *plan;
    const MwPlanMesh *mesh;
    MwDiags *diags;
    MwArena *arena; /* for as long as the check takes */
    /* Where errors are, as they say it: "mesh 0, program forward, instruction 3 (gemm)". */
    const char *place;
} MwCheck;

/* What the plan calls something. */
typedef struct {
    const char *kind, *name;
} MwCheckLabel;

void mw_check_error(const MwCheck *check, const char *format, ...) MW_PRINTF(2, 3);

/* ---- Of the plan ---- */

/* Kernels, ranks and meshes. */
void mw_check_plan(const MwCheck *check);
/* What meshes have in common: transfers, and what stands on several. */
void mw_check_meshes(const MwCheck *check);
/* The instructions at both ends of every transfer. */
void mw_check_ends(const MwCheck *check);
/* The messages that make up every transfer. */
void mw_check_messages(const MwCheck *check);
/* No mesh waits for ever. */
void mw_check_traffic(const MwCheck *check);

/* ---- Of each mesh ---- */

/* Buffers, inputs, outputs, weights, the report: indices, shapes and places. */
void mw_check_mesh(const MwCheck *check);
/* `global`, split by `spec` over the mesh, fits the buffer: same type, as many elements, and no place
 * for more, which instructions would read and nothing would have written. */
void mw_check_data(const MwCheck *check, MwCheckLabel label, int buffer, const MwTensor *global,
                   MwSpec spec, bool may_be_partial);
/* Every instruction by itself. */
void mw_check_instrs(const MwCheck *check);
/* Which programs run on which micro-batches, and what uses the slots of buffers. */
void mw_check_tasks(const MwCheck *check);
/* What is read was written, and still is there, throughout two steps. */
void mw_check_schedule(const MwCheck *check);

#endif
