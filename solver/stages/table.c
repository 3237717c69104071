/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries, options and moves of a stage problem, and the questions to the caller. */
#include "solver/stages/table.h"

#include <stdlib.h>

/* Returns the value, at most MW_FORBIDDEN. */
static int64_t saturate(__int128 value)
{
    return value < MW_FORBIDDEN ? (int64_t)value : MW_FORBIDDEN;
}

int64_t mw_stage_option_bytes(const MwStageOption *option, int64_t in_flight)
{
    __int128 bytes = option->fixed_bytes + (__int128)in_flight * option->saved_bytes;
    return bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

static int64_t most_in_flight(int64_t memory_bytes, const MwStageOption *option)
{
    if (option->fixed_bytes > memory_bytes)
        return -1;
    if (option->saved_bytes == 0)
        return INT64_MAX;
    return (memory_bytes - option->fixed_bytes) / option->saved_bytes;
}

static MwStageOption option_of(const MwStageProblem *problem, const MwStageCandidate *from,
                               int candidate)
{
    MW_ASSERT(from->time >= 0 && from->weight_time >= 0 && from->step_time >= 0 &&
              from->kept_bytes >= 0 && from->saved_bytes >= 0 && from->peak_bytes >= 0);
    const MwStageSchedule *schedule = &problem->schedule;
    __int128 deferred = (__int128)schedule->deferred * from->weight_time;
    __int128 fill = deferred < from->time ? (from->time - deferred) / schedule->chunks : 0;
    /* The weight_time of a bound is the greatest possible one; here the least, zero, gives the
     * bound. */
    __int128 earliest = candidate < 0 ? from->time / schedule->chunks : fill;
    __int128 fixed_bytes = (__int128)from->kept_bytes + from->peak_bytes;
    MwStageOption option = {
        .fill = saturate(fill),
        .steady = saturate((__int128)schedule->micro_batches * from->time - earliest),
        .step = saturate(from->step_time),
        .fixed_bytes = fixed_bytes < INT64_MAX ? (int64_t)fixed_bytes : INT64_MAX,
        .saved_bytes = from->saved_bytes,
        .candidate = candidate,
    };
    option.most_in_flight = most_in_flight(problem->memory_bytes, &option);
    return option;
}

static bool no_worse(const MwStageOption *a, const MwStageOption *b)
{
    return a->fill <= b->fill && a->steady <= b->steady && a->step <= b->step &&
           a->fixed_bytes <= b->fixed_bytes && a->saved_bytes <= b->saved_bytes;
}

/* Says whether another option dominates. Of equal options the first dominates. */
static bool dominated(const MwStageOption *options, int count, int which)
{
    for (int i = 0; i < count; i++)
        if (i != which && no_worse(&options[i], &options[which]) &&
            (i < which || !no_worse(&options[which], &options[i])))
            return true;
    return false;
}

static int by_fill(const void *left, const void *right)
{
    const MwStageOption *a = left, *b = right;
    if (a->fill != b->fill)
        return a->fill < b->fill ? -1 : 1;
    return a->candidate - b->candidate;
}

static void read_answer(MwStageTable *table, MwStageEntry *entry, const MwStageQuery *answer)
{
    MwArena *scratch = mw_arena_new();
    MwStageOption *all = MW_NEW(scratch, MwStageOption, answer->count);
    for (int i = 0; i < answer->count; i++)
        all[i] = option_of(table->problem, &answer->candidates[i], i);
    entry->options = MW_NEW(table->arena, MwStageOption, answer->count);
    entry->option_count = 0;
    for (int i = 0; i < answer->count; i++)
        if (!dominated(all, answer->count, i))
            entry->options[entry->option_count++] = all[i];
    qsort(entry->options, (size_t)entry->option_count, sizeof *entry->options, by_fill);
    entry->candidates = mw_arena_dup(table->arena, answer->candidates,
                                     sizeof *answer->candidates * (size_t)answer->count);
    mw_arena_free(&scratch);
}

bool mw_stage_table_ask(MwStageTable *table, const int *entries, int count)
{
    MwArena *scratch = mw_arena_new();
    MwStageQuery *queries = MW_NEW(scratch, MwStageQuery, count);
    MwStageEntry **asked = MW_NEW(scratch, MwStageEntry *, count);
    int query_count = 0;
    for (int i = 0; i < count; i++) {
        MwStageEntry *entry = &table->entries[entries[i]];
        if (entry->asked)
            continue;
        entry->asked = true;
        asked[query_count] = entry;
        queries[query_count++] =
            (MwStageQuery){.begin = entry->begin, .end = entry->end, .submesh = entry->submesh};
    }
    if (query_count > 0)
        table->problem->answer(table->problem->context, queries, query_count);
    for (int i = 0; i < query_count; i++)
        read_answer(table, asked[i], &queries[i]);
    table->asked += query_count;
    mw_arena_free(&scratch);
    return query_count > 0;
}

static int class_of(const MwStageProblem *problem, int begin, int end)
{
    int interval = begin * (problem->layer_count + 1) + end;
    return problem->interval_class ? problem->interval_class[interval] : interval;
}

/* Returns the stage that layers [begin, end) are pinned to, MW_FREE or MW_CONFLICT. */
static int pinned_stage(const MwStageProblem *problem, int begin, int end)
{
    int stage = MW_FREE;
    for (int layer = begin; layer < end && problem->layer_stage; layer++) {
        int pin = problem->layer_stage[layer];
        if (pin >= 0 && stage >= 0 && pin != stage)
            return MW_CONFLICT;
        if (pin >= 0)
            stage = pin;
    }
    return stage;
}

static void list_moves(MwStageTable *table)
{
    const MwStageProblem *problem = table->problem;
    int layers = problem->layer_count, submeshes = table->packing.count, count = 0;
    table->first_move = MW_NEW(table->arena, int, layers + 1);
    table->moves = MW_NEW(table->arena, MwStageMove, layers * (layers + 1) / 2 * submeshes);
    for (int begin = 0; begin < layers; begin++) {
        table->first_move[begin] = count;
        for (int end = begin + 1; end <= layers; end++)
            for (int submesh = 0; submesh < submeshes; submesh++) {
                if (problem->submesh >= 0 && problem->submesh != submesh)
                    continue;
                int entry = class_of(problem, begin, end) * submeshes + submesh;
                MW_ASSERT(entry >= 0 && entry < table->entry_count);
                if (!table->entries[entry].used)
                    table->entries[entry] = (MwStageEntry){
                        .begin = begin, .end = end, .submesh = submesh, .used = true};
                table->moves[count++] =
                    (MwStageMove){end, submesh, entry, pinned_stage(problem, begin, end)};
            }
    }
    table->first_move[layers] = count;
}

/* Gives each entry its bound as its only option until it is asked. */
static void read_bounds(MwStageTable *table)
{
    const MwStageProblem *problem = table->problem;
    for (int i = 0; i < table->entry_count; i++) {
        MwStageEntry *entry = &table->entries[i];
        MwStageCandidate bound = {0};
        if (!entry->used || (problem->bound && !problem->bound(problem->context, entry->begin,
                                                               entry->end, entry->submesh, &bound)))
            continue;
        entry->options = MW_NEW(table->arena, MwStageOption, 1);
        entry->options[0] = option_of(problem, &bound, -1);
        entry->option_count = 1;
    }
}

/* Asks every entry that may occur in a solution. */
static void ask_all(MwStageTable *table)
{
    int move_count = table->first_move[table->problem->layer_count], count = 0;
    MwArena *scratch = mw_arena_new();
    int *entries = MW_NEW(scratch, int, move_count);
    for (int i = 0; i < move_count; i++) {
        const MwStageMove *move = &table->moves[i];
        if (move->stage != MW_CONFLICT &&
            (table->problem->submesh < 0 || table->problem->submesh == move->submesh))
            entries[count++] = move->entry;
    }
    mw_stage_table_ask(table, entries, count);
    mw_arena_free(&scratch);
}

static void check_form(const MwStageProblem *problem)
{
    const MwStageSchedule *schedule = &problem->schedule;
    MW_ASSERT(problem->layer_count > 0 && schedule->micro_batches > 0);
    MW_ASSERT(schedule->chunks > 0 && schedule->deferred >= 0);
    MW_ASSERT(!schedule->returns || schedule->chunks == 1);
}

MwStageTable *mw_stage_table_new(MwArena *arena, const MwStageProblem *problem)
{
    check_form(problem);
    MwStageTable *table = MW_NEW(arena, MwStageTable, 1);
    *table = (MwStageTable){.arena = arena, .problem = problem};
    table->packing = mw_submesh_packing_new(arena, problem->cluster);
    table->device_count = problem->cluster.nodes * problem->cluster.devices_per_node;
    int intervals = (problem->layer_count + 1) * (problem->layer_count + 1);
    table->entry_count =
        (problem->interval_class ? problem->class_count : intervals) * table->packing.count;
    table->entries = MW_NEW(arena, MwStageEntry, table->entry_count);
    list_moves(table);
    read_bounds(table);
    if (!problem->bound)
        ask_all(table);
    return table;
}
