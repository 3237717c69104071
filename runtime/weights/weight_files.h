/* SPDX-License-Identifier: MIT */
/* Where the weights of a model are in files of weights: under its names, or by a map of names. */
#ifndef MW_RUNTIME_WEIGHTS_WEIGHT_FILES_H
#define MW_RUNTIME_WEIGHTS_WEIGHT_FILES_H

#include "runtime/weights/weight_map.h"

typedef struct {
    MwStore *store;
    const MwWeightMap *map; /* NULL: names are those of the model */
    MwWeightShapes shapes;  /* of all weights of the model */
} MwWeightFiles;

/* The parts of files that hold a weight together; none where the files lack it. */
typedef struct {
    MwStoredView *at;
    int count;
} MwStoredViews;

typedef struct {
    const char *const *paths; /* what mw_store_add takes */
    int path_count;
    const char *map; /* what mw_weight_map_open takes; NULL: names are those of the model */
} MwWeightFilesOptions;

/* Reads the map and the names of tensors. False after a fault. The files are closed by
 * mw_weight_files_close in either case. */
bool mw_weight_files_open(MwWeightFiles *files, MwArena *arena, const MwWeightFilesOptions *options,
                          MwWeightShapes shapes, MwFault *fault);
void mw_weight_files_close(MwWeightFiles *files);

/* Finds what the weight `name` of type and shape `whole` is read from; `*views` lie in `arena`. A
 * fault if the files have another type or shape, or only a part of the weight. */
bool mw_weight_files_find(const MwWeightFiles *files, MwArena *arena, const char *name,
                          const MwTensor *whole, MwStoredViews *views, MwFault *fault);

#endif
