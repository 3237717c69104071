/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels of the forward that run in one with a kernel of the backward
 * (codegen/fuse/phase_join.h): in each case the log-sum-exps of rows, a number that follows from
 * them, the first output, and the gradient of the rows, the second one. */
#include "ir/build.h"
#include "tests/kernels/run_graph.h"
#include "tests/unit/support.h"

#define TOLERANCE 2e-5
#define BF16_TOLERANCE 1e-2

typedef struct {
    GraphRun run;
    int inputs;
    double tolerance;
} Case;

/* How the two outputs are made. */
typedef enum {
    APART,    /* by two kernels, each in the program of its phase */
    TOGETHER, /* by one, in the backward */
    IN_PLACE, /* by one, which writes the gradient over the rows */
} Way;

static MwGraph *graph_of(Case *c)
{
    return c->run.test.graph;
}

static MwValueId input(Case *c, const char *type)
{
    return test_source(&c->run.test, MW_OP_INPUT,
                       mw_arena_printf(c->run.test.arena, "in%d", c->inputs++), type);
}

/* Rows that a kernel may write over. */
static MwValueId product(Case *c, const char *a, const char *b)
{
    const MwValueId left = input(c, a), right = input(c, b);
    return test_einsum(&c->run.test, "bsw,wv->bsv", left, right);
}

static MwValueId binary(Case *c, MwOp op, MwValueId a, MwValueId b)
{
    return mw_build_binary(graph_of(c), op, a, b);
}

static MwValueId f32_of(Case *c, MwValueId x)
{
    return mw_build_cast(graph_of(c), x, MW_F32);
}

static MwTensor tensor_of(Case *c, MwValueId value)
{
    return *mw_value_tensor(graph_of(c), value);
}

static MwValueId sum_of_all(Case *c, MwValueId x)
{
    return mw_build_sum(graph_of(c), x, (1U << tensor_of(c, x).rank) - 1, false);
}

static MwValueId pick(Case *c, MwValueId x, MwValueId ids)
{
    return test_op2(&c->run.test, MW_OP_PICK, x, ids);
}

/* Adds the mean over rows of what `lse` has more than `picked` as an output. */
static void add_loss(Case *c, MwValueId lse, MwValueId picked)
{
    const MwTensor rows = tensor_of(c, lse);
    const MwValueId sum = sum_of_all(c, binary(c, MW_OP_SUB, lse, picked));
    const MwValueId scale = mw_build_scalar(graph_of(c), 1.0 / (double)mw_tensor_elements(&rows));
    graph_run_output(&c->run, binary(c, MW_OP_MUL, sum, scale));
}

/* Adds the gradient of such a loss by `logits` as an output. */
static void add_gradient(Case *c, MwValueId logits, MwValueId lse, MwValueId ids)
{
    MwGraph *graph = graph_of(c);
    const MwTensor rows = tensor_of(c, lse), whole = tensor_of(c, logits);
    const double share = 1.0 / (double)mw_tensor_elements(&rows);
    graph->phase = MW_PHASE_BACKWARD;
    const MwValueId of_ids[] = {ids, mw_build_constant(graph, &rows, -share)};
    const MwAttr shape = mw_attr_shape(graph->arena, &whole);
    const MwValueId picked = mw_build(graph, NULL, MW_OP_PICK_GRAD, of_ids, 2, &shape, 1);
    const MwValueId along = test_op3(&c->run.test, MW_OP_LOGSUMEXP_GRAD, f32_of(c, logits), lse,
                                     mw_build_constant(graph, &rows, share));
    graph_run_output(&c->run,
                     mw_build_cast(graph, binary(c, MW_OP_ADD, picked, along), whole.type));
    graph->phase = MW_PHASE_FORWARD;
}

static MwValueId logsumexp(Case *c, MwValueId x)
{
    return test_op1(&c->run.test, MW_OP_LOGSUMEXP, x);
}

/* The cross-entropy of rows. Returns their log-sum-exps. */
static MwValueId add_entropy(Case *c, MwValueId logits, const char *ids_type)
{
    const MwValueId ids = input(c, ids_type), x = f32_of(c, logits), lse = logsumexp(c, x);
    add_loss(c, lse, pick(c, x, ids));
    add_gradient(c, logits, lse, ids);
    return lse;
}

/* ---- Cases ---- */

static Way add_short_rows(Case *c)
{
    add_entropy(c, product(c, "f32[3, 5, 6]", "f32[6, 50]"), "i32[3, 5]");
    return IN_PLACE;
}

static Way add_wide_accesses(Case *c)
{
    add_entropy(c, product(c, "f32[2, 4, 6]", "f32[6, 1600]"), "i64[2, 4]");
    return IN_PLACE;
}

static Way add_halves(Case *c)
{
    c->tolerance = BF16_TOLERANCE;
    add_entropy(c, product(c, "bf16[3, 5, 6]", "bf16[6, 264]"), "i32[3, 5]");
    return IN_PLACE;
}

/* Longer than rows of which values are kept. */
static Way add_long_rows(Case *c)
{
    add_entropy(c, product(c, "f32[1, 3, 6]", "f32[6, 20001]"), "i32[1, 3]");
    return IN_PLACE;
}

static Way add_rows_that_leave(Case *c)
{
    const MwValueId logits = product(c, "f32[3, 5, 6]", "f32[6, 50]");
    add_entropy(c, logits, "i32[3, 5]");
    graph_run_output(&c->run, logits);
    return TOGETHER;
}

static void add_turned(Case *c, MwValueId logits, const char *ids_type, const int64_t *turned)
{
    const MwAttr perm = mw_attr_ints(MW_ATTR_PERM, turned, 3);
    const MwValueId ids = input(c, ids_type), lse = logsumexp(c, logits);
    add_loss(c, lse, pick(c, test_op1_attr(&c->run.test, MW_OP_TRANSPOSE, logits, perm), ids));
    add_gradient(c, logits, lse, ids);
}

/* One row picks what others write over. */
static Way add_picks_of_columns(Case *c)
{
    add_turned(c, product(c, "f32[1, 40, 6]", "f32[6, 40]"), "i32[1, 40]", (int64_t[]){0, 2, 1});
    return TOGETHER;
}

static Way add_picks_of_other_rows(Case *c)
{
    add_turned(c, product(c, "f32[7, 7, 6]", "f32[6, 40]"), "i32[7, 7]", (int64_t[]){1, 0, 2});
    return TOGETHER;
}

/* Where no rows are reduced, threads take columns. */
static Way add_picks_for_columns(Case *c)
{
    MwGraph *graph = graph_of(c);
    const MwTensor row = test_type("f32[30, 5, 1]");
    graph->phase = MW_PHASE_BACKWARD;
    const MwValueId x = product(c, "f32[30, 5, 6]", "f32[6, 50]");
    const MwValueId minus = mw_build_unary(graph, MW_OP_NEG, x);
    graph_run_output(&c->run, mw_build_sum(graph, minus, 3, false));
    const MwValueId picked = pick(c, x, input(c, "i32[30, 5]"));
    const MwValueId turned = mw_build_reshape(graph, picked, &row);
    graph_run_output(&c->run, binary(c, MW_OP_ADD, minus, turned));
    return TOGETHER;
}

/* What needs the log-sum-exps of all rows runs in the backward too, by a kernel of its own. */
static Way add_followed(Case *c)
{
    const MwValueId lse = add_entropy(c, product(c, "f32[3, 5, 6]", "f32[6, 50]"), "i32[3, 5]");
    graph_run_output(&c->run, binary(c, MW_OP_DIV, lse, sum_of_all(c, lse)));
    return IN_PLACE;
}

/* A product of the forward needs the log-sum-exps. */
static Way add_followed_by_product(Case *c)
{
    const MwValueId lse = add_entropy(c, product(c, "f32[3, 5, 6]", "f32[6, 50]"), "i32[3, 5]");
    const MwValueId weight = test_source(&c->run.test, MW_OP_WEIGHT, "weight", "f32[5, 4]");
    graph_run_output(&c->run, test_einsum(&c->run.test, "ij,jk->ik", lse, weight));
    return APART;
}

/* What needs the log-sum-exps of all rows is as large as the rows. */
static Way add_followed_by_large(Case *c)
{
    const MwValueId logits = product(c, "f32[3, 5, 6]", "f32[6, 50]");
    const MwValueId lse = add_entropy(c, logits, "i32[3, 5]");
    graph_run_output(&c->run, binary(c, MW_OP_DIV, logits, sum_of_all(c, lse)));
    return APART;
}

/* The rows would have to wait beside those that only the forward reads. */
static Way add_other_operand(Case *c)
{
    const MwValueId logits = product(c, "f32[3, 5, 6]", "f32[6, 50]"), ids = input(c, "i32[3, 5]");
    const MwValueId x = binary(c, MW_OP_MUL, logits, product(c, "f32[3, 5, 6]", "f32[6, 50]"));
    const MwValueId lse = logsumexp(c, x);
    add_loss(c, lse, pick(c, x, ids));
    add_gradient(c, logits, lse, ids);
    return APART;
}

/* The forward gives a state that both read its new value. */
static Way add_changed_state(Case *c)
{
    MwGraph *graph = graph_of(c);
    const MwValueId state = test_source(&c->run.test, MW_OP_STATE, "state", "f32[50]");
    const MwValueId logits = product(c, "f32[3, 5, 6]", "f32[6, 50]"), ids = input(c, "i32[3, 5]");
    const MwValueId x = binary(c, MW_OP_ADD, logits, state), lse = logsumexp(c, x);
    const MwValueId more = test_op2(&c->run.test, MW_OP_ACCUMULATE, state, input(c, "f32[50]"));
    mw_vec_push(graph->arena, &graph->assigns, ((MwAssign){.target = state, .value = more}));
    add_loss(c, lse, pick(c, x, ids));
    add_gradient(c, logits, lse, ids);
    return APART;
}

/* A sum of all elements alone has no rows. */
static Way add_no_rows(Case *c)
{
    const MwValueId x = product(c, "f32[3, 5, 6]", "f32[6, 50]");
    const MwValueId square = binary(c, MW_OP_MUL, x, x);
    graph_run_output(&c->run, sum_of_all(c, square));
    graph_of(c)->phase = MW_PHASE_BACKWARD;
    graph_run_output(&c->run, binary(c, MW_OP_MUL, square, x));
    return APART;
}

typedef Way AddCase(Case *c);
static AddCase *const cases[] = {
    add_short_rows,          add_wide_accesses,     add_halves,
    add_long_rows,           add_rows_that_leave,   add_picks_of_columns,
    add_picks_of_other_rows, add_picks_for_columns, add_followed,
    add_followed_by_product, add_followed_by_large, add_other_operand,
    add_changed_state,       add_no_rows,
};

/* ---- How the outputs are made ---- */

/* The last instruction of the step that writes an output, and what it does there; sets `program` to
 * that of the instruction. */
static const MwPlanInstr *writer(const MwPlan *plan, int output, MwAccess *access, int *program)
{
    const MwPlanMesh *mesh = plan->meshes;
    const MwPlanInstr *found = NULL;
    for (int p = 0; p < mesh->program_count; p++)
        for (int i = 0; i < mesh->programs[p].instr_count; i++) {
            const MwPlanInstr *instr = &mesh->programs[p].instrs[i];
            for (int k = 0; k < instr->operand_count; k++) {
                if (instr->operands[k].buffer != mesh->outputs[output].buffer ||
                    instr->operands[k].access == MW_ACCESS_READ)
                    continue;
                found = instr;
                *access = instr->operands[k].access;
                *program = p;
            }
        }
    ck_assert_ptr_nonnull(found);
    return found;
}

static Way way_of(const MwPlan *plan)
{
    MwAccess of_loss, of_gradient;
    int loss_program, gradient_program;
    const MwPlanInstr *loss = writer(plan, 0, &of_loss, &loss_program);
    const MwPlanInstr *gradient = writer(plan, 1, &of_gradient, &gradient_program);
    ck_assert_int_eq(gradient_program, 1);
    ck_assert_int_eq(loss_program, loss == gradient);
    if (loss != gradient)
        return APART;
    return of_gradient == MW_ACCESS_WRITE ? TOGETHER : IN_PLACE;
}

START_TEST(the_backward_takes_what_the_forward_need_not_do)
{
    Case c = {.run = graph_run_new(_i % graph_backend_count), .tolerance = TOLERANCE};
    const Way expected = cases[_i / graph_backend_count](&c);
    graph_run_step(&c.run);
    ck_assert_int_eq(way_of(c.run.plan), expected);
    for (int i = 0; i < graph_of(&c)->outputs.count; i++)
        ck_assert_double_le(graph_run_error(&c.run, i), c.tolerance);
    graph_run_free(&c.run);
}
END_TEST

/* For the maximum and the sum; before the row is written over, as one thread picks of it what
 * another writes; and after. */
START_TEST(rows_wait_where_they_are_written_over)
{
    Case c = {.run = graph_run_new(graph_backend_count - 1)};
    add_long_rows(&c);
    graph_run_step(&c.run);
    ck_assert_int_eq(graph_run_row_barriers(&c.run), 4);
    graph_run_free(&c.run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("phase_join");
    TCase *tests = tcase_create("phase_join");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, the_backward_takes_what_the_forward_need_not_do, 0,
                        MW_COUNT(cases) * graph_backend_count);
    tcase_add_test(tests, rows_wait_where_they_are_written_over);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
