/* SPDX-License-Identifier: MIT */
#include "runtime/weights/weight_files.h"

#include <string.h>

bool mw_weight_files_open(MwWeightFiles *files, MwArena *arena, const MwWeightFilesOptions *options,
                          MwWeightShapes shapes, MwFault *fault)
{
    *files = (MwWeightFiles){.store = mw_store_new(arena), .shapes = shapes};
    if (options->map && !(files->map = mw_weight_map_open(arena, options->map, fault)))
        return false;
    for (int i = 0; i < options->path_count; i++)
        if (!mw_store_add(files->store, options->paths[i], fault))
            return false;
    return true;
}

void mw_weight_files_close(MwWeightFiles *files)
{
    mw_store_close(&files->store);
}

/* A weight that is looked for. */
typedef struct {
    const char *name;
    const MwTensor *whole;
} Wanted;

static bool same_range(const MwStoredView *a, const MwStoredView *b)
{
    const size_t bytes = sizeof *a->begin * (size_t)a->axes;
    return a->axes == b->axes && memcmp(a->size, b->size, bytes) == 0 &&
           memcmp(a->begin, b->begin, bytes) == 0 && memcmp(a->end, b->end, bytes) == 0;
}

static bool check_shape(const MwMappedTensor *tensor, const MwSafetensor *stored,
                        const Wanted *wanted, MwFault *fault)
{
    char found[MW_SAFETENSOR_TEXT_BYTES], needed[MW_SAFETENSOR_TEXT_BYTES];
    MwSafetensor other = {.type = stored->type, .rank = tensor->rank};
    memcpy(other.dim, tensor->dim, sizeof other.dim);
    if (!mw_file_type_fits(stored->type, wanted->whole->type))
        return mw_fault_set(fault, "weight %s: %s is %s, which does not become %s", wanted->name,
                            stored->name, mw_safetensor_text(stored, found),
                            mw_type_name(wanted->whole->type));
    return (stored->rank == tensor->rank &&
            memcmp(stored->dim, tensor->dim, sizeof *stored->dim * (size_t)stored->rank) == 0) ||
           mw_fault_set(fault, "weight %s: %s is %s, and the model needs %s", wanted->name,
                        stored->name, mw_safetensor_text(stored, found),
                        mw_safetensor_text(&other, needed));
}

/* Lists the tensors that the files have of a weight, of which a later one may have what an earlier
 * one has too. Returns -1 after a fault. */
static int find_tensors(const MwWeightFiles *files, MwArena *arena, const Wanted *wanted,
                        MwMappedTensor **tensors, MwFault *fault)
{
    if (files->map)
        return mw_weight_map_tensors(files->map, arena, wanted->name, &files->shapes, files->store,
                                     tensors, fault);
    const int stored = mw_store_find(files->store, wanted->name);
    MwMappedTensor same = {.name = wanted->name,
                           .rank = wanted->whole->rank,
                           .view = mw_stored_view_same(stored, mw_tensor_elements(wanted->whole))};
    memcpy(same.dim, wanted->whole->dim, sizeof same.dim);
    *tensors = mw_arena_dup(arena, &same, sizeof same);
    return stored >= 0;
}

bool mw_weight_files_find(const MwWeightFiles *files, MwArena *arena, const char *name,
                          const MwTensor *whole, MwStoredViews *views, MwFault *fault)
{
    const Wanted wanted = {name, whole};
    MwMappedTensor *tensors;
    const int found = find_tensors(files, arena, &wanted, &tensors, fault);
    int64_t elements = 0;
    *views = (MwStoredViews){0};
    if (found < 0)
        return false;
    views->at = MW_NEW(arena, MwStoredView, found);
    for (int i = 0; i < found; i++) {
        const MwStoredView *view = &tensors[i].view;
        const MwSafetensor *stored = mw_store_tensor(files->store, view->stored, fault);
        bool is_new = true;
        for (int k = 0; k < views->count; k++)
            is_new &= !same_range(view, &views->at[k]);
        if (!stored || !check_shape(&tensors[i], stored, &wanted, fault))
            return false;
        if (!is_new)
            continue;
        views->at[views->count++] = *view;
        elements += mw_stored_view_elements(view);
    }
    return views->count == 0 || elements == mw_tensor_elements(whole) ||
           mw_fault_set(fault, "weight %s: the files have a part of it alone", name);
}
