/* SPDX-License-Identifier: MIT */
#include "runtime/weights/layout.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* There are no more writers than files of this size: fewer files are easier to handle, and smaller
 * ones are no quicker to write. Chosen, not measured. */
enum { LEAST_FILE_BYTES = 1 << 20 };

static const char *const kind_names[MW_SAVED_COUNT] = {
    [MW_SAVED_MODEL] = "model", [MW_SAVED_OPTIMIZER] = "optimizer"};

const char *mw_saved_file_name(MwArena *arena, const MwSaveLayout *layout, MwSavedKind kind,
                               int file)
{
    if (layout->files[kind] == 1)
        return mw_arena_printf(arena, "%s.safetensors", kind_names[kind]);
    return mw_arena_printf(arena, "%s-%05d-of-%05d.safetensors", kind_names[kind], file + 1,
                           layout->files[kind]);
}

const char *mw_saved_index_name(MwArena *arena, MwSavedKind kind)
{
    return mw_arena_printf(arena, "%s.safetensors.index.json", kind_names[kind]);
}

/* ---- Which there are ---- */

/* A weight of one of the meshes. */
typedef struct {
    const char *name;
    const MwPlanMesh *mesh;
    const MwPlanWeight *weight;
    int order; /* in the plan */
} Found;

typedef MW_VEC(Found) Founds;

static int compare_names(const void *a, const void *b)
{
    const Found *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : x->order - y->order;
}

/* The weights that are saved, each once, from the first mesh that has it, sorted by name. */
static Founds find_weights(MwArena *arena, const MwPlan *plan)
{
    Founds all = {0};
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        for (int w = 0; w < mesh->weight_count; w++)
            if (!mesh->weights[w].reset_each_step)
                mw_vec_push(arena, &all,
                            ((Found){mesh->weights[w].name, mesh, &mesh->weights[w], all.count}));
    }
    int kept = 0;
    if (all.count)
        qsort(all.at, (size_t)all.count, sizeof *all.at, compare_names);
    for (int i = 0; i < all.count; i++)
        if (kept == 0 || strcmp(all.at[kept - 1].name, all.at[i].name) != 0)
            all.at[kept++] = all.at[i];
    all.count = kept;
    return all;
}

static int compare_name(const void *name, const void *found)
{
    return strcmp(name, ((const Found *)found)->name);
}

static MwSavedKind kind_of(MwArena *arena, const Founds *all, const Found *found)
{
    const char *dot = strrchr(found->name, '.');
    if (!found->weight->is_state || !dot)
        return MW_SAVED_MODEL;
    const char *owner = mw_arena_strndup(arena, found->name, (size_t)(dot - found->name));
    const Found *weight =
        bsearch(owner, all->at, (size_t)all->count, sizeof *all->at, compare_name);
    return weight && !weight->weight->is_state ? MW_SAVED_OPTIMIZER : MW_SAVED_MODEL;
}

/* ---- Who writes them ---- */

/* The ranks that write, spread evenly over all: writer k is rank k * ranks / count. */
typedef struct {
    int ranks, count;
    int64_t *bytes; /* [count] */
} Writers;

static int rank_of(const Writers *writers, int writer)
{
    return (int)((int64_t)writer * writers->ranks / writers->count);
}

/* The writer with the fewest bytes among those of the mesh; of all, where the mesh has none. */
static int choose_writer(const Writers *writers, const MwPlanMesh *mesh)
{
    const int end = mesh->first_rank + mw_mesh_devices(&mesh->shape);
    int best = -1, best_of_all = 0;
    for (int i = 0; i < writers->count; i++) {
        const int rank = rank_of(writers, i);
        const bool is_of_mesh = rank >= mesh->first_rank && rank < end;
        if (is_of_mesh && (best < 0 || writers->bytes[i] < writers->bytes[best]))
            best = i;
        if (writers->bytes[i] < writers->bytes[best_of_all])
            best_of_all = i;
    }
    return best >= 0 ? best : best_of_all;
}

static int64_t total_bytes(const MwSaveLayout *layout)
{
    int64_t bytes = 0;
    for (int i = 0; i < layout->weight_count; i++)
        bytes += mw_tensor_bytes(&layout->weights[i].weight->global);
    return bytes;
}

static void place_weights(MwArena *arena, MwSaveLayout *layout, int ranks)
{
    const int64_t files = mw_max(total_bytes(layout) / LEAST_FILE_BYTES, 1);
    Writers writers = {.ranks = ranks, .count = (int)mw_min(files, (int64_t)ranks)};
    writers.bytes = MW_NEW(arena, int64_t, writers.count);
    for (int i = 0; i < layout->weight_count; i++) {
        MwSavedWeight *saved = &layout->weights[i];
        const int64_t bytes = mw_tensor_bytes(&saved->weight->global);
        const int writer = choose_writer(&writers, saved->mesh);
        saved->rank = rank_of(&writers, writer);
        writers.bytes[writer] += bytes;
        saved->offset = layout->bytes[saved->kind][saved->rank];
        layout->bytes[saved->kind][saved->rank] += bytes;
    }
}

MwSaveLayout mw_save_layout(MwArena *arena, const MwPlan *plan)
{
    const Founds all = find_weights(arena, plan);
    MwSaveLayout layout = {.weights = MW_NEW(arena, MwSavedWeight, all.count),
                           .weight_count = all.count};
    for (int i = 0; i < all.count; i++)
        layout.weights[i] = (MwSavedWeight){all.at[i].mesh, all.at[i].weight,
                                            kind_of(arena, &all, &all.at[i]), 0, 0};
    for (int kind = 0; kind < MW_SAVED_COUNT; kind++) {
        layout.bytes[kind] = MW_NEW(arena, int64_t, plan->rank_count);
        layout.file[kind] = MW_NEW(arena, int, plan->rank_count);
    }
    place_weights(arena, &layout, plan->rank_count);
    for (int kind = 0; kind < MW_SAVED_COUNT; kind++)
        for (int r = 0; r < plan->rank_count; r++)
            layout.file[kind][r] = layout.bytes[kind][r] ? layout.files[kind]++ : -1;
    return layout;
}
