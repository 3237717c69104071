/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses: their elements, and what these are reduced to. */
#include "frontend/functions/expansions.h"
#include "frontend/functions/reduction.h"

static bool check_targets(MwExpander *ex, const MwCall *call, const MwTensor *logits,
                          const MwTensor *targets)
{
    const MwType type = mw_type_is_index(targets->type) ? targets->type : MW_I32;
    MwTensor wanted = mw_tensor(type, (int)mw_max(logits->rank - 1, 0), logits->dim);
    char text[3][MW_TENSOR_TEXT_BYTES];
    if (logits->rank > 0 && mw_type_is_float(logits->type) && mw_tensor_equal(targets, &wanted))
        return true;
    mw_expand_note(ex, mw_span_none(), "it needs float logits [.., classes] and, here, %s",
                   mw_tensor_text(&wanted, text[2]));
    mw_expand_error(ex, call->site.span, "cross_entropy cannot score %s against targets %s",
                    mw_tensor_text(logits, text[0]), mw_tensor_text(targets, text[1]));
    return false;
}

/* The sum or mean of all elements of `x`. */
static MwValueId total_of(MwExpander *ex, MwSite site, MwValueId x, bool mean)
{
    if (!mw_has_value(x))
        return x;
    MwReduced all = {.x = x};
    for (; all.axis_count < mw_value_tensor(ex->graph, x)->rank; all.axis_count++)
        all.axes[all.axis_count] = all.axis_count;
    return mean ? mw_reduction_mean(ex, site, &all, mw_reduction_count(ex, &all))
                : mw_reduction_emit(ex, site, MW_OP_REDUCE_SUM, &all);
}

/* The sum along the last dimension. */
static MwValueId sum_of_rows(MwExpander *ex, MwSite site, MwValueId x)
{
    const MwReduced row = {
        .x = x, .axes = {mw_value_tensor(ex->graph, x)->rank - 1}, .axis_count = 1};
    return mw_reduction_emit(ex, site, MW_OP_REDUCE_SUM, &row);
}

/* `x` in f32. */
static MwValueId in_f32(MwExpander *ex, MwSite site, MwValueId x)
{
    return mw_value_tensor(ex->graph, x)->type == MW_F32 ? x : mw_emit_cast(ex, site, x, MW_F32);
}

/* How the elements of a loss become one number. */
typedef enum { REDUCE_MEAN, REDUCE_SUM, REDUCE_NONE } LossReduction;

static int read_loss_reduction(MwExpander *ex, const MwCall *call, int k)
{
    static const char *const names[] = {"mean", "sum", "none"};
    return mw_call_choice(ex, call, k, names, MW_COUNT(names), REDUCE_MEAN);
}

/* Where the elements of a loss are computed. */
static MwSite element_site(const MwCall *call, LossReduction reduction)
{
    return reduction == REDUCE_NONE ? call->site : mw_site_inner(call->site);
}

static MwTerm reduce_loss(MwExpander *ex, const MwCall *call, LossReduction reduction,
                          MwValueId each)
{
    if (reduction == REDUCE_NONE)
        return mw_term_tensor(each);
    return mw_term_tensor(total_of(ex, call->site, each, reduction == REDUCE_MEAN));
}

/* The operands of a loss, tensors of floats of one shape, in f32. */
static bool read_loss_operands(MwExpander *ex, MwCall *call, bool of_rows)
{
    MwValueId x[2];
    for (int k = 0; k < 2; k++)
        if (!mw_call_tensor(ex, call, k, &x[k]))
            return false;
    const MwTensor *a = mw_value_tensor(ex->graph, x[0]), *b = mw_value_tensor(ex->graph, x[1]);
    if (!mw_type_is_float(a->type) || !mw_type_is_float(b->type) || !mw_tensor_same_shape(a, b) ||
        (of_rows && !a->rank)) {
        char text[2][MW_TENSOR_TEXT_BYTES];
        mw_expand_note(ex, mw_span_none(), "it needs floats of one shape");
        mw_expand_error(ex, call->site.span, "%s cannot score %s against %s", call->callee,
                        mw_tensor_text(a, text[0]), mw_tensor_text(b, text[1]));
        return false;
    }
    call->given =
        mw_arena_dup(ex->arena, call->given, sizeof *call->given * (size_t)call->formal_count);
    for (int k = 0; k < 2; k++)
        call->given[k].term = mw_term_tensor(in_f32(ex, mw_site_inner(call->site), x[k]));
    return true;
}

MwTerm mw_compose_loss(MwExpander *ex, const MwCall *call, bool of_rows, const char *text)
{
    MwCall wide = *call;
    const int reduction = read_loss_reduction(ex, call, 2);
    if (reduction < 0 || !read_loss_operands(ex, &wide, of_rows))
        return mw_term_none();
    MwSite site = element_site(call, reduction);
    const MwTerm each = mw_compose(ex, &wide, of_rows ? mw_site_inner(site) : site, 0, text);
    if (each.kind == MW_TERM_NONE)
        return each;
    return reduce_loss(ex, call, reduction,
                       of_rows ? sum_of_rows(ex, site, each.value) : each.value);
}

/* The logarithm of the probability of each target. With smoothing, a part of the weight is spread
 * evenly over all classes (Szegedy et al., Rethinking the Inception Architecture, 2016). */
static MwValueId smoothed_pick(MwExpander *ex, MwSite site, MwValueId logits, MwValueId targets,
                               double smoothing)
{
    MwValueId picked = mw_emit_binary(ex, site, MW_OP_PICK, logits, targets);
    if (smoothing == 0)
        return picked;
    const MwTensor type = *mw_value_tensor(ex->graph, logits);
    MwValueId all = sum_of_rows(ex, site, logits);
    MwValueId own = mw_emit_constant(ex, site, MW_F32, 1 - smoothing);
    MwValueId share =
        mw_emit_constant(ex, site, MW_F32, smoothing / (double)type.dim[type.rank - 1]);
    picked = mw_emit_binary(ex, site, MW_OP_MUL, picked, own);
    return mw_emit_binary(ex, site, MW_OP_ADD, picked,
                          mw_emit_binary(ex, site, MW_OP_MUL, all, share));
}

/* Targets of which some are ignored: what they are instead, and which they are not. */
typedef struct {
    MwValueId targets, counts; /* `counts` is bool; no value where none is ignored */
} Scored;

static bool read_scored(MwExpander *ex, const MwCall *call, MwValueId targets, Scored *scored)
{
    int64_t ignored;
    *scored = (Scored){targets, mw_no_value()};
    if (!mw_call_has(call, 4))
        return true;
    if (!mw_want_int(ex, call->given[4].term, mw_call_want(ex, call, 4), &ignored))
        return false;
    MwSite inner = mw_site_inner(call->site);
    MwTerm given = mw_term_tensor(targets), mark = mw_term_int(ignored);
    MwTerm counts = mw_apply(ex, inner, MW_OP_NE, (MwTerm[]){given, mark}, 2);
    MwTerm safe = mw_apply(ex, inner, MW_OP_SELECT, (MwTerm[]){counts, given, mw_term_int(0)}, 3);
    if (safe.kind == MW_TERM_NONE)
        return false;
    *scored = (Scored){safe.value, counts.value};
    return true;
}

/* The sum over the number of targets that count, or over 1 where none does. */
static MwTerm mean_of_scored(MwExpander *ex, MwSite site, const Scored *scored, MwValueId each)
{
    MwSite inner = mw_site_inner(site);
    MwValueId ones = mw_emit_cast(ex, inner, scored->counts, MW_F32);
    MwTerm count = mw_term_tensor(total_of(ex, inner, ones, false));
    count = mw_apply(ex, inner, MW_OP_MAXIMUM, (MwTerm[]){count, mw_term_int(1)}, 2);
    MwTerm sum = mw_term_tensor(total_of(ex, inner, each, false));
    return mw_apply(ex, site, MW_OP_DIV, (MwTerm[]){sum, count}, 2);
}

/* -log(softmax(logits)[target]), as logsumexp(logits) - logits[target], in f32; 0 where the target
 * is ignored. */
static MwValueId cross_entropies(MwExpander *ex, MwSite site, MwValueId logits,
                                 const Scored *scored, double smoothing)
{
    MwSite inner = mw_site_inner(site);
    logits = in_f32(ex, inner, logits);
    MwValueId total = mw_emit_unary(ex, inner, MW_OP_LOGSUMEXP, logits);
    MwValueId picked = smoothed_pick(ex, inner, logits, scored->targets, smoothing);
    if (!mw_has_value(scored->counts))
        return mw_emit_binary(ex, site, MW_OP_SUB, total, picked);
    MwTerm each = mw_term_tensor(mw_emit_binary(ex, inner, MW_OP_SUB, total, picked));
    MwTerm terms[] = {mw_term_tensor(scored->counts), each, mw_term_int(0)};
    each = mw_apply(ex, site, MW_OP_SELECT, terms, 3);
    return each.kind == MW_TERM_TENSOR ? each.value : mw_no_value();
}

MwTerm mw_function_cross_entropy(MwExpander *ex, const MwCall *call)
{
    MwValueId logits, targets;
    Scored scored;
    double smoothing;
    const int reduction = read_loss_reduction(ex, call, 2);
    if (reduction < 0 || !mw_call_tensor(ex, call, 0, &logits) ||
        !mw_call_tensor(ex, call, 1, &targets) || !mw_call_number(ex, call, 3, 0, &smoothing) ||
        !check_targets(ex, call, mw_value_tensor(ex->graph, logits),
                       mw_value_tensor(ex->graph, targets)))
        return mw_term_none();
    if (!(smoothing >= 0 && smoothing < 1)) {
        mw_expand_error(ex, call->given[3].span,
                        "'smoothing' of cross_entropy is at least 0 and less than 1, not %g",
                        smoothing);
        return mw_term_none();
    }
    if (!read_scored(ex, call, targets, &scored))
        return mw_term_none();
    MwValueId each = cross_entropies(ex, element_site(call, reduction), logits, &scored, smoothing);
    if (mw_has_value(each) && mw_has_value(scored.counts) && reduction == REDUCE_MEAN)
        return mean_of_scored(ex, call->site, &scored, each);
    return reduce_loss(ex, call, reduction, each);
}

/* The rows of `x` over their lengths, of which none counts as less than 1e-12 (as in PyTorch). */
static MwValueId unit_rows(MwExpander *ex, MwSite site, MwValueId x)
{
    const double least = 1e-24;
    const MwReduced row = {
        .x = mw_emit_binary(ex, site, MW_OP_MUL, x, x), .axes = {1}, .axis_count = 1, .keep = true};
    MwValueId square = mw_reduction_emit(ex, site, MW_OP_REDUCE_SUM, &row);
    square =
        mw_emit_binary(ex, site, MW_OP_MAXIMUM, square, mw_emit_constant(ex, site, MW_F32, least));
    return mw_emit_binary(ex, site, MW_OP_MUL, x, mw_emit_unary(ex, site, MW_OP_RSQRT, square));
}

/* The vectors of the pairs of a batch, [batch, width] each, in f32 and of length 1. */
static bool read_pairs(MwExpander *ex, const MwCall *call, MwValueId *rows)
{
    const MwSite inner = mw_site_inner(call->site);
    for (int k = 0; k < 2; k++)
        if (!mw_call_tensor(ex, call, k, &rows[k]))
            return false;
    const MwTensor *a = mw_value_tensor(ex->graph, rows[0]);
    const MwTensor *b = mw_value_tensor(ex->graph, rows[1]);
    if (a->rank != 2 || !mw_type_is_float(a->type) || !mw_type_is_float(b->type) ||
        !mw_tensor_same_shape(a, b)) {
        char text[2][MW_TENSOR_TEXT_BYTES];
        mw_expand_error(ex, call->site.span,
                        "contrastive needs vectors of two kinds, float numbers [batch, width] of "
                        "one shape, not %s and %s",
                        mw_tensor_text(a, text[0]), mw_tensor_text(b, text[1]));
        return false;
    }
    for (int k = 0; k < 2; k++)
        rows[k] = unit_rows(ex, inner, in_f32(ex, inner, rows[k]));
    return true;
}

/* What similarities are divided by: a positive number, or a tensor of one. */
static bool read_temperature(MwExpander *ex, const MwCall *call, int k, MwTerm *temperature)
{
    const double usual = 0.07; /* of CLIP at its beginning, and of MoCo */
    *temperature = mw_call_has(call, k) ? call->given[k].term : mw_term_float(usual);
    const MwTensor *tensor =
        temperature->kind == MW_TERM_TENSOR ? mw_value_tensor(ex->graph, temperature->value) : NULL;
    if (tensor ? tensor->rank == 0 && mw_type_is_float(tensor->type)
               : mw_term_is_number(*temperature) && mw_term_number(*temperature) > 0)
        return true;
    mw_expand_error(ex, call->given[k].span,
                    "'temperature' of contrastive must be a number above 0 or f32[], not %s",
                    mw_term_describe(ex, *temperature));
    return false;
}

/* The loss of CLIP (Radford et al. 2021, figure 3): each row of similarities is scored against its
 * own pair, and, if it is symmetric, each column too. One side alone is InfoNCE (van den Oord et
 * al. 2018), with the other pairs of the batch as negatives. */
MwTerm mw_function_contrastive(MwExpander *ex, const MwCall *call)
{
    const MwSite inner = mw_site_inner(call->site);
    MwValueId rows[2];
    MwTerm temperature;
    bool symmetric;
    const int reduction = read_loss_reduction(ex, call, 4);
    if (reduction < 0 || !read_temperature(ex, call, 2, &temperature) ||
        !mw_call_flag(ex, call, 3, true, &symmetric) || !read_pairs(ex, call, rows))
        return mw_term_none();
    const MwTerm scaled =
        mw_apply(ex, inner, MW_OP_DIV, (MwTerm[]){mw_term_tensor(rows[0]), temperature}, 2);
    if (scaled.kind == MW_TERM_NONE)
        return scaled;
    const int64_t batch = mw_value_tensor(ex->graph, rows[0])->dim[0];
    const MwTensor ids = mw_tensor(MW_I32, 1, &batch);
    const Scored pairs = {mw_emit_iota(ex, inner, &ids, 0), mw_no_value()};
    const MwValueId logits = mw_emit_einsum(ex, inner, "iw,jw->ij", scaled.value, rows[1]);
    const MwSite site = element_site(call, reduction);
    MwValueId each = cross_entropies(ex, symmetric ? inner : site, logits, &pairs, 0);
    if (symmetric) {
        const MwValueId columns = mw_emit_transpose(ex, inner, logits, (int64_t[]){1, 0});
        each = mw_emit_binary(ex, inner, MW_OP_ADD, each,
                              cross_entropies(ex, inner, columns, &pairs, 0));
        each = mw_emit_binary(ex, site, MW_OP_MUL, each, mw_emit_constant(ex, inner, MW_F32, 0.5));
    }
    return reduce_loss(ex, call, reduction, each);
}
