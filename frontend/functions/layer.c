/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions for the layers of networks: activations, norms, attention, positions. */
#include "frontend/functions/expansions.h"

#include <math.h>

MwTerm mw_function_where(MwExpander *ex, const MwCall *call)
{
    MwTerm terms[] = {call->given[0].term, call->given[1].term, call->given[2].term};
    return mw_apply(ex, call->site, MW_OP_SELECT, terms, 3);
}

MwTerm mw_function_select(MwExpander *ex, const MwCall *call)
{
    return mw_function_where(ex, call);
}

MwTerm mw_function_gelu(MwExpander *ex, const MwCall *call)
{
    static const char *const names[] = {"none", "tanh"};
    static const MwOp ops[] = {MW_OP_GELU, MW_OP_GELU_TANH};
    int choice = mw_call_choice(ex, call, 1, names, MW_COUNT(names), 0);
    if (choice < 0)
        return mw_term_none();
    return mw_apply(ex, call->site, ops[choice], &call->given[0].term, 1);
}

/* Adds `op` on argument 0 with the float attribute `key`. */
static MwTerm with_number(MwExpander *ex, const MwCall *call, MwOp op, MwAttrKey key, double value)
{
    MwValueId x;
    if (!mw_call_tensor(ex, call, 0, &x))
        return mw_term_none();
    MwAttr attr = mw_attr_float(key, value);
    return mw_call_emit(ex, call, op, &x, 1, &attr, 1);
}

static MwTerm norm_of_rows(MwExpander *ex, const MwCall *call, MwOp op)
{
    double eps;
    if (!mw_call_eps(ex, call, 1, &eps))
        return mw_term_none();
    return with_number(ex, call, op, MW_ATTR_EPS, eps);
}

MwTerm mw_function_layer_norm(MwExpander *ex, const MwCall *call)
{
    return norm_of_rows(ex, call, MW_OP_LAYER_NORM);
}

MwTerm mw_function_rms_norm(MwExpander *ex, const MwCall *call)
{
    return norm_of_rows(ex, call, MW_OP_RMS_NORM);
}

/* Argument 2 of rope as f32 [batch or 1, sequence, 1, 1]. */
static bool read_positions(MwExpander *ex, const MwCall *call, MwValueId x, MwValueId *positions)
{
    MwSite inner = mw_site_inner(call->site);
    if (!mw_call_tensor(ex, call, 2, positions))
        return false;
    const MwTensor tensor = *mw_value_tensor(ex->graph, x);
    const MwTensor given = *mw_value_tensor(ex->graph, *positions);
    const bool is_shared = given.rank == 1;
    if (tensor.rank != 4 || tensor.dim[3] % 2 != 0 || !mw_type_is_float(tensor.type)) {
        mw_expand_error(ex, call->given[0].span,
                        "rope needs float numbers [batch, sequence, heads, head size] with an even "
                        "head size, not %s",
                        mw_term_describe(ex, call->given[0].term));
        return false;
    }
    MwTensor each = mw_tensor(MW_I32, 2, tensor.dim);
    char text[MW_TENSOR_TEXT_BYTES];
    if (!mw_type_is_index(given.type) || given.rank < 1 || given.rank > 2 ||
        given.dim[given.rank - 1] != each.dim[1] || (!is_shared && given.dim[0] != each.dim[0])) {
        mw_expand_error(ex, call->given[2].span,
                        "'positions' of rope is %s, or without its batch, not %s",
                        mw_tensor_text(&each, text), mw_term_describe(ex, call->given[2].term));
        return false;
    }
    MwTensor apart =
        mw_tensor(given.type, 4, (int64_t[]){is_shared ? 1 : each.dim[0], each.dim[1], 1, 1});
    MwAttr type = mw_attr_int(MW_ATTR_TYPE, MW_F32);
    *positions = mw_emit_reshape(ex, inner, *positions, &apart);
    *positions = mw_emit(ex, inner, MW_OP_CAST, positions, 1, &type, 1);
    return mw_has_value(*positions);
}

/* The angles by which element i of `half` turns at each position: position * base^(-i / half). */
static MwValueId emit_angles(MwExpander *ex, MwSite site, MwValueId positions, int64_t half,
                             double base)
{
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, MW_F32), mw_attr_ints(MW_ATTR_SHAPE, &half, 1),
                      mw_attr_int(MW_ATTR_AXIS, 0)};
    MwValueId each = mw_emit(ex, site, MW_OP_IOTA, NULL, 0, attrs, MW_COUNT(attrs));
    MwValueId by = mw_emit_constant(ex, site, MW_F32, -log(base) / (double)half);
    MwValueId rates =
        mw_emit_unary(ex, site, MW_OP_EXP, mw_emit_binary(ex, site, MW_OP_MUL, each, by));
    return mw_emit_binary(ex, site, MW_OP_MUL, positions, rates);
}

/* Rotary positions that are given: the halves of x turned by their angles, in f32. */
static MwTerm rope_at(MwExpander *ex, const MwCall *call, double base)
{
    MwSite inner = mw_site_inner(call->site);
    MwValueId x, positions;
    if (!mw_call_tensor(ex, call, 0, &x) || !read_positions(ex, call, x, &positions))
        return mw_term_none();
    const MwTensor tensor = *mw_value_tensor(ex->graph, x);
    const bool is_f32 = tensor.type == MW_F32;
    const int64_t sizes[] = {tensor.dim[3] / 2, tensor.dim[3] / 2};
    MwAttr f32 = mw_attr_int(MW_ATTR_TYPE, MW_F32), type = mw_attr_int(MW_ATTR_TYPE, tensor.type);
    MwAttr halves[] = {mw_attr_int(MW_ATTR_AXIS, 3), mw_attr_ints(MW_ATTR_SIZES, sizes, 2)};
    MwValueId angles = emit_angles(ex, inner, positions, sizes[0], base);
    MwValueId cosine = mw_emit_unary(ex, inner, MW_OP_COS, angles);
    MwValueId sine = mw_emit_unary(ex, inner, MW_OP_SIN, angles);
    if (!is_f32)
        x = mw_emit(ex, inner, MW_OP_CAST, &x, 1, &f32, 1);
    MwSite both = {call->site.span, {NULL, 2}};
    MwTerm parts = mw_emit_all(ex, both, MW_OP_SPLIT, &x, 1, halves, MW_COUNT(halves));
    if (parts.kind != MW_TERM_LIST || !mw_has_value(sine))
        return mw_term_none();
    MwValueId left = parts.list.at[0].value, right = parts.list.at[1].value;
    MwValueId left_cosine = mw_emit_binary(ex, inner, MW_OP_MUL, left, cosine);
    MwValueId right_sine = mw_emit_binary(ex, inner, MW_OP_MUL, right, sine);
    MwValueId right_cosine = mw_emit_binary(ex, inner, MW_OP_MUL, right, cosine);
    MwValueId left_sine = mw_emit_binary(ex, inner, MW_OP_MUL, left, sine);
    MwValueId turned[2];
    turned[0] = mw_emit_binary(ex, inner, MW_OP_SUB, left_cosine, right_sine);
    turned[1] = mw_emit_binary(ex, inner, MW_OP_ADD, right_cosine, left_sine);
    MwValueId y = mw_emit(ex, is_f32 ? call->site : inner, MW_OP_CONCAT, turned, 2, halves, 1);
    return mw_term_tensor(is_f32 ? y : mw_emit(ex, call->site, MW_OP_CAST, &y, 1, &type, 1));
}

MwTerm mw_function_rope(MwExpander *ex, const MwCall *call)
{
    double base;
    if (!mw_call_number(ex, call, 1, 10000, &base))
        return mw_term_none();
    if (!mw_call_has(call, 2))
        return with_number(ex, call, MW_OP_ROPE, MW_ATTR_BASE, base);
    if (base > 1 && isfinite(base))
        return rope_at(ex, call, base);
    mw_expand_error(ex, call->site.span, "rope needs a finite base of more than 1, not %g", base);
    return mw_term_none();
}

/* Adds the node. The call gives both results only if it is assigned to two names, otherwise only
 * the first. */
static MwTerm emit_attention(MwExpander *ex, const MwCall *call, const MwValueId *operands,
                             const MwAttr *attrs, int attr_count)
{
    const bool is_masked = mw_has_value(operands[3]);
    MwTargets targets = call->site.targets;
    MwCall both = *call;
    const char *names[2];
    if (targets.names && targets.count == 1) {
        names[0] = targets.names[0];
        names[1] = mw_intern_printf(ex->interner, "%s.lse", names[0]);
        both.site.targets = (MwTargets){names, 2};
    }
    MwTerm results = mw_call_emit(ex, &both, is_masked ? MW_OP_SDPA_MASKED : MW_OP_SDPA, operands,
                                  is_masked ? 4 : 3, attrs, attr_count);
    return results.kind == MW_TERM_LIST && targets.count == 1 ? results.list.at[0] : results;
}

enum {
    SDPA_CAUSAL = 3,
    SDPA_SCALE,
    SDPA_MASK,
    SDPA_LENGTHS,
    SDPA_WINDOW,
    SDPA_SOFT_CAP,
    SDPA_OFFSET
};

/* The mask of a call as [b, h, s, t]: dimensions that it lacks in front are 1. */
static bool read_mask(MwExpander *ex, const MwCall *call, MwValueId *mask)
{
    if (!mw_call_has(call, SDPA_MASK))
        return true;
    if (!mw_call_tensor(ex, call, SDPA_MASK, mask))
        return false;
    const MwTensor given = *mw_value_tensor(ex->graph, *mask);
    if (given.rank >= 4)
        return true; /* the shape rule refuses more */
    MwTensor all = mw_tensor(given.type, 4, (int64_t[]){1, 1, 1, 1});
    for (int d = 0; d < given.rank; d++)
        all.dim[4 - given.rank + d] = given.dim[d];
    *mask = mw_emit_reshape(ex, mw_site_inner(call->site), *mask, &all);
    return mw_has_value(*mask);
}

/* The keys below the lengths of a call, bool [b, 1, 1, t]. */
static bool read_lengths(MwExpander *ex, const MwCall *call, const MwValueId *operands,
                         MwValueId *seen)
{
    MwSite inner = mw_site_inner(call->site);
    MwValueId lengths;
    if (!mw_call_tensor(ex, call, SDPA_LENGTHS, &lengths))
        return false;
    const MwTensor *q = mw_value_tensor(ex->graph, operands[0]);
    const MwTensor *k = mw_value_tensor(ex->graph, operands[1]);
    const MwType given = mw_value_tensor(ex->graph, lengths)->type;
    const MwType type = mw_type_is_index(given) ? given : MW_I32;
    const MwTensor wanted = mw_tensor(type, 1, (int64_t[]){q->rank ? q->dim[0] : 1});
    int64_t keys = k->rank > 1 ? k->dim[1] : 1;
    char text[MW_TENSOR_TEXT_BYTES];
    if (!mw_tensor_equal(mw_value_tensor(ex->graph, lengths), &wanted)) {
        mw_expand_error(ex, call->given[SDPA_LENGTHS].span,
                        "'lengths' of sdpa is %s, one for each of the batch, not %s",
                        mw_tensor_text(&wanted, text),
                        mw_term_describe(ex, call->given[SDPA_LENGTHS].term));
        return false;
    }
    MwTensor apart = mw_tensor(type, 4, (int64_t[]){wanted.dim[0], 1, 1, 1});
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, type), mw_attr_ints(MW_ATTR_SHAPE, &keys, 1),
                      mw_attr_int(MW_ATTR_AXIS, 0)};
    MwValueId each = mw_emit(ex, inner, MW_OP_IOTA, NULL, 0, attrs, MW_COUNT(attrs));
    lengths = mw_emit_reshape(ex, inner, lengths, &apart);
    *seen = mw_emit_binary(ex, inner, MW_OP_LT, each, lengths);
    return mw_has_value(*seen);
}

/* Adds the keys that are seen to a mask of either kind; both have a value. */
static MwValueId restrict_mask(MwExpander *ex, MwSite site, MwValueId mask, MwValueId seen)
{
    const MwType type = mw_value_tensor(ex->graph, mask)->type;
    if (type == MW_BOOL)
        return mw_emit_binary(ex, site, MW_OP_AND, mask, seen);
    const MwValueId operands[] = {seen, mask, mw_emit_constant(ex, site, type, -INFINITY)};
    return mw_emit(ex, site, MW_OP_SELECT, operands, MW_COUNT(operands), NULL, 0);
}

/* Brings values of another width than queries and keys to one width with them, by zeros, which
 * change neither scores nor the values of the width that was given. Returns that width where the
 * output is to be cut to it, else 0. */
static int64_t fit_values(MwExpander *ex, MwSite site, MwValueId operands[3])
{
    MwTensor shape[3];
    for (int k = 0; k < 3; k++)
        shape[k] = *mw_value_tensor(ex->graph, operands[k]);
    if (shape[0].rank != 4 || shape[1].rank != 4 || shape[2].rank != 4 ||
        shape[0].dim[3] != shape[1].dim[3])
        return 0; /* the shape rule refuses it */
    const int64_t width = shape[2].dim[3], more = shape[0].dim[3] - width;
    for (int k = 0; k < 2 && more < 0; k++)
        operands[k] = mw_emit_range(ex, site, MW_OP_PAD, operands[k], 3, 0, -more);
    if (more <= 0)
        return 0;
    operands[2] = mw_emit_range(ex, site, MW_OP_PAD, operands[2], 3, 0, more);
    return width;
}

/* Attention whose output is cut to `width`. */
static MwTerm emit_narrowed(MwExpander *ex, const MwCall *call, const MwValueId *operands,
                            const MwAttr *attrs, int attr_count, int64_t width)
{
    MwCall whole = *call;
    const MwTargets targets = call->site.targets;
    const bool has_lse = targets.count == 2;
    const char *names[2];
    if (targets.names && targets.count <= 2) {
        names[0] = mw_intern_printf(ex->interner, "%s.padded", targets.names[0]);
        names[1] = has_lse ? targets.names[1] : NULL;
        whole.site.targets.names = names;
    }
    MwTerm results = emit_attention(ex, &whole, operands, attrs, attr_count);
    MwTerm *out = results.kind == MW_TERM_LIST ? results.list.at : &results;
    if (out->kind == MW_TERM_TENSOR)
        *out = mw_term_tensor(mw_emit_range(ex, mw_site_part(call->site, 0, targets.count),
                                            MW_OP_SLICE, out->value, 3, 0, width));
    return results;
}

/* Operand 3 is the mask that the arguments `mask` and `lengths` mean, or no value. */
static bool read_attention(MwExpander *ex, const MwCall *call, MwValueId operands[4])
{
    MwValueId seen;
    operands[3] = mw_no_value();
    for (int k = 0; k < 3; k++)
        if (!mw_call_tensor(ex, call, k, &operands[k]))
            return false;
    if (!read_mask(ex, call, &operands[3]))
        return false;
    if (!mw_call_has(call, SDPA_LENGTHS))
        return true;
    if (!read_lengths(ex, call, operands, &seen))
        return false;
    operands[3] = mw_has_value(operands[3])
                      ? restrict_mask(ex, mw_site_inner(call->site), operands[3], seen)
                      : seen;
    return mw_has_value(operands[3]);
}

MwTerm mw_function_sdpa(MwExpander *ex, const MwCall *call)
{
    MwValueId operands[4];
    if (!read_attention(ex, call, operands))
        return mw_term_none();
    const MwTensor *q = mw_value_tensor(ex->graph, operands[0]);
    bool causal;
    int64_t *window = NULL, *offset = NULL;
    int windows = 0, offsets = 0;
    double scale, soft_cap, head = q->rank ? (double)q->dim[q->rank - 1] : 1;
    if (!mw_call_flag(ex, call, SDPA_CAUSAL, false, &causal) ||
        !mw_call_number(ex, call, SDPA_SCALE, 1 / sqrt(head), &scale) ||
        (mw_call_has(call, SDPA_WINDOW) &&
         !mw_call_ints(ex, call, SDPA_WINDOW, &window, &windows)) ||
        (mw_call_has(call, SDPA_OFFSET) &&
         !mw_call_ints(ex, call, SDPA_OFFSET, &offset, &offsets)) ||
        !mw_call_number(ex, call, SDPA_SOFT_CAP, 0, &soft_cap))
        return mw_term_none();
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_CAUSAL, causal), mw_attr_float(MW_ATTR_SCALE, scale),
                      mw_attr_float(MW_ATTR_SOFT_CAP, soft_cap),
                      mw_attr_ints(MW_ATTR_OFFSET, offset, offsets),
                      mw_attr_ints(MW_ATTR_WINDOW, window, windows)};
    const int64_t width = fit_values(ex, mw_site_inner(call->site), operands);
    if (width)
        return emit_narrowed(ex, call, operands, attrs, MW_COUNT(attrs), width);
    return emit_attention(ex, call, operands, attrs, MW_COUNT(attrs));
}

/* x, or the bound where `op` holds between them. */
static MwTerm bounded(MwExpander *ex, MwSite site, MwTerm x, MwOp op, MwTerm bound)
{
    MwTerm beyond = mw_apply(ex, mw_site_inner(site), op, (MwTerm[]){x, bound}, 2);
    if (beyond.kind == MW_TERM_NONE)
        return beyond;
    return mw_apply(ex, site, MW_OP_SELECT, (MwTerm[]){beyond, bound, x}, 3);
}

/* At a bound the gradient passes, as in PyTorch. */
MwTerm mw_function_clip(MwExpander *ex, const MwCall *call)
{
    MwTerm x = call->given[0].term;
    MwSite low_site = mw_call_has(call, 2) ? mw_site_inner(call->site) : call->site;
    if (!mw_call_has(call, 1) && !mw_call_has(call, 2))
        mw_expand_error(ex, call->site.span, "clip needs 'low', 'high' or both");
    if (mw_call_has(call, 1))
        x = bounded(ex, low_site, x, MW_OP_LT, call->given[1].term);
    if (x.kind != MW_TERM_NONE && mw_call_has(call, 2))
        x = bounded(ex, call->site, x, MW_OP_GT, call->given[2].term);
    return x;
}
