# SPDX-License-Identifier: GPL-3.0-or-later
"""The rates of matrix products of all combinations of some sizes, as the `rates` of a .cluster file have
them. They are not compared with the CPU's: that is for gpu_cases.py and the tests."""
from itertools import product

from gpu_tools import Failed

SIZES, TINY_SIZES = (512, 2048, 8192), (8, 16)
TYPES = ("f32", "bf16")


def graph(type, sizes):
    """A model of all products: their operands are shared."""
    pairs = list(product(sizes, repeat=2))
    lines = [f"  input a{m}_{k}: {type}[{m}, {k}]" for m, k in pairs]
    lines += [f"  input b{k}_{n}: {type}[{k}, {n}]" for k, n in pairs]
    for m, n, k in product(sizes, repeat=3):
        lines.append(f"  output z{m}_{n}_{k} = a{m}_{k} @ b{k}_{n}")
    return "\n".join(["model products {", *lines, "}", ""])


def rates(tools, type, sizes, round_ms):
    """FLOPs a second of every combination of m, n and k, k the fastest."""
    path = tools.folder / f"products-{type}.graph"
    path.write_text(graph(type, sizes))
    plan = tools.meshwright("plan", path, f"products-{type}.plan", {}, "--micro-batches", 1)
    seconds = {}
    for line in tools.bench_plan(plan, "--instructions", "--round", round_ms):
        if line[0] == "instruction" and line[4].startswith("gemm "):
            seconds[line[4]] = float(line[2]) / int(line[5])
    missing = [f"gemm {m} x {n} x {k}" for m, n, k in product(sizes, repeat=3)
               if f"gemm {m} x {n} x {k}" not in seconds]
    if missing:
        raise Failed(f"there is no time of {', '.join(missing)}")
    return [2 * m * n * k / seconds[f"gemm {m} x {n} x {k}"] for m, n, k in product(sizes, repeat=3)]


def tables(tools, tiny):
    """{type: (sizes, rates)}"""
    sizes = TINY_SIZES if tiny else SIZES
    return {type: (sizes, rates(tools, type, sizes, 0 if tiny else 5)) for type in TYPES}
