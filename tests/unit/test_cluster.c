/* SPDX-License-Identifier: GPL-3.0-or-later */
/* frontend/cluster: what is read, what is refused and where, and that printing reads back. */
#include "base/file.h"
#include "frontend/cluster/cluster.h"
#include "frontend/cluster/figure.h"
#include "frontend/cluster/print.h"
#include "frontend/cluster/read.h"
#include "frontend/cluster/units.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/scratch.h"
#include "tests/unit/support.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE                                                                                     \
    "device {\n memory = 1 GB\n bandwidth = 10 GB/s\n vector = 1 GFLOP/s\n launch = 1 us\n"        \
    " gemm f32 { rate = 1 GFLOP/s }\n}\n"

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwCluster *cluster;
} Read;

static Read read_text(const char *text)
{
    Read read = {.arena = mw_arena_new()};
    read.diags = mw_diags_new(read.arena);
    MwSource *source = MW_NEW(read.arena, MwSource, 1);
    *source = (MwSource){"c", text, strlen(text)};
    read.cluster = mw_cluster_read(read.arena, source, read.diags);
    return read;
}

/* Without the lines of source. */
static const char *messages(const Read *read)
{
    const char *text = diags_text(read->arena, read->diags);
    char *kept = mw_arena_alloc(read->arena, strlen(text) + 1);
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        if (!memmem(line, (size_t)(end - line), " | ", 3))
            strncat(kept, line, (size_t)(end + 1 - line));
    return kept;
}

START_TEST(a_file_gives_its_figures)
{
    Read read =
        read_text("# All there is.\n"
                  "cluster p3.16xlarge-4 {\n"
                  "  backend = cuda # NCCL\n"
                  "  nodes = 4\n"
                  "  devices_per_node=8\n"
                  "  node_price = 3 USD/h\n"
                  "  device {\n"
                  "    memory = 16GiB\n"
                  "    bandwidth = [1 MiB: 2 TB/s,\n"
                  "                 64 MB: 900 GB/s]\n"
                  "    vector = 15.7 TFLOP/s\n"
                  "    launch = 4.5 us\n"
                  "    capability = 7.5\n"
                  "    price = 1.25 USD/h\n"
                  "    units = 80\n"
                  "    attention = [1e6 FLOP: 1 TFLOP/s, 2 GFLOP: 50 TFLOP/s]\n"
                  "    gemm f32 { peak = 15.7 TFLOP/s\n sizes = [1, 8]\n"
                  "      rates = [1, 2, 3, 4,\n 5, 6, 7, 8] TFLOP/s }\n"
                  "    gemm fp8 { rate = 200 TFLOP/s }\n"
                  "    gemm bf16 { rate = 100 TFLOP/s }\n"
                  "  }\n"
                  "  host { memory = 1 TB\n latency = 6 us\n bandwidth = 12 GB/s\n"
                  "    update = 200 GB/s }\n"
                  "  node { latency = 3 us\n bandwidth = [2: 42 GB/s, 8: 128 GB/s]\n call = 6 us\n"
                  "    switch = 320 GB/s\n"
                  "    all_reduce 8 = [1 MB: 79 us, 8 MB: 183 us] }\n"
                  "  network { latency = 25 us\n bandwidth = 25 Gb/s\n"
                  "    device_bandwidth = 1.25 GB/s }\n"
                  "}\n");
    mw_diags_print(read.diags, stderr);
    const MwCluster *c = read.cluster;
    ck_assert_ptr_nonnull(c);
    ck_assert_str_eq(c->name, "p3.16xlarge-4");
    ck_assert_str_eq(c->backend, "cuda");
    ck_assert_int_eq(c->nodes, 4);
    ck_assert_int_eq(c->devices_per_node, 8);
    ck_assert_int_eq(c->device.memory_bytes, INT64_C(16) << 30);
    ck_assert_int_eq(c->device.bandwidth.count, 2);
    ck_assert_double_eq(c->device.bandwidth.points[0].at, 1 << 20);
    ck_assert_double_eq(c->device.bandwidth.points[1].value, 900e9);
    ck_assert_double_eq(c->device.vector_flops, 15.7e12);
    ck_assert_double_eq(c->device.launch_s, 4.5e-6);
    ck_assert_int_eq(c->device.units, 80);
    ck_assert_double_eq(c->device.capability, 7.5);
    ck_assert_double_eq(c->device.usd_per_h, 1.25);
    ck_assert_double_eq(c->node_usd_per_h, 3);
    ck_assert_double_eq(mw_cluster_usd_per_h(c), 4 * 3 + 32 * 1.25);
    ck_assert_double_eq(c->device.attention_flops.points[1].at, 2e9);
    ck_assert_int_eq(c->device.attention_grad_flops.count, 0);
    ck_assert_double_eq(c->device.gemm[MW_F32].peak_flops, 15.7e12);
    ck_assert_double_eq(c->device.gemm[MW_F32].rates.at[5], 6e12);
    ck_assert_double_eq(c->device.gemm[MW_BF16].rate_flops, 100e12);
    ck_assert_int_eq(c->host.memory_bytes, 1000000000000);
    ck_assert_int_eq(mw_cluster_host_bytes(c), 125000000000);
    ck_assert_double_eq(c->host.latency_s, 6e-6);
    ck_assert_double_eq(c->host.bytes_per_s, 12e9);
    ck_assert_double_eq(c->host.update_bytes_per_s, 200e9);
    ck_assert_double_eq(c->node_link.call_s, 6e-6);
    ck_assert_double_eq(c->node_link.switch_bytes_per_s, 320e9);
    ck_assert_int_eq(c->node_link.measured[0].kind, MW_ALL_REDUCE);
    ck_assert_int_eq(c->node_link.measured[0].ways, 8);
    ck_assert_double_eq(c->node_link.measured[0].time_s.points[1].value, 183e-6);
    ck_assert_double_eq(c->network_link.bandwidth.points[0].value, 25e9 / 8);
    ck_assert_double_eq(c->network_link.device_bytes_per_s, 1.25e9);
    mw_arena_free(&read.arena);
}
END_TEST

/* Each text has the mistakes that `errors` lists, one a line with its place, and no other. */
START_TEST(mistakes_are_named_with_their_place)
{
    static const struct {
        const char *text, *errors;
    } cases[] = {
        {"", "c:1:1: error: a cluster file begins with 'cluster NAME {'\n"},
        {"cluster 8 {}", "c:1:9: error: expected the cluster's name: a letter, then letters, "
                         "digits, '.', '_', '-'\n"},
        {"cluster c {\n" DEVICE "}", "c:1:1: error: 'cluster' lacks 'backend'\n"
                                     "c:1:1: error: 'cluster' lacks 'nodes'\n"
                                     "c:1:1: error: 'cluster' lacks 'devices_per_node'\n"},
        {"cluster c {\nbackend = gpu\nnodes = 0\ndevices_per_node = 1.5\n" DEVICE "}",
         "c:2:11: error: a backend is cpu or cuda\n"
         "c:3:9: error: must be greater than zero\n"
         "c:4:20: error: must be a whole number from 1 to 1048576\n"},
        {"cluster c {\nbackend = cpu\nnodes = 2\ndevices_per_node = 2\n" DEVICE "}",
         "c:4:1: error: several devices in a node need the section 'node', the link between them\n"
         "c:3:1: error: several nodes need the section 'network', the link between them\n"},
        {"cluster c {\nbackend = cpu\nnodes = 1\ndevices_per_node = 1\n}",
         "c:1:1: error: 'cluster' lacks the section 'device'\n"},
        {"cluster c {\nbackend = cpu\nnodes = 1\ndevices_per_node = 1\nbackend = cpu\n" DEVICE "}",
         "c:5:1: error: 'backend' is given twice\n  c:2:1: note: first here\n"},
        {"cluster c {\nbackend = cpu\nnodes = 1\ndevices_per_node = 1\n" DEVICE "} x",
         "c:12:3: error: expected the end of the file\n"},
        {"cluster c {\nbackend = cpu\nnodes = 1\ndevices_per_node = 1\n" DEVICE,
         "c:1:1: error: 'cluster' is not closed by '}'\n"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        Read read = read_text(cases[i].text);
        ck_assert_ptr_null(read.cluster);
        const char *text = messages(&read);
        ck_assert_str_eq(text, cases[i].errors);
        mw_arena_free(&read.arena);
    }
}
END_TEST

/* One line in a section of an otherwise good file, and what is said of it. */
START_TEST(mistakes_in_sections_are_named)
{
    static const struct {
        const char *section, *line, *message;
    } cases[] = {
        {"device", "bandwith = 3 GB/s", "'device' has no 'bandwith'\n"},
        {"device", "bandwith = 3 GB/s", "did you mean 'bandwidth'?"},
        {"device", "memory = 8",
         "a unit of bytes must follow: B, KB, kB, KiB, MB, MiB, GB, GiB or TB"},
        {"device", "memory = 8 GB/s", "'GB/s' is no unit of bytes"},
        {"device", "memory = 9000000 TB", "must be less than 2^53 bytes"},
        {"device", "launch = -3 us", "must be greater than zero"},
        {"device", "launch = 1e999 us", "must lie between 1e-30 and 1e30"},
        {"device", "launch = us", "expected a number"},
        {"device", "launch = 3 us 4", "expected the end of the line"},
        {"device", "bandwidth = [2 KB: 1 GB/s, 1 KB: 1 GB/s]", "sizes must ascend"},
        {"device", "bandwidth = [1 KB: 1 GB/s", "expected ']' or ',' after a point of a curve"},
        {"device", "bandwidth = [1 KB = 1 GB/s]", "expected ':' after the size of a point"},
        {"device", "bandwidth = []", "expected a number"},
        {"device", "gemm f23 { rate = 3 TFLOP/s }", "expected the type of the products"},
        {"device", "gemm i32 { rate = 3 TFLOP/s }", "expected the type of the products"},
        {"device", "gemm f32 { }", "'gemm' lacks 'rate', or 'sizes' and 'rates'"},
        {"device", "gemm f32 { sizes = [1, 2]\n rates = [1, 2] GFLOP/s }",
         "2 sizes need 8 rates, one for each m, n and k; there are 2"},
        {"device", "gemm f32 { sizes = [2, 1]\n rates = [1, 2, 3, 4, 5, 6, 7, 8] GFLOP/s }",
         "sizes must ascend"},
        {"device", "gemm f32 { rates = [1, 2] }", "a unit of FLOPs per second must follow"},
        {"device", "gemm f32 { peak = 1 TFLOP/s\n rate = 2 TFLOP/s }",
         "the rate achieved is above the peak"},
        {"device", "units = 8\n collective_units = 8",
         "collectives take 8 of 8 units: they must leave some for kernels"},
        {"node", "bandwidth = 25 Gbps", "did you mean 'Gb/s'?"},
        {"device", "price = 3", "a unit of price must follow: USD/h"},
        {"node", "all_reduce = 3 us",
         "a measured collective names its devices: all_reduce 8 = ..."},
        {"node", "all_reduce 1 = 3 us", "a collective needs at least two devices"},
        {"node", "all_reduce 4 = [1 KB: 3 us, 1 MB: 2 us]", "a larger size cannot take less time"},
        {"node", "all_gather 2 = 3 us\nall_gather 2 = 4 us", "'all_gather 2' is given twice"},
        {"nod", "", "'cluster' has no 'nod'\n"},
        {"nod", "", "did you mean 'node'?"},
        {"node", "latency 3 us", "expected '=' after the name of a figure"},
        {"node", "% = 3", "expected the name of a figure or of a section"},
        {"node", "device_bandwidth = 3 GB/s", "'node' has no 'device_bandwidth'"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        char text[400];
        snprintf(text, sizeof text, "cluster c {\n%s {\n%s\n}\n}\n", cases[i].section,
                 cases[i].line);
        Read read = read_text(text);
        ck_assert_ptr_null(read.cluster);
        const char *said = diags_text(read.arena, read.diags);
        if (!strstr(said, cases[i].message))
            ck_abort_msg("%s:\n%s", cases[i].line, said);
        mw_arena_free(&read.arena);
    }
}
END_TEST

/* A mistake costs one message, not those of what follows it. */
START_TEST(reading_goes_on_after_a_mistake)
{
    static const char *const lines[] = {"units = [1, 2", "memor = 3 KB",
                                        "attention = [1 FLOP: ", "blob { a = 1\n b { c = 2 }\n}",
                                        "units = 3 GB"};
    for (int i = 0; i < MW_COUNT(lines); i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "cluster c {\nbackend = cpu\nnodes = 1\ndevices_per_node = 1\n%.*s%s\n}\n}\n",
                 (int)(strlen(DEVICE) - strlen("}\n")), DEVICE, lines[i]);
        Read read = read_text(text);
        if (mw_diags_error_count(read.diags) != 1)
            mw_diags_print(read.diags, stderr);
        ck_assert_int_eq(mw_diags_error_count(read.diags), 1);
        mw_arena_free(&read.arena);
    }
}
END_TEST

static void check_prints_back(MwArena *arena, const MwCluster *cluster)
{
    MwText first = {.arena = arena}, second = {.arena = arena};
    mw_cluster_print(&first, cluster);
    Read read = read_text(first.at);
    mw_diags_print(read.diags, stderr);
    ck_assert_ptr_nonnull(read.cluster);
    mw_cluster_print(&second, read.cluster);
    ck_assert_str_eq(first.at, second.at);
    mw_arena_free(&read.arena);
}

/* Every file of clusters/ reads, under its own name, and prints back. */
START_TEST(files_of_the_repository_read)
{
    const char *folder = SOURCE_ROOT "/clusters";
    DIR *files = opendir(folder);
    ck_assert_ptr_nonnull(files);
    int count = 0;
    for (struct dirent *file; (file = readdir(files));) {
        const char *dot = strrchr(file->d_name, '.');
        if (!dot || strcmp(dot, ".cluster") != 0)
            continue;
        MwArena *arena = mw_arena_new();
        MwDiags *diags = mw_diags_new(arena);
        MwCluster *cluster =
            mw_cluster_load(arena, mw_arena_printf(arena, "%s/%s", folder, file->d_name), diags);
        mw_diags_print(diags, stderr);
        ck_assert_ptr_nonnull(cluster);
        ck_assert_str_eq(mw_arena_printf(arena, "%s.cluster", cluster->name), file->d_name);
        check_prints_back(arena, cluster);
        mw_arena_free(&arena);
        count++;
    }
    closedir(files);
    ck_assert_int_ge(count, 1);
}
END_TEST

/* Without curves attention is assumed to have half the rate of products, forward and backward. */
START_TEST(clusters_of_h100_and_h200_have_curves_of_attention)
{
    static const char *const names[] = {"dgx-h100", "h200-1", "h200-8"};
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    for (int i = 0; i < MW_COUNT(names); i++) {
        const MwCluster *cluster = mw_cluster_load(
            arena, mw_arena_printf(arena, "%s/clusters/%s.cluster", SOURCE_ROOT, names[i]), diags);
        ck_assert_ptr_nonnull(cluster);
        const MwCurve *forward = &cluster->device.gemm[MW_BF16].attention_flops;
        const MwCurve *backward = &cluster->device.gemm[MW_BF16].attention_grad_flops;
        ck_assert_int_gt(forward->count, 1);
        ck_assert_int_eq(backward->count, forward->count);
        for (int k = 0; k < forward->count; k++)
            ck_assert_double_lt(backward->points[k].value, forward->points[k].value);
    }
    mw_arena_free(&arena);
}
END_TEST

static void write_file(MwArena *arena, const char *folder, const char *name, const char *text)
{
    const char *path = mw_arena_printf(arena, "%s/%s", folder, name);
    ck_assert(mw_file_write(path, text, strlen(text), 0644));
}

/* The example at the head of docs/clusters.md, which is indented by four. */
START_TEST(the_example_of_the_documentation_reads)
{
    MwArena *arena = mw_arena_new();
    size_t bytes;
    const char *page = mw_file_read(arena, SOURCE_ROOT "/docs/clusters.md", &bytes);
    ck_assert_ptr_nonnull(page);
    MwText text = {.arena = arena};
    for (const char *line = strstr(page, "    cluster ");
         strncmp(line, "    ", 4) == 0 || *line == '\n'; line = strchr(line, '\n') + 1)
        mw_text_add_n(&text, line, strcspn(line, "\n") + 1);
    Read read = read_text(text.at);
    mw_diags_print(read.diags, stderr);
    ck_assert_ptr_nonnull(read.cluster);
    ck_assert_int_eq(read.cluster->nodes * read.cluster->devices_per_node, 8);
    mw_arena_free(&read.arena);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(a_file_like_another_changes_some_figures)
{
    MwArena *arena = mw_arena_new();
    const char *folder = scratch_folder(arena);
    write_file(arena, folder, "base.cluster",
               "cluster base {\nbackend = cpu\nnodes = 1\ndevices_per_node = 4\n" DEVICE
               "node { latency = 1 us\n bandwidth = 9 GB/s\n all_reduce 4 = 3 us }\n}");
    write_file(arena, folder, "more.cluster",
               "cluster more like base.cluster {\ndevices_per_node = 8\n"
               "device { memory = 2 GB }\n"
               "node { all_reduce 4 = 4 us\n all_reduce 8 = 7 us }\n}");
    write_file(arena, folder, "wrong.cluster",
               "cluster wrong like base.cluster {\nnodes = 2\n"
               "node { all_reduce 2 = 4 us\nall_reduce 2 = 5 us }\n}");
    write_file(arena, folder, "again.cluster",
               "cluster again like base.cluster {\n"
               "node { all_reduce 4 = 4 us\nall_reduce 4 = 5 us }\n}");
    write_file(arena, folder, "self.cluster", "cluster self like self.cluster { }");
    write_file(arena, folder, "lost.cluster", "cluster lost like nowhere.cluster { }");
    MwDiags *diags = mw_diags_new(arena);
    MwCluster *c = mw_cluster_load(arena, mw_arena_printf(arena, "%s/more.cluster", folder), diags);
    mw_diags_print(diags, stderr);
    ck_assert_ptr_nonnull(c);
    ck_assert_str_eq(c->name, "more");
    ck_assert_int_eq(c->devices_per_node, 8);
    ck_assert_int_eq(c->device.memory_bytes, 2000000000);
    ck_assert_double_eq(c->device.vector_flops, 1e9);
    ck_assert_int_eq(c->node_link.measured_count, 2);
    ck_assert_double_eq(c->node_link.measured[0].time_s.points[0].value, 4e-6);
    const char *const paths[] = {mw_arena_printf(arena, "%s/base.cluster", folder),
                                 "./base.cluster",
                                 mw_arena_printf(arena, "..%s/base.cluster", strrchr(folder, '/'))};
    for (int i = 0; i < MW_COUNT(paths); i++) {
        write_file(
            arena, folder, "path.cluster",
            mw_arena_printf(arena, "cluster path like %s { devices_per_node = 8 }", paths[i]));
        c = mw_cluster_load(arena, mw_arena_printf(arena, "%s/path.cluster", folder), diags);
        ck_assert_ptr_nonnull(c);
        ck_assert_int_eq(c->devices_per_node, 8);
    }
    static const struct {
        const char *name;
        int errors;
    } wrong[] = {{"wrong", 2}, {"again", 1}, {"self", 1}, {"lost", 1}};
    for (int i = 0; i < MW_COUNT(wrong); i++) {
        MwDiags *found = mw_diags_new(arena);
        const char *path = mw_arena_printf(arena, "%s/%s.cluster", folder, wrong[i].name);
        ck_assert_ptr_null(mw_cluster_load(arena, path, found));
        ck_assert_int_eq(mw_diags_error_count(found), wrong[i].errors);
    }
    ck_assert_int_eq(system(mw_arena_printf(arena, "rm -r '%s'", folder)), 0);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(local_ranks_share_the_machine)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwCluster *two = mw_cluster_load(arena, "local:2", diags);
    MwCluster *eight = mw_cluster_load(arena, "local:8", diags);
    ck_assert_int_eq(eight->nodes, 1);
    ck_assert_int_eq(eight->devices_per_node, 8);
    ck_assert_str_eq(eight->backend, "cpu");
    ck_assert_int_le(labs(eight->device.memory_bytes - two->device.memory_bytes / 4), 1);
    MwCurve few = two->device.bandwidth, many = eight->device.bandwidth;
    ck_assert_double_eq(many.points[0].value, few.points[0].value);
    ck_assert_double_lt(many.points[many.count - 1].value, few.points[few.count - 1].value);
    static const char *const wrong[] = {"local:",   "local:0",     "local:x",         "local:4x",
                                        "local:-1", "local:99999", "/no/such.cluster"};
    for (int i = 0; i < MW_COUNT(wrong); i++)
        ck_assert_ptr_null(mw_cluster_load(arena, wrong[i], diags));
    ck_assert_int_eq(mw_diags_error_count(diags), MW_COUNT(wrong));
    mw_arena_free(&arena);
}
END_TEST

START_TEST(quantities_print_in_their_largest_unit)
{
    static const struct {
        MwQuantity quantity;
        double value;
        const char *text;
    } cases[] = {
        {MW_QUANTITY_BYTES, 17179869184, "16 GiB"},
        {MW_QUANTITY_BYTES, 1500000, "1500 KB"},
        {MW_QUANTITY_BYTES, 1001, "1001 B"},
        {MW_QUANTITY_BYTES, 256000, "256 KB"},
        {MW_QUANTITY_BYTES, 0.5, "0.5 B"},
        {MW_QUANTITY_SECONDS, 3.14159e-6, "3.142 us"},
        {MW_QUANTITY_SECONDS, 5e-11, "0.05 ns"},
        {MW_QUANTITY_BYTES_PER_S, 3.125e9, "3.125 GB/s"},
        {MW_QUANTITY_FLOPS_PER_S, 1e12, "1 TFLOP/s"},
        {MW_QUANTITY_FLOPS, 2500, "2.5 KFLOP"},
        {MW_QUANTITY_NUMBER, 12, "12"},
    };
    MwArena *arena = mw_arena_new();
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwText text = {.arena = arena};
        mw_text_add_quantity(&text, cases[i].quantity, cases[i].value);
        ck_assert_str_eq(text.at, cases[i].text);
    }
    mw_arena_free(&arena);
}
END_TEST

/* Sets a figure of the cluster; the messages. */
static const char *set_figure(Read *read, const char *path, const char *value)
{
    MwSource *source = MW_NEW(read->arena, MwSource, 1);
    const MwClusterFigure *figure = mw_cluster_figure(read->arena, path);
    ck_assert_ptr_nonnull(figure);
    *source = (MwSource){"v", value, strlen(value)};
    read->diags = mw_diags_new(read->arena);
    if (mw_cluster_figure_set(read->arena, read->cluster, figure, source, read->diags))
        mw_cluster_figures_agree(read->arena, read->cluster, read->diags);
    return messages(read);
}

static const char two_nodes[] =
    "cluster pair {\n backend = cpu\n nodes = 2\n devices_per_node = 4\n" DEVICE
    "node { latency = 1 us, bandwidth = [2: 4 GB/s, 4: 8 GB/s], all_reduce 2 = 5 us }\n"
    "network { latency = 4 us, bandwidth = 1 GB/s, all_reduce 2 = 9 us } }\n";

START_TEST(figures_are_set_by_their_paths)
{
    Read read = read_text(two_nodes);
    MwCluster before = *read.cluster;
    const MwCluster *now = read.cluster;
    ck_assert_str_eq(set_figure(&read, "nodes", "2x"), "");
    ck_assert_int_eq(now->nodes, 4);
    ck_assert_str_eq(set_figure(&read, "nodes", "16"), "");
    ck_assert_int_eq(now->nodes, 16);
    ck_assert_str_eq(set_figure(&read, "device.memory", "1.5x"), "");
    ck_assert_int_eq(now->device.memory_bytes, 1500000000);
    ck_assert_str_eq(set_figure(&read, "device.gemm.f32.rate", "0.5x"), "");
    ck_assert_double_eq(now->device.gemm[MW_F32].rate_flops, 5e8);
    ck_assert_str_eq(set_figure(&read, "device.gemm.bf16.rate", "7 TFLOP/s"), "");
    ck_assert_double_eq(now->device.gemm[MW_BF16].rate_flops, 7e12);
    ck_assert_str_eq(set_figure(&read, "links.node.bandwidth", "2x"), "");
    ck_assert_double_eq(now->node_link.bandwidth.points[0].value, 8e9);
    ck_assert_double_eq(now->node_link.bandwidth.points[1].value, 16e9);
    ck_assert_double_eq(before.node_link.bandwidth.points[1].value, 8e9); /* not that of copies */
    ck_assert_int_eq(now->node_link.measured_count, 0);
    ck_assert_int_eq(now->network_link.measured_count, 1);
    mw_arena_free(&read.arena);
}
END_TEST

START_TEST(figures_that_cannot_be_are_refused)
{
    static const struct {
        const char *path, *value, *message;
    } cases[] = {
        {"nodes", "0.25x", "v:1:1: error: 0.25 times nodes, which is 2, is no whole number"},
        {"nodes", "1000000", "more than 1048576 devices"},
        {"device.memory", "1e-12x", "is not between one byte and 2^53"},
        {"device.memory", "3 GB/s", "v:1:3: error: 'GB/s' is no unit of bytes"},
        {"device.memory", "3", "a unit of bytes must follow"},
        {"network.device_bandwidth", "2x", "does not say 'network.device_bandwidth'"},
        {"network.latency", "2 us 3", "v:1:6: error: expected the end of the value"},
        {"network.latency", "-1x", "must be greater than zero"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        Read read = read_text(two_nodes);
        const char *text = set_figure(&read, cases[i].path, cases[i].value);
        ck_assert_msg(strstr(text, cases[i].message), "%s: %s", cases[i].message, text);
        mw_arena_free(&read.arena);
    }
    static const char *const none[] = {"backend", "device.bandwith", "device", "links.nodes", ""};
    MwArena *arena = mw_arena_new();
    for (int i = 0; i < MW_COUNT(none); i++)
        ck_assert_ptr_null(mw_cluster_figure(arena, none[i]));
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *tcase = tcase_create("cluster");
    tcase_add_test(tcase, a_file_gives_its_figures);
    tcase_add_test(tcase, mistakes_are_named_with_their_place);
    tcase_add_test(tcase, mistakes_in_sections_are_named);
    tcase_add_test(tcase, reading_goes_on_after_a_mistake);
    tcase_add_test(tcase, files_of_the_repository_read);
    tcase_add_test(tcase, clusters_of_h100_and_h200_have_curves_of_attention);
    tcase_add_test(tcase, the_example_of_the_documentation_reads);
    tcase_add_test(tcase, a_file_like_another_changes_some_figures);
    tcase_add_test(tcase, local_ranks_share_the_machine);
    tcase_add_test(tcase, quantities_print_in_their_largest_unit);
    tcase_add_test(tcase, figures_are_set_by_their_paths);
    tcase_add_test(tcase, figures_that_cannot_be_are_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
