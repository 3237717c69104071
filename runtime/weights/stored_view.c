/* SPDX-License-Identifier: MIT */
#include "runtime/weights/stored_view.h"

#include <string.h>

MwStoredView mw_stored_view_same(int stored, int64_t elements)
{
    MwStoredView view = {.stored = stored, .axes = 1};
    view.size[0] = view.end[0] = elements;
    view.stride[0] = 1;
    return view;
}

int64_t mw_stored_view_elements(const MwStoredView *view)
{
    int64_t elements = 1;
    for (int a = 0; a < view->axes; a++)
        elements *= view->end[a] - view->begin[a];
    return elements;
}

MwStoredRun mw_stored_view_run(const MwStoredView *view, int64_t first, int64_t most)
{
    const int last = view->axes - 1;
    MwStoredRun run = {.is_covered = true, .at = view->base, .run = most, .step = 1};
    for (int a = last; a >= 0; a--) {
        const int64_t i = first % view->size[a];
        first /= view->size[a];
        run.is_covered &= i >= view->begin[a] && i < view->end[a];
        run.at += view->stride[a] * (i - view->begin[a]);
        if (a == last) {
            const int64_t stop = i < view->begin[a] ? view->begin[a]
                                 : i < view->end[a] ? view->end[a]
                                                    : view->size[a];
            run.step = view->stride[a];
            run.run = mw_min(most, stop - i);
        }
    }
    return run;
}

/* ---- Reading ---- */

/* Elements of a tensor of a file in memory: [first, first + count), of the plan's type. */
typedef struct {
    MwStore *store;
    int stored;
    MwType type;
    MwArena *arena;
    char *at;
    int64_t first, count, room;
} Window;

enum { WINDOW_BYTES = 1 << 20 };

/* Has elements [first, first + count) in the window, and where the tensor goes on, more. */
static bool reach(Window *window, int64_t first, int64_t count, MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(window->type);
    if (first >= window->first && first + count <= window->first + window->count)
        return true;
    const MwSafetensor *tensor = mw_store_tensor(window->store, window->stored, fault);
    if (!tensor)
        return false;
    const int64_t all = mw_safetensor_bytes(tensor) / tensor->type.bytes;
    window->count = mw_min(mw_max(count, WINDOW_BYTES / bytes), all - first);
    window->first = first;
    if (window->count > window->room) {
        window->room = window->count;
        window->at = mw_arena_alloc(window->arena, (size_t)(window->room * bytes));
    }
    return mw_store_read(window->store, window->stored, first, window->count, window->type,
                         window->at, fault);
}

/* The view's elements of the box: the first and the last of them in the file. False: it has
 * none. */
static bool range_of(const MwStoredView *view, const MwBox *box, int64_t *first, int64_t *last)
{
    bool any = false;
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);) {
        for (int64_t i = 0; i < segment.count;) {
            const MwStoredRun run = mw_stored_view_run(view, segment.global + i, segment.count - i);
            const int64_t end = run.at + run.step * (run.run - 1);
            i += run.run;
            if (!run.is_covered)
                continue;
            *first = any ? mw_min(*first, run.at) : run.at;
            *last = any ? mw_max(*last, end) : end;
            any = true;
        }
    }
    return any;
}

/* True if the elements of the plan's tensor come in the same order in the file. */
static bool is_ordered(const MwStoredView *view)
{
    int64_t least = 1;
    for (int a = view->axes - 1; a >= 0; a--) {
        if (view->end[a] - view->begin[a] == 1)
            continue;
        if (view->stride[a] < least)
            return false;
        least = view->stride[a] * (view->end[a] - view->begin[a]);
    }
    return true;
}

static void copy_run(const Window *window, const MwStoredRun *run, char *to)
{
    const size_t bytes = (size_t)mw_type_bytes(window->type);
    const char *from = window->at + (size_t)(run->at - window->first) * bytes;
    if (run->step == 1) {
        memcpy(to, from, (size_t)run->run * bytes);
        return;
    }
    for (int64_t i = 0; i < run->run; i++, to += bytes, from += (size_t)run->step * bytes)
        memcpy(to, from, bytes);
}

/* Copies the view's elements of the box, at most `most` at once. */
static bool read_runs(const MwStoredView *view, Window *window, const MwBox *box, int64_t most,
                      char *memory, MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(window->type);
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);) {
        for (int64_t i = 0; i < segment.count;) {
            const int64_t left = mw_min(segment.count - i, most);
            const MwStoredRun run = mw_stored_view_run(view, segment.global + i, left);
            const int64_t spread = run.step * (run.run - 1) + 1;
            if (run.is_covered && !reach(window, run.at, spread, fault))
                return false;
            if (run.is_covered)
                copy_run(window, &run, memory + (segment.local + i) * bytes);
            i += run.run;
        }
    }
    return true;
}

bool mw_stored_view_read(const MwStoredView *view, MwStore *store, const MwBox *box, void *memory,
                         MwFault *fault)
{
    Window window = {
        .store = store, .stored = view->stored, .type = box->global.type, .arena = mw_arena_new()};
    const int64_t most = WINDOW_BYTES / mw_type_bytes(window.type);
    int64_t first, last;
    bool good = true;
    if (is_ordered(view))
        good = read_runs(view, &window, box, most, memory, fault);
    else if (range_of(view, box, &first, &last))
        good = reach(&window, first, last - first + 1, fault) &&
               read_runs(view, &window, box, INT64_MAX, memory, fault);
    mw_arena_free(&window.arena);
    return good;
}
