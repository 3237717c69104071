/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front end: .graph text to IR. docs/language.md is the reference of the language.
 *
 * A file is parsed to a syntax tree (syntax/), its imports with it; then sizes are computed and the
 * model is expanded, block by block and iteration by iteration, straight into nodes of the graph
 * (expand/). The flat text that ir/print.h prints is read by the same functions and gives the same
 * graph. */
#ifndef MW_FRONTEND_FRONTEND_H
#define MW_FRONTEND_FRONTEND_H

#include "frontend/define.h"
#include "ir/ir.h"

/* Reads the model in file `path`. Returns its graph, or NULL after errors. The graph and the
 * sources its spans point into live in `arena`. */
MwGraph *mw_graph_load(MwArena *arena, MwInterner *interner, const char *path,
                       const MwDefine *defines, int define_count, MwDiags *diags);

/* Reads the model in a text in memory, which must outlive the graph. Imports are relative to the
 * folder of source->name. */
MwGraph *mw_graph_parse(MwArena *arena, MwInterner *interner, const MwSource *source,
                        const MwDefine *defines, int define_count, MwDiags *diags);

/* A size of a model as the file says it: "layers" and "4". */
typedef struct {
    const char *name, *value;
} MwSizeText;

typedef MW_VEC(MwSizeText) MwSizeTexts;

/* Appends the sizes that the file `path` and its imports declare, in order. False after errors. */
bool mw_graph_sizes(MwArena *arena, const char *path, MwSizeTexts *sizes, MwDiags *diags);

#endif
