/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much memory a sharding needs, the copies that resharding makes included. */
#include "passes/liveness.h"
#include "passes/sharding.h"

typedef struct {
    MwArena *scratch;
    const MwSharding *sharding;
    const MwGraph *graph;
    const MwLife *lives;
    int64_t *change; /* [nodes + 1] bytes more at a time than at the one before */
} Footprint;

static void add(Footprint *f, int64_t begin, int64_t end, int64_t bytes)
{
    if (begin >= end)
        return;
    f->change[begin] += bytes;
    f->change[end] -= bytes;
}

static void add_nodes(Footprint *f)
{
    const MwProblem *problem = &f->sharding->problem->problem;
    for (int n = 0; n < problem->node_count; n++) {
        const MwProblemNode *node = &problem->nodes[n];
        if (node->usage)
            add(f, node->begin, node->end, node->usage[f->sharding->choice[n]]);
    }
}

/* What one resharding holds besides its source: before its last step both sides of the greatest
 * step, after it the result. */
static void add_passage(Footprint *f, MwValueId value, MwSpec to, int64_t begin, int64_t end)
{
    MwSpec from = mw_sharding_value_spec(f->sharding, value);
    if (mw_spec_equal(from, to))
        return;
    const MwTensor *tensor = mw_value_tensor(f->graph, value);
    MwReshardPath path =
        mw_reshard_path(f->scratch, f->sharding->problem->resharder, tensor, from, to);
    int64_t most = 0;
    for (int i = 1; i < path.count; i++)
        most = mw_max(most, path.steps[i].bytes);
    MwTensor result = mw_spec_local(to, tensor, &f->sharding->problem->model.mesh);
    add(f, begin, begin + 1, most);
    add(f, begin, end, mw_tensor_bytes(&result));
}

static void add_passages(Footprint *f)
{
    for (int n = 0; n < f->graph->nodes.count; n++) {
        const MwNode *node = &f->graph->nodes.at[n];
        const MwStrategy *strategy = mw_sharding_strategy(f->sharding, (MwNodeId){n});
        bool is_view = mw_op_info(node->op)->lowering == MW_LOWER_VIEW;
        int64_t end = is_view ? f->lives[node->first_result].end : n + 1;
        for (int k = 0; k < node->operand_count; k++)
            add_passage(f, node->operands[k], strategy->operands[k], n, end);
    }
    for (int i = 0; i < f->graph->assigns.count; i++) {
        const MwAssign *assign = &f->graph->assigns.at[i];
        int64_t begin = mw_value(f->graph, assign->value)->node.index;
        add_passage(f, assign->value, mw_sharding_value_spec(f->sharding, assign->target), begin,
                    begin + 1);
    }
}

int64_t mw_sharding_peak(const MwSharding *sharding)
{
    MwArena *scratch = mw_arena_new();
    const MwGraph *graph = sharding->problem->graph;
    Footprint f = {.scratch = scratch,
                   .sharding = sharding,
                   .graph = graph,
                   .lives = mw_liveness(scratch, graph, sharding->problem->flight),
                   .change = MW_NEW(scratch, int64_t, graph->nodes.count + 1)};
    add_nodes(&f);
    add_passages(&f);
    int64_t bytes = 0, peak = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        bytes += f.change[n];
        peak = mw_max(peak, bytes);
    }
    mw_arena_free(&scratch);
    return peak;
}
