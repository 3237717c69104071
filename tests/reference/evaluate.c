/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/reference/evaluate.h"

#include "base/spec.h"
#include "tests/reference/evaluate_rules.h"

#include <math.h>
#include <string.h>

Place place_alone(uint64_t seed)
{
    return (Place){.seed = seed, .step = 1, .mesh = {1, {1}}};
}

void eval_strides(const MwTensor *tensor, int64_t stride[MW_MAX_RANK])
{
    int64_t elements = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        stride[d] = elements;
        elements *= tensor->dim[d];
    }
}

void eval_index(const MwTensor *tensor, int64_t i, int64_t index[MW_MAX_RANK])
{
    for (int d = tensor->rank - 1; d >= 0; d--) {
        index[d] = i % tensor->dim[d];
        i /= tensor->dim[d];
    }
}

int64_t eval_origin(const Eval *e, const MwTensor *local, int d)
{
    return eval_origin_by(e, MW_ATTR_ORIGIN, local, d);
}

/* The block of the keys: that of another device where the node has `key_shift`. */
static int shifted_block(const Eval *e, MwAxes axes)
{
    const MwAttr *shift = mw_node_attr(e->node, MW_ATTR_KEY_SHIFT);
    int coordinate[MW_MAX_AXES];
    memcpy(coordinate, e->place->coordinate, sizeof coordinate);
    if (shift->ints.count) {
        const int64_t axis = shift->ints.at[0];
        coordinate[axis] =
            (int)((coordinate[axis] + shift->ints.at[1]) % e->place->mesh.size[axis]);
    }
    return mw_mesh_block(&e->place->mesh, axes, coordinate);
}

/* Element 0 of a dimension is that of the half that the node has, where it has `query_half`. */
static int64_t half_origin(const Eval *e, int64_t half, const MwTensor *local, MwAxes axes)
{
    const int64_t ways = mw_mesh_ways(&e->place->mesh, axes);
    const int64_t block = mw_mesh_block(&e->place->mesh, axes, e->place->coordinate);
    return (half ? 2 * (ways - 1 - block) + 1 : 2 * block) * local->dim[1];
}

int64_t eval_origin_by(const Eval *e, MwAttrKey key, const MwTensor *local, int d)
{
    const MwAttr *origin = mw_node_attr(e->node, key);
    if (!origin->ints.count)
        return 0;
    MW_ASSERT(origin->ints.count == local->rank);
    MwAxes axes = mw_spec_dim(mw_node_spec(e->node, key + 1), d);
    const MwAttr *half = mw_node_attr(e->node, MW_ATTR_QUERY_HALF);
    if (key == MW_ATTR_ORIGIN && d == 1 && half && half->ints.count)
        return half_origin(e, half->ints.at[0], local, axes);
    int64_t ways = mw_mesh_ways(&e->place->mesh, axes);
    int64_t block = key == MW_ATTR_KEY_ORIGIN
                        ? shifted_block(e, axes)
                        : mw_mesh_block(&e->place->mesh, axes, e->place->coordinate);
    int64_t begin = 0;
    if (origin->ints.at[d] > local->dim[d] * ways) /* the dimension that micro-batches divide */
        begin = e->place->micro_batch * local->dim[d] * ways;
    MW_ASSERT(begin < origin->ints.at[d]); /* what lies behind the origin is padding */
    return begin + block * local->dim[d];
}

bool evaluate_can(MwOp op)
{
    return op != MW_OP_INPUT && op != MW_OP_WEIGHT && op != MW_OP_STATE && op != MW_OP_SHARD &&
           mw_op_info(op)->lowering != MW_LOWER_COLLECTIVE &&
           mw_op_info(op)->lowering != MW_LOWER_TRANSFER &&
           mw_op_info(op)->lowering != MW_LOWER_DERIVED;
}

/* Makes numbers infinite that rounding to f16 makes so: from the middle of the last one and 2^16
 * on; and those beyond the last float of 8 bits that number. */
static void end_narrow(const MwTensor *tensor, double *elements)
{
    const double last = tensor->type == MW_E4M3 ? 448 : tensor->type == MW_E5M2 ? 57344 : INFINITY;
    for (int64_t i = 0; mw_type_is_narrow(tensor->type) && i < mw_tensor_elements(tensor); i++) {
        if (tensor->type == MW_F16 && fabs(elements[i]) >= 65520)
            elements[i] = copysign(INFINITY, elements[i]);
        if (fabs(elements[i]) > last)
            elements[i] = copysign(last, elements[i]);
    }
}

void evaluate_node(const MwGraph *graph, const MwNode *node, const Place *place,
                   const double *const *operands, double *const *results)
{
    Eval e = {graph, node, place, operands, results};
    if (!eval_source(&e) && !eval_map(&e) && !eval_rows(&e) && !eval_contract(&e) &&
        !eval_attention(&e) && !eval_windows(&e) && !eval_move(&e) && !eval_update(&e))
        mw_internal_error(__FILE__, __LINE__, "no meaning of %s", mw_op_info(node->op)->name);
    for (int k = 0; k < node->result_count; k++)
        end_narrow(eval_out(&e, k), results[k]);
}
