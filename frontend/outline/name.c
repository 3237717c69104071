/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of values in a body. Every value has a name of its own, but for what a person would
 * write as `x = x + f(x)`: a value may take the name of one that it is computed from and that
 * nothing uses any more, if that name is `x`, or is carried through a repeat. */
#include "frontend/outline/name.h"

#include "frontend/functions/functions.h"
#include "frontend/outline/pieces.h"
#include "frontend/syntax/parse.h"
#include "frontend/terms/names.h"

#include <ctype.h>
#include <string.h>

/* What a value is called, and where it is. */
typedef struct MwNamed Named;

struct MwNamed {
    const char *name;
    int list;     /* that gives it, by number; 0: it is declared, and never loses its name */
    int last;     /* the last line of that list that uses it */
    bool is_kept; /* its name is seen outside: it is a loss or an output */
    const MwOutlineLine *line; /* that gives it; NULL: none does yet */
    const char *wanted;        /* what it would best be called; NULL: nothing in particular */
};

/* Values that are carried through the repeat whose body is being named. */
typedef struct {
    int before, after; /* what is carried into the first iteration, and what it gives to the next */
    const char *name;
} Carried;

typedef MW_VEC(Carried) CarriedList;

typedef struct {
    MwOutliner *outliner;
    Named *named;       /* [values] */
    MwNameMap holders;  /* names of this body -> value that has it, plus 2; 1: none may take it */
    MwNameMap suffixes; /* words -> last number that made one new, less 1 */
    MwInts values;      /* that have a name in this body */
    int lists;          /* numbered so far */
} Namer;

/* The list being named. */
typedef struct {
    int list;
    const CarriedList *carried; /* NULL: it is that of the block */
    MwNameMap inner;            /* names that repeats in the list declare -> any */
} Scope;

/* ---- words ---- */

bool mw_outliner_is_free(MwOutliner *outliner, const char *name)
{
    return !mw_name_map_find(&outliner->taken, name) && !mw_name_is_predefined(name) &&
           mw_text_is_name(name);
}

/* Whether the name is that of a block or a function that calls are written with. It could be that
 * of a value too, but `mean = mean(x)` is no good reading. */
static bool is_called(const MwOutliner *outliner, const char *name)
{
    return mw_name_map_find(&outliner->file_names, name) ||
           (mw_function_exists(name) && !mw_function_is_operator(name));
}

const char *mw_good_word(MwOutliner *outliner, const char *word)
{
    if (isdigit((unsigned char)*word))
        return mw_intern_printf(outliner->interner, "w_%s", word);
    if (strcmp(word, "output") == 0)
        return mw_intern(outliner->interner, "out");
    if (!mw_text_is_name(word) || mw_name_is_predefined(word))
        return mw_intern_printf(outliner->interner, "%s_value", word);
    const char *name = mw_intern(outliner->interner, word);
    return is_called(outliner, name) ? mw_intern_printf(outliner->interner, "%s_out", word) : name;
}

const char *mw_value_word(const MwOutliner *outliner, int value)
{
    const char *name = outliner->flat->values.at[value].name;
    const char *dot = strrchr(name, '.');
    name = dot ? dot + 1 : name;
    size_t length = strlen(name);
    while (length > 1 && isdigit((unsigned char)name[length - 1]))
        length--;
    if (length > 1 && name[length] && name[length - 1] == '_')
        length--;
    else
        length = strlen(name);
    return isdigit((unsigned char)*name) ? mw_intern(outliner->interner, "x")
                                         : mw_intern_n(outliner->interner, name, length);
}

static bool is_free(Namer *namer, const char *name)
{
    return !mw_name_map_find(&namer->holders, name) && mw_outliner_is_free(namer->outliner, name);
}

static void hold(Namer *namer, const char *name, int value)
{
    *mw_name_map_add(&namer->holders, name) = (void *)(intptr_t)(value + 2);
}

/* `word`, or with the least number that makes it new in the body. */
static const char *new_name(Namer *namer, const char *word)
{
    MwInterner *interner = namer->outliner->interner;
    const char *base = mw_good_word(namer->outliner, word), *name = base;
    if (is_free(namer, name))
        return name;
    intptr_t suffix = (intptr_t)mw_name_map_get(&namer->suffixes, base);
    do
        name = mw_intern_printf(interner, "%s_%ld", base, (long)(++suffix + 1));
    while (!is_free(namer, name));
    *mw_name_map_add(&namer->suffixes, base) = (void *)suffix;
    return name;
}

/* ---- what is used where ---- */

static void set_last(Namer *namer, const MwOutlineLines *lines, int line)
{
    for (int i = 0; i < lines->count; i++) {
        const MwOutlineLine *inner = &lines->at[i];
        for (int k = 0; k < inner->refs.count; k++)
            namer->named[inner->refs.at[k].value].last = line;
        if (inner->body)
            set_last(namer, inner->body, line);
    }
}

static void find_last_lines(Namer *namer, const MwOutlineLines *lines)
{
    for (int i = 0; i < lines->count; i++) {
        const MwOutlineLine *line = &lines->at[i];
        for (int k = 0; k < line->refs.count; k++)
            namer->named[line->refs.at[k].value].last = i;
        if (!line->body)
            continue;
        set_last(namer, line->body, i);
        for (int j = 0; j < line->first->inputs.count; j++)
            namer->named[line->first->inputs.at[j]].last = i;
    }
}

/* Whether nothing uses the value any more once line i of the list has run. */
static bool is_dead(const Namer *namer, const Scope *scope, int value, int i)
{
    const Named *named = &namer->named[value];
    bool is_here = named->list == scope->list;
    for (int c = 0; scope->carried && c < scope->carried->count; c++)
        is_here |= scope->carried->at[c].before == value;
    return is_here && named->last <= i;
}

/* ---- choosing ---- */

/* A value that the line computes its result from, in the way in which `x = x + y` does; -1: none.
 * */
static int replaced_value(const MwOutlineLine *line, int which)
{
    const MwExpr *expr = line->statement->let.value;
    const MwExpr *operand = NULL;
    if (expr->kind == MW_EXPR_BINARY && expr->binary.op != MW_BINARY_MATMUL)
        operand = which ? expr->binary.right : expr->binary.left;
    else if (expr->kind == MW_EXPR_CALL && (line->is_step || !line->wanted) &&
             expr->call.args.count && !which)
        operand = expr->call.args.at[0].value;
    else if (expr->kind == MW_EXPR_INDEX && !which)
        operand = expr->index.of;
    for (int k = 0; operand && k < line->refs.count; k++)
        if (line->refs.at[k].expr == operand)
            return line->refs.at[k].value;
    return -1;
}

static const Carried *find_carried(const Scope *scope, int value)
{
    for (int c = 0; scope->carried && c < scope->carried->count; c++)
        if (scope->carried->at[c].after == value)
            return &scope->carried->at[c];
    return NULL;
}

/* Whether the name is one that values take from each other: `x`, or that of what is carried. */
static bool is_main_name(const Scope *scope, const char *name)
{
    bool is_main = strcmp(name, "x") == 0;
    for (int c = 0; scope->carried && c < scope->carried->count; c++)
        is_main |= scope->carried->at[c].name == name;
    return is_main;
}

/* The name of a value that the one result of line i replaces; NULL: none. */
static const char *replaced_name(const Namer *namer, const Scope *scope, const MwOutlineLine *line,
                                 int i)
{
    const char *wanted = namer->named[line->results.at[0]].wanted;
    for (int which = 0; which < 2; which++) {
        const int value = replaced_value(line, which);
        const char *name = value < 0 ? NULL : namer->named[value].name;
        const bool is_wanted = name && wanted && strcmp(name, wanted) == 0;
        if (name && (is_wanted || is_main_name(scope, name)) && is_dead(namer, scope, value, i))
            return name;
    }
    return NULL;
}

static bool is_name_dead(const Namer *namer, const Scope *scope, const char *name, int i)
{
    const int holder = (int)(intptr_t)mw_name_map_get(&namer->holders, name) - 2;
    return holder >= 0 && is_dead(namer, scope, holder, i);
}

static const char *choose_name(Namer *namer, const Scope *scope, const MwOutlineLine *line, int k,
                               int i)
{
    const int value = line->results.at[k];
    const Named *named = &namer->named[value];
    if (named->name)
        return named->name;
    const Carried *carried = find_carried(scope, value);
    if (carried && is_name_dead(namer, scope, carried->name, i))
        return carried->name;
    const bool is_one = line->results.count == 1;
    const char *replaced = !carried && is_one ? replaced_name(namer, scope, line, i) : NULL;
    if (replaced)
        return replaced;
    const char *word = mw_value_word(namer->outliner, value);
    if (named->wanted)
        word = named->wanted;
    else if (is_one && line->wanted)
        word = line->wanted;
    else if (is_one && line->is_step)
        word = "x";
    return new_name(namer, word);
}

/* ---- statements ---- */

static void give_name(Namer *namer, const Scope *scope, int value, const char *name)
{
    namer->named[value].name = name;
    namer->named[value].list = scope->list;
    mw_vec_push(namer->outliner->arena, &namer->values, value);
    hold(namer, name, value);
}

static void add_copy(Namer *namer, MwBody *out, const char *target, const char *name)
{
    MwArena *arena = namer->outliner->arena;
    MwStatement *statement = mw_new_statement(arena, MW_STATEMENT_LET, mw_span_none());
    mw_vec_push(arena, &statement->let.targets, ((MwName){.text = target}));
    statement->let.value = mw_new_name_expr(arena, name);
    mw_vec_push(arena, out, statement);
}

static void name_lines(Namer *namer, const MwOutlineLines *lines, const CarriedList *carried,
                       MwBody *out);

/* What is carried through a repeat. A value that ends with the repeat gives its name to it; another
 * is copied first. */
static CarriedList begin_carried(Namer *namer, const Scope *scope, const MwOutlineLine *line, int i,
                                 MwBody *out)
{
    CarriedList list = {0};
    for (int j = 0; j < line->first->inputs.count; j++) {
        const int output = line->run->output[j];
        if (output < 0)
            continue;
        const int before = line->first->inputs.at[j];
        const Named *named = &namer->named[before];
        Carried carried = {before, line->first->outputs.at[output], named->name};
        if (!is_dead(namer, scope, before, i) || named->is_kept) {
            carried.name = new_name(namer, "x");
            hold(namer, carried.name, before);
            add_copy(namer, out, carried.name, named->name);
        }
        mw_vec_push(namer->outliner->arena, &list, carried);
    }
    return list;
}

/* After the repeat its last iteration's outputs have the names of what is carried. */
static void end_carried(Namer *namer, const Scope *scope, const MwOutlineLine *line,
                        const CarriedList *carried, MwBody *out)
{
    for (int c = 0; c < carried->count; c++) {
        int k = 0;
        while (line->first->outputs.at[k] != carried->at[c].after)
            k++;
        const int value = line->last->outputs.at[k];
        const char *name = carried->at[c].name;
        if (namer->named[value].is_kept)
            add_copy(namer, out, namer->named[value].name, name);
        else
            give_name(namer, scope, value, name);
        namer->named[value].list = scope->list;
    }
}

static void name_repeat(Namer *namer, const Scope *scope, const MwOutlineLine *line, int i,
                        MwBody *out)
{
    MwArena *arena = namer->outliner->arena;
    const MwInts *inputs = &line->first->inputs;
    CarriedList carried = begin_carried(namer, scope, line, i, out);
    Named *saved = MW_NEW(arena, Named, inputs->count);
    for (int j = 0; j < inputs->count; j++)
        saved[j] = namer->named[inputs->at[j]];
    for (int c = 0; c < carried.count; c++)
        namer->named[carried.at[c].before].name = carried.at[c].name;
    line->statement->repeat.body = (MwBody){0};
    name_lines(namer, line->body, &carried, &line->statement->repeat.body);
    for (int j = 0; j < inputs->count; j++)
        namer->named[inputs->at[j]] = saved[j];
    mw_vec_push(arena, out, line->statement);
    end_carried(namer, scope, line, &carried, out);
}

static void name_results(Namer *namer, const Scope *scope, const MwOutlineLine *line, int i)
{
    MwStatement *statement = line->statement;
    for (int k = 0; k < line->results.count; k++) {
        const char *name = choose_name(namer, scope, line, k, i);
        if (statement->kind == MW_STATEMENT_ASSIGN) {
            statement->assign.target = (MwName){.text = name};
            continue;
        }
        give_name(namer, scope, line->results.at[k], name);
        mw_vec_push(namer->outliner->arena, &statement->let.targets, ((MwName){.text = name}));
    }
}

/* `output y = y` is `output y`. */
static void shorten_outside(MwStatement *statement)
{
    const bool is_outside =
        statement->kind == MW_STATEMENT_OUTPUT || statement->kind == MW_STATEMENT_SHOW;
    if (is_outside && statement->let.value->kind == MW_EXPR_NAME &&
        statement->let.value->text == statement->let.targets.at[0].text)
        statement->let.value = NULL;
}

static bool is_declaration(const MwOutlineLine *line)
{
    const MwStatementKind kind = line->statement->kind;
    return kind == MW_STATEMENT_INPUT || kind == MW_STATEMENT_WEIGHT || kind == MW_STATEMENT_STATE;
}

/* A weight whose name a repeat in the list declares again gets another one, which stays. */
static void name_declaration(Namer *namer, const Scope *scope, const MwOutlineLine *line,
                             MwBody *out)
{
    const int value = line->results.at[0];
    const char *name = line->statement->declare.name.text;
    mw_vec_push(namer->outliner->arena, out, line->statement);
    if (!mw_name_map_find(&scope->inner, name))
        return;
    const char *other = new_name(namer, mw_value_word(namer->outliner, value));
    hold(namer, other, -1);
    add_copy(namer, out, other, name);
    namer->named[value].name = other;
}

/* Adds the names that the lines declare to the map. */
static void find_declared(const MwOutlineLines *lines, MwNameMap *names)
{
    for (int i = 0; i < lines->count; i++) {
        const MwOutlineLine *line = &lines->at[i];
        if (line->body)
            find_declared(line->body, names);
        else if (is_declaration(line))
            mw_name_map_add(names, line->statement->declare.name.text);
    }
}

static void name_line(Namer *namer, const Scope *scope, const MwOutlineLine *line, int i,
                      MwBody *out)
{
    if (line->body) {
        name_repeat(namer, scope, line, i, out);
        return;
    }
    if (is_declaration(line)) {
        name_declaration(namer, scope, line, out);
        return;
    }
    for (int k = 0; k < line->refs.count; k++) {
        const MwValueRef *ref = &line->refs.at[k];
        MW_ASSERT(namer->named[ref->value].name != NULL);
        ref->expr->text = namer->named[ref->value].name;
    }
    name_results(namer, scope, line, i);
    shorten_outside(line->statement);
    mw_vec_push(namer->outliner->arena, out, line->statement);
}

static void name_lines(Namer *namer, const MwOutlineLines *lines, const CarriedList *carried,
                       MwBody *out)
{
    Scope scope = {++namer->lists, carried, {.arena = namer->outliner->arena}};
    for (int i = 0; i < lines->count; i++)
        if (lines->at[i].body)
            find_declared(lines->at[i].body, &scope.inner);
    find_last_lines(namer, lines);
    for (int c = 0; carried && c < carried->count; c++)
        namer->named[carried->at[c].after].last = lines->count;
    for (int i = 0; i < lines->count; i++)
        name_line(namer, &scope, &lines->at[i], i, out);
    for (int c = 0; carried && c < carried->count; c++) {
        const char *name = namer->named[carried->at[c].after].name;
        if (name != carried->at[c].name)
            add_copy(namer, out, carried->at[c].name, name);
    }
}

/* The names that are seen outside: of outputs, and of losses. */
static void keep_outside(Namer *namer, const MwOutlineLine *line)
{
    MwStatement *statement = line->statement;
    const bool is_train = statement->kind == MW_STATEMENT_TRAIN;
    const MwExpr *expr = is_train ? statement->train.loss : statement->let.value;
    const char *name = is_train ? line->wanted : statement->let.targets.at[0].text;
    const bool is_value = line->refs.count && line->refs.at[0].expr == expr;
    const int value = is_value ? line->refs.at[0].value : -1;
    if (!name || mw_name_map_find(&namer->holders, name))
        return;
    hold(namer, name, -1);
    if (value < 0 || namer->named[value].name)
        return;
    namer->named[value].name = name;
    namer->named[value].is_kept = true;
}

/* The losses come first: what they are called is seen whatever outputs they are. */
static void keep_all_outside(Namer *namer, const MwOutlineLines *lines)
{
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < lines->count; i++) {
            const MwStatementKind kind = lines->at[i].statement->kind;
            const bool is_output = kind == MW_STATEMENT_OUTPUT || kind == MW_STATEMENT_SHOW;
            if (round == 0 ? kind == MW_STATEMENT_TRAIN : is_output)
                keep_outside(namer, &lines->at[i]);
        }
}

/* What a value would best be called, and what it is a part of that it replaces. */
static void want(Namer *namer, int value, const char *word)
{
    Named *named = &namer->named[value];
    if (!named->line || named->line->wanted)
        return;
    named->wanted = word;
    const int before = named->line->results.count == 1 ? replaced_value(named->line, 0) : -1;
    if (before >= 0 && namer->named[before].line && namer->named[before].line->results.count > 1)
        namer->named[before].wanted = word;
}

/* What attention takes is best called q, k and v. */
static void want_of_attention(Namer *namer, const MwOutlineLine *line, const MwExpr *expr)
{
    static const char *const words[] = {"q", "k", "v"};
    if (expr->kind != MW_EXPR_CALL)
        return;
    const bool is_attention = strcmp(expr->call.callee.text, "sdpa") == 0;
    for (int i = 0; i < expr->call.args.count; i++) {
        const MwExpr *arg = expr->call.args.at[i].value;
        want_of_attention(namer, line, arg);
        for (int k = 0; is_attention && i < MW_COUNT(words) && k < line->refs.count; k++)
            if (line->refs.at[k].expr == arg)
                want(namer, line->refs.at[k].value, words[i]);
    }
}

/* Finds what values would best be called by what they are for: one that is carried into a repeat x.
 * */
static void find_wanted(Namer *namer, MwOutlineLines *lines)
{
    for (int i = 0; i < lines->count; i++) {
        const bool is_let = lines->at[i].statement->kind == MW_STATEMENT_LET;
        for (int k = 0; is_let && k < lines->at[i].results.count; k++)
            namer->named[lines->at[i].results.at[k]].line = &lines->at[i];
        if (is_let)
            want_of_attention(namer, &lines->at[i], lines->at[i].statement->let.value);
    }
    for (int i = 0; i < lines->count; i++) {
        const MwOutlineLine *line = &lines->at[i];
        if (!line->body)
            continue;
        for (int j = 0; j < line->first->inputs.count; j++) {
            if (line->run->output[j] >= 0)
                namer->named[line->first->inputs.at[j]].wanted = "x";
        }
        find_wanted(namer, line->body);
    }
}

struct MwNamed *mw_lines_new_names(MwArena *arena, int values)
{
    return MW_NEW(arena, Named, values);
}

void mw_lines_name(MwOutliner *outliner, MwOutlineBody *body, const char *const *parameters,
                   MwBody *statements)
{
    MwArena *arena = outliner->arena;
    Namer namer = {.outliner = outliner,
                   .named = outliner->named,
                   .holders = {.arena = arena},
                   .suffixes = {.arena = arena}};
    for (int i = 0; i < body->names.entries.count; i++)
        hold(&namer, body->names.entries.at[i].name, -1);
    for (int i = 0; i < body->declared.count; i++) {
        const MwValueRef *declared = &body->declared.at[i];
        namer.named[declared->value].name = declared->expr->text;
        hold(&namer, declared->expr->text, -1);
    }
    const MwModuleUnit *unit = body->unit;
    for (int j = 0; j < unit->inputs.count; j++) {
        namer.named[unit->inputs.at[j]] = (Named){.name = parameters[j], .list = 1};
        hold(&namer, parameters[j], unit->inputs.at[j]);
    }
    keep_all_outside(&namer, &body->lines);
    find_wanted(&namer, &body->lines);
    name_lines(&namer, &body->lines, NULL, statements);
    for (int j = 0; j < unit->inputs.count; j++)
        namer.named[unit->inputs.at[j]] = (Named){0};
    for (int i = 0; i < namer.values.count; i++)
        namer.named[namer.values.at[i]] = (Named){0};
}
