/* SPDX-License-Identifier: MIT */
/* What the plan says of itself as a whole: kernels, stages, micro-batches, and the ranks of its
 * meshes. */
#include "runtime/check/rules.h"

#include <ctype.h>
#include <string.h>

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return !*name;
}

static void check_kernels(const MwCheck *check)
{
    const MwPlanKernel *kernels = check->plan->kernels;
    for (int i = 0; i < check->plan->kernel_count; i++) {
        if (!is_identifier(kernels[i].name))
            mw_check_error(check, "kernel %d has the name '%s', which is no C identifier", i,
                           kernels[i].name);
        if (kernels[i].operand_count < 0 || kernels[i].arg_count < 0)
            mw_check_error(check, "kernel %s has a negative count", kernels[i].name);
        if (kernels[i].takes_sets && kernels[i].operand_count == 0)
            mw_check_error(check, "kernel %s takes sets of no operands", kernels[i].name);
        for (int k = 0; k < i; k++)
            if (strcmp(kernels[i].name, kernels[k].name) == 0)
                mw_check_error(check, "kernels %d and %d are both called %s", k, i,
                               kernels[i].name);
    }
}

/* Devices of a mesh; -1 if it is none. */
static int64_t device_count(const MwMeshShape *shape)
{
    int64_t devices = 1;
    if (shape->axis_count < 1 || shape->axis_count > MW_MAX_AXES)
        return -1;
    for (int a = 0; a < shape->axis_count; a++) {
        if (shape->size[a] < 1 || shape->size[a] > 1 << 20)
            return -1;
        devices *= shape->size[a];
    }
    return devices;
}

static bool is_part(int first, int count, int whole)
{
    return first >= 0 && count >= 0 && first <= whole - count;
}

static void check_stages(const MwCheck *check)
{
    const MwPlan *plan = check->plan;
    for (int i = 0; i < plan->stage_count; i++) {
        const MwPlanStage *stage = &plan->stages[i];
        if (stage->mesh < 0 || stage->mesh >= plan->mesh_count) {
            mw_check_error(check, "stage %d runs on mesh %d, which does not exist", i, stage->mesh);
            continue;
        }
        const MwPlanMesh *mesh = &plan->meshes[stage->mesh];
        if (!is_part(stage->first_program, stage->program_count, mesh->program_count))
            mw_check_error(check, "stage %d has programs that mesh %d does not have", i,
                           stage->mesh);
        if (!is_part(stage->first_operator, stage->operator_count, mesh->operator_count))
            mw_check_error(check, "stage %d has operators that mesh %d does not have", i,
                           stage->mesh);
    }
}

/* The end of the ranks of all meshes that begin before mesh `index`, if they leave no gap. */
static int64_t end_before(const MwPlan *plan, int index)
{
    int64_t end = 0;
    for (int i = 0; i < plan->mesh_count; i++) {
        int first = plan->meshes[i].first_rank, own = plan->meshes[index].first_rank;
        if (first < own || (first == own && i < index))
            end += mw_max(device_count(&plan->meshes[i].shape), 0);
    }
    return end;
}

void mw_check_plan(const MwCheck *check)
{
    const MwPlan *plan = check->plan;
    check_kernels(check);
    check_stages(check);
    if (plan->micro_batches < 1)
        mw_check_error(check, "it has %d micro-batches", plan->micro_batches);
    if (plan->mesh_count < 1)
        mw_check_error(check, "it has no mesh");
    if (!mw_check_is_amount(plan->step_s) || !mw_check_is_amount(plan->model_flops) ||
        !mw_check_is_amount(plan->model_peak_s))
        mw_check_error(check, "its predicted times and work are no numbers from 0 on");
    if (plan->has_price && !mw_check_is_amount(plan->usd_per_h))
        mw_check_error(check, "its price is no number from 0 on");
    int64_t ranks = 0;
    for (int i = 0; i < plan->mesh_count; i++) {
        const MwPlanMesh *mesh = &plan->meshes[i];
        int64_t devices = device_count(&mesh->shape), end = end_before(plan, i);
        if (devices < 0)
            mw_check_error(check, "mesh %d has no valid shape", i);
        else if (mesh->first_rank != end)
            mw_check_error(check, "mesh %d begins at rank %d, where those before it end at %lld", i,
                           mesh->first_rank, (long long)end);
        ranks += mw_max(devices, 0);
    }
    if (ranks != plan->rank_count)
        mw_check_error(check, "it is for %d ranks; its meshes have %lld", plan->rank_count,
                       (long long)ranks);
}
