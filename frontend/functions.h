/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of functions.def, and what their files share. */
#ifndef MW_FRONTEND_FUNCTIONS_H
#define MW_FRONTEND_FUNCTIONS_H

#include "frontend/expand.h"

/* Each expands one call whose arguments are bound and none of them NONE. */
#define FUNCTION(name, signature) MwTerm mw_function_##name(MwExpander *ex, const MwCall *call);
#include "frontend/functions.def"
#undef FUNCTION

/* mw_emit_all with the call's extra attributes. */
MwTerm mw_call_emit(MwExpander *ex, const MwCall *call, MwOp op, const MwValueId *operands,
                    int operand_count, const MwAttr *attrs, int attr_count);

#endif
