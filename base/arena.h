/* SPDX-License-Identifier: MIT */
/* A region of memory that is freed as a whole: one per phase, passed explicitly.
 *
 * Invariant: memory handed out is zeroed, aligned to 16 bytes, never moves, and lives until
 * mw_arena_free of its arena, or of one that it is within. Running out of memory ends the process
 * with a message; callers never see NULL. */
#ifndef MW_BASE_ARENA_H
#define MW_BASE_ARENA_H

#include "base/base.h"

#include <stdarg.h>

typedef struct MwArena MwArena;

MwArena *mw_arena_new(void);
/* One that is freed with `around` unless it is before: for what is replaced while the rest stays. */
MwArena *mw_arena_new_within(MwArena *around);
void mw_arena_free(MwArena **arena);

/* `bytes` zeroed bytes; a valid pointer for 0 too. */
void *mw_arena_alloc(MwArena *arena, size_t bytes);
void *mw_arena_dup(MwArena *arena, const void *data, size_t bytes);
char *mw_arena_strdup(MwArena *arena, const char *text);
char *mw_arena_strndup(MwArena *arena, const char *text, size_t length);
char *mw_arena_printf(MwArena *arena, const char *format, ...) MW_PRINTF(2, 3);
char *mw_arena_vprintf(MwArena *arena, const char *format, va_list args);

/* Bytes taken from the system so far, without those of arenas within. */
size_t mw_arena_bytes(const MwArena *arena);

/* `count` zeroed elements of `type`. */
#define MW_NEW(arena, type, count) ((type *)mw_arena_alloc((arena), sizeof(type) * (size_t)(count)))

#endif
