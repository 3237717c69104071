/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Three multiplications turn eight digits at a time into a number: they combine pairs, then fours,
 * then eights (Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience
 * 51, 2021, section 4). */
#include "solver/file/scan.h"

#include <string.h>

enum { DIGITS_MOST = 19 };

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static bool eight_digits(uint64_t text)
{
    return ((text & 0xf0f0f0f0f0f0f0f0) |
            (((text + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0) >> 4)) == 0x3333333333333333;
}

static uint64_t eight_value(uint64_t text)
{
    const uint64_t mask = 0x000000ff000000ff;
    text -= 0x3030303030303030;
    text = text * 10 + (text >> 8);
    uint64_t sum = (text & mask) * 0x000f424000000064 + ((text >> 16) & mask) * 0x0000271000000001;
    return sum >> 32;
}
#endif

/* Reads the digits from `at` on, up to `end`, and at most one digit more than DIGITS_MOST. */
static const char *read_digits(const char *at, const char *end, uint64_t *value)
{
    const char *begin = at;
    *value = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (uint64_t text; end - at >= 8 && at - begin < 16; at += 8) {
        memcpy(&text, at, sizeof text);
        if (!eight_digits(text))
            break;
        *value = *value * 100000000 + eight_value(text);
    }
#endif
    while (at < end && is_digit(*at) && at - begin <= DIGITS_MOST)
        *value = *value * 10 + (uint64_t)(*at++ - '0');
    return at;
}

const char *mw_scan_integers(MwArena *arena, MwIntegers *row, int most, bool *value_next,
                             const char *at, const char *end, MwScanStop *why)
{
    for (;;) {
        while (at < end && is_space(*at))
            at++;
        *why = MW_SCAN_MORE;
        if (at == end)
            return at;
        if (!*value_next) {
            *why = *at == ']' ? MW_SCAN_END : MW_SCAN_OTHER;
            if (*at != ',')
                return at;
            at++;
            *value_next = true;
            continue;
        }
        uint64_t value;
        const char *after = read_digits(at, end, &value);
        if (after == end)
            return at;
        *why = *at == ']' && row->count == 0 ? MW_SCAN_END : MW_SCAN_OTHER;
        bool leading_zero = *at == '0' && after > at + 1;
        bool alone = *after == ',' || *after == ']' || is_space(*after);
        bool fits = after - at <= DIGITS_MOST && value <= INT64_MAX && row->count < most;
        if (after == at || leading_zero || !alone || !fits)
            return at;
        mw_vec_push(arena, row, (int64_t)value);
        at = after;
        *value_next = false;
    }
}
