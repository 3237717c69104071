/* SPDX-License-Identifier: MIT */
#include "runtime/weights/initial.h"

#include "runtime/weights/load.h"
#include "runtime/weights/names.h"

struct MwInitialWeights {
    const MwInitialOptions options;
    MwNamedWeights needed;
    MwWeightFiles files;
};

static const MwTensor *shape_of(const void *context, const char *name)
{
    const MwInitialWeights *initial = context;
    const MwNamedWeight *weight = mw_named_weights_find(&initial->needed, name);
    return weight ? &weight->weight->global : NULL;
}

MwInitialWeights *mw_initial_weights_open(MwArena *arena, const MwPlan *plan,
                                          const MwInitialOptions *options, MwFault *fault)
{
    const MwInitialWeights start = {.options = *options, .needed = mw_named_weights(arena, plan)};
    MwInitialWeights *initial = mw_arena_dup(arena, &start, sizeof start);
    const MwWeightShapes shapes = {shape_of, initial};
    if (mw_weight_files_open(&initial->files, arena, &options->files, shapes, fault))
        return initial;
    mw_weight_files_close(&initial->files);
    return NULL;
}

void mw_initial_weights_close(MwInitialWeights **initial)
{
    if (*initial)
        mw_weight_files_close(&(*initial)->files);
    *initial = NULL;
}

/* ---- Checking ---- */

/* Notes which tensors are used by nothing. `used` is by their index. */
static void note_unused(const MwInitialWeights *initial, MwArena *arena, const bool *used,
                        FILE *notes)
{
    MwSomeNames unused = {.text = {.arena = arena}};
    for (int i = 0; i < mw_store_count(initial->files.store); i++) {
        const char *name = mw_store_name(initial->files.store, i);
        const bool is_state = mw_named_weights_owner(&initial->needed, name) && !initial->files.map;
        if (!used[i] && !is_state &&
            !(initial->files.map && mw_weight_map_skips(initial->files.map, name)))
            mw_some_names_add(&unused, name);
    }
    if (unused.count)
        fprintf(notes, "meshwright: the model does not take %s of the files of weights\n",
                mw_some_names_text(&unused));
}

bool mw_initial_weights_check(MwInitialWeights *initial, FILE *notes, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    bool *used = MW_NEW(arena, bool, mw_store_count(initial->files.store)), good = true;
    MwSomeNames missing = {.text = {.arena = arena}};
    for (int i = 0; good && i < initial->needed.count; i++) {
        const MwNamedWeight *weight = &initial->needed.at[i];
        MwStoredViews views;
        if (mw_named_weights_is_optimizers(&initial->needed, weight->weight))
            continue;
        good = mw_weight_files_find(&initial->files, arena, weight->name, &weight->weight->global,
                                    &views, fault);
        for (int k = 0; good && k < views.count; k++)
            used[views.at[k].stored] = true;
        if (good && views.count == 0)
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
    MwStoredViews views;
    const bool good = mw_weight_files_find(&initial->files, arena, mw_plan_stored_name(weight),
                                           &weight->global, &views, fault) &&
                      (views.count == 0 || mw_weight_load(run, weight, initial->files.store,
                                                          views.at, views.count, fault));
    mw_arena_free(&arena);
    return good;
}

bool mw_initial_weights_load(MwInitialWeights *initial, const MwCheckpointRun *run, MwFault *fault)
{
    const MwPlanMesh *mesh = mw_executor_mesh(run->executor);
    for (int w = 0; w < mesh->weight_count; w++) {
        const MwPlanWeight *weight = &mesh->weights[w];
        const bool is_set =
            weight->is_copy ||
            (!weight->reset_each_step && !mw_named_weights_is_optimizers(&initial->needed, weight));
        if (is_set && !load_weight(initial, run, weight, fault))
            return false;
    }
    return true;
}
