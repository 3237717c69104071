/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the repeats whose iterations are layers.
 *
 * In:  the graph of a model, and the FLOPs of each node.
 * Out: the open repeats, and the unit, which is the work of about one layer.
 *
 * 1. Outermost repeats are candidates. If an iteration of a candidate is heavier than a layer of a
 *    model without repeats (a MW_TUNED_GRANULARITY-th of the work), and the repeats in its body
 *    have most of its work, these are candidates too.
 * 2. The unit is the mean work of an iteration of the innermost candidate with the most work. It is
 *    not so small that what is outside of candidates would make more than MW_TUNED_GRANULARITY
 *    layers: a repeat that has almost none of the work (the taps of a pooling window) says nothing
 *    about the rest. Nor is it so small that there would be more than MW_TUNED_MOST_LAYERS. If the
 *    cluster has more devices than the model units, the unit is smaller: iterations are then cut,
 *    up to MW_TUNED_GRANULARITY layers in all, so that a pipeline can use the devices.
 * 3. A candidate whose iterations are lighter than half a unit is open only if the repeat has two
 *    units or more; then as many iterations stay together as make a unit.
 *
 * A repeat of one iteration is none. Time and memory grow with the nodes and with the repeats. */
#include "passes/graph/layer_repeats.h"

#include "passes/tuning.h"

#include <math.h>

typedef struct {
    MwArena *arena;
    const MwGraph *graph;
    double total;       /* FLOPs of the model */
    double *work;       /* [repeats] FLOPs of all iterations, repeats in them included */
    double *inner_work; /* [repeats] the part of `work` that is in repeats of its body */
    bool *is_candidate; /* [repeats] */
    bool *is_opened;    /* [repeats] a candidate in whose body there are candidates */
} RepeatSearch;

/* The innermost repeat of more than one iteration among `repeat` and those around it; -1: none.
 * `*iteration` is the iteration of `repeat`, and becomes that of the result. */
static int real_repeat(const MwGraph *graph, int repeat, int *iteration)
{
    while (repeat >= 0 && graph->repeats.at[repeat].count < 2) {
        *iteration = graph->repeats.at[repeat].parent_iteration;
        repeat = graph->repeats.at[repeat].parent;
    }
    return repeat;
}

/* The repeat around `repeat`; -1: none. */
static int repeat_around(const MwGraph *graph, int repeat, int *iteration)
{
    *iteration = graph->repeats.at[repeat].parent_iteration;
    return real_repeat(graph, graph->repeats.at[repeat].parent, iteration);
}

static void measure_work(RepeatSearch *s, const double *flops)
{
    const MwGraph *graph = s->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwOrigin *origin = &graph->nodes.at[n].origin;
        int iteration = origin->iteration;
        int repeat = real_repeat(graph, origin->repeat, &iteration);
        s->total += flops[n];
        for (bool is_inner = false; repeat >= 0; is_inner = true) {
            s->work[repeat] += flops[n];
            s->inner_work[repeat] += is_inner ? flops[n] : 0;
            repeat = repeat_around(graph, repeat, &iteration);
        }
    }
}

static double iteration_work(const RepeatSearch *s, int repeat)
{
    return s->work[repeat] / s->graph->repeats.at[repeat].count;
}

/* Whether the repeats in the body of a candidate are candidates. Heavier than a layer is what
 * would make two of them. */
static bool opens_body(const RepeatSearch *s, int repeat)
{
    return iteration_work(s, repeat) * MW_TUNED_GRANULARITY >= 1.5 * s->total &&
           2 * s->inner_work[repeat] >= s->work[repeat];
}

/* A repeat stands after the one around it, so one pass suffices. */
static void find_candidates(RepeatSearch *s)
{
    for (int r = 0; r < s->graph->repeats.count; r++) {
        int iteration, around = repeat_around(s->graph, r, &iteration);
        if (s->graph->repeats.at[r].count < 2 || s->work[r] == 0)
            continue;
        s->is_candidate[r] = around < 0 || (s->is_candidate[around] && opens_body(s, around));
        if (around >= 0 && s->is_candidate[r])
            s->is_opened[around] = true;
    }
}

static double find_unit(const RepeatSearch *s, int devices)
{
    double outside = s->total, most = 0, unit = 0;
    for (int r = 0; r < s->graph->repeats.count; r++) {
        if (!s->is_candidate[r] || s->is_opened[r])
            continue;
        outside -= s->work[r];
        if (s->work[r] > most) {
            most = s->work[r];
            unit = iteration_work(s, r);
        }
    }
    unit = fmin(fmax(unit, outside / MW_TUNED_GRANULARITY),
                s->total / (double)mw_min(devices, MW_TUNED_GRANULARITY));
    return fmax(unit, s->total / MW_TUNED_MOST_LAYERS);
}

/* The iterations of a candidate that stay together; 0: it is not open. */
static int group_of(const RepeatSearch *s, int repeat, double unit)
{
    double work = iteration_work(s, repeat);
    if (2 * work >= unit || s->is_opened[repeat])
        return 1;
    return s->work[repeat] >= 2 * unit ? (int)lround(unit / work) : 0;
}

MwLayerRepeats mw_layer_repeats(MwArena *arena, const MwGraph *graph, const double *flops,
                                int devices)
{
    int count = graph->repeats.count, *group = MW_NEW(arena, int, count);
    RepeatSearch s = {.arena = arena,
                      .graph = graph,
                      .work = MW_NEW(arena, double, count),
                      .inner_work = MW_NEW(arena, double, count),
                      .is_candidate = MW_NEW(arena, bool, count),
                      .is_opened = MW_NEW(arena, bool, count)};
    measure_work(&s, flops);
    find_candidates(&s);
    MwLayerRepeats repeats = {.graph = graph, .group = group, .unit = find_unit(&s, devices)};
    for (int r = 0; r < count; r++)
        group[r] = s.is_candidate[r] ? group_of(&s, r, repeats.unit) : 0;
    return repeats;
}

MwLayerPart mw_layer_part(const MwLayerRepeats *repeats, const MwNode *node)
{
    const MwGraph *graph = repeats->graph;
    int iteration = node->origin.iteration;
    int repeat = real_repeat(graph, node->origin.repeat, &iteration);
    while (repeat >= 0 && repeats->group[repeat] == 0)
        repeat = repeat_around(graph, repeat, &iteration);
    return repeat < 0 ? (MwLayerPart){-1, 0}
                      : (MwLayerPart){repeat, iteration / repeats->group[repeat]};
}
