/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the fake of cuDNN: descriptors as lists of attributes, algorithms, execution. */
#ifndef FAKE_CUDA_FAKE_CUDNN_H
#define FAKE_CUDA_FAKE_CUDNN_H

#include "runtime/cuda/cudnn.h"

enum { FAKE_MOST_SET = 10, FAKE_VALUE_BYTES = 256, FAKE_MOST_DIMS = 5 };

struct cudnnContext {
    cudaStream_t stream;
};

typedef struct {
    int name, type;
    int64_t count;
    char value[FAKE_VALUE_BYTES];
} FakeAttribute;

typedef struct {
    int type, algorithm; /* the latter of configurations and engines */
    bool is_final;
    FakeAttribute set[FAKE_MOST_SET];
    int set_count;
} FakeDescriptor;

/* An algorithm of a list; those that must not be chosen are not right. */
typedef struct {
    int mode, notes[2], note_count;
    int64_t workspace_bytes;
    bool is_right, is_there;
    bool rounds; /* operands of f32, as tensor cores do */
} FakeAlgorithm;

enum { FAKE_ALGORITHMS = 8 };
extern const FakeAlgorithm fake_algorithms[FAKE_ALGORITHMS]; /* in the order of the lists */

/* The attributes of the three operations are numbered alike, from these on, in other orders. */
typedef struct {
    int alpha, beta, windows, filter, x, y;
} FakeNames;
FakeNames fake_names(const FakeDescriptor *operation);

/* An attribute, NULL if it is not set; and values of attributes that are set. */
const FakeAttribute *fake_find(const FakeDescriptor *d, int name);
int64_t fake_int(const FakeDescriptor *d, int name, int i);
int fake_enum(const FakeDescriptor *d, int name);
const FakeDescriptor *fake_part(const FakeDescriptor *d, int name);
/* The i-th part of an attribute, and whether the attribute has that type and number of values. */
const FakeDescriptor *fake_part_of(const FakeDescriptor *d, int name, int i);
bool fake_has(const FakeDescriptor *d, int name, int type, int64_t count);

/* Whether the library would finalize it: nothing is missing, and its parts go together. */
bool fake_is_complete(const FakeDescriptor *d);

/* Whether a descriptor is an operation of graphs of attention, or a part of one; and whether it is
 * complete. */
bool fake_is_of_sdpa(int type);
bool fake_sdpa_is_complete(const FakeDescriptor *d);
/* Whether the library has algorithms for a graph of such operations, and how many bytes these work
 * in besides their own. */
bool fake_sdpa_is_supported(const FakeDescriptor *graph);
int64_t fake_sdpa_bytes(const FakeDescriptor *graph);

/* The operations of a graph, and the address of a tensor in a pack; NULL: there is none, or it is
 * not aligned. */
int fake_operations(const FakeDescriptor *graph);
const FakeDescriptor *fake_operation(const FakeDescriptor *graph, int i);
void *fake_pointer(const FakeDescriptor *pack, const FakeDescriptor *tensor);

/* What an execution plan does with a pack whose workspace has `bytes`. */
typedef struct {
    const FakeDescriptor *graph, *pack;
    int algorithm;
    int64_t bytes;
} FakeCall;

/* Queue the work of a call; false: something is missing in the pack. */
bool fake_convolve(cudaStream_t stream, const FakeCall *call);
bool fake_attend(cudaStream_t stream, const FakeCall *call);

#endif
