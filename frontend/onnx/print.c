/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/print.h"

#include "frontend/onnx/names.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EXPRESSION_SIZE = 6 }; /* operators in one statement */

typedef struct {
    MwText *text;
    MwOnnxImport *import;
} Printer;

/* ---- What is printed where ---- */

/* The number at a place of a text that stands for an operand; -1: it is none. */
static int operand_at(const char *at)
{
    return (*at == '$' || *at == '#') && isdigit((unsigned char)at[1]) ? atoi(at + 1) : -1;
}

/* An expression may have an operand several times. */
static void use_operands(const MwOnnxTerm *term)
{
    for (const char *at = term->text; *at; at++)
        if (operand_at(at) >= 0)
            term->operands[operand_at(at)]->uses++;
}

/* Uses of all terms that outputs need; without recursion, since models are deep: operands stand
 * before their users. */
static void find_uses(MwOnnxImport *import, MwOnnxTerm *const *outputs)
{
    for (int i = 0; i < import->terms.count; i++)
        import->terms.at[i]->uses = 0;
    for (int i = 0; i < import->graph->outputs.count; i++)
        outputs[i]->uses++;
    for (int i = import->terms.count - 1; i >= 0; i--) {
        const MwOnnxTerm *term = import->terms.at[i];
        if (term->uses && term->kind == MW_ONNX_TERM_PART)
            term->operands[0]->uses++;
        else if (term->uses && term->kind == MW_ONNX_TERM_VALUE)
            use_operands(term);
    }
}

/* Moves what depends on no weight, such as a mask, out to the module that all of its users are in:
 * an exporter computes it in the first of several layers, which then is not like the others. */
static void hoist_shared(MwOnnxImport *import)
{
    for (int i = 0; i < import->terms.count; i++) {
        MwOnnxTerm *term = import->terms.at[i];
        term->weighted = term->kind == MW_ONNX_TERM_WEIGHT;
        for (int k = 0; k < term->operand_count; k++)
            term->weighted |= term->operands[k]->weighted;
    }
    for (int i = import->terms.count - 1; i >= 0; i--) {
        const MwOnnxTerm *user = import->terms.at[i];
        for (int k = 0; user->uses && k < user->operand_count; k++) {
            MwOnnxTerm *operand = user->operands[k];
            if (!operand->weighted && operand->module)
                operand->module =
                    mw_onnx_common_module(import->interner, operand->module, user->module);
        }
    }
}

/* Whether a term may stand within the expression of a user. */
static bool fits_within(const MwOnnxTerm *term, const MwOnnxTerm *user, int room)
{
    if (term->kind != MW_ONNX_TERM_VALUE || term->alone || term->parts != 1)
        return false;
    if (term->operand_count == 0)
        return true;
    return term->uses == 1 && user->kind == MW_ONNX_TERM_VALUE && !user->locals &&
           strcmp(term->module, user->module) == 0 && term->size <= room;
}

/* Decides which terms have statements, in order, so that operands are decided first: a term that
 * stands in its user has no name. */
static void decide_places(Printer *printer, MwOnnxTerm *const *outputs)
{
    MwOnnxImport *import = printer->import;
    for (int i = 0; i < import->graph->outputs.count; i++)
        outputs[i]->alone = true;
    for (int i = 0; i < import->terms.count; i++) {
        MwOnnxTerm *term = import->terms.at[i];
        if (term->kind != MW_ONNX_TERM_VALUE || !term->uses)
            continue;
        term->size = 1;
        for (int k = 0; k < term->operand_count; k++) {
            MwOnnxTerm *operand = term->operands[k];
            if (fits_within(operand, term, MAX_EXPRESSION_SIZE - term->size))
                term->size += operand->size;
            else
                operand->alone = true;
        }
    }
}

static bool is_inline(const MwOnnxTerm *term)
{
    return term->kind == MW_ONNX_TERM_NUMBER ||
           (term->kind == MW_ONNX_TERM_VALUE && !term->alone && term->parts == 1);
}

/* ---- Names ---- */

static const char *new_name(Printer *printer, const char *module, const char *local)
{
    MwInterner *interner = printer->import->interner;
    const char *name = *module ? mw_intern_printf(interner, "%s.%s", module, local)
                               : mw_onnx_clean_name(interner, local);
    return mw_onnx_unique_name(printer->import, name);
}

/* ---- Expressions ---- */

static void print_term(Printer *printer, const MwOnnxTerm *term);

/* An operand that is an expression stands in brackets where an operator may be beside it: behind #,
 * and not behind $. */
static void print_operand(Printer *printer, const MwOnnxTerm *term, char place)
{
    const bool bracket = place == '#' && is_inline(term);
    mw_text_add(printer->text, bracket ? "(" : "");
    print_term(printer, term);
    mw_text_add(printer->text, bracket ? ")" : "");
}

static void print_expression(Printer *printer, const MwOnnxTerm *term)
{
    for (const char *at = term->text; *at; at++) {
        const int operand = operand_at(at);
        if (operand < 0) {
            mw_text_add_n(printer->text, at, 1);
            continue;
        }
        print_operand(printer, term->operands[operand], *at);
        while (isdigit((unsigned char)at[1]))
            at++;
    }
}

static void print_term(Printer *printer, const MwOnnxTerm *term)
{
    if (!is_inline(term))
        mw_text_add(printer->text, term->name);
    else if (term->kind == MW_ONNX_TERM_NUMBER)
        mw_text_add(printer->text, term->text);
    else
        print_expression(printer, term);
}

/* ---- Statements ---- */

static void print_type(Printer *printer, const MwOnnxShape *shape)
{
    mw_text_printf(printer->text, "%s[%s]", mw_type_name(shape->type),
                   mw_onnx_dims_text(printer->import, shape->rank, shape->dim));
}

/* What such elements might begin with where no file of weights is given: their number if all are
 * equal; a vector with what it is nearest to, as scales and biases are; a matrix near 0. It does
 * not depend on what else they are, so that layers that are alike stay so. */
static const char *initialiser(Printer *printer, const MwOnnxTensor *tensor, int rank)
{
    const double first = mw_onnx_number(tensor, 0);
    double sum = 0;
    if (!mw_type_is_float(tensor->type))
        return "zeros";
    if (mw_onnx_is_uniform(tensor) && isfinite(first))
        return first == 0   ? "zeros"
               : first == 1 ? "ones"
                            : mw_onnx_text(printer->import, "constant(%s)",
                                           mw_onnx_number_text(printer->import, MW_F32, first));
    if (rank >= 2)
        return "normal(0.02)";
    for (int64_t i = 0; i < tensor->count; i++)
        sum += mw_onnx_number(tensor, i);
    return sum > 0.5 * (double)tensor->count ? "ones" : "zeros";
}

static void print_declaration(Printer *printer, const MwOnnxTerm *term)
{
    const bool is_input = term->kind == MW_ONNX_TERM_INPUT;
    mw_text_printf(printer->text, "  %s %s: ",
                   is_input                            ? "input"
                   : term->kind == MW_ONNX_TERM_WEIGHT ? "weight"
                                                       : "state",
                   term->name);
    print_type(printer, &term->shape);
    if (!is_input)
        mw_text_printf(printer->text, " = %s",
                       initialiser(printer, term->tensor, term->shape.rank));
    mw_text_add(printer->text, term->whole ? " with batch = false\n" : "\n");
}

/* Of all terms of a kind that are needed; of inputs all. */
static void print_declarations(Printer *printer, unsigned kind)
{
    const MwOnnxImport *import = printer->import;
    for (int i = 0; i < import->terms.count; i++) {
        MwOnnxTerm *term = import->terms.at[i];
        if (term->kind == kind && (term->uses || kind == MW_ONNX_TERM_INPUT))
            print_declaration(printer, term);
    }
}

/* The names of the results of a term with several; the terms of these stand soon behind it. */
static const char **name_parts(Printer *printer, int at)
{
    const MwOnnxTerm *whole = printer->import->terms.at[at];
    const char **names = MW_NEW(printer->import->arena, const char *, whole->parts);
    for (int p = 0; p < whole->parts; p++) {
        const char *local = whole->locals ? whole->locals[p] : whole->local;
        names[p] = new_name(printer, whole->module, local);
    }
    for (int i = at + 1; i < printer->import->terms.count; i++) {
        MwOnnxTerm *term = printer->import->terms.at[i];
        if (term->kind != MW_ONNX_TERM_PART)
            continue;
        if (term->operands[0] != whole)
            break;
        term->name = names[term->part];
    }
    return names;
}

static void print_names(Printer *printer, const char **names, int count)
{
    for (int p = 0; p < count; p++)
        mw_text_printf(printer->text, "%s%s", p ? ", " : "", names[p]);
}

/* A text of several lines, in which @ and a digit is a name. */
static void print_statements(Printer *printer, const MwOnnxTerm *term, const char **names)
{
    mw_text_add(printer->text, "  ");
    for (const char *at = term->text; *at; at++) {
        if (*at == '@' && isdigit((unsigned char)at[1])) {
            mw_text_add(printer->text, names[*++at - '0']);
        } else if (operand_at(at) >= 0) {
            print_operand(printer, term->operands[at[1] - '0'], *at);
            at++;
        } else {
            mw_text_add(printer->text, *at == '\n' ? "\n  " : (const char[]){*at, '\0'});
        }
    }
    mw_text_add(printer->text, "\n");
}

static void print_values(Printer *printer)
{
    const MwOnnxImport *import = printer->import;
    for (int i = 0; i < import->terms.count; i++) {
        MwOnnxTerm *term = import->terms.at[i];
        if (term->kind != MW_ONNX_TERM_VALUE || !term->uses || is_inline(term))
            continue;
        if (term->locals) {
            print_statements(printer, term, name_parts(printer, i));
            continue;
        }
        mw_text_add(printer->text, "  ");
        if (term->parts > 1) {
            print_names(printer, name_parts(printer, i), term->parts);
        } else {
            term->name = new_name(printer, term->module, term->local);
            mw_text_add(printer->text, term->name);
        }
        mw_text_add(printer->text, " = ");
        print_expression(printer, term);
        mw_text_add(printer->text, "\n");
    }
}

static void print_sizes(Printer *printer)
{
    const MwOnnxSymbols *symbols = &printer->import->graph->symbols;
    bool any = false;
    for (int i = 0; i < symbols->count; i++)
        if (!symbols->at[i].is_fixed && i < MW_ONNX_MAX_SYMBOLS) {
            mw_text_printf(printer->text, "size %s = %lld\n", symbols->at[i].name,
                           (long long)symbols->at[i].value);
            any = true;
        }
    mw_text_add(printer->text, any ? "\n" : "");
}

/* The names of outputs, which no value of the model gets then: that of a tensor that is one, else
 * that of the file. */
static const char **reserve_outputs(Printer *printer, MwOnnxTerm *const *outputs)
{
    const MwOnnxGraph *graph = printer->import->graph;
    const char **names = MW_NEW(printer->import->arena, const char *, graph->outputs.count);
    for (int i = 0; i < graph->outputs.count; i++) {
        const char *name =
            mw_onnx_clean_name(printer->import->interner, graph->outputs.at[i]->name);
        const bool is_named = outputs[i]->name == name;
        names[i] = is_named ? name : mw_onnx_unique_name(printer->import, name);
    }
    return names;
}

/* `output logits = h.head`, or what has the name already. */
static void print_outputs(Printer *printer, MwOnnxTerm *const *outputs, const char **names)
{
    for (int i = 0; i < printer->import->graph->outputs.count; i++)
        if (outputs[i]->name == names[i])
            mw_text_printf(printer->text, "  output %s\n", names[i]);
        else
            mw_text_printf(printer->text, "  output %s = %s\n", names[i], outputs[i]->name);
}

const char **mw_onnx_print(MwText *text, MwOnnxImport *import, MwOnnxTerm *const *outputs)
{
    Printer printer = {.text = text, .import = import};
    const char **names = reserve_outputs(&printer, outputs);
    find_uses(import, outputs);
    hoist_shared(import);
    decide_places(&printer, outputs);
    print_sizes(&printer);
    mw_text_printf(text, "model %s {\n", mw_onnx_clean_name(import->interner, import->graph->name));
    print_declarations(&printer, MW_ONNX_TERM_INPUT);
    print_declarations(&printer, MW_ONNX_TERM_WEIGHT);
    print_declarations(&printer, MW_ONNX_TERM_STATE);
    print_values(&printer);
    print_outputs(&printer, outputs, names);
    mw_text_add(text, "}\n");
    return names;
}
