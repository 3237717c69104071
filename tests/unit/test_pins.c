/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pins: honoured, or refused with the reason. */
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "passes/sharding/report.h"
#include "passes/sharding/result.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <string.h>

static const char model[] = "model m {\n"
                            "  input x: f32[8, 6]\n"
                            "  weight a.w: f32[6, 16] = normal(0.1)\n"
                            "  weight b.w: f32[16, 6] = normal(0.1)\n"
                            "  h = tanh(x @ a.w)%s\n"
                            "  s = softmax(h @ b.w)\n"
                            "  double = x + x\n"
                            "  output s, double\n"
                            "}\n";

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwCluster cluster;
    MwCompilation compilation;
    bool ok;
    const char *messages;
} Planned;

/* Plans `text` with `hole` in it and the pins of the command line, on `mesh` (NULL: all of four
 * devices). */
static Planned plan_text(const char *text, const char *hole, const char *const *pins, int pin_count,
                         const char *mesh)
{
    MwArena *arena = mw_arena_new();
    Planned p = {.arena = arena, .diags = mw_diags_new(arena)};
    p.cluster = test_cluster(4);
    p.compilation.arena = arena;
    if (mesh) {
        ck_assert(mw_mesh_parse(mesh, &p.compilation.options.mesh));
        p.cluster = test_cluster(mw_mesh_devices(&p.compilation.options.mesh));
    }
    p.compilation.options.pins = pins;
    p.compilation.options.pin_count = pin_count;
    p.compilation.options.stages = 1;
    MwSource *source = MW_NEW(arena, MwSource, 1);
    source->name = "m.graph";
    source->text = mw_arena_printf(arena, text, hole);
    source->bytes = strlen(source->text);
    p.compilation.graph = mw_graph_parse(arena, mw_interner_new(arena), source, NULL, 0, p.diags);
    return p;
}

/* Plans the model with `annotation` on h. */
static Planned plan(const char *annotation, const char *const *pins, int pin_count,
                    const char *mesh)
{
    return plan_text(model, annotation, pins, pin_count, mesh);
}

static void run(Planned *p)
{
    p->compilation.cluster = &p->cluster;
    MwPipelineOptions pipeline = {.stop_after = MW_PASS_partition, .dump_after = MW_PASS_COUNT};
    p->ok = p->compilation.graph && mw_pipeline_run(&p->compilation, &pipeline, p->diags);
    p->messages = diags_text(p->arena, p->diags);
}

static void finish(Planned *p)
{
    mw_arena_free(&p->arena);
}

static const char *chosen(const Planned *p, const char *name, char text[MW_SPEC_TEXT_BYTES])
{
    const MwGraph *graph = p->compilation.stages[0].graph;
    MwValueId value = mw_graph_find(graph, mw_intern(graph->interner, name));
    ck_assert(mw_has_value(value));
    return mw_spec_text(mw_sharding_value_spec(p->compilation.stages[0].sharding, value),
                        mw_value_tensor(graph, value)->rank, text);
}

static bool is_pinned(const Planned *p, const char *name)
{
    const MwGraph *graph = p->compilation.stages[0].graph;
    MwValueId value = mw_graph_find(graph, mw_intern(graph->interner, name));
    const MwReport *report = p->compilation.stages[0].report;
    return report->nodes[report->index[mw_value(graph, value)->node.index]].pinned;
}

START_TEST(pins_are_honoured)
{
    static const struct {
        const char *annotation, *pin, *mesh, *value, *spec;
    } cases[] = {
        {"", "a.w=[R, S0]", "4", "a.w", "[R, S0]"},
        {"", "a.w=[R, R]", "4", "a.w", "[R, R]"},
        {"", "a.w=[S1, S0]", "2x2", "a.w", "[S1, S0]"},
        {"", "a.w=[ S1,S0 ]", "2x2", "a.w", "[S1, S0]"},
        {"", "?.w=[S0, R]", "2", "b.w", "[S0, R]"},
        {"", "*=[S0, R]", "2", "h", "[S0, R]"},
        {" with spec = [S01, R]", "a.w=[R, R]", "2x2", "h", "[S01, R]"},
        {" with spec = [S0, S1]", "h=[S0, S1]", "2x2", "h", "[S0, S1]"},
        {" with spec = [S0, R]", "a.w=[R, S0]", "1", "a.w", "[R, R]"}, /* nothing to split over */
        {"", "a.w=[R, S1]", NULL, "a.w", "[R, S1]"},                   /* rules out the mesh 4 */
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        char text[MW_SPEC_TEXT_BYTES];
        Planned p = plan(cases[i].annotation, &cases[i].pin, 1, cases[i].mesh);
        run(&p);
        ck_assert_msg(p.ok, "%s", p.messages);
        ck_assert_str_eq(chosen(&p, cases[i].value, text), cases[i].spec);
        ck_assert(is_pinned(&p, cases[i].value));
        finish(&p);
    }
}
END_TEST

static const char attention[] = "model m {\n"
                                "  input q: f32[2, 8, 1, 4]\n"
                                "  input k: f32[2, 8, 1, 4]\n"
                                "  h = sdpa(q, k, k)%s\n"
                                "  output h\n"
                                "}\n";

static bool has_ring(const Planned *p, const char *name)
{
    const MwGraph *graph = p->compilation.stages[0].graph;
    MwValueId value = mw_graph_find(graph, mw_intern(graph->interner, name));
    return mw_sharding_strategy(p->compilation.stages[0].sharding, mw_value(graph, value)->node)
               ->ring.ways > 1;
}

START_TEST(rings_are_pinned)
{
    static const struct {
        const char *annotation, *pins[2], *mesh;
        int pin_count;
        bool ring;
        const char *message; /* NULL: it is honoured */
    } cases[] = {
        {" with ring = true", {0}, "2", 0, true, NULL},
        {" with ring = true, spec = [S0, S1, R, R]", {0}, "2x2", 0, true, NULL},
        {" with ring = true", {"h=[S0, S1, R, R]"}, "2x2", 1, true, NULL},
        {" with ring = false", {"h=[R, S0, R, R]"}, "2", 1, false, NULL},
        {"", {"h=ring"}, "4", 1, true, NULL},
        {"", {"h=no ring", "h=[R, S0, R, R]"}, "4", 2, false, NULL},
        {"", {"h=ring", "h=[R, S0, R, R]"}, "4", 2, true, NULL},
        {" with ring = true", {0}, "1", 0, false, NULL}, /* nothing to go round */
        {" with ring = true",
         {"h=no ring"},
         "2",
         1,
         false,
         "--pin h=no ring: h is pinned to ring already\n"
         "  m.graph:4:26: note: by this annotation"},
        {"",
         {"h=ring", "h=[S0, R, R, R]"},
         "2",
         2,
         false,
         "cannot pin h to ring on a mesh of 2: operator sdpa has no ring beside what else is "
         "pinned"},
        {"",
         {"k=ring"},
         "2",
         1,
         false,
         "cannot pin k to ring on a mesh of 2: operator input has no ring there"},
        {"", {"h=rings"}, "2", 1, false, "--pin h=rings: not of the form NAME=SPEC"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        Planned p = plan_text(attention, cases[i].annotation, cases[i].pins, cases[i].pin_count,
                              cases[i].mesh);
        run(&p);
        ck_assert_msg(p.ok == !cases[i].message, "case %d: %s", i, p.messages);
        if (p.ok)
            ck_assert_msg(has_ring(&p, "h") == cases[i].ring, "case %d", i);
        else
            ck_assert_msg(strstr(p.messages, cases[i].message), "%s\nis not in\n%s",
                          cases[i].message, p.messages);
        finish(&p);
    }
}
END_TEST

/* A sum that stays partial because the user says so. */
START_TEST(a_value_can_be_pinned_partial)
{
    char text[MW_SPEC_TEXT_BYTES];
    const char *pins[] = {"b.w=[S0, R]", "einsum.1=[R, R] +P0"};
    Planned p = plan("", pins, MW_COUNT(pins), "2");
    run(&p);
    ck_assert_msg(p.ok, "%s", p.messages);
    ck_assert_str_eq(chosen(&p, "einsum.1", text), "[R, R] +P0");
    ck_assert_str_eq(chosen(&p, "h", text), "[R, S0]");
    finish(&p);
}
END_TEST

START_TEST(impossible_pins_are_refused_with_the_reason)
{
    static const struct {
        const char *annotation, *pin, *mesh, *message;
    } cases[] = {
        {"", "a.w", "2", "--pin a.w: not of the form NAME=SPEC"},
        {"", "=[R]", "2", "not of the form NAME=SPEC"},
        {"", "a.w=[R, S1", "2", "not of the form NAME=SPEC"},
        {"", "a.w=[R, X]", "2", "not of the form NAME=SPEC"},
        {"", "c.*=[R, R]", "2", "--pin c.*=[R, R]: the model has no value of that name"},
        {"", "a.w=[R]", "2", "--pin a.w=[R]: a.w is f32[6, 16], the spec has 1 dimensions"},
        {"", "a.w=[R, S1]", "4",
         "cannot pin a.w to [R, S1] on a mesh of 4: axis 1 is not in the mesh"},
        {"", "a.w=[S0, R]", "4",
         "cannot pin a.w to [S0, R] on a mesh of 4: dimension 0 has size 6, which does not divide "
         "by 4"},
        {"", "a.w=[S0, S0]", "2", "--pin a.w=[S0, S0]: axis 0 is used twice"},
        {"", "a.w=[R, S0] +P0", "2", "axis 0 is used twice"},
        {"", "double=[R, R] +P0", "2", "on a mesh of 2 no sharding meets all the pins"},
        {"", "s=[R, S0]", "2",
         "cannot pin s to [R, S0] on a mesh of 2: operator softmax cannot give that spec\n"
         "  note: it can give [S0, R], [R, R]"},
        {"", "a.w=[R, R] +P0", "2", "operator weight cannot give that spec"},
        {" with spec = [S0, R]", "h=[R, S0]", "2",
         "--pin h=[R, S0]: h is pinned to [S0, R] already\n"
         "  m.graph:5:26: note: by this annotation"},
        {" with spec = [R, S1]", "a.w=[R, R]", "2", "m.graph:5:"},
        {" with spec = [R, S1]", "a.w=[R, R]", "2", "axis 1 is not in the mesh"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        Planned p = plan(cases[i].annotation, &cases[i].pin, 1, cases[i].mesh);
        run(&p);
        ck_assert_msg(!p.ok, "%s is honoured", cases[i].pin);
        ck_assert_msg(strstr(p.messages, cases[i].message) != NULL, "%s\nis not in\n%s",
                      cases[i].message, p.messages);
        finish(&p);
    }
}
END_TEST

/* Where no mesh of the cluster will do, each says why. */
START_TEST(every_mesh_says_why_not)
{
    const char *pin = "s=[S2, R]";
    Planned p = plan("", &pin, 1, NULL);
    run(&p);
    ck_assert(!p.ok);
    ck_assert_ptr_nonnull(strstr(p.messages, "on a mesh of 4: axis 2 is not in the mesh"));
    ck_assert_ptr_nonnull(strstr(p.messages, "on a mesh of 2x2: axis 2 is not in the mesh"));
    finish(&p);
}
END_TEST

START_TEST(too_little_memory_is_refused_with_what_is_needed)
{
    Planned p = plan("", NULL, 0, "2");
    p.compilation.options.memory_bytes = 100;
    p.compilation.options.micro_batches = 1;
    p.compilation.options.remat = MW_REMAT_NONE;
    run(&p);
    ck_assert(!p.ok);
    ck_assert_ptr_nonnull(strstr(p.messages, "on a mesh of 2 a device needs "));
    ck_assert_ptr_nonnull(strstr(p.messages,
                                 "weights, gradients and optimizer states alone need "
                                 "384 B, split as far as they can be; it takes at least "
                                 "8 such devices\n"
                                 "  note: the largest while h is computed, split as far "
                                 "as they can be: einsum 256 B, h 256 B, a.w 192 B\n"));
    finish(&p);
}
END_TEST

/* Micro-batches are advised only where they would help. */
START_TEST(advice_about_memory_is_true)
{
    static const struct {
        const char *body, *advice, *largest;
        int64_t memory_bytes;
    } cases[] = {
        {"  r = iota([1000000], type = f32)\n  y = x * sum(softmax(r))\n",
         "values that do not depend on the batch need 4.00 MB", "softmax 4 MB", 1000000},
        {"  weight w: f32[6, 1000] = ones\n  y = softmax(sin(softmax(x @ w)))\n",
         "it takes more devices, or at least 2 micro-batches (--micro-batches)", "32 kB", 70000},
        {"  weight w: f32[6, 1000] = ones\n  y = softmax(sin(softmax(x @ w)))\n",
         "it takes more devices; micro-batches would not do, even of one row each", "w 24 kB",
         24100},
        {"  weight w: f32[6, 1000] = ones\n  y = softmax(x @ w)\n",
         "weights, gradients and optimizer states alone need 24 kB", "w 24 kB", 20000},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        Planned p = plan_text("model m {\n  input x: f32[8, 6]\n%s  output y\n}\n", cases[i].body,
                              NULL, 0, "1");
        p.compilation.options.memory_bytes = cases[i].memory_bytes;
        p.compilation.options.micro_batches = 1;
        run(&p);
        ck_assert(!p.ok);
        ck_assert_msg(strstr(p.messages, cases[i].advice) && strstr(p.messages, cases[i].largest),
                      "%s / %s is not in\n%s", cases[i].advice, cases[i].largest, p.messages);
        finish(&p);
    }
}
END_TEST

/* Pins that exclude one another, or what the model allows, are named, and no others. */
START_TEST(pins_that_exclude_one_another_are_named)
{
    static const char text[] = "model m {\n"
                               "  input x: f32[8, 6]\n"
                               "  double = x + x%s\n"
                               "  h = tanh(x)\n"
                               "  output double, h\n"
                               "}\n";
    const char *pins[] = {"h=[S0, R]"};
    Planned p = plan_text(text, " with spec = [R, R] +P0", pins, MW_COUNT(pins), "2");
    run(&p);
    ck_assert(!p.ok);
    ck_assert_str_eq(p.messages,
                     "meshwright: error: on a mesh of 2 no sharding meets all the pins\n"
                     "  m.graph:3:23: note: 'double' is pinned to [R, R] +P0\n"
                     "    3 |   double = x + x with spec = [R, R] +P0\n"
                     "      |                       ^~~~~~~~~~~~~~~~~\n"
                     "  note: the shardings of 'x', 'x.forward', 'double' exclude one another\n"
                     "  note: without the pin of 'double' there would be one\n");
    finish(&p);
}
END_TEST

START_TEST(a_mesh_of_other_devices_is_refused)
{
    Planned p = plan("", NULL, 0, "2x2");
    p.cluster = test_cluster(8);
    run(&p);
    ck_assert(!p.ok);
    ck_assert_ptr_nonnull(strstr(p.messages, "--mesh 2x2 has 4 devices, cluster test has 8"));
    finish(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pins");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, pins_are_honoured);
    tcase_add_test(tests, rings_are_pinned);
    tcase_add_test(tests, a_value_can_be_pinned_partial);
    tcase_add_test(tests, impossible_pins_are_refused_with_the_reason);
    tcase_add_test(tests, every_mesh_says_why_not);
    tcase_add_test(tests, too_little_memory_is_refused_with_what_is_needed);
    tcase_add_test(tests, advice_about_memory_is_true);
    tcase_add_test(tests, pins_that_exclude_one_another_are_named);
    tcase_add_test(tests, a_mesh_of_other_devices_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
