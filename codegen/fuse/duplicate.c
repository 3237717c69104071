/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/duplicate.h"

#include "codegen/fuse/fusion.h"
#include "codegen/fuse/joining.h"
#include "codegen/tuning.h"
#include "ir/build.h"
#include "ir/rewrite.h"

#include <string.h>

typedef MW_VEC(int32_t) Indices;

/* What a chain of element-wise operators computes its last value from. */
typedef struct {
    bool is_chain; /* otherwise the rest is zero */
    Indices roots; /* stored values, each once; at most MW_TUNED_DUPLICATE_BASES */
    int flops;     /* of a point of the chain */
} Bases;

typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    const MwUnits *units;
    const bool *barred; /* [values] not to be duplicated */
    Indices *users;     /* [values] nodes of units that read the root, and are not its maker */
    const bool *leaves; /* [values] mw_legal_leaving */
    Bases *bases;       /* [values] */
    bool *duplicated;   /* [values] the root is stored no more: its users compute it */
    /* [units] bases that a kernel loads because it computes other values: of each of its operands
     * at most MW_TUNED_DUPLICATE_BASES */
    Indices *loads;
    int *taken; /* [units] the last root that the unit was found to compute for itself */
    int count;  /* of duplicated values */
} Choice;

static const MwUnit *unit_at(const MwUnits *units, int u)
{
    return &units->units.at[u];
}

static int maker(const MwLegal *legal, int root)
{
    return legal->graph->values.at[root].node.index;
}

static int64_t bytes_of(const MwLegal *legal, int root)
{
    return mw_tensor_bytes(&legal->graph->values.at[root].tensor);
}

/* ---- Who reads what ---- */

static void find_users(Choice *c)
{
    const MwGraph *graph = c->legal->graph;
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count && c->units->unit_of[n] >= 0; k++) {
            Indices *users =
                &c->users[mw_legal_root(c->legal, graph->nodes.at[n].operands[k]).index];
            if (!users->count || mw_vec_last(users) != n)
                mw_vec_push(c->arena, users, n);
        }
}

static bool lists(const Indices *indices, int index)
{
    for (int i = 0; i < indices->count; i++)
        if (indices->at[i] == index)
            return true;
    return false;
}

/* Whether the kernel loads the root, or makes it. */
static bool unit_has(const Choice *c, int unit, int root)
{
    const MwUnit *u = unit_at(c->units, unit);
    for (int i = 0; i < u->nodes.count; i++) {
        const MwNode *node = mw_legal_at(c->legal, u->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++)
            if (mw_legal_root(c->legal, node->operands[k]).index == root)
                return true;
    }
    return c->units->unit_of[maker(c->legal, root)] == unit || lists(&c->loads[unit], root);
}

/* ---- What could be duplicated ---- */

static void add_bases(Choice *c, Bases *to, const Bases *from)
{
    for (int i = 0; i < from->roots.count; i++)
        if (!lists(&to->roots, from->roots.at[i]))
            mw_vec_push(c->arena, &to->roots, from->roots.at[i]);
    to->flops += from->flops;
    to->is_chain = to->is_chain && from->is_chain && to->roots.count <= MW_TUNED_DUPLICATE_BASES &&
                   to->flops <= MW_TUNED_DUPLICATE_FLOPS;
}

/* The bases of a root as an operand: itself, if it lies in memory. */
static Bases operand_bases(Choice *c, int root)
{
    Bases itself = {.is_chain = c->legal->loops.of_value[root] < 0};
    if (mw_op_is_generator(mw_legal_at(c->legal, maker(c->legal, root))->op))
        return itself;
    if (!c->units->is_stored[root] || c->duplicated[root])
        return c->bases[root];
    mw_vec_push(c->arena, &itself.roots, root);
    return itself;
}

static Bases find_bases(Choice *c, int n)
{
    const MwNode *node = mw_legal_at(c->legal, n);
    const MwUnit *unit = unit_at(c->units, c->units->unit_of[n]);
    Bases bases = {.is_chain = unit->is_kernel && unit->loop < 0 && !unit->space.is_alone &&
                               mw_op_info(node->op)->lowering == MW_LOWER_MAP &&
                               node->result_count == 1,
                   .flops = mw_op_info(node->op)->flops_per_point};
    for (int k = 0; k < node->operand_count && bases.is_chain; k++) {
        const Bases operand = operand_bases(c, mw_legal_root(c->legal, node->operands[k]).index);
        add_bases(c, &bases, &operand);
    }
    return bases.is_chain && bases.flops <= MW_TUNED_DUPLICATE_FLOPS ? bases : (Bases){0};
}

/* Whether node n of a kernel takes the root at each of its points from the same point. */
static bool takes_in_place(const Choice *c, int n, int root)
{
    const MwNode *node = mw_legal_at(c->legal, n);
    const MwUnit *unit = unit_at(c->units, c->units->unit_of[n]);
    for (int k = 0; k < node->operand_count; k++) {
        int64_t stride, entries;
        if (mw_legal_root(c->legal, node->operands[k]).index != root)
            continue;
        if (mw_node_gathers(c->legal, node, k, &stride, &entries) ||
            c->units->level[n] != MW_LEVEL_POINT)
            return false;
        const MwLayout access = mw_node_access(c->legal, node, k);
        if (!mw_layout_is_dense(&access) || mw_layout_elements(&access) != unit->space.points)
            return false;
    }
    return true;
}

/* Whether node n of another unit than the maker's could compute the root for itself. */
static bool may_compute(const Choice *c, int n, int root)
{
    const MwUnit *unit = unit_at(c->units, c->units->unit_of[n]);
    const MwNode *made_by = mw_legal_at(c->legal, maker(c->legal, root));
    return unit->is_kernel && unit->loop < 0 && !unit->space.is_alone &&
           mw_legal_at(c->legal, n)->phase == made_by->phase && takes_in_place(c, n, root);
}

/* ---- What is worth it ---- */

/* The bytes of the bases that a kernel would have to load besides. */
static int64_t bytes_to_load(const Choice *c, int unit, const Bases *bases)
{
    int64_t bytes = 0;
    for (int i = 0; i < bases->roots.count; i++)
        if (!unit_has(c, unit, bases->roots.at[i]))
            bytes += bytes_of(c->legal, bases->roots.at[i]);
    return bytes;
}

static void take_bases(Choice *c, int unit, const Bases *bases)
{
    for (int i = 0; i < bases->roots.count; i++)
        if (!unit_has(c, unit, bases->roots.at[i]))
            mw_vec_push(c->arena, &c->loads[unit], bases->roots.at[i]);
}

/* Lists the units, each once, that would compute the stored root for themselves. False if some unit
 * needs it in memory. */
static bool find_takers(Choice *c, int root, Indices *takers)
{
    const int own = c->units->unit_of[maker(c->legal, root)];
    if (c->leaves[root] || c->barred[root])
        return false;
    for (int i = 0; i < c->users[root].count; i++) {
        const int n = c->users[root].at[i], unit = c->units->unit_of[n];
        if (unit == own)
            continue;
        if (!may_compute(c, n, root))
            return false;
        if (c->taken[unit] != root)
            mw_vec_push(c->arena, takers, unit);
        c->taken[unit] = root;
    }
    return true;
}

/* Duplicates the stored root if that moves fewer bytes: it is written once and read by each. */
static void decide(Choice *c, int root)
{
    const Bases *bases = &c->bases[root];
    Indices takers = {0};
    if (!bases->is_chain || !c->units->is_stored[root] || !find_takers(c, root, &takers))
        return;
    int64_t saved = bytes_of(c->legal, root) * (1 + takers.count);
    for (int i = 0; i < takers.count; i++)
        saved -= bytes_to_load(c, takers.at[i], bases);
    if (saved <= 0)
        return;
    c->duplicated[root] = true;
    c->count++;
    for (int i = 0; i < takers.count; i++)
        take_bases(c, takers.at[i], bases);
}

static Choice choose(MwArena *arena, const MwLegal *legal, const MwUnits *units, const bool *barred)
{
    const int values = legal->graph->values.count;
    Choice c = {.arena = arena,
                .legal = legal,
                .units = units,
                .barred = barred,
                .users = MW_NEW(arena, Indices, values),
                .leaves = mw_legal_leaving(arena, legal),
                .bases = MW_NEW(arena, Bases, values),
                .duplicated = MW_NEW(arena, bool, values),
                .loads = MW_NEW(arena, Indices, units->units.count),
                .taken = MW_NEW(arena, int, units->units.count)};
    memset(c.taken, -1, sizeof *c.taken * (size_t)units->units.count);
    find_users(&c);
    for (int n = 0; n < legal->graph->nodes.count; n++) {
        const int root = mw_legal_at(legal, n)->first_result;
        if (units->unit_of[n] < 0)
            continue;
        c.bases[root] = find_bases(&c, n);
        decide(&c, root);
    }
    return c;
}

/* ---- The graph ---- */

/* The form of a value in a unit that computes it for itself. */
typedef struct {
    int unit;
    MwValueId value;
} Copy;

typedef MW_VEC(Copy) Copies;

typedef struct {
    const Choice *choice;
    MwRewrite rewrite;
    MwLegal *to;
    const bool *needed; /* [nodes] of the old graph, other than as copies */
    Copies *copies;     /* [values] of the old graph */
} Duplication;

static int unit_of_root(const Choice *c, int root)
{
    return c->units->unit_of[maker(c->legal, root)];
}

/* Whether the node may be absent: an element-wise operator of a unit, or a view. */
static bool may_go(const Choice *c, int n)
{
    const MwNode *node = mw_legal_at(c->legal, n);
    const MwLowering lowering = mw_op_info(node->op)->lowering;
    return (lowering == MW_LOWER_MAP || lowering == MW_LOWER_VIEW || lowering == MW_LOWER_MOVE) &&
           !mw_op_is_generator(node->op) && !mw_op_is_scan(node->op);
}

/* [nodes] whether something but copies takes a result of the node. */
static bool *find_needed(const Choice *c)
{
    const MwGraph *graph = c->legal->graph;
    bool *needed = MW_NEW(c->arena, bool, graph->nodes.count);
    for (int v = 0; v < graph->values.count; v++)
        if (c->leaves[v])
            needed[maker(c->legal, v)] = true;
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = mw_legal_at(c->legal, n);
        const int unit = c->units->unit_of[n];
        needed[n] = needed[n] || !may_go(c, n);
        for (int k = 0; k < node->operand_count && needed[n]; k++) {
            const int root = mw_legal_root(c->legal, node->operands[k]).index;
            if (unit < 0 || !c->duplicated[root] || unit == unit_of_root(c, root))
                needed[mw_value(graph, node->operands[k])->node.index] = true;
            else
                for (int i = 0; i < c->bases[root].roots.count; i++)
                    needed[maker(c->legal, c->bases[root].roots.at[i])] = true;
        }
    }
    return needed;
}

/* Notes the new value `to` as a form of `from`. It shows the storage of `root`, if that is a value,
 * and else has its own. */
static void add_view(Duplication *d, int from, MwValueId to, MwValueId root)
{
    MwView view = d->choice->legal->views.at[from];
    view.root = mw_has_value(root) ? root : to;
    mw_vec_push(d->choice->arena, &d->to->views, view);
}

/* Adds node n on `operands`, values of the new graph, with the storage that add_view says. */
static void add_node(Duplication *d, int n, const MwValueId *operands, MwValueId root)
{
    const MwLegal *from = d->choice->legal;
    const MwNode *node = mw_legal_at(from, n);
    MwNodeId id = mw_rewrite_copy_on(&d->rewrite, node, operands);
    mw_vec_push(d->choice->arena, &d->to->source, from->source.at[n]);
    for (int k = 0; k < node->result_count; k++)
        add_view(d, node->first_result + k, mw_node_result(d->to->graph, id, k), root);
}

/* Adds the result `value` of a split alone, as a slice of `operand`: a split has as many results as
 * it has parts, and each may be copied to units of its own. */
static MwValueId add_slice(Duplication *d, MwValueId value, MwValueId operand, MwValueId root)
{
    const MwLegal *from = d->choice->legal;
    const int n = maker(from, value.index);
    const MwNode *split = mw_legal_at(from, n);
    const MwAttr *sizes = mw_node_attr(split, MW_ATTR_SIZES);
    const int part = value.index - split->first_result;
    int64_t begin = 0;
    for (int i = 0; i < part; i++)
        begin += sizes->ints.at[i];
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, mw_node_int(split, MW_ATTR_AXIS)),
                            mw_attr_int(MW_ATTR_BEGIN, begin),
                            mw_attr_int(MW_ATTR_END, begin + sizes->ints.at[part])};
    mw_rewrite_at(&d->rewrite, split);
    const MwValueId slice = mw_build(d->to->graph, from->graph->values.at[value.index].name,
                                     MW_OP_SLICE, &operand, 1, attrs, MW_COUNT(attrs));
    mw_vec_push(d->choice->arena, &d->to->source, from->source.at[n]);
    add_view(d, value.index, slice, root);
    return slice;
}

/* Whether the kernel `unit` computes the root by a copy of the node that makes it. */
static bool computes(const Duplication *d, int unit, int root)
{
    const Choice *c = d->choice;
    const int own = unit_of_root(c, root);
    const bool is_loaded = c->units->is_stored[root] && !c->duplicated[root];
    const bool is_there = own == unit && d->needed[maker(c->legal, root)];
    return own >= 0 && unit_at(c->units, unit)->is_kernel && !is_loaded && !is_there;
}

static MwValueId copy_in(Duplication *d, int unit, MwValueId value);

/* The form of an operand of a node of `unit`. A view that only nodes took that are gone is made
 * again, too. */
static MwValueId value_in(Duplication *d, int unit, MwValueId value)
{
    const int root = mw_legal_root(d->choice->legal, value).index;
    if (!computes(d, unit, root) && mw_has_value(d->rewrite.value[value.index]))
        return d->rewrite.value[value.index];
    for (int i = d->copies[value.index].count - 1; i >= 0; i--)
        if (d->copies[value.index].at[i].unit == unit)
            return d->copies[value.index].at[i].value;
    return copy_in(d, unit, value);
}

/* Adds a copy of the value, which node n makes, beside the form that it has. */
static MwValueId add_copy(Duplication *d, int n, MwValueId value, const MwValueId *operands,
                          MwValueId root)
{
    if (mw_legal_at(d->choice->legal, n)->op == MW_OP_SPLIT)
        return add_slice(d, value, operands[0], root);
    const MwValueId original = d->rewrite.value[value.index];
    add_node(d, n, operands, root);
    const MwValueId copy = d->rewrite.value[value.index];
    d->rewrite.value[value.index] = original;
    return copy;
}

/* Copies the node that makes `value` to `unit`. */
static MwValueId copy_in(Duplication *d, int unit, MwValueId value)
{
    const MwLegal *from = d->choice->legal;
    MwArena *arena = d->choice->arena;
    const int n = maker(from, value.index);
    const MwNode *node = mw_legal_at(from, n);
    MwValueId *operands = MW_NEW(arena, MwValueId, node->operand_count), root = {-1};
    for (int k = 0; k < node->operand_count; k++)
        operands[k] = value_in(d, unit, node->operands[k]);
    if (!mw_value_equal(mw_legal_root(from, value), value))
        root = mw_legal_root(d->to, operands[0]);
    const MwValueId copy = add_copy(d, n, value, operands, root);
    mw_vec_push(arena, &d->copies[value.index], ((Copy){unit, copy}));
    return copy;
}

static void copy_original(Duplication *d, int n)
{
    const MwLegal *from = d->choice->legal;
    const MwNode *node = mw_legal_at(from, n);
    const int unit = d->choice->units->unit_of[n];
    MwValueId *operands = MW_NEW(d->choice->arena, MwValueId, node->operand_count), root = {-1};
    for (int k = 0; k < node->operand_count; k++)
        operands[k] = unit < 0 ? d->rewrite.value[node->operands[k].index]
                               : value_in(d, unit, node->operands[k]);
    if (mw_legal_root(from, mw_legal_result(node)).index != node->first_result)
        root = mw_legal_root(d->to, operands[0]);
    add_node(d, n, operands, root);
}

static Duplication duplicate(const Choice *c)
{
    const MwLegal *from = c->legal;
    Duplication d = {.choice = c,
                     .rewrite = mw_rewrite_begin_in(c->arena, from->graph),
                     .to = MW_NEW(c->arena, MwLegal, 1),
                     .needed = find_needed(c)};
    d.copies = MW_NEW(c->arena, Copies, from->graph->values.count);
    *d.to = (MwLegal){.graph = d.rewrite.to, .backend = from->backend};
    for (int n = 0; n < from->graph->nodes.count; n++)
        if (d.needed[n])
            copy_original(&d, n);
    mw_rewrite_finish(&d.rewrite);
    d.to->form_count = from->form_count;
    d.to->form = MW_NEW(c->arena, MwValueId, from->form_count);
    for (int v = 0; v < from->form_count; v++)
        d.to->form[v] =
            mw_has_value(from->form[v]) ? d.rewrite.value[from->form[v].index] : from->form[v];
    for (int i = 0; i < from->copies.count; i++) {
        MwLegalCopy copy = from->copies.at[i];
        copy.state = d.rewrite.value[copy.state.index];
        mw_vec_push(c->arena, &d.to->copies, copy);
    }
    d.to->loops = mw_loops(c->arena, d.to->graph);
    d.to->on_host = mw_on_host(c->arena, d.to->graph);
    return d;
}

/* Bars the duplicated values that have a copy in one of the units, for which is_barred holds. */
static void bar_units(const Duplication *d, const bool *is_barred, bool *barred)
{
    for (int v = 0; v < d->choice->legal->graph->values.count; v++)
        for (int i = 0; i < d->copies[v].count; i++)
            barred[v] |= d->choice->duplicated[v] && is_barred[d->copies[v].at[i].unit];
}

/* Bars the values of which a copy is stored, as it fits no kernel; where that is within a chain,
 * all of its unit. False: there are none. */
static bool bar_stored(const Duplication *d, const MwUnits *units, bool *barred)
{
    bool found = false;
    bool *is_barred = MW_NEW(d->choice->arena, bool, d->choice->units->units.count);
    for (int v = 0; v < d->choice->legal->graph->values.count; v++)
        for (int i = 0; i < d->copies[v].count; i++) {
            const Copy *copy = &d->copies[v].at[i];
            if (!units->is_stored[copy->value.index])
                continue;
            found = true;
            if (d->choice->duplicated[v])
                barred[v] = true;
            else
                is_barred[copy->unit] = true;
        }
    if (found)
        bar_units(d, is_barred, barred);
    return found;
}

/* Duplicates what is not barred, in `arena`, and returns the units of the new *legal. NULL: some
 * copy fits no kernel, and is barred now, or there is nothing to duplicate, and it is `over`. */
static MwUnits *attempt(MwArena *arena, const MwLegal **legal, const MwUnits *units, bool *barred,
                        bool *over)
{
    const Choice choice = choose(arena, *legal, units, barred);
    *over = choice.count == 0;
    if (*over)
        return NULL;
    const Duplication d = duplicate(&choice);
    MwUnits *formed = mw_units_form(d.to, units->backward_follows);
    if (bar_stored(&d, formed, barred))
        return NULL;
    *legal = d.to;
    return formed;
}

MwUnits *mw_units_duplicate(const MwLegal **legal, MwUnits *units)
{
    const MwGraph *graph = (*legal)->graph;
    bool *barred = MW_NEW(graph->arena, bool, graph->values.count), over = false;
    for (int round = 0; round < MW_TUNED_DUPLICATE_ROUNDS && !over; round++) {
        MwArena *arena = mw_arena_new_within(graph->arena);
        MwUnits *formed = attempt(arena, legal, units, barred, &over);
        if (formed)
            return formed;
        mw_arena_free(&arena);
    }
    return units;
}
