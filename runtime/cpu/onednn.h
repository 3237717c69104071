/* SPDX-License-Identifier: MIT */
/* What calls of oneDNN share. */
#ifndef MW_RUNTIME_CPU_ONEDNN_H
#define MW_RUNTIME_CPU_ONEDNN_H

#include <dnnl.h>

/* Of this process, made at the first call and kept. */
typedef struct {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_status_t status; /* of making them */
} MwOneDnn;

const MwOneDnn *mw_onednn(void);

#endif
