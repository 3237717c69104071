/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the problem to the core: scales the costs, separates the costs of edges, and finds the
 * memory rows.
 *
 * The matrices of edges are most of a problem. Many are equal, and many are separable. Each
 * distinct matrix is read once, and only its residual is kept.
 *
 * A memory row stands for a maximal set of nodes that are live together. Usage falls only where an
 * interval ends, so that the greatest usage occurs at the last begin before an end; all other times
 * are dominated (the maximal cliques of an interval graph: Golumbic, Algorithmic Graph Theory and
 * Perfect Graphs, 1980, chapter 8). */
#include "solver/core/core.h"
#include "solver/core/separate.h"

#include <stdlib.h>
#include <string.h>

/* Returns the greatest finite value, or 0 if there is none. */
static int64_t greatest_finite(const int64_t *cost, int64_t count)
{
    int64_t greatest = 0;
    for (int64_t i = 0; i < count; i++)
        if (cost[i] < MW_COST_INFINITE)
            greatest = mw_max(greatest, cost[i]);
    return greatest;
}

/* The cost matrix of one or more edges. Its rows belong to the node with the lower index. */
typedef struct {
    int rows, columns;
    bool flipped; /* the edge gives it as [columns][rows] */
    const int64_t *cost;
    int64_t greatest; /* greatest finite entry */
    /* NULL: not yet separated */
    const MwSeparation *separation;
} Matrix;

typedef struct {
    MwCore *core;
    const MwProblem *problem;
    MwTables *seen;  /* memo of matrices, keyed by their source */
    Matrix **matrix; /* [edge] */
    int64_t **cost;  /* [node][strategy] unary cost, with the projections of its edges */
} Build;

static Matrix *find_matrix(const Build *build, const MwProblemEdge *edge)
{
    bool flipped = edge->a > edge->b;
    int rows = build->problem->nodes[flipped ? edge->b : edge->a].strategy_count;
    int columns = build->problem->nodes[flipped ? edge->a : edge->b].strategy_count;
    uint64_t place = (uintptr_t)edge->cost;
    int key[] = {(int)(place >> 32), (int)(uint32_t)place, rows, columns, flipped};
    Matrix *matrix = mw_tables_recall(build->seen, key, MW_COUNT(key));
    if (matrix)
        return matrix;
    matrix = MW_NEW(mw_tables_arena(build->seen), Matrix, 1);
    int64_t greatest = greatest_finite(edge->cost, (int64_t)rows * columns);
    *matrix = (Matrix){rows, columns, flipped, edge->cost, greatest, NULL};
    mw_tables_remember(build->seen, key, MW_COUNT(key), matrix);
    return matrix;
}

/* Returns the greatest exponent, at most 16, for which the sum of all finite costs stays well below
 * MW_FORBIDDEN. A positive scale leaves room for fractions in bounds. */
static int greatest_scale(const Build *build)
{
    const MwProblem *problem = build->problem;
    __int128 total = 0;
    for (int i = 0; i < problem->node_count; i++)
        total += greatest_finite(problem->nodes[i].cost, problem->nodes[i].strategy_count);
    for (int i = 0; i < problem->edge_count; i++)
        total += build->matrix[i]->greatest;
    int scale = 16;
    while ((scale >= 0 ? total << scale : total >> -scale) > MW_FORBIDDEN / 8)
        scale--;
    return scale;
}

static int64_t scaled(int64_t cost, int scale)
{
    if (cost >= MW_COST_INFINITE)
        return MW_FORBIDDEN;
    return scale >= 0 ? cost << scale : cost >> -scale;
}

static const MwSeparation *separate(const Build *build, const Matrix *matrix)
{
    int rows = matrix->rows, columns = matrix->columns, scale = build->core->scale;
    int64_t *values = mw_tables_scratch(build->core->tables, (int64_t)rows * columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
            values[i * columns + k] =
                scaled(matrix->cost[matrix->flipped ? k * rows + i : i * columns + k], scale);
    return mw_separate(mw_tables_arena(build->seen), build->core->tables, 2, (int[]){rows, columns},
                       values);
}

static int64_t *node_costs(const Build *build, MwArena *arena, int index)
{
    const MwProblemNode *node = &build->problem->nodes[index];
    int64_t *values = MW_NEW(arena, int64_t, node->strategy_count);
    for (int s = 0; s < node->strategy_count; s++)
        values[s] = scaled(node->cost[s], build->core->scale);
    return values;
}

static void add_unary_costs(const Build *build, int index)
{
    const MwProblemEdge *edge = &build->problem->edges[index];
    Matrix *matrix = build->matrix[index];
    if (!matrix->separation)
        matrix->separation = separate(build, matrix);
    int scope[] = {(int)mw_min(edge->a, edge->b), (int)mw_max(edge->a, edge->b)};
    for (int i = 0; i < 2; i++) {
        const int64_t *unary = matrix->separation->unary[i];
        int64_t *cost = build->cost[scope[i]];
        for (int s = 0; unary && s < build->problem->nodes[scope[i]].strategy_count; s++)
            cost[s] = mw_cost_add(cost[s], unary[s]);
    }
}

static void add_node(const Build *build, int index)
{
    MwCore *core = build->core;
    const int *strategies = &build->problem->nodes[index].strategy_count;
    core->nodes[index].cost = mw_table_intern(core->tables, 1, strategies, build->cost[index]);
    core->nodes[index].queued = true;
    mw_vec_push(core->arena, &core->changed_nodes, index);
}

static void add_function(const Build *build, int index)
{
    MwTables *tables = build->core->tables;
    const MwProblemEdge *edge = &build->problem->edges[index];
    const Matrix *matrix = build->matrix[index];
    const MwSeparation *separation = matrix->separation;
    if (!separation->residual)
        return;
    int scope[] = {(int)mw_min(edge->a, edge->b), (int)mw_max(edge->a, edge->b)};
    int sizes[] = {matrix->rows, matrix->columns};
    const MwTable *classes[2];
    for (int i = 0; i < 2; i++)
        classes[i] =
            separation->merged[i] ? separation->merged[i] : mw_classes_identity(tables, sizes[i]);
    mw_core_add_function(build->core, scope, classes, separation->residual);
}

typedef struct {
    int64_t time;
    int node;
    bool begins;
} Event;

/* Orders events by time. At one time ends precede begins, because intervals are half-open. */
static int compare_events(const void *a, const void *b)
{
    const Event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->begins != y->begins)
        return x->begins ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool uses_memory(const MwProblemNode *node)
{
    return node->usage && node->begin < node->end;
}

static int sorted_events(const MwProblem *problem, Event *events)
{
    int count = 0;
    for (int i = 0; i < problem->node_count; i++) {
        const MwProblemNode *node = &problem->nodes[i];
        if (!uses_memory(node))
            continue;
        events[count++] = (Event){node->begin, i, true};
        events[count++] = (Event){node->end, i, false};
    }
    qsort(events, (size_t)count, sizeof *events, compare_events);
    return count;
}

static void add_term(MwCore *core, const MwProblemNode *from, int node, int first, int last)
{
    const MwTable *usage = mw_table_intern(core->tables, 1, &from->strategy_count, from->usage);
    mw_vec_push(core->arena, &core->nodes[node].terms, ((MwCoreTerm){first, last, usage}));
}

static void build_rows(MwCore *core, const MwProblem *problem)
{
    Event *events = MW_NEW(core->arena, Event, 2 * problem->node_count);
    int *first_row = MW_NEW(core->arena, int, problem->node_count);
    int count = sorted_events(problem, events);
    core->limit = MW_NEW(core->arena, __int128, problem->node_count);
    core->least_limit = problem->usage_limit;
    core->price = MW_NEW(core->arena, double, problem->node_count);
    core->time = MW_NEW(core->arena, int64_t, problem->node_count);
    for (int i = 0; i < count; i++) {
        const Event *event = &events[i];
        if (!event->begins) {
            add_term(core, &problem->nodes[event->node], event->node, first_row[event->node],
                     core->row_count - 1);
            continue;
        }
        first_row[event->node] = core->row_count;
        if (!events[i + 1].begins) {
            core->time[core->row_count] = event->time;
            core->limit[core->row_count++] = problem->usage_limit;
        }
    }
}

MwCore *mw_core_build(MwArena *arena, MwTables *tables, const MwProblem *problem, bool limited)
{
    MwCore *core = MW_NEW(arena, MwCore, 1);
    core->arena = arena;
    core->tables = tables;
    core->node_count = problem->node_count;
    core->nodes = MW_NEW(arena, MwCoreNode, problem->node_count);
    MwArena *scratch = mw_arena_new();
    Build build = {core, problem, mw_tables_new(scratch),
                   MW_NEW(scratch, Matrix *, problem->edge_count),
                   MW_NEW(scratch, int64_t *, problem->node_count)};
    core->functions.capacity = problem->edge_count;
    core->functions.at = MW_NEW(arena, MwCostFunction, problem->edge_count);
    for (int i = 0; i < problem->edge_count; i++)
        build.matrix[i] = find_matrix(&build, &problem->edges[i]);
    core->scale = greatest_scale(&build);
    for (int i = 0; i < problem->node_count; i++)
        build.cost[i] = node_costs(&build, scratch, i);
    for (int i = 0; i < problem->edge_count; i++)
        add_unary_costs(&build, i);
    for (int i = 0; i < problem->node_count; i++)
        add_node(&build, i);
    for (int i = 0; i < problem->edge_count; i++)
        add_function(&build, i);
    mw_arena_free(&scratch);
    if (limited && problem->usage_limit != MW_USAGE_UNLIMITED)
        build_rows(core, problem);
    return core;
}
