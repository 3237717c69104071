/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantise: has the products of layers take floats of 8 bits, where graph->fp8 asks for it.
 *
 * In:  a graph with its gradients and updates, whose products are in bf16.
 * Out: the same model, whose products of layers take E4M3, and E5M2 for gradients; everything else
 *      is as before. graph->fp8 asks for nothing.
 *
 * A product of layers is one in bf16 of a value that depends on an input by one that does not, a
 * weight, whose result another such product depends on; and its gradients by either. So the last
 * products, which give logits, stay in bf16, as look-ups do, which are no products. Sizes m, n and
 * k are multiples of 16, of which GPUs multiply such matrices, and none of their letters is of all
 * three tensors.
 *
 * Scaling is by tensor, and delayed (Micikevicius et al., "FP8 Formats for Deep Learning", 2022;
 * NVIDIA Transformer Engine, DelayedScaling): in step t, operand x with scale s
 *
 *   q       cast(x s), which does not go beyond the last number of the type
 *   y       product(q, p) / (s r), for the other operand p with scale r
 *   amax    the greatest |x|
 *
 * and at its end, with the maximum over the last `history` steps, of which the step writes entry
 * t mod history of NAME.fp8.amax:
 *
 *   s       the greatest power of two by which that maximum times 2^margin is in the type
 *
 * A weight is quantised from f32, not from its cast to bf16. So it is rounded once, alike in all
 * plans, and no copy in bf16 is kept for it from step to step (codegen/legal/legalize_copies.h),
 * which would take 2 bytes an element. With one micro-batch as many bytes move: 4 are read, where a
 * copy would be written and read in 2. Each further micro-batch reads 2 more.
 *
 * States: NAME.fp8.scale and NAME.fp8.amax for an operand NAME, in bf16, which has all of these
 * numbers. Powers of two scale and unscale without rounding, so that it makes no difference where
 * the division stands: with what follows the product or, if only the update does, there, after the
 * sum over micro-batches and devices. Nothing in a step waits for a maximum of its own, and all
 * parts of a batch are scaled alike, so the numbers are the same at every parallelism. At first
 * nothing is known: activations and weights begin with a scale of 1, and gradients, whose type has
 * the exponents of f16, with that of torch.amp.GradScaler. */
#include "base/backend.h"
#include "base/fp8.h"
#include "ir/build.h"
#include "ir/einsum.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "passes/graph/precision.h"
#include "passes/graph/steps.h"
#include "passes/pass.h"

#include <math.h>
#include <string.h>

#define FIRST_GRADIENT_SCALE 65536

/* An operand of products, with the values that scale it. */
typedef struct {
    MwOrigin origin; /* of the product that takes it first */
    MwType type;     /* E4M3 or E5M2 */
    MwValueId quantised;
    MwValueId scale;   /* bf16[] */
    MwValueId amax;    /* bf16[], of this step */
    MwValueId history; /* bf16[history] */
} Operand;

typedef struct {
    MwRewrite rewrite;
    MwFp8Scaling scaling;
    const bool *is_product; /* [nodes of from] takes floats of 8 bits */
    const bool *is_early;   /* [values of from] used before the update, or outside of the graph */
    int *operand_of;        /* [values of from] index in `operands`; -1: none */
    MW_VEC(Operand) operands;
} Quantiser;

/* ---- Which products ---- */

/* Whether GPUs have a product of floats of 8 bits for the sizes of the einsum. */
static bool sizes_fit(const MwGraph *graph, const MwNode *node)
{
    enum { LEFT = 1, RIGHT = 2, RESULT = 4 };
    MwEinsum einsum;
    int64_t size[MW_EINSUM_MAX_LETTERS], total[LEFT + RIGHT + RESULT] = {0};
    unsigned uses[MW_EINSUM_MAX_LETTERS] = {0};
    MW_ASSERT(mw_einsum_parse(mw_node_text(node, MW_ATTR_EQUATION), &einsum) == NULL);
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < einsum.rank[k]; d++) {
            uses[einsum.operand[k][d]] |= k ? RIGHT : LEFT;
            size[einsum.operand[k][d]] = mw_value_tensor(graph, node->operands[k])->dim[d];
        }
    for (int d = 0; d < einsum.result_rank; d++)
        uses[einsum.result[d]] |= RESULT;
    for (int l = 0; l < einsum.letter_count; l++) {
        if (uses[l] != (LEFT | RIGHT) && uses[l] != (LEFT | RESULT) && uses[l] != (RIGHT | RESULT))
            return false;
        total[uses[l]] = mw_max(total[uses[l]], 1) * size[l];
    }
    return total[LEFT | RIGHT] % MW_FP8_STEP == 0 && total[LEFT | RIGHT] > 0 &&
           total[LEFT | RESULT] % MW_FP8_STEP == 0 && total[LEFT | RESULT] > 0 &&
           total[RIGHT | RESULT] % MW_FP8_STEP == 0 && total[RIGHT | RESULT] > 0;
}

/* Whether the node is a product in bf16 that could take floats of 8 bits. */
static bool could_take(const MwGraph *graph, const MwLoops *loops, int n)
{
    const MwNode *node = &graph->nodes.at[n];
    if (node->op != MW_OP_EINSUM || node->operand_count != 2 || loops->of_node[n] >= 0)
        return false;
    for (int k = 0; k < 2; k++)
        if (mw_value_tensor(graph, node->operands[k])->type != MW_BF16)
            return false;
    return sizes_fit(graph, node);
}

/* Marks the products of the forward phase. */
static void find_forward(const MwGraph *graph, const MwLoops *loops, bool *is_product)
{
    const bool *varies = mw_find_varying(graph->arena, graph);
    bool *leads = MW_NEW(graph->arena, bool, graph->values.count); /* to a product by a weight */
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        bool any = false;
        if (node->phase != MW_PHASE_FORWARD)
            continue;
        for (int k = 0; k < node->result_count; k++)
            any |= leads[node->first_result + k];
        const bool could = could_take(graph, loops, n) &&
                           varies[node->operands[0].index] != varies[node->operands[1].index];
        is_product[n] = could && any;
        for (int k = 0; k < node->operand_count; k++)
            leads[node->operands[k].index] |= any || could;
    }
}

/* Whether `node` multiplies an operand of the product `forward` by a gradient like its result. */
static bool is_gradient_of(const MwGraph *graph, const MwNode *node, const MwNode *forward)
{
    const MwTensor *result = mw_value_tensor(graph, (MwValueId){forward->first_result});
    for (int k = 0; k < 2; k++) {
        const MwValueId shared = node->operands[k], other = node->operands[1 - k];
        if ((mw_value_equal(shared, forward->operands[0]) ||
             mw_value_equal(shared, forward->operands[1])) &&
            mw_value_node(graph, other)->phase == MW_PHASE_BACKWARD &&
            mw_tensor_elements(mw_value_tensor(graph, other)) == mw_tensor_elements(result))
            return true;
    }
    return false;
}

/* The products of the forward phase that take a value. They are as many in all as products have
 * operands. */
typedef struct {
    MW_VEC(int32_t) nodes;
} Takers;

static Takers *find_takers(const MwGraph *graph, const bool *is_product)
{
    Takers *takers = MW_NEW(graph->arena, Takers, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < 2 && is_product[n]; k++)
            mw_vec_push(graph->arena, &takers[graph->nodes.at[n].operands[k].index].nodes, n);
    return takers;
}

static bool is_gradient(const MwGraph *graph, const Takers *takers, const MwNode *node)
{
    bool is_one = false;
    for (int k = 0; k < 2; k++) {
        const Takers *of = &takers[node->operands[k].index];
        for (int i = 0; i < of->nodes.count && !is_one; i++)
            is_one = is_gradient_of(graph, node, &graph->nodes.at[of->nodes.at[i]]);
    }
    return is_one;
}

static const bool *find_products(const MwGraph *graph)
{
    const MwLoops loops = mw_loops(graph->arena, graph);
    bool *is_product = MW_NEW(graph->arena, bool, graph->nodes.count);
    find_forward(graph, &loops, is_product);
    const Takers *takers = find_takers(graph, is_product);
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].phase == MW_PHASE_BACKWARD && could_take(graph, &loops, n))
            is_product[n] = is_gradient(graph, takers, &graph->nodes.at[n]);
    return is_product;
}

static const bool *find_early(const MwGraph *graph)
{
    bool *is_early = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count; k++)
            is_early[graph->nodes.at[n].operands[k].index] |=
                graph->nodes.at[n].phase != MW_PHASE_UPDATE;
    for (int i = 0; i < graph->outputs.count; i++)
        is_early[graph->outputs.at[i].value.index] = true;
    for (int i = 0; i < graph->metrics.count; i++)
        is_early[graph->metrics.at[i].value.index] = true;
    return is_early;
}

/* ---- Operands ---- */

static double last_number(const Quantiser *q, MwType type)
{
    return ldexp((double)mw_fp8_last(type), -(int)q->scaling.margin);
}

static MwValueId add_state(MwGraph *graph, const char *of, const char *suffix, MwTensor tensor,
                           double value)
{
    const MwAttr attrs[] = {mw_attr_text(MW_ATTR_INIT, mw_intern(graph->interner, "constant")),
                            mw_attr_float(MW_ATTR_VALUE, value)};
    const MwNodeSpec spec = {.op = MW_OP_STATE,
                             .attrs = attrs,
                             .attr_count = MW_COUNT(attrs),
                             .given = &tensor,
                             .name = mw_arena_printf(graph->arena, "%s.%s", of, suffix)};
    return mw_node_result(graph, mw_build_node(graph, &spec), 0);
}

/* What operand `x` of a product is quantised from: a weight itself, where `x` is its cast. */
static MwValueId source_of(const MwGraph *graph, MwValueId x)
{
    const MwNode *maker = mw_value_node(graph, x);
    const bool is_cast = maker->op == MW_OP_CAST &&
                         mw_value_node(graph, maker->operands[0])->op == MW_OP_WEIGHT &&
                         mw_value_tensor(graph, maker->operands[0])->type == MW_F32;
    return is_cast ? maker->operands[0] : x;
}

/* bf16[] the greatest absolute value, rounded as the greatest of rounded ones is. */
static MwValueId greatest(MwGraph *graph, MwValueId x)
{
    const int rank = mw_value_tensor(graph, x)->rank;
    int64_t axes[MW_MAX_RANK];
    for (int d = 0; d < rank; d++)
        axes[d] = d;
    const MwAttr attr = mw_attr_ints(MW_ATTR_AXES, axes, rank);
    const MwValueId size = mw_build_cast(graph, mw_build_unary(graph, MW_OP_ABS, x), MW_BF16);
    return mw_build(graph, NULL, MW_OP_REDUCE_MAX, &size, 1, &attr, 1);
}

/* Adds what `x`, a value of `from`, is as floats of 8 bits, at the product that the graph is at. */
static Operand make_operand(Quantiser *q, MwValueId x)
{
    MwGraph *to = q->rewrite.to;
    const bool is_gradient = mw_value_node(q->rewrite.from, x)->phase != MW_PHASE_FORWARD;
    const MwPhase phase = to->phase;
    const char *name = mw_value(q->rewrite.from, x)->name;
    const MwTensor entries = mw_tensor(MW_BF16, 1, &q->scaling.history);
    const double first = ldexp(is_gradient ? FIRST_GRADIENT_SCALE : 1, -(int)q->scaling.margin);
    Operand operand = {.origin = to->origin, .type = is_gradient ? MW_E5M2 : MW_E4M3};
    const MwValueId value = q->rewrite.value[x.index];
    to->phase = MW_PHASE_FORWARD;
    operand.scale = add_state(to, name, "fp8.scale", mw_tensor_scalar(MW_BF16), first);
    operand.history = add_state(to, name, "fp8.amax", entries, 0);
    to->phase = phase;
    const int before = to->values.count;
    operand.amax = greatest(to, value);
    const MwValueId scale = mw_build_cast(to, operand.scale, mw_value_tensor(to, value)->type);
    const MwValueId scaled = mw_build_binary(to, MW_OP_MUL, value, scale);
    operand.quantised = mw_build_cast(to, scaled, operand.type);
    mw_build_name_temporaries(
        to, before, to->values.count,
        mw_arena_printf(to->arena, "%s.%s", name, mw_type_name(operand.type)));
    return operand;
}

/* The operand is in the phase of the first product that takes it, and those of the backward come
 * last. */
static Operand operand_of(Quantiser *q, MwValueId taken)
{
    const MwValueId x = source_of(q->rewrite.from, taken);
    if (q->operand_of[x.index] < 0) {
        q->operand_of[x.index] = q->operands.count;
        mw_vec_push(q->rewrite.to->arena, &q->operands, make_operand(q, x));
    }
    return q->operands.at[q->operand_of[x.index]];
}

/* ---- Products ---- */

/* Pins the product to be computed again where its result, it without the scale, is pinned so. */
static void pin_product(const Quantiser *q, MwValueId result, MwValueId product)
{
    const MwGraph *from = q->rewrite.from;
    for (int i = 0; i < from->pins.count; i++) {
        const MwPin *pin = &from->pins.at[i];
        if (pin->value.index != result.index || pin->remat != 1)
            continue;
        MwPin copy = mw_pin_new(product);
        copy.span = pin->span;
        copy.remat = 1;
        mw_vec_push(q->rewrite.to->arena, &q->rewrite.to->pins, copy);
    }
}

static void quantise_product(Quantiser *q, const MwNode *node)
{
    MwGraph *to = q->rewrite.to;
    const MwValue *result = &q->rewrite.from->values.at[node->first_result];
    mw_rewrite_at(&q->rewrite, node);
    const Operand operands[] = {operand_of(q, node->operands[0]), operand_of(q, node->operands[1])};
    const MwValueId taken[] = {operands[0].quantised, operands[1].quantised};
    const MwAttr attrs[] = {mw_attr_text(MW_ATTR_EQUATION, mw_node_text(node, MW_ATTR_EQUATION)),
                            mw_attr_int(MW_ATTR_TYPE, result->tensor.type)};
    const int before = to->values.count;
    const MwValueId product =
        mw_build(to, NULL, MW_OP_EINSUM, taken, MW_COUNT(taken), attrs, MW_COUNT(attrs));
    if (!q->is_early[node->first_result])
        to->phase = MW_PHASE_UPDATE;
    const MwValueId scale =
        mw_build_cast(to, mw_build_binary(to, MW_OP_MUL, operands[0].scale, operands[1].scale),
                      result->tensor.type);
    const MwValueId unscaled = mw_build_binary(to, MW_OP_DIV, product, scale);
    mw_graph_rename(to, unscaled, result->name);
    mw_build_name_temporaries(to, before, to->values.count,
                              mw_arena_printf(to->arena, "%s.scaled", result->name));
    q->rewrite.value[node->first_result] = unscaled;
    pin_product(q, (MwValueId){node->first_result}, product);
}

/* ---- Scales of the next step ---- */

/* bool[history]: the entry that the step writes. */
static MwValueId find_entry(const Quantiser *q)
{
    MwGraph *to = q->rewrite.to;
    const MwTensor scalar = mw_tensor_scalar(MW_I32);
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, MW_I32),
                            mw_attr_ints(MW_ATTR_SHAPE, &q->scaling.history, 1),
                            mw_attr_int(MW_ATTR_AXIS, 0)};
    const int before = to->values.count;
    const MwValueId step = mw_build(to, NULL, MW_OP_STEP, NULL, 0, NULL, 0);
    const MwValueId entries = mw_build(to, NULL, MW_OP_IOTA, NULL, 0, attrs, MW_COUNT(attrs));
    const MwValueId entry = mw_build_binary(
        to, MW_OP_MOD, step, mw_build_constant(to, &scalar, (double)q->scaling.history));
    const MwValueId is_entry = mw_build_binary(to, MW_OP_EQ, entries, entry);
    mw_build_name_temporaries(to, before, to->values.count, "amax.entry");
    return is_entry;
}

static void scale_next(const Quantiser *q, const Operand *operand, MwValueId is_entry)
{
    MwGraph *to = q->rewrite.to;
    const char *name = mw_value(to, operand->scale)->name;
    const int before = to->values.count;
    to->origin = operand->origin;
    const MwValueId history = mw_step_assign(
        to, operand->history, mw_build_select(to, is_entry, operand->amax, operand->history));
    const MwAttr axes = mw_attr_ints(MW_ATTR_AXES, (const int64_t[]){0}, 1);
    const MwAttr last = mw_attr_float(MW_ATTR_VALUE, last_number(q, operand->type));
    const MwValueId scaling[] = {mw_build(to, NULL, MW_OP_REDUCE_MAX, &history, 1, &axes, 1),
                                 operand->scale};
    mw_step_assign(to, operand->scale,
                   mw_build(to, NULL, MW_OP_SCALE_TO, scaling, MW_COUNT(scaling), &last, 1));
    mw_build_name_temporaries(to, before, to->values.count,
                              mw_arena_printf(to->arena, "%s.update", name));
}

static void scale_all_next(Quantiser *q)
{
    MwGraph *to = q->rewrite.to;
    if (q->operands.count == 0)
        return;
    to->phase = MW_PHASE_UPDATE;
    to->origin = q->operands.at[0].origin;
    const MwValueId is_entry = find_entry(q);
    for (int i = 0; i < q->operands.count; i++)
        scale_next(q, &q->operands.at[i], is_entry);
}

/* Whether the GPUs of the cluster, if it has any and says which, multiply floats of 8 bits. */
static bool check_cluster(const MwCluster *cluster, MwDiags *diags)
{
    const int capability = cluster ? (int)lround(10 * cluster->device.capability) : 0;
    if (capability == 0 || capability >= MW_CUDA_FP8_CAPABILITY ||
        strcmp(cluster->backend, mw_backend_info(MW_BACKEND_cuda)->name) != 0)
        return true;
    mw_diag_error(diags, mw_span_none(),
                  "precision fp8 needs GPUs of compute capability %d.%d or later, and those of "
                  "cluster %s are of %d.%d",
                  MW_CUDA_FP8_CAPABILITY / 10, MW_CUDA_FP8_CAPABILITY % 10, cluster->name,
                  capability / 10, capability % 10);
    return false;
}

static MwGraph *quantised(const MwGraph *graph, MwDiags *diags)
{
    Quantiser q = {.rewrite = mw_rewrite_begin(graph),
                   .scaling = graph->fp8,
                   .is_product = find_products(graph),
                   .is_early = find_early(graph),
                   .operand_of = MW_NEW(graph->arena, int, graph->values.count)};
    memset(q.operand_of, -1, sizeof *q.operand_of * (size_t)graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        if (q.is_product[n])
            quantise_product(&q, &graph->nodes.at[n]);
        else
            mw_rewrite_copy(&q.rewrite, &graph->nodes.at[n]);
    }
    mw_rewrite_finish(&q.rewrite);
    scale_all_next(&q);
    if (q.operands.count == 0)
        mw_diag_warning(diags, mw_span_none(),
                        "precision fp8: no product of '%s' is one of layers, in bf16 and of sizes "
                        "that are multiples of %d, so all stay in bf16",
                        graph->name, MW_FP8_STEP);
    q.rewrite.to->fp8 = mw_fp8_scaling_of(MW_F32);
    return q.rewrite.to;
}

bool mw_pass_quantise(MwCompilation *compilation, MwDiags *diags)
{
    if (compilation->graph->fp8.history == 0)
        return true;
    if (!check_cluster(compilation->cluster, diags))
        return false;
    compilation->graph = quantised(compilation->graph, diags);
    return true;
}
