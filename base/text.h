/* SPDX-License-Identifier: MIT */
/* A text that grows at its end, for printers: MwText t = {.arena = a}; mw_text_printf(&t, ...).
 *
 * Invariant: `at` is NUL-terminated once anything, even an empty text, was added. */
#ifndef MW_BASE_TEXT_H
#define MW_BASE_TEXT_H

#include "base/arena.h"

typedef struct {
    MwArena *arena;
    char *at;
    size_t bytes, capacity;
} MwText;

void mw_text_add(MwText *text, const char *more);
void mw_text_add_n(MwText *text, const char *more, size_t bytes);
void mw_text_printf(MwText *text, const char *format, ...) MW_PRINTF(2, 3);

/* Whether `text` ends in `end`. */
bool mw_text_ends_in(const char *text, const char *end);

/* Adds `word` as one word of a POSIX shell, quoted if necessary. */
void mw_text_add_word(MwText *text, const char *word);

/* Adds the shortest decimal that reads back as the same double; "inf", "-inf" and "nan" for
 * those. An integral value has no point: 2, not 2.0. */
void mw_text_add_double(MwText *text, double value);

#endif
