/* SPDX-License-Identifier: MIT */
/* An arena: a region of memory that is freed as a whole. Each phase has one, passed explicitly.
 *
 * Invariant: allocated memory is zeroed, aligned to 16 bytes, never moves, and lives until
 * mw_arena_free of its arena or of an arena around it. Running out of memory ends the process
 * with a message; callers never see NULL. */
#ifndef MW_BASE_ARENA_H
#define MW_BASE_ARENA_H

#include "base/base.h"

#include <stdarg.h>

typedef struct MwArena MwArena;

MwArena *mw_arena_new(void);
/* An arena that may be freed earlier than `around`, and is freed with it at the latest: for data
 * that is replaced while other data of the phase stays. */
MwArena *mw_arena_new_within(MwArena *around);
void mw_arena_free(MwArena **arena);

/* `bytes` zeroed bytes; a valid pointer also for 0 bytes. */
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
