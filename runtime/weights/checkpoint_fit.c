/* SPDX-License-Identifier: MIT */
/* Compares the tensors of a checkpoint with the plan's weights and states. This is done before the
 * run allocates anything. */
#include "runtime/weights/checkpoint_fit.h"

#include "base/text.h"
#include "base/vec.h"
#include "runtime/weights/store.h"

#include <stdlib.h>
#include <string.h>

typedef MW_VEC(const MwPlanWeight *) Weights;

typedef struct {
    MwArena *arena;
    const MwCheckpoint *checkpoint;
    const MwPlan *plan;
    Weights needed; /* of the plan; sorted by name, without duplicates */
    MwStore *held;
} Fit;

static int compare_weights(const void *a, const void *b)
{
    return strcmp((*(const MwPlanWeight *const *)a)->name, (*(const MwPlanWeight *const *)b)->name);
}

static void list_needed(Fit *fit)
{
    Weights *needed = &fit->needed;
    int kept = 0;
    for (int m = 0; m < fit->plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &fit->plan->meshes[m];
        for (int w = 0; w < mesh->weight_count; w++)
            if (!mesh->weights[w].reset_each_step)
                mw_vec_push(fit->arena, needed, &mesh->weights[w]);
    }
    if (needed->count)
        qsort(needed->at, (size_t)needed->count, sizeof *needed->at, compare_weights);
    for (int i = 0; i < needed->count; i++)
        if (kept == 0 || compare_weights(&needed->at[kept - 1], &needed->at[i]) != 0)
            needed->at[kept++] = needed->at[i];
    needed->count = kept;
}

static const MwPlanWeight *find_needed(const Fit *fit, const char *name)
{
    const MwPlanWeight wanted = {.name = name}, *key = &wanted;
    const MwPlanWeight *const *found =
        fit->needed.count ? bsearch(&key, fit->needed.at, (size_t)fit->needed.count,
                                    sizeof *fit->needed.at, compare_weights)
                          : NULL;
    return found ? *found : NULL;
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
    return mw_plan_loss_count(fit->plan) == 0 && dot &&
           find_needed(fit, mw_arena_strndup(fit->arena, name, (size_t)(dot - name)));
}

static bool same_names(const Fit *fit, MwFault *fault)
{
    Some lacking = {.text = {.arena = fit->arena}}, extra = lacking;
    for (int i = 0; i < fit->needed.count; i++)
        if (mw_store_find(fit->held, fit->needed.at[i]->name) < 0)
            add_some(&lacking, fit->needed.at[i]->name);
    for (int i = 0; i < mw_store_count(fit->held); i++) {
        const char *name = mw_store_name(fit->held, i);
        if (!find_needed(fit, name) && !is_idle_state(fit, name))
            add_some(&extra, name);
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

static bool same_shapes(const Fit *fit, MwFault *fault)
{
    Some other = {.text = {.arena = fit->arena}};
    for (int i = 0; i < fit->needed.count; i++) {
        const MwPlanWeight *weight = fit->needed.at[i];
        char found[MW_SAFETENSOR_TEXT_BYTES], needed[MW_TENSOR_TEXT_BYTES];
        const MwSafetensor *tensor =
            mw_store_tensor(fit->held, mw_store_find(fit->held, weight->name), fault);
        if (!tensor)
            return false;
        if (!mw_safetensor_holds(tensor, &weight->global))
            add_some(&other, mw_arena_printf(fit->arena, "%s is %s (the plan needs %s)",
                                             weight->name, mw_safetensor_text(tensor, found),
                                             mw_tensor_text(&weight->global, needed)));
    }
    return other.count == 0 || refuse(fit, some_text(&other), fault);
}

bool mw_checkpoint_fits(const MwCheckpoint *checkpoint, const MwPlan *plan, MwFault *fault)
{
    Fit fit = {.arena = mw_arena_new(), .checkpoint = checkpoint, .plan = plan};
    fit.held = mw_store_new(fit.arena);
    list_needed(&fit);
    const bool good = mw_store_add_checkpoint(fit.held, checkpoint, fault) &&
                      same_names(&fit, fault) && same_shapes(&fit, fault);
    mw_store_close(&fit.held);
    mw_arena_free(&fit.arena);
    return good;
}
