/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding rules of contractions, look-ups and attention. */
#include "ir/einsum.h"
#include "ir/sharding/rules.h"

/* Every letter of the equation is a factor. */
void mw_factors_einsum(MwShardingContext *context)
{
    MwEinsum einsum;
    const char *wrong = mw_einsum_parse(mw_node_text(context->node, MW_ATTR_EQUATION), &einsum);
    MW_ASSERT(!wrong);
    int64_t size[MW_EINSUM_MAX_LETTERS] = {0};
    for (int k = 0; k < einsum.operand_count; k++)
        for (int d = 0; d < einsum.rank[k]; d++)
            size[einsum.operand[k][d]] = mw_sharding_operand(context, k)->dim[d];
    for (int i = 0; i < einsum.letter_count; i++)
        mw_sharding_add(context, size[i]);
    for (int k = 0; k < einsum.operand_count; k++)
        for (int d = 0; d < einsum.rank[k]; d++)
            mw_sharding_operand_runs(context, k, d, einsum.operand[k][d]);
    for (int d = 0; d < einsum.result_rank; d++)
        mw_sharding_result_runs(context, 0, d, einsum.result[d]);
}

/* Adds a factor for a looked-up dimension: it may be split, but is not looped over. */
static int add_looked_up(MwShardingContext *context, int64_t size)
{
    return mw_sharding_add_divided(context, 1, size);
}

/* (ids, table) -> rows: an index outside the local part of the table gives zero, so the sum over
 * devices is the row. */
void mw_factors_embedding(MwShardingContext *context)
{
    const MwTensor *ids = mw_sharding_operand(context, 0), *table = mw_sharding_operand(context, 1);
    for (int d = 0; d < ids->rank; d++) {
        int factor = mw_sharding_add(context, ids->dim[d]);
        mw_sharding_operand_runs(context, 0, d, factor);
        mw_sharding_result_runs(context, 0, d, factor);
    }
    mw_sharding_operand_runs(context, 1, 0, add_looked_up(context, table->dim[0]));
    int width = mw_sharding_add(context, table->dim[1]);
    mw_sharding_operand_runs(context, 1, 1, width);
    mw_sharding_result_runs(context, 0, ids->rank, width);
}

/* (ids, d) -> table: the contributions of all ids are summed. */
void mw_factors_embedding_grad(MwShardingContext *context)
{
    const MwTensor *ids = mw_sharding_operand(context, 0), *d = mw_sharding_operand(context, 1);
    for (int i = 0; i < ids->rank; i++) {
        int factor = mw_sharding_add(context, ids->dim[i]);
        mw_sharding_operand_runs(context, 0, i, factor);
        mw_sharding_operand_runs(context, 1, i, factor);
    }
    int entries = add_looked_up(context, mw_sharding_result(context, 0)->dim[0]);
    mw_sharding_result_runs(context, 0, 0, entries);
    int width = mw_sharding_add(context, d->dim[ids->rank]);
    mw_sharding_operand_runs(context, 1, ids->rank, width);
    mw_sharding_result_runs(context, 0, 1, width);
}

/* (table, ids, rows) -> table: every device goes through all ids. */
void mw_factors_put_rows(MwShardingContext *context)
{
    const MwTensor *table = mw_sharding_operand(context, 0), *ids = mw_sharding_operand(context, 1);
    for (int i = 0; i < ids->rank; i++) {
        const int factor = mw_sharding_add_fixed(context, ids->dim[i]);
        mw_sharding_operand_runs(context, 1, i, factor);
        mw_sharding_operand_runs(context, 2, i, factor);
    }
    const int entries = add_looked_up(context, table->dim[0]);
    const int width = mw_sharding_add(context, table->dim[1]);
    mw_sharding_operand_runs(context, 0, 0, entries);
    mw_sharding_operand_runs(context, 0, 1, width);
    mw_sharding_operand_runs(context, 2, ids->rank, width);
    mw_sharding_result_runs(context, 0, 0, entries);
    mw_sharding_result_runs(context, 0, 1, width);
}

/* ids[n] -> [n]: any id may be equal to any other. */
void mw_factors_first_equal(MwShardingContext *context)
{
    const int ids = mw_sharding_add_fixed(context, mw_sharding_operand(context, 0)->dim[0]);
    mw_sharding_operand_runs(context, 0, 0, ids);
    mw_sharding_result_runs(context, 0, 0, ids);
}

/* (x[.., n], ids[..]) -> [..] */
void mw_factors_pick(MwShardingContext *context)
{
    const MwTensor *x = mw_sharding_operand(context, 0);
    int last = x->rank - 1;
    for (int d = 0; d < last; d++) {
        int factor = mw_sharding_add(context, x->dim[d]);
        mw_sharding_operand_runs(context, 0, d, factor);
        mw_sharding_operand_runs(context, 1, d, factor);
        mw_sharding_result_runs(context, 0, d, factor);
    }
    mw_sharding_operand_runs(context, 0, last, add_looked_up(context, x->dim[last]));
}

/* (ids[..], d[..]) -> [.., n]: every element is written, so n is looped over. */
void mw_factors_pick_grad(MwShardingContext *context)
{
    const MwTensor *result = mw_sharding_result(context, 0);
    for (int d = 0; d < result->rank; d++) {
        int factor = mw_sharding_add(context, result->dim[d]);
        mw_sharding_result_runs(context, 0, d, factor);
        for (int k = 0; k < 2 && d < result->rank - 1; k++)
            mw_sharding_operand_runs(context, k, d, factor);
    }
}

/* (x[.., n], ids[.., k]) -> [.., k] */
void mw_factors_take_along(MwShardingContext *context)
{
    const MwTensor *x = mw_sharding_operand(context, 0), *ids = mw_sharding_operand(context, 1);
    const int last = ids->rank - 1;
    for (int d = 0; d <= last; d++) {
        int factor = mw_sharding_add(context, ids->dim[d]);
        if (d < last)
            mw_sharding_operand_runs(context, 0, d, factor);
        mw_sharding_operand_runs(context, 1, d, factor);
        mw_sharding_result_runs(context, 0, d, factor);
    }
    mw_sharding_operand_runs(context, 0, last, add_looked_up(context, x->dim[last]));
}

/* (ids[.., k], d[.., k]) -> [.., n]: the contributions of all ids are summed. The routine counts
 * from the first element of a row, so that rows stay whole. */
void mw_factors_take_along_grad(MwShardingContext *context)
{
    const MwTensor *ids = mw_sharding_operand(context, 0);
    const int last = ids->rank - 1;
    for (int d = 0; d <= last; d++) {
        int factor = mw_sharding_add(context, ids->dim[d]);
        mw_sharding_operand_runs(context, 0, d, factor);
        mw_sharding_operand_runs(context, 1, d, factor);
        if (d < last)
            mw_sharding_result_runs(context, 0, d, factor);
    }
    mw_sharding_result_runs(
        context, 0, last,
        mw_sharding_add_fixed(context, mw_sharding_result(context, 0)->dim[last]));
}

/* The loops of attention. Query heads that share a key head stay together, so heads split by the
 * number of key heads; every query needs its whole head. */
typedef struct {
    int batch, head, query, key, width;
} AttentionFactors;

static AttentionFactors add_attention(MwShardingContext *context)
{
    const MwTensor *q = mw_sharding_operand(context, 0), *k = mw_sharding_operand(context, 1);
    AttentionFactors f;
    f.batch = mw_sharding_add(context, q->dim[0]);
    f.head = mw_sharding_add(context, k->dim[2]);
    f.query = mw_sharding_add(context, q->dim[1]);
    f.key = mw_sharding_add(context, k->dim[1]);
    f.width = mw_sharding_add_fixed(context, q->dim[3]);
    mw_sharding_add_fixed(context, q->dim[2] / k->dim[2]);
    if (mw_node_int(context->node, MW_ATTR_CAUSAL))
        context->rule->uneven = f.query;
    return f;
}

typedef void RunsOver(MwShardingContext *context, int k, int dim, int factor);

/* Sets the factors of the dimensions [batch, sequence, heads, width] of tensor k; a log-sum-exp
 * has no width. */
static void attention_dims(MwShardingContext *context, RunsOver *runs, int k,
                           const AttentionFactors *f, int sequence, bool has_width)
{
    runs(context, k, 0, f->batch);
    runs(context, k, 1, sequence);
    runs(context, k, 2, f->head);
    if (has_width)
        runs(context, k, 3, f->width);
}

/* Sets the factors of the dimensions [batch, heads, queries, keys] of the mask k; those of size 1
 * are stretched, and run over none. */
static void mask_dims(MwShardingContext *context, RunsOver *runs, int k, const MwTensor *mask,
                      const AttentionFactors *f)
{
    const MwTensor *q = mw_sharding_operand(context, 0), *key = mw_sharding_operand(context, 1);
    const int64_t size[] = {q->dim[0], q->dim[2], q->dim[1], key->dim[1]};
    const int factor[] = {f->batch, f->head, f->query, f->key};
    for (int d = 0; d < MW_COUNT(size); d++)
        if (mask->dim[d] == size[d])
            runs(context, k, d, factor[d]);
}

/* Whether the operator has operand k; nodes may have more, for which they only wait (the operator
 * `run_after`). */
static bool has_operand(const MwShardingContext *context, int k)
{
    return k < mw_op_info(context->node->op)->operands;
}

/* Lets keys go round the devices that split the queries (Liu et al., Ring Attention with Blockwise
 * Transformers, 2023), unless a mask has an element for each query and key: a device would need a
 * row of its blocks, of which it has one. */
static void add_ring(MwShardingContext *context, int mask, const AttentionFactors *f)
{
    if (has_operand(context, mask)) {
        const MwFactorMap *map = &context->rule->operands[mask];
        if (map->factor[2] >= 0 && map->factor[3] >= 0)
            return;
    }
    context->rule->ring.stays = f->query;
    context->rule->ring.travels = f->key;
}

/* (q, k, v[, mask]): the results are a mean over the keys and its log-sum-exp. */
void mw_factors_sdpa(MwShardingContext *context)
{
    AttentionFactors f = add_attention(context);
    attention_dims(context, mw_sharding_operand_runs, 0, &f, f.query, true);
    attention_dims(context, mw_sharding_operand_runs, 1, &f, f.key, true);
    attention_dims(context, mw_sharding_operand_runs, 2, &f, f.key, true);
    attention_dims(context, mw_sharding_result_runs, 0, &f, f.query, true);
    attention_dims(context, mw_sharding_result_runs, 1, &f, f.query, false);
    context->rule->normaliser = 1;
    if (has_operand(context, 3))
        mask_dims(context, mw_sharding_operand_runs, 3, mw_sharding_operand(context, 3), &f);
    add_ring(context, 3, &f);
}

/* The operands (q, k, v, out, lse, d[, mask]). */
static AttentionFactors add_attention_gradient(MwShardingContext *context)
{
    AttentionFactors f = add_attention(context);
    attention_dims(context, mw_sharding_operand_runs, 0, &f, f.query, true);
    attention_dims(context, mw_sharding_operand_runs, 1, &f, f.key, true);
    attention_dims(context, mw_sharding_operand_runs, 2, &f, f.key, true);
    attention_dims(context, mw_sharding_operand_runs, 3, &f, f.query, true);
    attention_dims(context, mw_sharding_operand_runs, 4, &f, f.query, false);
    attention_dims(context, mw_sharding_operand_runs, 5, &f, f.query, true);
    if (has_operand(context, 6))
        mask_dims(context, mw_sharding_operand_runs, 6, mw_sharding_operand(context, 6), &f);
    return f;
}

/* The gradients of keys and values are sums over queries, those of queries are sums over keys. */
void mw_factors_sdpa_grad(MwShardingContext *context)
{
    const AttentionFactors f = add_attention_gradient(context);
    attention_dims(context, mw_sharding_result_runs, 0, &f, f.query, true);
    attention_dims(context, mw_sharding_result_runs, 1, &f, f.key, true);
    attention_dims(context, mw_sharding_result_runs, 2, &f, f.key, true);
    add_ring(context, 6, &f);
}

/* The gradient of the mask is a sum over what the mask is stretched over. */
void mw_factors_sdpa_mask_grad(MwShardingContext *context)
{
    const AttentionFactors f = add_attention_gradient(context);
    mask_dims(context, mw_sharding_result_runs, 0, mw_sharding_result(context, 0), &f);
}
