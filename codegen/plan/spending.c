/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/spending.h"

#include "codegen/fuse/duplicate.h"
#include "codegen/fuse/fusion.h"
#include "codegen/legal/legalize.h"
#include "codegen/lower/lower.h"
#include "codegen/plan/buckets.h"
#include "codegen/plan/overlap.h"

#include <math.h>

/* What takes memory to save time. */
typedef struct {
    double peak_share; /* of what is live, for collectives beside kernels (overlap.h) */
    MwBucketing bucketing;
    bool copies; /* that only save time (codegen/legal/legalize.h) */
} Spending;

/* As far as memory allows, in this order. The search fills the memory, so that gaps between buffers
 * that are live a little longer may be too much: where nothing is moved beyond 95 % of what is live
 * at most, GPT-39B on 64 A100 (docs/gpu.md) takes 17.2 s a step, and 19.3 s where nothing is
 * moved. */
static const Spending spendings[] = {
    {INFINITY, {.gathers_ahead = true, .sums_first = true}, .copies = true},
    {1, {.gathers_ahead = true, .sums_first = true}, .copies = true},
    {1, {.gathers_ahead = true}, .copies = true},
    {1, {.gathers_ahead = true}, .copies = false},
    {1, {.gathers_ahead = false}, .copies = false},
    {0.95, {.gathers_ahead = false}, .copies = false},
    {0, {.gathers_ahead = false}, .copies = false}};

/* The one that planning with less memory makes room for, where not even the last fits: Llama 2 70B
 * in one stage on 128 H100 (docs/models.md, batch 1024) takes 25.5 s a step, and 26.0 s where room
 * is made for the last. */
enum { WANTED = 1, LAST = MW_COUNT(spendings) - 1 };

/* ---- A stage ---- */

static MwCostModel model_of(const MwStageBuilder *s)
{
    return mw_cost_model(s->compilation->cluster, &s->stage->local->mesh);
}

/* The legal graph of a stage and its units, which no order changes. */
static void form(const MwSpendQuery *query, MwStageBuilder *s, bool copies)
{
    const MwCostModel model = model_of(s);
    s->legal = mw_legalize(query->work, s->stage->local->graph, &model, copies);
    s->units = mw_units_duplicate(&s->legal, mw_units_form(s->legal, s->flight.backward_follows));
}

/* Orders the units of a stage and gives their values buffers. */
static void order(MwStageBuilder *s, const Spending *spending, MwMeshStorage *storage)
{
    const MwCostModel model = model_of(s);
    s->order = mw_order_units(s->legal, s->units);
    mw_order_buckets(s->legal, s->units, &model, &spending->bucketing, &s->order);
    MwLiveRanges live = mw_live_ranges(s->legal, s->units, &s->order, &s->flight);
    mw_order_overlap(&live, &model, spending->peak_share, &s->order);
    live = mw_live_ranges(s->legal, s->units, &s->order, &s->flight);
    s->storage = mw_storage_plan(storage, &live);
}

/* The call of the kernel of a unit. Memory that the kernel works in gets a buffer. */
static MwKernelCall lower_kernel(const MwSpendQuery *query, MwStageBuilder *s, MwLower *lower,
                                 int unit)
{
    MwArena *scratch = mw_arena_new();
    MwKernelDef *kernel = mw_lower_unit(lower, unit, scratch);
    const bool on_host = s->units->units.at[unit].on_host;
    const int64_t bytes =
        mw_kernel_pool_printer(query->pool, on_host)->scratch_bytes(scratch, kernel);
    if (bytes)
        mw_kernel_add_scratch(
            kernel, mw_storage_add_scratch(&s->storage, s->units, unit, bytes, kernel->is_flat),
            bytes);
    const MwKernelCall call = mw_kernel_pool_call(query->pool, kernel, on_host);
    mw_arena_free(&scratch);
    return call;
}

/* Lowers the kernels, one after another, as soon as their operands have buffers. */
static void lower_kernels(const MwSpendQuery *query, MwStageBuilder *s)
{
    MwLower lower = mw_lower_begin(s->legal, s->units, s->storage.buffer, &s->stage->local->mesh);
    s->calls = MW_NEW(query->work, MwKernelCall, s->units->units.count);
    for (int u = 0; u < s->units->units.count; u++)
        if (s->units->units.at[u].is_kernel)
            s->calls[u] = lower_kernel(query, s, &lower, u);
}

/* ---- A mesh ---- */

/* The buffers of a mesh, with their places; `arena_bytes` alone, and no less than these are needed,
 * where they cannot fit and others are to be tried. */
static MwMeshStorage *store(const MwSpendQuery *query, int spending)
{
    MwMeshStorage *storage = MW_NEW(query->work, MwMeshStorage, 1);
    storage->arena = query->work;
    for (int i = 0; i < query->count; i++)
        order(query->stages[i], &spendings[spending], storage);
    storage->arena_bytes = mw_storage_least_bytes(storage);
    if (spending < LAST && query->limit_bytes && storage->arena_bytes > query->limit_bytes)
        return storage;
    for (int i = 0; i < query->count; i++)
        lower_kernels(query, query->stages[i]);
    mw_storage_place(storage, query->overlaps, query->limit_bytes);
    return storage;
}

MwSpent mw_spend_memory(const MwSpendQuery *query)
{
    MwSpent spent = {0};
    for (int k = 0; k <= LAST; k++) {
        const bool copies = spendings[k].copies;
        for (int i = 0; i < query->count && (k == 0 || copies != spendings[k - 1].copies); i++)
            form(query, query->stages[i], copies);
        spent.storage = store(query, k);
        if (!query->limit_bytes || spent.storage->arena_bytes <= query->limit_bytes)
            break;
        if (k == WANTED)
            spent.wanted_bytes = spent.storage->arena_bytes;
    }
    return spent;
}
