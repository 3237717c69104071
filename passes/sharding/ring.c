/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/ring.h"

#include "cost/units.h"
#include "ir/build.h"
#include "passes/sharding/step_node.h"
#include "passes/sharding/steps.h"

#include <float.h>
#include <math.h>

static bool travels(uint32_t tensors, int k)
{
    return k < 32 && (tensors >> k & 1);
}

/* ---- Costs ---- */

typedef struct {
    MwArena *arena;
    const MwGraph *graph;
    MwNodeId id;
    const MwNode *node;
    const MwStrategy *strategy;
    const MwCostModel *model;
    MwSteps steps;
} RingCost;

static RingCost cost_of(MwArena *arena, const MwGraph *graph, MwNodeId id,
                        const MwStrategy *strategy, const MwCostModel *model)
{
    return (RingCost){.arena = arena,
                      .graph = graph,
                      .id = id,
                      .node = mw_node(graph, id),
                      .strategy = strategy,
                      .model = model,
                      .steps = {.arena = arena, .model = model}};
}

static MwTensor operand_block(const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                              const MwMeshShape *mesh, int k)
{
    return mw_spec_local(strategy->operands[k],
                         mw_value_tensor(graph, mw_node(graph, id)->operands[k]), mesh);
}

/* The sums of a result, which are f32. */
static MwTensor result_sums(const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                            const MwMeshShape *mesh, int k)
{
    MwTensor sums = mw_spec_local(strategy->results[k],
                                  mw_value_tensor(graph, mw_node_result(graph, id, k)), mesh);
    sums.type = MW_F32;
    return sums;
}

/* Seconds of the work of each step, [ways]. No block is more work than the one of the strategy, and
 * together they are its whole work. What the others leave is done on the device's own block, which
 * is half of one with a causal mask: the device that does the most has the last queries. */
static double *work_s(const RingCost *c)
{
    const MwRing *ring = &c->strategy->ring;
    double *seconds = MW_NEW(c->arena, double, ring->ways), left = c->strategy->work.flops;
    for (int t = ring->ways - 1; t >= 0; t--) {
        MwWork block = ring->block;
        block.flops = fmin(left, block.flops);
        left -= block.flops;
        seconds[t] = mw_cost_work_s(c->model, &block);
    }
    return seconds;
}

static void add_shift(RingCost *c, const MwTensor *tensor)
{
    mw_steps_add(&c->steps, MW_OP_RING_SHIFT, c->strategy->ring.axis, -1, mw_tensor_bytes(tensor));
}

static void shift_operands(RingCost *c)
{
    for (int k = 0; k < c->node->operand_count; k++) {
        const MwTensor block = operand_block(c->graph, c->id, c->strategy, &c->model->mesh, k);
        if (travels(c->strategy->ring.operands, k))
            add_shift(c, &block);
    }
}

static void shift_results(RingCost *c)
{
    for (int k = 0; k < c->node->result_count; k++) {
        const MwTensor sums = result_sums(c->graph, c->id, c->strategy, &c->model->mesh, k);
        if (travels(c->strategy->ring.results, k))
            add_shift(c, &sums);
    }
}

MwReshardPath mw_ring_path(MwArena *arena, const MwGraph *graph, MwNodeId id,
                           const MwStrategy *strategy, const MwCostModel *model)
{
    RingCost c = cost_of(arena, graph, id, strategy, model);
    const double *seconds = work_s(&c);
    for (int t = 0; t < strategy->ring.ways; t++) {
        const int first = c.steps.at.count;
        if (t + 1 < strategy->ring.ways)
            shift_operands(&c);
        if (t > 0)
            shift_results(&c);
        mw_steps_hide(&c.steps, first, seconds[t]);
    }
    shift_results(&c);
    return mw_steps_path(&c.steps);
}

double mw_ring_s(MwArena *arena, const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                 const MwCostModel *model)
{
    RingCost c = cost_of(arena, graph, id, strategy, model);
    const double *works = work_s(&c);
    double seconds = mw_seconds(mw_ring_path(arena, graph, id, strategy, model).cost);
    for (int t = 0; t < strategy->ring.ways; t++)
        seconds += works[t];
    for (int k = 0; k < c.node->result_count; k++) {
        /* what a block gives is read, the sums are read and written */
        const MwTensor sums = result_sums(graph, id, strategy, &model->mesh, k);
        const MwWork combine = {MW_WORK_STREAM, .bytes = 3.0 * (double)mw_tensor_bytes(&sums)};
        seconds += (strategy->ring.ways - 1) * mw_cost_work_s(model, &combine);
    }
    return seconds;
}

int64_t mw_ring_bytes(const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                      const MwMeshShape *mesh)
{
    const MwNode *node = mw_node(graph, id);
    const int coming = strategy->ring.ways > 2 ? 2 : 1; /* the block at hand, and the next one */
    int64_t bytes = 0;
    for (int k = 0; k < node->operand_count; k++) {
        const MwTensor block = operand_block(graph, id, strategy, mesh, k);
        bytes += travels(strategy->ring.operands, k) ? coming * mw_tensor_bytes(&block) : 0;
    }
    for (int k = 0; k < node->result_count; k++) {
        const MwTensor sums = result_sums(graph, id, strategy, mesh, k);
        bytes += (1 + travels(strategy->ring.results, k)) * mw_tensor_bytes(&sums);
    }
    return bytes;
}

/* ---- Nodes ---- */

typedef struct {
    MwGraph *graph;
    const MwMeshShape *mesh;
    const MwStrategy *strategy;
    const MwNodeSpec *spec;
    MwValueId *operands; /* [operands] with those of the block at hand */
    MwNodeId block;      /* the node on that block */
    int result_count;
    /* [results] the sums so far, f32; of what travels, those of the block at hand; of means, each
     * times exp(its log-sum-exp - most) */
    MwValueId *sums;
    MwValueId most;  /* with a normaliser: the greatest so far, or the least number */
    MwValueId total; /* the sum of exp(log-sum-exp - most) */
} Ring;

static const MwTensor *type_of(const Ring *r, MwValueId value)
{
    return mw_value_tensor(r->graph, value);
}

/* What the device after this one has for `x`, which belongs to a tensor named `name`. */
static MwValueId shifted(const Ring *r, MwValueId x, const char *name)
{
    const MwReshardStep step = {.op = MW_OP_RING_SHIFT, .axis = r->strategy->ring.axis};
    return mw_step_node(r->graph, r->mesh, &step, x, name);
}

/* The node on the block of the device `places` further along the axis. */
static MwNodeId block_node(const Ring *r, int places)
{
    MwNodeSpec spec = *r->spec;
    MwAttr *attrs =
        mw_arena_dup(r->graph->arena, spec.attrs, sizeof *attrs * (size_t)spec.attr_count);
    const int64_t shift[] = {r->strategy->ring.axis, places};
    int64_t *kept = mw_arena_dup(r->graph->arena, shift, sizeof shift);
    for (int i = 0; i < spec.attr_count; i++)
        if (attrs[i].key == MW_ATTR_KEY_SHIFT && places > 0)
            attrs[i] = mw_attr_ints(MW_ATTR_KEY_SHIFT, kept, MW_COUNT(shift));
    spec.attrs = attrs;
    spec.operands = r->operands;
    return mw_build_node(r->graph, &spec);
}

static MwValueId binary(const Ring *r, MwOp op, MwValueId a, MwValueId b)
{
    return mw_build_binary(r->graph, op, a, b);
}

/* exp(a - b) */
static MwValueId weight_of(const Ring *r, MwValueId a, MwValueId b)
{
    return mw_build_unary(r->graph, MW_OP_EXP, binary(r, MW_OP_SUB, a, b));
}

/* `weights` with a dimension of 1 at its end. */
static MwValueId column(const Ring *r, MwValueId weights)
{
    MwTensor column = *type_of(r, weights);
    column.dim[column.rank++] = 1;
    return mw_build_reshape(r->graph, weights, &column);
}

static MwValueId in_f32(const Ring *r, MwValueId x)
{
    return mw_build_cast(r->graph, x, MW_F32);
}

/* Combines the means of a block with those so far. A query that saw no key of any block has `most`
 * at the least number, and `total` 0. */
static void add_means(Ring *r, bool is_first)
{
    const int n = r->strategy->normaliser;
    const MwValueId lse = mw_node_result(r->graph, r->block, n);
    const MwValueId least = mw_build_scalar(r->graph, -FLT_MAX);
    const MwValueId most = binary(r, MW_OP_MAXIMUM, lse, is_first ? least : r->most);
    const MwValueId weight = weight_of(r, lse, most);
    const MwValueId kept = is_first ? mw_no_value() : weight_of(r, r->most, most);
    r->total =
        is_first ? weight : binary(r, MW_OP_ADD, binary(r, MW_OP_MUL, r->total, kept), weight);
    for (int k = 0; k < r->result_count; k++) {
        if (k == n)
            continue;
        MwValueId part = in_f32(r, mw_node_result(r->graph, r->block, k));
        if (!is_first) {
            const MwValueId before = binary(r, MW_OP_MUL, r->sums[k], column(r, kept));
            part = binary(r, MW_OP_ADD, before, binary(r, MW_OP_MUL, part, column(r, weight)));
        }
        r->sums[k] = part;
    }
    r->most = most;
}

/* Adds the sums of a block to those so far, which of what travels are in `came`. */
static void add_sums(Ring *r, const MwValueId *came, bool is_first)
{
    for (int k = 0; k < r->result_count; k++) {
        const MwValueId part = in_f32(r, mw_node_result(r->graph, r->block, k));
        r->sums[k] = is_first ? part : binary(r, MW_OP_ADD, came[k], part);
    }
}

/* Makes the node on the block at hand wait for the sums of the blocks before: else what adds them
 * up could run once for all blocks, and the results of all would be live at once. */
static void wait_for_sums(Ring *r)
{
    const MwStrategy *strategy = r->strategy;
    int operand = 0, result = 0;
    while (!travels(strategy->ring.operands, operand))
        operand++;
    while (result == strategy->normaliser || travels(strategy->ring.results, result))
        result++;
    const MwValueId pair[] = {r->operands[operand], r->sums[result]};
    r->operands[operand] = mw_build(r->graph, NULL, MW_OP_RUN_AFTER, pair, MW_COUNT(pair), NULL, 0);
}

/* Adds step `t`: what sets out for the next step or comes from the last one, then the block. */
static void add_step(Ring *r, int t)
{
    const MwStrategy *strategy = r->strategy;
    MwValueId *next =
        mw_arena_dup(r->graph->arena, r->operands, sizeof *next * (size_t)r->spec->operand_count);
    MwValueId *came =
        mw_arena_dup(r->graph->arena, r->sums, sizeof *came * (size_t)r->result_count);
    for (int k = 0; k < r->spec->operand_count && t + 1 < strategy->ring.ways; k++)
        if (travels(strategy->ring.operands, k))
            next[k] = shifted(r, next[k], mw_value(r->graph, r->spec->operands[k])->name);
    for (int k = 0; k < r->result_count && t > 0; k++)
        if (travels(strategy->ring.results, k))
            came[k] = shifted(r, came[k], r->spec->result_names[k]);
    if (t > 1)
        wait_for_sums(r);
    r->block = block_node(r, t);
    r->result_count = mw_node(r->graph, r->block)->result_count;
    if (strategy->normaliser >= 0)
        add_means(r, t == 0);
    else
        add_sums(r, came, t == 0);
    r->operands = next;
}

/* The results of the node, from the sums over all blocks. */
static void give_results(const Ring *r, MwValueId *results)
{
    const int n = r->strategy->normaliser;
    for (int k = 0; k < r->result_count; k++) {
        MwValueId sums = r->sums[k];
        if (k == n) {
            const MwValueId log = mw_build_unary(r->graph, MW_OP_LOG, r->total);
            results[k] = binary(r, MW_OP_ADD, r->most, log);
            continue;
        }
        if (n >= 0) { /* total is 0, or at least 1 */
            const MwValueId one = mw_build_scalar(r->graph, 1);
            const MwValueId total = binary(r, MW_OP_MAXIMUM, r->total, one);
            sums = binary(r, MW_OP_DIV, sums, column(r, total));
        } else if (travels(r->strategy->ring.results, k)) {
            sums = shifted(r, sums, r->spec->result_names[k]);
        }
        const MwType type = type_of(r, mw_node_result(r->graph, r->block, k))->type;
        results[k] = mw_build_cast(r->graph, sums, type);
    }
}

void mw_ring_build(MwGraph *local, const MwMeshShape *mesh, const MwStrategy *strategy,
                   const MwNodeSpec *spec, MwValueId *results)
{
    Ring r = {.graph = local,
              .mesh = mesh,
              .strategy = strategy,
              .spec = spec,
              .operands = mw_arena_dup(local->arena, spec->operands,
                                       sizeof *results * (size_t)spec->operand_count),
              .sums = results};
    for (int t = 0; t < strategy->ring.ways; t++)
        add_step(&r, t);
    give_results(&r, results);
}
