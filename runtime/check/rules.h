/* SPDX-License-Identifier: MIT */
/* The parts of mw_plan_check, in the order in which check.c runs them. A part reports what is wrong
 * to the diagnostics and returns nothing; it may rely on every part before it having found no
 * error. */
#ifndef MW_RUNTIME_CHECK_RULES_H
#define MW_RUNTIME_CHECK_RULES_H

#include "runtime/check/report.h"

/* ---- Parts that run once for the plan ---- */

/* Kernels, stages, micro-batches, and the ranks of the meshes (mesh.c). */
void mw_check_plan(const MwCheck *check);
/* Transfers, and the inputs, outputs, weights and metrics that several meshes have (meshes.c). */
void mw_check_meshes(const MwCheck *check);
/* The send and the receive instruction of every transfer (meshes.c). */
void mw_check_ends(const MwCheck *check);
/* The messages that make up every transfer (meshes.c). */
void mw_check_messages(const MwCheck *check);
/* The schedules of all meshes together end: no mesh waits for ever (traffic.c). */
void mw_check_traffic(const MwCheck *check);

/* ---- Parts that run for each mesh, check->mesh ---- */

/* Buffers, inputs, outputs, weights and operators: indices, shapes and offsets (mesh.c). */
void mw_check_mesh(const MwCheck *check);
/* Each instruction by itself (instrs.c). */
void mw_check_instrs(const MwCheck *check);
/* The micro-batches on which each program runs, and the slots that it uses (tasks.c). */
void mw_check_tasks(const MwCheck *check);
/* Two steps of tasks read only what was written and has not been overwritten (schedule.c). */
void mw_check_schedule(const MwCheck *check);

/* ---- A rule that several parts share ---- */

/* What an error calls the data: "input 'tokens'". */
typedef struct {
    const char *kind, *name;
} MwCheckLabel;

/* The data that a buffer of check->mesh is to hold. */
typedef struct {
    MwCheckLabel label;
    int buffer; /* index */
    const MwTensor *global;
    MwSpec spec;
    bool may_be_partial;
} MwCheckData;

/* The tensor, split by its spec over the mesh, fits its buffer: the same element type, as many
 * elements, and no room for more, since instructions could read that room and nothing would have
 * written it (mesh.c). */
void mw_check_data(const MwCheck *check, const MwCheckData *data);

#endif
