/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops: the part of a graph that runs once for each step of a scan, a recurrence along an axis.
 *
 * A loop is no node. Four operators mark its border; each has the number of the loop:
 *
 *     x_t  = scan_in(x)           the element of this step of x, along an axis
 *     h    = scan_carry(first)    what the step before left; `first` at the first step
 *     last = scan_next(next, h)   `next` is what this step leaves as h; `last`, what the last step
 *                                 leaves, is known after the loop
 *     ys   = scan_out(y)          y of all steps along a new axis, known after the loop
 *
 * A node runs in a loop if it is one of these (but a scan_carry, which begins the loop, runs before
 * it) or takes a value of the loop: x_t, h, or the result of a node that runs there, except `last`
 * and `ys`. So what a step does not change is outside by itself, and a pass that adds, moves or
 * replaces nodes keeps loops right as long as the graph is. No loop is in another. The
 * nodes of a loop may stand between others; simplify brings them together.
 *
 * The tables here grow with nodes and loops. */
#ifndef MW_IR_LOOPS_H
#define MW_IR_LOOPS_H

#include "ir/ir.h"

typedef struct {
    int64_t steps;   /* 0: the graph has no loop of this number */
    int first, last; /* the first and the last node that run in it */
} MwLoop;

typedef struct {
    MwLoop *at;       /* by number */
    int count, nodes; /* of loops, and of nodes of the graph when the tables were made */
    int *of_node;     /* [nodes] the loop that the node runs in; -1: none */
    int *of_value;    /* [values] the loop that gives the value anew at every step; -1: none */
    int *next;        /* [nodes] of a scan_carry, its scan_next; -1: none */
} MwLoops;

/* The tables live in `arena`. */
MwLoops mw_loops(MwArena *arena, const MwGraph *graph);

/* How often a node runs each time its phase does; at least 1. */
int64_t mw_loop_runs(const MwLoops *loops, MwNodeId node);

/* Whether the operator marks the border of a loop. */
bool mw_op_is_scan(MwOp op);

/* [nodes] the nodes in an order in which those of a loop follow each other; otherwise that of the
 * graph. In `arena`. */
int32_t *mw_loops_order(MwArena *arena, const MwGraph *graph, const MwLoops *loops);

/* NULL if every loop is well formed, else what is wrong; `node` is then where. */
const char *mw_loops_check(const MwGraph *graph, MwNodeId *node);

/* For a search from users to operands, which marks nodes in `needed` [nodes]: a scan_carry needs
 * its scan_next, which stands behind it. Marks one that is not marked yet and returns its index,
 * from which the search begins again; -1: there is none. */
int mw_loops_need_next(const MwLoops *loops, bool *needed);

/* For a search from operands to users, which marks values in `holds` [values]: what holds for the
 * value that a step leaves holds for what the next step takes over. Marks such values; true if
 * there was one, and the search begins again. */
bool mw_loops_carry_on(const MwLoops *loops, const MwGraph *graph, bool *holds);

#endif
