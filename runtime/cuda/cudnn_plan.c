/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/cudnn_plan.h"

/* Algorithms that are considered in each of cuDNN's two lists. It lists some 5 to 40. */
enum { MOST_CONFIGS = 64 };

int mw_cudnn_data_type(MwType type)
{
    static const int data_types[MW_TYPE_COUNT] = {
        [MW_F32] = CUDNN_DATA_FLOAT, [MW_BF16] = CUDNN_DATA_BFLOAT16, [MW_F16] = CUDNN_DATA_HALF};
    return data_types[type];
}

/* ---- Descriptors ---- */

static bool check(int status, const char *call, MwFault *fault)
{
    char text[256] = "";
    if (status == CUDNN_STATUS_SUCCESS)
        return true;
    mw_cudnn.cudnnGetLastErrorString(text, sizeof text);
    return mw_fault_set(fault, "%s failed: %s: %s", call, mw_cudnn.cudnnGetErrorString(status),
                        text);
}

#define CALL(name, ...) check(mw_cudnn.name(__VA_ARGS__), #name, fault)

static bool create(int type, cudnnBackendDescriptor_t *descriptor, MwFault *fault)
{
    *descriptor = NULL;
    return CALL(cudnnBackendCreateDescriptor, type, descriptor);
}

bool mw_cudnn_set(cudnnBackendDescriptor_t descriptor, int name, int type, int64_t count,
                  const void *elements, MwFault *fault)
{
    return CALL(cudnnBackendSetAttribute, descriptor, name, type, count, elements);
}

bool mw_cudnn_set_int(cudnnBackendDescriptor_t descriptor, int name, int64_t value, MwFault *fault)
{
    return mw_cudnn_set(descriptor, name, CUDNN_TYPE_INT64, 1, &value, fault);
}

bool mw_cudnn_set_descriptor(cudnnBackendDescriptor_t descriptor, int name,
                             cudnnBackendDescriptor_t value, MwFault *fault)
{
    return mw_cudnn_set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, fault);
}

bool mw_cudnn_finalize(cudnnBackendDescriptor_t descriptor, MwFault *fault)
{
    return CALL(cudnnBackendFinalize, descriptor);
}

static void destroy(cudnnBackendDescriptor_t descriptor)
{
    if (descriptor)
        mw_cudnn.cudnnBackendDestroyDescriptor(descriptor);
}

/* Has the descriptor live as long as the plan. */
static void keep(MwCudnnPlan *plan, cudnnBackendDescriptor_t descriptor)
{
    MW_ASSERT(plan->made_count < MW_CUDNN_PLAN_DESCRIPTORS);
    plan->made[plan->made_count++] = descriptor;
}

bool mw_cudnn_make(MwCudnnPlan *plan, int type, cudnnBackendDescriptor_t *descriptor,
                   MwFault *fault)
{
    const bool good = create(type, descriptor, fault);
    if (good)
        keep(plan, *descriptor);
    return good;
}

bool mw_cudnn_add_operation(MwCudnnPlan *plan, cudnnBackendDescriptor_t operation, MwFault *fault)
{
    MW_ASSERT(plan->operation_count < MW_CUDNN_PLAN_OPERATIONS);
    plan->operations[plan->operation_count++] = operation;
    return mw_cudnn_finalize(operation, fault);
}

static bool make_graph(MwCudnnPlan *plan, const MwCudnnTarget *target,
                       cudnnBackendDescriptor_t *graph, MwFault *fault)
{
    return mw_cudnn_make(plan, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, graph, fault) &&
           mw_cudnn_set(*graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                        plan->operation_count, plan->operations, fault) &&
           (!target->handle || mw_cudnn_set(*graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
                                            CUDNN_TYPE_HANDLE, 1, &target->handle, fault)) &&
           mw_cudnn_finalize(*graph, fault);
}

/* ---- The choice of an algorithm ---- */

/* What to choose an algorithm for. */
typedef struct {
    const MwCudnnChoice *rules;
    const MwCudnnTarget *target;
    cudnnBackendDescriptor_t graph;
} Search;

static bool is_allowed(const Search *search, int note)
{
    return note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP ||
           (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && search->rules->may_round);
}

/* Whether the algorithm of a configuration computes what was asked for. */
static bool config_is_allowed(const Search *search, cudnnBackendDescriptor_t config)
{
    int notes[2 * CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0, engines = 0;
    MwFault unused, *const fault = &unused;
    cudnnBackendDescriptor_t engine;
    bool good = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine, fault) &&
                CALL(cudnnBackendGetAttribute, config, CUDNN_ATTR_ENGINECFG_ENGINE,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines, &engine) &&
                CALL(cudnnBackendGetAttribute, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                     CUDNN_TYPE_NUMERICAL_NOTE, MW_COUNT(notes), &count, notes) &&
                count <= MW_COUNT(notes);
    for (int i = 0; good && i < count; i++)
        good = is_allowed(search, notes[i]);
    destroy(engine);
    return good;
}

/* Makes the plan of a configuration; false if it does not serve. */
static bool make_plan(MwCudnnPlan *plan, const Search *search, cudnnBackendDescriptor_t config)
{
    const MwCudnnTarget *target = search->target;
    int64_t count = 0;
    MwFault unused, *const fault = &unused;
    const bool good =
        create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan->plan, fault) &&
        mw_cudnn_set_descriptor(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config,
                                fault) &&
        (target->handle ? mw_cudnn_set(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                       CUDNN_TYPE_HANDLE, 1, &target->handle, fault)
                        : mw_cudnn_set_descriptor(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                                  target->device, fault)) &&
        mw_cudnn_finalize(plan->plan, fault) &&
        CALL(cudnnBackendGetAttribute, plan->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
             CUDNN_TYPE_INT64, 1, &count, &plan->workspace_bytes) &&
        plan->workspace_bytes <= search->rules->most_bytes;
    if (!good) {
        destroy(plan->plan);
        plan->plan = NULL;
    }
    return good;
}

/* Fills `configs` with what cuDNN lists, the best first; returns their number. Those that are not
 * NULL are to be destroyed. */
static int64_t list_configs(const Search *search, int mode,
                            cudnnBackendDescriptor_t configs[MOST_CONFIGS], MwFault *fault)
{
    const MwCudnnTarget *target = search->target;
    cudnnBackendDescriptor_t list;
    int64_t count = 0;
    bool good =
        create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &list, fault) &&
        mw_cudnn_set_descriptor(list, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, search->graph,
                                fault) &&
        mw_cudnn_set(list, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode, fault) &&
        (target->handle ||
         mw_cudnn_set_descriptor(list, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target->device, fault)) &&
        mw_cudnn_finalize(list, fault);
    for (int i = 0; good && i < MOST_CONFIGS; i++)
        good = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configs[i], fault);
    good = good && CALL(cudnnBackendGetAttribute, list, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                        CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST_CONFIGS, &count, configs);
    destroy(list);
    return good ? mw_min(count, MOST_CONFIGS) : 0;
}

static bool choose_of(MwCudnnPlan *plan, const Search *search, int mode, MwFault *fault)
{
    cudnnBackendDescriptor_t configs[MOST_CONFIGS] = {NULL};
    const int64_t count = list_configs(search, mode, configs, fault);
    for (int64_t i = 0; i < count && !plan->plan; i++)
        if (config_is_allowed(search, configs[i]) && make_plan(plan, search, configs[i])) {
            keep(plan, configs[i]);
            configs[i] = NULL;
        }
    for (int i = 0; i < MOST_CONFIGS; i++)
        destroy(configs[i]);
    return plan->plan != NULL;
}

static bool choose(MwCudnnPlan *plan, const Search *search, MwFault *fault)
{
    mw_fault_set(fault, "it has no algorithm for this");
    return choose_of(plan, search, CUDNN_HEUR_MODE_A, fault) ||
           choose_of(plan, search, CUDNN_HEUR_MODE_FALLBACK, fault);
}

bool mw_cudnn_plan_choose(MwCudnnPlan *plan, const MwCudnnTarget *target,
                          const MwCudnnChoice *choice, MwFault *reason)
{
    Search search = {.rules = choice, .target = target};
    return make_graph(plan, target, &search.graph, reason) && choose(plan, &search, reason);
}

/* ---- Calls ---- */

static bool fill_pack(cudnnBackendDescriptor_t pack, const MwCudnnTensors *tensors, MwFault *fault)
{
    return mw_cudnn_set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, tensors->count,
                        tensors->ids, fault) &&
           mw_cudnn_set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                        tensors->count, tensors->pointers, fault) &&
           mw_cudnn_set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                        &tensors->workspace, fault) &&
           mw_cudnn_finalize(pack, fault);
}

bool mw_cudnn_plan_run(const MwCudnnPlan *plan, cudnnHandle_t handle, const MwCudnnTensors *tensors,
                       MwFault *fault)
{
    cudnnBackendDescriptor_t pack;
    const bool good = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack, fault) &&
                      fill_pack(pack, tensors, fault) &&
                      CALL(cudnnBackendExecute, handle, plan->plan, pack);
    destroy(pack);
    return good;
}

void mw_cudnn_plan_free(MwCudnnPlan *plan)
{
    destroy(plan->plan);
    while (plan->made_count)
        destroy(plan->made[--plan->made_count]);
    *plan = (MwCudnnPlan){0};
}
