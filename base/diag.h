/* SPDX-License-Identifier: MIT */
/* Diagnostics: what is wrong for the user, with its place in their source.
 *
 * A diagnostic has a severity, a message and, if known, a span of source:
 *
 *     models/gpt.graph:12:9: error: cannot multiply f32[8, 128] by f32[64, 32]
 *        12 |     h = x @ w1
 *           |         ^~~~~~
 *       note: dimension 1 of the left is 128, dimension 0 of the right is 64
 *
 * A long line is shown only around the caret. A run collects several diagnostics. Errors of the
 * environment (files, memory, other programs) use the same list, without a span. Functions that
 * can fail return false or NULL after they add an error. */
#ifndef MW_BASE_DIAG_H
#define MW_BASE_DIAG_H

#include "base/arena.h"

#include <stdio.h>

/* A text and its name for messages. The creator of the source owns the text. */
typedef struct {
    const char *name;
    const char *text;
    size_t bytes;
} MwSource;

/* Bytes [begin, end) of `source`; source NULL: no place is known. */
typedef struct {
    const MwSource *source;
    uint32_t begin, end;
} MwSpan;

static inline MwSpan mw_span_none(void)
{
    return (MwSpan){0};
}

/* The least span that covers both, which are of one source. */
MwSpan mw_span_join(MwSpan a, MwSpan b);

typedef struct {
    int line, column; /* from 1; columns count bytes */
} MwSourcePosition;

/* The beginning of the span; {0, 0} if it has no source. */
MwSourcePosition mw_span_position(MwSpan span);

typedef enum { MW_SEVERITY_ERROR, MW_SEVERITY_WARNING, MW_SEVERITY_NOTE } MwSeverity;

typedef struct MwDiags MwDiags;

/* The list and its messages lie in `arena`. */
MwDiags *mw_diags_new(MwArena *arena);

void mw_diag_error(MwDiags *diags, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);
void mw_diag_warning(MwDiags *diags, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);
/* Explains the diagnostic before it. It is printed indented below that one, with its own place
 * if it has one. */
void mw_diag_note(MwDiags *diags, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);

/* Adds all diagnostics of `more`. */
void mw_diags_append(MwDiags *diags, const MwDiags *more);

/* Moves the spans that begin in `part` to the same places of `whole`, a text that stands at the
 * beginning of `part`; those behind it go to its end. */
void mw_diags_move(MwDiags *diags, MwSpan part, const MwSource *whole);

int mw_diags_error_count(const MwDiags *diags);
/* The message of the first error; NULL: there is none. */
const char *mw_diags_first_error(const MwDiags *diags);
/* Prints all diagnostics in the order in which they were added. */
void mw_diags_print(const MwDiags *diags, FILE *out);

#endif
