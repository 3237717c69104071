/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the memory of a device holds, by kinds, where most of it is live. */
#ifndef MW_TOOLS_WHAT_IF_KINDS_H
#define MW_TOOLS_WHAT_IF_KINDS_H

#include "runtime/plan/plan.h"

/* Bytes of one device; together they are the arena. */
typedef struct {
    int64_t weights;     /* with their copies in shorter types */
    int64_t states;      /* of the optimizer */
    int64_t gradients;   /* of weights: sums over micro-batches, and those that are live */
    int64_t activations; /* all else that is live, with inputs */
    int64_t buffers;     /* results of collectives that are live, and gaps between what is live */
} MwMemoryKinds;

/* Of the point of a step at which most is live; `arena` is for the work. */
MwMemoryKinds mw_memory_kinds(MwArena *arena, const MwPlanMesh *mesh);

#endif
