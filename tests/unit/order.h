/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The routines of runtime/plan/routines.def that work on parts of rows, against plain loops, over a
 * table of shapes. */
#ifndef MW_TESTS_UNIT_ORDER_H
#define MW_TESTS_UNIT_ORDER_H

#include "tests/unit/call.h"

typedef struct {
    int64_t rows, columns, count; /* count <= columns */
    bool ascending;
} Order;

enum { ORDERS = 8 };
extern const Order orders[ORDERS];

/* A call on rows in which elements are equal, NaN, 0 and -0, or on ids of which some are equal and
 * some outside the row. */
Call order_call(MwRoutine routine, const Order *z, MwType type);

/* Runs the routines on a shape, and checks every element they give. */
void order_check(const Order *z, MwType type, RunCall *run);

#endif
