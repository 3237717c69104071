/* SPDX-License-Identifier: MIT */
#include "runtime/weights/initial.h"

#include "runtime/weights/load.h"
#include "runtime/weights/names.h"
#include "runtime/weights/weight_map.h"

#include <string.h>

struct MwInitialWeights {
    const MwInitialOptions options;
    MwNamedWeights needed;
    MwStore *store;
    const MwWeightMap *map; /* NULL: names are those of the model */
};

MwInitialWeights *mw_initial_weights_open(MwArena *arena, const MwPlan *plan,
                                          const MwInitialOptions *options, MwFault *fault)
{
    const MwInitialWeights start = {
        .options = *options, .needed = mw_named_weights(arena, plan), .store = mw_store_new(arena)};
    MwInitialWeights *initial = mw_arena_dup(arena, &start, sizeof start);
    if (options->map && !(initial->map = mw_weight_map_open(arena, options->map, fault)))
        return NULL;
    for (int i = 0; i < options->path_count; i++)
        if (!mw_store_add(initial->store, options->paths[i], fault))
            return NULL;
    return initial;
}

void mw_initial_weights_close(MwInitialWeights **initial)
{
    if (*initial)
        mw_store_close(&(*initial)->store);
    *initial = NULL;
}

/* ---- Where a weight comes from ---- */

static const MwTensor *shape_of(const void *context, const char *name)
{
    const MwInitialWeights *initial = context;
    const MwNamedWeight *weight = mw_named_weights_find(&initial->needed, name);
    return weight ? &weight->weight->global : NULL;
}

static bool same_range(const MwStoredView *a, const MwStoredView *b)
{
    const size_t bytes = sizeof *a->begin * (size_t)a->axes;
    return a->axes == b->axes && memcmp(a->size, b->size, bytes) == 0 &&
           memcmp(a->begin, b->begin, bytes) == 0 && memcmp(a->end, b->end, bytes) == 0;
}

static bool check_shape(const MwMappedTensor *tensor, const MwSafetensor *stored,
                        const MwPlanWeight *weight, MwFault *fault)
{
    char found[MW_SAFETENSOR_TEXT_BYTES], needed[MW_SAFETENSOR_TEXT_BYTES];
    MwSafetensor wanted = {.type = stored->type, .rank = tensor->rank};
    memcpy(wanted.dim, tensor->dim, sizeof wanted.dim);
    if (!mw_file_type_fits(stored->type, weight->global.type))
        return mw_fault_set(fault, "weight %s: %s is %s, which does not become %s", weight->name,
                            stored->name, mw_safetensor_text(stored, found),
                            mw_type_name(weight->global.type));
    return (stored->rank == tensor->rank &&
            memcmp(stored->dim, tensor->dim, sizeof *stored->dim * (size_t)stored->rank) == 0) ||
           mw_fault_set(fault, "weight %s: %s is %s, and the model needs %s", weight->name,
                        stored->name, mw_safetensor_text(stored, found),
                        mw_safetensor_text(&wanted, needed));
}

/* The tensors that the files have of a weight, of which a later one may have what an earlier one
 * has too; -1 after a fault. */
static int find_tensors(const MwInitialWeights *initial, MwArena *arena, const MwPlanWeight *weight,
                        MwMappedTensor **tensors, MwFault *fault)
{
    const MwWeightShapes shapes = {shape_of, initial};
    if (initial->map)
        return mw_weight_map_tensors(initial->map, arena, weight->name, &shapes, initial->store,
                                     tensors, fault);
    const int stored = mw_store_find(initial->store, weight->name);
    MwMappedTensor same = {.name = weight->name,
                           .rank = weight->global.rank,
                           .view =
                               mw_stored_view_same(stored, mw_tensor_elements(&weight->global))};
    memcpy(same.dim, weight->global.dim, sizeof same.dim);
    *tensors = mw_arena_dup(arena, &same, sizeof same);
    return stored >= 0;
}

/* Sets `*views`, in `arena`, to what the weight is read from, and `*count` to 0 where the files
 * lack it. */
static bool find_views(const MwInitialWeights *initial, MwArena *arena, const MwPlanWeight *weight,
                       MwStoredView **views, int *count, MwFault *fault)
{
    MwMappedTensor *tensors;
    const int found = find_tensors(initial, arena, weight, &tensors, fault);
    int64_t elements = 0;
    *count = 0;
    if (found < 0)
        return false;
    *views = MW_NEW(arena, MwStoredView, found);
    for (int i = 0; i < found; i++) {
        const MwStoredView *view = &tensors[i].view;
        const MwSafetensor *stored = mw_store_tensor(initial->store, view->stored, fault);
        bool is_new = true;
        for (int k = 0; k < *count; k++)
            is_new &= !same_range(view, &(*views)[k]);
        if (!stored || !check_shape(&tensors[i], stored, weight, fault))
            return false;
        if (!is_new)
            continue;
        (*views)[(*count)++] = *view;
        elements += mw_stored_view_elements(view);
    }
    return *count == 0 || elements == mw_tensor_elements(&weight->global) ||
           mw_fault_set(fault, "weight %s: the files have a part of it alone", weight->name);
}

/* ---- Checking ---- */

/* Notes which tensors are used by nothing. `used` is by their index. */
static void note_unused(const MwInitialWeights *initial, MwArena *arena, const bool *used,
                        FILE *notes)
{
    MwSomeNames unused = {.text = {.arena = arena}};
    for (int i = 0; i < mw_store_count(initial->store); i++) {
        const char *name = mw_store_name(initial->store, i);
        const bool is_state = mw_named_weights_owner(&initial->needed, name) && !initial->map;
        if (!used[i] && !is_state && !(initial->map && mw_weight_map_skips(initial->map, name)))
            mw_some_names_add(&unused, name);
    }
    if (unused.count)
        fprintf(notes, "meshwright: the model does not take %s of the files of weights\n",
                mw_some_names_text(&unused));
}

bool mw_initial_weights_check(MwInitialWeights *initial, FILE *notes, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    bool *used = MW_NEW(arena, bool, mw_store_count(initial->store)), good = true;
    MwSomeNames missing = {.text = {.arena = arena}};
    for (int i = 0; good && i < initial->needed.count; i++) {
        const MwNamedWeight *weight = &initial->needed.at[i];
        MwStoredView *views;
        int count;
        if (mw_named_weights_is_optimizers(&initial->needed, weight->weight))
            continue;
        good = find_views(initial, arena, weight->weight, &views, &count, fault);
        for (int k = 0; good && k < count; k++)
            used[views[k].stored] = true;
        if (good && count == 0)
            mw_some_names_add(&missing, weight->name);
    }
    if (good && missing.count && !initial->options.may_miss)
        good = mw_fault_set(fault,
                            "the files of weights lack %s (--missing init has them begin as the "
                            "model says; --map gives other names)",
                            mw_some_names_text(&missing));
    else if (good && missing.count)
        fprintf(notes, "meshwright: not in the files of weights, and initialized: %s\n",
                mw_some_names_text(&missing));
    if (good)
        note_unused(initial, arena, used, notes);
    mw_arena_free(&arena);
    return good;
}

/* ---- Loading ---- */

static bool load_weight(MwInitialWeights *initial, const MwCheckpointRun *run,
                        const MwPlanWeight *weight, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    MwStoredView *views;
    int count;
    const bool good =
        find_views(initial, arena, weight, &views, &count, fault) &&
        (count == 0 || mw_weight_load(run, weight, initial->store, views, count, fault));
    mw_arena_free(&arena);
    return good;
}

bool mw_initial_weights_load(MwInitialWeights *initial, const MwCheckpointRun *run, MwFault *fault)
{
    const MwPlanMesh *mesh = mw_executor_mesh(run->executor);
    for (int w = 0; w < mesh->weight_count; w++) {
        const MwPlanWeight *weight = &mesh->weights[w];
        if (!weight->reset_each_step && !mw_named_weights_is_optimizers(&initial->needed, weight) &&
            !load_weight(initial, run, weight, fault))
            return false;
    }
    return true;
}
