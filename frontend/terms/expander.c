/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/terms/expander.h"

#include "base/suggest.h"

void mw_expand_context(MwExpander *ex)
{
    for (const MwFrame *frame = ex->frame; frame && frame->parent; frame = frame->parent)
        mw_diag_note(ex->diags, frame->call, "in block '%s', called here", frame->block->name.text);
    if (mw_diags_error_count(ex->diags) - ex->first_errors >= MW_MAX_EXPAND_ERRORS &&
        !ex->stopped) {
        mw_diag_note(ex->diags, mw_span_none(), "too many errors: the rest was not looked at");
        ex->stopped = true;
    }
}

void mw_expand_note(MwExpander *ex, MwSpan span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ex->note = mw_arena_vprintf(ex->arena, format, args);
    va_end(args);
    ex->note_span = span;
}

void mw_expand_error(MwExpander *ex, MwSpan span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = mw_arena_vprintf(ex->arena, format, args);
    va_end(args);
    const char *note = ex->note;
    ex->note = NULL;
    if (ex->stopped)
        return;
    mw_diag_error(ex->diags, span, "%s", message);
    if (note)
        mw_diag_note(ex->diags, ex->note_span, "%s", note);
    mw_expand_context(ex);
}

void mw_expand_stop(MwExpander *ex, MwSpan span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = mw_arena_vprintf(ex->arena, format, args);
    va_end(args);
    if (!ex->stopped)
        mw_diag_error(ex->diags, span, "%s", message);
    ex->stopped = true;
}

const char *mw_expand_hint(MwExpander *ex, const char *typed, const MwKnown *known)
{
    const char *near = mw_foreign_spelling(typed, known);
    if (!near)
        near = mw_suggest(typed, known->at, known->count);
    return near ? mw_arena_printf(ex->arena, "; did you mean '%s'?", near) : "";
}

bool mw_expand_once(MwExpander *ex, MwNameMap *said, const char *name, MwSpan span,
                    const char *what)
{
    void **slot = mw_name_map_add(said, name);
    if (*slot) {
        mw_expand_note(ex, *(const MwSpan *)*slot, "the first is here");
        mw_expand_error(ex, span, "there already is %s '%s'", what, name);
        return false;
    }
    *slot = mw_arena_dup(ex->arena, &span, sizeof span);
    return true;
}

bool mw_expand_charge(MwExpander *ex, MwSpan span, int64_t steps)
{
    if (ex->stopped)
        return false;
    if (steps > MW_MAX_STEPS - ex->steps)
        mw_expand_stop(ex, span, "the model is too large: expanding it takes more than %d steps",
                       MW_MAX_STEPS);
    else
        ex->steps += steps;
    return !ex->stopped;
}

bool mw_expand_enter(MwExpander *ex, MwSpan span)
{
    if (ex->depth == MW_MAX_DEPTH)
        mw_expand_stop(ex, span, "expressions and calls are nested more than %d deep",
                       MW_MAX_DEPTH);
    if (!mw_expand_charge(ex, span, 1))
        return false;
    ex->depth++;
    return true;
}

void mw_expand_leave(MwExpander *ex)
{
    ex->depth--;
}
