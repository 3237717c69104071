/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiles if the constants that the runtime declares for cuDNN are those of its header. */
#include "runtime/cuda/cudnn_values.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>

#define SAME(name, value) _Static_assert((int)(name) == (value), #name);
MW_CUDNN_VALUES(SAME)

_Static_assert(sizeof(cudnnStatus_t) == sizeof(int) && sizeof(cudnnBackendDescriptorType_t) == 4 &&
                   sizeof(cudnnBackendAttributeName_t) == 4 &&
                   sizeof(cudnnBackendAttributeType_t) == 4 && sizeof(cudnnDataType_t) == 4,
               "enumerations are ints");
