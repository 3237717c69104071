/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/storage.h"

#include "codegen/fuse/gemm_unit.h"
#include "codegen/legal/library.h"
#include "codegen/plan/overwrite.h"

#include <string.h>

typedef struct {
    MwLiveRanges *live;
    MwStorage *out;
    int *receives; /* [positions + 1] receives before each position */
} Storage;

/* ---- Buffers ---- */

static MwStorageBuffer scratch_at(int position, int64_t bytes, bool on_host)
{
    MwTensor tensor = mw_tensor(MW_F32, 1, (int64_t[]){mw_ceil_div(bytes, 4)});
    return (MwStorageBuffer){.tensor = tensor,
                             .on_host = on_host,
                             .slots = 1,
                             .begin = position,
                             .early = position,
                             .end = position,
                             .bytes = mw_tensor_bytes(&tensor)};
}

static int add_buffer(Storage *s, MwStorageBuffer buffer)
{
    buffer.bytes = mw_tensor_bytes(&buffer.tensor);
    MwMeshStorage *mesh = s->out->mesh;
    mw_vec_push(mesh->arena, &mesh->buffers, buffer);
    return mesh->buffers.count - 1;
}

static MwStorageBuffer *buffer_of(const Storage *s, MwValueId root)
{
    int index = s->out->buffer[root.index];
    return index < 0 ? NULL : &s->out->mesh->buffers.at[index];
}

/* Whether the update of another stage may run while a root of the update is live: where one waits
 * for a receive, others go on (codegen/plan/merge.c). */
static bool waits_for_receive(const Storage *s, MwValueId root)
{
    const int begin = mw_live_begin(s->live, root);
    const int end = (int)mw_max(begin, s->live->last_use[root.index]);
    return s->receives[mw_min(end + 1, s->live->order->count)] > s->receives[begin + 1];
}

/* Whether a root is live over several tasks, and how many slots it then needs. */
static bool spans_tasks(const Storage *s, MwValueId root, int *slots)
{
    const MwLiveRanges *live = s->live;
    MwPhase from = mw_live_phase_at(live, mw_live_begin(live, root));
    MwPhase to =
        mw_live_phase_at(live, (int)mw_max(mw_live_begin(live, root), live->last_use[root.index]));
    *slots = 1;
    if (mw_live_is_persistent(live, root))
        return false;
    if (from == MW_PHASE_UPDATE)
        return live->is_moving[root.index] ||
               (live->flight->shares_update && waits_for_receive(s, root));
    if (!live->is_moving[root.index] && (live->flight->is_sequential || from == to))
        return false;
    const bool is_same = live->is_invariant[root.index] && !live->is_moving[root.index];
    if (to != MW_PHASE_UPDATE && !is_same)
        *slots = mw_flight_slots(live->flight, from, to, live->is_moving[root.index]);
    return true;
}

static bool is_collective(const Storage *s, int position)
{
    const MwLiveRanges *live = s->live;
    const MwUnit *unit = &live->units->units.at[live->order->unit[position]];
    const MwNode *node = mw_legal_at(live->legal, unit->nodes.at[0]);
    return mw_op_info(node->op)->lowering == MW_LOWER_COLLECTIVE;
}

/* The position at which a collective of the update could make `root`: when the programs before the
 * update have left its operand, or what collectives make its operand from. For other roots, the
 * position where they begin. */
static int early_position(const Storage *s, MwValueId root)
{
    const MwLiveRanges *live = s->live;
    const int position = mw_live_made_at(live, root);
    if (position < live->order->begin[MW_PHASE_UPDATE] || !is_collective(s, position))
        return mw_live_begin(live, root);
    const MwNode *node = mw_legal_at(live->legal, mw_value(live->legal->graph, root)->node.index);
    const MwValueId operand = mw_legal_root(live->legal, node->operands[0]);
    const int early = mw_live_made_at(live, operand) < 0 ? position : early_position(s, operand);
    return early < live->order->begin[MW_PHASE_UPDATE] ? early : position;
}

/* Puts root `root` into the buffer of `host`. */
static void share_buffer(Storage *s, MwValueId root, MwValueId host)
{
    const MwLiveRanges *live = s->live;
    MwStorageBuffer *buffer = buffer_of(s, host);
    s->out->buffer[root.index] = s->out->buffer[host.index];
    buffer->begin = (int)mw_min(buffer->begin, mw_max(mw_live_made_at(live, root), 0));
    buffer->written = (int)mw_max(buffer->written, mw_live_made_at(live, root));
    buffer->end = (int)mw_max(buffer->end, live->last_use[root.index]);
}

static void give_buffer(Storage *s, MwValueId root)
{
    const MwLiveRanges *live = s->live;
    int begin = mw_live_begin(live, root), early = early_position(s, root);
    MwStorageBuffer buffer = {.name = mw_value(live->legal->graph, root)->name,
                              .tensor = *mw_value_tensor(live->legal->graph, root),
                              .persistent = mw_live_is_persistent(live, root),
                              .on_host = live->legal->on_host[root.index],
                              .begin = begin,
                              .early = early,
                              .early_spans =
                                  !live->flight->is_sequential &&
                                  mw_live_phase_at(live, early) != mw_live_phase_at(live, begin),
                              .end = (int)mw_max(begin, live->last_use[root.index]),
                              .written = mw_live_made_at(live, root)};
    if (buffer.persistent)
        buffer.end = live->order->count;
    buffer.spans = spans_tasks(s, root, &buffer.slots);
    s->out->buffer[root.index] = add_buffer(s, buffer);
}

/* ---- Sharing ---- */

/* Whether `value` may be written over `target`, where nothing reads that later: by its unit, or
 * over a value that may be, which its unit changes and nothing else reads. */
static bool may_become(const Storage *s, MwValueId value, MwValueId target)
{
    const MwLiveRanges *live = s->live;
    const int position = mw_live_made_at(live, value);
    if (position < 0 || s->out->buffer[value.index] >= 0 || !mw_values_fit(live, value, target))
        return false;
    if (mw_unit_may_overwrite(live, value, target))
        return !mw_live_is_read_later(live, value, target);
    const MwValueId host = mw_unit_changes(live, value);
    return mw_has_value(host) && mw_unit_may_overwrite(live, value, host) &&
           live->last_use[host.index] == position && !live->outlives[host.index] &&
           mw_live_phase_at(live, mw_live_made_at(live, host)) ==
               mw_live_phase_at(live, position) &&
           may_become(s, host, target);
}

/* Puts `value`, and the values that it is written over, into the buffer of `target`. */
static void become(Storage *s, MwValueId value, MwValueId target)
{
    if (!mw_unit_may_overwrite(s->live, value, target))
        become(s, mw_unit_changes(s->live, value), target);
    share_buffer(s, value, target);
}

/* New values of weights and states are written over the old ones where nothing reads these
 * later. */
static void share_assigned(Storage *s)
{
    const MwLiveRanges *live = s->live;
    const MwGraph *graph = live->legal->graph;
    for (int i = 0; i < graph->assigns.count; i++) {
        MwValueId target = mw_legal_root(live->legal, graph->assigns.at[i].target);
        MwValueId value = mw_legal_root(live->legal, graph->assigns.at[i].value);
        if (mw_value_equal(target, value))
            continue;
        const bool in_place = may_become(s, value, target);
        s->out->copies[i] = !in_place;
        if (in_place)
            become(s, value, target);
    }
}

/* What a step leaves is written over what it took over, where nothing of the step reads that
 * later. */
static void share_carried(Storage *s)
{
    MwLiveRanges *live = s->live;
    const MwGraph *graph = live->legal->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op != MW_OP_SCAN_NEXT || live->units->unit_of[n] < 0)
            continue;
        MwValueId carry = mw_legal_root(live->legal, node->operands[1]);
        MwValueId next = {node->first_result};
        const int position = mw_live_made_at(live, next);
        const int last =
            live->order->loops[live->units->units.at[live->units->unit_of[n]].loop].last;
        int slots;
        const bool in_place = mw_unit_may_overwrite(live, next, carry) &&
                              !mw_live_is_read_later(live, next, carry) &&
                              !spans_tasks(s, next, &slots);
        if (s->out->buffer[carry.index] < 0)
            give_buffer(s, carry);
        s->out->next_copies[n] = !in_place;
        if (in_place)
            share_buffer(s, next, carry);
        else
            mw_live_note_use_after(live, next, (int)mw_max(position, last));
    }
}

/* New values that could not be written over the old ones are copied at the end of their program. */
static void keep_copied_values(Storage *s)
{
    MwLiveRanges *live = s->live;
    const MwGraph *graph = live->legal->graph;
    for (int i = 0; i < graph->assigns.count; i++) {
        MwValueId value = mw_legal_root(live->legal, graph->assigns.at[i].value);
        if (!s->out->copies[i] || mw_live_is_persistent(live, value))
            continue;
        int end = mw_live_program_end(live, (int)mw_max(mw_live_made_at(live, value), 0));
        mw_live_note_use_after(live, value, end);
    }
}

/* Whether the update may put the sum over ranks `value` into the buffer of `host`, a sum over
 * micro-batches that nothing reads later: it starts anew with the next step. */
static bool is_spent(const Storage *s, MwValueId value, MwValueId host, int position)
{
    const MwLiveRanges *live = s->live;
    const MwGraph *graph = live->legal->graph;
    if (position < live->order->begin[MW_PHASE_UPDATE] || !buffer_of(s, host)->persistent ||
        buffer_of(s, host)->written >= position || live->last_use[host.index] != position ||
        live->outlives[host.index] || !mw_values_fit(live, value, host))
        return false;
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwAssign *assign = &graph->assigns.at[i];
        if (mw_value_equal(mw_legal_root(live->legal, assign->value), host))
            return mw_assign_accumulates(graph, assign) &&
                   live->last_use[mw_legal_root(live->legal, assign->target).index] < position;
    }
    return false;
}

/* Whether a loop makes the value, an element at each step. */
static bool is_of_all_steps(const MwLiveRanges *live, MwValueId value)
{
    return mw_value_node(live->legal->graph, value)->op == MW_OP_SCAN_OUT;
}

/* Whether the next step takes the value over. */
static bool is_carried(const MwLiveRanges *live, MwValueId value)
{
    return mw_value_node(live->legal->graph, value)->op == MW_OP_SCAN_CARRY;
}

/* Whether `host` is read last at `position`, where `value` is made, and its buffer may be taken
 * over. */
static bool dies_for(const Storage *s, MwValueId value, MwValueId host, int position)
{
    const MwLiveRanges *live = s->live;
    const MwStorageBuffer *buffer = buffer_of(s, host);
    int slots;
    return buffer && !buffer->persistent && !buffer->spans && !spans_tasks(s, value, &slots) &&
           !mw_live_is_outside_loop(live, host, position) && !is_of_all_steps(live, value) &&
           !is_carried(live, host) && !live->outlives[host.index] && buffer->end == position &&
           buffer->written < position && mw_live_made_at(live, host) >= 0 &&
           mw_values_fit(live, value, host);
}

/* Puts a product that accumulates into the buffer of what it is added to, which was made for that
 * in the same task (codegen/fuse/gemm_absorb.c). */
static bool share_accumulated(Storage *s, const MwUnit *unit, MwValueId value)
{
    if (!mw_unit_is_gemm(s->live->legal, unit))
        return false;
    const MwValueId host = mw_unit_changes(s->live, value);
    if (!mw_has_value(host))
        return false;
    MwStorageBuffer *buffer = buffer_of(s, host);
    share_buffer(s, value, host);
    buffer->spans = spans_tasks(s, value, &buffer->slots);
    return true;
}

/* Gives result `value` of a unit the buffer of an operand that dies there, if one fits. */
static bool share_dying(Storage *s, const MwUnit *unit, MwValueId value, int position)
{
    const MwLiveRanges *live = s->live;
    const MwOp op = mw_legal_at(live->legal, unit->nodes.at[0])->op;
    const bool in_place = mw_op_info(op)->lowering == MW_LOWER_COLLECTIVE &&
                          mw_collective_in_place(mw_op_collective(op));
    if (!unit->is_kernel && !in_place)
        return false;
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(live->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            MwValueId host = mw_legal_root(live->legal, node->operands[k]);
            if ((in_place && buffer_of(s, host) && is_spent(s, value, host, position)) ||
                (dies_for(s, value, host, position) &&
                 (in_place || mw_unit_may_overwrite(live, value, host)))) {
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
    const MwLiveRanges *live = s->live;
    const MwNode *node = mw_legal_at(live->legal, unit->nodes.at[0]);
    return mw_op_info(node->op)->lowering == MW_LOWER_LIBRARY
               ? mw_library_scratch_bytes(s->out->mesh->arena, live->legal, node)
               : 0;
}

/* Gives every stored result of a unit a buffer, its own or a shared one, and the unit its scratch
 * memory. */
static void give_results(Storage *s, int index)
{
    const MwLiveRanges *live = s->live;
    const MwUnit *unit = &live->units->units.at[index];
    const int position = live->order->position[index];
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(live->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->result_count; k++) {
            MwValueId value = {node->first_result + k};
            if (!live->units->is_stored[value.index] || s->out->buffer[value.index] >= 0)
                continue;
            if (!share_accumulated(s, unit, value) && !share_dying(s, unit, value, position))
                give_buffer(s, value);
        }
    }
    int64_t bytes = scratch_bytes(s, unit);
    if (bytes)
        s->out->scratch[index] = add_buffer(s, scratch_at(position, bytes, unit->on_host));
}

/* ---- The plan ---- */

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
    mesh->positions += s->live->order->count + 1;
}

int mw_storage_add_scratch(MwStorage *storage, const MwUnits *units, int unit, int64_t bytes,
                           bool stays)
{
    const MwOrder *order = storage->order;
    const int position = order->position[unit];
    MwMeshStorage *mesh = storage->mesh;
    MwStorageBuffer buffer =
        scratch_at(storage->first_position + position, bytes, units->units.at[unit].on_host);
    for (int p = 0; p < MW_PHASE_COUNT && stays; p++) {
        if (position < order->begin[p] || position >= order->begin[p + 1])
            continue;
        buffer.begin = buffer.early = storage->first_position + order->begin[p];
        buffer.end = storage->first_position + order->begin[p + 1] - 1;
    }
    mw_vec_push(mesh->arena, &mesh->buffers, buffer);
    return mesh->buffers.count - 1;
}

static int *count_receives(MwArena *arena, const MwLiveRanges *live)
{
    const MwOrder *order = live->order;
    int *receives = MW_NEW(arena, int, order->count + 1);
    for (int p = 0; p < order->count; p++) {
        const MwUnit *unit = &live->units->units.at[order->unit[p]];
        const bool is_receive = mw_legal_at(live->legal, unit->nodes.at[0])->op == MW_OP_RECEIVE;
        receives[p + 1] = receives[p] + is_receive;
    }
    return receives;
}

MwStorage mw_storage_plan(MwMeshStorage *mesh, MwLiveRanges *live)
{
    const MwGraph *graph = live->legal->graph;
    const int first_buffer = mesh->buffers.count, units = live->units->units.count;
    MwStorage out = {.mesh = mesh,
                     .order = live->order,
                     .buffer = MW_NEW(mesh->arena, int32_t, graph->values.count),
                     .scratch = MW_NEW(mesh->arena, int32_t, units),
                     .copies = MW_NEW(mesh->arena, bool, graph->assigns.count),
                     .next_copies = MW_NEW(mesh->arena, bool, graph->nodes.count)};
    memset(out.buffer, -1, sizeof(int32_t) * (size_t)graph->values.count);
    memset(out.scratch, -1, sizeof(int32_t) * (size_t)units);
    Storage s = {.live = live, .out = &out, .receives = count_receives(mesh->arena, live)};
    for (int v = 0; v < graph->values.count; v++)
        if (live->units->is_stored[v] && mw_live_made_at(live, (MwValueId){v}) < 0)
            give_buffer(&s, (MwValueId){v});
    share_assigned(&s);
    share_carried(&s);
    keep_copied_values(&s);
    for (int p = 0; p < live->order->count; p++)
        give_results(&s, live->order->unit[p]);
    move_positions(&s, first_buffer);
    return out;
}
