/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the intra-operator problems of a compilation to files, for replay or other solvers. */
#ifndef MW_PASSES_SHARDING_SAVE_PROBLEM_H
#define MW_PASSES_SHARDING_SAVE_PROBLEM_H

#include "passes/compilation.h"

/* Writes the problem of each stage that sharding has built, in the formats that the options ask
 * for. With several stages each has its own file (p-stage0.json.gz for p.json.gz), which a note
 * names. False after an error. */
bool mw_problems_save(const MwCompilation *compilation, MwDiags *diags);

#endif
