/* SPDX-License-Identifier: MIT */
#include "runtime/exec/trace.h"

#include "base/new_file.h"
#include "base/text.h"
#include "runtime/plan/live.h"
#include "runtime/plan/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_OPERATORS = 6, CHUNK_BYTES = 1 << 16 };

/* What is the same of an instruction in every step. */
typedef struct {
    const char *title, *args; /* JSON: a string; members of args, after a comma */
    int64_t bytes;            /* that it communicates */
} Known;

struct MwTrace {
    FILE *file;
    const char *path, *own_path;
    const MwPlan *plan;
    const MwPlanMesh *mesh;
    Known **known; /* [programs][instrs] */
    MwPlanLive live;
    int rank;
    bool has_events;
    int64_t step, begin_ns, task_ns, step_ns;
    int64_t live_bytes, sent_bytes; /* as the counters show them; sent_bytes of the step */
};

/* ---- What is known before the run ---- */

static void add_json(MwText *text, const char *string)
{
    mw_text_add(text, "\"");
    for (const char *c = string; *c; c++) {
        if ((unsigned char)*c < ' ')
            mw_text_printf(text, "\\u%04x", (unsigned char)*c);
        else
            mw_text_printf(text, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    }
    mw_text_add(text, "\"");
}

static void add_member(MwText *text, const char *key, const char *string)
{
    if (!*string)
        return;
    mw_text_printf(text, ", \"%s\": ", key);
    add_json(text, string);
}

/* The bytes that an instruction communicates: of a collective those of its larger side, of a
 * transfer those of the tensor's part on the device. */
static int64_t communicated_bytes(const MwPlanMesh *mesh, const MwPlanInstr *instr)
{
    if (instr->kind == MW_INSTR_KERNEL || instr->kind == MW_INSTR_ROUTINE)
        return 0;
    if (instr->kind != MW_INSTR_COLLECTIVE)
        return mw_tensor_bytes(&mesh->buffers[instr->operands[0].buffer].tensor);
    const int64_t members = instr->target == MW_ALL_GATHER ? mesh->shape.size[instr->axis] : 1;
    return instr->count * members * mw_type_bytes(instr->type);
}

static Known know_instr(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                        const MwPlanInstr *instr)
{
    const MwPlanOperator *op = mw_plan_instr_operator(mesh, instr);
    MwText title = {.arena = arena}, args = {.arena = arena};
    char label[200];
    add_json(&title, mw_plan_instr_title(arena, plan, mesh, instr));
    mw_plan_instr_label(plan, instr, label, sizeof label);
    add_member(&args, "runs", label);
    add_member(&args, "kind", mw_plan_instr_kind(arena, instr));
    add_member(&args, "operators", mw_plan_instr_operators(arena, mesh, instr, MOST_OPERATORS));
    add_member(&args, "layer", mw_plan_instr_layer(arena, mesh, instr));
    add_member(&args, "source", op ? op->source : "");
    const bool is_message = instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE;
    mw_text_printf(&args, ", \"predicted_us\": %.3f",
                   1e6 * (is_message ? plan->transfers[instr->target].time_s : instr->time_s));
    return (Known){title.at, args.at, communicated_bytes(mesh, instr)};
}

static Known **know_all(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh)
{
    Known **known = MW_NEW(arena, Known *, mesh->program_count);
    for (int p = 0; p < mesh->program_count; p++) {
        known[p] = MW_NEW(arena, Known, mesh->programs[p].instr_count);
        for (int i = 0; i < mesh->programs[p].instr_count; i++)
            known[p][i] = know_instr(arena, plan, mesh, &mesh->programs[p].instrs[i]);
    }
    return known;
}

/* ---- Events ---- */

/* Nanoseconds since 1970, as an integer: a double could not tell two times apart that differ by 200
 * ns. */
static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void put_place(MwTrace *trace, int64_t at_ns)
{
    fprintf(trace->file, "\"pid\": %d, \"tid\": 0, \"ts\": %lld.%03d", trace->rank,
            (long long)(at_ns / 1000), (int)(at_ns % 1000));
}

/* Begins the line of an event, in which its name follows. */
static void begin_event(MwTrace *trace)
{
    fputs(trace->has_events ? ",\n{\"name\": " : "{\"name\": ", trace->file);
    trace->has_events = true;
}

/* The part of an event of some duration after its name, up to its args. */
static void put_duration(MwTrace *trace, const char *category, int64_t begin_ns)
{
    const int64_t duration_ns = now_ns() - begin_ns;
    fprintf(trace->file, ", \"cat\": \"%s\", \"ph\": \"X\", ", category);
    put_place(trace, begin_ns);
    fprintf(trace->file, ", \"dur\": %lld.%03d, \"args\": {\"step\": %lld",
            (long long)(duration_ns / 1000), (int)(duration_ns % 1000), (long long)trace->step);
}

static void put_micro_batch(MwTrace *trace, const MwPlanTask *task)
{
    if (task->micro_batch >= 0)
        fprintf(trace->file, ", \"micro_batch\": %d", task->micro_batch);
}

static void put_counter(MwTrace *trace, const char *name, int64_t bytes)
{
    begin_event(trace);
    fprintf(trace->file, "\"%s\", \"ph\": \"C\", ", name);
    put_place(trace, now_ns());
    fprintf(trace->file, ", \"args\": {\"bytes\": %lld}}", (long long)bytes);
}

static void put_metadata(MwTrace *trace, const char *name, const char *key, const char *value)
{
    begin_event(trace);
    fprintf(trace->file, "\"%s\", \"ph\": \"M\", \"pid\": %d, \"tid\": 0, \"args\": {\"%s\": %s}}",
            name, trace->rank, key, value);
}

static void name_rows(MwArena *arena, MwTrace *trace)
{
    MwText name = {.arena = arena};
    const int mesh = (int)(trace->mesh - trace->plan->meshes);
    add_json(&name, mw_arena_printf(arena, "rank %d, mesh %d of %s", trace->rank, mesh,
                                    trace->plan->model));
    put_metadata(trace, "process_name", "name", name.at);
    put_metadata(trace, "process_sort_index", "sort_index",
                 mw_arena_printf(arena, "%d", trace->rank));
    put_metadata(trace, "thread_name", "name", "\"steps, tasks, instructions\"");
}

void mw_trace_begin_step(MwTrace *trace, int64_t step)
{
    if (!trace)
        return;
    trace->step = step;
    trace->step_ns = now_ns();
    trace->sent_bytes = 0;
    put_counter(trace, "communicated in the step", 0);
}

void mw_trace_end_step(MwTrace *trace)
{
    if (!trace)
        return;
    begin_event(trace);
    fprintf(trace->file, "\"step %lld\"", (long long)trace->step);
    put_duration(trace, "step", trace->step_ns);
    fprintf(trace->file, ", \"predicted_us\": %.3f}}", 1e6 * trace->plan->step_s);
}

void mw_trace_begin_task(MwTrace *trace)
{
    if (trace)
        trace->task_ns = now_ns();
}

void mw_trace_end_task(MwTrace *trace, const MwPlanTask *task)
{
    if (!trace)
        return;
    begin_event(trace);
    fprintf(trace->file, "\"%s", trace->mesh->programs[task->program].name);
    fprintf(trace->file, task->micro_batch >= 0 ? " %d\"" : "\"", task->micro_batch);
    put_duration(trace, "task", trace->task_ns);
    put_micro_batch(trace, task);
    fputs("}}", trace->file);
}

void mw_trace_begin(MwTrace *trace)
{
    if (trace)
        trace->begin_ns = now_ns();
}

/* The members that all events of instructions have, and the end of the event. */
static void end_event(MwTrace *trace, const MwPlanTask *task, int instr, const char *args)
{
    put_micro_batch(trace, task);
    fprintf(trace->file, ", \"instruction\": %d%s}}", instr, args);
}

static void count_bytes(MwTrace *trace, const MwPlanTask *task, int instr)
{
    const int64_t live = trace->live.bytes[trace->live.first[task - trace->mesh->tasks] + instr];
    const int64_t sent = trace->known[task->program][instr].bytes;
    if (live != trace->live_bytes)
        put_counter(trace, "live memory of the arena", live);
    trace->live_bytes = live;
    trace->sent_bytes += sent;
    if (sent)
        put_counter(trace, "communicated in the step", trace->sent_bytes);
}

void mw_trace_end_instr(MwTrace *trace, const MwPlanTask *task, int instr)
{
    if (!trace)
        return;
    const Known *known = &trace->known[task->program][instr];
    begin_event(trace);
    fputs(known->title, trace->file);
    put_duration(trace, trace->mesh->programs[task->program].name, trace->begin_ns);
    end_event(trace, task, instr, known->args);
    count_bytes(trace, task, instr);
}

void mw_trace_end_traffic(MwTrace *trace, const MwPlanTask *task, const MwTrafficOp *op,
                          int transfer)
{
    if (!trace)
        return;
    const char *name = trace->plan->transfers[transfer].name;
    begin_event(trace);
    switch (op->kind) {
    case MW_TRAFFIC_SEND:
    case MW_TRAFFIC_RECEIVE: {
        const Known *known = &trace->known[task->program][op->instr];
        fputs(known->title, trace->file);
        put_duration(trace, trace->mesh->programs[task->program].name, trace->begin_ns);
        end_event(trace, task, op->instr, known->args);
        count_bytes(trace, task, op->instr);
        return;
    }
    case MW_TRAFFIC_WAIT:
    case MW_TRAFFIC_WAIT_ALL:
        fprintf(trace->file, "\"wait for %s%s\"", op->kind == MW_TRAFFIC_WAIT_ALL ? "all " : "",
                name);
        put_duration(trace, trace->mesh->programs[task->program].name, trace->begin_ns);
        end_event(trace, task, op->instr, ", \"kind\": \"wait\", \"predicted_us\": 0");
        return;
    case MW_TRAFFIC_KINDS:
        break;
    }
    MW_UNREACHABLE();
}

void mw_trace_end_inputs(MwTrace *trace, const MwPlanTask *task)
{
    if (!trace)
        return;
    begin_event(trace);
    fputs("\"fill inputs\"", trace->file);
    put_duration(trace, trace->mesh->programs[task->program].name, trace->begin_ns);
    end_event(trace, task, -1, ", \"kind\": \"input\", \"predicted_us\": 0");
}

/* ---- Files ---- */

/* The file of a rank begins with this line; its last may be cut off, and so it has no end. */
static const char opening[] = "[\n";

MwTrace *mw_trace_open(MwArena *arena, const char *path, const MwPlan *plan, int rank,
                       MwFault *fault)
{
    MwTrace *trace = MW_NEW(arena, MwTrace, 1);
    const MwPlanMesh *mesh = mw_plan_mesh_of_rank(plan, rank);
    *trace = (MwTrace){.path = path,
                       .own_path = mw_arena_printf(arena, "%s.rank%d", path, rank),
                       .plan = plan,
                       .mesh = mesh,
                       .known = know_all(arena, plan, mesh),
                       .live = mw_plan_live(arena, mesh),
                       .rank = rank,
                       .live_bytes = -1};
    trace->file = fopen(trace->own_path, "w+e");
    if (!trace->file) {
        mw_fault_set(fault, "cannot write %s: %s", trace->own_path, strerror(errno));
        return NULL;
    }
    fputs(opening, trace->file);
    name_rows(arena, trace);
    return trace;
}

void mw_trace_close(MwTrace **trace, bool keeps)
{
    if (!*trace)
        return;
    fclose((*trace)->file);
    if (!keeps)
        unlink((*trace)->own_path);
    *trace = NULL;
}

/* ---- One file of all ranks ---- */

typedef struct {
    MwNewFile file;
    bool is_open;
    int error; /* of the first call that failed; 0: none */
} Joined;

static void write_joined(Joined *joined, const void *data, size_t bytes)
{
    if (!joined->error && !mw_file_write_bytes(joined->file.fd, data, bytes))
        joined->error = errno;
}

/* Completes the file of this rank and sets *bytes to the size of its events. */
static bool size_events(MwTrace *trace, int64_t *bytes, MwFault *fault)
{
    const bool good = !ferror(trace->file) && fflush(trace->file) == 0;
    *bytes = good ? (int64_t)ftell(trace->file) - (int64_t)strlen(opening) : -1;
    return (good && *bytes >= 0 && fseek(trace->file, (long)strlen(opening), SEEK_SET) == 0) ||
           mw_fault_set(fault, "cannot write %s: %s", trace->own_path, strerror(errno));
}

/* Gives all events to rank 0, a size and then chunks; a negative size stands for none. */
static bool send_events(MwTrace *trace, MwTransport *transport, MwFault *fault)
{
    char chunk[CHUNK_BYTES];
    int64_t bytes;
    MwFault own = {0};
    bool good = size_events(trace, &bytes, &own);
    if (!transport->table->send(transport, 0, &bytes, sizeof bytes, fault))
        return false;
    for (int64_t at = 0; at < bytes; at += CHUNK_BYTES) {
        const size_t part = (size_t)mw_min(bytes - at, CHUNK_BYTES);
        if (fread(chunk, 1, part, trace->file) != part && good)
            good = mw_fault_set(&own, "cannot read %s: %s", trace->own_path, strerror(errno));
        if (!transport->table->send(transport, 0, chunk, (int64_t)part, fault))
            return false;
    }
    if (!good)
        *fault = own;
    return good;
}

static bool receive_events(MwTransport *transport, int peer, Joined *joined, MwFault *fault)
{
    char chunk[CHUNK_BYTES];
    int64_t bytes;
    if (!transport->table->receive(transport, peer, &bytes, sizeof bytes, fault))
        return false;
    write_joined(joined, ",\n", 2);
    for (int64_t at = 0; at < bytes; at += CHUNK_BYTES) {
        const int64_t part = mw_min(bytes - at, CHUNK_BYTES);
        if (!transport->table->receive(transport, peer, chunk, part, fault))
            return false;
        write_joined(joined, chunk, (size_t)part);
    }
    return true;
}

static bool copy_own_events(MwTrace *trace, Joined *joined, MwFault *fault)
{
    char chunk[CHUNK_BYTES];
    int64_t bytes;
    size_t part;
    if (!size_events(trace, &bytes, fault))
        return false;
    while ((part = fread(chunk, 1, sizeof chunk, trace->file)) > 0)
        write_joined(joined, chunk, part);
    return !ferror(trace->file) ||
           mw_fault_set(fault, "cannot read %s: %s", trace->own_path, strerror(errno));
}

/* Receives what all ranks send even where it cannot be written: they wait for that. */
static bool join_events(MwTrace *trace, MwTransport *transport, Joined *joined, MwFault *fault)
{
    static const char head[] = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
    write_joined(joined, head, strlen(head));
    bool good = copy_own_events(trace, joined, fault);
    for (int peer = 1; peer < transport->size; peer++)
        if (!receive_events(transport, peer, joined, fault))
            return false;
    write_joined(joined, "\n]}\n", 4);
    return good;
}

bool mw_trace_join(MwTrace *trace, MwTransport *transport, MwFault *fault)
{
    if (transport->rank != 0)
        return send_events(trace, transport, fault);
    Joined joined = {0};
    joined.is_open = mw_new_file_open(&joined.file, trace->path);
    joined.error = joined.is_open ? 0 : errno;
    const bool good = join_events(trace, transport, &joined, fault);
    if (joined.is_open && (!good || joined.error))
        mw_new_file_drop(&joined.file);
    else if (joined.is_open && !mw_new_file_keep(&joined.file, 0644))
        joined.error = errno;
    return good && (!joined.error || mw_fault_set(fault, "cannot write %s: %s", trace->path,
                                                  strerror(joined.error)));
}
