/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright memory MODEL.graph --cluster C`: what each way to save memory costs and gives. */
#include "base/quantity.h"
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/what_if/options.h"
#include "tools/what_if/zero.h"

#include <string.h>

enum { MOST_NODES = 4096 /* tried for the smallest cluster that fits */ };

static const struct argp_option option_list[] = {MW_WHAT_IF_ROWS};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    return mw_what_if_parse(state->input, key, arg, state);
}

/* ---- What is compared ---- */

typedef struct {
    const char *name;
    int zero_level; /* MwZeroLevel, for the formula; -1: none */
} Way;

typedef struct {
    MW_VEC(Way) ways; /* of each variant */
    MwVariants variants;
} Ways;

/* Adds a variant of the command line. */
static MwVariant *add_way(MwSession *session, Ways *ways, const char *name, int zero_level)
{
    MwArena *arena = session->options.arena;
    MwVariant *variant = mw_vec_add(arena, &ways->variants);
    *variant = mw_variant(&session->options);
    variant->lists_memory = true;
    mw_vec_push(arena, &ways->ways, ((Way){name, zero_level}));
    return variant;
}

/* What one option of planning gives; nothing where the command line has the option. */
static void add_option(MwSession *session, Ways *ways, const char *name, const char *option,
                       const char *value)
{
    const MwToolOptions *options = &session->options;
    for (int i = 0; i < options->asked.count; i++)
        if (strcmp(options->asked.at[i].name, option) == 0)
            return;
    mw_tool_options_set(&add_way(session, ways, name, -1)->options, option, value);
}

static void add_ways(MwSession *session, Ways *ways, const MwVariantResult *planned)
{
    const MwType precision = mw_graph_precision(session->compilation.graph);
    static const Way zero[] = {{"data parallel", MW_ZERO_NOTHING},
                               {"ZeRO 2: states and gradients split", MW_ZERO_GRADIENTS},
                               {"ZeRO 3: weights too", MW_ZERO_WEIGHTS}};
    for (int i = 0; i < MW_COUNT(zero); i++)
        mw_zero_pin(session->options.arena,
                    add_way(session, ways, zero[i].name, zero[i].zero_level), planned,
                    planned->devices, (MwZeroLevel)zero[i].zero_level);
    if (session->compilation.cluster->host.memory_bytes) {
        add_option(session, ways, "states on the host", "--offload", "states");
        add_option(session, ways, "states and weights on the host", "--offload", "weights");
        add_option(session, ways, "activations on the host", "--remat", "stream");
    }
    add_option(session, ways, "nothing recomputed", "--remat", "none");
    add_option(session, ways, "all but products recomputed", "--remat", "selective");
    add_option(session, ways, "all layers recomputed", "--remat", "all");
    if (precision != MW_F32)
        add_option(session, ways, "products in f32", "--precision", "f32");
    if (precision != MW_BF16)
        add_option(session, ways, "products in bf16", "--precision", "bf16");
}

/* ---- The smallest cluster ---- */

/* Whether the model can be planned for so many nodes. */
static bool fits(MwSession *session, int nodes, const char **error)
{
    MwArena *arena = session->options.arena;
    const MwWhatIfAxis axis = {.kind = MW_WHAT_IF_FIGURE,
                               .name = "nodes",
                               .title = "nodes",
                               .figure = mw_cluster_figure(arena, "nodes")};
    MwVariants one = {0};
    MwVariant *variant = mw_vec_add(arena, &one);
    *variant = mw_variant(&session->options);
    variant->options.compile.takes_any = true;
    mw_variant_set(arena, variant, &axis, mw_arena_printf(arena, "%d", nodes));
    mw_variants_plan(arena, &one, 1);
    *error = one.at[0].result.error;
    return !*error;
}

/* "The smallest number of nodes that fits is 3, of 8 devices each." Doubles, then halves the
 * interval. `error` is why there is no plan for the nodes of the cluster; NULL: there is one. */
static const char *smallest_text(MwSession *session, const char *error)
{
    const MwCluster *cluster = session->compilation.cluster;
    MwArena *arena = session->options.arena;
    int most_too_few = error ? cluster->nodes : 0, least = error ? 0 : cluster->nodes;
    for (int nodes = 2 * cluster->nodes; !least && nodes <= MOST_NODES; nodes *= 2) {
        if (fits(session, nodes, &error))
            least = nodes;
        else
            most_too_few = nodes;
    }
    if (!least)
        return mw_arena_printf(arena, "No number of nodes up to %d fits: %s.", most_too_few, error);
    while (least - most_too_few > 1) {
        const int nodes = (least + most_too_few) / 2;
        if (fits(session, nodes, &error))
            least = nodes;
        else
            most_too_few = nodes;
    }
    return mw_arena_printf(arena,
                           "The smallest number of nodes that it fits on is %d, %s%d device%s.",
                           least, least > 1 ? "each of " : "of ", cluster->devices_per_node,
                           cluster->devices_per_node > 1 ? "s" : "");
}

/* ---- The table ---- */

static void add_formula_notes(MwWhatIfTable *table, MwSession *session,
                              const MwVariantResult *planned)
{
    MwArena *arena = table->arena;
    const MwTransformer sizes = mw_transformer(arena, &session->options, session->diags);
    const double parameters = mw_zero_parameters(planned);
    mw_vec_push(arena, &table->notes,
                mw_arena_printf(arena,
                                "%.4g parameters. By ZeRO's formula each takes 2 + 2 + 12 bytes "
                                "(16-bit weight and gradient; f32 weight and two states of Adam); "
                                "by ZeRO 1 %s a device. No row is of ZeRO 1, since plans may "
                                "scatter gradients wherever states are split.",
                                parameters,
                                mw_bytes_text(arena, mw_zero_bytes(parameters, planned->devices,
                                                                   MW_ZERO_STATES))));
    if (!(sizes.batch > 0 && sizes.seq > 0 && sizes.width > 0 && sizes.heads > 0 &&
          sizes.layers > 0))
        return;
    const MwActivationBytes bytes = mw_activation_bytes(&sizes, sizes.batch / planned->devices);
    mw_vec_push(arena, &table->notes,
                mw_arena_printf(arena,
                                "By the formulas of Korthikanti et al. activations of %g layers in "
                                "16 bits, with the batch split over all devices, take %s; %s "
                                "without the insides of attention, and %s where whole layers are "
                                "recomputed.",
                                sizes.layers, mw_bytes_text(arena, bytes.all),
                                mw_bytes_text(arena, bytes.selective),
                                mw_bytes_text(arena, bytes.inputs)));
}

static void fill_row(MwWhatIfTable *table, MwWhatIfRow *row, const MwVariantResult *result)
{
    MwArena *arena = table->arena;
    const MwMemoryKinds *memory = &result->memory;
    int column = table->label_count;
    row->error = result->error;
    if (result->error)
        return;
    row->cells[column++] = mw_what_if_seconds(arena, result->step_s);
    row->cells[column++] = mw_what_if_bytes(arena, (double)result->memory_bytes);
    row->cells[column++] = mw_what_if_bytes(arena, (double)memory->weights);
    row->cells[column++] = mw_what_if_bytes(arena, (double)memory->gradients);
    row->cells[column++] = mw_what_if_bytes(arena, (double)memory->states);
    row->cells[column++] = mw_what_if_bytes(arena, (double)memory->activations);
    row->cells[column++] = mw_what_if_bytes(arena, (double)memory->buffers);
    row->cells[column++] = mw_what_if_bytes(arena, (double)result->host_bytes);
    row->cells[column++] = mw_what_if_word(result->parallelism);
    row->cells[column++] = mw_what_if_count(arena, result->micro_batches);
}

static MwWhatIfTable make_table(MwSession *session, const Ways *ways,
                                const MwVariantResult *planned)
{
    static const MwWhatIfColumn columns[] = {
        {"step_s", "step"},
        {"memory_bytes", "memory"},
        {"weight_bytes", "weights"},
        {"gradient_bytes", "gradients"},
        {"state_bytes", "states"},
        {"activation_bytes", "activations"},
        {"buffer_bytes", "buffers"},
        {"host_bytes", "on the host"},
        {"parallelism", "parallelism"},
        {"micro_batches", "micro-batches"},
    };
    MwArena *arena = session->options.arena;
    MwWhatIfTable table = {.arena = arena,
                           .title = mw_arena_printf(arena, "%s on %s", session->options.model,
                                                    session->compilation.cluster->name)};
    table.label_count = mw_what_if_column(&table, "way", "") + 1;
    for (int i = 0; i < MW_COUNT(columns); i++)
        mw_what_if_column(&table, columns[i].key, columns[i].heading);
    const int formula = mw_what_if_column(&table, "zero_bytes", "ZeRO's formula");
    table.charts[table.chart_count++] = (MwWhatIfChart){0, 2, mw_bytes_text};
    table.charts[table.chart_count++] = (MwWhatIfChart){0, 1, mw_seconds_text};
    for (int i = 0; i < ways->variants.count; i++) {
        const Way *way = &ways->ways.at[i];
        MwWhatIfRow *row = mw_what_if_row(&table);
        row->cells[0] = mw_what_if_word(way->name);
        fill_row(&table, row, &ways->variants.at[i].result);
        if (way->zero_level >= 0)
            row->cells[formula] =
                mw_what_if_bytes(arena, mw_zero_bytes(mw_zero_parameters(planned), planned->devices,
                                                      way->zero_level));
    }
    return table;
}

/* ---- The command ---- */

/* What the model needs is known from a plan: that for the cluster, or where it does not fit for
 * one with much memory. */
static MwVariantResult plan_for_weights(MwSession *session, const Ways *free)
{
    if (!free->variants.at[0].result.error)
        return free->variants.at[0].result;
    MwVariants roomy = {0};
    MwVariant *variant = mw_vec_add(session->options.arena, &roomy);
    *variant = mw_variant(&session->options);
    variant->lists_memory = true;
    variant->options.compile.memory_bytes = INT64_C(1) << 52;
    variant->options.compile.takes_any = true;
    mw_variants_plan(session->options.arena, &roomy, 1);
    return roomy.at[0].result;
}

static void run(MwSession *session, const MwWhatIfOptions *options)
{
    MwArena *arena = session->options.arena;
    Ways ways = {.ways = {0}}, rest = {.ways = {0}};
    if (!mw_variants_can_plan(&session->options, session->diags) || !mw_session_load(session))
        return;
    add_way(session, &ways, "as planned", -1);
    mw_variants_plan(arena, &ways.variants, 1);
    const MwVariantResult planned = plan_for_weights(session, &ways);
    if (planned.error) {
        mw_diag_error(session->diags, mw_span_none(), "%s", planned.error);
        return;
    }
    add_ways(session, &rest, &planned);
    mw_variants_plan(arena, &rest.variants, options->jobs);
    for (int i = 0; i < rest.variants.count; i++) {
        mw_vec_push(arena, &ways.ways, rest.ways.at[i]);
        mw_vec_push(arena, &ways.variants, rest.variants.at[i]);
    }
    MwWhatIfTable table = make_table(session, &ways, &planned);
    mw_vec_push(arena, &table.notes, smallest_text(session, ways.variants.at[0].result.error));
    add_formula_notes(&table, session, &planned);
    mw_what_if_show(options, &table, session->diags);
}

int mw_command_memory(int argc, char **argv)
{
    static const struct argp own = {option_list, parse_option, NULL, NULL, NULL, NULL, NULL};
    MwWhatIfOptions options = {.show.formats = MW_WHAT_IF_FORMATS};
    const MwToolCommand command = {
        .what = "Plans a model in the ways that save memory, and shows what each costs in time and "
                "gives in memory of a device; and on how few nodes the model fits.",
        .plans = true,
        .own = &own,
        .own_input = &options};
    MwSession session;
    mw_session_begin(&session, &command, argc, argv);
    run(&session, &options);
    return mw_session_end(&session);
}
