/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes what follows a product part of its unit, where that saves a pass over memory:
 *
 * - Bias, gelu_tanh and its gradient, if their result is stored in any case, because a unit reads
 *   it that is not a kernel. The pass that reads the product and writes the result is then saved,
 *   and the rest of its kernel reads the result instead. If only kernels read the result, they
 *   compute it in registers from the product, and nothing is gained.
 * - The sums of an operand, if no kernel that could compute them writes or reads that operand, so
 *   that they would need a pass of their own.
 * - An accumulation, into a state or into what is made for it alone: the product is added where the
 *   other term lies.
 *
 * But for the last the product must have one batch and the layout of the result, row by row,
 * without gaps. The input of gelu is stored in rows of a multiple of MW_GEMM_AUX_ROW elements.
 * Values keep their types, so that nothing is rounded that the graph does not round: sums have the
 * type of the product. */
#include "codegen/fuse/gemm_absorb.h"

#include "codegen/fuse/gemm_unit.h"

#include <string.h>

/* ---- Who wants what ---- */

typedef struct {
    MwFusion *f;
    int32_t *uses;      /* [values] of a root; one more if it leaves the step */
    int32_t *user;      /* [values] the last node that reads a root */
    int32_t *gelu;      /* [values] the first GELU_TANH of a root; -1: none */
    const bool *leaves; /* [values] mw_legal_leaving */
    bool
        *is_stored_anyway; /* [values] somebody other than such kernels of the phase wants a root */
    int32_t *kernels;      /* [values] operands, of kernels that take others, that are a root */
} Wants;

static bool is_kernel(const Wants *w, int n)
{
    int unit = w->f->out->unit_of[n];
    return unit >= 0 && mw_fusion_unit(w->f, unit)->is_kernel;
}

/* Whether others may run in the kernel of node n. */
static bool takes_others(const Wants *w, int n)
{
    return is_kernel(w, n) && !mw_fusion_unit(w->f, w->f->out->unit_of[n])->space.is_alone;
}

static void note_user(Wants *w, int n, int k)
{
    const MwLegal *legal = w->f->legal;
    const MwNode *node = mw_legal_at(legal, n);
    MwValueId root = mw_legal_root(legal, node->operands[k]);
    w->uses[root.index]++;
    w->user[root.index] = n;
    w->kernels[root.index] += takes_others(w, n);
    if (!takes_others(w, n) || node->phase != mw_value_node(legal->graph, root)->phase)
        w->is_stored_anyway[root.index] = true;
    if (node->op == MW_OP_GELU_TANH && w->gelu[root.index] < 0)
        w->gelu[root.index] = n;
}

static Wants find_wants(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    int values = graph->values.count;
    Wants w = {.f = f,
               .uses = MW_NEW(f->arena, int32_t, values),
               .user = MW_NEW(f->arena, int32_t, values),
               .gelu = MW_NEW(f->arena, int32_t, values),
               .leaves = mw_legal_leaving(f->arena, f->legal),
               .is_stored_anyway = MW_NEW(f->arena, bool, values),
               .kernels = MW_NEW(f->arena, int32_t, values)};
    memset(w.gelu, -1, sizeof(int32_t) * (size_t)values);
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count && f->out->unit_of[n] >= 0; k++)
            note_user(&w, n, k);
    for (int v = 0; v < values; v++) {
        w.uses[v] += w.leaves[v];
        w.is_stored_anyway[v] |= w.leaves[v];
    }
    return w;
}

static int loop_of(const MwFusion *f, int node)
{
    return f->legal->loops.of_node[node];
}

/* The one node that reads `root`, and nothing else does, each time that it is made; NULL: there is
 * no such. */
static const MwNode *only_user(const Wants *w, MwValueId root)
{
    return w->uses[root.index] == 1 && !w->leaves[root.index] &&
                   loop_of(w->f, w->user[root.index]) ==
                       loop_of(w->f, mw_value(w->f->legal->graph, root)->node.index)
               ? mw_legal_at(w->f->legal, w->user[root.index])
               : NULL;
}

static void absorb(const Wants *w, const MwNode *einsum, const MwNode *node)
{
    const MwGraph *graph = w->f->legal->graph;
    const int32_t *unit_of = w->f->out->unit_of;
    mw_fusion_join(w->f, unit_of[mw_value(graph, mw_legal_result(einsum))->node.index],
                   unit_of[mw_value(graph, mw_legal_result(node))->node.index]);
}

/* ---- Accumulations ---- */

/* Whether `node` alone reads a value, whole, and adds to it where it lies: the rows of a look-up's
 * gradient, or a product that its call accumulates. */
static bool adds_onto(const Wants *w, const MwNode *node)
{
    const MwLegal *legal = w->f->legal;
    const MwValueId to = mw_legal_root(legal, node->operands[0]);
    if (w->uses[to.index] != 1 || !mw_legal_takes_whole(legal, node, 0, to) ||
        mw_value_tensor(legal->graph, to)->type != MW_F32)
        return false;
    if (node->op == MW_OP_ADD_ROWS)
        return true;
    const MwValueId sum = mw_legal_root(legal, node->operands[1]);
    return mw_value_node(legal->graph, sum)->op == MW_OP_EINSUM && only_user(w, sum) == node &&
           mw_value_tensor(legal->graph, sum)->type == MW_F32 &&
           mw_value_node(legal->graph, sum)->phase == node->phase &&
           mw_legal_takes_whole(legal, node, 1, sum);
}

/* Whether `op` may add to a value where it lies. */
static bool may_add_onto(MwOp op)
{
    return op == MW_OP_ACCUMULATE || op == MW_OP_ADD_ROWS;
}

/* The state that `node` gives a new value, or the one that does so after it by adding to its
 * result; no value if there is none. */
static MwValueId accumulated_state(const Wants *w, const MwNode *node)
{
    const MwLegal *legal = w->f->legal;
    const MwGraph *graph = legal->graph;
    for (int i = 0; i < graph->assigns.count; i++)
        if (mw_value_equal(mw_legal_root(legal, graph->assigns.at[i].value), mw_legal_result(node)))
            return mw_legal_root(legal, graph->assigns.at[i].target);
    const MwNode *next = only_user(w, mw_legal_result(node));
    return next && may_add_onto(next->op) && next->phase == node->phase && adds_onto(w, next)
               ? accumulated_state(w, next)
               : mw_no_value();
}

/* The value that what `node` adds to was, before others of its phase added to it. */
static MwValueId first_added_to(const Wants *w, const MwNode *node)
{
    const MwValueId to = mw_legal_root(w->f->legal, node->operands[0]);
    const MwNode *maker = mw_value_node(w->f->legal->graph, to);
    return may_add_onto(maker->op) && maker->phase == node->phase && adds_onto(w, maker)
               ? first_added_to(w, maker)
               : to;
}

/* Whether a value is stored for the node that adds to it alone, in a buffer that the sum may take
 * over: one that a product or a kernel of the phase makes, outside of loops. */
static bool is_made_for(const Wants *w, MwValueId to, const MwNode *node)
{
    const MwNode *maker = mw_value_node(w->f->legal->graph, to);
    const MwLowering lowering = mw_op_info(maker->op)->lowering;
    const int n = mw_value(w->f->legal->graph, to)->node.index;
    return w->f->out->unit_of[n] >= 0 && loop_of(w->f, n) < 0 && !w->leaves[to.index] &&
           maker->phase == node->phase && lowering != MW_LOWER_COLLECTIVE &&
           lowering != MW_LOWER_TRANSFER;
}

/* Whether `node` adds the result of `einsum` to what is made for that; or to a state that nothing
 * else of its phase reads, by itself or with others one after another, and of which it or the last
 * of them gives the new value. */
static bool accumulates(const Wants *w, const MwNode *einsum, const MwNode *node)
{
    if (node->op != MW_OP_ACCUMULATE || !adds_onto(w, node) ||
        !mw_value_equal(mw_legal_root(w->f->legal, node->operands[1]), mw_legal_result(einsum)))
        return false;
    const MwValueId first = first_added_to(w, node);
    return is_made_for(w, first, node) || mw_value_equal(accumulated_state(w, node), first);
}

/* ---- What finishes a result ---- */

/* Whether `node` runs over the elements of `product` with operand k, and its result is like it. */
static bool maps(const Wants *w, MwValueId product, const MwNode *node, int k)
{
    const MwLegal *legal = w->f->legal;
    return node->phase == mw_value_node(legal->graph, product)->phase &&
           mw_legal_result_tensor(legal, node)->type ==
               mw_value_tensor(legal->graph, product)->type &&
           mw_legal_takes_whole(legal, node, k, product);
}

/* Whether operand k of `node`, over `rows` times `columns` points, is one number a column, stored
 * one after another from the start of a value. */
static bool is_bias(const Wants *w, const MwNode *node, int k, int64_t rows, int64_t columns)
{
    const MwLegal *legal = w->f->legal;
    MwValueId root = mw_legal_root(legal, node->operands[k]);
    MwLayout access = mw_node_access(legal, node, k);
    mw_layout_collapse(&access);
    int inner = access.dim_count - 1;
    bool is_row = inner >= 0 && access.size[inner] == columns && access.stride[inner] == 1;
    return !mw_op_is_generator(mw_value_node(legal->graph, root)->op) && is_row &&
           access.offset == 0 && mw_layout_is_fixed(&access) &&
           (rows == 1 ? inner == 0 : inner == 1 && access.stride[0] == 0) &&
           mw_value_tensor(legal->graph, root)->type == mw_legal_result_tensor(legal, node)->type;
}

/* The operand of `node`, an ADD of `product`, that is a bias; -1: none, or another product has
 * taken the node, of which this one is the bias. */
static int bias_of(const Wants *w, MwValueId product, const MwNode *node, const MwGemmCall *call)
{
    if (node && node->op == MW_OP_ADD && is_kernel(w, w->user[product.index]))
        for (int k = 0; k < 2; k++)
            if (maps(w, product, node, k) && is_bias(w, node, 1 - k, call->m, call->n))
                return 1 - k;
    return -1;
}

/* The GELU_TANH of `inner`, if the call may apply it. */
static const MwNode *gelu_of(const Wants *w, MwValueId inner, const MwGemmCall *call)
{
    int n = w->gelu[inner.index];
    if (n < 0)
        return NULL;
    const MwNode *gelu = mw_legal_at(w->f->legal, n);
    bool needs_aux = w->uses[inner.index] > 1;
    return maps(w, inner, gelu, 0) && w->is_stored_anyway[mw_legal_result(gelu).index] &&
                   (!needs_aux || call->n % MW_GEMM_AUX_ROW == 0)
               ? gelu
               : NULL;
}

/* `node`, if it is the gradient of gelu_tanh times `product`, and the call may apply it. */
static bool applies_gelu_grad(const Wants *w, MwValueId product, const MwNode *node,
                              const MwGemmCall *call)
{
    if (!node || node->op != MW_OP_GELU_TANH_GRAD || call->n % MW_GEMM_AUX_ROW != 0)
        return false;
    const MwGraph *graph = w->f->legal->graph;
    MwValueId aux = mw_legal_root(w->f->legal, node->operands[0]);
    return maps(w, product, node, 1) && mw_legal_takes_whole(w->f->legal, node, 0, aux) &&
           !mw_op_is_generator(mw_value_node(graph, aux)->op) &&
           mw_value_tensor(graph, aux)->type == mw_value_tensor(graph, product)->type &&
           w->is_stored_anyway[mw_legal_result(node).index];
}

static bool has_one_batch(const MwGemmCall *call)
{
    return call->args[MW_GEMM_BATCH0] == 1 && call->args[MW_GEMM_BATCH1] == 1;
}

/* The result is m rows of n, one after another. */
static bool has_plain_result(const MwGemmCall *call)
{
    return has_one_batch(call) && call->args[MW_GEMM_LDC] == call->n;
}

static void absorb_finish(const Wants *w, const MwNode *einsum)
{
    MwValueId product = mw_legal_result(einsum);
    const MwNode *user = only_user(w, product);
    MwGemmCall call = mw_gemm_call(w->f->legal, einsum);
    if (!has_plain_result(&call))
        return;
    if (applies_gelu_grad(w, product, user, &call)) {
        absorb(w, einsum, user);
        return;
    }
    const MwNode *add = bias_of(w, product, user, &call) >= 0 ? user : NULL;
    const MwNode *gelu = gelu_of(w, add ? mw_legal_result(add) : product, &call);
    if (add && (gelu || w->is_stored_anyway[mw_legal_result(add).index]))
        absorb(w, einsum, add);
    if (gelu)
        absorb(w, einsum, gelu);
}

static void absorb_results(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    Wants w = find_wants(f);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *einsum = &graph->nodes.at[n];
        if (einsum->op != MW_OP_EINSUM || f->out->unit_of[n] < 0)
            continue;
        const MwNode *user = only_user(&w, mw_legal_result(einsum));
        if (user && accumulates(&w, einsum, user))
            absorb(&w, einsum, user);
        else if (f->legal->backend->has_epilogues)
            absorb_finish(&w, einsum);
    }
}

/* ---- Sums of operands ---- */

/* Whether `sum` adds up the rows of all of a value, as it is stored, that no kernel makes or reads
 * besides. */
static bool is_pass_of_its_own(const Wants *w, const MwNode *sum)
{
    const MwLegal *legal = w->f->legal;
    MwValueId root = mw_legal_root(legal, sum->operands[0]);
    MwReduction reduction = mw_node_reduction(legal, sum);
    bool in_order = reduction.level == MW_LEVEL_COLUMN;
    for (int d = 0; d < mw_legal_operand_tensor(legal, sum, 0)->rank; d++)
        in_order = in_order && reduction.perm[d] == d;
    bool is_made_by_kernel = takes_others(w, mw_value(legal->graph, root)->node.index) &&
                             mw_value_node(legal->graph, root)->phase == sum->phase;
    return in_order && mw_legal_takes_whole(legal, sum, 0, root) && !is_made_by_kernel &&
           w->kernels[root.index] == 1;
}

/* Whether the call of a unit, which makes a product and perhaps accumulates it, may make `sum`
 * too. */
static bool may_sum(const Wants *w, const MwUnit *unit, const MwNode *sum)
{
    const MwLegal *legal = w->f->legal;
    MwGemmUnit gemm = mw_gemm_unit(legal, unit);
    return !gemm.add && !gemm.gelu && !gemm.gelu_grad && !gemm.sum &&
           gemm.einsum->phase == sum->phase && has_one_batch(&gemm.call) &&
           mw_legal_result_tensor(legal, sum)->type ==
               mw_legal_result_tensor(legal, gemm.einsum)->type &&
           mw_gemm_summed_operand(legal, gemm.einsum, &gemm.call, sum) >= 0;
}

static void absorb_sum(const Wants *w, int n)
{
    MwFusion *f = w->f;
    const MwGraph *graph = f->legal->graph;
    MwValueId root = mw_legal_root(f->legal, graph->nodes.at[n].operands[0]);
    for (int e = 0; e < graph->nodes.count; e++) {
        const MwNode *einsum = &graph->nodes.at[e];
        int unit = f->out->unit_of[e];
        if (einsum->op != MW_OP_EINSUM || unit < 0 ||
            !(mw_value_equal(mw_legal_root(f->legal, einsum->operands[0]), root) ||
              mw_value_equal(mw_legal_root(f->legal, einsum->operands[1]), root)))
            continue;
        if (loop_of(f, e) == loop_of(f, n) &&
            may_sum(w, mw_fusion_unit(f, unit), &graph->nodes.at[n]) &&
            !mw_fusion_would_cycle(f, unit, f->out->unit_of[n])) {
            mw_fusion_join(f, unit, f->out->unit_of[n]);
            return;
        }
    }
}

/* After results: what a call has finished is made by no kernel any more. */
static void absorb_sums(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    Wants w = find_wants(f);
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_REDUCE_SUM && f->out->unit_of[n] >= 0 &&
            is_pass_of_its_own(&w, &graph->nodes.at[n]))
            absorb_sum(&w, n);
}

void mw_gemm_units_absorb(MwFusion *f)
{
    absorb_results(f);
    if (f->legal->backend->has_epilogues)
        absorb_sums(f);
}
