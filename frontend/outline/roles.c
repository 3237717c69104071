/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the dimensions of matrices are, by how they are used: the inputs and outputs of a product,
 * the entries and width of a table. */
#include "frontend/outline/flat.h"

#include <string.h>

typedef struct {
    MwFlat *flat;
    MwNameMap weights; /* names -> operation that declares a matrix, plus 1 */
} Finder;

static void set_roles(const Finder *finder, const MwExpr *expr, const char *rows,
                      const char *columns)
{
    const int op = (int)(intptr_t)mw_name_map_get(&finder->weights, expr->text) - 1;
    if (op < 0)
        return;
    MwFlatConstants *dims = &finder->flat->ops.at[op].constants;
    dims->at[0].role = rows;
    dims->at[1].role = columns;
}

static bool is_call(const MwExpr *expr, const char *callee)
{
    return expr->kind == MW_EXPR_CALL && strcmp(expr->call.callee.text, callee) == 0 &&
           expr->call.args.count;
}

static void find_in_product(const Finder *finder, const MwExpr *right)
{
    if (right->kind == MW_EXPR_NAME)
        set_roles(finder, right, "inputs", "outputs");
    else if (is_call(right, "transpose") && right->call.args.at[0].value->kind == MW_EXPR_NAME)
        set_roles(finder, right->call.args.at[0].value, "outputs", "inputs");
}

/* The equation of an einsum; NULL: it is no text. */
static const char *equation_of(const MwArgs *args)
{
    for (int i = 0; i < args->count; i++)
        if (args->at[i].value->kind == MW_EXPR_TEXT)
            return args->at[i].value->text;
    return NULL;
}

/* A letter that the result has counts outputs, another inputs. */
static void find_in_einsum(const Finder *finder, const MwArgs *args)
{
    const char *term = equation_of(args);
    const char *result = term ? strstr(term, "->") : NULL;
    for (int i = 0; result && i < args->count && term < result; i++) {
        const MwExpr *value = args->at[i].value;
        if (value->kind == MW_EXPR_TEXT)
            continue;
        const size_t length = strcspn(term, ",-");
        if (value->kind == MW_EXPR_NAME && length == 2)
            set_roles(finder, value, strchr(result, term[0]) ? "outputs" : "inputs",
                      strchr(result, term[1]) ? "outputs" : "inputs");
        term += length + (term[length] == ',');
    }
}

static void find_in_expr(const Finder *finder, const MwExpr *expr)
{
    switch (expr->kind) {
    case MW_EXPR_UNARY:
        find_in_expr(finder, expr->unary.operand);
        break;
    case MW_EXPR_BINARY:
        if (expr->binary.op == MW_BINARY_MATMUL)
            find_in_product(finder, expr->binary.right);
        find_in_expr(finder, expr->binary.left);
        find_in_expr(finder, expr->binary.right);
        break;
    case MW_EXPR_INDEX:
        find_in_expr(finder, expr->index.of);
        break;
    case MW_EXPR_CALL:
        if (is_call(expr, "einsum"))
            find_in_einsum(finder, &expr->call.args);
        if (is_call(expr, "embedding") && expr->call.args.count == 2 &&
            expr->call.args.at[1].value->kind == MW_EXPR_NAME)
            set_roles(finder, expr->call.args.at[1].value, "entries", "width");
        for (int i = 0; i < expr->call.args.count; i++)
            find_in_expr(finder, expr->call.args.at[i].value);
        break;
    default:
        break;
    }
}

/* Whether an operation declares a matrix whose sizes are numbers. */
static bool declares_matrix(const MwFlatOp *op)
{
    if (!mw_flat_is_declaration(op) || op->statement->declare.type.dims.count != 2)
        return false;
    const MwExprs *dims = &op->statement->declare.type.dims;
    return dims->at[0]->kind == MW_EXPR_INT && dims->at[1]->kind == MW_EXPR_INT;
}

void mw_flat_find_roles(MwFlat *flat)
{
    Finder finder = {flat, {.arena = flat->arena}};
    for (int i = 0; i < flat->ops.count; i++)
        if (declares_matrix(&flat->ops.at[i]))
            *mw_name_map_add(&finder.weights, flat->ops.at[i].statement->declare.name.text) =
                (void *)(intptr_t)(i + 1);
    for (int i = 0; i < flat->ops.count; i++)
        if (flat->ops.at[i].statement->kind == MW_STATEMENT_LET)
            find_in_expr(&finder, flat->ops.at[i].statement->let.value);
}

static const MwExpr *first_dimension(const MwFlatOp *op)
{
    const MwExprs *dims = &op->statement->declare.type.dims;
    return dims->count && dims->at[0]->kind == MW_EXPR_INT ? dims->at[0] : NULL;
}

/* The first dimension that all inputs of the batch have; 0: they have several, or none. */
static int64_t shared_batch(const MwFlat *flat)
{
    int64_t batch = 0;
    for (int i = 0; i < flat->ops.count; i++) {
        const MwFlatOp *op = &flat->ops.at[i];
        if (op->statement->kind != MW_STATEMENT_INPUT || op->statement->annotations.count)
            continue;
        const MwExpr *first = first_dimension(op);
        if (!first || (batch && first->i != batch))
            return 0;
        batch = first->i;
    }
    return batch;
}

int64_t mw_flat_find_batch(MwFlat *flat)
{
    const int64_t batch = shared_batch(flat);
    for (int i = 0; i < flat->ops.count && batch; i++) {
        MwFlatOp *op = &flat->ops.at[i];
        if (op->statement->kind == MW_STATEMENT_INPUT)
            op->constants.at[0].is_batch = !op->statement->annotations.count;
        for (int k = 0; k < op->constants.count && op->statement->kind == MW_STATEMENT_LET; k++) {
            MwFlatConstant *constant = &op->constants.at[k];
            const bool is_first = constant->role && strcmp(constant->role, MW_FLAT_SHAPE) == 0;
            constant->is_batch =
                is_first && constant->expr->kind == MW_EXPR_INT && constant->expr->i == batch;
        }
    }
    return batch;
}
