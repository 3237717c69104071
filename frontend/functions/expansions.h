/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each function of functions.def expands to. */
#ifndef MW_FRONTEND_FUNCTIONS_EXPANSIONS_H
#define MW_FRONTEND_FUNCTIONS_EXPANSIONS_H

#include "frontend/terms/call.h"

/* Each expands one call whose arguments are bound and none of them NONE. */
#define FUNCTION(name, signature) MwTerm mw_function_##name(MwExpander *ex, const MwCall *call);
#include "frontend/functions/functions.def"
#undef FUNCTION

#endif
