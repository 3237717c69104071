/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes that an exported model leaves open.
 *
 * The graph of a model has numbers for sizes. What depends on an open size is found by comparing
 * graphs of the model that are made with several values of it: a number of the graph is a
 * polynomial
 *
 *     constant + sum over i of linear[i] size_i + sum over i < j of product[i][j] size_i size_j
 *
 * whose coefficients follow from its values at the points, where the last point checks them. For n
 * sizes there are 2 + n + n (n - 1) / 2 points, so time and memory grow with that many graphs. */
#ifndef MW_CODEGEN_ONNX_OPEN_H
#define MW_CODEGEN_ONNX_OPEN_H

#include "base/text.h"
#include "ir/ir.h"

enum {
    MW_OPEN_MOST_SIZES = 4,
    MW_OPEN_MOST_POINTS = 2 + MW_OPEN_MOST_SIZES + MW_OPEN_MOST_SIZES * (MW_OPEN_MOST_SIZES - 1) / 2
};

typedef struct {
    const char *name;
    int64_t value; /* at the first point; at the others it is once, twice or thrice that */
} MwOpenSize;

typedef struct {
    int size_count;
    MwOpenSize sizes[MW_OPEN_MOST_SIZES];
    const MwGraph *graphs[MW_OPEN_MOST_POINTS]; /* [points] of the model, at that point */
} MwOpenSizes;

/* A number that may depend on the sizes. */
typedef struct {
    int64_t constant, linear[MW_OPEN_MOST_SIZES];
    int64_t product[MW_OPEN_MOST_SIZES][MW_OPEN_MOST_SIZES];
} MwOpenNumber;

int mw_open_point_count(const MwOpenSizes *open);
/* The value of size i at a point. */
int64_t mw_open_value(const MwOpenSizes *open, int point, int i);

/* NULL if the graphs of all points are the same but for numbers; else what differs. */
const char *mw_open_compare(const MwOpenSizes *open, MwArena *arena);

/* The number with these values at the points; false if it is no such polynomial. */
bool mw_open_number(const MwOpenSizes *open, const int64_t *at_points, MwOpenNumber *number);
static inline MwOpenNumber mw_open_constant(int64_t constant)
{
    return (MwOpenNumber){.constant = constant};
}
bool mw_open_is_constant(const MwOpenNumber *number);
/* Whether it is size i itself. */
bool mw_open_is_size(const MwOpenNumber *number, int i);
MwOpenNumber mw_open_difference(const MwOpenNumber *a, const MwOpenNumber *b);
/* Whether it is 0 or more for all sizes, as no term of it is less; false: it may be negative. */
bool mw_open_is_never_negative(const MwOpenNumber *number);
/* Adds it as a text: "batch", "2 * batch * seq + 1". */
void mw_open_print(MwText *text, const MwOpenSizes *open, const MwOpenNumber *number);

#endif
