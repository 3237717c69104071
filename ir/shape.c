/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Result types of a node: what holds for every operator is checked here, and the rest by the rule
 * that the `shape` column of ir/ops.def names. The rules stand in families: shape_source.c,
 * shape_map.c, shape_rows.c, shape_gather.c, shape_move.c, einsum.c. */
#include "ir/shape.h"

#include "base/spec.h"
#include "ir/shape_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool (*const rules[MW_OP_COUNT])(MwShapeContext *) = {
#define OP(id, name, operands, results, attrs, shape, ...) [MW_OP_##id] = mw_shape_##shape,
#include "ir/ops.def"
};

static bool check_operand_count(MwShapeContext *context)
{
    int wanted = mw_op_info(context->query->op)->operands, given = context->query->operand_count;
    if (wanted == MW_ANY)
        return given > 0 || mw_shape_fail(context, "needs at least one operand");
    if (given == wanted || wanted == MW_SOME)
        return true;
    return mw_shape_fail(context, "takes %d operand%s, not %d", wanted, wanted == 1 ? "" : "s",
                         given);
}

/* The bounds of an attribute that mean the same for every operator that has it. */
static const struct {
    MwAttrKey key;
    double least, most;
    bool open_least, open_most; /* the bound itself is outside */
} bounds[] = {
    {MW_ATTR_RATE, 0, 1, false, true},
    {MW_ATTR_EPS, 0, INFINITY, false, true},
    {MW_ATTR_SCALE, -INFINITY, INFINITY, true, true},
    {MW_ATTR_BASE, 1, INFINITY, true, true},
    {MW_ATTR_BETA1, 0, 1, false, true},
    {MW_ATTR_BETA2, 0, 1, false, true},
    {MW_ATTR_MOMENTUM, 0, 1, false, true},
    {MW_ATTR_WEIGHT_DECAY, 0, INFINITY, false, true},
    {MW_ATTR_KEY, 0, 4294967295.0, false, false},
    {MW_ATTR_MESH_AXIS, 0, MW_MAX_AXES - 1, false, false},
    {MW_ATTR_WAYS, 1, INT32_MAX, false, false},
};

static bool check_bounds(MwShapeContext *context)
{
    for (int i = 0; i < MW_COUNT(bounds); i++) {
        const MwAttr *attr = mw_shape_attr(context, bounds[i].key);
        if (!attr)
            continue;
        bool is_float = mw_attr_kind(attr->key) == MW_KIND_FLOAT;
        double value = is_float ? attr->f : (double)attr->i;
        double least = bounds[i].least, most = bounds[i].most;
        if ((bounds[i].open_least ? value > least : value >= least) &&
            (bounds[i].open_most ? value < most : value <= most))
            continue;
        const char *name = mw_attr_name(attr->key);
        const char *above = bounds[i].open_least ? "more than" : "at least";
        const char *below = bounds[i].open_most ? "less than" : "at most";
        if (isinf(least))
            return mw_shape_fail(context, "needs a finite %s, not %g", name, value);
        if (isinf(most))
            return mw_shape_fail(context, "needs a finite %s of %s %.15g, not %.15g", name, above,
                                 least, value);
        return mw_shape_fail(context, "needs %s of %s %.15g and %s %.15g, not %.15g", name, above,
                             least, below, most, value);
    }
    return true;
}

static bool check_sizes(MwShapeContext *context, MwAttrKey key)
{
    const MwAttr *attr = mw_shape_attr(context, key);
    if (!attr)
        return true;
    for (int i = 0; i < attr->ints.count; i++)
        if (attr->ints.at[i] < 1)
            return mw_shape_fail(context, "has size %lld in %s; sizes are at least 1",
                                 (long long)attr->ints.at[i], mw_attr_name(key));
    return true;
}

static bool check_shape_attr(MwShapeContext *context)
{
    const MwAttr *shape = mw_shape_attr(context, MW_ATTR_SHAPE);
    if (shape && shape->ints.count > MW_MAX_RANK)
        return mw_shape_fail(context, "has a shape of %d dimensions; at most %d are possible",
                             shape->ints.count, MW_MAX_RANK);
    return check_sizes(context, MW_ATTR_SHAPE) && check_sizes(context, MW_ATTR_SIZES) &&
           check_sizes(context, MW_ATTR_ORIGIN);
}

/* Of a node that counts positions: `origin` and `split` come together and fit one another. */
static bool check_origin(MwShapeContext *context)
{
    const MwAttr *origin = mw_shape_attr(context, MW_ATTR_ORIGIN);
    const MwAttr *split = mw_shape_attr(context, MW_ATTR_SPLIT);
    if (!origin || (!origin->ints.count && !*split->text))
        return true;
    MwSpec spec;
    int rank;
    if (!mw_spec_parse(split->text, &spec, &rank))
        return mw_shape_fail(context, "has split \"%s\", which is no sharding spec", split->text);
    if (rank != origin->ints.count)
        return mw_shape_fail(context, "has a split of %d dimensions and an origin of %d", rank,
                             origin->ints.count);
    return true;
}

/* Products of sizes are taken in 64 bits and in doubles; beyond this neither is exact. */
static bool check_result_sizes(MwShapeContext *context)
{
    for (int k = 0; k < context->result_count; k++) {
        double elements = 1;
        for (int d = 0; d < context->results[k].rank; d++)
            elements *= (double)context->results[k].dim[d];
        if (elements > 0x1p52)
            return mw_shape_fail(context, "gives %s, which has too many elements to count",
                                 mw_shape_text(context, &context->results[k]));
    }
    return true;
}

bool mw_shape_infer(MwArena *arena, const MwShapeQuery *query, MwTensor **results,
                    int *result_count, MwDiags *diags)
{
    MwShapeContext context = {.arena = arena, .query = query, .diags = diags};
    if (!check_operand_count(&context) || !check_bounds(&context) || !check_shape_attr(&context) ||
        !check_origin(&context) || !rules[query->op](&context) || !check_result_sizes(&context))
        return false;
    int wanted = mw_op_info(query->op)->results;
    MW_ASSERT(wanted == MW_ANY || wanted == context.result_count);
    *results = context.results;
    *result_count = context.result_count;
    return true;
}

bool mw_shape_fail(MwShapeContext *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = mw_arena_vprintf(context->arena, format, args);
    va_end(args);
    mw_diag_error(context->diags, context->query->span, "%s %s",
                  mw_op_info(context->query->op)->name, message);
    return false;
}

bool mw_shape_note(MwShapeContext *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = mw_arena_vprintf(context->arena, format, args);
    va_end(args);
    mw_diag_note(context->diags, mw_span_none(), "%s", message);
    return false;
}

bool mw_shape_give(MwShapeContext *context, const MwTensor *result)
{
    return mw_shape_give_all(context, result, 1);
}

bool mw_shape_give_all(MwShapeContext *context, const MwTensor *results, int count)
{
    context->results = mw_arena_dup(context->arena, results, sizeof(MwTensor) * (size_t)count);
    context->result_count = count;
    return true;
}

const MwTensor *mw_shape_operand(const MwShapeContext *context, int k)
{
    MW_ASSERT(k >= 0 && k < context->query->operand_count);
    return &context->query->operands[k];
}

const char *mw_shape_text(MwShapeContext *context, const MwTensor *tensor)
{
    return mw_tensor_text(tensor, mw_arena_alloc(context->arena, MW_TENSOR_TEXT_BYTES));
}

const char *mw_shape_operand_name(MwShapeContext *context, int k)
{
    if (context->query->operand_count == 1)
        return "the operand";
    if (context->query->operand_count == 2)
        return k ? "the right" : "the left";
    return mw_arena_printf(context->arena, "operand %d", k);
}

const MwAttr *mw_shape_attr(const MwShapeContext *context, MwAttrKey key)
{
    return mw_attrs_find(context->query->attrs, context->query->attr_count, key);
}

int64_t mw_shape_int(const MwShapeContext *context, MwAttrKey key)
{
    return mw_shape_attr(context, key)->i;
}

double mw_shape_float(const MwShapeContext *context, MwAttrKey key)
{
    return mw_shape_attr(context, key)->f;
}

bool mw_shape_want_axis(MwShapeContext *context, MwAttrKey key, const MwTensor *tensor, int *axis)
{
    int64_t given = mw_shape_int(context, key);
    if (given < 0 || given >= tensor->rank)
        return mw_shape_fail(context, "has %s %lld, but %s has %d dimension%s", mw_attr_name(key),
                             (long long)given, mw_shape_text(context, tensor), tensor->rank,
                             tensor->rank == 1 ? "" : "s");
    *axis = (int)given;
    return true;
}

bool mw_shape_want_rank(MwShapeContext *context, int k, int rank, const char *dims)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    if (operand->rank == rank)
        return true;
    return mw_shape_fail(context, "needs %s as %s, not %s", dims, mw_shape_operand_name(context, k),
                         mw_shape_text(context, operand));
}

bool mw_shape_want_float(MwShapeContext *context, int k)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    if (mw_type_is_float(operand->type))
        return true;
    return mw_shape_fail(context, "needs a floating-point type for %s, not %s",
                         mw_shape_operand_name(context, k), mw_shape_text(context, operand));
}

bool mw_shape_want_same_types(MwShapeContext *context, int from, int to)
{
    const MwTensor *first = mw_shape_operand(context, from);
    for (int k = from + 1; k < to; k++) {
        const MwTensor *other = mw_shape_operand(context, k);
        if (other->type == first->type)
            continue;
        mw_shape_fail(context, "cannot combine %s and %s: the types differ",
                      mw_shape_text(context, first), mw_shape_text(context, other));
        return mw_shape_note(context, "cast one of them, for instance cast(x, %s)",
                             mw_type_name(first->type));
    }
    return true;
}

bool mw_shape_want_like(MwShapeContext *context, int k, int like, bool typed)
{
    const MwTensor *a = mw_shape_operand(context, k), *b = mw_shape_operand(context, like);
    if (mw_tensor_same_shape(a, b) && (!typed || a->type == b->type))
        return true;
    return mw_shape_fail(context, "needs %s and %s to have one shape%s, not %s and %s",
                         mw_shape_operand_name(context, like), mw_shape_operand_name(context, k),
                         typed ? " and type" : "", mw_shape_text(context, b),
                         mw_shape_text(context, a));
}

bool mw_shape_want_equal(MwShapeContext *context, int i, int a, int j, int b, const char *what)
{
    const MwTensor *left = mw_shape_operand(context, i), *right = mw_shape_operand(context, j);
    if (left->dim[a] == right->dim[b])
        return true;
    mw_shape_fail(context, "cannot combine %s and %s: the sizes of the %s differ",
                  mw_shape_text(context, left), mw_shape_text(context, right), what);
    return mw_shape_note(context, "dimension %d of %s is %lld, dimension %d of %s is %lld", a,
                         mw_shape_operand_name(context, i), (long long)left->dim[a], b,
                         mw_shape_operand_name(context, j), (long long)right->dim[b]);
}

bool mw_shape_want_type(MwShapeContext *context, MwType *type)
{
    int64_t given = mw_shape_int(context, MW_ATTR_TYPE);
    *type = (MwType)given;
    return given != MW_TYPE_NOT_GIVEN || mw_shape_fail(context, "needs a type");
}

bool mw_shape_sum_type(MwShapeContext *context, MwType *type)
{
    const MwAttr *attr = mw_shape_attr(context, MW_ATTR_TYPE);
    if (!attr || attr->i == MW_TYPE_NOT_GIVEN || attr->i == (int64_t)*type)
        return true;
    if (*type != MW_BF16 || attr->i != MW_F32)
        return mw_shape_fail(context,
                             "of %s cannot give %s: only sums of bf16 can have another "
                             "type, f32",
                             mw_type_name(*type), mw_type_name((MwType)attr->i));
    *type = MW_F32;
    return true;
}

/* Widens `result` by operand `k`, aligned from the right. */
static bool broadcast_one(MwShapeContext *context, int from, int k, MwTensor *result)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    MwTensor wide = operand->rank > result->rank ? *operand : *result;
    wide.type = result->type;
    for (int back = 1; back <= mw_min(operand->rank, result->rank); back++) {
        int64_t a = result->dim[result->rank - back], b = operand->dim[operand->rank - back];
        if (a != b && a != 1 && b != 1) {
            mw_shape_fail(context, "cannot combine %s and %s: their sizes do not broadcast",
                          mw_shape_text(context, mw_shape_operand(context, from)),
                          mw_shape_text(context, operand));
            return mw_shape_note(context, "dimension %d of %s is %lld, dimension %d of %s is %lld",
                                 result->rank - back, mw_shape_operand_name(context, from),
                                 (long long)a, operand->rank - back,
                                 mw_shape_operand_name(context, k), (long long)b);
        }
        wide.dim[wide.rank - back] = mw_max(a, b);
    }
    *result = wide;
    return true;
}

bool mw_shape_broadcast_operands(MwShapeContext *context, int from, int to, MwTensor *result)
{
    *result = *mw_shape_operand(context, from);
    for (int k = from + 1; k < to; k++)
        if (!broadcast_one(context, from, k, result))
            return false;
    return true;
}
