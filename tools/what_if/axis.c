/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/what_if/axis.h"

#include "base/suggest.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 256 /* of an axis; a sweep has a limit of its own */ };

/* ---- Names ---- */

typedef MW_VEC(const char *) Names;

static bool find_size(MwArena *arena, const char *path, const char *name, Names *known,
                      MwDiags *diags)
{
    MwSizeTexts sizes = {0};
    bool is_found = false;
    if (!mw_graph_sizes(arena, path, &sizes, diags))
        return false;
    for (int i = 0; i < sizes.count; i++) {
        is_found = is_found || strcmp(sizes.at[i].name, name) == 0;
        mw_vec_push(arena, known, sizes.at[i].name);
    }
    return is_found;
}

static void refuse_name(MwArena *arena, const char *name, Names *known, MwDiags *diags)
{
    const MwClusterFigures figures = mw_cluster_figures(arena);
    for (int i = 0; i < figures.count; i++)
        mw_vec_push(arena, known, figures.at[i].path);
    const char *nearest = mw_suggest(name, known->at, known->count);
    mw_diag_error(diags, mw_span_none(),
                  "--over: '%s' is no size of the model, no figure of a cluster such as "
                  "network.bandwidth, and no option of planning such as stages",
                  name);
    if (nearest)
        mw_diag_note(diags, mw_span_none(), "did you mean '%s'?", nearest);
}

static bool find_name(MwArena *arena, const MwToolOptions *options, const char *name,
                      MwWhatIfAxis *axis, MwDiags *diags)
{
    const int errors = mw_diags_error_count(diags);
    const bool is_option = strncmp(name, "--", 2) == 0;
    const char *option = is_option ? name : mw_arena_printf(arena, "--%s", name);
    Names known = {0};
    axis->name = name;
    if (!is_option && find_size(arena, options->model, name, &known, diags)) {
        axis->kind = MW_WHAT_IF_SIZE;
        return true;
    }
    if (mw_diags_error_count(diags) != errors)
        return false;
    axis->figure = mw_cluster_figure(arena, name);
    if (axis->figure) {
        axis->kind = MW_WHAT_IF_FIGURE;
        axis->name = axis->figure->path;
        return true;
    }
    if (mw_tool_option_is_known(arena, option)) {
        axis->kind = MW_WHAT_IF_OPTION;
        axis->name = option;
        return true;
    }
    refuse_name(arena, name, &known, diags);
    return false;
}

/* ---- Values ---- */

static const char *trimmed(MwArena *arena, const char *text, size_t length)
{
    while (length && isspace((unsigned char)*text))
        text++, length--;
    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    return mw_arena_strndup(arena, text, length);
}

static void add_number(MwArena *arena, MwWhatIfAxis *axis, double number, const char *unit)
{
    MwText text = {.arena = arena};
    mw_text_add_double(&text, number);
    mw_text_add(&text, unit);
    mw_vec_push(arena, &axis->values, text.at);
}

/* Adds "A..B"; `dots` are those in `text`. */
static bool add_range(MwArena *arena, MwWhatIfAxis *axis, const char *text, const char *dots,
                      MwDiags *diags)
{
    const char *first = trimmed(arena, text, (size_t)(dots - text)), *last = dots + 2;
    char *first_unit, *last_unit;
    const double begin = strtod(first, &first_unit), end = strtod(last, &last_unit);
    const bool is_of_one_unit = !*first_unit || strcmp(first_unit, last_unit) == 0;
    if (first_unit == first || last_unit == last || !is_of_one_unit ||
        !(begin > 0 && end >= begin && end <= 1e30)) {
        mw_diag_error(diags, mw_span_none(),
                      "%s: '%s' is no range: write 0.5x..4x, 1..64 or 25GB/s..100GB/s, the "
                      "lesser number first",
                      axis->title, text);
        return false;
    }
    for (double at = begin; at < end && axis->values.count <= MOST_VALUES; at *= 2)
        add_number(arena, axis, at, last_unit);
    add_number(arena, axis, end, last_unit);
    return true;
}

bool mw_what_if_axis_values(MwArena *arena, const char *text, MwWhatIfAxis *axis, MwDiags *diags)
{
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        const char *value = trimmed(arena, at, length), *dots = strstr(value, "..");
        if (!*value) {
            mw_diag_error(diags, mw_span_none(), "%s: a value is missing in '%s'", axis->title,
                          text);
            return false;
        }
        if (!dots)
            mw_vec_push(arena, &axis->values, value);
        else if (!add_range(arena, axis, value, dots, diags))
            return false;
        if (axis->values.count > MOST_VALUES) {
            mw_diag_error(diags, mw_span_none(), "%s: more than %d values", axis->title,
                          MOST_VALUES);
            return false;
        }
        if (!at[length])
            return true;
        at += length + 1;
    }
}

bool mw_what_if_axis(MwArena *arena, const MwToolOptions *options, const char *text,
                     MwWhatIfAxis *axis, MwDiags *diags)
{
    const char *equals = strchr(text, '=');
    *axis = (MwWhatIfAxis){0};
    if (!equals) {
        mw_diag_error(diags, mw_span_none(), "--over wants NAME=VALUES, not '%s'", text);
        return false;
    }
    if (!find_name(arena, options, trimmed(arena, text, (size_t)(equals - text)), axis, diags))
        return false;
    axis->title = mw_arena_printf(arena, "--over %s", axis->name);
    return mw_what_if_axis_values(arena, equals + 1, axis, diags);
}

const MwSource *mw_what_if_axis_source(MwArena *arena, const MwWhatIfAxis *axis, const char *value)
{
    MwSource *source = MW_NEW(arena, MwSource, 1);
    *source = (MwSource){axis->title, value, strlen(value)};
    return source;
}

bool mw_what_if_axis_check(MwArena *arena, const MwWhatIfAxis *axis, const MwCluster *cluster,
                           MwDiags *diags)
{
    const int errors = mw_diags_error_count(diags);
    for (int i = 0; axis->kind == MW_WHAT_IF_FIGURE && i < axis->values.count; i++) {
        MwCluster changed = *cluster;
        mw_cluster_figure_set(arena, &changed, axis->figure,
                              mw_what_if_axis_source(arena, axis, axis->values.at[i]), diags);
    }
    return mw_diags_error_count(diags) == errors;
}
