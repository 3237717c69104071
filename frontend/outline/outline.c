/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flat.c reads the model, units.c finds the modules that can be blocks, classes.c those that are
 * equal. Here is decided which become blocks, and what those are called; lines.c and name.c write
 * their bodies. */
#include "frontend/outline/outline.h"

#include "frontend/functions/functions.h"
#include "frontend/outline/block_name.h"
#include "frontend/outline/lines.h"
#include "frontend/outline/name.h"
#include "frontend/outline/pieces.h"
#include "frontend/syntax/parse.h"

#include <ctype.h>
#include <string.h>

enum {
    MIN_LONE_BLOCK = 4, /* operations from which on a module that is called once is a block */
    TRUNK_SHARE = 70,   /* percent of the operations around it that a trunk has, which is none */
};

/* ---- what is a block ---- */

/* Whether all that a unit holds is one repeat. */
static bool is_repeat(const MwClass *class)
{
    const MwModuleUnit *unit = mw_class_unit(class);
    return unit->items.count > 1 && class->runs[0].count == unit->items.count;
}

/* Whether the only unit of a class holds nearly all of the model, or of a trunk. */
static bool is_trunk(const MwClasses *classes, const MwClass *class)
{
    const MwModuleUnit *unit = mw_class_unit(class);
    const bool is_in_trunk =
        !unit->parent->parent || classes->classes.at[unit->parent->class].is_trunk;
    return is_in_trunk && class->units.count == 1 &&
           (int64_t)unit->size * 100 >= (int64_t)unit->parent->size * TRUNK_SHARE;
}

static bool is_numbered(const char *path)
{
    const char *dot = strrchr(path, '.');
    return isdigit((unsigned char)(dot ? dot[1] : *path));
}

static bool has_declarations(const MwModuleUnit *unit)
{
    bool any = unit->declarations.count > 0;
    for (int i = 0; i < unit->items.count && !any; i++)
        any = unit->items.at[i].unit && has_declarations(unit->items.at[i].unit);
    return any;
}

/* Whether weights of the class would begin with a number in the body of the unit around it, where
 * they could not be declared: `0.weight`. */
static bool must_be_block(const MwClasses *classes, const MwClass *class)
{
    for (int i = 0; i < class->units.count; i++) {
        const MwModuleUnit *unit = class->units.at[i];
        const bool in_block =
            classes->classes.at[unit->parent->class].is_block || is_numbered(unit->parent->name);
        if (isdigit((unsigned char)*unit->name) && in_block && has_declarations(unit))
            return true;
    }
    return false;
}

/* Those around a class are chosen before it. */
static void choose_blocks(MwClasses *classes)
{
    for (int c = classes->classes.count - 1; c >= 0; c--) {
        MwClass *class = &classes->classes.at[c];
        const MwModuleUnit *unit = mw_class_unit(class);
        if (!unit->parent || !unit->outputs.count || !class->places)
            continue;
        class->is_trunk = is_trunk(classes, class);
        class->is_block = class->places > 1 ? unit->size > 1 || has_declarations(unit)
                                            : unit->size >= MIN_LONE_BLOCK && !class->is_trunk &&
                                                  !is_repeat(class);
        class->is_block |= must_be_block(classes, class);
    }
}

/* ---- blocks ---- */

/* `word`, or with a number, so that it is none of the names of a body. */
static const char *add_name(MwOutliner *outliner, MwOutlineBody *body, const char *word)
{
    const char *base = mw_good_word(outliner, word), *name = base;
    intptr_t suffix = (intptr_t)mw_name_map_get(&body->names, base);
    while (mw_name_map_find(&body->names, name) || !mw_outliner_is_free(outliner, name))
        name = mw_intern_printf(outliner->interner, "%s_%ld", base, (long)(++suffix + 1));
    *mw_name_map_add(&body->names, base) = (void *)suffix;
    mw_name_map_add(&body->names, name);
    return name;
}

/* The word for input j of all units of a class; NULL: they have several, or it is that of a
 * function, which says little. */
static const char *shared_word(const MwOutliner *outliner, const MwClass *class, int j)
{
    const char *word = NULL;
    for (int i = 0; i < class->units.count; i++) {
        const char *other = mw_value_word(outliner, class->units.at[i]->inputs.at[j]);
        if (word && strcmp(word, other) != 0)
            return NULL;
        word = other;
    }
    return mw_function_exists(word) ? NULL : word;
}

/* What input j of a block is called: a weight of another module after it, an input of the model as
 * there, and others x and y. */
static const char *input_word(const MwOutliner *outliner, const MwClass *class, int j,
                              bool is_first)
{
    const int value = mw_class_unit(class)->inputs.at[j];
    const MwFlatOp *op = &outliner->flat->ops.at[outliner->flat->values.at[value].op];
    const char *shared = shared_word(outliner, class, j);
    if (op->statement->kind == MW_STATEMENT_INPUT && shared)
        return shared;
    if (op->statement->kind == MW_STATEMENT_INPUT || !mw_flat_is_declaration(op))
        return is_first ? "x" : shared ? shared : "y";
    char *word = mw_arena_strdup(outliner->arena, outliner->flat->values.at[value].name);
    char *last = strrchr(word, '.'), *from = word;
    if (!last)
        return word;
    *last = '\0';
    from = strrchr(word, '.') ? strrchr(word, '.') + 1 : word;
    *last = '_';
    return (*from >= '0' && *from <= '9') ? last + 1 : from;
}

static void write_block(MwOutliner *outliner, const MwClass *class, MwItems *items)
{
    MwArena *arena = outliner->arena;
    const MwModuleUnit *unit = mw_class_unit(class);
    MwBlock *block = MW_NEW(arena, MwBlock, 1);
    MwOutlineBody body = {.unit = unit, .names = {.arena = arena}};
    MwExpr **args = MW_NEW(arena, MwExpr *, class->parameter_count);
    const char **inputs = MW_NEW(arena, const char *, unit->inputs.count);
    for (int p = 0; p < class->parameter_count; p++)
        args[p] = mw_new_name_expr(arena, "n");
    mw_lines_write(outliner, unit, args, &body);
    for (int i = 0; i < body.declared.count; i++)
        mw_name_map_add(&body.names, body.declared.at[i].expr->text);
    bool is_first = true;
    for (int j = 0; j < unit->inputs.count; j++) {
        const char *word = input_word(outliner, class, j, is_first);
        is_first &= strcmp(word, "x") != 0;
        inputs[j] = add_name(outliner, &body, word);
        mw_vec_push(arena, &block->params, ((MwParam){.name.text = inputs[j]}));
    }
    for (int p = 0; p < class->parameter_count; p++) {
        const char *role = unit->args.at[p].role;
        args[p]->text = add_name(outliner, &body, role ? role : "n");
        mw_vec_push(arena, &block->params, ((MwParam){.name.text = args[p]->text}));
    }
    block->name.text = class->name;
    mw_lines_name(outliner, &body, inputs, &block->body);
    mw_vec_push(arena, items,
                ((MwItem){.kind = unit->parent ? MW_ITEM_BLOCK : MW_ITEM_MODEL,
                          .name = block->name,
                          .block = block}));
}

/* The file: sizes of the flat model, counts of repeats, blocks before those that call them, model.
 * */
static MwItems write_items(MwOutliner *outliner, const MwItems *flat)
{
    MwClasses *classes = outliner->classes;
    MwItems blocks = {0}, items = {0};
    for (int c = 0; c < classes->classes.count; c++)
        if (classes->classes.at[c].is_block)
            mw_name_map_add(&outliner->file_names, classes->classes.at[c].name);
    for (int c = 0; c < classes->classes.count; c++) {
        MwClass *class = &classes->classes.at[c];
        if (class->is_block || !mw_class_unit(class)->parent)
            write_block(outliner, class, &blocks);
    }
    for (int i = 0; i < flat->count; i++)
        if (flat->at[i].kind == MW_ITEM_SIZE)
            mw_vec_push(outliner->arena, &items, flat->at[i]);
    for (int i = 0; i < outliner->sizes.count; i++)
        mw_vec_push(outliner->arena, &items, outliner->sizes.at[i]);
    for (int i = 0; i < blocks.count; i++)
        mw_vec_push(outliner->arena, &items, blocks.at[i]);
    return items;
}

/* Makes the batch a size, unless the model has a size or a word of that name. */
static void add_batch(MwOutliner *outliner)
{
    outliner->batch = mw_intern(outliner->interner, MW_OUTLINE_BATCH);
    if (!mw_outliner_is_free(outliner, outliner->batch))
        return;
    MwExpr *value = mw_new_expr(outliner->arena, MW_EXPR_INT, mw_span_none());
    value->i = mw_flat_find_batch(outliner->flat);
    if (!value->i)
        return;
    mw_name_map_add(&outliner->taken, outliner->batch);
    mw_vec_push(outliner->arena, &outliner->sizes,
                ((MwItem){.kind = MW_ITEM_SIZE, .name.text = outliner->batch, .value = value}));
}

MwItems mw_outline(MwArena *arena, MwInterner *interner, const MwItems *items, bool with_batch)
{
    MwFlat flat = {.arena = arena, .interner = interner};
    if (!mw_flat_read(&flat, items))
        return *items;
    mw_flat_find_roles(&flat);
    MwOutliner outliner = {.flat = &flat,
                           .arena = arena,
                           .interner = interner,
                           .taken = flat.words,
                           .file_names = {.arena = arena},
                           .size_suffixes = {.arena = arena}};
    if (with_batch)
        add_batch(&outliner); /* before classes hold constants */
    outliner.classes = mw_classes_build(&flat, mw_units_build(&flat));
    choose_blocks(outliner.classes);
    mw_blocks_name(outliner.classes);
    mw_vec_last(&outliner.classes->classes).name = flat.name;
    outliner.uses = MW_NEW(arena, int, flat.values.count);
    outliner.pending = MW_NEW(arena, struct MwPiece *, flat.values.count);
    outliner.named = mw_lines_new_names(arena, flat.values.count);
    return write_items(&outliner, items);
}
