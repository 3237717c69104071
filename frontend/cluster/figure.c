/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/cluster/figure.h"

#include "frontend/cluster/print.h"
#include "frontend/cluster/read.h"
#include "frontend/cluster/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Paths ---- */

/* "device.gemm.bf16." */
static const char *section_path(MwArena *arena, MwClusterSection section, MwType type)
{
    if (section == MW_SECTION_CLUSTER)
        return "";
    const char *around = section_path(arena, mw_cluster_section_parents[section], type);
    const char *name = mw_cluster_section_names[section];
    return section == MW_SECTION_GEMM
               ? mw_arena_printf(arena, "%s%s.%s.", around, name, mw_type_name(type))
               : mw_arena_printf(arena, "%s%s.", around, name);
}

static void add_figure(MwArena *arena, MwClusterFigures *figures, const MwClusterKey *key,
                       MwType type)
{
    const char *path =
        mw_arena_printf(arena, "%s%s", section_path(arena, key->section, type), key->name);
    mw_vec_push(arena, figures, ((MwClusterFigure){path, key, type}));
}

MwClusterFigures mw_cluster_figures(MwArena *arena)
{
    MwClusterFigures figures = {0};
    MwType product;
    for (int i = 0; i < MW_CLUSTER_KEY_COUNT; i++) {
        const MwClusterKey *key = &mw_cluster_keys[i];
        if (key->kind == MW_KEY_BACKEND)
            continue;
        if (key->section != MW_SECTION_GEMM) {
            add_figure(arena, &figures, key, MW_F32);
            continue;
        }
        for (int type = 0; type < MW_TYPE_COUNT; type++)
            if (mw_product_parse(mw_type_name((MwType)type), &product))
                add_figure(arena, &figures, key, (MwType)type);
    }
    return figures;
}

const MwClusterFigure *mw_cluster_figure(MwArena *arena, const char *path)
{
    static const char links[] = "links.";
    const bool is_of_link = strncmp(path, links, strlen(links)) == 0;
    const MwClusterFigures figures = mw_cluster_figures(arena);
    if (is_of_link)
        path += strlen(links);
    for (int i = 0; i < figures.count; i++)
        if (strcmp(figures.at[i].path, path) == 0 &&
            (!is_of_link || mw_cluster_section_is_link(figures.at[i].key->section)))
            return &figures.at[i];
    return NULL;
}

/* ---- Values ---- */

/* The factor of "0.5x"; 0: the text is none. */
static double factor_of(const MwSource *value)
{
    char *end;
    const double factor = strtod(value->text, &end);
    return end > value->text && strcmp(end, "x") == 0 && factor > 0 && factor <= 1e30 ? factor : 0;
}

static bool scale_int(int *value, double factor, const MwClusterFigure *figure, MwSpan span,
                      MwDiags *diags)
{
    const double product = *value * factor;
    if (product != floor(product) || product < 1 || product > MW_CLUSTER_MAX_COUNT) {
        mw_diag_error(diags, span, "%g times %s, which is %d, is no whole number from 1 to %d",
                      factor, figure->path, *value, MW_CLUSTER_MAX_COUNT);
        return false;
    }
    *value = (int)product;
    return true;
}

static bool scale_memory(int64_t *bytes, double factor, const MwClusterFigure *figure, MwSpan span,
                         MwDiags *diags)
{
    const double product = (double)*bytes * factor;
    if (product < 1 || product >= 0x1p53) {
        mw_diag_error(diags, span, "%g times %s is not between one byte and 2^53", factor,
                      figure->path);
        return false;
    }
    *bytes = (int64_t)product;
    return true;
}

static void scale_list(MwArena *arena, MwNumbers *list, double factor)
{
    list->at = mw_arena_dup(arena, list->at, sizeof *list->at * (size_t)list->count);
    for (int i = 0; i < list->count; i++)
        list->at[i] *= factor;
}

static void scale_curve(MwArena *arena, MwCurve *curve, double factor)
{
    curve->points =
        mw_arena_dup(arena, curve->points, sizeof *curve->points * (size_t)curve->count);
    for (int i = 0; i < curve->count; i++)
        curve->points[i].value *= factor;
}

static bool scale(MwArena *arena, void *member, double factor, const MwClusterFigure *figure,
                  MwSpan span, MwDiags *diags)
{
    switch (figure->key->kind) {
    case MW_KEY_INT:
        return scale_int(member, factor, figure, span, diags);
    case MW_KEY_MEMORY:
        return scale_memory(member, factor, figure, span, diags);
    case MW_KEY_NUMBER:
        *(double *)member *= factor;
        return true;
    case MW_KEY_LIST:
        scale_list(arena, member, factor);
        return true;
    case MW_KEY_CURVE:
        scale_curve(arena, member, factor);
        return true;
    case MW_KEY_BACKEND:
        break;
    }
    MW_UNREACHABLE();
}

static bool read_whole(MwArena *arena, MwCluster *cluster, void *base, const MwClusterKey *key,
                       const MwSource *value, MwDiags *diags)
{
    MwClusterReader reader = {.arena = arena,
                              .diags = diags,
                              .lexer = {.arena = arena, .source = value},
                              .cluster = cluster};
    mw_cluster_advance(&reader);
    if (!mw_cluster_read_value(&reader, key, base))
        return false;
    if (reader.token.kind == MW_CLUSTER_END)
        return true;
    mw_diag_error(diags, reader.token.span, "expected the end of the value");
    return false;
}

bool mw_cluster_figure_set(MwArena *arena, MwCluster *cluster, const MwClusterFigure *figure,
                           const MwSource *value, MwDiags *diags)
{
    const MwClusterKey *key = figure->key;
    void *base = mw_cluster_section_struct(cluster, key->section, figure->type);
    void *member = (char *)base + key->offset;
    const MwSpan span = {value, 0, (uint32_t)value->bytes};
    const double factor = factor_of(value);
    if (mw_cluster_section_is_link(key->section)) {
        MwLink *link = base;
        link->measured_count = 0;
    }
    if (factor == 0)
        return read_whole(arena, cluster, base, key, value, diags);
    if (mw_cluster_key_is_given(key, member))
        return scale(arena, member, factor, figure, span, diags);
    mw_diag_error(diags, span, "the cluster does not say '%s', of which this is a multiple",
                  figure->path);
    return false;
}

bool mw_cluster_figures_agree(MwArena *arena, const MwCluster *cluster, MwDiags *diags)
{
    MwText text = {.arena = arena};
    MwSource *source = MW_NEW(arena, MwSource, 1);
    MwCluster named = *cluster;
    named.name = "changed"; /* that of local:N is no name of a file's cluster */
    mw_cluster_print(&text, &named);
    *source = (MwSource){cluster->name, text.at, text.bytes};
    return mw_cluster_read(arena, source, diags) != NULL;
}
