/* SPDX-License-Identifier: MIT */
#include "runtime/plan/traffic_walk.h"

static int slot_of(const MwTrafficWalk *walk, int mesh, int endpoint, int micro_batch)
{
    const int buffer = walk->meshes[mesh].traffic->endpoints[endpoint].buffer;
    return mw_plan_slot(&walk->plan->meshes[mesh].buffers[buffer], micro_batch);
}

static void begin_mesh(MwArena *arena, const MwTrafficWalk *walk, int mesh)
{
    MwTrafficMesh *at = &walk->meshes[mesh];
    const int count = at->traffic->endpoint_count;
    at->last = MW_NEW(arena, int *, count);
    at->users = MW_NEW(arena, int *, count);
    for (int e = 0; e < count; e++) {
        const int buffer = at->traffic->endpoints[e].buffer;
        const int slots =
            (int)mw_min(walk->plan->meshes[mesh].buffers[buffer].slots, walk->plan->micro_batches);
        at->last[e] = MW_NEW(arena, int, slots);
        at->users[e] = MW_NEW(arena, int, slots);
    }
}

MwTrafficWalk mw_traffic_walk(MwArena *arena, const MwPlan *plan, const MwTraffic *const *traffic)
{
    MwTrafficWalk walk = {.plan = plan,
                          .transfers = MW_NEW(arena, MwTransferProgress, plan->transfer_count),
                          .meshes = MW_NEW(arena, MwTrafficMesh, plan->mesh_count)};
    for (int m = 0; m < plan->mesh_count; m++) {
        walk.meshes[m].traffic = traffic[m];
        begin_mesh(arena, &walk, m);
    }
    return walk;
}

static void post_receive(const MwTrafficWalk *walk, int mesh, int index)
{
    const MwTraffic *traffic = walk->meshes[mesh].traffic;
    const MwTrafficEndpoint *endpoint = &traffic->endpoints[index];
    const int message = walk->transfers[endpoint->transfer].posted++;
    const int micro_batch = traffic->programs[endpoint->program].micro_batches[message];
    walk->meshes[mesh].users[index][slot_of(walk, mesh, index, micro_batch)] = endpoint->users;
    walk->posted(walk->context, mesh, endpoint->transfer);
}

static void post_ahead(const MwTrafficWalk *walk, int mesh, int index)
{
    const MwTraffic *traffic = walk->meshes[mesh].traffic;
    const MwTrafficEndpoint *endpoint = &traffic->endpoints[index];
    const MwTrafficProgram *program = &traffic->programs[endpoint->program];
    const int *posted = &walk->transfers[endpoint->transfer].posted;
    const int *users = walk->meshes[mesh].users[index];
    while (endpoint->is_ahead && *posted < program->run_count &&
           !users[slot_of(walk, mesh, index, program->micro_batches[*posted])])
        post_receive(walk, mesh, index);
}

void mw_traffic_begin(const MwTrafficWalk *walk)
{
    for (int m = 0; m < walk->plan->mesh_count; m++)
        for (int e = 0; e < walk->meshes[m].traffic->endpoint_count; e++)
            post_ahead(walk, m, e);
}

bool mw_traffic_do(const MwTrafficWalk *walk, int mesh, const MwTrafficOp *op, int micro_batch)
{
    const MwTrafficMesh *at = &walk->meshes[mesh];
    const int transfer = at->traffic->endpoints[op->endpoint].transfer;
    MwTransferProgress *progress = &walk->transfers[transfer];
    int *last = &at->last[op->endpoint][slot_of(walk, mesh, op->endpoint, micro_batch)];
    switch (op->kind) {
    case MW_TRAFFIC_WAIT:
        return progress->ended >= *last;
    case MW_TRAFFIC_WAIT_ALL:
        return progress->ended >= progress->sent;
    case MW_TRAFFIC_SEND:
        if (progress->ended < *last)
            return false;
        *last = ++progress->sent;
        walk->posted(walk->context, mesh, transfer);
        return true;
    case MW_TRAFFIC_RECEIVE:
        if (progress->posted == progress->received)
            post_receive(walk, mesh, op->endpoint);
        if (progress->ended == progress->received)
            return false;
        progress->received++;
        return true;
    case MW_TRAFFIC_KINDS:
        break;
    }
    MW_UNREACHABLE();
}

void mw_traffic_end_task(const MwTrafficWalk *walk, int mesh, const MwPlanTask *task)
{
    const MwTrafficMesh *at = &walk->meshes[mesh];
    const MwTrafficProgram *program = &at->traffic->programs[task->program];
    for (int i = 0; i < program->ahead_count; i++) {
        const int endpoint = program->ahead[i];
        at->users[endpoint][slot_of(walk, mesh, endpoint, task->micro_batch)]--;
        post_ahead(walk, mesh, endpoint);
    }
}
