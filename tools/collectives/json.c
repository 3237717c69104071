/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collectives --format json`. docs/clusters.md lists the keys. */
#include "tools/collectives/table.h"

#include "tools/json.h"

static void add_time(MwJson *json, const MwCollectiveTable *table, const MwCollectiveRow *row,
                     double time_s)
{
    mw_json_field_double(json, "time_s", time_s);
    mw_json_field_double(json, "bus_bytes_per_s",
                         mw_collective_table_bandwidth(table, row, time_s));
}

static void add_row(MwJson *json, const MwCollectiveTable *table, const MwCollectiveRow *row)
{
    yajl_gen_map_open(json->gen);
    mw_json_field_double(json, "bytes", row->bytes);
    mw_json_field_string(json, "chosen", mw_collective_choice_name(&row->choice));
    add_time(json, table, row, row->choice.time_s);
    if (table->is_measured)
        mw_json_field_double(json, "executor_s", row->measured_s[table->algorithm_count]);
    mw_json_field_array(json, "algorithms");
    for (int c = 0; c < table->algorithm_count; c++) {
        yajl_gen_map_open(json->gen);
        mw_json_field_string(json, "name", mw_algorithm_name(table->algorithms[c]));
        mw_json_field_bool(json, "is_choice", table->is_choice[c]);
        add_time(json, table, row, row->time_s[c]);
        if (table->is_measured)
            mw_json_field_double(json, "measured_s", row->measured_s[c]);
        yajl_gen_map_close(json->gen);
    }
    yajl_gen_array_close(json->gen);
    yajl_gen_map_close(json->gen);
}

void mw_collective_table_json(MwText *text, const MwCollectiveTable *table)
{
    MwJson json = mw_json_begin(text->arena);
    const MwAxisPath *path = &table->model->path[table->axis];
    char mesh[MW_MESH_TEXT_BYTES];
    mw_json_field_string(&json, "cluster", table->model->cluster->name);
    mw_json_field_string(&json, "collective", mw_collective_name(table->kind));
    mw_json_field_string(&json, "mesh", mw_mesh_text(&table->model->mesh, mesh));
    mw_json_field_int(&json, "axis", table->axis);
    mw_json_field_int(&json, "devices", path->ways);
    mw_json_field_int(&json, "devices_per_node", path->inner);
    mw_json_field_int(&json, "nodes", path->outer);
    mw_json_field_array(&json, "sizes");
    for (int r = 0; r < table->row_count; r++)
        add_row(&json, table, &table->rows[r]);
    yajl_gen_array_close(json.gen);
    mw_json_end(&json, text);
}
