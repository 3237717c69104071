/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contractions in the form that a GEMM takes. */
#include "base/text.h"
#include "codegen/legal/contract.h"
#include "codegen/legal/legalize_rules.h"

#include <math.h>

typedef struct {
    MwEinsum einsum;
    MwValueId operands[2];
    MwType taken;    /* the type in which the GEMM takes its operands */
    MwTensor result; /* the type and shape of the GEMM's result */
    MwType type;     /* the type that the node's result has */
} Contraction;

/* The einsum equation of the letters that each tensor lists. */
static const char *equation_text(MwLegalizer *l, const Contraction *c)
{
    MwText text = {.arena = l->legal->graph->arena};
    for (int k = 0; k < c->einsum.operand_count; k++) {
        mw_text_add(&text, k ? "," : "");
        for (int d = 0; d < c->einsum.rank[k]; d++)
            mw_text_add_n(&text, &c->einsum.letter[c->einsum.operand[k][d]], 1);
    }
    mw_text_add(&text, "->");
    for (int d = 0; d < c->einsum.result_rank; d++)
        mw_text_add_n(&text, &c->einsum.letter[c->einsum.result[d]], 1);
    return mw_intern(l->legal->graph->interner, text.at);
}

/* Transposes operand k so that its letters are in the order of `order`. */
static void permute_operand(MwLegalizer *l, Contraction *c, int k, const int8_t *order)
{
    int64_t perm[MW_MAX_RANK];
    bool same = true;
    for (int i = 0; i < c->einsum.rank[k]; i++) {
        for (int d = 0; d < c->einsum.rank[k]; d++)
            if (c->einsum.operand[k][d] == order[i])
                perm[i] = d;
        same = same && perm[i] == i;
    }
    if (same)
        return;
    c->operands[k] = mw_legal_transpose(l, c->operands[k], perm);
    for (int i = 0; i < c->einsum.rank[k]; i++)
        c->einsum.operand[k][i] = order[i];
}

static MwValueId sum_over(MwLegalizer *l, MwValueId x, const int64_t *axes, int count, MwType type)
{
    MwAttr attrs[] = {mw_attr_ints(MW_ATTR_AXES, axes, count), mw_attr_int(MW_ATTR_TYPE, type)};
    return mw_legal_add(l, MW_OP_REDUCE_SUM, &x, 1, attrs, MW_COUNT(attrs));
}

/* Sums operand k over the letters that neither the other operand nor the result has, in the type of
 * the result. */
static void sum_lone_letters(MwLegalizer *l, Contraction *c, int k)
{
    int64_t axes[MW_MAX_RANK];
    int count = 0, kept = 0;
    for (int d = 0; d < c->einsum.rank[k]; d++) {
        int8_t letter = c->einsum.operand[k][d];
        if (mw_contract_uses(&c->einsum, letter) == 1u << k)
            axes[count++] = d;
        else
            c->einsum.operand[k][kept++] = letter;
    }
    if (!count)
        return;
    c->einsum.rank[k] = kept;
    c->operands[k] = sum_over(l, c->operands[k], axes, count, c->type);
}

/* A contraction of one operand: a sum, then a transpose into the order of the result. */
static MwValueId reduce_and_permute(MwLegalizer *l, Contraction *c)
{
    sum_lone_letters(l, c, 0);
    permute_operand(l, c, 0, c->einsum.result);
    return c->operands[0];
}

/* Operand k with one dimension for each letter of `order`, of size 1 if the operand lacks the
 * letter. */
static MwValueId spread_operand(MwLegalizer *l, Contraction *c, int k, const int8_t *order,
                                int count)
{
    const MwTensor *tensor = mw_legal_tensor(l, c->operands[k]);
    int64_t dim[MW_MAX_RANK], size[MW_MAX_RANK * 3] = {0};
    int8_t own[MW_MAX_RANK];
    for (int d = 0; d < c->einsum.rank[k]; d++)
        size[c->einsum.operand[k][d]] = tensor->dim[d];
    for (int i = 0, at = 0; i < count; i++) {
        dim[i] = size[order[i]] ? size[order[i]] : 1;
        if (size[order[i]])
            own[at++] = order[i];
    }
    permute_operand(l, c, k, own);
    return mw_legal_reshape(l, c->operands[k], count, dim);
}

/* The contraction as an element-wise product in the type of the result, summed over the letters
 * that the result lacks; for contractions that would leave a GEMM only products of single
 * numbers. */
static MwValueId multiply_and_sum(MwLegalizer *l, Contraction *c)
{
    int8_t order[MW_MAX_RANK * 3];
    int64_t axes[MW_MAX_RANK * 3];
    int count = 0, sums = 0;
    for (int d = 0; d < c->einsum.result_rank; d++)
        order[count++] = c->einsum.result[d];
    for (int letter = 0; letter < c->einsum.letter_count; letter++) {
        if (mw_contract_uses(&c->einsum, letter) != 3)
            continue;
        axes[sums++] = count;
        order[count++] = (int8_t)letter;
    }
    MwValueId factors[2];
    for (int k = 0; k < 2; k++)
        factors[k] = mw_legal_cast(l, spread_operand(l, c, k, order, count), c->type);
    MwValueId product = mw_legal_add(l, MW_OP_MUL, factors, 2, NULL, 0);
    if (!sums)
        return product;
    return sum_over(l, product, axes, sums, c->type);
}

static bool is_element_wise(const Contraction *c)
{
    bool has_sum = false, has_m_or_n = false;
    for (int letter = 0; letter < c->einsum.letter_count; letter++) {
        unsigned uses = mw_contract_uses(&c->einsum, letter);
        has_sum = has_sum || uses == 3;
        has_m_or_n = has_m_or_n || uses == 5 || uses == 6;
    }
    return (!has_sum || !has_m_or_n) && c->einsum.result_rank + 1 < MW_MAX_RANK;
}

static MwValueId add_einsum(MwLegalizer *l, const Contraction *c)
{
    MwAttr attrs[] = {mw_attr_text(MW_ATTR_EQUATION, equation_text(l, c)),
                      mw_attr_int(MW_ATTR_TYPE, c->result.type)};
    return mw_legal_add(l, MW_OP_EINSUM, c->operands, 2, attrs, MW_COUNT(attrs));
}

/* ---- Where tensors lie ---- */

typedef enum {
    AS_IT_IS,
    DENSE,   /* an operand: copied, with its letters in the order that they have */
    ORDERED, /* with its letters in the order in which a GEMM can always take it */
    WAYS
} Way;

enum { RESULT = 2, TENSORS = 3 };

/* How a GEMM takes its operands and gives its result. */
typedef struct {
    Way of[TENSORS];
} Ways;

/* Bytes that a copy of a tensor reads and writes. */
static double copied_bytes(const MwTensor *tensor)
{
    return 2.0 * (double)mw_tensor_bytes(tensor);
}

/* The tensor with its letters in another order; the letters are given that order. */
static MwTensor reordered(const MwTensor *tensor, int8_t *letters, const int8_t *order)
{
    MwTensor other = *tensor;
    for (int i = 0; i < tensor->rank; i++)
        for (int d = 0; d < tensor->rank; d++)
            if (letters[d] == order[i])
                other.dim[i] = tensor->dim[d];
    for (int i = 0; i < tensor->rank; i++)
        letters[i] = order[i];
    return other;
}

/* The GEMM that takes its tensors in these ways, and the bytes that copies read and write for it;
 * false if there is none. */
static bool find_gemm(const MwLegalizer *l, const Contraction *c, const Ways *ways,
                      MwGemmCall *gemm, double *bytes)
{
    MwEinsum einsum = c->einsum;
    MwContractOperand operands[2];
    MwTensor result = c->result;
    int8_t order[MW_MAX_RANK * 2];
    *bytes = 0;
    for (int k = 0; k < 2; k++) {
        const MwTensor *tensor = mw_legal_tensor(l, c->operands[k]);
        operands[k] = (MwContractOperand){mw_legal_view(l, c->operands[k])->layout, *tensor};
        if (ways->of[k] == AS_IT_IS)
            continue;
        if (ways->of[k] == ORDERED) {
            mw_contract_order(&c->einsum, k, order);
            operands[k].tensor = reordered(tensor, einsum.operand[k], order);
        }
        operands[k].layout = mw_layout_dense(&operands[k].tensor);
        *bytes += copied_bytes(tensor);
    }
    if (ways->of[RESULT] == ORDERED) {
        mw_contract_order(&c->einsum, RESULT, order);
        result = reordered(&c->result, einsum.result, order);
        *bytes += copied_bytes(&result);
    }
    return mw_contract_plan(&einsum, operands, &result, gemm);
}

/* Seconds of the GEMM, and of copies that read and write so many bytes. */
static double gemm_s(const MwLegalizer *l, const MwGemmCall *gemm, double bytes)
{
    const MwWork product = mw_gemm_call_work(gemm);
    const MwWork copies = {
        .kind = bytes > 0 ? MW_WORK_STREAM : MW_WORK_NONE, .type = MW_F32, .bytes = bytes};
    return mw_cost_work_s(l->model, &product) + mw_cost_work_s(l->model, &copies);
}

/* Whether each operand is read once: what is left around the GEMM are loops over letters that all
 * three tensors have. */
static bool reads_once(const Contraction *c, const MwGemmCall *gemm)
{
    int64_t rows = 1;
    for (int d = 0; d < c->einsum.result_rank; d++)
        if (mw_contract_uses(&c->einsum, c->einsum.result[d]) != 7)
            rows *= c->result.dim[d];
    return gemm->m * gemm->n == rows;
}

/* The ways that take the least time, or where memory is not spent those that copy least. Loops
 * around a GEMM over letters of one operand alone read the other one again and leave a thin
 * product, so that a copy may be quicker. A result in another order counts as copied, though what
 * reads it may take it so. */
static Ways choose_ways(const MwLegalizer *l, const Contraction *c)
{
    Ways best = {{ORDERED, ORDERED, ORDERED}};
    double least = INFINITY;
    for (int at = 0; at < WAYS * WAYS * 2; at++) {
        const Ways ways = {{at % WAYS, at / WAYS % WAYS, at < WAYS * WAYS ? AS_IT_IS : ORDERED}};
        MwGemmCall gemm;
        double bytes;
        if (!find_gemm(l, c, &ways, &gemm, &bytes))
            continue;
        if (at == 0 && reads_once(c, &gemm))
            return ways;
        const double price = l->spends_memory ? gemm_s(l, &gemm, bytes) : bytes;
        if (price < least) {
            least = price;
            best = ways;
        }
    }
    return best;
}

/* Adds the einsum with its tensors in these ways. */
static MwValueId add_einsum_so(MwLegalizer *l, Contraction *c, const Ways *ways)
{
    const MwEinsum einsum = c->einsum;
    int8_t order[MW_MAX_RANK * 2];
    int64_t perm[MW_MAX_RANK];
    for (int k = 0; k < 2; k++) {
        if (ways->of[k] == ORDERED) {
            mw_contract_order(&einsum, k, order);
            permute_operand(l, c, k, order);
        }
        if (ways->of[k] != AS_IT_IS)
            c->operands[k] = mw_legal_dense(l, c->operands[k], c->taken);
    }
    if (ways->of[RESULT] == AS_IT_IS)
        return add_einsum(l, c);
    const int count = mw_contract_order(&einsum, RESULT, order);
    c->result = reordered(&c->result, c->einsum.result, order);
    for (int i = 0; i < count; i++)
        for (int d = 0; d < count; d++)
            if (einsum.result[i] == order[d])
                perm[i] = d;
    return mw_legal_transpose(l, add_einsum(l, c), perm);
}

/* Chooses the types of the GEMM: with operands in a type of 16 bits the result is of that type or
 * f32, with operands in f32 it is f32. Those of 8 bits have their numbers in bf16 too. */
static void choose_types(const MwLegalizer *l, Contraction *c)
{
    MwType type[2];
    for (int k = 0; k < 2; k++) {
        type[k] = mw_legal_tensor(l, c->operands[k])->type;
        type[k] = mw_type_is_fp8(type[k]) ? MW_BF16 : type[k];
    }
    const MwBackendInfo *backend = l->legal->backend;
    const bool is_taken = type[0] == MW_BF16 ? backend->takes_bf16
                                             : mw_type_is_half(type[0]) && backend->takes_halves;
    const bool is_narrow = is_taken && type[1] == type[0];
    c->taken = is_narrow ? type[0] : MW_F32;
    c->result.type = is_narrow ? c->type : MW_F32;
}

/* ---- Floats of 8 bits ---- */

/* The matrix products that the contraction of the operands as they are is; 0: none of 8 bits. */
static int64_t count_products(const MwLegalizer *l, const Contraction *c)
{
    const Ways as_they_are = {{AS_IT_IS, AS_IT_IS, AS_IT_IS}};
    MwKernelArg args[MW_GEMM_ARGS] = {0};
    MwGemmCall gemm;
    double bytes;
    if (!find_gemm(l, c, &as_they_are, &gemm, &bytes))
        return 0;
    for (int i = 0; i < MW_GEMM_ALPHA; i++)
        args[i].i = gemm.args[i];
    return mw_gemm_takes_fp8(args) ? gemm.args[MW_GEMM_BATCH0] * gemm.args[MW_GEMM_BATCH1] : 0;
}

/* Puts the letters that are summed over last in operand k, and stores it so. */
static void turn_operand(MwLegalizer *l, Contraction *c, int k)
{
    int8_t order[MW_MAX_RANK * 2], turned[MW_MAX_RANK * 2];
    const int count = mw_contract_order(&c->einsum, k, order);
    int at = 0;
    for (int is_summed = 0; is_summed < 2; is_summed++)
        for (int i = 0; i < count; i++)
            if ((mw_contract_uses(&c->einsum, order[i]) == 3) == is_summed)
                turned[at++] = order[i];
    permute_operand(l, c, k, turned);
    c->operands[k] = mw_legal_dense(l, c->operands[k], mw_legal_tensor(l, c->operands[k])->type);
}

/* Whether the backend multiplies the operands, floats of 8 bits, as they are or with one of them or
 * both turned; `*product` is that product then. Turning takes less time than products of the thin
 * slices that parts of a gathered weight may be, so the fewest products are taken. */
static bool multiply_fp8(MwLegalizer *l, const Contraction *c, MwValueId *product)
{
    Contraction best = *c;
    int64_t least = INT64_MAX;
    for (int turned = 0; turned < 4 && least > 1; turned++) {
        Contraction tried = *c;
        for (int k = 0; k < 2; k++)
            if (turned >> k & 1)
                turn_operand(l, &tried, k);
        const int64_t products = count_products(l, &tried);
        if (products > 0 && products < least) {
            best = tried;
            least = products;
        }
    }
    if (least < INT64_MAX)
        *product = add_einsum(l, &best);
    return least < INT64_MAX;
}

static bool is_fp8(const MwLegalizer *l, const Contraction *c)
{
    const MwType a = mw_legal_tensor(l, c->operands[0])->type;
    const MwType b = mw_legal_tensor(l, c->operands[1])->type;
    return mw_type_is_fp8(a) && mw_type_is_fp8(b) && (a == MW_E4M3 || b == MW_E4M3) &&
           (c->type == MW_BF16 || c->type == MW_F32);
}

static MwValueId contract(MwLegalizer *l, Contraction *c)
{
    MwValueId product;
    if (is_element_wise(c))
        return multiply_and_sum(l, c);
    if (l->legal->backend->takes_fp8 && is_fp8(l, c) && multiply_fp8(l, c, &product))
        return product;
    choose_types(l, c);
    for (int k = 0; k < 2; k++)
        c->operands[k] = mw_legal_cast(l, c->operands[k], c->taken);
    const Ways ways = choose_ways(l, c);
    return add_einsum_so(l, c, &ways);
}

void mw_legal_einsum(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                     MwValueId *results)
{
    Contraction c = {0};
    MW_ASSERT(mw_einsum_parse(mw_node_text(node, MW_ATTR_EQUATION), &c.einsum) == NULL);
    const MwTensor *result = &l->rewrite.from->values.at[node->first_result].tensor;
    c.result = *result;
    c.type = result->type;
    for (int k = 0; k < c.einsum.operand_count; k++)
        c.operands[k] = operands[k];
    if (c.einsum.operand_count == 1) {
        results[0] = mw_legal_cast(l, reduce_and_permute(l, &c), c.type);
        return;
    }
    for (int k = 0; k < 2; k++)
        sum_lone_letters(l, &c, k);
    MwValueId product = contract(l, &c);
    results[0] = mw_legal_cast(l, product, c.type);
}
