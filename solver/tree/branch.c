/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of branch and bound (Land and Doig, An automatic method of solving discrete programming
 * problems, Econometrica 28, 1960).
 *
 * An open node is a subproblem: the reduced core of its parent with one node of that core
 * restricted to some of its strategies. Each round takes the open nodes of least bound, one for
 * each thread, bounds them in parallel (subproblem.c), and replaces each by two children, in order,
 * so that nothing depends on which thread is first. No choice below the cutoff is lost: it is in an
 * open node or is the incumbent. The least bound of the open nodes is therefore a bound of the
 * whole problem.
 *
 * The core of an inner node lives as long as one of its descendants is open. If the cores take too
 * much memory, the search takes the newest open node instead (depth first), which opens few new
 * ones. */
#include "solver/tree/branch.h"

#include "base/threads.h"
#include "solver/tree/subproblem.h"

/* Memory limit of the cores of inner nodes, by default. */
static const size_t DEFAULT_BYTES = (size_t)1 << 28;

/* An inner node of the tree, with its reduced core. */
typedef struct InnerNode InnerNode;
struct InnerNode {
    MwArena *arena;
    MwCore *core;
    InnerNode *parent; /* parent, of whose core this one's is a copy */
    int references;    /* reference count: open nodes and inner nodes that are children */
};

typedef struct {
    InnerNode *parent; /* parent; NULL: this is the root */
    int node;          /* restricted to `keep`; -1: none */
    const MwTable *keep;
    MwCost bound;
    int64_t order; /* order of creation; breaks ties between equal bounds */
} OpenNode;

/* The subproblem of one thread in one round. */
typedef struct {
    MwArena *arena;
    OpenNode open;
    MwSubproblem subproblem;
    MwSubproblemAnswer answer;
} Task;

typedef struct {
    MwArena *arena;
    const MwCore *core;       /* the core whose choices are searched */
    const MwCore *root;       /* the nodes left of it, as a core of their own */
    const int *node_of;       /* node i of the root is node_of[i] of the core */
    MwArena *incumbent_arena; /* arena of the caller */
    MwIncumbent incumbent;    /* a choice of the core */
    const MwBranchLimits *limits;
    MwCost cutoff; /* only less is of interest */
    MwCost bound;  /* bound at the last report */
    MW_VEC(OpenNode) open;
    Task *tasks; /* [threads] */
    int64_t order;
    size_t bytes, most_bytes; /* memory of the cores of inner nodes, and its limit */
    int nodes;
    int64_t work;
    bool stuck; /* a node could not be bounded to the end, or not be branched on */
} Tree;

static void release(Tree *tree, InnerNode *node)
{
    while (node && --node->references == 0) {
        InnerNode *parent = node->parent;
        tree->bytes -= mw_arena_bytes(node->arena);
        mw_arena_free(&node->arena);
        node = parent;
    }
}

static void add_open(Tree *tree, OpenNode open)
{
    open.order = tree->order++;
    if (open.parent)
        open.parent->references++;
    mw_vec_push(tree->arena, &tree->open, open);
}

static bool comes_before(const Tree *tree, const OpenNode *a, const OpenNode *b)
{
    if (tree->bytes > tree->most_bytes)
        return a->order > b->order;
    return a->bound != b->bound ? a->bound < b->bound : a->order < b->order;
}

static OpenNode select_node(Tree *tree)
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

static void prune(Tree *tree)
{
    int kept = 0;
    for (int i = 0; i < tree->open.count; i++)
        if (tree->open.at[i].bound < tree->cutoff)
            tree->open.at[kept++] = tree->open.at[i];
        else
            release(tree, tree->open.at[i].parent);
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
    task->open = select_node(tree);
    task->subproblem =
        (MwSubproblem){.root = tree->root,
                       .from = task->open.parent ? task->open.parent->core : tree->root,
                       .node = task->open.node,
                       .keep = task->open.keep,
                       .cutoff = tree->cutoff,
                       .stop = tree->limits->stop};
}

static void update_incumbent(Tree *tree, const MwIncumbent *found)
{
    if (!found->choice || found->cost >= tree->cutoff)
        return;
    tree->incumbent.cost = found->cost;
    tree->incumbent.choice = MW_NEW(tree->incumbent_arena, int, tree->core->node_count);
    for (int i = 0; i < tree->root->node_count; i++)
        tree->incumbent.choice[tree->node_of[i]] = found->choice[i];
    tree->cutoff = mw_core_improving_cutoff(tree->root, found->cost);
}

static void branch_on(Tree *tree, const Task *task)
{
    InnerNode *inner = MW_NEW(tree->arena, InnerNode, 1);
    inner->arena = mw_arena_new();
    inner->core = mw_core_move(inner->arena, task->answer.core);
    inner->parent = task->open.parent;
    if (inner->parent)
        inner->parent->references++;
    const MwSplit *split = &task->answer.split;
    for (int i = 0; i < 2; i++) {
        MwCost bound = split->bound[i];
        if (bound < task->answer.bound)
            bound = task->answer.bound;
        const MwTable *set = split->set[i];
        add_open(tree,
                 (OpenNode){.parent = inner,
                            .node = split->node,
                            .keep = mw_table_intern(inner->core->tables, 1, set->dims, set->at),
                            .bound = bound});
    }
    tree->bytes += mw_arena_bytes(inner->arena);
}

/* Reopens the node as it was, with its new bound. */
static void reopen(Tree *tree, const Task *task)
{
    OpenNode open = task->open;
    if (open.bound < task->answer.bound)
        open.bound = task->answer.bound;
    add_open(tree, open);
    tree->stuck = true;
}

static void finish_task(Tree *tree, Task *task)
{
    const MwSubproblemAnswer *answer = &task->answer;
    update_incumbent(tree, &answer->best);
    if (answer->core && answer->split.node >= 0)
        branch_on(tree, task);
    else if (answer->core)
        reopen(tree, task);
    release(tree, task->open.parent);
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

/* Reports what is new. Returns false if the search shall end. */
static bool report(Tree *tree, MwCost cutoff_before)
{
    const MwBranchLimits *limits = tree->limits;
    MwCost bound = least_bound(tree);
    if (bound == tree->bound && tree->cutoff == cutoff_before)
        return true;
    tree->bound = bound;
    return !limits->report || limits->report(limits->context, bound, &tree->incumbent);
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
        prune(tree);
        go_on = report(tree, before);
    }
}

MwBranchAnswer mw_branch(MwArena *arena, const MwCore *core, MwIncumbent *incumbent,
                         const MwBranchLimits *limits)
{
    MwArena *scratch = mw_arena_new();
    Tree tree = {.arena = scratch, .core = core, .incumbent_arena = arena, .incumbent = *incumbent};
    tree.limits = limits;
    tree.root = mw_core_extract(scratch, core, &tree.node_of);
    tree.cutoff = incumbent->cost;
    tree.bound = -MW_ABOVE_ANY_COST;
    tree.most_bytes = limits->bytes > 0 ? limits->bytes : DEFAULT_BYTES;
    tree.tasks = MW_NEW(scratch, Task, limits->threads);
    add_open(&tree, (OpenNode){.node = -1, .bound = -MW_ABOVE_ANY_COST});
    search(&tree);
    MwBranchAnswer answer = {least_bound(&tree), tree.open.count == 0, tree.nodes, tree.work};
    *incumbent = tree.incumbent;
    tree.cutoff = -MW_ABOVE_ANY_COST;
    prune(&tree);
    mw_arena_free(&scratch);
    return answer;
}
