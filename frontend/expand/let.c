/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statements that name values: `NAME = …`, `output`, `assign`. */
#include "frontend/expand/annotate.h"
#include "frontend/expand/eval.h"
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
    if (mw_annotate_nodes(ex, &statement->annotations))
        term = mw_eval(ex, statement->let.value, targets);
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

/* `output NAME = EXPRESSION` */
static void run_output_value(MwExpander *ex, const MwStatement *statement)
{
    MwName name = statement->let.targets.at[0];
    MwWant want = {mw_arena_printf(ex->arena, "output '%s'", name.text), name.span};
    const char *full = mw_name_in_scope(ex, name.text);
    MwTerm term = eval_annotated(ex, statement, (MwTargets){&full, 1});
    MwValueId value;
    if (!mw_want_tensor(ex, term, want, &value))
        return;
    add_output(ex, name, value);
    mw_annotate_values(ex, &statement->annotations, &term, 1);
}

/* `output NAME, …`: the annotations pin values that were computed before. */
static void run_output_names(MwExpander *ex, const MwStatement *statement)
{
    const MwNames *names = &statement->let.targets;
    MwTerm *terms = MW_NEW(ex->arena, MwTerm, names->count);
    for (int i = 0; i < names->count; i++) {
        MwValueId value;
        if (!name_tensor(ex, names->at[i], &value))
            continue;
        add_output(ex, names->at[i], value);
        terms[i] = mw_term_tensor(value);
    }
    if (mw_annotate_check_pins(ex, &statement->annotations))
        mw_annotate_values(ex, &statement->annotations, terms, names->count);
}

void mw_statement_output(MwExpander *ex, const MwStatement *statement)
{
    if (statement->let.value)
        run_output_value(ex, statement);
    else
        run_output_names(ex, statement);
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
