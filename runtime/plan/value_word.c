/* SPDX-License-Identifier: MIT */
#include "runtime/plan/value_word.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool mw_word_integer(const char *word, int64_t least, int64_t most, int64_t *value)
{
    const char *digits = *word == '-' ? word + 1 : word;
    if (!isdigit((unsigned char)*digits))
        return false;
    char *end;
    errno = 0;
    long long number = strtoll(word, &end, 10);
    *value = number;
    return !errno && !*end && number >= least && number <= most;
}

bool mw_word_int(const char *word, int least, int *value)
{
    int64_t wide;
    if (!mw_word_integer(word, least, INT_MAX, &wide))
        return false;
    *value = (int)wide;
    return true;
}

bool mw_word_double(const char *word, double *value)
{
    const char *digits = *word == '-' ? word + 1 : word;
    if (!isdigit((unsigned char)*digits) && strcmp(digits, "inf") != 0)
        return false;
    char *end;
    *value = strtod(word, &end);
    return !*end;
}
