/* SPDX-License-Identifier: MIT */
/* The order in which a run takes the rows of its data, as a function of the seed and the row's
 * place in the run alone: places count from 0 over the batches of all steps. So it is the same at
 * every parallelism, and no table of rows is kept.
 *
 * The rows of one data set are numbered from 0 on through its parts, which are files. An epoch is
 * as many places as there are rows.
 *
 *     in order    place p has row p mod rows
 *     shuffled    each epoch has a permutation of its own: a Feistel network of 8 rounds of Philox
 *                 over the least even number of bits that holds all row numbers, walked along its
 *                 cycle until the number is that of a row (Black and Rogaway, "Ciphers with
 *                 arbitrary finite domains", CT-RSA 2002)
 *     mixture     places are cut into blocks of MW_MIXTURE_BLOCK, and each part has its weight's
 *                 share of the places of a block, which a permutation of the block distributes. The
 *                 rows of a part follow one another, each part in epochs of its own. */
#ifndef MW_RUNTIME_FEED_ROW_ORDER_H
#define MW_RUNTIME_FEED_ROW_ORDER_H

#include "base/arena.h"

enum { MW_MIXTURE_BLOCK = 65536 };

/* The rows of one file, or of several that a weight belongs to. */
typedef struct {
    int64_t rows;
    double weight; /* positive in a mixture, where all parts have one; 0: none */
} MwRowPart;

typedef struct {
    int64_t rows; /* of all parts */
    uint64_t seed;
    bool is_shuffled;
    /* Of a mixture; without one part_count is 0. */
    int part_count;
    int64_t *first_row;  /* [part_count + 1] the number of each part's first row */
    int64_t *first_slot; /* [part_count + 1] the first of each part's slots in a block */
} MwRowOrder;

/* At least one row in all, and one in every part of a mixture. */
MwRowOrder mw_row_order(MwArena *arena, const MwRowPart *parts, int count, uint64_t seed,
                        bool is_shuffled);
/* The number of the row at a place. */
int64_t mw_row_at(const MwRowOrder *order, int64_t place);

/* The image of `value` under permutation `stream` of the numbers below `count`. */
int64_t mw_permute(uint64_t seed, uint64_t stream, int64_t count, int64_t value);

#endif
