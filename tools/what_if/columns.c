/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/what_if/columns.h"

#include "base/quantity.h"
#include "tools/inspect/summary.h"

#include <string.h>

static MwWhatIfCell step(MwArena *arena, const MwVariantResult *result)
{
    return mw_what_if_seconds(arena, result->step_s);
}

static MwWhatIfCell samples(MwArena *arena, const MwVariantResult *result)
{
    return mw_what_if_number(result->samples_per_s, mw_inspect_rate(arena, result->samples_per_s));
}

static MwWhatIfCell tokens(MwArena *arena, const MwVariantResult *result)
{
    return mw_what_if_number(result->tokens_per_s, mw_inspect_rate(arena, result->tokens_per_s));
}

static MwWhatIfCell memory(MwArena *arena, const MwVariantResult *result)
{
    return mw_what_if_bytes(arena, (double)result->memory_bytes);
}

static MwWhatIfCell step_cost(MwArena *arena, const MwVariantResult *result)
{
    return mw_what_if_number(result->usd_per_step, mw_usd_text(arena, result->usd_per_step));
}

static MwWhatIfCell million_cost(MwArena *arena, const MwVariantResult *result)
{
    const double usd = 1e6 * result->usd_per_sample;
    return mw_what_if_number(usd, mw_usd_text(arena, usd));
}

static MwWhatIfCell devices(MwArena *arena, const MwVariantResult *result)
{
    return mw_what_if_count(arena, result->devices);
}

static MwWhatIfCell parallelism(MwArena *arena, const MwVariantResult *result)
{
    (void)arena;
    return mw_what_if_word(result->parallelism);
}

static MwWhatIfCell mesh(MwArena *arena, const MwVariantResult *result)
{
    (void)arena;
    return mw_what_if_word(result->mesh);
}

static MwWhatIfCell stages(MwArena *arena, const MwVariantResult *result)
{
    return mw_what_if_count(arena, result->stages);
}

static MwWhatIfCell schedule(MwArena *arena, const MwVariantResult *result)
{
    (void)arena;
    return mw_what_if_word(result->schedule);
}

static MwWhatIfCell micro_batches(MwArena *arena, const MwVariantResult *result)
{
    return mw_what_if_count(arena, result->micro_batches);
}

static const struct {
    const char *key, *heading;
    MwWhatIfCell (*cell)(MwArena *arena, const MwVariantResult *result);
} columns[] = {
    {"step_s", "step", step},
    {"samples_per_s", "samples/s", samples},
    {"tokens_per_s", "tokens/s", tokens},
    {"memory_bytes", "memory", memory},
    {"usd_per_step", "step cost", step_cost},
    {"usd_per_million_samples", "cost of 1e6 samples", million_cost},
    {"devices", "devices", devices},
    {"parallelism", "parallelism", parallelism},
    {"mesh", "mesh", mesh},
    {"stages", "stages", stages},
    {"schedule", "schedule", schedule},
    {"micro_batches", "micro-batches", micro_batches},
};

void mw_what_if_columns(MwWhatIfTable *table)
{
    table->label_count = table->column_count;
    for (int i = 0; i < MW_COUNT(columns); i++)
        mw_what_if_column(table, columns[i].key, columns[i].heading);
}

void mw_what_if_columns_fill(const MwWhatIfTable *table, MwWhatIfRow *row,
                             const MwVariantResult *result)
{
    row->error = result->error;
    for (int i = 0; i < MW_COUNT(columns) && !result->error; i++)
        row->cells[table->label_count + i] = columns[i].cell(table->arena, result);
}

void mw_what_if_columns_chart(MwWhatIfTable *table, int label, const char *key,
                              const char *(*tick)(MwArena *arena, double y))
{
    for (int i = 0; i < MW_COUNT(columns); i++)
        if (strcmp(columns[i].key, key) == 0)
            table->charts[table->chart_count++] =
                (MwWhatIfChart){label, table->label_count + i, tick};
}
