/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A unit has a key, a text that is equal for units of equal structure: it names the classes of the
 * units in it, and numbers values in the order in which the unit meets them. */
#include "frontend/outline/classes.h"

#include "base/hash.h"
#include "base/text.h"
#include "frontend/outline/order.h"

#include <string.h>

typedef struct {
    MwClasses *classes;
    MwFlat *flat;
    MwNameMap keys; /* -> number of the class, plus 1 */
    int *number;    /* [values] in the unit whose key is being written */
} Builder;

/* ---- keys ---- */

static void add_values(const Builder *builder, MwText *key, const MwInts *values)
{
    for (int i = 0; i < values->count; i++)
        mw_text_printf(key, " %d", builder->number[values->at[i]]);
}

static void add_item(Builder *builder, MwText *key, const MwModuleItem *item, int *numbers)
{
    const MwFlatOp *op = item->unit ? NULL : &builder->flat->ops.at[item->op];
    if (op) {
        mw_text_printf(key, "\n%d %d %s:", (int)op->statement->kind, op->value_count, op->shape);
        add_values(builder, key, &op->uses);
        for (int k = 0; k < op->value_count; k++)
            builder->number[op->first_value + k] = (*numbers)++;
        return;
    }
    mw_text_printf(key, "\n%s %d:", item->unit->name, item->unit->class);
    add_values(builder, key, &item->unit->inputs);
    for (int k = 0; k < item->unit->outputs.count; k++)
        builder->number[item->unit->outputs.at[k]] = (*numbers)++;
}

static const char *unit_key(Builder *builder, const MwModuleUnit *unit)
{
    const MwFlat *flat = builder->flat;
    MwText key = {.arena = flat->arena};
    int numbers = 0;
    mw_text_printf(&key, "%d", unit->inputs.count);
    for (int i = 0; i < unit->inputs.count; i++)
        builder->number[unit->inputs.at[i]] = numbers++;
    for (int i = 0; i < unit->declarations.count; i++) {
        const MwFlatOp *op = &flat->ops.at[unit->declarations.at[i]];
        const char *name = op->statement->declare.name.text;
        mw_text_printf(&key, "\n%d %s: %s", (int)op->statement->kind,
                       mw_path_below(flat, name, unit->module), op->shape);
        builder->number[op->first_value] = numbers++;
    }
    for (int i = 0; i < unit->items.count; i++)
        add_item(builder, &key, &unit->items.at[i], &numbers);
    mw_text_add(&key, "\nreturn");
    add_values(builder, &key, &unit->outputs);
    return mw_intern_n(flat->interner, key.at, key.bytes);
}

static void find_class(Builder *builder, MwModuleUnit *unit)
{
    MwClasses *classes = builder->classes;
    for (int i = 0; i < unit->items.count; i++)
        if (unit->items.at[i].unit)
            find_class(builder, unit->items.at[i].unit);
    const char *key = unit_key(builder, unit);
    void **slot = mw_name_map_add(&builder->keys, key);
    if (!*slot) {
        mw_vec_push(builder->flat->arena, &classes->classes, (MwClass){0});
        *slot = (void *)(intptr_t)classes->classes.count;
    }
    unit->class = (int)(intptr_t)*slot - 1;
    mw_vec_push(builder->flat->arena, &classes->classes.at[unit->class].units, unit);
}

/* ---- parameters ---- */

bool mw_constant_equal(const MwExpr *a, const MwExpr *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == MW_EXPR_INT     ? a->i == b->i
           : a->kind == MW_EXPR_FLOAT ? memcmp(&a->f, &b->f, sizeof a->f) == 0
                                      : a->b == b->b;
}

static uint64_t constant_hash(uint64_t hash, const MwExpr *expr)
{
    uint64_t bits = expr->kind == MW_EXPR_BOOL ? expr->b : (uint64_t)expr->i;
    if (expr->kind == MW_EXPR_FLOAT)
        memcpy(&bits, &expr->f, sizeof bits);
    return mw_hash_mix(mw_hash_mix(hash, (uint64_t)expr->kind), bits);
}

static void add_constants(const MwFlat *flat, MwFlatConstants *to, const MwFlatConstants *from)
{
    for (int i = 0; i < from->count; i++)
        mw_vec_push(flat->arena, to, from->at[i]);
}

/* The constants of a unit: of its operations, and what it gives to the classes of units in it. */
static MwFlatConstants unit_constants(const MwFlat *flat, const MwModuleUnit *unit)
{
    MwFlatConstants constants = {0};
    for (int i = 0; i < unit->declarations.count; i++)
        add_constants(flat, &constants, &flat->ops.at[unit->declarations.at[i]].constants);
    for (int i = 0; i < unit->items.count; i++) {
        const MwModuleItem *item = &unit->items.at[i];
        add_constants(flat, &constants,
                      item->unit ? &item->unit->args : &flat->ops.at[item->op].constants);
    }
    return constants;
}

/* Whether constants a and b are equal in every unit. */
static bool columns_equal(const MwFlatConstants *rows, int count, int a, int b)
{
    for (int i = 0; i < count; i++)
        if (!mw_constant_equal(rows[i].at[a].expr, rows[i].at[b].expr))
            return false;
    return true;
}

static bool column_varies(const MwFlatConstants *rows, int count, int column)
{
    for (int i = 1; i < count; i++)
        if (!mw_constant_equal(rows[0].at[column].expr, rows[i].at[column].expr))
            return true;
    return false;
}

/* Finds the parameter that a column is; a new one if it equals none. `first` has the column that
 * each parameter came from, `hashes` those of all columns. */
static int find_parameter(const MwFlatConstants *rows, int count, int column, MwInts *first,
                          const uint64_t *hashes)
{
    for (int p = 0; p < first->count; p++)
        if (hashes[first->at[p]] == hashes[column] &&
            columns_equal(rows, count, first->at[p], column))
            return p;
    return -1;
}

static int find_role(const MwFlatConstants *row, const MwInts *columns, const char *role)
{
    for (int p = 0; p < columns->count; p++) {
        const char *other = row->at[columns->at[p]].role;
        if (other && strcmp(other, role) == 0)
            return p;
    }
    return -1;
}

/* Parameters stand in the order of the text, but inputs before outputs, as everywhere. */
static void put_inputs_first(MwClass *class, const MwFlatConstants *row, MwInts *columns)
{
    const int outputs = find_role(row, columns, "outputs");
    const int inputs = find_role(row, columns, "inputs");
    if (outputs < 0 || inputs < outputs)
        return;
    const int column = columns->at[outputs];
    columns->at[outputs] = columns->at[inputs];
    columns->at[inputs] = column;
    for (int c = 0; c < class->constant_count; c++) {
        int *param = &class->parameter_of[c];
        *param = *param == outputs ? inputs : *param == inputs ? outputs : *param;
    }
}

static void find_parameters(const MwFlat *flat, MwClass *class)
{
    const int count = class->units.count;
    MwFlatConstants *rows = MW_NEW(flat->arena, MwFlatConstants, count);
    for (int i = 0; i < count; i++)
        rows[i] = unit_constants(flat, class->units.at[i]);
    class->constant_count = rows[0].count;
    class->parameter_of = MW_NEW(flat->arena, int, rows[0].count);
    uint64_t *hashes = MW_NEW(flat->arena, uint64_t, rows[0].count);
    MwInts first = {0};
    for (int c = 0; c < rows[0].count; c++) {
        for (int i = 0; i < count; i++)
            hashes[c] = constant_hash(hashes[c], rows[i].at[c].expr);
        class->parameter_of[c] = -1;
        if (!column_varies(rows, count, c))
            continue;
        class->parameter_of[c] = find_parameter(rows, count, c, &first, hashes);
        if (class->parameter_of[c] >= 0)
            continue;
        class->parameter_of[c] = first.count;
        mw_vec_push(flat->arena, &first, c);
    }
    put_inputs_first(class, &rows[0], &first);
    class->parameter_count = first.count;
    for (int i = 0; i < count; i++)
        for (int p = 0; p < first.count; p++)
            mw_vec_push(flat->arena, &class->units.at[i]->args, rows[i].at[first.at[p]]);
}

/* ---- repeats ---- */

static int index_of(const MwInts *values, int value)
{
    for (int i = 0; i < values->count; i++)
        if (values->at[i] == value)
            return i;
    return -1;
}

/* How unit b takes what a gives, if b can be the iteration after a: fills output[inputs]. */
static bool can_follow(const MwFlat *flat, const MwModuleUnit *a, const MwModuleUnit *b,
                       int *output)
{
    int carried = 0;
    if (a->class != b->class || !mw_path_follows(a->name, b->name))
        return false;
    for (int j = 0; j < a->inputs.count; j++) {
        output[j] = -1;
        if (a->inputs.at[j] == b->inputs.at[j])
            continue;
        output[j] = index_of(&a->outputs, b->inputs.at[j]);
        if (output[j] < 0)
            return false;
        carried++;
    }
    for (int k = 0; k < a->outputs.count; k++)
        if (flat->values.at[a->outputs.at[k]].last_use >= b->end)
            return false;
    return carried == a->outputs.count;
}

/* Whether both units give the parameters of their class the same, whatever the units around them
 * are: `constants` are the places of what they give among those of the class around them. */
static bool args_agree(const MwClass *around, const MwModuleUnit *a, const MwModuleUnit *b,
                       int of_a, int of_b)
{
    for (int p = 0; p < a->args.count; p++) {
        const int param = around->parameter_of[of_a + p];
        if (param != around->parameter_of[of_b + p] ||
            (param < 0 && !mw_constant_equal(a->args.at[p].expr, b->args.at[p].expr)))
            return false;
    }
    return true;
}

/* The places of the constants of each item among those of the class. */
static int *constant_places(const MwFlat *flat, const MwModuleUnit *unit)
{
    int *places = MW_NEW(flat->arena, int, unit->items.count + 1);
    int place = 0;
    for (int i = 0; i < unit->declarations.count; i++)
        place += flat->ops.at[unit->declarations.at[i]].constants.count;
    for (int i = 0; i < unit->items.count; i++) {
        const MwModuleItem *item = &unit->items.at[i];
        places[i] = place;
        place += item->unit ? item->unit->args.count : flat->ops.at[item->op].constants.count;
    }
    return places;
}

static bool outputs_equal(const int *a, const int *b, int count)
{
    return count == 0 || memcmp(a, b, sizeof *a * (size_t)count) == 0;
}

/* The run that begins at item i. */
static MwRun find_run(const MwFlat *flat, const MwClass *class, const int *places, int i)
{
    const MwModuleUnit *unit = mw_class_unit(class);
    MwRun run = {.count = 1};
    for (int next = i + 1; next < unit->items.count; next++) {
        const MwModuleUnit *a = unit->items.at[next - 1].unit, *b = unit->items.at[next].unit;
        if (!a || !b)
            break;
        int *output = MW_NEW(flat->arena, int, a->inputs.count);
        if (!can_follow(flat, a, b, output) ||
            !args_agree(class, a, b, places[next - 1], places[next]) ||
            (run.output && !outputs_equal(run.output, output, a->inputs.count)))
            break;
        run.output = output;
        run.count++;
    }
    return run;
}

static void find_runs(const MwFlat *flat, MwClass *class)
{
    const MwModuleUnit *unit = mw_class_unit(class);
    const int *places = constant_places(flat, unit);
    class->runs = MW_NEW(flat->arena, MwRun, unit->items.count);
    for (int i = 0; i < unit->items.count; i += class->runs[i].count)
        class->runs[i] = find_run(flat, class, places, i);
}

static void count_places(MwClasses *classes, const MwClass *class)
{
    const MwModuleUnit *unit = mw_class_unit(class);
    for (int i = 0; i < unit->items.count; i++)
        if (unit->items.at[i].unit && unit->items.at[i].unit->has_scope &&
            class->runs[i].count == 1)
            classes->classes.at[unit->items.at[i].unit->class].places++;
}

MwClasses *mw_classes_build(MwFlat *flat, MwModuleUnit *model)
{
    MwClasses *classes = MW_NEW(flat->arena, MwClasses, 1);
    *classes = (MwClasses){.flat = flat, .model = model};
    Builder builder = {.classes = classes,
                       .flat = flat,
                       .keys = {.arena = flat->arena},
                       .number = MW_NEW(flat->arena, int, flat->values.count)};
    find_class(&builder, model);
    for (int c = 0; c < classes->classes.count; c++)
        find_parameters(flat, &classes->classes.at[c]);
    for (int c = 0; c < classes->classes.count; c++)
        find_runs(flat, &classes->classes.at[c]);
    for (int c = 0; c < classes->classes.count; c++)
        count_places(classes, &classes->classes.at[c]);
    return classes;
}
