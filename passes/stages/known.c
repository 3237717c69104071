/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the search has solved, by number of micro-batches (known.h). */
#include "passes/stages/known.h"

#include "base/vec.h"

struct MwStageKnown {
    MwArena *arena;
    MwKeyMap solved; /* by micro-batches */
    MW_VEC(const MwStageSolved *) list;
    int64_t probe_effort;
    MwStageFound *found;
};

MwStageKnown *mw_stage_known_new(MwArena *arena)
{
    MwStageKnown *known = MW_NEW(arena, MwStageKnown, 1);
    *known = (MwStageKnown){.arena = arena};
    return known;
}

MwArena *mw_stage_known_arena(const MwStageKnown *known)
{
    return known->arena;
}

MwStageFound **mw_stage_known_found(MwStageKnown *known)
{
    return &known->found;
}

MwStageSolved *mw_stage_known_of(MwStageKnown *known, int micro_batches)
{
    void **at = mw_key_map_at(known->arena, &known->solved, &micro_batches, sizeof micro_batches);
    if (!*at) {
        MwStageSolved *solved = MW_NEW(known->arena, MwStageSolved, 1);
        *solved = (MwStageSolved){.arena = mw_arena_new_within(known->arena)};
        mw_vec_push(known->arena, &known->list, solved);
        *at = solved;
    }
    return *at;
}

int64_t mw_stage_known_effort(const MwStageKnown *known)
{
    int64_t effort = -known->probe_effort;
    for (int i = 0; i < known->list.count; i++)
        effort += known->list.at[i]->effort;
    return effort;
}

void mw_stage_known_probed(MwStageKnown *known, int64_t before)
{
    known->probe_effort += mw_stage_known_effort(known) - before;
}
