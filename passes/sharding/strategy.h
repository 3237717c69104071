/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A strategy: a way of running a node on a mesh.
 *
 * It gives each mesh axis one role: it splits a factor of the node's sharding rule; or it splits
 * two, of which one goes round its devices (ring.h); or it carries partial sums through, where the
 * operator is linear; or the devices along it replicate the work. A strategy fixes the spec of each
 * operand and result of the node, and whether devices have mirrored halves of a factor (mirror.h).
 */
#ifndef MW_PASSES_SHARDING_STRATEGY_H
#define MW_PASSES_SHARDING_STRATEGY_H

#include "cost/cost.h"

/* An axis along whose devices the blocks of a factor go round (MwShardingRule.ring). */
typedef struct {
    int axis;
    int ways;                   /* devices along the axis; 1: there is no ring */
    uint32_t operands, results; /* bit k: operand or result k goes round */
    MwWork block;               /* the most work that one block is */
} MwRing;

/* Axes that split an uneven factor, and along which devices have mirrored halves (mirror.h). */
typedef struct {
    MwAxes axes; /* 0: devices keep their blocks */
    MwWork half; /* mw_cost_half_work */
} MwMirror;

typedef struct {
    const MwSpec *operands; /* [operand_count] */
    /* [result_count]; partial over the axes of split factors that the result lacks, save the
     * normaliser */
    const MwSpec *results;
    /* The normaliser of the node (MwShardingRule), and its spec before the node combines it:
     * partial over axes of split factors that it lacks. */
    int normaliser; /* a result; -1: there is none */
    MwSpec parts;
    MwRing ring;
    MwMirror mirror;
    MwWork work;         /* of one device (mw_cost_node_work) */
    int replicated_axes; /* mesh axes of more than one device along which the work is replicated */
} MwStrategy;

#endif
