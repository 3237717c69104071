/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that build a plan share: one stage on its way into the section of its mesh. */
#ifndef MW_CODEGEN_PLAN_STAGE_H
#define MW_CODEGEN_PLAN_STAGE_H

#include "codegen/plan/instrs.h"
#include "passes/compilation.h"

typedef struct {
    MwArena *arena;
    const MwCompilation *compilation;
    int index; /* of the stage */
    const MwStage *stage;
    const MwLegal *legal;
    const MwUnits *units;
    MwFlight flight;
    MwOrder order;
    MwStorage storage;
    MwKernelDef **kernels; /* [units] NULL: not a kernel */
    MwPlanMesh *mesh;
    int program[MW_PHASE_COUNT]; /* its programs, among those of the mesh; -1: none */
    MwPlanProgram update;        /* its part of that of the mesh, which is one for all stages */
} MwStageBuilder;

static inline const MwGraph *mw_stage_builder_graph(const MwStageBuilder *s)
{
    return s->legal->graph;
}

static inline int mw_stage_builder_buffer(const MwStageBuilder *s, MwValueId legal_value)
{
    int buffer = s->storage.buffer[mw_legal_root(s->legal, legal_value).index];
    MW_ASSERT(buffer >= 0);
    return buffer;
}

/* Add to the mesh, whose arrays have room, what goes into the stage and comes out of it. */
void mw_stage_builder_inputs(const MwStageBuilder *s);
void mw_stage_builder_outputs(const MwStageBuilder *s);
void mw_stage_builder_weights(const MwStageBuilder *s);

#endif
