/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the sections and keys of keys.def in order, without those that are zero or empty. */
#include "frontend/cluster/print.h"

#include "frontend/cluster/keys.h"

#include <string.h>

enum { INDENT = 2, LINE = 72 };

static void indent(MwText *text, int depth)
{
    mw_text_printf(text, "%*s", depth * INDENT, "");
}

/* Adds the separator before element `index` of a list: a comma, and a new line if the last one is
 * full. */
static void separate(MwText *text, int depth, int index)
{
    if (index == 0)
        return;
    const char *line = memrchr(text->at, '\n', text->bytes);
    bool is_full = text->at + text->bytes - line > LINE;
    mw_text_add(text, is_full ? ",\n" : ", ");
    if (is_full)
        indent(text, depth + 1);
}

static void print_curve(MwText *text, const MwCurve *curve, MwQuantity quantity, MwQuantity at,
                        int depth)
{
    if (curve->count == 1) {
        mw_text_add_quantity(text, quantity, curve->points[0].value);
        return;
    }
    mw_text_add(text, "[");
    for (int i = 0; i < curve->count; i++) {
        separate(text, depth, i);
        mw_text_add_quantity(text, at, curve->points[i].at);
        mw_text_add(text, ": ");
        mw_text_add_quantity(text, quantity, curve->points[i].value);
    }
    mw_text_add(text, "]");
}

/* Prints a list, with one unit for all of its elements. The only lists with a unit are rates of
 * matrix products, so the unit is GFLOP/s. */
static void print_list(MwText *text, const MwNumbers *list, MwQuantity quantity, int depth)
{
    bool has_unit = quantity != MW_QUANTITY_NUMBER;
    const char *unit = "GFLOP/s";
    double scale = has_unit ? mw_unit_scale(quantity, unit) : 1;
    mw_text_add(text, "[");
    for (int i = 0; i < list->count; i++) {
        separate(text, depth, i);
        mw_text_printf(text, "%.4g", list->at[i] / scale);
    }
    mw_text_add(text, "]");
    if (has_unit)
        mw_text_printf(text, " %s", unit);
}

static void print_value(MwText *text, const MwClusterKey *key, const void *member, int depth)
{
    switch (key->kind) {
    case MW_KEY_INT:
        mw_text_printf(text, "%d", *(const int *)member);
        return;
    case MW_KEY_MEMORY:
        mw_text_add_quantity(text, MW_QUANTITY_BYTES, (double)*(const int64_t *)member);
        return;
    case MW_KEY_NUMBER:
        mw_text_add_quantity(text, key->quantity, *(const double *)member);
        return;
    case MW_KEY_LIST:
        print_list(text, member, key->quantity, depth);
        return;
    case MW_KEY_CURVE:
        print_curve(text, member, key->quantity, key->at, depth);
        return;
    case MW_KEY_BACKEND:
        mw_text_add(text, *(const char *const *)member);
        return;
    }
    MW_UNREACHABLE();
}

/* Prints the times of the collectives that were measured on the link. */
static void print_measured(MwText *text, const MwLink *link, int depth)
{
    for (int i = 0; i < link->measured_count; i++) {
        const MwMeasuredCollective *measured = &link->measured[i];
        indent(text, depth);
        mw_text_printf(text, "%s %d = ", mw_collective_name(measured->kind), measured->ways);
        print_curve(text, &measured->time_s, MW_QUANTITY_SECONDS, MW_QUANTITY_BYTES, depth);
        mw_text_add(text, "\n");
    }
}

static void print_section(MwText *text, MwCluster *cluster, MwClusterSection section, MwType type,
                          int depth);

static void print_subsections(MwText *text, MwCluster *cluster, MwClusterSection section, int depth)
{
    for (int inner = 1; inner < MW_SECTION_COUNT; inner++) {
        if (mw_cluster_section_parents[inner] != section)
            continue;
        int types = inner == MW_SECTION_GEMM ? MW_TYPE_COUNT : 1;
        for (int type = 0; type < types; type++) {
            if (!mw_cluster_has_section(cluster, inner, type))
                continue;
            indent(text, depth);
            mw_text_printf(text, "%s ", mw_cluster_section_names[inner]);
            if (inner == MW_SECTION_GEMM)
                mw_text_printf(text, "%s ", mw_type_name(type));
            print_section(text, cluster, inner, type, depth);
        }
    }
}

static void print_section(MwText *text, MwCluster *cluster, MwClusterSection section, MwType type,
                          int depth)
{
    const char *base = mw_cluster_section_struct(cluster, section, type);
    mw_text_add(text, "{\n");
    for (int i = 0; i < MW_CLUSTER_KEY_COUNT; i++) {
        const MwClusterKey *key = &mw_cluster_keys[i];
        if (key->section != section || !mw_cluster_key_is_given(key, base + key->offset))
            continue;
        indent(text, depth + 1);
        mw_text_printf(text, "%s = ", key->name);
        print_value(text, key, base + key->offset, depth + 1);
        mw_text_add(text, "\n");
    }
    if (mw_cluster_section_is_link(section))
        print_measured(text, (const MwLink *)base, depth + 1);
    print_subsections(text, cluster, section, depth + 1);
    indent(text, depth);
    mw_text_add(text, "}\n");
}

void mw_cluster_print(MwText *text, const MwCluster *cluster)
{
    MwCluster copy = *cluster;
    mw_text_printf(text, "cluster %s ", cluster->name);
    print_section(text, &copy, MW_SECTION_CLUSTER, MW_F32, 0);
}
