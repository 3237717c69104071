/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random graphs of operators that fuse, move and reshape, against the interpreter.
 *
 * A group starts from a few inputs of one random shape and applies random operators to values drawn
 * from what it has; some of its values are outputs. Many groups stand in one graph, so that the C
 * compiler runs once for all. Operators are chosen such that values stay of the order of 1, so one
 * tolerance serves: TOLERANCE of the error relative to the greater of the value and 1. */
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/print.h"
#include "tests/kernels/run_graph.h"
#include "tests/reference/spread.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <stdlib.h>

#define TOLERANCE 1e-5

enum { GROUPS = 40, STEPS = 14, GRAPHS = 2 };

typedef struct {
    MwGraph *graph;
    uint64_t random;
    MW_VEC(MwValueId) pool; /* f32 values of the group */
} Group;

static MwValueId pick_value(Group *g)
{
    /* Newer values are likelier, so that chains grow. */
    int back = random_below(&g->random, 1 + random_below(&g->random, g->pool.count));
    return g->pool.at[g->pool.count - 1 - back];
}

static const MwTensor *type_of(const Group *g, MwValueId x)
{
    return mw_value_tensor(g->graph, x);
}

static void keep(Group *g, MwValueId x)
{
    mw_vec_push(g->graph->arena, &g->pool, x);
}

static bool broadcasts(const MwTensor *a, const MwTensor *b)
{
    for (int back = 1; back <= a->rank && back <= b->rank; back++) {
        int64_t x = a->dim[a->rank - back], y = b->dim[b->rank - back];
        if (x != y && x != 1 && y != 1)
            return false;
    }
    return true;
}

/* ---- Operators ---- */

static void add_unary(Group *g)
{
    static const MwOp ops[] = {MW_OP_NEG,  MW_OP_TANH, MW_OP_SIGMOID, MW_OP_GELU, MW_OP_SILU,
                               MW_OP_RELU, MW_OP_SIN,  MW_OP_ERF,     MW_OP_ABS};
    keep(g, mw_build_unary(g->graph, ops[random_below(&g->random, MW_COUNT(ops))], pick_value(g)));
}

static void add_binary(Group *g)
{
    static const MwOp ops[] = {MW_OP_ADD, MW_OP_SUB, MW_OP_MAXIMUM, MW_OP_MINIMUM, MW_OP_MUL};
    MwValueId a = pick_value(g), b = pick_value(g);
    if (!broadcasts(type_of(g, a), type_of(g, b)))
        return;
    MwOp op = ops[random_below(&g->random, MW_COUNT(ops))];
    /* Bounds keep products and sums of sums from growing. */
    MwValueId x = mw_build_binary(g->graph, op, a, b);
    keep(g, mw_build_unary(g->graph, MW_OP_TANH, x));
}

static void add_select(Group *g)
{
    MwValueId a = pick_value(g), b = pick_value(g);
    if (!broadcasts(type_of(g, a), type_of(g, b)))
        return;
    keep(g, mw_build_select(g->graph, mw_build_binary(g->graph, MW_OP_GT, a, b), b, a));
}

static void add_rows(Group *g)
{
    static const MwOp ops[] = {MW_OP_SOFTMAX, MW_OP_LOG_SOFTMAX, MW_OP_LAYER_NORM, MW_OP_RMS_NORM};
    MwValueId x = pick_value(g);
    if (!type_of(g, x)->rank)
        return;
    MwOp op = ops[random_below(&g->random, MW_COUNT(ops))];
    MwAttr eps = mw_attr_float(MW_ATTR_EPS, 0.1);
    bool norm = op == MW_OP_LAYER_NORM || op == MW_OP_RMS_NORM;
    x = mw_build(g->graph, NULL, op, &x, 1, &eps, norm);
    keep(g, mw_build_unary(g->graph, MW_OP_TANH, x));
}

static void add_row_grad(Group *g)
{
    static const MwOp ops[] = {MW_OP_SOFTMAX_GRAD, MW_OP_LAYER_NORM_GRAD, MW_OP_RMS_NORM_GRAD,
                               MW_OP_GELU_GRAD};
    MwValueId in[] = {pick_value(g), pick_value(g)};
    if (!type_of(g, in[0])->rank || !mw_tensor_equal(type_of(g, in[0]), type_of(g, in[1])))
        return;
    MwOp op = ops[random_below(&g->random, MW_COUNT(ops))];
    MwAttr eps = mw_attr_float(MW_ATTR_EPS, 0.1);
    bool norm = op == MW_OP_LAYER_NORM_GRAD || op == MW_OP_RMS_NORM_GRAD;
    MwValueId x = mw_build(g->graph, NULL, op, in, 2, &eps, norm);
    keep(g, mw_build_unary(g->graph, MW_OP_TANH, x));
}

static void add_reduction(Group *g)
{
    MwValueId x = pick_value(g);
    const MwTensor *tensor = type_of(g, x);
    unsigned dims = (unsigned)random_below(&g->random, 1 << tensor->rank);
    if (!dims)
        return;
    double reduced = 1;
    for (int d = 0; d < tensor->rank; d++)
        reduced *= dims >> d & 1 ? (double)tensor->dim[d] : 1;
    MwValueId sum = mw_build_sum(g->graph, x, dims, random_below(&g->random, 2));
    keep(g, mw_build_binary(g->graph, MW_OP_MUL, sum, mw_build_scalar(g->graph, 1 / reduced)));
}

static void add_transpose(Group *g)
{
    MwValueId x = pick_value(g);
    int rank = type_of(g, x)->rank;
    int64_t perm[MW_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        int at = random_below(&g->random, d + 1);
        perm[d] = perm[at];
        perm[at] = d;
    }
    MwAttr attr = mw_attr_ints(MW_ATTR_PERM, perm, rank);
    keep(g, mw_build(g->graph, NULL, MW_OP_TRANSPOSE, &x, 1, &attr, 1));
}

static void add_flip(Group *g)
{
    MwValueId x = pick_value(g);
    if (!type_of(g, x)->rank)
        return;
    MwAttr attr = mw_attr_int(MW_ATTR_AXIS, random_below(&g->random, type_of(g, x)->rank));
    keep(g, mw_build(g->graph, NULL, MW_OP_FLIP, &x, 1, &attr, 1));
}

/* Random numbers of the shape of another value. */
static void add_uniform(Group *g)
{
    const MwTensor tensor = *type_of(g, pick_value(g));
    MwAttr attrs[] = {mw_attr_shape(g->graph->arena, &tensor),
                      mw_attr_int(MW_ATTR_KEY, random_below(&g->random, 1000))};
    keep(g, mw_build(g->graph, NULL, MW_OP_UNIFORM, NULL, 0, attrs, MW_COUNT(attrs)));
}

/* Joins two neighbouring dimensions, or splits off a factor of 2 or 3. */
static void add_reshape(Group *g)
{
    MwValueId x = pick_value(g);
    MwTensor to = *type_of(g, x);
    if (to.rank >= 2 && random_below(&g->random, 2)) {
        int d = random_below(&g->random, to.rank - 1);
        to.dim[d] *= to.dim[d + 1];
        for (int i = d + 1; i + 1 < to.rank; i++)
            to.dim[i] = to.dim[i + 1];
        to.dim[--to.rank] = 0;
    } else if (to.rank && to.rank < 5) {
        int d = random_below(&g->random, to.rank), factor = 2 + random_below(&g->random, 2);
        if (to.dim[d] % factor)
            return;
        for (int i = to.rank++; i > d; i--)
            to.dim[i] = to.dim[i - 1];
        to.dim[d] /= factor;
        to.dim[d + 1] = factor;
    }
    keep(g, mw_build_reshape(g->graph, x, &to));
}

static void add_slice(Group *g)
{
    MwValueId x = pick_value(g);
    const MwTensor *tensor = type_of(g, x);
    if (!tensor->rank)
        return;
    int axis = random_below(&g->random, tensor->rank);
    int64_t begin = random_below(&g->random, (int)tensor->dim[axis]);
    int64_t size = 1 + random_below(&g->random, (int)(tensor->dim[axis] - begin));
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_BEGIN, begin),
                      mw_attr_int(MW_ATTR_END, begin + size)};
    keep(g, mw_build(g->graph, NULL, MW_OP_SLICE, &x, 1, attrs, 3));
}

static void add_concat(Group *g)
{
    MwValueId in[] = {pick_value(g), pick_value(g)};
    const MwTensor *tensor = type_of(g, in[0]);
    if (!tensor->rank || !mw_tensor_equal(tensor, type_of(g, in[1])))
        return;
    MwAttr axis = mw_attr_int(MW_ATTR_AXIS, random_below(&g->random, tensor->rank));
    keep(g, mw_build(g->graph, NULL, MW_OP_CONCAT, in, 2, &axis, 1));
}

static void add_position(Group *g)
{
    MwValueId x = pick_value(g);
    const MwTensor *tensor = type_of(g, x);
    if (!tensor->rank)
        return;
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, MW_F32), mw_attr_shape(g->graph->arena, tensor),
                      mw_attr_int(MW_ATTR_AXIS, random_below(&g->random, tensor->rank))};
    MwValueId position = mw_build(g->graph, NULL, MW_OP_IOTA, NULL, 0, attrs, 3);
    MwValueId scaled =
        mw_build_binary(g->graph, MW_OP_MUL, position, mw_build_scalar(g->graph, 0.01));
    MwValueId shifted = mw_build_binary(g->graph, MW_OP_ADD, x, scaled);
    keep(g, mw_build_unary(g->graph, MW_OP_TANH, shifted));
}

static void add_product(Group *g)
{
    MwValueId in[] = {pick_value(g), pick_value(g)};
    const MwTensor *a = type_of(g, in[0]), *b = type_of(g, in[1]);
    if (a->rank != 2 || b->rank != 2 || a->dim[1] != b->dim[1])
        return;
    MwAttr attr = mw_attr_text(MW_ATTR_EQUATION, mw_intern(g->graph->interner, "ab,cb->ca"));
    MwValueId x = mw_build(g->graph, NULL, MW_OP_EINSUM, in, 2, &attr, 1);
    keep(g, mw_build_unary(g->graph, MW_OP_TANH, x));
}

/* A cast to the type it has: a copy, which may be written over what it copies from. */
static void add_copy(Group *g)
{
    MwValueId x = pick_value(g);
    MwAttr type = mw_attr_int(MW_ATTR_TYPE, MW_F32);
    keep(g, mw_build(g->graph, NULL, MW_OP_CAST, &x, 1, &type, 1));
}

static void add_scan(Group *g);

/* The last one takes steps of the others. */
static void (*const steps[])(Group *) = {
    add_unary,    add_unary,    add_binary,    add_binary,    add_binary,    add_select,
    add_rows,     add_row_grad, add_reduction, add_reduction, add_transpose, add_flip,
    add_uniform,  add_reshape,  add_reshape,   add_slice,     add_copy,      add_concat,
    add_position, add_product,  add_scan,
};

/* What the first step takes over. */
static MwValueId add_first(Group *g, MwValueId x, int axis, const MwTensor *element)
{
    if (random_below(&g->random, 2))
        return mw_build_constant(g->graph, element, random_below(&g->random, 2));
    return mw_build_unary(g->graph, MW_OP_TANH, mw_build_sum(g->graph, x, 1u << axis, false));
}

/* The newest value of that type; the first one of the pool has it. */
static MwValueId newest_of(const Group *g, const MwTensor *type)
{
    int at = g->pool.count - 1;
    while (at > 0 && !mw_tensor_equal(type_of(g, g->pool.at[at]), type))
        at--;
    return g->pool.at[at];
}

/* A loop along an axis of a value, whose steps are random operators on its elements, on what is
 * carried, and on a value from outside. */
static void add_scan(Group *g)
{
    enum { MOST_RUNS = 17, LOOP_STEPS = 6 };
    MwValueId x = pick_value(g);
    const MwTensor all = *type_of(g, x);
    const int axis = all.rank ? random_below(&g->random, all.rank) : 0;
    if (!all.rank || all.rank > 4 || all.dim[axis] > MOST_RUNS)
        return;
    const MwLoops loops = mw_loops(g->graph->arena, g->graph);
    const MwAttr loop = mw_attr_int(MW_ATTR_LOOP, loops.count);
    const MwAttr runs = mw_attr_int(MW_ATTR_STEPS, all.dim[axis]);
    const MwAttr in[] = {mw_attr_int(MW_ATTR_AXIS, axis), loop,
                         mw_attr_int(MW_ATTR_REVERSE, random_below(&g->random, 2))};
    MwValueId x_t = mw_build(g->graph, NULL, MW_OP_SCAN_IN, &x, 1, in, MW_COUNT(in));
    const MwTensor element = *type_of(g, x_t);
    MwValueId first = add_first(g, x, axis, &element);
    const MwAttr carried[] = {loop, runs};
    MwValueId h = mw_build(g->graph, NULL, MW_OP_SCAN_CARRY, &first, 1, carried, 2);
    Group inner = {.graph = g->graph, .random = g->random};
    keep(&inner, x_t);
    keep(&inner, h);
    keep(&inner, pick_value(g));
    for (int i = 0; i < LOOP_STEPS; i++)
        steps[random_below(&inner.random, MW_COUNT(steps) - 1)](&inner);
    MwValueId sum = mw_build_binary(g->graph, MW_OP_SUB, newest_of(&inner, &element), h);
    MwValueId next[] = {mw_build_unary(g->graph, MW_OP_TANH, sum), h};
    keep(g, mw_build(g->graph, NULL, MW_OP_SCAN_NEXT, next, 2, carried, 2));
    MwValueId y = pick_value(&inner);
    g->random = inner.random;
    if (type_of(g, y)->rank > 4)
        return;
    const MwAttr out[] = {
        mw_attr_int(MW_ATTR_AXIS, random_below(&g->random, type_of(g, y)->rank + 1)), loop, runs,
        mw_attr_int(MW_ATTR_REVERSE, random_below(&g->random, 2))};
    keep(g, mw_build(g->graph, NULL, MW_OP_SCAN_OUT, &y, 1, out, MW_COUNT(out)));
}

/* ---- Groups ---- */

static MwTensor random_shape(uint64_t *random)
{
    static const int64_t sizes[] = {1, 2, 3, 6, 17, 36, 100};
    MwTensor tensor = {.type = MW_F32, .rank = 1 + random_below(random, 3)};
    for (int d = 0; d < tensor.rank; d++)
        tensor.dim[d] = sizes[random_below(random, MW_COUNT(sizes))];
    return tensor;
}

static void add_inputs(GraphRun *run, Group *g)
{
    MwTensor shape = random_shape(&g->random);
    char text[MW_TENSOR_TEXT_BYTES];
    for (int i = 0; i < 3; i++)
        keep(g, test_source(&run->test, MW_OP_INPUT, NULL, mw_tensor_text(&shape, text)));
    MwTensor row = mw_tensor(MW_F32, 1, &shape.dim[shape.rank - 1]);
    keep(g, test_source(&run->test, MW_OP_INPUT, NULL, mw_tensor_text(&row, text)));
}

static void add_group(GraphRun *run, uint64_t seed)
{
    Group g = {.graph = run->test.graph, .random = seed};
    add_inputs(run, &g);
    for (int i = 0; i < STEPS; i++)
        steps[random_below(&g.random, MW_COUNT(steps))](&g);
    int outputs = 1 + random_below(&g.random, 3);
    for (int i = 0; i < outputs; i++)
        graph_run_output(run, g.pool.at[g.pool.count - 1 - random_below(&g.random, 4)]);
}

/* What there is to see of a group that fails: the graph, and what the compiler makes of it. */
static void show_group(const GraphRun *run)
{
    MwText text = {.arena = run->test.arena};
    mw_graph_print(&text, run->test.graph);
    mw_plan_print(&text, run->plan);
    puts(text.at);
}

/* Seeds of groups are GRAPH * GROUPS + GROUP; FUSED_SEED in the environment runs one alone, and
 * shows it where it fails. */
START_TEST(fused_code_agrees_with_the_interpreter)
{
    GraphRun run = graph_run_new(_i % graph_backend_count);
    int first_output[GROUPS + 1], failed = 0, graph = _i / graph_backend_count;
    const char *one = getenv("FUSED_SEED");
    int groups = one ? 1 : GROUPS;
    for (int i = 0; i < groups; i++) {
        first_output[i] = run.test.graph->outputs.count;
        add_group(&run, one ? (uint64_t)atoi(one) : (uint64_t)(graph * GROUPS + i));
    }
    first_output[groups] = run.test.graph->outputs.count;
    graph_run_step(&run);
    for (int i = 0; i < groups; i++) {
        double worst = 0;
        for (int o = first_output[i]; o < first_output[i + 1]; o++) {
            double error = graph_run_error(&run, o);
            worst = error > worst ? error : worst;
        }
        if (worst <= TOLERANCE)
            continue;
        printf("# seed %d: error %g\n", graph * GROUPS + i, worst);
        if (one)
            show_group(&run);
        failed++;
    }
    graph_run_free(&run);
    ck_assert_int_eq(failed, 0);
}
END_TEST

/* `product` dies in the kernel of the other two, and either may take its place. */
START_TEST(what_is_written_over_was_read)
{
    GraphRun run = graph_run_new(_i);
    MwGraph *graph = run.test.graph;
    MwValueId a = test_source(&run.test, MW_OP_INPUT, "a", "f32[6, 17]");
    MwValueId b = test_source(&run.test, MW_OP_INPUT, "b", "f32[6, 6]");
    MwValueId product = test_einsum(&run.test, "ij,jk->ik", b, a);
    MwValueId first = mw_build_unary(graph, MW_OP_TANH, a);
    graph_run_output(&run, first);
    graph_run_output(&run, mw_build_binary(graph, MW_OP_SUB, first, product));
    graph_run_step(&run);
    ck_assert_double_le(graph_run_error(&run, 0), TOLERANCE);
    ck_assert_double_le(graph_run_error(&run, 1), TOLERANCE);
    graph_run_free(&run);
}
END_TEST

static MwValueId add_turned(GraphRun *run, const char *name, const char *type)
{
    MwAttr perm = mw_attr_ints(MW_ATTR_PERM, (int64_t[]){0, 2, 1}, 3);
    MwValueId x = test_source(&run->test, MW_OP_INPUT, name, type);
    x = mw_build(run->test.graph, NULL, MW_OP_TRANSPOSE, &x, 1, &perm, 1);
    MwTensor flat = test_type("f32[2, 24]");
    return mw_build_reshape(run->test.graph, x, &flat);
}

/* Both are walked in pieces of a row: of 6 and of 8. */
START_TEST(boundaries_inside_a_dimension_may_differ)
{
    GraphRun run = graph_run_new(_i);
    MwValueId a = add_turned(&run, "a", "f32[2, 6, 4]");
    MwValueId b = add_turned(&run, "b", "f32[2, 8, 3]");
    graph_run_output(&run, mw_build_binary(run.test.graph, MW_OP_SUB, a, b));
    graph_run_step(&run);
    ck_assert_double_le(graph_run_error(&run, 0), TOLERANCE);
    graph_run_free(&run);
}
END_TEST

/* Sizes of tensors that are chunks of several kinds: fewer elements than four, a rest behind fours,
 * a chunk and one element of the next, and (of sums) so many that chunks are larger. */
static int64_t size_of_set(int set)
{
    static const int64_t sizes[] = {2, 3, 4, 5, 1023, 1024, 1025, 4099, 1200007};
    return set < MW_COUNT(sizes) ? sizes[set] : 2 + set * 37 % 131;
}

/* More sets than one launch takes, and what each gives: an element of every element and a scalar,
 * or the sum of all squares. */
static void add_sets(GraphRun *run, bool sums)
{
    enum { SETS = 150 };
    MwGraph *graph = run->test.graph;
    MwValueId scalar = test_source(&run->test, MW_OP_INPUT, "scalar", "f32[]");
    for (int set = 0; set < SETS; set++) {
        char type[32];
        snprintf(type, sizeof type, "f32[%lld]", (long long)size_of_set(set));
        MwValueId x = test_source(&run->test, MW_OP_INPUT, NULL, type);
        MwValueId y = mw_build_binary(graph, MW_OP_MUL, x, sums ? x : scalar);
        graph_run_output(run, sums ? mw_build_sum(graph, y, 1, false) : y);
        graph_run_output(run, x); /* so nothing is written where it was */
    }
}

START_TEST(calls_on_unequal_sets_are_one)
{
    const bool sums = _i / graph_backend_count;
    setenv("MW_SHIM_ORDER", sums ? "7" : "backward", 1);
    GraphRun run = graph_run_new(_i % graph_backend_count);
    add_sets(&run, sums);
    graph_run_step(&run);
    for (int o = 0; o < run.test.graph->outputs.count; o++)
        ck_assert_double_le(graph_run_error(&run, o), TOLERANCE);
    ck_assert_int_eq(run.plan->kernel_count, 1);
    ck_assert_int_eq(run.plan->meshes->programs[0].instr_count, 1);
    graph_run_free(&run);
    unsetenv("MW_SHIM_ORDER");
}
END_TEST

/* As a row of as many elements would be added, and by one kernel. */
START_TEST(scalars_are_added_by_one_kernel)
{
    enum { SCALARS = 40 };
    GraphRun run = graph_run_new(_i);
    MwGraph *graph = run.test.graph;
    const MwAttr axis = mw_attr_int(MW_ATTR_AXIS, 0);
    MwValueId elements[SCALARS];
    for (int i = 0; i < SCALARS; i++) {
        MwValueId x = test_source(&run.test, MW_OP_INPUT, NULL, i % 2 ? "f32[12]" : "f32[300]");
        MwTensor element = test_type("f32[1]");
        graph_run_output(&run, x);
        elements[i] = mw_build_reshape(graph, mw_build_sum(graph, x, 1, false), &element);
    }
    MwValueId all = mw_build(graph, NULL, MW_OP_CONCAT, elements, SCALARS, &axis, 1);
    MwValueId sum = mw_build_sum(graph, all, 1, false);
    graph_run_output(&run, mw_build_unary(graph, MW_OP_SIN, sum));
    graph_run_step(&run);
    ck_assert_double_le(graph_run_error(&run, SCALARS), TOLERANCE);
    ck_assert_int_eq(run.plan->meshes->programs[0].instr_count, 2);
    graph_run_free(&run);
}
END_TEST

/* The last kernel of a program takes a result of the program. */
START_TEST(results_are_not_written_over)
{
    GraphRun run = graph_run_new(_i);
    MwGraph *graph = run.test.graph;
    const MwValueId x = test_source(&run.test, MW_OP_INPUT, NULL, "f32[8, 12]");
    const MwValueId y = mw_build_unary(graph, MW_OP_SIN, x);
    graph_run_output(&run, y);
    graph_run_output(&run, mw_build_binary(graph, MW_OP_MUL, y, mw_build_sum(graph, y, 3, false)));
    graph_run_step(&run);
    for (int o = 0; o < graph->outputs.count; o++)
        ck_assert_double_le(graph_run_error(&run, o), TOLERANCE);
    graph_run_free(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fused");
    TCase *tests = tcase_create("fused");
    tcase_set_timeout(tests, 200);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, fused_code_agrees_with_the_interpreter, 0,
                        GRAPHS * graph_backend_count);
    tcase_add_loop_test(tests, what_is_written_over_was_read, 0, graph_backend_count);
    tcase_add_loop_test(tests, calls_on_unequal_sets_are_one, 0, 2 * graph_backend_count);
    tcase_add_loop_test(tests, scalars_are_added_by_one_kernel, 0, graph_backend_count);
    tcase_add_loop_test(tests, results_are_not_written_over, 0, graph_backend_count);
    tcase_add_loop_test(tests, boundaries_inside_a_dimension_may_differ, 0, graph_backend_count);
    return run_suite(suite);
}
