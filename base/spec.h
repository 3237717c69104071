/* SPDX-License-Identifier: MIT */
/* Sharding specs: how one tensor lies on a mesh.
 *
 * A spec has, for each dimension, the set of mesh axes that it is split over, and the set of
 * axes over which the tensor is partial: its parts are still to be combined (added, by default).
 * A dimension split over several axes is split over the lowest axis first: with S01 on a 2x4
 * mesh, device (i, j) holds block 4i + j of 8. An axis appears at most once in a spec.
 *
 * Text: "[S0, R]", "[S01, R, R]", "[R, S1] +P0", "[] +P01"; " +M0" is a partial maximum and "
 * +L0" a partial log-sum-exp. */
#ifndef MW_BASE_SPEC_H
#define MW_BASE_SPEC_H

#include "base/base.h"
#include "base/tensor.h"

enum { MW_MAX_AXES = 3 };

/* A set of mesh axes: bit i is axis i. */
typedef uint8_t MwAxes;

/* How the parts of a partial value combine. */
typedef enum { MW_COMBINE_SUM, MW_COMBINE_MAX, MW_COMBINE_LOGSUMEXP, MW_COMBINE_COUNT } MwCombine;

/* Communication among the devices that differ in one mesh axis only (base/collectives.def). */
typedef enum {
#define COLLECTIVE(id, name, splits, joins, combines, peer) MW_##id,
#include "base/collectives.def"
#undef COLLECTIVE
    MW_COLLECTIVE_COUNT
} MwCollective;

/* The member whose source a member of the group gets. */
typedef enum { MW_PEER_ALL, MW_PEER_NEXT, MW_PEER_LAST, MW_PEER_MIRROR } MwPeer;

typedef struct {
    const char *name; /* "all_reduce" */
    bool splits;      /* the source of a member has one block for each member */
    bool joins;       /* the result of a member has one block from each member */
    bool combines;    /* the members' elements of one position are combined */
    MwPeer peer;
} MwCollectiveInfo;

const MwCollectiveInfo *mw_collective_info(MwCollective collective);
const char *mw_collective_name(MwCollective collective);
/* The member of a ring that is `places` behind another; before it, if they are negative. */
static inline int mw_ring_member(int members, int member, int places)
{
    return (member + places + members) % members;
}
/* The member whose source `member` gets, and the one that gets its source, where that is one. */
int mw_collective_giver(MwCollective collective, int members, int member);
int mw_collective_taker(MwCollective collective, int members, int member);
/* Whether source and result may be one buffer. */
static inline bool mw_collective_in_place(MwCollective collective)
{
    const MwCollectiveInfo *info = mw_collective_info(collective);
    return info->combines && !info->splits && !info->joins;
}
const char *mw_combine_name(MwCombine combine); /* "sum", "max", "logsumexp" */
/* False if no combine has that name. */
bool mw_combine_parse(const char *name, MwCombine *combine);

/* Equal specs of one rank have equal bits: 4 bits per dimension, then the partial axes and the
 * combine. */
typedef struct {
    uint64_t bits;
} MwSpec;

typedef struct {
    int axis_count;        /* 1 to MW_MAX_AXES; a single device is one axis of size 1 */
    int size[MW_MAX_AXES]; /* axis 0 is the slowest link */
} MwMeshShape;

static inline bool mw_mesh_equal(const MwMeshShape *a, const MwMeshShape *b)
{
    bool equal = a->axis_count == b->axis_count;
    for (int i = 0; i < a->axis_count && equal; i++)
        equal = a->size[i] == b->size[i];
    return equal;
}

static inline MwSpec mw_spec_replicated(void)
{
    return (MwSpec){0};
}

static inline bool mw_spec_equal(MwSpec a, MwSpec b)
{
    return a.bits == b.bits;
}

static inline MwAxes mw_spec_dim(MwSpec spec, int dim)
{
    return (MwAxes)(spec.bits >> (4 * dim) & 7);
}

static inline MwAxes mw_spec_partial(MwSpec spec)
{
    return (MwAxes)(spec.bits >> 32 & 7);
}

/* Meaningful if mw_spec_partial is not empty. */
static inline MwCombine mw_spec_combine(MwSpec spec)
{
    return (MwCombine)(spec.bits >> 36 & 3);
}

MwSpec mw_spec_with_dim(MwSpec spec, int dim, MwAxes axes);
/* Makes the spec partial over `axes`, by `combine`; without axes, clears the combine too. */
MwSpec mw_spec_with_partial(MwSpec spec, MwAxes axes, MwCombine combine);
/* Every axis that the spec uses, partial ones included. */
MwAxes mw_spec_axes(MwSpec spec, int rank);

/* Number of blocks that `axes` split a dimension into. */
int mw_mesh_ways(const MwMeshShape *mesh, MwAxes axes);
int mw_mesh_devices(const MwMeshShape *mesh);
/* Coordinates of `device` (row-major: the last axis varies fastest). */
void mw_mesh_coordinates(const MwMeshShape *mesh, int device, int coordinate[MW_MAX_AXES]);
/* Index of the block, of mw_mesh_ways(axes), that the device at `coordinate` holds. */
int mw_mesh_block(const MwMeshShape *mesh, MwAxes axes, const int coordinate[MW_MAX_AXES]);
/* True for one device among those with equal coordinates on `axes`: the one at 0 on every other
 * axis. */
bool mw_mesh_is_first(const MwMeshShape *mesh, MwAxes axes, const int coordinate[MW_MAX_AXES]);
/* "2x4" */
enum { MW_MESH_TEXT_BYTES = 48 };
const char *mw_mesh_text(const MwMeshShape *mesh, char buffer[MW_MESH_TEXT_BYTES]);
/* Parses "4" or "2x4". False if the text is no mesh. */
bool mw_mesh_parse(const char *text, MwMeshShape *mesh);

/* True if every split dimension divides evenly and no axis is used twice or is outside the mesh. */
bool mw_spec_is_valid(MwSpec spec, const MwTensor *tensor, const MwMeshShape *mesh);
/* The block of `tensor` that one device holds. `spec` must be valid for it. */
MwTensor mw_spec_local(MwSpec spec, const MwTensor *tensor, const MwMeshShape *mesh);

enum { MW_SPEC_TEXT_BYTES = 96 };
const char *mw_spec_text(MwSpec spec, int rank, char buffer[MW_SPEC_TEXT_BYTES]);
/* Parses a spec that ends with `text`, and its rank. False if the text is no spec. */
bool mw_spec_parse(const char *text, MwSpec *spec, int *rank);

#endif
