/* SPDX-License-Identifier: MIT */
/* The distinct collectives of a plan. A transport does each once before the first step, so that it
 * has connected whatever they need. */
#ifndef MW_RUNTIME_EXEC_EXCHANGES_H
#define MW_RUNTIME_EXEC_EXCHANGES_H

#include "base/vec.h"
#include "runtime/plan/collective.h"
#include "runtime/plan/plan.h"

typedef MW_VEC(MwExchange) MwExchanges;

/* A part of a collective instruction. */
MwExchange mw_exchange_of_part(const MwPlanInstr *instr, int part, const void *source,
                               void *destination);
/* Adds the collectives of the mesh, in the order of its programs, that differ in more than their
 * buffers from those that are there. Collectives of groups of one are left out. `memory` is the
 * device's arena. */
void mw_exchanges_add(MwArena *arena, MwExchanges *exchanges, const MwPlanMesh *mesh, char *memory);

#endif
