/* SPDX-License-Identifier: MIT */
#include "runtime/weights/names.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* A weight of one of the meshes. */
typedef struct {
    MwNamedWeight named;
    int order; /* in the plan */
} Found;

static int compare_found(const void *a, const void *b)
{
    const Found *x = a, *y = b;
    const int order = strcmp(x->named.name, y->named.name);
    return order ? order : x->order - y->order;
}

MwNamedWeights mw_named_weights(MwArena *arena, const MwPlan *plan)
{
    MW_VEC(Found) all = {0};
    MwNamedWeights weights = {0};
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        for (int w = 0; w < mesh->weight_count; w++) {
            const MwPlanWeight *weight = &mesh->weights[w];
            if (!weight->reset_each_step && !weight->is_copy)
                mw_vec_push(arena, &all, ((Found){{weight->name, mesh, weight}, all.count}));
        }
    }
    weights.at = MW_NEW(arena, MwNamedWeight, all.count);
    if (all.count)
        qsort(all.at, (size_t)all.count, sizeof *all.at, compare_found);
    for (int i = 0; i < all.count; i++)
        if (i == 0 || strcmp(all.at[i - 1].named.name, all.at[i].named.name) != 0)
            weights.at[weights.count++] = all.at[i].named;
    return weights;
}

static int compare_name(const void *name, const void *weight)
{
    return strcmp(name, ((const MwNamedWeight *)weight)->name);
}

const MwNamedWeight *mw_named_weights_find(const MwNamedWeights *weights, const char *name)
{
    return weights->count ? bsearch(name, weights->at, (size_t)weights->count, sizeof *weights->at,
                                    compare_name)
                          : NULL;
}

const MwNamedWeight *mw_named_weights_owner(const MwNamedWeights *weights, const char *name)
{
    const char *dot = strrchr(name, '.');
    if (!dot)
        return NULL;
    char *owner = strndup(name, (size_t)(dot - name));
    const MwNamedWeight *weight = owner ? mw_named_weights_find(weights, owner) : NULL;
    free(owner);
    return weight;
}

bool mw_named_weights_is_optimizers(const MwNamedWeights *weights, const MwPlanWeight *weight)
{
    const MwNamedWeight *owner =
        weight->is_state ? mw_named_weights_owner(weights, weight->name) : NULL;
    return owner && !owner->weight->is_state;
}

/* ---- Names in messages ---- */

enum { SHOWN = 3 }; /* names that a message shows */

void mw_some_names_add(MwSomeNames *some, const char *name)
{
    if (some->count < SHOWN)
        mw_text_printf(&some->text, "%s%s", some->count ? ", " : "", name);
    some->count++;
}

const char *mw_some_names_text(MwSomeNames *some)
{
    if (some->count > SHOWN)
        mw_text_printf(&some->text, " and %d more", some->count - SHOWN);
    return some->text.at;
}
