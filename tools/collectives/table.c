/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/collectives/table.h"

#include "base/vec.h"
#include "cost/algorithms.h"
#include "frontend/cluster/units.h"

#include <math.h>

/* ---- Making it ---- */

static bool is_choice(const MwCollectiveTable *table, MwAlgorithm algorithm)
{
    const MwCluster *cluster = table->model->cluster;
    const MwAlgorithmCost *row = mw_algorithm_row(table->kind, algorithm);
    return row ? mw_algorithm_is_choice(row, cluster, table->model->path[table->axis].ways)
               : mw_cost_has_levels(cluster, table->kind); /* the hierarchical one has no row */
}

static void find_algorithms(MwCollectiveTable *table)
{
    for (int i = 0; i < MW_ALGORITHM_COUNT; i++) {
        const MwAlgorithm algorithm = (MwAlgorithm)i;
        if (!isfinite(mw_cost_algorithm_s(table->model, table->kind, algorithm, table->axis, 1)))
            continue;
        table->is_choice[table->algorithm_count] = is_choice(table, algorithm);
        table->algorithms[table->algorithm_count++] = algorithm;
    }
}

static MwCollectiveRow row_new(const MwCollectiveTable *table, double bytes)
{
    MwCollectiveRow row = {.bytes = bytes,
                           .choice = mw_cost_choice(table->model, table->kind, table->axis, bytes)};
    for (int c = 0; c < table->algorithm_count; c++)
        row.time_s[c] = mw_cost_algorithm_s(table->model, table->kind, table->algorithms[c],
                                            table->axis, bytes);
    return row;
}

MwCollectiveTable mw_collective_table_new(MwArena *arena, const MwCostModel *model,
                                          MwCollective kind, int axis, int64_t least, int64_t most)
{
    enum { STEP = 4 };
    MwCollectiveTable table = {.model = model, .kind = kind, .axis = axis};
    MW_VEC(MwCollectiveRow) rows = {0};
    find_algorithms(&table);
    for (int64_t bytes = least; bytes < most; bytes *= STEP)
        mw_vec_push(arena, &rows, row_new(&table, (double)bytes));
    mw_vec_push(arena, &rows, row_new(&table, (double)most));
    table.rows = rows.at;
    table.row_count = rows.count;
    return table;
}

/* ---- Figures and words ---- */

double mw_collective_table_bandwidth(const MwCollectiveTable *table, const MwCollectiveRow *row,
                                     double time_s)
{
    const int ways = table->model->path[table->axis].ways;
    return mw_collective_volume(table->kind, ways) * row->bytes / time_s;
}

int mw_collective_table_chosen(const MwCollectiveTable *table, const MwCollectiveRow *row)
{
    for (int c = 0; c < table->algorithm_count; c++)
        if (row->choice.algorithm == table->algorithms[c])
            return c;
    return -1;
}

int mw_collective_table_fastest(const MwCollectiveTable *table, const MwCollectiveRow *row)
{
    int fastest = 0;
    for (int c = 1; c < table->algorithm_count; c++)
        if (row->measured_s[c] < row->measured_s[fastest])
            fastest = c;
    return fastest;
}

const char *mw_collective_choice_name(const MwCollectiveChoice *choice)
{
    return choice->algorithm == MW_ALGORITHM_COUNT ? "measured"
                                                   : mw_algorithm_name(choice->algorithm);
}

void mw_collective_table_title(MwText *text, const MwCollectiveTable *table)
{
    const MwAxisPath *path = &table->model->path[table->axis];
    char mesh[MW_MESH_TEXT_BYTES];
    mw_text_printf(text, "%s of %d devices: axis %d of mesh %s on %s, ",
                   mw_collective_name(table->kind), path->ways, table->axis,
                   mw_mesh_text(&table->model->mesh, mesh), table->model->cluster->name);
    if (path->outer == 1)
        mw_text_add(text, "in one node");
    else
        mw_text_printf(text, "%d in each of %d nodes", path->inner, path->outer);
}

const char *mw_collective_bytes_text(MwArena *arena, double bytes)
{
    MwText text = {.arena = arena};
    mw_text_add_quantity(&text, MW_QUANTITY_BYTES, bytes);
    return text.at;
}
