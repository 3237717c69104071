/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/fold.h"

#include "ir/build.h"
#include "ir/rewrite.h"
#include "passes/stages/classes.h"
#include "passes/stages/runs.h"

/* Periods that stay at each end of a run. Samples have two at most (extrapolate.h), and a third
 * keeps what is special about the first and last one away from the gap. */
enum { FOLD_PERIODS = 3 };

typedef struct {
    MwArena *scratch;
    const MwGraph *from;
    MwLayerFold fold;
    MwRewrite rewrite;
    int *position;          /* [nodes] position in its layer */
    MW_VEC(int) * of_layer; /* [layers] its nodes */
} Folder;

/* ---- Gaps ---- */

/* Finds the gaps among layers [begin, end): in their longest run, and before and behind it. */
static void find_gaps(MwArena *arena, MwLayerFold *fold, const MwLayerRuns *runs, int begin,
                      int end)
{
    MwLayerRun run;
    if (!mw_layer_runs_longest(runs, begin, end, &run))
        return;
    const int kept = FOLD_PERIODS * run.period;
    find_gaps(arena, fold, runs, begin, run.begin);
    if (run.end - run.begin > 2 * kept)
        mw_vec_push(
            arena, &fold->gaps,
            ((MwLayerGap){run.period, run.begin, run.begin + kept, run.end - kept, run.end}));
    find_gaps(arena, fold, runs, run.end, end);
}

/* The gap that the layer is in; NULL: it stays. */
static const MwLayerGap *gap_of(const MwLayerFold *fold, int layer)
{
    for (int i = 0; i < fold->gaps.count; i++)
        if (fold->gaps.at[i].begin <= layer && layer < fold->gaps.at[i].end)
            return &fold->gaps.at[i];
    return NULL;
}

int mw_layer_fold_of(const MwLayerFold *fold, int layer)
{
    const MwLayerGap *gap = gap_of(fold, layer);
    int folded = gap ? gap->begin - gap->period + (layer - gap->begin) % gap->period : layer;
    for (int i = 0; i < fold->gaps.count && fold->gaps.at[i].end <= layer; i++)
        folded -= fold->gaps.at[i].end - fold->gaps.at[i].begin;
    return folded;
}

bool mw_layer_fold_is_even(const MwLayerFold *fold, const int *folded_class)
{
    for (int i = 0; i < fold->gaps.count; i++) {
        const MwLayerGap *gap = &fold->gaps.at[i];
        const int end = mw_layer_fold_of(fold, gap->end);
        for (int l = end; l < end + gap->period; l++)
            if (folded_class[l] != folded_class[l - gap->period])
                return false;
    }
    return true;
}

/* ---- Values ---- */

static int layer_of(const Folder *f, int node)
{
    return f->from->nodes.at[node].origin.layer;
}

/* The value that stands for `value` where a node of layer `user` takes it; none: there is none. */
static MwValueId form_of(const Folder *f, MwValueId value, int user)
{
    const MwNode *maker = mw_value_node(f->from, value);
    const int layer = maker->origin.layer;
    const MwLayerGap *gap = gap_of(&f->fold, layer);
    if (!gap)
        return f->rewrite.value[value.index];
    const int length = gap->end - gap->begin;
    const int equal = user < gap->begin ? layer + length : layer - length;
    if (equal < gap->run_begin || equal >= gap->run_end)
        return mw_no_value();
    const int at = f->of_layer[equal].at[f->position[mw_value(f->from, value)->node.index]];
    return f->rewrite.value[f->from->nodes.at[at].first_result + value.index - maker->first_result];
}

/* ---- Nodes ---- */

/* Gives a node some of whose operands have no form the form of what is left of it: a list of
 * scalars of all layers, such as the squares of all gradients, goes without those of layers that
 * are left out. False if it cannot go without them. */
static bool fold_partly(Folder *f, const MwNode *node, MwValueId *operands, int count)
{
    if (node->phase != MW_PHASE_UPDATE || node->result_count > 1)
        return false;
    if (count == 0 && (node->op == MW_OP_RESHAPE || node->op == MW_OP_CONCAT))
        return true;
    if (node->op != MW_OP_CONCAT)
        return false;
    const MwNodeSpec spec = {.op = node->op,
                             .operands = operands,
                             .operand_count = count,
                             .attrs = node->attrs,
                             .attr_count = node->attr_count,
                             .name = f->from->values.at[node->first_result].name};
    mw_rewrite_at(&f->rewrite, node);
    f->rewrite.value[node->first_result] =
        mw_node_result(f->rewrite.to, mw_build_node(f->rewrite.to, &spec), 0);
    return true;
}

/* Adds what a node becomes. False if it needs a value that has no form. */
static bool fold_node(Folder *f, int n)
{
    const MwNode *node = &f->from->nodes.at[n];
    const int layer = layer_of(f, n);
    MwValueId *operands = MW_NEW(f->rewrite.to->arena, MwValueId, node->operand_count);
    int count = 0;
    for (int k = 0; k < node->operand_count; k++) {
        operands[count] = form_of(f, node->operands[k], layer);
        count += mw_has_value(operands[count]);
    }
    const int before = f->rewrite.to->nodes.count;
    if (count == node->operand_count)
        mw_rewrite_copy_on(&f->rewrite, node, operands);
    else if (!fold_partly(f, node, operands, count))
        return false;
    if (f->rewrite.to->nodes.count > before)
        f->rewrite.to->nodes.at[before].origin.layer = mw_layer_fold_of(&f->fold, layer);
    return true;
}

/* Drops the outputs, assignments and metrics without a form from `from`, a copy that is the
 * folder's own. False if something is needed of which there is only a part. */
static bool drop_formless(const Folder *f, MwGraph *from)
{
    const MwValueId *form = f->rewrite.value;
    MwGraph all = *from;
    from->outputs.count = from->assigns.count = 0;
    from->outputs.at = mw_arena_dup(f->scratch, all.outputs.at,
                                    sizeof *all.outputs.at * (size_t)all.outputs.count);
    from->assigns.at = mw_arena_dup(f->scratch, all.assigns.at,
                                    sizeof *all.assigns.at * (size_t)all.assigns.count);
    bool is_whole = true;
    for (int i = 0; i < all.outputs.count; i++)
        if (mw_has_value(form[all.outputs.at[i].value.index]))
            from->outputs.at[from->outputs.count++] = all.outputs.at[i];
    for (int i = 0; i < all.assigns.count; i++) {
        const MwAssign *assign = &all.assigns.at[i];
        if (!mw_has_value(form[assign->target.index]))
            continue;
        is_whole &= mw_has_value(form[assign->value.index]);
        from->assigns.at[from->assigns.count++] = *assign;
    }
    for (int i = 0; i < all.metrics.count; i++)
        is_whole &= mw_has_value(form[all.metrics.at[i].value.index]);
    for (int i = 0; i < all.rates.count; i++)
        is_whole &= mw_has_value(form[all.rates.at[i].value.index]);
    return is_whole;
}

static void index_layers(Folder *f, int layers)
{
    f->position = MW_NEW(f->scratch, int, f->from->nodes.count);
    f->of_layer = mw_arena_alloc(f->scratch, sizeof *f->of_layer * (size_t)layers);
    for (int n = 0; n < f->from->nodes.count; n++) {
        f->position[n] = f->of_layer[layer_of(f, n)].count;
        mw_vec_push(f->scratch, &f->of_layer[layer_of(f, n)], n);
    }
}

/* Makes the folded graph; false if something needs a value that has no form. */
static bool fold_graph(Folder *f, MwArena *arena)
{
    MwGraph from = *f->from;
    from.arena = arena;
    f->rewrite = mw_rewrite_begin(&from);
    for (int n = 0; n < from.nodes.count; n++)
        if (!gap_of(&f->fold, layer_of(f, n)) && !fold_node(f, n))
            return false;
    if (!drop_formless(f, &from))
        return false;
    mw_rewrite_finish(&f->rewrite);
    f->fold.graph = f->rewrite.to;
    return true;
}

MwLayerFold mw_layer_fold(MwArena *arena, const MwGraph *graph, int layers)
{
    Folder f = {.scratch = mw_arena_new(), .from = graph};
    const MwLayerRuns runs =
        mw_layer_runs(f.scratch, mw_layer_classes(f.scratch, graph, layers), layers);
    find_gaps(arena, &f.fold, &runs, 0, layers);
    f.fold.layer_count = layers;
    for (int i = 0; i < f.fold.gaps.count; i++)
        f.fold.layer_count -= f.fold.gaps.at[i].end - f.fold.gaps.at[i].begin;
    if (f.fold.gaps.count > 0)
        index_layers(&f, layers);
    if (f.fold.gaps.count == 0 || !fold_graph(&f, arena))
        f.fold = (MwLayerFold){.layer_count = layers};
    mw_arena_free(&f.scratch);
    return f.fold;
}
