/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/gemm_unit.h"

bool mw_unit_is_gemm(const MwLegal *legal, const MwUnit *unit)
{
    for (int i = 0; i < unit->nodes.count && !unit->is_kernel; i++)
        if (mw_legal_at(legal, unit->nodes.at[i])->op == MW_OP_EINSUM)
            return true;
    return false;
}

MwGemmCall mw_gemm_call(const MwLegal *legal, const MwNode *node)
{
    MwEinsum einsum;
    MwGemmCall call;
    MwContractOperand operands[2];
    MW_ASSERT(mw_einsum_parse(mw_node_text(node, MW_ATTR_EQUATION), &einsum) == NULL);
    for (int k = 0; k < 2; k++)
        operands[k] = (MwContractOperand){mw_legal_operand_view(legal, node, k)->layout,
                                          *mw_legal_operand_tensor(legal, node, k)};
    const MwTensor *result = mw_legal_result_tensor(legal, node);
    MW_ASSERT(mw_contract_plan(&einsum, operands, result, &call));
    for (int i = MW_GEMM_TYPE; i <= MW_GEMM_B_TYPE; i++)
        call.args[i] = mw_product_type(legal->graph, (MwType)call.args[i]);
    return call;
}

MwGemmUnit mw_gemm_unit(const MwLegal *legal, const MwUnit *unit)
{
    MwGemmUnit gemm = {0};
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(legal, unit->nodes.at[i]);
        const MwNode **as = node->op == MW_OP_EINSUM           ? &gemm.einsum
                            : node->op == MW_OP_ACCUMULATE     ? &gemm.accumulate
                            : node->op == MW_OP_ADD            ? &gemm.add
                            : node->op == MW_OP_GELU_TANH      ? &gemm.gelu
                            : node->op == MW_OP_GELU_TANH_GRAD ? &gemm.gelu_grad
                                                               : &gemm.sum;
        *as = node;
        if (node->op != MW_OP_REDUCE_SUM)
            gemm.result = node;
    }
    gemm.call = mw_gemm_call(legal, gemm.einsum);
    if (gemm.add)
        gemm.bias = mw_legal_takes_whole(legal, gemm.add, 0, mw_legal_result(gemm.einsum));
    return gemm;
}

int mw_gemm_summed_operand(const MwLegal *legal, const MwNode *einsum, const MwGemmCall *call,
                           const MwNode *sum)
{
    MwValueId root = mw_legal_root(legal, sum->operands[0]);
    int64_t elements = mw_tensor_elements(mw_value_tensor(legal->graph, root));
    for (int k = 0; k < 2; k++) {
        int slot = k ^ call->swaps;
        int64_t kept = call->args[slot ? MW_GEMM_N : MW_GEMM_M];
        /* Stored k by kept: of a, that is turned. */
        if (mw_value_equal(mw_legal_root(legal, einsum->operands[k]), root) &&
            (call->args[MW_GEMM_TRANS_A + slot] != 0) == (slot == 0) &&
            call->args[MW_GEMM_LDA + slot] == kept && call->args[MW_GEMM_A_OFFSET + slot] == 0 &&
            call->args[MW_GEMM_K] * kept == elements &&
            mw_tensor_elements(mw_legal_result_tensor(legal, sum)) == kept)
            return slot;
    }
    return -1;
}

MwRoutine mw_gemm_unit_routine(const MwGemmUnit *gemm, const MwLegal *legal, const MwUnits *units)
{
    if (gemm->sum)
        return mw_gemm_summed_operand(legal, gemm->einsum, &gemm->call, gemm->sum)
                   ? MW_ROUTINE_GEMM_SUM_B
                   : MW_ROUTINE_GEMM_SUM_A;
    if (gemm->gelu_grad)
        return MW_ROUTINE_GEMM_GELU_GRAD;
    if (!gemm->gelu)
        return gemm->add ? MW_ROUTINE_GEMM_BIAS : MW_ROUTINE_GEMM;
    bool has_aux = units->is_stored[mw_legal_result(gemm->add ? gemm->add : gemm->einsum).index];
    if (gemm->add)
        return has_aux ? MW_ROUTINE_GEMM_BIAS_GELU_AUX : MW_ROUTINE_GEMM_BIAS_GELU;
    return has_aux ? MW_ROUTINE_GEMM_GELU_AUX : MW_ROUTINE_GEMM_GELU;
}

MwGemmOperands mw_gemm_unit_operands(const MwGemmUnit *gemm, MwRoutine routine)
{
    const MwGemmExtras *x = mw_gemm_extras(routine);
    MwGemmOperands operands = {mw_no_value(), mw_no_value(), mw_no_value()};
    if (x->bias)
        operands.bias = gemm->add->operands[gemm->bias];
    if (x->aux)
        operands.aux = gemm->gelu_grad ? gemm->gelu_grad->operands[0]
                                       : mw_legal_result(gemm->add ? gemm->add : gemm->einsum);
    if (x->sums)
        operands.sums = mw_legal_result(gemm->sum);
    return operands;
}
