/* SPDX-License-Identifier: MIT */
#include "runtime/cpu/onednn.h"

#include <pthread.h>

static MwOneDnn library;

static void begin(void)
{
    library.status = dnnl_engine_create(&library.engine, dnnl_cpu, 0);
    if (library.status == dnnl_success)
        library.status =
            dnnl_stream_create(&library.stream, library.engine, dnnl_stream_default_flags);
}

const MwOneDnn *mw_onednn(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    return &library;
}
