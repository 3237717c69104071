/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/outline/order.h"

#include <stdlib.h>
#include <string.h>

MwSequence *mw_sequence_new(MwArena *arena, int count)
{
    MwSequence *order = MW_NEW(arena, MwSequence, 1);
    *order = (MwSequence){arena, MW_NEW(arena, MwSequenceItem, count), count};
    return order;
}

void mw_sequence_add_arrow(MwSequence *order, int from, int to)
{
    MwSequenceItem *item = &order->items[from];
    if (!item->next.count || mw_vec_last(&item->next) != to)
        mw_vec_push(order->arena, &item->next, to);
}

/* ---- circles ---- */

/* Tarjan, "Depth-first search and linear graph algorithms", 1972, section 4, with a stack of its
 * own in the place of recursion. */
typedef struct {
    MwSequence *order;
    int *number; /* [items] in which they are reached, from 1; 0: not yet */
    int *low;    /* [items] the least number reached from it, of items on the stack */
    bool *on_stack;
    int *stack, stack_count;
    int *path, *at, path_count; /* items being visited, and which of `next` comes next */
    int numbers;
} Search;

static void enter(Search *search, int item)
{
    search->number[item] = search->low[item] = ++search->numbers;
    search->on_stack[item] = true;
    search->stack[search->stack_count++] = item;
    search->at[search->path_count] = 0;
    search->path[search->path_count++] = item;
}

/* Ends a component, whose items lie on the stack from `item` on. */
static void end_component(Search *search, int item)
{
    const bool is_circle = search->stack[search->stack_count - 1] != item;
    int other;
    do {
        other = search->stack[--search->stack_count];
        search->on_stack[other] = false;
        search->order->items[other].in_circle = is_circle;
    } while (other != item);
}

static void leave(Search *search, int item)
{
    if (search->low[item] == search->number[item])
        end_component(search, item);
    if (--search->path_count == 0)
        return;
    const int outer = search->path[search->path_count - 1];
    search->low[outer] = (int)mw_min(search->low[outer], search->low[item]);
}

static void visit(Search *search, int first)
{
    enter(search, first);
    while (search->path_count) {
        const int item = search->path[search->path_count - 1];
        const MwSequenceItem *of = &search->order->items[item];
        int *at = &search->at[search->path_count - 1];
        if (*at == of->next.count) {
            leave(search, item);
            continue;
        }
        const int other = of->next.at[(*at)++];
        if (!search->number[other])
            enter(search, other);
        else if (search->on_stack[other])
            search->low[item] = (int)mw_min(search->low[item], search->number[other]);
    }
}

void mw_sequence_find_circles(MwSequence *order)
{
    Search search = {.order = order,
                     .number = MW_NEW(order->arena, int, order->count),
                     .low = MW_NEW(order->arena, int, order->count),
                     .on_stack = MW_NEW(order->arena, bool, order->count),
                     .stack = MW_NEW(order->arena, int, order->count),
                     .path = MW_NEW(order->arena, int, order->count),
                     .at = MW_NEW(order->arena, int, order->count)};
    for (int i = 0; i < order->count; i++)
        if (!search.number[i])
            visit(&search, i);
}

/* ---- sequence ---- */

bool mw_path_follows(const char *a, const char *b)
{
    const char *of_a = strrchr(a, '.'), *of_b = strrchr(b, '.');
    of_a = of_a ? of_a + 1 : a;
    of_b = of_b ? of_b + 1 : b;
    if (of_a - a != of_b - b || strncmp(a, b, (size_t)(of_a - a)) != 0)
        return false;
    const size_t digits = strspn(of_a, "0123456789");
    const size_t others = strspn(of_b, "0123456789");
    return digits && others && digits < 9 && others < 9 && !of_a[digits] && !of_b[others] &&
           (of_b[0] != '0') && atoi(of_b) == atoi(of_a) + 1;
}

/* Items that may come next, as a binary heap by rank. */
typedef struct {
    const MwSequence *order;
    int *at, count;
} Heap;

static bool comes_first(const Heap *heap, int a, int b)
{
    return heap->order->items[heap->at[a]].rank < heap->order->items[heap->at[b]].rank;
}

static void swap(Heap *heap, int a, int b)
{
    const int item = heap->at[a];
    heap->at[a] = heap->at[b];
    heap->at[b] = item;
}

static void push(Heap *heap, int item)
{
    int i = heap->count++;
    heap->at[i] = item;
    for (; i > 0 && comes_first(heap, i, (i - 1) / 2); i = (i - 1) / 2)
        swap(heap, i, (i - 1) / 2);
}

static int pop(Heap *heap)
{
    const int first = heap->at[0];
    heap->at[0] = heap->at[--heap->count];
    for (int i = 0;;) {
        int least = i;
        for (int child = 2 * i + 1; child <= 2 * i + 2 && child < heap->count; child++)
            if (comes_first(heap, child, least))
                least = child;
        if (least == i)
            return first;
        swap(heap, i, least);
        i = least;
    }
}

/* Takes an item: those that waited for it alone may come next. Returns the one that follows it by
 * its number, which is not put into the heap; -1: none. */
static int take(Heap *heap, int item, int *waits)
{
    const MwSequenceItem *of = &heap->order->items[item];
    int follows = -1;
    for (int k = 0; k < of->next.count; k++) {
        const int other = of->next.at[k];
        if (--waits[other])
            continue;
        const char *name = heap->order->items[other].name;
        if (follows < 0 && of->name && name && mw_path_follows(of->name, name))
            follows = other;
        else
            push(heap, other);
    }
    return follows;
}

const int *mw_sequence_sort(const MwSequence *order)
{
    int *sequence = MW_NEW(order->arena, int, order->count);
    int *waits = MW_NEW(order->arena, int, order->count);
    Heap heap = {order, MW_NEW(order->arena, int, order->count), 0};
    for (int i = 0; i < order->count; i++)
        for (int k = 0; k < order->items[i].next.count; k++)
            waits[order->items[i].next.at[k]]++;
    for (int i = 0; i < order->count; i++)
        if (!waits[i])
            push(&heap, i);
    int follows = -1;
    for (int i = 0; i < order->count; i++) {
        MW_ASSERT(follows >= 0 || heap.count > 0);
        sequence[i] = follows >= 0 ? follows : pop(&heap);
        follows = take(&heap, sequence[i], waits);
    }
    return sequence;
}
