/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the passes of passes.def in order; after each, the graph is checked, and dumped or timed if
 * that is wanted. */
#include "passes/pass.h"

#include "base/clock.h"
#include "ir/print.h"
#include "ir/verify.h"

#include <string.h>

static const struct {
    const char *name, *what;
    bool (*run)(MwCompilation *compilation, MwDiags *diags);
} passes[MW_PASS_COUNT] = {
#define PASS(name, what) [MW_PASS_##name] = {#name, what, mw_pass_##name},
#include "passes/passes.def"
#undef PASS
};

const char *mw_pass_name(MwPass pass)
{
    MW_ASSERT(pass < MW_PASS_COUNT);
    return passes[pass].name;
}

const char *mw_pass_what(MwPass pass)
{
    MW_ASSERT(pass < MW_PASS_COUNT);
    return passes[pass].what;
}

bool mw_pass_parse(const char *name, MwPass *pass)
{
    for (int i = 0; i < MW_PASS_COUNT; i++) {
        if (strcmp(passes[i].name, name) == 0) {
            *pass = (MwPass)i;
            return true;
        }
    }
    return false;
}

/* What the last pass made: the model, or that of each stage, and once it is partitioned what each
 * device of the stage runs. */
static int graph_count(const MwCompilation *compilation)
{
    return compilation->stages ? compilation->staging.stage_count : 1;
}

static const MwGraph *graph_at(const MwCompilation *compilation, int index)
{
    if (!compilation->stages)
        return compilation->graph;
    const MwStage *stage = &compilation->stages[index];
    return stage->local ? stage->local->graph : stage->graph;
}

static int node_count(const MwCompilation *compilation)
{
    int count = 0;
    for (int i = 0; i < graph_count(compilation); i++)
        count += graph_at(compilation, i)->nodes.count;
    return count;
}

static void dump(const MwCompilation *compilation, FILE *out)
{
    MwText text = {.arena = compilation->arena};
    for (int i = 0; i < graph_count(compilation); i++) {
        if (graph_count(compilation) > 1)
            mw_text_printf(&text, "# stage %d of %d\n", i, graph_count(compilation));
        mw_graph_print(&text, graph_at(compilation, i));
    }
    fputs(text.at, out);
}

static bool verify(const MwCompilation *compilation, const char *pass, MwDiags *diags)
{
    for (int i = 0; i < graph_count(compilation); i++)
        if (!mw_graph_verify(graph_at(compilation, i), pass, diags))
            return false;
    return true;
}

static bool run_one(MwCompilation *compilation, MwPass pass, const MwPipelineOptions *options,
                    MwDiags *diags)
{
    double begin_s = mw_clock_s();
    bool done = passes[pass].run(compilation, diags);
    MW_ASSERT(done == (mw_diags_error_count(diags) == 0));
    if (options->times)
        fprintf(options->times, "%-14s %9.3f ms  %7d nodes\n", passes[pass].name,
                (mw_clock_s() - begin_s) * 1e3, node_count(compilation));
    if (done && options->dump_after == pass)
        dump(compilation, options->dump);
    return done && verify(compilation, passes[pass].name, diags);
}

bool mw_pipeline_run(MwCompilation *compilation, const MwPipelineOptions *options, MwDiags *diags)
{
    for (int pass = 0; pass < MW_PASS_COUNT; pass++) {
        if (!run_one(compilation, (MwPass)pass, options, diags))
            return false;
        if ((MwPass)pass == options->stop_after)
            return true;
    }
    return true;
}

bool mw_passes_run(MwCompilation *compilation, MwPass first, MwPass end, MwDiags *diags)
{
    const MwPipelineOptions options = {.stop_after = MW_PASS_COUNT, .dump_after = MW_PASS_COUNT};
    bool done = true;
    for (int pass = first; pass < (int)end && done; pass++)
        done = run_one(compilation, (MwPass)pass, &options, diags);
    return done;
}
