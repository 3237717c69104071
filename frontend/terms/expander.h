/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of an expansion, from syntax tree to graph, with its errors and limits.
 *
 * A block is expanded at each call in a frame of its own; a repeat runs its body in the frame
 * around it, once an iteration. The limits keep hostile input from using up time or memory. */
#ifndef MW_FRONTEND_TERMS_EXPANDER_H
#define MW_FRONTEND_TERMS_EXPANDER_H

#include "frontend/syntax/ast.h"
#include "frontend/terms/foreign.h"
#include "frontend/terms/name_map.h"
#include "frontend/terms/term.h"

enum {
    MW_MAX_DEPTH = 1000,       /* expressions, blocks and repeats inside one another */
    MW_MAX_STEPS = 1 << 21,    /* expressions and statements expanded */
    MW_MAX_NODES = 1 << 17,    /* operators of a model */
    MW_MAX_EXPAND_ERRORS = 20, /* errors after which the expansion ends */
};

/* A block being expanded, or the model. */
typedef struct MwFrame MwFrame;
struct MwFrame {
    MwFrame *parent; /* the frame of the caller; NULL for the model */
    const MwBlock *block;
    MwSpan call;
    const char *scope; /* interned path of blocks and repeats, with iterations: "layers.3.mlp" */
    MwNameMap names;   /* -> MwTerm */
    MwNameMap ended;   /* names of the steps of scans that have ended -> no value */
    MwTerm result;
    bool has_returned; /* what follows of the block is not expanded */
};

/* A name of a comprehension, which hides those of the frame. */
typedef struct MwLocal MwLocal;
struct MwLocal {
    const MwLocal *outer; /* that of the comprehension around it; NULL: none */
    const char *name;
    MwTerm term;
};

typedef struct {
    const MwBlock *block;
    MwSpan span;
    bool active; /* being expanded */
    bool broken; /* an expansion had errors: later calls are NONE */
} MwBlockState;

typedef struct {
    MwTerm term;
    MwSpan span;
} MwSize;

typedef struct MwScan MwScan; /* expand/scan.c */

/* A weight or state, and the statement that declares it. */
typedef struct {
    const MwStatement *statement;
    MwTerm term;
} MwDeclared;

/* How a scan goes through what it takes. */
typedef struct {
    int loop; /* its number in the graph */
    int64_t steps;
    bool reverse;
} MwScanSteps;

typedef struct MwExpander MwExpander;
struct MwExpander {
    MwArena *arena;
    MwInterner *interner;
    MwDiags *diags;
    MwGraph *graph;
    MwNameMap sizes;      /* -> MwSize */
    MwNameMap blocks;     /* -> MwBlockState */
    MwNameMap values;     /* full names of values -> last suffix tried, as intptr_t */
    MwNameMap scopes;     /* paths of scopes -> last suffix tried, as intptr_t */
    MwNameMap outputs;    /* names of outputs -> MwSpan */
    MwNameMap shown;      /* names of what runs show -> MwSpan */
    MwOutputs metrics;    /* what `show` statements name: the graph gets them after the losses */
    MwNameMap assigned;   /* full names of what is assigned -> MwSpan */
    MwNameMap pinned;     /* full names of values with a pin -> MwSpan */
    MwFrame *frame;       /* NULL while sizes are computed */
    const MwLocal *local; /* the innermost; NULL: none */
    MwScan *scan;         /* that is expanded; NULL: none */
    const MwScanSteps *in_scan; /* those of the scan whose body is expanded; NULL: none */
    /* full names of what the steps of a scan in a scan have declared -> MwDeclared; NULL: none */
    MwNameMap *declared;
    int scans; /* expanded so far */
    /* Expands the call of a block. Evaluation, which stands below statements, reaches them through
     * this alone; expand/body.c sets it. */
    MwTerm (*call_block)(MwExpander *ex, MwBlockState *state, const MwExpr *expr);
    const char *call_scope; /* path that the call of a block gives its scope; NULL: its name */
    int depth;              /* levels entered, at most MW_MAX_DEPTH */
    int64_t steps;          /* work done, at most MW_MAX_STEPS */
    int first_errors;       /* error count when the expansion began */
    int64_t next_key;       /* name of the random stream of the next dropout */
    const char *note;       /* explains the next error; NULL: nothing does */
    MwSpan note_span;
    MwSpan precision; /* place of the `precision` statement; no source: there was none yet */
    bool stopped;     /* a limit was passed: everything is NONE from here */
};

/* Adds an error, with the note that explains it and one for each call of a block around it. */
void mw_expand_error(MwExpander *ex, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);
/* Explains the error that mw_expand_error adds next. */
void mw_expand_note(MwExpander *ex, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);
/* Adds the notes of the calls to an error that something else has added. */
void mw_expand_context(MwExpander *ex);
/* Ends the expansion, with an error: a limit was passed. */
void mw_expand_stop(MwExpander *ex, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);

/* "; did you mean 'x'?", or "" if none is near. */
const char *mw_expand_hint(MwExpander *ex, const char *typed, const MwKnown *known);

/* Enters `name` in a map of what may be said once. False, after an error, if it is there. */
bool mw_expand_once(MwExpander *ex, MwNameMap *said, const char *name, MwSpan span,
                    const char *what);

/* Counts `steps` of work. False if the expansion has stopped. */
bool mw_expand_charge(MwExpander *ex, MwSpan span, int64_t steps);
/* Goes one level deeper; false (and nothing to leave) beyond the limit. */
bool mw_expand_enter(MwExpander *ex, MwSpan span);
void mw_expand_leave(MwExpander *ex);

#endif
