/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mw_vee_cut against enumeration of all cuts and candidates. */
#include "base/draws.h"
#include "solver/stages/vee.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

/* FEW: what is enumerated. */
enum { FEW_LAYERS = 8, FEW_MESHES = 3, MAX_LAYERS = 28, MAX_MESHES = 8, MAX_CANDIDATES = 3 };
enum { MAX_STAGES = 2 * MAX_MESHES - 1 };

typedef struct {
    MwVeeProblem problem; /* its context is this struct */
    MwVeeSlots slots[MAX_MESHES];
    int layer_stage[MAX_LAYERS];
    int count;                                         /* candidates of every interval */
    int longest;                                       /* most layers that can run */
    MwVeeCandidate layers[MAX_LAYERS][MAX_CANDIDATES]; /* their sums are those of intervals */
    MwVeeCandidate sums[MAX_LAYERS + 1][MAX_LAYERS + 1][MAX_CANDIDATES];
    int asked[MAX_LAYERS + 1][MAX_LAYERS + 1];
} Case;

static MwVeeAnswer answer(void *context, int begin, int end)
{
    Case *c = context;
    c->asked[begin][end]++;
    return (MwVeeAnswer){end - begin > c->longest ? 0 : c->count, c->sums[begin][end]};
}

static void add_to(MwVeeCandidate *sum, const MwVeeCandidate *layer)
{
    sum->time += layer->time;
    sum->kept_bytes += layer->kept_bytes;
    for (int k = 0; k < MW_VEE_LIVES; k++)
        sum->live_bytes[k] += layer->live_bytes[k];
    sum->peak_bytes = mw_max(sum->peak_bytes, layer->peak_bytes);
}

/* The quicker a candidate, the more it keeps, in some way. */
static void fill(Case *c, MwDraws *draws)
{
    for (int l = 0; l < c->problem.layer_count; l++)
        for (int k = 0; k < c->count; k++) {
            MwVeeCandidate *layer = &c->layers[l][k];
            layer->time = 10 + mw_draw_below(draws, 30) + 5 * k;
            layer->kept_bytes = mw_draw_below(draws, 10) + 3 * (c->count - k);
            layer->live_bytes[k % MW_VEE_LIVES] = mw_draw_below(draws, 10) + 2 * (c->count - k);
            layer->peak_bytes = mw_draw_below(draws, 8);
        }
    for (int begin = 0; begin < c->problem.layer_count; begin++)
        for (int end = begin + 1; end <= c->problem.layer_count; end++)
            for (int k = 0; k < c->count; k++) {
                c->sums[begin][end][k] = (MwVeeCandidate){0};
                for (int l = begin; l < end; l++)
                    add_to(&c->sums[begin][end][k], &c->layers[l][k]);
            }
}

static Case *case_of(MwArena *arena, uint64_t seed, int most_meshes, int most_layers)
{
    Case *c = MW_NEW(arena, Case, 1);
    MwDraws draws = {.seed = seed};
    const int meshes = 2 + mw_draw_below(&draws, most_meshes - 1), stages = 2 * meshes - 1;
    c->problem = (MwVeeProblem){
        .layer_count = stages + mw_draw_below(&draws, most_layers - stages + 1),
        .meshes = meshes,
        .memory_bytes = mw_draw_below(&draws, 3) ? 40 + mw_draw_below(&draws, 150) : INT64_MAX,
        .slots = c->slots,
        .answer = answer,
        .context = c};
    c->count = 1 + mw_draw_below(&draws, MAX_CANDIDATES);
    c->longest = mw_draw_below(&draws, 4) ? MAX_LAYERS : 1 + mw_draw_below(&draws, 2);
    for (int i = 0; i < meshes; i++)
        for (int chunk = 0; chunk < 2; chunk++)
            for (int k = 0; k < MW_VEE_LIVES; k++)
                c->slots[i].of[chunk][k] = 1 + mw_draw_below(&draws, 4);
    fill(c, &draws);
    c->problem.uneven = mw_draw_below(&draws, 3) / 2.;
    return c;
}

static Case *random_case(MwArena *arena, uint64_t seed)
{
    return case_of(arena, seed, FEW_MESHES, FEW_LAYERS);
}

/* ---- Enumeration ---- */

typedef struct {
    int begin[MAX_STAGES + 1], candidate[MAX_STAGES];
} Cut;

static const MwVeeCandidate *stage_of(const Case *c, const Cut *cut, int s)
{
    return &c->sums[cut->begin[s]][cut->begin[s + 1]][cut->candidate[s]];
}

/* The most time and memory of a mesh. */
static void measure(const Case *c, const Cut *cut, int64_t *time, int64_t *bytes)
{
    const int stages = 2 * c->problem.meshes - 1;
    *time = *bytes = 0;
    for (int i = 0; i < c->problem.meshes; i++) {
        const bool is_last = i == c->problem.meshes - 1;
        const int64_t first = stage_of(c, cut, i)->time;
        const int64_t second = is_last ? first : stage_of(c, cut, stages - 1 - i)->time;
        const double uneven = c->problem.uneven * (double)llabs(first - second);
        int64_t held = 0, peak = 0;
        for (int chunk = 0; chunk < (is_last ? 1 : 2); chunk++) {
            const MwVeeCandidate *stage = stage_of(c, cut, chunk ? stages - 1 - i : i);
            held += stage->kept_bytes;
            for (int k = 0; k < MW_VEE_LIVES; k++)
                held += c->slots[i].of[chunk][k] * stage->live_bytes[k];
            peak = mw_max(peak, stage->peak_bytes);
        }
        *time = mw_max(*time, is_last ? first : first + second + (int64_t)uneven);
        *bytes = mw_max(*bytes, held + peak);
    }
}

typedef struct {
    int64_t time,
        bytes; /* the least of all cuts: time within the memory, memory; INT64_MAX: none */
} Best;

static bool meets_pins(const Case *c, const Cut *cut)
{
    for (int s = 0; s < 2 * c->problem.meshes - 1; s++)
        for (int l = cut->begin[s]; l < cut->begin[s + 1] && c->problem.layer_stage; l++)
            if (c->layer_stage[l] >= 0 && c->layer_stage[l] != s)
                return false;
    return true;
}

static void enumerate(const Case *c, Cut *cut, int stage, bool pinned, Best *best)
{
    const int stages = 2 * c->problem.meshes - 1, layers = c->problem.layer_count;
    if (stage == stages) {
        int64_t time, bytes;
        if (cut->begin[stages] != layers || (pinned && !meets_pins(c, cut)))
            return;
        measure(c, cut, &time, &bytes);
        best->bytes = mw_min(best->bytes, bytes);
        if (bytes <= c->problem.memory_bytes)
            best->time = mw_min(best->time, time);
        return;
    }
    for (int end = cut->begin[stage] + 1; end <= mw_min(layers, cut->begin[stage] + c->longest);
         end++)
        for (cut->candidate[stage] = 0; cut->candidate[stage] < c->count; cut->candidate[stage]++) {
            cut->begin[stage + 1] = end;
            enumerate(c, cut, stage + 1, pinned, best);
        }
}

static Best best_of(const Case *c, bool pinned)
{
    Best best = {INT64_MAX, INT64_MAX};
    enumerate(c, &(Cut){0}, 0, pinned, &best);
    return best;
}

/* ---- Tests ---- */

static void check_cut(const Case *c, const MwVeeCut *found, const Best *best, int seed)
{
    Cut cut;
    int64_t time, bytes;
    memcpy(cut.begin, found->begin, sizeof *cut.begin * (size_t)(2 * c->problem.meshes));
    memcpy(cut.candidate, found->candidate,
           sizeof *cut.candidate * (size_t)(2 * c->problem.meshes - 1));
    measure(c, &cut, &time, &bytes);
    ck_assert(meets_pins(c, &cut));
    ck_assert_int_eq(time, found->time);
    ck_assert_int_le(bytes, c->problem.memory_bytes);
    ck_assert_msg(time == best->time, "%d: time %lld, least %lld", seed, (long long)time,
                  (long long)best->time);
}

START_TEST(cuts_are_the_best)
{
    int possible = 0, lacking = 0, unanswered = 0;
    for (int seed = 0; seed < tried(2000); seed++) {
        MwArena *arena = mw_arena_new();
        const Case *c = random_case(arena, (uint64_t)seed);
        const Best best = best_of(c, false);
        const MwVeeCut cut = mw_vee_cut(arena, &c->problem);
        if (best.time < INT64_MAX) {
            ck_assert_msg(cut.reason == MW_STAGES_POSSIBLE, "%d", seed);
            check_cut(c, &cut, &best, seed);
            possible++;
        } else if (best.bytes < INT64_MAX) {
            ck_assert_msg(cut.reason == MW_STAGES_MEMORY, "%d", seed);
            ck_assert_int_ge(cut.needed_bytes, best.bytes);
            ck_assert_int_le(cut.needed_bytes, best.bytes + best.bytes / 50 + 1);
            lacking++;
        } else {
            ck_assert_msg(cut.reason == MW_STAGES_UNANSWERED, "%d", seed);
            unanswered++;
        }
        for (int begin = 0; begin <= MAX_LAYERS; begin++)
            for (int end = 0; end <= MAX_LAYERS; end++)
                ck_assert_int_le(c->asked[begin][end], 1);
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(possible, tried(800));
    ck_assert_int_gt(lacking, tried(150));
    ck_assert_int_gt(unanswered, tried(20));
}
END_TEST

START_TEST(none_is_found_that_is_no_better)
{
    for (int seed = 0; seed < tried(500); seed++) {
        MwArena *arena = mw_arena_new();
        Case *c = random_case(arena, (uint64_t)seed);
        const MwVeeCut best = mw_vee_cut(arena, &c->problem);
        if (best.reason == MW_STAGES_POSSIBLE) {
            c->problem.time_below = best.time;
            ck_assert_int_eq(mw_vee_cut(arena, &c->problem).reason, MW_STAGES_TOTAL);
            c->problem.time_below = best.time + 1;
            ck_assert_int_eq(mw_vee_cut(arena, &c->problem).time, best.time);
        }
        mw_arena_free(&arena);
    }
}
END_TEST

/* A layer of the best cut, pinned where it lies anyhow, changes nothing; pinned elsewhere, the cut
 * meets the pin, or the pin is the reason. */
START_TEST(pins_are_met)
{
    int met = 0;
    for (int seed = 0; seed < tried(500); seed++) {
        MwArena *arena = mw_arena_new();
        Case *c = random_case(arena, (uint64_t)seed);
        c->problem.memory_bytes = INT64_MAX;
        const int layers = c->problem.layer_count, stages = 2 * c->problem.meshes - 1;
        const bool is_possible = best_of(c, false).time < INT64_MAX;
        c->problem.layer_stage = c->layer_stage;
        for (int l = 0; l < layers; l++)
            c->layer_stage[l] = -1;
        c->layer_stage[seed % layers] = seed / layers % stages;
        const Best best = best_of(c, true);
        const MwVeeCut cut = mw_vee_cut(arena, &c->problem);
        if (best.time < INT64_MAX) {
            ck_assert_msg(cut.reason == MW_STAGES_POSSIBLE, "%d", seed);
            check_cut(c, &cut, &best, seed);
            met++;
        } else {
            ck_assert_int_eq(cut.reason, is_possible ? MW_STAGES_PINS : MW_STAGES_UNANSWERED);
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(met, tried(100));
}
END_TEST

/* The sum of the differences of the two stages of each mesh. */
static int64_t unevenness(const Case *c, const MwVeeCut *cut)
{
    const int stages = 2 * c->problem.meshes - 1;
    int64_t sum = 0;
    for (int i = 0; i < c->problem.meshes - 1; i++) {
        const int other = stages - 1 - i;
        const int64_t first = c->sums[cut->begin[i]][cut->begin[i + 1]][cut->candidate[i]].time;
        sum += llabs(first -
                     c->sums[cut->begin[other]][cut->begin[other + 1]][cut->candidate[other]].time);
    }
    return sum;
}

START_TEST(the_evenest_is_as_quick)
{
    int evener = 0;
    for (int seed = 0; seed < tried(1000); seed++) {
        MwArena *arena = mw_arena_new();
        Case *c = random_case(arena, (uint64_t)seed);
        const Best best = best_of(c, false);
        const MwVeeCut any = mw_vee_cut(arena, &c->problem);
        c->problem.is_evenest = true;
        const MwVeeCut cut = mw_vee_cut(arena, &c->problem);
        ck_assert_int_eq(cut.reason, any.reason);
        if (cut.reason == MW_STAGES_POSSIBLE) {
            check_cut(c, &cut, &best, seed);
            ck_assert_int_le(unevenness(c, &cut), unevenness(c, &any));
            evener += unevenness(c, &cut) < unevenness(c, &any);
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(evener, tried(20));
}
END_TEST

/* Where fewer layers may take longer, or there are many, not all cuts are looked at; but one that
 * is found is one. */
START_TEST(what_is_found_of_uneven_layers_is_a_cut)
{
    int possible = 0;
    for (int seed = 0; seed < tried(1000); seed++) {
        MwArena *arena = mw_arena_new();
        Case *c = case_of(arena, (uint64_t)seed, MAX_MESHES, MAX_LAYERS);
        MwDraws draws = {.seed = (uint64_t)seed};
        for (int begin = 0; begin < MAX_LAYERS; begin++)
            for (int end = begin + 1; end <= MAX_LAYERS; end++)
                for (int k = 0; k < c->count; k++)
                    c->sums[begin][end][k].time += mw_draw_below(&draws, 100);
        const MwVeeCut any = mw_vee_cut(arena, &c->problem);
        c->problem.is_evenest = true;
        const MwVeeCut cut = mw_vee_cut(arena, &c->problem);
        ck_assert_int_eq(cut.reason, any.reason);
        if (cut.reason == MW_STAGES_POSSIBLE) {
            check_cut(c, &cut, &(Best){.time = cut.time}, seed);
            ck_assert_int_le(cut.time, any.time);
            possible++;
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(possible, tried(500));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vee");
    TCase *tests = tcase_create("vee");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, cuts_are_the_best);
    tcase_add_test(tests, none_is_found_that_is_no_better);
    tcase_add_test(tests, pins_are_met);
    tcase_add_test(tests, the_evenest_is_as_quick);
    tcase_add_test(tests, what_is_found_of_uneven_layers_is_a_cut);
    return run_suite(suite);
}
