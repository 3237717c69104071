/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/reference/spread.h"

#include "tests/reference/combine.h"

#include <math.h>
#include <string.h>

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int random_below(uint64_t *state, int count)
{
    return (int)(random_next(state) % (uint64_t)count);
}

Spread spread_new(MwArena *arena, const MwMeshShape *mesh, const MwTensor *local)
{
    int devices = mw_mesh_devices(mesh);
    Spread spread = {*mesh, *local, MW_NEW(arena, double *, devices)};
    for (int i = 0; i < devices; i++)
        spread.at[i] = MW_NEW(arena, double, mw_tensor_elements(local));
    return spread;
}

/* ---- Positions ---- */

static void index_of(const MwTensor *tensor, int64_t element, int64_t index[MW_MAX_RANK])
{
    for (int d = tensor->rank - 1; d >= 0; d--) {
        index[d] = element % tensor->dim[d];
        element /= tensor->dim[d];
    }
}

static int64_t element_of(const MwTensor *tensor, const int64_t index[MW_MAX_RANK])
{
    int64_t element = 0;
    for (int d = 0; d < tensor->rank; d++) {
        MW_ASSERT(index[d] >= 0 && index[d] < tensor->dim[d]);
        element = element * tensor->dim[d] + index[d];
    }
    return element;
}

/* The element of the whole tensor that is local element `element` of `device`. */
static int64_t global_element(const Spread *spread, MwSpec spec, const MwTensor *tensor, int device,
                              int64_t element)
{
    int64_t index[MW_MAX_RANK];
    int coordinate[MW_MAX_AXES];
    index_of(&spread->local, element, index);
    mw_mesh_coordinates(&spread->mesh, device, coordinate);
    for (int d = 0; d < tensor->rank; d++)
        index[d] +=
            spread->local.dim[d] * mw_mesh_block(&spread->mesh, mw_spec_dim(spec, d), coordinate);
    return element_of(tensor, index);
}

/* The device at the place of `device` but for coordinate `c` along `axis`. */
static int neighbour(const MwMeshShape *mesh, int device, int axis, int c)
{
    int coordinate[MW_MAX_AXES], at = 0;
    mw_mesh_coordinates(mesh, device, coordinate);
    coordinate[axis] = c;
    for (int a = 0; a < mesh->axis_count; a++)
        at = at * mesh->size[a] + coordinate[a];
    return at;
}

static int coordinate_of(const MwMeshShape *mesh, int device, int axis)
{
    int coordinate[MW_MAX_AXES];
    mw_mesh_coordinates(mesh, device, coordinate);
    return coordinate[axis];
}

/* ---- Partial values ---- */

/* A part of `value` that `rest` combines with to `value`; small integers for a sum, so that sums
 * of integers stay exact. */
static double draw_part(MwCombine combine, double value, double *rest, uint64_t *random)
{
    double drawn = random_below(random, 9) - 4;
    switch (combine) {
    case MW_COMBINE_SUM:
        *rest = value - drawn;
        return drawn;
    case MW_COMBINE_MAX:
        *rest = value;
        return value - fabs(drawn);
    case MW_COMBINE_LOGSUMEXP:
        *rest = value + log(0.25);
        return value + log(0.75);
    case MW_COMBINE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

/* Splits the parts of the devices along `axis`, which are equal, so that they combine to what they
 * were: each takes its share of what is left, the last one the rest. */
static void make_partial(Spread *spread, int axis, MwCombine combine, uint64_t *random)
{
    int64_t elements = mw_tensor_elements(&spread->local);
    for (int device = 0; device < mw_mesh_devices(&spread->mesh); device++) {
        if (coordinate_of(&spread->mesh, device, axis) != 0)
            continue;
        for (int64_t i = 0; i < elements; i++) {
            double rest = spread->at[device][i];
            for (int c = 0; c < spread->mesh.size[axis]; c++) {
                double *part = &spread->at[neighbour(&spread->mesh, device, axis, c)][i];
                bool is_last = c == spread->mesh.size[axis] - 1;
                *part = is_last ? rest : draw_part(combine, rest, &rest, random);
            }
        }
    }
}

Spread spread_scatter(MwArena *arena, const MwMeshShape *mesh, const MwTensor *tensor,
                      const double *whole, MwSpec spec, uint64_t *random)
{
    MwTensor local = mw_spec_local(spec, tensor, mesh);
    Spread spread = spread_new(arena, mesh, &local);
    for (int device = 0; device < mw_mesh_devices(mesh); device++)
        for (int64_t i = 0; i < mw_tensor_elements(&local); i++)
            spread.at[device][i] = whole[global_element(&spread, spec, tensor, device, i)];
    for (int axis = 0; axis < mesh->axis_count; axis++)
        if (mw_spec_partial(spec) >> axis & 1)
            make_partial(&spread, axis, mw_spec_combine(spec), random);
    return spread;
}

static Spread combined_along(MwArena *arena, const Spread *source, int axis, MwCombine combine)
{
    Spread result = spread_new(arena, &source->mesh, &source->local);
    for (int device = 0; device < mw_mesh_devices(&source->mesh); device++) {
        for (int64_t i = 0; i < mw_tensor_elements(&source->local); i++) {
            double sum = source->at[neighbour(&source->mesh, device, axis, 0)][i];
            for (int c = 1; c < source->mesh.size[axis]; c++)
                sum = combine_two(combine, sum,
                                  source->at[neighbour(&source->mesh, device, axis, c)][i]);
            result.at[device][i] = sum;
        }
    }
    return result;
}

double spread_error(const Spread *spread, MwSpec spec, const MwTensor *tensor, const double *whole)
{
    MwArena *arena = mw_arena_new();
    Spread combined = *spread;
    for (int axis = 0; axis < spread->mesh.axis_count; axis++)
        if (mw_spec_partial(spec) >> axis & 1)
            combined = combined_along(arena, &combined, axis, mw_spec_combine(spec));
    double worst = 0;
    for (int device = 0; device < mw_mesh_devices(&spread->mesh); device++) {
        for (int64_t i = 0; i < mw_tensor_elements(&spread->local); i++) {
            double wanted = whole[global_element(spread, spec, tensor, device, i)];
            double error = fabs(combined.at[device][i] - wanted) / fmax(1, fabs(wanted));
            worst = error <= worst ? worst : error; /* a NaN counts as worst */
        }
    }
    mw_arena_free(&arena);
    return worst;
}

/* ---- Collectives ---- */

/* A range of positions of a tensor along one dimension. */
typedef struct {
    const MwTensor *type;
    double *at;
    int64_t begin;
} Range;

/* Copies `count` positions along `dim`; the other dimensions of source and target agree. */
static void copy_range(const Range *source, const Range *target, int dim, int64_t count)
{
    for (int64_t i = 0; i < mw_tensor_elements(source->type); i++) {
        int64_t index[MW_MAX_RANK];
        index_of(source->type, i, index);
        if (index[dim] < source->begin || index[dim] >= source->begin + count)
            continue;
        index[dim] += target->begin - source->begin;
        target->at[element_of(target->type, index)] = source->at[i];
    }
}

static Spread gathered(MwArena *arena, const Spread *source, int axis, int dim)
{
    MwTensor local = source->local;
    int64_t part = local.dim[dim];
    local.dim[dim] *= source->mesh.size[axis];
    Spread result = spread_new(arena, &source->mesh, &local);
    for (int device = 0; device < mw_mesh_devices(&source->mesh); device++)
        for (int c = 0; c < source->mesh.size[axis]; c++) {
            const int other = neighbour(&source->mesh, device, axis, c);
            copy_range(&(Range){&source->local, source->at[other], 0},
                       &(Range){&local, result.at[device], c * part}, dim, part);
        }
    return result;
}

static Spread sharded(MwArena *arena, const Spread *source, int axis, int dim)
{
    MwTensor local = source->local;
    MW_ASSERT(local.dim[dim] % source->mesh.size[axis] == 0);
    local.dim[dim] /= source->mesh.size[axis];
    Spread result = spread_new(arena, &source->mesh, &local);
    for (int device = 0; device < mw_mesh_devices(&source->mesh); device++) {
        const int coordinate = coordinate_of(&source->mesh, device, axis);
        copy_range(&(Range){&source->local, source->at[device], coordinate * local.dim[dim]},
                   &(Range){&local, result.at[device], 0}, dim, local.dim[dim]);
    }
    return result;
}

/* Every device gets what one other along the axis has. */
static Spread exchanged(MwArena *arena, const Spread *source, int axis, MwCollective kind)
{
    Spread result = spread_new(arena, &source->mesh, &source->local);
    for (int device = 0; device < mw_mesh_devices(&source->mesh); device++) {
        const int other = mw_collective_giver(kind, source->mesh.size[axis],
                                              coordinate_of(&source->mesh, device, axis));
        memcpy(result.at[device], source->at[neighbour(&source->mesh, device, axis, other)],
               sizeof(double) * (size_t)mw_tensor_elements(&source->local));
    }
    return result;
}

Spread spread_collective(MwArena *arena, const Spread *source, MwOp op, int axis, int dim,
                         int from_dim, MwCombine combine)
{
    Spread between;
    switch (op) {
    case MW_OP_ALL_REDUCE:
        return combined_along(arena, source, axis, combine);
    case MW_OP_ALL_GATHER:
        return gathered(arena, source, axis, dim);
    case MW_OP_SHARD:
        return sharded(arena, source, axis, dim);
    case MW_OP_REDUCE_SCATTER:
        between = combined_along(arena, source, axis, combine);
        return sharded(arena, &between, axis, dim);
    case MW_OP_RING_SHIFT:
    case MW_OP_RING_SHIFT_BACK:
    case MW_OP_MIRROR:
        return exchanged(arena, source, axis, mw_op_collective(op));
    case MW_OP_ALL_TO_ALL:
        between = gathered(arena, source, axis, from_dim);
        return sharded(arena, &between, axis, dim);
    default:
        MW_UNREACHABLE();
    }
}
