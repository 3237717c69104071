/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The regular expressions of tokenizer.json, which are written for Oniguruma, matched by PCRE2.
 *
 * What both read alike is taken as it is. \s and \S become \p{White_Space}, which \s of PCRE2 is
 * not quite, and \p{Han} becomes \p{sc:Han}. What they read in different ways is refused by
 * name. */
#ifndef MW_TOOLS_TOKENIZE_PATTERN_H
#define MW_TOOLS_TOKENIZE_PATTERN_H

#include "base/text.h"
#include "runtime/exec/fault.h"

typedef struct MwPattern MwPattern;

/* `literal`: the text is matched as it stands. NULL after a fault. */
MwPattern *mw_pattern_new(const char *text, size_t bytes, bool literal, MwFault *fault);
void mw_pattern_free(MwPattern **pattern);
/* How many bytes before the beginning of a match may decide whether it is one. */
size_t mw_pattern_looks_back(const MwPattern *pattern);

typedef enum {
    MW_MATCH_NONE,    /* nothing matches from `from` on, whatever may follow */
    MW_MATCH_FOUND,   /* the range is set; what follows the text would not change it */
    MW_MATCH_PARTIAL, /* what follows decides; a match begins at the range's begin or after it */
    MW_MATCH_FAULT
} MwMatch;

typedef struct {
    size_t begin, end;
} MwMatchRange;

/* Finds the first match in valid UTF-8 from the character at `from` on. `is_end`: nothing follows
 * the text. */
MwMatch mw_pattern_find(const MwPattern *pattern, const char *text, size_t bytes, size_t from,
                        bool is_end, MwMatchRange *range, MwFault *fault);

#endif
