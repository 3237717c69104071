/* SPDX-License-Identifier: MIT */
/* All-reduces by messages, by each algorithm that cost/algorithms.def has a formula for.
 *
 * All members get the same bits. But for the algorithm that mw_mpi_all_reduce_in_order chooses
 * these need not be those of mw_combine on all sources, since an algorithm combines in an order of
 * its own, and rounds floats of 16 bits at every step: the transport, whose runs give the same bits
 * however data moves, takes that one, and the others are there to compare them. Integers, and sums
 * that are exact, are the same by all. */
#ifndef MW_RUNTIME_MPI_ALL_REDUCE_H
#define MW_RUNTIME_MPI_ALL_REDUCE_H

#include "base/algorithm.h"
#include "runtime/exec/fault.h"
#include "runtime/plan/collective.h"

#include <mpi.h>

typedef struct {
    MPI_Comm comm; /* rank m is member m; its errors return */
    int members, self;
    /* members of a node, which follow one another; divides `members`. Only the hierarchical
     * algorithm looks at it. */
    int per_node;
    /* [mw_mpi_all_reduce_scratch] */
    void *scratch;
} MwReduceGroup;

/* Whether the algorithm does all-reduces in such a group: the hierarchical one needs several nodes
 * of several members. */
bool mw_mpi_has_all_reduce(MwAlgorithm algorithm, int members, int per_node);
/* The algorithm that is the fastest for so many bytes, of those whose bits are those of mw_combine
 * on all sources in order of member. */
MwAlgorithm mw_mpi_all_reduce_in_order(int members, int64_t bytes);
/* Bytes of scratch memory for all-reduces of at most `bytes` bytes by any algorithm. */
int64_t mw_mpi_all_reduce_scratch(int members, int64_t bytes);

/* Does the all-reduce. Collective over the group. `axis` and `kind` are not looked at. The scratch
 * memory is neither source nor destination. False after a fault. */
bool mw_mpi_all_reduce(const MwReduceGroup *group, MwAlgorithm algorithm,
                       const MwExchange *exchange, MwFault *fault);

#endif
