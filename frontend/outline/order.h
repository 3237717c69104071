/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Items in an order that their arrows allow. */
#ifndef MW_FRONTEND_OUTLINE_ORDER_H
#define MW_FRONTEND_OUTLINE_ORDER_H

#include "base/vec.h"

typedef struct {
    int rank;         /* of two items that may come next, the one of lower rank does */
    const char *name; /* NULL, or a path: `h.4` comes next after `h.3` if it may */
    MW_VEC(int) next; /* items that come after it, some maybe twice */
    bool in_circle;   /* arrows lead from it back to it */
} MwSequenceItem;

typedef struct {
    MwArena *arena;
    MwSequenceItem *items; /* [count] */
    int count;
} MwSequence;

MwSequence *mw_sequence_new(MwArena *arena, int count);
void mw_sequence_add_arrow(MwSequence *order, int from, int to);
/* Sets in_circle of every item. */
void mw_sequence_find_circles(MwSequence *order);
/* The items in order; there are no circles. */
const int *mw_sequence_sort(const MwSequence *order);

/* Whether path b is path a with the number that it ends in one higher: `h.4` after `h.3`. */
bool mw_path_follows(const char *a, const char *b);

#endif
