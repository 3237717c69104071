/* SPDX-License-Identifier: MIT */
#include "runtime/exec/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct MwTrace {
    FILE *file;
    int rank;
    int64_t begin_ns;
    bool has_events;
};

/* Nanoseconds since 1970, as an integer: a double could not tell two times apart that differ by 200
 * ns. */
static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); /* one clock for the ranks of a machine */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

MwTrace *mw_trace_open(const char *path, int rank, MwFault *fault)
{
    char name[4096];
    snprintf(name, sizeof name, rank ? "%s.%d" : "%s", path, rank);
    FILE *file = fopen(name, "w");
    MwTrace *trace = file ? calloc(1, sizeof *trace) : NULL;
    if (!trace) {
        mw_fault_set(fault, "cannot write %s: %s", name, strerror(errno));
        if (file)
            fclose(file);
        return NULL;
    }
    *trace = (MwTrace){.file = file, .rank = rank};
    fputs("{\"traceEvents\": [", file);
    return trace;
}

void mw_trace_begin(MwTrace *trace)
{
    if (trace)
        trace->begin_ns = now_ns();
}

/* Writes a JSON string. */
static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < ' ')
            fprintf(file, "\\u%04x", (unsigned char)*c);
        else
            fprintf(file, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    }
    fputc('"', file);
}

void mw_trace_end(MwTrace *trace, const char *name, const char *program, int index, int micro_batch)
{
    if (!trace)
        return;
    const int64_t duration_ns = now_ns() - trace->begin_ns;
    fprintf(trace->file, "%s\n{\"name\": ", trace->has_events ? "," : "");
    put_string(trace->file, name);
    fprintf(trace->file, ", \"cat\": ");
    put_string(trace->file, program);
    fprintf(trace->file,
            ", \"ph\": \"X\", \"pid\": %d, \"tid\": 0, \"ts\": %lld.%03d, \"dur\": %.3f, "
            "\"args\": {\"instruction\": %d, \"micro_batch\": %d}}",
            trace->rank, (long long)(trace->begin_ns / 1000), (int)(trace->begin_ns % 1000),
            (double)duration_ns * 1e-3, index, micro_batch);
    trace->has_events = true;
}

bool mw_trace_close(MwTrace **trace, MwFault *fault)
{
    if (!*trace)
        return true;
    fputs("\n]}\n", (*trace)->file);
    bool good = !ferror((*trace)->file);
    good = fclose((*trace)->file) == 0 && good;
    free(*trace);
    *trace = NULL;
    return good || mw_fault_set(fault, "cannot write the trace: %s", strerror(errno));
}
