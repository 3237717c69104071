/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/remat_gains.h"

#include <math.h>
#include <stdlib.h>

/* The level of the price of memory at which gains are estimated: the lowest at which layers that
 * recompute are solved. */
enum { PRICE = 1 };

/* Bytes of a micro-batch that a sample holds between tasks. */
static double bytes_between_tasks(const MwStageSample *sample)
{
    const MwStageCost *cost = &sample->cost[PRICE];
    double bytes = cost->saved_bytes + cost->late_bytes + cost->weight_bytes;
    return sample->is_sequential ? bytes + cost->peak_bytes : bytes;
}

static MwStageSample *single_layer(MwStageSampleSet *set, int layer, MwStageSample like,
                                   MwRematLevel level)
{
    like.remat = level;
    return mw_stage_sample_of(set, layer, layer + 1, &like);
}

static MwRematGain gain_of(MwStageSampleSet *set, int layer, const MwStageSample *like,
                           MwRematLevel level)
{
    const MwStageSample *keeps = single_layer(set, layer, *like, mw_remat_below(level));
    const MwStageSample *recomputing = single_layer(set, layer, *like, level);
    if (!keeps->possible[PRICE] || !recomputing->possible[PRICE])
        return (MwRematGain){.layer = layer};
    double time_s =
        mw_stage_cost_time_s(&recomputing->cost[PRICE]) - mw_stage_cost_time_s(&keeps->cost[PRICE]);
    double bytes = bytes_between_tasks(keeps) - bytes_between_tasks(recomputing);
    return (MwRematGain){layer, fmax(0, bytes), fmax(0, time_s)};
}

/* Bytes saved per second of recomputation. */
static double rate_of(const MwRematGain *gain)
{
    if (gain->bytes == 0)
        return 0;
    return gain->time_s == 0 ? INFINITY : gain->bytes / gain->time_s;
}

static int by_rate(const void *a, const void *b)
{
    const MwRematGain *x = a, *y = b;
    double p = rate_of(x), q = rate_of(y);
    return p != q ? (p > q ? -1 : 1) : x->layer - y->layer;
}

MwRematGain *mw_remat_gains(MwStageSampleSet *set, MwArena *arena, int begin, int end,
                            const MwStageSample *like, MwRematLevel level)
{
    MwRematGain *gains = MW_NEW(arena, MwRematGain, end - begin);
    for (int l = begin; l < end; l++)
        gains[l - begin] = gain_of(set, l, like, level);
    qsort(gains, (size_t)(end - begin), sizeof *gains, by_rate);
    return gains;
}

void mw_remat_gains_request(MwStageSampleSet *set, int begin, int end, const MwStageSample *like)
{
    const MwRematLevel last = mw_last_remat(&set->model->lowered[0]);
    for (int l = begin; l < end; l++)
        for (MwRematLevel level = 0; level <= last; level++)
            mw_stage_sample_request(set, single_layer(set, l, *like, level), PRICE);
}

static double interpolate(double none, double all, double share)
{
    return none + share * (all - none);
}

/* A peak is not interpolated, unless it holds what is saved, too: a task of a layer that recomputes
 * needs what it needs where all do. */
static double peak_of(double none, double all, double share, bool is_sequential)
{
    return is_sequential ? interpolate(none, all, share) : fmax(none, all);
}

MwStageCost mw_remat_mix(const MwStageCost *none, const MwStageCost *all, const MwRematGain *gains,
                         int count, bool is_sequential)
{
    double bytes = 0, time_s = 0, all_bytes = 0, all_time_s = 0;
    for (int i = 0; i < all->recomputed; i++) {
        bytes += i < count ? gains[i].bytes : 0;
        time_s += i < count ? gains[i].time_s : 0;
        all_bytes += gains[i].bytes;
        all_time_s += gains[i].time_s;
    }
    double even = (double)count / all->recomputed;
    double of_bytes = all_bytes > 0 ? bytes / all_bytes : even;
    double of_time = all_time_s > 0 ? time_s / all_time_s : even;
    MwStageCost mixed = {
        .mesh = all->mesh,
        .price = all->price,
        .remat = all->remat,
        .recomputed = count,
        .forward_s = interpolate(none->forward_s, all->forward_s, of_time),
        .backward_s = interpolate(none->backward_s, all->backward_s, of_time),
        .weight_s = interpolate(none->weight_s, all->weight_s, of_time),
        .step_s = interpolate(none->step_s, all->step_s, of_time),
        .host_s = interpolate(none->host_s, all->host_s, of_time),
        .host_bytes = interpolate(none->host_bytes, all->host_bytes, of_bytes),
        .copy_bytes = interpolate(none->copy_bytes, all->copy_bytes, of_bytes),
        .kept_bytes = interpolate(none->kept_bytes, all->kept_bytes, of_bytes),
        .saved_bytes = interpolate(none->saved_bytes, all->saved_bytes, of_bytes),
        .late_bytes = interpolate(none->late_bytes, all->late_bytes, of_bytes),
        .weight_bytes = interpolate(none->weight_bytes, all->weight_bytes, of_bytes),
        .peak_bytes = peak_of(none->peak_bytes, all->peak_bytes, of_bytes, is_sequential),
        .joint_peak_bytes =
            peak_of(none->joint_peak_bytes, all->joint_peak_bytes, of_bytes, is_sequential),
    };
    for (int phase = 0; phase < MW_PHASE_UPDATE; phase++)
        mixed.cast_s[phase] = interpolate(none->cast_s[phase], all->cast_s[phase], of_time);
    return mixed;
}
