/* SPDX-License-Identifier: MIT */
/* The text of --feed after its kind: inputs and the files of each.
 *
 *     [NAME[+SHIFT]=]FILE[*WEIGHT],...
 *
 * A file without a name before it is another of the input before. "\\," is a comma of a name. What
 * stands before '=' names an input if it has letters, digits, '_' and '.' only, so that "./a=b" is
 * a file. A FILE that does not exist may be a pattern of glob(7): it stands for all files that
 * match, sorted. */
#ifndef MW_RUNTIME_FEED_FEED_TEXT_H
#define MW_RUNTIME_FEED_FEED_TEXT_H

#include "base/vec.h"
#include "runtime/exec/fault.h"

/* One FILE or pattern. */
typedef struct {
    const char **paths; /* [count] */
    int count;
    double weight; /* 0: none is given */
} MwFeedPaths;

typedef struct {
    const char *name; /* NULL: none is given */
    int shift;        /* 0 or 1 */
    MW_VEC(MwFeedPaths) parts;
} MwFeedItem;

typedef MW_VEC(MwFeedItem) MwFeedItems;

/* Splits `text`. Weights are positive, and either all parts of an item have one or none has.
 * `are_files`: false where the values are no files, which then are taken as they stand. */
bool mw_feed_text(MwArena *arena, const char *text, bool are_files, MwFeedItems *items,
                  MwFault *fault);

#endif
