/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/solve_answer.h"

#include "tools/json.h"
#include "tools/solve_progress.h"

static const char *status_name(MwSolveStatus status)
{
    static const char *const names[] = {
        [MW_SOLVED_OPTIMAL] = "optimal",
        [MW_SOLVED_FEASIBLE] = "feasible",
        [MW_SOLVED_INFEASIBLE] = "infeasible",
        [MW_SOLVED_UNKNOWN] = "unknown",
    };
    return names[status];
}

static void add_why(MwText *text, const MwProblem *problem, const MwSolution *solution)
{
    if (solution->status == MW_SOLVED_UNKNOWN)
        mw_text_add(text, "           no answer was found in time; there may be one\n");
    else if (solution->peak_usage > 0)
        mw_text_printf(text,
                       "           at time %lld any choice uses at least %lld, the limit is %lld\n",
                       (long long)solution->peak_time, (long long)solution->peak_usage,
                       (long long)problem->usage_limit);
    else
        mw_text_add(text, "           any choice takes a forbidden strategy or pair\n");
}

static void add_answer(MwText *text, const MwProblem *problem, const MwSolution *solution)
{
    char cost[MW_COST_TEXT_BYTES], gap[MW_GAP_TEXT_BYTES];
    mw_text_printf(text, "cost       %s\n", mw_cost_text(solution->cost, cost));
    mw_text_printf(text, "bound      %s\n", mw_cost_text(solution->lower_bound, cost));
    mw_text_printf(text, "gap        %s\n", mw_gap_text(solution, gap));
    mw_text_printf(text, "peak       %lld", (long long)solution->peak_usage);
    if (problem->usage_limit != MW_USAGE_UNLIMITED)
        mw_text_printf(text, " of %lld", (long long)problem->usage_limit);
    mw_text_printf(text, ", at time %lld\n", (long long)solution->peak_time);
}

void mw_solve_summary(MwText *text, const MwProblem *problem, const MwSolution *solution,
                      double time_s)
{
    mw_text_printf(text, "status     %s\n", status_name(solution->status));
    if (solution->choice)
        add_answer(text, problem, solution);
    else
        add_why(text, problem, solution);
    mw_text_printf(text, "time       %.3f s\n", time_s);
}

void mw_solve_strategies(MwText *text, const MwProblem *problem, const MwSolution *solution)
{
    mw_text_add(text, "[");
    for (int i = 0; i < problem->node_count; i++)
        mw_text_printf(text, "%s%d", i ? ", " : "", solution->choice[i]);
    mw_text_add(text, "]");
}

static void add_cost(MwJson *json, const char *key, MwCost cost)
{
    char digits[MW_COST_TEXT_BYTES];
    mw_json_field_raw(json, key, mw_cost_text(cost, digits));
}

static void add_choice(MwJson *json, const MwProblem *problem, const MwSolution *solution)
{
    MwText list = {.arena = json->arena};
    mw_text_add(&list, "\n ");
    mw_solve_strategies(&list, problem, solution);
    add_cost(json, "cost", solution->cost);
    mw_json_field_int(json, "peak_usage", solution->peak_usage);
    mw_json_field_int(json, "peak_time", solution->peak_time);
    mw_json_field_raw(json, "strategies", list.at);
}

void mw_solve_json(MwText *text, const MwProblem *problem, const MwSolution *solution)
{
    MwJson json = mw_json_begin(text->arena);
    mw_json_field_string(&json, "name", problem->name);
    mw_json_field_string(&json, "status", status_name(solution->status));
    add_cost(&json, "lower_bound", solution->lower_bound);
    if (problem->usage_limit != MW_USAGE_UNLIMITED)
        mw_json_field_int(&json, "usage_limit", problem->usage_limit);
    if (solution->choice)
        add_choice(&json, problem, solution);
    mw_json_end(&json, text);
}
