/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of tokens of any bytes: what is found in one lies in it. */
#include "runtime/data/tokens.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const int widths[] = {0, 16, 32};
    MwFault fault = {0};
    MwFeedFile file = {.path = "fuzz.bin", .descriptor = memfd_create("fuzz", MFD_CLOEXEC)};
    MW_ASSERT(file.descriptor >= 0 && write(file.descriptor, data, bytes) == (ssize_t)bytes);
    file.bytes = (int64_t)bytes;
    for (int i = 0; i < MW_COUNT(widths); i++) {
        MwNpy tokens;
        if (!mw_tokens_open(&file, widths[i], &tokens, &fault)) {
            MW_ASSERT(*fault.text);
            continue;
        }
        MW_ASSERT(tokens.rank == 1 && tokens.dim[0] >= 0 && tokens.offset >= 0);
        MW_ASSERT(tokens.offset + tokens.dim[0] * tokens.type.bytes <= file.bytes);
        char last[8];
        if (tokens.dim[0])
            MW_ASSERT(mw_feed_file_read(&file,
                                        tokens.offset + (tokens.dim[0] - 1) * tokens.type.bytes,
                                        tokens.type.bytes, last, &fault));
    }
    mw_feed_file_close(&file);
    return 0;
}
