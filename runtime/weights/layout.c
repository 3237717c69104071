/* SPDX-License-Identifier: MIT */
#include "runtime/weights/layout.h"

#include "runtime/weights/names.h"

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
    const MwNamedWeights all = mw_named_weights(arena, plan);
    MwSaveLayout layout = {.weights = MW_NEW(arena, MwSavedWeight, all.count),
                           .weight_count = all.count};
    for (int i = 0; i < all.count; i++) {
        const MwNamedWeight *named = &all.at[i];
        const bool is_optimizers = mw_named_weights_is_optimizers(&all, named->weight);
        layout.weights[i] =
            (MwSavedWeight){.mesh = named->mesh,
                            .weight = named->weight,
                            .kind = is_optimizers ? MW_SAVED_OPTIMIZER : MW_SAVED_MODEL};
    }
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
