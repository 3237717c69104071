/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mw_stages_solve: runs the search and states its result in the caller's terms. */
#include "solver/stages/stages.h"

#include "solver/stages/search.h"

static MwStageChoice choice_of(const MwStageTable *table, const MwStageStep *step)
{
    return (MwStageChoice){
        .begin = step->begin,
        .end = step->end,
        .submesh = step->submesh,
        .candidate = step->option->candidate,
        .cost = table->entries[step->entry].candidates[step->option->candidate],
        .in_flight = step->in_flight,
        .bytes = mw_stage_option_bytes(step->option, step->in_flight),
    };
}

static void place_stages(MwArena *arena, const MwStageTable *table, MwStagePlan *plan)
{
    int *submesh = MW_NEW(arena, int, plan->stage_count);
    int *first_device = MW_NEW(arena, int, plan->stage_count);
    for (int i = 0; i < plan->stage_count; i++)
        submesh[i] = plan->stages[i].submesh;
    mw_submesh_packing_place(&table->packing, plan->stage_count, submesh, first_device);
    for (int i = 0; i < plan->stage_count; i++)
        plan->stages[i].first_device = first_device[i];
}

static void store_plan(MwArena *arena, const MwStageSearch *search, MwStagePlan *plan)
{
    const MwStagePath *best = &search->incumbent;
    plan->stage_count = best->stage_count;
    plan->stages = MW_NEW(arena, MwStageChoice, best->stage_count);
    for (int i = 0; i < best->stage_count; i++)
        plan->stages[i] = choice_of(search->table, &best->stages[i]);
    plan->fill = best->fill;
    plan->steady = best->steady;
    plan->step = best->step;
    plan->total = search->total;
    place_stages(arena, search->table, plan);
}

static void set_range(const MwStageProblem *problem, MwStageSearch *search)
{
    search->submesh = problem->submesh;
    search->least_stages = (int)mw_max(1, problem->least_stages);
    search->most_stages = (int)mw_min(problem->layer_count, search->table->device_count);
    if (problem->most_stages > 0)
        search->most_stages = (int)mw_min(search->most_stages, problem->most_stages);
}

MwStagePlan mw_stages_solve(MwArena *arena, const MwStageProblem *problem,
                            const MwStageOptions *options)
{
    MwArena *scratch = mw_arena_new();
    MwStagePlan plan = {.reason = MW_STAGES_DEVICES};
    MwStageSearch search = {
        .arena = scratch, .total = problem->total_below > 0 ? problem->total_below : MW_FORBIDDEN};
    if (options) {
        search.gap = options->gap;
        search.log = options->log;
    }
    search.table = mw_stage_table_new(scratch, problem);
    search.pass = mw_stage_pass_new(scratch, search.table);
    set_range(problem, &search);
    if (search.least_stages <= search.most_stages) {
        mw_stage_search_run(&search);
        plan.reason = MW_STAGES_POSSIBLE;
        if (search.found)
            store_plan(arena, &search, &plan);
        else if (problem->total_below > 0)
            plan.reason = MW_STAGES_TOTAL;
        else
            plan.reason = mw_stage_search_explain(&search, &plan.needed_bytes);
        plan.lower_bound = search.lower_bound;
        plan.passes = search.passes;
        plan.is_spent = search.is_spent;
    }
    plan.asked = search.table->asked;
    mw_arena_free(&scratch);
    return plan;
}
