/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/solve/answer.h"

#include "tools/solve/reason.h"
#include "tools/solve/text.h"

static const char *status_name(MwSolveStatus status)
{
    static const char *const names[] = {
        [MW_SOLVED_OPTIMAL] = "optimal",       [MW_SOLVED_FEASIBLE] = "feasible",
        [MW_SOLVED_INFEASIBLE] = "infeasible", [MW_SOLVED_UNKNOWN] = "unknown",
        [MW_SOLVED_RELAXED] = "relaxed",
    };
    return names[status];
}

static void add_peak(MwText *text, const MwProblem *problem, const MwSolution *solution)
{
    /* INT64_MAX stands for every peak beyond 64 bits */
    bool greatest = solution->peak_usage == INT64_MAX;
    mw_text_printf(text, "peak       %lld%s", (long long)solution->peak_usage,
                   greatest ? " or more" : "");
    if (problem->usage_limit != MW_USAGE_UNLIMITED)
        mw_text_printf(text, " of %lld", (long long)problem->usage_limit);
    mw_text_printf(text, ", at time %lld\n", (long long)solution->peak_time);
    if (solution->status == MW_SOLVED_RELAXED)
        mw_text_printf(text, "least peak %lld of any choice\n", (long long)solution->least_peak);
}

static void add_answer(MwText *text, const MwProblem *problem, const MwSolution *solution)
{
    char cost[MW_COST_TEXT_BYTES], gap[MW_GAP_TEXT_BYTES];
    mw_text_printf(text, "cost       %s\n", mw_cost_text(solution->cost, cost));
    mw_text_printf(text, "bound      %s", mw_cost_text(solution->lower_bound, cost));
    if (solution->status == MW_SOLVED_RELAXED)
        mw_text_printf(text, " with a limit of %lld", (long long)solution->relaxed_limit);
    mw_text_printf(text, "\ngap        %s\n", mw_gap_text(solution, gap));
    add_peak(text, problem, solution);
}

void mw_solve_summary(MwText *text, const MwProblem *problem, const MwSolution *solution,
                      double time_s)
{
    mw_text_printf(text, "status     %s\n", status_name(solution->status));
    if (solution->infeasibility)
        mw_solve_reason(text, problem, solution->infeasibility);
    else if (!solution->choice || solution->status == MW_SOLVED_RELAXED)
        mw_text_add(text, "reason     no answer was found in time; there may be one\n");
    if (solution->choice)
        add_answer(text, problem, solution);
    mw_text_printf(text, "time       %.3f s\n", time_s);
}

void mw_solve_strategies(MwText *text, const MwProblem *problem, const MwSolution *solution)
{
    mw_text_add(text, "[");
    for (int i = 0; i < problem->node_count; i++)
        mw_text_printf(text, "%s%d", i ? ", " : "", solution->choice[i]);
    mw_text_add(text, "]");
}

static void add_choice(MwJson *json, const MwProblem *problem, const MwSolution *solution)
{
    MwText list = {.arena = json->arena};
    mw_text_add(&list, "\n ");
    mw_solve_strategies(&list, problem, solution);
    mw_json_field_cost(json, "cost", solution->cost);
    mw_json_field_int(json, "peak_usage", solution->peak_usage);
    mw_json_field_int(json, "peak_time", solution->peak_time);
    if (solution->status == MW_SOLVED_RELAXED) {
        mw_json_field_int(json, "relaxed_limit", solution->relaxed_limit);
        mw_json_field_int(json, "least_peak", solution->least_peak);
    }
    mw_json_field_raw(json, "strategies", list.at);
}

void mw_solve_json(MwText *text, const MwProblem *problem, const MwSolution *solution)
{
    MwJson json = mw_json_begin(text->arena);
    mw_json_field_string(&json, "name", problem->name);
    mw_json_field_string(&json, "status", status_name(solution->status));
    mw_json_field_cost(&json, "lower_bound", solution->lower_bound);
    if (problem->usage_limit != MW_USAGE_UNLIMITED)
        mw_json_field_int(&json, "usage_limit", problem->usage_limit);
    if (solution->infeasibility)
        mw_solve_reason_json(&json, problem, solution->infeasibility);
    if (solution->choice)
        add_choice(&json, problem, solution);
    mw_json_end(&json, text);
}
