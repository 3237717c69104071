/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/outline/flat.h"

#include "base/init.h"
#include "base/text.h"
#include "frontend/functions/functions.h"
#include "frontend/syntax/make.h"

#include <string.h>

enum { MAX_MODULE_DEPTH = 32 /* components of a module's path; those below are part of it */ };

/* Annotations that describe the nodes of a dump. */
static const char *const dump_annotations[] = {"phase", "scope", "repeat", "layer"};

typedef struct {
    MwFlat *flat;
    MwNameMap names;               /* -> index of the value that the name means now, plus 1 */
    MwNameMap modules;             /* path -> index of the module, plus 1 */
    MW_VEC(const char *) hidden;   /* names of comprehensions around the expression being read */
    int last_random, last_outside; /* the latest operation of the kind; -1: none */
} Reader;

static bool is_among(const char *text, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0)
            return true;
    return false;
}

/* ---- modules ---- */

/* The path of the module of a name: all but the last component. */
static const char *module_path(Reader *reader, const char *name)
{
    size_t length = 0;
    int depth = 0;
    for (const char *dot = strchr(name, '.'); dot && depth < MAX_MODULE_DEPTH;
         dot = strchr(dot + 1, '.'), depth++)
        length = (size_t)(dot - name);
    return mw_intern_n(reader->flat->interner, name, length);
}

static int find_module(Reader *reader, const char *path)
{
    MwFlat *flat = reader->flat;
    const intptr_t found = (intptr_t)mw_name_map_get(&reader->modules, path);
    if (found)
        return (int)found - 1;
    const int parent = *path ? find_module(reader, module_path(reader, path)) : -1;
    const int module = flat->modules.count;
    mw_vec_push(flat->arena, &flat->modules, ((MwFlatModule){.path = path, .parent = parent}));
    if (parent >= 0)
        mw_vec_push(flat->arena, &flat->modules.at[parent].children, module);
    *mw_name_map_add(&reader->modules, path) = (void *)(intptr_t)(module + 1);
    return module;
}

/* ---- expressions ---- */

typedef struct {
    Reader *reader;
    MwFlatOp *op;
    MwText shape;
} Scan;

static void scan_expr(Scan *scan, const MwExpr *expr, const char *role);

static void scan_name(Scan *scan, const char *name)
{
    Reader *reader = scan->reader;
    bool is_hidden = false;
    for (int i = 0; i < reader->hidden.count; i++)
        is_hidden |= reader->hidden.at[i] == name;
    const intptr_t value = is_hidden ? 0 : (intptr_t)mw_name_map_get(&reader->names, name);
    mw_vec_push(reader->flat->arena, &scan->op->names, (int)value - 1);
    if (value) {
        mw_vec_push(reader->flat->arena, &scan->op->uses, (int)value - 1);
        mw_text_add(&scan->shape, "$");
    } else {
        mw_name_map_add(&reader->flat->words, name);
        mw_text_add(&scan->shape, name);
    }
}

static void scan_constant(Scan *scan, const MwExpr *expr, const char *role)
{
    mw_vec_push(scan->reader->flat->arena, &scan->op->constants,
                ((MwFlatConstant){.expr = expr, .role = role}));
    mw_text_add(&scan->shape, expr->kind == MW_EXPR_INT     ? "#i"
                              : expr->kind == MW_EXPR_FLOAT ? "#f"
                                                            : "#b");
}

static void scan_list(Scan *scan, const MwExprs *exprs, const char *role)
{
    const bool is_shape = role && strcmp(role, MW_FLAT_SHAPE) == 0;
    for (int i = 0; i < exprs->count; i++) {
        scan_expr(scan, exprs->at[i], is_shape && i ? "dim" : role);
        mw_text_add(&scan->shape, ",");
    }
}

static void scan_index(Scan *scan, const MwExpr *expr)
{
    scan_expr(scan, expr->index.of, NULL);
    mw_text_add(&scan->shape, "[");
    for (int i = 0; i < expr->index.items.count; i++) {
        const MwIndexItem *item = &expr->index.items.at[i];
        const MwExpr *parts[] = {item->at, item->begin, item->end, item->stride};
        static const char *const roles[] = {"place", "begin", "end", "stride"};
        mw_text_printf(&scan->shape, "%d", (int)item->kind);
        for (int k = 0; k < MW_COUNT(parts); k++) {
            if (parts[k])
                scan_expr(scan, parts[k], roles[k]);
            mw_text_add(&scan->shape, ":");
        }
    }
    mw_text_add(&scan->shape, "]");
}

static void scan_args(Scan *scan, const char *callee, const MwArgs *args)
{
    for (int i = 0; i < args->count; i++) {
        const char *key = args->at[i].key.text;
        mw_text_printf(&scan->shape, "%s=", key ? key : "");
        scan_expr(scan, args->at[i].value,
                  key ? key : mw_function_parameter(scan->reader->flat->interner, callee, i));
        mw_text_add(&scan->shape, ",");
    }
}

static void scan_call(Scan *scan, const MwExpr *expr)
{
    const char *callee = expr->call.callee.text;
    scan->op->is_random |= mw_function_draws(callee);
    mw_text_printf(&scan->shape, "%s(", callee);
    scan_args(scan, callee, &expr->call.args);
    mw_text_add(&scan->shape, ")");
}

static void scan_each(Scan *scan, const MwExpr *expr)
{
    Reader *reader = scan->reader;
    mw_text_printf(&scan->shape, "[for %s in ", expr->each.name.text);
    scan_expr(scan, expr->each.over, NULL);
    mw_vec_push(reader->flat->arena, &reader->hidden, expr->each.name.text);
    mw_text_add(&scan->shape, ":");
    scan_expr(scan, expr->each.value, NULL);
    mw_text_add(&scan->shape, "]");
    reader->hidden.count--;
}

/* Adds what the expression takes to the operation. The model has been expanded before, which bounds
 * the depth of its expressions. */
static void scan_expr(Scan *scan, const MwExpr *expr, const char *role)
{
    switch (expr->kind) {
    case MW_EXPR_INT:
    case MW_EXPR_FLOAT:
    case MW_EXPR_BOOL:
        scan_constant(scan, expr, role);
        break;
    case MW_EXPR_TEXT:
        mw_text_printf(&scan->shape, "\"%s\"", expr->text);
        break;
    case MW_EXPR_NAME:
        scan_name(scan, expr->text);
        break;
    case MW_EXPR_LIST:
        mw_text_add(&scan->shape, "[");
        scan_list(scan, &expr->list, role);
        mw_text_add(&scan->shape, "]");
        break;
    case MW_EXPR_EACH:
        scan_each(scan, expr);
        break;
    case MW_EXPR_INDEX:
        scan_index(scan, expr);
        break;
    case MW_EXPR_UNARY:
        mw_text_printf(&scan->shape, "u%d(", (int)expr->unary.op);
        scan_expr(scan, expr->unary.operand, role);
        mw_text_add(&scan->shape, ")");
        break;
    case MW_EXPR_BINARY:
        if (expr->binary.op == MW_BINARY_MATMUL)
            mw_text_add(&scan->shape, "@(");
        else
            mw_text_printf(&scan->shape, "b%d(", (int)expr->binary.op);
        scan_expr(scan, expr->binary.left, NULL);
        mw_text_add(&scan->shape, ",");
        scan_expr(scan, expr->binary.right, NULL);
        mw_text_add(&scan->shape, ")");
        break;
    case MW_EXPR_CALL:
        scan_call(scan, expr);
        break;
    }
}

/* What the dimensions of a weight most often are, from the last one on. */
static void scan_type(Scan *scan, const MwTypeExpr *type)
{
    static const char *const roles[] = {"outputs", "inputs", "side", "side"};
    mw_text_printf(&scan->shape, "%s[", type->name.text);
    for (int d = 0; d < type->dims.count; d++) {
        const int from_last = type->dims.count - 1 - d;
        const char *role = type->dims.count == 1         ? "width"
                           : from_last < MW_COUNT(roles) ? roles[from_last]
                                                         : NULL;
        scan_expr(scan, type->dims.at[d], role);
        mw_text_add(&scan->shape, ",");
    }
    mw_text_add(&scan->shape, "]");
}

/* ---- statements ---- */

static int add_value(Reader *reader, const char *name, int op)
{
    MwFlat *flat = reader->flat;
    const int value = flat->values.count;
    mw_vec_push(flat->arena, &flat->values, ((MwFlatValue){name, op, -1}));
    *mw_name_map_add(&reader->names, name) = (void *)(intptr_t)(value + 1);
    return value;
}

static bool is_outside(MwStatementKind kind)
{
    return kind == MW_STATEMENT_INPUT || kind == MW_STATEMENT_OUTPUT || kind == MW_STATEMENT_SHOW ||
           kind == MW_STATEMENT_PRECISION || kind == MW_STATEMENT_TRAIN;
}

/* Ends an operation: it comes after those that it must not pass. */
static void end_op(Scan *scan, const char *module_of)
{
    Reader *reader = scan->reader;
    MwFlat *flat = reader->flat;
    MwFlatOp *op = scan->op;
    const int index = flat->ops.count;
    op->shape = mw_intern(flat->interner, scan->shape.at ? scan->shape.at : "");
    op->module = find_module(reader, module_path(reader, module_of));
    op->after = -1;
    if (op->is_random) {
        op->after = reader->last_random;
        reader->last_random = index;
    } else if (is_outside(op->statement->kind)) {
        op->after = reader->last_outside;
        reader->last_outside = index;
    }
    mw_vec_push(flat->arena, &flat->ops, *op);
}

static void add_annotations(Scan *scan, const MwArgs *annotations)
{
    for (int i = 0; i < annotations->count; i++) {
        mw_text_printf(&scan->shape, " %s=", annotations->at[i].key.text);
        scan_expr(scan, annotations->at[i].value, annotations->at[i].key.text);
    }
}

/* An initialiser, which is no call of the function of its name. */
static void scan_init(Scan *scan, const MwExpr *expr)
{
    MwInit init;
    if (expr->kind != MW_EXPR_CALL || !mw_init_parse(expr->call.callee.text, &init)) {
        scan_expr(scan, expr, NULL);
        return;
    }
    mw_text_printf(&scan->shape, "%s(", expr->call.callee.text);
    for (int i = 0; i < expr->call.args.count; i++) {
        const char *key = expr->call.args.at[i].key.text;
        mw_text_printf(&scan->shape, "%s=", key ? key : "");
        scan_expr(scan, expr->call.args.at[i].value, mw_init_info(init)->number);
    }
    mw_text_add(&scan->shape, ")");
}

static void read_declaration(Reader *reader, const MwStatement *statement)
{
    MwFlatOp op = {.statement = statement, .first_value = reader->flat->values.count};
    Scan scan = {reader, &op, {.arena = reader->flat->arena}};
    scan_type(&scan, &statement->declare.type);
    if (statement->declare.init)
        scan_init(&scan, statement->declare.init);
    add_annotations(&scan, &statement->annotations);
    op.value_count = 1;
    end_op(&scan, statement->kind == MW_STATEMENT_INPUT ? "" : statement->declare.name.text);
    add_value(reader, statement->declare.name.text, reader->flat->ops.count - 1);
}

/* The value that an expression names; -1: it computes one. */
static int named_value(const Reader *reader, const MwExpr *expr)
{
    return expr->kind == MW_EXPR_NAME
               ? (int)(intptr_t)mw_name_map_get(&reader->names, expr->text) - 1
               : -1;
}

static void read_let(Reader *reader, const MwStatement *statement)
{
    const MwNames *targets = &statement->let.targets;
    const int named = named_value(reader, statement->let.value);
    if (named >= 0 && targets->count == 1 && !statement->annotations.count) {
        *mw_name_map_add(&reader->names, targets->at[0].text) = (void *)(intptr_t)(named + 1);
        return;
    }
    MwFlatOp op = {.statement = statement, .value_count = targets->count};
    Scan scan = {reader, &op, {.arena = reader->flat->arena}};
    scan_expr(&scan, statement->let.value, NULL);
    add_annotations(&scan, &statement->annotations);
    op.first_value = reader->flat->values.count;
    end_op(&scan, targets->at[0].text);
    for (int i = 0; i < targets->count; i++)
        add_value(reader, targets->at[i].text, reader->flat->ops.count - 1);
}

/* One name that is seen from outside, as a statement without a value, or with a name as its value:
 * what computes it is a statement of its own. */
static void add_outside(Reader *reader, const MwStatement *like, MwName name, const MwExpr *value)
{
    MwArena *arena = reader->flat->arena;
    MwStatement *statement = mw_new_statement(arena, like->kind, like->span);
    MwExpr *expr = mw_new_name(arena, MW_EXPR_NAME, name);
    if (value)
        *expr = *value;
    statement->annotations = value ? (MwArgs){0} : like->annotations;
    mw_vec_push(arena, &statement->let.targets, name);
    statement->let.value = expr;
    MwFlatOp op = {.statement = statement};
    Scan scan = {reader, &op, {.arena = arena}};
    scan_expr(&scan, expr, NULL);
    end_op(&scan, "");
}

static void read_outside(Reader *reader, const MwStatement *statement)
{
    const MwNames *targets = &statement->let.targets;
    const MwExpr *value = statement->let.value;
    if (value && named_value(reader, value) >= 0) {
        add_outside(reader, statement, targets->at[0], value);
        if (!mw_name_map_get(&reader->names, targets->at[0].text))
            *mw_name_map_add(&reader->names, targets->at[0].text) =
                mw_name_map_get(&reader->names, value->text);
        return;
    }
    if (value) {
        MwStatement *let = MW_NEW(reader->flat->arena, MwStatement, 1);
        *let = *statement;
        let->kind = MW_STATEMENT_LET;
        read_let(reader, let);
    }
    MwStatement bare = *statement;
    if (value)
        bare.annotations = (MwArgs){0};
    for (int i = 0; i < targets->count; i++)
        add_outside(reader, &bare, targets->at[i], NULL);
}

static void read_assign(Reader *reader, const MwStatement *statement)
{
    MwFlatOp op = {.statement = statement};
    Scan scan = {reader, &op, {.arena = reader->flat->arena}};
    scan_name(&scan, statement->assign.target.text);
    scan_expr(&scan, statement->assign.value, NULL);
    end_op(&scan, statement->assign.target.text);
}

bool mw_flat_is_word_option(const char *key)
{
    return strcmp(key, "schedule") == 0 || strcmp(key, "name") == 0;
}

static void read_rest(Reader *reader, const MwStatement *statement)
{
    MwFlatOp op = {.statement = statement};
    Scan scan = {reader, &op, {.arena = reader->flat->arena}};
    if (statement->kind == MW_STATEMENT_TRAIN) {
        scan_expr(&scan, statement->train.loss, NULL);
        scan_expr(&scan, statement->train.optimizer, NULL);
        for (int i = 0; i < statement->annotations.count; i++)
            if (!mw_flat_is_word_option(statement->annotations.at[i].key.text))
                scan_expr(&scan, statement->annotations.at[i].value, NULL);
    }
    end_op(&scan, "");
}

static bool is_flat(const MwStatement *statement)
{
    for (int i = 0; i < statement->annotations.count; i++)
        if (statement->kind != MW_STATEMENT_TRAIN &&
            is_among(statement->annotations.at[i].key.text, dump_annotations,
                     MW_COUNT(dump_annotations)))
            return false;
    const bool names_several =
        (statement->kind == MW_STATEMENT_OUTPUT || statement->kind == MW_STATEMENT_SHOW) &&
        statement->let.targets.count > 1;
    return !names_several || !statement->annotations.count;
}

static bool read_statement(Reader *reader, const MwStatement *statement)
{
    switch (statement->kind) {
    case MW_STATEMENT_INPUT:
    case MW_STATEMENT_WEIGHT:
    case MW_STATEMENT_STATE:
        read_declaration(reader, statement);
        break;
    case MW_STATEMENT_LET:
        read_let(reader, statement);
        break;
    case MW_STATEMENT_OUTPUT:
    case MW_STATEMENT_SHOW:
        read_outside(reader, statement);
        break;
    case MW_STATEMENT_ASSIGN:
        read_assign(reader, statement);
        break;
    case MW_STATEMENT_PRECISION:
    case MW_STATEMENT_TRAIN:
        read_rest(reader, statement);
        break;
    case MW_STATEMENT_REPEAT:
    case MW_STATEMENT_REPEATED:
    case MW_STATEMENT_SCAN:
    case MW_STATEMENT_COLLECT:
    case MW_STATEMENT_IF:
    case MW_STATEMENT_RETURN:
        return false;
    }
    return is_flat(statement);
}

/* ---- where declarations belong ---- */

static int module_depth(const MwFlat *flat, int module)
{
    int depth = 0;
    while ((module = flat->modules.at[module].parent) >= 0)
        depth++;
    return depth;
}

static int common_module(const MwFlat *flat, int a, int b)
{
    int of_a = module_depth(flat, a), of_b = module_depth(flat, b);
    for (; of_a > of_b; of_a--)
        a = flat->modules.at[a].parent;
    for (; of_b > of_a; of_b--)
        b = flat->modules.at[b].parent;
    while (a != b) {
        a = flat->modules.at[a].parent;
        b = flat->modules.at[b].parent;
    }
    return a;
}

/* A weight that is used outside of its module belongs to the one around all its uses. */
static void lift_declarations(MwFlat *flat)
{
    for (int i = 0; i < flat->ops.count; i++) {
        const MwFlatOp *user = &flat->ops.at[i];
        for (int k = 0; k < user->uses.count; k++) {
            MwFlatOp *op = &flat->ops.at[flat->values.at[user->uses.at[k]].op];
            if (mw_flat_is_declaration(op))
                op->module = common_module(flat, op->module, user->module);
        }
    }
}

static void fill_modules(MwFlat *flat)
{
    for (int i = 0; i < flat->ops.count; i++) {
        const MwFlatOp *op = &flat->ops.at[i];
        mw_vec_push(flat->arena, &flat->modules.at[op->module].ops, i);
        if (mw_flat_is_declaration(op))
            continue;
        for (int m = op->module; m >= 0 && !flat->modules.at[m].has_ops;
             m = flat->modules.at[m].parent)
            flat->modules.at[m].has_ops = true;
    }
}

bool mw_flat_read(MwFlat *flat, const MwItems *items)
{
    Reader reader = {.flat = flat,
                     .names = {.arena = flat->arena},
                     .modules = {.arena = flat->arena},
                     .last_random = -1,
                     .last_outside = -1};
    flat->words = (MwNameMap){.arena = flat->arena};
    find_module(&reader, mw_intern(flat->interner, ""));
    bool is_model = false;
    for (int i = 0; i < items->count; i++) {
        const MwItem *item = &items->at[i];
        if (item->kind == MW_ITEM_SIZE) {
            mw_name_map_add(&flat->words, item->name.text);
            continue;
        }
        if (item->kind != MW_ITEM_MODEL || is_model)
            return false;
        is_model = true;
        flat->name = item->name.text;
        for (int k = 0; k < item->block->body.count; k++)
            if (!read_statement(&reader, item->block->body.at[k]))
                return false;
    }
    lift_declarations(flat);
    fill_modules(flat);
    return is_model;
}
