/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright explain MODEL.graph --value NAME` and `--why-not LAYOUT`; `meshwright explain NAME
 * PLAN`. */
#include "base/quantity.h"
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/explain/again.h"
#include "tools/explain/candidates.h"
#include "tools/explain/layout.h"
#include "tools/inspect/summary.h"
#include "tools/inspect/totals.h"
#include "tools/text_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *value; /* a glob; NULL: not given */
    bool has_layout;
    MwLayoutWords layout;
} Options;

enum { OPTION_WHY_NOT = 512 };

static const struct argp_option option_list[] = {
    {"value", 'v', "NAME", 0,
     "Explain the sharding of the values whose names match, such as 'layers.*.mlp.w1'", 0},
    {"why-not", OPTION_WHY_NOT, "LAYOUT", 0,
     "Compare with the best plan of a layout, such as data=2,tensor=4,pipeline=2", 0},
    {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case 'v':
        options->value = arg;
        return 0;
    case OPTION_WHY_NOT:
        options->layout = mw_layout_words(state, arg);
        options->has_layout = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->value || state->next == state->argc)
            return ARGP_ERR_UNKNOWN; /* the last is the model or plan */
        options->value = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->value && !options->has_layout)
            argp_error(state, "what is to be explained? Say --value NAME or --why-not LAYOUT");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What would have to be different for a plan to win: how much quicker or slower collectives would
 * have to be, where it computes less and communicates more, or the other way. */
static const char *what_would_win(MwArena *arena, double compute_s, double communication_s)
{
    if (compute_s < 0 && communication_s > 0)
        return mw_arena_printf(arena, "would win with collectives %.3g times as fast",
                               communication_s / -compute_s);
    if (compute_s > 0 && communication_s < 0)
        return mw_arena_printf(arena, "would win with collectives %.3g times as slow",
                               compute_s / -communication_s);
    return compute_s + communication_s > 0 ? "costs more" : "costs no more";
}

/* ---- A value ---- */

static void print_head(MwText *text, const MwExplainCandidates *candidates, const char *glob)
{
    const MwPlanOperator *op = candidates->op;
    char shape[MW_MESH_TEXT_BYTES], spec[MW_SPEC_TEXT_BYTES];
    mw_text_printf(
        text, "\n%s (%s%s) on mesh %s: %s\n", glob, op->op,
        candidates->matching > 1 ? mw_arena_printf(text->arena, ", %d alike", candidates->matching)
                                 : "",
        mw_mesh_text(&candidates->mesh->shape, shape), mw_spec_text(op->spec, op->rank, spec));
    if (*op->source)
        mw_text_printf(text, "  source        %s\n", op->source);
    for (int i = 0; i < op->operand_count; i++) {
        const MwPlanOperatorOperand *operand = &op->operands[i];
        const char *name = operand->operator_index >= 0
                               ? candidates->mesh->operators[operand->operator_index].name
                               : "received";
        mw_text_printf(text, "  %s%s in %s\n", i ? "              " : "takes         ", name,
                       mw_spec_string(text->arena, operand->spec, operand->rank));
    }
    if (op->collective_count)
        mw_text_printf(text, "  resharding    %s\n", mw_inspect_collectives(text->arena, op, ", "));
    if (op->pinned)
        mw_text_add(text, "  it is pinned\n");
}

static void fill_row(MwArena *arena, const MwExplainCandidate *candidate,
                     const MwExplainCandidate *chosen, const char **cells)
{
    const double compute_s = candidate->compute_s - chosen->compute_s;
    const double communication_s = candidate->communication_s - chosen->communication_s;
    if (candidate->refused) {
        cells[7] = candidate->refused;
        return;
    }
    cells[1] = candidate->is_chosen
                   ? mw_seconds_text(arena, candidate->step_s)
                   : mw_seconds_difference_text(arena, candidate->step_s - chosen->step_s);
    cells[2] = mw_seconds_text(arena, candidate->own_compute_s);
    cells[3] = mw_seconds_text(arena, candidate->own_communication_s);
    cells[4] = candidate->is_chosen ? mw_seconds_text(arena, candidate->compute_s)
                                    : mw_seconds_difference_text(arena, compute_s);
    cells[5] = candidate->is_chosen ? mw_seconds_text(arena, candidate->communication_s)
                                    : mw_seconds_difference_text(arena, communication_s);
    cells[6] = mw_bytes_text(arena, (double)candidate->bytes);
    cells[7] = candidate->is_chosen ? "chosen" : what_would_win(arena, compute_s, communication_s);
}

static void print_candidates(MwText *text, const MwExplainCandidates *candidates)
{
    static const char *const headings[] = {
        "sharding",    "step",           "own compute", "own resharding",
        "all compute", "all resharding", "memory",      ""};
    MwTextTable table = mw_text_table_new(text->arena, headings, MW_COUNT(headings));
    for (int i = 0; i < candidates->list.count; i++) {
        const MwExplainCandidate *candidate = &candidates->list.at[i];
        const char **cells = mw_text_table_row(&table);
        cells[0] = mw_spec_string(text->arena, candidate->spec, candidates->op->rank);
        fill_row(text->arena, candidate, &candidates->list.at[0], cells);
    }
    mw_text_add(text, "\n");
    mw_text_table_print(text, &table);
}

static bool explain_value(MwText *text, MwSession *session, const MwPlan *plan, const char *glob)
{
    MwExplainCandidates candidates;
    if (!mw_explain_candidates(text->arena, session, plan, glob, &candidates, session->diags))
        return false;
    print_head(text, &candidates, glob);
    print_candidates(text, &candidates);
    return true;
}

/* ---- A layout ---- */

static void explain_layout(MwText *text, MwSession *session, const MwPlan *plan,
                           const MwLayoutWords *words)
{
    MwDiags *diags = mw_diags_new(text->arena);
    const char *options;
    const MwPlan *other = mw_layout_plan(session, plan, words, &options, diags);
    mw_text_printf(text, "\nwhy not %s?\n", mw_layout_words_text(text->arena, words));
    if (!other) {
        mw_text_printf(text, "  there is no such plan: %s\n", mw_diags_first_error(diags));
        return;
    }
    if (!mw_layout_is_so(other, words))
        mw_text_printf(text, "  the best plan of that kind mostly shares the work otherwise: %s\n",
                       mw_inspect_parallelism(text->arena, other));
    double compute_s = 0, communication_s = 0;
    for (int m = 0; m < other->mesh_count; m++) {
        compute_s += other->meshes[m].costs.compute_s;
        communication_s += other->meshes[m].costs.communication_s;
    }
    for (int m = 0; m < plan->mesh_count; m++) {
        compute_s -= plan->meshes[m].costs.compute_s;
        communication_s -= plan->meshes[m].costs.communication_s;
    }
    mw_text_printf(text, "  its step takes %.3f times as long", other->step_s / plan->step_s);
    if (other->step_s == plan->step_s && mw_layout_is_so(plan, words))
        mw_text_add(text, ": it is what is planned");
    else if (plan->mesh_count == 1 && other->mesh_count == 1)
        mw_text_printf(text, ": compute %s, communication %s; it %s",
                       mw_seconds_difference_text(text->arena, compute_s),
                       mw_seconds_difference_text(text->arena, communication_s),
                       what_would_win(text->arena, compute_s, communication_s));
    mw_text_printf(text, "\n  %s plans it\n", options);
    if (other->step_s < plan->step_s)
        mw_text_add(text, "  it is the quicker plan: the search compares estimates of layouts, and "
                          "passed over it\n");
    mw_text_add(text, "\n");
    mw_inspect_summary(text, other);
}

/* ---- The command ---- */

int mw_command_explain(int argc, char **argv)
{
    static const struct argp own = {option_list, parse_option, NULL, NULL, NULL, NULL, NULL};
    Options options = {0};
    const MwToolCommand command = {
        .what = "Explains why a value of a model is sharded as it is, or why another layout is not "
                "taken, by planning with it.",
        .arguments = "MODEL.graph\nPLAN\nNAME PLAN",
        .plans = true,
        .own = &own,
        .own_input = &options};
    MwSession session;
    mw_session_begin(&session, &command, argc, argv);
    const char *word = session.command.model;
    const MwPlan *plan = mw_plan_is_at(session.options.arena, word)
                             ? mw_explain_again(&session, word)
                             : mw_session_plan(&session);
    MwText text = {.arena = session.options.arena};
    if (plan) {
        mw_inspect_summary(&text, plan);
        if (!options.value || explain_value(&text, &session, plan, options.value)) {
            if (options.has_layout)
                explain_layout(&text, &session, plan, &options.layout);
            fputs(text.at, stdout);
        }
    }
    return mw_session_end(&session);
}
