/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the whole problem, unreduced, as the integer linear program of ilp.c. */
#include "solver/ilp.h"
#include "solver/replace.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), end = strlen(ending);
    return length >= end && !strcmp(text + length - end, ending);
}

static bool write_program(const MwProblem *problem, const char *path)
{
    MwArena *scratch = mw_arena_new();
    MwCore *core = mw_core_build(scratch, mw_tables_new(scratch), problem, true);
    MwIlp ilp = mw_ilp_build(scratch, core, ldexp(1, -core->scale));
    if (problem->name && strlen(problem->name) < 256)
        glp_set_prob_name(ilp.program, problem->name);
    glp_term_out(GLP_OFF);
    bool mps = ends_in(path, ".mps") || ends_in(path, ".mps.gz");
    errno = EIO; /* GLPK reports a failed write without a reason */
    bool good = mps ? glp_write_mps(ilp.program, GLP_MPS_FILE, NULL, path) == 0
                    : glp_write_lp(ilp.program, NULL, path) == 0;
    glp_delete_prob(ilp.program);
    mw_arena_free(&scratch);
    return good;
}

bool mw_problem_save_ilp(const MwProblem *problem, const char *path, MwDiags *diags)
{
    MwArena *scratch = mw_arena_new();
    const char *temporary = mw_replace_begin(scratch, path, diags);
    bool good =
        temporary && mw_replace_end(temporary, path, write_program(problem, temporary), diags);
    mw_arena_free(&scratch);
    return good;
}
