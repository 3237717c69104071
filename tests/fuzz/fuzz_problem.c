/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of problem files on any text: it gives a problem or an error. What the solver says of
 * a problem that was read, if it is small, is so: its answer is legal and costs what is said, no
 * more than the least if that is proven and no less than the bound; where it says that there is
 * none, there is none. */
#include "tests/fuzz/fuzz.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/diags_text.h"

#include <sys/mman.h>
#include <unistd.h>

/* Few enough choices to try all. */
static bool is_small(const MwProblem *problem)
{
    int64_t choices = 1;
    for (int i = 0; i < problem->node_count && choices <= 1000; i++)
        choices *= problem->nodes[i].strategy_count;
    return choices <= 1000;
}

static void check_answer(const MwProblem *problem, const MwSolution *solution)
{
    int64_t time;
    MW_ASSERT(mw_problem_allows(problem, solution->choice));
    MW_ASSERT(mw_problem_cost(problem, solution->choice) == solution->cost);
    MW_ASSERT(mw_problem_peak(problem, solution->choice, &time) == solution->peak_usage);
    MW_ASSERT((solution->peak_usage > problem->usage_limit) ==
              (solution->status == MW_SOLVED_RELAXED));
}

static void solve(MwArena *arena, const MwProblem *problem, bool relax)
{
    Enumerated least = enumerate(problem);
    MwSolution solution = mw_solve(arena, problem, &(MwSolveOptions){.relax = relax});
    if (solution.choice)
        check_answer(problem, &solution);
    if (least.possible) {
        MW_ASSERT(solution.status == MW_SOLVED_OPTIMAL || solution.status == MW_SOLVED_FEASIBLE);
        MW_ASSERT(solution.lower_bound <= least.cost && least.cost <= solution.cost);
        MW_ASSERT((solution.lower_bound == solution.cost) ==
                  (solution.status == MW_SOLVED_OPTIMAL));
    } else {
        MW_ASSERT(solution.status == MW_SOLVED_INFEASIBLE || solution.status == MW_SOLVED_RELAXED);
        MW_ASSERT(solution.infeasibility != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    int fd = memfd_create("fuzz.json", 0);
    MW_ASSERT(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    const char *path = mw_arena_printf(arena, "/proc/self/fd/%d", fd);
    const MwProblem *problem = mw_problem_load(arena, path, diags);
    close(fd);
    MW_ASSERT((problem == NULL) == (mw_diags_error_count(diags) > 0));
    if (problem && is_small(problem)) {
        solve(arena, problem, false);
        solve(arena, problem, true);
    }
    diags_text(arena, diags);
    mw_arena_free(&arena);
    return 0;
}
