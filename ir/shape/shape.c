/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks what holds for every operator; the rule in the `shape` column of ir/ops.def checks the
 * rest. */
#include "ir/shape/shape.h"

#include "base/spec.h"
#include "ir/shape/rules.h"

#include <math.h>

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

/* Bounds of the attributes that have the same meaning in every operator. */
static const struct {
    MwAttrKey key;
    double least, most;
    bool open_least, open_most; /* the bound itself is not allowed */
} bounds[] = {
    {MW_ATTR_RATE, 0, 1, false, true},
    {MW_ATTR_EPS, 0, INFINITY, false, true},
    {MW_ATTR_SCALE, -INFINITY, INFINITY, true, true},
    {MW_ATTR_SOFT_CAP, 0, INFINITY, false, true},
    {MW_ATTR_BASE, 1, INFINITY, true, true},
    {MW_ATTR_BETA1, 0, 1, false, true},
    {MW_ATTR_BETA2, 0, 1, false, true},
    {MW_ATTR_MOMENTUM, 0, 1, false, true},
    {MW_ATTR_ALPHA, 0, 1, false, true},
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
    return check_sizes(context, MW_ATTR_SHAPE) && check_sizes(context, MW_ATTR_SIZES);
}

/* Checks that the shape and the split by which a node counts positions are given together and
 * agree. Only the compiler writes them, so messages do not name them. */
static bool check_origin(MwShapeContext *context, MwAttrKey key)
{
    const MwAttr *origin = mw_shape_attr(context, key);
    const MwAttr *split = mw_shape_attr(context, key + 1);
    if (!origin || (!origin->ints.count && split->spec_rank == MW_SPEC_NOT_GIVEN))
        return true;
    int rank = (int)mw_max(split->spec_rank, 0);
    bool fits = rank == origin->ints.count && rank <= MW_MAX_RANK;
    for (int i = 0; i < origin->ints.count; i++)
        fits &= origin->ints.at[i] >= 1;
    return fits || mw_shape_fail(context, "cannot count positions in this part of a tensor: only "
                                          "the compiler writes such parts");
}

/* Checks that the keys of another device are those of one along an axis that splits them. */
static bool check_key_shift(MwShapeContext *context)
{
    const MwAttr *shift = mw_shape_attr(context, MW_ATTR_KEY_SHIFT);
    if (!shift || !shift->ints.count)
        return true;
    const MwAttr *split = mw_shape_attr(context, MW_ATTR_KEY_SPLIT);
    const bool fits = shift->ints.count == 2 && split->spec_rank > 1 && shift->ints.at[0] >= 0 &&
                      shift->ints.at[0] < MW_MAX_AXES && shift->ints.at[1] > 0 &&
                      shift->ints.at[1] <= INT32_MAX &&
                      (mw_spec_dim(split->spec, 1) >> shift->ints.at[0] & 1);
    return fits || mw_shape_fail(context, "cannot take the keys of another device: only the "
                                          "compiler writes what does");
}

/* Checks that a half of the queries is one of a block, of those that they are split into. */
static bool check_query_half(MwShapeContext *context)
{
    const MwAttr *half = mw_shape_attr(context, MW_ATTR_QUERY_HALF);
    if (!half || !half->ints.count)
        return true;
    const MwAttr *split = mw_shape_attr(context, MW_ATTR_SPLIT);
    const bool fits = half->ints.count == 1 && half->ints.at[0] >= 0 && half->ints.at[0] <= 1 &&
                      split->spec_rank > 1 && mw_spec_dim(split->spec, 1);
    return fits || mw_shape_fail(context, "cannot take half of the queries: only the compiler "
                                          "writes what does");
}

static bool check_origins(MwShapeContext *context)
{
    return check_origin(context, MW_ATTR_ORIGIN) && check_origin(context, MW_ATTR_KEY_ORIGIN) &&
           check_key_shift(context) && check_query_half(context);
}

/* Checks that the elements of a result can be counted: products of sizes are computed in 64 bits
 * and in doubles, and doubles are not exact beyond this limit. */
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
        !check_origins(&context) || !rules[query->op](&context) || !check_result_sizes(&context))
        return false;
    int wanted = mw_op_info(query->op)->results;
    MW_ASSERT(wanted == MW_ANY || wanted == context.result_count);
    *results = context.results;
    *result_count = context.result_count;
    return true;
}
