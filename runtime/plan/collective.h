/* SPDX-License-Identifier: MIT */
/* One collective on the group of devices that differ in one mesh axis: sizes and combining.
 *
 * Block i of a tensor is the i-th of `ways` equal pieces; member i is the device with coordinate i
 * on the axis. Sums are taken in order of member, in f32 for bf16, so that every member, and every
 * way of moving the data, gives the same bits. */
#ifndef MW_RUNTIME_PLAN_COLLECTIVE_H
#define MW_RUNTIME_PLAN_COLLECTIVE_H

#include "base/spec.h"

typedef struct {
    MwCollective kind;
    int axis;
    MwType type;
    MwCombine combine;
    int64_t count; /* elements of the source */
    const void *source;
    void *destination; /* may be the source if mw_collective_in_place(kind), else apart */
} MwExchange;

/* Elements of the destination. False if `count` does not divide as the collective needs, or is too
 * large. */
bool mw_exchange_result(MwCollective kind, int ways, int64_t count, int64_t *result);

/* to[i] = the combination over members of from[member][i]. `to` may be one of the sources. Bools
 * combine by or. */
void mw_combine(MwType type, MwCombine combine, const void *const *from, int members, int64_t count,
                void *to);
/* False where a type has no such combination: logsumexp of integers, any of floats of 8 bits. */
bool mw_combine_is_valid(MwType type, MwCombine combine);

#endif
