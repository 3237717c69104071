/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every node has a digest of 128 bits of all that it computes from, down to inputs and weights by
 * their names. Graphs are the same if they have the same digests, each equally often. */
#include "ir/same.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t half[2];
} Digest;

static void mix(Digest *digest, uint64_t value)
{
    digest->half[0] = mw_hash_mix(digest->half[0], value);
    digest->half[1] = mw_hash_mix(digest->half[1] ^ UINT64_C(0x5851f42d4c957f2d), ~value);
}

static void mix_bytes(Digest *digest, const void *data, size_t bytes)
{
    mix(digest, bytes);
    mix(digest, mw_hash_bytes(data, bytes));
}

static void mix_text(Digest *digest, const char *text)
{
    mix_bytes(digest, text ? text : "", text ? strlen(text) : 0);
}

static void mix_double(Digest *digest, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    mix(digest, bits);
}

static void mix_spec(Digest *digest, MwSpec spec, int rank)
{
    mix(digest, (uint64_t)rank);
    mix(digest, mw_spec_partial(spec));
    if (rank == MW_SPEC_NOT_GIVEN)
        return;
    for (int d = 0; d < rank; d++)
        mix(digest, mw_spec_dim(spec, d));
}

static void mix_attr(Digest *digest, const MwAttr *attr)
{
    mix(digest, (uint64_t)attr->key);
    switch (mw_attr_kind(attr->key)) {
    case MW_KIND_INT:
    case MW_KIND_BOOL:
    case MW_KIND_TYPE:
        mix(digest, (uint64_t)attr->i);
        break;
    case MW_KIND_FLOAT:
        mix_double(digest, attr->f);
        break;
    case MW_KIND_TEXT:
        mix_text(digest, attr->text);
        break;
    case MW_KIND_INTS:
        mix_bytes(digest, attr->ints.at, sizeof *attr->ints.at * (size_t)attr->ints.count);
        break;
    case MW_KIND_SPEC:
        mix_spec(digest, attr->spec, attr->spec_rank);
        break;
    }
}

/* The digest of result k of the node whose own digest is `node`. */
static Digest result_digest(Digest node, int k)
{
    mix(&node, (uint64_t)k);
    return node;
}

/* The digest of a node from those of the values that it takes. */
static Digest node_digest(const MwGraph *graph, const MwNode *node, const Digest *values)
{
    Digest digest = {0};
    mix(&digest, (uint64_t)node->op);
    mix(&digest, (uint64_t)node->phase);
    for (int i = 0; i < node->attr_count; i++)
        mix_attr(&digest, &node->attrs[i]);
    for (int i = 0; i < node->operand_count; i++) {
        mix(&digest, values[node->operands[i].index].half[0]);
        mix(&digest, values[node->operands[i].index].half[1]);
    }
    for (int k = 0; k < node->result_count; k++) {
        const MwValue *value = &graph->values.at[node->first_result + k];
        mix(&digest, value->tensor.type);
        mix_bytes(&digest, value->tensor.dim, sizeof *value->tensor.dim * value->tensor.rank);
        if (mw_op_is_data(node->op))
            mix_text(&digest, value->name);
    }
    return digest;
}

/* [nodes] digests, and in `values` those of values. */
static Digest *digests_of(MwArena *arena, const MwGraph *graph, Digest *values)
{
    Digest *digests = MW_NEW(arena, Digest, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        digests[n] = node_digest(graph, node, values);
        for (int k = 0; k < node->result_count; k++)
            values[node->first_result + k] = result_digest(digests[n], k);
    }
    return digests;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(Digest));
}

/* ---- what a graph says besides ---- */

static Digest outputs_digest(const MwOutputs *outputs, const Digest *values, bool with_names)
{
    Digest digest = {0};
    for (int i = 0; i < outputs->count; i++) {
        if (with_names)
            mix_text(&digest, outputs->at[i].name);
        mix_bytes(&digest, &values[outputs->at[i].value.index], sizeof *values);
    }
    return digest;
}

/* Assignments and pins have no order. */
static Digest *unordered_digests(MwArena *arena, const MwGraph *graph, const Digest *values)
{
    const int assigns = graph->assigns.count, pins = graph->pins.count;
    Digest *digests = MW_NEW(arena, Digest, assigns + pins);
    for (int i = 0; i < assigns; i++) {
        mix_bytes(&digests[i], &values[graph->assigns.at[i].target.index], sizeof *values);
        mix_bytes(&digests[i], &values[graph->assigns.at[i].value.index], sizeof *values);
    }
    for (int i = 0; i < pins; i++) {
        const MwPin *pin = &graph->pins.at[i];
        Digest *digest = &digests[assigns + i];
        mix_bytes(digest, &values[pin->value.index], sizeof *values);
        mix_spec(digest, pin->spec, pin->has_spec ? mw_value_tensor(graph, pin->value)->rank : 0);
        mix(digest, (uint64_t)pin->ring);
        mix(digest, (uint64_t)pin->stage);
        mix(digest, (uint64_t)pin->remat);
    }
    qsort(digests, (size_t)(assigns + pins), sizeof *digests, compare);
    return digests;
}

/* A rate that is a tensor is one of graph->rates, whose names may differ. */
static void mix_rate(Digest *digest, const MwGraph *graph, const MwRate *rate)
{
    mix_double(digest, rate->tensor ? 0 : rate->number);
    for (int i = 0; i < graph->rates.count; i++)
        mix(digest, rate->tensor == graph->rates.at[i].name);
}

static void mix_overrides(Digest *digest, const MwGraph *graph, const MwOverrides *overrides)
{
    mix(digest, (uint64_t)overrides->count);
    for (int i = 0; i < overrides->count; i++) {
        mix_text(digest, overrides->at[i].pattern);
        mix_rate(digest, graph, &overrides->at[i].value);
    }
}

static void mix_patterns(Digest *digest, const MwPatterns *patterns)
{
    mix(digest, (uint64_t)patterns->count);
    for (int i = 0; i < patterns->count; i++)
        mix_text(digest, patterns->at[i]);
}

static void mix_train(Digest *digest, const MwGraph *graph, const MwTrain *train)
{
    mix_text(digest, train->loss);
    mix(digest, (uint64_t)train->optimizer);
    mix_rate(digest, graph, &train->learning_rate);
    for (int i = 0; i < MW_ATTR_COUNT; i++)
        mix_double(digest, train->option[i]);
    mix_overrides(digest, graph, &train->rates);
    mix_overrides(digest, graph, &train->decays);
    mix_patterns(digest, &train->no_decay);
    mix_patterns(digest, &train->sparse);
    mix_patterns(digest, &train->only);
    mix_double(digest, train->clip_norm);
    mix_double(digest, train->ema);
    mix(digest, (uint64_t)train->schedule);
    mix(digest, (uint64_t)train->warmup_steps);
    mix(digest, (uint64_t)train->total_steps);
    mix_double(digest, train->final_rate);
    mix(digest, (uint64_t)train->micro_batches);
    mix(digest, (uint64_t)train->states);
    mix(digest, (uint64_t)train->accumulate);
    mix(digest, (uint64_t)train->offload);
}

/* What has an order. */
static Digest ordered_digest(const MwGraph *graph, const Digest *values)
{
    Digest digest = {0};
    const Digest parts[] = {outputs_digest(&graph->outputs, values, true),
                            outputs_digest(&graph->metrics, values, true),
                            outputs_digest(&graph->rates, values, false)};
    mix_bytes(&digest, parts, sizeof parts);
    mix_text(&digest, graph->name);
    mix(&digest, (uint64_t)graph->precision);
    mix_double(&digest, graph->loss_scale.initial);
    mix(&digest, (uint64_t)graph->loss_scale.growth);
    mix(&digest, (uint64_t)graph->fp8.history);
    mix(&digest, (uint64_t)graph->fp8.margin);
    for (int i = 0; i < graph->trains.count; i++)
        mix_train(&digest, graph, &graph->trains.at[i]);
    return digest;
}

bool mw_graph_same(MwArena *arena, const MwGraph *a, const MwGraph *b)
{
    const size_t nodes = (size_t)a->nodes.count;
    const size_t unordered = (size_t)(a->assigns.count + a->pins.count);
    if (a->nodes.count != b->nodes.count || a->assigns.count != b->assigns.count ||
        a->pins.count != b->pins.count || a->trains.count != b->trains.count)
        return false;
    Digest *of_a = MW_NEW(arena, Digest, a->values.count);
    Digest *of_b = MW_NEW(arena, Digest, b->values.count);
    Digest *nodes_of_a = digests_of(arena, a, of_a), *nodes_of_b = digests_of(arena, b, of_b);
    qsort(nodes_of_a, nodes, sizeof *nodes_of_a, compare);
    qsort(nodes_of_b, nodes, sizeof *nodes_of_b, compare);
    const Digest rest_of_a = ordered_digest(a, of_a), rest_of_b = ordered_digest(b, of_b);
    return memcmp(nodes_of_a, nodes_of_b, sizeof *nodes_of_a * nodes) == 0 &&
           memcmp(unordered_digests(arena, a, of_a), unordered_digests(arena, b, of_b),
                  sizeof(Digest) * unordered) == 0 &&
           memcmp(&rest_of_a, &rest_of_b, sizeof rest_of_a) == 0;
}
