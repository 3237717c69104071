/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scans: a body that runs once for each element along an axis, as a loop of the graph.
 *
 * A name of a tensor that stands before the scan and that the body gives again is carried: at the
 * first step it means what it meant before, at each later one what the step before gave it, and
 * after the scan what the last step gave it. The other names of the body end with it; `collect`
 * keeps a value of every step. */
#include "frontend/expand/scan.h"

#include "frontend/expand/eval.h"
#include "frontend/expand/statements.h"
#include "frontend/terms/emit.h"
#include "frontend/terms/names.h"
#include "frontend/terms/want.h"
#include "ir/build.h"

#include <string.h>

typedef struct {
    MwName name; /* where the body gives it first */
    MwValueId carry;
} Carry;

typedef struct {
    MwName name;
    MwTerm term;
} Collected;

struct MwScan {
    MwSpan span;
    int64_t axis;
    MwScanSteps in;
    MW_VEC(Carry) carries;
    MW_VEC(Collected) collected;
};

/* ---- Annotations ---- */

static bool read_annotation(MwExpander *ex, const MwArg *annotation, MwScan *scan)
{
    const char *key = annotation->key.text;
    MwTerm term = mw_eval(ex, annotation->value, mw_one_value());
    MwWant want = {mw_arena_printf(ex->arena, "'%s'", key), annotation->value->span};
    if (strcmp(key, "axis") == 0)
        return mw_want_int(ex, term, want, &scan->axis);
    if (strcmp(key, "reverse") == 0)
        return mw_want_bool(ex, term, want, &scan->in.reverse);
    mw_expand_error(ex, annotation->key.span, "a scan has 'axis' and 'reverse', not '%s'", key);
    return false;
}

static bool read_annotations(MwExpander *ex, const MwArgs *annotations, MwScan *scan)
{
    for (int i = 0; i < annotations->count; i++) {
        for (int k = 0; k < i; k++)
            if (annotations->at[k].key.text == annotations->at[i].key.text) {
                mw_expand_error(ex, annotations->at[i].key.span, "'%s' is given twice",
                                annotations->at[i].key.text);
                return false;
            }
        if (!read_annotation(ex, &annotations->at[i], scan))
            return false;
    }
    return true;
}

/* ---- What the scan goes through ---- */

static bool set_steps(MwExpander *ex, MwScan *scan, MwSpan span, int64_t steps)
{
    if (steps < 1 || steps > MW_MAX_STEPS)
        mw_expand_error(ex, span, "a scan cannot take %lld steps", (long long)steps);
    else if (scan->in.steps && steps != scan->in.steps)
        mw_expand_error(ex, span, "this has %lld steps, and what stands before it %lld",
                        (long long)steps, (long long)scan->in.steps);
    else
        scan->in.steps = steps;
    return scan->in.steps == steps;
}

/* Turns what a source says into the tensor that it goes through, and the axis: the positions where
 * it is a number. */
static bool read_source(MwExpander *ex, const MwScanSource *source, MwScan *scan, MwValueId *x,
                        int64_t *axis)
{
    const MwSpan span = source->value->span;
    MwTerm term = mw_eval(ex, source->value, mw_one_value());
    if (term.kind == MW_TERM_INT) {
        const MwTensor positions = mw_tensor(MW_I32, 1, &term.i);
        *axis = 0;
        if (!set_steps(ex, scan, span, term.i))
            return false;
        const MwAttr shape = mw_attr_shape(ex->arena, &positions);
        const MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, MW_I32), shape};
        *x = mw_emit(ex, (MwSite){span, mw_one_value()}, MW_OP_IOTA, NULL, 0, attrs,
                     MW_COUNT(attrs));
        return mw_has_value(*x);
    }
    if (!mw_want_tensor(ex, term, (MwWant){"what a scan goes through", span}, x))
        return false;
    const MwTensor *tensor = mw_value_tensor(ex->graph, *x);
    *axis = scan->axis < 0 ? scan->axis + tensor->rank : scan->axis;
    if (*axis >= 0 && *axis < tensor->rank)
        return set_steps(ex, scan, span, tensor->dim[*axis]);
    mw_expand_error(ex, span, "a scan along axis %lld cannot go through %s", (long long)scan->axis,
                    mw_term_describe(ex, term));
    return false;
}

static bool enter_source(MwExpander *ex, const MwScanSource *source, MwScan *scan)
{
    MwValueId x;
    int64_t axis;
    if (!read_source(ex, source, scan, &x, &axis))
        return false;
    if (!source->name.text)
        return true;
    const char *name = mw_name_in_scope(ex, source->name.text);
    MwSite site = {source->name.span, {&name, 1}};
    MwValueId x_t = mw_emit_scan_in(ex, site, &scan->in, x, (int)axis);
    mw_name_bind(ex, source->name, mw_term_tensor(x_t));
    return mw_has_value(x_t);
}

/* ---- What is carried ---- */

static bool is_carried(const MwScan *scan, const char *name)
{
    for (int i = 0; i < scan->carries.count; i++)
        if (scan->carries.at[i].name.text == name)
            return true;
    return false;
}

static void carry_name(MwExpander *ex, MwScan *scan, MwName name)
{
    const MwTerm *before = mw_name_map_get(&ex->frame->names, name.text);
    if (!before || before->kind == MW_TERM_NONE || is_carried(scan, name.text))
        return;
    MwValueId first;
    MwWant want = {
        mw_arena_printf(ex->arena, "'%s', which the scan carries from step to step,", name.text),
        name.span};
    if (!mw_want_tensor(ex, *before, want, &first))
        return;
    const char *full = mw_name_in_scope(ex, name.text);
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_LOOP, scan->in.loop),
                            mw_attr_int(MW_ATTR_CARRY, scan->carries.count),
                            mw_attr_int(MW_ATTR_STEPS, scan->in.steps)};
    MwSite site = {name.span, {&full, 1}};
    MwValueId carry = mw_emit(ex, site, MW_OP_SCAN_CARRY, &first, 1, attrs, MW_COUNT(attrs));
    mw_vec_push(ex->arena, &scan->carries, ((Carry){name, carry}));
    mw_name_bind(ex, name, mw_term_tensor(carry));
}

/* Carries the names that a statement of the body gives again. */
static void carry_names(MwExpander *ex, MwScan *scan, const MwStatement *statement)
{
    if (statement->kind == MW_STATEMENT_LET)
        for (int k = 0; k < statement->let.targets.count; k++)
            carry_name(ex, scan, statement->let.targets.at[k]);
}

/* Collects NONE, where the body is not expanded after an error. */
static void collect_nothing(MwExpander *ex, MwScan *scan, const MwStatement *statement)
{
    if (statement->kind == MW_STATEMENT_COLLECT)
        mw_vec_push(ex->arena, &scan->collected,
                    ((Collected){statement->collect.target, mw_term_none()}));
}

/* Visits the statements of a body and of the bodies in it. The nesting of brackets and the
 * grammar's stack bound the recursion. */
static void visit_body(MwExpander *ex, MwScan *scan, const MwBody *body,
                       void (*visit)(MwExpander *, MwScan *, const MwStatement *))
{
    for (int i = 0; i < body->count; i++) {
        const MwStatement *statement = body->at[i];
        visit(ex, scan, statement);
        if (statement->kind == MW_STATEMENT_REPEAT)
            visit_body(ex, scan, &statement->repeat.body, visit);
        if (statement->kind != MW_STATEMENT_IF)
            continue;
        visit_body(ex, scan, &statement->choice.yes, visit);
        visit_body(ex, scan, &statement->choice.no, visit);
    }
}

/* What the name of a carry means after the scan; NONE after an error. */
static MwTerm leave_carry(MwExpander *ex, const MwScan *scan, const Carry *carry)
{
    MwTerm term;
    MwValueId next;
    MwWant want = {mw_arena_printf(ex->arena, "what a step gives '%s'", carry->name.text),
                   carry->name.span};
    if (!mw_name_find(ex, carry->name.text, &term) || !mw_want_tensor(ex, term, want, &next))
        return mw_term_none();
    if (!mw_tensor_equal(mw_value_tensor(ex->graph, next),
                         mw_value_tensor(ex->graph, carry->carry))) {
        mw_expand_error(ex, carry->name.span,
                        "the scan carries '%s' from step to step, but it is %s before a step and "
                        "%s after it",
                        carry->name.text, mw_term_describe(ex, mw_term_tensor(carry->carry)),
                        mw_term_describe(ex, term));
        return mw_term_none();
    }
    const char *full = mw_name_in_scope(ex, carry->name.text);
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_LOOP, scan->in.loop),
                            mw_attr_int(MW_ATTR_STEPS, scan->in.steps)};
    const MwValueId operands[] = {next, carry->carry};
    MwSite site = {carry->name.span, {&full, 1}};
    return mw_term_tensor(mw_emit(ex, site, MW_OP_SCAN_NEXT, operands, 2, attrs, MW_COUNT(attrs)));
}

/* ---- The scan ---- */

void mw_statement_collect(MwExpander *ex, const MwStatement *statement)
{
    MwScan *scan = ex->scan;
    MwName name = statement->collect.target;
    MwTerm term = mw_eval(ex, statement->collect.value, mw_one_value());
    MwWant want = {"what a scan collects", statement->collect.value->span};
    MwValueId value;
    for (int i = 0; i < scan->collected.count; i++)
        if (scan->collected.at[i].name.text == name.text) {
            mw_expand_note(ex, scan->collected.at[i].name.span, "the first is here");
            mw_expand_error(ex, name.span, "'%s' is collected twice", name.text);
            return;
        }
    if (is_carried(scan, name.text)) {
        mw_expand_error(ex, name.span,
                        "'%s' is carried from step to step: collect it by another "
                        "name",
                        name.text);
        return;
    }
    if (!mw_want_tensor(ex, term, want, &value)) {
        mw_vec_push(ex->arena, &scan->collected, ((Collected){name, mw_term_none()}));
        return;
    }
    const int rank = mw_value_tensor(ex->graph, value)->rank + 1;
    const int64_t axis =
        scan->axis < 0 ? mw_max(scan->axis + rank, 0) : mw_min(scan->axis, rank - 1);
    const char *full = mw_name_in_scope(ex, name.text);
    const MwAttr attrs[] = {
        mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_LOOP, scan->in.loop),
        mw_attr_int(MW_ATTR_STEPS, scan->in.steps), mw_attr_int(MW_ATTR_REVERSE, scan->in.reverse)};
    MwSite site = {name.span, {&full, 1}};
    MwValueId all = mw_emit(ex, site, MW_OP_SCAN_OUT, &value, 1, attrs, MW_COUNT(attrs));
    mw_vec_push(ex->arena, &scan->collected, ((Collected){name, mw_term_tensor(all)}));
}

/* Notes the names that end with a step. */
static void end_names(MwExpander *ex, const MwNameMap *before)
{
    const MwNameMap *names = &ex->frame->names;
    for (int i = 0; i < names->entries.count; i++)
        if (!mw_name_map_find(before, names->entries.at[i].name))
            mw_name_map_add(&ex->frame->ended, names->entries.at[i].name);
}

/* Expands the body. Gives the names that are carried or collected their meanings after the scan,
 * and the others those from before. */
static void run_steps(MwExpander *ex, const MwStatement *statement, MwScan *scan,
                      void (*run_body)(MwExpander *ex, const MwBody *body))
{
    const MwNameMap before = mw_names_save(ex);
    bool ok = true;
    for (int i = 0; i < statement->scan.sources.count; i++)
        ok &= enter_source(ex, &statement->scan.sources.at[i], scan);
    MW_VEC(MwTerm) after = {0};
    visit_body(ex, scan, &statement->scan.body, ok ? carry_names : collect_nothing);
    ex->in_scan = &scan->in;
    if (ok)
        run_body(ex, &statement->scan.body);
    ex->in_scan = NULL;
    for (int i = 0; i < scan->carries.count; i++)
        mw_vec_push(ex->arena, &after, leave_carry(ex, scan, &scan->carries.at[i]));
    end_names(ex, &before);
    mw_names_restore(ex, &before);
    for (int i = 0; i < scan->carries.count; i++)
        mw_name_bind(ex, scan->carries.at[i].name, after.at[i]);
    for (int i = 0; i < scan->collected.count; i++)
        mw_name_bind(ex, scan->collected.at[i].name, scan->collected.at[i].term);
}

void mw_scan_run(MwExpander *ex, const MwStatement *statement,
                 void (*run_body)(MwExpander *ex, const MwBody *body))
{
    MwScan scan = {.span = statement->span, .axis = 1, .in.loop = ex->scans++};
    if (ex->scan) {
        mw_expand_note(ex, ex->scan->span, "the other is here");
        mw_expand_error(ex, statement->span, "a 'scan' cannot run inside another");
        return;
    }
    if (!read_annotations(ex, &statement->annotations, &scan))
        return;
    const MwOrigin origin = ex->graph->origin;
    const char *outer = ex->frame->scope;
    ex->scan = &scan;
    ex->frame->scope = ex->graph->origin.scope =
        mw_scope_enter_block(ex, mw_intern(ex->interner, "scan"));
    run_steps(ex, statement, &scan, run_body);
    ex->frame->scope = outer;
    ex->graph->origin = origin;
    ex->scan = NULL;
}
