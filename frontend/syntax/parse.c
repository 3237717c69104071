/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver of a parse: hands the lexer's tokens to the grammar, one by one. After an error it has
 * the lexer forget the brackets that are open. */
#include "frontend/syntax/parse.h"

#include "frontend/syntax/lexer.h"
#include "frontend/syntax/parser.h"
#include "frontend/syntax/state.h"

#include <string.h>

/* A file in UTF-16 begins with its byte order mark, or its first character, which is ASCII in any
 * sensible file, has a zero beside it. */
static bool is_utf16(const MwSource *source)
{
    const char *text = source->text;
    return source->bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 ||
                                  memcmp(text, "\xfe\xff", 2) == 0 || !text[0] != !text[1]);
}

static bool check_source(const MwSource *source, MwDiags *diags)
{
    if (source->bytes > MW_MAX_SOURCE_BYTES)
        mw_diag_error(diags, mw_span_none(), "%s: the file is larger than %d bytes", source->name,
                      MW_MAX_SOURCE_BYTES);
    else if (is_utf16(source))
        mw_diag_error(diags, mw_span_none(), "%s: the file is UTF-16; save it as UTF-8",
                      source->name);
    else
        return true;
    return false;
}

static void run(MwParse *parse)
{
    MwLexer *lexer = mw_lexer_new(parse);
    mw_parser_pstate *grammar = mw_parser_pstate_new();
    if (!grammar)
        mw_internal_error(__FILE__, __LINE__, "out of memory");
    int status;
    do {
        MwToken token = mw_lexer_next(lexer);
        status = mw_parser_push_parse(grammar, token.kind, &token.value, &token.span, parse);
        if (parse->failed)
            mw_lexer_recover(lexer);
        parse->failed = false;
    } while (status == YYPUSH_MORE);
    mw_parser_pstate_delete(grammar);
    mw_lexer_free(lexer);
}

bool mw_text_is_name(const char *text)
{
    MwArena *arena = mw_arena_new();
    const MwSource source = {.text = text, .bytes = strlen(text)};
    MwParse parse = {.arena = arena,
                     .interner = mw_interner_new(arena),
                     .diags = mw_diags_new(arena),
                     .source = &source};
    MwLexer *lexer = mw_lexer_new(&parse);
    const MwToken token = mw_lexer_next(lexer);
    const bool is_name =
        token.kind == TOKEN_NAME && token.span.begin == 0 && token.span.end == source.bytes;
    mw_lexer_free(lexer);
    mw_arena_free(&arena);
    return is_name;
}

bool mw_source_parse(MwArena *arena, MwInterner *interner, const MwSource *source, MwDiags *diags,
                     MwItems *items)
{
    MwParse parse = {.arena = arena,
                     .interner = interner,
                     .diags = diags,
                     .source = source,
                     .items = *items,
                     .first_errors = mw_diags_error_count(diags)};
    if (!check_source(source, diags))
        return false;
    run(&parse);
    *items = parse.items;
    return mw_diags_error_count(diags) == parse.first_errors;
}
