/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What names mean, and the full names of values and scopes.
 *
 * The full name of a value is the scope it is made in, a dot, and the name the source gives it, or
 * else the name of its operator. Full names are unique: the second of a name gets the suffix .1.
 * Weights, inputs and states have exactly their own name, which is kept for them when their scope
 * begins. */
#ifndef MW_FRONTEND_TERMS_NAMES_H
#define MW_FRONTEND_TERMS_NAMES_H

#include "frontend/terms/expander.h"

/* What `name` means: the term that a comprehension binds it to, or the current frame; a size, or a
 * word of the language (f32, pi). False if it means nothing. */
bool mw_name_find(const MwExpander *ex, const char *name, MwTerm *term);
/* Appends the words of the language that are names: f32, pi, true. */
void mw_names_predefined(MwExpander *ex, MwKnown *known);
/* Whether the language gives `name` a meaning that nothing may change. */
bool mw_name_is_predefined(const char *name);
/* Checks that the language gives `name` no meaning that nothing may change; adds an error if it
 * does. */
bool mw_name_check(MwExpander *ex, MwName name);
/* Gives `name` a meaning in the current frame; an error if it is predefined. */
void mw_name_bind(MwExpander *ex, MwName name, MwTerm term);

/* The names of the current frame with what they mean now; mw_names_restore makes them mean that
 * again, and all others nothing. */
MwNameMap mw_names_save(const MwExpander *ex);
void mw_names_restore(MwExpander *ex, const MwNameMap *saved);

/* The full name of `name` in the current scope. */
const char *mw_name_in_scope(MwExpander *ex, const char *name);
/* The full name `base`, or where it is taken `base` with a suffix. */
const char *mw_name_make_unique(MwExpander *ex, const char *base);
/* Keeps a name of the current scope for a declaration. */
void mw_name_reserve(MwExpander *ex, const char *name);

/* The scope of a block or repeat called `name` in the current scope: unique, maybe with a
 * suffix. */
const char *mw_scope_enter_block(MwExpander *ex, const char *name);
const char *mw_scope_enter_repeat(MwExpander *ex, const char *name);

#endif
