/* SPDX-License-Identifier: MIT */
/* Compares the tensors of a checkpoint with the plan's weights and states. This is done before the
 * run allocates anything. */
#include "runtime/weights/checkpoint_fit.h"

#include "runtime/weights/names.h"
#include "runtime/weights/store.h"

typedef struct {
    MwArena *arena;
    const MwCheckpoint *checkpoint;
    const MwPlan *plan;
    MwNamedWeights needed; /* of the plan */
    MwStore *held;
} Fit;

static bool refuse(const Fit *fit, const char *why, MwFault *fault)
{
    return mw_fault_set(fault, "%s, of model %s, does not fit this plan of model %s: %s",
                        fit->checkpoint->folder, fit->checkpoint->model, fit->plan->model, why);
}

/* True for the name "w.m" if the plan has weight w and does not train: a state that it does not
 * use. */
static bool is_idle_state(const Fit *fit, const char *name)
{
    return mw_plan_loss_count(fit->plan) == 0 && mw_named_weights_owner(&fit->needed, name);
}

static bool same_names(const Fit *fit, MwFault *fault)
{
    MwSomeNames lacking = {.text = {.arena = fit->arena}}, extra = lacking;
    for (int i = 0; i < fit->needed.count; i++)
        if (mw_store_find(fit->held, fit->needed.at[i].name) < 0)
            mw_some_names_add(&lacking, fit->needed.at[i].name);
    for (int i = 0; i < mw_store_count(fit->held); i++) {
        const char *name = mw_store_name(fit->held, i);
        if (!mw_named_weights_find(&fit->needed, name) && !is_idle_state(fit, name))
            mw_some_names_add(&extra, name);
    }
    if (!lacking.count && !extra.count)
        return true;
    MwText why = {.arena = fit->arena};
    if (lacking.count)
        mw_text_printf(&why, "it has no %s", mw_some_names_text(&lacking));
    if (extra.count)
        mw_text_printf(&why, "%sthe plan has no %s", lacking.count ? "; " : "",
                       mw_some_names_text(&extra));
    return refuse(fit, why.at, fault);
}

static bool same_shapes(const Fit *fit, MwFault *fault)
{
    MwSomeNames other = {.text = {.arena = fit->arena}};
    for (int i = 0; i < fit->needed.count; i++) {
        const MwPlanWeight *weight = fit->needed.at[i].weight;
        char found[MW_SAFETENSOR_TEXT_BYTES], needed[MW_TENSOR_TEXT_BYTES];
        const MwSafetensor *tensor =
            mw_store_tensor(fit->held, mw_store_find(fit->held, weight->name), fault);
        if (!tensor)
            return false;
        if (!mw_safetensor_holds(tensor, &weight->global))
            mw_some_names_add(&other,
                              mw_arena_printf(fit->arena, "%s is %s (the plan needs %s)",
                                              weight->name, mw_safetensor_text(tensor, found),
                                              mw_tensor_text(&weight->global, needed)));
    }
    return other.count == 0 || refuse(fit, mw_some_names_text(&other), fault);
}

bool mw_checkpoint_fits(const MwCheckpoint *checkpoint, const MwPlan *plan, MwFault *fault)
{
    Fit fit = {.arena = mw_arena_new(), .checkpoint = checkpoint, .plan = plan};
    fit.needed = mw_named_weights(fit.arena, plan);
    fit.held = mw_store_new(fit.arena);
    const bool good = mw_store_add_checkpoint(fit.held, checkpoint, fault) &&
                      same_names(&fit, fault) && same_shapes(&fit, fault);
    mw_store_close(&fit.held);
    mw_arena_free(&fit.arena);
    return good;
}
