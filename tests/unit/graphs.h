/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs for tests, built by hand: a graph with its arena and diagnostics, and short ways to add
 * nodes to it. Any error aborts the test. */
#ifndef MW_TESTS_UNIT_GRAPHS_H
#define MW_TESTS_UNIT_GRAPHS_H

#include "ir/ir.h"

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwGraph *graph;
} TestGraph;

TestGraph test_graph_new(void);
void test_graph_free(TestGraph *test);

/* Adds a node and gives its first result. */
MwValueId test_add(TestGraph *test, const MwNodeSpec *spec);

/* The type written as "f32[8, 16]". */
MwTensor test_type(const char *text);

/* INPUT, WEIGHT or STATE of a type written so. */
MwValueId test_source(TestGraph *test, MwOp op, const char *name, const char *type);

/* A node of `op` with the operands up to the first that is no value, and no attributes. */
MwValueId test_op3(TestGraph *test, MwOp op, MwValueId a, MwValueId b, MwValueId c);

static inline MwValueId test_op1(TestGraph *test, MwOp op, MwValueId a)
{
    return test_op3(test, op, a, mw_no_value(), mw_no_value());
}

static inline MwValueId test_op2(TestGraph *test, MwOp op, MwValueId a, MwValueId b)
{
    return test_op3(test, op, a, b, mw_no_value());
}

MwValueId test_einsum(TestGraph *test, const char *equation, MwValueId a, MwValueId b);

/* Trains `loss`, named "loss", by plain gradient descent. */
void test_train(MwGraph *graph, MwValueId loss);

/* A node with one operand and one attribute. */
MwValueId test_op1_attr(TestGraph *test, MwOp op, MwValueId a, MwAttr attr);

#endif
