/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the times of probes from the trace of a run, which has an event a line
 * (runtime/exec/trace.h). */
#include "tools/profile/probe.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Times of one instruction, in seconds, of every step. */
typedef struct {
    double *at;
    int count, capacity;
} Times;

static bool number_after(const char *line, const char *end, const char *key, double *value)
{
    const char *found = memmem(line, (size_t)(end - line), key, strlen(key));
    if (!found)
        return false;
    char *stop;
    found += strlen(key);
    *value = strtod(found, &stop);
    return stop != found;
}

/* Adds the times of the events of a rank to those of its instructions. */
static void read_events(MwArena *arena, const char *text, int rank, Times *times, int instrs)
{
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n');
        double duration_us, index, of_rank;
        if (number_after(line, end, "\"pid\": ", &of_rank) && (int)of_rank == rank &&
            number_after(line, end, "\"dur\": ", &duration_us) &&
            number_after(line, end, "\"instruction\": ", &index) && index >= 0 && index < instrs) {
            Times *of = &times[(int)index];
            *mw_vec_add(arena, of) = duration_us * 1e-6;
        }
        line = *end ? end + 1 : end;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *times, int count, double q)
{
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[(int)(q * count)];
}

/* The typical time of a probe: the lower quartile, over all steps but the first, of the median of
 * its instructions in the step. Steps in which other programs ran thus count little. Negative if a
 * time is missing. */
static double typical_s(MwArena *arena, const MwProbe *probe, const Times *times)
{
    int steps = times[probe->first].count;
    double *of_step = MW_NEW(arena, double, steps), *in_step = MW_NEW(arena, double, probe->count);
    for (int step = 1; step < steps; step++) {
        for (int i = 0; i < probe->count; i++) {
            if (times[probe->first + i].count != steps)
                return -1;
            in_step[i] = times[probe->first + i].at[step];
        }
        of_step[step - 1] = quantile(in_step, probe->count, 0.5);
    }
    return steps < 2 ? -1 : quantile(of_step, steps - 1, 0.25);
}

static bool read_rank(MwProbes *probes, const char *text, int rank)
{
    MwArena *arena = mw_arena_new();
    int instrs = probes->plan->meshes[0].programs[0].instr_count;
    Times *times = MW_NEW(arena, Times, instrs);
    bool good = true;
    read_events(arena, text, rank, times, instrs);
    for (int i = 0; good && i < probes->count; i++) {
        double time_s = typical_s(arena, &probes->probes[i], times);
        good = time_s >= 0;
        probes->probes[i].time_s += time_s / probes->plan->rank_count;
    }
    mw_arena_free(&arena);
    return good;
}

bool mw_probe_read(MwProbes *probes, const char *trace_path, MwDiags *diags)
{
    size_t bytes;
    MwArena *arena = mw_arena_new();
    const char *text = mw_file_read(arena, trace_path, &bytes);
    bool good = text != NULL;
    if (!good)
        mw_diag_error(diags, mw_span_none(), "cannot read the trace '%s': %s", trace_path,
                      strerror(errno));
    for (int rank = 0; rank < probes->plan->rank_count && good; rank++) {
        good = read_rank(probes, text, rank);
        if (!good)
            mw_diag_error(diags, mw_span_none(), "the trace '%s' lacks instructions of rank %d",
                          trace_path, rank);
    }
    mw_arena_free(&arena);
    return good;
}
