/* SPDX-License-Identifier: MIT */
/* The order of the checker's parts. The checker shares no code with what makes plans. */
#include "runtime/check/check.h"

#include "runtime/check/rules.h"

typedef void Part(const MwCheck *check);

/* Stops after the first part that finds an error. */
static void run_parts(const MwCheck *check, Part *const *parts, int count)
{
    const int before = mw_diags_error_count(check->diags);
    for (int i = 0; i < count && mw_diags_error_count(check->diags) == before; i++)
        parts[i](check);
}

static void run_on_meshes(MwCheck check, Part *const *parts, int count)
{
    for (int m = 0; m < check.plan->mesh_count; m++) {
        check.mesh = &check.plan->meshes[m];
        check.place = mw_arena_printf(check.arena, "mesh %d", m);
        run_parts(&check, parts, count);
    }
}

static void check_data(const MwCheck *check)
{
    static Part *const parts[] = {mw_check_mesh};
    run_on_meshes(*check, parts, MW_COUNT(parts));
}

static void check_programs(const MwCheck *check)
{
    static Part *const parts[] = {mw_check_instrs, mw_check_tasks, mw_check_schedule};
    run_on_meshes(*check, parts, MW_COUNT(parts));
}

bool mw_plan_check(const MwPlan *plan, MwDiags *diags)
{
    static Part *const parts[] = {mw_check_plan, check_data,        mw_check_meshes, check_programs,
                                  mw_check_ends, mw_check_messages, mw_check_traffic};
    MwArena *arena = mw_arena_new();
    const MwCheck check = {.plan = plan, .diags = diags, .arena = arena, .place = "plan"};
    const int before = mw_diags_error_count(diags);
    run_parts(&check, parts, MW_COUNT(parts));
    mw_arena_free(&arena);
    return mw_diags_error_count(diags) == before;
}
