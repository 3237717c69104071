/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of building the part of a plan for one stage; the files that build a plan share it. */
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
    MwKernelCall *calls; /* [units] of those that are kernels */
    MwPlanMesh *mesh;
    int program[MW_PHASE_COUNT]; /* index of the stage's programs in those of the mesh; -1: none */
    MwPlanProgram update;        /* part of the update, which is one program for all stages */
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

/* These add the inputs, the outputs, the metrics and the weights of the stage to the mesh, whose
 * arrays have room. */
void mw_stage_builder_inputs(const MwStageBuilder *s);
void mw_stage_builder_outputs(const MwStageBuilder *s);
void mw_stage_builder_metrics(const MwStageBuilder *s);
void mw_stage_builder_weights(const MwStageBuilder *s);

/* Fills the instructions and the loops of the program of a phase, in arrays of their own.
 * `first_operator`: index of the first operator of the stage in the report. */
void mw_stage_builder_program(const MwStageBuilder *s, MwEmitter *emitter, int first_operator,
                              MwPhase phase, MwPlanProgram *program);

#endif
