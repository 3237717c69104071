/* SPDX-License-Identifier: MIT */
#define XXH_INLINE_ALL
#include "base/hash.h"

#include <xxhash.h>

uint64_t mw_hash_bytes(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}
