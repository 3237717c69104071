/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the intra-operator problem (Zheng et al., "Alpa", OSDI 2022, section 4.2), over
 * forward, backward and update together. */
#include "passes/sharding/intra_problem.h"

#include "base/backend.h"
#include "cost/units.h"
#include "ir/host.h"
#include "ir/key_map.h"
#include "passes/sharding/borders.h"
#include "passes/sharding/hidden.h"
#include "passes/sharding/liveness.h"
#include "passes/sharding/mirror.h"
#include "passes/sharding/pins.h"
#include "passes/sharding/ring.h"
#include "passes/sharding/role_pins.h"

typedef struct {
    MwArena *arena;
    const MwIntraQuery *query;
    const MwGraph *graph;
    MwIntraProblem *intra;
    MwStrategyTable *strategies;
    const MwLife *lives; /* [values] */
    const bool *on_host; /* [values] (ir/host.h) */
    /* [nodes][operands] seconds that run beside a resharding (hidden.h); NULL: nothing does */
    const double *const *beside_s;
    MwKeyMap costs, usages, matrices;
    MW_VEC(MwProblemEdge) edges;
} ProblemBuilder;

static int phase_runs(const MwIntraProblem *intra, MwNodeId id)
{
    return mw_node(intra->graph, id)->phase == MW_PHASE_UPDATE ? 1 : intra->micro_batches;
}

int mw_intra_node_runs(const MwIntraProblem *intra, MwNodeId id)
{
    return (int)(phase_runs(intra, id) * mw_loop_runs(&intra->loops, id));
}

int mw_intra_reshard_runs(const MwIntraProblem *intra, MwValueId value, MwNodeId consumer)
{
    const int loop = intra->loops.of_value[value.index];
    return (int)(phase_runs(intra, consumer) * (loop < 0 ? 1 : intra->loops.at[loop].steps));
}

static bool is_fused(const ProblemBuilder *b, MwValueId value)
{
    return b->lives[value.index].storage == MW_STORE_FUSED;
}

static double local_bytes(const ProblemBuilder *b, MwValueId value, MwSpec spec)
{
    MwTensor local = mw_spec_local(spec, mw_value_tensor(b->graph, value), &b->query->mesh);
    return (double)mw_tensor_bytes(&local);
}

/* ---- Strategies ---- */

/* Whether the node carries a sum that begins with 0: it may be partial from the beginning. */
static bool carries_sum(const ProblemBuilder *b, const MwNode *node)
{
    if (node->op != MW_OP_SCAN_CARRY)
        return false;
    const MwNode *first = mw_value_node(b->graph, node->operands[0]);
    return first->op == MW_OP_CONSTANT && mw_node_float(first, MW_ATTR_VALUE) == 0 &&
           mw_type_is_float(mw_value_tensor(b->graph, node->operands[0])->type);
}

/* [nodes] results that leave the graph are whole; accumulators, and sums that a loop carries, may
 * be partial. */
static MwStrategyRole *roles_of(const ProblemBuilder *b)
{
    MwStrategyRole *roles = MW_NEW(b->arena, MwStrategyRole, b->graph->nodes.count);
    for (int i = 0; i < b->graph->assigns.count; i++) {
        const MwAssign *assign = &b->graph->assigns.at[i];
        if (mw_assign_accumulates(b->graph, assign))
            roles[mw_value(b->graph, assign->target)->node.index] = MW_STRATEGY_PARTIAL;
    }
    for (int n = 0; n < b->graph->nodes.count; n++)
        if (carries_sum(b, &b->graph->nodes.at[n]))
            roles[n] = MW_STRATEGY_PARTIAL;
    for (int i = 0; i < b->graph->outputs.count; i++)
        roles[mw_value(b->graph, b->graph->outputs.at[i].value)->node.index] = MW_STRATEGY_WHOLE;
    for (int i = 0; i < b->graph->metrics.count; i++)
        roles[mw_value(b->graph, b->graph->metrics.at[i].value)->node.index] = MW_STRATEGY_WHOLE;
    return roles;
}

static void list_strategies(ProblemBuilder *b)
{
    const MwStrategyRole *roles = roles_of(b);
    b->intra->lists = MW_NEW(b->arena, const MwStrategyList *, b->graph->nodes.count);
    for (int n = 0; n < b->graph->nodes.count; n++)
        b->intra->lists[n] = mw_strategies(b->strategies, b->graph, (MwNodeId){n}, roles[n]);
}

/* ---- Node costs ---- */

/* Bit k: operand k comes from the same kernel. Operands from index 63 on count as not fused. */
static uint64_t fused_operands(const ProblemBuilder *b, const MwNode *node)
{
    uint64_t fused = 0;
    for (int k = 0; k < node->operand_count && k < 63; k++)
        if (is_fused(b, node->operands[k]))
            fused |= UINT64_C(1) << k;
    return fused;
}

/* Whether the host's processors run the node. */
static bool is_of_host(const ProblemBuilder *b, MwNodeId id)
{
    return mw_runs_on_host(b->on_host, mw_node(b->graph, id));
}

/* Seconds of one run. A value that a fused kernel holds in registers is neither written nor
 * read, and a node that is fused away has no launch of its own. */
static double run_s(const ProblemBuilder *b, MwNodeId id, const MwStrategy *strategy,
                    uint64_t fused, bool is_fused_away)
{
    const MwNode *node = mw_node(b->graph, id);
    MwWork work = strategy->work;
    for (int k = 0; k < node->operand_count && k < 63; k++)
        if (fused >> k & 1)
            work.bytes -= local_bytes(b, node->operands[k], strategy->operands[k]);
    if (is_fused_away)
        work.bytes -= local_bytes(b, mw_node_result(b->graph, id, 0), strategy->results[0]);
    work.bytes = fmax(work.bytes, 0);
    if (is_of_host(b, id) && work.kind != MW_WORK_NONE)
        work.kind = MW_WORK_HOST;
    double seconds = mw_cost_work_s(&b->intra->model, &work);
    return is_fused_away ? fmax(seconds - b->query->cluster->device.launch_s, 0) : seconds;
}

/* Seconds in which the devices that want the same block of a received value gather it: each
 * block crosses between the meshes once. The time of the crossing is the same for every spec. */
static double gather_s(const ProblemBuilder *b, MwNodeId id, const MwStrategy *strategy)
{
    MwValueId result = mw_node_result(b->graph, id, 0);
    MwAxes split = mw_spec_axes(strategy->results[0], mw_value_tensor(b->graph, result)->rank);
    double bytes = local_bytes(b, result, strategy->results[0]), seconds = 0;
    for (int axis = b->query->mesh.axis_count - 1; axis >= 0; axis--) {
        if (split >> axis & 1)
            continue;
        seconds += mw_cost_collective_s(&b->intra->model, MW_ALL_GATHER, axis, bytes);
        bytes /= b->query->mesh.size[axis];
    }
    return seconds;
}

MwReshardPath mw_normaliser_path(MwArena *arena, const MwIntraProblem *intra, MwNodeId id,
                                 const MwStrategy *strategy)
{
    if (!mw_spec_partial(strategy->parts))
        return (MwReshardPath){0};
    const MwValueId value = mw_node_result(intra->graph, id, strategy->normaliser);
    return mw_reshard_path(arena, intra->resharder, mw_value_tensor(intra->graph, value),
                           strategy->parts, strategy->results[strategy->normaliser]);
}

/* Seconds in which a node combines its normaliser and weighs its other results: one kernel reads
 * the results and the combined normaliser, and writes the others. */
static double normalise_s(const ProblemBuilder *b, MwNodeId id, const MwStrategy *strategy)
{
    if (!mw_spec_partial(strategy->parts))
        return 0;
    MwWork weigh = {.kind = MW_WORK_STREAM};
    for (int k = 0; k < mw_node(b->graph, id)->result_count; k++)
        weigh.bytes += 2 * local_bytes(b, mw_node_result(b->graph, id, k), strategy->results[k]);
    const MwReshardPath path = mw_normaliser_path(b->arena, b->intra, id, strategy);
    return mw_seconds(path.cost) + mw_cost_work_s(&b->intra->model, &weigh);
}

/* Seconds in which a node takes or gives the borders of its windows. */
static double borders_s(const ProblemBuilder *b, MwNodeId id, const MwStrategy *strategy)
{
    const MwBorders borders = mw_borders(b->graph, id, strategy, &b->intra->model);
    return mw_borders_s(b->arena, &borders, &b->intra->model);
}

/* Seconds of one run of a node in a strategy. */
static double node_s(const ProblemBuilder *b, MwNodeId id, const MwStrategy *strategy,
                     uint64_t fused, bool is_fused_away)
{
    if (mw_node(b->graph, id)->op == MW_OP_RECEIVE)
        return gather_s(b, id, strategy);
    const MwCostModel *model = &b->intra->model;
    const double seconds =
        mw_has_ring(strategy)      ? mw_ring_s(b->arena, b->graph, id, strategy, model)
        : mw_is_mirrored(strategy) ? mw_mirror_s(b->arena, b->graph, id, strategy, model)
                                   : run_s(b, id, strategy, fused, is_fused_away);
    return seconds + normalise_s(b, id, strategy) + borders_s(b, id, strategy);
}

/* [strategies] picoseconds of the node in a step; interned. */
static const int64_t *node_costs(ProblemBuilder *b, MwNodeId id)
{
    const MwNode *node = mw_node(b->graph, id);
    const MwStrategyList *list = b->intra->lists[id.index];
    uint64_t fused = fused_operands(b, node);
    bool is_fused_away = is_fused(b, mw_node_result(b->graph, id, 0));
    int runs = mw_intra_node_runs(b->intra, id);
    int64_t key[] = {list->index, (int64_t)fused, is_fused_away, runs, is_of_host(b, id)};
    void **at = mw_key_map_at(b->arena, &b->costs, key, sizeof key);
    if (*at)
        return *at;
    int64_t *costs = *at = MW_NEW(b->arena, int64_t, list->count);
    for (int s = 0; s < list->count; s++)
        costs[s] = mw_picoseconds(runs * node_s(b, id, &list->at[s], fused, is_fused_away)) +
                   list->at[s].replicated_axes;
    return costs;
}

/* ---- Usage ---- */

/* Bit k: result k has storage of its own on the device. Results from index 63 on count as
 * stored. */
static uint64_t stored_results(const ProblemBuilder *b, const MwNode *node)
{
    uint64_t stored = 0;
    for (int k = 0; k < node->result_count && k < 63; k++)
        if (b->lives[node->first_result + k].storage == MW_STORE_OWN &&
            !b->on_host[node->first_result + k])
            stored |= UINT64_C(1) << k;
    return stored;
}

/* [strategies] bytes of the stored results; interned. */
static const int64_t *node_usages(ProblemBuilder *b, MwNodeId id, uint64_t stored)
{
    const MwNode *node = mw_node(b->graph, id);
    const MwStrategyList *list = b->intra->lists[id.index];
    MwKeyWords key = {0};
    mw_vec_push(b->arena, &key, list->index);
    mw_vec_push(b->arena, &key, (int64_t)stored);
    for (int k = 0; k < list->result_count; k++)
        mw_vec_push(b->arena, &key, b->lives[node->first_result + k].slots);
    void **at = mw_key_map_at_words(b->arena, &b->usages, &key);
    if (*at)
        return *at;
    int64_t *usages = *at = MW_NEW(b->arena, int64_t, list->count);
    for (int s = 0; s < list->count; s++)
        for (int k = 0; k < list->result_count; k++)
            if (k >= 63 || stored >> k & 1)
                usages[s] += b->lives[node->first_result + k].slots *
                             (int64_t)local_bytes(b, mw_node_result(b->graph, id, k),
                                                  list->at[s].results[k]);
    return usages;
}

static void fill_node(ProblemBuilder *b, MwNodeId id)
{
    const MwNode *node = mw_node(b->graph, id);
    MwProblemNode *out = &b->intra->problem.nodes[id.index];
    out->label = mw_value(b->graph, mw_node_result(b->graph, id, 0))->name;
    out->strategy_count = b->intra->lists[id.index]->count;
    out->cost = node_costs(b, id);
    uint64_t stored = stored_results(b, node);
    if (!stored)
        return;
    out->usage = node_usages(b, id, stored);
    out->begin = INT64_MAX;
    for (int k = 0; k < node->result_count; k++) {
        const MwLife *life = &b->lives[node->first_result + k];
        if (life->storage != MW_STORE_OWN)
            continue;
        out->begin = mw_min(out->begin, life->begin);
        out->end = mw_max(out->end, life->end);
    }
}

/* ---- Edges ---- */

/* A value between its producer and one consumer. */
typedef struct {
    MwValueId value;
    const MwStrategyList *producer, *consumer;
    int result; /* index among the producer's results */
    /* index among the consumer's operands; -1: the value is assigned to the consumer's result 0 */
    int operand;
    int runs;
    /* It is not resharded: the result of a scan_carry at its scan_next, which has its spec; and
     * what is on the host. */
    bool stays;
    int64_t beside; /* picoseconds of what runs beside one resharding (hidden.h) */
    bool fused;     /* resharding breaks a fused kernel, so that the value is written and read */
} ValueEdge;

static MwSpec consumed_spec(const ValueEdge *edge, int strategy)
{
    const MwStrategy *consumer = &edge->consumer->at[strategy];
    return edge->operand < 0 ? consumer->results[0] : consumer->operands[edge->operand];
}

/* Seconds of writing and reading a value that a fused kernel would keep in registers. */
static double unfused_s(const ProblemBuilder *b, const ValueEdge *edge, MwSpec from, MwSpec to)
{
    double bytes = local_bytes(b, edge->value, from) + local_bytes(b, edge->value, to);
    return mw_cost_work_s(&b->intra->model, &(MwWork){MW_WORK_STREAM, .bytes = bytes});
}

/* A spec on an edge, and its index in the table of resharding. */
typedef struct {
    MwSpec spec;
    int index;
} EdgeSpec;

static EdgeSpec edge_spec(const MwReshardTable *table, MwSpec spec)
{
    return (EdgeSpec){spec, mw_reshard_index(table, spec)};
}

/* What a step takes longer for a resharding, in picoseconds, of which kernels take `local`; 1 at
 * least, so that none is done in vain. */
static int64_t exposed(const ProblemBuilder *b, int64_t cost, int64_t local, int64_t beside)
{
    const double share = mw_device_collective_share(&b->query->cluster->device);
    const double collectives = mw_seconds(cost - local);
    return mw_max(1, local + mw_picoseconds(mw_exposed_s(collectives, mw_seconds(beside), share)));
}

static int64_t value_edge_cost(const ProblemBuilder *b, const ValueEdge *edge,
                               MwReshardTable *table, EdgeSpec from, EdgeSpec to)
{
    int64_t cost = mw_reshard_cost(table, from.index, to.index);
    if (edge->stays && !mw_spec_equal(from.spec, to.spec))
        return MW_COST_INFINITE;
    if (cost == 0 || cost >= MW_COST_INFINITE)
        return cost;
    if (edge->beside > 0)
        cost = exposed(b, cost, mw_reshard_local(table, from.index, to.index), edge->beside);
    if (edge->fused)
        cost += mw_picoseconds(unfused_s(b, edge, from.spec, to.spec));
    return mw_min(cost * edge->runs, MW_COST_INFINITE);
}

/* [producer strategy][consumer strategy] picoseconds of resharding in a step; interned. */
static const int64_t *edge_costs(ProblemBuilder *b, const ValueEdge *edge)
{
    int64_t key[] = {
        edge->producer->index, edge->consumer->index, edge->result, edge->operand, edge->runs,
        edge->stays,           edge->fused,           edge->beside};
    void **at = mw_key_map_at(b->arena, &b->matrices, key, sizeof key);
    if (*at)
        return *at;
    MwReshardTable *table = mw_reshard_table(
        b->intra->resharder, mw_value_tensor(b->graph, edge->value), edge->producer->combine);
    int columns = edge->consumer->count;
    int64_t *costs = *at = MW_NEW(b->arena, int64_t, edge->producer->count * columns);
    EdgeSpec *to = MW_NEW(b->arena, EdgeSpec, columns);
    for (int t = 0; t < columns; t++)
        to[t] = edge_spec(table, consumed_spec(edge, t));
    for (int g = 0; g < edge->producer->count; g++) {
        const EdgeSpec from = edge_spec(table, edge->producer->at[g].results[edge->result]);
        for (int t = 0; t < columns; t++)
            costs[g * columns + t] = value_edge_cost(b, edge, table, from, to[t]);
    }
    return costs;
}

/* Picoseconds of what runs beside a resharding of the operand. */
static int64_t beside(const ProblemBuilder *b, MwNodeId node, int operand)
{
    return b->beside_s ? mw_picoseconds(b->beside_s[node.index][operand]) : 0;
}

static void add_edge(ProblemBuilder *b, MwValueId value, MwNodeId consumer, int operand, int runs)
{
    MwNodeId producer = mw_value(b->graph, value)->node;
    if (producer.index == consumer.index)
        return; /* an assignment of a value to itself */
    ValueEdge edge = {.value = value,
                      .producer = b->intra->lists[producer.index],
                      .consumer = b->intra->lists[consumer.index],
                      .result = value.index - mw_node(b->graph, producer)->first_result,
                      .operand = operand,
                      .runs = runs,
                      .stays = b->on_host[value.index] ||
                               (operand == 1 && mw_node(b->graph, consumer)->op == MW_OP_SCAN_NEXT),
                      .beside = operand < 0 ? 0 : beside(b, consumer, operand),
                      .fused = is_fused(b, value)};
    mw_vec_push(b->arena, &b->edges,
                ((MwProblemEdge){producer.index, consumer.index, edge_costs(b, &edge)}));
}

static void add_edges(ProblemBuilder *b)
{
    for (int n = 0; n < b->graph->nodes.count; n++) {
        const MwNode *node = &b->graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++)
            add_edge(b, node->operands[k], (MwNodeId){n}, k,
                     mw_intra_reshard_runs(b->intra, node->operands[k], (MwNodeId){n}));
    }
    for (int i = 0; i < b->graph->assigns.count; i++) {
        const MwAssign *assign = &b->graph->assigns.at[i];
        add_edge(b, assign->value, mw_value(b->graph, assign->target)->node, -1,
                 mw_intra_reshard_runs(b->intra, assign->value,
                                       mw_value(b->graph, assign->value)->node));
    }
}

MwIntraProblem *mw_intra_problem(MwArena *arena, const MwIntraQuery *query, MwDiags *diags)
{
    const MwGraph *graph = query->graph;
    MwIntraProblem *intra = MW_NEW(arena, MwIntraProblem, 1);
    intra->arena = arena;
    intra->graph = graph;
    intra->model = mw_cost_model(query->cluster, &query->mesh);
    intra->micro_batches = query->micro_batches;
    intra->flight = query->flight;
    intra->loops = mw_loops(arena, graph);
    intra->resharder = mw_resharder_new(arena, &intra->model);
    ProblemBuilder b = {.arena = arena,
                        .query = query,
                        .graph = graph,
                        .intra = intra,
                        .strategies = mw_strategy_table_new(arena, &intra->model),
                        .lives = mw_liveness(arena, graph, query->flight),
                        .on_host = mw_on_host(arena, graph)};
    list_strategies(&b);
    mw_role_pins_apply(graph, b.strategies, intra->lists);
    intra->pinned = MW_NEW(arena, bool, graph->nodes.count);
    if (!mw_pins_apply(graph, b.strategies, &query->mesh, intra->lists, intra->pinned, diags))
        return NULL;
    MwProblem *problem = &intra->problem;
    problem->name = graph->name;
    problem->node_count = graph->nodes.count;
    problem->usage_limit = query->memory_bytes;
    problem->nodes = MW_NEW(arena, MwProblemNode, problem->node_count);
    for (int n = 0; n < problem->node_count; n++)
        fill_node(&b, (MwNodeId){n});
    if (mw_backend_named(query->cluster->backend)->overlaps)
        b.beside_s = mw_hidden_beside_s(arena, graph, problem, query->micro_batches,
                                        query->cluster->device.memory_bytes);
    add_edges(&b);
    problem->edges = b.edges.at;
    problem->edge_count = intra->value_edge_count = b.edges.count;
    return intra;
}
