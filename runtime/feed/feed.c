/* SPDX-License-Identifier: MIT */
#include "runtime/feed/feed.h"

#include "runtime/data/npz.h"
#include "runtime/feed/feed_bounds.h"
#include "runtime/feed/feed_hint.h"
#include "runtime/feed/feed_kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The rows that files have for an input of the batch, of this mesh or another. */
typedef struct {
    const char *input;
    MwFeedRows rows;
} InputRows;

struct MwFeeds {
    MwArena *arena;
    const MwPlan *plan;
    const MwPlanMesh *mesh; /* the mesh of this rank */
    MwFeedsWanted wanted;
    MwFeed *feeds; /* [mesh->inputs] */
    MW_VEC(MwFeedFile) files;
    MW_VEC(const char *) names; /* of the inputs, of all meshes, that have a feed */
    MW_VEC(InputRows) rows;
};

/* Opens a file for all inputs that have it. */
static bool open_file(MwFeeds *feeds, const char *path, MwFeedFile *file, MwFault *fault)
{
    for (int i = 0; i < feeds->files.count; i++) {
        *file = feeds->files.at[i];
        if (strcmp(file->path, path) == 0)
            return true;
    }
    if (!mw_feed_file_open(file, path, fault))
        return false;
    mw_vec_push(feeds->arena, &feeds->files, *file);
    return true;
}

/* As MwFeedOpener. */
static bool open_data(void *context, const char *path, const char *array, MwFeedFile *file,
                      MwFault *fault)
{
    MwFeeds *feeds = context;
    MwFeedFile archive;
    if (!array)
        return open_file(feeds, path, file, fault);
    if (!open_file(feeds, path, &archive, fault) ||
        !mw_npz_open(feeds->arena, &archive, array, file, fault))
        return false;
    mw_vec_push(feeds->arena, &feeds->files, *file);
    return true;
}

/* Says that the input has a feed now. False where it had one: the first counts. */
static bool claim(MwFeeds *feeds, const char *name)
{
    for (int i = 0; i < feeds->names.count; i++)
        if (strcmp(feeds->names.at[i], name) == 0)
            return false;
    mw_vec_push(feeds->arena, &feeds->names, name);
    return true;
}

/* The next input of the mesh with a name, from the i-th on; NULL: there is no other. Several stages
 * of a mesh may have an input of one name. */
static MwFeed *next_feed(const MwFeeds *feeds, const char *name, int *i)
{
    while (*i < feeds->mesh->input_count) {
        MwFeed *feed = &feeds->feeds[(*i)++];
        if (strcmp(feed->input->name, name) == 0)
            return feed;
    }
    return NULL;
}

/* ---- Kinds without rows ---- */

static bool open_lm(MwFeeds *feeds, const char *path, int token_bytes, MwFault *fault)
{
    MwFeedFile file;
    if (!mw_find_input(feeds->plan, mw_text_inputs[0]))
        return mw_no_text_input(feeds->plan, fault);
    if (!open_file(feeds, path, &file, fault))
        return false;
    for (int n = 0; n < MW_COUNT(mw_text_inputs); n++) {
        int i = claim(feeds, mw_text_inputs[n]) ? 0 : feeds->mesh->input_count;
        for (MwFeed *feed; (feed = next_feed(feeds, mw_text_inputs[n], &i));)
            if (!mw_feed_lm(feed, &file, token_bytes, fault))
                return mw_fault_prefix(fault, "input %s", mw_text_inputs[n]);
    }
    return true;
}

static bool open_bounded(MwFeeds *feeds, const MwPlanInput *input, const char *text, MwFault *fault)
{
    char *end;
    errno = 0;
    long long bound = strtoll(text, &end, 10);
    if (end == text || *end || errno || bound < 1 || bound > INT32_MAX)
        return mw_fault_set(fault, "the bound '%s' of %s is not a whole number from 1 to %d", text,
                            input->name, INT32_MAX);
    int i = claim(feeds, input->name) ? 0 : feeds->mesh->input_count;
    for (MwFeed *feed; (feed = next_feed(feeds, input->name, &i));)
        if (!mw_feed_random(feed, bound, fault))
            return false;
    return true;
}

/* Opens the items of "A=3,B=5". */
static bool open_bounds(MwFeeds *feeds, const char *text, MwFault *fault)
{
    MwFeedItems items;
    if (!mw_feed_text(feeds->arena, text, false, &items, fault))
        return false;
    for (int i = 0; i < items.count; i++) {
        const MwFeedItem *item = &items.at[i];
        if (!item->name || item->shift || item->parts.count > 1)
            return mw_fault_set(fault, "'%s' should be NAME=BOUND",
                                mw_vec_last(&item->parts).paths[0]);
        const MwPlanInput *input = mw_find_input(feeds->plan, item->name);
        if (!input)
            return mw_no_such_input(feeds->arena, feeds->plan, item->name, fault);
        if (!open_bounded(feeds, input, item->parts.at[0].paths[0], fault))
            return false;
    }
    return true;
}

/* Opens a random feed for every input that has no feed yet. */
static bool open_random(MwFeeds *feeds, MwFault *fault)
{
    for (int i = 0; i < feeds->mesh->input_count; i++)
        if (!feeds->feeds[i].fill && !mw_feed_random(&feeds->feeds[i], 0, fault))
            return mw_fault_prefix(fault, "input %s", feeds->mesh->inputs[i].name);
    for (int m = 0; m < feeds->plan->mesh_count; m++)
        for (int i = 0; i < feeds->plan->meshes[m].input_count; i++)
            claim(feeds, feeds->plan->meshes[m].inputs[i].name);
    return true;
}

/* ---- Rows of files ---- */

static bool open_item(MwFeeds *feeds, const MwRowSource *source, const MwFeedItem *item,
                      MwFault *fault)
{
    const MwPlanInput *input = source->input;
    InputRows found = {.input = input->name};
    if (!claim(feeds, input->name))
        return true;
    int i = 0;
    MwFeed *feed = next_feed(feeds, input->name, &i);
    MwFault of_others, *why = feed ? fault : &of_others;
    if (!mw_feed_rows(feeds->arena, source, item, open_data, feeds, &found.rows, why)) {
        /* What this rank cannot read of another mesh is for that mesh to refuse. */
        return !feed || mw_fault_prefix(fault, "input %s", input->name);
    }
    if (!input->whole)
        mw_vec_push(feeds->arena, &feeds->rows, found);
    for (; feed; feed = next_feed(feeds, input->name, &i))
        mw_feed_in_rows(feed, &found.rows);
    return true;
}

/* Gives an item without a name those of the inputs that a text feeds. */
static bool name_items(MwFeeds *feeds, MwFeedItems *items, MwFault *fault)
{
    MwFeedItem *item = &items->at[0];
    if (item->name)
        return true;
    if (!mw_find_input(feeds->plan, mw_text_inputs[0]))
        return mw_no_text_input(feeds->plan, fault);
    item->name = mw_text_inputs[0];
    MwFeedItem shifted = *item;
    shifted.name = mw_text_inputs[1];
    shifted.shift = 1;
    if (mw_find_input(feeds->plan, shifted.name))
        mw_vec_push(feeds->arena, items, shifted);
    return true;
}

/* Replaces an item without a name by one for each input that the first archive has an array of. */
static bool name_arrays(MwFeeds *feeds, MwFeedItems *items, MwFault *fault)
{
    const MwFeedItem nameless = items->at[0];
    MwFeedItems named = {0};
    MwFeedFile archive;
    MwMembers members;
    if (nameless.name)
        return true;
    if (!open_file(feeds, nameless.parts.at[0].paths[0], &archive, fault) ||
        !mw_archive_list(feeds->arena, &archive, &members, fault))
        return false;
    for (int i = 0; i < members.count; i++) {
        MwFeedItem item = nameless;
        item.name = mw_npz_array(feeds->arena, &members.at[i]);
        if (item.name && mw_find_input(feeds->plan, item.name))
            mw_vec_push(feeds->arena, &named, item);
    }
    for (int i = 1; i < items->count; i++)
        mw_vec_push(feeds->arena, &named, items->at[i]);
    *items = named;
    return named.count || mw_npz_lacks(&archive, &members, "input of the model", fault);
}

/* `bits`: of tokens in files without a header. */
static bool open_rows(MwFeeds *feeds, MwRowKind kind, int bits, const char *text, MwFault *fault)
{
    MwFeedItems items;
    MwRowSource source = {.kind = kind, .bits = bits};
    if (!mw_feed_text(feeds->arena, text, true, &items, fault))
        return false;
    if (kind == MW_ROWS_NPY && !items.at[0].name)
        return mw_fault_set(fault, "'%s' should be NAME=FILE", text);
    if (kind == MW_ROWS_NPZ ? !name_arrays(feeds, &items, fault)
                            : !name_items(feeds, &items, fault))
        return false;
    for (int i = 0; i < items.count; i++)
        source.greatest_shift = (int)mw_max(source.greatest_shift, items.at[i].shift);
    for (int i = 0; i < items.count; i++) {
        source.input = mw_find_input(feeds->plan, items.at[i].name);
        source.shift = items.at[i].shift;
        if (!source.input)
            return mw_no_such_input(feeds->arena, feeds->plan, items.at[i].name, fault);
        if (source.shift && kind != MW_ROWS_TOKENS)
            return mw_fault_set(fault, "%s+1 is for tokens: alone", source.input->name);
        if (!open_item(feeds, &source, &items.at[i], fault))
            return false;
    }
    return true;
}

/* Row i of one input belongs to row i of the others: they have as many, and in mixtures each file
 * has. */
static bool check_pair(const InputRows *one, const InputRows *other, MwFault *fault)
{
    const MwFeedRows *a = &one->rows, *b = &other->rows;
    const char *first = a->files[0].file.path, *second = b->files[0].file.path;
    bool alike = (a->parts[0].weight > 0) == (b->parts[0].weight > 0);
    if (a->rows != b->rows)
        return mw_fault_set(fault, "%s has %lld rows for the input %s, and %s has %lld for %s",
                            second, (long long)b->rows, other->input, first, (long long)a->rows,
                            one->input);
    if (alike && a->parts[0].weight > 0) {
        alike = a->part_count == b->part_count;
        for (int i = 0; i < a->part_count && alike; i++)
            alike =
                a->parts[i].rows == b->parts[i].rows && a->parts[i].weight == b->parts[i].weight;
    }
    return alike || mw_fault_set(fault,
                                 "the files of the inputs %s and %s have other weights, or other "
                                 "numbers of rows: their rows belong together",
                                 one->input, other->input);
}

/* Orders the rows of files. The inputs of the batch get the same order, since they have the same
 * parts; an input that is no part of it takes its rows as they stand. */
static bool order_rows(MwFeeds *feeds, MwFault *fault)
{
    for (int i = 1; i < feeds->rows.count; i++)
        if (!check_pair(&feeds->rows.at[0], &feeds->rows.at[i], fault))
            return false;
    for (int i = 0; i < feeds->mesh->input_count; i++) {
        MwFeed *feed = &feeds->feeds[i];
        if (feed->rows.file_count)
            feed->order =
                mw_row_order(feeds->arena, feed->rows.parts, feed->rows.part_count,
                             feeds->wanted.seed, feeds->wanted.is_shuffled && !feed->input->whole);
    }
    return true;
}

/* ---- All feeds of a run ---- */

static bool open_feed(MwFeeds *feeds, const char *text, MwFault *fault)
{
    static const struct {
        const char *prefix;
        MwRowKind kind;
        int bits;
    } kinds[] = {{"tokens:", MW_ROWS_TOKENS, 0},
                 {"tokens16:", MW_ROWS_TOKENS, 16},
                 {"tokens32:", MW_ROWS_TOKENS, 32},
                 {"npy:", MW_ROWS_NPY, 0},
                 {"npz:", MW_ROWS_NPZ, 0}};
    for (int k = 0; k < MW_COUNT(kinds); k++)
        if (strncmp(text, kinds[k].prefix, strlen(kinds[k].prefix)) == 0)
            return open_rows(feeds, kinds[k].kind, kinds[k].bits, text + strlen(kinds[k].prefix),
                             fault);
    if (strncmp(text, "lm:", 3) == 0)
        return open_lm(feeds, text + 3, 1, fault);
    if (strncmp(text, "lm16:", 5) == 0)
        return open_lm(feeds, text + 5, 2, fault);
    if (strncmp(text, "random:", 7) == 0)
        return open_bounds(feeds, text + 7, fault);
    if (strcmp(text, "random") == 0)
        return open_random(feeds, fault);
    return mw_fault_set(fault, "a feed is lm:FILE, lm16:FILE, tokens:FILE, npy:NAME=FILE,..., "
                               "npz:FILE,... or random");
}

/* Finds an array with rows of the input's shape in a file, if that is an archive. */
static void find_array(MwFeeds *feeds, const MwFeedFile *archive, const MwPlanInput *input,
                       MwFeedHint *hint)
{
    MwFault ignored;
    MwMembers members;
    if (!mw_archive_list(feeds->arena, archive, &members, &ignored))
        return;
    for (int i = 0; i < members.count && !hint->array; i++) {
        MwFeedFile file;
        const char *name = mw_npz_array(feeds->arena, &members.at[i]);
        if (!name || !mw_archive_open(feeds->arena, archive, &members.at[i], &file, &ignored))
            continue;
        if (mw_feed_fits(&file, input)) {
            hint->array = name;
            hint->archive = archive->path;
        }
        mw_feed_file_close(&file);
    }
}

/* Says that an input has no data, and what of the files that were given could be it. */
static bool refuse_input(MwFeeds *feeds, const MwPlanInput *input, MwFault *fault)
{
    MwFeedHint hint = {.option = feeds->wanted.option};
    for (int i = 0; i < feeds->rows.count; i++)
        if (feeds->rows.at[i].rows.source.kind == MW_ROWS_TOKENS)
            hint.tokens = feeds->rows.at[i].rows.files[0].file.path;
    for (int i = 0; i < feeds->files.count && !hint.array; i++)
        find_array(feeds, &feeds->files.at[i], input, &hint);
    return mw_no_data(input, &hint, fault);
}

static bool open_feeds(MwFeeds *feeds, MwFault *fault)
{
    const MwFeedsWanted *wanted = &feeds->wanted;
    for (int i = 0; i < wanted->count; i++)
        if (!open_feed(feeds, wanted->texts[i], fault))
            return mw_fault_prefix(fault, "%s %s", wanted->option, wanted->texts[i]);
    if (!order_rows(feeds, fault))
        return mw_fault_prefix(fault, "%s", wanted->option);
    for (int i = 0; i < feeds->mesh->input_count; i++)
        if (!feeds->feeds[i].fill)
            return refuse_input(feeds, feeds->feeds[i].input, fault);
    return true;
}

MwFeeds *mw_feeds_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                       const MwFeedsWanted *wanted, MwFault *fault)
{
    MwFeeds *feeds = MW_NEW(arena, MwFeeds, 1);
    *feeds = (MwFeeds){.arena = arena,
                       .plan = plan,
                       .mesh = mesh,
                       .wanted = *wanted,
                       .feeds = MW_NEW(arena, MwFeed, mesh->input_count)};
    for (int i = 0; i < mesh->input_count; i++) {
        MwFeed *feed = &feeds->feeds[i];
        feed->input = &mesh->inputs[i];
        feed->seed = wanted->seed;
        feed->row = mw_tensor_elements(&feed->input->global) / mw_input_batch(feed->input);
    }
    if (!open_feeds(feeds, fault))
        mw_feeds_close(&feeds);
    return feeds;
}

int64_t mw_feeds_rows(const MwFeeds *feeds)
{
    return feeds->rows.count ? feeds->rows.at[0].rows.rows : 0;
}

int64_t mw_feeds_batch(const MwFeeds *feeds)
{
    return feeds->rows.count ? mw_input_batch(feeds->rows.at[0].rows.source.input) : 0;
}

static bool fill_box(const MwFeed *feed, int64_t step, const MwBox *box, void *to, MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(box->global.type);
    if (feed->input->is_padded)
        memset(to, 0, (size_t)mw_box_held_bytes(box));
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);)
        if (!feed->fill(feed, step, segment.global, segment.count,
                        (char *)to + segment.local * bytes, fault))
            return false;
    return mw_feed_check_bounds(feed, step, box, to, fault);
}

bool mw_feeds_input(const MwFeeds *feeds, int input, int64_t step, const MwBox *box, void *to,
                    MwFault *fault)
{
    const MwFeed *feed = &feeds->feeds[input];
    return fill_box(feed, step, box, to, fault) ||
           mw_fault_prefix(fault, "step %lld: input %s", (long long)step, feed->input->name);
}

void mw_feeds_close(MwFeeds **feeds)
{
    for (int i = 0; *feeds && i < (*feeds)->files.count; i++)
        mw_feed_file_close(&(*feeds)->files.at[i]);
    *feeds = NULL;
}
