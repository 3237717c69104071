/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/alphabet.h"

#include "tools/tokenize/utf8.h"

/* Whether a byte stands for itself. */
static bool is_printable(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The byte that a character stands for; -1: none. */
static int byte_of(uint32_t character)
{
    if (character < 256)
        return is_printable((int)character) ? (int)character : -1;
    uint32_t other = 256;
    for (int byte = 0; byte < 256; byte++)
        if (!is_printable(byte) && other++ == character)
            return byte;
    return -1;
}

int64_t mw_alphabet_decode(const char *text, size_t bytes, char *to)
{
    int64_t count = 0;
    for (size_t at = 0; at < bytes;) {
        uint32_t character;
        const int length = mw_utf8_character(text + at, bytes - at, &character);
        const int byte = length > 0 ? byte_of(character) : -1;
        if (byte < 0)
            return -1;
        to[count++] = (char)byte;
        at += (size_t)length;
    }
    return count;
}
