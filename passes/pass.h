/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The passes and the pipeline that runs them in the order of passes.def. */
#ifndef MW_PASSES_PASS_H
#define MW_PASSES_PASS_H

#include "passes/compilation.h"

#include <stdio.h>

typedef enum {
#define PASS(name, again, what) MW_PASS_##name,
#include "passes/passes.def"
#undef PASS
    MW_PASS_COUNT
} MwPass;

/* Each pass brings the compilation one step further; false after an error of the user's. */
#define PASS(name, again, what) bool mw_pass_##name(MwCompilation *compilation, MwDiags *diags);
#include "passes/passes.def"
#undef PASS

const char *mw_pass_name(MwPass pass);
/* What the pass does, for help texts. */
const char *mw_pass_what(MwPass pass);
/* False if no pass has that name. */
bool mw_pass_parse(const char *name, MwPass *pass);

typedef struct {
    MwPass stop_after;       /* MW_PASS_COUNT: run all passes */
    MwPass dump_after;       /* MW_PASS_COUNT: no dump */
    FILE *dump;              /* receives the text of the graph after `dump_after` */
    FILE *times;             /* receives the time of each pass; NULL: not wanted */
    MwPassProgress progress; /* shows what the running pass does, and is cleared after it */
} MwPipelineOptions;

/* Runs the passes on `compilation` and verifies the graph after each. False after errors. */
bool mw_pipeline_run(MwCompilation *compilation, const MwPipelineOptions *options, MwDiags *diags);

#endif
