/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the text of a cluster: a file, or for "local:N" the figures of clusters/local.cluster,
 * which is built in, turned into those of N ranks. */
#include "frontend/cluster/cluster.h"

#include "base/file.h"
#include "base/hash.h"
#include "frontend/cluster/local.h"
#include "frontend/cluster/read.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LOCAL_RANKS = 4096 };

static int64_t physical_memory_bytes(void)
{
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/* Each rank has a core, so it computes at the measured rates; but all ranks share one memory, so
 * the bandwidth beyond the caches that a rank gets shrinks with their number. What stands for the
 * memory of the host is a file, which has as much room as the memory. */
static void share_among(MwArena *arena, MwCluster *cluster, int ranks)
{
    MwCurve *bandwidth = &cluster->device.bandwidth;
    bandwidth->points = mw_arena_dup(arena, bandwidth->points,
                                     sizeof *bandwidth->points * (size_t)bandwidth->count);
    cluster->host.memory_bytes = physical_memory_bytes();
    cluster->host.update_bytes_per_s *=
        (double)mw_min(ranks, cluster->devices_per_node) / cluster->devices_per_node;
    if (ranks > cluster->devices_per_node)
        bandwidth->points[bandwidth->count - 1].value *= (double)cluster->devices_per_node / ranks;
    cluster->devices_per_node = ranks;
    cluster->device.memory_bytes = physical_memory_bytes() / ranks;
    cluster->source_hash =
        mw_hash_mix(cluster->source_hash, (uint64_t)cluster->device.memory_bytes);
}

static MwCluster *load_local(MwArena *arena, const char *name, MwDiags *diags)
{
    const char *count = strchr(name, ':') + 1;
    char *end;
    long ranks = strtol(count, &end, 10);
    if (!isdigit((unsigned char)*count) || *end || ranks < 1 || ranks > MAX_LOCAL_RANKS) {
        mw_diag_error(diags, mw_span_none(), "'%s': local:N takes a number of ranks from 1 to %d",
                      name, MAX_LOCAL_RANKS);
        return NULL;
    }
    MwSource *source = MW_NEW(arena, MwSource, 1);
    *source = (MwSource){"clusters/local.cluster", MW_CLUSTER_LOCAL_TEXT,
                         sizeof MW_CLUSTER_LOCAL_TEXT - 1};
    MwCluster *cluster = mw_cluster_read(arena, source, diags);
    if (!cluster)
        return NULL;
    cluster->name = mw_arena_strdup(arena, name);
    share_among(arena, cluster, (int)ranks);
    return cluster;
}

MwCluster *mw_cluster_load(MwArena *arena, const char *name_or_path, MwDiags *diags)
{
    if (strncmp(name_or_path, "local:", strlen("local:")) == 0)
        return load_local(arena, name_or_path, diags);
    MwSource *source = MW_NEW(arena, MwSource, 1);
    source->name = mw_arena_strdup(arena, name_or_path);
    source->text = mw_file_read(arena, name_or_path, &source->bytes);
    if (source->text)
        return mw_cluster_read(arena, source, diags);
    mw_diag_error(diags, mw_span_none(), "cannot read the cluster file '%s': %s", name_or_path,
                  strerror(errno));
    if (errno == ENOENT && !strchr(name_or_path, '/') && !strchr(name_or_path, '.'))
        mw_diag_note(
            diags, mw_span_none(),
            "a cluster is a file, one of `meshwright list clusters`, or local:N for N ranks "
            "here");
    return NULL;
}
