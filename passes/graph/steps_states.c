/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States of optimizers in 16 and in 8 bits.
 *
 * A step changes a moving average by a small part of it: with a beta of 0.999 by a thousandth, and
 * bf16 has numbers a hundredth apart. Rounded to nearest the average would stay where it is. So it
 * is rounded stochastically (Gupta et al., "Deep Learning with Limited Numerical Precision", 2015):
 * it moves in one step of many by much, and is on average what it is in f32. A number of the type
 * is rounded to itself, so a state that a step leaves as it is does not wander.
 *
 * In 8 bits a state is in blocks along the last dimension, each with a scale of its own (Dettmers
 * et al., "8-bit Optimizers via Block-wise Quantization", 2022): W.NAME, and W.NAME.scale with a
 * number for each block,
 *
 *   scale  the greatest power of two by which the greatest absolute value of the block is in the
 *          type, in bf16, which has all of these
 *   kept   cast_stochastic(x scale)
 *
 * The type is E4M3, and for squares E5M2, whose numbers reach as far for squares as those of E4M3
 * for their roots. Scales are powers of two, with which the numbers of a type stay numbers of it,
 * so that a block is not rounded anew where its scale changes. A square that would be below the
 * least number above 0 is that number, lest a root be 0 beside an average that is not.
 *
 * Weights with less than LEAST_ELEMENTS, and those whose last dimension has no blocks, have states
 * in bf16 instead. Tables that step by rows keep f32 (passes/graph/row_steps.c). */
#include "passes/graph/steps.h"

#include "base/fp8.h"
#include "ir/build.h"

#include <string.h>

#define E5M2_LEAST 0x1p-16 /* the least number above 0 */

enum {
    LEAST_ELEMENTS = 4096, /* as in Dettmers et al. */
    LEAST_BLOCK = 64,      /* elements, for each of which a scale takes up to a 32nd of a byte */
    MOST_BLOCK = 256,
    MOST_PARTS = 16 /* blocks of a row that leave a last dimension for devices to split */
};

/* The greatest size of blocks that leaves the most parts, up to MOST_PARTS; 0: there is none. */
static int64_t block_of(const MwTensor *tensor)
{
    const int64_t size = tensor->rank ? tensor->dim[tensor->rank - 1] : 1;
    if (tensor->rank == MW_MAX_RANK || mw_tensor_elements(tensor) < LEAST_ELEMENTS)
        return 0;
    for (int64_t parts = MOST_PARTS; parts >= 1; parts /= 2)
        for (int64_t block = MOST_BLOCK; block >= LEAST_BLOCK; block--)
            if (size % (parts * block) == 0)
                return block;
    return 0;
}

static bool is_sparse(const MwWeightStep *s)
{
    return mw_patterns_match(&s->train->sparse, mw_value(s->graph, s->weight)->name);
}

/* ---- States in 8 bits ---- */

/* f32[..., blocks, size of a block], of a tensor of the shape of the state. */
static MwTensor blocks_of(const MwTensor *tensor, int64_t block)
{
    MwTensor blocks = *tensor;
    blocks.type = MW_F32;
    blocks.dim[blocks.rank - 1] /= block;
    blocks.dim[blocks.rank++] = block;
    return blocks;
}

/* f32[..., blocks, 1] */
static MwValueId scales(MwGraph *graph, MwValueId scale)
{
    MwTensor tensor = *mw_value_tensor(graph, scale);
    tensor.dim[tensor.rank++] = 1;
    return mw_build_reshape(graph, mw_build_cast(graph, scale, MW_F32), &tensor);
}

static MwKeptState in_blocks(const MwWeightStep *s, const char *suffix, const MwTensor *like,
                             int64_t block)
{
    MwGraph *graph = s->graph;
    const MwTensor blocks = blocks_of(like, block);
    MwTensor tensor = *like, scale = *like;
    MwKeptState kept = {.is_square = strcmp(suffix, "m") != 0};
    tensor.type = kept.is_square ? MW_E5M2 : MW_E4M3;
    scale.type = MW_BF16;
    scale.dim[scale.rank - 1] /= block;
    kept.state = mw_step_state(graph, s->weight, suffix, "zeros", &tensor);
    kept.scale = mw_step_state(graph, s->weight, mw_arena_printf(graph->arena, "%s.scale", suffix),
                               "ones", &scale);
    tensor.type = MW_F32;
    const MwValueId scaled =
        mw_build_reshape(graph, mw_build_cast(graph, kept.state, MW_F32), &blocks);
    const MwValueId value = mw_build_binary(graph, MW_OP_DIV, scaled, scales(graph, kept.scale));
    kept.value = mw_build_reshape(graph, value, &tensor);
    return kept;
}

/* f32[..., blocks, 1]: the greatest absolute value of each block. */
static MwValueId greatest(MwGraph *graph, MwValueId blocks)
{
    const int64_t last = mw_value_tensor(graph, blocks)->rank - 1;
    const MwAttr attrs[] = {mw_attr_ints(MW_ATTR_AXES, &last, 1), mw_attr_int(MW_ATTR_KEEP, true)};
    const MwValueId sizes = mw_build_unary(graph, MW_OP_ABS, blocks);
    return mw_build(graph, NULL, MW_OP_REDUCE_MAX, &sizes, 1, attrs, MW_COUNT(attrs));
}

static MwValueId rounded(const MwWeightStep *s, MwValueId value, MwType type)
{
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, type),
                            mw_attr_int(MW_ATTR_KEY, (uint32_t)(*s->next_key)++)};
    return mw_build(s->graph, NULL, MW_OP_CAST_STOCHASTIC, &value, 1, attrs, MW_COUNT(attrs));
}

/* Assigns the scale for the next step, and returns the state in it. */
static MwValueId scaled_anew(const MwWeightStep *s, const MwKeptState *kept, MwValueId value)
{
    MwGraph *graph = s->graph;
    const MwTensor state = *mw_value_tensor(graph, kept->state),
                   scale = *mw_value_tensor(graph, kept->scale);
    const MwTensor blocks =
        blocks_of(&state, state.dim[state.rank - 1] / scale.dim[scale.rank - 1]);
    const MwValueId x = mw_build_reshape(graph, value, &blocks);
    const MwAttr last = mw_attr_float(MW_ATTR_VALUE, (double)mw_fp8_last(state.type));
    const MwValueId top = greatest(graph, x);
    const MwValueId next = mw_build(graph, NULL, MW_OP_SCALE_TO,
                                    (MwValueId[]){top, scales(graph, kept->scale)}, 2, &last, 1);
    mw_step_assign(graph, kept->scale, mw_build_reshape(graph, next, &scale));
    MwValueId scaled = mw_build_binary(graph, MW_OP_MUL, x, next);
    if (kept->is_square) {
        const MwValueId least = mw_step_scalar(
            graph, MW_OP_MINIMUM, mw_build_binary(graph, MW_OP_MUL, top, next), E5M2_LEAST);
        scaled = mw_build_binary(graph, MW_OP_MAXIMUM, scaled, least);
    }
    return mw_build_reshape(graph, rounded(s, scaled, state.type), &state);
}

/* ---- States of any type ---- */

MwKeptState mw_kept_state(const MwWeightStep *s, const char *suffix, const MwTensor *like)
{
    const MwType type = is_sparse(s) ? MW_F32 : s->train->states;
    const int64_t block = type == MW_FP8 ? block_of(like) : 0;
    if (block)
        return in_blocks(s, suffix, like, block);
    MwTensor tensor = *like;
    tensor.type = type == MW_FP8 ? MW_BF16 : type;
    const MwValueId state = mw_step_state(s->graph, s->weight, suffix, "zeros", &tensor);
    return (MwKeptState){
        .state = state, .scale = mw_no_value(), .value = mw_build_cast(s->graph, state, MW_F32)};
}

void mw_kept_state_assign(const MwWeightStep *s, const MwKeptState *kept, MwValueId value)
{
    const MwType type = mw_value_tensor(s->graph, kept->state)->type;
    if (mw_has_value(kept->scale))
        value = scaled_anew(s, kept, value);
    else if (type != MW_F32)
        value = rounded(s, value, type);
    mw_step_assign(s->graph, kept->state, value);
}
