/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every operator of ir/ops.def, called in a model with operands and attributes that mostly do not
 * fit: the model is planned, or it is refused with an error that names no attribute which only the
 * compiler writes. */
#include "codegen/plan/plan_model.h"
#include "frontend/frontend.h"
#include "ir/verify.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <string.h>

/* Operands, of which a call takes all the same, or one after another. */
static const char *const operands[] = {"x4", "x2", "ids", "flags", "w", "x1", "half", "x3", "2"};

static const char declarations[] = "  input x1: f32[4]\n"
                                   "  input x2: f32[4, 4]\n"
                                   "  input x3: f32[4, 4, 2]\n"
                                   "  input x4: f32[4, 4, 2, 4]\n"
                                   "  input ids: i32[4]\n"
                                   "  input flags: bool[4, 4]\n"
                                   "  weight w: f32[4, 4] = normal(0.1)\n"
                                   "  weight half: bf16[] = constant(0.5)\n";

static const char *const ints[] = {"0", "1", "-1", "2", "4", "9223372036854775807"};
static const char *const flags[] = {"true", "false"};
static const char *const floats[] = {"0.5", "0", "-1", "inf", "1e308", "nan"};
static const char *const texts[] = {"\"sum\"", "\"ab,bc->ac\"", "\"\"", "\"max\"", "\"ab->ba\""};
static const char *const lists[] = {"[4, 4]", "[0]", "[]", "[4, 4, 2, 4]", "[-1]", "[1, 0]", "[4]"};
static const char *const types[] = {"f32", "i32", "bool", "bf16"};
static const char *const specs[] = {"\"[S0, R]\"", "\"[R]\"", "\"[S0, R, R, R]\"", "\"[R] +P0\""};

static const struct {
    const char *const *texts;
    int count;
} values[] = {
    [MW_KIND_INT] = {ints, MW_COUNT(ints)},       [MW_KIND_BOOL] = {flags, MW_COUNT(flags)},
    [MW_KIND_FLOAT] = {floats, MW_COUNT(floats)}, [MW_KIND_TEXT] = {texts, MW_COUNT(texts)},
    [MW_KIND_INTS] = {lists, MW_COUNT(lists)},    [MW_KIND_TYPE] = {types, MW_COUNT(types)},
    [MW_KIND_SPEC] = {specs, MW_COUNT(specs)},
};

enum { VARIANTS = 28 };

static void write_call(MwText *text, MwOp op, int variant)
{
    const MwOpInfo *info = mw_op_info(op);
    int count = info->operands >= 0 ? info->operands : variant % 3;
    const char *between = "";
    mw_text_printf(text, "%s(", info->name);
    for (int k = 0; k < count; k++, between = ", ") {
        int which = variant % 3 ? variant : variant + k;
        mw_text_printf(text, "%s%s", between, operands[which % MW_COUNT(operands)]);
    }
    for (int key = 0; key < MW_ATTR_COUNT; key++) {
        MwAttrKind kind = mw_attr_kind((MwAttrKey)key);
        if (!(info->attrs >> key & 1) || (variant + key) % 5 == 4)
            continue;
        mw_text_printf(text, "%s%s = %s", between, mw_attr_name((MwAttrKey)key),
                       values[kind].texts[(variant * 3 + key) % values[kind].count]);
        between = ", ";
    }
    mw_text_add(text, ")");
}

/* A model for inference or for training, in which the call runs in one phase or another. */
static const char *write_model(MwArena *arena, MwOp op, int variant)
{
    static const char *const phases[] = {"", "", " with phase = backward", " with phase = update"};
    MwText text = {.arena = arena};
    mw_text_printf(&text, "model m {\n%s  y", declarations);
    for (int k = 1; k < mw_op_info(op)->results && variant % 4; k++)
        mw_text_printf(&text, ", y%d", k);
    mw_text_add(&text, " = ");
    write_call(&text, op, variant);
    mw_text_printf(&text, "%s\n", phases[variant / 2 % MW_COUNT(phases)]);
    mw_text_add(&text,
                variant % 2 ? "  train mean(y + w) with sgd(lr = 0.1)\n}\n" : "  output y\n}\n");
    return text.at;
}

/* Plans the model; returns whether it could be planned. */
static bool plan(MwArena *arena, const char *model, int variant, MwDiags *diags)
{
    MwCluster cluster = test_cluster(1 + variant % 2);
    MwCompileOptions options = {.solve_time_s = 5};
    MwPipelineOptions pipeline = {.stop_after = MW_PASS_COUNT, .dump_after = MW_PASS_COUNT};
    MwSource *source = MW_NEW(arena, MwSource, 1);
    *source = (MwSource){"m.graph", model, strlen(model)};
    const MwGraph *graph = mw_graph_parse(arena, mw_interner_new(arena), source, NULL, 0, diags);
    if (!graph || !mw_graph_check_model(graph, diags))
        return false;
    const MwPlanRequest request = {.graph = graph,
                                   .source = "m.graph",
                                   .cluster = &cluster,
                                   .options = &options,
                                   .pipeline = &pipeline};
    return mw_plan_model(arena, &request, diags).plan != NULL;
}

/* What is said before the line of the source, which a user wrote. */
static const char *messages(MwArena *arena, MwDiags *diags)
{
    const char *text = diags_text(arena, diags);
    return mw_arena_strndup(arena, text, strcspn(text, "\n"));
}

START_TEST(a_call_is_planned_or_refused)
{
    for (int variant = 0; variant < VARIANTS; variant++) {
        MwArena *arena = mw_arena_new();
        MwDiags *diags = mw_diags_new(arena);
        const char *model = write_model(arena, (MwOp)_i, variant);
        bool good = plan(arena, model, variant, diags);
        ck_assert_msg(good == (mw_diags_error_count(diags) == 0), "%s", model);
        const char *said = messages(arena, diags);
        ck_assert_msg(!strstr(said, "origin") && !strstr(said, "a split"), "%s%s", said, model);
        ck_assert_msg(!good || !mw_op_is_distributed((MwOp)_i), "%s", model);
        mw_arena_free(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("any_operator");
    TCase *tests = tcase_create("any_operator");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, a_call_is_planned_or_refused, 0, MW_OP_COUNT);
    return run_suite(suite);
}
