/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads `with key = value, …` on a statement. Some keys pin what the compiler would otherwise
 * decide: spec, stage, remat. The others are facts about nodes that a dump keeps: phase, scope,
 * repeat, layer (see ir/print.h), and of inputs whether they are of the batch. Where the statement
 * calls a block, scope is that of the call (scope.c). */
#include "frontend/expand/annotate.h"

#include "base/text.h"
#include "frontend/expand/eval.h"
#include "frontend/expand/scope.h"
#include "frontend/terms/names.h"
#include "ir/print.h"

#include <stdlib.h>
#include <string.h>

/* All keys; the first PIN_KEYS are pins. */
static const char *const keys[] = {"spec",  "ring",   "stage", "remat", "phase",
                                   "scope", "repeat", "layer", "batch"};
enum { PIN_KEYS = 4 };

enum { EVERY_RESULT = -1, NOT_A_PIN = -2 };

/* Parses `text` as a pin with the key `key`. Returns the number of the result that it pins, as 2
 * for "spec.2"; EVERY_RESULT for "spec"; NOT_A_PIN for other texts. */
static int pinned_result(const char *text, const char *key)
{
    size_t length = strlen(key);
    if (strncmp(text, key, length) != 0)
        return NOT_A_PIN;
    if (!text[length])
        return EVERY_RESULT;
    const char *number = text + length + 1;
    size_t digits = strspn(number, "0123456789");
    bool is_number = text[length] == '.' && digits > 0 && digits < 9 && !number[digits];
    return is_number ? atoi(number) : NOT_A_PIN;
}

/* Says whether the annotation is `key` for result k: `key.k`, or `key`, which is for every
 * result. */
static bool is_pin_key(const MwArg *annotation, const char *key, int k)
{
    int result = pinned_result(annotation->key.text, key);
    return result == EVERY_RESULT || result == k;
}

static bool is_pin(const MwArg *annotation)
{
    for (int i = 0; i < PIN_KEYS; i++)
        if (pinned_result(annotation->key.text, keys[i]) != NOT_A_PIN)
            return true;
    return false;
}

/* Checks that the key is known; adds an error if it is not. */
static bool check_key(MwExpander *ex, const MwArg *annotation)
{
    MwKnown known = {0};
    bool is_known = is_pin(annotation);
    for (int i = 0; i < MW_COUNT(keys); i++) {
        is_known |= i >= PIN_KEYS && strcmp(keys[i], annotation->key.text) == 0;
        mw_vec_push(ex->arena, &known, keys[i]);
    }
    if (!is_known)
        mw_expand_error(ex, annotation->key.span, "unknown annotation '%s'%s", annotation->key.text,
                        mw_expand_hint(ex, annotation->key.text, &known));
    return is_known;
}

static bool is_key(const MwArg *annotation, const char *key)
{
    return strcmp(annotation->key.text, key) == 0;
}

/* Returns how messages name the value of an annotation, and where it stands. */
static MwWant want_of(MwExpander *ex, const MwArg *annotation)
{
    return (MwWant){mw_arena_printf(ex->arena, "'%s'", annotation->key.text),
                    annotation->value->span};
}

/* ---- Facts about nodes ---- */

static bool read_phase(MwExpander *ex, const MwExpr *value)
{
    if (value->kind == MW_EXPR_NAME && mw_phase_parse(value->text, &ex->graph->phase))
        return true;
    mw_expand_error(ex, value->span, "'phase' is forward, backward, backward_weight or update");
    return false;
}

/* The scope of nodes is below that of the statement. */
static bool read_scope(MwExpander *ex, const MwArg *annotation)
{
    const char *path = mw_scope_read(ex, annotation);
    if (path)
        ex->graph->origin.scope = mw_name_in_scope(ex, path);
    return path != NULL;
}

bool mw_annotate_repeat(MwExpander *ex, const MwExpr *expr, int *repeat, int *iteration)
{
    const MwGraph *graph = ex->graph;
    MwTerm term = mw_eval(ex, expr, mw_one_value());
    int64_t *at;
    int count;
    if (!mw_want_ints(ex, term, (MwWant){"'repeat'", expr->span}, &at, &count))
        return false;
    if (count == 2 && at[0] >= 0 && at[0] < graph->repeats.count && at[1] >= 0 &&
        at[1] < graph->repeats.at[at[0]].count) {
        *repeat = (int)at[0];
        *iteration = (int)at[1];
        return true;
    }
    mw_expand_error(ex, expr->span,
                    "'repeat' is [R, I], iteration I of repeat R of the %d declared before",
                    graph->repeats.count);
    return false;
}

/* Reads the number of a layer or stage, which is at least 0. `kind` is the word for it in
 * messages. */
static bool read_index(MwExpander *ex, const MwArg *annotation, const char *kind, int *index)
{
    int64_t value;
    MwTerm term = mw_eval(ex, annotation->value, mw_one_value());
    if (!mw_want_int(ex, term, want_of(ex, annotation), &value))
        return false;
    if (value < 0 || value > INT32_MAX) {
        mw_expand_error(ex, annotation->value->span, "a %s is a number from 0 on, not %lld", kind,
                        (long long)value);
        return false;
    }
    *index = (int)value;
    return true;
}

/* Reads an annotation that is not a pin into the graph's phase and origin. */
static bool read_fact(MwExpander *ex, const MwArg *annotation)
{
    MwOrigin *origin = &ex->graph->origin;
    if (is_key(annotation, "batch")) {
        mw_expand_error(ex, annotation->key.span, "'batch' describes inputs alone");
        return false;
    }
    if (is_key(annotation, "phase"))
        return read_phase(ex, annotation->value);
    if (is_key(annotation, "scope"))
        return read_scope(ex, annotation);
    if (is_key(annotation, "layer"))
        return read_index(ex, annotation, "layer", &origin->layer);
    return mw_annotate_repeat(ex, annotation->value, &origin->repeat, &origin->iteration);
}

/* Checks that no earlier annotation has the key of annotation i. */
static bool check_once(MwExpander *ex, const MwArgs *annotations, int i)
{
    const MwName *key = &annotations->at[i].key;
    for (int k = 0; k < i; k++) {
        if (strcmp(annotations->at[k].key.text, key->text) != 0)
            continue;
        mw_expand_error(ex, key->span, "'%s' is given twice", key->text);
        return false;
    }
    return true;
}

bool mw_annotate_input(MwExpander *ex, const MwArgs *annotations, MwArgs *others, bool *whole)
{
    bool ok = true;
    *whole = false;
    *others = (MwArgs){0};
    for (int i = 0; i < annotations->count; i++) {
        const MwArg *annotation = &annotations->at[i];
        bool of_batch;
        if (!is_key(annotation, "batch")) {
            mw_vec_push(ex->arena, others, *annotation);
            continue;
        }
        MwTerm term = mw_eval(ex, annotation->value, mw_one_value());
        ok &= check_once(ex, annotations, i) &&
              mw_want_bool(ex, term, want_of(ex, annotation), &of_batch);
        *whole = ok && !of_batch;
    }
    return ok;
}

bool mw_annotate_repeat_scope(MwExpander *ex, const MwArgs *annotations, MwRepeatScope *scope)
{
    for (int i = 0; i < annotations->count; i++) {
        const MwArg *annotation = &annotations->at[i];
        if (!check_once(ex, annotations, i))
            return false;
        const bool is_empty = annotation->value->kind == MW_EXPR_TEXT &&
                              !*annotation->value->text && *ex->frame->scope;
        if (is_key(annotation, "scope"))
            scope->path = is_empty ? "" : mw_scope_read(ex, annotation);
        else if (!is_key(annotation, "first")) {
            mw_expand_error(ex, annotation->key.span,
                            "'repeat' takes 'scope' and 'first', not '%s'", annotation->key.text);
            return false;
        } else if (!read_index(ex, annotation, "first iteration", &scope->first))
            return false;
        if (is_key(annotation, "scope") && !scope->path)
            return false;
    }
    return true;
}

bool mw_annotate_nodes(MwExpander *ex, const MwArgs *annotations)
{
    bool ok = true;
    for (int i = 0; i < annotations->count; i++) {
        const MwArg *annotation = &annotations->at[i];
        if (!check_key(ex, annotation) || !check_once(ex, annotations, i))
            ok = false;
        else if (!is_pin(annotation))
            ok &= read_fact(ex, annotation);
    }
    return ok;
}

bool mw_annotate_check_pins(MwExpander *ex, const MwArgs *annotations)
{
    for (int i = 0; i < annotations->count; i++) {
        const MwArg *annotation = &annotations->at[i];
        if (!check_key(ex, annotation) || !check_once(ex, annotations, i))
            return false;
        if (is_pin(annotation))
            continue;
        mw_expand_error(ex, annotation->key.span,
                        "'%s' describes operators, and this statement adds none",
                        annotation->key.text);
        return false;
    }
    return true;
}

/* ---- Pins ---- */

/* Adds the text of a spec for an expression such as [S0, R] + P1. Returns false if the expression
 * is not a spec. */
static bool write_spec(MwText *text, const MwExpr *expr)
{
    if (expr->kind == MW_EXPR_BINARY && expr->binary.op == MW_BINARY_ADD &&
        expr->binary.right->kind == MW_EXPR_NAME && expr->binary.left->kind == MW_EXPR_LIST &&
        write_spec(text, expr->binary.left)) {
        mw_text_printf(text, " +%s", expr->binary.right->text);
        return true;
    }
    if (expr->kind != MW_EXPR_LIST)
        return false;
    mw_text_add(text, "[");
    for (int i = 0; i < expr->list.count; i++) {
        const MwExpr *dim = expr->list.at[i];
        if (dim->kind != MW_EXPR_NAME)
            return false;
        mw_text_printf(text, "%s%s", i ? ", " : "", dim->text);
    }
    mw_text_add(text, "]");
    return true;
}

/* Says whether each mesh axis splits at most one dimension, and none if the tensor is partial over
 * it. */
static bool uses_axes_once(MwSpec spec, int rank)
{
    MwAxes used = mw_spec_partial(spec);
    bool once = true;
    for (int d = 0; d < rank; d++) {
        once &= !(used & mw_spec_dim(spec, d));
        used |= mw_spec_dim(spec, d);
    }
    return once;
}

/* Returns the place of the part of an expression that is not a spec. */
static MwSpan find_wrong_part(MwExpander *ex, const MwExpr *expr)
{
    MwSpec spec;
    int rank;
    const MwExpr *list = expr->kind == MW_EXPR_BINARY ? expr->binary.left : expr;
    if (list->kind != MW_EXPR_LIST)
        return expr->span;
    for (int i = 0; i < list->list.count; i++) {
        const MwExpr *dim = list->list.at[i];
        if (dim->kind != MW_EXPR_NAME ||
            !mw_spec_parse(mw_arena_printf(ex->arena, "[%s]", dim->text), &spec, &rank))
            return dim->span;
    }
    return list == expr ? expr->span : expr->binary.right->span;
}

static bool read_spec(MwExpander *ex, const MwArg *annotation, MwPin *pin)
{
    MwText text = {.arena = ex->arena};
    MwSpan span = annotation->value->span;
    int rank;
    if (!write_spec(&text, annotation->value) || !mw_spec_parse(text.at, &pin->spec, &rank)) {
        mw_expand_error(ex, find_wrong_part(ex, annotation->value),
                        "this is no sharding spec: [S0, R] splits dimension 0 over mesh "
                        "axis 0, [R, R] +P1 is partial over axis 1");
        return false;
    }
    const MwTensor *tensor = mw_value_tensor(ex->graph, pin->value);
    if (rank != tensor->rank) {
        char shown[MW_TENSOR_TEXT_BYTES];
        mw_expand_error(ex, span, "a spec of %d dimension%s cannot be for %s", rank,
                        rank == 1 ? "" : "s", mw_tensor_text(tensor, shown));
        return false;
    }
    if (!uses_axes_once(pin->spec, rank)) {
        mw_expand_error(ex, span, "a mesh axis may stand only once in a spec");
        return false;
    }
    pin->has_spec = true;
    return true;
}

static bool read_flag(MwExpander *ex, const MwArg *annotation, int *pinned)
{
    bool flag;
    MwTerm term = mw_eval(ex, annotation->value, mw_one_value());
    if (!mw_want_bool(ex, term, want_of(ex, annotation), &flag))
        return false;
    *pinned = flag;
    return true;
}

/* Reads an annotation, which is a pin of result k, into `pin`. */
static bool read_pin(MwExpander *ex, const MwArg *annotation, int k, MwPin *pin)
{
    if (is_pin_key(annotation, "spec", k))
        return read_spec(ex, annotation, pin);
    if (is_pin_key(annotation, "stage", k))
        return read_index(ex, annotation, "stage", &pin->stage);
    return read_flag(ex, annotation, is_pin_key(annotation, "ring", k) ? &pin->ring : &pin->remat);
}

/* Says whether the annotation pins result k. */
static bool is_pin_of(const MwArg *annotation, int k)
{
    for (int i = 0; i < PIN_KEYS; i++)
        if (is_pin_key(annotation, keys[i], k))
            return true;
    return false;
}

/* Adds a pin to the graph with all annotations that pin `value`, result k of the statement. */
static void pin_value(MwExpander *ex, const MwArgs *annotations, MwValueId value, int k)
{
    MwPin pin = mw_pin_new(value);
    for (int i = 0; i < annotations->count; i++) {
        const MwArg *annotation = &annotations->at[i];
        if (!is_pin_of(annotation, k))
            continue;
        if (!read_pin(ex, annotation, k, &pin))
            return;
        pin.span =
            mw_span_join(pin.span, mw_span_join(annotation->key.span, annotation->value->span));
    }
    const char *name = mw_value(ex->graph, value)->name;
    if (pin.span.source && mw_expand_once(ex, &ex->pinned, name, pin.span, "a pin on"))
        mw_vec_push(ex->arena, &ex->graph->pins, pin);
}

/* Checks that every pin pins a tensor: not another term, and not a result that the statement does
 * not have. */
static bool check_pins(MwExpander *ex, const MwArgs *annotations, const MwTerm *terms, int count)
{
    for (int i = 0; i < annotations->count; i++) {
        const MwArg *annotation = &annotations->at[i];
        int pinned = 0;
        for (int k = 0; k < count; k++) {
            if (terms[k].kind == MW_TERM_NONE)
                return false;
            pinned += terms[k].kind == MW_TERM_TENSOR && is_pin_of(annotation, k);
        }
        if (pinned || !is_pin(annotation))
            continue;
        mw_expand_error(ex, annotation->key.span, "there is no tensor for '%s' to pin",
                        annotation->key.text);
        return false;
    }
    return true;
}

void mw_annotate_values(MwExpander *ex, const MwArgs *annotations, const MwTerm *terms, int count)
{
    if (!check_pins(ex, annotations, terms, count))
        return;
    for (int k = 0; k < count; k++)
        if (terms[k].kind == MW_TERM_TENSOR)
            pin_value(ex, annotations, terms[k].value, k);
}
