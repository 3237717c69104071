/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/save_problem.h"

#include "passes/sharding/intra_problem.h"

#include <string.h>

/* The length of a path without its file name extension; the whole length if it has none that is
 * known. */
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

typedef bool Writer(const MwProblem *problem, const char *path, MwDiags *diags);

/* Writes one problem to its path (NULL: not asked for), and names the path in a note if it
 * differs from `path`. */
static bool save(const MwCompilation *compilation, const char *path, int stage,
                 const MwProblem *problem, Writer *writer, MwDiags *diags)
{
    if (!path)
        return true;
    const char *own = path_of_stage(compilation, path, stage);
    if (!writer(problem, own, diags))
        return false;
    if (own != path)
        mw_diag_note(diags, mw_span_none(), "the problem of stage %d is in %s", stage, own);
    return true;
}

bool mw_problems_save(const MwCompilation *compilation, MwDiags *diags)
{
    const MwCompileOptions *options = &compilation->options;
    bool good = true;
    for (int i = 0; compilation->stages && i < compilation->staging.stage_count && good; i++) {
        const MwIntraProblem *intra = compilation->stages[i].problem;
        good =
            !intra ||
            (save(compilation, options->save_problem, i, &intra->problem, mw_problem_save, diags) &&
             save(compilation, options->save_ilp, i, &intra->problem, mw_problem_save_ilp, diags));
    }
    return good;
}
