/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a collective takes by each algorithm, for several sizes; and the formats that show it.
 * docs/clusters.md explains what is shown. */
#ifndef MW_TOOLS_COLLECTIVES_TABLE_H
#define MW_TOOLS_COLLECTIVES_TABLE_H

#include "base/text.h"
#include "cost/cost.h"

/* One size. */
typedef struct {
    double bytes;                      /* of the larger of operand and result, on each device */
    double time_s[MW_ALGORITHM_COUNT]; /* by column */
    MwCollectiveChoice choice;         /* what plans count with */
    /* [algorithm_count + 1] measured seconds by column, and last what the executor takes; NULL
     * unless the table is measured */
    double *measured_s;
} MwCollectiveRow;

typedef struct {
    const MwCostModel *model;
    MwCollective kind;
    int axis;
    /* Algorithms that have a formula here, and whether the library of the backend has them. */
    MwAlgorithm algorithms[MW_ALGORITHM_COUNT];
    bool is_choice[MW_ALGORITHM_COUNT];
    int algorithm_count;
    bool is_measured;
    MwCollectiveRow *rows; /* [row_count] ascending in bytes */
    int row_count;
} MwCollectiveTable;

/* Sizes from `least` to `most` bytes: each the fourfold of the one before, and `most`. The axis has
 * several devices. `model` must outlive the table. */
MwCollectiveTable mw_collective_table_new(MwArena *arena, const MwCostModel *model,
                                          MwCollective kind, int axis, int64_t least, int64_t most);

/* Bytes per second of each device that a collective of this time amounts to, as nccl-tests' bus
 * bandwidth. */
double mw_collective_table_bandwidth(const MwCollectiveTable *table, const MwCollectiveRow *row,
                                     double time_s);
/* The column of the algorithm that plans count with; -1: a curve of the cluster file. */
int mw_collective_table_chosen(const MwCollectiveTable *table, const MwCollectiveRow *row);
/* The column of the algorithm that was measured to be the fastest. */
int mw_collective_table_fastest(const MwCollectiveTable *table, const MwCollectiveRow *row);
/* The name of what plans count with: an algorithm, or "measured". */
const char *mw_collective_choice_name(const MwCollectiveChoice *choice);
/* Adds "all_reduce of 32 devices: axis 0 of mesh 32 on dgx-a100-4, 8 in each of 4 nodes". */
void mw_collective_table_title(MwText *text, const MwCollectiveTable *table);
/* "64 MB" */
const char *mw_collective_bytes_text(MwArena *arena, double bytes);

void mw_collective_table_text(MwText *text, const MwCollectiveTable *table);
void mw_collective_table_json(MwText *text, const MwCollectiveTable *table);
void mw_collective_table_svg(MwText *text, const MwCollectiveTable *table);

#endif
