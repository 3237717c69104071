/* SPDX-License-Identifier: MIT */
/* Interned strings: one copy of each text, so that equality of texts is equality of pointers.
 * Threads may share an interner. */
#ifndef MW_BASE_INTERN_H
#define MW_BASE_INTERN_H

#include "base/arena.h"

typedef struct MwInterner MwInterner;

/* The interner and its strings lie in `arena`, the strings in an arena within it. */
MwInterner *mw_interner_new(MwArena *arena);

const char *mw_intern(MwInterner *interner, const char *text);
const char *mw_intern_n(MwInterner *interner, const char *text, size_t length);
const char *mw_intern_printf(MwInterner *interner, const char *format, ...) MW_PRINTF(2, 3);

#endif
