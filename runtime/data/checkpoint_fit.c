/* SPDX-License-Identifier: MIT */
/* Compares the manifest of a checkpoint and the headers of its files with the plan's weights and
 * states. This is done before the run allocates anything. */
#include "runtime/data/checkpoint_fit.h"

#include "base/text.h"
#include "base/vec.h"
#include "runtime/data/feed_file.h"
#include "runtime/data/npy.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;           /* name of its file, without the extension */
    const MwPlanWeight *weight; /* NULL: an entry of the manifest */
} Tensor;

typedef MW_VEC(Tensor) Tensors;

typedef struct {
    MwArena *arena;
    const MwCheckpoint *checkpoint;
    const MwPlan *plan;
    Tensors needed,
        held; /* of the plan, and of the checkpoint; sorted by name, without duplicates */
} Fit;

static const char extension[] = ".npy";

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const Tensor *)a)->name, ((const Tensor *)b)->name);
}

static void sort_once(Tensors *tensors)
{
    int kept = 0;
    if (tensors->count)
        qsort(tensors->at, (size_t)tensors->count, sizeof *tensors->at, compare_names);
    for (int i = 0; i < tensors->count; i++)
        if (kept == 0 || compare_names(&tensors->at[kept - 1], &tensors->at[i]) != 0)
            tensors->at[kept++] = tensors->at[i];
    tensors->count = kept;
}

/* Adds the tensor whose file name is the first `length` characters of `file`. */
static void add_tensor(Fit *fit, Tensors *tensors, const char *file, size_t length,
                       const MwPlanWeight *weight)
{
    const char *name = mw_arena_strndup(fit->arena, file, length - strlen(extension));
    mw_vec_push(fit->arena, tensors, ((Tensor){name, weight}));
}

static void list_needed(Fit *fit)
{
    char file[MW_CHECKPOINT_FILE_BYTES];
    for (int m = 0; m < fit->plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &fit->plan->meshes[m];
        for (int w = 0; w < mesh->weight_count; w++) {
            const MwPlanWeight *weight = &mesh->weights[w];
            if (weight->reset_each_step)
                continue;
            mw_checkpoint_file_name(weight->name, file);
            add_tensor(fit, &fit->needed, file, strlen(file), weight);
        }
    }
    sort_once(&fit->needed);
}

static void list_held(Fit *fit, const char *manifest)
{
    static const char begin[] = "\nfile ";
    for (const char *line = strstr(manifest, begin); line; line = strstr(line + 1, begin)) {
        const char *hash = line + strlen(begin), *name = hash + strcspn(hash, " \n") + 1;
        size_t length = strcspn(name, "\n");
        if (name[-1] == ' ' && length > strlen(extension))
            add_tensor(fit, &fit->held, name, length, NULL);
    }
    sort_once(&fit->held);
}

/* ---- What differs ---- */

/* The first few of several names, and their number. */
typedef struct {
    MwText text;
    int count;
} Some;

enum { SHOWN = 3 }; /* names that a message shows */

static void add_some(Some *some, const char *what)
{
    if (some->count < SHOWN)
        mw_text_printf(&some->text, "%s%s", some->count ? ", " : "", what);
    some->count++;
}

static const char *some_text(Some *some)
{
    if (some->count > SHOWN)
        mw_text_printf(&some->text, " and %d more", some->count - SHOWN);
    return some->text.at;
}

static bool refuse(const Fit *fit, const char *why, MwFault *fault)
{
    return mw_fault_set(fault, "%s, of model %s, does not fit this plan of model %s: %s",
                        fit->checkpoint->folder, fit->checkpoint->model, fit->plan->model, why);
}

/* True for the name "w.m" if the plan has weight w and does not train: a state that it does not
 * use. */
static bool is_idle_state(const Fit *fit, const char *name)
{
    const char *dot = strrchr(name, '.');
    if (mw_plan_loss_count(fit->plan) > 0 || !dot || fit->needed.count == 0)
        return false;
    const Tensor owner = {mw_arena_strndup(fit->arena, name, (size_t)(dot - name)), NULL};
    return bsearch(&owner, fit->needed.at, (size_t)fit->needed.count, sizeof owner,
                   compare_names) != NULL;
}

static bool same_names(const Fit *fit, MwFault *fault)
{
    Some lacking = {.text = {.arena = fit->arena}}, extra = lacking;
    for (int i = 0, k = 0; i < fit->needed.count || k < fit->held.count;) {
        const Tensor *needed = i < fit->needed.count ? &fit->needed.at[i] : NULL;
        const Tensor *held = k < fit->held.count ? &fit->held.at[k] : NULL;
        int order = !needed ? 1 : !held ? -1 : compare_names(needed, held);
        if (order < 0)
            add_some(&lacking, needed->weight->name);
        if (order > 0 && !is_idle_state(fit, held->name))
            add_some(&extra, held->name);
        i += order <= 0;
        k += order >= 0;
    }
    if (!lacking.count && !extra.count)
        return true;
    MwText why = {.arena = fit->arena};
    if (lacking.count)
        mw_text_printf(&why, "it has no %s", some_text(&lacking));
    if (extra.count)
        mw_text_printf(&why, "%sthe plan has no %s", lacking.count ? "; " : "", some_text(&extra));
    return refuse(fit, why.at, fault);
}

static bool read_header(const Fit *fit, const Tensor *tensor, MwNpy *npy, MwFault *fault)
{
    char begin[MW_NPY_MOST_HEADER_BYTES] = "";
    MwFeedFile file;
    const char *path =
        mw_arena_printf(fit->arena, "%s/%s%s", fit->checkpoint->folder, tensor->name, extension);
    if (!mw_feed_file_open(&file, path, fault))
        return false;
    bool good = mw_feed_file_read(&file, 0, mw_min(file.bytes, sizeof begin), begin, fault) &&
                (mw_npy_read(begin, file.bytes, npy, fault) || mw_fault_prefix(fault, "%s", path));
    mw_feed_file_close(&file);
    return good;
}

static bool same_shapes(const Fit *fit, MwFault *fault)
{
    Some other = {.text = {.arena = fit->arena}};
    for (int i = 0; i < fit->needed.count; i++) {
        const Tensor *tensor = &fit->needed.at[i];
        char found[MW_NPY_TEXT_BYTES], needed[MW_TENSOR_TEXT_BYTES];
        MwNpy npy;
        if (!read_header(fit, tensor, &npy, fault))
            return false;
        if (!mw_npy_holds(&npy, &tensor->weight->global))
            add_some(&other, mw_arena_printf(fit->arena, "%s is %s (the plan needs %s)",
                                             tensor->weight->name, mw_npy_text(&npy, found),
                                             mw_tensor_text(&tensor->weight->global, needed)));
    }
    return other.count == 0 || refuse(fit, some_text(&other), fault);
}

bool mw_checkpoint_fits(const MwCheckpoint *checkpoint, const MwPlan *plan, MwFault *fault)
{
    Fit fit = {.arena = mw_arena_new(), .checkpoint = checkpoint, .plan = plan};
    MwCheckpoint again = *checkpoint;
    const char *manifest = mw_checkpoint_manifest(fit.arena, &again, fault);
    bool good = manifest != NULL;
    if (good) {
        list_needed(&fit);
        list_held(&fit, manifest);
        good = same_names(&fit, fault) && same_shapes(&fit, fault);
    }
    mw_arena_free(&fit.arena);
    return good;
}
