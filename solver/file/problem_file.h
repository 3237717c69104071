/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface between the two halves of reading a problem: parse.c makes the lists as they stand
 * in the JSON, without checking them against each other; load.c turns them into a problem. */
#ifndef MW_SOLVER_FILE_PROBLEM_FILE_H
#define MW_SOLVER_FILE_PROBLEM_FILE_H

#include "base/vec.h"
#include "solver/solver.h"

/* The lists of lists, in the order in which messages about missing ones name them. */
typedef enum {
    MW_LIST_NONE,
    MW_LIST_INTERVALS,
    MW_LIST_COSTS,
    MW_LIST_USAGES,
    MW_LIST_EDGE_NODES,
    MW_LIST_EDGE_COSTS,
    MW_LIST_COUNT
} MwProblemList;

/* Returns "problem.nodes.costs" and so on. */
const char *mw_problem_list_name(MwProblemList list);

/* A list of integers. Rows with equal contents share `at`. */
typedef struct {
    const int64_t *at;
    int64_t count;
} MwProblemRow;

typedef struct {
    const char *name; /* NULL if the file has none */
    bool limited;     /* the file has a usage_limit */
    int64_t usage_limit;
    bool present[MW_LIST_COUNT];
    MW_VEC(MwProblemRow) lists[MW_LIST_COUNT];
    MW_VEC(const char *) labels; /* labels of nodes; none if the file has none */
} MwProblemLists;

/* Rows, name and labels are put into `arena`, the rest into `scratch`. Returns NULL after an
 * error. */
MwProblemLists *mw_problem_parse(MwArena *arena, MwArena *scratch, const char *path,
                                 MwDiags *diags);

#endif
