/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the passes of passes.def in order; after each, the graph is verified, and dumped or timed
 * on request. */
#include "passes/pass.h"

#include "base/clock.h"
#include "ir/print.h"

#include <string.h>

static const struct {
    const char *name, *what;
    bool (*run)(MwCompilation *compilation, MwDiags *diags);
} passes[MW_PASS_COUNT] = {
#define PASS(name, again, what) [MW_PASS_##name] = {#name, what, mw_pass_##name},
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

static int node_count(const MwCompilation *compilation)
{
    int count = 0;
    for (int i = 0; i < mw_compilation_graph_count(compilation); i++)
        count += mw_compilation_graph(compilation, i)->nodes.count;
    return count;
}

static void dump(const MwCompilation *compilation, FILE *out)
{
    MwText text = {.arena = compilation->arena};
    int count = mw_compilation_graph_count(compilation);
    for (int i = 0; i < count; i++) {
        if (count > 1)
            mw_text_printf(&text, "# stage %d of %d\n", i, count);
        mw_graph_print(&text, mw_compilation_graph(compilation, i));
    }
    fputs(text.at, out);
}

static bool run_shown(MwCompilation *compilation, MwPass pass, MwDiags *diags)
{
    mw_pass_progress_show(&compilation->progress, "%s: %s", passes[pass].name, passes[pass].what);
    bool done = passes[pass].run(compilation, diags);
    mw_pass_progress_clear(&compilation->progress);
    return done;
}

static bool run_one(MwCompilation *compilation, MwPass pass, const MwPipelineOptions *options,
                    MwDiags *diags)
{
    double begin_s = mw_clock_s();
    const MwGraph *before = compilation->graph;
    bool done = run_shown(compilation, pass, diags);
    if (done)
        mw_compilation_keep_graph(compilation, before);
    MW_ASSERT(done == (mw_diags_error_count(diags) == 0));
    if (options->times)
        fprintf(options->times, "%-14s %9.3f ms  %7d nodes\n", passes[pass].name,
                (mw_clock_s() - begin_s) * 1e3, node_count(compilation));
    if (done && options->dump_after == pass)
        dump(compilation, options->dump);
    return done && mw_compilation_verify(compilation, passes[pass].name, diags);
}

bool mw_pipeline_run(MwCompilation *compilation, const MwPipelineOptions *options, MwDiags *diags)
{
    compilation->progress = options->progress;
    for (int pass = 0; pass < MW_PASS_COUNT; pass++) {
        if (!run_one(compilation, (MwPass)pass, options, diags))
            return false;
        if ((MwPass)pass == options->stop_after)
            return true;
    }
    return true;
}
