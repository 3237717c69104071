/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collectives of a program that may be done together with others: items, each a collective with
 * those that follow it directly, such as a reduce-scatter along one axis and the all-reduce of its
 * result along another. */
#ifndef MW_CODEGEN_PLAN_BUCKET_ITEMS_H
#define MW_CODEGEN_PLAN_BUCKET_ITEMS_H

#include "codegen/fuse/order.h"
#include "cost/cost.h"

/* Collectives of one key can be parts of one instruction. */
typedef struct {
    MwCollective kind;
    int axis;
    MwType type;
    const char *combine; /* attribute of the node; NULL: it does not combine */
} MwBucketKey;

typedef struct {
    int unit;
    int level;    /* the number of collectives of the item before it */
    int key;      /* index into MwBucketItems.keys */
    double bytes; /* of the larger of operand and result, per device */
} MwBucketCall;

typedef struct {
    MW_VEC(MwBucketCall) calls; /* ascending by level */
    double made_s; /* when its operand is there, in the time of the program that makes it */
    double used_s; /* when the program first reads what the item makes, or its end */
    double bytes;  /* of all calls */
} MwBucketItem;

typedef struct {
    MW_VEC(MwBucketItem) items;
    MW_VEC(MwBucketKey) keys;
    double end_s; /* seconds of the units of the program, without collectives */
    /* [units] the item of a collective; -1: none */
    int32_t *item_of;
} MwBucketItems;

/* The items of a phase: in the update, those whose operands earlier phases make; in others,
 * all-gathers of weights and states, or of what kernels make of these alone. The result is in
 * `arena`. */
MwBucketItems mw_bucket_items(MwArena *arena, const MwLegal *legal, const MwUnits *units,
                              const MwCostModel *model, const MwOrder *order, MwPhase phase);

/* Whether a unit is a collective that a bucket may have: all-reduce, all-gather or reduce-scatter
 * among several devices, not in a loop. */
bool mw_unit_may_join(const MwLegal *legal, const MwUnits *units, const MwCostModel *model,
                      int unit);
/* The key of a collective among those of `items`, to which it is added; an index. */
int mw_bucket_find_key(MwArena *arena, MwBucketItems *items, const MwLegal *legal,
                       const MwUnits *units, int unit);
/* Bytes of the larger of operand and result of a collective, per device. */
double mw_bucket_call_bytes(const MwLegal *legal, const MwUnits *units, int unit);

#endif
