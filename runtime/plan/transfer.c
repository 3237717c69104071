/* SPDX-License-Identifier: MIT */
#include "runtime/plan/transfer.h"

static MwTransferSide side_of(const MwPlan *plan, int mesh, MwSpec spec)
{
    return (MwTransferSide){spec, plan->meshes[mesh].shape, plan->meshes[mesh].first_rank};
}

MwTransfer mw_transfer_of_plan(const MwPlan *plan, int index)
{
    const MwPlanTransfer *transfer = &plan->transfers[index];
    return (MwTransfer){.global = transfer->tensor,
                        .from = side_of(plan, transfer->from_mesh, transfer->from_spec),
                        .to = side_of(plan, transfer->to_mesh, transfer->to_spec),
                        .broadcast = transfer->broadcast};
}

static bool sides_overlap(const MwTransferSide *a, const MwTransferSide *b)
{
    return a->first_rank < b->first_rank + mw_mesh_devices(&b->mesh) &&
           b->first_rank < a->first_rank + mw_mesh_devices(&a->mesh);
}

static bool side_is_valid(const MwTransferSide *side, const MwTensor *global)
{
    return mw_spec_partial(side->spec) == 0 && mw_spec_is_valid(side->spec, global, &side->mesh);
}

bool mw_transfer_is_valid(const MwTransfer *transfer)
{
    return side_is_valid(&transfer->from, &transfer->global) &&
           side_is_valid(&transfer->to, &transfer->global) &&
           !sides_overlap(&transfer->from, &transfer->to);
}

bool mw_transfer_side_has(const MwTransferSide *side, int rank)
{
    return rank >= side->first_rank && rank < side->first_rank + mw_mesh_devices(&side->mesh);
}

MwBox mw_transfer_shard(const MwTransferSide *side, const MwTensor *global, int rank)
{
    int coordinate[MW_MAX_AXES];
    mw_mesh_coordinates(&side->mesh, rank - side->first_rank, coordinate);
    return mw_shard_box(global, side->spec, &side->mesh, coordinate);
}

MwBox mw_box_within(const MwBox *box, const MwBox *shard)
{
    MwBox part = *box;
    for (int d = 0; d < box->global.rank; d++) {
        part.global.dim[d] = shard->size[d];
        part.start[d] = box->start[d] - shard->start[d];
    }
    return part;
}
