/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/graph/layer_sums.h"

#include "ir/build.h"

/* The sum of scalars by one concatenation, not a chain of additions: its sharding is the choice
 * of one node, and no chain ties the choices of one layer to those of the next. */
static MwValueId sum_scalars(MwGraph *graph, const MwValueId *scalars, int count)
{
    if (count == 1)
        return scalars[0];
    MwArena *arena = graph->arena;
    MwTensor single = mw_tensor(MW_F32, 1, (const int64_t[]){1});
    MwValueId *elements = MW_NEW(arena, MwValueId, count);
    for (int i = 0; i < count; i++)
        elements[i] = mw_build_reshape(graph, scalars[i], &single);
    return mw_build_sum(graph, mw_build_concat(graph, elements, count, 0), 1, false);
}

typedef MW_VEC(MwValueId) ScalarList;

static bool is_same_layer(const MwOrigin *a, const MwOrigin *b)
{
    return a->layer == b->layer && a->repeat == b->repeat && a->iteration == b->iteration;
}

/* "layers.3." for iteration 3 of repeat layers. */
static const char *layer_prefix(const MwGraph *graph, int repeat, int iteration)
{
    if (repeat < 0)
        return "";
    const MwRepeat *in = &graph->repeats.at[repeat];
    return mw_arena_printf(graph->arena, "%s%s.%d.",
                           layer_prefix(graph, in->parent, in->parent_iteration), in->name,
                           iteration);
}

static MwValueId sum_layer(MwGraph *graph, const MwValueId *terms, int count, const char *name)
{
    int first = graph->values.count;
    MwValueId sum = sum_scalars(graph, terms, count);
    const char *prefix = layer_prefix(graph, graph->origin.repeat, graph->origin.iteration);
    mw_build_name_temporaries(graph, first, graph->values.count,
                              mw_arena_printf(graph->arena, "%s%s", prefix, name));
    return sum;
}

MwValueId mw_sum_by_layer(MwGraph *graph, const MwValueId *gradient, int values,
                          MwValueId (*term)(MwGraph *graph, MwValueId tensor), const char *name)
{
    MwArena *arena = graph->arena;
    const MwOrigin origin = graph->origin;
    ScalarList layers = {0}, layer = {0};
    for (int v = 0; v < values; v++) {
        if (!mw_has_value(gradient[v]))
            continue;
        MwOrigin own = mw_value_node(graph, (MwValueId){v})->origin;
        if (layer.count > 0 && !is_same_layer(&own, &graph->origin)) {
            mw_vec_push(arena, &layers, sum_layer(graph, layer.at, layer.count, name));
            layer.count = 0;
        }
        graph->origin = own;
        mw_vec_push(arena, &layer, term(graph, gradient[v]));
    }
    mw_vec_push(arena, &layers, sum_layer(graph, layer.at, layer.count, name));
    graph->origin = origin;
    return sum_scalars(graph, layers.at, layers.count);
}
