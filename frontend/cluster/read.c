/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The syntax of a cluster file:
 *
 *     cluster NAME {
 *       key = value                one a line; a value is 8, 16 GiB, cpu, [1, 2] or a curve,
 *       section { ... }            [1 KiB: 5 us, 1 MiB: 300 us]
 *     }
 *
 * `cluster NAME like FILE { ... }` begins with the figures of FILE, a path from the folder of the
 * file that names it.
 *
 * It is read by recursive descent over keys.def. After a mistake the rest of the item is skipped,
 * so that several are reported per run. Values are checked as they are read (value.c); what a
 * section lacks, and what does not go together, is checked when it closes. */
#include "frontend/cluster/read.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "frontend/cluster/value.h"

#include <errno.h>
#include <string.h>

enum { MAX_LIKE = 8 /* length of a chain of files each like the next */ };

/* Where a measured collective was given. */
typedef struct {
    MwCollective kind;
    int ways;
    MwSpan span;
} GivenMeasured;

/* A section being read. */
typedef struct {
    MwClusterSection section;
    void *base; /* struct that its keys fill */
    MwSpan span;
    MwSpan given[MW_CLUSTER_KEY_COUNT];   /* where each key was given */
    MW_VEC(GivenMeasured) given_measured; /* of a link: its collectives in this file */
} Section;

static void skip_newlines(MwClusterReader *reader)
{
    while (reader->token.kind == MW_CLUSTER_NEWLINE)
        mw_cluster_advance(reader);
}

/* Skips to the end of the item that holds a mistake, which is that of its line and of the blocks it
 * opens. */
static void skip_item(MwClusterReader *reader)
{
    int depth = 0;
    while (reader->token.kind != MW_CLUSTER_END) {
        if (depth == 0 &&
            (reader->token.kind == MW_CLUSTER_NEWLINE || mw_cluster_at_sign(reader, '}')))
            return;
        depth += mw_cluster_at_sign(reader, '{') - mw_cluster_at_sign(reader, '}');
        mw_cluster_advance(reader);
    }
}

/* ---- Items ---- */

static void given_twice(MwClusterReader *reader, MwSpan span, const char *name, MwSpan first)
{
    mw_diag_error(reader->diags, span, "'%s' is given twice", name);
    mw_diag_note(reader->diags, first, "first here");
}

static void unknown_name(MwClusterReader *reader, const MwClusterToken *name,
                         const char *const *known, int count, const Section *in)
{
    const char *nearest = mw_suggest(name->text, known, count);
    mw_diag_error(reader->diags, name->span, "'%s' has no '%s'",
                  mw_cluster_section_names[in->section], name->text);
    if (nearest)
        mw_diag_note(reader->diags, mw_span_none(), "did you mean '%s'?", nearest);
}

static bool find_collective(const char *name, MwCollective *kind)
{
    for (int i = 0; i < MW_COLLECTIVE_COUNT; i++)
        if (strcmp(mw_collective_name(i), name) == 0) {
            *kind = i;
            return true;
        }
    return false;
}

/* Reads the value of a key; `name` and '=' were read. */
static bool read_key(MwClusterReader *reader, const MwClusterToken *name, Section *in)
{
    const char *known[MW_CLUSTER_KEY_COUNT] = {0};
    for (int i = 0; i < MW_CLUSTER_KEY_COUNT; i++) {
        const MwClusterKey *key = &mw_cluster_keys[i];
        if (key->section != in->section)
            continue;
        known[i] = key->name;
        if (strcmp(key->name, name->text) != 0)
            continue;
        if (in->given[i].source) {
            given_twice(reader, name->span, name->text, in->given[i]);
            return false;
        }
        in->given[i] = name->span;
        return mw_cluster_read_value(reader, key, in->base);
    }
    unknown_name(reader, name, known, MW_COUNT(known), in);
    MwCollective kind;
    if (mw_cluster_section_is_link(in->section) && find_collective(name->text, &kind))
        mw_diag_note(reader->diags, mw_span_none(),
                     "a measured collective names its devices: %s 8 = ...", name->text);
    return false;
}

/* The entry of `link` for that collective among `ways` devices; a new one if there is none yet. */
static MwMeasuredCollective *find_measured(MwArena *arena, MwLink *link, MwCollective kind,
                                           int ways)
{
    int count = link->measured_count;
    for (int i = 0; i < count; i++)
        if (link->measured[i].kind == kind && link->measured[i].ways == ways)
            return &link->measured[i];
    MwMeasuredCollective *list = MW_NEW(arena, MwMeasuredCollective, count + 1);
    for (int i = 0; i < count; i++)
        list[i] = link->measured[i];
    list[count] = (MwMeasuredCollective){.kind = kind, .ways = ways};
    link->measured = list;
    link->measured_count = count + 1;
    return &list[count];
}

/* Reads `all_reduce 4 = [...]`; the name was read. */
static bool read_measured(MwClusterReader *reader, const MwClusterToken *name, MwCollective kind,
                          Section *in)
{
    MwSpan span = mw_span_join(name->span, reader->token.span);
    int ways;
    if (!mw_cluster_read_int(reader, &ways) ||
        !mw_cluster_expect(reader, '=', "after the number of devices of a measured collective"))
        return false;
    if (ways < 2) {
        mw_diag_error(reader->diags, span, "a collective needs at least two devices");
        return false;
    }
    for (int i = 0; i < in->given_measured.count; i++) {
        const GivenMeasured *given = &in->given_measured.at[i];
        if (given->kind != kind || given->ways != ways)
            continue;
        given_twice(reader, span, mw_arena_printf(reader->arena, "%s %d", name->text, ways),
                    given->span);
        return false;
    }
    mw_vec_push(reader->arena, &in->given_measured, ((GivenMeasured){kind, ways, span}));
    MwMeasuredCollective *measured = find_measured(reader->arena, in->base, kind, ways);
    return mw_cluster_read_curve(reader, MW_QUANTITY_SECONDS, MW_QUANTITY_BYTES, &measured->time_s);
}

static bool read_section(MwClusterReader *reader, Section *in);

/* Reads the type of `gemm TYPE {`; `gemm` was read. */
static bool read_gemm_type(MwClusterReader *reader, MwType *type)
{
    if (reader->token.kind == MW_CLUSTER_WORD && mw_product_parse(reader->token.text, type)) {
        mw_cluster_advance(reader);
        return true;
    }
    mw_diag_error(reader->diags, reader->token.span,
                  "expected the type of the products: f32, tf32, bf16, f16 or fp8");
    return false;
}

static bool open_section(MwClusterReader *reader, const MwClusterToken *name,
                         MwClusterSection section)
{
    MwType type = MW_F32;
    if (section == MW_SECTION_GEMM && !read_gemm_type(reader, &type))
        return false;
    MwSpan *opened =
        section == MW_SECTION_GEMM ? &reader->opened_gemm[type] : &reader->opened[section];
    if (opened->source)
        given_twice(reader, name->span, name->text, *opened);
    *opened = name->span;
    Section inner = {.section = section,
                     .base = mw_cluster_section_struct(reader->cluster, section, type),
                     .span = name->span};
    return read_section(reader, &inner);
}

/* Reads a section within `in`; its name was read. */
static bool read_subsection(MwClusterReader *reader, const MwClusterToken *name, Section *in)
{
    const char *known[MW_SECTION_COUNT] = {0};
    MwCollective kind;
    if (mw_cluster_section_is_link(in->section) && find_collective(name->text, &kind))
        return read_measured(reader, name, kind, in);
    for (int i = 1; i < MW_SECTION_COUNT; i++) {
        if (mw_cluster_section_parents[i] != in->section)
            continue;
        known[i] = mw_cluster_section_names[i];
        if (strcmp(known[i], name->text) == 0)
            return open_section(reader, name, i);
    }
    bool is_key = !mw_cluster_at_sign(reader, '{') && reader->token.kind != MW_CLUSTER_WORD;
    if (is_key)
        return mw_cluster_expect(reader, '=', "after the name of a figure");
    unknown_name(reader, name, known, MW_COUNT(known), in);
    return false;
}

/* Reads a key or a section. False if the rest of it is to be skipped. */
static bool read_item(MwClusterReader *reader, Section *in)
{
    MwClusterToken name = reader->token;
    if (name.kind != MW_CLUSTER_WORD) {
        mw_diag_error(reader->diags, name.span, "expected the name of a figure or of a section");
        return false;
    }
    mw_cluster_advance(reader);
    bool fine = mw_cluster_accept(reader, '=') ? read_key(reader, &name, in)
                                               : read_subsection(reader, &name, in);
    if (!fine)
        return false;
    if (reader->token.kind == MW_CLUSTER_NEWLINE || mw_cluster_at_sign(reader, '}'))
        return true;
    mw_diag_error(reader->diags, reader->token.span, "expected the end of the line");
    return false;
}

/* ---- What a section must have ---- */

/* Returns the place of figure `name`, or that of the section if this file does not give the
 * figure. */
static MwSpan where(const Section *in, const char *name)
{
    for (int i = 0; i < MW_CLUSTER_KEY_COUNT; i++)
        if (mw_cluster_keys[i].section == in->section && strcmp(mw_cluster_keys[i].name, name) == 0)
            return in->given[i].source ? in->given[i] : in->span;
    MW_UNREACHABLE();
}

static void check_required(MwClusterReader *reader, const Section *in)
{
    for (int i = 0; i < MW_CLUSTER_KEY_COUNT; i++) {
        const MwClusterKey *key = &mw_cluster_keys[i];
        if (key->section == in->section && key->is_required && !in->given[i].source &&
            !mw_cluster_key_is_given(key, (char *)in->base + key->offset))
            mw_diag_error(reader->diags, in->span, "'%s' lacks '%s'",
                          mw_cluster_section_names[in->section], key->name);
    }
}

static bool is_ascending(const MwNumbers *numbers)
{
    for (int i = 1; i < numbers->count; i++)
        if (numbers->at[i] <= numbers->at[i - 1])
            return false;
    return true;
}

static void check_gemm(MwClusterReader *reader, const Section *in)
{
    const MwGemm *gemm = in->base;
    int64_t sizes = gemm->sizes.count, wanted = sizes * sizes * sizes;
    if (gemm->rate_flops == 0 && sizes == 0 && gemm->rates.count == 0)
        mw_diag_error(reader->diags, in->span, "'gemm' lacks 'rate', or 'sizes' and 'rates'");
    if (!is_ascending(&gemm->sizes))
        mw_diag_error(reader->diags, where(in, "sizes"), "sizes must ascend");
    if (gemm->rates.count != wanted)
        mw_diag_error(reader->diags, where(in, "rates"),
                      "%d sizes need %lld rates, one for each m, n and k; there are %d",
                      gemm->sizes.count, (long long)wanted, gemm->rates.count);
    if (gemm->peak_flops > 0 && gemm->rate_flops > gemm->peak_flops)
        mw_diag_error(reader->diags, where(in, "rate"), "the rate achieved is above the peak");
}

static void check_device(MwClusterReader *reader, const Section *in)
{
    const MwDeviceModel *device = in->base;
    if (device->collective_units > 0 && device->collective_units >= device->units)
        mw_diag_error(reader->diags, where(in, "collective_units"),
                      "collectives take %d of %d units: they must leave some for kernels",
                      device->collective_units, device->units);
}

static bool has(MwClusterReader *reader, MwClusterSection section)
{
    return reader->opened[section].source ||
           mw_cluster_has_section(reader->cluster, section, MW_F32);
}

/* Checks what must hold across sections, once all of them were read. */
static void check_cluster(MwClusterReader *reader, const Section *in)
{
    const MwCluster *cluster = reader->cluster;
    if (!has(reader, MW_SECTION_DEVICE))
        mw_diag_error(reader->diags, in->span, "'cluster' lacks the section 'device'");
    else if (!reader->opened_gemm[MW_F32].source && !has(reader, MW_SECTION_GEMM))
        mw_diag_error(reader->diags, reader->opened[MW_SECTION_DEVICE],
                      "'device' lacks the section 'gemm f32'");
    if (cluster->devices_per_node > 1 && !has(reader, MW_SECTION_NODE))
        mw_diag_error(reader->diags, where(in, "devices_per_node"),
                      "several devices in a node need the section 'node', the link between them");
    if (cluster->nodes > 1 && !has(reader, MW_SECTION_NETWORK))
        mw_diag_error(reader->diags, where(in, "nodes"),
                      "several nodes need the section 'network', the link between them");
    if ((int64_t)cluster->nodes * cluster->devices_per_node > MW_CLUSTER_MAX_COUNT)
        mw_diag_error(reader->diags, where(in, "nodes"), "more than %d devices",
                      MW_CLUSTER_MAX_COUNT);
}

static bool read_section(MwClusterReader *reader, Section *in)
{
    if (!mw_cluster_expect(reader, '{', "after the name of a section"))
        return false;
    skip_newlines(reader);
    while (!mw_cluster_at_sign(reader, '}')) {
        if (reader->token.kind == MW_CLUSTER_END) {
            mw_diag_error(reader->diags, in->span, "'%s' is not closed by '}'",
                          mw_cluster_section_names[in->section]);
            return false;
        }
        if (!read_item(reader, in))
            skip_item(reader);
        skip_newlines(reader);
    }
    mw_cluster_advance(reader);
    check_required(reader, in);
    if (in->section == MW_SECTION_GEMM)
        check_gemm(reader, in);
    if (in->section == MW_SECTION_DEVICE)
        check_device(reader, in);
    return true;
}

/* ---- The file ---- */

static MwCluster *read_source(MwArena *arena, const MwSource *source, MwDiags *diags, int depth);

/* Reads the FILE of `like FILE`, and begins with its figures. */
static bool read_like(MwClusterReader *reader)
{
    MwSpan span = reader->token.span;
    if (reader->token.kind != MW_CLUSTER_WORD) {
        mw_diag_error(reader->diags, span, "expected the path of a cluster file");
        return false;
    }
    if (reader->depth == MAX_LIKE) {
        mw_diag_error(reader->diags, span, "more than %d files are each like the next", MAX_LIKE);
        return false;
    }
    MwSource *source = MW_NEW(reader->arena, MwSource, 1);
    source->name = mw_path_beside(reader->arena, reader->lexer.source->name, reader->token.text);
    source->text = mw_file_read(reader->arena, source->name, &source->bytes);
    if (!source->text) {
        mw_diag_error(reader->diags, span, "cannot read '%s': %s", source->name, strerror(errno));
        return false;
    }
    mw_cluster_advance(reader);
    MwCluster *like = read_source(reader->arena, source, reader->diags, reader->depth + 1);
    if (like)
        *reader->cluster = *like;
    return like != NULL;
}

/* Reads `cluster NAME` or `cluster NAME like FILE`. */
static bool read_header(MwClusterReader *reader)
{
    if (reader->token.kind != MW_CLUSTER_WORD || strcmp(reader->token.text, "cluster") != 0) {
        mw_diag_error(reader->diags, reader->token.span,
                      "a cluster file begins with 'cluster NAME {'");
        return false;
    }
    mw_cluster_advance(reader);
    if (reader->token.kind != MW_CLUSTER_WORD) {
        mw_diag_error(reader->diags, reader->token.span,
                      "expected the cluster's name: a letter, then letters, digits, '.', '_', '-'");
        return false;
    }
    const char *name = reader->token.text;
    mw_cluster_advance(reader);
    if (reader->token.kind == MW_CLUSTER_WORD && strcmp(reader->token.text, "like") == 0) {
        mw_cluster_advance(reader);
        if (!read_like(reader))
            return false;
    }
    reader->cluster->name = name;
    return true;
}

static void read_file(MwClusterReader *reader)
{
    skip_newlines(reader);
    Section top = {
        .section = MW_SECTION_CLUSTER, .base = reader->cluster, .span = reader->token.span};
    if (!read_header(reader) || !read_section(reader, &top))
        return;
    check_cluster(reader, &top);
    skip_newlines(reader);
    if (reader->token.kind != MW_CLUSTER_END)
        mw_diag_error(reader->diags, reader->token.span, "expected the end of the file");
}

static MwCluster *read_source(MwArena *arena, const MwSource *source, MwDiags *diags, int depth)
{
    int errors = mw_diags_error_count(diags);
    MwClusterReader reader = {.arena = arena,
                              .diags = diags,
                              .lexer = {.arena = arena, .source = source},
                              .cluster = MW_NEW(arena, MwCluster, 1),
                              .depth = depth};
    mw_cluster_advance(&reader);
    read_file(&reader);
    reader.cluster->source_hash =
        mw_hash_mix(reader.cluster->source_hash, mw_hash_bytes(source->text, source->bytes));
    return mw_diags_error_count(diags) == errors ? reader.cluster : NULL;
}

MwCluster *mw_cluster_read(MwArena *arena, const MwSource *source, MwDiags *diags)
{
    return read_source(arena, source, diags, 1);
}
