/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much memory the stages of a mesh spend to save time. Each goes through legalize, fusion,
 * order and storage, and its kernels are lowered; with less and less that takes memory to save
 * time, until the mesh fits the memory of a device.
 *
 * The graphs and units are formed once with copies and once without, and an order is found up to
 * seven times, each in time and memory that grow with the units of the stages. */
#ifndef MW_CODEGEN_PLAN_SPENDING_H
#define MW_CODEGEN_PLAN_SPENDING_H

#include "codegen/plan/stage.h"

typedef struct {
    MwArena *work;           /* of legal graphs, units and storage */
    MwStageBuilder **stages; /* [count] of the mesh, of which the compilation is known */
    int count;
    MwKernelPool *pool;
    bool overlaps;       /* the device runs collectives beside kernels */
    int64_t limit_bytes; /* of a device; 0: none */
} MwSpendQuery;

typedef struct {
    /* with its places, in `work`; of more bytes than the limit where nothing fits */
    const MwMeshStorage *storage;
    /* that a device needs with collectives beside kernels, where these do not fit; 0: they do */
    int64_t wanted_bytes;
} MwSpent;

/* Gives the stages their legal graphs, units, orders, memory and calls of kernels. */
MwSpent mw_spend_memory(const MwSpendQuery *query);

#endif
