/* SPDX-License-Identifier: GPL-3.0-or-later */
/* runtime/plan/transfer.h: for every pair of specs on every pair of small meshes the messages bring
 * every receiver its block, each element crosses once, the work is shared, and the checker agrees;
 * and the checker finds what is wrong with other lists. */
#include "runtime/check/transfer.h"
#include "tests/reference/spread.h"
#include "tests/unit/specs.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

static const MwMeshShape meshes[] = {
    {1, {1}},    {1, {2}},    {1, {3}},    {1, {4}},    {1, {6}},       {1, {8}},
    {2, {1, 2}}, {2, {2, 2}}, {2, {2, 4}}, {2, {4, 2}}, {3, {2, 2, 2}},
};

static const MwTensor tensors[] = {
    {MW_F32, 0, {0}},       {MW_F32, 1, {1}},       {MW_F32, 1, {3}},       {MW_F32, 1, {8}},
    {MW_F32, 1, {24}},      {MW_F32, 2, {3, 5}},    {MW_F32, 2, {4, 6}},    {MW_F32, 2, {8, 8}},
    {MW_F32, 3, {2, 3, 4}}, {MW_F32, 3, {4, 1, 6}}, {MW_F32, 3, {4, 4, 8}},
};

static const char *transfer_text(MwArena *arena, const MwTransfer *t)
{
    char from[MW_SPEC_TEXT_BYTES], to[MW_SPEC_TEXT_BYTES], tensor[MW_TENSOR_TEXT_BYTES];
    char from_mesh[MW_MESH_TEXT_BYTES], to_mesh[MW_MESH_TEXT_BYTES];
    return mw_arena_printf(
        arena, "%s from %s on %s to %s on %s%s", mw_tensor_text(&t->global, tensor),
        mw_spec_text(t->from.spec, t->global.rank, from), mw_mesh_text(&t->from.mesh, from_mesh),
        mw_spec_text(t->to.spec, t->global.rank, to), mw_mesh_text(&t->to.mesh, to_mesh),
        t->broadcast ? ", broadcast" : "");
}

/* (Check writes a file at every assertion, so that loops over elements and messages assert only
 * what fails.) */

/* ---- The data ---- */

/* What a message carries: the elements of its box in the buffer of a device. */
static double *packed(MwArena *arena, const MwTransferSide *side, const Spread *spread, int rank,
                      const MwMessage *m)
{
    MwBox box = mw_transfer_shard(side, &m->box.global, rank);
    MwBox part = mw_box_within(&m->box, &box);
    double *data = MW_NEW(arena, double, mw_box_elements(&part));
    for (MwSegment segment = {0}; mw_box_next_segment(&part, &segment);)
        memcpy(data + segment.local, spread->at[rank - side->first_rank] + segment.global,
               sizeof *data * (size_t)segment.count);
    return data;
}

/* Fails where something is already. */
static void unpack(const MwTransferSide *side, Spread *spread, const MwMessage *m,
                   const double *data)
{
    MwBox box = mw_transfer_shard(side, &m->box.global, m->to);
    MwBox part = mw_box_within(&m->box, &box);
    double *buffer = spread->at[m->to - side->first_rank];
    for (MwSegment segment = {0}; mw_box_next_segment(&part, &segment);)
        for (int64_t i = 0; i < segment.count; i++) {
            if (buffer[segment.global + i] != 0)
                ck_abort_msg("element %d arrives twice", (int)(segment.global + i));
            buffer[segment.global + i] = data[segment.local + i];
        }
}

/* Hop by hop: everything is sent before anything arrives. */
static void deliver(MwArena *arena, const MwTransfer *t, const MwMessages *messages,
                    const Spread *source, Spread *target)
{
    double **data = MW_NEW(arena, double *, messages->count);
    for (int first = 0, end; first < messages->count; first = end) {
        int hop = messages->at[first].hop;
        for (end = first; end < messages->count && messages->at[end].hop == hop; end++) {
            const MwMessage *m = &messages->at[end];
            data[end] =
                packed(arena, hop == 0 ? &t->from : &t->to, hop == 0 ? source : target, m->from, m);
        }
        for (int i = first; i < end; i++)
            unpack(&t->to, target, &messages->at[i], data[i]);
    }
}

static void check_data(MwArena *arena, const MwTransfer *t, const MwMessages *messages)
{
    int64_t elements = mw_tensor_elements(&t->global);
    double *whole = MW_NEW(arena, double, elements);
    for (int64_t i = 0; i < elements; i++)
        whole[i] = (double)(i + 1);
    uint64_t random = 1;
    Spread source = spread_scatter(arena, &t->from.mesh, &t->global, whole, t->from.spec, &random);
    MwTensor local = mw_spec_local(t->to.spec, &t->global, &t->to.mesh);
    Spread target = spread_new(arena, &t->to.mesh, &local);
    deliver(arena, t, messages, &source, &target);
    ck_assert_msg(spread_error(&target, t->to.spec, &t->global, whole) == 0, "%s",
                  transfer_text(arena, t));
}

/* ---- How the work is shared ---- */

/* The least that the greatest of `devices` parts of the tensor under `spec` can be if blocks are
 * cut along one dimension, and whether parts can be equal. */
static int64_t greatest_slice(const MwTransferSide *side, const MwTensor *global, bool *is_even)
{
    MwTensor local = mw_spec_local(side->spec, global, &side->mesh);
    int64_t elements = mw_tensor_elements(&local), least = elements;
    int replicas = mw_mesh_devices(&side->mesh) / (int)(mw_tensor_elements(global) / elements);
    *is_even = replicas == 1;
    for (int d = 0; d < local.rank; d++) {
        int64_t slice = elements / local.dim[d] * mw_ceil_div(local.dim[d], replicas);
        least = mw_min(least, slice);
        *is_even |= local.dim[d] % replicas == 0;
    }
    return least;
}

static void check_shares(MwArena *arena, const MwTransfer *t, const MwMessages *messages,
                         bool of_senders)
{
    const MwTransferSide *side = of_senders ? &t->from : &t->to;
    int devices = mw_mesh_devices(&side->mesh);
    int64_t *share = MW_NEW(arena, int64_t, devices), greatest = 0, least = INT64_MAX;
    for (int i = 0; i < messages->count; i++) {
        const MwMessage *m = &messages->at[i];
        if (m->hop == 0)
            share[(of_senders ? m->from : m->to) - side->first_rank] += mw_box_elements(&m->box);
    }
    for (int device = 0; device < devices; device++) {
        greatest = mw_max(greatest, share[device]);
        least = mw_min(least, share[device]);
    }
    bool is_even;
    int64_t slice = greatest_slice(side, &t->global, &is_even);
    ck_assert_msg(greatest <= slice, "%s: a share of %d", transfer_text(arena, t), (int)greatest);
    ck_assert_msg(!is_even || greatest == least, "%s: uneven", transfer_text(arena, t));
}

/* Nobody sends or gets two messages in one hop of passing on. */
static void check_rings(const MwMessages *messages)
{
    for (int i = 0; i < messages->count; i++)
        for (int k = i + 1; k < messages->count; k++) {
            const MwMessage *a = &messages->at[i], *b = &messages->at[k];
            if (a->hop == 0 || a->hop != b->hop)
                break;
            if (a->from == b->from || a->to == b->to)
                ck_abort_msg("hop %d is no ring", a->hop);
        }
}

/* ---- One rank's view ---- */

static bool same_message(const MwMessage *a, const MwMessage *b)
{
    return a->from == b->from && a->to == b->to && a->hop == b->hop &&
           memcmp(&a->box, &b->box, sizeof a->box) == 0;
}

/* The messages that `rank` sends (receives), taken from all, are its list, in the same order. */
static void check_view(const MwMessages *all, const MwMessages *list, int rank, bool sends)
{
    int next = 0;
    for (int i = 0; i < all->count; i++)
        if ((sends ? all->at[i].from : all->at[i].to) == rank) {
            if (next == list->count || !same_message(&all->at[i], &list->at[next++]))
                ck_abort_msg("rank %d does not know message %d", rank, i);
        }
    if (next < list->count)
        ck_abort_msg("rank %d knows of another message", rank);
}

static void check_transfer(MwArena *arena, const MwTransfer *t)
{
    ck_assert(mw_transfer_is_valid(t));
    MwMessages messages = mw_transfer_messages(arena, t);
    ck_assert_int_eq(mw_transfer_crossing_bytes(&messages), mw_tensor_bytes(&t->global));
    ck_assert_int_eq(mw_transfer_least_bytes(t), mw_tensor_bytes(&t->global));
    const char *fault = mw_transfer_check(arena, t, &messages);
    ck_assert_msg(!fault, "%s: %s", transfer_text(arena, t), fault);
    check_data(arena, t, &messages);
    check_shares(arena, t, &messages, true);
    if (!t->broadcast)
        check_shares(arena, t, &messages, false);
    check_rings(&messages);
    int end = t->to.first_rank + mw_mesh_devices(&t->to.mesh);
    for (int rank = 0; rank <= end; rank++) {
        MwRankMessages own = mw_transfer_of_rank(arena, t, rank);
        check_view(&messages, &own.sends, rank, true);
        check_view(&messages, &own.receives, rank, false);
    }
}

static void check_pair(const MwTensor *tensor, const MwMeshShape *from, const MwMeshShape *to)
{
    MwArena *arena = mw_arena_new();
    Specs sends = complete_specs(arena, tensor, from), wants = complete_specs(arena, tensor, to);
    for (int s = 0; s < sends.count; s++)
        for (int w = s % CASE_STRIDE; w < wants.count; w += CASE_STRIDE) {
            MwArena *scratch = mw_arena_new();
            MwTransfer t = {.global = *tensor,
                            .from = {sends.at[s], *from, 1},
                            .to = {wants.at[w], *to, 1 + mw_mesh_devices(from)}};
            check_transfer(scratch, &t);
            t.broadcast = true;
            check_transfer(scratch, &t);
            mw_arena_free(&scratch);
        }
    mw_arena_free(&arena);
}

START_TEST(every_pair_of_specs_on_small_meshes)
{
    for (int t = 0; t < MW_COUNT(tensors); t++)
        for (int to = 0; to < MW_COUNT(meshes); to++)
            check_pair(&tensors[t], &meshes[_i], &meshes[to]);
}
END_TEST

/* ---- Transfers by name ---- */

static MwTransfer transfer_of(const char *tensor_dims, const char *from_mesh, const char *from,
                              const char *to_mesh, const char *to)
{
    MwTransfer t = {.global = {.type = MW_F32}};
    for (char *end; *tensor_dims; tensor_dims = *end ? end + 1 : end)
        t.global.dim[t.global.rank++] = strtol(tensor_dims, &end, 10);
    int rank;
    ck_assert(mw_mesh_parse(from_mesh, &t.from.mesh) && mw_mesh_parse(to_mesh, &t.to.mesh));
    ck_assert(mw_spec_parse(from, &t.from.spec, &rank) && rank == t.global.rank);
    ck_assert(mw_spec_parse(to, &t.to.spec, &rank) && rank == t.global.rank);
    t.to.first_rank = mw_mesh_devices(&t.from.mesh);
    return t;
}

/* Parts of senders and receivers are cut to match: no more messages cross than must. */
START_TEST(few_messages_cross)
{
    static const struct {
        const char *tensor, *from_mesh, *from, *to_mesh, *to;
        int crossing, hops;
    } cases[] = {
        {"8x8", "4", "[S0, R]", "4", "[S0, R]", 4, 1},
        {"8x8", "4", "[S0, R]", "4", "[R, S0]", 16, 1},
        {"8x8", "2", "[S0, R]", "4", "[S0, R]", 4, 1},
        /* Each sender serves one receiver; each receiver gets one part and gathers. */
        {"8x8", "4", "[R, R]", "4", "[R, S0]", 4, 1},
        {"8x8", "4", "[S0, R]", "4", "[R, R]", 4, 3},
        {"8x8", "8", "[R, R]", "8", "[R, R]", 8, 4},
        {"8x8", "2x4", "[S0, R]", "2x4", "[R, S1]", 8, 2},
        {"8x8", "2x2", "[S0, R]", "2x2", "[R, S0]", 4, 2},
        {"12", "3", "[R]", "6", "[R]", 6, 4},
        /* Nothing to cut: one message, which then runs down a tree. */
        {"1", "4", "[R]", "8", "[R]", 1, 4},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwArena *arena = mw_arena_new();
        MwTransfer t = transfer_of(cases[i].tensor, cases[i].from_mesh, cases[i].from,
                                   cases[i].to_mesh, cases[i].to);
        MwMessages messages = mw_transfer_messages(arena, &t);
        int crossing = 0;
        for (int k = 0; k < messages.count; k++)
            crossing += messages.at[k].hop == 0;
        int hops = mw_vec_last(&messages).hop + 1;
        if (crossing != cases[i].crossing || hops != cases[i].hops)
            ck_abort_msg("%s: %d messages, %d hops", transfer_text(arena, &t), crossing, hops);
        mw_arena_free(&arena);
    }
}
END_TEST

/* On meshes of thousands a rank lists its own messages, and those are few. */
START_TEST(one_rank_of_thousands)
{
    MwArena *arena = mw_arena_new();
    MwTransfer t = transfer_of("4096x8192", "64x64", "[S0, S1]", "64x64", "[S0, R]");
    for (int rank = 0; rank < 8192; rank += 97) {
        MwRankMessages own = mw_transfer_of_rank(arena, &t, rank);
        /* Its part to one; then from one, and the parts of 64 replicas in 6 hops. */
        ck_assert_int_eq(own.sends.count, rank < 4096 ? 1 : 6);
        ck_assert_int_eq(own.receives.count, rank < 4096 ? 0 : 7);
    }
    mw_arena_free(&arena);
}
END_TEST

/* ---- The checker ---- */

/* Each spoils the messages of [S0, R] on 2 to [R, R] on 2, which are: 0 to 2 and 1 to 3 across,
 * then 2 to 3 and 3 to 2 within the receiving mesh. */
static void drop_last(MwMessages *messages)
{
    messages->count--;
}

static void drop_crossing(MwMessages *messages)
{
    messages->count--;
    memmove(messages->at, messages->at + 1, sizeof *messages->at * (size_t)messages->count);
}

static void swap_order(MwMessages *messages)
{
    MwMessage first = messages->at[0];
    messages->at[0] = messages->at[1];
    messages->at[1] = first;
}

/* Swaps the two hops in which four receivers pass on, four messages each. */
static void swap_hops(MwMessages *messages)
{
    for (int i = 4; i < 8; i++) {
        MwMessage first = messages->at[i];
        messages->at[i] = messages->at[i + 4];
        messages->at[i + 4] = first;
        messages->at[i].hop = 1;
        messages->at[i + 4].hop = 2;
    }
}

static int by_sender(const void *a, const void *b)
{
    const MwMessage *x = a, *y = b;
    return x->from != y->from ? x->from - y->from : x->to - y->to;
}

/* Makes four receivers pass on in one hop, in which some send what only that hop brings. */
static void merge_hops(MwMessages *messages)
{
    for (int i = 8; i < 12; i++)
        messages->at[i].hop = 1;
    qsort(messages->at + 4, 8, sizeof *messages->at, by_sender);
}

static void send_twice(MwMessages *messages)
{
    MwMessage again = messages->at[2];
    again.hop = 2;
    messages->at[messages->count++] = again; /* the list has room for 8 */
}

static void cross_twice(MwMessages *messages)
{
    messages->at[2].hop = messages->at[3].hop = 0;
    messages->at[2].from = 0;
    messages->at[2].to = 3;
    messages->at[3].from = 1;
    messages->at[3].to = 2;
    MwMessage second = messages->at[1];
    messages->at[1] = messages->at[2];
    messages->at[2] = messages->at[3];
    messages->at[3] = second;
}

static void send_what_another_has(MwMessages *messages)
{
    messages->at[0].from = 1;
}

static void send_to_itself(MwMessages *messages)
{
    messages->at[3].to = 3;
}

static void send_back(MwMessages *messages)
{
    messages->at[1].to = 1;
}

static void pass_from_sender(MwMessages *messages)
{
    messages->at[2].from = 0;
}

static void leave_the_tensor(MwMessages *messages)
{
    messages->at[1].box.start[0] += 1;
}

static void empty_a_box(MwMessages *messages)
{
    messages->at[1].box.size[0] = 0;
}

static void change_type(MwMessages *messages)
{
    messages->at[0].box.global.type = MW_BF16;
}

START_TEST(the_checker_finds_what_is_wrong)
{
    static const struct {
        void (*spoil)(MwMessages *);
        const char *fault, *receivers; /* receivers: "2" where not given */
    } cases[] = {
        {drop_last, "never gets 32 elements"},
        {drop_crossing, "never gets 32 elements"},
        {swap_order, "out of order"},
        {swap_hops, "does not have this box by then", "4"},
        {merge_hops, "does not have this box by then", "4"},
        {send_twice, "a second time"},
        {cross_twice, "an element crosses more than once"},
        {send_what_another_has, "does not have this box by then"},
        {send_to_itself, "not another rank"},
        {send_back, "not another rank of the receiving mesh"},
        {pass_from_sender, "not on the mesh that sends"},
        {leave_the_tensor, "does not hold this box"},
        {empty_a_box, "does not hold this box"},
        {change_type, "another tensor"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwArena *arena = mw_arena_new();
        const char *receivers = cases[i].receivers ? cases[i].receivers : "2";
        MwTransfer t = transfer_of("8x8", "2", "[S0, R]", receivers, "[R, R]");
        MwMessages messages = mw_transfer_messages(arena, &t);
        cases[i].spoil(&messages);
        const char *fault = mw_transfer_check(arena, &t, &messages);
        if (!fault || !strstr(fault, cases[i].fault))
            ck_abort_msg("case %d: %s", i, fault ? fault : "nothing found");
        mw_arena_free(&arena);
    }
}
END_TEST

/* ---- Padding ---- */

/* Whether the memory of a shard of `padded` has `global` of its element `local`, which lies at the
 * index `at` of the shard; sets where. */
static bool is_no_padding(const MwBox *box, const MwTensor *global, const int64_t at[MW_MAX_RANK],
                          int64_t *where)
{
    *where = 0;
    for (int d = 0; d < global->rank; d++) {
        if (box->start[d] + at[d] >= global->dim[d])
            return false;
        *where = *where * global->dim[d] + box->start[d] + at[d];
    }
    return true;
}

/* The segments of a padded shard are the elements of the tensor, each once and in order. */
static void check_segments(const MwBox *shard, const MwTensor *global)
{
    const MwBox box = mw_box_clip(shard, global);
    MwSegment segment = {0};
    int64_t left = 0, local = 0, at[MW_MAX_RANK] = {0}, where;
    for (; local < mw_box_elements(shard); local++) {
        if (is_no_padding(shard, global, at, &where)) {
            if (left == 0 && mw_box_next_segment(&box, &segment))
                left = segment.count;
            const int64_t done = segment.count - left;
            if (left-- <= 0 || segment.local + done != local || segment.global + done != where)
                ck_abort_msg("element %d, %d of the whole, is in no segment", (int)local,
                             (int)where);
        }
        for (int d = global->rank - 1; d >= 0 && ++at[d] == shard->size[d] && d > 0; d--)
            at[d] = 0;
    }
    ck_assert(left == 0 && !mw_box_next_segment(&box, &segment));
    ck_assert_int_eq(mw_box_held_elements(&box), mw_box_elements(shard));
}

START_TEST(segments_leave_padding_out)
{
    static const MwTensor padded[] = {
        {MW_F32, 1, {8}}, {MW_F32, 2, {4, 6}}, {MW_F32, 3, {4, 4, 8}}};
    static const MwTensor globals[] = {{MW_F32, 1, {5}},       {MW_F32, 1, {1}},
                                       {MW_F32, 2, {4, 5}},    {MW_F32, 2, {3, 6}},
                                       {MW_F32, 2, {1, 4}},    {MW_F32, 3, {3, 4, 8}},
                                       {MW_F32, 3, {4, 3, 8}}, {MW_F32, 3, {2, 4, 7}}};
    static const MwMeshShape mesh = {2, {2, 2}};
    MwArena *arena = mw_arena_new();
    for (int i = 0; i < MW_COUNT(globals); i++) {
        const MwTensor *whole = &padded[globals[i].rank - 1];
        const Specs all = complete_specs(arena, whole, &mesh);
        for (int s = 0; s < all.count; s++)
            for (int device = 0; device < 4; device++) {
                int coordinate[MW_MAX_AXES];
                mw_mesh_coordinates(&mesh, device, coordinate);
                const MwBox shard = mw_shard_box(whole, all.at[s], &mesh, coordinate);
                check_segments(&shard, &globals[i]);
            }
    }
    mw_arena_free(&arena);
}
END_TEST

START_TEST(what_is_no_transfer)
{
    MwTransfer t = transfer_of("8x8", "2", "[S0, R]", "2", "[R, R]"), bad = t;
    ck_assert(mw_transfer_is_valid(&t));
    bad.to.first_rank = 1;
    ck_assert(!mw_transfer_is_valid(&bad));
    bad = t;
    bad.from.spec = mw_spec_with_partial(mw_spec_replicated(), 1, MW_COMBINE_SUM);
    ck_assert(!mw_transfer_is_valid(&bad));
    bad = t;
    bad.global.dim[0] = 7;
    ck_assert(!mw_transfer_is_valid(&bad));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transfer");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 100);
    tcase_add_loop_test(tests, every_pair_of_specs_on_small_meshes, 0, MW_COUNT(meshes));
    tcase_add_test(tests, few_messages_cross);
    tcase_add_test(tests, one_rank_of_thousands);
    tcase_add_test(tests, the_checker_finds_what_is_wrong);
    tcase_add_test(tests, what_is_no_transfer);
    tcase_add_test(tests, segments_leave_padding_out);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
