/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a model is laid out over devices and time: the answer of the inter-operator pass. */
#ifndef MW_PASSES_STAGING_H
#define MW_PASSES_STAGING_H

#include "base/spec.h"

/* Devices first_device .. first_device + device_count - 1 of the cluster, which are also the ranks. */
typedef struct {
    int first_device, device_count;
} MwSubmesh;

typedef struct {
    int stage_count;
    int mesh_count; /* stage s runs on mesh s % mesh_count */
    const MwSubmesh *meshes;
    const int *layer_stage; /* [layers] ascending; the first is 0, the last stage_count - 1 */
    int layer_count;
    int micro_batches;
} MwStaging;

static inline int mw_staging_mesh(const MwStaging *staging, int stage)
{
    return stage % staging->mesh_count;
}

#endif
