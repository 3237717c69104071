/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/trace/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

enum { CHUNK_BYTES = 1 << 16, NAME_BYTES = 256, KEY_BYTES = 16 };
/* Steps that the times are kept of, and how deep the JSON may be. */
enum { MOST_STEPS = 1 << 20, MOST_DEPTH = 16 };

/* What an event says, as far as it matters. */
typedef struct {
    char phase[KEY_BYTES], category[NAME_BYTES], runs[NAME_BYTES], kind[NAME_BYTES];
    double pid, ts, dur, step, micro_batch, instruction;
} Event;

/* One end of a transfer. */
typedef struct {
    int transfer, rank, micro_batch;
    int64_t step;
    double begin_us, duration_us;
} Message;

typedef MW_VEC(Message) Messages;

typedef struct {
    MwArena *arena;
    const MwPlan *plan;
    MwTraceRun *run;
    bool *has_rank;
    int64_t last_step;
    MwTraceTimes ended; /* by step: the number of ranks that ended it */
    Messages sends, receives;
    char wrong[300]; /* what is wrong with the trace; "": nothing */
    /* The place in the JSON: maps that are open, in which events are so deep. */
    int depth, maps, event_maps;
    char key[KEY_BYTES];
    Event event;
} Reader;

/* ---- Events as times ---- */

static void add_time(Reader *reader, MwTraceTimes *times, int64_t step, double time_s)
{
    const int64_t index = step - reader->run->first_step;
    while (times->step_s.count <= index)
        mw_vec_push(reader->arena, &times->step_s, 0);
    times->step_s.at[index] += time_s;
}

static bool is_wrong(Reader *reader, const char *what)
{
    snprintf(reader->wrong, sizeof reader->wrong, "it is no trace of this plan: %s", what);
    return false;
}

static bool is_rank(const MwPlan *plan, double number)
{
    return number >= 0 && number < plan->rank_count && number == (int)number;
}

static int mesh_of(const MwPlan *plan, int rank)
{
    return (int)(mw_plan_mesh_of_rank(plan, rank) - plan->meshes);
}

static int program_of(const MwPlanMesh *mesh, const char *name)
{
    for (int p = 0; p < mesh->program_count; p++)
        if (strcmp(mesh->programs[p].name, name) == 0)
            return p;
    return -1;
}

static void note_message(Reader *reader, const MwPlanInstr *instr)
{
    const Event *event = &reader->event;
    const Message message = {.transfer = instr->target,
                             .rank = (int)event->pid,
                             .micro_batch = (int)event->micro_batch,
                             .step = (int64_t)event->step,
                             .begin_us = event->ts,
                             .duration_us = event->dur};
    mw_vec_push(reader->arena, instr->kind == MW_INSTR_SEND ? &reader->sends : &reader->receives,
                message);
}

static bool take_instr(Reader *reader, int mesh_index, int64_t step)
{
    const Event *event = &reader->event;
    const MwPlanMesh *mesh = &reader->plan->meshes[mesh_index];
    const int program = program_of(mesh, event->category);
    char label[NAME_BYTES];
    if (program < 0 || event->instruction < 0 ||
        event->instruction >= mesh->programs[program].instr_count)
        return is_wrong(reader, "it has instructions that the plan does not have");
    const MwPlanInstr *instr = &mesh->programs[program].instrs[(int)event->instruction];
    mw_plan_instr_label(reader->plan, instr, label, sizeof label);
    if (strcmp(label, event->runs) != 0)
        return is_wrong(reader, "its instructions run other kernels");
    if (!(event->micro_batch >= -1 && event->micro_batch < reader->plan->micro_batches))
        return is_wrong(reader, "it has micro-batches that the plan does not have");
    if (instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE)
        note_message(reader, instr);
    add_time(reader, &reader->run->meshes[mesh_index].instrs[program][(int)event->instruction],
             step, event->dur * 1e-6);
    return true;
}

/* Notes the step; false where there are too many. */
static bool note_step(Reader *reader, double step)
{
    MwTraceRun *run = reader->run;
    if (!(step >= 1 && step <= 1e15))
        return is_wrong(reader, "an event has no step");
    if (run->steps == 0)
        run->first_step = reader->last_step = (int64_t)step;
    if ((int64_t)step < run->first_step)
        return is_wrong(reader, "its steps do not ascend");
    reader->last_step = mw_max(reader->last_step, (int64_t)step);
    if (reader->last_step - run->first_step >= MOST_STEPS)
        return is_wrong(reader, "it has too many steps");
    run->steps = (int)(reader->last_step - run->first_step + 1);
    return true;
}

/* Takes an event that is complete; false where the trace is wrong. Others than those of intervals
 * do not matter, and neither do those of other programs. */
static bool take_event(Reader *reader)
{
    const Event *event = &reader->event;
    if (strcmp(event->phase, "X") != 0 || strcmp(event->category, "task") == 0)
        return true;
    if (!is_rank(reader->plan, event->pid))
        return is_wrong(reader, "it has a rank that the plan does not have");
    if (!(event->dur >= 0 && event->dur < 1e15 && event->ts >= 0))
        return is_wrong(reader, "an event has no duration");
    if (!note_step(reader, event->step))
        return false;
    reader->has_rank[(int)event->pid] = true;
    const int mesh = mesh_of(reader->plan, (int)event->pid);
    MwTraceMesh *of = &reader->run->meshes[mesh];
    const int64_t step = (int64_t)event->step;
    if (strcmp(event->category, "step") == 0) {
        add_time(reader, &of->rest[MW_TRACE_STEPS], step, event->dur * 1e-6);
        add_time(reader, &reader->ended, step, 1);
    } else if (strcmp(event->kind, "wait") == 0)
        add_time(reader, &of->rest[MW_TRACE_WAITS], step, event->dur * 1e-6);
    else if (strcmp(event->kind, "input") == 0)
        add_time(reader, &of->rest[MW_TRACE_INPUTS], step, event->dur * 1e-6);
    else
        return take_instr(reader, mesh, step);
    return true;
}

/* ---- Late senders ---- */

static int compare_messages(const void *left, const void *right)
{
    const Message *a = left, *b = right;
    if (a->transfer != b->transfer)
        return a->transfer - b->transfer;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return a->micro_batch - b->micro_batch;
}

/* The time at which the last rank began to send what `receive` receives; 0: it is not known. */
static double sent_us(const Messages *sends, const Message *receive)
{
    int low = 0, high = sends->count;
    double last_us = 0;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (compare_messages(&sends->at[middle], receive) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < sends->count && compare_messages(&sends->at[low], receive) == 0; low++)
        if (sends->at[low].begin_us > last_us)
            last_us = sends->at[low].begin_us;
    return last_us;
}

/* The receive of a transfer in the programs of its mesh. */
static MwTraceTimes *late_times(const Reader *reader, int transfer)
{
    const int mesh_index = reader->plan->transfers[transfer].to_mesh;
    const MwPlanMesh *mesh = &reader->plan->meshes[mesh_index];
    for (int p = 0; p < mesh->program_count; p++)
        for (int i = 0; i < mesh->programs[p].instr_count; i++)
            if (mesh->programs[p].instrs[i].kind == MW_INSTR_RECEIVE &&
                mesh->programs[p].instrs[i].target == transfer)
                return &reader->run->meshes[mesh_index].late[p][i];
    MW_UNREACHABLE();
}

static void find_late(Reader *reader)
{
    if (reader->sends.count)
        qsort(reader->sends.at, (size_t)reader->sends.count, sizeof *reader->sends.at,
              compare_messages);
    for (int i = 0; i < reader->receives.count; i++) {
        const Message *receive = &reader->receives.at[i];
        const double late_us = sent_us(&reader->sends, receive) - receive->begin_us;
        if (late_us > 0)
            add_time(reader, late_times(reader, receive->transfer), receive->step,
                     1e-6 * (late_us < receive->duration_us ? late_us : receive->duration_us));
    }
}

/* ---- JSON ---- */

static bool is_in_event(const Reader *reader)
{
    return reader->event_maps && reader->maps >= reader->event_maps &&
           reader->maps <= reader->event_maps + 1;
}

static int on_start_map(void *context)
{
    Reader *reader = context;
    reader->maps++;
    if (reader->event_maps && reader->maps == reader->event_maps)
        reader->event = (Event){.micro_batch = -1, .instruction = -1, .pid = -1, .dur = -1};
    return ++reader->depth <= MOST_DEPTH || is_wrong(reader, "its JSON is too deep");
}

static int on_end_map(void *context)
{
    Reader *reader = context;
    reader->depth--;
    return reader->maps-- != reader->event_maps || take_event(reader);
}

/* The events are in the array that is the whole, or in the first array of the map that is. */
static int on_start_array(void *context)
{
    Reader *reader = context;
    if (!reader->event_maps && reader->maps <= 1)
        reader->event_maps = reader->maps + 1;
    return ++reader->depth <= MOST_DEPTH || is_wrong(reader, "its JSON is too deep");
}

static int on_end_array(void *context)
{
    ((Reader *)context)->depth--;
    return 1;
}

static void copy_text(char *to, size_t room, const unsigned char *text, size_t bytes)
{
    snprintf(to, room, "%.*s", (int)mw_min((int64_t)bytes, (int64_t)room), (const char *)text);
}

static int on_key(void *context, const unsigned char *key, size_t bytes)
{
    Reader *reader = context;
    copy_text(reader->key, sizeof reader->key, key, bytes);
    return 1;
}

static int on_string(void *context, const unsigned char *text, size_t bytes)
{
    Reader *reader = context;
    const struct {
        const char *key;
        char *to;
        size_t room;
    } members[] = {{"ph", reader->event.phase, sizeof reader->event.phase},
                   {"cat", reader->event.category, sizeof reader->event.category},
                   {"runs", reader->event.runs, sizeof reader->event.runs},
                   {"kind", reader->event.kind, sizeof reader->event.kind}};
    for (int i = 0; i < MW_COUNT(members) && is_in_event(reader); i++)
        if (strcmp(reader->key, members[i].key) == 0)
            copy_text(members[i].to, members[i].room, text, bytes);
    return 1;
}

static int on_number(void *context, const char *text, size_t bytes)
{
    Reader *reader = context;
    const struct {
        const char *key;
        double *to;
    } members[] = {{"pid", &reader->event.pid},
                   {"ts", &reader->event.ts},
                   {"dur", &reader->event.dur},
                   {"step", &reader->event.step},
                   {"micro_batch", &reader->event.micro_batch},
                   {"instruction", &reader->event.instruction}};
    char digits[64];
    copy_text(digits, sizeof digits, (const unsigned char *)text, bytes);
    for (int i = 0; i < MW_COUNT(members) && is_in_event(reader); i++)
        if (strcmp(reader->key, members[i].key) == 0)
            *members[i].to = strtod(digits, NULL);
    return 1;
}

static const yajl_callbacks callbacks = {.yajl_number = on_number,
                                         .yajl_string = on_string,
                                         .yajl_start_map = on_start_map,
                                         .yajl_map_key = on_key,
                                         .yajl_end_map = on_end_map,
                                         .yajl_start_array = on_start_array,
                                         .yajl_end_array = on_end_array};

/* ---- Files ---- */

static void say_wrong(const Reader *reader, yajl_handle parser, const char *path, MwDiags *diags)
{
    if (*reader->wrong) {
        mw_diag_error(diags, mw_span_none(), "%s: %s", path, reader->wrong);
        return;
    }
    unsigned char *text = yajl_get_error(parser, 0, NULL, 0);
    mw_diag_error(diags, mw_span_none(), "%s: %.*s", path, (int)strcspn((char *)text, "\n"), text);
    yajl_free_error(parser, text);
}

/* The end of a file may be missing: such is that of a rank of a run that goes on or was killed. */
static bool read_file(Reader *reader, const char *path, MwDiags *diags)
{
    unsigned char chunk[CHUNK_BYTES];
    size_t bytes;
    FILE *file = fopen(path, "re");
    yajl_handle parser = yajl_alloc(&callbacks, NULL, reader);
    yajl_status status = yajl_status_ok;
    MW_ASSERT(parser != NULL);
    reader->depth = reader->maps = reader->event_maps = 0;
    while (file && status == yajl_status_ok && (bytes = fread(chunk, 1, sizeof chunk, file)) > 0)
        status = yajl_parse(parser, chunk, bytes);
    if (!file || ferror(file))
        mw_diag_error(diags, mw_span_none(), "cannot read %s: %s", path, strerror(errno));
    else if (status != yajl_status_ok)
        say_wrong(reader, parser, path, diags);
    else if (!reader->event_maps)
        mw_diag_error(diags, mw_span_none(), "%s: it has no events", path);
    yajl_free(parser);
    if (file)
        fclose(file);
    return mw_diags_error_count(diags) == 0;
}

static MwTraceTimes **new_times(MwArena *arena, const MwPlanMesh *mesh)
{
    MwTraceTimes **times = MW_NEW(arena, MwTraceTimes *, mesh->program_count);
    for (int p = 0; p < mesh->program_count; p++)
        times[p] = MW_NEW(arena, MwTraceTimes, mesh->programs[p].instr_count);
    return times;
}

/* Counts the ranks, and finds the steps that all of them have ended. */
static void count_ranks(Reader *reader)
{
    MwTraceRun *run = reader->run;
    for (int r = 0; r < reader->plan->rank_count; r++) {
        run->ranks += reader->has_rank[r];
        run->meshes[mesh_of(reader->plan, r)].ranks += reader->has_rank[r];
    }
    run->whole = MW_NEW(reader->arena, bool, run->steps);
    for (int s = 0; s < run->steps && s < reader->ended.step_s.count; s++)
        run->whole[s] = (int)reader->ended.step_s.at[s] == run->ranks;
}

MwTraceRun *mw_trace_read(MwArena *arena, const MwPlan *plan, const char *const *paths, int count,
                          MwDiags *diags)
{
    MwTraceRun *run = MW_NEW(arena, MwTraceRun, 1);
    Reader reader = {.arena = arena,
                     .plan = plan,
                     .run = run,
                     .has_rank = MW_NEW(arena, bool, plan->rank_count)};
    run->meshes = MW_NEW(arena, MwTraceMesh, plan->mesh_count);
    for (int m = 0; m < plan->mesh_count; m++)
        run->meshes[m] = (MwTraceMesh){.instrs = new_times(arena, &plan->meshes[m]),
                                       .late = new_times(arena, &plan->meshes[m])};
    for (int i = 0; i < count; i++)
        if (!read_file(&reader, paths[i], diags))
            return NULL;
    if (!run->steps) {
        mw_diag_error(diags, mw_span_none(), "%s: it has no step", paths[0]);
        return NULL;
    }
    find_late(&reader);
    count_ranks(&reader);
    return run;
}

int *mw_trace_steps(MwArena *arena, const MwTraceRun *run, int *count)
{
    int *steps = MW_NEW(arena, int, run->steps);
    *count = 0;
    for (int s = 0; s < run->steps; s++)
        if (run->whole[s])
            steps[(*count)++] = s;
    if (*count > 1 && steps[0] == 0) {
        steps++;
        (*count)--;
    }
    return steps;
}
