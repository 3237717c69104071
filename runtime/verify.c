/* SPDX-License-Identifier: MIT */
#include "runtime/verify.h"

#include "runtime/exec/device_check.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/transport_solo.h"

static bool no_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                     MwFault *fault)
{
    (void)context, (void)input, (void)step, (void)box, (void)to, (void)fault;
    return true;
}

static bool no_output(void *context, int output, int64_t step, const MwBox *box, bool is_first,
                      const void *from, MwFault *fault)
{
    (void)context, (void)output, (void)step, (void)box, (void)is_first, (void)from, (void)fault;
    return true;
}

static bool verify_rank(MwArena *arena, const MwPlan *plan, int rank, MwFault *fault)
{
    const MwExecutorData data = {.input = no_input, .output = no_output};
    MwDevice *device = mw_device_check_new(arena);
    MwTransport *transport = mw_transport_solo_new(arena, rank, plan->rank_count);
    MwExecutor *executor = mw_executor_new(arena, plan, device, transport, NULL, fault);
    double *metrics = MW_NEW(arena, double, mw_plan_metric_count(plan));
    bool good = executor && mw_executor_start(executor, 1, fault) &&
                mw_executor_step(executor, 1, &data, metrics, fault) &&
                mw_executor_step(executor, 2, &data, metrics, fault);
    mw_transport_free(&transport, device);
    mw_device_free(&device);
    return good;
}

/* True for the first and the last device along every axis. The others differ from them in nothing
 * but positions, which grow with the coordinates and so lie between theirs. */
static bool is_corner(const MwMeshShape *shape, int device)
{
    int coordinate[MW_MAX_AXES];
    mw_mesh_coordinates(shape, device, coordinate);
    for (int a = 0; a < shape->axis_count; a++)
        if (coordinate[a] != 0 && coordinate[a] != shape->size[a] - 1)
            return false;
    return true;
}

static bool verify_mesh(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh, FILE *out)
{
    for (int device = 0; device < mw_mesh_devices(&mesh->shape); device++) {
        int rank = mesh->first_rank + device;
        MwFault fault = {0};
        if (is_corner(&mesh->shape, device) && !verify_rank(arena, plan, rank, &fault)) {
            fprintf(out, "rank %d: %s\n", rank, fault.text);
            return false;
        }
    }
    return true;
}

bool mw_plan_verify(MwArena *arena, const MwPlan *plan, FILE *out)
{
    for (int i = 0; i < plan->mesh_count; i++)
        if (!verify_mesh(arena, plan, &plan->meshes[i], out))
            return false;
    int64_t instrs = 0, most_bytes = 0;
    for (int i = 0; i < plan->mesh_count; i++) {
        most_bytes = mw_max(most_bytes, plan->meshes[i].arena_bytes);
        for (int p = 0; p < plan->meshes[i].program_count; p++)
            instrs += plan->meshes[i].programs[p].instr_count;
    }
    fprintf(out, "the plan is sound: %d ranks, %lld instructions, %s%lld bytes a rank\n",
            plan->rank_count, (long long)instrs, plan->mesh_count > 1 ? "at most " : "",
            (long long)most_bytes);
    return true;
}
