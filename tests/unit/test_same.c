/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mw_graph_same: models that are the same however they are written, and each thing that can
 * differ. */
#include "frontend/frontend.h"
#include "ir/same.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <string.h>

static const char like[] =
    "model m {\n"
    "  input x: f32[4, 8]\n"
    "  input ids: i32[4]\n"
    "  weight a.w: f32[8] = ones\n"
    "  weight b.w: f32[8] = normal(0.5)\n"
    "  weight t.w: f32[9, 8] = ones\n"
    "  weight u.w: f32[9, 8] = ones\n"
    "  state s: f32[8] = zeros\n"
    "  p = x * a.w\n"
    "  q = dropout(p, 0.1)\n"
    "  r = sum(q + b.w, axis = 1)\n"
    "  l = sum(embedding(ids, t.w) * embedding(ids, u.w))\n"
    "  loss = mean(r * r) + l\n"
    "  assign s = s + mean(x, axis = 0)\n"
    "  output y = q\n"
    "  output r\n"
    "  show z = mean(r)\n"
    "  train loss with adamw(lr = 0.1, weight_decay = 0.01), only = \"*.w\", "
    "rates = [[\"a.*\", 0.3]], decays = [[\"a.*\", 0.5], [\"b.*\", 0.6]], "
    "no_decay = \"u.*\", sparse = \"t.*\", clip_norm = 2, ema = 0.9, "
    "schedule = linear, warmup_steps = 5, total_steps = 50, "
    "final_rate = 0.25, micro_batches = 2, states = bf16, accumulate = bf16, "
    "offload = states\n"
    "}\n";

/* Texts that replace a part of `like`. */
static const struct {
    const char *what, *part, *other;
    bool same;
} changes[] = {
    {"nothing", "", "", true},
    {"values of other names", "  p = x * a.w\n  q = dropout(p, 0.1)\n",
     "  u = x * a.w\n  q = dropout(u, 0.1)\n", true},
    {"one more weight", "  p = x * a.w\n", "  weight w: f32[8] = ones\n  p = x * a.w\n", false},
    {"another order", "  weight a.w: f32[8] = ones\n  weight b.w: f32[8] = normal(0.5)\n",
     "  weight b.w: f32[8] = normal(0.5)\n  weight a.w: f32[8] = ones\n", true},
    {"scopes", "  p = x * a.w\n", "  p = x * a.w with scope = elsewhere\n", true},
    {"a repeat", "  q = dropout(p, 0.1)\n", "  repeat 1 { q = dropout(p, 0.1) }\n", true},
    {"another operator", "x * a.w", "x + a.w", false},
    {"another operand", "x * a.w", "x * b.w", false},
    {"another attribute", "axis = 1", "axis = 0", false},
    {"another rate", "dropout(p, 0.1)", "dropout(p, 0.2)", false},
    {"another draw", "  q = dropout", "  unused = dropout(x, 0.1)\n  q = dropout", false},
    {"another initialiser", "normal(0.5)", "normal(0.6)", false},
    {"another name of a weight", "b.w: f32[8] = normal(0.5)",
     "b.v: f32[8] = normal(0.5)\n  b.w = b.v", false},
    {"another type of an input", "x: f32[4, 8]", "x: f32[5, 8]", false},
    {"another name of an input", "input x: f32[4, 8]", "input i: f32[4, 8]\n  x = i", false},
    {"another name of an output", "output y = q", "output v = q", false},
    {"another output", "output y = q", "output y = p", false},
    {"outputs in another order", "  output y = q\n  output r\n", "  output r\n  output y = q\n",
     false},
    {"another name of a metric", "show z", "show v", false},
    {"another assignment", "mean(x, axis = 0)", "mean(p, axis = 0)", false},
    {"no assignment", "  assign s = s + mean(x, axis = 0)\n", "", false},
    {"a pin", "  p = x * a.w\n", "  p = x * a.w with stage = 0\n", false},
    {"another optimizer", "adamw(lr = 0.1, weight_decay", "lamb(lr = 0.1, weight_decay", false},
    {"another learning rate", "lr = 0.1", "lr = 0.2", false},
    {"another weight decay", "weight_decay = 0.01", "weight_decay = 0.02", false},
    {"another option", "only = \"*.w\"", "only = [\"*.w\", \"x\"]", false},
    {"another rate of a weight", "\"a.*\", 0.3", "\"a.*\", 0.4", false},
    {"a rate of another weight", "[[\"a.*\", 0.3", "[[\"b.*\", 0.3", false},
    {"no rates of weights", "rates = [[\"a.*\", 0.3]], ", "", false},
    {"another decay of a weight", "\"a.*\", 0.5", "\"a.*\", 0.4", false},
    {"a decay of another weight", "\"b.*\", 0.6", "\"t.*\", 0.6", false},
    {"decays in another order", "[\"a.*\", 0.5], [\"b.*\", 0.6]", "[\"b.*\", 0.6], [\"a.*\", 0.5]",
     false},
    {"fewer decays", ", [\"b.*\", 0.6]", "", false},
    {"no decays", "decays = [[\"a.*\", 0.5], [\"b.*\", 0.6]], ", "", false},
    {"another weight without decay", "no_decay = \"u.*\"", "no_decay = \"b.*\"", false},
    {"all with decay", "no_decay = \"u.*\", ", "", false},
    {"another sparse table", "sparse = \"t.*\"", "sparse = \"u.*\"", false},
    {"one more sparse table", "sparse = \"t.*\"", "sparse = [\"t.*\", \"u.*\"]", false},
    {"no sparse table", "sparse = \"t.*\", ", "", false},
    {"another bound of the gradient", "clip_norm = 2", "clip_norm = 3", false},
    {"another average", "ema = 0.9", "ema = 0.8", false},
    {"no average", "ema = 0.9, ", "", false},
    {"another schedule", "schedule = linear", "schedule = cosine", false},
    {"another warm-up", "warmup_steps = 5", "warmup_steps = 6", false},
    {"another end", "total_steps = 50", "total_steps = 60", false},
    {"another rate at the end", "final_rate = 0.25", "final_rate = 0.5", false},
    {"other micro-batches", "micro_batches = 2", "micro_batches = 4", false},
    {"other states", ", states = bf16", "", false},
    {"other sums of gradients", ", accumulate = bf16", "", false},
    {"states elsewhere", "offload = states", "offload = none", false},
    {"a name of the loss, which alone has none", "only = ", "name = other, only = ", true},
    {"another model's name", "model m", "model n", false},
    {"another precision", "model m {\n", "model m {\n  precision bf16\n", false},
};

static MwGraph *read(MwArena *arena, MwInterner *interner, const char *text)
{
    MwDiags *diags = mw_diags_new(arena);
    MwSource *source = MW_NEW(arena, MwSource, 1);
    *source = (MwSource){.name = "test", .text = text, .bytes = strlen(text)};
    MwGraph *graph = mw_graph_parse(arena, interner, source, NULL, 0, diags);
    ck_assert_msg(graph != NULL, "%s\n%s", text, diags_text(arena, diags));
    return graph;
}

START_TEST(a_change_makes_another_model)
{
    MwArena *arena = mw_arena_new();
    MwInterner *interner = mw_interner_new(arena);
    const char *part = strstr(like, changes[_i].part);
    ck_assert_msg(part != NULL, "%s", changes[_i].what);
    const char *text = mw_arena_printf(arena, "%.*s%s%s", (int)(part - like), like,
                                       changes[_i].other, part + strlen(changes[_i].part));
    const MwGraph *a = read(arena, interner, like), *b = read(arena, interner, text);
    ck_assert_msg(mw_graph_same(arena, a, b) == changes[_i].same, "%s", changes[_i].what);
    ck_assert_msg(mw_graph_same(arena, b, a) == changes[_i].same, "%s", changes[_i].what);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("same");
    TCase *tests = tcase_create("same");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, a_change_makes_another_model, 0, MW_COUNT(changes));
    return run_suite(suite);
}
