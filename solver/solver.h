/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The strategy-selection problem and its solution, without any knowledge of graphs or meshes.
 *
 * Choose one strategy for each node so that the sum of node and edge costs is minimal, subject to:
 * at every time, the usages of the nodes that are live then sum to at most `usage_limit`. This is
 * the intra-operator problem of Alpa (Zheng et al., OSDI 2022, section 4.2) with memory over time,
 * in the form of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism. In the terms of the
 * literature it is a weighted constraint satisfaction problem (a cost function network) with unary
 * and binary cost functions and capacity constraints.
 *
 * Costs and usages are non-negative integers in units of the caller's choice. MW_COST_INFINITE or
 * more forbids. Sums have 128 bits.
 *
 * Identical subproblems cost about as much as one: cost tables are interned by content and the
 * result of every reduction is remembered, so that a model's repeated layers are reduced once. */
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
    const int64_t *usage; /* [strategy_count]; NULL: the node uses nothing */
    int64_t begin, end;   /* live in [begin, end); begin == end: never live */
    const char *label;    /* for messages and dumps; may be NULL */
} MwProblemNode;

typedef struct {
    int a, b;            /* node indices, a != b; the costs of edges between the same nodes add */
    const int64_t *cost; /* [strategies of a][strategies of b], row-major. Edges with the same
                            costs should share this pointer: the solver then reads the table once */
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
    MW_SOLVED_FEASIBLE,   /* `choice` keeps the limit; lower_bound < cost */
    MW_SOLVED_INFEASIBLE, /* proven: no legal choice exists */
    MW_SOLVED_UNKNOWN,    /* no legal choice was found in time; one may exist */
    MW_SOLVED_RELAXED,    /* with `relax`: no legal choice was found; `choice` exceeds the limit */
} MwSolveStatus;

/* What proves that no legal choice exists. */
typedef enum {
    MW_INFEASIBLE_NODES,  /* the strategies of `nodes` exclude one another, whatever the limit */
    MW_INFEASIBLE_TIME,   /* at one time every allowed choice uses more than the limit */
    MW_INFEASIBLE_TIMES,  /* the weighted average of the usage at several times exceeds the limit
                             for every allowed choice; no single time proves it */
    MW_INFEASIBLE_SEARCH, /* a search over the reduced problem found no legal choice, and no
                             shorter proof was found. `times` and `nodes` come closest to one */
} MwInfeasibleReason;

typedef struct {
    int64_t time, weight; /* weight: at least 1 */
} MwInfeasibleTime;

typedef struct {
    int node;
    MwCost least; /* the least that any allowed choice uses for the node: its usages at the
                     times, weighted, summed */
} MwInfeasibleNode;

typedef struct {
    MwInfeasibleReason reason;
    int time_count, node_count;
    const MwInfeasibleTime *times; /* in order of falling weight; empty for MW_INFEASIBLE_NODES */
    const MwInfeasibleNode *nodes; /* in order of falling `least`; ascending for
                                      MW_INFEASIBLE_NODES */
    /* Proven for every allowed choice: its weighted usages at the times sum to at least this.
     * May exceed the sum of `least` over all nodes, because not all nodes can take their least
     * at once. */
    MwCost needed;
    MwCost available; /* usage limit times the sum of weights */
} MwInfeasibility;

typedef struct {
    MwSolveStatus status;
    int *choice;        /* [node_count], in the arena given; NULL if none was found */
    MwCost cost;        /* recomputed from `choice` */
    MwCost lower_bound; /* proven: no legal choice costs less */
    /* Peak usage of `choice`, and the first time at which it is reached. If infeasible for lack of
     * memory: a usage above the limit that every choice is proven to reach, and the time that is
     * the reason. If infeasible at any limit: 0. */
    int64_t peak_usage, peak_time;
    const MwInfeasibility *infeasibility; /* the reason, for MW_SOLVED_INFEASIBLE, and for
                                             MW_SOLVED_RELAXED if infeasibility is proven;
                                             otherwise NULL. In the arena given */
    /* The two limits below are set for MW_SOLVED_RELAXED; cost and lower_bound are then those of
     * the problem with `relaxed_limit` in place of its limit. */
    int64_t relaxed_limit; /* the least peak found; `choice` keeps it */
    int64_t least_peak;    /* proven: no allowed choice has a lower peak */
    int reduced_nodes;     /* nodes left for the ILP after the exact reductions */
    int64_t visits; /* entries of cost tables, once for each iteration of ascents on the whole
                       problem */
    double time_s;
} MwSolution;

/* Cost tables, and results of operations on them (solver/core/table.h); all lie in `arena`. */
typedef struct MwTables MwTables;

MwTables *mw_tables_new(MwArena *arena);

/* Seconds that an entry takes, of tables or of sweeps over them, on one core of a server processor
 * of 2024: the solver's seconds of CPU by its counts. A dozen solves of stages of a GPT, a mixture
 * of experts and a U-Net took 1.1 to 5 ns; those of stages with little memory, which are all that
 * meet their limits, the most. With 1.5 ns here a GPT of 15B in two stages of 2x4 (bench/planning)
 * takes 25 s of CPU for the plan that it gets in 15. */
#define MW_SECONDS_OF_ENTRY 4.5e-9

/* Work that has been counted (solver/stop.h). */
typedef struct {
    int64_t entries; /* of cost tables, once for each time that they were computed or visited */
} MwSolveWork;

typedef struct {
    double time_limit_s; /* 0: no time limit; the effort is bounded in any case */
    /* Counts the work that is done, and time is work: of so many seconds as it takes on a usual
     * machine. Answers then do not depend on the machine. For one thread, without `tables`. NULL:
     * time is that of the machine */
    MwSolveWork *work;
    const volatile sig_atomic_t *interrupt; /* work ends once it is not 0; may be NULL */
    int threads;                            /* number of threads that search; 0: one */
    uint64_t seed;                          /* seed of the pseudo-random decisions */
    double gap;    /* stop when (cost - lower_bound) / cost is at most this */
    MwCost cutoff; /* stop when lower_bound reaches it: only a lower cost is of interest. 0: any
                      cost is */
    bool quick;    /* stop early and leave out the integer program: the gap may stay larger. Long
                      ascents end after MW_TUNED_QUICK_VISITS visits */
    bool relax;    /* if no choice keeps the limit: find the least peak, and the least cost at it */
    FILE *log;     /* receives a line per step; NULL: no log */
    /* Serves solutions of problems that are alike in large parts, one solution at a time. Answers
     * do not depend on it. NULL: each solution has its own */
    MwTables *tables;
    /* Called for each new incumbent and each better bound; NULL: never called. */
    void (*report)(void *context, const MwSolution *so_far, double time_s);
    void *context;
} MwSolveOptions;

/* Solves `problem`. The result is deterministic for a seed and a number of threads, unless time of
 * the machine cuts the search short; ties break by the lowest index. The solution is in `arena`.
 * As many threads as mw_solve_threads says may solve at the same time, each with its own arena. */
MwSolution mw_solve(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options);

/* The number of threads of this process that may solve at once: 1 where GLPK was built without
 * thread-local storage, so that all threads would share its state. */
int mw_solve_threads(void);

/* The least possible peak usage; the limit of the problem is ignored. */
typedef struct {
    MwSolveStatus status; /* MW_SOLVED_OPTIMAL: lower_bound == peak; MW_SOLVED_INFEASIBLE: no
                             choice is allowed */
    int *choice;          /* [node_count], in the arena given; NULL if none was found */
    int64_t peak, time;   /* peak of `choice`, and the first time at which it is reached */
    int64_t lower_bound;  /* proven: no allowed choice has a lower peak */
} MwLeastPeak;

/* Finds the least possible peak. Deterministic. Ignores the options `relax`, `report` and
 * `cutoff`. */
MwLeastPeak mw_least_peak(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options);

/* Says whether `choice` takes no forbidden strategy or pair; ignores the memory limit. */
bool mw_problem_allows(const MwProblem *problem, const int *choice);
/* Returns the sum of the costs of `choice`; at least MW_COST_INFINITE if it is not allowed. */
MwCost mw_problem_cost(const MwProblem *problem, const int *choice);
/* Returns the greatest usage of `choice` over time, and the first time at which it is reached. A
 * greater usage than INT64_MAX is returned as INT64_MAX. */
int64_t mw_problem_peak(const MwProblem *problem, const int *choice, int64_t *time);

/* Write and read the contest's JSON, gzipped if `path` ends in .gz:
 *   {"problem": {"name", "nodes": {"intervals", "costs", "usages"}, "edges": {"nodes", "costs"},
 *   "usage_limit"}}
 * and problem.nodes.labels, which the contest does not have. They return false, or NULL, after an
 * error that names the position. */
bool mw_problem_save(const MwProblem *problem, const char *path, MwDiags *diags);
MwProblem *mw_problem_load(MwArena *arena, const char *path, MwDiags *diags);

/* Writes the problem as the integer linear program that GLPK gets, without reductions, except that
 * the separable part of an edge's costs is added to its nodes. The format is CPLEX LP, or free MPS
 * if `path` ends in .mps. */
bool mw_problem_save_ilp(const MwProblem *problem, const char *path, MwDiags *diags);

#endif
