/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contractions: MatMul where the dimensions stand as it wants them, else Einsum. */
#include "codegen/onnx/rules.h"

#include "ir/einsum.h"

/* Whether dimension i of operand k and dimension j of the result are the same. */
static bool is_result(const MwEinsum *e, int k, int i, int j)
{
    return e->operand[k][i] == e->result[j];
}

/* Whether the equation is that of MatMul, once the last two dimensions of the second operand are
 * exchanged if `*exchanged`: [a.., m, k] and [k, n] or [a.., k, n] give [a.., m, n]. */
static bool is_matmul(const MwEinsum *e, bool *exchanged)
{
    const int rank = e->result_rank, last = e->rank[1] - 1;
    if (e->operand_count != 2 || rank < 2 || e->rank[0] != rank || e->rank[1] < 2 ||
        (e->rank[1] != 2 && e->rank[1] != rank))
        return false;
    bool is = true;
    for (int d = 0; d < rank - 1; d++)
        is &= is_result(e, 0, d, d);
    for (int d = 0; d < e->rank[1] - 2; d++)
        is &= is_result(e, 1, d, d);
    *exchanged = !is_result(e, 1, last, rank - 1);
    const int k = *exchanged ? last : last - 1, n = *exchanged ? last - 1 : last;
    is &= is_result(e, 1, n, rank - 1) && e->operand[1][k] == e->operand[0][rank - 1];
    /* a matrix beside more dimensions has none of them */
    for (int d = 0; d < rank; d++)
        is &= e->result[d] != e->operand[1][k] && (d == rank - 1 || !is_result(e, 1, n, d));
    return is;
}

static const char *exchange(MwWriter *writer, const char *name, int rank)
{
    int64_t perm[MW_MAX_RANK];
    for (int d = 0; d < rank; d++)
        perm[d] = d;
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    return mw_writer_transpose(writer, name, perm, rank);
}

bool mw_write_einsum(MwWriter *writer, const char *op)
{
    (void)op;
    const MwType type = mw_value_tensor(writer->graph, mw_writer_result(writer, 0))->type;
    const char *equation = mw_node_text(writer->node, MW_ATTR_EQUATION);
    const char *operands[MW_EINSUM_MAX_OPERANDS];
    MwEinsum einsum;
    bool exchanged = false;
    const char *wrong = mw_einsum_parse(equation, &einsum);
    MW_ASSERT(!wrong);
    const bool multiplies = is_matmul(&einsum, &exchanged);
    const MwType run = multiplies ? type : mw_writer_wide(type);
    for (int k = 0; k < writer->node->operand_count; k++)
        operands[k] = mw_writer_cast(writer, mw_writer_operand(writer, k),
                                     mw_writer_operand_tensor(writer, k)->type, run);
    const char *name;
    if (multiplies) {
        if (exchanged)
            operands[1] = exchange(writer, operands[1], einsum.rank[1]);
        name = mw_writer_put(writer, "MatMul", operands, 2);
    } else {
        name = mw_writer_put(writer, "Einsum", operands, writer->node->operand_count);
        mw_writer_text(writer, "equation", equation);
    }
    return mw_writer_give_own(writer, mw_writer_cast(writer, name, run, type));
}
