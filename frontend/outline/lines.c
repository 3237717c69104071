/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operations of a unit as statements. An expression whose value is used once waits, as a piece,
 * for the statement that uses it, and becomes part of that if the line stays short and clear. */
#include "frontend/outline/lines.h"

#include "frontend/outline/name.h"
#include "frontend/outline/pieces.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LINE = 88,   /* columns of a statement that holds pieces, without its indentation */
    MAX_PIECE = 64,  /* columns of a piece */
    MAX_NESTING = 3, /* calls in calls, where pieces are in pieces */
};

/* ---- how often values are used in a body ---- */

enum { MANY = 2 /* uses that keep a value from being a piece */ };

static void count_values(MwOutliner *outliner, const MwInts *values, int by)
{
    for (int i = 0; i < values->count; i++)
        outliner->uses[values->at[i]] += by;
}

static bool is_called(const MwOutliner *outliner, const MwModuleUnit *unit)
{
    return unit->has_scope && outliner->classes->classes.at[unit->class].is_block;
}

static void count_uses(MwOutliner *outliner, const MwModuleUnit *unit, int sign)
{
    const MwClass *class = &outliner->classes->classes.at[unit->class];
    for (int i = 0; i < unit->items.count; i++) {
        const MwModuleItem *item = &unit->items.at[i];
        const MwRun *run = &class->runs[i];
        if (item->op >= 0) {
            const MwFlatOp *op = &outliner->flat->ops.at[item->op];
            const bool is_train = op->statement->kind == MW_STATEMENT_TRAIN;
            count_values(outliner, &op->uses, is_train ? MANY * sign : sign);
        } else if (run->count > 1) {
            count_values(outliner, &item->unit->inputs, MANY * sign);
            count_uses(outliner, item->unit, sign);
            count_values(outliner, &item->unit->outputs, MANY * sign);
            i += run->count - 1;
        } else if (is_called(outliner, item->unit)) {
            count_values(outliner, &item->unit->inputs, sign);
        } else {
            count_uses(outliner, item->unit, sign);
        }
    }
}

/* ---- lines ---- */

static MwExpr *scope_expr(const MwLineWriter *writer, const char *path)
{
    static const char *const values[] = {"and", "or", "not", "true", "false"};
    bool is_name = isalpha((unsigned char)*path) || *path == '_';
    for (int i = 0; i < MW_COUNT(values); i++)
        is_name &= strcmp(path, values[i]) != 0;
    const bool is_number = *path && strspn(path, "0123456789") == strlen(path) &&
                           strlen(path) < 9 && (path[0] != '0' || !path[1]);
    MwExpr *expr = mw_new_expr(writer->outliner->arena,
                               is_name     ? MW_EXPR_NAME
                               : is_number ? MW_EXPR_INT
                                           : MW_EXPR_TEXT,
                               mw_span_none());
    if (is_number)
        expr->i = atoi(path);
    else
        expr->text = path;
    return expr;
}

static void add_annotation(const MwLineWriter *writer, MwArgs *annotations, const char *key,
                           MwExpr *value)
{
    const MwName name = {.text = mw_intern(writer->outliner->interner, key)};
    mw_vec_push(writer->outliner->arena, annotations, ((MwArg){name, value}));
}

static MwStatement *new_statement(const MwLineWriter *writer, MwStatementKind kind)
{
    return mw_new_statement(writer->outliner->arena, kind, mw_span_none());
}

static MwOutlineLine *add_line(MwLineWriter *writer, MwStatement *statement, const MwPiece *piece)
{
    MwOutlineLine *line = mw_vec_add(writer->outliner->arena, &writer->lines);
    *line = (MwOutlineLine){.statement = statement};
    if (!piece)
        return line;
    line->refs = piece->refs;
    line->wanted = piece->wanted;
    line->is_step = piece->is_step;
    if (piece->scope)
        add_annotation(writer, &statement->annotations, "scope", scope_expr(writer, piece->scope));
    return line;
}

/* Writes a piece as a statement of its own that gives `values`. */
static void write_let(MwLineWriter *writer, const MwPiece *piece, const int *values, int count,
                      const MwArgs *annotations)
{
    MwStatement *statement = new_statement(writer, MW_STATEMENT_LET);
    statement->let.value = piece->expr;
    for (int i = 0; annotations && i < annotations->count; i++)
        mw_vec_push(writer->outliner->arena, &statement->annotations, annotations->at[i]);
    MwOutlineLine *line = add_line(writer, statement, piece);
    for (int i = 0; i < count; i++)
        mw_vec_push(writer->outliner->arena, &line->results, values[i]);
}

static void write_waiting(MwLineWriter *writer, int value)
{
    MwPiece *piece = writer->outliner->pending[value];
    writer->outliner->pending[value] = NULL;
    if (writer->waiting_random == value)
        writer->waiting_random = -1;
    write_let(writer, piece, &value, 1, NULL);
}

static bool takes(const MwInts *values, int value)
{
    for (int i = 0; i < values->count; i++)
        if (values->at[i] == value)
            return true;
    return false;
}

/* Draws keep their order: a piece that draws waits for the next item alone. */
static void write_waiting_random(MwLineWriter *writer, const MwInts *uses)
{
    if (writer->waiting_random >= 0 && !takes(uses, writer->waiting_random))
        write_waiting(writer, writer->waiting_random);
}

/* Of the pieces among `uses` the one that is best written as a statement before, since the
 * expression that holds them all would be too long or too deep; -1: there is none. */
static int find_worst(const MwLineWriter *writer, const MwInts *uses, bool by_nesting)
{
    int worst = -1, most = -1;
    for (int i = 0; i < uses->count; i++) {
        const MwPiece *piece = writer->outliner->pending[uses->at[i]];
        const int badness = !piece       ? -1
                            : by_nesting ? mw_expr_nesting(piece->expr)
                                         : mw_expr_columns(writer->outliner->arena, piece->expr);
        if (badness > most) {
            most = badness;
            worst = uses->at[i];
        }
    }
    return worst;
}

/* A statement has one scope, for its one call of a block: writes pieces that would add calls to it
 * as statements before, all of them, so that operands of one kind look alike. `calls` and
 * `has_scope` are of the statement itself. */
static void part_scopes(MwLineWriter *writer, const MwInts *uses, int calls, bool has_scope)
{
    MwOutliner *outliner = writer->outliner;
    for (int i = 0; i < uses->count; i++) {
        const MwPiece *piece = outliner->pending[uses->at[i]];
        calls += piece ? piece->calls : 0;
        has_scope |= piece && piece->scope;
    }
    for (int i = 0; i < uses->count && has_scope && calls > 1; i++)
        if (outliner->pending[uses->at[i]] && outliner->pending[uses->at[i]]->calls)
            write_waiting(writer, uses->at[i]);
}

/* Whether two expressions are of one kind, and call the same if they are calls. */
static bool is_alike(const MwExpr *a, const MwExpr *b)
{
    return a->kind == b->kind &&
           (a->kind != MW_EXPR_CALL || a->call.callee.text == b->call.callee.text);
}

/* Writes pieces that the expression holds as statements before it, where it is too long or deep:
 * the worst, and those like it, so that operands of one kind look alike.
 * Returns whether there were any: the expression is then to be made anew. */
static bool part_expr(MwLineWriter *writer, const MwPiece *piece, const MwInts *uses)
{
    const size_t scope = piece->scope ? strlen(piece->scope) + strlen(" with scope = ") : 0;
    const bool is_deep = mw_expr_nesting(piece->expr) > MAX_NESTING;
    if (!is_deep &&
        (size_t)mw_expr_columns(writer->outliner->arena, piece->expr) + scope <= MAX_LINE)
        return false;
    const int worst = find_worst(writer, uses, is_deep);
    if (worst < 0)
        return false;
    const MwExpr *expr = writer->outliner->pending[worst]->expr;
    for (int i = 0; i < uses->count; i++) {
        const MwPiece *other = writer->outliner->pending[uses->at[i]];
        if (uses->at[i] == worst || (other && is_alike(expr, other->expr)))
            write_waiting(writer, uses->at[i]);
    }
    return true;
}

/* ---- items ---- */

static MwExprCopy begin_copy(MwLineWriter *writer, MwLinePlace *place, const MwFlatOp *op,
                             MwPiece *piece)
{
    *piece = (MwPiece){.value = -1, .is_random = op->is_random};
    return (MwExprCopy){.writer = writer, .place = place, .op = op, .piece = piece};
}

static void take_pieces(MwLineWriter *writer, const MwInts *uses)
{
    for (int i = 0; i < uses->count; i++) {
        writer->outliner->pending[uses->at[i]] = NULL;
        if (writer->waiting_random == uses->at[i])
            writer->waiting_random = -1;
    }
}

/* Keeps a piece that computes `value` for the statement that uses it, or writes it. What a block
 * returns alone may be as long as a line. */
static void end_piece(MwLineWriter *writer, const MwPiece *piece, int value)
{
    MwOutliner *outliner = writer->outliner;
    const MwInts *outputs = &writer->body->unit->outputs;
    const bool is_returned = outputs->count == 1 && outputs->at[0] == value;
    if (outliner->uses[value] != 1 ||
        mw_expr_columns(outliner->arena, piece->expr) > (is_returned ? MAX_LINE : MAX_PIECE)) {
        write_let(writer, piece, &value, 1, NULL);
        return;
    }
    outliner->pending[value] = mw_arena_dup(outliner->arena, piece, sizeof *piece);
    if (piece->is_random)
        writer->waiting_random = value;
}

static void write_operation(MwLineWriter *writer, MwLinePlace *place, const MwFlatOp *op)
{
    const MwStatement *statement = op->statement;
    MwArgs annotations;
    MwPiece piece;
    part_scopes(writer, &op->uses, 0, false);
    do {
        MwExprCopy copy = begin_copy(writer, place, op, &piece);
        piece.expr = mw_copy_expr(&copy, statement->let.value);
        annotations = statement->annotations;
        mw_copy_args(&copy, &annotations);
    } while (part_expr(writer, &piece, &op->uses));
    take_pieces(writer, &op->uses);
    if (op->value_count == 1 && !annotations.count) {
        end_piece(writer, &piece, op->first_value);
        return;
    }
    int *values = MW_NEW(writer->outliner->arena, int, op->value_count);
    for (int k = 0; k < op->value_count; k++)
        values[k] = op->first_value + k;
    write_let(writer, &piece, values, op->value_count, &annotations);
}

/* `output NAME = value` or `show`, whose value is named in the same statement if that is its one
 * use. */
static void write_outside(MwLineWriter *writer, MwLinePlace *place, const MwFlatOp *op)
{
    MwPiece piece;
    MwExprCopy copy = begin_copy(writer, place, op, &piece);
    MwStatement *statement = new_statement(writer, op->statement->kind);
    statement->let.targets = op->statement->let.targets;
    statement->let.value = mw_copy_expr(&copy, op->statement->let.value);
    statement->annotations = op->statement->annotations;
    mw_copy_args(&copy, &statement->annotations);
    take_pieces(writer, &op->uses);
    add_line(writer, statement, &piece);
}

static void write_assign(MwLineWriter *writer, MwLinePlace *place, const MwFlatOp *op)
{
    for (int i = 0; i < op->uses.count; i++)
        if (writer->outliner->pending[op->uses.at[i]] &&
            writer->outliner->pending[op->uses.at[i]]->scope)
            write_waiting(writer, op->uses.at[i]);
    MwPiece piece;
    MwExprCopy copy = begin_copy(writer, place, op, &piece);
    copy.name = 1; /* the first is the target */
    MwStatement *statement = new_statement(writer, MW_STATEMENT_ASSIGN);
    statement->assign.value = mw_copy_expr(&copy, op->statement->assign.value);
    take_pieces(writer, &op->uses);
    MwOutlineLine *line = add_line(writer, statement, &piece);
    mw_vec_push(writer->outliner->arena, &line->results, op->uses.at[0]);
}

static void write_train(MwLineWriter *writer, MwLinePlace *place, const MwFlatOp *op)
{
    MwPiece piece;
    MwExprCopy copy = begin_copy(writer, place, op, &piece);
    MwStatement *statement =
        mw_arena_dup(writer->outliner->arena, op->statement, sizeof *op->statement);
    statement->annotations = (MwArgs){0};
    statement->train.loss = mw_copy_expr(&copy, op->statement->train.loss);
    statement->train.optimizer = mw_copy_expr(&copy, op->statement->train.optimizer);
    for (int i = 0; i < op->statement->annotations.count; i++) {
        MwArg option = op->statement->annotations.at[i];
        if (!mw_flat_is_word_option(option.key.text))
            option.value = mw_copy_expr(&copy, option.value);
        mw_vec_push(writer->outliner->arena, &statement->annotations, option);
    }
    MwOutlineLine *line = add_line(writer, statement, &piece);
    if (op->statement->train.loss->kind == MW_EXPR_NAME)
        line->wanted = op->statement->train.loss->text;
}

static void write_op(MwLineWriter *writer, MwLinePlace *place, const MwFlatOp *op)
{
    write_waiting_random(writer, &op->uses);
    switch (op->statement->kind) {
    case MW_STATEMENT_LET:
        write_operation(writer, place, op);
        break;
    case MW_STATEMENT_OUTPUT:
    case MW_STATEMENT_SHOW:
        write_outside(writer, place, op);
        break;
    case MW_STATEMENT_ASSIGN:
        write_assign(writer, place, op);
        break;
    case MW_STATEMENT_TRAIN:
        write_train(writer, place, op);
        break;
    default:
        add_line(writer, (MwStatement *)op->statement, NULL);
        break;
    }
    place->constant += op->constants.count;
}

static void write_declaration(MwLineWriter *writer, MwLinePlace *place, const MwFlatOp *op)
{
    MwOutliner *outliner = writer->outliner;
    MwPiece piece;
    MwExprCopy copy = begin_copy(writer, place, op, &piece);
    MwStatement *statement = mw_arena_dup(outliner->arena, op->statement, sizeof *op->statement);
    const char *name = statement->declare.name.text;
    name = mw_intern_printf(outliner->interner, "%s%s", place->prefix,
                            mw_path_below(outliner->flat, name, place->unit->module));
    statement->declare.name.text = name;
    mw_copy_list(&copy, &statement->declare.type.dims);
    statement->declare.init = mw_copy_expr(&copy, statement->declare.init);
    mw_copy_args(&copy, &statement->annotations);
    MwOutlineLine *line = mw_vec_add(outliner->arena, &writer->declarations);
    line->statement = statement;
    mw_vec_push(outliner->arena, &line->results, op->first_value);
    mw_vec_push(outliner->arena, &writer->body->declared,
                ((MwValueRef){.expr = mw_new_name_expr(outliner->arena, name), op->first_value}));
    place->constant += op->constants.count;
}

/* What the parameters of the class of `unit` are in the text around it. */
static MwExpr *const *inner_args(MwLineWriter *writer, const MwLinePlace *place,
                                 const MwModuleUnit *unit)
{
    MwExpr **args = MW_NEW(writer->outliner->arena, MwExpr *, unit->args.count);
    for (int p = 0; p < unit->args.count; p++)
        args[p] = mw_place_constant(writer, place, place->constant + p, &unit->args.at[p]);
    return args;
}

/* The last component of a path. */
static const char *last_component(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

static void make_call(MwLineWriter *writer, const MwLinePlace *place, const MwModuleUnit *unit,
                      MwPiece *piece)
{
    MwOutliner *outliner = writer->outliner;
    const MwClass *class = &outliner->classes->classes.at[unit->class];
    const char *path = mw_intern_printf(outliner->interner, "%s%s", place->prefix, unit->name);
    const char *last = last_component(unit->name);
    *piece = (MwPiece){.value = -1, .calls = 1, .is_random = unit->is_random};
    piece->scope = strcmp(path, class->name) == 0 ? NULL : path;
    piece->is_step = isdigit((unsigned char)*last);
    piece->wanted = piece->is_step ? NULL : mw_intern(outliner->interner, last);
    piece->expr = mw_new_expr(outliner->arena, MW_EXPR_CALL, mw_span_none());
    piece->expr->call.callee.text = class->name;
    MwArgs *args = &piece->expr->call.args;
    for (int j = 0; j < unit->inputs.count; j++)
        mw_vec_push(outliner->arena, args,
                    ((MwArg){.value = mw_piece_operand(writer, piece, unit->inputs.at[j])}));
    MwExpr *const *constants = inner_args(writer, place, unit);
    for (int p = 0; p < unit->args.count; p++)
        mw_vec_push(outliner->arena, args, ((MwArg){.value = constants[p]}));
}

static void write_call(MwLineWriter *writer, const MwLinePlace *place, const MwModuleUnit *unit)
{
    MwPiece piece;
    write_waiting_random(writer, &unit->inputs);
    make_call(writer, place, unit, &piece);
    part_scopes(writer, &unit->inputs, 1, piece.scope != NULL);
    do
        make_call(writer, place, unit, &piece);
    while (part_expr(writer, &piece, &unit->inputs));
    take_pieces(writer, &unit->inputs);
    if (unit->outputs.count == 1)
        end_piece(writer, &piece, unit->outputs.at[0]);
    else
        write_let(writer, &piece, unit->outputs.at, unit->outputs.count, NULL);
}

static void write_items(MwLineWriter *writer, MwLinePlace *place);

/* The lines of a list, its declarations first and inputs before weights. */
static MwOutlineLines all_lines(const MwLineWriter *writer)
{
    MwOutlineLines lines = {0};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < writer->declarations.count; i++) {
            const MwOutlineLine *line = &writer->declarations.at[i];
            if ((line->statement->kind == MW_STATEMENT_INPUT) == (round == 0))
                mw_vec_push(writer->outliner->arena, &lines, *line);
        }
    for (int i = 0; i < writer->lines.count; i++)
        mw_vec_push(writer->outliner->arena, &lines, writer->lines.at[i]);
    return lines;
}

/* The last component of a path that is a word and no number; "": all are numbers. */
static const char *last_word(const MwLineWriter *writer, const char *path)
{
    const char *end = path + strlen(path), *begin = end;
    for (;;) {
        while (begin > path && begin[-1] != '.')
            begin--;
        if (begin == path || !isdigit((unsigned char)*begin))
            break;
        end = --begin;
    }
    return isdigit((unsigned char)*begin)
               ? ""
               : mw_intern_n(writer->outliner->interner, begin, (size_t)(end - begin));
}

/* A size with the count of a repeat, called by what is repeated. */
static const char *add_size(MwLineWriter *writer, const char *path, int count)
{
    static const char *const layers[] = {"h", "layer", "layers", "block", "blocks"};
    MwOutliner *outliner = writer->outliner;
    const char *base = last_word(writer, path), *name;
    for (int i = 0; i < MW_COUNT(layers); i++)
        if (!*base || strcmp(base, layers[i]) == 0)
            base = "layers";
    void **slot = mw_name_map_add(&outliner->size_suffixes, mw_intern(outliner->interner, base));
    intptr_t suffix = (intptr_t)*slot;
    do {
        name = suffix ? mw_intern_printf(outliner->interner, "%s_%ld", base, (long)suffix + 1)
                      : mw_intern(outliner->interner, base);
        suffix++;
    } while (!mw_outliner_is_free(outliner, name) || mw_name_map_find(&outliner->file_names, name));
    *slot = (void *)suffix;
    mw_name_map_add(&outliner->taken, name);
    MwExpr *value = mw_new_expr(outliner->arena, MW_EXPR_INT, mw_span_none());
    value->i = count;
    mw_vec_push(outliner->arena, &outliner->sizes,
                ((MwItem){.kind = MW_ITEM_SIZE, .name.text = name, .value = value}));
    return name;
}

static void write_repeat(MwLineWriter *writer, const MwLinePlace *place, const MwModuleUnit *unit,
                         const MwRun *run, const MwModuleUnit *last)
{
    MwOutliner *outliner = writer->outliner;
    const char *number = last_component(unit->name);
    const int length = (int)mw_max(number - unit->name - 1, 0);
    const char *path =
        mw_intern_printf(outliner->interner, "%s%.*s", place->prefix, length, unit->name);
    const size_t bytes = strlen(path);
    if (!length && bytes)
        path = mw_intern_n(outliner->interner, path, bytes - 1);
    MwLineWriter inner = {.outliner = outliner, .body = writer->body, .waiting_random = -1};
    MwLinePlace body = {.unit = unit,
                        .class = &outliner->classes->classes.at[unit->class],
                        .args = inner_args(writer, place, unit),
                        .prefix = ""};
    write_waiting_random(writer, &(MwInts){0});
    write_items(&inner, &body);
    MwStatement *statement = new_statement(writer, MW_STATEMENT_REPEAT);
    statement->repeat.count = mw_new_name_expr(outliner->arena, add_size(writer, path, run->count));
    if (strcmp(path, statement->repeat.count->text) != 0)
        add_annotation(writer, &statement->annotations, "scope", scope_expr(writer, path));
    if (atoi(number) > 0)
        add_annotation(writer, &statement->annotations, "first", scope_expr(writer, number));
    MwOutlineLine *line = add_line(writer, statement, NULL);
    line->body = MW_NEW(outliner->arena, MwOutlineLines, 1);
    *line->body = all_lines(&inner);
    line->run = run;
    line->first = unit;
    line->last = last;
}

/* The items of a unit that is no block, as those of the unit around it. */
static void write_inside(MwLineWriter *writer, const MwLinePlace *place, const MwModuleUnit *unit)
{
    MwOutliner *outliner = writer->outliner;
    MwLinePlace inner = {
        .unit = unit,
        .class = &outliner->classes->classes.at[unit->class],
        .args = inner_args(writer, place, unit),
        .prefix = mw_intern_printf(outliner->interner, "%s%s.", place->prefix, unit->name)};
    write_items(writer, &inner);
}

static void write_items(MwLineWriter *writer, MwLinePlace *place)
{
    MwOutliner *outliner = writer->outliner;
    const MwModuleUnit *unit = place->unit;
    for (int i = 0; i < unit->declarations.count; i++)
        write_declaration(writer, place, &outliner->flat->ops.at[unit->declarations.at[i]]);
    for (int i = 0; i < unit->items.count; i++) {
        const MwModuleItem *item = &unit->items.at[i];
        const MwRun *run = &place->class->runs[i];
        if (item->op >= 0) {
            write_op(writer, place, &outliner->flat->ops.at[item->op]);
            continue;
        }
        if (run->count > 1)
            write_repeat(writer, place, item->unit, run, unit->items.at[i + run->count - 1].unit);
        else if (is_called(outliner, item->unit))
            write_call(writer, place, item->unit);
        else
            write_inside(writer, place, item->unit);
        place->constant += item->unit->args.count * run->count;
        i += run->count - 1;
    }
}

static void write_return(MwLineWriter *writer, const MwInts *outputs)
{
    MwStatement *statement;
    MwPiece piece;
    part_scopes(writer, outputs, 0, false);
    for (;;) {
        piece = (MwPiece){.value = -1};
        statement = new_statement(writer, MW_STATEMENT_RETURN);
        for (int i = 0; i < outputs->count; i++)
            mw_vec_push(writer->outliner->arena, &statement->results,
                        mw_piece_operand(writer, &piece, outputs->at[i]));
        piece.expr = mw_new_expr(writer->outliner->arena, MW_EXPR_LIST, mw_span_none());
        piece.expr->list = statement->results;
        if (outputs->count == 1 || !part_expr(writer, &piece, outputs))
            break;
    }
    take_pieces(writer, outputs);
    add_line(writer, statement, &piece);
}

void mw_lines_write(MwOutliner *outliner, const MwModuleUnit *unit, MwExpr *const *args,
                    MwOutlineBody *body)
{
    MwLineWriter writer = {.outliner = outliner, .body = body, .waiting_random = -1};
    MwLinePlace place = {.unit = unit,
                         .class = &outliner->classes->classes.at[unit->class],
                         .args = args,
                         .prefix = ""};
    count_uses(outliner, unit, 1);
    count_values(outliner, &unit->outputs, 1);
    write_items(&writer, &place);
    if (unit->parent)
        write_return(&writer, &unit->outputs);
    count_values(outliner, &unit->outputs, -1);
    count_uses(outliner, unit, -1);
    body->lines = all_lines(&writer);
}
