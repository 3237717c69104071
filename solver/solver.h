/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers in, numbers out: the strategy-selection problem and its solution.
 *
 * Choose one strategy per node so that the sum of node and edge costs is least, subject to: at
 * every time, the usage of the nodes that are live then is at most `usage_limit`. This is the
 * intra-operator problem of Alpa (Zheng et al., OSDI 2022, section 4.2) with memory over time, in
 * the form of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism.
 *
 * Costs and usages are non-negative integers of whatever unit the caller likes; MW_COST_INFINITE
 * (or more) forbids. Sums are made in 128 bits. The solver knows nothing of graphs or meshes.
 *
 * Identical subproblems cost about as much as one: cost tables are interned by content and every
 * reduction on them is remembered, so that a model's repeated layers are reduced once. */
#ifndef MW_SOLVER_SOLVER_H
#define MW_SOLVER_SOLVER_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/int_cost.h"

#include <signal.h>
#include <stdio.h>

#define MW_USAGE_UNLIMITED INT64_MAX

typedef struct {
    int strategy_count;   /* at least 1 */
    const int64_t *cost;  /* [strategy_count] */
    const int64_t *usage; /* [strategy_count]; NULL: none */
    int64_t begin, end;   /* live in [begin, end); begin == end: never */
    const char *label;    /* for messages and dumps; may be NULL */
} MwProblemNode;

typedef struct {
    int a, b;            /* node indices, a != b; a pair may repeat, its costs add */
    const int64_t *cost; /* [strategies of a][strategies of b], row-major. Edges with the same
                            pointer have the same costs: sharing saves the solver work */
} MwProblemEdge;

typedef struct {
    const char *name;
    int node_count, edge_count;
    MwProblemNode *nodes;
    MwProblemEdge *edges;
    int64_t usage_limit; /* MW_USAGE_UNLIMITED: no limit */
} MwProblem;

typedef enum {
    MW_SOLVED_OPTIMAL,    /* proven: lower_bound == cost */
    MW_SOLVED_FEASIBLE,   /* a legal answer, with a gap */
    MW_SOLVED_INFEASIBLE, /* proven: there is no legal answer */
    MW_SOLVED_UNKNOWN,    /* no legal answer was found in time; there may be one */
    MW_SOLVED_RELAXED,    /* with `relax`: no legal answer was found; `choice` exceeds the limit */
} MwSolveStatus;

/* What proves that there is no legal answer. */
typedef enum {
    MW_INFEASIBLE_NODES,  /* `nodes` have no allowed combination, whatever the limit */
    MW_INFEASIBLE_TIME,   /* at the one time every allowed choice uses more than the limit */
    MW_INFEASIBLE_TIMES,  /* at the times, in the shares given, every allowed choice uses more than
                             the limit on average; none of them alone shows it */
    MW_INFEASIBLE_SEARCH, /* nothing so short: a search over what was left found no legal answer.
                             Times and nodes are those that come closest to a proof */
} MwInfeasibleReason;

typedef struct {
    int64_t time, share; /* share: at least 1 */
} MwInfeasibleTime;

typedef struct {
    int node;
    MwCost least; /* what any allowed choice uses for it at the times, times the shares, at least */
} MwInfeasibleNode;

typedef struct {
    MwInfeasibleReason reason;
    int time_count, node_count;
    const MwInfeasibleTime *times; /* the greatest share first; none for MW_INFEASIBLE_NODES */
    const MwInfeasibleNode *nodes; /* the greatest least first; or the nodes that exclude one
                                      another, ascending */
    /* Proven of every allowed choice: its usages at the times, times the shares, sum up to this at
     * least. May be more than the `least` of all nodes: not all take their least together. */
    MwCost needed;
    MwCost available; /* the limit times the sum of shares */
} MwInfeasibility;

typedef struct {
    MwSolveStatus status;
    int *choice;        /* [node_count], in the arena given; NULL if none was found */
    MwCost cost;        /* recomputed from `choice` */
    MwCost lower_bound; /* proven: no legal answer costs less */
    /* Of `choice`. If infeasible for want of memory: more than the limit, and proven to be needed
     * by any choice, at `peak_time` if it is the reason. If infeasible at any limit: 0. */
    int64_t peak_usage, peak_time;
    const MwInfeasibility *infeasibility; /* why, if MW_SOLVED_INFEASIBLE, or _RELAXED and proven;
                                             otherwise NULL. In the arena given */
    /* If MW_SOLVED_RELAXED: cost and lower_bound are those of the problem with this limit, */
    int64_t relaxed_limit; /* the least peak found, which `choice` keeps; */
    int64_t least_peak;    /* and this is proven: no allowed choice has less */
    int reduced_nodes;     /* nodes left for the ILP after the exact reductions */
    double time_s;
} MwSolution;

typedef struct {
    double time_limit_s;                    /* 0: none; the effort is limited in any case */
    const volatile sig_atomic_t *interrupt; /* ends the work once it is not 0; may be NULL */
    int threads;                            /* that search side by side; 0: one */
    uint64_t seed;                          /* of what is drawn at random */
    double gap;    /* stop when cost - lower_bound is at most this share of the cost */
    MwCost cutoff; /* stop when lower_bound is as much: only less is wanted. 0: any cost is */
    bool quick;    /* stop early, without the integer program: the gap may stay larger */
    bool relax;    /* where no choice keeps the limit: the least peak, and the least cost at it */
    FILE *log;     /* a line per step; NULL: none */
    /* Called whenever the best choice or the bound is better than before; NULL: never. */
    void (*report)(void *context, const MwSolution *so_far, double time_s);
    void *context;
} MwSolveOptions;

/* Solves `problem`. Deterministic for a seed and a number of threads, where time does not cut it
 * short: ties break by the lowest index. The solution is in `arena`. Callers on several threads may
 * solve at the same time, each with an arena of its own, if all are quick. */
MwSolution mw_solve(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options);

/* The least that the greatest usage over time can be; the limit is not looked at. */
typedef struct {
    MwSolveStatus status; /* MW_SOLVED_OPTIMAL: lower_bound == peak; _INFEASIBLE: at any limit */
    int *choice;          /* [node_count], in the arena given; NULL if none was found */
    int64_t peak, time;   /* of `choice`, and the first time it is reached */
    int64_t lower_bound;  /* proven: no allowed choice has a lesser peak */
} MwLeastPeak;

/* Deterministic; of the options all but `relax`, `report` and `cutoff` count. */
MwLeastPeak mw_least_peak(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options);

/* Whether `choice` takes no forbidden strategy or pair; the memory limit is not looked at. */
bool mw_problem_allows(const MwProblem *problem, const int *choice);
/* The sum of its costs; at least MW_COST_INFINITE if it is not allowed. */
MwCost mw_problem_cost(const MwProblem *problem, const int *choice);
/* The greatest usage over time of `choice`, and the first time it is reached. INT64_MAX stands for
 * more, too. */
int64_t mw_problem_peak(const MwProblem *problem, const int *choice, int64_t *time);

/* The contest's JSON, gzipped if `path` ends in .gz:
 * {"problem": {"name", "nodes": {"intervals", "costs", "usages"}, "edges": {"nodes", "costs"},
 * "usage_limit"}}, and problem.nodes.labels, which the contest does not have. False, or NULL, after
 * an error that names the place. */
bool mw_problem_save(const MwProblem *problem, const char *path, MwDiags *diags);
MwProblem *mw_problem_load(MwArena *arena, const char *path, MwDiags *diags);

/* The problem as the integer linear program given to GLPK: unreduced, except that what of an edge's
 * costs depends on one node alone is that node's. In CPLEX LP form (a path that ends in .mps gets
 * free MPS). */
bool mw_problem_save_ilp(const MwProblem *problem, const char *path, MwDiags *diags);

#endif
