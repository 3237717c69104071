/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/simulate/recost.h"

#include "codegen/plan/predict.h"
#include "cost/curve.h"
#include "cost/transfer.h"

#include <math.h>
#include <string.h>

/* ---- What can be simulated ---- */

/* Longest time of an instruction or transfer, in seconds: no sum of such is infinite. */
static const double MOST_S = 1e15;

static bool is_time(double time_s)
{
    return time_s >= 0 && time_s <= MOST_S; /* false for NaN */
}

/* The checker of plans leaves predicted times alone, since no run depends on them. */
static bool are_times(const MwPlan *plan)
{
    for (int t = 0; t < plan->transfer_count; t++)
        if (!is_time(plan->transfers[t].time_s))
            return false;
    for (int m = 0; m < plan->mesh_count; m++)
        for (int p = 0; p < plan->meshes[m].program_count; p++)
            for (int i = 0; i < plan->meshes[m].programs[p].instr_count; i++)
                if (!is_time(plan->meshes[m].programs[p].instrs[i].time_s))
                    return false;
    return true;
}

static bool suits(const MwPlan *plan, const MwCluster *cluster, MwDiags *diags)
{
    const int devices = mw_cluster_devices(cluster);
    if (strcmp(cluster->backend, plan->backend) != 0)
        mw_diag_error(diags, mw_span_none(), "the plan is for the backend '%s', %s has '%s'",
                      plan->backend, cluster->name, cluster->backend);
    else if (devices < plan->rank_count)
        mw_diag_error(diags, mw_span_none(), "the plan is for %d devices, %s has %d",
                      plan->rank_count, cluster->name, devices);
    else
        return true;
    return false;
}

/* Says it if the plan was made for other devices, as far as it tells. */
static void warn_of_devices(const MwPlan *plan, const MwCluster *cluster, MwDiags *diags)
{
    const double bytes_per_s = mw_curve_most(&cluster->device.bandwidth);
    for (int m = 0; m < plan->mesh_count; m++)
        if (plan->meshes[m].has_ceilings &&
            fabs(plan->meshes[m].bytes_per_s / bytes_per_s - 1) > 1e-6) {
            mw_diag_warning(diags, mw_span_none(),
                            "the plan was made for other devices than those of %s: what they "
                            "compute takes as long as on those",
                            cluster->name);
            return;
        }
}

static bool are_ranks(const MwPlan *plan, const MwSimulateOptions *options, MwDiags *diags)
{
    for (int i = 0; i < options->straggler_count; i++) {
        const int rank = options->stragglers[i].rank;
        if (rank >= plan->rank_count)
            mw_diag_error(diags, mw_span_none(), "no rank %d can straggle: the plan has %d ranks",
                          rank, plan->rank_count);
        for (int k = 0; k < i; k++)
            if (options->stragglers[k].rank == rank)
                mw_diag_error(diags, mw_span_none(), "rank %d straggles twice", rank);
    }
    return mw_diags_error_count(diags) == 0;
}

/* ---- Other times ---- */

/* How much longer what the slowest device of the mesh does takes. */
static double slowest(const MwPlan *plan, const MwPlanMesh *mesh, const MwSimulateOptions *options)
{
    double most = 0;
    const int devices = mw_mesh_devices(&mesh->shape);
    int slowed = 0;
    for (int i = 0; i < options->straggler_count; i++) {
        const MwStraggler *straggler = &options->stragglers[i];
        if (mw_plan_mesh_of_rank(plan, straggler->rank) != mesh)
            continue;
        most = fmax(most, straggler->factor);
        slowed++;
    }
    return slowed < devices ? fmax(most, 1) : most;
}

static void recost_program(MwArena *arena, MwPlanProgram *program, const MwCostModel *model,
                           double factor)
{
    program->instrs = mw_arena_dup(arena, program->instrs,
                                   sizeof *program->instrs * (size_t)program->instr_count);
    for (int i = 0; i < program->instr_count; i++) {
        MwPlanInstr *instr = &program->instrs[i];
        if (instr->kind != MW_INSTR_COLLECTIVE)
            instr->time_s *= factor;
        else if (model)
            instr->time_s = mw_predict_collective_s(model, instr);
    }
}

static void recost_mesh(MwArena *arena, const MwSimulateOptions *options, double factor,
                        MwPlanMesh *mesh)
{
    MwCostModel model;
    if (factor == 1 && !options->cluster)
        return;
    if (options->cluster) {
        model = mw_cost_model(options->cluster, &mesh->shape);
        mesh->collective_share = mw_device_collective_share(&options->cluster->device);
    }
    mesh->programs =
        mw_arena_dup(arena, mesh->programs, sizeof *mesh->programs * (size_t)mesh->program_count);
    for (int p = 0; p < mesh->program_count; p++)
        recost_program(arena, &mesh->programs[p], options->cluster ? &model : NULL, factor);
}

static MwTensorPlacement place_of(const MwPlan *plan, int mesh, MwSpec spec)
{
    return (MwTensorPlacement){spec, plan->meshes[mesh].shape, plan->meshes[mesh].first_rank};
}

static void recost_transfer(const MwPlan *plan, const MwCluster *cluster, MwPlanTransfer *transfer)
{
    const MwTensorPlacement from = place_of(plan, transfer->from_mesh, transfer->from_spec);
    const MwTensorPlacement to = place_of(plan, transfer->to_mesh, transfer->to_spec);
    const MwTransferCost cost = mw_transfer_cost(cluster, &transfer->tensor, &from, &to);
    transfer->time_s = cost.crossing_s + cost.passing_s;
}

const MwPlan *mw_simulate_recost(MwArena *arena, const MwPlan *plan,
                                 const MwSimulateOptions *options, MwDiags *diags)
{
    if (!are_times(plan)) {
        mw_diag_error(diags, mw_span_none(), "the plan has predicted times that are none");
        return NULL;
    }
    if ((options->cluster && !suits(plan, options->cluster, diags)) ||
        !are_ranks(plan, options, diags))
        return NULL;
    if (!options->cluster && !options->straggler_count)
        return plan;
    if (options->cluster)
        warn_of_devices(plan, options->cluster, diags);
    MwPlan *copy = mw_arena_dup(arena, plan, sizeof *plan);
    copy->meshes =
        mw_arena_dup(arena, plan->meshes, sizeof *plan->meshes * (size_t)plan->mesh_count);
    copy->transfers = mw_arena_dup(arena, plan->transfers,
                                   sizeof *plan->transfers * (size_t)plan->transfer_count);
    for (int m = 0; m < plan->mesh_count; m++)
        recost_mesh(arena, options, slowest(plan, &plan->meshes[m], options), &copy->meshes[m]);
    for (int t = 0; t < plan->transfer_count && options->cluster; t++)
        recost_transfer(copy, options->cluster, &copy->transfers[t]);
    return copy;
}
