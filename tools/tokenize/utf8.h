/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text in UTF-8, as the Unicode Standard defines it (table 3-7). */
#ifndef MW_TOOLS_TOKENIZE_UTF8_H
#define MW_TOOLS_TOKENIZE_UTF8_H

#include "base/base.h"

/* Number of bytes of the first character, which is set. 0: the text may be the beginning of one.
 * Negative: so many bytes are no character, and no part of one (the maximal subpart of an
 * ill-formed sequence, section 3.9 of the standard). `bytes` is at least 1. */
int mw_utf8_character(const char *text, size_t bytes, uint32_t *character);

#endif
