/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers: which stored values share one, how long each is live, and where it lies in the arena.
 *
 * Values share a buffer where one may be written over the other: a weight and its new value, the
 * two sides of an all-reduce, an element-wise result and an operand that dies there. */
#ifndef MW_CODEGEN_STORAGE_H
#define MW_CODEGEN_STORAGE_H

#include "codegen/order.h"

typedef struct {
    MwValueId value; /* the first to lie there; no value: scratch */
    MwTensor tensor;
    bool persistent;
    int begin, end; /* positions in the order, at which and between which it is live */
    int written;    /* the last at which it gets a new value so far */
    int64_t bytes, offset;
} MwStorageBuffer;

typedef struct {
    MW_VEC(MwStorageBuffer) buffers;
    int32_t *buffer;  /* [values] of a stored root; -1: none */
    int32_t *scratch; /* [units] buffer that its routine works in; -1: none */
    bool *copies;     /* [assigns] the value is copied to its target when its program ends */
    int64_t arena_bytes;
    int64_t live_bytes; /* no arena can be smaller */
} MwStorage;

MwStorage mw_storage_plan(const MwLegal *legal, const MwUnits *units, const MwOrder *order);

/* The bytes of scratch that the routine of a unit of one library node needs; 0: none. */
int64_t mw_unit_scratch_bytes(const MwLegal *legal, const MwUnit *unit);

#endif
