/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/explain/candidates.h"

#include "tools/inspect/totals.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most plans that are made. A matrix on two axes has 9 shardings, a tensor of four dimensions
 * on three axes 125. */
enum { MOST_CANDIDATES = 32 };

/* ---- Operators ---- */

static bool matches(const MwPlanOperator *op, const char *glob)
{
    return fnmatch(glob, op->name, 0) == 0;
}

static bool find_operator(const MwPlan *plan, const char *glob, MwExplainCandidates *candidates)
{
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        for (int i = 0; i < mesh->operator_count; i++) {
            if (!matches(&mesh->operators[i], glob))
                continue;
            if (!candidates->op)
                *candidates = (MwExplainCandidates){.op = &mesh->operators[i], .mesh = mesh};
            candidates->matching += candidates->mesh == mesh;
        }
        if (candidates->op)
            return true;
    }
    return false;
}

static void measure(const MwPlan *plan, const char *glob, MwExplainCandidate *candidate)
{
    candidate->step_s = plan->step_s;
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        candidate->compute_s += mesh->costs.compute_s;
        candidate->communication_s += mesh->costs.communication_s;
        for (int i = 0; i < mesh->operator_count; i++) {
            const MwPlanOperator *op = &mesh->operators[i];
            if (!matches(op, glob))
                continue;
            candidate->own_compute_s += op->compute_s;
            candidate->own_communication_s += op->communication_s;
            candidate->bytes = mw_max(candidate->bytes, mesh->arena_bytes);
        }
    }
}

/* ---- Plans ---- */

MwCompileOptions mw_same_layout(const MwCompileOptions *options, const MwPlan *plan)
{
    MwCompileOptions same = *options;
    bool is_one_shape = true;
    same.stages = plan->mesh_count;
    same.micro_batches = plan->micro_batches;
    if (plan->mesh_count > 1) {
        same.chunks = mw_plan_chunks(plan);
        same.has_schedule = mw_pipeline_parse(plan->schedule, &same.schedule);
        if (same.chunks == 1)
            same.chunks = 0; /* the usual */
    }
    for (int m = 1; m < plan->mesh_count; m++)
        is_one_shape &= mw_mesh_equal(&plan->meshes[m].shape, &plan->meshes[0].shape);
    if (is_one_shape)
        same.mesh = plan->meshes[0].shape;
    return same;
}

/* Whether a pin, "w1=[R, S0]", is of the spec of `name` and of nothing else. */
static bool is_pin_of(const char *pin, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(pin, name, length) == 0 && strncmp(pin + length, "=[", 2) == 0;
}

static void try_spec(MwArena *arena, MwSession *session, const MwPlan *plan, const char *glob,
                     const MwPlanOperator *op, MwExplainCandidate *candidate)
{
    MwCompileOptions options = mw_same_layout(&session->options.compile, plan);
    const char **pins = MW_NEW(arena, const char *, options.pin_count + 1);
    char spec[MW_SPEC_TEXT_BYTES];
    MwDiags *diags = mw_diags_new(arena);
    int count = 0;
    for (int i = 0; i < options.pin_count; i++)
        if (!is_pin_of(options.pins[i], glob) && !is_pin_of(options.pins[i], op->name))
            pins[count++] = options.pins[i];
    pins[count++] =
        mw_arena_printf(arena, "%s=%s", glob, mw_spec_text(candidate->spec, op->rank, spec));
    options.pins = pins;
    options.pin_count = count;
    const MwPlan *other = mw_session_plan_with(session, &options, diags);
    if (other)
        measure(other, glob, candidate);
    else
        candidate->refused = mw_diags_first_error(diags);
}

/* ---- Specs ---- */

static MwTensor tensor_of(const MwExplainCandidates *candidates)
{
    /* Sizes do not matter: a spec that does not divide is refused when it is tried. */
    MwTensor tensor = {.type = candidates->op->type, .rank = candidates->op->rank};
    for (int d = 0; d < tensor.rank; d++)
        tensor.dim[d] = mw_mesh_devices(&candidates->mesh->shape);
    return tensor;
}

/* Spec `number` of those that give each axis of the mesh a dimension, or none. */
static MwSpec spec_of(const MwPlanMesh *mesh, int rank, int number)
{
    MwSpec spec = mw_spec_replicated();
    for (int axis = 0; axis < mesh->shape.axis_count; axis++, number /= rank + 1) {
        const int dim = number % (rank + 1) - 1;
        if (dim >= 0)
            spec = mw_spec_with_dim(spec, dim, mw_spec_dim(spec, dim) | (MwAxes)(1 << axis));
    }
    return spec;
}

static void list_specs(MwArena *arena, MwExplainCandidates *candidates)
{
    const int axes = candidates->mesh->shape.axis_count, rank = candidates->op->rank;
    const MwTensor tensor = tensor_of(candidates);
    int count = 1;
    for (int axis = 0; axis < axes; axis++)
        count *= rank + 1;
    for (int number = 0; number < count && candidates->list.count <= MOST_CANDIDATES; number++) {
        const MwSpec spec = spec_of(candidates->mesh, rank, number);
        if (!mw_spec_equal(spec, candidates->op->spec) &&
            mw_spec_is_valid(spec, &tensor, &candidates->mesh->shape))
            mw_vec_push(arena, &candidates->list, ((MwExplainCandidate){.spec = spec}));
    }
}

static int compare_candidates(const void *a, const void *b)
{
    const MwExplainCandidate *x = a, *y = b;
    if (x->is_chosen != y->is_chosen)
        return x->is_chosen ? -1 : 1;
    if (!x->refused != !y->refused)
        return x->refused ? 1 : -1;
    return (x->step_s > y->step_s) - (x->step_s < y->step_s);
}

/* Says on a terminal which candidate is tried. */
static void show_progress(const MwSession *session, int done, int count)
{
    mw_pass_progress_show(&session->options.pipeline.progress,
                          "planning with another sharding, %d of %d", done, count);
}

bool mw_explain_candidates(MwArena *arena, MwSession *session, const MwPlan *plan, const char *glob,
                           MwExplainCandidates *candidates, MwDiags *diags)
{
    *candidates = (MwExplainCandidates){0};
    if (!find_operator(plan, glob, candidates)) {
        mw_diag_error(diags, mw_span_none(),
                      "no value of the plan is named '%s'; `meshwright inspect` shows the names",
                      glob);
        return false;
    }
    MwExplainCandidate chosen = {.spec = candidates->op->spec, .is_chosen = true};
    measure(plan, glob, &chosen);
    mw_vec_push(arena, &candidates->list, chosen);
    list_specs(arena, candidates);
    for (int i = 1; i < candidates->list.count; i++) {
        show_progress(session, i, candidates->list.count - 1);
        try_spec(arena, session, plan, glob, candidates->op, &candidates->list.at[i]);
    }
    qsort(candidates->list.at, (size_t)candidates->list.count, sizeof *candidates->list.at,
          compare_candidates);
    return true;
}
