/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building a graph: adding a node completes its attributes, infers its result types and names
 * its results. */
#include "ir/ir.h"

#include "base/hash.h"
#include "ir/shape/shape.h"

#include <stdlib.h>
#include <string.h>

MwGraph *mw_graph_new(MwArena *arena, MwInterner *interner, const char *name)
{
    MwGraph *graph = MW_NEW(arena, MwGraph, 1);
    graph->arena = arena;
    graph->interner = interner;
    graph->name = mw_intern(interner, name);
    graph->names = MW_NEW(arena, MwNameTable, 1);
    graph->origin = (MwOrigin){.scope = mw_intern(interner, ""), .repeat = -1};
    graph->loss_scale = mw_loss_scale_of(graph->precision);
    return graph;
}

MwGraph *mw_graph_new_like(MwArena *arena, const MwGraph *like)
{
    MwGraph *graph = mw_graph_new(arena, like->interner, like->name);
    for (int i = 0; i < like->repeats.count; i++)
        mw_vec_push(graph->arena, &graph->repeats, like->repeats.at[i]);
    for (int i = 0; i < like->trains.count; i++)
        mw_vec_push(graph->arena, &graph->trains, like->trains.at[i]);
    graph->precision = like->precision;
    graph->loss_scale = like->loss_scale;
    graph->fp8 = like->fp8;
    graph->roles = like->roles;
    return graph;
}

/* The defaults of torch.amp.GradScaler. */
MwLossScale mw_loss_scale_of(MwType precision)
{
    return (MwLossScale){.initial = precision == MW_F16 ? 65536 : 0, .growth = 2000};
}

/* The defaults of DelayedScaling of Transformer Engine. */
MwFp8Scaling mw_fp8_scaling_of(MwType precision)
{
    return (MwFp8Scaling){.history = precision == MW_FP8 ? 1024 : 0, .margin = 0};
}

MwType mw_graph_precision(const MwGraph *graph)
{
    return graph->precision == MW_BF16 && graph->fp8.history > 0 ? MW_FP8 : graph->precision;
}

void mw_graph_set_precision(MwGraph *graph, MwType precision)
{
    graph->precision = precision == MW_FP8 ? mw_type_stored(precision) : precision;
    graph->loss_scale = mw_loss_scale_of(precision);
    graph->fp8 = mw_fp8_scaling_of(precision);
}

MwType mw_product_type(const MwGraph *graph, MwType type)
{
    return mw_type_stored(graph->precision) == type ? graph->precision : type;
}

/* The default of an attribute: 0, false, "", the empty list, no type or no spec. */
static MwAttr default_attr(MwInterner *interner, MwAttrKey key)
{
    MwAttr attr = {.key = key};
    if (mw_attr_kind(key) == MW_KIND_TEXT)
        attr.text = mw_intern(interner, "");
    if (mw_attr_kind(key) == MW_KIND_TYPE)
        attr.i = MW_TYPE_NOT_GIVEN;
    if (mw_attr_kind(key) == MW_KIND_SPEC)
        attr.spec_rank = MW_SPEC_NOT_GIVEN;
    return attr;
}

/* All attributes of the operator in its order: those given, and defaults for the others. */
static const MwAttr *complete_attrs(MwGraph *graph, const MwNodeSpec *spec, int *count)
{
    uint64_t wanted = mw_op_info(spec->op)->attrs;
    *count = __builtin_popcountll(wanted);
    MwAttr *attrs = MW_NEW(graph->arena, MwAttr, *count);
    int at = 0;
    for (int key = 0; key < MW_ATTR_COUNT; key++) {
        if (!(wanted >> key & 1))
            continue;
        const MwAttr *given = mw_attrs_find(spec->attrs, spec->attr_count, (MwAttrKey)key);
        attrs[at] = given ? *given : default_attr(graph->interner, (MwAttrKey)key);
        if (mw_attr_kind((MwAttrKey)key) == MW_KIND_INTS && attrs[at].ints.count)
            attrs[at].ints.at = mw_arena_dup(graph->arena, attrs[at].ints.at,
                                             sizeof(int64_t) * (size_t)attrs[at].ints.count);
        at++;
    }
    for (int i = 0; i < spec->attr_count; i++)
        MW_ASSERT(wanted >> spec->attrs[i].key & 1);
    return attrs;
}

static size_t pointer_slot(const MwNameTable *table, const char *name)
{
    size_t mask = table->capacity - 1;
    size_t i = mw_hash_mix(0, (uint64_t)(uintptr_t)name) & mask;
    while (table->slots[i].name && table->slots[i].name != name)
        i = (i + 1) & mask;
    return i;
}

static void names_grow(MwArena *arena, MwNameTable *table)
{
    MwNameTable old = *table;
    table->capacity = old.capacity ? old.capacity * 2 : 64;
    table->slots = MW_NEW(arena, MwNameSlot, table->capacity);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].name)
            table->slots[pointer_slot(table, old.slots[i].name)] = old.slots[i];
}

static void names_add(MwGraph *graph, const char *name, MwValueId value)
{
    MwNameTable *table = graph->names;
    if ((table->count + 1) * 2 > table->capacity)
        names_grow(graph->arena, table);
    table->slots[pointer_slot(table, name)] = (MwNameSlot){.name = name, .value = value};
    table->count++;
}

MwValueId mw_graph_find(const MwGraph *graph, const char *interned)
{
    const MwNameTable *table = graph->names;
    if (!table->capacity)
        return mw_no_value();
    const MwNameSlot *slot = &table->slots[pointer_slot(table, interned)];
    return slot->name ? slot->value : mw_no_value();
}

/* The slot of `name`; NULL: it is not taken. */
static MwNameSlot *find_slot(MwNameTable *table, const char *name)
{
    MwNameSlot *slot = table->capacity ? &table->slots[pointer_slot(table, name)] : NULL;
    return slot && slot->name ? slot : NULL;
}

/* `name`, which is interned, or if that is taken `name` with the least free suffix of .1, .2, ...
 * Each suffix is tried once, so that a thousand values of one name take a thousand tries. */
static const char *unique_name(MwGraph *graph, const char *name)
{
    MwNameSlot *base = find_slot(graph->names, name);
    if (!base)
        return name;
    int suffix = (int)mw_max(base->next_suffix, 1);
    const char *other;
    do
        other = mw_intern_printf(graph->interner, "%s.%d", name, suffix++);
    while (find_slot(graph->names, other));
    base->next_suffix = suffix - 1;
    return other;
}

/* Notes that `name` is free, for names that it is a suffix of. */
static void free_suffix(MwGraph *graph, const char *name)
{
    const char *dot = strrchr(name, '.');
    const long suffix = dot ? strtol(dot + 1, NULL, 10) : 0;
    if (suffix < 1)
        return;
    MwNameSlot *base =
        find_slot(graph->names, mw_intern_n(graph->interner, name, (size_t)(dot - name)));
    if (base && base->next_suffix > suffix)
        base->next_suffix = (int)suffix;
}

/* Removes `name`, and moves entries that linear probing placed after the gap into it. */
static void names_remove(MwNameTable *table, const char *name)
{
    size_t mask = table->capacity - 1, gap = pointer_slot(table, name);
    MW_ASSERT(table->slots[gap].name == name);
    for (size_t i = (gap + 1) & mask; table->slots[i].name; i = (i + 1) & mask) {
        size_t home = mw_hash_mix(0, (uint64_t)(uintptr_t)table->slots[i].name) & mask;
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        table->slots[gap] = table->slots[i];
        gap = i;
    }
    table->slots[gap] = (MwNameSlot){0};
    table->count--;
}

void mw_graph_rename(MwGraph *graph, MwValueId value, const char *wanted)
{
    names_remove(graph->names, mw_value(graph, value)->name);
    free_suffix(graph, mw_value(graph, value)->name);
    const char *name = unique_name(graph, mw_intern(graph->interner, wanted));
    mw_value(graph, value)->name = name;
    names_add(graph, name, value);
}

/* Adds a value for a result of a node. `name` is interned; NULL: there is none. */
static void add_result(MwGraph *graph, MwNodeId node, const MwTensor *tensor, const char *name)
{
    MwValueId id = {graph->values.count};
    name = unique_name(graph, name ? name : mw_intern_printf(graph->interner, "_%d", id.index));
    mw_vec_push(graph->arena, &graph->values,
                ((MwValue){.tensor = *tensor, .node = node, .name = name}));
    names_add(graph, name, id);
}

/* The name that result k of `count` is to have, interned; NULL: none. */
static const char *result_name(MwGraph *graph, const MwNodeSpec *spec, int count, int k)
{
    const char *name = spec->result_names ? spec->result_names[k] : spec->name;
    if (!name || (spec->like && name == spec->like[k].name))
        return name;
    return !spec->result_names && count > 1 ? mw_intern_printf(graph->interner, "%s.%d", name, k)
                                            : mw_intern(graph->interner, name);
}

/* The result types by the shape rule; NULL, and errors, if it refuses the node. */
static const MwTensor *infer_results(const MwGraph *graph, const MwNodeSpec *spec, MwNode *node,
                                     MwDiags *diags)
{
    MwTensor few[4], *results;
    MwTensor *operands = spec->operand_count <= MW_COUNT(few)
                             ? few
                             : MW_NEW(graph->arena, MwTensor, spec->operand_count);
    for (int i = 0; i < spec->operand_count; i++)
        operands[i] = *mw_value_tensor(graph, spec->operands[i]);
    const MwShapeQuery query = {.op = spec->op,
                                .callee = spec->callee,
                                .operands = operands,
                                .operand_count = spec->operand_count,
                                .attrs = node->attrs,
                                .attr_count = node->attr_count,
                                .given = spec->given,
                                .span = graph->origin.span};
    bool is_legal = mw_shape_infer(graph->arena, &query, &results, &node->result_count, diags);
    return is_legal ? results : NULL;
}

MwNodeId mw_graph_add(MwGraph *graph, const MwNodeSpec *spec, MwDiags *diags)
{
    MwArena *arena = graph->arena;
    MwNode node = {.op = spec->op, .phase = graph->phase, .origin = graph->origin};
    for (int i = 0; i < spec->operand_count; i++)
        MW_ASSERT(spec->operands[i].index >= 0 && spec->operands[i].index < graph->values.count);
    node.operand_count = spec->operand_count;
    node.operands =
        mw_arena_dup(arena, spec->operands, sizeof(MwValueId) * (size_t)spec->operand_count);
    node.attrs = complete_attrs(graph, spec, &node.attr_count);
    node.result_count = spec->like_count;
    const MwTensor *results = NULL;
    if (!spec->like && !(results = infer_results(graph, spec, &node, diags)))
        return (MwNodeId){-1};

    MwNodeId id = {graph->nodes.count};
    node.first_result = graph->values.count;
    mw_vec_push(arena, &graph->nodes, node);
    for (int k = 0; k < node.result_count; k++)
        add_result(graph, id, results ? &results[k] : &spec->like[k].tensor,
                   result_name(graph, spec, node.result_count, k));
    return id;
}

const MwAttr *mw_node_attr(const MwNode *node, MwAttrKey key)
{
    return mw_attrs_find(node->attrs, node->attr_count, key);
}

static const MwAttr *required_attr(const MwNode *node, MwAttrKey key)
{
    const MwAttr *attr = mw_node_attr(node, key);
    MW_ASSERT(attr != NULL);
    return attr;
}

int64_t mw_node_int(const MwNode *node, MwAttrKey key)
{
    return required_attr(node, key)->i;
}

double mw_node_float(const MwNode *node, MwAttrKey key)
{
    return required_attr(node, key)->f;
}

const char *mw_node_text(const MwNode *node, MwAttrKey key)
{
    return required_attr(node, key)->text;
}

MwSpec mw_node_spec(const MwNode *node, MwAttrKey key)
{
    const MwAttr *attr = required_attr(node, key);
    MW_ASSERT(attr->spec_rank != MW_SPEC_NOT_GIVEN);
    return attr->spec;
}

MwValueId mw_outputs_find(const MwOutputs *outputs, const char *name)
{
    for (int i = 0; i < outputs->count; i++)
        if (outputs->at[i].name == name)
            return outputs->at[i].value;
    return mw_no_value();
}

bool mw_metric_is_loss(const MwGraph *graph, const char *name)
{
    for (int i = 0; i < graph->trains.count; i++)
        if (graph->trains.at[i].loss == name)
            return true;
    return false;
}

bool mw_graph_has_phase(const MwGraph *graph, MwPhase phase)
{
    for (int i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.at[i].phase == phase)
            return true;
    return false;
}
