/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/legal/contract.h"

enum { LEFT = 0, RIGHT = 1, RESULT = 2, TENSORS = 3, MAX_ATOMS = MW_LAYOUT_MAX_DIMS * 2 };
enum { IN_BATCH = 7, IN_M = 5, IN_N = 6, IN_K = 3 };

/* A loop of the contraction: a letter, or a factor of one, that has one stride in every tensor. */
typedef struct {
    unsigned uses; /* one of IN_BATCH, IN_M, IN_N, IN_K */
    int64_t size;
    int64_t stride[TENSORS];
} Atom;

typedef struct {
    Atom at[MAX_ATOMS];
    int count;
} Atoms;

unsigned mw_contract_uses(const MwEinsum *einsum, int l)
{
    unsigned uses = 0;
    for (int k = 0; k < einsum->operand_count; k++)
        for (int d = 0; d < einsum->rank[k]; d++)
            uses |= einsum->operand[k][d] == l ? 1u << k : 0;
    for (int d = 0; d < einsum->result_rank; d++)
        uses |= einsum->result[d] == l ? 4u : 0;
    return uses;
}

/* The dimension of tensor `which` that letter `l` names; -1: none. */
static int dim_of(const MwEinsum *einsum, int which, int l)
{
    const int8_t *dims = which == RESULT ? einsum->result : einsum->operand[which];
    int rank = which == RESULT ? einsum->result_rank : einsum->rank[which];
    for (int d = 0; d < rank; d++)
        if (dims[d] == l)
            return d;
    return -1;
}

int mw_contract_order(const MwEinsum *einsum, int which, int8_t order[MW_MAX_RANK * 2])
{
    static const unsigned classes[TENSORS][3] = {
        {IN_BATCH, IN_M, IN_K}, {IN_BATCH, IN_K, IN_N}, {IN_BATCH, IN_M, IN_N}};
    int count = 0;
    for (int c = 0; c < 3; c++) {
        bool is_k = classes[which][c] == IN_K;
        const int8_t *dims = is_k ? einsum->operand[LEFT] : einsum->result;
        int rank = is_k ? einsum->rank[LEFT] : einsum->result_rank;
        for (int d = 0; d < rank; d++)
            if (mw_contract_uses(einsum, dims[d]) == classes[which][c])
                order[count++] = dims[d];
    }
    return count;
}

/* The part of a layout that makes up one dimension of its tensor. */
static MwLayout dim_layout(const MwContractOperand *operand, int axis)
{
    MwLayout whole = operand->layout, part = {0};
    int64_t inner = 1, dim_inner = 1;
    for (int d = axis + 1; d < operand->tensor.rank; d++)
        dim_inner *= operand->tensor.dim[d];
    for (int i = whole.dim_count - 1; i >= 0; i--) {
        bool inside = inner >= dim_inner && inner < dim_inner * operand->tensor.dim[axis];
        if (inside && whole.size[i] > 1) {
            for (int k = part.dim_count++; k > 0; k--) {
                part.size[k] = part.size[k - 1];
                part.stride[k] = part.stride[k - 1];
            }
            part.size[0] = whole.size[i];
            part.stride[0] = whole.stride[i];
        }
        inner *= whole.size[i];
    }
    mw_layout_collapse(&part);
    return part;
}

/* The layouts of letter `l` in each tensor, with the same boundaries. False if they cannot have
 * the same. */
static bool letter_layouts(const MwEinsum *einsum, const MwContractOperand tensors[TENSORS], int l,
                           MwLayout parts[TENSORS])
{
    for (int t = 0; t < TENSORS; t++) {
        int axis = dim_of(einsum, t, l);
        parts[t] = axis < 0 ? (MwLayout){0} : dim_layout(&tensors[t], axis);
    }
    for (int t = 0; t < TENSORS; t++) {
        int64_t inner = 1;
        for (int i = parts[t].dim_count - 1; i > 0; i--) {
            inner *= parts[t].size[i];
            for (int u = 0; u < TENSORS; u++)
                if (parts[u].dim_count && !mw_layout_cut(&parts[u], inner))
                    return false;
        }
    }
    return true;
}

static bool add_atoms(const MwEinsum *einsum, const MwContractOperand tensors[TENSORS], int l,
                      Atoms *atoms)
{
    MwLayout parts[TENSORS];
    if (!letter_layouts(einsum, tensors, l, parts))
        return false;
    unsigned uses = mw_contract_uses(einsum, l);
    const MwLayout *any = &parts[uses & 1 ? LEFT : RIGHT];
    for (int i = 0; i < any->dim_count; i++) {
        MW_ASSERT(atoms->count < MAX_ATOMS);
        Atom *atom = &atoms->at[atoms->count++];
        *atom = (Atom){.uses = uses, .size = any->size[i]};
        for (int t = 0; t < TENSORS; t++)
            atom->stride[t] = parts[t].dim_count ? parts[t].stride[i] : 0;
    }
    return true;
}

/* Sorts loops from outer to inner, as they are in the result, or for k in the left operand. */
static void sort_atoms(Atoms *atoms)
{
    for (int i = 1; i < atoms->count; i++) {
        Atom atom = atoms->at[i];
        int key = atom.uses == IN_K ? LEFT : RESULT;
        int at = i;
        while (at > 0 && atoms->at[at - 1].uses == atom.uses &&
               atoms->at[at - 1].stride[key] < atom.stride[key]) {
            atoms->at[at] = atoms->at[at - 1];
            at--;
        }
        atoms->at[at] = atom;
    }
}

static bool atoms_join(const Atom *outer, const Atom *inner)
{
    for (int t = 0; t < TENSORS; t++)
        if (outer->stride[t] != inner->stride[t] * inner->size)
            return false;
    return true;
}

/* Collects the loops of one class, and merges neighbours that have one stride in every tensor. */
static int class_atoms(const Atoms *atoms, unsigned uses, Atom joined[MAX_ATOMS])
{
    Atoms class = {0};
    for (int i = 0; i < atoms->count; i++)
        if (atoms->at[i].uses == uses)
            class.at[class.count++] = atoms->at[i];
    sort_atoms(&class);
    int count = 0;
    for (int i = 0; i < class.count; i++) {
        if (count && atoms_join(&joined[count - 1], &class.at[i])) {
            int64_t size = joined[count - 1].size * class.at[i].size;
            joined[count - 1] = class.at[i];
            joined[count - 1].size = size;
        } else {
            joined[count++] = class.at[i];
        }
    }
    return count;
}

typedef struct {
    Atom m, n, k;
    Atom batch[2];
    int batch_count;
} Loops;

/* Makes the largest loop of a class the dimension of the GEMM, and the others loops around the
 * GEMM. */
static bool take_class(const Atoms *atoms, unsigned uses, Atom *dim, Loops *loops)
{
    Atom joined[MAX_ATOMS];
    int count = class_atoms(atoms, uses, joined), largest = 0;
    for (int i = 1; i < count; i++)
        if (joined[i].size >= joined[largest].size)
            largest = i;
    *dim = count ? joined[largest] : (Atom){.uses = uses, .size = 1};
    for (int i = 0; i < count; i++) {
        if (i == largest)
            continue;
        if (loops->batch_count == 2)
            return false;
        loops->batch[loops->batch_count++] = joined[i];
    }
    return true;
}

static bool find_loops(const Atoms *atoms, Loops *loops)
{
    Atom batch[MAX_ATOMS], k[MAX_ATOMS];
    int batch_count = class_atoms(atoms, IN_BATCH, batch);
    int k_count = class_atoms(atoms, IN_K, k);
    *loops = (Loops){0};
    if (batch_count > 2 || k_count > 1)
        return false;
    for (int i = 0; i < batch_count; i++)
        loops->batch[loops->batch_count++] = batch[i];
    loops->k = k_count ? k[0] : (Atom){.uses = IN_K, .size = 1};
    return take_class(atoms, IN_M, &loops->m, loops) && take_class(atoms, IN_N, &loops->n, loops);
}

/* The leading dimension of a matrix of rows x columns. BLAS requires that one of the two strides
 * is 1 and that the other is at least the size of the first's dimension; false if they are not. */
static bool leading_dimension(int64_t rows, int64_t row_stride, int64_t columns,
                              int64_t column_stride, int64_t *transposed, int64_t *leading)
{
    if (columns == 1 || column_stride == 1) {
        *transposed = 0;
        *leading = rows == 1 ? columns : row_stride;
        if (*leading >= columns)
            return true;
    }
    if (rows == 1 || row_stride == 1) {
        *transposed = 1;
        *leading = columns == 1 ? rows : column_stride;
        return *leading >= rows;
    }
    return false;
}

static bool fill_args(const Loops *loops, const int64_t offset[2], bool swaps, MwGemmCall *gemm)
{
    int a = swaps ? RIGHT : LEFT, b = swaps ? LEFT : RIGHT;
    const Atom *m = swaps ? &loops->n : &loops->m, *n = swaps ? &loops->m : &loops->n;
    const Atom *k = &loops->k;
    int64_t *args = gemm->args, untransposed;
    gemm->swaps = swaps;
    args[MW_GEMM_M] = gemm->m = m->size;
    args[MW_GEMM_N] = gemm->n = n->size;
    args[MW_GEMM_K] = gemm->k = k->size;
    if (!leading_dimension(m->size, m->stride[a], k->size, k->stride[a], &args[MW_GEMM_TRANS_A],
                           &args[MW_GEMM_LDA]) ||
        !leading_dimension(k->size, k->stride[b], n->size, n->stride[b], &args[MW_GEMM_TRANS_B],
                           &args[MW_GEMM_LDB]) ||
        !leading_dimension(m->size, m->stride[RESULT], n->size, n->stride[RESULT], &untransposed,
                           &args[MW_GEMM_LDC]) ||
        untransposed)
        return false;
    args[MW_GEMM_BATCH0] = args[MW_GEMM_BATCH1] = 1;
    static const int strides[TENSORS] = {MW_GEMM_A_STRIDE0, MW_GEMM_B_STRIDE0, MW_GEMM_C_STRIDE0};
    const int tensor[TENSORS] = {a, b, RESULT};
    for (int i = 0; i < loops->batch_count; i++) {
        int level = i + (loops->batch_count == 1); /* a single loop is the inner one */
        args[MW_GEMM_BATCH0 + level] = loops->batch[i].size;
        for (int t = 0; t < TENSORS; t++)
            args[strides[t] + level] = loops->batch[i].stride[tensor[t]];
    }
    args[MW_GEMM_A_OFFSET] = offset[a];
    args[MW_GEMM_B_OFFSET] = offset[b];
    return true;
}

bool mw_contract_plan(const MwEinsum *einsum, const MwContractOperand operands[2],
                      const MwTensor *result, MwGemmCall *gemm)
{
    *gemm = (MwGemmCall){0};
    if (!mw_layout_is_fixed(&operands[0].layout) || !mw_layout_is_fixed(&operands[1].layout))
        return false;
    const MwContractOperand tensors[TENSORS] = {
        operands[0], operands[1], {mw_layout_dense(result), *result}};
    Atoms atoms = {0};
    for (int l = 0; l < einsum->letter_count; l++)
        if (!add_atoms(einsum, tensors, l, &atoms))
            return false;
    Loops loops;
    const int64_t offset[2] = {operands[0].layout.offset, operands[1].layout.offset};
    if (!find_loops(&atoms, &loops) ||
        !(fill_args(&loops, offset, false, gemm) || fill_args(&loops, offset, true, gemm)))
        return false;
    gemm->args[MW_GEMM_TYPE] = operands[gemm->swaps].tensor.type;
    gemm->args[MW_GEMM_B_TYPE] = operands[!gemm->swaps].tensor.type;
    gemm->args[MW_GEMM_C_TYPE] = result->type;
    return true;
}

MwWork mw_gemm_call_work(const MwGemmCall *gemm)
{
    const double batch = (double)(gemm->args[MW_GEMM_BATCH0] * gemm->args[MW_GEMM_BATCH1]);
    const double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k;
    const double bytes = mw_type_bytes((MwType)gemm->args[MW_GEMM_TYPE]) * m * k +
                         mw_type_bytes((MwType)gemm->args[MW_GEMM_B_TYPE]) * k * n +
                         mw_type_bytes((MwType)gemm->args[MW_GEMM_C_TYPE]) * m * n;
    return (MwWork){.kind = MW_WORK_GEMM,
                    .type = (MwType)gemm->args[MW_GEMM_TYPE],
                    .flops = 2 * m * n * k * batch,
                    .bytes = batch * bytes,
                    .m = m,
                    .n = n,
                    .k = k,
                    .batch = batch};
}
