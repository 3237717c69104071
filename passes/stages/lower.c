/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/lower.h"

#include "passes/pass.h"

typedef bool (*LowerPass)(MwCompilation *compilation, MwDiags *diags);

/* Each table lists the rows of passes.def with one word in the column `again`. */
#define PASS(name, again, what) AGAIN_##again(name)
#define AGAIN_NEVER(name)

#define AGAIN_BATCHING(name) mw_pass_##name,
#define AGAIN_REMAT(name)
#define AGAIN_LAYOUT(name)
static const LowerPass batching[] = {
#include "passes/passes.def"
};
#undef AGAIN_BATCHING
#undef AGAIN_REMAT
#undef AGAIN_LAYOUT

#define AGAIN_BATCHING(name)
#define AGAIN_REMAT(name) mw_pass_##name,
#define AGAIN_LAYOUT(name)
static const LowerPass remat[] = {
#include "passes/passes.def"
};
#undef AGAIN_REMAT
#undef AGAIN_LAYOUT

#define AGAIN_REMAT(name)
#define AGAIN_LAYOUT(name) mw_pass_##name,
static const LowerPass layout[] = {
#include "passes/passes.def"
};

static bool run(const LowerPass *passs, int count, MwCompilation *compilation, MwDiags *diags)
{
    bool good = true;
    for (int i = 0; i < count && good; i++) {
        const MwGraph *before = compilation->graph;
        good = passs[i](compilation, diags);
        if (good)
            mw_compilation_keep_graph(compilation, before);
    }
    return good;
}

bool mw_stage_lower_batching(MwCompilation *compilation, MwDiags *diags)
{
    return run(batching, MW_COUNT(batching), compilation, diags);
}

bool mw_stage_lower_remat(MwCompilation *compilation, MwDiags *diags)
{
    return run(remat, MW_COUNT(remat), compilation, diags);
}

bool mw_stage_lower_layout(MwCompilation *compilation, MwDiags *diags)
{
    return run(layout, MW_COUNT(layout), compilation, diags);
}
