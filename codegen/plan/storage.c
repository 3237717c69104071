/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/storage.h"

#include "codegen/fuse/gemm_unit.h"
#include "codegen/legal/library.h"
#include "codegen/plan/memory.h"

#include <string.h>

typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    const MwUnits *units;
    const MwOrder *order;
    const MwFlight *flight;
    MwStorage *out;
    int32_t *last_use; /* [values] position of the last unit that reads a root; -1: none */
    bool *is_moving;   /* [values] a root that is sent or received */
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

/* The program that `position` is in; after all, the update. */
static MwPhase phase_at(const Storage *s, int position)
{
    for (int p = 0; p < MW_PHASE_COUNT; p++)
        if (position < s->order->begin[p + 1])
            return (MwPhase)p;
    return MW_PHASE_UPDATE;
}

/* The last position of the program that `position` is in. */
static int program_end(const Storage *s, int position)
{
    return position < s->order->count ? s->order->begin[phase_at(s, position) + 1] - 1
                                      : s->order->count;
}

MwPhase mw_storage_input_phase(const MwLegal *legal, const MwUnits *units, MwValueId root)
{
    const MwGraph *graph = legal->graph;
    MwPhase first = MW_PHASE_UPDATE;
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count && units->unit_of[n] >= 0; k++)
            if (mw_value_equal(mw_legal_root(legal, graph->nodes.at[n].operands[k]), root) &&
                graph->nodes.at[n].phase < first)
                first = graph->nodes.at[n].phase;
    return first == MW_PHASE_UPDATE ? MW_PHASE_FORWARD : first;
}

/* The first position at which a root is there. */
static int begin_of(const Storage *s, MwValueId root)
{
    if (mw_value_node(graph_of(s), root)->op == MW_OP_INPUT)
        return s->order->begin[mw_storage_input_phase(s->legal, s->units, root)];
    return (int)mw_max(made_at(s, root), 0);
}

/* ---- Uses ---- */

static void note_use(Storage *s, MwValueId value, int position)
{
    int32_t *last = &s->last_use[mw_legal_root(s->legal, value).index];
    *last = (int32_t)mw_max(*last, position);
}

/* What leaves the step is read at its end, or after the last program of its micro-batch; where other
 * tasks may run before that, after the program that makes it. */
static void note_leaving(Storage *s, MwValueId value)
{
    MwValueId root = mw_legal_root(s->legal, value);
    int begin = begin_of(s, root), end = s->order->begin[MW_PHASE_UPDATE] - 1;
    if (is_persistent(s, root) || begin > end)
        note_use(s, value, s->order->count);
    else
        note_use(s, value, s->flight->is_chain ? end : program_end(s, begin));
}

static void note_moving(Storage *s, const MwNode *node)
{
    if (node->op == MW_OP_SEND)
        s->is_moving[mw_legal_root(s->legal, node->operands[0]).index] = true;
    if (node->op == MW_OP_RECEIVE)
        s->is_moving[node->first_result] = true;
}

static void find_last_uses(Storage *s)
{
    const MwGraph *graph = graph_of(s);
    s->last_use = MW_NEW(s->arena, int32_t, graph->values.count);
    memset(s->last_use, -1, sizeof(int32_t) * (size_t)graph->values.count);
    s->is_moving = MW_NEW(s->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        note_moving(s, mw_legal_at(s->legal, n));
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

static MwStorageBuffer scratch_at(int position, int64_t bytes)
{
    MwTensor tensor = mw_tensor(MW_F32, 1, (int64_t[]){mw_ceil_div(bytes, 4)});
    return (MwStorageBuffer){.tensor = tensor,
                             .slots = 1,
                             .begin = position,
                             .early = position,
                             .end = position,
                             .bytes = mw_tensor_bytes(&tensor)};
}

static int add_buffer(Storage *s, MwStorageBuffer buffer)
{
    buffer.bytes = mw_tensor_bytes(&buffer.tensor);
    mw_vec_push(s->arena, &s->out->mesh->buffers, buffer);
    return s->out->mesh->buffers.count - 1;
}

static MwStorageBuffer *buffer_of(const Storage *s, MwValueId root)
{
    int index = s->out->buffer[root.index];
    return index < 0 ? NULL : &s->out->mesh->buffers.at[index];
}

/* Whether a root lives over several tasks, and in how many slots. */
static bool spans_tasks(const Storage *s, MwValueId root, int *slots)
{
    MwPhase from = phase_at(s, begin_of(s, root));
    MwPhase to = phase_at(s, (int)mw_max(begin_of(s, root), s->last_use[root.index]));
    *slots = 1;
    if (is_persistent(s, root))
        return false;
    if (from == MW_PHASE_UPDATE)
        return s->is_moving[root.index] || s->flight->shares_update;
    if (!s->is_moving[root.index] && (s->flight->is_chain || from == to))
        return false;
    if (to != MW_PHASE_UPDATE)
        *slots = (int)mw_min(s->flight->slots[from][to] + s->is_moving[root.index],
                             s->flight->micro_batches);
    return true;
}

static bool is_collective(const Storage *s, int position)
{
    const MwUnit *unit = &s->units->units.at[s->order->unit[position]];
    const MwNode *node = mw_legal_at(s->legal, unit->nodes.at[0]);
    return mw_op_info(node->op)->lowering == MW_LOWER_COLLECTIVE;
}

/* The position at which all is there that a collective of the update makes `root` of: it, or others
 * before it, from values of the programs before. The root's own position for others. */
static int early_position(const Storage *s, MwValueId root)
{
    const int position = made_at(s, root);
    if (position < s->order->begin[MW_PHASE_UPDATE] || !is_collective(s, position))
        return begin_of(s, root);
    const MwNode *node = mw_legal_at(s->legal, mw_value(graph_of(s), root)->node.index);
    const MwValueId operand = mw_legal_root(s->legal, node->operands[0]);
    const int early = made_at(s, operand) < 0 ? position : early_position(s, operand);
    return early < s->order->begin[MW_PHASE_UPDATE] ? early : position;
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
    int begin = begin_of(s, root), early = early_position(s, root);
    MwStorageBuffer buffer = {.name = mw_value(graph_of(s), root)->name,
                              .tensor = *mw_value_tensor(graph_of(s), root),
                              .persistent = is_persistent(s, root),
                              .begin = begin,
                              .early = early,
                              .early_spans =
                                  !s->flight->is_chain && phase_at(s, early) != phase_at(s, begin),
                              .end = (int)mw_max(begin, s->last_use[root.index]),
                              .written = made_at(s, root)};
    if (buffer.persistent)
        buffer.end = s->order->count;
    buffer.spans = spans_tasks(s, root, &buffer.slots);
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
 * at the very element that it writes, and at the same level, so that the read comes first. Of what a
 * contraction makes, an accumulation alone is so. */
static bool unit_may_overwrite(const Storage *s, MwValueId value, MwValueId host)
{
    int n = mw_value(graph_of(s), value)->node.index;
    const MwUnit *unit = &s->units->units.at[s->units->unit_of[n]];
    if (mw_unit_is_gemm(s->legal, unit)) {
        const MwNode *node = mw_legal_at(s->legal, n);
        return node->op == MW_OP_ACCUMULATE &&
               mw_value_equal(mw_legal_root(s->legal, node->operands[0]), host);
    }
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

/* Whether the update may leave a sum over ranks in `host`, of which nobody reads the sum over
 * micro-batches later: that starts anew with the next step. */
static bool is_spent(const Storage *s, MwValueId value, MwValueId host, int position)
{
    const MwGraph *graph = graph_of(s);
    if (position < s->order->begin[MW_PHASE_UPDATE] || !buffer_of(s, host)->persistent ||
        buffer_of(s, host)->written >= position || s->last_use[host.index] != position ||
        !same_storage(s, value, host))
        return false;
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwAssign *assign = &graph->assigns.at[i];
        if (mw_value_equal(mw_legal_root(s->legal, assign->value), host))
            return mw_assign_accumulates(graph, assign) &&
                   s->last_use[mw_legal_root(s->legal, assign->target).index] < position;
    }
    return false;
}

/* Whether `host` dies at `position`, where `value` is made, and its buffer may be taken over. */
static bool dies_for(const Storage *s, MwValueId value, MwValueId host, int position)
{
    const MwStorageBuffer *buffer = buffer_of(s, host);
    int slots;
    return buffer && !buffer->persistent && !buffer->spans && !spans_tasks(s, value, &slots) &&
           buffer->end == position && buffer->written < position && made_at(s, host) >= 0 &&
           same_storage(s, value, host);
}

/* Gives result `value` of a unit the buffer of an operand that dies there, if one fits. */
static bool share_dying(Storage *s, const MwUnit *unit, MwValueId value, int position)
{
    const MwOp op = mw_legal_at(s->legal, unit->nodes.at[0])->op;
    const bool in_place = mw_op_info(op)->lowering == MW_LOWER_COLLECTIVE &&
                          mw_collective_in_place(mw_op_collective(op));
    if (!unit->is_kernel && !in_place)
        return false;
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(s->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            MwValueId host = mw_legal_root(s->legal, node->operands[k]);
            if ((in_place && buffer_of(s, host) && is_spent(s, value, host, position)) ||
                (dies_for(s, value, host, position) &&
                 (in_place || unit_may_overwrite(s, value, host)))) {
                share_buffer(s, value, host);
                return true;
            }
        }
    }
    return false;
}

/* The memory that the routine of a library operator works in. */
static int64_t scratch_bytes(const Storage *s, const MwUnit *unit)
{
    const MwNode *node = mw_legal_at(s->legal, unit->nodes.at[0]);
    return mw_op_info(node->op)->lowering == MW_LOWER_LIBRARY
               ? mw_library_scratch_bytes(s->arena, s->legal, node)
               : 0;
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
    int64_t bytes = scratch_bytes(s, unit);
    if (bytes)
        s->out->scratch[s->order->unit[position]] = add_buffer(s, scratch_at(position, bytes));
}

/* ---- Offsets ---- */

static bool has_own_place(const MwStorageBuffer *buffer, bool overlaps)
{
    return buffer->persistent || buffer->spans || (overlaps && buffer->early_spans);
}

/* What lives through the step or over tasks lies first; the rest shares what follows. */
static void place(MwArena *arena, MwMeshStorage *mesh, bool overlaps)
{
    int count = mesh->buffers.count, moving = 0;
    MwLifetime *lifetimes = MW_NEW(arena, MwLifetime, count);
    int64_t fixed = 0, fixed_live = 0;
    for (int i = 0; i < count; i++) {
        MwStorageBuffer *buffer = &mesh->buffers.at[i];
        if (has_own_place(buffer, overlaps)) {
            buffer->offset = fixed;
            fixed += buffer->slots * mw_slot_bytes(buffer->bytes);
            fixed_live += buffer->bytes * buffer->slots;
        } else {
            lifetimes[moving++] = (MwLifetime){.bytes = buffer->bytes,
                                               .begin = overlaps ? buffer->early : buffer->begin,
                                               .end = buffer->end};
        }
    }
    int64_t bytes = mw_memory_assign(arena, lifetimes, moving, MW_BUFFER_ALIGNMENT);
    mesh->live_bytes = fixed_live + mw_memory_lower_bound(arena, lifetimes, moving);
    mesh->arena_bytes = fixed + bytes;
    moving = 0;
    for (int i = 0; i < count; i++)
        if (!has_own_place(&mesh->buffers.at[i], overlaps))
            mesh->buffers.at[i].offset = fixed + lifetimes[moving++].offset;
}

void mw_storage_place(MwArena *arena, MwMeshStorage *mesh, bool overlaps, int64_t limit_bytes)
{
    place(arena, mesh, overlaps);
    if (overlaps && limit_bytes && mesh->arena_bytes > limit_bytes)
        place(arena, mesh, false);
}

/* Positions of the stage become those of the mesh. */
static void move_positions(Storage *s, int first_buffer)
{
    MwMeshStorage *mesh = s->out->mesh;
    s->out->first_position = mesh->positions;
    for (int i = first_buffer; i < mesh->buffers.count; i++) {
        mesh->buffers.at[i].begin += mesh->positions;
        mesh->buffers.at[i].early += mesh->positions;
        mesh->buffers.at[i].end += mesh->positions;
    }
    mesh->positions += s->order->count + 1;
}

int mw_storage_add_scratch(MwArena *arena, MwStorage *storage, const MwOrder *order, int unit,
                           int64_t bytes, bool stays)
{
    const int position = order->position[unit];
    MwStorageBuffer buffer = scratch_at(storage->first_position + position, bytes);
    for (int p = 0; p < MW_PHASE_COUNT && stays; p++) {
        if (position < order->begin[p] || position >= order->begin[p + 1])
            continue;
        buffer.begin = buffer.early = storage->first_position + order->begin[p];
        buffer.end = storage->first_position + order->begin[p + 1] - 1;
    }
    mw_vec_push(arena, &storage->mesh->buffers, buffer);
    return storage->mesh->buffers.count - 1;
}

MwStorage mw_storage_plan(MwMeshStorage *mesh, const MwLegal *legal, const MwUnits *units,
                          const MwOrder *order, const MwFlight *flight)
{
    const MwGraph *graph = legal->graph;
    MwArena *arena = graph->arena;
    int first_buffer = mesh->buffers.count;
    MwStorage out = {.mesh = mesh,
                     .buffer = MW_NEW(arena, int32_t, graph->values.count),
                     .scratch = MW_NEW(arena, int32_t, units->units.count),
                     .copies = MW_NEW(arena, bool, graph->assigns.count)};
    memset(out.buffer, -1, sizeof(int32_t) * (size_t)graph->values.count);
    memset(out.scratch, -1, sizeof(int32_t) * (size_t)units->units.count);
    Storage s = {.arena = arena,
                 .legal = legal,
                 .units = units,
                 .order = order,
                 .flight = flight,
                 .out = &out};
    find_last_uses(&s);
    for (int v = 0; v < graph->values.count; v++)
        if (units->is_stored[v] && made_at(&s, (MwValueId){v}) < 0)
            give_buffer(&s, (MwValueId){v});
    share_assigned(&s);
    keep_copied_values(&s);
    for (int p = 0; p < order->count; p++)
        give_results(&s, p);
    move_positions(&s, first_buffer);
    return out;
}
