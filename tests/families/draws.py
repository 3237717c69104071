# SPDX-License-Identifier: GPL-3.0-or-later
"""The random numbers that a model draws, as base/philox.h counts them."""
import math

import numpy
import torch

SEED = 1  # of runs, unless they are given another


def words(key, step, count):
    """Of each element, the word of Philox4x32-10 (Salmon et al. 2011) as base/philox.h counts."""
    low, block = numpy.uint64(0xffffffff), numpy.arange(count, dtype=numpy.uint64) // 4
    c = [block & low, block >> 32 | 1 << 31, numpy.full_like(block, step),
         numpy.full_like(block, key)]
    keys = [SEED & 0xffffffff, SEED >> 32]
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [b >> 32 ^ c[1] ^ keys[0], b & low, a >> 32 ^ c[3] ^ keys[1], a & low]
        keys = [(keys[0] + 0x9E3779B9) & 0xffffffff, (keys[1] + 0xBB67AE85) & 0xffffffff]
    return numpy.stack(c)[numpy.arange(count) % 4, numpy.arange(count)]


def uniform(key, step, *shape):
    parts = (words(key, step, numpy.prod(shape)) >> 8).astype(float) / 2**24
    return torch.tensor(parts).reshape(shape)


def normal(key, step, *shape):
    """From two streams, by Box and Muller 1958."""
    u, v = uniform(key, step, *shape), uniform(key + 1, step, *shape)
    return torch.sqrt(-2 * torch.log(1 - u)) * torch.cos(2 * math.pi * v)
