/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(MwText *text, size_t more)
{
    size_t needed = text->bytes + more + 1;
    if (needed <= text->capacity)
        return;
    size_t capacity = text->capacity ? text->capacity * 2 : 256;
    while (capacity < needed)
        capacity *= 2;
    char *grown = mw_arena_alloc(text->arena, capacity);
    if (text->bytes)
        memcpy(grown, text->at, text->bytes);
    text->at = grown;
    text->capacity = capacity;
}

void mw_text_add_n(MwText *text, const char *more, size_t bytes)
{
    reserve(text, bytes);
    memcpy(text->at + text->bytes, more, bytes);
    text->bytes += bytes;
    text->at[text->bytes] = '\0';
}

void mw_text_add(MwText *text, const char *more)
{
    mw_text_add_n(text, more, strlen(more));
}

void mw_text_printf(MwText *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    MW_ASSERT(length >= 0);
    reserve(text, (size_t)length);
    vsnprintf(text->at + text->bytes, (size_t)length + 1, format, again);
    va_end(again);
    text->bytes += (size_t)length;
}

void mw_text_add_word(MwText *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    if (*word && !word[strspn(word, plain)]) {
        mw_text_add(text, word);
        return;
    }
    mw_text_add(text, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            mw_text_add(text, "'\\''");
        else
            mw_text_add_n(text, c, 1);
    mw_text_add(text, "'");
}

void mw_text_add_double(MwText *text, double value)
{
    char digits[40];
    if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value) {
        mw_text_printf(text, "%.0f", value);
        return;
    }
    if (value != value) {
        mw_text_add(text, "nan"); /* never "-nan" */
        return;
    }
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    mw_text_add(text, digits);
}
