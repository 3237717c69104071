/* SPDX-License-Identifier: MIT */
#include "runtime/data/feed.h"

#include "base/vec.h"
#include "runtime/data/feed_kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct MwFeeds {
    MwArena *arena;
    const MwPlan *plan;
    const MwPlanMesh *mesh; /* the mesh of this rank */
    MwFeed *feeds;          /* [mesh->inputs] */
    MW_VEC(MwFeedFile) files;
};

static bool open_file(MwFeeds *feeds, const char *path, MwFeedFile *file, MwFault *fault)
{
    if (!mw_feed_file_open(file, path, fault))
        return false;
    mw_vec_push(feeds->arena, &feeds->files, *file);
    return true;
}

/* True if any mesh has an input named `name`. */
static bool has_input(const MwPlan *plan, const char *name)
{
    for (int m = 0; m < plan->mesh_count; m++)
        for (int i = 0; i < plan->meshes[m].input_count; i++)
            if (strcmp(plan->meshes[m].inputs[i].name, name) == 0)
                return true;
    return false;
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
    if (!has_input(feeds->plan, names[0]))
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

/* Calls `each` for every pair NAME=VALUE of "A=x,B=y", with the feed of input NAME. */
static bool each_pair(MwFeeds *feeds, const char *text,
                      bool (*each)(MwFeeds *feeds, MwFeed *feed, const char *value, MwFault *fault),
                      MwFault *fault)
{
    char *rest = mw_arena_strdup(feeds->arena, text);
    for (char *pair; (pair = take_pair(&rest));) {
        char *value = strchr(pair, '=');
        if (!value)
            return mw_fault_set(fault, "'%s' should be NAME=VALUE", pair);
        *value++ = '\0';
        if (!has_input(feeds->plan, pair))
            return mw_fault_set(fault, "the model has no input '%s'", pair);
        for (int i = 0; i < feeds->mesh->input_count; i++)
            if (needs_feed(feeds, i, pair) && !each(feeds, &feeds->feeds[i], value, fault))
                return false;
    }
    return true;
}

static bool open_npy(MwFeeds *feeds, MwFeed *feed, const char *path, MwFault *fault)
{
    MwFeedFile file;
    return open_file(feeds, path, &file, fault) &&
           (mw_feed_npy(feed, &file, fault) ||
            mw_fault_prefix(fault, "input %s", feed->input->name));
}

static bool open_bounded(MwFeeds *feeds, MwFeed *feed, const char *text, MwFault *fault)
{
    (void)feeds;
    char *end;
    errno = 0;
    long long bound = strtoll(text, &end, 10);
    if (end == text || *end || errno || bound < 1 || bound > INT32_MAX)
        return mw_fault_set(fault, "the bound '%s' of %s is not a whole number from 1 to %d", text,
                            feed->input->name, INT32_MAX);
    return mw_feed_random(feed, bound, fault);
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
    *feeds = (MwFeeds){arena, plan, mesh, MW_NEW(arena, MwFeed, mesh->input_count), {0}};
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

/* Integers are within the bound of the input, which is the number of rows of the table that they
 * index. */
static bool check_bound(const MwFeed *feed, const int32_t *values, int64_t count, MwFault *fault)
{
    const int64_t bound = feed->input->bound;
    if (feed->input->global.type != MW_I32 || bound == 0)
        return true;
    for (int64_t i = 0; i < count; i++)
        if (values[i] < 0 || values[i] >= bound)
            return mw_fault_set(fault, "the data holds %d; the model takes 0 to %lld", values[i],
                                (long long)bound - 1);
    return true;
}

bool mw_feeds_input(MwFeeds *feeds, int input, int64_t step, const MwBox *box, void *to,
                    MwFault *fault)
{
    const MwFeed *feed = &feeds->feeds[input];
    const int64_t bytes = mw_type_bytes(box->global.type);
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);)
        if (!feed->fill(feed, step, segment.global, segment.count,
                        (char *)to + segment.local * bytes, fault))
            return false;
    return check_bound(feed, to, mw_box_elements(box), fault);
}

void mw_feeds_close(MwFeeds **feeds)
{
    for (int i = 0; *feeds && i < (*feeds)->files.count; i++)
        mw_feed_file_close(&(*feeds)->files.at[i]);
    *feeds = NULL;
}
