/* SPDX-License-Identifier: MIT */
/* Computes which part of a tensor each device of one side of a transfer sends or receives: the
 * blocks of the spec, divided further among the devices that hold equal blocks. */
#ifndef MW_RUNTIME_PLAN_TRANSFER_LAYOUT_H
#define MW_RUNTIME_PLAN_TRANSFER_LAYOUT_H

#include "runtime/plan/transfer.h"

/* A device's coordinates: the mesh axes that split the tensor, and the prime factors of those that
 * do not. `dim` is cut `ways`-fold over the digit; -1: nothing is, and only value 0 has a part. */
typedef struct {
    int ways, stride; /* value: device / stride % ways */
    int dim;
} MwTransferDigit;

enum { MW_MAX_TRANSFER_DIGITS = 32 + MW_MAX_AXES };

/* Digits from the least significant: a dimension's part is numbered by the digits that cut it, so
 * that devices which differ in the first `k` digits alone hold adjacent parts. The first
 * `replica_count` digits number the devices of equal blocks, the slowest link first. */
typedef struct {
    MwTensor global;
    MwTransferDigit digits[MW_MAX_TRANSFER_DIGITS];
    int count, replica_count;
    int64_t blocks[MW_MAX_RANK]; /* per dimension, of the spec */
    int64_t pieces[MW_MAX_RANK]; /* per dimension, a multiple of blocks */
} MwTransferLayout;

/* The layouts of both sides: parts of a side are as equal as whole slices allow, and are cut where
 * the fewest messages follow. */
void mw_transfer_layouts(const MwTransfer *transfer, MwTransferLayout *from, MwTransferLayout *to);

/* Gets the part that `device` of the side has after the devices that differ only in the first
 * `gathered` digits have exchanged their parts. Returns false if it has none. */
bool mw_transfer_part(const MwTransferLayout *layout, int device, int gathered, MwBox *part);

/* Returns the device with the digits of `device`, except that `digit` has `value` modulo its
 * ways. */
int mw_transfer_neighbour(const MwTransferDigit *digit, int device, int value);

/* Returns the piece of dimension `dim` that contains position `at`. */
int64_t mw_transfer_piece(const MwTransferLayout *layout, int dim, int64_t at);
/* Returns the device that has piece `piece[d]` of every dimension d. */
int mw_transfer_holder(const MwTransferLayout *layout, const int64_t piece[MW_MAX_RANK]);

#endif
