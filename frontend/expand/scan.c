/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scans: a body that runs once for each element along an axis, as a loop of the graph.
 *
 * A name of a tensor that stands before the scan and that the body gives again is carried: at the
 * first step it means what it meant before, at each later one what the step before gave it, and
 * after the scan what the last step gave it. The other names of the body end with it; `collect`
 * keeps a value of every step.
 *
 * A scan that runs in another is no loop of the graph, where no loop is in another: its body is
 * expanded for each of its steps, which are few, within the one body of the other. It means the
 * same, and what a step declares is one for all steps. */
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
    MwValueId *parts; /* [steps] of a scan in a scan, what each step has collected */
    int64_t step;     /* and the last step that has */
} Collected;

/* Steps of a scan in a scan: each adds the nodes of the whole body. */
enum { MOST_INNER_STEPS = 64 };

struct MwScan {
    MwSpan span;
    int64_t axis;
    bool is_inner; /* it runs in another */
    int64_t step;  /* the element that the body is expanded for, where it is */
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
    else if (scan->is_inner && steps > MOST_INNER_STEPS)
        mw_expand_error(ex, span,
                        "a scan in a scan is expanded step by step, and takes at most %d steps, "
                        "not %lld",
                        MOST_INNER_STEPS, (long long)steps);
    else if (scan->in.steps && steps != scan->in.steps)
        mw_expand_error(ex, span, "this has %lld steps, and what stands before it %lld",
                        (long long)steps, (long long)scan->in.steps);
    else
        scan->in.steps = steps;
    return scan->in.steps == steps && !(scan->is_inner && steps > MOST_INNER_STEPS);
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

/* The element of a tensor that a step of a scan in a scan has. */
static MwValueId element_at(MwExpander *ex, MwSite site, MwValueId x, int axis, int64_t step)
{
    MwTensor shape = *mw_value_tensor(ex->graph, x);
    mw_tensor_remove_dim(&shape, axis);
    x = mw_emit_range(ex, mw_site_inner(site), MW_OP_SLICE, x, axis, step, step + 1);
    return mw_emit_reshape(ex, site, x, &shape);
}

/* What a scan goes through. */
typedef struct {
    MwValueId x;
    int64_t axis;
} Source;

/* Gives the name of a source the element of the step. */
static bool enter_step(MwExpander *ex, const MwScan *scan, MwName name, const Source *source)
{
    if (!name.text)
        return true;
    const char *full = mw_name_in_scope(ex, name.text);
    const MwSite site = {name.span, {&full, 1}};
    const MwValueId x_t = scan->is_inner
                              ? element_at(ex, site, source->x, (int)source->axis, scan->step)
                              : mw_emit_scan_in(ex, site, &scan->in, source->x, (int)source->axis);
    mw_name_bind(ex, name, mw_term_tensor(x_t));
    return mw_has_value(x_t);
}

static bool enter_source(MwExpander *ex, const MwScanSource *source, MwScan *scan)
{
    Source read;
    return read_source(ex, source, scan, &read.x, &read.axis) &&
           enter_step(ex, scan, source->name, &read);
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
    if (scan->is_inner) {
        mw_vec_push(ex->arena, &scan->carries, ((Carry){name, first}));
        return;
    }
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
                    ((Collected){.name = statement->collect.target, .term = mw_term_none()}));
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
        if (statement->kind == MW_STATEMENT_SCAN)
            visit_body(ex, scan, &statement->scan.body, visit);
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
    if (scan->is_inner)
        return term;
    const char *full = mw_name_in_scope(ex, carry->name.text);
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_LOOP, scan->in.loop),
                            mw_attr_int(MW_ATTR_STEPS, scan->in.steps)};
    const MwValueId operands[] = {next, carry->carry};
    MwSite site = {carry->name.span, {&full, 1}};
    return mw_term_tensor(mw_emit(ex, site, MW_OP_SCAN_NEXT, operands, 2, attrs, MW_COUNT(attrs)));
}

/* ---- What is collected ---- */

static Collected *find_collected(MwScan *scan, const char *name)
{
    for (int i = 0; i < scan->collected.count; i++)
        if (scan->collected.at[i].name.text == name)
            return &scan->collected.at[i];
    return NULL;
}

/* The dimension that the steps become, of what has `rank` dimensions with it. */
static int axis_of_steps(const MwScan *scan, int rank)
{
    return (int)(scan->axis < 0 ? mw_max(scan->axis + rank, 0) : mw_min(scan->axis, rank - 1));
}

static MwTerm stack_steps(MwExpander *ex, const MwScan *scan, MwName name, MwValueId value)
{
    const int axis = axis_of_steps(scan, mw_value_tensor(ex->graph, value)->rank + 1);
    const char *full = mw_name_in_scope(ex, name.text);
    const MwAttr attrs[] = {
        mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_LOOP, scan->in.loop),
        mw_attr_int(MW_ATTR_STEPS, scan->in.steps), mw_attr_int(MW_ATTR_REVERSE, scan->in.reverse)};
    MwSite site = {name.span, {&full, 1}};
    return mw_term_tensor(mw_emit(ex, site, MW_OP_SCAN_OUT, &value, 1, attrs, MW_COUNT(attrs)));
}

/* Keeps what a step of a scan in a scan collects, with the dimension that the steps become. */
static void keep_part(MwExpander *ex, const MwScan *scan, Collected *collected, MwValueId value)
{
    MwTensor shape = *mw_value_tensor(ex->graph, value);
    const int axis = axis_of_steps(scan, shape.rank + 1);
    const MwSite site = {collected->name.span, mw_one_value()};
    if (mw_tensor_insert_dim(&shape, axis, 1))
        value = mw_emit_reshape(ex, site, value, &shape);
    collected->parts[scan->step] = value;
}

/* The steps of a scan in a scan side by side. */
static MwTerm join_steps(MwExpander *ex, const MwScan *scan, const Collected *collected)
{
    for (int64_t t = 0; t < scan->in.steps; t++)
        if (!mw_has_value(collected->parts[t]))
            return mw_term_none();
    const int rank = mw_value_tensor(ex->graph, collected->parts[0])->rank;
    const char *full = mw_name_in_scope(ex, collected->name.text);
    const MwSite site = {collected->name.span, {&full, 1}};
    return mw_term_tensor(
        mw_emit_concat(ex, site, collected->parts, (int)scan->in.steps, axis_of_steps(scan, rank)));
}

static Collected *add_collected(MwExpander *ex, MwScan *scan, MwName name)
{
    Collected *collected = mw_vec_add(ex->arena, &scan->collected);
    *collected = (Collected){.name = name, .term = mw_term_none()};
    if (scan->is_inner) {
        collected->parts = MW_NEW(ex->arena, MwValueId, scan->in.steps);
        memset(collected->parts, -1, sizeof(MwValueId) * (size_t)scan->in.steps);
    }
    return collected;
}

void mw_statement_collect(MwExpander *ex, const MwStatement *statement)
{
    MwScan *scan = ex->scan;
    MwName name = statement->collect.target;
    MwTerm term = mw_eval(ex, statement->collect.value, mw_one_value());
    MwWant want = {"what a scan collects", statement->collect.value->span};
    MwValueId value;
    Collected *collected = find_collected(scan, name.text);
    if (collected && (!scan->is_inner || collected->step == scan->step)) {
        mw_expand_note(ex, collected->name.span, "the first is here");
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
    if (!collected)
        collected = add_collected(ex, scan, name);
    collected->step = scan->step;
    if (!mw_want_tensor(ex, term, want, &value))
        return;
    if (scan->is_inner)
        keep_part(ex, scan, collected, value);
    else
        collected->term = stack_steps(ex, scan, name, value);
}

/* ---- The scan ---- */

/* Notes the names that end with a step. */
static void end_names(MwExpander *ex, const MwNameMap *before)
{
    const MwNameMap *names = &ex->frame->names;
    for (int i = 0; i < names->entries.count; i++)
        if (!mw_name_map_find(before, names->entries.at[i].name))
            mw_name_map_add(&ex->frame->ended, names->entries.at[i].name);
}

/* Ends the names of a step, and gives those that are carried what it left. */
static void leave_step(MwExpander *ex, const MwScan *scan, const MwNameMap *before)
{
    MW_VEC(MwTerm) after = {0};
    for (int i = 0; i < scan->carries.count; i++)
        mw_vec_push(ex->arena, &after, leave_carry(ex, scan, &scan->carries.at[i]));
    end_names(ex, before);
    mw_names_restore(ex, before);
    for (int i = 0; i < scan->carries.count; i++)
        mw_name_bind(ex, scan->carries.at[i].name, after.at[i]);
}

static void bind_collected(MwExpander *ex, const MwScan *scan)
{
    for (int i = 0; i < scan->collected.count; i++)
        mw_name_bind(ex, scan->collected.at[i].name, scan->collected.at[i].term);
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
    visit_body(ex, scan, &statement->scan.body, ok ? carry_names : collect_nothing);
    ex->in_scan = &scan->in;
    if (ok)
        run_body(ex, &statement->scan.body);
    ex->in_scan = NULL;
    leave_step(ex, scan, &before);
    bind_collected(ex, scan);
}

/* Expands the body for each step of a scan in a scan. The scopes of blocks have the same names at
 * each step, so that what is declared there is found again. */
static void run_inner_steps(MwExpander *ex, const MwStatement *statement, MwScan *scan,
                            void (*run_body)(MwExpander *ex, const MwBody *body))
{
    const MwScanSources *sources = &statement->scan.sources;
    const MwNameMap scopes = mw_name_map_copy(&ex->scopes);
    MwNameMap declared = {.arena = ex->arena}, *const outer = ex->declared;
    Source *read = MW_NEW(ex->arena, Source, sources->count);
    bool ok = true;
    for (int i = 0; i < sources->count; i++)
        ok &= read_source(ex, &sources->at[i], scan, &read[i].x, &read[i].axis);
    visit_body(ex, scan, &statement->scan.body, ok ? carry_names : collect_nothing);
    ex->declared = outer ? outer : &declared;
    for (int64_t t = 0; t < scan->in.steps && ok; t++) {
        MwNameMap before = mw_names_save(ex);
        scan->step = scan->in.reverse ? scan->in.steps - 1 - t : t;
        ex->scopes = mw_name_map_copy(&scopes);
        for (int i = 0; i < sources->count; i++)
            ok &= enter_step(ex, scan, sources->at[i].name, &read[i]);
        run_body(ex, &statement->scan.body);
        leave_step(ex, scan, &before);
    }
    ex->declared = outer;
    for (int i = 0; i < scan->collected.count && ok; i++)
        scan->collected.at[i].term = join_steps(ex, scan, &scan->collected.at[i]);
    bind_collected(ex, scan);
}

void mw_scan_run(MwExpander *ex, const MwStatement *statement,
                 void (*run_body)(MwExpander *ex, const MwBody *body))
{
    MwScan *const around = ex->scan;
    MwScan scan = {.span = statement->span, .axis = 1, .is_inner = around != NULL};
    if (!read_annotations(ex, &statement->annotations, &scan))
        return;
    if (!scan.is_inner)
        scan.in.loop = ex->scans++;
    const MwOrigin origin = ex->graph->origin;
    const char *outer = ex->frame->scope;
    ex->scan = &scan;
    ex->frame->scope = ex->graph->origin.scope =
        mw_scope_enter_block(ex, mw_intern(ex->interner, "scan"));
    if (scan.is_inner)
        run_inner_steps(ex, statement, &scan, run_body);
    else
        run_steps(ex, statement, &scan, run_body);
    ex->frame->scope = outer;
    ex->graph->origin = origin;
    ex->scan = around;
}
