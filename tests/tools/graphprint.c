/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a .graph file as frontend/syntax/print.h formats it: graphprint FILE
 *
 * What it prints is parsed and printed again; a difference is a failure. */
#include "base/file.h"
#include "frontend/syntax/parse.h"
#include "frontend/syntax/print.h"

#include <string.h>

/* The text of the source, formatted; NULL after errors. */
static const MwText *format(MwArena *arena, const MwSource *source, MwDiags *diags)
{
    MwItems items = {0};
    MwText *text = MW_NEW(arena, MwText, 1);
    text->arena = arena;
    if (!mw_source_parse(arena, mw_interner_new(arena), source, diags, &items))
        return NULL;
    mw_items_print(text, &items);
    return text;
}

static bool print(MwArena *arena, const char *path, MwDiags *diags)
{
    MwSource source = {.name = path};
    source.text = mw_file_read(arena, path, &source.bytes);
    if (!source.text) {
        mw_diag_error(diags, mw_span_none(), "cannot read %s", path);
        return false;
    }
    const MwText *once = format(arena, &source, diags);
    if (!once || !once->bytes)
        return once != NULL;
    fputs(once->at, stdout);
    const MwSource printed = {.name = "printed", .text = once->at, .bytes = once->bytes};
    const MwText *twice = format(arena, &printed, diags);
    if (twice && strcmp(once->at, twice->at) != 0)
        mw_diag_error(diags, mw_span_none(), "it is printed differently again:\n%s", twice->at);
    return true;
}

int main(int count, char **args)
{
    if (count != 2) {
        fputs("usage: graphprint FILE\n", stderr);
        return 2;
    }
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    print(arena, args[1], diags);
    mw_diags_print(diags, stdout);
    const int status = mw_diags_error_count(diags) != 0;
    mw_arena_free(&arena);
    return status;
}
