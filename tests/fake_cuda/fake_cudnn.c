/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cuDNN's graph API on plain loops, for convolutions and attention. A descriptor is refused that
 * lacks an attribute or whose parts do not go together. Of the algorithms that are listed some must
 * not be chosen, as their notes or their workspace say, and compute something else. All operands of
 * a convolution have one type, as cuDNN 9.28 wants it for an H100.
 *
 * FAKE_CUDNN=none: the library is not there. FAKE_CUDNN_VERSION: its version, 91900 if that is not
 * set. FAKE_CUDNN_BYTES: what gradients of attention work in besides, for one of the batch. */
#include "tests/fake_cuda/fake_cudnn.h"

#include "tests/fake_cuda/fake.h"

#include <stdlib.h>
#include <string.h>

/* Counts a call of the library's function, which may have to fail. */
#define MAY_FAIL(call, error)                                                                      \
    do {                                                                                           \
        if (fake_fault(call) == FAKE_FAIL)                                                         \
            return error;                                                                          \
    } while (0)

/* ---- Algorithms ---- */

/* More than an algorithm may work in; and values of cudnnBackendNumericalNote_t. */
enum { HUGE_BYTES = 1 << 30 };
enum { CORE, REDUCED = 2, UNSTEADY = 4, WINOGRAD, STRICT_NAN = 9 };

const FakeAlgorithm fake_algorithms[FAKE_ALGORITHMS] = {
    {CUDNN_HEUR_MODE_A, {UNSTEADY}, 1, 0, .is_there = true},
    {CUDNN_HEUR_MODE_A, {CORE, WINOGRAD}, 2, 0, .is_there = true},
    {CUDNN_HEUR_MODE_A, {CORE}, 1, HUGE_BYTES, .is_there = true},
    {CUDNN_HEUR_MODE_A, {0}, 0, HUGE_BYTES, .is_there = true},
    {CUDNN_HEUR_MODE_A, {CORE}, 1, 0, .is_there = false},
    {CUDNN_HEUR_MODE_A, {CORE}, 1, 131, .is_right = true, .is_there = true, .rounds = true},
    {CUDNN_HEUR_MODE_FALLBACK, {REDUCED, UNSTEADY}, 2, 0, .is_there = true},
    {CUDNN_HEUR_MODE_FALLBACK, {STRICT_NAN}, 1, 4099, .is_right = true, .is_there = true},
};

/* ---- Descriptors ---- */

static int create_descriptor(int type, cudnnBackendDescriptor_t *descriptor)
{
    MAY_FAIL("cudnnBackendCreateDescriptor", CUDNN_STATUS_NOT_INITIALIZED);
    FakeDescriptor *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->type = type;
    *descriptor = made;
    return CUDNN_STATUS_SUCCESS;
}

static int destroy_descriptor(cudnnBackendDescriptor_t descriptor)
{
    memset(descriptor, 0xff, sizeof(FakeDescriptor)); /* whoever uses it still fails */
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

static int64_t element_bytes(int type)
{
    if (type == CUDNN_TYPE_BOOLEAN)
        return 1;
    return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_BACKEND_DESCRIPTOR ||
                   type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_VOID_PTR
               ? 8
               : 4;
}

static int set_attribute(cudnnBackendDescriptor_t descriptor, int name, int type, int64_t count,
                         const void *elements)
{
    FakeDescriptor *d = descriptor;
    if (d->is_final || d->set_count == FAKE_MOST_SET || count < 1 ||
        count * element_bytes(type) > FAKE_VALUE_BYTES || fake_find(d, name))
        return CUDNN_STATUS_BAD_PARAM;
    FakeAttribute *attribute = &d->set[d->set_count++];
    *attribute = (FakeAttribute){.name = name, .type = type, .count = count};
    memcpy(attribute->value, elements, (size_t)(count * element_bytes(type)));
    return CUDNN_STATUS_SUCCESS;
}

static int finalize(cudnnBackendDescriptor_t descriptor)
{
    FakeDescriptor *d = descriptor;
    MAY_FAIL("cudnnBackendFinalize", CUDNN_STATUS_NOT_SUPPORTED);
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        fake_load();
    d->is_final = fake_is_complete(d);
    return d->is_final ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static bool has_one_type(const FakeDescriptor *graph)
{
    const FakeDescriptor *operation = fake_operation(graph, 0);
    const FakeNames names = fake_names(operation);
    const int type = fake_enum(fake_part(operation, names.x), CUDNN_ATTR_TENSOR_DATA_TYPE);
    return type == fake_enum(fake_part(operation, names.filter), CUDNN_ATTR_TENSOR_DATA_TYPE) &&
           type == fake_enum(fake_part(operation, names.y), CUDNN_ATTR_TENSOR_DATA_TYPE);
}

static bool is_supported(const FakeDescriptor *graph)
{
    return fake_is_of_sdpa(fake_operation(graph, 0)->type) ? fake_sdpa_is_supported(graph)
                                                           : has_one_type(graph);
}

/* Bytes that the algorithm of a configuration works in. */
static int64_t workspace_of(const FakeDescriptor *config)
{
    const FakeDescriptor *graph = fake_part(config, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const int64_t bytes = fake_algorithms[config->algorithm].workspace_bytes;
    return fake_is_of_sdpa(fake_operation(graph, 0)->type) ? bytes + fake_sdpa_bytes(graph) : bytes;
}

static int list_configs(const FakeDescriptor *list, int64_t wanted, int64_t *count, void *elements)
{
    const int mode = fake_enum(list, CUDNN_ATTR_ENGINEHEUR_MODE);
    *count = 0;
    if (!is_supported(fake_part(list, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)))
        return CUDNN_STATUS_SUCCESS;
    for (int i = 0; i < FAKE_ALGORITHMS && *count < wanted; i++)
        if (fake_algorithms[i].mode == mode) {
            FakeDescriptor *config = ((FakeDescriptor **)elements)[(*count)++];
            if (config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
                return CUDNN_STATUS_BAD_PARAM;
            config->algorithm = i;
            config->is_final = true;
            /* a configuration knows what it is for */
            config->set[config->set_count++] =
                *fake_find(list, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        }
    return CUDNN_STATUS_SUCCESS;
}

static int get_attribute(cudnnBackendDescriptor_t descriptor, int name, int type, int64_t wanted,
                         int64_t *count, void *elements)
{
    FakeDescriptor *d = descriptor;
    if (!d->is_final)
        return CUDNN_STATUS_BAD_PARAM;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return list_configs(d, wanted, count, elements);
    *count = 1;
    if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        FakeDescriptor *engine = *(FakeDescriptor **)elements;
        engine->algorithm = d->algorithm;
        engine->is_final = true;
        return CUDNN_STATUS_SUCCESS;
    }
    if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
        *count = fake_algorithms[d->algorithm].note_count;
        if (wanted < *count)
            return CUDNN_STATUS_BAD_PARAM;
        memcpy(elements, fake_algorithms[d->algorithm].notes, sizeof(int) * (size_t)*count);
        return CUDNN_STATUS_SUCCESS;
    }
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
        *(int64_t *)elements = workspace_of(fake_part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
        return CUDNN_STATUS_SUCCESS;
    }
    return CUDNN_STATUS_BAD_PARAM;
}

/* ---- Handles ---- */

static int create_handle(cudnnHandle_t *handle)
{
    MAY_FAIL("cudnnCreate", CUDNN_STATUS_NOT_INITIALIZED);
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_INITIALIZED;
}

static int destroy_handle(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

static int set_stream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Calls ---- */

static int execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                   cudnnBackendDescriptor_t pack)
{
    const FakeDescriptor *p = plan, *given = pack;
    MAY_FAIL("cudnnBackendExecute", CUDNN_STATUS_EXECUTION_FAILED);
    if (!p->is_final || !given->is_final)
        return CUDNN_STATUS_BAD_PARAM;
    const FakeDescriptor *config = fake_part(p, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const FakeCall call = {.graph = fake_part(config, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH),
                           .pack = given,
                           .algorithm = config->algorithm,
                           .bytes = workspace_of(config)};
    const bool good = fake_is_of_sdpa(fake_operation(call.graph, 0)->type)
                          ? fake_attend(handle->stream, &call)
                          : fake_convolve(handle->stream, &call);
    return good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

/* ---- The library ---- */

static size_t version(void)
{
    const char *wanted = getenv("FAKE_CUDNN_VERSION");
    return wanted ? (size_t)atol(wanted) : 91900;
}

static const char *error_string(int status)
{
    switch (status) {
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    }
    return "an unknown status";
}

static void last_error_string(char *text, size_t bytes)
{
    strncpy(text, "the fake says no more", bytes - 1);
}

/* ---- Loading ---- */

MwCudnn mw_cudnn = {
    .cudnnGetVersion = version,
    .cudnnCreate = create_handle,
    .cudnnDestroy = destroy_handle,
    .cudnnSetStream = set_stream,
    .cudnnGetErrorString = error_string,
    .cudnnGetLastErrorString = last_error_string,
    .cudnnBackendCreateDescriptor = create_descriptor,
    .cudnnBackendDestroyDescriptor = destroy_descriptor,
    .cudnnBackendFinalize = finalize,
    .cudnnBackendSetAttribute = set_attribute,
    .cudnnBackendGetAttribute = get_attribute,
    .cudnnBackendExecute = execute,
};

bool mw_cudnn_load(MwFault *reason)
{
    const char *kind = getenv("FAKE_CUDNN");
    return !kind || strcmp(kind, "none") != 0 || mw_fault_set(reason, "cuDNN: it is not there");
}
