/* SPDX-License-Identifier: MIT */
#include "runtime/data/feed.h"

#include "base/element.h"
#include "base/vec.h"
#include "runtime/data/feed_kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The rows that an array has for an input of the batch, on this mesh or another. */
typedef struct {
    const char *input, *path;
    int64_t count;
} Rows;

struct MwFeeds {
    MwArena *arena;
    const MwPlan *plan;
    const MwPlanMesh *mesh; /* the mesh of this rank */
    MwFeed *feeds;          /* [mesh->inputs] */
    MW_VEC(MwFeedFile) files;
    MW_VEC(Rows) rows;
};

static bool open_file(MwFeeds *feeds, const char *path, MwFeedFile *file, MwFault *fault)
{
    if (!mw_feed_file_open(file, path, fault))
        return false;
    mw_vec_push(feeds->arena, &feeds->files, *file);
    return true;
}

/* An input named `name` of any mesh; NULL: there is none. */
static const MwPlanInput *find_input(const MwPlan *plan, const char *name)
{
    for (int m = 0; m < plan->mesh_count; m++)
        for (int i = 0; i < plan->meshes[m].input_count; i++)
            if (strcmp(plan->meshes[m].inputs[i].name, name) == 0)
                return &plan->meshes[m].inputs[i];
    return NULL;
}

/* True if input `i` of the mesh is named `name` and has no feed yet. Several stages of a mesh may
 * have an input of one name. */
static bool needs_feed(const MwFeeds *feeds, int i, const char *name)
{
    return !feeds->feeds[i].fill && strcmp(feeds->mesh->inputs[i].name, name) == 0;
}

static bool open_lm(MwFeeds *feeds, const char *path, int token_bytes, MwFault *fault)
{
    static const char *const names[] = {"tokens", "targets"};
    MwFeedFile file;
    if (!find_input(feeds->plan, names[0]))
        return mw_fault_set(fault, "text goes to an input 'tokens', and this model has none");
    if (!open_file(feeds, path, &file, fault))
        return false;
    for (int i = 0; i < feeds->mesh->input_count; i++)
        for (int n = 0; n < MW_COUNT(names); n++)
            if (needs_feed(feeds, i, names[n]) &&
                !mw_feed_lm(&feeds->feeds[i], &file, token_bytes, fault))
                return mw_fault_prefix(fault, "input %s", names[n]);
    return true;
}

/* Splits the text up to the next comma off `*rest`; "\\," is a comma of the text. NULL at the
 * end. */
static char *take_pair(char **rest)
{
    char *pair = *rest + strspn(*rest, ","), *to = pair, *from = pair;
    for (; *from && *from != ','; *to++ = *from++)
        from += from[0] == '\\' && from[1] == ',';
    *rest = from + (*from == ',');
    bool is_end = from == pair;
    *to = '\0';
    return is_end ? NULL : pair;
}

/* Calls `each` for every pair NAME=VALUE of "A=x,B=y". */
static bool each_pair(MwFeeds *feeds, const char *text,
                      bool (*each)(MwFeeds *feeds, const MwPlanInput *input, const char *value,
                                   MwFault *fault),
                      MwFault *fault)
{
    char *rest = mw_arena_strdup(feeds->arena, text);
    for (char *pair; (pair = take_pair(&rest));) {
        char *value = strchr(pair, '=');
        if (!value)
            return mw_fault_set(fault, "'%s' should be NAME=VALUE", pair);
        *value++ = '\0';
        const MwPlanInput *input = find_input(feeds->plan, pair);
        if (!input)
            return mw_fault_set(fault, "the model has no input '%s'", pair);
        if (!each(feeds, input, value, fault))
            return false;
    }
    return true;
}

/* Row i of one array belongs to row i of the others: they must have as many. An array for another
 * mesh that this rank cannot read is for that mesh to refuse. */
static bool check_rows(MwFeeds *feeds, const MwPlanInput *input, const char *path, MwFault *fault)
{
    MwFeedFile file;
    MwNpy npy;
    MwFault ignored = {0};
    if (input->whole || !mw_feed_file_open(&file, path, &ignored))
        return true;
    const bool is_array = mw_feed_npy_header(&file, &npy, &ignored) && npy.rank > 0;
    mw_feed_file_close(&file);
    if (!is_array)
        return true;
    for (int i = 0; i < feeds->rows.count; i++)
        if (strcmp(feeds->rows.at[i].input, input->name) == 0)
            return true; /* the first feed counts */
    const Rows rows = {input->name, path, npy.dim[0]};
    mw_vec_push(feeds->arena, &feeds->rows, rows);
    const Rows *first = &feeds->rows.at[0];
    return rows.count == first->count ||
           mw_fault_set(fault, "%s has %lld rows for the input %s, and %s has %lld for %s", path,
                        (long long)rows.count, rows.input, first->path, (long long)first->count,
                        first->input);
}

static bool open_npy(MwFeeds *feeds, const MwPlanInput *input, const char *path, MwFault *fault)
{
    for (int i = 0; i < feeds->mesh->input_count; i++) {
        MwFeedFile file;
        if (needs_feed(feeds, i, input->name) &&
            (!open_file(feeds, path, &file, fault) ||
             (!mw_feed_npy(&feeds->feeds[i], &file, fault) &&
              !mw_fault_prefix(fault, "input %s", input->name))))
            return false;
    }
    return check_rows(feeds, input, path, fault);
}

static bool open_bounded(MwFeeds *feeds, const MwPlanInput *input, const char *text, MwFault *fault)
{
    char *end;
    errno = 0;
    long long bound = strtoll(text, &end, 10);
    if (end == text || *end || errno || bound < 1 || bound > INT32_MAX)
        return mw_fault_set(fault, "the bound '%s' of %s is not a whole number from 1 to %d", text,
                            input->name, INT32_MAX);
    for (int i = 0; i < feeds->mesh->input_count; i++)
        if (needs_feed(feeds, i, input->name) && !mw_feed_random(&feeds->feeds[i], bound, fault))
            return false;
    return true;
}

/* Opens a random feed for every input that has no feed yet. */
static bool open_random(MwFeeds *feeds, MwFault *fault)
{
    for (int i = 0; i < feeds->mesh->input_count; i++)
        if (!feeds->feeds[i].fill && !mw_feed_random(&feeds->feeds[i], 0, fault))
            return mw_fault_prefix(fault, "input %s", feeds->mesh->inputs[i].name);
    return true;
}

static bool open_feed(MwFeeds *feeds, const char *text, MwFault *fault)
{
    if (strncmp(text, "lm:", 3) == 0)
        return open_lm(feeds, text + 3, 1, fault);
    if (strncmp(text, "lm16:", 5) == 0)
        return open_lm(feeds, text + 5, 2, fault);
    if (strncmp(text, "npy:", 4) == 0)
        return each_pair(feeds, text + 4, open_npy, fault);
    if (strncmp(text, "random:", 7) == 0)
        return each_pair(feeds, text + 7, open_bounded, fault);
    if (strcmp(text, "random") == 0)
        return open_random(feeds, fault);
    return mw_fault_set(fault, "a feed is lm:FILE, lm16:FILE, npy:NAME=FILE,... or random");
}

static bool all_fed(const MwFeeds *feeds, MwFault *fault)
{
    for (int i = 0; i < feeds->mesh->input_count; i++) {
        const MwPlanInput *input = &feeds->mesh->inputs[i];
        char text[MW_TENSOR_TEXT_BYTES];
        if (!feeds->feeds[i].fill)
            return mw_fault_set(fault,
                                "no data for the input %s: %s. Give --feed lm:FILE, "
                                "--feed npy:%s=FILE or --feed random",
                                input->name, mw_tensor_text(&input->global, text), input->name);
    }
    return true;
}

MwFeeds *mw_feeds_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                       const char *const *texts, int count, uint64_t seed, MwFault *fault)
{
    MwFeeds *feeds = MW_NEW(arena, MwFeeds, 1);
    *feeds = (MwFeeds){arena, plan, mesh, MW_NEW(arena, MwFeed, mesh->input_count), {0}, {0}};
    for (int i = 0; i < mesh->input_count; i++) {
        MwFeed *feed = &feeds->feeds[i];
        feed->input = &mesh->inputs[i];
        feed->seed = seed;
        feed->row = mw_tensor_elements(&feed->input->global) / mw_feed_batch(feed);
    }
    for (int i = 0; i < count; i++) {
        if (!open_feed(feeds, texts[i], fault)) {
            mw_fault_prefix(fault, "--feed %s", texts[i]);
            mw_feeds_close(&feeds);
            return NULL;
        }
    }
    if (!all_fed(feeds, fault))
        mw_feeds_close(&feeds);
    return feeds;
}

/* Integers of `box`, whose padding is zeros, are within a bound of the input, such as the number of
 * rows of the table that they look up. */
static bool check_bound(const MwPlanBound *bound, const MwBox *box, const void *values,
                        MwFault *fault)
{
    const int axis = bound->axis, rank = box->global.rank;
    int64_t before = 1, after = 1; /* elements of the dimensions before and after the axis */
    for (int d = 0; d < axis; d++)
        before *= box->size[d] + box->padding[d];
    for (int d = axis + 1; d < rank; d++)
        after *= box->size[d] + box->padding[d];
    const int64_t size = rank ? box->size[axis] + box->padding[axis] : 1,
                  start = rank ? box->start[axis] : 0;
    const int64_t first = mw_max(bound->begin - start, 0) * after;
    const int64_t end = mw_min(bound->end - start, size) * after;
    for (int64_t row = 0; row < before; row++) {
        for (int64_t i = first; i < end; i++) {
            const int64_t value =
                mw_element_integer(box->global.type, values, row * size * after + i);
            if (value < 0 || value >= bound->below)
                return mw_fault_set(fault, "the data holds %lld; the model takes 0 to %lld",
                                    (long long)value, (long long)bound->below - 1);
        }
    }
    return true;
}

bool mw_feeds_input(MwFeeds *feeds, int input, int64_t step, const MwBox *box, void *to,
                    MwFault *fault)
{
    const MwFeed *feed = &feeds->feeds[input];
    const int64_t bytes = mw_type_bytes(box->global.type);
    if (feed->input->is_padded)
        memset(to, 0, (size_t)(mw_box_held_elements(box) * bytes));
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);)
        if (!feed->fill(feed, step, segment.global, segment.count,
                        (char *)to + segment.local * bytes, fault))
            return false;
    for (int i = 0; i < feed->input->bound_count; i++)
        if (!check_bound(&feed->input->bounds[i], box, to, fault))
            return false;
    return true;
}

void mw_feeds_close(MwFeeds **feeds)
{
    for (int i = 0; *feeds && i < (*feeds)->files.count; i++)
        mw_feed_file_close(&(*feeds)->files.at[i]);
    *feeds = NULL;
}
