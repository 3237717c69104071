/* SPDX-License-Identifier: MIT */
/* The backends of a build with the CUDA toolkit. */
#include "tools/backends.h"

const MwBackend *const mw_backends[] = {&mw_backend_cpu, &mw_backend_cuda, NULL};
