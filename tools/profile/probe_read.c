/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the times of probes from the trace of a run, which has an event a line
 * (runtime/exec/trace.h). */
#include "tools/profile/probe.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* When an instruction ran, in seconds since some moment. */
typedef struct {
    double begin, end;
} Run;

/* Those of one instruction, of every step. */
typedef struct {
    Run *at;
    int count, capacity;
} Runs;

/* Long, since moments in microseconds have more digits than a double. */
static bool number_after(const char *line, const char *end, const char *key, long double *value)
{
    const char *found = memmem(line, (size_t)(end - line), key, strlen(key));
    if (!found)
        return false;
    char *stop;
    found += strlen(key);
    *value = strtold(found, &stop);
    return stop != found;
}

/* Adds the events of a rank to the runs of its instructions. */
static void read_events(MwArena *arena, const char *text, int rank, Runs *runs, int instrs)
{
    long double origin_us = -1;
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n');
        long double begin_us, duration_us, index, of_rank;
        if (number_after(line, end, "\"pid\": ", &of_rank) && (int)of_rank == rank &&
            number_after(line, end, "\"ts\": ", &begin_us) &&
            number_after(line, end, "\"dur\": ", &duration_us) &&
            number_after(line, end, "\"instruction\": ", &index) && index >= 0 && index < instrs) {
            Runs *of = &runs[(int)index];
            origin_us = origin_us < 0 ? begin_us : origin_us;
            const double begin_s = (double)(begin_us - origin_us) * 1e-6;
            *mw_vec_add(arena, of) = (Run){begin_s, begin_s + (double)duration_us * 1e-6};
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

/* The seconds of an instruction in a step, until the next one begins: what the executor does
 * between the two belongs to it. */
static double run_s(const Runs *runs, int instr, int instrs, int step)
{
    const Run *run = &runs[instr].at[step];
    return (instr + 1 < instrs ? runs[instr + 1].at[step].begin : run->end) - run->begin;
}

static double mean(const double *times, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += times[i];
    return sum / count;
}

/* The time of a probe over all steps but the first. A typical one is the lower quartile of the
 * medians of its instructions in a step: steps in which other programs ran thus count little. */
static double probe_s(MwArena *arena, const MwProbe *probe, MwProbeTime which, const Runs *runs,
                      int instrs)
{
    const int steps = runs[probe->first].count;
    double *of_step = MW_NEW(arena, double, steps), *in_step = MW_NEW(arena, double, probe->count);
    for (int step = 1; step < steps; step++) {
        for (int i = 0; i < probe->count; i++)
            in_step[i] = run_s(runs, probe->first + i, instrs, step);
        of_step[step - 1] = which == MW_PROBE_MEAN ? mean(in_step, probe->count)
                                                   : quantile(in_step, probe->count, 0.5);
    }
    return which == MW_PROBE_MEAN ? mean(of_step, steps - 1) : quantile(of_step, steps - 1, 0.25);
}

/* Whether all instructions ran equally often, and twice at least. */
static bool are_complete(const Runs *runs, int instrs)
{
    for (int i = 0; i < instrs; i++)
        if (runs[i].count < 2 || runs[i].count != runs[0].count)
            return false;
    return true;
}

static bool read_rank(MwProbes *probes, MwProbeTime which, const char *text, int rank)
{
    MwArena *arena = mw_arena_new();
    int instrs = probes->plan->meshes[0].programs[0].instr_count;
    Runs *runs = MW_NEW(arena, Runs, instrs);
    read_events(arena, text, rank, runs, instrs);
    const bool good = are_complete(runs, instrs);
    for (int i = 0; good && i < probes->count; i++)
        probes->probes[i].time_s +=
            probe_s(arena, &probes->probes[i], which, runs, instrs) / probes->plan->rank_count;
    mw_arena_free(&arena);
    return good;
}

bool mw_probe_read(MwProbes *probes, MwProbeTime which, const char *trace_path, MwDiags *diags)
{
    size_t bytes;
    MwArena *arena = mw_arena_new();
    const char *text = mw_file_read(arena, trace_path, &bytes);
    bool good = text != NULL;
    if (!good)
        mw_diag_error(diags, mw_span_none(), "cannot read the trace '%s': %s", trace_path,
                      strerror(errno));
    for (int rank = 0; rank < probes->plan->rank_count && good; rank++) {
        good = read_rank(probes, which, text, rank);
        if (!good)
            mw_diag_error(diags, mw_span_none(), "the trace '%s' lacks instructions of rank %d",
                          trace_path, rank);
    }
    mw_arena_free(&arena);
    return good;
}
