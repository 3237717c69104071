/* SPDX-License-Identifier: MIT */
/* Where there is no toolkit of any accelerator. */
#include "tools/backends.h"

const MwBackend *const mw_backends[] = {&mw_backend_cpu, NULL};
