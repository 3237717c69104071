/* SPDX-License-Identifier: MIT */
/* Constants of cuDNN's interface that the runtime uses, by their names there. They are not in
 * cudnn.h, so that a test can compare them with those of NVIDIA's header. */
#ifndef MW_RUNTIME_CUDA_CUDNN_VALUES_H
#define MW_RUNTIME_CUDA_CUDNN_VALUES_H

/* X(NAME, value) */
#define MW_CUDNN_VALUES(X)                                                                         \
    X(CUDNN_STATUS_SUCCESS, 0)                                                                     \
    X(CUDNN_STATUS_NOT_INITIALIZED, 1001)                                                          \
    X(CUDNN_STATUS_BAD_PARAM, 2000)                                                                \
    X(CUDNN_STATUS_NOT_SUPPORTED, 3000)                                                            \
    X(CUDNN_STATUS_EXECUTION_FAILED, 5000)                                                         \
    X(CUDNN_DATA_FLOAT, 0)                                                                         \
    X(CUDNN_DATA_HALF, 2)                                                                          \
    X(CUDNN_DATA_BFLOAT16, 9)                                                                      \
    X(CUDNN_CROSS_CORRELATION, 1)                                                                  \
    X(CUDNN_TYPE_HANDLE, 0)                                                                        \
    X(CUDNN_TYPE_DATA_TYPE, 1)                                                                     \
    X(CUDNN_TYPE_INT64, 3)                                                                         \
    X(CUDNN_TYPE_FLOAT, 4)                                                                         \
    X(CUDNN_TYPE_VOID_PTR, 6)                                                                      \
    X(CUDNN_TYPE_CONVOLUTION_MODE, 7)                                                              \
    X(CUDNN_TYPE_HEUR_MODE, 8)                                                                     \
    X(CUDNN_TYPE_NUMERICAL_NOTE, 11)                                                               \
    X(CUDNN_TYPE_BACKEND_DESCRIPTOR, 15)                                                           \
    X(CUDNN_TYPE_CHAR, 24)                                                                         \
    X(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, 1)                                                     \
    X(CUDNN_BACKEND_ENGINE_DESCRIPTOR, 2)                                                          \
    X(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 3)                                                       \
    X(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                                                      \
    X(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                                                  \
    X(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)                                  \
    X(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 11)                          \
    X(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12)                            \
    X(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                                                 \
    X(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                                                   \
    X(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 17)                                                         \
    X(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, 38)                                                     \
    X(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 100)                                                       \
    X(CUDNN_ATTR_CONVOLUTION_CONV_MODE, 101)                                                       \
    X(CUDNN_ATTR_CONVOLUTION_DILATIONS, 102)                                                       \
    X(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 103)                                                  \
    X(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 104)                                                   \
    X(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 105)                                                    \
    X(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 106)                                                    \
    X(CUDNN_ATTR_ENGINEHEUR_MODE, 200)                                                             \
    X(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                                                  \
    X(CUDNN_ATTR_ENGINEHEUR_RESULTS, 202)                                                          \
    X(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, 204)                                                       \
    X(CUDNN_ATTR_ENGINECFG_ENGINE, 300)                                                            \
    X(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, 400)                                                       \
    X(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                                                \
    X(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402)                                               \
    X(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, 407)                                                   \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700)                                         \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701)                                          \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702)                                     \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703)                                             \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704)                                             \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705)                                             \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706)                                        \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 707)                                         \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708)                                    \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709)                                            \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710)                                           \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711)                                           \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 712)                                      \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 713)                                       \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 714)                                  \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, 715)                                         \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, 716)                                          \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 717)                                         \
    X(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, 800)                                                       \
    X(CUDNN_ATTR_OPERATIONGRAPH_OPS, 801)                                                          \
    X(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 900)                                                       \
    X(CUDNN_ATTR_TENSOR_DATA_TYPE, 901)                                                            \
    X(CUDNN_ATTR_TENSOR_DIMENSIONS, 902)                                                           \
    X(CUDNN_ATTR_TENSOR_STRIDES, 903)                                                              \
    X(CUDNN_ATTR_TENSOR_UNIQUE_ID, 906)                                                            \
    X(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 1000)                                                    \
    X(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                                                 \
    X(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 1003)                                                     \
    X(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, 1303)                                                      \
    X(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, 2702)                                             \
    X(CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 0)                                                         \
    X(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1)                                                 \
    X(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP, 9)                                                     \
    X(CUDNN_NUMERICAL_NOTE_TYPE_COUNT, 10)                                                         \
    X(CUDNN_HEUR_MODE_FALLBACK, 2)                                                                 \
    X(CUDNN_HEUR_MODE_A, 3)

#endif
