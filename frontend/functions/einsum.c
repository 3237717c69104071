/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The function einsum: up to 16 operands, contracted two at a time.
 *
 * Dimensions that "..." stands for get letters of their own. Where an operand has a letter twice,
 * its diagonal takes its place.
 *
 * The pair that takes the fewest multiplications is contracted first (the first of equal ones), and
 * its result keeps the letters that are still needed. */
#include "ir/einsum.h"

#include "base/text.h"
#include "frontend/functions/expansions.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    const MwCall *call;
    int count; /* operands left */
    MwValueId value[MW_EINSUM_MAX_OPERANDS];
    char letters[MW_EINSUM_MAX_OPERANDS][MW_MAX_RANK + 1]; /* of each operand left */
    char result[MW_MAX_RANK + 1];                          /* letters of the result */
    int64_t size[128]; /* by letter: the size of the dimensions that run over it */
} Contraction;

static void write_letters(const MwEinsum *einsum, const int8_t *dims, int rank, char *letters)
{
    for (int d = 0; d < rank; d++)
        letters[d] = einsum->letter[dims[d]];
    letters[rank] = '\0';
}

static bool read_equation(MwExpander *ex, const MwCall *call, const char *equation, Contraction *c)
{
    MwEinsum einsum;
    const char *wrong = mw_einsum_parse(equation, &einsum);
    if (wrong) {
        mw_expand_error(ex, call->site.span, "\"%s\" is no einsum equation: %s", equation, wrong);
        return false;
    }
    if (einsum.operand_count != c->count) {
        mw_expand_error(ex, call->site.span, "\"%s\" is for %d operands, not for %d", equation,
                        einsum.operand_count, c->count);
        return false;
    }
    for (int k = 0; k < c->count; k++)
        write_letters(&einsum, einsum.operand[k], einsum.rank[k], c->letters[k]);
    write_letters(&einsum, einsum.result, einsum.result_rank, c->result);
    return true;
}

/* Whether operand k has as many dimensions as its term has letters. */
static bool fits_letters(MwExpander *ex, const MwCall *call, const char *equation, MwValueId value,
                         int k, int letters)
{
    char text[MW_TENSOR_TEXT_BYTES];
    const MwTensor *operand = mw_value_tensor(ex->graph, value);
    if (letters == operand->rank)
        return true;
    mw_expand_error(ex, call->site.span, "\"%s\" has %d letters for operand %d, %s", equation,
                    letters, k, mw_tensor_text(operand, text));
    return false;
}

/* Checks that each operand fits its letters, and notes the size of each letter. */
static bool bind_sizes(MwExpander *ex, const MwCall *call, const char *equation, Contraction *c)
{
    char text[MW_TENSOR_TEXT_BYTES];
    for (int k = 0; k < c->count; k++) {
        const MwTensor *operand = mw_value_tensor(ex->graph, c->value[k]);
        if (!fits_letters(ex, call, equation, c->value[k], k, (int)strlen(c->letters[k])))
            return false;
        for (int d = 0; d < operand->rank; d++) {
            int64_t *size = &c->size[(int)c->letters[k][d]];
            if (*size && *size != operand->dim[d]) {
                mw_expand_error(ex, call->site.span,
                                "\"%s\": letter '%c' is %lld, but %lld in operand %d, %s", equation,
                                c->letters[k][d], (long long)*size, (long long)operand->dim[d], k,
                                mw_tensor_text(operand, text));
                return false;
            }
            *size = operand->dim[d];
        }
    }
    return true;
}

/* Whether something other than operands i and j needs the letter. */
static bool is_needed(const Contraction *c, int i, int j, char letter)
{
    if (strchr(c->result, letter))
        return true;
    for (int k = 0; k < c->count; k++)
        if (k != i && k != j && strchr(c->letters[k], letter))
            return true;
    return false;
}

/* The letters of operands i and j, each once: at most 16. */
static void all_letters(const Contraction *c, int i, int j, char *letters)
{
    strcpy(letters, c->letters[i]);
    size_t count = strlen(letters);
    for (const char *letter = c->letters[j]; *letter; letter++)
        if (!strchr(c->letters[i], *letter))
            letters[count++] = *letter;
    letters[count] = '\0';
}

static double pair_cost(const Contraction *c, int i, int j)
{
    char letters[2 * MW_MAX_RANK + 1];
    double cost = 1;
    all_letters(c, i, j, letters);
    for (const char *letter = letters; *letter; letter++)
        cost *= (double)c->size[(int)*letter];
    return cost;
}

/* Adds the node whose value the call gives: it gets the name and the other attributes of the
 * call. */
static MwValueId emit_last(MwExpander *ex, const MwCall *call, const char *equation,
                           const MwValueId *operands, int count)
{
    MwAttr attr = mw_attr_text(MW_ATTR_EQUATION, mw_intern(ex->interner, equation));
    MwTerm term = mw_call_emit(ex, call, MW_OP_EINSUM, operands, count, &attr, 1);
    return term.kind == MW_TERM_TENSOR ? term.value : mw_no_value();
}

static bool contract_pair(MwExpander *ex, Contraction *c, int i, int j)
{
    char letters[2 * MW_MAX_RANK + 1], kept[2 * MW_MAX_RANK + 1];
    bool last = c->count == 2;
    int count = 0;
    all_letters(c, i, j, letters);
    for (const char *letter = letters; *letter; letter++)
        if (is_needed(c, i, j, *letter))
            kept[count++] = *letter;
    kept[count] = '\0';
    if (!last && count > MW_MAX_RANK) {
        mw_expand_error(ex, c->call->site.span,
                        "this einsum needs an intermediate result of %d dimensions; contract it "
                        "in steps",
                        count);
        return false;
    }
    const char *equation = mw_arena_printf(ex->arena, "%s,%s->%s", c->letters[i], c->letters[j],
                                           last ? c->result : kept);
    MwValueId pair[] = {c->value[i], c->value[j]};
    c->value[i] =
        last ? emit_last(ex, c->call, equation, pair, 2)
             : mw_emit_einsum(ex, mw_site_inner(c->call->site), equation, pair[0], pair[1]);
    if (!last)
        strcpy(c->letters[i], kept);
    c->count--;
    c->value[j] = c->value[c->count];
    memmove(c->letters[j], c->letters[c->count], sizeof c->letters[j]);
    return mw_has_value(c->value[i]);
}

static MwValueId contract(MwExpander *ex, Contraction *c)
{
    while (c->count > 1) {
        int best_i = 0, best_j = 1;
        for (int i = 0; i < c->count; i++)
            for (int j = i + 1; j < c->count; j++)
                if (pair_cost(c, i, j) < pair_cost(c, best_i, best_j)) {
                    best_i = i;
                    best_j = j;
                }
        if (!contract_pair(ex, c, best_i, best_j))
            return mw_no_value();
    }
    return c->value[0];
}

/* The equation is the first argument, or given by name; operands begin at argument *first. */
static bool find_equation(MwExpander *ex, const MwCall *call, const char **equation, int *first)
{
    *first = 0;
    if (mw_call_has(call, 1))
        return mw_want_text(ex, call->given[1].term, mw_call_want(ex, call, 1), equation);
    if (call->rest_count && call->rest[0].term.kind == MW_TERM_TEXT) {
        *equation = call->rest[0].term.text;
        *first = 1;
        return true;
    }
    mw_expand_error(ex, call->site.span,
                    "einsum needs its equation first, as in einsum(\"ab,bc->ac\", x, y)");
    return false;
}

/* ---- Letters that an operand has twice ---- */

/* The elements of x at equal places along dimensions a and b; the result lacks dimension b. */
static MwValueId take_diagonal(MwExpander *ex, MwSite site, MwValueId x, int a, int b)
{
    MwTensor places = *mw_value_tensor(ex->graph, x);
    int64_t perm[MW_MAX_RANK];
    for (int d = 0; d < places.rank; d++)
        perm[d] = d < b ? d : d + 1;
    perm[places.rank - 1] = b;
    const MwValueId rows = b == places.rank - 1 ? x : mw_emit_transpose(ex, site, x, perm);
    mw_tensor_remove_dim(&places, b);
    places.type = MW_I32;
    return mw_emit_binary(ex, site, MW_OP_PICK, rows, mw_emit_iota(ex, site, &places, a));
}

/* Puts the diagonal of operand k along dimensions a and b, of one letter, in its place. */
static bool replace_by_diagonal(MwExpander *ex, const char *equation, Contraction *c, int k, int a,
                                int b)
{
    const MwCall *call = c->call;
    const MwTensor *operand = mw_value_tensor(ex->graph, c->value[k]);
    if (operand->dim[a] != operand->dim[b]) {
        char text[MW_TENSOR_TEXT_BYTES];
        mw_expand_error(ex, call->site.span,
                        "\"%s\" has one letter for dimensions %d and %d of operand %d, %s, which "
                        "differ in size",
                        equation, a, b, k, mw_tensor_text(operand, text));
        return false;
    }
    c->value[k] = take_diagonal(ex, mw_site_inner(call->site), c->value[k], a, b);
    return mw_has_value(c->value[k]);
}

/* The equation without the letters that stand in an operand before; diagonals take the place of
 * those operands. NULL after an error. */
static const char *spell_diagonals(MwExpander *ex, const char *equation, Contraction *c)
{
    MwText text = {.arena = ex->arena};
    char letters[MW_MAX_RANK]; /* of the operand as it is, up to the place in the equation */
    int k = 0, rank = 0, all = mw_einsum_count_letters(equation);
    const char *at = equation;
    for (; *at && *at != '-'; at++) {
        const bool is_letter = isalpha((unsigned char)*at);
        const char *first = is_letter ? memchr(letters, *at, (size_t)rank) : NULL;
        if (first && k < c->count) {
            if (!fits_letters(ex, c->call, equation, c->value[k], k, all) ||
                !replace_by_diagonal(ex, equation, c, k, (int)(first - letters), rank))
                return NULL;
            all--;
            continue;
        }
        mw_text_add_n(&text, at, 1);
        if (is_letter && rank < MW_MAX_RANK)
            letters[rank++] = *at;
        if (*at == ',')
            k++, rank = 0, all = mw_einsum_count_letters(at + 1);
    }
    mw_text_add(&text, at);
    return text.at;
}

MwTerm mw_function_einsum(MwExpander *ex, const MwCall *call)
{
    Contraction c = {.call = call};
    const char *equation;
    int first, ranks[MW_EINSUM_MAX_OPERANDS];
    if (!find_equation(ex, call, &equation, &first))
        return mw_term_none();
    c.count = call->rest_count - first;
    if (c.count < 1 || c.count > MW_EINSUM_MAX_OPERANDS) {
        mw_expand_error(ex, call->site.span, "einsum takes 1 to %d operands, not %d",
                        MW_EINSUM_MAX_OPERANDS, c.count);
        return mw_term_none();
    }
    for (int k = 0; k < c.count; k++) {
        MwWant want = {"an operand of einsum", call->rest[first + k].span};
        if (!mw_want_tensor(ex, call->rest[first + k].term, want, &c.value[k]))
            return mw_term_none();
        ranks[k] = mw_value_tensor(ex->graph, c.value[k])->rank;
    }
    equation = mw_einsum_spell_dots(ex->arena, equation, ranks, c.count);
    equation = spell_diagonals(ex, equation, &c);
    if (!equation)
        return mw_term_none();
    if (c.count > 2) {
        if (!read_equation(ex, call, equation, &c) || !bind_sizes(ex, call, equation, &c))
            return mw_term_none();
        return mw_term_tensor(contract(ex, &c));
    }
    return mw_term_tensor(emit_last(ex, call, equation, c.value, c.count));
}
