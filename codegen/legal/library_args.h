/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that fill the arguments of calls of library operators: the column `arguments` of
 * the LIBRARY lines of ir/ops.def. */
#ifndef MW_CODEGEN_LEGAL_LIBRARY_ARGS_H
#define MW_CODEGEN_LEGAL_LIBRARY_ARGS_H

#include "codegen/legal/legal.h"
#include "runtime/plan/plan.h"

/* Fills the arguments of the call of `node`, which is in the form that its rule of legalization
 * gives it. On entry every argument is zero and has its kind, integer or float. */
typedef void MwLibraryArguments(const MwLegal *legal, const MwNode *node, MwPlanArg *args);

#define LIBRARY(id, routine, work, legal, arguments) MwLibraryArguments mw_arguments_##arguments;
#include "ir/ops.def"

#endif
