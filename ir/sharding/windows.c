/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding rules of convolutions and pooling. Batch, channels and, with an exchange of borders,
 * spatial dimensions may be split. */
#include "ir/node_windows.h"
#include "ir/sharding/rules.h"

/* The loops of a convolution. Without groups, channels and features are loops of their own. With
 * groups only these may be split: both dimensions run over groups, and within a group channels and
 * features stay together. */
typedef struct {
    int batch, channels, features;
    int filter_channels; /* of the dimension channels / groups of the filter */
    int position[MW_MAX_WINDOW_DIMS], tap[MW_MAX_WINDOW_DIMS];
} ConvFactors;

static ConvFactors add_conv(MwShardingContext *context)
{
    const MwConvolved conv = mw_convolved(context->graph, context->node);
    const MwWindows windows = mw_windows(context->graph, context->node);
    const int last = conv.x->rank - 1;
    const int64_t groups = mw_conv_groups(conv.x, conv.filter);
    const int64_t channels = conv.x->dim[last] / groups, features = conv.y->dim[last] / groups;
    ConvFactors f;
    f.batch = mw_sharding_add(context, conv.x->dim[0]);
    if (groups == 1) {
        f.channels = f.filter_channels = mw_sharding_add(context, channels);
        f.features = mw_sharding_add(context, features);
    } else {
        f.channels = f.features = mw_sharding_add(context, groups);
        f.filter_channels = mw_sharding_add_fixed(context, channels);
        mw_sharding_add_fixed(context, features);
    }
    for (int d = 0; d < windows.count; d++) {
        f.position[d] = mw_sharding_add_windows(context, &windows.dim[d]);
        f.tap[d] = mw_sharding_add_fixed(context, windows.dim[d].size);
    }
    return f;
}

typedef void RunsOver(MwShardingContext *context, int k, int dim, int factor);

/* Sets the factors of tensor k, [batch, spatial.., channels]: x or y. */
static void image_dims(MwShardingContext *context, RunsOver *runs, int k, int dims,
                       const ConvFactors *f, int channels)
{
    runs(context, k, 0, f->batch);
    for (int d = 0; d < dims; d++)
        runs(context, k, d + 1, f->position[d]);
    runs(context, k, dims + 1, channels);
}

static void filter_dims(MwShardingContext *context, RunsOver *runs, int k, int dims,
                        const ConvFactors *f)
{
    for (int d = 0; d < dims; d++)
        runs(context, k, d, f->tap[d]);
    runs(context, k, dims, f->filter_channels);
    runs(context, k, dims + 1, f->features);
}

static int spatial_dims(const MwShardingContext *context)
{
    return mw_sharding_operand(context, 0)->rank - 2;
}

void mw_factors_conv(MwShardingContext *context)
{
    const ConvFactors f = add_conv(context);
    const int dims = spatial_dims(context);
    image_dims(context, mw_sharding_operand_runs, 0, dims, &f, f.channels);
    filter_dims(context, mw_sharding_operand_runs, 1, dims, &f);
    image_dims(context, mw_sharding_result_runs, 0, dims, &f, f.features);
}

void mw_factors_conv_transpose(MwShardingContext *context)
{
    const ConvFactors f = add_conv(context);
    const int dims = spatial_dims(context);
    image_dims(context, mw_sharding_operand_runs, 0, dims, &f, f.features);
    filter_dims(context, mw_sharding_operand_runs, 1, dims, &f);
    image_dims(context, mw_sharding_result_runs, 0, dims, &f, f.channels);
}

void mw_factors_conv_filter_grad(MwShardingContext *context)
{
    const ConvFactors f = add_conv(context);
    const int dims = spatial_dims(context);
    image_dims(context, mw_sharding_operand_runs, 0, dims, &f, f.channels);
    image_dims(context, mw_sharding_operand_runs, 1, dims, &f, f.features);
    filter_dims(context, mw_sharding_result_runs, 0, dims, &f);
}

static void every_tensor_runs(MwShardingContext *context, int dim, int factor)
{
    for (int k = 0; k < context->node->operand_count; k++)
        mw_sharding_operand_runs(context, k, dim, factor);
    mw_sharding_result_runs(context, 0, dim, factor);
}

/* Pooling and its gradients: every tensor is [batch, spatial.., channels]. */
void mw_factors_pool(MwShardingContext *context)
{
    const MwWindows windows = mw_windows(context->graph, context->node);
    const MwTensor *x = mw_sharding_operand(context, 0);
    const int split[] = {0, x->rank - 1};
    for (int i = 0; i < MW_COUNT(split); i++)
        every_tensor_runs(context, split[i], mw_sharding_add(context, x->dim[split[i]]));
    for (int d = 0; d < windows.count; d++) {
        every_tensor_runs(context, d + 1, mw_sharding_add_windows(context, &windows.dim[d]));
        mw_sharding_add_fixed(context, windows.dim[d].size);
    }
}
