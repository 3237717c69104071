/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The alphabet of byte-level BPE (GPT-2): each byte stands in a vocabulary as a printable
 * character. The 188 bytes that are printable in Latin-1 are themselves, the others are U+0100 and
 * on in order. */
#ifndef MW_TOOLS_TOKENIZE_ALPHABET_H
#define MW_TOOLS_TOKENIZE_ALPHABET_H

#include "base/base.h"

/* Decodes `bytes` bytes of UTF-8 into the bytes that its characters stand for; there are fewer of
 * them. -1: a character stands for none. */
int64_t mw_alphabet_decode(const char *text, size_t bytes, char *to);

#endif
