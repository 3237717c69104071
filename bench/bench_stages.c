/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times mw_stages_solve on 48 layers that resemble those of a 39B transformer and 8 nodes of 8
 * devices of 16 GB: bench_stages [-v]. -v logs the search. Every layer is
 * a little different, so no two intervals cost the same. */
#include "base/clock.h"
#include "base/hash.h"
#include "solver/stages/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 48, MOST_CANDIDATES = 32, ROUNDS = 5 };

/* Work and bytes of a layer for a micro-batch of one sequence. */
static const double FLOPS = 5.5e12, PEAK_FLOPS = 100e12; /* forward and backward; of a device */
static const double WEIGHTS = 0.8e9, STATE_BYTES = 12;   /* per weight */
static const double SAVED_BYTES = 0.6e9, BORDER_BYTES = 16e6;
static const double NODE_BYTES_S = 100e9, NETWORK_BYTES_S = 3e9;

typedef struct {
    double weight[LAYERS + 1]; /* of the layers before, where 1 is a layer */
    MwStageSubmesh submeshes[32];
    double looseness; /* of bounds, below 1 */
    MwStageCandidate answers[LAYERS + 1][LAYERS + 1][32][MOST_CANDIDATES];
} Model;

/* `layers` spread over `tensor` times `data` devices. */
static MwStageCandidate cost(double layers, int tensor, int data, bool recompute, bool network)
{
    double tensor_rate = tensor > 8 ? NETWORK_BYTES_S : NODE_BYTES_S;
    double data_rate = network ? NETWORK_BYTES_S : NODE_BYTES_S;
    double compute = FLOPS * layers * (recompute ? 4.0 / 3 : 1) / PEAK_FLOPS;
    double together = tensor > 1 ? 4 * BORDER_BYTES * layers / tensor_rate : 0;
    double kept = STATE_BYTES * WEIGHTS * layers / tensor;
    double synchronised = data > 1 ? 4 * WEIGHTS * layers / tensor / data_rate : 0;
    return (MwStageCandidate){
        .time = (int64_t)(1e12 * (compute / tensor / data + together)),
        .weight_time = (int64_t)(1e12 * compute / tensor / data / 4),
        .step_time = (int64_t)(1e12 * synchronised),
        .kept_bytes = (int64_t)kept,
        .saved_bytes = (int64_t)(SAVED_BYTES * layers * (recompute ? 0.05 : 1) / tensor / data),
        .peak_bytes = (int64_t)(SAVED_BYTES / tensor / data),
    };
}

static void answer(void *context, MwStageQuery *queries, int count)
{
    Model *model = context;
    for (int i = 0; i < count; i++) {
        MwStageQuery *query = &queries[i];
        MwStageSubmesh submesh = model->submeshes[query->submesh];
        query->candidates = model->answers[query->begin][query->end][query->submesh];
        for (int tensor = 1; tensor <= submesh.devices; tensor *= 2)
            for (int recompute = 0; recompute < 2 && submesh.devices % tensor == 0; recompute++)
                model->answers[query->begin][query->end][query->submesh][query->count++] =
                    cost(model->weight[query->end] - model->weight[query->begin], tensor,
                         submesh.devices / tensor, recompute, submesh.nodes > 1);
    }
}

static bool bound(void *context, int begin, int end, int submesh, MwStageCandidate *least)
{
    const Model *model = context;
    int devices = model->submeshes[submesh].devices;
    *least = cost(model->weight[end] - model->weight[begin], 1, 1, false, false);
    least->time = (int64_t)((double)least->time / devices * model->looseness);
    least->saved_bytes /= 20 * devices;
    least->kept_bytes /= devices;
    least->peak_bytes /= devices;
    return true;
}

static int64_t keep_remaining(const void *context, int stages, int remaining)
{
    (void)stages;
    return mw_min(((const MwStageSchedule *)context)->micro_batches, remaining + 1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench(const char *name, MwStageProblem *problem, const MwStageOptions *options)
{
    double times[ROUNDS];
    MwStagePlan plan = {0};
    for (int i = 0; i < ROUNDS; i++) {
        MwArena *arena = mw_arena_new();
        times[i] = -mw_clock_s();
        plan = mw_stages_solve(arena, problem, options);
        times[i] += mw_clock_s();
        mw_arena_free(&arena);
    }
    if (plan.reason != MW_STAGES_POSSIBLE || plan.lower_bound != plan.total)
        exit(EXIT_FAILURE);
    qsort(times, ROUNDS, sizeof *times, by_value);
    printf("%-28s %2d stages  %.4f s a step  %5d asked  %5d passes  %.3f s\n", name,
           plan.stage_count, 1e-12 * (double)plan.total, plan.asked, plan.passes,
           times[ROUNDS / 2]);
}

static Model *random_model(MwArena *arena)
{
    Model *model = MW_NEW(arena, Model, 1);
    for (int i = 0; i < LAYERS; i++) {
        double part = (double)(mw_hash_bytes(&i, sizeof i) % 1000) / 1000;
        model->weight[i + 1] = model->weight[i] + 0.9 + 0.2 * part;
    }
    MwSubmeshPacking packing = mw_submesh_packing_new(arena, (MwStageCluster){8, 8});
    memcpy(model->submeshes, packing.submeshes, sizeof *packing.submeshes * (size_t)packing.count);
    return model;
}

int main(int argc, char **argv)
{
    MwStageOptions options = {0};
    for (int option; (option = getopt(argc, argv, "v")) != -1;) {
        if (option == 'v')
            options.log = stdout;
        else
            return 2;
    }
    MwArena *arena = mw_arena_new();
    Model *model = random_model(arena);
    MwStageCut cuts[LAYERS];
    for (int i = 0; i < LAYERS; i++)
        cuts[i] = (MwStageCut){(int64_t)(2e12 * BORDER_BYTES / NETWORK_BYTES_S),
                               (int64_t)(1e12 * BORDER_BYTES / NETWORK_BYTES_S)};
    MwStageProblem problem = {.layer_count = LAYERS,
                              .cluster = {8, 8},
                              .cuts = cuts,
                              .submesh = -1,
                              .answer = answer,
                              .context = model};
    static const struct {
        const char *name;
        int64_t micro_batches, memory_bytes;
        double looseness; /* 0: no bounds */
    } cases[] = {
        {"all asked", 1024, 16000000000, 0},
        {"all asked, no memory limit", 1024, INT64_MAX, 0},
        {"all asked, few batches", 32, 16000000000, 0},
        {"tight bounds", 1024, 16000000000, 0.95},
        {"loose bounds", 1024, 16000000000, 0.6},
        {"loose bounds, few batches", 32, 16000000000, 0.6},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        problem.schedule = (MwStageSchedule){.micro_batches = cases[i].micro_batches,
                                             .chunks = 1,
                                             .returns = true,
                                             .in_flight = keep_remaining};
        problem.schedule.context = &problem.schedule;
        problem.memory_bytes = cases[i].memory_bytes;
        problem.bound = cases[i].looseness > 0 ? bound : NULL;
        model->looseness = cases[i].looseness;
        bench(cases[i].name, &problem, &options);
    }
    mw_arena_free(&arena);
    return EXIT_SUCCESS;
}
