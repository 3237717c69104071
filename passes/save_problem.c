/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/save_problem.h"

#include <string.h>

/* Where the ending of a file name begins that says what is in it; at its end, if none does. */
static size_t stem_length(const char *path)
{
    static const char *const endings[] = {".json.gz", ".json", ".gz", ".lp", ".mps"};
    size_t length = strlen(path);
    for (int i = 0; i < MW_COUNT(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(path + length - ending, endings[i]) == 0)
            return length - ending;
    }
    return length;
}

static const char *path_of_stage(const MwCompilation *compilation, const char *path, int stage)
{
    if (compilation->staging.stage_count == 1)
        return path;
    size_t stem = stem_length(path);
    return mw_arena_printf(compilation->arena, "%.*s-stage%d%s", (int)stem, path, stage,
                           path + stem);
}

bool mw_save_problem(const MwCompilation *compilation, int stage, const MwProblem *problem,
                     MwDiags *diags)
{
    const MwCompileOptions *options = &compilation->options;
    return (!options->save_problem ||
            mw_problem_save(problem, path_of_stage(compilation, options->save_problem, stage),
                            diags)) &&
           (!options->save_ilp ||
            mw_problem_save_ilp(problem, path_of_stage(compilation, options->save_ilp, stage),
                                diags));
}
