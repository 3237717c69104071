/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

struct MwPattern {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

/* Steps of one search, after which the pattern is said to be too slow: PCRE2's own default. The
 * stack of compiled patterns grows up to 1 MiB; those of tokenizers need less than 32 KiB. */
enum { MOST_STEPS = 10000000, STACK_BYTES = 32 << 10, MOST_STACK_BYTES = 1 << 20 };

/* ---- From Oniguruma to PCRE2 ---- */

/* Adds \p{NAME}, from the letter after the backslash on. Returns the number of characters. */
static size_t add_property(MwText *to, const char *from, size_t bytes, MwFault *fault)
{
    const char *end = bytes > 1 && from[1] == '{' ? memchr(from, '}', bytes) : NULL;
    if (!end) {
        mw_fault_set(fault, "\\%c without {NAME}", *from);
        return 0;
    }
    const int length = (int)(end - from - 2);
    const bool is_category = length <= 2 || (length == 3 && from[2] == '^');
    for (int i = 2; i < 2 + length; i++) {
        if (!isalpha((unsigned char)from[i]) && !(i == 2 && from[i] == '^')) {
            mw_fault_set(fault, "\\%.*s", length + 3, from);
            return 0;
        }
    }
    if (from[2] == '^' && !is_category)
        mw_text_printf(to, "\\%c{^sc:%.*s}", *from, length - 1, from + 3);
    else
        mw_text_printf(to, "\\%c{%s%.*s}", *from, is_category ? "" : "sc:", length, from + 2);
    return (size_t)length + 3;
}

/* Adds what stands after a backslash. Returns the number of characters; 0 after a fault. */
static size_t add_escape(MwText *to, const char *from, size_t bytes, MwFault *fault)
{
    static const char alike[] = "nrtfaedDA";
    if (bytes && (*from == 's' || *from == 'S')) {
        mw_text_add(to, *from == 's' ? "\\p{White_Space}" : "\\P{White_Space}");
        return 1;
    }
    if (bytes && (*from == 'p' || *from == 'P'))
        return add_property(to, from, bytes, fault);
    if (bytes && (unsigned char)*from < 128 &&
        (ispunct((unsigned char)*from) || *from == ' ' || (*from && strchr(alike, *from)))) {
        mw_text_printf(to, "\\%c", *from);
        return 1;
    }
    mw_fault_set(fault, "\\%.*s", bytes ? 1 : 0, from);
    return 0;
}

/* The length of a construct that the two read differently and that begins at `from`, outside of
 * classes; 0: none does. */
static int differing(const char *from, size_t bytes)
{
    static const char *const constructs[] = {"}+",   "}?",   "{,",  "(?m", "(?x", "(?s", "(?-",
                                             "(?im", "(?ix", "(?(", "(?P", "(?R", "(?&", "(?|",
                                             "(?C",  "(?~",  "(*",  "[]",  "[^]"};
    for (int i = 0; i < MW_COUNT(constructs); i++) {
        const size_t length = strlen(constructs[i]);
        if (bytes >= length && memcmp(from, constructs[i], length) == 0)
            return (int)length;
    }
    /* (?<name>...), but not (?<=...) and (?<!...) */
    return bytes >= 4 && memcmp(from, "(?<", 3) == 0 && from[3] != '=' && from[3] != '!' ? 3 : 0;
}

/* The same in a class, where Oniguruma has classes in classes and their intersections. */
static int differing_in_class(const char *from, size_t bytes)
{
    return *from == '[' ? 1 : bytes >= 2 && memcmp(from, "&&", 2) == 0 ? 2 : 0;
}

static bool translate(MwText *to, const char *from, size_t bytes, MwFault *fault)
{
    bool in_class = false;
    for (size_t at = 0, step; at < bytes; at += step) {
        const char *here = from + at;
        const int other =
            in_class ? differing_in_class(here, bytes - at) : differing(here, bytes - at);
        if (other)
            return mw_fault_set(fault, "%.*s", other, here);
        step = 1;
        if (*here == '\\') {
            const size_t escape = add_escape(to, here + 1, bytes - at - 1, fault);
            if (!escape)
                return false;
            step += escape;
            continue;
        }
        mw_text_add_n(to, here, 1);
        in_class = in_class ? *here != ']' : *here == '[';
    }
    return true;
}

/* ---- Matching ---- */

static bool compile(MwPattern *pattern, const MwText *text, bool literal, MwFault *fault)
{
    int code;
    PCRE2_SIZE at;
    uint32_t matches_empty = 0;
    const uint32_t options = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE);
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pattern->code = pcre2_compile((PCRE2_SPTR)text->at, text->bytes, options, &code, &at, context);
    pcre2_compile_context_free(context);
    if (!pattern->code) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(code, message, sizeof message);
        return mw_fault_set(fault, "%s", (const char *)message);
    }
    pcre2_pattern_info(pattern->code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
    if (matches_empty)
        return mw_fault_set(fault, "it matches the empty text");
    /* Where the machine has no JIT compiler, patterns are interpreted. */
    pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
    return true;
}

MwPattern *mw_pattern_new(const char *text, size_t bytes, bool literal, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    MwText translated = {.arena = arena};
    MwPattern *pattern = calloc(1, sizeof *pattern);
    MW_ASSERT(pattern);
    mw_text_add(&translated, "");
    bool good = true;
    if (literal) {
        mw_text_add_n(&translated, text, bytes);
    } else if (!translate(&translated, text, bytes, fault)) {
        MwFault construct = *fault;
        good = mw_fault_set(fault, "its construct '%s' is not supported", construct.text);
    }
    good = good && compile(pattern, &translated, literal, fault);
    mw_arena_free(&arena);
    if (!good) {
        mw_fault_prefix(fault, "the pattern '%.*s'", (int)mw_min((int64_t)bytes, 120), text);
        mw_pattern_free(&pattern);
        return NULL;
    }
    pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    pattern->stack = pcre2_jit_stack_create(STACK_BYTES, MOST_STACK_BYTES, NULL);
    pcre2_set_match_limit(pattern->context, MOST_STEPS);
    pcre2_jit_stack_assign(pattern->context, NULL, pattern->stack);
    return pattern;
}

void mw_pattern_free(MwPattern **pattern)
{
    if (*pattern) {
        pcre2_match_data_free((*pattern)->match);
        pcre2_match_context_free((*pattern)->context);
        pcre2_jit_stack_free((*pattern)->stack);
        pcre2_code_free((*pattern)->code);
        free(*pattern);
    }
    *pattern = NULL;
}

size_t mw_pattern_looks_back(const MwPattern *pattern)
{
    uint32_t characters = 0;
    pcre2_pattern_info(pattern->code, PCRE2_INFO_MAXLOOKBEHIND, &characters);
    return 4 * (size_t)characters;
}

MwMatch mw_pattern_find(const MwPattern *pattern, const char *text, size_t bytes, size_t from,
                        bool is_end, MwMatchRange *range, MwFault *fault)
{
    const uint32_t options = PCRE2_NO_UTF_CHECK | (is_end ? 0 : PCRE2_PARTIAL_HARD);
    const int code = pcre2_match(pattern->code, (PCRE2_SPTR)text, bytes, from, options,
                                 pattern->match, pattern->context);
    if (code == PCRE2_ERROR_NOMATCH)
        return MW_MATCH_NONE;
    if (code < 0 && code != PCRE2_ERROR_PARTIAL) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(code, message, sizeof message);
        mw_fault_set(fault, "the tokenizer's pattern cannot be matched: %s", (const char *)message);
        return MW_MATCH_FAULT;
    }
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(pattern->match);
    *range = (MwMatchRange){found[0], found[1]};
    return code == PCRE2_ERROR_PARTIAL ? MW_MATCH_PARTIAL : MW_MATCH_FOUND;
}
