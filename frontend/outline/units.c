/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the model down, the items of each unit are put in an order in which all of an item can run
 * at once. Items that depend on each other in a circle have none: the modules among them are
 * replaced by what they hold, until there is no circle. Of several orders that with the least
 * changes to the order of the text is taken, except that a child `h.4` follows `h.3` as soon as it
 * can. */
#include "frontend/outline/units.h"

#include "frontend/outline/order.h"
#include "frontend/syntax/parse.h"
#include "frontend/terms/names.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 1 << 26 /* after them every module in a circle is opened */ };

typedef struct {
    MwFlat *flat;
    int *item_of;      /* [ops] the item of the unit being ordered that holds the operation */
    int *unit_of;      /* [ops] the number of that unit */
    int units;         /* numbered so far */
    int *from;         /* [ops] the last question whether a module is parted that reached it */
    int froms;         /* such questions so far */
    int64_t steps;     /* operations looked at for them, at most MAX_STEPS */
    int position;      /* of the next operation */
    MwNameMap is_name; /* last components of weights -> whether each can be a name, plus 1 */
} Builder;

/* An item before it is ordered. */
typedef struct {
    int op; /* -1: a module */
    int module;
} Part;

typedef MW_VEC(Part) Parts;

const char *mw_path_below(const MwFlat *flat, const char *path, int module)
{
    const size_t length = strlen(flat->modules.at[module].path);
    return length ? path + length + 1 : path;
}

/* Whether a weight can have the name in a body: it is no number and no word of the language. */
static bool can_declare(Builder *builder, const char *name)
{
    void **slot = mw_name_map_add(&builder->is_name, name);
    if (!*slot)
        *slot = (void *)(intptr_t)(1 + (mw_text_is_name(name) && !mw_name_is_predefined(name)));
    return *slot == (void *)(intptr_t)2;
}

/* ---- what a unit holds ---- */

/* Adds a declaration to the unit, or where its name from there on cannot be a name, such as `0.w`,
 * to the nearest unit around it where it can. */
static void add_declaration(Builder *builder, MwModuleUnit *unit, int op)
{
    const MwFlat *flat = builder->flat;
    const char *name = flat->ops.at[op].statement->declare.name.text;
    while (
        unit->parent &&
        !can_declare(builder, mw_intern(flat->interner, mw_path_below(flat, name, unit->module))))
        unit = unit->parent;
    flat->ops.at[op].position = unit->begin;
    mw_vec_push(flat->arena, &unit->declarations, op);
}

/* Adds what a module holds itself: operations and modules to the parts, declarations to the unit.
 * */
static void add_parts(Builder *builder, MwModuleUnit *unit, int module, Parts *parts)
{
    const MwFlat *flat = builder->flat;
    const MwFlatModule *m = &flat->modules.at[module];
    for (int i = 0; i < m->ops.count; i++)
        if (mw_flat_is_declaration(&flat->ops.at[m->ops.at[i]]))
            add_declaration(builder, unit, m->ops.at[i]);
        else
            mw_vec_push(flat->arena, parts, ((Part){m->ops.at[i], -1}));
    for (int i = 0; i < m->children.count; i++)
        if (flat->modules.at[m->children.at[i]].has_ops)
            mw_vec_push(flat->arena, parts, ((Part){-1, m->children.at[i]}));
        else
            add_parts(builder, unit, m->children.at[i], parts);
}

/* ---- order ---- */

/* Says of all operations of the module that they are in an item. */
static int mark_module(Builder *builder, int module, int item)
{
    const MwFlat *flat = builder->flat;
    const MwFlatModule *m = &flat->modules.at[module];
    int first = INT32_MAX;
    for (int i = 0; i < m->ops.count; i++) {
        const int op = m->ops.at[i];
        builder->item_of[op] = item;
        builder->unit_of[op] = builder->units;
        if (!mw_flat_is_declaration(&flat->ops.at[op]))
            first = (int)mw_min(first, op);
    }
    for (int i = 0; i < m->children.count; i++)
        first = (int)mw_min(first, mark_module(builder, m->children.at[i], item));
    return first;
}

static void add_arrow(Builder *builder, MwSequence *order, int before, int op)
{
    const int to = builder->item_of[op];
    if (builder->unit_of[before] == builder->units && builder->item_of[before] != to &&
        !mw_flat_is_declaration(&builder->flat->ops.at[before]))
        mw_sequence_add_arrow(order, builder->item_of[before], to);
}

static void add_arrows_of_op(Builder *builder, MwSequence *order, int index)
{
    const MwFlat *flat = builder->flat;
    const MwFlatOp *op = &flat->ops.at[index];
    if (mw_flat_is_declaration(op))
        return;
    for (int k = 0; k < op->uses.count; k++)
        add_arrow(builder, order, flat->values.at[op->uses.at[k]].op, index);
    if (op->after >= 0)
        add_arrow(builder, order, op->after, index);
}

static void add_arrows_of_module(Builder *builder, MwSequence *order, int module)
{
    const MwFlatModule *m = &builder->flat->modules.at[module];
    for (int i = 0; i < m->ops.count; i++)
        add_arrows_of_op(builder, order, m->ops.at[i]);
    for (int i = 0; i < m->children.count; i++)
        add_arrows_of_module(builder, order, m->children.at[i]);
}

/* The parts as items of an order, with the arrows between them. */
static MwSequence *new_order(Builder *builder, const MwModuleUnit *unit, const Parts *parts)
{
    const MwFlat *flat = builder->flat;
    MwSequence *order = mw_sequence_new(flat->arena, parts->count);
    builder->units++;
    for (int i = 0; i < parts->count; i++) {
        const Part *part = &parts->at[i];
        if (part->op >= 0) {
            builder->item_of[part->op] = i;
            builder->unit_of[part->op] = builder->units;
            order->items[i].rank = part->op;
        } else {
            order->items[i].rank = mark_module(builder, part->module, i);
            order->items[i].name =
                mw_path_below(flat, flat->modules.at[part->module].path, unit->module);
        }
    }
    for (int i = 0; i < parts->count; i++)
        if (parts->at[i].op >= 0)
            add_arrows_of_op(builder, order, parts->at[i].op);
        else
            add_arrows_of_module(builder, order, parts->at[i].module);
    return order;
}

static int last_op(const MwFlat *flat, int module)
{
    const MwFlatModule *m = &flat->modules.at[module];
    int last = m->ops.count ? mw_vec_last(&m->ops) : -1;
    for (int i = 0; i < m->children.count; i++)
        last = (int)mw_max(last, last_op(flat, m->children.at[i]));
    return last;
}

/* Whether operation `before`, which another comes after, is in item i, or computed from it by other
 * items. */
static bool comes_from(const Builder *builder, int before, int i)
{
    if (builder->unit_of[before] != builder->units ||
        mw_flat_is_declaration(&builder->flat->ops.at[before]))
        return false;
    return builder->item_of[before] == i || builder->from[before] == builder->froms;
}

/* Whether item i, a module whose operations begin with `first`, takes what others compute from what
 * it gives: its operations cannot run one after another. */
static bool is_parted(Builder *builder, const Part *part, int i, int first)
{
    const MwFlat *flat = builder->flat;
    const int last = last_op(flat, part->module);
    builder->froms++;
    builder->steps += last - first;
    if (builder->steps > MAX_STEPS)
        return true;
    for (int n = first; n <= last; n++) {
        const MwFlatOp *op = &flat->ops.at[n];
        if (builder->unit_of[n] != builder->units || mw_flat_is_declaration(op))
            continue;
        const bool is_inside = builder->item_of[n] == i;
        for (int k = -1; k < op->uses.count; k++) {
            const int before = k < 0 ? op->after : flat->values.at[op->uses.at[k]].op;
            if (before < 0 || !comes_from(builder, before, i))
                continue;
            if (!is_inside)
                builder->from[n] = builder->froms;
            else if (builder->item_of[before] != i)
                return true;
        }
    }
    return false;
}

/* Replaces modules that are in circles by what they hold: those that are parted, or if none is,
 * all. Returns whether there were any. */
static bool open_circles(Builder *builder, MwModuleUnit *unit, MwSequence *order, Parts *parts)
{
    Parts opened = {0};
    bool *is_open = MW_NEW(builder->flat->arena, bool, parts->count);
    mw_sequence_find_circles(order);
    bool any = false, any_parted = false;
    for (int i = 0; i < parts->count; i++) {
        if (parts->at[i].op >= 0 || !order->items[i].in_circle)
            continue;
        any = true;
        is_open[i] = is_parted(builder, &parts->at[i], i, order->items[i].rank);
        any_parted |= is_open[i];
    }
    for (int i = 0; i < parts->count; i++) {
        const bool in_circle = parts->at[i].op < 0 && order->items[i].in_circle;
        if (is_open[i] || (in_circle && !any_parted))
            add_parts(builder, unit, parts->at[i].module, &opened);
        else
            mw_vec_push(builder->flat->arena, &opened, parts->at[i]);
    }
    *parts = opened;
    return any;
}

static MwModuleUnit *build_unit(Builder *builder, MwModuleUnit *parent, int module);

static void add_items(Builder *builder, MwModuleUnit *unit, const Parts *parts, const int *sequence)
{
    MwFlat *flat = builder->flat;
    for (int i = 0; i < parts->count; i++) {
        const Part *part = &parts->at[sequence[i]];
        MwModuleItem item = {.op = part->op};
        if (part->op >= 0) {
            flat->ops.at[part->op].position = builder->position++;
            unit->size++;
            unit->is_random |= flat->ops.at[part->op].is_random;
        } else {
            item.unit = build_unit(builder, unit, part->module);
            unit->size += item.unit->size;
            unit->is_random |= item.unit->is_random;
        }
        mw_vec_push(flat->arena, &unit->items, item);
    }
}

static MwModuleUnit *build_unit(Builder *builder, MwModuleUnit *parent, int module)
{
    MwFlat *flat = builder->flat;
    const char *path = flat->modules.at[module].path;
    MwModuleUnit *unit = MW_NEW(flat->arena, MwModuleUnit, 1);
    *unit = (MwModuleUnit){.parent = parent,
                           .module = module,
                           .name = parent ? mw_path_below(flat, path, parent->module) : path,
                           .begin = builder->position++,
                           .has_scope = strchr(path, '.') || mw_text_is_name(path)};
    Parts parts = {0};
    MwSequence *order;
    add_parts(builder, unit, module, &parts);
    do
        order = new_order(builder, unit, &parts);
    while (open_circles(builder, unit, order, &parts));
    add_items(builder, unit, &parts, mw_sequence_sort(order));
    unit->end = builder->position;
    return unit;
}

/* ---- inputs and outputs ---- */

static void find_last_uses(MwFlat *flat)
{
    for (int i = 0; i < flat->ops.count; i++) {
        const MwFlatOp *op = &flat->ops.at[i];
        for (int k = 0; k < op->uses.count; k++) {
            MwFlatValue *value = &flat->values.at[op->uses.at[k]];
            value->last_use = (int)mw_max(value->last_use, op->position);
        }
    }
}

/* Adds the values of `values` that come from before `begin`, each once: `seen` has those that this
 * unit has found already. */
static void add_inputs(const MwFlat *flat, MwModuleUnit *unit, const MwInts *values,
                       const void **seen)
{
    for (int k = 0; k < values->count; k++) {
        const int value = values->at[k];
        if (seen[value] == unit || flat->ops.at[flat->values.at[value].op].position >= unit->begin)
            continue;
        seen[value] = unit;
        mw_vec_push(flat->arena, &unit->inputs, value);
    }
}

/* The last value that the unit computes; -1: there is none. */
static int last_value(const MwFlat *flat, const MwModuleUnit *unit)
{
    for (int i = unit->items.count - 1; i >= 0; i--) {
        const MwModuleItem *item = &unit->items.at[i];
        const MwFlatOp *op = item->unit ? NULL : &flat->ops.at[item->op];
        if (op && op->value_count)
            return op->first_value;
        if (!op && item->unit->outputs.count)
            return item->unit->outputs.at[0];
    }
    return -1;
}

/* Those of a unit are found from those of the units in it. */
static void find_borders(const MwFlat *flat, MwModuleUnit *unit, const void **seen)
{
    for (int i = 0; i < unit->items.count; i++)
        if (unit->items.at[i].unit)
            find_borders(flat, unit->items.at[i].unit, seen);
    for (int i = 0; i < unit->declarations.count; i++) {
        const int value = flat->ops.at[unit->declarations.at[i]].first_value;
        if (flat->values.at[value].last_use >= unit->end)
            mw_vec_push(flat->arena, &unit->outputs, value);
    }
    for (int i = 0; i < unit->items.count; i++) {
        const MwModuleItem *item = &unit->items.at[i];
        add_inputs(flat, unit, item->unit ? &item->unit->inputs : &flat->ops.at[item->op].uses,
                   seen);
        const MwFlatOp *op = item->unit ? NULL : &flat->ops.at[item->op];
        const int count = op ? op->value_count : item->unit->outputs.count;
        for (int k = 0; k < count; k++) {
            const int value = op ? op->first_value + k : item->unit->outputs.at[k];
            if (flat->values.at[value].last_use >= unit->end)
                mw_vec_push(flat->arena, &unit->outputs, value);
        }
    }
    const int value = unit->outputs.count || !unit->parent ? -1 : last_value(flat, unit);
    if (value >= 0) /* a block returns something */
        mw_vec_push(flat->arena, &unit->outputs, value);
}

MwModuleUnit *mw_units_build(MwFlat *flat)
{
    Builder builder = {.flat = flat,
                       .item_of = MW_NEW(flat->arena, int, flat->ops.count),
                       .unit_of = MW_NEW(flat->arena, int, flat->ops.count),
                       .from = MW_NEW(flat->arena, int, flat->ops.count),
                       .is_name = {.arena = flat->arena}};
    MwModuleUnit *model = build_unit(&builder, NULL, 0);
    find_last_uses(flat);
    find_borders(flat, model, MW_NEW(flat->arena, const void *, flat->values.count));
    return model;
}
