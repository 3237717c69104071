/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/storage.h"

#include "codegen/memory.h"

#include <string.h>

typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    const MwUnits *units;
    const MwOrder *order;
    MwStorage *out;
    int32_t *last_use; /* [values] position of the last unit that reads a root; -1: none */
} Storage;

static const MwGraph *graph_of(const Storage *s)
{
    return s->legal->graph;
}

/* Position of the unit that computes a root; -1: a source. */
static int made_at(const Storage *s, MwValueId root)
{
    int unit = s->units->unit_of[mw_value(graph_of(s), root)->node.index];
    return unit < 0 ? -1 : s->order->position[unit];
}

static bool is_persistent(const Storage *s, MwValueId root)
{
    MwOp op = mw_value_node(graph_of(s), root)->op;
    return op == MW_OP_WEIGHT || op == MW_OP_STATE;
}

/* The last position of the program that `position` is in. */
static int program_end(const Storage *s, int position)
{
    for (int p = 0; p < MW_PHASE_COUNT; p++)
        if (position < s->order->begin[p + 1])
            return s->order->begin[p + 1] - 1;
    return s->order->count;
}

/* ---- Uses ---- */

static void note_use(Storage *s, MwValueId value, int position)
{
    int32_t *last = &s->last_use[mw_legal_root(s->legal, value).index];
    *last = (int32_t)mw_max(*last, position);
}

/* What leaves the step is read after its last task, or after the last of its micro-batch. */
static void note_leaving(Storage *s, MwValueId value)
{
    int begin = (int)mw_max(made_at(s, mw_legal_root(s->legal, value)), 0);
    int end = s->order->begin[MW_PHASE_UPDATE] - 1;
    note_use(s, value, begin > end ? s->order->count : end);
}

static void find_last_uses(Storage *s)
{
    const MwGraph *graph = graph_of(s);
    s->last_use = MW_NEW(s->arena, int32_t, graph->values.count);
    memset(s->last_use, -1, sizeof(int32_t) * (size_t)graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < mw_legal_at(s->legal, n)->operand_count && s->units->unit_of[n] >= 0;
             k++)
            note_use(s, mw_legal_at(s->legal, n)->operands[k],
                     s->order->position[s->units->unit_of[n]]);
    for (int i = 0; i < graph->outputs.count; i++)
        note_leaving(s, graph->outputs.at[i].value);
    if (mw_has_value(graph->train.loss))
        note_use(s, graph->train.loss, s->order->count);
}

/* ---- Buffers ---- */

static int add_buffer(Storage *s, MwStorageBuffer buffer)
{
    buffer.bytes = mw_tensor_bytes(&buffer.tensor);
    mw_vec_push(s->arena, &s->out->buffers, buffer);
    return s->out->buffers.count - 1;
}

static MwStorageBuffer *buffer_of(const Storage *s, MwValueId root)
{
    int index = s->out->buffer[root.index];
    return index < 0 ? NULL : &s->out->buffers.at[index];
}

/* Value `root` lies in the buffer that `host` has. */
static void share_buffer(Storage *s, MwValueId root, MwValueId host)
{
    MwStorageBuffer *buffer = buffer_of(s, host);
    s->out->buffer[root.index] = s->out->buffer[host.index];
    buffer->begin = (int)mw_min(buffer->begin, mw_max(made_at(s, root), 0));
    buffer->written = (int)mw_max(buffer->written, made_at(s, root));
    buffer->end = (int)mw_max(buffer->end, s->last_use[root.index]);
}

static void give_buffer(Storage *s, MwValueId root)
{
    int begin = (int)mw_max(made_at(s, root), 0);
    MwStorageBuffer buffer = {.value = root,
                              .tensor = *mw_value_tensor(graph_of(s), root),
                              .persistent = is_persistent(s, root),
                              .begin = begin,
                              .end = (int)mw_max(begin, s->last_use[root.index]),
                              .written = made_at(s, root)};
    if (buffer.persistent)
        buffer.end = s->order->count;
    s->out->buffer[root.index] = add_buffer(s, buffer);
}

/* ---- Writing over ---- */

/* Whether node n reads `root`, and if so, whether every time element by element, at `level`. */
static bool reads_in_place(const Storage *s, int n, MwLevel level, MwValueId root, bool *reads)
{
    const MwNode *node = mw_legal_at(s->legal, n);
    const MwUnit *unit = &s->units->units.at[s->units->unit_of[n]];
    for (int k = 0; k < node->operand_count; k++) {
        int64_t stride, entries;
        if (!mw_value_equal(mw_legal_root(s->legal, node->operands[k]), root))
            continue;
        *reads = true;
        if (unit->space.is_alone || s->units->level[n] != level ||
            mw_node_gathers(s->legal, node, k, &stride, &entries))
            return false;
        MwLayout access = mw_node_access(s->legal, node, k);
        mw_layout_collapse(&access);
        if (!mw_layout_is_dense(&access) ||
            mw_layout_elements(&access) != mw_tensor_elements(mw_value_tensor(graph_of(s), root)))
            return false;
    }
    return true;
}

/* Whether the unit of `value` may write it where `host` lies: what it reads of the host, it reads
 * at the very element that it writes, and at the same level, so that the read comes first. */
static bool unit_may_overwrite(const Storage *s, MwValueId value, MwValueId host)
{
    int n = mw_value(graph_of(s), value)->node.index;
    const MwUnit *unit = &s->units->units.at[s->units->unit_of[n]];
    if (mw_unit_accumulates(s->legal, unit))
        return mw_value_equal(mw_legal_root(s->legal, mw_legal_at(s->legal, n)->operands[0]), host);
    MwLevel level = mw_units_result_level(s->legal, s->units, n);
    for (int i = 0; i < unit->nodes.count; i++) {
        bool reads = false;
        bool fits = reads_in_place(s, unit->nodes.at[i], level, host, &reads);
        if (reads && (!fits || !unit->is_kernel || unit->space.is_alone))
            return false;
    }
    return true;
}

static bool same_storage(const Storage *s, MwValueId a, MwValueId b)
{
    const MwTensor *x = mw_value_tensor(graph_of(s), a), *y = mw_value_tensor(graph_of(s), b);
    return x->type == y->type && mw_tensor_elements(x) == mw_tensor_elements(y);
}

/* Whether a unit other than that of `value`, in the same program, reads `target` after it. */
static bool is_read_later(const Storage *s, MwValueId value, MwValueId target)
{
    int own = made_at(s, value), end = (int)mw_min(program_end(s, own), s->last_use[target.index]);
    for (int p = own + 1; p <= end; p++) {
        const MwUnit *unit = &s->units->units.at[s->order->unit[p]];
        for (int i = 0; i < unit->nodes.count; i++) {
            const MwNode *node = mw_legal_at(s->legal, unit->nodes.at[i]);
            for (int k = 0; k < node->operand_count; k++)
                if (mw_value_equal(mw_legal_root(s->legal, node->operands[k]), target))
                    return true;
        }
    }
    return false;
}

/* New values of weights and states are written over the old ones where nobody reads those later. */
static void share_assigned(Storage *s)
{
    const MwGraph *graph = graph_of(s);
    for (int i = 0; i < graph->assigns.count; i++) {
        MwValueId target = mw_legal_root(s->legal, graph->assigns.at[i].target);
        MwValueId value = mw_legal_root(s->legal, graph->assigns.at[i].value);
        if (mw_value_equal(target, value))
            continue;
        bool in_place = made_at(s, value) >= 0 && s->out->buffer[value.index] < 0 &&
                        same_storage(s, value, target) && unit_may_overwrite(s, value, target) &&
                        !is_read_later(s, value, target);
        s->out->copies[i] = !in_place;
        if (in_place)
            share_buffer(s, value, target);
    }
}

static void keep_copied_values(Storage *s)
{
    const MwGraph *graph = graph_of(s);
    for (int i = 0; i < graph->assigns.count; i++) {
        MwValueId value = mw_legal_root(s->legal, graph->assigns.at[i].value);
        if (!s->out->copies[i] || is_persistent(s, value))
            continue;
        int end = program_end(s, (int)mw_max(made_at(s, value), 0));
        note_use(s, value, end);
    }
}

/* Whether `host` dies at `position`, where `value` is made, and its buffer may be taken over. */
static bool dies_for(const Storage *s, MwValueId value, MwValueId host, int position)
{
    const MwStorageBuffer *buffer = buffer_of(s, host);
    return buffer && !buffer->persistent && buffer->end == position && buffer->written < position &&
           made_at(s, host) >= 0 && same_storage(s, value, host);
}

/* Gives result `value` of a unit the buffer of an operand that dies there, if one fits. */
static bool share_dying(Storage *s, const MwUnit *unit, MwValueId value, int position)
{
    bool reduces = mw_legal_at(s->legal, unit->nodes.at[0])->op == MW_OP_ALL_REDUCE;
    if (!unit->is_kernel && !reduces)
        return false;
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(s->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            MwValueId host = mw_legal_root(s->legal, node->operands[k]);
            if (dies_for(s, value, host, position) &&
                (reduces || unit_may_overwrite(s, value, host))) {
                share_buffer(s, value, host);
                return true;
            }
        }
    }
    return false;
}

static void give_results(Storage *s, int position)
{
    const MwUnit *unit = &s->units->units.at[s->order->unit[position]];
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(s->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->result_count; k++) {
            MwValueId value = {node->first_result + k};
            if (!s->units->is_stored[value.index] || s->out->buffer[value.index] >= 0)
                continue;
            if (!share_dying(s, unit, value, position))
                give_buffer(s, value);
        }
    }
    int64_t bytes = mw_unit_scratch_bytes(s->legal, unit);
    if (!bytes)
        return;
    MwTensor tensor = mw_tensor(MW_F32, 1, (int64_t[]){mw_ceil_div(bytes, 4)});
    s->out->scratch[s->order->unit[position]] = add_buffer(
        s, (MwStorageBuffer){
               .value = mw_no_value(), .tensor = tensor, .begin = position, .end = position});
}

/* ---- Offsets ---- */

/* What lives through the step lies first; the rest shares what follows. */
static void place_buffers(Storage *s)
{
    int count = s->out->buffers.count, moving = 0;
    MwLifetime *lifetimes = MW_NEW(s->arena, MwLifetime, count);
    int64_t fixed = 0, fixed_live = 0;
    for (int i = 0; i < count; i++) {
        MwStorageBuffer *buffer = &s->out->buffers.at[i];
        if (buffer->persistent) {
            buffer->offset = fixed;
            fixed += mw_round_up(buffer->bytes, MW_BUFFER_ALIGNMENT);
            fixed_live += buffer->bytes;
        } else {
            lifetimes[moving++] =
                (MwLifetime){.bytes = buffer->bytes, .begin = buffer->begin, .end = buffer->end};
        }
    }
    int64_t bytes = mw_memory_assign(s->arena, lifetimes, moving, MW_BUFFER_ALIGNMENT);
    s->out->live_bytes = fixed_live + mw_memory_lower_bound(s->arena, lifetimes, moving);
    s->out->arena_bytes = fixed + bytes;
    moving = 0;
    for (int i = 0; i < count; i++)
        if (!s->out->buffers.at[i].persistent)
            s->out->buffers.at[i].offset = fixed + lifetimes[moving++].offset;
}

MwStorage mw_storage_plan(const MwLegal *legal, const MwUnits *units, const MwOrder *order)
{
    const MwGraph *graph = legal->graph;
    MwArena *arena = graph->arena;
    MwStorage out = {.buffer = MW_NEW(arena, int32_t, graph->values.count),
                     .scratch = MW_NEW(arena, int32_t, units->units.count),
                     .copies = MW_NEW(arena, bool, graph->assigns.count)};
    memset(out.buffer, -1, sizeof(int32_t) * (size_t)graph->values.count);
    memset(out.scratch, -1, sizeof(int32_t) * (size_t)units->units.count);
    Storage s = {.arena = arena, .legal = legal, .units = units, .order = order, .out = &out};
    find_last_uses(&s);
    for (int v = 0; v < graph->values.count; v++)
        if (units->is_stored[v] && made_at(&s, (MwValueId){v}) < 0)
            give_buffer(&s, (MwValueId){v});
    share_assigned(&s);
    keep_copied_values(&s);
    for (int p = 0; p < order->count; p++)
        give_results(&s, p);
    place_buffers(&s);
    return out;
}
