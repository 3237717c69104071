/* SPDX-License-Identifier: MIT */
#include "base/diag.h"

#include "base/vec.h"

#include <string.h>

typedef struct {
    MwSeverity severity;
    MwSpan span;
    const char *message;
} Diag;

struct MwDiags {
    MwArena *arena;
    MW_VEC(Diag) list;
    int errors;
};

MwSpan mw_span_join(MwSpan a, MwSpan b)
{
    if (!a.source)
        return b;
    if (!b.source || a.source != b.source)
        return a;
    return (MwSpan){.source = a.source,
                    .begin = a.begin < b.begin ? a.begin : b.begin,
                    .end = a.end > b.end ? a.end : b.end};
}

/* Whether a byte is a later one of a character of UTF-8, which takes one column. */
static bool continues_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

MwPlace mw_span_place(MwSpan span)
{
    if (!span.source)
        return (MwPlace){0};
    MwPlace place = {.line = 1, .column = 1};
    for (uint32_t i = 0; i < span.begin && i < span.source->bytes; i++) {
        place.column += !continues_character(span.source->text[i]);
        if (span.source->text[i] == '\n')
            place = (MwPlace){.line = place.line + 1, .column = 1};
    }
    return place;
}

MwDiags *mw_diags_new(MwArena *arena)
{
    MwDiags *diags = MW_NEW(arena, MwDiags, 1);
    diags->arena = arena;
    return diags;
}

static void add(MwDiags *diags, MwSeverity severity, MwSpan span, const char *format, va_list args)
{
    Diag *diag = mw_vec_add(diags->arena, &diags->list);
    *diag = (Diag){severity, span, mw_arena_vprintf(diags->arena, format, args)};
    diags->errors += severity == MW_SEVERITY_ERROR;
}

void mw_diag_error(MwDiags *diags, MwSpan span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(diags, MW_SEVERITY_ERROR, span, format, args);
    va_end(args);
}

void mw_diag_warning(MwDiags *diags, MwSpan span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(diags, MW_SEVERITY_WARNING, span, format, args);
    va_end(args);
}

void mw_diag_note(MwDiags *diags, MwSpan span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(diags, MW_SEVERITY_NOTE, span, format, args);
    va_end(args);
}

void mw_diags_append(MwDiags *diags, const MwDiags *more)
{
    for (int i = 0; i < more->list.count; i++)
        mw_vec_push(diags->arena, &diags->list, more->list.at[i]);
    diags->errors += more->errors;
}

int mw_diags_error_count(const MwDiags *diags)
{
    return diags->errors;
}

static void print_repeated(FILE *out, char c, int count)
{
    for (int i = 0; i < count; i++)
        fputc(c, out);
}

/* The source line of the span and a caret line under it. Tabs and control characters become one
 * space in both, so that the caret stands under its column and the terminal is safe. */
static void print_excerpt(FILE *out, MwSpan span, MwPlace place)
{
    const char *begin = span.source->text + span.begin, *line = begin;
    const char *stop = span.source->text + span.source->bytes;
    while (line > span.source->text && line[-1] != '\n')
        line--;
    int length = 0;
    while (line + length < stop && line[length] != '\n')
        length++;
    fprintf(out, "%5d | ", place.line);
    for (int i = 0; i < length; i++)
        fputc((unsigned char)line[i] < ' ' ? ' ' : line[i], out);
    int64_t marked = mw_min((int64_t)span.end - span.begin, line + length - begin);
    fprintf(out, "\n      | ");
    print_repeated(out, ' ', place.column - 1);
    fputc('^', out);
    for (int64_t i = 1; i < marked; i++)
        if (!continues_character(begin[i]))
            fputc('~', out);
    fputc('\n', out);
}

static void print_diag(FILE *out, const Diag *diag)
{
    static const char *const names[] = {"error", "warning", "note"};
    MwPlace place = mw_span_place(diag->span);
    if (diag->severity == MW_SEVERITY_NOTE)
        fputs("  ", out);
    if (place.line)
        fprintf(out, "%s:%d:%d: ", diag->span.source->name, place.line, place.column);
    else if (diag->severity != MW_SEVERITY_NOTE)
        fputs("meshwright: ", out);
    fprintf(out, "%s: %s\n", names[diag->severity], diag->message);
    if (place.line)
        print_excerpt(out, diag->span, place);
}

void mw_diags_print(const MwDiags *diags, FILE *out)
{
    for (int i = 0; i < diags->list.count; i++)
        print_diag(out, &diags->list.at[i]);
}
