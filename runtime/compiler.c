/* SPDX-License-Identifier: MIT */
#include "runtime/compiler.h"

#include "base/process.h"

#include <errno.h>
#include <string.h>

bool mw_compiler_run(const char *what, const char *const *words, MwFault *fault)
{
    const int status = mw_process_run(words, -1);
    if (status < 0)
        return mw_fault_set(fault, "the kernels need %s, and '%s' cannot be run: %s", what,
                            words[0], strerror(errno));
    return status == 0 || mw_fault_set(fault, "'%s' cannot compile the kernels", words[0]);
}
