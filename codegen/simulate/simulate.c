/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/simulate/simulate.h"

#include "base/backend.h"
#include "codegen/simulate/instrs.h"
#include "codegen/simulate/recost.h"
#include "codegen/simulate/step.h"

#include <math.h>

static MwSimPlan prepare(MwArena *arena, const MwPlan *plan, const MwSimulateOptions *options,
                         bool overlaps)
{
    MwSimPlan of = {.plan = plan,
                    .options = options,
                    .meshes = MW_NEW(arena, MwSimMesh, plan->mesh_count),
                    .routes = mw_routes(arena, plan, options->cluster, options->contention)};
    for (int m = 0; m < plan->mesh_count; m++) {
        of.meshes[m].traffic = mw_traffic(arena, plan, &plan->meshes[m]);
        of.meshes[m].programs =
            mw_sim_programs(arena, &plan->meshes[m], &of.meshes[m].traffic, overlaps);
    }
    return of;
}

/* Adds a step of `steps` to the means. */
static void add_step(MwSimulation *simulation, const MwPlan *plan, const MwSimStep *step, int steps)
{
    simulation->step_s += step->step_s / steps;
    simulation->least_s = fmin(simulation->least_s, step->step_s);
    simulation->most_s = fmax(simulation->most_s, step->step_s);
    simulation->events += step->events;
    simulation->path.compute_s += step->path.compute_s / steps;
    simulation->path.collective_s += step->path.collective_s / steps;
    simulation->path.transfer_s += step->path.transfer_s / steps;
    for (int m = 0; m < plan->mesh_count; m++) {
        MwSimulatedMesh *sum = &simulation->meshes[m];
        const MwSimulatedMesh *one = &step->meshes[m];
        sum->compute_s += one->compute_s / steps;
        sum->collective_s += one->collective_s / steps;
        sum->transfer_s += one->transfer_s / steps;
        sum->bubble_s += one->bubble_s / steps;
        sum->idle_s += one->idle_s / steps;
    }
}

const MwSimulation *mw_simulate(MwArena *arena, const MwPlan *plan,
                                const MwSimulateOptions *options, MwDiags *diags)
{
    MwSimulation *simulation = MW_NEW(arena, MwSimulation, 1);
    MwSimRecord record = {.arena = arena};
    const MwPlan *priced = mw_simulate_recost(arena, plan, options, diags);
    if (!priced)
        return NULL;
    simulation->overlaps =
        mw_backend_named(plan->backend)->overlaps && !options->collectives_in_line;
    const MwSimPlan of = prepare(arena, priced, options, simulation->overlaps);
    simulation->least_s = INFINITY;
    simulation->meshes = MW_NEW(arena, MwSimulatedMesh, plan->mesh_count);
    for (int s = 0; s < options->steps; s++) {
        MwArena *work = mw_arena_new_within(arena);
        const bool records = options->records && s == 0;
        const MwSimStep step = mw_sim_step(work, &of, s, records ? &record : NULL);
        add_step(simulation, plan, &step, options->steps);
        mw_arena_free(&work);
    }
    simulation->tasks = record.tasks.at;
    simulation->task_count = record.tasks.count;
    mw_sim_instrs(arena, &of, simulation);
    simulation->messages = record.messages.at;
    simulation->message_count = record.messages.count;
    return simulation;
}
