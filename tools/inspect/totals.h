/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures that every format of `inspect` shows, derived from the plan, and their texts. */
#ifndef MW_TOOLS_INSPECT_TOTALS_H
#define MW_TOOLS_INSPECT_TOTALS_H

#include "base/quantity.h"
#include "ir/ir.h"
#include "runtime/plan/plan.h"

/* Sums over one mesh. */
typedef struct {
    int64_t weight_bytes, state_bytes, input_bytes, other_bytes; /* of the arena, per device */
    int64_t kept_bytes;         /* weights and states on the host, per device */
    int64_t communicated_bytes; /* per device and step */
    int collective_count;       /* per step */
} MwInspectTotals;

MwInspectTotals mw_inspect_totals(const MwPlanMesh *mesh);

/* Whether a state is the copy that the device has of a weight on the host: it counts as a
 * weight. */
bool mw_inspect_is_working_copy(const MwPlanMesh *mesh, const MwPlanWeight *state);

/* The collectives of one kind on one axis of the mesh in a step. */
typedef struct {
    int count;     /* that operators need */
    int64_t bytes; /* per device, of the larger side */
    double time_s; /* if each is done by itself */
    int calls;     /* instructions that do them, of which one may do many together */
    double calls_s;
} MwInspectSum;

MwInspectSum mw_inspect_sum_collectives(const MwPlanMesh *mesh, MwCollective kind, int axis);

/* Seconds that the instructions of a phase take in a step, each by itself. */
typedef struct {
    double kernel_s, routine_s, collective_s;
} MwInspectWork;

MwInspectWork mw_inspect_work(const MwPlanMesh *mesh, MwPhase phase);

/* (objective - bound) / objective; 0 where both are 0. */
double mw_inspect_gap(const MwPlanCosts *costs);

/* The optimizer state of `weight` that is sharded most; NULL if it has none. */
const MwPlanWeight *mw_inspect_state_of(const MwPlanMesh *mesh, const MwPlanWeight *weight);

/* A dimension that the devices hold more of than the model has. */
typedef struct {
    const char *kind, *name; /* "input", "weight" or "output" */
    int dim;
    int64_t size, padded; /* elements */
} MwInspectPadding;

/* The padded dimensions of the inputs, weights and outputs of a mesh, in `arena`; sets *count. */
MwInspectPadding *mw_inspect_paddings(MwArena *arena, const MwPlanMesh *mesh, int *count);

/* The collectives of an operator, in `arena`: "all_gather/1 2.1 MB, ring_shift/0 4.1 kB (x6)" with
 * ", " between them. */
const char *mw_inspect_collectives(MwArena *arena, const MwPlanOperator *op, const char *separator);

/* Texts in `arena`: "[S0, R]"; "f32[8, 128]". */
const char *mw_spec_string(MwArena *arena, MwSpec spec, int rank);
const char *mw_tensor_string(MwArena *arena, const MwTensor *tensor);

#endif
