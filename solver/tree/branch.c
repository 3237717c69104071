/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of branch and bound (Land and Doig, An automatic method of solving discrete programming
 * problems, Econometrica 28, 1960).
 *
 * What is open is a part of a core: the reduced core of the tree's node above with one node of it
 * held to some of its strategies. The open parts with the least bounds are taken, one for each
 * thread, bounded apart (subproblem.c) and put back as two parts each, in order, so that nothing
 * depends on which thread was first. No choice below the cutoff is lost: it is in an open part or
 * is the best one. Therefore the least bound of the open parts is one of the whole.
 *
 * The cores of inner nodes live as long as something below them is open. If they take too much
 * memory the part that was put back last is taken instead, which opens few new ones. */
#include "solver/tree/branch.h"

#include "base/threads.h"
#include "solver/tree/subproblem.h"

/* The limit of memory. */
static const size_t DEFAULT_BYTES = (size_t)1 << 28;

/* The reduced core of a node of the tree. */
typedef struct Base Base;
struct Base {
    MwArena *arena;
    MwCore *core;
    Base *above; /* whose core this one's is a copy of */
    int users;   /* open parts and bases below */
};

typedef struct {
    Base *base; /* NULL: the root */
    int node;   /* held to `keep`; -1: none */
    const MwTable *keep;
    MwCost bound;
    int64_t order; /* the earlier first, of equal bounds */
} OpenNode;

/* Of one thread in one round. */
typedef struct {
    MwArena *arena;
    OpenNode open;
    MwSubproblem subproblem;
    MwSubanswer answer;
} Task;

typedef struct {
    MwArena *arena;
    const MwCore *core;  /* whose choices are looked for */
    const MwCore *root;  /* what is left of it: */
    const int *place;    /* node i is place[i] of the core */
    MwArena *best_arena; /* the caller's */
    MwCoreBest best;     /* of the core */
    const MwBranchLimits *limits;
    MwCost cutoff; /* only less is of interest */
    MwCost bound;  /* as reported last */
    MW_VEC(OpenNode) open;
    Task *tasks; /* [threads] */
    int64_t order;
    size_t bytes, most_bytes; /* of the cores of inner nodes */
    int nodes;
    int64_t work;
    bool stuck; /* a part could not be bounded to the end, or divided */
} Tree;

static void release(Tree *tree, Base *base)
{
    while (base && --base->users == 0) {
        Base *above = base->above;
        tree->bytes -= mw_arena_bytes(base->arena);
        mw_arena_free(&base->arena);
        base = above;
    }
}

static void add_open(Tree *tree, OpenNode open)
{
    open.order = tree->order++;
    if (open.base)
        open.base->users++;
    mw_vec_push(tree->arena, &tree->open, open);
}

static bool comes_before(const Tree *tree, const OpenNode *a, const OpenNode *b)
{
    if (tree->bytes > tree->most_bytes)
        return a->order > b->order;
    return a->bound != b->bound ? a->bound < b->bound : a->order < b->order;
}

static OpenNode take_open(Tree *tree)
{
    int first = 0;
    for (int i = 1; i < tree->open.count; i++)
        if (comes_before(tree, &tree->open.at[i], &tree->open.at[first]))
            first = i;
    OpenNode open = tree->open.at[first];
    tree->open.at[first] = mw_vec_last(&tree->open);
    tree->open.count--;
    return open;
}

static void drop_hopeless(Tree *tree)
{
    int kept = 0;
    for (int i = 0; i < tree->open.count; i++)
        if (tree->open.at[i].bound < tree->cutoff)
            tree->open.at[kept++] = tree->open.at[i];
        else
            release(tree, tree->open.at[i].base);
    tree->open.count = kept;
}

static void run_task(void *context, int i)
{
    Task *task = &((Tree *)context)->tasks[i];
    task->answer = mw_subproblem_solve(task->arena, &task->subproblem);
}

static void start_task(Tree *tree, Task *task)
{
    task->arena = mw_arena_new();
    task->open = take_open(tree);
    task->subproblem = (MwSubproblem){.root = tree->root,
                                      .from = task->open.base ? task->open.base->core : tree->root,
                                      .node = task->open.node,
                                      .keep = task->open.keep,
                                      .cutoff = tree->cutoff,
                                      .stop = tree->limits->stop};
}

static void take_best(Tree *tree, const MwCoreBest *found)
{
    if (!found->choice || found->cost >= tree->cutoff)
        return;
    tree->best.cost = found->cost;
    tree->best.choice = MW_NEW(tree->best_arena, int, tree->core->node_count);
    for (int i = 0; i < tree->root->node_count; i++)
        tree->best.choice[tree->place[i]] = found->choice[i];
    tree->cutoff = mw_core_below(tree->root, found->cost);
}

static void divide(Tree *tree, const Task *task)
{
    Base *base = MW_NEW(tree->arena, Base, 1);
    base->arena = mw_arena_new();
    base->core = mw_core_move(base->arena, task->answer.core);
    base->above = task->open.base;
    if (base->above)
        base->above->users++;
    const MwSplit *split = &task->answer.split;
    for (int i = 0; i < 2; i++) {
        MwCost bound = split->bound[i];
        if (bound < task->answer.bound)
            bound = task->answer.bound;
        const MwTable *half = split->half[i];
        add_open(tree,
                 (OpenNode){.base = base,
                            .node = split->node,
                            .keep = mw_table_intern(base->core->tables, 1, half->dims, half->at),
                            .bound = bound});
    }
    tree->bytes += mw_arena_bytes(base->arena);
}

/* As it was, but for what is known of it. */
static void put_back(Tree *tree, const Task *task)
{
    OpenNode open = task->open;
    if (open.bound < task->answer.bound)
        open.bound = task->answer.bound;
    add_open(tree, open);
    tree->stuck = true;
}

static void finish_task(Tree *tree, Task *task)
{
    const MwSubanswer *answer = &task->answer;
    take_best(tree, &answer->best);
    if (answer->core && answer->split.node >= 0)
        divide(tree, task);
    else if (answer->core)
        put_back(tree, task);
    release(tree, task->open.base);
    mw_arena_free(&task->arena);
    tree->nodes++;
    tree->work += answer->work;
}

static MwCost least_bound(const Tree *tree)
{
    MwCost least = tree->cutoff;
    for (int i = 0; i < tree->open.count; i++)
        if (tree->open.at[i].bound < least)
            least = tree->open.at[i].bound;
    return least;
}

/* Tells what is new; false if that is enough. */
static bool report(Tree *tree, MwCost cutoff_before)
{
    const MwBranchLimits *limits = tree->limits;
    MwCost bound = least_bound(tree);
    if (bound == tree->bound && tree->cutoff == cutoff_before)
        return true;
    tree->bound = bound;
    return !limits->report || limits->report(limits->context, bound, &tree->best);
}

static bool within_limits(const Tree *tree)
{
    const MwBranchLimits *limits = tree->limits;
    return tree->nodes < limits->nodes && (limits->work == 0 || tree->work < limits->work) &&
           !tree->stuck && !mw_stopped(&limits->stop);
}

static void search(Tree *tree)
{
    bool go_on = true;
    while (go_on && tree->open.count > 0 && within_limits(tree)) {
        int count = (int)mw_min(tree->open.count, tree->limits->threads);
        count = (int)mw_min(count, tree->limits->nodes - tree->nodes);
        MwCost before = tree->cutoff;
        for (int i = 0; i < count; i++)
            start_task(tree, &tree->tasks[i]);
        mw_parallel(count, count, run_task, tree);
        for (int i = 0; i < count; i++)
            finish_task(tree, &tree->tasks[i]);
        drop_hopeless(tree);
        go_on = report(tree, before);
    }
}

MwBranchAnswer mw_branch(MwArena *arena, const MwCore *core, MwCoreBest *best,
                         const MwBranchLimits *limits)
{
    MwArena *scratch = mw_arena_new();
    Tree tree = {.arena = scratch, .core = core, .best_arena = arena, .best = *best};
    tree.limits = limits;
    tree.root = mw_core_extract(scratch, core, &tree.place);
    tree.cutoff = best->cost;
    tree.bound = -MW_CORE_NONE;
    tree.most_bytes = limits->bytes > 0 ? limits->bytes : DEFAULT_BYTES;
    tree.tasks = MW_NEW(scratch, Task, limits->threads);
    add_open(&tree, (OpenNode){.node = -1, .bound = -MW_CORE_NONE});
    search(&tree);
    MwBranchAnswer answer = {least_bound(&tree), tree.open.count == 0, tree.nodes, tree.work};
    *best = tree.best;
    tree.cutoff = -MW_CORE_NONE;
    drop_hopeless(&tree);
    mw_arena_free(&scratch);
    return answer;
}
