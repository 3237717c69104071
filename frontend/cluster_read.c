/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the text of a cluster file.
 *
 *     cluster NAME {
 *       key = value                one a line; a value is 8, 16 GiB, cpu, [1, 2] or a curve,
 *       section { ... }            [1 KiB: 5 us, 1 MiB: 300 us]
 *     }
 *
 * By recursive descent over frontend/cluster_keys.def. After a mistake the rest of the item is
 * skipped, so that several are reported per run. Values are checked as they are read; what a
 * section lacks, and what does not go together, when it closes. */
#include "base/suggest.h"
#include "base/vec.h"
#include "frontend/cluster.h"
#include "frontend/cluster_keys.h"
#include "frontend/cluster_lexer.h"

#include <math.h>
#include <string.h>

enum { MAX_COUNT = 1 << 20 /* of devices, and of any whole number */ };

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwClusterLexer lexer;
    MwClusterToken token; /* the next one */
    MwCluster *cluster;
    MwSpan opened[MW_SECTION_COUNT]; /* where a section was opened; no source: not yet */
    MwSpan opened_gemm[MW_TYPE_COUNT];
} Reader;

/* A section being read. */
typedef struct {
    MwClusterSection section;
    void *base; /* its struct */
    MwSpan span;
    MwSpan given[MW_CLUSTER_KEY_COUNT]; /* where each key was given */
} Section;

/* ---- Tokens ---- */

static void advance(Reader *reader)
{
    reader->token = mw_cluster_lex(&reader->lexer);
}

static bool at_sign(const Reader *reader, char sign)
{
    return reader->token.kind == MW_CLUSTER_SIGN && reader->token.sign == sign;
}

static bool accept(Reader *reader, char sign)
{
    bool is_here = at_sign(reader, sign);
    if (is_here)
        advance(reader);
    return is_here;
}

static bool expect(Reader *reader, char sign, const char *where)
{
    if (accept(reader, sign))
        return true;
    mw_diag_error(reader->diags, reader->token.span, "expected '%c' %s", sign, where);
    return false;
}

static void skip_newlines(Reader *reader)
{
    while (reader->token.kind == MW_CLUSTER_NEWLINE)
        advance(reader);
}

/* To the end of the item that holds a mistake: of its line and of the blocks it opens. */
static void skip_item(Reader *reader)
{
    int depth = 0;
    while (reader->token.kind != MW_CLUSTER_END) {
        if (depth == 0 && (reader->token.kind == MW_CLUSTER_NEWLINE || at_sign(reader, '}')))
            return;
        depth += at_sign(reader, '{') - at_sign(reader, '}');
        advance(reader);
    }
}

/* ---- Values ---- */

static bool read_unit(Reader *reader, MwQuantity quantity, MwSpan number, double *scale)
{
    MwText units = {.arena = reader->arena};
    mw_text_add_units(&units, quantity);
    if (reader->token.kind != MW_CLUSTER_WORD) {
        mw_diag_error(reader->diags, number, "a unit of %s must follow: %s",
                      mw_quantity_name(quantity), units.at);
        return false;
    }
    *scale = mw_unit_scale(quantity, reader->token.text);
    if (*scale == 0) {
        const char *nearest = mw_unit_suggest(quantity, reader->token.text);
        mw_diag_error(reader->diags, reader->token.span, "'%s' is no unit of %s",
                      reader->token.text, mw_quantity_name(quantity));
        if (nearest)
            mw_diag_note(reader->diags, mw_span_none(), "did you mean '%s'?", nearest);
        else
            mw_diag_note(reader->diags, mw_span_none(), "units of %s are %s",
                         mw_quantity_name(quantity), units.at);
        return false;
    }
    advance(reader);
    return true;
}

/* A number greater than zero. */
static bool read_number(Reader *reader, double *value, MwSpan *span)
{
    *span = reader->token.span;
    if (reader->token.kind != MW_CLUSTER_NUMBER) {
        mw_diag_error(reader->diags, *span, "expected a number");
        return false;
    }
    *value = reader->token.number;
    if (!(*value > 0) || !isfinite(*value)) {
        mw_diag_error(reader->diags, *span, "must be a finite number greater than zero");
        return false;
    }
    advance(reader);
    return true;
}

static bool read_quantity(Reader *reader, MwQuantity quantity, double *value, MwSpan *span)
{
    double scale = 1;
    if (!read_number(reader, value, span))
        return false;
    if (quantity != MW_QUANTITY_NUMBER && !read_unit(reader, quantity, *span, &scale))
        return false;
    *value *= scale;
    return true;
}

static bool read_int(Reader *reader, int *value)
{
    double number;
    MwSpan span;
    if (!read_number(reader, &number, &span))
        return false;
    if (number != floor(number) || number > MAX_COUNT) {
        mw_diag_error(reader->diags, span, "must be a whole number from 1 to %d", MAX_COUNT);
        return false;
    }
    *value = (int)number;
    return true;
}

static bool read_memory(Reader *reader, int64_t *bytes)
{
    double number;
    MwSpan span;
    if (!read_quantity(reader, MW_QUANTITY_BYTES, &number, &span))
        return false;
    if (number >= 0x1p53) {
        mw_diag_error(reader->diags, span, "must be less than 2^53 bytes");
        return false;
    }
    *bytes = (int64_t)number;
    return true;
}

/* [1, 2, 3] or [1, 2, 3] GFLOP/s */
static bool read_list(Reader *reader, MwQuantity quantity, MwNumbers *numbers)
{
    MW_VEC(double) list = {0};
    MwSpan span = reader->token.span, last;
    if (!expect(reader, '[', "before a list"))
        return false;
    do
        if (!read_number(reader, mw_vec_add(reader->arena, &list), &last))
            return false;
    while (accept(reader, ','));
    span = mw_span_join(span, reader->token.span);
    if (!expect(reader, ']', "or ',' after a number of a list"))
        return false;
    double scale = 1;
    if (quantity != MW_QUANTITY_NUMBER && !read_unit(reader, quantity, span, &scale))
        return false;
    for (int i = 0; i < list.count; i++)
        list.at[i] *= scale;
    *numbers = (MwNumbers){list.at, list.count};
    return true;
}

static bool check_point(Reader *reader, const MwCurve *curve, MwSpan at, MwSpan value,
                        MwQuantity quantity)
{
    const MwCurvePoint *last = &curve->points[curve->count - 1];
    if (curve->count > 1 && last->at <= last[-1].at) {
        mw_diag_error(reader->diags, at, "sizes must ascend");
        return false;
    }
    if (curve->count > 1 && quantity == MW_QUANTITY_SECONDS && last->value < last[-1].value) {
        mw_diag_error(reader->diags, value, "a larger size cannot take less time");
        return false;
    }
    return true;
}

/* [SIZE: VALUE, ...], or one VALUE that holds for every size. */
static bool read_curve(Reader *reader, MwQuantity quantity, MwQuantity at, MwCurve *curve)
{
    MW_VEC(MwCurvePoint) points = {0};
    MwSpan at_span, value_span;
    if (!accept(reader, '[')) {
        MwCurvePoint *only = mw_vec_add(reader->arena, &points);
        only->at = 1;
        *curve = (MwCurve){only, 1};
        return read_quantity(reader, quantity, &only->value, &value_span);
    }
    do {
        MwCurvePoint *point = mw_vec_add(reader->arena, &points);
        if (!read_quantity(reader, at, &point->at, &at_span) ||
            !expect(reader, ':', "after the size of a point") ||
            !read_quantity(reader, quantity, &point->value, &value_span))
            return false;
        *curve = (MwCurve){points.at, points.count};
        if (!check_point(reader, curve, at_span, value_span, quantity))
            return false;
    } while (accept(reader, ','));
    return expect(reader, ']', "or ',' after a point of a curve");
}

static bool read_backend(Reader *reader, const char **backend)
{
    const char *word = reader->token.kind == MW_CLUSTER_WORD ? reader->token.text : "";
    for (int i = 0; i < MW_COUNT(mw_cluster_backends); i++)
        if (strcmp(word, mw_cluster_backends[i]) == 0) {
            *backend = mw_cluster_backends[i];
            advance(reader);
            return true;
        }
    mw_diag_error(reader->diags, reader->token.span, "a backend is 'cpu' or 'cuda'");
    return false;
}

static bool read_value(Reader *reader, const MwClusterKey *key, void *base)
{
    void *member = (char *)base + key->offset;
    MwSpan span;
    switch (key->kind) {
    case MW_KEY_INT:
        return read_int(reader, member);
    case MW_KEY_MEMORY:
        return read_memory(reader, member);
    case MW_KEY_NUMBER:
        return read_quantity(reader, key->quantity, member, &span);
    case MW_KEY_LIST:
        return read_list(reader, key->quantity, member);
    case MW_KEY_CURVE:
        return read_curve(reader, key->quantity, key->at, member);
    case MW_KEY_BACKEND:
        return read_backend(reader, member);
    }
    MW_UNREACHABLE();
}

/* ---- Items ---- */

static void given_twice(Reader *reader, MwSpan span, const char *name, MwSpan first)
{
    mw_diag_error(reader->diags, span, "'%s' is given twice", name);
    mw_diag_note(reader->diags, first, "first here");
}

static void unknown_name(Reader *reader, const MwClusterToken *name, const char *const *known,
                         int count, const Section *in)
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

/* `name` and '=' were read. */
static bool read_key(Reader *reader, const MwClusterToken *name, Section *in)
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
        return read_value(reader, key, in->base);
    }
    unknown_name(reader, name, known, MW_COUNT(known), in);
    MwCollective kind;
    if (mw_cluster_section_is_link(in->section) && find_collective(name->text, &kind))
        mw_diag_note(reader->diags, mw_span_none(),
                     "a measured collective names its devices: %s 8 = ...", name->text);
    return false;
}

static bool add_measured(Reader *reader, MwLink *link, const MwMeasuredCollective *measured)
{
    int count = link->measured_count;
    MwMeasuredCollective *list = MW_NEW(reader->arena, MwMeasuredCollective, count + 1);
    for (int i = 0; i < count; i++)
        list[i] = link->measured[i];
    list[count] = *measured;
    link->measured = list;
    link->measured_count = count + 1;
    return true;
}

/* all_reduce 4 = [...]; the name was read. */
static bool read_measured(Reader *reader, const MwClusterToken *name, MwCollective kind,
                          MwLink *link)
{
    MwMeasuredCollective measured = {.kind = kind};
    MwSpan span = mw_span_join(name->span, reader->token.span);
    if (!read_int(reader, &measured.ways) ||
        !expect(reader, '=', "after the number of devices of a measured collective"))
        return false;
    if (measured.ways < 2) {
        mw_diag_error(reader->diags, span, "a collective needs at least two devices");
        return false;
    }
    for (int i = 0; i < link->measured_count; i++)
        if (link->measured[i].kind == kind && link->measured[i].ways == measured.ways) {
            mw_diag_error(reader->diags, span, "'%s %d' is given twice", name->text, measured.ways);
            return false;
        }
    return read_curve(reader, MW_QUANTITY_SECONDS, MW_QUANTITY_BYTES, &measured.time_s) &&
           add_measured(reader, link, &measured);
}

static bool read_section(Reader *reader, Section *in);

/* The type of `gemm TYPE {`; the first was read. */
static bool read_gemm_type(Reader *reader, MwType *type)
{
    if (reader->token.kind == MW_CLUSTER_WORD && mw_type_parse(reader->token.text, type)) {
        advance(reader);
        return true;
    }
    mw_diag_error(reader->diags, reader->token.span,
                  "expected the element type of the products: f32 or bf16");
    return false;
}

static bool open_section(Reader *reader, const MwClusterToken *name, MwClusterSection section)
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

/* A section within `in`; its name was read. */
static bool read_subsection(Reader *reader, const MwClusterToken *name, Section *in)
{
    const char *known[MW_SECTION_COUNT] = {0};
    MwCollective kind;
    if (mw_cluster_section_is_link(in->section) && find_collective(name->text, &kind))
        return read_measured(reader, name, kind, in->base);
    for (int i = 1; i < MW_SECTION_COUNT; i++) {
        if (mw_cluster_section_parents[i] != in->section)
            continue;
        known[i] = mw_cluster_section_names[i];
        if (strcmp(known[i], name->text) == 0)
            return open_section(reader, name, i);
    }
    bool is_key = !at_sign(reader, '{') && reader->token.kind != MW_CLUSTER_WORD;
    if (is_key)
        return expect(reader, '=', "after the name of a figure");
    unknown_name(reader, name, known, MW_COUNT(known), in);
    return false;
}

/* False if the rest of it is to be skipped. */
static bool read_item(Reader *reader, Section *in)
{
    MwClusterToken name = reader->token;
    if (name.kind != MW_CLUSTER_WORD) {
        mw_diag_error(reader->diags, name.span, "expected the name of a figure or of a section");
        return false;
    }
    advance(reader);
    bool fine =
        accept(reader, '=') ? read_key(reader, &name, in) : read_subsection(reader, &name, in);
    if (!fine)
        return false;
    if (reader->token.kind == MW_CLUSTER_NEWLINE || at_sign(reader, '}'))
        return true;
    mw_diag_error(reader->diags, reader->token.span, "expected the end of the line");
    return false;
}

/* ---- What a section must have ---- */

static const MwSpan *given(const Section *in, const char *name)
{
    for (int i = 0; i < MW_CLUSTER_KEY_COUNT; i++)
        if (mw_cluster_keys[i].section == in->section && strcmp(mw_cluster_keys[i].name, name) == 0)
            return &in->given[i];
    MW_UNREACHABLE();
}

static void check_required(Reader *reader, const Section *in)
{
    for (int i = 0; i < MW_CLUSTER_KEY_COUNT; i++) {
        const MwClusterKey *key = &mw_cluster_keys[i];
        if (key->section == in->section && key->is_required && !in->given[i].source)
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

static void check_gemm(Reader *reader, const Section *in)
{
    const MwGemm *gemm = in->base;
    int64_t sizes = gemm->sizes.count, wanted = sizes * sizes * sizes;
    if (!given(in, "rate")->source && !given(in, "sizes")->source)
        mw_diag_error(reader->diags, in->span, "'gemm' lacks 'rate', or 'sizes' and 'rates'");
    if (!is_ascending(&gemm->sizes))
        mw_diag_error(reader->diags, *given(in, "sizes"), "sizes must ascend");
    if (gemm->rates.count != wanted)
        mw_diag_error(reader->diags, given(in, "rates")->source ? *given(in, "rates") : in->span,
                      "%d sizes need %lld rates, one for each m, n and k; there are %d",
                      gemm->sizes.count, (long long)wanted, gemm->rates.count);
    if (gemm->peak_flops > 0 && gemm->rate_flops > gemm->peak_flops)
        mw_diag_error(reader->diags, *given(in, "rate"), "the rate achieved is above the peak");
}

/* The whole, once its sections were read. */
static void check_cluster(Reader *reader, const Section *in)
{
    const MwCluster *cluster = reader->cluster;
    bool has_device = reader->opened[MW_SECTION_DEVICE].source;
    if (!has_device)
        mw_diag_error(reader->diags, in->span, "'cluster' lacks the section 'device'");
    else if (!reader->opened_gemm[MW_F32].source)
        mw_diag_error(reader->diags, reader->opened[MW_SECTION_DEVICE],
                      "'device' lacks the section 'gemm f32'");
    if (cluster->devices_per_node > 1 && !reader->opened[MW_SECTION_NODE].source)
        mw_diag_error(reader->diags, *given(in, "devices_per_node"),
                      "several devices in a node need the section 'node', the link between them");
    if (cluster->nodes > 1 && !reader->opened[MW_SECTION_NETWORK].source)
        mw_diag_error(reader->diags, *given(in, "nodes"),
                      "several nodes need the section 'network', the link between them");
    if ((int64_t)cluster->nodes * cluster->devices_per_node > MAX_COUNT)
        mw_diag_error(reader->diags, *given(in, "nodes"), "more than %d devices", MAX_COUNT);
}

static bool read_section(Reader *reader, Section *in)
{
    if (!expect(reader, '{', "after the name of a section"))
        return false;
    skip_newlines(reader);
    while (!at_sign(reader, '}')) {
        if (reader->token.kind == MW_CLUSTER_END) {
            mw_diag_error(reader->diags, in->span, "'%s' is not closed by '}'",
                          mw_cluster_section_names[in->section]);
            return false;
        }
        if (!read_item(reader, in))
            skip_item(reader);
        skip_newlines(reader);
    }
    advance(reader);
    check_required(reader, in);
    if (in->section == MW_SECTION_GEMM)
        check_gemm(reader, in);
    return true;
}

/* ---- The file ---- */

static void read_file(Reader *reader)
{
    skip_newlines(reader);
    MwSpan span = reader->token.span;
    if (reader->token.kind != MW_CLUSTER_WORD || strcmp(reader->token.text, "cluster") != 0) {
        mw_diag_error(reader->diags, span, "a cluster file begins with 'cluster NAME {'");
        return;
    }
    advance(reader);
    if (reader->token.kind != MW_CLUSTER_WORD) {
        mw_diag_error(reader->diags, reader->token.span,
                      "expected the cluster's name: a letter, then letters, digits, '.', '_', '-'");
        return;
    }
    reader->cluster->name = reader->token.text;
    advance(reader);
    Section top = {.section = MW_SECTION_CLUSTER, .base = reader->cluster, .span = span};
    if (!read_section(reader, &top))
        return;
    check_cluster(reader, &top);
    skip_newlines(reader);
    if (reader->token.kind != MW_CLUSTER_END)
        mw_diag_error(reader->diags, reader->token.span, "expected the end of the file");
}

MwCluster *mw_cluster_read(MwArena *arena, const MwSource *source, MwDiags *diags)
{
    int errors = mw_diags_error_count(diags);
    Reader reader = {.arena = arena,
                     .diags = diags,
                     .lexer = {.arena = arena, .source = source},
                     .cluster = MW_NEW(arena, MwCluster, 1)};
    advance(&reader);
    read_file(&reader);
    return mw_diags_error_count(diags) == errors ? reader.cluster : NULL;
}
