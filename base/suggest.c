/* SPDX-License-Identifier: MIT */
/* The optimal string alignment distance (Damerau 1964; Wagner and Fischer 1974), on three rows
 * of the table. */
#include "base/suggest.h"

#include <ctype.h>
#include <string.h>

enum {
    MAX_LETTERS = 63,
    FEW_LETTERS = 4, /* of a name that is so short that most of its neighbours are other words */
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int distance(const char *a, int a_letters, const char *b, int b_letters)
{
    int rows[3][MAX_LETTERS + 1];
    for (int j = 0; j <= b_letters; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_letters; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= b_letters; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1);
            row[j] = least(row[j], above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_letters % 3][b_letters];
}

static int count_letter(const char *text, char letter)
{
    int count = 0;
    for (; *text; text++)
        count += tolower((unsigned char)*text) == tolower((unsigned char)letter);
    return count;
}

/* Whether the one text has the letters of the other, in any order and case. */
static bool has_same_letters(const char *a, const char *b)
{
    for (const char *c = a; *c; c++)
        if (count_letter(a, *c) != count_letter(b, *c))
            return false;
    return strlen(a) == strlen(b);
}

/* Whether `edits` changes of `name` can be a slip. Short names with another letter are other words:
 * of three letters one may be missing or too many, of four one may also be wrong; or the letters
 * are in another order or case. */
static bool is_slip(const char *typed, const char *name, int edits)
{
    size_t letters = strlen(typed);
    bool one = edits == 1 && (letters == FEW_LETTERS || letters != strlen(name));
    return letters > FEW_LETTERS || one || has_same_letters(typed, name);
}

const char *mw_suggest(const char *typed, const char *const *names, int count)
{
    size_t letters = strlen(typed);
    if (letters > MAX_LETTERS)
        return NULL;
    const char *nearest = NULL;
    int nearest_distance = (int)(letters + 2) / 3 + 1;
    for (int i = 0; i < count; i++) {
        size_t name_letters = names[i] ? strlen(names[i]) : MAX_LETTERS + 1;
        if (name_letters > MAX_LETTERS)
            continue;
        int d = distance(typed, (int)letters, names[i], (int)name_letters);
        if (d < nearest_distance && is_slip(typed, names[i], d)) {
            nearest = names[i];
            nearest_distance = d;
        }
    }
    return nearest;
}
