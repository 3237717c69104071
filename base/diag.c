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

/* Whether a byte continues a UTF-8 character, which takes one column. */
static bool continues_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

MwSourcePosition mw_span_position(MwSpan span)
{
    if (!span.source)
        return (MwSourcePosition){0};
    MwSourcePosition position = {.line = 1, .column = 1};
    for (uint32_t i = 0; i < span.begin && i < span.source->bytes; i++) {
        position.column += !continues_character(span.source->text[i]);
        if (span.source->text[i] == '\n')
            position = (MwSourcePosition){.line = position.line + 1, .column = 1};
    }
    return position;
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

void mw_diags_move(MwDiags *diags, MwSpan part, const MwSource *whole)
{
    const uint32_t bytes = (uint32_t)whole->bytes;
    for (int i = 0; i < diags->list.count; i++) {
        const MwSpan span = diags->list.at[i].span;
        if (span.source != part.source || span.begin < part.begin || span.begin >= part.end)
            continue;
        const uint32_t begin = span.begin - part.begin, end = span.end - part.begin;
        diags->list.at[i].span =
            (MwSpan){whole, (uint32_t)mw_min(begin, bytes), (uint32_t)mw_min(end, bytes)};
    }
}

int mw_diags_error_count(const MwDiags *diags)
{
    return diags->errors;
}

const char *mw_diags_first_error(const MwDiags *diags)
{
    for (int i = 0; i < diags->list.count; i++)
        if (diags->list.at[i].severity == MW_SEVERITY_ERROR)
            return diags->list.at[i].message;
    return NULL;
}

static void print_repeated(FILE *out, char c, int count)
{
    for (int i = 0; i < count; i++)
        fputc(c, out);
}

/* The character `columns` columns after the one at `at`; at most `end`. */
static const char *skip_columns(const char *at, const char *end, int columns)
{
    while (at < end && (continues_character(*at) || columns-- > 0))
        at++;
    return at;
}

/* The shown part of a source line: bytes [begin, end), which begin `skipped` columns after its
 * start. It is the whole line unless that is long. */
typedef struct {
    const char *begin, *end;
    int skipped;
    bool is_cut; /* the line continues */
} Excerpt;

static Excerpt excerpt_of(MwSpan span, MwSourcePosition position)
{
    enum { MOST_COLUMNS = 160, COLUMNS_BEFORE = 60 };
    const char *line = span.source->text + span.begin, *end = line;
    const char *stop = span.source->text + span.source->bytes;
    while (line > span.source->text && line[-1] != '\n')
        line--;
    while (end < stop && *end != '\n')
        end++;
    bool is_long = skip_columns(line, end, MOST_COLUMNS) < end;
    Excerpt out = {.skipped = is_long ? (int)mw_max(position.column - 1 - COLUMNS_BEFORE, 0) : 0};
    out.begin = skip_columns(line, end, out.skipped);
    out.end = skip_columns(out.begin, end, MOST_COLUMNS);
    out.is_cut = out.end < end;
    return out;
}

static const char cut_mark[] = "...";

/* Prints the source line of the span and a caret line below it. Tabs and control characters
 * become one space in both, so that the caret stands below its column and the terminal is safe. */
static void print_excerpt(FILE *out, MwSpan span, MwSourcePosition position)
{
    const Excerpt shown = excerpt_of(span, position);
    fprintf(out, "%5d | %s", position.line, shown.skipped ? cut_mark : "");
    for (const char *c = shown.begin; c < shown.end; c++)
        fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
    fprintf(out, "%s\n      | ", shown.is_cut ? cut_mark : "");
    print_repeated(out, ' ', position.column - 1 - shown.skipped);
    print_repeated(out, ' ', shown.skipped ? (int)strlen(cut_mark) : 0);
    fputc('^', out);
    const char *end = span.source->text + span.end;
    for (const char *c = span.source->text + span.begin + 1; c < end && c < shown.end; c++)
        if (!continues_character(*c))
            fputc('~', out);
    fputc('\n', out);
}

static void print_diag(FILE *out, const Diag *diag)
{
    static const char *const names[] = {"error", "warning", "note"};
    MwSourcePosition position = mw_span_position(diag->span);
    if (diag->severity == MW_SEVERITY_NOTE)
        fputs("  ", out);
    if (position.line)
        fprintf(out, "%s:%d:%d: ", diag->span.source->name, position.line, position.column);
    else if (diag->severity != MW_SEVERITY_NOTE)
        fputs("meshwright: ", out);
    fprintf(out, "%s: %s\n", names[diag->severity], diag->message);
    if (position.line)
        print_excerpt(out, diag->span, position);
}

void mw_diags_print(const MwDiags *diags, FILE *out)
{
    for (int i = 0; i < diags->list.count; i++)
        print_diag(out, &diags->list.at[i]);
}
