/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans for CPUs, run on devices whose memory is not the host's. */
#include "tests/runtime/foreign.h"
#include "tools/backends.h"

static const MwBackend foreign_backend = {.id = MW_BACKEND_cpu, .device_new = foreign_device_new};

const MwBackend *const mw_backends[] = {&foreign_backend, NULL};
