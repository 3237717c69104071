/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derives the report from the intra-operator problem and its solution. The cost of resharding
 * belongs to the node that needs it: to the consumer of the operand; for an assignment, to the
 * node whose result is stored; for an identity, to the first node that uses its copy, or if the
 * copy leaves the graph, to the producer of the value. */
#include "passes/sharding/report.h"

#include "cost/units.h"
#include "passes/sharding/borders.h"
#include "passes/sharding/mirror.h"
#include "passes/sharding/ring.h"

/* The edges of node n are edge[begin[n]] .. edge[begin[n + 1] - 1]. */
typedef struct {
    int *begin; /* [nodes + 1] */
    int *edge;
} EdgeIndex;

typedef struct {
    MwArena *arena;
    const MwSharding *sharding;
    const MwGraph *graph;
    const MwProblem *problem;
    MwReport *report;
    EdgeIndex edges;
    /* [2 * times] of the solution: the greatest usage below each node of a binary tree, of which
     * node i has the nodes 2 * i and 2 * i + 1, and the leaves are the times */
    int64_t *most_usage;
    int32_t *first_user;                      /* [nodes] -1: none */
    MW_VEC(MwReportCollective) * collectives; /* [report nodes] */
} Reporter;

/* Indexes the first `count` edges. */
static EdgeIndex index_edges(MwArena *arena, const MwProblem *problem, int count)
{
    EdgeIndex index = {MW_NEW(arena, int, problem->node_count + 2), MW_NEW(arena, int, 2 * count)};
    for (int e = 0; e < count; e++) {
        index.begin[problem->edges[e].a + 2]++;
        index.begin[problem->edges[e].b + 2]++;
    }
    for (int n = 0; n < problem->node_count; n++)
        index.begin[n + 2] += index.begin[n + 1];
    for (int e = 0; e < count; e++) {
        index.edge[index.begin[problem->edges[e].a + 1]++] = e;
        index.edge[index.begin[problem->edges[e].b + 1]++] = e;
    }
    return index;
}

static bool is_identity(const Reporter *r, int node)
{
    return r->graph->nodes.at[node].op == MW_OP_IDENTITY;
}

static void find_first_users(Reporter *r)
{
    r->first_user = MW_NEW(r->arena, int32_t, r->graph->nodes.count);
    for (int n = r->graph->nodes.count - 1; n >= 0; n--) {
        r->first_user[n] = -1;
        const MwNode *node = &r->graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++)
            r->first_user[mw_value(r->graph, node->operands[k])->node.index] = n;
    }
}

/* The node that makes `value`, with identities passed over. */
static int producer_of(const Reporter *r, MwValueId value)
{
    int node = mw_value(r->graph, value)->node.index;
    while (is_identity(r, node))
        node = mw_value(r->graph, r->graph->nodes.at[node].operands[0])->node.index;
    return node;
}

/* The index in the report of the node that pays for the operands of `node`. */
static int owner_of(const Reporter *r, int node)
{
    int owner = node;
    while (owner >= 0 && is_identity(r, owner))
        owner = r->first_user[owner];
    if (owner < 0)
        owner = producer_of(r, r->graph->nodes.at[node].operands[0]);
    return r->report->index[owner];
}

/* ---- Communication ---- */

static void add_collectives(Reporter *r, int owner, const MwReshardPath *path, int runs)
{
    for (int i = 0; i < path->count; i++) {
        const MwReshardStep *step = &path->steps[i];
        if (step->op == MW_OP_SHARD)
            continue;
        mw_vec_push(r->arena, &r->collectives[owner],
                    ((MwReportCollective){mw_op_collective(step->op), step->axis, step->bytes,
                                          mw_seconds((MwCost)step->cost * runs)}));
    }
}

/* Adds the cost and the collectives of one edge to the node that pays for it. */
static void report_value_edge(Reporter *r, int edge, int owner, MwValueId value, MwSpec to,
                              int runs)
{
    const MwProblemEdge *e = &r->problem->edges[edge];
    const int *choice = r->sharding->choice;
    int64_t cost = e->cost[choice[e->a] * r->problem->nodes[e->b].strategy_count + choice[e->b]];
    if (cost == 0)
        return;
    MwReshardPath path =
        mw_reshard_path(r->arena, r->sharding->problem->resharder, mw_value_tensor(r->graph, value),
                        mw_sharding_value_spec(r->sharding, value), to);
    add_collectives(r, owner, &path, runs);
    r->report->nodes[owner].communication_s += mw_seconds(cost);
}

/* Counts collectives within a node as communication. */
static void report_path(Reporter *r, MwNodeId id, const MwReshardPath *path)
{
    const int owner = r->report->index[id.index];
    const int runs = mw_intra_node_runs(r->sharding->problem, id);
    const double seconds = mw_seconds((MwCost)path->cost * runs);
    add_collectives(r, owner, path, runs);
    r->report->nodes[owner].communication_s += seconds;
    r->report->nodes[owner].compute_s -= seconds;
}

static void report_within(Reporter *r, MwNodeId id, const MwStrategy *strategy)
{
    const MwIntraProblem *intra = r->sharding->problem;
    const MwBorders borders = mw_borders(r->graph, id, strategy, &intra->model);
    const MwReshardPath normaliser = mw_normaliser_path(r->arena, intra, id, strategy);
    const MwReshardPath exchange = mw_borders_path(r->arena, &borders, &intra->model);
    if (normaliser.count)
        report_path(r, id, &normaliser);
    if (exchange.count)
        report_path(r, id, &exchange);
    if (mw_has_ring(strategy)) {
        const MwReshardPath ring = mw_ring_path(r->arena, r->graph, id, strategy, &intra->model);
        report_path(r, id, &ring);
    }
    if (mw_is_mirrored(strategy)) {
        const MwReshardPath path = mw_mirror_path(r->arena, r->graph, id, strategy, &intra->model);
        report_path(r, id, &path);
    }
}

/* Edges stand in the order in which the problem is built: operands node by node, then
 * assignments. */
static void report_communication(Reporter *r)
{
    const MwIntraProblem *intra = r->sharding->problem;
    int edge = 0;
    for (int n = 0; n < r->graph->nodes.count; n++) {
        const MwNode *node = &r->graph->nodes.at[n];
        const MwStrategy *strategy = mw_sharding_strategy(r->sharding, (MwNodeId){n});
        for (int k = 0; k < node->operand_count; k++)
            report_value_edge(r, edge++, owner_of(r, n), node->operands[k], strategy->operands[k],
                              mw_intra_reshard_runs(intra, node->operands[k], (MwNodeId){n}));
        report_within(r, (MwNodeId){n}, strategy);
    }
    for (int i = 0; i < r->graph->assigns.count; i++) {
        const MwAssign *assign = &r->graph->assigns.at[i];
        const MwNodeId maker = mw_value(r->graph, assign->value)->node;
        if (mw_value_equal(assign->value, assign->target))
            continue;
        report_value_edge(r, edge++, r->report->index[producer_of(r, assign->value)], assign->value,
                          mw_sharding_value_spec(r->sharding, assign->target),
                          mw_intra_reshard_runs(intra, assign->value, maker));
    }
    MW_ASSERT(edge == intra->value_edge_count);
}

/* ---- Runners-up ---- */

static void sum_usage(Reporter *r)
{
    const int times = r->problem->node_count;
    r->most_usage = MW_NEW(r->arena, int64_t, 2 * times + 1);
    int64_t *at = r->most_usage + times;
    for (int n = 0; n < times; n++) {
        const MwProblemNode *node = &r->problem->nodes[n];
        if (!node->usage)
            continue;
        at[node->begin] += node->usage[r->sharding->choice[n]];
        at[node->end] -= node->usage[r->sharding->choice[n]];
    }
    for (int t = 1; t < times; t++)
        at[t] += at[t - 1];
    for (int i = times - 1; i > 0; i--)
        r->most_usage[i] = mw_max(r->most_usage[2 * i], r->most_usage[2 * i + 1]);
}

/* The bytes that the results of node `n` may take in addition while they live. */
static int64_t room_of(const Reporter *r, int n)
{
    const MwProblemNode *node = &r->problem->nodes[n];
    const int64_t times = r->problem->node_count;
    int64_t most = INT64_MIN;
    if (!node->usage || node->begin >= node->end)
        return INT64_MAX;
    for (int64_t from = node->begin + times, to = node->end + times; from < to;
         from /= 2, to /= 2) {
        if (from % 2)
            most = mw_max(most, r->most_usage[from++]);
        if (to % 2)
            most = mw_max(most, r->most_usage[--to]);
    }
    return r->problem->usage_limit - most;
}

static bool has_room(const Reporter *r, int n, int s, int64_t room)
{
    const int64_t *usage = r->problem->nodes[n].usage;
    int64_t more = usage ? usage[s] - usage[r->sharding->choice[n]] : 0;
    return more <= 0 || more <= room;
}

/* The cost of node `n` in strategy `s` with its edges, with all other nodes as chosen. */
static MwCost cost_with(const Reporter *r, int n, int s)
{
    const int *choice = r->sharding->choice;
    MwCost cost = r->problem->nodes[n].cost[s];
    for (int i = r->edges.begin[n]; i < r->edges.begin[n + 1]; i++) {
        const MwProblemEdge *e = &r->problem->edges[r->edges.edge[i]];
        int a = e->a == n ? s : choice[e->a], b = e->b == n ? s : choice[e->b];
        cost += e->cost[a * r->problem->nodes[e->b].strategy_count + b];
    }
    return cost;
}

/* Finds the best strategy of node `n` that is not chosen and fits the memory, with all other
 * nodes as chosen. */
static void find_runner_up(const Reporter *r, int n, MwReportNode *out)
{
    MwCost chosen = cost_with(r, n, r->sharding->choice[n]), best = MW_COST_INFINITE;
    const MwStrategyList *list = r->sharding->problem->lists[n];
    int64_t room = room_of(r, n);
    for (int s = 0; s < list->count; s++) {
        MwCost cost = cost_with(r, n, s);
        if (s == r->sharding->choice[n] || cost >= best || !has_room(r, n, s, room))
            continue;
        best = cost;
        out->has_runner_up = true;
        out->runner_up = list->at[s].results[0];
        out->runner_up_extra_s = mw_seconds(cost - chosen);
    }
}

/* ---- The nodes ---- */

static void report_node(Reporter *r, int n, MwReportNode *out)
{
    const MwNode *node = &r->graph->nodes.at[n];
    const MwStrategy *strategy = mw_sharding_strategy(r->sharding, (MwNodeId){n});
    *out = (MwReportNode){.node = {n},
                          .rank = r->graph->values.at[node->first_result].tensor.rank,
                          .spec = strategy->results[0],
                          .operand_count = node->operand_count,
                          .pinned = r->sharding->problem->pinned[n]};
    out->operands = MW_NEW(r->arena, MwReportOperand, node->operand_count);
    for (int k = 0; k < node->operand_count; k++)
        out->operands[k] = (MwReportOperand){{producer_of(r, node->operands[k])},
                                             mw_value_tensor(r->graph, node->operands[k])->rank,
                                             strategy->operands[k]};
    int64_t cost = r->problem->nodes[n].cost[r->sharding->choice[n]];
    double *seconds = node->op == MW_OP_RECEIVE ? &out->communication_s : &out->compute_s;
    *seconds = mw_seconds(cost - strategy->replicated_axes);
    find_runner_up(r, n, out);
}

static void report_nodes(Reporter *r)
{
    MwReport *report = r->report;
    report->nodes = MW_NEW(r->arena, MwReportNode, r->graph->nodes.count);
    report->index = MW_NEW(r->arena, int, r->graph->nodes.count);
    for (int n = 0; n < r->graph->nodes.count; n++) {
        report->index[n] = -1;
        if (is_identity(r, n))
            continue;
        report->index[n] = report->count;
        report_node(r, n, &report->nodes[report->count++]);
    }
}

static void sum_up(Reporter *r)
{
    MwReport *report = r->report;
    for (int i = 0; i < report->count; i++) {
        MwReportNode *node = &report->nodes[i];
        node->collectives = r->collectives[i].at;
        node->collective_count = r->collectives[i].count;
        report->compute_s += node->compute_s;
        report->communication_s += node->communication_s;
    }
}

MwReport *mw_report(MwArena *arena, const MwSharding *sharding)
{
    MwReport *report = MW_NEW(arena, MwReport, 1);
    report->objective_s = sharding->objective_s;
    report->lower_bound_s = sharding->lower_bound_s;
    Reporter r = {.arena = arena,
                  .sharding = sharding,
                  .graph = sharding->problem->graph,
                  .problem = &sharding->problem->problem,
                  .report = report};
    r.edges = index_edges(arena, r.problem, sharding->problem->value_edge_count);
    sum_usage(&r);
    find_first_users(&r);
    report_nodes(&r);
    r.collectives = mw_arena_alloc(arena, sizeof *r.collectives * (size_t)(report->count + 1));
    report_communication(&r);
    sum_up(&r);
    return report;
}
