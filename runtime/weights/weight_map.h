/* SPDX-License-Identifier: MIT */
/* Which tensors of files the weights of a model are, by a map of names, in both directions. */
#ifndef MW_RUNTIME_WEIGHTS_WEIGHT_MAP_H
#define MW_RUNTIME_WEIGHTS_WEIGHT_MAP_H

#include "runtime/weights/weight_map_parse.h"

/* True if the map says that models have no weight for a tensor of this name. */
bool mw_weight_map_skips(const MwWeightMap *map, const char *name);

/* Where shapes of weights come from; NULL for a name that there is no weight of. */
typedef struct {
    const MwTensor *(*shape)(const void *context, const char *name);
    const void *context;
} MwWeightShapes;

/* A tensor of files, a part of which, or all, is one of a weight. */
typedef struct {
    const char *name; /* as the files have it, or else as the map does */
    int line;         /* of the map, that makes it */
    int rank;
    int64_t dim[MW_MAX_RANK];
    MwStoredView view; /* of the weight; view.stored is not set */
} MwMappedTensor;

/* Lists the tensors that the map makes of a weight, in the order of its lines: `*tensors` in
 * `arena`. Returns their number, or -1 after a fault. `store`: the sizes of axes that the weight
 * does not tell are those of its tensors, and an entry whose tensor is not there, with the prefix
 * or without, is left out; the others have their index in view.stored. NULL: all must be told. */
int mw_weight_map_tensors(const MwWeightMap *map, MwArena *arena, const char *weight,
                          const MwWeightShapes *shapes, MwStore *store, MwMappedTensor **tensors,
                          MwFault *fault);

#endif
