/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/what_if/zero.h"

#include "tools/text_table.h"

#include <stdlib.h>
#include <string.h>

/* ---- Pins ---- */

/* "[R, S0]" */
static const char *spec_text(MwArena *arena, const MwTensor *tensor, bool splits, int devices)
{
    MwText text = {.arena = arena};
    bool is_split = !splits;
    mw_text_add(&text, "[");
    for (int d = 0; d < tensor->rank; d++) {
        const bool here = !is_split && tensor->dim[d] % devices == 0;
        mw_text_printf(&text, "%s%s", d ? ", " : "", here ? "S0" : "R");
        is_split = is_split || here;
    }
    mw_text_add(&text, "]");
    return text.at;
}

static bool has_pin(const MwToolOptions *options, const char *glob)
{
    const size_t length = strlen(glob);
    for (int i = 0; i < options->pins.count; i++)
        if (strncmp(options->pins.at[i], glob, length) == 0 && options->pins.at[i][length] == '=')
            return true;
    return false;
}

/* Pins all values of a name but for the number of the layer. */
static void pin(MwArena *arena, MwVariant *variant, const char *name, const char *spec)
{
    const char *glob = mw_text_folded_name(arena, name);
    if (!has_pin(&variant->options, glob))
        mw_tool_options_set(&variant->options, "--pin",
                            mw_arena_printf(arena, "%s=%s", glob, spec));
}

void mw_zero_pin(MwArena *arena, MwVariant *variant, const MwVariantResult *planned, int devices,
                 MwZeroLevel level)
{
    MwToolOptions *options = &variant->options;
    mw_tool_options_set(options, "--stages", "1");
    options->compile.mesh = (MwMeshShape){.axis_count = 1, .size = {devices}};
    options->compile.roles = (MwAxisRolePins){.count = 1, .at = {MW_ROLE_DATA}};
    for (int i = 0; i < planned->weight_count; i++) {
        const MwVariantWeight *weight = &planned->weights[i];
        const bool splits = level >= (weight->is_state ? MW_ZERO_STATES : MW_ZERO_WEIGHTS);
        pin(arena, variant, weight->name, spec_text(arena, &weight->tensor, splits, devices));
    }
}

/* ---- Formulas ---- */

double mw_zero_parameters(const MwVariantResult *planned)
{
    double parameters = 0;
    for (int i = 0; i < planned->weight_count; i++)
        if (!planned->weights[i].is_state)
            parameters += (double)mw_tensor_elements(&planned->weights[i].tensor);
    return parameters;
}

double mw_zero_bytes(double parameters, int devices, MwZeroLevel level)
{
    const double weight = 2, gradient = 2, state = 12;
    return parameters * (weight / (level >= MW_ZERO_WEIGHTS ? devices : 1) +
                         gradient / (level >= MW_ZERO_GRADIENTS ? devices : 1) +
                         state / (level >= MW_ZERO_STATES ? devices : 1));
}

/* The value of a size, as -D or the file has it; 0: it has none, or it is computed. */
static double size_of(const MwToolOptions *options, const MwSizeTexts *sizes, const char *name)
{
    const char *text = "";
    for (int i = 0; i < sizes->count; i++)
        if (strcmp(sizes->at[i].name, name) == 0)
            text = sizes->at[i].value;
    for (int i = 0; i < options->defines.count; i++)
        if (strcmp(options->defines.at[i].name, name) == 0)
            text = options->defines.at[i].value;
    char *end;
    const double value = strtod(text, &end);
    return end > text && !*end ? value : 0;
}

MwTransformer mw_transformer(MwArena *arena, const MwToolOptions *options, MwDiags *diags)
{
    MwSizeTexts sizes = {0};
    if (!mw_graph_sizes(arena, options->model, &sizes, diags))
        return (MwTransformer){0};
    return (MwTransformer){.batch = size_of(options, &sizes, "batch"),
                           .seq = size_of(options, &sizes, "seq"),
                           .width = size_of(options, &sizes, "width"),
                           .heads = size_of(options, &sizes, "heads"),
                           .layers = size_of(options, &sizes, "layers")};
}

MwActivationBytes mw_activation_bytes(const MwTransformer *sizes, double rows)
{
    const double sbh = sizes->seq * rows * sizes->width;
    const double attention = 5 * sizes->heads * sizes->seq / sizes->width;
    return (MwActivationBytes){.all = sizes->layers * sbh * (34 + attention),
                               .selective = sizes->layers * sbh * 34,
                               .inputs = sizes->layers * sbh * 2};
}
