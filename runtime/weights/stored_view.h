/* SPDX-License-Identifier: MIT */
/* How the elements of a tensor of the plan lie in a tensor of a file, which may have its dimensions
 * in another order, joined, split, or beside those of other tensors.
 *
 * The tensor of the plan is seen with its dimensions split into axes, row-major, and element (i_0,
 * i_1, ...) of those is element base + sum of stride_a (i_a - begin_a) of the tensor of the file. A
 * view may cover a part of the tensor: a range of each axis. */
#ifndef MW_RUNTIME_WEIGHTS_STORED_VIEW_H
#define MW_RUNTIME_WEIGHTS_STORED_VIEW_H

#include "runtime/plan/box.h"
#include "runtime/weights/store.h"

enum { MW_STORED_VIEW_MOST_AXES = 2 * MW_MAX_RANK };

typedef struct {
    int stored; /* index of the tensor in the store */
    int axes;
    int64_t size[MW_STORED_VIEW_MOST_AXES]; /* elements of the plan's tensor */
    int64_t begin[MW_STORED_VIEW_MOST_AXES],
        end[MW_STORED_VIEW_MOST_AXES];        /* what the view covers */
    int64_t stride[MW_STORED_VIEW_MOST_AXES]; /* elements of the tensor of the file */
    int64_t base;                             /* the element of the file at `begin` */
} MwStoredView;

/* The view of a stored tensor that has the same elements in the same order. */
MwStoredView mw_stored_view_same(int stored, int64_t elements);
/* Number of elements that the view covers. */
int64_t mw_stored_view_elements(const MwStoredView *view);
/* Elements of the plan's tensor from `first` on that are next to each other in both tensors, or a
 * constant distance apart in the file's: `run` of them begin at element `at` of the file, `step`
 * apart; `is_covered` is false where the view has none of them. At most `most`, at least 1. */
typedef struct {
    bool is_covered;
    int64_t at, step, run;
} MwStoredRun;
MwStoredRun mw_stored_view_run(const MwStoredView *view, int64_t first, int64_t most);

/* Reads the elements of `box`, a box of the plan's tensor, that the view covers, to their places in
 * its memory. Where the file has them in the same order, reads no others but those within a window
 * of 1 MiB; else the range of the file from the first to the last of them is in memory. */
bool mw_stored_view_read(const MwStoredView *view, MwStore *store, const MwBox *box, void *memory,
                         MwFault *fault);

#endif
