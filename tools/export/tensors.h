/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tensors that an export writes, and the weights that each consists of. */
#ifndef MW_TOOLS_EXPORT_TENSORS_H
#define MW_TOOLS_EXPORT_TENSORS_H

#include "base/vec.h"
#include "runtime/weights/weight_map.h"

/* A weight of the checkpoint, which is a part of a tensor or all of it. */
typedef struct {
    int weight;        /* index in the checkpoint's store */
    MwStoredView view; /* of the weight in the tensor */
} MwExportPart;

typedef struct {
    MwSafetensor tensor;
    MW_VEC(MwExportPart) parts;
} MwExportTensor;

typedef MW_VEC(MwExportTensor) MwExportTensors;

typedef struct {
    MwStore *weights;       /* of the checkpoint */
    const MwWeightMap *map; /* NULL: names are those of the weights */
    /* with a map: files whose tensors are written, in their types; NULL: all that the map has */
    MwStore *like;
} MwExportSource;

/* Lists the tensors by name. States of optimizers are left out. A fault names weights that the map
 * lacks, and tensors of which weights are missing. Sorts by name: grows with the number of tensors
 * and its logarithm. */
bool mw_export_tensors(MwArena *arena, const MwExportSource *source, MwExportTensors *tensors,
                       MwFault *fault);

#endif
