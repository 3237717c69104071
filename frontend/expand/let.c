/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statements that name values: `NAME = …`, `output`, `show`, `assign`. */
#include "frontend/expand/annotate.h"
#include "frontend/expand/eval.h"
#include "frontend/expand/scope.h"
#include "frontend/expand/statements.h"
#include "frontend/terms/names.h"

/* Looks up `name`, which must be a tensor. */
static bool name_tensor(MwExpander *ex, MwName name, MwValueId *value)
{
    MwExpr expr = {.kind = MW_EXPR_NAME, .span = name.span, .text = name.text};
    MwTerm term = mw_eval(ex, &expr, mw_one_value());
    const char *what = mw_arena_printf(ex->arena, "'%s'", name.text);
    return mw_want_tensor(ex, term, (MwWant){what, name.span}, value);
}

static void bind_targets(MwExpander *ex, const MwStatement *statement, MwTerm term)
{
    const MwNames *targets = &statement->let.targets;
    if (targets->count == 1) {
        mw_name_bind(ex, targets->at[0], term);
        mw_annotate_values(ex, &statement->annotations, &term, 1);
        return;
    }
    int given = term.kind == MW_TERM_LIST ? term.list.count : 1;
    bool fits = given == targets->count;
    if (!fits && term.kind != MW_TERM_NONE)
        mw_expand_error(ex, statement->span, "%d names for %d %s", targets->count, given,
                        given == 1 ? "value" : "values");
    for (int i = 0; i < targets->count; i++)
        mw_name_bind(ex, targets->at[i],
                     fits && term.kind == MW_TERM_LIST ? term.list.at[i] : mw_term_none());
    if (fits && term.kind == MW_TERM_LIST)
        mw_annotate_values(ex, &statement->annotations, term.list.at, term.list.count);
}

/* Evaluates the value of a statement; its nodes get what the annotations say. */
static MwTerm eval_annotated(MwExpander *ex, const MwStatement *statement, MwTargets targets)
{
    MwOrigin origin = ex->graph->origin;
    MwPhase phase = ex->graph->phase;
    MwTerm term = mw_term_none();
    if (mw_annotate_nodes(ex, &statement->annotations) &&
        mw_scope_begin(ex, &statement->annotations, &statement->let.value, 1))
        term = mw_eval(ex, statement->let.value, targets);
    mw_scope_end(ex);
    ex->graph->origin = origin;
    ex->graph->phase = phase;
    return term;
}

void mw_statement_let(MwExpander *ex, const MwStatement *statement)
{
    const MwNames *targets = &statement->let.targets;
    const char **names = MW_NEW(ex->arena, const char *, targets->count);
    for (int i = 0; i < targets->count; i++)
        names[i] = mw_name_in_scope(ex, targets->at[i].text);
    MwTerm term = eval_annotated(ex, statement, (MwTargets){names, targets->count});
    bind_targets(ex, statement, term);
}

static void add_output(MwExpander *ex, MwName name, MwValueId value)
{
    if (mw_expand_once(ex, &ex->outputs, name.text, name.span, "an output"))
        mw_vec_push(ex->arena, &ex->graph->outputs, ((MwOutput){name.text, value}));
}

/* Metrics are f32: other numbers are converted once they are complete. */
static void add_metric(MwExpander *ex, MwName name, MwValueId value)
{
    const MwTensor *tensor = mw_value_tensor(ex->graph, value);
    if (tensor->rank > 0 || tensor->type == MW_BOOL)
        mw_expand_error(ex, name.span, "a run shows single numbers, and '%s' is %s", name.text,
                        mw_term_describe(ex, mw_term_tensor(value)));
    else if (mw_value_node(ex->graph, value)->phase == MW_PHASE_BACKWARD)
        mw_expand_error(ex, name.span, "what a run shows cannot run backward, as '%s' does",
                        name.text);
    else if (mw_expand_once(ex, &ex->shown, name.text, name.span, "a shown value")) {
        if (tensor->type != MW_F32)
            value = mw_emit_cast(ex, (MwSite){name.span, mw_one_value()}, value, MW_F32);
        mw_vec_push(ex->arena, &ex->metrics, ((MwOutput){name.text, value}));
    }
}

/* Where values go that a statement makes visible from outside. */
typedef struct {
    const char *word; /* what such a value is called */
    void (*add)(MwExpander *ex, MwName name, MwValueId value);
} Outside;

static const Outside as_output = {"output", add_output}, as_metric = {"shown value", add_metric};

/* Whether the expression is a name alone: it makes no value. */
static bool is_name(const MwExpr *expr)
{
    return expr->kind == MW_EXPR_NAME;
}

bool mw_statement_names(const MwStatement *statement)
{
    return statement->kind == MW_STATEMENT_LET ||
           ((statement->kind == MW_STATEMENT_OUTPUT || statement->kind == MW_STATEMENT_SHOW) &&
            statement->let.value);
}

/* `output NAME = EXPRESSION`. NAME means the value from here on. Only where the value has a name of
 * its own, and NAME a meaning, that stays: dumps call values of one name by another for the outside
 * alone. */
static void run_outside_value(MwExpander *ex, const MwStatement *statement, const Outside *to)
{
    MwName name = statement->let.targets.at[0];
    MwWant want = {mw_arena_printf(ex->arena, "%s '%s'", to->word, name.text), name.span};
    const char *full = mw_name_in_scope(ex, name.text);
    MwTerm term = eval_annotated(ex, statement, (MwTargets){&full, 1}), meaning;
    MwValueId value;
    if (!is_name(statement->let.value) || !mw_name_find(ex, name.text, &meaning))
        mw_name_bind(ex, name, term);
    if (!mw_want_tensor(ex, term, want, &value))
        return;
    to->add(ex, name, value);
    mw_annotate_values(ex, &statement->annotations, &term, 1);
}

/* `output NAME, …`: the annotations pin values that were computed before. */
static void run_outside_names(MwExpander *ex, const MwStatement *statement, const Outside *to)
{
    const MwNames *names = &statement->let.targets;
    MwTerm *terms = MW_NEW(ex->arena, MwTerm, names->count);
    for (int i = 0; i < names->count; i++) {
        MwValueId value;
        if (!name_tensor(ex, names->at[i], &value))
            continue;
        to->add(ex, names->at[i], value);
        terms[i] = mw_term_tensor(value);
    }
    if (mw_annotate_check_pins(ex, &statement->annotations))
        mw_annotate_values(ex, &statement->annotations, terms, names->count);
}

static void run_outside(MwExpander *ex, const MwStatement *statement, const Outside *to)
{
    if (statement->let.value)
        run_outside_value(ex, statement, to);
    else
        run_outside_names(ex, statement, to);
}

void mw_statement_output(MwExpander *ex, const MwStatement *statement)
{
    run_outside(ex, statement, &as_output);
}

void mw_statement_show(MwExpander *ex, const MwStatement *statement)
{
    run_outside(ex, statement, &as_metric);
}

void mw_statement_assign(MwExpander *ex, const MwStatement *statement)
{
    MwName name = statement->assign.target;
    MwValueId target, value;
    MwTerm term = mw_eval(ex, statement->assign.value, mw_one_value());
    MwWant want = {"what is assigned", statement->assign.value->span};
    if (!name_tensor(ex, name, &target) || !mw_want_tensor(ex, term, want, &value))
        return;
    MwOp op = mw_value_node(ex->graph, target)->op;
    if (ex->scan)
        mw_expand_error(ex, statement->span,
                        "'assign' cannot run inside 'scan': what is assigned has one value for all "
                        "of its steps");
    else if (op != MW_OP_WEIGHT && op != MW_OP_STATE)
        mw_expand_error(ex, name.span,
                        "only a weight or a state can be assigned, which '%s' is not", name.text);
    else if (!mw_tensor_equal(mw_value_tensor(ex->graph, target),
                              mw_value_tensor(ex->graph, value)))
        mw_expand_error(ex, statement->span, "cannot assign %s to '%s', which is %s",
                        mw_term_describe(ex, term), name.text,
                        mw_term_describe(ex, mw_term_tensor(target)));
    else if (mw_expand_once(ex, &ex->assigned, mw_value(ex->graph, target)->name, name.span,
                            "an assignment to"))
        mw_vec_push(ex->arena, &ex->graph->assigns, ((MwAssign){target, value}));
}
