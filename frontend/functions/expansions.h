/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each function of functions.def expands to. */
#ifndef MW_FRONTEND_FUNCTIONS_EXPANSIONS_H
#define MW_FRONTEND_FUNCTIONS_EXPANSIONS_H

#include "frontend/terms/call.h"

/* Each expands one call whose arguments are bound and none of them NONE. */
#define FUNCTION(name, signature) MwTerm mw_function_##name(MwExpander *ex, const MwCall *call);
#include "frontend/functions/functions.def"

/* What the text of a COMPOSITION means for a call, with the last node at `site`. */
MwTerm mw_compose(MwExpander *ex, const MwCall *call, MwSite site, double fallback,
                  const char *text);
/* What a LOSS is for a call. */
MwTerm mw_compose_loss(MwExpander *ex, const MwCall *call, bool of_rows, const char *text);

/* Argument k of a norm, `eps`; false after an error. What PyTorch has in its place, the sizes of
 * what is normalised, is refused (norm.c). */
bool mw_call_eps(MwExpander *ex, const MwCall *call, int k, double *eps);
/* Every stride-th element of dimension `axis` of `x` from `begin` up to, not including, `end`
 * (rearrange.c). */
MwValueId mw_emit_part(MwExpander *ex, const MwCall *call, MwValueId x, int axis, int64_t begin,
                       int64_t end, int64_t stride);
/* The slices of `x`, of floats, along `axis` at i32 `ids`, whose dimensions take the place of the
 * axis (lookup.c). */
MwValueId mw_emit_gather(MwExpander *ex, MwSite site, MwValueId x, MwValueId ids, int axis);
/* The operands of a call that takes tensors and lists of tensors by position, at least one; false
 * after an error (shape.c). */
bool mw_call_tensors(MwExpander *ex, const MwCall *call, MwValueId **values, int *count);

#endif
