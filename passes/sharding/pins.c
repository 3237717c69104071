/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/pins.h"

#include "base/text.h"
#include "passes/pass.h"

#include <fnmatch.h>
#include <string.h>

/* An axis that the spec uses twice; -1: none. */
static int repeated_axis(MwSpec spec, int rank)
{
    MwAxes used = mw_spec_partial(spec), twice = 0;
    for (int d = 0; d < rank; d++) {
        twice |= used & mw_spec_dim(spec, d);
        used |= mw_spec_dim(spec, d);
    }
    return twice ? __builtin_ctz(twice) : -1;
}

/* The pin on the spec of `value`; NULL if there is none. */
static MwPin *find_pin(const MwGraph *graph, MwValueId value)
{
    for (int i = 0; i < graph->pins.count; i++)
        if (graph->pins.at[i].has_spec && mw_value_equal(graph->pins.at[i].value, value))
            return &graph->pins.at[i];
    return NULL;
}

static bool add_pin(MwGraph *graph, MwValueId id, MwSpec spec, int rank, const char *text,
                    MwDiags *diags)
{
    const MwValue *value = mw_value(graph, id);
    char type[MW_TENSOR_TEXT_BYTES], other[MW_SPEC_TEXT_BYTES];
    if (value->tensor.rank != rank) {
        mw_diag_error(diags, mw_span_none(), "--pin %s: %s is %s, the spec has %d dimensions", text,
                      value->name, mw_tensor_text(&value->tensor, type), rank);
        return false;
    }
    const MwPin *before = find_pin(graph, id);
    if (before && !mw_spec_equal(before->spec, spec)) {
        mw_diag_error(diags, mw_span_none(), "--pin %s: %s is pinned to %s already", text,
                      value->name, mw_spec_text(before->spec, rank, other));
        if (before->span.source)
            mw_diag_note(diags, before->span, "by this annotation");
        return false;
    }
    if (!before)
        mw_vec_push(graph->arena, &graph->pins,
                    ((MwPin){.value = id,
                             .text = text,
                             .has_spec = true,
                             .spec = spec,
                             .stage = -1,
                             .remat = -1}));
    return true;
}

/* Adds a pin for every value whose name matches the glob of `text`, "layers.*.mlp.w1=[R, S1]";
 * `*` matches dots too. False after an error: the text cannot be parsed, no value matches, the
 * rank differs, or another pin gives the value another spec. */
static bool parse_pin(MwGraph *graph, const char *text, MwDiags *diags)
{
    const char *equals = strrchr(text, '=');
    MwSpec spec;
    int rank;
    if (!equals || equals == text || !mw_spec_parse(equals + 1, &spec, &rank)) {
        mw_diag_error(diags, mw_span_none(), "--pin %s: not of the form NAME=SPEC", text);
        mw_diag_note(diags, mw_span_none(), "for example --pin 'layers.*.mlp.w1=[R, S1]'");
        return false;
    }
    if (repeated_axis(spec, rank) >= 0) {
        mw_diag_error(diags, mw_span_none(), "--pin %s: axis %d is used twice", text,
                      repeated_axis(spec, rank));
        return false;
    }
    const char *glob = mw_intern_n(graph->interner, text, (size_t)(equals - text));
    bool found = false;
    for (int v = 0; v < graph->values.count; v++) {
        if (fnmatch(glob, graph->values.at[v].name, 0) != 0)
            continue;
        found = true;
        if (!add_pin(graph, (MwValueId){v}, spec, rank, text, diags))
            return false;
    }
    if (!found)
        mw_diag_error(diags, mw_span_none(), "--pin %s: the model has no value of that name", text);
    return found;
}

bool mw_pass_pins(MwCompilation *compilation, MwDiags *diags)
{
    bool ok = true;
    for (int i = 0; i < compilation->options.pin_count; i++)
        ok = parse_pin(compilation->graph, compilation->options.pins[i], diags) && ok;
    return ok;
}

/* ---- Application ---- */

typedef struct {
    const MwGraph *graph;
    const MwPin *pin;
    const MwMeshShape *mesh;
    MwDiags *diags;
} PinCheck;

MW_PRINTF(2, 3)
static bool refuse(const PinCheck *check, const char *format, ...)
{
    const MwValue *value = mw_value(check->graph, check->pin->value);
    char spec[MW_SPEC_TEXT_BYTES], mesh[MW_MESH_TEXT_BYTES], why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    mw_diag_error(check->diags, check->pin->span, "cannot pin %s to %s on a mesh of %s: %s",
                  value->name, mw_spec_text(check->pin->spec, value->tensor.rank, spec),
                  mw_mesh_text(check->mesh, mesh), why);
    return false;
}

/* The spec without the axes that have one device. */
static MwSpec drop_trivial_axes(MwSpec spec, int rank, const MwMeshShape *mesh)
{
    MwAxes kept = 0;
    for (int axis = 0; axis < mesh->axis_count; axis++)
        if (mesh->size[axis] > 1)
            kept |= (MwAxes)(1 << axis);
    MwSpec dropped = mw_spec_with_partial(mw_spec_replicated(), mw_spec_partial(spec) & kept,
                                          mw_spec_combine(spec));
    for (int d = 0; d < rank; d++)
        dropped = mw_spec_with_dim(dropped, d, mw_spec_dim(spec, d) & kept);
    return dropped;
}

static bool spec_fits(const PinCheck *check)
{
    const MwTensor *tensor = mw_value_tensor(check->graph, check->pin->value);
    MwSpec spec = check->pin->spec;
    MwAxes outside = mw_spec_axes(spec, tensor->rank) >> check->mesh->axis_count;
    if (outside)
        return refuse(check, "axis %d is not in the mesh",
                      check->mesh->axis_count + __builtin_ctz(outside));
    for (int d = 0; d < tensor->rank; d++) {
        int ways = mw_mesh_ways(check->mesh, mw_spec_dim(spec, d));
        if (tensor->dim[d] % ways != 0)
            return refuse(check, "dimension %d has size %lld, which does not divide by %d", d,
                          (long long)tensor->dim[d], ways);
    }
    return true;
}

/* Lists the specs that the node can give. */
static void note_possible(const PinCheck *check, const MwStrategyList *list, int result)
{
    int rank = mw_value_tensor(check->graph, check->pin->value)->rank;
    MwText text = {.arena = check->graph->arena};
    char buffer[MW_SPEC_TEXT_BYTES];
    for (int s = 0; s < list->count; s++) {
        bool is_new = true;
        for (int i = 0; i < s && is_new; i++)
            is_new = !mw_spec_equal(list->at[i].results[result], list->at[s].results[result]);
        if (is_new)
            mw_text_printf(&text, "%s%s", s ? ", " : "",
                           mw_spec_text(list->at[s].results[result], rank, buffer));
    }
    mw_diag_note(check->diags, mw_span_none(), "it can give %s", text.at);
}

/* Restricts the strategies of the pinned value's producer to those with the pinned spec. */
static bool apply_pin(const PinCheck *check, MwStrategyTable *table, const MwStrategyList **lists,
                      bool *pinned)
{
    if (!spec_fits(check))
        return false;
    const MwValue *value = mw_value(check->graph, check->pin->value);
    const MwNode *node = mw_node(check->graph, value->node);
    int n = value->node.index, result = check->pin->value.index - node->first_result;
    MwSpec spec = drop_trivial_axes(check->pin->spec, value->tensor.rank, check->mesh);
    const MwStrategyList *kept = mw_strategies_with_result(table, lists[n], result, spec);
    if (!kept) {
        refuse(check, "operator %s cannot give that spec%s", mw_op_info(node->op)->name,
               pinned[n] ? " beside what its other results are pinned to" : "");
        note_possible(check, lists[n], result);
        return false;
    }
    lists[n] = kept;
    pinned[n] = true;
    return true;
}

bool mw_pins_apply(const MwGraph *graph, MwStrategyTable *table, const MwMeshShape *mesh,
                   const MwStrategyList **lists, bool *pinned, MwDiags *diags)
{
    bool ok = true;
    for (int i = 0; i < graph->pins.count; i++) {
        PinCheck check = {graph, &graph->pins.at[i], mesh, diags};
        if (check.pin->has_spec)
            ok = apply_pin(&check, table, lists, pinned) && ok;
    }
    return ok;
}
