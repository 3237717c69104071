/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the result of a command goes if the user does not say: to gpt or gpt.plan in the working
 * folder, for models/gpt.graph. */
#ifndef MW_TOOLS_OUTPUT_NAME_H
#define MW_TOOLS_OUTPUT_NAME_H

#include "base/diag.h"

/* The name for a result of `model`, a path, with `suffix` in the place of ".graph". What has this
 * name already is replaced only if it is a plan or an executable that holds one. NULL after an
 * error. */
const char *mw_output_name(MwArena *arena, const char *model, const char *suffix, MwDiags *diags);

#endif
