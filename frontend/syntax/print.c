/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Items and statements as text. Declarations of one kind that follow one another are aligned, as
 * long as their names and types are of similar length. */
#include "frontend/syntax/print.h"

#include <string.h>

enum {
    INDENT = 2,
    MAX_NAME_PADDING = 12, /* columns that a name gets at most so that types are aligned */
    MAX_TYPE_PADDING = 24, /* and a type, so that initialisers are */
};

typedef struct {
    MwText *out;
    MwLine line;
    int indent;
    int name_columns, type_columns; /* of the declarations that are being printed */
} Printer;

static void print_body(Printer *printer, const MwBody *body);

static void end_line(Printer *printer)
{
    mw_line_end(&printer->line, printer->out, printer->indent);
}

static void add(Printer *printer, const char *text)
{
    mw_text_add(&printer->line.text, text);
}

static void add_with(Printer *printer, const MwArgs *annotations)
{
    if (!annotations->count)
        return;
    mw_line_may_break(&printer->line);
    add(printer, "with ");
    mw_line_add_args(&printer->line, annotations);
}

/* ` { ... }`, and the line that it begins on. */
static void add_body(Printer *printer, const MwBody *body)
{
    add(printer, " {");
    end_line(printer);
    printer->indent += INDENT;
    print_body(printer, body);
    printer->indent -= INDENT;
    add(printer, "}");
}

/* ---- declarations ---- */

static const char *declaration_word(MwStatementKind kind)
{
    return kind == MW_STATEMENT_INPUT    ? "input"
           : kind == MW_STATEMENT_WEIGHT ? "weight"
           : kind == MW_STATEMENT_STATE  ? "state"
                                         : NULL;
}

static void add_type(MwLine *line, const MwTypeExpr *type)
{
    mw_text_add(&line->text, type->name.text);
    if (!type->dims.count)
        return;
    mw_text_add(&line->text, "[");
    line->depth++;
    mw_line_add_exprs(line, &type->dims);
    line->depth--;
    mw_text_add(&line->text, "]");
}

static int type_columns(Printer *printer, const MwStatement *statement)
{
    MwLine line = {.text.arena = printer->out->arena};
    add_type(&line, &statement->declare.type);
    return (int)line.text.bytes;
}

static void add_padding(Printer *printer, int used, int columns)
{
    mw_text_printf(&printer->line.text, "%*s", (int)mw_max(columns - used, 0), "");
}

static void add_declaration(Printer *printer, const MwStatement *statement)
{
    const char *name = statement->declare.name.text;
    const int columns = type_columns(printer, statement);
    mw_text_printf(&printer->line.text, "%s %s: ", declaration_word(statement->kind), name);
    add_padding(printer, (int)strlen(name), printer->name_columns);
    add_type(&printer->line, &statement->declare.type);
    if (statement->declare.init) {
        add_padding(printer, columns, printer->type_columns);
        add(printer, " =");
        mw_line_may_break(&printer->line);
        mw_line_add_expr(&printer->line, statement->declare.init);
    }
    add_with(printer, &statement->annotations);
}

/* How many declarations from statement `first` on are aligned with it, and with how many columns.
 * */
static int count_aligned(Printer *printer, const MwBody *body, int first)
{
    int shortest_name = INT32_MAX, shortest_type = INT32_MAX, name = 0, type = 0, i;
    for (i = first; i < body->count && body->at[i]->kind == body->at[first]->kind; i++) {
        const int of_name = (int)strlen(body->at[i]->declare.name.text);
        const int of_type = type_columns(printer, body->at[i]);
        shortest_name = (int)mw_min(shortest_name, of_name);
        shortest_type = (int)mw_min(shortest_type, of_type);
        if (mw_max(name, of_name) - shortest_name > MAX_NAME_PADDING ||
            mw_max(type, of_type) - shortest_type > MAX_TYPE_PADDING)
            break;
        name = (int)mw_max(name, of_name);
        type = (int)mw_max(type, of_type);
    }
    printer->name_columns = name;
    printer->type_columns = type;
    return i - first;
}

/* ---- statements ---- */

static void add_names(Printer *printer, const MwNames *names)
{
    for (int i = 0; i < names->count; i++) {
        if (i) {
            add(printer, ",");
            mw_line_may_break(&printer->line);
        }
        add(printer, names->at[i].text);
    }
}

/* `word a, b = value with ...` */
static void add_let(Printer *printer, const char *word, const MwStatement *statement)
{
    add(printer, word);
    add_names(printer, &statement->let.targets);
    if (statement->let.value) {
        add(printer, " = ");
        mw_line_add_expr(&printer->line, statement->let.value);
    }
    add_with(printer, &statement->annotations);
}

static void add_named(Printer *printer, const char *word, MwName name, const MwExpr *value)
{
    mw_text_printf(&printer->line.text, "%s %s = ", word, name.text);
    mw_line_add_expr(&printer->line, value);
}

static void add_repeat(Printer *printer, const MwStatement *statement)
{
    add(printer, "repeat ");
    mw_line_add_expr(&printer->line, statement->repeat.count);
    if (statement->repeat.index.text)
        mw_text_printf(&printer->line.text, " as %s", statement->repeat.index.text);
    add_with(printer, &statement->annotations);
    add_body(printer, &statement->repeat.body);
}

static void add_repeated(Printer *printer, const MwStatement *statement)
{
    add_named(printer, "repeat", statement->repeated.name, statement->repeated.count);
    if (!statement->repeated.parent)
        return;
    add(printer, " with repeat = ");
    mw_line_add_expr(&printer->line, statement->repeated.parent);
}

static void add_scan(Printer *printer, const MwStatement *statement)
{
    add(printer, "scan ");
    for (int i = 0; i < statement->scan.sources.count; i++) {
        const MwScanSource *source = &statement->scan.sources.at[i];
        if (i) {
            add(printer, ",");
            mw_line_may_break(&printer->line);
        }
        mw_line_add_expr(&printer->line, source->value);
        if (source->name.text)
            mw_text_printf(&printer->line.text, " as %s", source->name.text);
    }
    add_with(printer, &statement->annotations);
    add_body(printer, &statement->scan.body);
}

/* An IF alone in the other branch is written as `else if`. */
static void add_choice(Printer *printer, const MwStatement *statement)
{
    for (;;) {
        add(printer, "if ");
        mw_line_add_expr(&printer->line, statement->choice.condition);
        add_body(printer, &statement->choice.yes);
        const MwBody *no = &statement->choice.no;
        if (!no->count)
            return;
        add(printer, " else");
        if (no->count > 1 || no->at[0]->kind != MW_STATEMENT_IF) {
            add_body(printer, no);
            return;
        }
        add(printer, " ");
        statement = no->at[0];
    }
}

static void add_train(Printer *printer, const MwStatement *statement)
{
    add(printer, "train ");
    mw_line_add_expr(&printer->line, statement->train.loss);
    add(printer, " with ");
    mw_line_add_expr(&printer->line, statement->train.optimizer);
    if (!statement->annotations.count)
        return;
    add(printer, ",");
    mw_line_may_break(&printer->line);
    mw_line_add_args(&printer->line, &statement->annotations);
}

static void add_statement(Printer *printer, const MwStatement *statement)
{
    switch (statement->kind) {
    case MW_STATEMENT_INPUT:
    case MW_STATEMENT_WEIGHT:
    case MW_STATEMENT_STATE:
        add_declaration(printer, statement);
        break;
    case MW_STATEMENT_LET:
        add_let(printer, "", statement);
        break;
    case MW_STATEMENT_REPEAT:
        add_repeat(printer, statement);
        break;
    case MW_STATEMENT_REPEATED:
        add_repeated(printer, statement);
        break;
    case MW_STATEMENT_SCAN:
        add_scan(printer, statement);
        break;
    case MW_STATEMENT_COLLECT:
        add_named(printer, "collect", statement->collect.target, statement->collect.value);
        add_with(printer, &statement->annotations);
        break;
    case MW_STATEMENT_IF:
        add_choice(printer, statement);
        break;
    case MW_STATEMENT_RETURN:
        add(printer, "return ");
        mw_line_add_exprs(&printer->line, &statement->results);
        add_with(printer, &statement->annotations);
        break;
    case MW_STATEMENT_OUTPUT:
        add_let(printer, "output ", statement);
        break;
    case MW_STATEMENT_SHOW:
        add_let(printer, "show ", statement);
        break;
    case MW_STATEMENT_ASSIGN:
        add_named(printer, "assign", statement->assign.target, statement->assign.value);
        break;
    case MW_STATEMENT_PRECISION:
        add(printer, "precision ");
        mw_line_add_expr(&printer->line, statement->precision);
        break;
    case MW_STATEMENT_TRAIN:
        add_train(printer, statement);
        break;
    }
}

static void print_body(Printer *printer, const MwBody *body)
{
    for (int i = 0, aligned = 0; i < body->count; i++) {
        if (!aligned && declaration_word(body->at[i]->kind))
            aligned = count_aligned(printer, body, i);
        if (aligned)
            aligned--;
        add_statement(printer, body->at[i]);
        end_line(printer);
    }
}

/* ---- items ---- */

/* Whether two sizes stand on one line: as in their source, if both have one. */
static bool on_one_line(const MwItem *a, const MwItem *b)
{
    const MwSource *source = a->span.source;
    if (!source || source != b->span.source)
        return !source && !b->span.source;
    return b->span.begin >= a->span.end &&
           !memchr(source->text + a->span.end, '\n', b->span.begin - a->span.end);
}

/* The sizes from item `first` on that stand on its line. Returns how many they are. */
static int print_sizes(Printer *printer, const MwItems *items, int first)
{
    int i = first;
    add(printer, "size ");
    for (;;) {
        const MwItem *item = &items->at[i++];
        MwText next = {.arena = printer->out->arena};
        mw_text_printf(&printer->line.text, "%s = ", item->name.text);
        mw_line_add_expr(&printer->line, item->value);
        if (i == items->count || items->at[i].kind != MW_ITEM_SIZE ||
            !on_one_line(item, &items->at[i]))
            break;
        mw_text_printf(&next, ", %s = ", items->at[i].name.text);
        mw_expr_print(&next, items->at[i].value);
        if (printer->line.text.bytes + next.bytes > MW_PRINT_COLUMNS)
            break;
        add(printer, ", ");
    }
    end_line(printer);
    return i - first;
}

static void print_block(Printer *printer, const MwItem *item)
{
    const MwParams *params = &item->block->params;
    const bool is_model = item->kind == MW_ITEM_MODEL;
    mw_text_printf(&printer->line.text, "%s %s", is_model ? "model" : "block", item->name.text);
    if (!is_model) {
        add(printer, "(");
        printer->line.depth++;
    }
    for (int i = 0; i < params->count; i++) {
        if (i) {
            add(printer, ",");
            mw_line_may_break(&printer->line);
        }
        add(printer, params->at[i].name.text);
        if (!params->at[i].fallback)
            continue;
        add(printer, " = ");
        mw_line_add_expr(&printer->line, params->at[i].fallback);
    }
    if (!is_model) {
        add(printer, ")");
        printer->line.depth--;
    }
    add_body(printer, &item->block->body);
    end_line(printer);
}

static void print_import(Printer *printer, const MwItem *item)
{
    MwExpr path = {.kind = MW_EXPR_TEXT, .text = item->name.text};
    add(printer, "import ");
    mw_line_add_expr(&printer->line, &path);
    end_line(printer);
}

void mw_items_print(MwText *text, const MwItems *items)
{
    Printer printer = {.out = text, .line.text.arena = text->arena};
    for (int i = 0; i < items->count;) {
        const MwItem *item = &items->at[i];
        const bool alone = item->kind == MW_ITEM_BLOCK || item->kind == MW_ITEM_MODEL;
        if (i && (alone || items->at[i - 1].kind != item->kind))
            mw_text_add(text, "\n");
        if (item->kind == MW_ITEM_SIZE) {
            i += print_sizes(&printer, items, i);
            continue;
        }
        if (alone)
            print_block(&printer, item);
        else
            print_import(&printer, item);
        i++;
    }
}
