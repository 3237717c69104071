/* SPDX-License-Identifier: MIT */
#include "base/spec.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    char letter; /* of the axes that a value is partial over, in the text of a spec */
} combines[] = {
    [MW_COMBINE_SUM] = {"sum", 'P'},
    [MW_COMBINE_MAX] = {"max", 'M'},
    [MW_COMBINE_LOGSUMEXP] = {"logsumexp", 'L'},
};
_Static_assert(MW_COUNT(combines) == MW_COMBINE_COUNT, "every combine has a name and a letter");
_Static_assert(MW_COMBINE_COUNT <= 4, "a spec has two bits for the combine");

const MwCollectiveInfo *mw_collective_info(MwCollective collective)
{
    static const MwCollectiveInfo infos[MW_COLLECTIVE_COUNT] = {
#define COLLECTIVE(id, name, splits, joins, combines, peer)                                        \
    [MW_##id] = {name, splits, joins, combines, MW_PEER_##peer},
#include "base/collectives.def"
#undef COLLECTIVE
    };
    MW_ASSERT(collective < MW_COLLECTIVE_COUNT);
    return &infos[collective];
}

const char *mw_collective_name(MwCollective collective)
{
    return mw_collective_info(collective)->name;
}

/* The member that is so many places behind another if members get what is behind them. */
static int peer_of(MwCollective collective, int members, int member, int places)
{
    switch (mw_collective_info(collective)->peer) {
    case MW_PEER_NEXT:
        return mw_ring_member(members, member, places);
    case MW_PEER_LAST:
        return mw_ring_member(members, member, -places);
    case MW_PEER_MIRROR:
        return members - 1 - member;
    case MW_PEER_ALL:
        break;
    }
    MW_UNREACHABLE();
}

int mw_collective_giver(MwCollective collective, int members, int member)
{
    return peer_of(collective, members, member, 1);
}

int mw_collective_taker(MwCollective collective, int members, int member)
{
    return peer_of(collective, members, member, -1);
}

const char *mw_combine_name(MwCombine combine)
{
    return combines[combine].name;
}

bool mw_combine_parse(const char *name, MwCombine *combine)
{
    for (int i = 0; i < MW_COMBINE_COUNT; i++) {
        if (strcmp(mw_combine_name((MwCombine)i), name) == 0) {
            *combine = (MwCombine)i;
            return true;
        }
    }
    return false;
}

MwSpec mw_spec_with_dim(MwSpec spec, int dim, MwAxes axes)
{
    MW_ASSERT(dim >= 0 && dim < MW_MAX_RANK && axes < 8);
    spec.bits &= ~((uint64_t)15 << (4 * dim));
    spec.bits |= (uint64_t)axes << (4 * dim);
    return spec;
}

MwSpec mw_spec_with_partial(MwSpec spec, MwAxes axes, MwCombine combine)
{
    spec.bits &= ~((uint64_t)63 << 32);
    if (axes)
        spec.bits |= (uint64_t)axes << 32 | (uint64_t)combine << 36;
    return spec;
}

MwAxes mw_spec_axes(MwSpec spec, int rank)
{
    MwAxes axes = mw_spec_partial(spec);
    for (int d = 0; d < rank; d++)
        axes |= mw_spec_dim(spec, d);
    return axes;
}

int mw_mesh_ways(const MwMeshShape *mesh, MwAxes axes)
{
    int ways = 1;
    for (int a = 0; a < mesh->axis_count; a++)
        if (axes >> a & 1)
            ways *= mesh->size[a];
    return ways;
}

int mw_mesh_devices(const MwMeshShape *mesh)
{
    return mw_mesh_ways(mesh, (1 << MW_MAX_AXES) - 1);
}

void mw_mesh_coordinates(const MwMeshShape *mesh, int device, int coordinate[MW_MAX_AXES])
{
    for (int a = mesh->axis_count - 1; a >= 0; a--) {
        coordinate[a] = device % mesh->size[a];
        device /= mesh->size[a];
    }
}

int mw_mesh_block(const MwMeshShape *mesh, MwAxes axes, const int coordinate[MW_MAX_AXES])
{
    int block = 0;
    for (int a = 0; a < mesh->axis_count; a++)
        if (axes >> a & 1)
            block = block * mesh->size[a] + coordinate[a];
    return block;
}

bool mw_mesh_is_first(const MwMeshShape *mesh, MwAxes axes, const int coordinate[MW_MAX_AXES])
{
    for (int a = 0; a < mesh->axis_count; a++)
        if (!(axes >> a & 1) && coordinate[a] != 0)
            return false;
    return true;
}

const char *mw_mesh_text(const MwMeshShape *mesh, char buffer[MW_MESH_TEXT_BYTES])
{
    int at = 0;
    for (int a = 0; a < mesh->axis_count; a++)
        at += snprintf(buffer + at, (size_t)(MW_MESH_TEXT_BYTES - at), "%s%d", a ? "x" : "",
                       mesh->size[a]);
    return buffer;
}

bool mw_mesh_parse(const char *text, MwMeshShape *mesh)
{
    *mesh = (MwMeshShape){0};
    for (;;) {
        char *end;
        if (!isdigit((unsigned char)*text) || mesh->axis_count == MW_MAX_AXES)
            return false;
        long size = strtol(text, &end, 10);
        if (size < 1 || size > 1 << 20)
            return false;
        mesh->size[mesh->axis_count++] = (int)size;
        if (!*end)
            return true;
        if (*end != 'x')
            return false;
        text = end + 1;
    }
}

bool mw_spec_is_valid(MwSpec spec, const MwTensor *tensor, const MwMeshShape *mesh)
{
    MwAxes used = mw_spec_partial(spec);
    for (int d = 0; d < tensor->rank; d++) {
        MwAxes axes = mw_spec_dim(spec, d);
        if (axes & used || tensor->dim[d] % mw_mesh_ways(mesh, axes) != 0)
            return false;
        used |= axes;
    }
    return used >> mesh->axis_count == 0;
}

MwTensor mw_spec_local(MwSpec spec, const MwTensor *tensor, const MwMeshShape *mesh)
{
    MwTensor local = *tensor;
    for (int d = 0; d < tensor->rank; d++) {
        int ways = mw_mesh_ways(mesh, mw_spec_dim(spec, d));
        MW_ASSERT(tensor->dim[d] % ways == 0);
        local.dim[d] = tensor->dim[d] / ways;
    }
    return local;
}

static char *put_axes(char *at, char letter, MwAxes axes)
{
    *at++ = letter;
    for (int a = 0; a < MW_MAX_AXES; a++)
        if (axes >> a & 1)
            *at++ = (char)('0' + a);
    return at;
}

const char *mw_spec_text(MwSpec spec, int rank, char buffer[MW_SPEC_TEXT_BYTES])
{
    char *at = buffer;
    *at++ = '[';
    for (int d = 0; d < rank; d++) {
        if (d)
            at = stpcpy(at, ", ");
        MwAxes axes = mw_spec_dim(spec, d);
        at = axes ? put_axes(at, 'S', axes) : stpcpy(at, "R");
    }
    *at++ = ']';
    if (mw_spec_partial(spec)) {
        at = stpcpy(at, " +");
        at = put_axes(at, combines[mw_spec_combine(spec)].letter, mw_spec_partial(spec));
    }
    *at = '\0';
    return buffer;
}

static const char *skip_space(const char *text)
{
    while (*text == ' ')
        text++;
    return text;
}

/* Parses ascending axis digits after a letter; NULL if there are none. */
static const char *parse_axes(const char *text, MwAxes *axes)
{
    *axes = 0;
    for (; *text >= '0' && *text < '0' + MW_MAX_AXES; text++) {
        if (*axes >> (*text - '0'))
            return NULL;
        *axes |= (MwAxes)(1 << (*text - '0'));
    }
    return *axes ? text : NULL;
}

static const char *parse_dim(const char *text, MwAxes *axes)
{
    *axes = 0;
    if (*text == 'R')
        return text + 1;
    return *text == 'S' ? parse_axes(text + 1, axes) : NULL;
}

static const char *parse_dims(const char *text, MwSpec *spec, int *rank)
{
    text = skip_space(text);
    if (*text == ']')
        return text + 1;
    for (;;) {
        MwAxes axes;
        if (*rank == MW_MAX_RANK || !(text = parse_dim(text, &axes)))
            return NULL;
        *spec = mw_spec_with_dim(*spec, (*rank)++, axes);
        text = skip_space(text);
        if (*text == ']')
            return text + 1;
        if (*text != ',')
            return NULL;
        text = skip_space(text + 1);
    }
}

static const char *parse_partial(const char *text, MwSpec *spec)
{
    text = skip_space(text + 1);
    int combine = 0;
    while (combine < MW_COMBINE_COUNT && combines[combine].letter != *text)
        combine++;
    MwAxes axes;
    if (combine == MW_COMBINE_COUNT || !(text = parse_axes(text + 1, &axes)))
        return NULL;
    *spec = mw_spec_with_partial(*spec, axes, (MwCombine)combine);
    return skip_space(text);
}

bool mw_spec_parse(const char *text, MwSpec *spec, int *rank)
{
    *spec = mw_spec_replicated();
    *rank = 0;
    text = skip_space(text);
    if (*text != '[' || !(text = parse_dims(text + 1, spec, rank)))
        return false;
    text = skip_space(text);
    if (*text == '+' && !(text = parse_partial(text, spec)))
        return false;
    return *text == '\0';
}
