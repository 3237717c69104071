/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inter-op pass: which layers form a stage, and on which devices.
 *
 * In:  the model with its layers, the cluster if there is one, the user's wishes.
 * Out: compilation->staging. */
#include "passes/pass.h"

bool mw_pass_stages(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    MwArena *arena = compilation->arena;
    const MwCluster *cluster = compilation->cluster;
    MwSubmesh *mesh = MW_NEW(arena, MwSubmesh, 1);
    mesh->device_count = cluster ? cluster->nodes * cluster->devices_per_node : 1;
    int micro_batches = compilation->options.micro_batches;
    if (micro_batches == 0)
        micro_batches = compilation->graph->train.micro_batches;
    compilation->staging = (MwStaging){.stage_count = 1,
                                       .mesh_count = 1,
                                       .meshes = mesh,
                                       .micro_batches = (int)mw_max(micro_batches, 1)};
    return true;
}
