/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/undivided.h"

#include "base/quantity.h"
#include "base/text.h"

enum { MOST_NAMED = 3 };

typedef struct {
    MwText named; /* the first of them, "b f32[7], c f32[5, 3]" */
    const char *first[MOST_NAMED];
    int count, devices; /* devices: of the mesh of the first */
} Undivided;

/* Whether every device has all of a tensor, of which the devices divide no dimension. */
static bool is_undivided(const MwTensor *held, MwSpec spec, int devices)
{
    for (int d = 0; d < held->rank; d++)
        if (held->dim[d] > 1 && mw_common_divisor(held->dim[d], devices) > 1)
            return false;
    return mw_tensor_elements(held) > 1 && mw_spec_axes(spec, held->rank) == 0;
}

static void add(Undivided *u, const char *name, const MwTensor *held, MwSpec spec, int devices)
{
    char type[MW_TENSOR_TEXT_BYTES];
    if (!is_undivided(held, spec, devices))
        return;
    if (u->count == 0)
        u->devices = devices;
    if (u->count < MOST_NAMED) {
        mw_text_printf(&u->named, "%s%s %s", u->count ? ", " : "", name,
                       mw_tensor_text(held, type));
        u->first[u->count] = name;
    }
    u->count++;
}

static void add_mesh(Undivided *u, const MwPlanMesh *mesh)
{
    const int devices = mw_mesh_devices(&mesh->shape);
    for (int i = 0; i < mesh->input_count; i++)
        if (mesh->inputs[i].whole) /* of the batch the pass stages warns */
            add(u, mesh->inputs[i].name, mw_plan_held(&mesh->inputs[i]), mesh->inputs[i].spec,
                devices);
    for (int i = 0; i < mesh->weight_count; i++)
        if (!mesh->weights[i].is_state)
            add(u, mesh->weights[i].name, mw_plan_held(&mesh->weights[i]), mesh->weights[i].spec,
                devices);
}

/* Says why a dimension of those that the warning names is not padded. */
static bool note_barriers(const MwCompilation *compilation, const Undivided *u, MwDiags *diags)
{
    bool any = false;
    for (int i = 0; i < compilation->barriers.count; i++) {
        const MwPadBarrier *barrier = &compilation->barriers.at[i];
        for (int k = 0; k < mw_min(u->count, MOST_NAMED); k++) {
            if (barrier->name != u->first[k])
                continue;
            if (barrier->op)
                mw_diag_note(diags, barrier->span, "%s needs all of dimension %d of %s as it is",
                             barrier->op, barrier->dim, barrier->name);
            else
                mw_diag_note(diags, mw_span_none(),
                             "too little of the work goes over dimension %d of %s to pad it",
                             barrier->dim, barrier->name);
            any = true;
        }
    }
    return any;
}

void mw_plan_warn_undivided(const MwCompilation *compilation, const MwPlan *plan,
                            double padded_step_s, MwDiags *diags)
{
    Undivided u = {.named = {.arena = compilation->arena}};
    for (int m = 0; m < plan->mesh_count; m++)
        if (mw_mesh_devices(&plan->meshes[m].shape) > 1)
            add_mesh(&u, &plan->meshes[m]);
    if (u.count == 0)
        return;
    mw_diag_warning(diags, mw_span_none(),
                    "%d devices divide no dimension of %s%s: each of them has all of %s", u.devices,
                    u.named.at,
                    u.count > MOST_NAMED
                        ? mw_arena_printf(compilation->arena, " and %d more", u.count - MOST_NAMED)
                        : "",
                    u.count > 1 ? "these" : "it");
    if (note_barriers(compilation, &u, diags))
        return;
    if (padded_step_s > plan->step_s)
        mw_diag_note(diags, mw_span_none(),
                     "with padding a step would take %s instead of %s, by the cost model",
                     mw_seconds_text(compilation->arena, padded_step_s),
                     mw_seconds_text(compilation->arena, plan->step_s));
}
