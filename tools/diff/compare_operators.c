/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/diff/differences.h"
#include "tools/inspect/totals.h"

/* ---- Operators ---- */

typedef MW_VEC(const MwPlanOperator *) Operators;

static Operators operators_of(MwArena *arena, const MwPlan *plan)
{
    Operators found = {0};
    for (int m = 0; m < plan->mesh_count; m++)
        for (int i = 0; i < plan->meshes[m].operator_count; i++)
            mw_vec_push(arena, &found, &plan->meshes[m].operators[i]);
    return found;
}

static MwDiffKey *operator_keys(MwArena *arena, const Operators *operators)
{
    MwDiffKey *keys = MW_NEW(arena, MwDiffKey, operators->count);
    for (int i = 0; i < operators->count; i++)
        keys[i] = (MwDiffKey){operators->at[i]->name, operators->at[i]->phase};
    return keys;
}

static const char *operands_text(MwArena *arena, const MwPlanOperator *op)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "");
    for (int i = 0; i < op->operand_count; i++)
        mw_text_printf(&text, "%s%s", i ? " " : "",
                       mw_spec_string(arena, op->operands[i].spec, op->operands[i].rank));
    return text.at;
}

static const char *collectives_text(MwArena *arena, const MwPlanOperator *op)
{
    return op->collective_count ? mw_inspect_collectives(arena, op, ", ") : "none";
}

static void diff_operator(MwDifferences *to, const MwPlanOperator *a, const MwPlanOperator *b)
{
    MwArena *arena = to->arena;
    to->name = a->name;
    mw_diff_text(to, "op", a->op, b->op);
    mw_diff_text(to, "type", mw_type_name(a->type), mw_type_name(b->type));
    mw_diff_text(to, "spec", mw_spec_string(arena, a->spec, a->rank),
                 mw_spec_string(arena, b->spec, b->rank));
    mw_diff_text(to, "operands", operands_text(arena, a), operands_text(arena, b));
    mw_diff_text(to, "collectives", collectives_text(arena, a), collectives_text(arena, b));
    mw_diff_text(to, "pinned", a->pinned ? "yes" : "no", b->pinned ? "yes" : "no");
}

void mw_diff_operators(MwDifferences *to, const MwPlan *a, const MwPlan *b)
{
    MwArena *arena = to->arena;
    const Operators ours = operators_of(arena, a), theirs = operators_of(arena, b);
    const MwDiffKey *a_keys = operator_keys(arena, &ours), *b_keys = operator_keys(arena, &theirs);
    const int *match = mw_diff_match(arena, a_keys, ours.count, b_keys, theirs.count);
    bool *is_matched = MW_NEW(arena, bool, theirs.count);
    for (int i = 0; i < ours.count; i++) {
        if (match[i] >= 0) {
            is_matched[match[i]] = true;
            diff_operator(to, ours.at[i], theirs.at[match[i]]);
            continue;
        }
        to->name = ours.at[i]->name;
        mw_diff_text(to, "operator", ours.at[i]->op, NULL);
    }
    for (int i = 0; i < theirs.count; i++) {
        to->name = theirs.at[i]->name;
        if (!is_matched[i])
            mw_diff_text(to, "operator", NULL, theirs.at[i]->op);
    }
}

/* ---- Weights ---- */

/* A weight of a model, with the mesh that holds it. */
typedef struct {
    const MwPlanMesh *mesh;
    const MwPlanWeight *weight;
} Weight;

typedef MW_VEC(Weight) Weights;

static Weights weights_of(MwArena *arena, const MwPlan *plan)
{
    Weights found = {0};
    for (int m = 0; m < plan->mesh_count; m++)
        for (int i = 0; i < plan->meshes[m].weight_count; i++)
            if (!plan->meshes[m].weights[i].is_state)
                mw_vec_push(arena, &found,
                            ((Weight){&plan->meshes[m], &plan->meshes[m].weights[i]}));
    return found;
}

static MwDiffKey *weight_keys(MwArena *arena, const Weights *weights)
{
    MwDiffKey *keys = MW_NEW(arena, MwDiffKey, weights->count);
    for (int i = 0; i < weights->count; i++)
        keys[i] = (MwDiffKey){weights->at[i].weight->name, ""};
    return keys;
}

static const char *state_text(MwArena *arena, const Weight *at)
{
    const MwPlanWeight *state = mw_inspect_state_of(at->mesh, at->weight);
    return state ? mw_spec_string(arena, state->spec, state->global.rank) : "none";
}

static void diff_weight(MwDifferences *to, const Weight *a, const Weight *b)
{
    MwArena *arena = to->arena;
    to->name = a->weight->name;
    mw_diff_text(to, "tensor", mw_tensor_string(arena, &a->weight->global),
                 mw_tensor_string(arena, &b->weight->global));
    mw_diff_text(to, "padded to", mw_tensor_string(arena, mw_plan_held(a->weight)),
                 mw_tensor_string(arena, mw_plan_held(b->weight)));
    mw_diff_text(to, "spec", mw_spec_string(arena, a->weight->spec, a->weight->global.rank),
                 mw_spec_string(arena, b->weight->spec, b->weight->global.rank));
    mw_diff_text(to, "state", state_text(arena, a), state_text(arena, b));
    mw_diff_bytes(to, "per device", a->mesh->buffers[a->weight->buffer].bytes,
                  b->mesh->buffers[b->weight->buffer].bytes);
}

void mw_diff_weights(MwDifferences *to, const MwPlan *a, const MwPlan *b)
{
    MwArena *arena = to->arena;
    const Weights ours = weights_of(arena, a), theirs = weights_of(arena, b);
    const int *match = mw_diff_match(arena, weight_keys(arena, &ours), ours.count,
                                     weight_keys(arena, &theirs), theirs.count);
    bool *is_matched = MW_NEW(arena, bool, theirs.count);
    for (int i = 0; i < ours.count; i++) {
        to->name = ours.at[i].weight->name;
        if (match[i] >= 0) {
            is_matched[match[i]] = true;
            diff_weight(to, &ours.at[i], &theirs.at[match[i]]);
            continue;
        }
        mw_diff_text(to, "tensor", mw_tensor_string(arena, &ours.at[i].weight->global), NULL);
    }
    for (int i = 0; i < theirs.count; i++) {
        to->name = theirs.at[i].weight->name;
        if (!is_matched[i])
            mw_diff_text(to, "tensor", NULL, mw_tensor_string(arena, &theirs.at[i].weight->global));
    }
}

/* ---- Communication ---- */

/* Sums over all meshes for one kind of collective on one axis of theirs; per device and step. */
typedef struct {
    int64_t count, bytes;
    double time_s;
} Sum;

static Sum sum_collectives(const MwPlan *plan, MwCollective kind, int axis)
{
    Sum sum = {0};
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwInspectSum own = mw_inspect_sum_collectives(&plan->meshes[m], kind, axis);
        sum.count += own.count;
        sum.bytes += own.bytes;
        sum.time_s += own.time_s;
    }
    return sum;
}

static void diff_sums(MwDifferences *to, const Sum *a, const Sum *b)
{
    mw_diff_count(to, "count", a->count, b->count);
    mw_diff_bytes(to, "bytes", a->bytes, b->bytes);
    mw_diff_seconds(to, "time", a->time_s, b->time_s);
}

/* The transfers of a plan, each time that they cross. */
static Sum sum_transfers(const MwPlan *plan)
{
    Sum sum = {.count = plan->transfer_count};
    for (int i = 0; i < plan->transfer_count; i++) {
        sum.bytes += mw_tensor_bytes(&plan->transfers[i].tensor);
        sum.time_s += plan->transfers[i].time_s;
    }
    return sum;
}

void mw_diff_communication(MwDifferences *to, const MwPlan *a, const MwPlan *b)
{
    for (int kind = 0; kind < MW_COLLECTIVE_COUNT; kind++) {
        for (int axis = 0; axis < MW_MAX_AXES; axis++) {
            const Sum ours = sum_collectives(a, (MwCollective)kind, axis);
            const Sum theirs = sum_collectives(b, (MwCollective)kind, axis);
            to->name =
                mw_arena_printf(to->arena, "%s/%d", mw_collective_name((MwCollective)kind), axis);
            diff_sums(to, &ours, &theirs);
        }
    }
    const Sum ours = sum_transfers(a), theirs = sum_transfers(b);
    to->name = "transfers";
    diff_sums(to, &ours, &theirs);
}
