/* SPDX-License-Identifier: MIT */
#include "runtime/exec/transport.h"

void mw_transport_free(MwTransport **transport, MwDevice *device)
{
    if (*transport)
        (*transport)->table->destroy(*transport, device);
    *transport = NULL;
}
