/* SPDX-License-Identifier: MIT */
/* What went wrong for the user, with the place in their source.
 *
 * A diagnostic has a severity, a message and, where there is one, a span of source:
 *
 *     models/gpt.graph:12:9: error: cannot multiply f32[8, 128] by f32[64, 32]
 *        12 |     h = x @ w1
 *           |         ^~~~~~
 *       note: dimension 1 of the left is 128, dimension 0 of the right is 64
 *
 * Of a long line what is around the caret is shown. Several are collected per run. Errors of the environment (files, memory, other programs) use the
 * same list with no span. Functions that can fail return false or NULL after adding an error. */
#ifndef MW_BASE_DIAG_H
#define MW_BASE_DIAG_H

#include "base/arena.h"

#include <stdio.h>

/* A text and its name as messages show it. The text is kept by whoever made it. */
typedef struct {
    const char *name;
    const char *text;
    size_t bytes;
} MwSource;

/* Bytes [begin, end) of `source`; source == NULL means no place is known. */
typedef struct {
    const MwSource *source;
    uint32_t begin, end;
} MwSpan;

static inline MwSpan mw_span_none(void)
{
    return (MwSpan){0};
}

/* The least span that covers both (of one source). */
MwSpan mw_span_join(MwSpan a, MwSpan b);

typedef struct {
    int line, column; /* from 1; columns count bytes */
} MwPlace;

/* Where the span begins. {0, 0} where it has no source. */
MwPlace mw_span_place(MwSpan span);

typedef enum { MW_SEVERITY_ERROR, MW_SEVERITY_WARNING, MW_SEVERITY_NOTE } MwSeverity;

typedef struct MwDiags MwDiags;

/* The list and its messages live in `arena`. */
MwDiags *mw_diags_new(MwArena *arena);

void mw_diag_error(MwDiags *diags, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);
void mw_diag_warning(MwDiags *diags, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);
/* Explains the diagnostic before it; shown indented under it, with its own place if it has one. */
void mw_diag_note(MwDiags *diags, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);

/* Adds all that `more` holds. */
void mw_diags_append(MwDiags *diags, const MwDiags *more);

int mw_diags_error_count(const MwDiags *diags);
/* All diagnostics in the order they were added. */
void mw_diags_print(const MwDiags *diags, FILE *out);

#endif
