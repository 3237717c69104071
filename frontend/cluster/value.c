/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/cluster/value.h"

#include "base/backend.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

static bool read_unit(MwClusterReader *reader, MwQuantity quantity, MwSpan number, double *scale)
{
    MwText units = {.arena = reader->arena};
    mw_text_add_units(&units, quantity);
    if (reader->token.kind != MW_CLUSTER_WORD) {
        mw_diag_error(reader->diags, number, "a unit of %s must follow: %s",
                      mw_quantity_name(quantity), units.at);
        return false;
    }
    *scale = mw_unit_scale(quantity, reader->token.text);
    if (*scale == 0) {
        const char *nearest = mw_unit_suggest(quantity, reader->token.text);
        mw_diag_error(reader->diags, reader->token.span, "'%s' is no unit of %s",
                      reader->token.text, mw_quantity_name(quantity));
        if (nearest)
            mw_diag_note(reader->diags, mw_span_none(), "did you mean '%s'?", nearest);
        else
            mw_diag_note(reader->diags, mw_span_none(), "units of %s are %s",
                         mw_quantity_name(quantity), units.at);
        return false;
    }
    mw_cluster_advance(reader);
    return true;
}

/* Reads a number greater than zero that no unit makes infinite. */
static bool read_number(MwClusterReader *reader, double *value, MwSpan *span)
{
    *span = reader->token.span;
    if (reader->token.kind != MW_CLUSTER_NUMBER) {
        mw_diag_error(reader->diags, *span, "expected a number");
        return false;
    }
    *value = reader->token.number;
    if (!(*value > 0)) {
        mw_diag_error(reader->diags, *span, "must be greater than zero");
        return false;
    }
    if (*value < 1e-30 || *value > 1e30) {
        mw_diag_error(reader->diags, *span, "must lie between 1e-30 and 1e30");
        return false;
    }
    mw_cluster_advance(reader);
    return true;
}

static bool read_quantity(MwClusterReader *reader, MwQuantity quantity, double *value, MwSpan *span)
{
    double scale = 1;
    if (!read_number(reader, value, span))
        return false;
    if (quantity != MW_QUANTITY_NUMBER && !read_unit(reader, quantity, *span, &scale))
        return false;
    *value *= scale;
    return true;
}

bool mw_cluster_read_int(MwClusterReader *reader, int *value)
{
    double number;
    MwSpan span;
    if (!read_number(reader, &number, &span))
        return false;
    if (number != floor(number) || number > MW_CLUSTER_MAX_COUNT) {
        mw_diag_error(reader->diags, span, "must be a whole number from 1 to %d",
                      MW_CLUSTER_MAX_COUNT);
        return false;
    }
    *value = (int)number;
    return true;
}

static bool read_memory(MwClusterReader *reader, int64_t *bytes)
{
    double number;
    MwSpan span;
    if (!read_quantity(reader, MW_QUANTITY_BYTES, &number, &span))
        return false;
    if (number >= 0x1p53) {
        mw_diag_error(reader->diags, span, "must be less than 2^53 bytes");
        return false;
    }
    *bytes = (int64_t)number;
    return true;
}

/* Reads [1, 2, 3] or [1, 2, 3] GFLOP/s. */
static bool read_list(MwClusterReader *reader, MwQuantity quantity, MwNumbers *numbers)
{
    MW_VEC(double) list = {0};
    MwSpan span = reader->token.span, last;
    if (!mw_cluster_expect(reader, '[', "before a list"))
        return false;
    do
        if (!read_number(reader, mw_vec_add(reader->arena, &list), &last))
            return false;
    while (mw_cluster_accept(reader, ','));
    span = mw_span_join(span, reader->token.span);
    if (!mw_cluster_expect(reader, ']', "or ',' after a number of a list"))
        return false;
    double scale = 1;
    if (quantity != MW_QUANTITY_NUMBER && !read_unit(reader, quantity, span, &scale))
        return false;
    for (int i = 0; i < list.count; i++)
        list.at[i] *= scale;
    *numbers = (MwNumbers){list.at, list.count};
    return true;
}

static bool check_point(MwClusterReader *reader, const MwCurve *curve, MwSpan at, MwSpan value,
                        MwQuantity quantity)
{
    const MwCurvePoint *last = &curve->points[curve->count - 1];
    if (curve->count > 1 && last->at <= last[-1].at) {
        mw_diag_error(reader->diags, at, "sizes must ascend");
        return false;
    }
    if (curve->count > 1 && quantity == MW_QUANTITY_SECONDS && last->value < last[-1].value) {
        mw_diag_error(reader->diags, value, "a larger size cannot take less time");
        return false;
    }
    return true;
}

bool mw_cluster_read_curve(MwClusterReader *reader, MwQuantity quantity, MwQuantity at,
                           MwCurve *curve)
{
    MW_VEC(MwCurvePoint) points = {0};
    MwSpan at_span, value_span;
    if (!mw_cluster_accept(reader, '[')) {
        MwCurvePoint *only = mw_vec_add(reader->arena, &points);
        only->at = 1;
        *curve = (MwCurve){only, 1};
        return read_quantity(reader, quantity, &only->value, &value_span);
    }
    do {
        MwCurvePoint *point = mw_vec_add(reader->arena, &points);
        if (!read_quantity(reader, at, &point->at, &at_span) ||
            !mw_cluster_expect(reader, ':', "after the size of a point") ||
            !read_quantity(reader, quantity, &point->value, &value_span))
            return false;
        *curve = (MwCurve){points.at, points.count};
        if (!check_point(reader, curve, at_span, value_span, quantity))
            return false;
    } while (mw_cluster_accept(reader, ','));
    return mw_cluster_expect(reader, ']', "or ',' after a point of a curve");
}

static bool read_backend(MwClusterReader *reader, const char **backend)
{
    const char *word = reader->token.kind == MW_CLUSTER_WORD ? reader->token.text : "";
    const MwBackendInfo *info = mw_backend_named(word);
    if (!info) {
        mw_diag_error(reader->diags, reader->token.span, "a backend is %s", mw_backend_choices());
        return false;
    }
    *backend = info->name;
    mw_cluster_advance(reader);
    return true;
}

bool mw_cluster_read_value(MwClusterReader *reader, const MwClusterKey *key, void *base)
{
    void *member = (char *)base + key->offset;
    MwSpan span;
    switch (key->kind) {
    case MW_KEY_INT:
        return mw_cluster_read_int(reader, member);
    case MW_KEY_MEMORY:
        return read_memory(reader, member);
    case MW_KEY_NUMBER:
        return read_quantity(reader, key->quantity, member, &span);
    case MW_KEY_LIST:
        return read_list(reader, key->quantity, member);
    case MW_KEY_CURVE:
        return mw_cluster_read_curve(reader, key->quantity, key->at, member);
    case MW_KEY_BACKEND:
        return read_backend(reader, member);
    }
    MW_UNREACHABLE();
}
