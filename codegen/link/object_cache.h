/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects of compiled kernels, kept from one compilation to the next, where compiling takes long:
 * in $XDG_CACHE_HOME/meshwright, or ~/.cache/meshwright.
 *
 * An object is found by a key, a text of all that it depends on, and only as it was kept. What
 * cannot be read, written, or is damaged is as if it were not there: compiling is then only
 * slower. */
#ifndef MW_CODEGEN_LINK_OBJECT_CACHE_H
#define MW_CODEGEN_LINK_OBJECT_CACHE_H

#include "base/text.h"

/* NULL: there is none. */
const char *mw_object_cache_find(MwArena *arena, const MwText *key, size_t *bytes);
/* Of many, those that were used least lately go. */
void mw_object_cache_keep(MwArena *arena, const MwText *key, const char *object, size_t bytes);

#endif
