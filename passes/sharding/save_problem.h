/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing the intra-op problems of a compilation, to be solved again or by others. */
#ifndef MW_PASSES_SHARDING_SAVE_PROBLEM_H
#define MW_PASSES_SHARDING_SAVE_PROBLEM_H

#include "passes/compilation.h"

/* Writes the problem of each stage that sharding has posed, in the forms that the options ask for. Where
 * there are several stages each has a file, p-stage0.json.gz for p.json.gz, and notes say so. False after
 * an error. */
bool mw_problems_save(const MwCompilation *compilation, MwDiags *diags);

#endif
