/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/utf8.h"

/* Number of bytes of a character with this first byte, and the range of the second. 0: none begins
 * so. */
static int expect(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    *high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return first < 0x80                     ? 1
           : first >= 0xc2 && first <= 0xdf ? 2
           : first >= 0xe0 && first <= 0xef ? 3
           : first >= 0xf0 && first <= 0xf4 ? 4
                                            : 0;
}

int mw_utf8_character(const char *text, size_t bytes, uint32_t *character)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned char low, high;
    const int length = expect(at[0], &low, &high);
    if (length <= 1) {
        *character = at[0];
        return length ? 1 : -1;
    }
    uint32_t value = at[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++, low = 0x80, high = 0xbf) {
        if ((size_t)i == bytes)
            return 0;
        if (at[i] < low || at[i] > high)
            return -i;
        value = value << 6 | (at[i] & 0x3f);
    }
    *character = value;
    return length;
}
