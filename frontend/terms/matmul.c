/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix product over the last two dimensions, the others broadcast, becomes an einsum. A
 * dimension of size 1 that stretches is reshaped away first, since an einsum does not stretch. A
 * tensor of one dimension is a row on the left and a column on the right, as in NumPy. */
#include "frontend/terms/matmul.h"

/* An operand or the result: its shape without the dimensions that stretch, and their letters. */
typedef struct {
    MwTensor shape;
    char letters[MW_MAX_RANK + 1];
    bool stretched;
} Side;

static void add_dim(Side *side, char letter, int64_t size)
{
    side->letters[side->shape.rank] = letter;
    side->shape.dim[side->shape.rank++] = size;
}

static bool fail(MwExpander *ex, MwSite site, const MwTensor *a, const MwTensor *b, const char *why)
{
    char left[MW_TENSOR_TEXT_BYTES], right[MW_TENSOR_TEXT_BYTES];
    mw_expand_note(ex, mw_span_none(), "%s", why);
    mw_expand_error(ex, site.span, "cannot multiply %s by %s", mw_tensor_text(a, left),
                    mw_tensor_text(b, right));
    return false;
}

static bool check_inner(MwExpander *ex, MwSite site, const MwTensor *a, const MwTensor *b)
{
    if (!a->rank || !b->rank)
        return fail(ex, site, a, b, "@ needs at least one dimension on either side");
    int k = mw_max(b->rank - 2, 0);
    if (a->dim[a->rank - 1] == b->dim[k])
        return true;
    return fail(ex, site, a, b,
                mw_arena_printf(ex->arena,
                                "dimension %d of the left is %lld, dimension %d of the "
                                "right is %lld",
                                a->rank - 1, (long long)a->dim[a->rank - 1], k,
                                (long long)b->dim[k]));
}

/* The size of the batch dimension that is `back` from the right among them; 0 if there is none. */
static int64_t batch_dim(const MwTensor *tensor, int back)
{
    int d = tensor->rank - 3 - back;
    return d >= 0 ? tensor->dim[d] : 0;
}

static void add_batch_dim(Side *side, char letter, int64_t size, int64_t other)
{
    if (size == 1 && other > 1)
        side->stretched = true;
    else if (size)
        add_dim(side, letter, size);
}

/* Gives letters to the batch dimensions of both sides and of the result. */
static bool batch_letters(MwExpander *ex, MwSite site, const MwTensor *a, const MwTensor *b,
                          Side *left, Side *right, Side *result)
{
    static const char letters[] = "bcdefg";
    int batch = (int)mw_max(mw_max(a->rank, b->rank) - 2, 0);
    for (int i = 0; i < batch; i++) {
        int64_t m = batch_dim(a, batch - 1 - i), n = batch_dim(b, batch - 1 - i);
        if (m > 1 && n > 1 && m != n)
            return fail(ex, site, a, b,
                        mw_arena_printf(ex->arena, "batch sizes %lld and %lld do not broadcast",
                                        (long long)m, (long long)n));
        add_batch_dim(left, letters[i], m, n);
        add_batch_dim(right, letters[i], n, m);
        add_dim(result, letters[i], mw_max(m, n));
    }
    return true;
}

static MwValueId unstretch(MwExpander *ex, MwSite site, MwValueId x, const Side *side)
{
    return side->stretched ? mw_emit_reshape(ex, mw_site_inner(site), x, &side->shape) : x;
}

MwValueId mw_emit_matmul(MwExpander *ex, MwSite site, MwValueId left_value, MwValueId right_value)
{
    MwTensor a = *mw_value_tensor(ex->graph, left_value);
    MwTensor b = *mw_value_tensor(ex->graph, right_value);
    Side left = {0}, right = {0}, result = {0};
    if (!check_inner(ex, site, &a, &b) || !batch_letters(ex, site, &a, &b, &left, &right, &result))
        return mw_no_value();
    if (a.rank > 1) {
        add_dim(&left, 'm', a.dim[a.rank - 2]);
        add_dim(&result, 'm', a.dim[a.rank - 2]);
    }
    add_dim(&left, 'k', a.dim[a.rank - 1]);
    add_dim(&right, 'k', a.dim[a.rank - 1]);
    if (b.rank > 1) {
        add_dim(&right, 'n', b.dim[b.rank - 1]);
        add_dim(&result, 'n', b.dim[b.rank - 1]);
    }
    const char *equation =
        mw_arena_printf(ex->arena, "%s,%s->%s", left.letters, right.letters, result.letters);
    return mw_emit_einsum(ex, site, equation, unstretch(ex, site, left_value, &left),
                          unstretch(ex, site, right_value, &right));
}
