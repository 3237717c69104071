/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects of compiled kernels, kept from one compilation to the next, where compiling takes long:
 * in $XDG_CACHE_HOME/meshwright, or ~/.cache/meshwright.
 *
 * An object is found by a key, a text of everything that it depends on, and only if it is as it was
 * kept. An object that cannot be read or written, or is damaged, counts as missing: compiling is
 * then only slower. */
#ifndef MW_CODEGEN_LINK_OBJECT_CACHE_H
#define MW_CODEGEN_LINK_OBJECT_CACHE_H

#include "base/text.h"

/* Returns the object with this key; NULL if there is none. */
const char *mw_object_cache_find(MwArena *arena, const MwText *key, size_t *bytes);
/* Keeps an object. If there are many, removes those that were used least recently. */
void mw_object_cache_keep(MwArena *arena, const MwText *key, const char *object, size_t bytes);

#endif
