/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams a problem out as JSON (solver.h defines the form), gzipped if the path ends in .gz. */
#include "solver/file/replace.h"
#include "solver/solver.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_gen.h>
#include <zlib.h>

typedef struct {
    gzFile file;
    yajl_gen json;
    bool failed;
} Writer;

static void print(void *context, const char *text, size_t length)
{
    Writer *writer = context;
    if (!writer->failed && length > 0)
        writer->failed = gzwrite(writer->file, text, (unsigned)length) <= 0;
}

static void text(Writer *writer, const char *value)
{
    yajl_gen_string(writer->json, (const unsigned char *)value, strlen(value));
}

/* Writes an array of integers; NULL stands for zeros. */
static void row(Writer *writer, const int64_t *values, int64_t count)
{
    yajl_gen_array_open(writer->json);
    for (int64_t i = 0; i < count; i++)
        yajl_gen_integer(writer->json, values ? values[i] : 0);
    yajl_gen_array_close(writer->json);
}

/* Writes the labels, unless no node has one. A missing label becomes an empty text. */
static void write_labels(Writer *writer, const MwProblem *problem)
{
    int labelled = 0;
    for (int i = 0; i < problem->node_count; i++)
        labelled += problem->nodes[i].label != NULL;
    if (labelled == 0)
        return;
    text(writer, "labels");
    yajl_gen_array_open(writer->json);
    for (int i = 0; i < problem->node_count; i++)
        text(writer, problem->nodes[i].label ? problem->nodes[i].label : "");
    yajl_gen_array_close(writer->json);
}

static void write_nodes(Writer *writer, const MwProblem *problem)
{
    yajl_gen_map_open(writer->json);
    text(writer, "intervals");
    yajl_gen_array_open(writer->json);
    for (int i = 0; i < problem->node_count; i++)
        row(writer, (int64_t[]){problem->nodes[i].begin, problem->nodes[i].end}, 2);
    yajl_gen_array_close(writer->json);
    text(writer, "costs");
    yajl_gen_array_open(writer->json);
    for (int i = 0; i < problem->node_count; i++)
        row(writer, problem->nodes[i].cost, problem->nodes[i].strategy_count);
    yajl_gen_array_close(writer->json);
    text(writer, "usages");
    yajl_gen_array_open(writer->json);
    for (int i = 0; i < problem->node_count; i++)
        row(writer, problem->nodes[i].usage, problem->nodes[i].strategy_count);
    yajl_gen_array_close(writer->json);
    write_labels(writer, problem);
    yajl_gen_map_close(writer->json);
}

static void write_edges(Writer *writer, const MwProblem *problem)
{
    yajl_gen_map_open(writer->json);
    text(writer, "nodes");
    yajl_gen_array_open(writer->json);
    for (int i = 0; i < problem->edge_count; i++)
        row(writer, (int64_t[]){problem->edges[i].a, problem->edges[i].b}, 2);
    yajl_gen_array_close(writer->json);
    text(writer, "costs");
    yajl_gen_array_open(writer->json);
    for (int i = 0; i < problem->edge_count; i++) {
        const MwProblemEdge *edge = &problem->edges[i];
        row(writer, edge->cost,
            (int64_t)problem->nodes[edge->a].strategy_count *
                problem->nodes[edge->b].strategy_count);
    }
    yajl_gen_array_close(writer->json);
    yajl_gen_map_close(writer->json);
}

static void write_problem(Writer *writer, const MwProblem *problem)
{
    yajl_gen_map_open(writer->json);
    text(writer, "problem");
    yajl_gen_map_open(writer->json);
    text(writer, "name");
    text(writer, problem->name ? problem->name : "");
    text(writer, "nodes");
    write_nodes(writer, problem);
    text(writer, "edges");
    write_edges(writer, problem);
    if (problem->usage_limit != MW_USAGE_UNLIMITED) {
        text(writer, "usage_limit");
        yajl_gen_integer(writer->json, problem->usage_limit);
    }
    yajl_gen_map_close(writer->json);
    yajl_gen_map_close(writer->json);
    print(writer, "\n", 1);
}

typedef struct {
    const MwProblem *problem;
    bool zipped;
} Saving;

static bool write_file(int fd, const void *context)
{
    const Saving *saving = context;
    int own = dup(fd); /* gzclose closes this duplicate */
    Writer writer = {.file = own < 0 ? NULL : gzdopen(own, saving->zipped ? "wb6" : "wbT")};
    if (!writer.file) {
        if (own >= 0)
            close(own);
        return false;
    }
    gzbuffer(writer.file, 1 << 18);
    writer.json = yajl_gen_alloc(NULL);
    yajl_gen_config(writer.json, yajl_gen_print_callback, print, &writer);
    write_problem(&writer, saving->problem);
    yajl_gen_free(writer.json);
    int saved = errno;
    bool good = gzclose(writer.file) == Z_OK && !writer.failed;
    if (writer.failed)
        errno = saved;
    return good;
}

bool mw_problem_save(const MwProblem *problem, const char *path, MwDiags *diags)
{
    size_t length = strlen(path);
    const Saving saving = {problem, length > 3 && !strcmp(path + length - 3, ".gz")};
    return mw_file_replace(path, write_file, &saving, diags);
}
