/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/pins.h"

#include "base/text.h"
#include "passes/pass.h"

#include <fnmatch.h>
#include <string.h>

/* Behind the name in an option: whether the node of the value has a ring. */
static const char *const ring_words[] = {"no ring", "ring"};

const char *mw_ring_word(const MwPin *pin)
{
    return ring_words[pin->ring];
}

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

/* The pin of `value`, a new one if it has none. */
static MwPin *pin_of(MwGraph *graph, MwValueId value)
{
    for (int i = 0; i < graph->pins.count; i++)
        if (mw_value_equal(graph->pins.at[i].value, value))
            return &graph->pins.at[i];
    mw_vec_push(graph->arena, &graph->pins, mw_pin_new(value));
    return &mw_vec_last(&graph->pins);
}

/* What an option `--pin` says. */
typedef struct {
    const char *text;
    bool has_spec; /* else it pins whether there is a ring */
    MwSpec spec;
    int rank;
    bool ring;
} PinOption;

static bool is_pinned_otherwise(const MwPin *before, const PinOption *option)
{
    return option->has_spec ? before->has_spec && !mw_spec_equal(before->spec, option->spec)
                            : before->ring >= 0 && before->ring != option->ring;
}

static bool add_pin(MwGraph *graph, MwValueId id, const PinOption *option, MwDiags *diags)
{
    const MwValue *value = mw_value(graph, id);
    char type[MW_TENSOR_TEXT_BYTES], other[MW_SPEC_TEXT_BYTES];
    if (option->has_spec && value->tensor.rank != option->rank) {
        mw_diag_error(diags, mw_span_none(), "--pin %s: %s is %s, the spec has %d dimensions",
                      option->text, value->name, mw_tensor_text(&value->tensor, type),
                      option->rank);
        return false;
    }
    MwPin *pin = pin_of(graph, id);
    if (is_pinned_otherwise(pin, option)) {
        mw_diag_error(diags, mw_span_none(), "--pin %s: %s is pinned to %s already", option->text,
                      value->name,
                      option->has_spec ? mw_spec_text(pin->spec, option->rank, other)
                                       : mw_ring_word(pin));
        if (pin->span.source)
            mw_diag_note(diags, pin->span, "by this annotation");
        return false;
    }
    pin->text = pin->text && strcmp(pin->text, option->text) != 0
                    ? mw_intern_printf(graph->interner, "%s --pin %s", pin->text, option->text)
                    : option->text;
    if (option->has_spec) {
        pin->has_spec = true;
        pin->spec = option->spec;
    } else {
        pin->ring = option->ring;
    }
    return true;
}

/* Parses what stands behind the name and the equals sign of an option. */
static bool parse_option(const char *text, PinOption *option)
{
    for (int i = 0; i < MW_COUNT(ring_words); i++)
        if (strcmp(text, ring_words[i]) == 0) {
            option->ring = i;
            return true;
        }
    return option->has_spec = mw_spec_parse(text, &option->spec, &option->rank);
}

/* Adds a pin for every value whose name matches the glob of `text`, "layers.*.mlp.w1=[R, S1]" or
 * "layers.*.attention.o=ring"; `*` matches dots too. False after an error: the text cannot be
 * parsed, no value matches, the rank differs, or another pin says otherwise. */
static bool parse_pin(MwGraph *graph, const char *text, MwDiags *diags)
{
    const char *equals = strrchr(text, '=');
    PinOption option = {.text = text};
    if (!equals || equals == text || !parse_option(equals + 1, &option)) {
        mw_diag_error(diags, mw_span_none(), "--pin %s: not of the form NAME=SPEC", text);
        mw_diag_note(diags, mw_span_none(), "for example --pin 'layers.*.mlp.w1=[R, S1]'");
        return false;
    }
    if (option.has_spec && repeated_axis(option.spec, option.rank) >= 0) {
        mw_diag_error(diags, mw_span_none(), "--pin %s: axis %d is used twice", text,
                      repeated_axis(option.spec, option.rank));
        return false;
    }
    const char *glob = mw_intern_n(graph->interner, text, (size_t)(equals - text));
    bool found = false;
    for (int v = 0; v < graph->values.count; v++) {
        if (fnmatch(glob, graph->values.at[v].name, 0) != 0)
            continue;
        found = true;
        if (!add_pin(graph, (MwValueId){v}, &option, diags))
            return false;
    }
    if (!found)
        mw_diag_error(diags, mw_span_none(), "--pin %s: the model has no value of that name", text);
    return found;
}

bool mw_pass_pins(MwCompilation *compilation, MwDiags *diags)
{
    bool ok = true;
    compilation->graph->roles = compilation->options.roles;
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
static bool apply_spec(const PinCheck *check, MwStrategyTable *table, const MwStrategyList **lists,
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

/* Restricts them to those with a ring, or without. A mesh of one device has none. */
static bool apply_ring(const PinCheck *check, MwStrategyTable *table, const MwStrategyList **lists,
                       bool *pinned)
{
    const MwValue *value = mw_value(check->graph, check->pin->value);
    const int n = value->node.index;
    const MwStrategyList *kept = mw_strategies_with_ring(table, lists[n], check->pin->ring);
    char mesh[MW_MESH_TEXT_BYTES];
    if (mw_mesh_devices(check->mesh) == 1)
        return true;
    if (!kept) {
        mw_diag_error(check->diags, check->pin->span,
                      "cannot pin %s to %s on a mesh of %s: operator %s has %s%s", value->name,
                      mw_ring_word(check->pin), mw_mesh_text(check->mesh, mesh),
                      mw_op_info(mw_node(check->graph, value->node)->op)->name,
                      ring_words[!check->pin->ring],
                      pinned[n] ? " beside what else is pinned" : " there");
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
            ok = apply_spec(&check, table, lists, pinned) && ok;
        if (check.pin->ring >= 0)
            ok = apply_ring(&check, table, lists, pinned) && ok;
    }
    return ok;
}
