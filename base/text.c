/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <float.h>
#include <math.h>
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

bool mw_text_ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
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
    const size_t room = text->capacity - text->bytes;
    const int length = vsnprintf(room ? text->at + text->bytes : NULL, room, format, args);
    va_end(args);
    MW_ASSERT(length >= 0);
    if ((size_t)length >= room) {
        reserve(text, (size_t)length);
        vsnprintf(text->at + text->bytes, (size_t)length + 1, format, again);
    }
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
    /* What needs fewer digits than DBL_DIG is printed without more, unless it is subnormal. */
    for (int precision = fabs(value) < DBL_MIN ? 1 : DBL_DIG; precision <= DBL_DECIMAL_DIG;
         precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    mw_text_add(text, digits);
}
