/* SPDX-License-Identifier: MIT */
/* The algorithms work in the destination, where the source is copied first; what comes from others
 * is combined with it there. cost/algorithms.def names their sources.
 *
 * Two members that combine the same parts do it with that of the lower rank first, so that both
 * get the same bits (the maximum of +0 and -0 is the first). */
#include "runtime/mpi/all_reduce.h"

#include "runtime/mpi/elements.h"
#include "runtime/mpi/error.h"
#include "runtime/mpi/tags.h"

#include <string.h>

/* An all-reduce that is being done. */
typedef struct {
    const MwReduceGroup *group;
    const MwExchange *exchange;
    MPI_Datatype element;
    int64_t bytes;  /* of an element */
    char *buffer;   /* the destination */
    char *incoming; /* [count] of the scratch memory */
    MwFault *fault;
} Reduction;

/* Elements of the buffer. */
typedef struct {
    int64_t begin, count;
} Part;

#define CALL(name, ...) MW_MPI_CALL(r->fault, name, __VA_ARGS__)

static char *at(const Reduction *r, Part part)
{
    return r->buffer + part.begin * r->bytes;
}

/* The part of `whole` that is block `index` of `blocks` that differ by one element at most. */
static Part block_of(Part whole, int index, int blocks)
{
    const int64_t begin = whole.count * index / blocks;
    return (Part){whole.begin + begin, whole.count * (index + 1) / blocks - begin};
}

static Part whole_of(const Reduction *r)
{
    return (Part){0, r->exchange->count};
}

/* ---- Messages ---- */

static bool send_to(const Reduction *r, int peer, Part part)
{
    return CALL(MPI_Send, at(r, part), (int)part.count, r->element, peer, MW_TAG_ALL_REDUCE,
                r->group->comm);
}

static bool receive_to(const Reduction *r, int peer, void *to, int64_t count)
{
    return CALL(MPI_Recv, to, (int)count, r->element, peer, MW_TAG_ALL_REDUCE, r->group->comm,
                MPI_STATUS_IGNORE);
}

/* Sends a part to one member while `count` elements come from another. */
static bool swap(const Reduction *r, int to, Part part, int from, void *incoming, int64_t count)
{
    return CALL(MPI_Sendrecv, at(r, part), (int)part.count, r->element, to, MW_TAG_ALL_REDUCE,
                incoming, (int)count, r->element, from, MW_TAG_ALL_REDUCE, r->group->comm,
                MPI_STATUS_IGNORE);
}

/* Combines the part with what came from `peer`. */
static void combine(const Reduction *r, int peer, Part part)
{
    const void *parts[] = {at(r, part), r->incoming};
    if (peer < r->group->self) {
        parts[0] = r->incoming;
        parts[1] = at(r, part);
    }
    mw_combine(r->exchange->type, r->exchange->combine, parts, 2, part.count, at(r, part));
}

static bool receive_and_combine(const Reduction *r, int peer, Part part)
{
    if (!receive_to(r, peer, r->incoming, part.count))
        return false;
    combine(r, peer, part);
    return true;
}

/* ---- Naive: all to one, and from it ---- */

static bool naive(const Reduction *r)
{
    const Part whole = whole_of(r);
    if (r->group->self != 0)
        return send_to(r, 0, whole) && receive_to(r, 0, r->buffer, whole.count);
    for (int m = 1; m < r->group->members; m++)
        if (!receive_and_combine(r, m, whole))
            return false;
    for (int m = 1; m < r->group->members; m++)
        if (!send_to(r, m, whole))
            return false;
    return true;
}

/* ---- Server: each member combines a block ---- */

/* Step by step each member sends to another one and receives from another one. */
static int ahead(const Reduction *r, int steps)
{
    return mw_ring_member(r->group->members, r->group->self, steps);
}

/* Receives the own block of all members, and combines them in order of member. */
static bool serve(const Reduction *r)
{
    const Part whole = whole_of(r);
    const int members = r->group->members, self = r->group->self;
    const Part own = block_of(whole, self, members);
    const void **pieces = r->group->scratch; /* [members], before what comes */
    for (int m = 0; m < members; m++)
        pieces[m] = m == self ? at(r, own) : r->incoming + m * own.count * r->bytes;
    for (int step = 1; step < members; step++) {
        const int to = ahead(r, step), from = ahead(r, -step);
        if (!swap(r, to, block_of(whole, to, members), from,
                  r->incoming + from * own.count * r->bytes, own.count))
            return false;
    }
    mw_combine(r->exchange->type, r->exchange->combine, pieces, members, own.count, at(r, own));
    return true;
}

static bool server(const Reduction *r)
{
    const Part whole = whole_of(r);
    const int members = r->group->members;
    const Part own = block_of(whole, r->group->self, members);
    if (!serve(r))
        return false;
    for (int step = 1; step < members; step++) {
        const int to = ahead(r, step), from = ahead(r, -step);
        const Part part = block_of(whole, from, members);
        if (!swap(r, to, own, from, at(r, part), part.count))
            return false;
    }
    return true;
}

/* ---- Rings ---- */

/* Members `first`, `first` + `stride`, ... */
typedef struct {
    int first, stride, members, self;
} Ring;

static int ring_rank(const Ring *ring, int places)
{
    return ring->first + ring->stride * mw_ring_member(ring->members, ring->self, places);
}

static Part ring_block(const Ring *ring, Part whole, int places)
{
    return block_of(whole, mw_ring_member(ring->members, ring->self, places), ring->members);
}

/* Afterwards the member has combined the block of the next member of the ring. */
static bool ring_reduce_scatter(const Reduction *r, const Ring *ring, Part whole)
{
    const int next = ring_rank(ring, 1), previous = ring_rank(ring, -1);
    for (int step = 0; step < ring->members - 1; step++) {
        const Part in = ring_block(ring, whole, -step - 1);
        if (!swap(r, next, ring_block(ring, whole, -step), previous, r->incoming, in.count))
            return false;
        combine(r, previous, in);
    }
    return true;
}

static bool ring_all_gather(const Reduction *r, const Ring *ring, Part whole)
{
    const int next = ring_rank(ring, 1), previous = ring_rank(ring, -1);
    for (int step = 0; step < ring->members - 1; step++) {
        const Part in = ring_block(ring, whole, -step);
        if (!swap(r, next, ring_block(ring, whole, 1 - step), previous, at(r, in), in.count))
            return false;
    }
    return true;
}

static bool ring(const Reduction *r)
{
    const Ring all = {0, 1, r->group->members, r->group->self};
    return ring_reduce_scatter(r, &all, whole_of(r)) && ring_all_gather(r, &all, whole_of(r));
}

/* Within nodes, between nodes on the part that the member has combined, and within nodes. */
static bool hierarchical(const Reduction *r)
{
    const int per_node = r->group->per_node, self = r->group->self;
    const int place = self % per_node, node = self / per_node;
    const Ring near = {node * per_node, 1, per_node, place};
    const Ring far = {place, per_node, r->group->members / per_node, node};
    const Part own = ring_block(&near, whole_of(r), 1);
    return ring_reduce_scatter(r, &near, whole_of(r)) && ring_reduce_scatter(r, &far, own) &&
           ring_all_gather(r, &far, own) && ring_all_gather(r, &near, whole_of(r));
}

/* ---- Recursive doubling and halving ---- */

/* The powers of two among the members: the first 2 * `folded` members are `folded` pairs, of which
 * the second takes part for both. */
typedef struct {
    int members; /* a power of two */
    int folded;
    int self; /* -1: the member does not take part */
} Fold;

static Fold fold_of(const Reduction *r)
{
    const int self = r->group->self;
    Fold fold = {.members = 1};
    while (2 * fold.members <= r->group->members)
        fold.members *= 2;
    fold.folded = r->group->members - fold.members;
    fold.self = self >= 2 * fold.folded ? self - fold.folded : self % 2 ? self / 2 : -1;
    return fold;
}

/* The member that takes part as `index`. */
static int fold_rank(const Fold *fold, int index)
{
    return index < fold->folded ? 2 * index + 1 : index + fold->folded;
}

static bool has_pair(const Reduction *r, const Fold *fold)
{
    return r->group->self < 2 * fold->folded;
}

static bool fold_in(const Reduction *r, const Fold *fold)
{
    if (!has_pair(r, fold))
        return true;
    return fold->self < 0 ? send_to(r, r->group->self + 1, whole_of(r))
                          : receive_and_combine(r, r->group->self - 1, whole_of(r));
}

static bool fold_out(const Reduction *r, const Fold *fold)
{
    if (!has_pair(r, fold))
        return true;
    return fold->self < 0 ? receive_to(r, r->group->self + 1, r->buffer, r->exchange->count)
                          : send_to(r, r->group->self - 1, whole_of(r));
}

static bool double_all(const Reduction *r, const Fold *fold)
{
    const Part whole = whole_of(r);
    for (int distance = 1; fold->self >= 0 && distance < fold->members; distance *= 2) {
        const int peer = fold_rank(fold, fold->self ^ distance);
        if (!swap(r, peer, whole, peer, r->incoming, whole.count))
            return false;
        combine(r, peer, whole);
    }
    return true;
}

static bool doubling(const Reduction *r)
{
    const Fold fold = fold_of(r);
    return fold_in(r, &fold) && double_all(r, &fold) && fold_out(r, &fold);
}

/* Halves the part that a member combines, nearest members first, and gathers on the way back. */
static bool halve_and_double(const Reduction *r, const Fold *fold, Part part, int distance)
{
    if (fold->self < 0 || distance == fold->members)
        return true;
    const int peer = fold_rank(fold, fold->self ^ distance);
    const int upper = (fold->self & distance) != 0;
    const Part own = block_of(part, upper, 2), other = block_of(part, !upper, 2);
    if (!swap(r, peer, other, peer, r->incoming, own.count))
        return false;
    combine(r, peer, own);
    return halve_and_double(r, fold, own, 2 * distance) &&
           swap(r, peer, own, peer, at(r, other), other.count);
}

static bool butterfly(const Reduction *r)
{
    const Fold fold = fold_of(r);
    return fold_in(r, &fold) && halve_and_double(r, &fold, whole_of(r), 1) && fold_out(r, &fold);
}

/* ---- Two trees ---- */

/* Bytes that go through a tree at a time: fewer have members wait less for the first ones, and cost
 * more messages. With 64 KiB a message takes a hundred times its latency here. Chosen, not
 * measured. */
enum { TREE_PIECE_BYTES = 64 << 10 };

/* The first tree has the members as a heap, in which the lower half has children; the second has
 * them the other way round, so that each member has children in one tree at most. */
typedef struct {
    int members, self; /* the place in the heap */
    bool mirrored;
} Tree;

static int tree_rank(const Tree *tree, int place)
{
    return tree->mirrored ? tree->members - 1 - place : place;
}

static Tree tree_of(const Reduction *r, bool mirrored)
{
    Tree tree = {r->group->members, r->group->self, mirrored};
    tree.self = tree_rank(&tree, r->group->self);
    return tree;
}

static int parent_of(const Tree *tree)
{
    return tree_rank(tree, (tree->self - 1) / 2);
}

static bool reduce_up(const Reduction *r, const Tree *tree, Part part)
{
    for (int child = 2 * tree->self + 1; child <= 2 * tree->self + 2; child++)
        if (child < tree->members && !receive_and_combine(r, tree_rank(tree, child), part))
            return false;
    return tree->self == 0 || send_to(r, parent_of(tree), part);
}

static bool broadcast_down(const Reduction *r, const Tree *tree, Part part)
{
    if (tree->self != 0 && !receive_to(r, parent_of(tree), at(r, part), part.count))
        return false;
    for (int child = 2 * tree->self + 1; child <= 2 * tree->self + 2; child++)
        if (child < tree->members && !send_to(r, tree_rank(tree, child), part))
            return false;
    return true;
}

/* Each piece of either half goes through its tree. All members take pieces in one order, so that a
 * message that waits for its receiver waits for an earlier piece. */
static bool through_trees(const Reduction *r,
                          bool (*move)(const Reduction *r, const Tree *tree, Part part))
{
    const Tree trees[] = {tree_of(r, false), tree_of(r, true)};
    const int64_t pieces =
        mw_max(1, mw_ceil_div(r->exchange->count * r->bytes, 2 * (int64_t)TREE_PIECE_BYTES));
    for (int64_t p = 0; p < pieces; p++)
        for (int t = 0; t < MW_COUNT(trees); t++) {
            const Part half = block_of(whole_of(r), t, MW_COUNT(trees));
            if (!move(r, &trees[t], block_of(half, (int)p, (int)pieces)))
                return false;
        }
    return true;
}

static bool tree(const Reduction *r)
{
    return through_trees(r, reduce_up) && through_trees(r, broadcast_down);
}

/* ---- All ---- */

static bool (*const by_algorithm[MW_ALGORITHM_COUNT])(const Reduction *r) = {
    [MW_ALGORITHM_RING] = ring,
    [MW_ALGORITHM_TREE] = tree,
    [MW_ALGORITHM_DOUBLING] = doubling,
    [MW_ALGORITHM_BUTTERFLY] = butterfly,
    [MW_ALGORITHM_NAIVE] = naive,
    [MW_ALGORITHM_SERVER] = server,
    [MW_ALGORITHM_HIERARCHICAL] = hierarchical,
};

bool mw_mpi_has_all_reduce(MwAlgorithm algorithm, int members, int per_node)
{
    const bool has_levels = per_node > 1 && per_node < members;
    return by_algorithm[algorithm] && (algorithm != MW_ALGORITHM_HIERARCHICAL || has_levels);
}

/* Most bytes that two members exchange whole. More would have both combine all of it, and move as
 * much: `meshwright collectives --run 2` on two cores has, by MPI's shared memory, `doubling` at
 * 2.6 us and `server` at 4.9 for 1 KiB, 8.3 to 23 and 14 to 34 for 16 KiB, and both at 35 to 54 for
 * 64 KiB. */
enum { MOST_EXCHANGED_BYTES = 16 << 10 };

/* Servers combine in order of member whatever the number of members; of two, an exchange does too,
 * in one message after another instead of two. */
MwAlgorithm mw_mpi_all_reduce_in_order(int members, int64_t bytes)
{
    return members == 2 && bytes <= MOST_EXCHANGED_BYTES ? MW_ALGORITHM_DOUBLING
                                                         : MW_ALGORITHM_SERVER;
}

/* The pieces of `server`, and what comes: its blocks of all members are longer than the whole by
 * less than an element each. */
int64_t mw_mpi_all_reduce_scratch(int members, int64_t bytes)
{
    const int64_t largest_element = 8;
    return members * (int64_t)sizeof(void *) + bytes + members * largest_element;
}

bool mw_mpi_all_reduce(const MwReduceGroup *group, MwAlgorithm algorithm,
                       const MwExchange *exchange, MwFault *fault)
{
    MW_ASSERT(mw_mpi_has_all_reduce(algorithm, group->members, group->per_node));
    const Reduction reduction = {
        .group = group,
        .exchange = exchange,
        .element = mw_mpi_element(exchange->type),
        .bytes = mw_type_bytes(exchange->type),
        .buffer = exchange->destination,
        .incoming = (char *)group->scratch + group->members * sizeof(void *),
        .fault = fault,
    };
    if (!mw_mpi_counts(exchange->count, fault))
        return false;
    if (exchange->destination != exchange->source)
        memcpy(exchange->destination, exchange->source,
               (size_t)(exchange->count * reduction.bytes));
    return group->members == 1 || by_algorithm[algorithm](&reduction);
}
