/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/bucket_cut.h"

#include <math.h>

/* The best way to do items [0, end) in so many buckets. */
typedef struct {
    double end_s; /* when the last one ends */
    int begin;    /* of the last bucket */
} Cut;

typedef struct {
    const MwBucketProblem *problem;
    const double *cost_s; /* [begin][end], (item_count + 1)^2 */
    Cut *cuts;            /* [buckets][end], (item_count + 1)^2 */
} Table;

static int width_of(const Table *table)
{
    return table->problem->item_count + 1;
}

static Cut *cut_at(const Table *table, int buckets, int end)
{
    return &table->cuts[buckets * width_of(table) + end];
}

static void find_cut(const Table *table, int buckets, int end)
{
    Cut *best = cut_at(table, buckets, end);
    *best = (Cut){INFINITY, 0};
    for (int begin = buckets - 1; begin < end; begin++) {
        const Cut *before = cut_at(table, buckets - 1, begin);
        const double cost_s = table->cost_s[begin * width_of(table) + end];
        const double end_s = fmax(before->end_s, table->problem->ready_s[end - 1]) + cost_s;
        if (end_s < best->end_s)
            *best = (Cut){end_s, begin};
    }
}

static void find_costs(const MwBucketProblem *problem, double *cost_s)
{
    for (int begin = 0; begin < problem->item_count; begin++)
        for (int end = begin + 1; end <= problem->item_count; end++)
            cost_s[begin * (problem->item_count + 1) + end] =
                problem->cost_s(problem->context, begin, end);
}

int mw_bucket_cut(const MwBucketProblem *problem, int *ends)
{
    const int items = problem->item_count;
    MwArena *arena = mw_arena_new();
    const size_t cells = (size_t)(items + 1) * (size_t)(items + 1);
    double *cost_s = MW_NEW(arena, double, cells);
    Table table = {problem, cost_s, MW_NEW(arena, Cut, cells)};
    int best = 0;
    MW_ASSERT(items <= MW_BUCKET_ITEMS);
    find_costs(problem, cost_s);
    for (int end = 1; end <= items; end++)
        *cut_at(&table, 0, end) = (Cut){INFINITY, 0};
    for (int buckets = 1; buckets <= items; buckets++) {
        for (int end = buckets; end <= items; end++)
            find_cut(&table, buckets, end);
        if (!best || cut_at(&table, buckets, items)->end_s < cut_at(&table, best, items)->end_s)
            best = buckets;
    }
    for (int buckets = best, end = items; buckets > 0; buckets--) {
        ends[buckets - 1] = end;
        end = cut_at(&table, buckets, end)->begin;
    }
    mw_arena_free(&arena);
    return best;
}
